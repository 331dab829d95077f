//! Learn the parameters of a one-dimensional model on its exact evidence, with its own slope.
//!
//! Quasi-Newton steps on the free scale, guarded by the evidence itself. The information at the end comes from slopes one
//! half of a standard error to either side along each axis of the parameters' law; their second differences also tell how
//! far the mean of that law lies from its maximum.

use super::parameters::{Parameter, Transform, rebuild};
use crate::exact::follow::{Follower, Memory};
use crate::progress::{self, Progress};
use crate::series::TimeGrid;
use crate::{Error, Result, StateSpace};
use nalgebra::{DMatrix, DVector, SymmetricEigen};
use rayon::prelude::*;

/// Observations of the first part that is learned from, and how much longer the next part is; the last is the whole.
const PART: usize = 400;
const GROWTH: usize = 4;
/// Longest step on the free scale of a parameter that has a natural unit there.
const LONGEST: f64 = 1.0;
/// Halvings of a step before the search ends.
const HALVINGS: usize = 8;
/// Way to go, in standard errors, at which the search ends; a Newton step with the final information follows.
const CLOSE: f64 = 1e-2;
/// Steps with an information that is only updated; then it is computed anew.
const STALE: usize = 3;
/// Standard errors to either side at which slopes are taken for the information.
const APART: f64 = 0.5;

/// Parameters learned on the exact evidence.
#[derive(Debug)]
pub(crate) struct ExactLearned {
    pub model: StateSpace,
    pub parameters: Vec<Parameter>,
    /// Standard errors, NaN for fixed parameters; from the observed information, prior included.
    pub std_errors: Vec<f64>,
    /// Share of each free parameter's information that comes from the data rather than from its prior.
    pub data_shares: Vec<f64>,
    /// Covariance of the free parameters on their free scales, row after row.
    pub covariance: Vec<f64>,
    /// From the values found to the mean of their law, on the same scales.
    pub shift: Vec<f64>,
    pub iterations: usize,
    pub warnings: Vec<String>,
}

/// A point on the free scale with log evidence plus log prior, and its slope.
#[derive(Clone)]
struct Point {
    free: DVector<f64>,
    log_evidence: f64,
    value: f64,
    slope: DVector<f64>,
}

/// What is learned from.
struct Search<'a> {
    model: &'a StateSpace,
    parameters: &'a [Parameter],
    /// Places of the parameters that move.
    moving: Vec<usize>,
    follower: Follower<'a>,
    memory: Memory,
    most: usize,
    /// Whether this is a part of a longer series.
    part: bool,
    iterations: usize,
    stopped: bool,
}

/// Learn the parameters that are not fixed, from the values that `parameters` has, in at most `most` steps.
pub(crate) fn learn_exact(
    model: &StateSpace,
    parameters: &[Parameter],
    (grid, values): (&TimeGrid, &[f64]),
    most: usize,
) -> Result<ExactLearned> {
    let symmetric = unskewed(parameters);
    if symmetric.iter().zip(parameters).any(|(held, p)| held.fixed != p.fixed) && symmetric.iter().any(|p| !p.fixed) {
        // The symmetric noise leads to the right tails; where it has none, the skew is learned from the start.
        let begun = rise(model, &symmetric, (grid, values), most).and_then(|(search, top, _)| {
            let values = search.values(&top.free);
            let parameters: Vec<Parameter> =
                parameters.iter().zip(values).map(|(p, value)| Parameter { value, ..p.clone() }).collect();
            Ok((rebuild(model, &search.values(&top.free))?, parameters))
        });
        if let Ok((model, parameters)) = begun {
            let mut search = Search::new(&model, &parameters, grid, values, most)?;
            let (top, information) = search.climb(search.first(), None)?;
            return search.finish(top, information);
        }
    }
    let (search, top, information) = rise(model, parameters, (grid, values), most)?;
    search.finish(top, information)
}

/// The parameters with those that skew the noise held at 0.
fn unskewed(parameters: &[Parameter]) -> Vec<Parameter> {
    let skews = |p: &Parameter| ["skew", "jump_mean"].contains(&p.name.split('[').next().unwrap_or_default());
    let held = |p: &Parameter| match skews(p) && !p.fixed {
        true => Parameter { value: 0.0, fixed: true, ..p.clone() },
        false => p.clone(),
    };
    parameters.iter().map(held).collect()
}

