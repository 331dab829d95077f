//! Say how a table is written, where it does not show by itself.

use crate::table::decimal::Decimal;
use crate::table::separator::Separator;

/// What was said about a table; what was not is recognised.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Format {
    /// What stands between fields.
    pub separator: Option<Separator>,
    /// What stands before the decimals of a number.
    pub decimal: Option<Decimal>,
    /// How times are written: strptime, a unit of Unix time, or "number".
    pub date_format: Option<String>,
    /// Name of the column of times.
    pub time_column: Option<String>,
}

impl Format {
    /// The same, with what `other` says where nothing was said.
    pub fn or(self, other: Self) -> Self {
        Self {
            separator: self.separator.or(other.separator),
            decimal: self.decimal.or(other.decimal),
            date_format: self.date_format.or(other.date_format),
            time_column: self.time_column.or(other.time_column),
        }
    }
}
