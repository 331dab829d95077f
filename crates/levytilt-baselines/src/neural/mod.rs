//! Rivals that are trained networks: DeepAR, DLinear, N-HiTS, Neural Jump SDE and Neural MJD.
//!
//! They follow the architectures and the training that Kındap et al. compare with (every window trained afresh, full
//! batch, a fixed number of steps, no early stopping). What was plainly broken there is mended, and each file says what.
//! All numbers inside the networks are of single precision.
//!
//! Networks are random at the start by our own generator, and a forecast runs on one thread, so that the same seed gives
//! the same paths. To use all cores, forecast several windows at once.

pub(crate) mod build;
mod deepar;
mod dense;
mod dlinear;
mod jump_sde;
mod layers;
mod lstm;
mod merton;
mod nhits;
mod point;
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

/// Candle walks its graph by recursion, some hundred bytes per operation; the longest graph here has about 10⁵.
const STACK_BYTES: usize = 512 << 20;

/// What is asked of a forecaster.
#[derive(Clone, Copy)]
struct Request<'a> {
    record: &'a Record,
    ahead: &'a [f64],
    paths: usize,
    seed: u64,
}

/// An error of this crate, into which those of the network library turn.
struct Failure(Error);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl From<candle_core::Error> for Failure {
    fn from(error: candle_core::Error) -> Self {
        Self(Error::Numerical { what: "network", why: error.to_string() })
    }
}

type Outcome<T> = std::result::Result<T, Failure>;

impl Request<'_> {
    /// Check the request, then let `draw` make states in the order (path, time, dimension) on a thread of its own.
    fn answer(self, draw: impl FnOnce(Self) -> Outcome<Vec<f64>> + Send) -> Result<Paths> {
        self.record.check_ahead(self.ahead)?;
        Paths::check_request(self.paths, self.ahead.len())?;
        let states = alone(|| draw(self))?;
        Paths::new(states, self.ahead.len(), self.record.dim())
    }
}

/// Run on a thread with a deep stack, as the only worker of its own pool.
///
/// Matrix products would otherwise ask the common pool for help; when its workers all wait for their own networks,
/// nobody would come.
fn alone<T: Send>(work: impl FnOnce() -> Outcome<T> + Send) -> Result<T> {
    let run = || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).stack_size(STACK_BYTES).build();
        let pool = pool.map_err(|e| Failure(Error::Numerical { what: "thread of a network", why: e.to_string() }))?;
        pool.install(work)
    };
    let outcome = std::thread::scope(|scope| scope.spawn(run).join());
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(|Failure(error)| error)
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
