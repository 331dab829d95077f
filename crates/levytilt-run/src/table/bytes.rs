//! Fetch what an input holds, and stop early where it cannot be what it should: too long, not text, a bomb.

use anyhow::Result;
use flate2::read::MultiGzDecoder;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{BufReader, Cursor, ErrorKind, Read};
use std::path::Path;

use crate::failure::bad;
use crate::table::inflate::Measured;

/// Longest line of a table.
const MOST_LINE: usize = 1 << 20;
/// Longest table.
const MOST_TEXT: usize = 1 << 30;
/// Longest settings file.
const MOST_SETTINGS: u64 = 4 << 20;
/// Longest JSON file of a result.
const MOST_JSON: u64 = 256 << 20;

/// How Parquet files begin.
const PARQUET: [u8; 4] = *b"PAR1";

/// How Excel files begin: zipped, and of before 2007.
const EXCEL: [[u8; 4]; 2] = [*b"PK\x03\x04", [0xd0, 0xcf, 0x11, 0xe0]];

/// The name of an input in messages.
pub fn display_name(source: &str) -> String {
    if source == "-" { "standard input".into() } else { source.into() }
}

/// The text of the table in the file `source`, or on standard input for `-`: plain or gzipped, UTF-8 with or without a
/// byte-order mark.
pub fn read_text(source: &str) -> Result<String> {
    let name = display_name(source);
    let unreadable = |error| bad(format!("{name}: cannot be read: {error}"));
    match source {
        "-" => decode(std::io::stdin().lock(), &name),
        path => decode(File::open(path).map_err(unreadable)?, &name),
    }
}

/// The text that `raw` holds, plain or gzipped.
pub fn decode(mut raw: impl Read, name: &str) -> Result<String> {
    let unreadable = |error| bad(format!("{name}: cannot be read: {error}"));
    // The first bytes say more than the name: standard input has no name.
    let mut head = Vec::new();
    raw.by_ref().take(4).read_to_end(&mut head).map_err(unreadable)?;
    if head == PARQUET {
        return Err(bad(format!("{name}: is a Parquet file; save it as CSV, or read it with the Python package")));
    }
    if EXCEL.iter().any(|start| head.starts_with(start)) {
        return Err(bad(format!("{name}: is an Excel file; save it as CSV UTF-8")));
    }
    if head.starts_with(b"{") || head.starts_with(b"[{") || head.starts_with(b"[[") {
        return Err(bad(format!(
            "{name}: is JSON; expected CSV with a header such as time,value: save the table as CSV"
        )));
    }
    let zipped = head.starts_with(&[0x1f, 0x8b]);
    let raw = Cursor::new(head).chain(raw);
    if zipped {
        let (seen, measured) = Measured::new(raw);
        let plain = seen.guard(MultiGzDecoder::new(BufReader::new(measured)));
        text(plain, name, |error| match error.kind() {
            // Of our own making: too much of it.
            ErrorKind::FileTooLarge => bad(format!("{name}: gzip data: {error}")),
            _ => bad(format!("{name}: gzip data is damaged or cut short: {error}")),
        })
    } else {
        text(raw, name, unreadable)
    }
}

/// Read to the end, checking every piece as it comes.
fn text(mut from: impl Read, name: &str, broken: impl Fn(std::io::Error) -> anyhow::Error) -> Result<String> {
    let mut checked = Checked::default();
    let mut piece = vec![0; 1 << 16];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return checked.end(name),
            Ok(count) => checked.add(&piece[..count]).map_err(|problem| checked.place(name, problem))?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(broken(error)),
        }
    }
}

/// Text as far as it was read.
#[derive(Default)]
struct Checked {
    bytes: Vec<u8>,
    /// How far it is known to be UTF-8.
    valid: usize,
    /// Finished lines.
    lines: usize,
    /// Where the last line begins.
    start: usize,
}

const NOT_UTF8: &str = "not UTF-8 text; expected a CSV file, plain or gzipped: save the table as CSV UTF-8";

