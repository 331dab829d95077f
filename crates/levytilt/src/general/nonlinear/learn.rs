//! Learn the parameters of a model with a nonlinear drift: climb the log evidence by differences.
//!
//! The guide of a point also steers the filters of the points around it, with the same random numbers: any guide gives unbiased
//! evidence, and what the points have in common cancels. Steps are those of a quasi-Newton method. They end when the slope
//! promises little more, or when three in a row do not raise the log evidence by more than its Monte Carlo error: there the slope is
//! noise as well. At the end all second differences about a standard error away give the curvature, the last step, and the
//! standard errors.

use super::super::chain::GeneralChain;
use super::super::curvature::{definite, invert, update};
use super::super::filter::{FilterOptions, combine};
use super::super::guide::Reach;
use super::super::learn::{ITERATIONS, Learned, Search, lost};
use super::super::spec::Parameter;
use super::filter::filter;
use super::messages::NonlinearGuide;
use crate::Result;
use crate::context::{self, Progress};
use crate::parameter::Transform;
use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

/// Filters and particles of a point on the way, and around the maximum.
const COARSE: (usize, usize) = (4, 100);
const FINE: (usize, usize) = (8, 200);
/// Nats to gain below which the search ends.
const ENOUGH: f64 = 0.1;
/// Steps in a row that may gain no more than the Monte Carlo error.
const PATIENCE: usize = 3;
/// First distance of a difference on a free scale of logarithms, or in units of the parameter.
const FIRST: f64 = 0.1;
/// Range of the distances, in the same units.
const RANGE: (f64, f64) = (0.01, 0.5);

/// A point of the search with the differences around it.
#[derive(Clone)]
struct Point {
    free: DVector<f64>,
    value: f64,
    error: f64,
    gradient: DVector<f64>,
    /// −∂²/∂p² per parameter.
    bends: DVector<f64>,
}

/// The values around a point that all use its guide.
struct Around<'a> {
    search: &'a Search<'a>,
    guide: NonlinearGuide,
    size: (usize, usize),
}

/// Learn what is not fixed.
///
/// # Errors
/// A start at which the evidence cannot be computed.
pub(in super::super) fn learn(mut search: Search) -> Result<Learned> {
    let learned = search.learned();
    let count = learned.len();
    if count == 0 {
        return Ok(unmeasured(search.parameters, 0, (0, true, false)));
    }
    let start = DVector::from_iterator(count, learned.iter().map(|&p| search.free(p)));
    let mut lengths = DVector::from_iterator(count, learned.iter().map(|&p| FIRST * unit(&search.parameters[p])));
    let mut now = point(&search, &start, &lengths)?;
    let mut curvature = DMatrix::from_diagonal(&first_bends(&search, &now, &lengths));
    let (mut iterations, mut converged, mut stopped) = (0, false, !tell(&search, 0, &now));
    let (mut best, mut idle) = (now.clone(), 0);
    while iterations < ITERATIONS && !converged && !stopped {
        iterations += 1;
        let mut step = bounded(&search, definite(&curvature).solve(&now.gradient));
        let next = (0..6).find_map(|_| {
            let there = &now.free + &step;
            step *= 0.4;
            let (value, error) = alone(&search, &there).ok()?;
            (value > now.value - 2.0 * error.hypot(now.error).min(1.0)).then_some(there)
        });
        let Some(next) = next else { break };
        let spread = definite(&curvature);
        for (l, &p) in learned.iter().enumerate() {
            let unit = unit(&search.parameters[p]);
            lengths[l] = (0.7 * spread.std(l)).clamp(RANGE.0 * unit, RANGE.1 * unit);
        }
        let next = point(&search, &next, &lengths)?;
        update(&mut curvature, &(&next.free - &now.free), &(&now.gradient - &next.gradient));
        // A second difference knows more of its own direction than the steps do.
        for l in 0..count {
            if next.bends[l] > 0.0 {
                curvature[(l, l)] = 0.5 * (curvature[(l, l)] + next.bends[l]);
            }
        }
        now = next;
        stopped = !tell(&search, iterations, &now);
        if 0.5 * now.gradient.dot(&definite(&curvature).solve(&now.gradient)) < ENOUGH {
            (best, converged) = (now, true);
            break;
        }
        idle = if now.value > best.value + best.error.hypot(now.error) { 0 } else { idle + 1 };
        if now.value > best.value {
            best = now.clone();
        }
        converged = idle >= PATIENCE;
    }
    let now = best;
    if stopped {
        return Ok(unmeasured(search.at(&now.free), count, (iterations, converged, stopped)));
    }
    let (last, measured) = finish(&search, &now, &curvature)?;
    let information = |l: usize| search.parameters[learned[l]].prior.std.powi(-2) / measured[(l, l)].abs();
    let prior_share = (0..count).map(information).collect();
    search.set(&last);
    let (covariance, identified) = invert(&measured);
    let parameters = search.parameters;
    Ok(Learned { parameters, covariance, identified, prior_share, iterations, converged, stopped })
}

