//! Learn the parameters of a one-dimensional model on its exact evidence, with its own slope.

use super::climb::{Climber, Point, Surface, definite};
use super::kept::Mark;
use super::learned::Optimum;
use super::parameters::{Parameter, Transform, rebuild};
use crate::context::{Context, Progress};
use crate::exact::follow::{Follower, Memory};
use crate::exact::thin::Thinned;
use crate::noise::{has_effect, skews};
use crate::parameter::Effect;
use crate::series::TimeGrid;
use crate::{Error, Result, StateSpace};
use nalgebra::{DMatrix, DVector};
use std::sync::Arc;

/// Observations of the first part that is learned from, and how much longer the next part is; the last is the whole.
const PART: usize = 400;
const GROWTH: usize = 4;
/// Way to go, in standard errors of the part, at which its search ends; of the last part, from which the whole begins.
const NEAR: f64 = 0.3;
const LAST_NEAR: f64 = 0.03;
/// Observations from which the log evidence is taken to be a parabola within a standard error of its maximum.
const LONG: usize = 4000;
/// Nats by which two ends of a search are the same maximum.
const SAME: f64 = 0.1;
/// Longest step on the free scale of a parameter that has a natural unit there.
pub(super) const LONGEST: f64 = 1.0;

/// Parameters learned on the exact evidence.
#[derive(Debug)]
pub(crate) struct ExactLearned {
    pub optimum: Optimum,
    /// The windows that were enough at the end.
    pub memory: Memory,
    /// The series on fewer times, if the search began there, and the windows for them.
    pub thinned: Option<(Thinned, Memory)>,
}

impl ExactLearned {
    /// A model with all parameters given: nothing was learned.
    pub fn given(model: StateSpace, parameters: Vec<Parameter>) -> Self {
        Self { optimum: Optimum::given(model, parameters), memory: Memory::default(), thinned: None }
    }
}

/// The log evidence of a series plus the log prior, as a function of the parameters that are not fixed.
#[derive(Clone)]
pub(super) struct Posterior<'a> {
    model: &'a StateSpace,
    parameters: Vec<Parameter>,
    /// Places of the parameters that move.
    moving: Vec<usize>,
    follower: Arc<Follower<'a>>,
    /// Observations of the series.
    observed: usize,
    most: usize,
    /// Whether this is a part of a longer series.
    part: bool,
    /// What identifies the search, if it can be taken up again.
    mark: Option<Mark>,
    context: &'a Context,
}

/// A search on it.
pub(super) type Search<'a> = Climber<Posterior<'a>>;

/// Learn the parameters that are not fixed, from the values that `parameters` has, in at most `most` steps.
pub(crate) fn learn_exact(
    model: &StateSpace,
    parameters: &[Parameter],
    (grid, values): (&TimeGrid, &[f64]),
    most: usize,
    context: &Context,
) -> Result<ExactLearned> {
    let mark = Mark::new(model, parameters, (grid, values));
    let posterior = Posterior::new(model, parameters, (grid, values), most, context)?;
    let posterior = Posterior { mark: Some(mark), ..posterior };
    if let Some(kept) = mark.find(context, parameters.len()) {
        let (search, top, information) = resume(&posterior, &kept)?;
        return finish(&search, (&search, &top.clone()), top, information);
    }
    let thinned = Thinned::new(model, (grid, values)).unwrap_or(None);
    if let Some(thinned) = thinned
        && let Ok(learned) = learn_thinned(&posterior, thinned, (grid, values))
    {
        return Ok(learned);
    }
    let (search, top, information) = ascend(posterior, (grid, values))?;
    let point = top.clone();
    finish(&search, (&search, &point), top, information)
}

