//! Read NumPy's .npz back: a zip archive of .npy arrays of doubles, stored or deflated.

use flate2::read::DeflateDecoder;
use std::io::{BufReader, Read, Seek, SeekFrom};

use crate::table::inflate::Measured;

/// An array from a file.
#[derive(Debug, PartialEq)]
pub struct Found {
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its values, last index fastest.
    pub values: Vec<f64>,
}

/// Length of the end record, and of the longest comment after it.
const END: (u64, u64) = (22, 1 << 16);
/// Longest header of an .npy array.
const MOST_HEADER: usize = 1 << 16;
/// Longest list of the files in an archive.
const MOST_DIRECTORY: u64 = 16 << 20;

/// The array called `name` in an archive whose shape passes `check`; the error says what is wrong with the file.
pub fn array(
    archive: impl Read + Seek,
    name: &str,
    check: impl Fn(&[usize]) -> Result<(), String>,
) -> Result<Found, String> {
    optional(archive, name, check)?.ok_or_else(|| format!("has no array \"{name}\""))
}

/// As [`array()`], for one that need not be there.
pub fn optional(
    mut archive: impl Read + Seek,
    name: &str,
    check: impl Fn(&[usize]) -> Result<(), String>,
) -> Result<Option<Found>, String> {
    let wanted = format!("{name}.npy");
    let members = members(&mut archive).ok_or("not a .npz file, or cut short")?;
    let member = members.iter().find(|member| member.name == wanted.as_bytes());
    let found = member.map(|member| content(&mut archive, member, check)).transpose();
    found.map_err(|why| format!("array \"{name}\": {why}"))
}

/// A file in the archive, from the central directory.
struct Member {
    name: Vec<u8>,
    method: u16,
    crc: u32,
    stored: u64,
    offset: u64,
}

/// All files of the archive. Sizes in the directory are right also where the file's own head leaves them open.
fn members(archive: &mut (impl Read + Seek)) -> Option<Vec<Member>> {
    // The end record has possibly a comment after it.
    let length = archive.seek(SeekFrom::End(0)).ok()?;
    let tail = bytes_at(archive, length.saturating_sub(END.0 + END.1), (END.0 + END.1).min(length))?;
    let end = tail.windows(4).rposition(|bytes| bytes == b"PK\x05\x06")?;
    let end = tail.get(end..end + END.0 as usize)?;
    let (count, size, start) = (u16_at(end, 10)?, u32_at(end, 12)?, u32_at(end, 16)?);
    let directory = bytes_at(archive, start.into(), u64::from(size).min(MOST_DIRECTORY))?;
    let mut at = 0;
    let mut members = Vec::new();
    for _ in 0..count {
        if directory.get(at..at + 4)? != b"PK\x01\x02" {
            return None;
        }
        let lengths = [28, 30, 32].map(|place| u16_at(&directory, at + place));
        let [name, extra, comment] = [lengths[0]?, lengths[1]?, lengths[2]?].map(usize::from);
        members.push(Member {
            name: directory.get(at + 46..at + 46 + name)?.to_vec(),
            method: u16_at(&directory, at + 10)?,
            crc: u32_at(&directory, at + 16)?,
            stored: u32_at(&directory, at + 20)?.into(),
            offset: u32_at(&directory, at + 42)?.into(),
        });
        at += 46 + name + extra + comment;
    }
    Some(members)
}

fn content(
    archive: &mut (impl Read + Seek),
    member: &Member,
    check: impl Fn(&[usize]) -> Result<(), String>,
) -> Result<Found, String> {
    let head = bytes_at(archive, member.offset, 30).filter(|head| head.starts_with(b"PK\x03\x04"));
    let lengths = head.and_then(|head| Some((u16_at(&head, 26)?, u16_at(&head, 28)?)));
    let (name, extra) = lengths.ok_or("cut short, or larger than 4 GB")?;
    let start = member.offset + 30 + u64::from(name) + u64::from(extra);
    archive.seek(SeekFrom::Start(start)).map_err(|error| error.to_string())?;
    let stored = archive.take(member.stored);
    match member.method {
        0 => npy(stored, member.crc, check),
        8 => {
            let (seen, measured) = Measured::new(stored);
            npy(seen.guard(DeflateDecoder::new(BufReader::new(measured))), member.crc, check)
        }
        other => Err(format!("compressed by method {other}; expected stored or deflated")),
    }
}

