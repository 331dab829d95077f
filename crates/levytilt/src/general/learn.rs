//! Learn parameters and loadings: climb the log evidence along its mean gradient over smoothed paths.
//!
//! Value and gradient come from the same filters with the same random numbers at every point, so that points can be
//! compared. Steps are those of a quasi-Newton method; at the end the curvature is measured by differences of gradients a
//! standard error to either side, which also gives the standard errors. With many parameters differences would take too long:
//! there the curvature is that of the gradients of blocks of time, in every step and at the end.

use super::chain::GeneralChain;
use super::curvature::{definite, invert, update};
use super::filter::FilterOptions;
use super::gradient::{Gradient, mean_gradients};
use super::guide::{Guide, Reach};
use super::kalman::evidence_and_gradient;
use super::smooth::draw_nodes;
use super::spec::{GeneralSpec, Parameter, Role};
use crate::context::{self, Context, Progress};
use crate::series::TimeGrid;
use crate::{Error, Result};
use nalgebra::{DMatrix, DVector};

/// A search for the parameters of a model.
pub(super) struct Search<'a> {
    pub spec: &'a GeneralSpec,
    pub grid: &'a TimeGrid,
    pub columns: &'a [&'a [f64]],
    pub parameters: Vec<Parameter>,
    pub starts: Vec<(f64, f64)>,
    pub seed: u64,
    /// How far particles look ahead, the same at all points; nothing where every noise is Gaussian, and no particles are asked.
    pub reach: Option<Reach>,
    pub context: &'a Context,
}

/// A point of the search on the free scales of the learned parameters.
#[derive(Debug, Clone)]
struct Point {
    free: DVector<f64>,
    /// Log evidence plus log prior.
    value: f64,
    error: f64,
    gradient: DVector<f64>,
    /// What each block of time adds to the slope of the log evidence.
    block_gradients: Vec<DVector<f64>>,
}

/// What was found.
#[derive(Debug)]
pub(super) struct Learned {
    pub parameters: Vec<Parameter>,
    /// Covariance of the learned ones on their free scales. Rows and columns of those that are not identified are 0; so
    /// are all if the search was stopped.
    pub covariance: DMatrix<f64>,
    /// Per learned parameter, whether the log evidence is curved like a maximum in it.
    pub identified: Vec<bool>,
    /// Per learned parameter, the share of its information that is the prior's.
    pub prior_share: Vec<f64>,
    pub iterations: usize,
    pub converged: bool,
    /// Whether the watcher asked for an end.
    pub stopped: bool,
}

impl Learned {
    /// Whether there is nothing to choose again: no parameter was learned, or so many that their search is coarse.
    pub fn is_settled(&self) -> bool {
        self.identified.is_empty() || self.identified.len() > MANY
    }
}

/// Filters, particles and paths of a point while far from the maximum, and near it.
const COARSE: (usize, usize, usize) = (4, 50, 64);
const FINE: (usize, usize, usize) = (8, 100, 240);
/// The same for so many parameters that the curvature is taken from blocks of time: a step needs the gradient alone, and that
/// only to a share of the standard errors.
const COARSE_BY_BLOCKS: (usize, usize, usize) = (4, 32, 32);
const FINE_BY_BLOCKS: (usize, usize, usize) = (4, 80, 160);
pub(super) const ITERATIONS: usize = 30;
/// Parameters from which on the curvature is that of the gradients of blocks of time: differences would take a point for each.
const MANY: usize = 20;
/// Nats that a step promises at least where its gain says something, and most that a step is stretched.
const CLEAR: f64 = 20.0;
const LONGEST_STRETCH: f64 = 4.0;
/// By how much damping grows until a step is bounded.
const DAMPING: f64 = 3.0;
/// Blocks per parameter, and latent steps of a block at least.
const BLOCKS: usize = 4;
const BLOCK_STEPS: usize = 5;
/// Longest step on a free scale of logarithms, and most nats that a step may promise.
const LONGEST: f64 = 1.0;
/// Nats to gain below which the search ends.
const ENOUGH: f64 = 0.1;
/// The same per parameter: a tenth of its standard error off, it loses 0.005 nats, and the paths drawn know no better.
const ENOUGH_EACH: f64 = 0.01;
/// The same where the log evidence is exact; the last step takes what is left.
const ENOUGH_EXACT: f64 = 1e-4;
/// Distance of the differences at the end there, in standard errors; particles need all of one.
const CLOSE: f64 = 0.05;