/// Search on fewer times first, and go on from there with all of them. The information is that on fewer times, which differs by
/// per cents.
fn learn_thinned(posterior: &Posterior, thinned: Thinned, data: (&TimeGrid, &[f64])) -> Result<ExactLearned> {
    let (mut learned, memory) = {
        let (mut rough, top, information) = ascend(posterior.of_part(thinned.data())?, thinned.data())?;
        if rough.stopped {
            posterior.keep(&top.free);
        }
        let mut search = Climber::new(posterior.clone(), posterior.most);
        (search.iterations, search.stopped) = (rough.iterations, rough.stopped);
        let model = rebuild(posterior.model, &posterior.values(&top.free))?;
        search.memory = rough.memory.of_all(&thinned, &model, data)?;
        let (top, information) = search.climb(top.free, Some(information))?;
        let mut memory = std::mem::take(&mut rough.memory);
        let beside = rough.surface.at(top.free.clone(), &mut memory)?;
        rough.memory = memory;
        (finish(&search, (&rough, &beside), top, information)?, rough.memory)
    };
    learned.thinned = Some((thinned, memory));
    Ok(learned)
}

/// Climb from the values that the parameters have.
pub(super) fn ascend<'a>(
    posterior: Posterior<'a>,
    data: (&TimeGrid, &[f64]),
) -> Result<(Search<'a>, Point, DMatrix<f64>)> {
    let symmetric = unskewed(&posterior.parameters);
    let skews = symmetric.iter().zip(&posterior.parameters).any(|(held, p)| held.fixed != p.fixed);
    if skews && symmetric.iter().any(|p| !p.fixed) {
        // The symmetric noise leads to the right tails; where it has none, the skew is learned from the start. A skew that moves
        // the mean as well, as the drift does, is learned from both: symmetric noise may take jumps of one sign for many small ones.
        if let Ok((search, top, _)) = rise(posterior.with(symmetric), data) {
            let found = resume(&posterior, &search.surface.values(&top.free))?;
            let moves_mean = |p: &Parameter| !p.fixed && has_effect(plain(p), Effect::SkewAndMean);
            if found.0.stopped || !posterior.parameters.iter().any(moves_mean) {
                return Ok(found);
            }
            return match rise(posterior, data) {
                Ok(other) if other.1.value > found.1.value + SAME => Ok(other),
                _ => Ok(found),
            };
        }
    }
    rise(posterior, data)
}

/// Climb from these values of all parameters.
fn resume<'a>(posterior: &Posterior<'a>, values: &[f64]) -> Result<(Search<'a>, Point, DMatrix<f64>)> {
    let mut search = Climber::new(posterior.clone(), posterior.most);
    let (top, information) = search.climb(posterior.free(values), None)?;
    Ok((search, top, information))
}

/// The parameters with those that skew the noise held at 0.
fn unskewed(parameters: &[Parameter]) -> Vec<Parameter> {
    let held = |p: &Parameter| match skews(plain(p)) && !p.fixed {
        true => Parameter { value: 0.0, fixed: true, ..p.clone() },
        false => p.clone(),
    };
    parameters.iter().map(held).collect()
}

/// Name of a parameter without its column.
fn plain(parameter: &Parameter) -> &str {
    parameter.name.split('[').next().unwrap_or_default()
}