/// Climb from the values that `parameters` has, by way of ever longer parts of the series.
fn rise<'a>(
    model: &'a StateSpace,
    parameters: &'a [Parameter],
    (grid, values): (&'a TimeGrid, &'a [f64]),
    most: usize,
) -> Result<(Search<'a>, Point, DMatrix<f64>)> {
    let mut search = Search::new(model, parameters, grid, values, most)?;
    let mut begin = (search.first(), None);
    for count in parts(observed(values)) {
        let (part, rows) = head(grid, values, count);
        // Only a start: if a part cannot be learned from, the next begins where it would have without it.
        let found = Search::new(model, parameters, &part, &values[..rows], most)
            .and_then(|search| Search { part: true, ..search }.climb(begin.0.clone(), begin.1.clone()));
        if let Ok((point, known)) = found {
            let next = (count * GROWTH).min(observed(values));
            let more = if 2 * next > observed(values) { observed(values) } else { next } as f64 / count as f64;
            begin = (point.free, Some(search.with_prior(search.without_prior(known) * more)));
        }
    }
    let (top, information) = search.climb(begin.0, begin.1)?;
    Ok((search, top, information))
}

/// Observations of the parts that are learned from before the whole of `count`.
fn parts(count: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(PART), |part| Some(part * GROWTH)).take_while(move |part| 2 * part <= count)
}

/// The series up to observation number `count`, and its rows.
fn head(grid: &TimeGrid, values: &[f64], count: usize) -> (TimeGrid, usize) {
    let (mut seen, mut rows) = (0, 0);
    while seen < count {
        seen += usize::from(!values[rows].is_nan());
        rows += 1;
    }
    let last = (0..grid.len()).find(|&j| grid.observation(j) == Some(rows - 1));
    (grid.head(last.map_or(grid.len(), |j| j + 1).max(2)), rows)
}

fn observed(values: &[f64]) -> usize {
    values.iter().filter(|value| !value.is_nan()).count()
}

impl<'a> Search<'a> {
    fn new(
        model: &'a StateSpace,
        parameters: &'a [Parameter],
        grid: &'a TimeGrid,
        values: &'a [f64],
        most: usize,
    ) -> Result<Self> {
        let moving = (0..parameters.len()).filter(|&i| !parameters[i].fixed).collect();
        let follower = Follower::new(model, grid, values)?;
        let memory = Memory::default();
        Ok(Self { model, parameters, moving, follower, memory, most, part: false, iterations: 0, stopped: false })
    }

    fn first(&self) -> DVector<f64> {
        let free = |&i: &usize| self.parameters[i].transform.forward(self.parameters[i].value);
        DVector::from_iterator(self.moving.len(), self.moving.iter().map(free))
    }

    fn values(&self, free: &DVector<f64>) -> Vec<f64> {
        let mut values: Vec<f64> = self.parameters.iter().map(|p| p.value).collect();
        for (&i, &u) in self.moving.iter().zip(free.iter()) {
            values[i] = self.parameters[i].transform.backward(u);
        }
        values
    }

    /// Evidence and slope at a point, with windows as in `memory`.
    fn at(&self, free: DVector<f64>, memory: &mut Memory) -> Result<Point> {
        let values = self.values(&free);
        let score = self.follower.score(&rebuild(self.model, &values)?, memory)?;
        let (mut value, mut slope) = (score.log_evidence, DVector::zeros(free.len()));
        for (k, &i) in self.moving.iter().enumerate() {
            let p = &self.parameters[i];
            slope[k] = score.slope[i] * p.transform.slope(values[i]);
            if let Some(prior) = p.prior {
                let z = (free[k] - prior.mean) / prior.std;
                value -= 0.5 * z * z;
                slope[k] -= z / prior.std;
            }
        }
        if !(value.is_finite() && slope.iter().all(|s| s.is_finite())) {
            return Err(Error::Numerical {
                what: "learning",
                why: "the log evidence or its gradient is not finite at these parameters".into(),
            });
        }
        Ok(Point { free, log_evidence: score.log_evidence, value, slope })
    }

    /// Points moved by the columns of `moves`.
    fn around(&self, point: &Point, moves: &[DVector<f64>]) -> Result<Vec<Point>> {
        let one = |by: &DVector<f64>| self.at(&point.free + by, &mut self.memory.clone());
        moves.par_iter().map(one).collect()
    }

    /// The information from slopes a little to one side of a point.
    fn rough_information(&self, point: &Point) -> Result<DMatrix<f64>> {
        let n = point.free.len();
        let moves: Vec<DVector<f64>> = (0..n)
            .map(|k| {
                let p = &self.parameters[self.moving[k]];
                let size = match (p.transform, p.prior) {
                    (Transform::Identity, Some(prior)) => 1e-3 * prior.std,
                    (Transform::Identity, None) => 1e-2 * p.value.abs().max(1e-2),
                    _ => 0.03,
                };
                // Uphill, where the evidence is surer to be computable.
                let towards = if point.slope[k] < 0.0 { -size } else { size };
                DVector::from_fn(n, |i, _| if i == k { towards } else { 0.0 })
            })
            .collect();
        let around = self.around(point, &moves)?;
        let rows = DMatrix::from_fn(n, n, |i, k| (point.slope[i] - around[k].slope[i]) / moves[k][k]);
        Ok(0.5 * (&rows + rows.transpose()))
    }

