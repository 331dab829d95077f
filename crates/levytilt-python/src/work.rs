//! Work on a thread of its own, without the GIL, while the caller's thread listens for Ctrl-C and passes on progress.

use anyhow::Result;
use levytilt::Context;
use levytilt_run::threads::with_threads;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::errors::{ComputationError, raised};

/// How long the caller's thread waits before it looks for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);

/// Iteration, most iterations, bound, its error.
type Step = (usize, usize, f64, f64);

enum Message<T> {
    Step(Step),
    Done(Result<T>),
}

/// Run `work` with `threads` threads (0 for all cores); `progress` is called with every step of learning.
///
/// At Ctrl-C the call ends at once. The work is told, ends at its next safe point, and what it found is dropped.
pub fn patiently<T: Send + 'static>(
    py: Python<'_>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Context) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = channel();
    let asked = stop.clone();
    std::thread::spawn(move || {
        let steps = sender.clone();
        let outcome = pooled(threads, move || work(&context(asked, steps)));
        // Nobody listens any more after Ctrl-C.
        drop(sender.send(Message::Done(outcome.and_then(|done| done))));
    });
    let outcome = listen(py, &Mutex::new(receiver), progress.as_ref());
    stop.store(true, Ordering::Relaxed);
    outcome
}

/// Run `work` on threads of its own: the pool that a process shares would not survive a fork.
pub fn pooled<T: Send>(threads: Option<usize>, work: impl FnOnce() -> T + Send) -> Result<T> {
    let all = || std::thread::available_parallelism().map_or(1, |count| count.get());
    let count = threads.filter(|&count| count > 0).unwrap_or_else(all);
    with_threads(Some(count), work)
}

fn context<T: Send + 'static>(stop: Arc<AtomicBool>, steps: Sender<Message<T>>) -> Context {
    Context::watched(move |step| {
        drop(steps.send(Message::Step((step.iteration, step.most, step.elbo, step.elbo_std_error))));
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
}

fn listen<T: Send>(py: Python<'_>, messages: &Mutex<Receiver<Message<T>>>, tell: Option<&Py<PyAny>>) -> PyResult<T> {
    let wait = || messages.lock().map_or(Err(RecvTimeoutError::Disconnected), |heard| heard.recv_timeout(PATIENCE));
    loop {
        match py.detach(wait) {
            Ok(Message::Done(outcome)) => return outcome.map_err(raised),
            Ok(Message::Step(step)) => {
                tell.map_or(Ok(()), |tell| tell.call1(py, step).map(drop))?;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(ComputationError::new_err(
                    "a thread failed: this is an error in levytilt, please report it",
                ));
            }
        }
        py.check_signals()?;
    }
}