/// What was found, without standard errors.
fn unmeasured(
    parameters: Vec<Parameter>,
    count: usize,
    (iterations, converged, stopped): (usize, bool, bool),
) -> Learned {
    let (covariance, identified) = (DMatrix::zeros(count, count), vec![false; count]);
    Learned { parameters, covariance, identified, prior_share: vec![0.0; count], iterations, converged, stopped }
}

/// A natural length of a parameter on its free scale.
fn unit(parameter: &Parameter) -> f64 {
    match parameter.transform {
        Transform::Identity => parameter.value.abs().max(0.01 * parameter.prior.std),
        _ => 1.0,
    }
}

/// A step no longer than each parameter's unit.
fn bounded(search: &Search, step: DVector<f64>) -> DVector<f64> {
    let parts = step.iter().zip(search.learned()).map(|(step, p)| step.abs() / unit(&search.parameters[p]));
    let most = parts.fold(1.0, f64::max);
    step / most
}

/// Curvatures to start with: second differences, and where these are not those of a maximum, what makes a step of a few lengths.
fn first_bends(search: &Search, now: &Point, lengths: &DVector<f64>) -> DVector<f64> {
    let learned = search.learned();
    DVector::from_fn(learned.len(), |l, _| {
        let least = search.parameters[learned[l]].prior.std.powi(-2).max(now.gradient[l].abs() / (5.0 * lengths[l]));
        now.bends[l].max(least)
    })
}

/// The guide at a point.
fn around<'a>(search: &'a Search, free: &DVector<f64>, size: (usize, usize)) -> Result<Around<'a>> {
    let model = search.spec.model(&search.at(free), &search.starts)?;
    let chain = GeneralChain::without_flows(&model, search.grid, search.columns)?;
    // With a nonlinear drift particles are needed whatever the noise.
    let reach = search.reach.unwrap_or(Reach::Step);
    Ok(Around { search, guide: NonlinearGuide::reaching(&chain, reach), size })
}

/// Value and error at a point with its own guide.
fn alone(search: &Search, free: &DVector<f64>) -> Result<(f64, f64)> {
    around(search, free, COARSE)?.value(free)
}

/// A point with its gradient.
fn point(search: &Search, free: &DVector<f64>, lengths: &DVector<f64>) -> Result<Point> {
    let around = around(search, free, COARSE)?;
    let (value, error) = around.value(free)?;
    let sides = around.sides(free, lengths);
    let count = free.len();
    let (mut gradient, mut bends) = (DVector::zeros(count), DVector::zeros(count));
    for (l, [down, up]) in sides.iter().enumerate() {
        // A side where there is no evidence says nothing.
        let (low, high) = (down.unwrap_or(value), up.unwrap_or(value));
        let width = lengths[l] * f64::from(u8::from(down.is_some()) + u8::from(up.is_some()));
        if width == 0.0 {
            return Err(lost());
        }
        gradient[l] = (high - low) / width;
        if down.is_some() && up.is_some() {
            bends[l] = (2.0 * value - low - high) / lengths[l].powi(2);
        }
    }
    Ok(Point { free: free.clone(), value, error, gradient, bends })
}

impl Around<'_> {
    /// Log evidence plus log prior at a point, and its error.
    fn value(&self, free: &DVector<f64>) -> Result<(f64, f64)> {
        let parameters = self.search.at(free);
        let model = self.search.spec.model(&parameters, &self.search.starts)?;
        let chain = GeneralChain::without_flows(&model, self.search.grid, self.search.columns)?;
        let (filters, particles) = self.size;
        let options = FilterOptions { filters, particles, seed: self.search.seed };
        let run = |number: usize| {
            let filtered = filter(&chain, &self.guide, &options, number as u64);
            (filtered.log_evidence, filtered.resamplings)
        };
        let found: Vec<(f64, usize)> = (0..filters).into_par_iter().map(run).collect();
        if !found.iter().any(|(log, _)| log.is_finite()) {
            return Err(model.drift.failure().unwrap_or_else(lost));
        }
        let evidence = combine(&found);
        let prior = |(free, p): (&f64, usize)| {
            let prior = parameters[p].prior;
            -0.5 * ((free - prior.mean) / prior.std).powi(2)
        };
        let priors: f64 = free.iter().zip(self.search.learned()).map(prior).sum();
        Ok((evidence.log_evidence + priors, evidence.std_error))
    }

    /// Values below and above in each parameter; nothing where there is none.
    fn sides(&self, free: &DVector<f64>, lengths: &DVector<f64>) -> Vec<[Option<f64>; 2]> {
        let side = |l: usize, by: f64| self.at(free, lengths, &[(l, by)]).ok();
        (0..free.len()).into_par_iter().map(|l| [side(l, -1.0), side(l, 1.0)]).collect()
    }

    /// The same where there must be values.
    fn both_sides(&self, free: &DVector<f64>, lengths: &DVector<f64>) -> Result<Vec<[f64; 2]>> {
        let sides = self.sides(free, lengths).into_iter().map(|[down, up]| Some([down?, up?]));
        sides.collect::<Option<_>>().ok_or_else(lost)
    }

    /// The value some lengths away.
    fn at(&self, free: &DVector<f64>, lengths: &DVector<f64>, moves: &[(usize, f64)]) -> Result<f64> {
        let mut there = free.clone();
        moves.iter().for_each(|(l, by)| there[*l] += by * lengths[*l]);
        self.value(&there).map(|(value, _)| value)
    }
}

