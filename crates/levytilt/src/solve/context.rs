//! Tell whoever waits for a long computation how it goes, stop it when asked, and keep checkpoints of it.
//!
//! A [`Context`] is passed by reference to everything that learns; the default one is silent and is never stopped.

pub use super::parameters::Parameter;
use crate::Stop;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Where learning stands after a step.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Which of several candidates is learned, if there are several: [`Context::subject`].
    pub subject: Option<&'a str>,
    /// Newton steps taken so far.
    pub iteration: usize,
    /// Most Newton steps allowed.
    pub most: usize,
    /// Whether these are steps on the first part of a long record, which lead to a start for the whole.
    pub part: bool,
    /// ELBO, or log evidence where it is exact, at these values.
    pub elbo: f64,
    /// Its standard error.
    pub elbo_std_error: f64,
    /// Mean log-likelihood and divergence, whose difference the ELBO is, where it is computed as such.
    pub parts: Option<[f64; 2]>,
    /// All parameters, with the values that learning began with.
    pub parameters: &'a [Parameter],
    /// Their values now.
    pub values: &'a [f64],
}

/// What is called after every step; [`ControlFlow::Break`] asks learning to end with what it has.
pub type Watcher = Box<dyn FnMut(&Progress) -> ControlFlow<()> + Send>;

/// The state of a training after some iterations. Everything else follows from the data and the options.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// Identifies data, sizes and options of the training.
    pub fingerprint: u64,
    /// Parameters of the networks.
    pub parameters: Vec<f32>,
    /// The optimiser's running means of gradients (empty if its rule has none) and of their squares.
    pub moments: [Vec<f32>; 2],
    /// The ELBO before every iteration.
    pub trace: Vec<f64>,
    /// What is learned beside the networks, in the order of the trainer; else empty.
    pub rest: Vec<f64>,
}

/// Storage for checkpoints.
pub trait Keeper: Send {
    /// The last checkpoint, if it belongs to this training.
    fn find(&mut self, fingerprint: u64) -> Option<Checkpoint>;

    /// Save a checkpoint in place of the previous one.
    fn keep(&mut self, checkpoint: &Checkpoint);
}

/// Who watches a computation and may end it, which of several it is, and where its checkpoints go. Clones share all of them.
#[derive(Clone, Default)]
pub struct Context {
    watch: Option<Arc<Watch>>,
    stop: Stop,
    subject: Option<Arc<str>>,
    keeper: Option<Arc<Mutex<dyn Keeper>>>,
}

/// Nobody watches a search beside others: its steps would make no sense to a watcher.
pub(crate) static SILENT: Context = Context::silent();

struct Watch {
    watcher: Mutex<Watcher>,
    stopped: AtomicBool,
}

impl Context {
    /// Nobody watches, and nothing is kept.
    pub const fn silent() -> Self {
        Self { watch: None, stop: Stop::never(), subject: None, keeper: None }
    }

    /// `watcher` is called after every step, and may ask for an end.
    pub fn watched(watcher: impl FnMut(&Progress) -> ControlFlow<()> + Send + 'static) -> Self {
        Self::silent().watched_by(watcher)
    }

    /// The same with another watcher.
    fn watched_by(&self, watcher: impl FnMut(&Progress) -> ControlFlow<()> + Send + 'static) -> Self {
        let watch = Watch { watcher: Mutex::new(Box::new(watcher)), stopped: AtomicBool::new(false) };
        Self { watch: Some(Arc::new(watch)), ..self.clone() }
    }

    /// The same, which also ends within a step, and where there are no steps, once `asks` says so.
    pub fn ended_by(&self, asks: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { stop: Stop::once(asks), ..self.clone() }
    }

    /// The same without a watcher and without checkpoints: for a search beside others, which would make no sense of its steps.
    pub(crate) fn beside(&self) -> Self {
        Self { watch: None, keeper: None, ..self.clone() }
    }

