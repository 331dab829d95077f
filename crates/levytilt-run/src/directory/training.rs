//! Keep the training of networks beside the results until it is finished, so that the same command resumes after a stop.

use levytilt_paper::training::{Checkpoint, Keeper, kept};
use std::io::{BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::directory::commit;
use crate::directory::entry::Entry;
use crate::directory::networks;
use crate::directory::tensors::Tensors;
use crate::interrupt;

/// Name of the file.
pub const TRAINING: &str = "training.safetensors";

/// Compute with training kept in `dir`, if there is one.
pub fn kept_in<T>(dir: Option<&Path>, compute: impl FnOnce() -> T) -> T {
    match dir {
        Some(dir) => kept(Box::new(Shelf { dir: dir.into() }), compute),
        None => compute(),
    }
}

/// What becomes of the file with the result: once training is finished it goes; after Ctrl-C it stays.
pub fn settled<'a>() -> Option<Entry<'a>> {
    (!interrupt::asked()).then(|| Entry::gone(TRAINING))
}

/// Say that training which was stopped and kept in `dir` can go on.
pub fn tell_of_rest(dir: &Path) {
    let path = dir.join(TRAINING);
    if interrupt::asked() && path.exists() {
        note(&format!("training was stopped; its checkpoint is {}: the same command resumes there", path.display()));
    }
}

/// A directory for checkpoints.
struct Shelf {
    dir: PathBuf,
}

impl Keeper for Shelf {
    fn find(&mut self, fingerprint: u64) -> Option<Checkpoint> {
        let path = self.dir.join(TRAINING);
        let why = match std::fs::File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => error.to_string(),
            Ok(file) => match Tensors::read(BufReader::new(file)).and_then(|tensors| networks::checkpoint(&tensors)) {
                Ok(checkpoint) if checkpoint.fingerprint == fingerprint => return Some(checkpoint),
                Ok(_) => "is of other data or settings".into(),
                Err(error) => format!("{error:#}"),
            },
        };
        note(&format!("{}: {why}; training starts over", path.display()));
        None
    }

    fn keep(&mut self, checkpoint: &Checkpoint) {
        let tensors = networks::training(checkpoint);
        if let Err(error) = commit::write(&self.dir, &[Entry::new(TRAINING, |out| tensors.write(out))]) {
            note(&format!("training continues without checkpoints: {error:#}"));
        }
    }
}

/// Tell the user on standard error, which may be closed.
fn note(text: &str) {
    drop(writeln!(std::io::stderr(), "{text}"));
}
