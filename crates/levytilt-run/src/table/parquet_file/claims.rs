//! Hold what a Parquet file claims of itself against its size, before anything is allocated for it.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

use super::forms::{COLUMN, DATA, DATA_2, DICTIONARY, FILE, PAGE};
use super::thrift::{Form, Walker};
use crate::table::inflate::most_content;

/// Longest description of a file.
const MOST_FOOTER: u64 = 16 << 20;
/// Longest page once it is unpacked; writers make them of a megabyte.
const MOST_PAGE: u64 = 32 << 20;
/// Deepest nesting of columns; those that are read do not nest at all.
const MOST_NESTING: usize = 32;
/// Memory for an entry of a dictionary of texts.
const ENTRY: u64 = 32;

/// Look at the description at the end of a file: a library builds the tree of columns by recursion, and structures by the
/// numbers that lists begin with.
pub fn check_footer(file: &mut File) -> Result<(), String> {
    let size = file.metadata().map_err(unreadable)?.len();
    let mut tail = [0; 8];
    if size < 12 {
        return Err("is cut short".into());
    }
    file.seek(SeekFrom::End(-8)).and_then(|_| file.read_exact(&mut tail)).map_err(unreadable)?;
    let length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    if tail[4..] != *b"PAR1" {
        return Err("is encrypted or cut short: it does not end with PAR1".into());
    }
    if length > MOST_FOOTER || length + 12 > size {
        return Err(format!(
            "claims a description of {length} bytes; expected at most {MOST_FOOTER}, and the file to hold it"
        ));
    }
    file.seek(SeekFrom::Start(size - 8 - length)).map_err(unreadable)?;
    let mut walker = Walker::new(BufReader::new(file.take(length)));
    walker.structure(FILE, &mut |walker, number| match number {
        2 => check_schema(walker).map(|()| true),
        _ => Ok(false),
    })
}

/// The tree of columns comes in preorder, each with its number of children.
fn check_schema<R: Read>(walker: &mut Walker<R>) -> Result<(), String> {
    let size = walker.list(&Form::Structure(COLUMN))?;
    let mut open: Vec<i32> = Vec::new();
    for _ in 0..size {
        let mut children = 0;
        walker.structure(COLUMN, &mut |walker, number| {
            if number == 5 {
                children = walker.integer()?;
            }
            Ok(number == 5)
        })?;
        open.push(i32::try_from(children).map_err(|_| format!("has a column of {children} columns"))?);
        if open.len() > MOST_NESTING {
            return Err(format!("nests columns deeper than {MOST_NESTING}"));
        }
        while open.last().is_some_and(|left| *left <= 0) {
            open.pop();
            if let Some(left) = open.last_mut() {
                *left -= 1;
            }
        }
    }
    Ok(())
}

/// What may still come out of a file.
pub struct Allowance {
    left: u64,
    size: u64,
}

impl Allowance {
    /// All that a file of `size` bytes may hold.
    pub fn new(size: u64) -> Self {
        Self { left: most_content(size), size }
    }

    /// Take `count` bytes of it.
    pub fn take(&mut self, count: u64) -> Result<(), String> {
        self.left = self.left.checked_sub(count).ok_or_else(|| {
            let (size, most) = (self.size, most_content(self.size));
            format!("{size} bytes claim more than {most} bytes of content; no table shrinks so far")
        })?;
        Ok(())
    }
}

/// Look at the pages of one column in one group of rows, which lie in `length` bytes from `start`; they must hold `rows`.
pub fn check_pages(
    file: &mut File,
    (start, length): (u64, u64),
    rows: u64,
    allowance: &mut Allowance,
) -> Result<(), String> {
    file.seek(SeekFrom::Start(start)).map_err(unreadable)?;
    let mut from = BufReader::new(file);
    let (mut left, mut values, mut dictionary) = (length, 0, false);
    while left > 0 {
        let mut walker = Walker::new(&mut from);
        let page = Page::read(&mut walker)?;
        let head = walker.position();
        page.check(dictionary)?;
        allowance.take(page.memory())?;
        dictionary |= page.kind == Some(2);
        values += if page.kind == Some(2) { 0 } else { page.values as u64 };
        let packed = page.packed as u64;
        left = left.checked_sub(head + packed).ok_or("has a page that is longer than its column")?;
        from.seek_relative(packed as i64).map_err(unreadable)?;
    }
    if values != rows {
        return Err(format!("pages hold {values} values, expected {rows}"));
    }
    Ok(())
}

