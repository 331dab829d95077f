//! Say how far long work has come, on standard error: one line that is rewritten on a terminal, plain lines otherwise.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time between two plain lines.
const PLAIN: Duration = Duration::from_secs(10);
/// Time between two rewritings.
const TERMINAL: Duration = Duration::from_millis(200);

/// How far the work has come.
pub struct Progress {
    unit: &'static str,
    total: usize,
    /// Done before this run.
    before: usize,
    start: Instant,
    terminal: bool,
    quiet: bool,
    state: Mutex<State>,
}

struct State {
    done: usize,
    said: Instant,
}

impl Progress {
    /// Work on `total` things, of which `before` were done by earlier runs.
    pub fn new(unit: &'static str, total: usize, before: usize, quiet: bool) -> Self {
        let (start, terminal) = (Instant::now(), std::io::stderr().is_terminal());
        Self { unit, total, before, start, terminal, quiet, state: Mutex::new(State { done: 0, said: start }) }
    }

    /// One more is done.
    pub fn step(&self) {
        let Ok(mut state) = self.state.lock() else { return };
        state.done += 1;
        let pause = if self.terminal { TERMINAL } else { PLAIN };
        if !self.quiet && (state.said.elapsed() >= pause || self.before + state.done == self.total) {
            state.said = Instant::now();
            let line = self.line(state.done, self.start.elapsed().as_secs_f64());
            let end = if self.terminal && self.before + state.done < self.total { "" } else { "\n" };
            let begin = if self.terminal { "\r\x1b[2K" } else { "" };
            // Nobody listening is no error.
            drop(write!(std::io::stderr(), "{begin}{line}{end}"));
        }
    }

    fn line(&self, done: usize, seconds: f64) -> String {
        let (all, rate) = (self.before + done, done as f64 / seconds.max(1e-9));
        let left = (self.total - all) as f64 / rate;
        let estimate = if all == self.total { String::new() } else { format!(", {} left", duration(left)) };
        format!("{all} of {} {}, {rate:.1} per second{estimate}", self.total, self.unit)
    }
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
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
        assert_eq!((duration(600.0), duration(7200.0)), ("10 min".into(), "2.0 h".into()));
    }
}
