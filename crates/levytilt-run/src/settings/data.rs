//! Say which part of a table is used, and how it is written: `[data]`.

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::shell;
use crate::table::decimal::Decimal;
use crate::table::format::Format;
use crate::table::separator::Separator;

/// `[data]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
pub struct DataSettings {
    /// Value column to use when the file has several
    #[arg(long, value_name = "NAME", help_heading = "Data", conflicts_with = "columns")]
    pub column: Option<String>,
    /// Value columns to use, separated by commas; `fit` models them jointly [default: all]
    #[arg(long, value_name = "NAMES", help_heading = "Data", value_delimiter = ',')]
    pub columns: Option<Vec<String>>,
    /// Column of known standard deviations of the values, which observation_std then multiplies: `fit` and `compare`
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    pub error_column: Option<String>,
    /// Column that holds the times [default: the first, or the first after row numbers]
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    pub time_column: Option<String>,
    /// How dates are written, such as %d.%m.%Y or "%m/%d/%Y %H:%M"; or seconds, milliseconds (Unix time), or number
    /// [default: recognised]
    #[arg(long, value_name = "FORMAT", help_heading = "Data")]
    pub date_format: Option<String>,
    /// What separates fields: comma, semicolon, tab, pipe or space [default: recognised]
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    pub separator: Option<Separator>,
    /// Decimal mark: point or comma [default: recognised]
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    pub decimal: Option<Decimal>,
    /// Column of a long table that says which series a row belongs to: fit
    #[arg(skip)]
    pub panel: Option<String>,
    /// Parameters that the series of a long table share; with ~ after the name they are partially pooled
    #[arg(skip)]
    pub share: Option<Vec<String>>,
}

impl DataSettings {
    /// The columns to read: values and their known errors; all of them if no value column is named.
    pub fn chosen(&self) -> Vec<String> {
        let values: Vec<String> = self.column.iter().chain(self.columns.iter().flatten()).cloned().collect();
        let errors = self.error_column.iter().filter(|name| !values.is_empty() && !values.contains(name)).cloned();
        values.iter().cloned().chain(errors).collect()
    }

    /// The flags that say the same, each after a space, as a shell reads them.
    pub fn flags(&self) -> String {
        let names = |names: &Vec<String>| names.join(",");
        let given = [
            ("column", self.column.clone()),
            ("columns", self.columns.as_ref().map(names)),
            ("error-column", self.error_column.clone()),
            ("time-column", self.time_column.clone()),
            ("date-format", self.date_format.clone()),
            ("separator", self.separator.map(|separator| separator.name().into())),
            ("decimal", self.decimal.map(String::from)),
        ];
        given.into_iter().filter_map(|(flag, value)| Some(format!(" --{flag} {}", shell::word(&value?)))).collect()
    }

    /// How the table is written.
    pub fn format(&self) -> Format {
        Format {
            separator: self.separator,
            decimal: self.decimal,
            date_format: self.date_format.clone(),
            time_column: self.time_column.clone(),
        }
    }
}
