//! Train a neural potential on the bound, one iteration at a time.

use super::gradient::{BoundGradient, bound_gradient};
use super::optimiser::{Optimiser, Rule, rescale};
use crate::posterior::{Potentials, WeightSummary};
use crate::potential::Quadratic;
use crate::potential::neural::{Frame, FrameKind, Group, NeuralPotential, NeuralPotentialSpec};
use crate::solve::robust::{from_natural, interpolate, robust_start};
use crate::solve::sweep::{SweepOptions, sweep};
use crate::{Chain, Result};
use serde::{Deserialize, Serialize};

/// How to train.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainOptions {
    /// Most iterations.
    pub iterations: usize,
    /// Paths per iteration.
    pub paths: usize,
    /// Seed of networks and paths.
    pub seed: u64,
    /// How a gradient becomes a step.
    pub rule: Rule,
    /// Rate of the two networks; over the last half of the iterations it falls to a hundredth.
    pub rate: f64,
    /// Rate of reference times, sharpness and embeddings, relative to `rate`.
    pub encoder_rate: f64,
    /// Quantile of the layerwise rescaling; none, no rescaling.
    pub rescale: Option<f64>,
    /// Centre and unit of the networks' message.
    pub frame: FrameKind,
    /// Weight of half the sum of squares of all parameters but the reference times.
    pub ridge: f64,
}

impl Default for TrainOptions {
    fn default() -> Self {
        Self {
            iterations: 3000,
            paths: 500,
            seed: 1,
            rule: Rule::Adam,
            rate: 1e-3,
            encoder_rate: 1.0,
            rescale: None,
            frame: FrameKind::Robust,
            ridge: 1e-5,
        }
    }
}

/// Training in progress.
#[derive(Debug)]
pub struct Trainer<'a> {
    chain: &'a Chain<'a>,
    options: TrainOptions,
    potential: NeuralPotential,
    optimiser: Optimiser<f32>,
    frame: Frame,
    iteration: usize,
}

/// The frame of a chain.
fn frame(chain: &Chain, kind: FrameKind, least: f64) -> Result<Frame> {
    let times = chain.times().to_vec();
    let of_all = |value: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
        (0..chain.dim()).map(|i| (0..chain.len()).map(|j| value(i, j)).collect()).collect()
    };
    let std = |i: usize| chain.model().dimensions[i].observation_std;
    let data: Vec<Vec<f64>> = (0..chain.dim()).map(|i| interpolate(chain, i)).collect();
    let potentials = match kind {
        FrameKind::None => return Frame::new(times, of_all(&|_, _| 0.0), of_all(&|_, _| 1.0)),
        FrameKind::Data => return Frame::new(times, data, of_all(&|i, _| std(i))),
        FrameKind::Robust => robust_start(chain)?,
        FrameKind::Sweep => sweep(chain, robust_start(chain)?, &SweepOptions::default())?.potentials,
    };
    // The message without the observation, which the trainer multiplies in itself.
    let message = |i: usize, j: usize| {
        let (a, c) = potentials[i][j].quadratic().map_or((0.0, 0.0), |q| (q.a(), q.c()));
        let (firmness, y) = chain.observation(i, j).unwrap_or((0.0, 0.0));
        let kept = a - firmness;
        // Where the future says next to nothing, neither does its centre.
        (kept > 1e-6 * a).then(|| ((a * c - firmness * y) / kept, Frame::unit_of(kept, least)))
    };
    let centres = of_all(&|i, j| message(i, j).map_or(data[i][j], |(centre, _)| centre));
    let units = of_all(&|i, j| message(i, j).map_or(FAINT * std(i), |(_, unit)| unit));
    Frame::new(times, centres, units)
}

/// Unit of a message that says next to nothing, in errors of observation.
const FAINT: f64 = 100.0;

impl<'a> Trainer<'a> {
    /// Start with random networks of these sizes; dimension and span are those of the chain.
    pub fn new(chain: &'a Chain<'a>, spec: NeuralPotentialSpec, options: TrainOptions) -> Result<Self> {
        let times = chain.times();
        let spec = NeuralPotentialSpec { dim: chain.dim(), span: (times[0], times[times.len() - 1]), ..spec };
        let potential = NeuralPotential::new(spec, options.seed)?;
        let optimiser = Optimiser::new(options.rule, potential.parameters().len());
        let frame = frame(chain, options.frame, potential.spec().least)?;
        Ok(Self { chain, options, potential, optimiser, frame, iteration: 0 })
    }