impl Search<'_> {
    /// Learn what is not fixed.
    ///
    /// # Errors
    /// A start at which the evidence cannot be computed.
    pub fn run(mut self) -> Result<Learned> {
        let learned = self.learned();
        let count = learned.len();
        if count == 0 {
            let parameters = std::mem::take(&mut self.parameters);
            return Ok(Learned {
                parameters,
                covariance: DMatrix::zeros(0, 0),
                identified: vec![],
                prior_share: vec![],
                iterations: 0,
                converged: true,
                stopped: false,
            });
        }
        let start = DVector::from_iterator(count, learned.iter().map(|&p| self.free(p)));
        let coarse = if self.blocks() > 1 { COARSE_BY_BLOCKS } else { COARSE };
        let mut now = self.point(&start, coarse)?;
        let mut stopped = !self.tell(0, &now);
        let mut curvature = self.first_curvature(&now);
        let (mut iterations, mut converged, mut stretch) = (0, false, 1.0);
        while iterations < ITERATIONS && !converged && !stopped {
            iterations += 1;
            let mut step = match self.blocks() > 1 {
                true => self.damped(&(&curvature / stretch), &now.gradient),
                false => self.bounded(definite(&curvature).solve(&now.gradient)),
            };
            let next = (0..7).find_map(|_| {
                let there = self.point(&(&now.free + &step), coarse).ok();
                let there = there.filter(|there| there.value > now.value - self.slack(there, &now));
                step *= 0.4;
                there
            });
            let Some(next) = next else { break };
            match self.by_blocks(&next) {
                Some(measured) => {
                    stretch = next_stretch(&now, &next);
                    curvature = measured;
                }
                None => update(&mut curvature, &(&next.free - &now.free), &(&now.gradient - &next.gradient)),
            }
            now = next;
            let gain = 0.5 * now.gradient.dot(&definite(&curvature).solve(&now.gradient));
            converged = gain < self.enough();
            stopped = !self.tell(iterations, &now);
        }
        if stopped {
            self.set(&now.free);
            let (covariance, identified) = (DMatrix::zeros(count, count), vec![false; count]);
            let (parameters, prior_share) = (self.parameters, vec![0.0; count]);
            return Ok(Learned { parameters, covariance, identified, prior_share, iterations, converged, stopped });
        }
        let (last, curvature) = self.finish(now, &curvature, iterations)?;
        let learned: Vec<usize> = self.learned();
        let information = |l: usize| self.parameters[learned[l]].prior.std.powi(-2) / curvature[(l, l)].abs();
        let prior_share = (0..count).map(information).collect();
        self.set(&last);
        let (covariance, identified) = invert(&curvature);
        Ok(Learned { parameters: self.parameters, covariance, identified, prior_share, iterations, converged, stopped })
    }

    /// Tell the watcher where the search stands; whether to go on.
    fn tell(&self, iteration: usize, now: &Point) -> bool {
        let parameters: Vec<context::Parameter> = self.parameters.iter().map(Parameter::shown).collect();
        let values: Vec<f64> = self.at(&now.free).iter().map(|p| p.value).collect();
        self.context.tell(&Progress {
            subject: self.context.subject(),
            iteration,
            // The curvature of few parameters is measured at the end, one by one.
            most: ITERATIONS + if self.blocks() > 1 { 0 } else { now.free.len() },
            part: false,
            elbo: now.value,
            elbo_std_error: now.error,
            parts: None,
            parameters: &parameters,
            values: &values,
        })
    }

    /// Numbers of the parameters that are learned.
    pub(super) fn learned(&self) -> Vec<usize> {
        (0..self.parameters.len()).filter(|&p| !self.parameters[p].fixed).collect()
    }

    pub(super) fn free(&self, p: usize) -> f64 {
        self.parameters[p].transform.forward(self.parameters[p].value)
    }

    pub(super) fn set(&mut self, free: &DVector<f64>) {
        self.parameters = self.at(free);
    }

    pub(super) fn at(&self, free: &DVector<f64>) -> Vec<Parameter> {
        let mut parameters = self.parameters.clone();
        for (p, free) in self.learned().into_iter().zip(free) {
            parameters[p].value = parameters[p].transform.backward(*free);
        }
        parameters
    }

    /// Value and gradient at a point.
    fn point(&self, free: &DVector<f64>, (filters, particles, paths): (usize, usize, usize)) -> Result<Point> {
        let parameters = self.at(free);
        let model = self.spec.model(&parameters, &self.starts)?;
        let chain = GeneralChain::new(&model, self.grid, self.columns)?;
        let (evidence, gradients) = match self.reach {
            None => evidence_and_gradient(&chain),
            Some(reach) => {
                let guide = Guide::reaching(&chain, reach)?;
                let options = FilterOptions { filters, particles, seed: self.seed };
                let (evidence, nodes) = draw_nodes(&chain, &guide, paths, &options);
                (evidence, mean_gradients(&chain, &nodes, self.blocks()))
            }
        };
        let block_gradients: Vec<DVector<f64>> =
            gradients.iter().map(|part| self.slopes(&parameters, &chain, part)).collect();
        let mut value = evidence.log_evidence;
        let mut slopes: DVector<f64> = block_gradients.iter().sum();
        for ((l, free), p) in free.iter().enumerate().zip(self.learned()) {
            let prior = parameters[p].prior;
            let away = (free - prior.mean) / prior.std;
            value -= 0.5 * away * away;
            slopes[l] -= away / prior.std;
        }
        if !(value.is_finite() && slopes.iter().all(|slope| slope.is_finite())) {
            return Err(lost());
        }
        Ok(Point { free: free.clone(), value, error: evidence.std_error, gradient: slopes, block_gradients })
    }

    /// A gradient on the free scales of the learned parameters.
    fn slopes(&self, parameters: &[Parameter], chain: &GeneralChain, gradient: &Gradient) -> DVector<f64> {
        let along = |role: &Role| match *role {
            Role::Drift(l) => gradient.drift[l],
            Role::Std(i) => gradient.stds[i],
            Role::Loading(r, i) => gradient.directions[r][i],
            Role::Noise(r, p) => {
                let name = self.spec.sources[r].family.parameters[p].name;
                let place = chain.nodes(r, 1).derivatives().iter().position(|by| by.name == name);
                place.map_or(0.0, |place| gradient.noise[r][place])
            }
        };
        let slope = |p: usize| {
            let parameter = &parameters[p];
            parameter.roles.iter().map(along).sum::<f64>() * parameter.transform.slope(parameter.value)
        };
        let learned = self.learned();
        DVector::from_iterator(learned.len(), learned.into_iter().map(slope))
    }

    /// Nats to gain below which the search ends. The gradient of n paths promises about 1/(2n) more per parameter than there is.
    fn enough(&self) -> f64 {
        let count = self.learned().len() as f64;
        match self.reach {
            None => ENOUGH_EXACT,
            Some(_) if self.blocks() > 1 => (ENOUGH_EACH + 1.0 / COARSE_BY_BLOCKS.2 as f64) * count,
            Some(_) => ENOUGH.max(ENOUGH_EACH * count),
        }
    }

    /// Nats that a step may seem to lose: twice the Monte Carlo error, which is large where there are few particles in many
    /// dimensions.
    fn slack(&self, there: &Point, now: &Point) -> f64 {
        let most = if self.blocks() > 1 { 0.05 * self.learned().len() as f64 } else { 1.0 };
        2.0 * there.error.hypot(now.error).min(most)
    }

    /// Blocks of time whose gradients are kept apart: 1 unless there are many parameters and steps enough.
    fn blocks(&self) -> usize {
        let count = self.learned().len();
        let blocks = (BLOCKS * count).min(self.grid.len() / BLOCK_STEPS);
        if self.reach.is_some() && count > MANY && 2 * blocks > 5 * count { blocks } else { 1 }
    }

    /// The curvature that the gradients of n blocks of time show: by the information equality Σ_b s_b s_bᵀ about their mean, of p
    /// parameters; times n/(n − p − 1), so that its inverse is right on average, and with that of the prior. Nothing if they
    /// are not kept apart.
    fn by_blocks(&self, at: &Point) -> Option<DMatrix<f64>> {
        let (blocks, count) = (at.block_gradients.len(), at.free.len());
        if blocks == 1 {
            return None;
        }
        let mean = at.block_gradients.iter().sum::<DVector<f64>>() / blocks as f64;
        let mut curvature = DMatrix::zeros(count, count);
        for gradient in &at.block_gradients {
            let away = gradient - &mean;
            curvature.ger(1.0, &away, &away, 1.0);
        }
        curvature *= blocks as f64 / (blocks - count - 1) as f64;
        for (l, p) in self.learned().into_iter().enumerate() {
            curvature[(l, l)] += self.parameters[p].prior.std.powi(-2);
        }
        Some(curvature)
    }

    /// The curvature −∇² at the start, by differences of gradients a short way off.
    fn first_curvature(&self, now: &Point) -> DMatrix<f64> {
        if let Some(curvature) = self.by_blocks(now) {
            return curvature;
        }
        let count = now.free.len();
        let mut curvature = DMatrix::zeros(count, count);
        for (l, p) in self.learned().into_iter().enumerate() {
            let length = 0.1 * self.unit(p);
            let mut free = now.free.clone();
            free[l] += length;
            match self.point(&free, COARSE) {
                Ok(there) => curvature.set_column(l, &((&now.gradient - there.gradient) / length)),
                Err(_) => curvature[(l, l)] = length.powi(-2),
            }
        }
        // A quasi-Newton method needs a start that is curved like a maximum.
        definite(&(0.5 * (&curvature + curvature.transpose()))).matrix()
    }

    /// A natural length of a parameter on its free scale.
    fn unit(&self, p: usize) -> f64 {
        let parameter = &self.parameters[p];
        match parameter.transform {
            crate::parameter::Transform::Identity => 0.1 * parameter.prior.std,
            _ => LONGEST,
        }
    }

    /// A step no longer than each parameter's unit.
    fn bounded(&self, step: DVector<f64>) -> DVector<f64> {
        let most = self.longest(&step).max(1.0);
        step / most
    }

    /// The longest part of a step, in units of the parameters.
    fn longest(&self, step: &DVector<f64>) -> f64 {
        step.iter().zip(self.learned()).map(|(step, p)| step.abs() / self.unit(p)).fold(0.0, f64::max)
    }

    /// The step of this curvature, with so much of one unit's added in all parameters that it is bounded (Levenberg and
    /// Marquardt): of many parameters some are far off at first, and should not hold back the others.
    fn damped(&self, curvature: &DMatrix<f64>, gradient: &DVector<f64>) -> DVector<f64> {
        let units = DVector::from_iterator(gradient.len(), self.learned().into_iter().map(|p| self.unit(p).powi(-2)));
        let mut damping = 0.0;
        loop {
            let step = definite(&(curvature + DMatrix::from_diagonal(&(&units * damping)))).solve(gradient);
            // Beyond all damping the step is short whatever the curvature.
            if self.longest(&step) <= 1.0 || damping > gradient.amax() * DAMPING.powi(6) {
                return self.bounded(step);
            }
            damping = (DAMPING * damping).max(1.0);
        }
    }

    /// Measure the curvature around the best point, and step to the maximum it shows.
    fn finish(&self, now: Point, curvature: &DMatrix<f64>, iterations: usize) -> Result<(DVector<f64>, DMatrix<f64>)> {
        if self.blocks() > 1 {
            return self.finish_by_blocks(&now);
        }
        let count = now.free.len();
        let spread = definite(curvature);
        let mut measured = DMatrix::zeros(count, count);
        let mut gradient = DVector::zeros(count);
        for (l, p) in self.learned().into_iter().enumerate() {
            let share = if self.reach.is_some() { 1.0 } else { CLOSE };
            let bounded = |length: f64| share * length.clamp(0.02 * self.unit(p), 0.5 * self.unit(p));
            let mut length = bounded(spread.std(l));
            let mut ends = self.both_sides(&now, l, length)?;
            let fall = (ends[0].gradient[l] - ends[1].gradient[l]) / (2.0 * length);
            let seen = bounded(fall.max(self.parameters[p].prior.std.powi(-2)).sqrt().recip());
            if !(0.5..2.0).contains(&(seen / length)) {
                length = seen;
                ends = self.both_sides(&now, l, length)?;
            }
            let [down, up] = ends;
            measured.set_column(l, &((&down.gradient - &up.gradient) / (2.0 * length)));
            gradient += (&down.gradient + &up.gradient) / (2.0 * count as f64);
            self.tell(iterations + l + 1, &now);
        }
        let measured = 0.5 * (&measured + measured.transpose());
        let step = match measured.clone().cholesky() {
            Some(root) => root.solve(&gradient),
            None => DVector::zeros(count),
        };
        // Farther than a few standard errors the curvature measured here says nothing.
        let far = step.iter().enumerate().map(|(l, step)| step.abs() / (3.0 * spread.std(l))).fold(1.0, f64::max);
        Ok((&now.free + step / far, measured))
    }
}

