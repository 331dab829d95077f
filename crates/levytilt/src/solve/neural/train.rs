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
    /// Rate of the two networks at first; it falls to a third whenever the bound no longer climbs.
    pub rate: f64,
    /// Times that the rate falls before training ends.
    pub falls: usize,
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
            falls: 3,
            encoder_rate: 1.0,
            rescale: None,
            frame: FrameKind::Robust,
            ridge: 1e-5,
        }
    }
}

/// A trained potential: networks, their frame, and how the bound climbed.
#[derive(Debug, Clone, PartialEq)]
pub struct Trained {
    /// The networks.
    pub potential: NeuralPotential,
    /// Centre and unit of their message.
    pub frame: Frame,
    /// The bound before every iteration.
    pub trace: Vec<f64>,
}

impl Trained {
    /// The potentials at the times of a chain, which need not be those of the training.
    pub fn potentials(&self, chain: &Chain) -> Result<Potentials> {
        let all = self.quadratics(chain, &self.potential.evaluate(chain.times()).coefficients)?;
        Ok(all.into_iter().map(|column| column.into_iter().map(Into::into).collect()).collect())
    }

    /// The message from the networks times the observation, per dimension and time.
    fn quadratics(&self, chain: &Chain, coefficients: &[Vec<[f64; 2]>]) -> Result<Vec<Vec<Quadratic>>> {
        let one = |i: usize, j: usize| {
            let [a, b] = coefficients[j][i];
            let (centre, unit) = self.frame.at(i, chain.times()[j]);
            let (a, b) = (a / (unit * unit), b / unit);
            // −a(x − m)² + b(x − m) has the natural parameters a and a·m + b/2.
            let pull = a * centre + 0.5 * b;
            let (firmness, y) = chain.observation(i, j).unwrap_or((0.0, 0.0));
            from_natural(a + firmness, pull + firmness * y)
        };
        (0..chain.dim()).map(|i| (0..chain.len()).map(|j| one(i, j)).collect()).collect()
    }
}

/// Training in progress.
#[derive(Debug)]
pub struct Trainer<'a> {
    chain: &'a Chain<'a>,
    options: TrainOptions,
    trained: Trained,
    optimiser: Optimiser<f32>,
    plateau: Plateau,
}