/// Climb from the values that the parameters have, by way of ever longer parts of the series.
fn rise<'a>(
    posterior: Posterior<'a>,
    (grid, values): (&TimeGrid, &[f64]),
) -> Result<(Search<'a>, Point, DMatrix<f64>)> {
    let mut begin = (posterior.first(), None);
    for count in parts(observed(values)) {
        let (part, rows) = head(grid, values, count);
        let next = (count * GROWTH).min(observed(values));
        let last = 2 * next > observed(values);
        // Only a start: if a part cannot be learned from, the next begins where it would have without it.
        let found = posterior.of_part((&part, &values[..rows])).and_then(|posterior| {
            let most = posterior.most;
            Climber { close: if last { LAST_NEAR } else { NEAR }, ..Climber::new(posterior, most) }
                .climb(begin.0.clone(), begin.1.clone())
        });
        if let Ok((point, known)) = found {
            let more = if last { observed(values) } else { next } as f64 / count as f64;
            begin = (point.free, Some(posterior.with_prior(posterior.without_prior(known) * more)));
        }
    }
    if begin.1.is_some() && posterior.is_stopped() {
        posterior.keep(&begin.0);
    }
    let most = posterior.most;
    let mut search = Climber::new(posterior, most);
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

impl<'a> Posterior<'a> {
    pub(super) fn new(
        model: &'a StateSpace,
        parameters: &[Parameter],
        (grid, values): (&'a TimeGrid, &'a [f64]),
        most: usize,
        context: &'a Context,
    ) -> Result<Self> {
        let follower = Arc::new(Follower::new(model, grid, values)?.stopped_by(context.stop()));
        let (parameters, moving) = (parameters.to_vec(), Vec::new());
        let observed = observed(values);
        let blank =
            Self { model, parameters: Vec::new(), moving, follower, observed, most, part: false, mark: None, context };
        Ok(blank.with(parameters))
    }

    /// The same of other parameters.
    pub(super) fn with(&self, parameters: Vec<Parameter>) -> Self {
        let moving = (0..parameters.len()).filter(|&i| !parameters[i].fixed).collect();
        Self { parameters, moving, ..self.clone() }
    }

    /// The same of the first part of the series.
    fn of_part<'b>(&'b self, (grid, values): (&'b TimeGrid, &'b [f64])) -> Result<Posterior<'b>> {
        let part = Posterior::new(self.model, &self.parameters, (grid, values), self.most, self.context)?;
        Ok(Posterior { part: true, ..part })
    }

    /// The model that it began with.
    pub(super) fn model(&self) -> &StateSpace {
        self.model
    }

    /// The parameters, those that do not move included.
    pub(super) fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Places of the parameters that move.
    pub(super) fn moving(&self) -> &[usize] {
        &self.moving
    }

    /// Most steps of a search.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Where the search begins.
    pub(super) fn first(&self) -> DVector<f64> {
        self.free(&self.parameters.iter().map(|p| p.value).collect::<Vec<_>>())
    }

    /// Values of all parameters to the free scales of those that move.
    fn free(&self, values: &[f64]) -> DVector<f64> {
        let free = |&i: &usize| self.parameters[i].transform.forward(values[i]);
        DVector::from_iterator(self.moving.len(), self.moving.iter().map(free))
    }

    /// Values of all parameters from the free scales of those that move.
    pub(super) fn values(&self, free: &DVector<f64>) -> Vec<f64> {
        let mut values: Vec<f64> = self.parameters.iter().map(|p| p.value).collect();
        for (&i, &u) in self.moving.iter().zip(free.iter()) {
            values[i] = self.parameters[i].transform.backward(u);
        }
        values
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
}