    /// Iterations done.
    pub fn iteration(&self) -> usize {
        self.iteration
    }

    /// The networks.
    pub fn potential(&self) -> &NeuralPotential {
        &self.potential
    }

    /// The potentials at the times of the chain.
    pub fn potentials(&self) -> Result<Potentials> {
        let coefficients = self.potential.evaluate(self.chain.times()).coefficients;
        let all = self.quadratics(&coefficients)?;
        Ok(all.into_iter().map(|column| column.into_iter().map(Into::into).collect()).collect())
    }

    /// One iteration; the bound before it.
    pub fn step(&mut self) -> Result<WeightSummary> {
        let evaluation = self.potential.evaluate(self.chain.times());
        let potentials = self.quadratics(&evaluation.coefficients)?;
        let seed = self.options.seed.wrapping_add((self.iteration as u64 + 1) << 32);
        let found = bound_gradient(self.chain, &potentials, self.options.paths, seed)?;
        let slopes = self.slopes(&potentials, &found);
        let mut gradient = self.potential.gradient(&evaluation, &slopes);
        self.regularise(&mut gradient);
        if let Some(quantile) = self.options.rescale {
            rescale(&mut gradient, &self.potential.layers(), quantile);
        }
        let rates: Vec<_> =
            self.potential.groups().into_iter().map(|(group, range)| (range, self.rate(group))).collect();
        self.optimiser.step(self.potential.parameters_mut(), &gradient, &rates);
        self.iteration += 1;
        Ok(found.summary)
    }

    /// The message from the networks times the observation, per dimension and time.
    fn quadratics(&self, coefficients: &[Vec<[f64; 2]>]) -> Result<Vec<Vec<Quadratic>>> {
        let one = |i: usize, j: usize| {
            let [a, b] = coefficients[j][i];
            let (centre, unit) = self.frame.at(i, self.chain.times()[j]);
            let (a, b) = (a / (unit * unit), b / unit);
            // −a(x − m)² + b(x − m) has the natural parameters a and a·m + b/2.
            let pull = a * centre + 0.5 * b;
            let (firmness, y) = self.chain.observation(i, j).unwrap_or((0.0, 0.0));
            from_natural(a + firmness, pull + firmness * y)
        };
        (0..self.chain.dim()).map(|i| (0..self.chain.len()).map(|j| one(i, j)).collect()).collect()
    }

    /// Slopes in the networks' coefficients from those in (a, c): c = (a_net·m + b/2 + …)/a.
    fn slopes(&self, potentials: &[Vec<Quadratic>], found: &BoundGradient) -> Vec<Vec<[f64; 2]>> {
        let one = |i: usize, j: usize| {
            let (q, [by_a, by_c]) = (potentials[i][j], found.potentials[i][j]);
            let (centre, unit) = self.frame.at(i, self.chain.times()[j]);
            let by_firmness = by_a + by_c * (centre - q.c()) / q.a();
            [by_firmness / (unit * unit), 0.5 * by_c / q.a() / unit]
        };
        (0..self.chain.len()).map(|j| (0..self.chain.dim()).map(|i| one(i, j)).collect()).collect()
    }

    fn regularise(&self, gradient: &mut [f32]) {
        let ridge = self.options.ridge as f32;
        let free = self.potential.groups()[0].1.end;
        for (g, p) in gradient.iter_mut().zip(self.potential.parameters()).skip(free) {
            *g -= ridge * p;
        }
    }

    fn rate(&self, group: Group) -> f64 {
        let done = self.iteration as f64 / self.options.iterations as f64;
        let fall = if done < 0.5 { 1.0 } else { 0.01f64.powf(2.0 * done - 1.0) };
        let share = match group {
            Group::References | Group::Sharpness | Group::Embeddings => self.options.encoder_rate,
            Group::Firmness | Group::Pull => 1.0,
        };
        self.options.rate * share * fall
    }
}
