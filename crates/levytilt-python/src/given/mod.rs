//! Take what Python gives: tables, keywords, and names.

pub mod keywords;
pub mod names;
pub mod table;