impl Surface for Posterior<'_> {
    /// Windows that were enough before.
    type Memory = Memory;

    fn at(&self, free: DVector<f64>, memory: &mut Memory) -> Result<Point> {
        let values = self.values(&free);
        let gradient = self.follower.gradient(&rebuild(self.model, &values)?, memory)?;
        let on_free = |(i, p): (usize, &Parameter)| gradient.slope[i] * p.transform.slope(values[i]);
        let by_all: Vec<f64> = self.parameters.iter().enumerate().map(on_free).collect();
        let (mut value, mut slope) = (gradient.log_evidence, DVector::zeros(free.len()));
        for (k, &i) in self.moving.iter().enumerate() {
            slope[k] = by_all[i];
            if let Some(prior) = self.parameters[i].prior {
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
        Ok(Point { free, log_evidence: gradient.log_evidence, value, slope, by_all })
    }

    fn small(&self, k: usize) -> f64 {
        let p = &self.parameters[self.moving[k]];
        match (p.transform, p.prior) {
            (Transform::Identity, Some(prior)) => 1e-3 * prior.std,
            (Transform::Identity, None) => 1e-2 * p.value.abs().max(1e-2),
            _ => 0.03,
        }
    }

    fn longest(&self, k: usize) -> f64 {
        let p = &self.parameters[self.moving[k]];
        match (p.transform, p.prior) {
            (Transform::Identity, Some(prior)) => prior.std,
            (Transform::Identity, None) => f64::INFINITY,
            _ => LONGEST,
        }
    }

    fn is_parabolic(&self) -> bool {
        self.observed >= LONG
    }

    fn is_large(&self) -> bool {
        self.observed >= LONG
    }

    fn tell(&self, point: &Point, iteration: usize) -> bool {
        self.context.tell(&Progress {
            subject: self.context.subject(),
            iteration,
            most: self.most,
            part: self.part,
            elbo: point.log_evidence,
            elbo_std_error: 0.0,
            parts: None,
            parameters: &self.parameters,
            values: &self.values(&point.free),
        })
    }

    fn is_stopped(&self) -> bool {
        self.context.stopped()
    }

    fn keep(&self, free: &DVector<f64>) {
        if let Some(mark) = self.mark {
            mark.keep(self.context, &self.values(free));
        }
    }
}

/// What to say of a search that ended early.
pub(super) fn unfinished<S: Surface>(search: &Climber<S>) -> Option<String> {
    let steps = search.iterations;
    if search.stopped {
        Some(format!("stopped on request after {steps} iterations: the parameters may not have converged"))
    } else if steps == search.most {
        Some(format!("stopped after {steps} iterations, possibly before convergence; allow more iterations"))
    } else {
        None
    }
}

/// The information at the maximum, taken around the point of another search there, and what follows from it.
fn finish(
    search: &Search,
    (around, point): (&Search, &Point),
    mut top: Point,
    information: DMatrix<f64>,
) -> Result<ExactLearned> {
    let n = top.free.len();
    let mut warnings: Vec<String> = unfinished(search).into_iter().collect();
    let (information, bend) = information_at(around, point, information, &mut warnings)?;
    let covariance = definite(&information).try_inverse().unwrap_or_else(|| DMatrix::zeros(n, n));
    let shift = 0.5 * &covariance * bend;
    // The last Newton step, with the information as it is now known.
    let last = &covariance * &top.slope;
    if last.dot(&top.slope) < 0.25 {
        top.free += last;
    }
    let posterior = &search.surface;
    let values = posterior.values(&top.free);
    let (mut std_errors, mut data_shares) = (vec![f64::NAN; values.len()], vec![f64::NAN; values.len()]);
    let prior = posterior.prior();
    for (k, &i) in posterior.moving.iter().enumerate() {
        std_errors[i] = covariance[(k, k)].sqrt() * posterior.parameters[i].transform.slope(values[i]);
        data_shares[i] = 1.0 - prior[(k, k)] * covariance[(k, k)];
    }
    let learned = |(p, value): (&Parameter, f64)| Parameter { value, ..p.clone() };
    let optimum = Optimum {
        model: rebuild(posterior.model, &values)?,
        parameters: posterior.parameters.iter().zip(values).map(learned).collect(),
        std_errors,
        data_shares,
        covariance: covariance.iter().copied().collect(),
        shift: shift.iter().copied().collect(),
        iterations: search.iterations,
        warnings,
    };
    Ok(ExactLearned { optimum, memory: search.memory.clone(), thinned: None })
}

/// The information, and Σ_ij T_kij C_ij with the third derivatives T and the covariance C; those of the search if they
/// cannot be computed, with a warning.
pub(super) fn information_at<S: Surface>(
    search: &Climber<S>,
    top: &Point,
    rough: DMatrix<f64>,
    warnings: &mut Vec<String>,
) -> Result<(DMatrix<f64>, DVector<f64>)> {
    let straight = DVector::zeros(top.free.len());
    // Who asked to stop does not want to wait for better standard errors.
    if search.stopped {
        return Ok((rough, straight));
    }
    let sides = match search.sides(top, &rough) {
        Ok(Some(sides)) => sides,
        Ok(None) => return Ok((rough, straight)),
        Err(error) => {
            warnings
                .push(format!("the standard errors are approximate, from the last steps of the optimiser: {error}"));
            return Ok((rough, straight));
        }
    };
    let found = sides.information();
    if found.clone().cholesky().is_none() {
        warnings.push(
            "the log evidence has no clear maximum: the data do not determine all parameters, and the standard \
             errors are unreliable; fix some parameters"
                .into(),
        );
    }
    let bend = sides.bend(|point| point.slope.clone());
    Ok((found, bend))
}
