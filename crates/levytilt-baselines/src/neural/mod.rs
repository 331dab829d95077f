//! Rivals that are trained networks: DeepAR, DLinear, N-HiTS, Neural Jump SDE and Neural MJD.
//!
//! They follow the architectures and the training that Kındap et al. compare with (every window trained afresh, full
//! batch, a fixed number of steps, no early stopping). What was plainly broken there is mended, and each file says what.
//! All numbers inside the networks are of single precision; losses and their slopes are computed in double precision.
//!
//! Networks are random at the start by our own generator, and a forecast runs on one thread, so that the same seed gives
//! the same paths. To use all cores, forecast several windows at once.

pub(crate) mod build;
mod deepar;
mod dlinear;
#[cfg(test)]
mod golden;
mod jump_sde;
mod layers;
mod merton;
mod nhits;
mod point;
mod special;
mod tape;
mod train;
mod windows;

pub use deepar::{DeepAr, Output};
pub use dlinear::DLinear;
pub use jump_sde::JumpSde;
pub use merton::NeuralMjd;
pub use nhits::{NHits, Stack};
pub use point::Spread;
pub use train::Training;

use crate::forecaster::{Paths, Record};
use levytilt::{Error, Result};

/// What is asked of a forecaster.
#[derive(Clone, Copy)]
struct Request<'a> {
    record: &'a Record,
    ahead: &'a [f64],
    paths: usize,
    seed: u64,
}

impl Request<'_> {
    /// Check the request, then let `draw` make states in the order (path, time, dimension).
    fn answer(self, draw: impl FnOnce(Self) -> Result<Vec<f64>>) -> Result<Paths> {
        self.record.check_ahead(self.ahead)?;
        Paths::check_request(self.paths, self.ahead.len())?;
        let states = draw(self)?;
        Paths::new(states, self.ahead.len(), self.record.dim())
    }
}

/// Refuse a network in which one of these named sizes is 0.
fn check_sizes(what: &'static str, sizes: &[(&str, usize)]) -> Result<()> {
    match sizes.iter().find(|(_, size)| *size == 0) {
        Some((name, _)) => {
            Err(Error::Shape { what, got: format!("{name} = 0"), expected: format!("{name} of at least 1") })
        }
        None => Ok(()),
    }
}
