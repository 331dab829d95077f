//! Read NumPy's .npz back: a zip archive of .npy arrays of doubles, stored or deflated.

use flate2::read::DeflateDecoder;
use std::io::Read;

/// An array from a file.
#[derive(Debug, PartialEq)]
pub struct Found {
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its values, last index fastest.
    pub values: Vec<f64>,
}

/// The array called `name` in an archive; the error says what is wrong with the file.
pub fn array(archive: &[u8], name: &str) -> Result<Found, String> {
    let wanted = format!("{name}.npy");
    let members = members(archive).ok_or("not a .npz file, or cut short")?;
    let Some(member) = members.iter().find(|member| member.name == wanted.as_bytes()) else {
        return Err(format!("has no array \"{name}\""));
    };
    npy(&content(archive, member)?).map_err(|why| format!("array \"{name}\": {why}"))
}

/// A file in the archive, from the central directory.
struct Member<'a> {
    name: &'a [u8],
    method: u16,
    crc: u32,
    stored: usize,
    offset: usize,
}

/// All files of the archive. Sizes in the directory are right also where the file's own head leaves them open.
fn members(archive: &[u8]) -> Option<Vec<Member<'_>>> {
    // The end record has 22 bytes and possibly a comment after it.
    let end = archive.windows(4).rposition(|bytes| bytes == b"PK\x05\x06")?;
    archive.get(end..end + 22)?;
    let count = u16_at(archive, end + 10)?;
    let mut at = u32_at(archive, end + 16)? as usize;
    let mut members = Vec::new();
    for _ in 0..count {
        if archive.get(at..at + 4)? != b"PK\x01\x02" {
            return None;
        }
        let lengths = [28, 30, 32].map(|place| u16_at(archive, at + place));
        let [name, extra, comment] = [lengths[0]?, lengths[1]?, lengths[2]?].map(usize::from);
        members.push(Member {
            name: archive.get(at + 46..at + 46 + name)?,
            method: u16_at(archive, at + 10)?,
            crc: u32_at(archive, at + 16)?,
            stored: u32_at(archive, at + 20)? as usize,
            offset: u32_at(archive, at + 42)? as usize,
        });
        at += 46 + name + extra + comment;
    }
    Some(members)
}

fn content(archive: &[u8], member: &Member) -> Result<Vec<u8>, String> {
    let data = || {
        let (name, extra) = (u16_at(archive, member.offset + 26)?, u16_at(archive, member.offset + 28)?);
        let start = member.offset + 30 + usize::from(name) + usize::from(extra);
        archive.get(start..start.checked_add(member.stored)?)
    };
    let stored = data().ok_or("cut short, or larger than 4 GB")?;
    let content = match member.method {
        0 => stored.to_vec(),
        8 => {
            let mut plain = Vec::new();
            DeflateDecoder::new(stored).read_to_end(&mut plain).map_err(|error| format!("damaged: {error}"))?;
            plain
        }
        other => return Err(format!("compressed by method {other}; expected stored or deflated")),
    };
    let mut crc = flate2::Crc::new();
    crc.update(&content);
    if crc.sum() == member.crc { Ok(content) } else { Err("damaged: the checksum is wrong".into()) }
}

fn npy(bytes: &[u8]) -> Result<Found, String> {
    let head = || {
        let start = if *bytes.get(6)? == 1 { 10 } else { 12 };
        let length = if start == 10 { usize::from(u16_at(bytes, 8)?) } else { u32_at(bytes, 8)? as usize };
        let header = std::str::from_utf8(bytes.get(start..start + length)?).ok()?;
        (bytes.get(..6)? == b"\x93NUMPY").then_some((header, &bytes[start + length..]))
    };
    let (header, data) = head().ok_or("not an .npy array")?;
    if !header.contains("'<f8'") || !header.contains("'fortran_order': False") {
        return Err("expected doubles ('<f8') in C order".into());
    }
    let shape = shape(header).ok_or("its shape cannot be read")?;
    let count = shape.iter().try_fold(8usize, |product, n| product.checked_mul(*n));
    if count != Some(data.len()) {
        return Err(format!("shape {shape:?} does not fit {} bytes of data", data.len()));
    }
    let double = |bytes: &[u8]| f64::from_le_bytes(std::array::from_fn(|i| bytes[i]));
    Ok(Found { shape, values: data.chunks_exact(8).map(double).collect() })
}

fn shape(header: &str) -> Option<Vec<usize>> {
    let inside = header.split_once("'shape': (")?.1.split_once(')')?.0;
    inside.split(',').map(str::trim).filter(|n| !n.is_empty()).map(|n| n.parse().ok()).collect()
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
    use crate::npz::{Array, write};

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
        let bytes = include_bytes!("../tests/data/numpy.npz");
        let found = array(bytes, "x").unwrap();
        assert_eq!(found, Found { shape: vec![2, 3], values: vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0] });
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