    /// Climb to the maximum; `information` if it is known roughly.
    fn climb(&mut self, free: DVector<f64>, information: Option<DMatrix<f64>>) -> Result<(Point, DMatrix<f64>)> {
        let mut memory = std::mem::take(&mut self.memory);
        let mut point = self.at(free, &mut memory)?;
        self.memory = memory;
        self.tell(&point);
        let mut information = match information {
            Some(known) => known,
            None => self.rough_information(&point)?,
        };
        let (mut fresh, mut age) = (true, 0);
        while !self.stopped && self.iterations < self.most {
            let definite = definite(&information);
            let mut step = definite.clone().cholesky().map_or_else(|| point.slope.clone(), |c| c.solve(&point.slope));
            let length = step.dot(&point.slope).sqrt();
            if length < CLOSE {
                break;
            }
            if age >= STALE && length > 10.0 * CLOSE {
                (information, fresh, age) = (self.rough_information(&point)?, true, 0);
                continue;
            }
            self.shorten(&mut step);
            match self.advance(&point, &step) {
                Some(next) => {
                    information = updated(definite, &(&next.free - &point.free), &(&point.slope - &next.slope));
                    (point, fresh, age) = (next, false, age + 1);
                    self.iterations += 1;
                    self.tell(&point);
                }
                // A wrong idea of the curvature is the likely reason; if it is fresh, this is as far as one gets.
                None if fresh => break,
                None => (information, fresh, age) = (self.rough_information(&point)?, true, 0),
            }
        }
        Ok((point, information))
    }

    /// Cut a step to what can be trusted.
    fn shorten(&self, step: &mut DVector<f64>) {
        let over = self.moving.iter().zip(step.iter()).map(|(&i, step)| {
            let p = &self.parameters[i];
            match (p.transform, p.prior) {
                (Transform::Identity, Some(prior)) => step.abs() / prior.std,
                (Transform::Identity, None) => 0.0,
                _ => step.abs() / LONGEST,
            }
        });
        *step /= over.fold(1.0, f64::max);
    }

    /// The first of ever shorter steps that raises the evidence.
    fn advance(&mut self, point: &Point, step: &DVector<f64>) -> Option<Point> {
        let promised = step.dot(&point.slope);
        let mut share = 1.0;
        for _ in 0..HALVINGS {
            let mut memory = self.memory.clone();
            // A place where the model cannot be computed is too far away.
            if let Ok(next) = self.at(&point.free + share * step, &mut memory)
                && next.value > point.value + 1e-4 * share * promised
            {
                self.memory = memory;
                return Some(next);
            }
            share *= if share == 1.0 { 0.3 } else { 0.4 };
        }
        None
    }

    fn tell(&mut self, point: &Point) {
        let values = self.values(&point.free);
        self.stopped |= !progress::tell(&Progress {
            iteration: self.iterations,
            most: self.most,
            part: self.part,
            elbo: point.log_evidence,
            elbo_std_error: 0.0,
            parts: None,
            parameters: self.parameters,
            values: &values,
        });
    }

    fn prior(&self) -> DMatrix<f64> {
        let precision = |&i: &usize| self.parameters[i].prior.map_or(0.0, |prior| prior.std.powi(-2));
        DMatrix::from_diagonal(&DVector::from_iterator(self.moving.len(), self.moving.iter().map(precision)))
    }

    fn without_prior(&self, information: DMatrix<f64>) -> DMatrix<f64> {
        definite(&information) - self.prior()
    }

    fn with_prior(&self, information: DMatrix<f64>) -> DMatrix<f64> {
        definite(&(information + self.prior()))
    }

    /// The information at the maximum, and what follows from it.
    fn finish(self, top: Point, information: DMatrix<f64>) -> Result<ExactLearned> {
        let n = top.free.len();
        let mut warnings = Vec::new();
        if self.stopped {
            warnings.push(format!(
                "stopped on request after {} iterations: the parameters may not have converged",
                self.iterations
            ));
        } else if self.iterations == self.most {
            warnings.push(format!(
                "stopped after {} iterations, possibly before convergence; allow more iterations",
                self.iterations
            ));
        }
        let (mut top, information, bend) = self.information(top, information, &mut warnings)?;
        let covariance = definite(&information).try_inverse().unwrap_or_else(|| DMatrix::zeros(n, n));
        let shift = 0.5 * &covariance * bend;
        // The last Newton step, with the information as it is now known.
        let last = &covariance * &top.slope;
        if last.dot(&top.slope) < 0.25 {
            top.free += last;
        }
        let values = self.values(&top.free);
        let (mut std_errors, mut data_shares) = (vec![f64::NAN; values.len()], vec![f64::NAN; values.len()]);
        let prior = self.prior();
        for (k, &i) in self.moving.iter().enumerate() {
            std_errors[i] = covariance[(k, k)].sqrt() * self.parameters[i].transform.slope(values[i]);
            data_shares[i] = 1.0 - prior[(k, k)] * covariance[(k, k)];
        }
        Ok(ExactLearned {
            model: rebuild(self.model, &values)?,
            parameters: self.parameters.iter().zip(values).map(|(p, value)| Parameter { value, ..p.clone() }).collect(),
            std_errors,
            data_shares,
            covariance: covariance.iter().copied().collect(),
            shift: shift.iter().copied().collect(),
            iterations: self.iterations,
            warnings,
        })
    }

