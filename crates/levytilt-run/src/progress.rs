//! Say how far work has come, on standard error: one line that is rewritten on a terminal, plain lines otherwise.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::number::duration;

/// Time between two plain lines.
const PLAIN: Duration = Duration::from_secs(10);
/// Time between two rewritings.
const TERMINAL: Duration = Duration::from_millis(200);

/// A line on standard error that says how far something has come; the last one is wiped from a terminal, unless it is kept.
#[derive(Debug)]
pub struct Line {
    terminal: bool,
    said: Instant,
    open: bool,
}

impl Line {
    /// Nothing yet.
    pub fn new() -> Self {
        Self { terminal: std::io::stderr().is_terminal(), said: Instant::now(), open: false }
    }

    /// Say `text`, unless something was said a moment ago.
    pub fn tell(&mut self, text: impl FnOnce() -> String) {
        let pause = if self.terminal { TERMINAL } else { PLAIN };
        let first = self.terminal && !self.open;
        if first || self.said.elapsed() >= pause {
            self.said = Instant::now();
            let end = if self.terminal { "" } else { "\n" };
            self.write(&text(), end);
            self.open = self.terminal;
        }
    }

    /// Say `text` and leave it there.
    pub fn keep(&mut self, text: &str) {
        self.write(text, "\n");
        self.open = false;
    }

    fn write(&self, text: &str, end: &str) {
        let begin = if self.terminal { "\r\x1b[2K" } else { "" };
        let mut out = std::io::stderr();
        // Nobody listening is no error.
        drop(write!(out, "{begin}{text}{end}").and_then(|()| out.flush()));
    }
}

impl Default for Line {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.open {
            self.write("", "");
        }
    }
}

/// How far work on many things has come.
pub struct Progress {
    unit: &'static str,
    total: usize,
    /// Done before this run.
    before: usize,
    start: Instant,
    quiet: bool,
    state: Mutex<State>,
}

struct State {
    done: usize,
    line: Line,
}

impl Progress {
    /// Work on `total` things, of which `before` were done by earlier runs.
    pub fn new(unit: &'static str, total: usize, before: usize, quiet: bool) -> Self {
        let state = Mutex::new(State { done: 0, line: Line::new() });
        Self { unit, total, before, start: Instant::now(), quiet, state }
    }

    /// One more is done.
    pub fn step(&self) {
        let Ok(mut state) = self.state.lock() else { return };
        state.done += 1;
        let done = state.done;
        let text = || self.line(done, self.start.elapsed().as_secs_f64());
        match self.before + done == self.total {
            _ if self.quiet => {}
            true => state.line.keep(&text()),
            false => state.line.tell(text),
        }
    }

    fn line(&self, done: usize, seconds: f64) -> String {
        let (all, rate) = (self.before + done, done as f64 / seconds.max(1e-9));
        let left = (self.total - all) as f64 / rate;
        let estimate = if all == self.total { String::new() } else { format!(", {} left", duration(left)) };
        format!("{all} of {} {}, {rate:.1} per second{estimate}", self.total, self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_counts_fresh_work_only() {
        let progress = Progress::new("fits", 100, 50, true);
        assert_eq!(progress.line(10, 5.0), "60 of 100 fits, 2.0 per second, 20 s left");
        assert_eq!(progress.line(50, 25.0), "100 of 100 fits, 2.0 per second");
    }
}