    /// The same, with every step told to `listener` before the watcher of this context.
    pub fn noted_by(&self, mut listener: impl FnMut(&Progress) + Send + 'static) -> Self {
        let outer = self.clone();
        self.watched_by(move |progress| {
            listener(progress);
            if outer.tell(progress) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
    }

    /// The same, with checkpoints in `keeper`.
    pub fn kept_by(&self, keeper: impl Keeper + 'static) -> Self {
        Self { keeper: Some(Arc::new(Mutex::new(keeper))), ..self.clone() }
    }

    /// The same for one of several candidates, called `name`.
    pub fn about(&self, name: &str) -> Self {
        Self { subject: Some(name.into()), ..self.clone() }
    }

    /// Which of several candidates this is, if there are several.
    pub fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    /// Tell the watcher, if there is one; whether to go on.
    pub fn tell(&self, progress: &Progress) -> bool {
        let Some(watch) = &self.watch else { return true };
        let mut watcher = watch.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        let goes_on = watcher(progress).is_continue();
        if !goes_on {
            watch.stopped.store(true, Ordering::Relaxed);
        }
        goes_on
    }

    /// Whether an end was asked for: what was learned since then is unfinished.
    pub fn stopped(&self) -> bool {
        self.stop.is_asked() || self.watch.as_ref().is_some_and(|watch| watch.stopped.load(Ordering::Relaxed))
    }

    /// What asks for an end between steps.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// The checkpoint of this training, if there is one.
    pub fn find(&self, fingerprint: u64) -> Option<Checkpoint> {
        let mut keeper = self.keeper.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        keeper.find(fingerprint)
    }

    /// Save a checkpoint, if there is a place for it.
    pub fn keep(&self, checkpoint: impl FnOnce() -> Checkpoint) {
        if let Some(keeper) = &self.keeper {
            keeper.lock().unwrap_or_else(PoisonError::into_inner).keep(&checkpoint());
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (watched, kept) = (self.watch.is_some(), self.keeper.is_some());
        let fields = (&self.subject, watched, self.stopped(), kept);
        f.debug_struct("Context")
            .field("subject", fields.0)
            .field("watched", &fields.1)
            .field("stopped", &fields.2)
            .field("kept", &fields.3)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use std::sync::atomic::AtomicUsize;

    fn step(iteration: usize) -> Progress<'static> {
        let (subject, elbo, elbo_std_error, parts) = (None, -1.0, 0.1, None);
        Progress { subject, iteration, most: 9, part: false, elbo, elbo_std_error, parts, parameters: &[], values: &[] }
    }

    #[test]
    fn identity_clones_share_the_watcher_and_its_stop() {
        let heard = Arc::new(AtomicUsize::new(0));
        let ear = heard.clone();
        let context = Context::watched(move |p: &Progress| {
            ear.fetch_add(1, Ordering::Relaxed);
            if p.iteration < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let named = context.about("nig");
        assert_eq!((named.subject(), context.subject()), (Some("nig"), None));
        assert!(named.tell(&step(1)) && !context.stopped());
        assert!(!named.tell(&step(2)) && context.stopped() && named.stopped());
        assert_eq!(heard.load(Ordering::Relaxed), 2);
        let silent = Context::default();
        assert!(silent.tell(&step(5)) && !silent.stopped() && silent.find(0).is_none());
    }

    #[test]
    fn identity_a_listener_hears_what_the_watcher_stops() {
        let steps = Arc::new(Mutex::new(Vec::new()));
        let notes = steps.clone();
        let outer = Context::watched(|_: &Progress| ControlFlow::Break(()));
        let inner = outer.noted_by(move |p| notes.lock().unwrap().push(p.iteration));
        assert!(!inner.tell(&step(3)) && inner.stopped() && outer.stopped());
        assert_eq!(*steps.lock().unwrap(), [3]);
        // An end asked for before holds for what is derived from it only once it is told again.
        assert!(!outer.noted_by(|_| {}).stopped());
    }

    #[test]
    fn identity_an_end_is_asked_for_between_steps() {
        let asked = Arc::new(AtomicBool::new(false));
        let ear = asked.clone();
        let context = Context::silent().ended_by(move || ear.load(Ordering::Relaxed));
        let noting = context.noted_by(|_| {});
        assert!(context.stop().go_on().is_ok() && !noting.stopped() && noting.tell(&step(1)));
        asked.store(true, Ordering::Relaxed);
        assert!(matches!(context.stop().go_on(), Err(Error::Stopped { .. })));
        assert!(noting.stopped() && noting.beside().stopped());
    }

    #[test]
    fn identity_checkpoints_go_to_the_keeper() {
        #[derive(Default)]
        struct Shelf(Option<Checkpoint>);
        impl Keeper for Shelf {
            fn find(&mut self, fingerprint: u64) -> Option<Checkpoint> {
                self.0.clone().filter(|kept| kept.fingerprint == fingerprint)
            }
            fn keep(&mut self, checkpoint: &Checkpoint) {
                self.0 = Some(checkpoint.clone());
            }
        }
        let moments = [vec![], vec![]];
        let made = Checkpoint { fingerprint: 7, parameters: vec![1.0], moments, trace: vec![], rest: vec![] };
        let context = Context::silent().kept_by(Shelf::default());
        context.keep(|| made.clone());
        assert_eq!((context.find(7), context.find(8)), (Some(made), None));
    }
}