/// Read an array and check it against its checksum; the shape is known, and judged, before the numbers are read.
fn npy(from: impl Read, crc: u32, check: impl Fn(&[usize]) -> Result<(), String>) -> Result<Found, String> {
    let mut from = Summed { from, crc: flate2::Crc::new() };
    let header = header(&mut from)?;
    if !header.contains("'<f8'") || !header.contains("'fortran_order': False") {
        return Err("expected doubles ('<f8') in C order".into());
    }
    let shape = shape(&header).ok_or("its shape cannot be read")?;
    check(&shape)?;
    let size = shape.iter().try_fold(8u64, |product, n| product.checked_mul(u64::try_from(*n).ok()?));
    let size = size.filter(|size| *size < u64::MAX).ok_or("its shape is too large")?;
    // One byte more than there should be, to see whether there is one.
    let mut data = Vec::new();
    let read = from.by_ref().take(size + 1).read_to_end(&mut data);
    read.map_err(|error| format!("damaged: {error}"))?;
    if data.len() as u64 != size {
        return Err(format!("shape {shape:?} does not fit its data: damaged or cut short"));
    }
    if from.crc.sum() != crc {
        return Err("damaged: the checksum is wrong".into());
    }
    let values: Vec<f64> = data.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    match values.iter().position(|value| !value.is_finite()) {
        Some(place) => Err(format!("number {place} is {}; expected finite ones", values[place])),
        None => Ok(Found { shape, values }),
    }
}

fn header(from: &mut impl Read) -> Result<String, String> {
    let mut read = |count: usize| {
        let mut bytes = vec![0; count];
        from.read_exact(&mut bytes).map(|()| bytes).map_err(|error| format!("damaged: {error}"))
    };
    let start = read(8)?;
    if !start.starts_with(b"\x93NUMPY") {
        return Err("not an .npy array".into());
    }
    let length = match start[6] {
        1 => u16_at(&read(2)?, 0).map(usize::from),
        _ => u32_at(&read(4)?, 0).map(|length| length as usize),
    };
    let length = length.filter(|length| *length <= MOST_HEADER).ok_or("its header is too long")?;
    String::from_utf8(read(length)?).map_err(|_| "its header is not text".into())
}

/// A source with the checksum of what was read of it.
struct Summed<R> {
    from: R,
    crc: flate2::Crc,
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let count = self.from.read(to)?;
        self.crc.update(&to[..count]);
        Ok(count)
    }
}

fn shape(header: &str) -> Option<Vec<usize>> {
    let inside = header.split_once("'shape': (")?.1.split_once(')')?.0;
    inside.split(',').map(str::trim).filter(|n| !n.is_empty()).map(|n| n.parse().ok()).collect()
}

fn bytes_at(archive: &mut (impl Read + Seek), start: u64, count: u64) -> Option<Vec<u8>> {
    archive.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = Vec::new();
    archive.take(count).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == count).then_some(bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::npz::{Array, write};

    fn array(archive: &[u8], name: &str) -> Result<Found, String> {
        super::array(std::io::Cursor::new(archive), name, |_| Ok(()))
    }

    fn archive() -> Vec<u8> {
        let arrays = [
            Array { name: "times", shape: vec![3], values: vec![0.0, 0.5, 1.0] },
            Array { name: "paths", shape: vec![2, 3, 1], values: vec![1.0, -2.0, 3e300, 0.1, 5.0, 6.0] },
        ];
        let mut bytes = Vec::new();
        write(&mut bytes, &arrays).unwrap();
        bytes
    }

    #[test]
    fn identity_what_was_written_is_read() {
        let times = array(&archive(), "times").unwrap();
        assert_eq!(times, Found { shape: vec![3], values: vec![0.0, 0.5, 1.0] });
        let paths = array(&archive(), "paths").unwrap();
        assert_eq!(paths, Found { shape: vec![2, 3, 1], values: vec![1.0, -2.0, 3e300, 0.1, 5.0, 6.0] });
    }

    #[test]
    fn golden_numpy_archive_is_read() {
        // NumPy 2.4, savez_compressed(file, x = numpy.arange(6.0).reshape(2, 3)).
        let bytes = include_bytes!("../../tests/data/numpy.npz");
        let found = array(bytes, "x").unwrap();
        assert_eq!(found, Found { shape: vec![2, 3], values: vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0] });
    }

    #[test]
    fn a_shape_that_does_not_fit_is_refused_before_the_numbers_are_read() {
        let check = |shape: &[usize]| Err(format!("{shape:?} is odd"));
        let said = super::array(std::io::Cursor::new(archive()), "paths", check).unwrap_err();
        assert!(said.contains("[2, 3, 1] is odd"), "{said}");
    }

    #[test]
    fn damage_is_an_error_and_never_a_panic() {
        let whole = archive();
        assert!(array(&whole, "weights").unwrap_err().contains("no array \"weights\""));
        assert!(array(b"", "times").is_err() && array(b"time,value\n", "times").is_err());
        for length in 0..whole.len() {
            assert!(array(&whole[..length], "paths").is_err(), "{length}");
        }
        // A flipped bit in the data or in a head is seen, or did not matter.
        let good = array(&whole, "paths");
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            let found = array(&flipped, "paths");
            assert!(found.is_err() || found == good, "{at}");
        }
    }
}
