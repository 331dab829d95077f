//! Walk over Thrift's compact protocol, in which Parquet files describe themselves, and keep nothing of it: the sizes that a
//! file claims are looked at here before a library believes them.

use std::io::Read;

/// Most structures in one description: each becomes some hundred bytes of memory.
const MOST_STRUCTURES: usize = 100_000;
/// Deepest nesting of what is passed over.
const MOST_DEPTH: usize = 24;
/// Largest number of a field.
const MOST_NUMBER: u64 = i16::MAX as u64;

/// What a field holds, as the protocol numbers it.
type Kind = u8;
const LIST: Kind = 9;
const STRUCTURE: Kind = 12;

/// What a field is to hold.
pub enum Form {
    /// Yes or no.
    Truth,
    /// An integer of one byte.
    Small,
    /// One of 16, 32 or 64 bits: all are written in the same way.
    Integer,
    /// A number.
    Double,
    /// Text or other bytes.
    Bytes,
    /// A list of such.
    List(&'static Form),
    /// A structure.
    Structure(&'static Fields),
}

/// The fields of a structure that are known, by their numbers.
pub type Fields = [(u64, Form)];

impl Form {
    fn fits(&self, kind: Kind) -> bool {
        match self {
            Self::Truth => matches!(kind, 1 | 2),
            Self::Small => kind == 3,
            Self::Integer => matches!(kind, 4..=6),
            Self::Double => kind == 7,
            Self::Bytes => kind == 8,
            Self::List(_) => kind == LIST,
            Self::Structure(_) => kind == STRUCTURE,
        }
    }
}

/// A place in a description.
pub struct Walker<R> {
    from: R,
    position: u64,
    structures: usize,
}

/// Looks at a field, by its number, and says whether it went over it.
pub type See<'a, R> = &'a mut dyn FnMut(&mut Walker<R>, u64) -> Result<bool, String>;

impl<R: Read> Walker<R> {
    /// At the beginning.
    pub fn new(from: R) -> Self {
        Self { from, position: 0, structures: 0 }
    }

    /// Bytes passed.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Go over a structure, showing each field to `see`; those that it leaves are passed over. What is known is of its form.
    pub fn structure(&mut self, known: &Fields, see: See<R>) -> Result<(), String> {
        self.fields(known, MOST_DEPTH, see)
    }

    /// An integer of any size.
    pub fn integer(&mut self) -> Result<i64, String> {
        let bits = self.varint()?;
        Ok((bits >> 1) as i64 ^ -((bits & 1) as i64))
    }

    /// How many elements the list has that begins here, each to be of `form`.
    pub fn list(&mut self, form: &Form) -> Result<u64, String> {
        self.elements(Some(form)).map(|(size, _)| size)
    }

    fn elements(&mut self, form: Option<&Form>) -> Result<(u64, Kind), String> {
        let head = self.byte()?;
        let size = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        let kind = head & 15;
        match form {
            Some(form) if size > 0 && !form.fits(kind) => {
                Err(format!("has a list of kind {kind} where another belongs"))
            }
            _ => Ok((size, kind)),
        }
    }

    fn fields(&mut self, known: &Fields, depth: usize, see: See<R>) -> Result<(), String> {
        self.structures += 1;
        if self.structures > MOST_STRUCTURES || depth == 0 {
            return Err(format!(
                "describes more than {MOST_STRUCTURES} things, or nests them deeper than {MOST_DEPTH}; write it with \
                 fewer columns or larger row groups"
            ));
        }
        let mut number: u64 = 0;
        loop {
            let head = self.byte()?;
            let kind = head & 15;
            if kind == 0 {
                return Ok(());
            }
            number = match head >> 4 {
                0 => self.integer()? as u64,
                step => number.saturating_add(u64::from(step)),
            };
            if number > MOST_NUMBER {
                return Err(format!("has a field of number {number}; expected at most {MOST_NUMBER}"));
            }
            let form = known.iter().find(|field| field.0 == number).map(|field| &field.1);
            if form.is_some_and(|form| !form.fits(kind)) {
                return Err(format!("has a field {number} of kind {kind} where another belongs"));
            }
            if !see(self, number)? {
                self.pass(kind, form, depth, true)?;
            }
        }
    }

    /// Pass over a value; a boolean field lies in its own head.
    fn pass(&mut self, kind: Kind, form: Option<&Form>, depth: usize, is_field: bool) -> Result<(), String> {
        match kind {
            1 | 2 if is_field => Ok(()),
            // Nothing that Parquet describes, and libraries do not agree on their length.
            1 | 2 => Err("has a list of truths, which there is not".into()),
            3 => self.byte().map(drop),
            4..=6 => self.varint().map(drop),
            7 => self.bytes(8),
            8 => {
                let length = self.varint()?;
                self.bytes(length)
            }
            LIST | 10 => {
                let of = if let Some(Form::List(of)) = form { Some(*of) } else { None };
                let (size, kind) = self.elements(of)?;
                self.pass_many(size, &[kind], of, depth)
            }
            11 => match self.varint()? {
                0 => Ok(()),
                size => {
                    let kinds = self.byte()?;
                    self.pass_many(size, &[kinds >> 4, kinds & 15], None, depth)
                }
            },
            STRUCTURE => {
                let known = if let Some(Form::Structure(known)) = form { *known } else { &[] };
                self.fields(known, depth - 1, &mut |_, _| Ok(false))
            }
            other => Err(format!("has a field of kind {other}, which there is not")),
        }
    }

    fn pass_many(&mut self, size: u64, kinds: &[Kind], form: Option<&Form>, depth: usize) -> Result<(), String> {
        if depth == 1 {
            return Err(format!("nests deeper than {MOST_DEPTH}"));
        }
        // Ends with the file at the latest: every element has a byte.
        (0..size).try_for_each(|_| kinds.iter().try_for_each(|&kind| self.pass(kind, form, depth - 1, false)))
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
    use super::Form::{Integer, List, Structure, Truth};
    use super::*;

    // 1: true, 2: -3, 4: "ab", 5: [1, 2], 20: {1: 7}, 21: {5 → 6}.
    const GOOD: &[u8] =
        &[0x11, 0x15, 5, 0x28, 2, b'a', b'b', 0x19, 0x25, 2, 4, 0x0c, 40, 0x15, 14, 0, 0x1b, 1, 0x55, 10, 12, 0];

    #[test]
    fn identity_fields_are_shown_and_the_rest_is_passed_over() {
        let known = &[(1, Truth), (2, Integer), (5, List(&Integer)), (20, Structure(&[(1, Integer)]))];
        let mut seen = Vec::new();
        let mut walker = Walker::new(GOOD);
        let mut see = |walker: &mut Walker<&[u8]>, number: u64| {
            let value = if number == 2 { Some(walker.integer()?) } else { None };
            seen.push((number, value));
            Ok(value.is_some())
        };
        walker.structure(known, &mut see).unwrap();
        assert_eq!(walker.position(), GOOD.len() as u64);
        assert_eq!(seen, [(1, None), (2, Some(-3)), (4, None), (5, None), (20, None), (21, None)]);
    }

    fn refused(bytes: &[u8], known: &Fields) -> String {
        Walker::new(bytes).structure(known, &mut |_, _| Ok(false)).unwrap_err()
    }

    #[test]
    fn identity_what_has_no_end_is_refused() {
        let pass = |bytes: &[u8]| refused(bytes, &[]);
        assert!(pass(&[0x1c; 100]).contains("nests"));
        assert!(pass(&[0x19; 100]).contains("nests"));
        assert!(
            pass(&[0x19, 0xfc, 255, 255, 255, 255, 15].iter().copied().chain([0; 200_000]).collect::<Vec<u8>>())
                .contains("more than")
        );
        assert!(pass(&[0x15; 1]).contains("early") && pass(&[0x18, 9, 1]).contains("early"));
        assert!(pass(&[0x15, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255]).contains("64 bits"));
        assert!(pass(&[0x1d]).contains("kind 13"));
        assert!(pass(&[0x19, 0x31, 1, 1, 1, 0]).contains("list of truths"));
        assert!(pass(&[0x05, 0x80, 0x80, 0x08, 2, 0]).contains("field of number 65536"));
    }

    #[test]
    fn identity_fields_are_of_the_form_of_their_number() {
        assert!(refused(GOOD, &[(2, Truth)]).contains("field 2 of kind 5"));
        assert!(refused(GOOD, &[(5, List(&Truth))]).contains("list of kind 5"));
        assert!(refused(GOOD, &[(20, Structure(&[(1, Truth)]))]).contains("field 1 of kind 5"));
    }
}
