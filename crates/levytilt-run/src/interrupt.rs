//! Hear Ctrl-C: the first one asks for the next safe point, the second one ends the program.

use std::io::Write;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);
static LISTEN: Once = Once::new();

/// Listen from now on. Where that is not possible Ctrl-C ends the program at once, as it does without this.
pub fn listen() {
    LISTEN.call_once(|| {
        let heard = || {
            if ASKED.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
            let note = "stopping at the next safe point; finished work is kept. Press Ctrl-C again to quit at once";
            drop(writeln!(std::io::stderr(), "\n{note}"));
        };
        drop(ctrlc::set_handler(heard));
    });
}

/// Whether a stop was asked for.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
