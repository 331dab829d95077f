//! Take what Python gives: tables and keywords.

pub mod keywords;
pub mod table;
