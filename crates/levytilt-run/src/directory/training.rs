//! Keep learning that was stopped, of networks or of parameters, beside the results until it is finished, so that the same command
//! resumes there.

use levytilt::Context;
use levytilt::context::{Checkpoint, Keeper};
use std::io::{BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::directory::commit;
use crate::directory::entry::Entry;
use crate::directory::networks;
use crate::directory::tensors::Tensors;
use crate::interrupt;

/// Name of the file.
pub const TRAINING: &str = "training.safetensors";

/// The same context with checkpoints in `dir`, if there is one.
pub fn kept_in(context: &Context, dir: Option<&Path>) -> Context {
    match dir {
        Some(dir) => context.kept_by(Shelf { dir: dir.into() }),
        None => context.clone(),
    }
}

/// What becomes of the file with the result: once learning is finished it goes; if it was stopped, it stays.
pub fn left_over<'a>(context: &Context) -> Option<Entry<'a>> {
    (!context.stopped()).then(|| Entry::gone(TRAINING))
}

/// Say that learning which was stopped and kept in `dir` can go on.
pub fn tell_of_rest(dir: &Path) {
    let path = dir.join(TRAINING);
    if interrupt::asked() && path.exists() {
        note(&format!("learning was stopped; its checkpoint is {}: the same command resumes there", path.display()));
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
        note(&format!("{}: {why}; learning starts over", path.display()));
        None
    }

    fn keep(&mut self, checkpoint: &Checkpoint) {
        let tensors = networks::training(checkpoint);
        if let Err(error) = commit::write(&self.dir, &[Entry::new(TRAINING, |out| tensors.write(out))]) {
            note(&format!("learning continues without checkpoints: {error:#}"));
        }
    }
}

/// Tell the user on standard error, which may be closed.
fn note(text: &str) {
    drop(writeln!(std::io::stderr(), "{text}"));
}
