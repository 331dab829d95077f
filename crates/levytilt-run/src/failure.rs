//! Tell wrong input (exit code 2) from a computation that failed (exit code 1).

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

/// The exit code an error asks for: 2 for input, 1 for everything else.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    let is_input = error.chain().any(|cause| {
        cause.is::<BadInput>()
            || matches!(
                cause.downcast_ref::<levytilt::Error>(),
                Some(
                    levytilt::Error::Parameter { .. } | levytilt::Error::Series { .. } | levytilt::Error::Shape { .. }
                )
            )
    });
    if is_input { 2 } else { 1 }
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
    fn input_errors_keep_their_code_under_context() {
        let wrapped = Err::<(), _>(bad("no such column")).context("reading x.csv").unwrap_err();
        assert_eq!(exit_code(&wrapped), 2);
        let numerical = levytilt::Error::Numerical { what: "grid", why: "too wide".into() };
        assert_eq!(exit_code(&numerical.into()), 1);
    }
}