    /// Slopes to either side along the axes of the law that `rough` describes: the information, and Σ_ij T_kij C_ij with the
    /// third derivatives T and the covariance C.
    fn information(
        &self,
        top: Point,
        rough: DMatrix<f64>,
        warnings: &mut Vec<String>,
    ) -> Result<(Point, DMatrix<f64>, DVector<f64>)> {
        let n = top.free.len();
        let covariance = definite(&rough).try_inverse().unwrap_or_else(|| DMatrix::identity(n, n));
        // Who asked to stop does not want to wait for better standard errors.
        let Some(axes) = covariance.cholesky().filter(|_| !self.stopped).map(|c| c.l()) else {
            return Ok((top, rough, DVector::zeros(n)));
        };
        let moves: Vec<DVector<f64>> =
            (0..2 * n).map(|m| axes.column(m / 2) * if m % 2 == 0 { APART } else { -APART }).collect();
        let around = match self.around(&top, &moves) {
            Ok(around) => around,
            Err(error) => {
                warnings.push(format!(
                    "the standard errors are approximate, from the last steps of the optimiser: {error}"
                ));
                return Ok((top, rough, DVector::zeros(n)));
            }
        };
        let mut bend = DVector::zeros(n);
        let falls = DMatrix::from_columns(
            &(0..n).map(|k| (&around[2 * k + 1].slope - &around[2 * k].slope) / (2.0 * APART)).collect::<Vec<_>>(),
        );
        for pair in around.chunks_exact(2) {
            bend += (&pair[0].slope + &pair[1].slope - 2.0 * &top.slope) / (APART * APART);
        }
        // information · axes = falls
        let inverse = axes.try_inverse().unwrap_or_else(|| DMatrix::identity(n, n));
        let found = falls * inverse;
        let found = 0.5 * (&found + found.transpose());
        if found.clone().cholesky().is_none() {
            warnings.push(
                "the log evidence has no clear maximum: the data do not determine all parameters, and the standard \
                 errors are unreliable; fix some parameters"
                    .into(),
            );
        }
        Ok((top, found, bend))
    }
}

/// The nearest information with all its eigenvalues positive: those that are not are turned around, and none is less than
/// a hundred-millionth of the largest after scaling to a unit diagonal.
fn definite(information: &DMatrix<f64>) -> DMatrix<f64> {
    let n = information.nrows();
    let scale = DVector::from_fn(n, |k, _| information[(k, k)].abs().max(1e-300).sqrt());
    let unit = DMatrix::from_fn(n, n, |i, k| information[(i, k)] / (scale[i] * scale[k]));
    let eigen = SymmetricEigen::new(unit);
    let top = eigen.eigenvalues.iter().fold(0.0f64, |top, v| top.max(v.abs()));
    let kept = eigen.eigenvalues.map(|v| v.abs().max(1e-8 * top));
    let unit = &eigen.eigenvectors * DMatrix::from_diagonal(&kept) * eigen.eigenvectors.transpose();
    DMatrix::from_fn(n, n, |i, k| 0.5 * (unit[(i, k)] + unit[(k, i)]) * scale[i] * scale[k])
}

/// The information after a step by `moved` along which the slope fell by `fell` (Broyden, Fletcher, Goldfarb, Shanno), damped
/// as Powell does where it did not fall enough.
fn updated(information: DMatrix<f64>, moved: &DVector<f64>, fell: &DVector<f64>) -> DMatrix<f64> {
    let expected = &information * moved;
    let curvature = moved.dot(&expected);
    let measured = moved.dot(fell);
    let share = if measured >= 0.2 * curvature { 1.0 } else { 0.8 * curvature / (curvature - measured) };
    let fell = fell * share + &expected * (1.0 - share);
    let along = moved.dot(&fell);
    if !(along > 0.0 && curvature > 0.0) {
        return information;
    }
    information + &fell * fell.transpose() / along - &expected * expected.transpose() / curvature
}
