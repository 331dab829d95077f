//! Try again what libFuzzer kept: inputs that reach different places, and those that once failed. Included by the tests of the crates
//! whose promises they are.

/// Hold every input of `corpus/NAME` against the promise of that name, which says whether it was accepted.
pub fn replay(promises: &[(&str, fn(&[u8]) -> bool)]) {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, promise) in promises {
        let files = std::fs::read_dir(corpus.join(name)).unwrap().map(|entry| entry.unwrap().path());
        let accepted = files.filter(|file| promise(&std::fs::read(file).unwrap())).count();
        assert!(accepted > 0, "{name}: nothing in the corpus is accepted");
    }
}
