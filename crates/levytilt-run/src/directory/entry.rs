//! Say what files a result has.

use anyhow::Result;
use serde::Serialize;
use std::borrow::Cow;
use std::io::Write;

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
