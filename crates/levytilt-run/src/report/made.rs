//! Say on a page what made it: the command, the version, and when.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

use super::escape::escape;
use crate::shell;

/// The command of this process, if it has one.
static COMMAND: OnceLock<String> = OnceLock::new();
/// A variable that fixes the date, in seconds since 1970, so that a page can be made again byte by byte.
const DATE: &str = "SOURCE_DATE_EPOCH";

/// What made a page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Made {
    /// The command line; none where a library was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// When, in UTC to the minute; none on a page of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

/// Note with what arguments the program was started; the first call counts.
pub fn by(arguments: impl Iterator<Item = String>) {
    let words: Vec<String> = arguments.skip(1).map(|word| shell::word(&word)).collect();
    drop(COMMAND.set(format!("levytilt {}", words.join(" "))));
}

impl Made {
    /// By this process, now.
    pub fn now() -> Self {
        let given = std::env::var(DATE).ok().and_then(|text| text.parse().ok());
        let instant = given.and_then(|seconds| Timestamp::from_second(seconds).ok()).unwrap_or_else(Timestamp::now);
        Self { command: COMMAND.get().cloned(), date: Some(instant.strftime("%Y-%m-%d %H:%M UTC").to_string()) }
    }

    /// A paragraph.
    pub fn html(&self, version: &str) -> String {
        let date = self.date.as_ref().map_or(String::new(), |date| format!(" on {}", escape(date)));
        let command = self.command.as_ref().map_or(String::new(), |text| format!(": <code>{}</code>", escape(text)));
        format!("<p class=\"made\">Made by levytilt {}{date}{command}</p>", escape(version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_what_made_a_page_stays_text() {
        let made = Made { command: Some("levytilt fit '<b>'".into()), date: Some("2026-01-02 03:04 UTC".into()) };
        let html = made.html("1.0");
        assert!(html.contains("levytilt 1.0 on 2026-01-02 03:04 UTC: <code>levytilt fit"), "{html}");
        assert!(!html.contains("<b>"), "{html}");
        assert_eq!(Made::default().html("1.0"), "<p class=\"made\">Made by levytilt 1.0</p>");
    }
}
