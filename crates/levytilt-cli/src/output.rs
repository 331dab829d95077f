//! Say what files a result has, and print numbers and lines.

use anyhow::Result;
use serde::Serialize;
use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};

use crate::finite;
use crate::settings::Settings;

/// What writes the content of a file.
type Writer<'a> = Box<dyn Fn(&mut dyn Write) -> Result<()> + 'a>;

/// What a file of a result is to hold.
pub enum Content<'a> {
    /// What this writes.
    Write(Writer<'a>),
    /// Nothing: a file of that name belongs to an older result and goes.
    Gone,
}

/// A file of a result.
pub struct Entry<'a> {
    /// Its name within the directory.
    pub name: Cow<'static, str>,
    /// What it is to hold.
    pub content: Content<'a>,
}

impl<'a> Entry<'a> {
    /// A file whose content `write` produces.
    pub fn new(name: impl Into<Cow<'static, str>>, write: impl Fn(&mut dyn Write) -> Result<()> + 'a) -> Self {
        Self { name: name.into(), content: Content::Write(Box::new(write)) }
    }

    /// A JSON file, indented for people.
    pub fn json(name: &'static str, value: &'a impl Serialize) -> Self {
        Self::new(name, move |out| {
            out.write_all(finite::json(value)?.as_bytes())?;
            Ok(out.write_all(b"\n")?)
        })
    }

    /// Settings, or a model.
    pub fn toml(name: &'static str, settings: &Settings) -> Result<Self> {
        finite::check(settings)?;
        Ok(Self::text(name, settings.to_toml()?))
    }

    /// A text file.
    pub fn text(name: impl Into<Cow<'static, str>>, content: String) -> Self {
        Self::bytes(name, content.into_bytes())
    }

    /// A file of these bytes.
    pub fn bytes(name: impl Into<Cow<'static, str>>, content: Vec<u8>) -> Self {
        Self::new(name, move |out| Ok(out.write_all(&content)?))
    }

    /// A file that this result does not have, though an older one may.
    pub fn gone(name: &'static str) -> Self {
        Self { name: name.into(), content: Content::Gone }
    }
}

/// The shortest text that reads back as the same number; empty for a value that does not exist.
pub fn number(value: f64) -> String {
    let plain = value == 0.0 || (1e-5..1e16).contains(&value.abs());
    match value {
        _ if !value.is_finite() => String::new(),
        _ if plain => value.to_string(),
        _ => format!("{value:e}"),
    }
}

/// The text of a number that must exist.
pub fn figure(value: f64) -> Result<String> {
    finite::check(&value)?;
    Ok(number(value))
}

/// A word in bold red on a terminal that shows colours, and plain anywhere else.
pub fn alarm(word: &str) -> String {
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    if colours { format!("\x1b[1;31m{word}\x1b[0m") } else { word.into() }
}

/// Print a line; a reader that has left (`| head`) is no error, a full disk is one.
pub fn say(line: &str) {
    let mut out = std::io::stdout();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            drop(writeln!(std::io::stderr(), "{} cannot write to standard output: {error}", alarm("error:")));
            std::process::exit(1);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back() {
        for value in [0.0, 0.1, -1.5, 1e300, 1e-300, 123456.789, 1.0 / 3.0, 1e16, 1e-5] {
            assert_eq!(number(value).parse::<f64>().unwrap(), value);
        }
        assert_eq!(number(f64::INFINITY), "");
        assert_eq!(number(2.0), "2");
    }
}
