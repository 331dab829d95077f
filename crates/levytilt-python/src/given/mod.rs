//! Take what Python gives: tables and keywords.

pub mod column;
pub mod keywords;
pub mod table;
