//! Keep training where it stands, so that a run that was stopped can go on as if it had not been.
//!
//! Who keeps it belongs to the thread that trains, as in [`crate::progress`], so that no option has to carry it.

use super::train::Trainer;
use std::cell::RefCell;

/// Training after some iterations. Everything else follows from the chain and the options.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// What the training is of: chain, sizes and options. Other work has another number.
    pub fingerprint: u64,
    /// Parameters of the networks.
    pub parameters: Vec<f32>,
    /// The optimiser's running means of gradients (empty if its rule has none) and of their squares.
    pub moments: [Vec<f32>; 2],
    /// The bound before every iteration.
    pub trace: Vec<f64>,
}

/// A place for checkpoints.
pub trait Keeper {
    /// The checkpoint kept last, if it is of this work.
    fn find(&mut self, fingerprint: u64) -> Option<Checkpoint>;

    /// Keep a checkpoint in place of the one before.
    fn keep(&mut self, checkpoint: &Checkpoint);
}

/// Iterations between checkpoints: some seconds at the paper's size.
pub(super) const EVERY: usize = 50;

thread_local! {
    static KEEPER: RefCell<Option<Box<dyn Keeper>>> = const { RefCell::new(None) };
}

/// Run `work` with training on this thread kept by `keeper`.
pub fn kept<T>(keeper: Box<dyn Keeper>, work: impl FnOnce() -> T) -> T {
    let before = KEEPER.replace(Some(keeper));
    // Put the one before back also when `work` panics.
    struct Restore(Option<Box<dyn Keeper>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            KEEPER.set(self.0.take());
        }
    }
    let _restore = Restore(before);
    work()
}

/// What the keeper has of this training.
pub(super) fn find(fingerprint: u64) -> Option<Checkpoint> {
    KEEPER.with_borrow_mut(|keeper| keeper.as_mut().and_then(|keeper| keeper.find(fingerprint)))
}

/// Give the keeper, if there is one, training as it stands.
pub(super) fn keep(trainer: &Trainer) {
    KEEPER.with_borrow_mut(|keeper| {
        if let Some(keeper) = keeper {
            keeper.keep(&trainer.checkpoint());
        }
    });
}
