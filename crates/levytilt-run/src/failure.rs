//! Tell wrong input from a computation that failed.

use std::fmt;

/// Something the caller can put right: a file, a flag, a setting.
#[derive(Debug)]
pub struct BadInput(pub String);

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadInput {}

/// A [`BadInput`] ready to be returned with `?` or `Err`.
pub fn bad(message: impl Into<String>) -> anyhow::Error {
    BadInput(message.into()).into()
}

/// Text of a user between quotes, without line breaks and not longer than a glance.
pub fn quoted(text: &str) -> String {
    let short: String = text.chars().take(40).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    format!("\"{}{dots}\"", short.escape_debug())
}

/// A message of a parser that shows the line in question, which may be longer than anybody reads.
pub fn brief(error: &dyn fmt::Display) -> String {
    let cut = |line: &str| {
        let short: String = line.chars().take(160).collect();
        if short.len() < line.len() { short + "…" } else { short }
    };
    error.to_string().lines().take(8).map(cut).collect::<Vec<_>>().join("\n")
}

/// Who can do something about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The caller: a file, a flag or a setting is wrong.
    Input,
    /// Nobody but time, room or another model: the computation failed.
    Computation,
}

/// The message of an error in the words of a caller who gives keywords: `--observation-std` becomes observation_std. Only
/// the names of options are rewritten, so text of the caller stays as it is.
pub fn in_keywords(error: &anyhow::Error, options: &[String]) -> String {
    let message = format!("{error:#}");
    let mut text = String::new();
    let mut parts = message.split("--");
    text.extend(parts.next());
    for part in parts {
        let end =
            part.find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')).unwrap_or(part.len());
        let name = part[..end].replace('-', "_");
        let known = options.contains(&name) && !text.ends_with(|c: char| c.is_alphanumeric());
        text += &if known { format!("{name}{}", &part[end..]) } else { format!("--{part}") };
    }
    text
}

/// What kind of failure an error is.
pub fn kind(error: &anyhow::Error) -> Kind {
    let is_input = error.chain().any(|cause| {
        cause.is::<BadInput>() || cause.downcast_ref::<levytilt::Error>().is_some_and(levytilt::Error::is_input)
    });
    if is_input { Kind::Input } else { Kind::Computation }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn quotes_stay_on_one_line() {
        assert_eq!(quoted("a\nb"), r#""a\nb""#);
        assert_eq!(quoted(&"x".repeat(50)).chars().count(), 43);
        assert_eq!(brief(&format!("a\n{}", "x".repeat(999))).chars().count(), 163);
    }

    #[test]
    fn input_errors_keep_their_kind_under_context() {
        let wrapped = Err::<(), _>(bad("no such column")).context("reading x.csv").unwrap_err();
        assert_eq!(kind(&wrapped), Kind::Input);
        let numerical = levytilt::Error::Numerical { what: "grid", why: "too wide".into() };
        assert_eq!(kind(&numerical.into()), Kind::Computation);
    }

    #[test]
    fn options_are_named_as_keywords() {
        let options = ["observation_std".to_string(), "drift".to_string()];
        let said = |text: &str| in_keywords(&bad(text), &options);
        assert_eq!(said("give --observation-std 1, or --drift none."), "give observation_std 1, or drift none.");
        assert_eq!(said("a--drift.csv --unknown -- x"), "a--drift.csv --unknown -- x");
    }
}