/// By how much the next step may be longer than the curvature of blocks says. Far from the maximum scores are large and their
/// products overstate the curvature c; what the last step s has gained, g·s − ½c, says by how much.
fn next_stretch(before: &Point, after: &Point) -> f64 {
    let promised = before.gradient.dot(&(&after.free - &before.free));
    let bend = 2.0 * (promised - (after.value - before.value));
    match promised > CLEAR {
        true => (promised / bend.max(promised / LONGEST_STRETCH)).clamp(1.0, LONGEST_STRETCH),
        false => 1.0,
    }
}

impl Search<'_> {
    /// The same for many parameters: from the block gradients of one more precise point.
    fn finish_by_blocks(&self, now: &Point) -> Result<(DVector<f64>, DMatrix<f64>)> {
        let there = self.point(&now.free, FINE_BY_BLOCKS)?;
        let curvature = self.by_blocks(&there).ok_or_else(lost)?;
        let spread = definite(&curvature);
        let step = spread.solve(&there.gradient);
        let far = step.iter().enumerate().map(|(l, step)| step.abs() / spread.std(l)).fold(1.0, f64::max);
        Ok((&now.free + step / far, curvature))
    }

    /// The points at distance `length` below and above in parameter `l`.
    fn both_sides(&self, now: &Point, l: usize, length: f64) -> Result<[Point; 2]> {
        let at = |by: f64| {
            let mut free = now.free.clone();
            free[l] += by;
            self.point(&free, FINE)
        };
        Ok([at(-length)?, at(length)?])
    }
}

pub(super) fn lost() -> Error {
    Error::Numerical {
        what: "fit",
        why: "the evidence or its gradient is not finite at these parameters; give guesses nearer to the data, or fix \
              some parameters"
            .into(),
    }
}
