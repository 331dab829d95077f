//! See how far each state is from what is observed, and measure typical sizes of it from the columns.

use crate::drift::Drift;
use crate::noise::Family;
use crate::series::Scales;
use crate::{Error, Result};
use nalgebra::{DMatrix, DVector};

/// The states that a row sees, by number, and their weights in it.
pub(super) type Weights<'a> = &'a [(usize, f64)];

/// How a state shows in the columns.
#[derive(Debug, Clone)]
pub(super) struct Sight {
    /// The row that sees it most directly.
    pub row: usize,
    /// Times the drift must act before the row sees it.
    pub order: usize,
    /// Sizes of the state itself.
    pub scales: Scales,
    /// Typical observation standard deviation of the row.
    pub error: f64,
    /// A wide law of the state at the first time: mean and standard deviation.
    pub start: (f64, f64),
}

impl Sight {
    /// A typical size of the jumps of a source of unit scale on this state.
    pub fn jump_size(&self, family: &Family) -> f64 {
        let scale = family.parameters.iter().find(|entry| is_size(entry.name));
        scale.map_or(self.scales.motion, |entry| entry.guess(&self.scales, &|_| None))
    }
}

/// How every state shows.
///
/// # Errors
/// A state that no column sees, directly or through the drift; columns without two different values.
pub(super) fn sights(
    (states, rows): (&[String], &[Weights]),
    drift: &dyn Drift,
    times: &[f64],
    columns: &[&[f64]],
) -> Result<Vec<Sight>> {
    let rates = rates(drift, times);
    (0..states.len())
        .map(|i| match nearest(rows, &rates, i) {
            Some((row, order, gain)) => sight((row, order, gain), times, columns[row]),
            None => Err(Error::Series {
                place: format!("state {}", states[i]),
                problem:
                    "is not observable: no observed column depends on it, directly or through the drift; leave it \
                          out, or observe it"
                        .into(),
            }),
        })
        .collect()
}

/// The matrix A of the drift, from a short step.
fn rates(drift: &dyn Drift, times: &[f64]) -> DMatrix<f64> {
    let dim = drift.dim();
    let dt = 1e-5 * (times[times.len() - 1] - times[0]) / times.len() as f64;
    let (mut out, mut by_state) = (vec![0.0; dim], vec![0.0; dim * dim]);
    let mut by_parameter = vec![0.0; dim * drift.parameter_count()];
    drift.flow_jacobian(times[0], dt, &vec![0.0; dim], &mut out, &mut by_state, &mut by_parameter);
    (DMatrix::from_row_slice(dim, dim, &by_state) - DMatrix::identity(dim, dim)) / dt
}

/// The row that sees state `i` after the fewest actions of the drift, how many these are, and hᵀAⁿe_i.
fn nearest(rows: &[Weights], rates: &DMatrix<f64>, i: usize) -> Option<(usize, usize, f64)> {
    let dim = rates.nrows();
    let size = rates.amax();
    for order in 0..dim {
        for (row, seen) in rows.iter().enumerate() {
            let mut h = DVector::zeros(dim);
            seen.iter().for_each(|(state, weight)| h[*state] = *weight);
            (0..order).for_each(|_| h = rates.transpose() * &h);
            let scale = seen.iter().map(|(_, weight)| weight.abs()).fold(0.0, f64::max);
            // Rounding of a short step leaves some 1e-11 of the largest rate where there is nothing.
            if h[i].abs() > 1e-8 * scale * size.powi(order as i32) && h[i] != 0.0 {
                return Some((row, order, h[i]));
            }
        }
    }
    None
}

/// Sizes of a state from the difference quotients of the column that sees it.
fn sight((row, order, gain): (usize, usize, f64), times: &[f64], column: &[f64]) -> Result<Sight> {
    let seen = times.iter().zip(column).filter(|(_, y)| !y.is_nan()).map(|(t, y)| (*t, *y));
    let mut points: Vec<(f64, f64)> = seen.collect();
    let (all, values): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    let error = Scales::new(&all, &values, None)?.observation;
    for _ in 0..order {
        let slope = |pair: &[(f64, f64)]| (pair[0].0, (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0));
        points = points.windows(2).map(slope).collect();
    }
    let (at, values): (Vec<f64>, Vec<f64>) = points.iter().map(|(t, y)| (*t, y / gain)).unzip();
    let scales = Scales::new(&at, &values, None)?;
    let start = match order {
        0 => (values[0], 10.0 * (error / gain.abs()).max(scales.motion)),
        _ => (0.0, 10.0 * (scales.spread + scales.median.abs())),
    };
    Ok(Sight { row, order, scales, error, start })
}

/// Whether a parameter of a family multiplies its jumps.
pub(super) fn is_size(name: &str) -> bool {
    ["scale", "sigma_g", "jump_std"].contains(&name)
}
