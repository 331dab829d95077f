//! Write NumPy's .npz: a zip archive of .npy arrays, stored without compression.

use anyhow::{Result, bail};
use std::io::Write;

use crate::finite;

/// A named array of doubles, last index fastest.
pub struct Array {
    /// Name of the array.
    pub name: &'static str,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its values.
    pub values: Vec<f64>,
}

/// An array with a row of three numbers for each of `rows`.
pub fn rows(name: &'static str, rows: &[[usize; 3]]) -> Array {
    Array { name, shape: vec![rows.len(), 3], values: rows.as_flattened().iter().map(|&k| k as f64).collect() }
}

/// Length of the alignment of the data in an .npy file.
const ALIGN: usize = 64;

/// Write the arrays as one archive.
pub fn write(out: &mut dyn Write, arrays: &[Array]) -> Result<()> {
    let mut offset = 0u64;
    let mut directory = Vec::new();
    for array in arrays {
        if !array.values.iter().all(|value| value.is_finite()) {
            bail!(finite::complaint(&format!("a number of {}", array.name)));
        }
        let name = format!("{}.npy", array.name);
        let content = npy(array);
        // Beyond this an archive needs another format (zip64).
        let (Ok(size), Ok(place)) = (u32::try_from(content.len()), u32::try_from(offset)) else {
            bail!("array {} is too large for a .npz file; use fewer paths or steps", array.name);
        };
        let mut crc = flate2::Crc::new();
        crc.update(&content);
        let entry = entry(&name, crc.sum(), size);
        let mut head = Vec::from(*b"PK\x03\x04");
        head.extend(&entry);
        head.extend([0, 0]);
        head.extend(name.as_bytes());
        out.write_all(&head)?;
        out.write_all(&content)?;
        // Central directory: version made by, the same entry, then no extra field, comment, disk or attributes.
        directory.extend(*b"PK\x01\x02\x14\x00");
        directory.extend(&entry);
        directory.extend([0; 12]);
        directory.extend(place.to_le_bytes());
        directory.extend(name.as_bytes());
        offset += (head.len() + content.len()) as u64;
    }
    let Ok(place) = u32::try_from(offset) else { bail!("too large for a .npz file; use fewer paths or steps") };
    let count = (arrays.len() as u16).to_le_bytes();
    out.write_all(&directory)?;
    out.write_all(b"PK\x05\x06\0\0\0\0")?;
    out.write_all(&[count, count].concat())?;
    out.write_all(&(directory.len() as u32).to_le_bytes())?;
    out.write_all(&place.to_le_bytes())?;
    Ok(out.write_all(&[0, 0])?)
}

/// What the head of a file and its entry in the directory have in common: version 2.0, no flags, stored, the earliest
/// date there is (so that equal content gives equal bytes), checksum, sizes, length of the name.
fn entry(name: &str, crc: u32, size: u32) -> Vec<u8> {
    let mut bytes = vec![20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
    bytes.extend(crc.to_le_bytes());
    bytes.extend(size.to_le_bytes());
    bytes.extend(size.to_le_bytes());
    bytes.extend((name.len() as u16).to_le_bytes());
    bytes
}

/// The .npy form of an array, version 1.0.
fn npy(array: &Array) -> Vec<u8> {
    let shape: String = array.shape.iter().map(|n| format!("{n},")).collect();
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({shape}), }}");
    // Magic, version and length take ten bytes; the header ends with a line break.
    let padding = ALIGN - (10 + header.len() + 1) % ALIGN;
    let length = (header.len() + padding + 1) as u16;
    let mut bytes = Vec::with_capacity(10 + usize::from(length) + 8 * array.values.len());
    bytes.extend(b"\x93NUMPY\x01\x00");
    bytes.extend(length.to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(vec![b' '; padding]);
    bytes.push(b'\n');
    array.values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_are_aligned_and_the_directory_is_where_the_end_says() {
        let arrays = [
            Array { name: "times", shape: vec![3], values: vec![0.0, 0.5, 1.0] },
            Array { name: "paths", shape: vec![1, 3, 1], values: vec![1.0, 2.0, 3.0] },
        ];
        let first = npy(&arrays[0]);
        assert_eq!((first.len() - 24) % ALIGN, 0);
        assert_eq!(first[first.len() - 8..], 1f64.to_le_bytes());
        let mut bytes = Vec::new();
        write(&mut bytes, &arrays).unwrap();
        let end = bytes.len() - 22;
        assert_eq!(bytes[end..end + 4], *b"PK\x05\x06");
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let (size, place) = (number(end + 12), number(end + 16));
        assert_eq!(place + size, end);
        assert_eq!(bytes[place..place + 4], *b"PK\x01\x02");
        let second = number(place + 46 + "times.npy".len() + 42);
        assert_eq!(bytes[second..second + 4], *b"PK\x03\x04");
        assert_eq!(bytes[second + 30..second + 39], *b"paths.npy");
    }
}
