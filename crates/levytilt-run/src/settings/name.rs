//! Name the values of settings.

use serde::Serialize;

/// The name of a setting's value as users write it.
pub fn name_of(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|json| json.as_str().map(str::to_string)).unwrap_or_default()
}
