//! Hold observed series and the latent times they are explained on.

mod clock;
mod grid;
mod length;
mod observations;
mod returns;
mod scales;
mod steps;
mod volatility;
mod windows;

pub use clock::{Clock, ClockOptions, ClockPrior};
pub use grid::TimeGrid;
pub(crate) use length::{length_key, standard_length};
pub use observations::Observations;
pub use returns::{Scaled, cumulative_log_returns};
pub use scales::Scales;
pub(crate) use scales::{FIRST_ALPHA, NORMAL_MEDIAN};
pub use steps::{Sessions, StepKind};
pub use volatility::{Memory, Volatility, VolatilityOptions, recent_volatility};
pub use windows::{Rolling, Skipped, Window, Windows};

use crate::{Error, Result};

/// Largest magnitude of a value: its square, and the square of a difference, stay far from overflow.
pub(crate) const LARGEST_VALUE: f64 = 1e150;

/// Check that there are at least two times, all finite and strictly increasing.
pub fn check_times(times: &[f64]) -> Result<()> {
    let fail = |place: String, problem: String| Err(Error::Series { place, problem });
    match times.len() {
        0 => return fail("series".into(), "is empty; at least two observations are needed".into()),
        1 => {
            return fail(format!("time {}", times[0]), "a single observation; at least two are needed".into());
        }
        _ => {}
    }
    for (i, &t) in times.iter().enumerate() {
        if !t.is_finite() {
            return Err(Error::observation(i, format!("time {t} is not a finite number")));
        }
    }
    for (i, pair) in times.windows(2).enumerate() {
        let fail = |problem| Err(Error::observation(i + 1, problem));
        if pair[1] == pair[0] {
            return fail(format!("time {} occurs twice; times must differ", pair[1]));
        }
        if pair[1] < pair[0] {
            return fail(format!("time {} comes after time {}; times must increase", pair[1], pair[0]));
        }
        if !(pair[1] - pair[0]).is_finite() {
            return fail(format!("time {} is too far from time {}", pair[1], pair[0]));
        }
    }
    if !(times[times.len() - 1] - times[0]).is_finite() {
        return fail("series".into(), format!("times from {} to {} span too much", times[0], times[times.len() - 1]));
    }
    Ok(())
}

/// Check one column of values: finite up to 1e150 or missing (NaN), and not all missing.
pub(crate) fn check_values(name: &str, values: &[f64]) -> Result<()> {
    for (i, &value) in values.iter().enumerate() {
        if !value.is_nan() && value.abs() > LARGEST_VALUE {
            let problem =
                format!("value {value:e} is beyond ±{LARGEST_VALUE:e}; rescale the series or mark it missing");
            return Err(Error::observation(i, problem).in_dimension(name));
        }
    }
    if values.iter().all(|value| value.is_nan()) {
        return Err(Error::Series {
            place: name.to_string(),
            problem: format!("all {} values are missing; there is nothing to learn from", values.len()),
        });
    }
    Ok(())
}
