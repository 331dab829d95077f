//! Watch learning from outside, and stop it at a safe point.
//!
//! The watcher belongs to the thread that learns, so that no option or result has to carry it.

pub use super::parameters::Parameter;
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::rc::Rc;

/// Where learning stands after a step.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Newton steps taken so far.
    pub iteration: usize,
    /// Most Newton steps allowed.
    pub most: usize,
    /// Whether these are steps on the first part of a long record, which lead to a start for the whole.
    pub part: bool,
    /// Bound of the log evidence at these values.
    pub elbo: f64,
    /// Its standard error.
    pub elbo_std_error: f64,
    /// Mean log-likelihood and divergence, whose difference the bound is, where it is computed as such.
    pub parts: Option<[f64; 2]>,
    /// All parameters, with the values that learning began with.
    pub parameters: &'a [Parameter],
    /// Their values now.
    pub values: &'a [f64],
}

/// What is called after every step; [`ControlFlow::Break`] asks learning to end with what it has.
pub type Watcher = Box<dyn FnMut(&Progress) -> ControlFlow<()>>;

thread_local! {
    static WATCHER: RefCell<Option<Watcher>> = const { RefCell::new(None) };
    static STOPPED: Cell<bool> = const { Cell::new(false) };
    static SUBJECT: RefCell<Option<Rc<str>>> = const { RefCell::new(None) };
}

/// Run `work` with `watcher` told of every step that learning takes on this thread.
pub fn watched<T>(watcher: Watcher, work: impl FnOnce() -> T) -> T {
    STOPPED.set(false);
    with(Some(watcher), work)
}

/// Whether the watcher of this thread has asked for an end: what learning returns since then is unfinished.
pub fn stopped() -> bool {
    STOPPED.get()
}

/// Which of several candidates is being learned on this thread, if there are several.
pub fn subject() -> Option<Rc<str>> {
    SUBJECT.with_borrow(Clone::clone)
}

/// Run `work`, which learns the candidate called `name`.
pub fn about<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let before = SUBJECT.replace(Some(name.into()));
    let found = work();
    SUBJECT.set(before);
    found
}

/// Run `work` with nobody watching: steps of several searches at once would make no sense to a watcher.
pub(crate) fn unwatched<T>(work: impl FnOnce() -> T) -> T {
    with(None, work)
}

fn with<T>(watcher: Option<Watcher>, work: impl FnOnce() -> T) -> T {
    let before = WATCHER.replace(watcher);
    // Put the one before back also when `work` panics.
    struct Restore(Option<Watcher>);
    impl Drop for Restore {
        fn drop(&mut self) {
            WATCHER.set(self.0.take());
        }
    }
    let _restore = Restore(before);
    work()
}

/// Tell the watcher, if there is one; whether to go on.
pub fn tell(progress: &Progress) -> bool {
    // Taken out while it runs, so that a watcher may itself learn something.
    let Some(mut watcher) = WATCHER.take() else { return true };
    let goes_on = watcher(progress).is_continue();
    WATCHER.set(Some(watcher));
    STOPPED.set(STOPPED.get() || !goes_on);
    goes_on
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{cell::Cell, rc::Rc};

    fn step(iteration: usize) -> Progress<'static> {
        let (elbo, elbo_std_error, parts) = (-1.0, 0.1, None);
        Progress { iteration, most: 9, part: false, elbo, elbo_std_error, parts, parameters: &[], values: &[] }
    }

    #[test]
    fn identity_a_watcher_hears_its_own_work_only() {
        let heard = Rc::new(Cell::new(0));
        let ear = heard.clone();
        let stops_at_two = move |p: &Progress| {
            ear.set(ear.get() + 1);
            if p.iteration < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let went_on = watched(Box::new(stops_at_two), || [1, 2].map(|iteration| tell(&step(iteration))));
        assert_eq!((went_on, heard.get()), ([true, false], 2));
        assert!(stopped());
        watched(Box::new(|_| ControlFlow::Continue(())), || assert!(tell(&step(1)) && !stopped()));
        assert_eq!((about("nig", subject).as_deref(), subject()), (Some("nig"), None));
        assert!(tell(&step(5)) && heard.get() == 2);
    }
}