/// Measure the curvature around the best point, and step to the maximum it shows.
fn finish(search: &Search, now: &Point, curvature: &DMatrix<f64>) -> Result<(DVector<f64>, DMatrix<f64>)> {
    let (count, spread) = (now.free.len(), definite(curvature));
    let learned = search.learned();
    let bounded = |l: usize, length: f64| {
        let unit = unit(&search.parameters[learned[l]]);
        length.clamp(RANGE.0 * unit, RANGE.1 * unit)
    };
    let mut lengths = DVector::from_fn(count, |l, _| bounded(l, spread.std(l)));
    let around = around(search, &now.free, FINE)?;
    let value = around.value(&now.free)?.0;
    let mut sides = around.both_sides(&now.free, &lengths)?;
    // Where the curvature of the search was far off, once more at the distance that these differences show.
    let seen = DVector::from_fn(count, |l, _| {
        let bend = (2.0 * value - sides[l][0] - sides[l][1]) / lengths[l].powi(2);
        bounded(l, bend.max(search.parameters[learned[l]].prior.std.powi(-2)).sqrt().recip())
    });
    if (0..count).any(|l| !(0.5..2.0).contains(&(seen[l] / lengths[l]))) {
        lengths = seen;
        sides = around.both_sides(&now.free, &lengths)?;
    }
    let pairs: Vec<(usize, usize)> = (0..count).flat_map(|l| (0..l).map(move |m| (l, m))).collect();
    let corners = |&(l, m): &(usize, usize)| -> Result<f64> {
        let up = around.at(&now.free, &lengths, &[(l, 1.0), (m, 1.0)])?;
        let down = around.at(&now.free, &lengths, &[(l, -1.0), (m, -1.0)])?;
        let edges: f64 = sides[l].iter().chain(&sides[m]).sum();
        Ok((edges - up - down - 2.0 * value) / (2.0 * lengths[l] * lengths[m]))
    };
    let crossed: Vec<f64> = pairs.par_iter().map(corners).collect::<Result<_>>()?;
    let mut measured = DMatrix::zeros(count, count);
    for l in 0..count {
        measured[(l, l)] = (2.0 * value - sides[l][0] - sides[l][1]) / lengths[l].powi(2);
    }
    for (&(l, m), bend) in pairs.iter().zip(crossed) {
        (measured[(l, m)], measured[(m, l)]) = (bend, bend);
    }
    let gradient = DVector::from_fn(count, |l, _| (sides[l][1] - sides[l][0]) / (2.0 * lengths[l]));
    let step = match measured.clone().cholesky() {
        Some(root) => root.solve(&gradient),
        None => DVector::zeros(count),
    };
    // Farther than a few standard errors the curvature measured here says nothing.
    let far = step.iter().enumerate().map(|(l, step)| step.abs() / (2.0 * lengths[l])).fold(1.0, f64::max);
    Ok((&now.free + step / far, measured))
}

/// Tell the watcher where the search stands; whether to go on.
fn tell(search: &Search, iteration: usize, now: &Point) -> bool {
    let parameters: Vec<context::Parameter> = search.parameters.iter().map(Parameter::shown).collect();
    let values: Vec<f64> = search.at(&now.free).iter().map(|p| p.value).collect();
    search.context.tell(&Progress {
        subject: search.context.subject(),
        iteration,
        most: ITERATIONS,
        part: false,
        elbo: now.value,
        elbo_std_error: now.error,
        parts: None,
        parameters: &parameters,
        values: &values,
    })
}
