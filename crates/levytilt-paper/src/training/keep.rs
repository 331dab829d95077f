//! Checkpoint training, so that an interrupted run can resume with an identical result.
//!
//! The keeper belongs to the thread that trains, as in [`levytilt::progress`], so that no option has to carry it.

use std::cell::RefCell;

/// The state of training after some iterations. Everything else follows from the chain and the options.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// Identifies chain, sizes and options of the training.
    pub fingerprint: u64,
    /// Parameters of the networks.
    pub parameters: Vec<f32>,
    /// The optimiser's running means of gradients (empty if its rule has none) and of their squares.
    pub moments: [Vec<f32>; 2],
    /// The ELBO before every iteration.
    pub trace: Vec<f64>,
    /// What the published method learns beside the networks, as [`crate::published::PaperTrainer`] writes it; else empty.
    pub rest: Vec<f64>,
}

/// Storage for checkpoints.
pub trait Keeper {
    /// The last checkpoint, if it belongs to this training.
    fn find(&mut self, fingerprint: u64) -> Option<Checkpoint>;

    /// Save a checkpoint in place of the previous one.
    fn keep(&mut self, checkpoint: &Checkpoint);
}

/// Iterations between checkpoints: a few seconds at the paper's size.
pub(crate) const EVERY: usize = 50;

thread_local! {
    static KEEPER: RefCell<Option<Box<dyn Keeper>>> = const { RefCell::new(None) };
}

/// Run `work` with training on this thread checkpointed by `keeper`.
pub fn kept<T>(keeper: Box<dyn Keeper>, work: impl FnOnce() -> T) -> T {
    let before = KEEPER.replace(Some(keeper));
    // Restore the previous one even when `work` panics.
    struct Restore(Option<Box<dyn Keeper>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            KEEPER.set(self.0.take());
        }
    }
    let _restore = Restore(before);
    work()
}

/// The keeper's checkpoint of this training.
pub(crate) fn find(fingerprint: u64) -> Option<Checkpoint> {
    KEEPER.with_borrow_mut(|keeper| keeper.as_mut().and_then(|keeper| keeper.find(fingerprint)))
}

/// Pass the current state of training to the keeper, if there is one.
pub(crate) fn keep(checkpoint: impl FnOnce() -> Checkpoint) {
    KEEPER.with_borrow_mut(|keeper| {
        if let Some(keeper) = keeper {
            keeper.keep(&checkpoint());
        }
    });
}