/// What the head of a page says.
#[derive(Default)]
struct Page {
    /// 0 and 3: data, 2: dictionary, 1: index.
    kind: Option<i64>,
    /// Of which kinds of pages it says something, as fields number them.
    own: Vec<u64>,
    plain: i64,
    packed: i64,
    values: i64,
    encoding: i64,
    /// Bytes of the levels of a page of the second version.
    levels: [i64; 2],
}

impl Page {
    fn read<R: Read>(walker: &mut Walker<R>) -> Result<Self, String> {
        let mut page = Self::default();
        walker.structure(PAGE, &mut |walker, number| {
            match number {
                1 => page.kind = Some(walker.integer()?),
                2 => page.plain = walker.integer()?,
                3 => page.packed = walker.integer()?,
                5 | 7 | 8 => {
                    page.own.push(number);
                    page.read_own(walker, number)?;
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(page)
    }

    /// What is said of one kind of page: data of the first (5) and second version (8), dictionary (7).
    fn read_own<R: Read>(&mut self, walker: &mut Walker<R>, of: u64) -> Result<(), String> {
        let known = match of {
            5 => DATA,
            7 => DICTIONARY,
            _ => DATA_2,
        };
        walker.structure(known, &mut |walker: &mut Walker<R>, number: u64| {
            match (of, number) {
                (_, 1) => self.values = walker.integer()?,
                (5 | 7, 2) | (8, 4) => self.encoding = walker.integer()?,
                (8, 5) => self.levels[0] = walker.integer()?,
                (8, 6) => self.levels[1] = walker.integer()?,
                _ => return Ok(false),
            }
            Ok(true)
        })
    }

    fn check(&self, dictionary: bool) -> Result<(), String> {
        let sizes = [self.plain, self.packed, self.values, self.levels[0], self.levels[1]];
        if sizes.iter().any(|size| i32::try_from(*size).map_or(true, |size| size < 0)) {
            return Err("has a page with a size below 0 or beyond 2 GB".into());
        }
        // A head that speaks of two kinds of pages would be believed in the one and looked at in the other.
        if !matches!((self.kind, self.own.as_slice()), (Some(0), [5]) | (Some(1), []) | (Some(2), [7]) | (Some(3), [8]))
        {
            return Err("has a page whose head does not say what it is".into());
        }
        if self.plain as u64 > MOST_PAGE {
            return Err(format!("has a page of {} bytes; expected at most {MOST_PAGE}", self.plain));
        }
        let is_dictionary = self.kind == Some(2);
        if self.levels.iter().sum::<i64>() > self.plain || is_dictionary && (dictionary || self.values > self.plain / 4)
        {
            return Err("has a page that claims more than it holds".into());
        }
        match (self.encoding, dictionary) {
            // Plain, dictionary (two numbers), runs, differences, streams.
            (0 | 3 | 5 | 9, _) | (2 | 8, true) => Ok(()),
            (2, false) if is_dictionary => Ok(()),
            (2 | 8, false) => Err("has a page that needs a dictionary before there is one".into()),
            (other, _) => {
                Err(format!("has a page of encoding {other}; expected plain, dictionary or differences of numbers"))
            }
        }
    }

    /// What it takes once it is unpacked.
    fn memory(&self) -> u64 {
        let entries = if self.kind == Some(2) { self.values as u64 } else { 0 };
        self.plain as u64 + ENTRY * entries
    }
}

fn unreadable(error: std::io::Error) -> String {
    format!("cannot be read: {error}")
}
