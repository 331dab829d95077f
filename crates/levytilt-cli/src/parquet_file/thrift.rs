//! Walk over Thrift's compact protocol, in which Parquet files describe themselves, and keep nothing of it: the sizes that a
//! file claims are looked at here before a library believes them.

use std::io::Read;

/// Most structures in one description: each becomes some hundred bytes of memory.
const MOST_STRUCTURES: usize = 100_000;
/// Deepest nesting of what is passed over.
const MOST_DEPTH: usize = 24;

/// What a field holds, as the protocol numbers it.
pub type Kind = u8;
/// A 32-bit integer.
pub const I32: Kind = 5;
/// A list.
pub const LIST: Kind = 9;
/// A structure.
pub const STRUCTURE: Kind = 12;

/// A place in a description.
pub struct Walker<R> {
    from: R,
    position: u64,
    structures: usize,
}

/// Looks at a field, by number and kind, and says whether it went over it.
pub type See<'a, R> = &'a mut dyn FnMut(&mut Walker<R>, u64, Kind) -> Result<bool, String>;

impl<R: Read> Walker<R> {
    /// At the beginning.
    pub fn new(from: R) -> Self {
        Self { from, position: 0, structures: 0 }
    }

    /// Bytes passed.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Go over a structure, showing each field to `see`; those that it leaves are passed over.
    pub fn structure(&mut self, see: See<R>) -> Result<(), String> {
        self.fields(MOST_DEPTH, see)
    }

    /// An integer of any size.
    pub fn integer(&mut self) -> Result<i64, String> {
        let bits = self.varint()?;
        Ok((bits >> 1) as i64 ^ -((bits & 1) as i64))
    }

    /// Number and kind of the elements of a list that begins here.
    pub fn list(&mut self) -> Result<(u64, Kind), String> {
        let head = self.byte()?;
        let size = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        Ok((size, head & 15))
    }

    fn fields(&mut self, depth: usize, see: See<R>) -> Result<(), String> {
        self.structures += 1;
        if self.structures > MOST_STRUCTURES || depth == 0 {
            return Err(format!(
                "describes more than {MOST_STRUCTURES} things, or nests them deeper than {MOST_DEPTH}; write it with \
                 fewer columns or larger row groups"
            ));
        }
        let mut number = 0;
        loop {
            let head = self.byte()?;
            let kind = head & 15;
            if kind == 0 {
                return Ok(());
            }
            number = match head >> 4 {
                0 => self.integer()? as u64,
                step => number.wrapping_add(u64::from(step)),
            };
            if !see(self, number, kind)? {
                self.pass(kind, depth, true)?;
            }
        }
    }

    /// Pass over a value; a boolean field lies in its own head.
    fn pass(&mut self, kind: Kind, depth: usize, is_field: bool) -> Result<(), String> {
        match kind {
            1 | 2 if is_field => Ok(()),
            1..=3 => self.byte().map(drop),
            4..=6 => self.varint().map(drop),
            7 => self.bytes(8),
            8 => {
                let length = self.varint()?;
                self.bytes(length)
            }
            LIST | 10 => {
                let (size, kind) = self.list()?;
                self.pass_many(size, &[kind], depth)
            }
            11 => match self.varint()? {
                0 => Ok(()),
                size => {
                    let kinds = self.byte()?;
                    self.pass_many(size, &[kinds >> 4, kinds & 15], depth)
                }
            },
            STRUCTURE => self.fields(depth - 1, &mut |_, _, _| Ok(false)),
            other => Err(format!("has a field of kind {other}, which there is not")),
        }
    }

    fn pass_many(&mut self, size: u64, kinds: &[Kind], depth: usize) -> Result<(), String> {
        if depth == 1 {
            return Err(format!("nests deeper than {MOST_DEPTH}"));
        }
        // Ends with the file at the latest: every element has a byte.
        (0..size).try_for_each(|_| kinds.iter().try_for_each(|&kind| self.pass(kind, depth - 1, false)))
    }

    fn byte(&mut self) -> Result<u8, String> {
        let mut byte = [0];
        self.from.read_exact(&mut byte).map_err(|error| format!("ends too early: {error}"))?;
        self.position += 1;
        Ok(byte[0])
    }

    fn bytes(&mut self, count: u64) -> Result<(), String> {
        let passed = std::io::copy(&mut self.from.by_ref().take(count), &mut std::io::sink());
        self.position += count;
        match passed {
            Ok(passed) if passed == count => Ok(()),
            Ok(_) => Err("ends too early".into()),
            Err(error) => Err(format!("cannot be read: {error}")),
        }
    }

    fn varint(&mut self) -> Result<u64, String> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(value);
            }
        }
        Err("has a number of more than 64 bits".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_fields_are_shown_and_the_rest_is_passed_over() {
        // 1: true, 2: -3, 4: "ab", 5: [1, 2], 20: {1: 7}, 21: {5 → 6}.
        let bytes =
            [0x11, 0x15, 5, 0x28, 2, b'a', b'b', 0x19, 0x25, 2, 4, 0x0c, 40, 0x15, 14, 0, 0x1b, 1, 0x55, 10, 12, 0];
        let mut seen = Vec::new();
        let mut walker = Walker::new(&bytes[..]);
        let mut see = |walker: &mut Walker<&[u8]>, number: u64, kind: Kind| {
            let value = if kind == I32 { Some(walker.integer()?) } else { None };
            seen.push((number, kind, value));
            Ok(value.is_some())
        };
        walker.structure(&mut see).unwrap();
        assert_eq!(walker.position(), bytes.len() as u64);
        let expected =
            [(1, 1, None), (2, I32, Some(-3)), (4, 8, None), (5, LIST, None), (20, STRUCTURE, None), (21, 11, None)];
        assert_eq!(seen, expected);
    }

    #[test]
    fn identity_what_has_no_end_is_refused() {
        let pass = |bytes: &[u8]| Walker::new(bytes).structure(&mut |_, _, _| Ok(false)).unwrap_err();
        assert!(pass(&[0x1c; 100]).contains("nests"));
        assert!(pass(&[0x19; 100]).contains("nests"));
        assert!(
            pass(&[0x19, 0xfc, 255, 255, 255, 255, 15].iter().copied().chain([0; 200_000]).collect::<Vec<u8>>())
                .contains("more than")
        );
        assert!(pass(&[0x15; 1]).contains("early") && pass(&[0x18, 9, 1]).contains("early"));
        assert!(pass(&[0x15, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255]).contains("64 bits"));
        assert!(pass(&[0x1d]).contains("kind 13"));
    }
}
