//! Invariants of everything that reads, whatever it is given: no panic, and what is accepted is what it should be.
//!
//! Each function takes the content of a file and says whether it was accepted. Input comes from proptest (`properties.rs`),
//! from libFuzzer, which is guided by coverage (`fuzz/`), and from the corpus that it left behind.

mod results;
mod tables;
mod texts;

use std::fs;
use std::path::Path;
use tempfile::TempDir;

pub use results::{archives, forecasts, journals, networks, pages, paintings, plots, runs, scores};
pub use tables::{packed, tables};
pub use texts::{lengths, parameters, settings, times};

/// Takes the content of a file; whether it was accepted.
pub type Invariant = fn(&[u8]) -> bool;

/// All of them, by the names of their fuzz targets.
pub const ALL: &[(&str, Invariant)] = &[
    ("archives", archives),
    ("forecasts", forecasts),
    ("journals", journals),
    ("lengths", lengths),
    ("networks", networks),
    ("packed", packed),
    ("pages", pages),
    ("paintings", paintings),
    ("parameters", parameters),
    ("plots", plots),
    ("runs", runs),
    ("scores", scores),
    ("settings", settings),
    ("tables", tables),
    ("times", times),
];

thread_local! {
    /// One directory for all inputs: to make one takes longer than to read most of them.
    static PLACE: TempDir = tempfile::tempdir().expect("a directory for temporary files");
}

/// Let `look` see these files in a directory called `name`, which holds nothing else.
fn in_directory<T>(name: &str, files: &[(&str, &[u8])], look: impl FnOnce(&Path) -> T) -> T {
    PLACE.with(|place| {
        let dir = place.path().join(name);
        fs::create_dir_all(&dir).expect("a directory");
        for (name, content) in files {
            fs::write(dir.join(name), content).expect("a file");
        }
        look(&dir)
    })
}
