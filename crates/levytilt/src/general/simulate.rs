//! Draw states and observed columns of a model with directions.

use super::model::GeneralModel;
use crate::{Error, Result, stream};
use nalgebra::DVector;
use rand_distr::{Distribution, StandardNormal};

/// A path and what is seen of it, one vector per state and per column.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneralSimulated {
    /// Per state, its values at all times.
    pub states: Vec<Vec<f64>>,
    /// Per row of the model, its values with observation noise at all times.
    pub columns: Vec<Vec<f64>>,
}

/// Draw `model` at `times`, strictly increasing. The start is a draw of its law, for which the covariance must be diagonal.
///
/// # Errors
/// A state too large for an `f64`.
pub fn simulate_general(model: &GeneralModel, times: &[f64], seed: u64) -> Result<GeneralSimulated> {
    let mut rng = stream(seed, 0);
    let dim = model.dim();
    let mut z = DVector::from_fn(dim, |i, _| {
        let noise: f64 = StandardNormal.sample(&mut rng);
        model.start_mean[i] + model.start_covariance[(i, i)].sqrt() * noise
    });
    let mut states = vec![Vec::with_capacity(times.len()); dim];
    let mut columns = vec![Vec::with_capacity(times.len()); model.rows.len()];
    for (j, &t) in times.iter().enumerate() {
        if j > 0 {
            let dt = t - times[j - 1];
            let from = z.clone();
            model.drift.flow(times[j - 1], dt, from.as_slice(), z.as_mut_slice());
            for source in &model.sources {
                z.axpy(source.noise.sample(dt, &mut rng), &source.direction, 1.0);
            }
        }
        if !z.iter().all(|x| x.is_finite()) {
            let why =
                format!("a state at time {t} is too large for a number; shorten the span or make the noise smaller");
            return Err(Error::Numerical { what: "simulation", why });
        }
        states.iter_mut().zip(&z).for_each(|(all, x)| all.push(*x));
        for (column, row) in columns.iter_mut().zip(&model.rows) {
            let noise: f64 = StandardNormal.sample(&mut rng);
            column.push(row.weights.dot(&z) + row.std * noise);
        }
    }
    Ok(GeneralSimulated { states, columns })
}
