//! The names of options, as keywords.

use levytilt_run::settings::keywords::keywords;
use levytilt_run::workflow::backtest;
use serde_json::Value;

/// The fields of a backtest that keywords fill.
pub fn of_backtest() -> Vec<String> {
    match serde_json::to_value(backtest::Request::default()) {
        Ok(Value::Object(fields)) => fields.keys().cloned().collect(),
        _ => vec![],
    }
}

/// All names of options that messages may hold.
pub fn options() -> Vec<String> {
    let rest = ["at", "config", "fixed_parameters", "holdout", "inputs", "state"].map(String::from);
    keywords(&[]).into_iter().chain(of_backtest()).chain(rest).collect()
}
