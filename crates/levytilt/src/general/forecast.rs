//! Look ahead with a model with directions: draw its sources, so that a common one moves all it acts on together.

use super::model::GeneralModel;
use crate::forecast::{Forecast, ForecastOptions, Target, advance, check_ahead};
use crate::{Error, Result, StreamRng, stream};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

/// Predictive paths of the observed columns, with their observation noise unless states are wanted, at `times`, strictly
/// increasing and after `from`. Path p starts from state p of `ends` (state fastest), over and over.
///
/// # Errors
/// Times that are not ahead or not increasing; no end states; a state too large for an `f64`.
pub fn forecast_general(
    model: &GeneralModel,
    ends: &[f64],
    times: &[f64],
    options: &ForecastOptions,
) -> Result<Forecast> {
    let dim = model.dim();
    if ends.is_empty() || !ends.len().is_multiple_of(dim) {
        let expected = format!("{dim} per state, at least one state");
        return Err(Error::Shape { what: "end states", got: format!("{} numbers", ends.len()), expected });
    }
    check_ahead(times, options)?;
    // The streams must not be those of the fit, which has the same seed.
    let seed = stream(options.seed, u64::MAX - 3).next_u64();
    let starts: Vec<&[f64]> = ends.chunks_exact(dim).collect();
    let walk =
        |path: usize| one_path(model, starts[path % starts.len()], times, options, &mut stream(seed, path as u64));
    let paths: Result<Vec<Vec<f64>>> = (0..options.paths).into_par_iter().map(walk).collect();
    let has_variance = model.sources.iter().all(|source| source.noise.has_variance());
    let (dim, target) = (model.rows.len(), options.target);
    Ok(Forecast { times: times.to_vec(), dim, target, states: paths?.concat(), has_variance })
}

fn one_path(
    model: &GeneralModel,
    start: &[f64],
    times: &[f64],
    options: &ForecastOptions,
    rng: &mut StreamRng,
) -> Result<Vec<f64>> {
    let (mut z, mut moved, mut t) = (start.to_vec(), start.to_vec(), options.from);
    let mut path = Vec::with_capacity(times.len() * model.rows.len());
    for &time in times {
        advance(model.drift.as_ref(), (t, time), options.longest_step, (&mut z, &mut moved), |(_, dt), _, moved| {
            for source in &model.sources {
                let jump = source.noise.sample(dt, rng);
                moved.iter_mut().zip(&source.direction).for_each(|(z, b)| *z += b * jump);
            }
            Ok(())
        })?;
        t = time;
        for row in &model.rows {
            let noise: f64 = StandardNormal.sample(rng);
            let std = if options.target == Target::Observations { row.std } else { 0.0 };
            path.push(row.weights.iter().zip(&z).map(|(h, z)| h * z).sum::<f64>() + std * noise);
        }
    }
    Ok(path)
}