impl Checked {
    fn add(&mut self, piece: &[u8]) -> Result<(), String> {
        self.bytes.extend_from_slice(piece);
        // A UTF-16 file shows at once: its mark, or every other byte of plain text nothing.
        let utf16 = self.bytes.starts_with(&[0xff, 0xfe]) || self.bytes.starts_with(&[0xfe, 0xff]);
        let nothing = self.bytes[self.valid..].iter().position(|&byte| byte == 0).map(|at| at + self.valid);
        if utf16 || nothing.is_some_and(|at| at < 2) {
            return Err("UTF-16 text, or binary data; expected UTF-8: save the file as UTF-8".into());
        }
        let fresh = self.valid;
        let problem = match std::str::from_utf8(&self.bytes[fresh..nothing.unwrap_or(self.bytes.len())]) {
            Ok(text) => {
                self.valid += text.len();
                nothing.map(|_| "binary data; expected a CSV file, plain or gzipped")
            }
            Err(error) => {
                self.valid += error.valid_up_to();
                // The end of a piece may cut a letter in two.
                error.error_len().map(|_| NOT_UTF8)
            }
        };
        for (at, _) in self.bytes[fresh..self.valid].iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            self.lines += 1;
            self.start = fresh + at + 1;
        }
        match problem {
            Some(problem) => Err(problem.into()),
            None if self.bytes.len() - self.start > MOST_LINE => {
                Err(format!("longer than {MOST_LINE} bytes; expected a table with line breaks"))
            }
            None if self.bytes.len() > MOST_TEXT => {
                Err(format!("more than {} MB of text; give a part of it, or every n-th row", MOST_TEXT >> 20))
            }
            None => Ok(()),
        }
    }

    fn place(&self, name: &str, problem: String) -> anyhow::Error {
        bad(format!("{name}, line {}: {problem}", self.lines + 1))
    }

    fn end(self, name: &str) -> Result<String> {
        if self.valid < self.bytes.len() {
            return Err(self.place(name, NOT_UTF8.into()));
        }
        let text = String::from_utf8(self.bytes)?;
        Ok(text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text))
    }
}

/// The text of a settings file.
pub fn read_settings(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MOST_SETTINGS + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_SETTINGS {
        return Err(std::io::Error::other(format!("longer than {} MB", MOST_SETTINGS >> 20)));
    }
    Ok(text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text))
}

/// Open a file of a result: never a pipe or a device, which could keep us waiting for ever.
pub fn open_result(path: &Path) -> std::io::Result<File> {
    if std::fs::metadata(path)?.is_file() { File::open(path) } else { Err(std::io::Error::other("is not a file")) }
}

/// What the JSON file of a result holds; read piece by piece, so that nonsense is found before it is all in memory.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> std::io::Result<serde_json::Result<T>> {
    let file = open_result(path)?;
    if file.metadata()?.len() > MOST_JSON {
        return Err(std::io::Error::other(format!("longer than {} MB", MOST_JSON >> 20)));
    }
    Ok(serde_json::from_reader(BufReader::new(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<String> {
        text(bytes, "x", |error| bad(format!("{error}")))
    }

    #[test]
    fn identity_text_comes_through_whatever_the_pieces() {
        /// One byte at a time, so that every letter is cut.
        struct Slow<'a>(&'a [u8]);
        impl Read for Slow<'_> {
            fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
                self.0.read(&mut to[..1])
            }
        }
        let plain = "time,größe\n1,2\n2,€\n";
        for given in [plain.to_string(), format!("\u{feff}{plain}")] {
            assert_eq!(read(given.as_bytes()).unwrap(), plain);
            assert_eq!(text(Slow(given.as_bytes()), "x", |e| bad(e.to_string())).unwrap(), plain);
        }
    }

    #[test]
    fn what_is_no_text_is_named_with_its_line() {
        let said = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
        assert!(said(b"time,v\n1,2\n2,\xff\n").starts_with("x, line 3: not UTF-8"));
        assert!(said(b"time,v\n1,\xe2\x82").starts_with("x, line 2: not UTF-8"), "a letter cut short at the end");
        assert!(said(b"time,v\n1,2\0\n").starts_with("x, line 2: binary"));
        assert!(said(b"\xff\xfet\0").contains("UTF-16") && said(b"t\0i\0").contains("UTF-16"));
        assert!(said(&[b"time\n".to_vec(), vec![b'x'; MOST_LINE + 1]].concat()).starts_with("x, line 2: longer"));
    }
}