/// Train from a cold start until the bound no longer climbs, or `tell`, which hears of every iteration, says no.
pub fn train(
    chain: &Chain,
    spec: NeuralPotentialSpec,
    options: &TrainOptions,
    mut tell: impl FnMut(usize, &WeightSummary) -> bool,
) -> Result<Trained> {
    let mut trainer = Trainer::new(chain, spec, options.clone())?;
    while !trainer.done() {
        let summary = trainer.step()?;
        if !tell(trainer.iteration() - 1, &summary) {
            break;
        }
    }
    Ok(trainer.into_trained())
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
        let trained = Trained { potential, frame, trace: Vec::new() };
        Ok(Self { chain, options, trained, optimiser, plateau: Plateau::default() })
    }

    /// Whether the iterations are used up, or the bound no longer climbs at any rate.
    pub fn done(&self) -> bool {
        self.iteration() >= self.options.iterations || self.plateau.falls > self.options.falls
    }

    /// Iterations done.
    pub fn iteration(&self) -> usize {
        self.trained.trace.len()
    }

    /// The potential as it stands.
    pub fn trained(&self) -> &Trained {
        &self.trained
    }

    /// The potential in the end.
    pub fn into_trained(self) -> Trained {
        self.trained
    }

    /// One iteration; the bound before it.
    pub fn step(&mut self) -> Result<WeightSummary> {
        let evaluation = self.trained.potential.evaluate(self.chain.times());
        let potentials = self.trained.quadratics(self.chain, &evaluation.coefficients)?;
        let seed = self.options.seed.wrapping_add((self.iteration() as u64 + 1) << 32);
        let found = bound_gradient(self.chain, &potentials, self.options.paths, seed)?;
        let slopes = self.slopes(&potentials, &found);
        let mut gradient = self.trained.potential.gradient(&evaluation, &slopes);
        self.regularise(&mut gradient);
        if let Some(quantile) = self.options.rescale {
            rescale(&mut gradient, &self.trained.potential.layers(), quantile);
        }
        let groups = self.trained.potential.groups().into_iter();
        let rates: Vec<_> = groups.map(|(group, range)| (range, self.rate(group))).collect();
        self.optimiser.step(self.trained.potential.parameters_mut(), &gradient, &rates);
        self.trained.trace.push(found.summary.elbo);
        self.plateau.see(&self.trained.trace);
        Ok(found.summary)
    }

    /// Slopes in the networks' coefficients from those in (a, c): c = (a_net·m + b/2 + …)/a.
    fn slopes(&self, potentials: &[Vec<Quadratic>], found: &BoundGradient) -> Vec<Vec<[f64; 2]>> {
        let one = |i: usize, j: usize| {
            let (q, [by_a, by_c]) = (potentials[i][j], found.potentials[i][j]);
            let (centre, unit) = self.trained.frame.at(i, self.chain.times()[j]);
            let by_firmness = by_a + by_c * (centre - q.c()) / q.a();
            [by_firmness / (unit * unit), 0.5 * by_c / q.a() / unit]
        };
        (0..self.chain.len()).map(|j| (0..self.chain.dim()).map(|i| one(i, j)).collect()).collect()
    }

    fn regularise(&self, gradient: &mut [f32]) {
        let ridge = self.options.ridge as f32;
        let free = self.trained.potential.groups()[0].1.end;
        for (g, p) in gradient.iter_mut().zip(self.trained.potential.parameters()).skip(free) {
            *g -= ridge * p;
        }
    }

    fn rate(&self, group: Group) -> f64 {
        let share = match group {
            Group::References | Group::Sharpness | Group::Embeddings => self.options.encoder_rate,
            Group::Firmness | Group::Pull => 1.0,
        };
        self.options.rate * share * FALL.powi(self.plateau.falls as i32)
    }
}

/// What is left of the rate when the bound no longer climbs.
const FALL: f64 = 1.0 / 3.0;
/// Iterations whose bounds are averaged before they are compared.
const WINDOW: usize = 40;

/// Tells when the bound no longer climbs.
#[derive(Debug, Default)]
struct Plateau {
    falls: usize,
    /// Iteration at which the rate fell last.
    since: usize,
}

impl Plateau {
    /// Compare the last window with the one before, both since the rate fell last: a gain within its own noise is none.
    fn see(&mut self, trace: &[f64]) {
        if trace.len() - self.since < 2 * WINDOW || !(trace.len() - self.since).is_multiple_of(WINDOW) {
            return;
        }
        let (before, after) = trace[trace.len() - 2 * WINDOW..].split_at(WINDOW);
        let n = WINDOW as f64;
        let moments = |v: &[f64]| {
            let mean = v.iter().sum::<f64>() / n;
            (mean, v.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n * (n - 1.0)))
        };
        let ((old, old_variance), (new, new_variance)) = (moments(before), moments(after));
        if new - old < 2.0 * (old_variance + new_variance).sqrt() {
            (self.falls, self.since) = (self.falls + 1, trace.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_the_rate_falls_where_the_bound_is_level_and_not_where_it_climbs() {
        let noise = |i: usize| ((i * 7919) % 101) as f64 / 50.0 - 1.0;
        let run = |bound: &dyn Fn(usize) -> f64| {
            let (mut plateau, mut trace) = (Plateau::default(), Vec::new());
            for i in 0..400 {
                trace.push(bound(i) + noise(i));
                plateau.see(&trace);
            }
            plateau.falls
        };
        assert_eq!(run(&|i| 0.1 * i as f64), 0);
        assert_eq!(run(&|_| -3.0), 5);
    }
}
