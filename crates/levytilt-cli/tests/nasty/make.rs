//! Make files that nobody should send.

use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};
use std::io::Write;
use std::path::Path;

/// `count` bytes of the same kind, in pieces.
pub fn repeat(out: &mut dyn Write, piece: &[u8], count: usize) -> std::io::Result<()> {
    let block = piece.repeat((1 << 16) / piece.len());
    (0..count / block.len()).try_for_each(|_| out.write_all(&block))
}

/// A file of `length` zeros that takes no room.
pub fn sparse(path: &Path, length: u64) {
    std::fs::File::create(path).unwrap().set_len(length).unwrap();
}

pub fn gz(content: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(content).unwrap();
    packed.finish().unwrap()
}

/// `count` bytes of the same kind, packed.
pub fn gz_bomb(piece: &[u8], count: usize) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    repeat(&mut packed, piece, 64 << 20).unwrap();
    packed.finish().unwrap().repeat(count >> 26)
}

/// An archive of one array, "paths", with a header of this shape and `count` bytes of zeros as its numbers.
pub fn npz_bomb(shape: &str, count: usize) -> Vec<u8> {
    npz_of(shape, 0, count)
}

/// The same, of any byte.
pub fn npz_of(shape: &str, byte: u8, count: usize) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    let mut start = b"\x93NUMPY\x01\x00".to_vec();
    start.extend((header.len() as u16).to_le_bytes());
    start.extend(header.bytes());
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&start).unwrap();
    repeat(&mut packed, &[byte], count).unwrap();
    let mut crc = Crc::new();
    crc.update(&start);
    let block = [byte; 1 << 16];
    (0..count / block.len()).for_each(|_| crc.update(&block));
    zip("paths.npy", &packed.finish().unwrap(), crc.sum())
}

/// A zip archive of one deflated file.
fn zip(name: &str, packed: &[u8], crc: u32) -> Vec<u8> {
    let mut entry = vec![20, 0, 0, 0, 8, 0, 0, 0, 0x21, 0];
    entry.extend(crc.to_le_bytes());
    entry.extend((packed.len() as u32).to_le_bytes());
    entry.extend(u32::MAX.to_le_bytes());
    entry.extend((name.len() as u16).to_le_bytes());
    let head = [b"PK\x03\x04", &entry[..], &[0, 0], name.as_bytes()].concat();
    let directory = [b"PK\x01\x02\x14\x00", &entry[..], &[0; 12], &[0; 4], name.as_bytes()].concat();
    let mut end = b"PK\x05\x06\0\0\0\0\x01\0\x01\0".to_vec();
    end.extend((directory.len() as u32).to_le_bytes());
    end.extend(((head.len() + packed.len()) as u32).to_le_bytes());
    end.extend([0, 0]);
    [head, packed.to_vec(), directory, end].concat()
}
