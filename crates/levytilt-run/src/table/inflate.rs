//! Tell a compressed file from a bomb: one whose content is so much longer than the file that it cannot be meant.

use std::cell::Cell;
use std::io::{Error, ErrorKind, Read};
use std::rc::Rc;

/// So much may come out of anything.
const FREE: u64 = 16 << 20;
/// Beyond that, so many bytes per byte of the file. Tables of numbers shrink by less than 20; bombs by 1000.
const MOST_RATIO: u64 = 250;

/// The most that `size` compressed bytes may hold.
pub fn most_content(size: u64) -> u64 {
    FREE.saturating_add(MOST_RATIO.saturating_mul(size))
}

/// A compressed source that counts what is read of it.
pub struct Measured<R> {
    from: R,
    seen: Rc<Cell<u64>>,
}

/// How much of the source was read.
pub struct Seen(Rc<Cell<u64>>);

impl<R: Read> Measured<R> {
    /// The source to decompress, and what to guard its content with.
    pub fn new(from: R) -> (Seen, Self) {
        let seen = Rc::new(Cell::new(0));
        (Seen(seen.clone()), Self { from, seen })
    }
}

impl<R: Read> Read for Measured<R> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let count = self.from.read(to)?;
        self.seen.set(self.seen.get() + count as u64);
        Ok(count)
    }
}

impl Seen {
    /// The content of the source, up to the point where there is too much of it.
    pub fn guard<R: Read>(self, plain: R) -> impl Read {
        Guarded { plain, seen: self.0, count: 0 }
    }
}

struct Guarded<R> {
    plain: R,
    seen: Rc<Cell<u64>>,
    count: u64,
}

impl<R: Read> Read for Guarded<R> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let count = self.plain.read(to)?;
        self.count += count as u64;
        if self.count > most_content(self.seen.get()) {
            let (seen, count) = (self.seen.get(), self.count);
            let why = format!(
                "{seen} bytes hold {count} bytes of content; no table compresses that well; if it is one, unpack it \
                 first"
            );
            return Err(Error::new(ErrorKind::FileTooLarge, why));
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, read::GzDecoder, write::GzEncoder};
    use std::io::Write;

    #[test]
    fn a_bomb_is_told_from_a_table() {
        let pack = |content: &[u8]| {
            let mut packed = GzEncoder::new(Vec::new(), Compression::best());
            packed.write_all(content).unwrap();
            packed.finish().unwrap()
        };
        let unpack = |bytes: &[u8]| {
            let (seen, measured) = Measured::new(bytes);
            std::io::copy(&mut seen.guard(GzDecoder::new(measured)), &mut std::io::sink())
        };
        let table: String = (0..200_000).map(|k| format!("{k},{}\n", f64::from(k).sin())).collect();
        assert_eq!(unpack(&pack(table.as_bytes())).unwrap(), table.len() as u64);
        let bomb = unpack(&pack(&vec![b'\n'; 2 * FREE as usize])).unwrap_err().to_string();
        assert!(bomb.contains("no table shrinks"), "{bomb}");
    }
}
