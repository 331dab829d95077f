//! Try again what fuzzing kept: inputs that reach different places, and those that once failed. Included by the tests of the crates
//! whose invariants they are.

use std::path::Path;

/// What holds for every input; says whether it was accepted.
type Invariant = fn(&[u8]) -> bool;

/// Hold every input of `corpus/NAME.tar` and `seeds/NAME` against the invariant of that name.
pub fn replay(invariants: &[(&str, Invariant)]) {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    for (name, invariant) in invariants {
        let mut inputs = members(&std::fs::read(fuzz.join(format!("corpus/{name}.tar"))).unwrap());
        // Not every target has inputs with names.
        for file in std::fs::read_dir(fuzz.join("seeds").join(name)).into_iter().flatten() {
            inputs.push(std::fs::read(file.unwrap().path()).unwrap());
        }
        let accepted = inputs.iter().filter(|input| invariant(input)).count();
        assert!(accepted > 0, "{name}: nothing in the corpus is accepted");
    }
}

/// The files in an archive by tar: each has a head of 512 bytes, with its length in octal digits, and fills whole blocks of 512.
fn members(archive: &[u8]) -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    let mut rest = archive;
    while let Some((head, after)) = rest.split_at_checked(512).filter(|(head, _)| head[0] != 0) {
        let digits = std::str::from_utf8(&head[124..135]).unwrap();
        let length = usize::from_str_radix(digits, 8).unwrap();
        // Not the directory.
        if head[156] == b'0' {
            files.push(after[..length].to_vec());
        }
        rest = &after[length.next_multiple_of(512)..];
    }
    files
}
