//! Keep finished pieces of long work in a file of one JSON object per line, so that a stopped run can resume.

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Mutex;

use crate::failure::bad;
use crate::finite;

/// A journal open for appending. Its first line holds the settings that all others were made with.
pub struct Journal {
    whole: Mutex<Whole>,
}

/// The file, and how much of it is whole lines.
struct Whole {
    file: File,
    length: u64,
}

impl Journal {
    /// Open or begin the journal at `path`, and read what is finished.
    ///
    /// A last line that was cut off by a kill is dropped. Other settings than the journal's are refused: its lines would
    /// not belong together.
    pub fn open<L: DeserializeOwned>(path: &Path, settings: &Value) -> Result<(Self, Vec<L>)> {
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        }
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        // Only what ends with a line break was written whole.
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        let mut lines = whole.lines();
        let first = lines.next();
        if let Some(first) = first {
            same_settings(path, &parse(path, 1, first)?, settings)?;
        }
        let finished = lines.enumerate().map(|(i, line)| parse(path, i + 2, line)).collect::<Result<Vec<L>>>()?;
        // Only now, when it is known to be ours, is it touched.
        let open = OpenOptions::new().create(true).write(true).truncate(false).open(path);
        let file = open.with_context(|| format!("cannot write {}", path.display()))?;
        let mut whole = Whole { file, length: whole.len() as u64 };
        whole.cut().with_context(|| format!("cannot write {}", path.display()))?;
        let journal = Self { whole: Mutex::new(whole) };
        if first.is_none() {
            journal.append(settings)?;
        }
        Ok((journal, finished))
    }

    /// Append a line, whole or not at all: what a full disk left of it is cut off again.
    pub fn append(&self, line: &impl Serialize) -> Result<()> {
        finite::check(line)?;
        let mut text = serde_json::to_string(line).context("journal line")?;
        text.push('\n');
        let mut whole = self.whole.lock().map_err(|_| anyhow::anyhow!("a thread failed while writing"))?;
        let written = whole.file.write_all(text.as_bytes());
        match written {
            Ok(()) => whole.length += text.len() as u64,
            Err(_) => whole.cut().context("cannot mend the journal")?,
        }
        written.context("cannot append to the journal; finished work is kept, and the same command resumes from there")
    }
}

impl Whole {
    /// Leave only whole lines, and go to their end.
    fn cut(&mut self) -> std::io::Result<()> {
        self.file.set_len(self.length)?;
        self.file.seek(SeekFrom::Start(self.length)).map(drop)
    }
}

fn parse<L: DeserializeOwned>(path: &Path, number: usize, line: &str) -> Result<L> {
    serde_json::from_str(line)
        .map_err(|error| bad(format!("{}, line {number}: {error}; remove the file to start again", path.display())))
}

fn same_settings(path: &Path, old: &Value, new: &Value) -> Result<()> {
    let empty = serde_json::Map::new();
    let (before, now) = (old.as_object().unwrap_or(&empty), new.as_object().unwrap_or(&empty));
    let odd = now.keys().chain(before.keys()).find(|key| before.get(*key) != now.get(*key));
    match odd {
        None => Ok(()),
        Some(key) => {
            let show = |value: Option<&Value>| value.map_or("nothing".into(), Value::to_string);
            Err(bad(format!(
                "{}: was made with another {key}: {} there, {} now; use another --out, or remove the file to start again",
                path.display(),
                show(before.get(key)),
                show(now.get(key))
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_cut_line_is_dropped_and_the_rest_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/lines.jsonl");
        let settings = json!({"train": 30.0, "seed": 1});
        let (journal, none) = Journal::open::<Vec<f64>>(&path, &settings).unwrap();
        assert!(none.is_empty());
        journal.append(&[0.1, 1e-300]).unwrap();
        journal.append(&[2.0]).unwrap();
        drop(journal);
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 2]).unwrap();
        let (journal, kept) = Journal::open::<Vec<f64>>(&path, &settings).unwrap();
        assert_eq!(kept, [vec![0.1, 1e-300]]);
        journal.append(&[2.0]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), whole);
    }

    #[test]
    fn other_settings_and_broken_lines_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lines.jsonl");
        drop(Journal::open::<Value>(&path, &json!({"train": 30.0})).unwrap());
        let message = |settings: Value| match Journal::open::<Value>(&path, &settings) {
            Ok(_) => panic!("opened"),
            Err(error) => error.to_string(),
        };
        assert!(message(json!({"train": 20.0})).contains("another train: 30.0 there, 20.0 now"));
        assert!(message(json!({"train": 30.0, "seed": 2})).contains("another seed: nothing there, 2 now"));
        fs::write(&path, "{\"train\": 30.0}\nnonsense\n").unwrap();
        assert!(message(json!({"train": 30.0})).contains("line 2"));
    }
}
