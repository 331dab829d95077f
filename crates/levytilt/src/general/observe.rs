//! See how far each state is from what is observed, and measure typical sizes of it from the columns.

use crate::drift::{Drift, FormulaDrift};
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
        let scale = family.parameters.iter().find(|entry| entry.is_size());
        scale.map_or(self.scales.motion, |entry| entry.guess(&self.scales, &|_| None))
    }
}

/// How every state shows; `starts` are the typical values of the states whose start is given.
///
/// # Errors
/// A state that no column sees, directly or through the drift; columns without two different values.
pub(super) fn sights(
    (states, rows): (&[String], &[Weights]),
    drift: &FormulaDrift,
    starts: &[Option<f64>],
    times: &[f64],
    columns: &[&[f64]],
) -> Result<Vec<Sight>> {
    let rates = visible_rates(rows, drift, starts, times, columns)?;
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

/// The matrix A of the drift; of one that is nonlinear, its Jacobian at the first of some points where every state shows.
///
/// # Errors
/// A drift that has no value at any of them.
fn visible_rates(
    rows: &[Weights],
    drift: &FormulaDrift,
    starts: &[Option<f64>],
    times: &[f64],
    columns: &[&[f64]],
) -> Result<DMatrix<f64>> {
    let dim = drift.dim();
    if drift.is_affine() {
        return Ok(rates(drift, times));
    }
    let typical: Vec<Option<f64>> = (0..dim).map(|i| starts[i].or_else(|| median(rows, i, columns))).collect();
    let mut first = None;
    for other in [0.0, 1.0, -1.0, 0.1] {
        let at: Vec<f64> = typical.iter().map(|known| known.unwrap_or(other)).collect();
        let here = slopes(drift, times[0], &at);
        if !here.iter().all(|rate| rate.is_finite()) {
            // A flow, other than a rate, remembers what could not be computed.
            drift.flow(times[0], short(times), &at, &mut vec![0.0; dim]);
            continue;
        }
        if (0..dim).all(|i| nearest(rows, &here, i).is_some()) {
            return Ok(here);
        }
        first.get_or_insert(here);
    }
    first.ok_or_else(|| {
        let why = "the drift has no finite value at typical states; give a [start] where it has".into();
        drift.failure().unwrap_or(Error::Numerical { what: "drift", why })
    })
}

/// The median of state `i` by a column that sees it alone.
fn median(rows: &[Weights], i: usize, columns: &[&[f64]]) -> Option<f64> {
    let row = rows.iter().position(|row| matches!(row, [(state, _)] if *state == i))?;
    let mut values: Vec<f64> = columns[row].iter().copied().filter(|y| !y.is_nan()).collect();
    values.sort_by(f64::total_cmp);
    Some(values.get(values.len() / 2)? / rows[row][0].1)
}

/// The Jacobian of the right-hand side at a state, by central differences.
fn slopes(drift: &FormulaDrift, t: f64, at: &[f64]) -> DMatrix<f64> {
    let dim = at.len();
    let mut all = DMatrix::zeros(dim, dim);
    for k in 0..dim {
        let h = 1e-5 * at[k].abs().max(1.0);
        let rate = |by: f64| {
            let mut there = at.to_vec();
            there[k] += by;
            DVector::from_vec(drift.rate(t, &there))
        };
        all.set_column(k, &((rate(h) - rate(-h)) / (2.0 * h)));
    }
    all
}

/// A length of time far below that between rows.
fn short(times: &[f64]) -> f64 {
    1e-5 * (times[times.len() - 1] - times[0]) / times.len() as f64
}

/// The matrix A of an affine drift, from a short step.
fn rates(drift: &FormulaDrift, times: &[f64]) -> DMatrix<f64> {
    let dim = drift.dim();
    let dt = short(times);
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
