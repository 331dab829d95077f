//! Write result files so that a reader sees all of a file or nothing of it.

use anyhow::{Context, Result};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::failure::bad;

/// What writes the content of a file.
type Content<'a> = Box<dyn Fn(&mut dyn Write) -> Result<()> + 'a>;

/// A file to write.
pub struct Entry<'a> {
    name: &'static str,
    write: Content<'a>,
}

impl<'a> Entry<'a> {
    /// A file whose content `write` produces.
    pub fn new(name: &'static str, write: impl Fn(&mut dyn Write) -> Result<()> + 'a) -> Self {
        Self { name, write: Box::new(write) }
    }

    /// A JSON file, indented for people.
    pub fn json(name: &'static str, value: &'a impl Serialize) -> Self {
        Self::new(name, move |out| {
            serde_json::to_writer_pretty(&mut *out, value)?;
            Ok(out.write_all(b"\n")?)
        })
    }

    /// A text file.
    pub fn text(name: &'static str, content: String) -> Self {
        Self::new(name, move |out| Ok(out.write_all(content.as_bytes())?))
    }
}

/// Refuse a directory that cannot be one before work is spent on its content.
pub fn check_directory(dir: &Path) -> Result<()> {
    if dir.exists() && !dir.is_dir() {
        return Err(bad(format!("--out {}: exists and is not a directory", dir.display())));
    }
    Ok(())
}

/// Write all files into `dir`, which is made if it is missing: first under temporary names, then renamed together.
pub fn save(dir: &Path, entries: &[Entry]) -> Result<()> {
    check_directory(dir)?;
    let made = missing_ancestors(dir);
    let mut pending = Pending::default();
    let result = fs::create_dir_all(dir).map_err(Into::into).and_then(|()| pending.write_and_rename(dir, entries));
    if result.is_err() {
        pending.discard();
        // Only directories made here, and only while empty: `remove_dir` refuses any other.
        made.iter().for_each(|path| drop(fs::remove_dir(path)));
    }
    result.with_context(|| format!("cannot write into {}", dir.display()))
}

/// The directories that `create_dir_all` will make, innermost first.
fn missing_ancestors(dir: &Path) -> Vec<PathBuf> {
    dir.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists()).map(Into::into).collect()
}

/// Files under temporary names, and the names they are to have.
#[derive(Default)]
struct Pending(Vec<(PathBuf, PathBuf)>);

impl Pending {
    fn write_and_rename(&mut self, dir: &Path, entries: &[Entry]) -> Result<()> {
        // The one thing that would stop a rename halfway through the list.
        if let Some(entry) = entries.iter().find(|entry| dir.join(entry.name).is_dir()) {
            anyhow::bail!("{} is a directory there", entry.name);
        }
        for entry in entries {
            let temporary = dir.join(format!(".{}.{}.tmp", entry.name, std::process::id()));
            let file = File::create(&temporary)?;
            self.0.push((temporary, dir.join(entry.name)));
            let mut out = BufWriter::new(file);
            (entry.write)(&mut out)?;
            out.into_inner().map_err(|error| error.into_error())?.sync_all()?;
        }
        for (temporary, name) in &self.0 {
            fs::rename(temporary, name)?;
        }
        Ok(())
    }

    fn discard(&self) {
        self.0.iter().for_each(|(temporary, _)| drop(fs::remove_file(temporary)));
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

/// A word in bold red on a terminal that shows colours, and plain anywhere else.
pub fn alarm(word: &str) -> String {
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    if colours { format!("\x1b[1;31m{word}\x1b[0m") } else { word.into() }
}

/// Print a line; a reader that has left (`| head`) is no error.
pub fn say(line: &str) {
    drop(writeln!(std::io::stdout(), "{line}"));
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

    #[test]
    fn a_failure_leaves_nothing_behind() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("a/b");
        let good = Entry::text("good.txt", "x".into());
        let failing = Entry::new("bad.txt", |out| {
            out.write_all(b"half")?;
            anyhow::bail!("disk full")
        });
        assert!(save(&dir, &[good, failing]).is_err());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_existing_file_survives_a_failure() {
        let root = tempfile::tempdir().unwrap();
        save(root.path(), &[Entry::text("x.txt", "old".into())]).unwrap();
        let failing = [Entry::text("x.txt", "new".into()), Entry::new("y.txt", |_| anyhow::bail!("no"))];
        assert!(save(root.path(), &failing).is_err());
        assert_eq!(fs::read_to_string(root.path().join("x.txt")).unwrap(), "old");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }
}
