//! Train the published potential by following the gradient of its continuous-time ELBO.

use super::options::PaperOptions;
use super::path::{PathGradient, Tape, Tilt, Walker};
use crate::continuous::JumpMeasure;
use crate::potential::{Group, NeuralPotential, NeuralPotentialSpec};
use crate::training::{Optimiser, Rule, rescale};
use levytilt::error::expect_length;
use levytilt::noise::TruncatedStable;
use levytilt::posterior::WeightSummary;
use levytilt::{Chain, Error, Result, stream};
use rayon::prelude::*;

/// Iterations in a row that may fail, because a tilt is too strong for some path, before training gives up.
const MOST_FAILURES: usize = 10;

/// The ELBO of some paths and its parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// Mean and standard error.
    pub elbo: f64,
    /// Its standard error.
    pub std_error: f64,
    /// Mean log-likelihood.
    pub log_likelihood: f64,
    /// Mean divergence.
    pub kl: f64,
}

impl Bound {
    fn new(tapes: &[Tape]) -> Self {
        let n = tapes.len() as f64;
        let mean = |value: &dyn Fn(&Tape) -> f64| tapes.iter().map(value).sum::<f64>() / n;
        let WeightSummary { elbo, elbo_std_error, .. } =
            WeightSummary::new(&tapes.iter().map(|t| t.log_likelihood - t.kl).collect::<Vec<_>>());
        Self { elbo, std_error: elbo_std_error, log_likelihood: mean(&|t| t.log_likelihood), kl: mean(&|t| t.kl) }
    }
}

/// The ELBO with its gradient.
#[derive(Debug, Clone)]
pub struct PublishedGradient {
    /// The ELBO.
    pub bound: Bound,
    /// In a and c of every time; the first time has no tilt.
    pub tilts: Vec<[f64; 2]>,
    /// In the parameters of the drift.
    pub drift: Vec<f64>,
}

/// The jump measure of a chain of one dimension with truncated stable noise.
///
/// # Errors
/// Another dimension or another noise.
pub fn measure_of(chain: &Chain) -> Result<JumpMeasure> {
    let [dimension] = &chain.model().dimensions[..] else {
        return Err(Error::Shape {
            what: "method paper",
            got: format!("{} dimensions", chain.dim()),
            expected: "1; fit the columns one by one with --column".into(),
        });
    };
    let noise = &dimension.noise;
    match (noise.family(), &noise.parameters()[..]) {
        ("truncated-stable", &[(_, alpha), (_, scale), (_, tau), (_, sigma_g)]) => {
            Ok(JumpMeasure::from(&TruncatedStable::new(alpha, scale, tau, sigma_g)?))
        }
        (other, _) => Err(Error::Shape {
            what: "method paper",
            got: format!("noise {other}"),
            expected: "truncated-stable: give --noise truncated-stable, or another method".into(),
        }),
    }
}

/// The ELBO of `options.paths` paths and its gradient, given a and c at every time.
pub fn published_gradient(
    chain: &Chain,
    potentials: &[[f64; 2]],
    options: &PaperOptions,
    seed: u64,
) -> Result<PublishedGradient> {
    let (walker, tilts) = walker(chain, potentials, options)?;
    let tapes = walk(&walker, &tilts, options.paths, seed)?;
    let n = options.paths as f64;
    let means: Vec<f64> = (0..chain.len()).map(|j| tapes.iter().map(|tape| tape.after(j)).sum::<f64>() / n).collect();
    let all: Vec<PathGradient> =
        tapes.par_iter().map(|tape| walker.backward(tape, &tilts, &means, tapes.len())).collect();
    let tilt = |j: usize| [0, 1].map(|k| all.iter().map(|g| g.tilts[j][k]).sum::<f64>() / n);
    let drift = |k: usize| all.iter().map(|g| g.drift[k]).sum::<f64>() / n;
    Ok(PublishedGradient {
        bound: Bound::new(&tapes),
        tilts: (0..chain.len()).map(tilt).collect(),
        drift: (0..chain.drift().parameter_count()).map(drift).collect(),
    })
}

/// Fresh paths by Algorithm 2 and their ELBO.
pub(super) fn published_paths(
    chain: &Chain,
    potentials: &[[f64; 2]],
    options: &PaperOptions,
    seed: u64,
) -> Result<(Bound, Vec<Tape>)> {
    let (walker, tilts) = walker(chain, potentials, options)?;
    let tapes = walk(&walker, &tilts, options.paths, seed)?;
    Ok((Bound::new(&tapes), tapes))
}

/// States at all times of `options.paths` paths by Algorithm 2, given a and c at every time.
pub fn states(chain: &Chain, potentials: &[[f64; 2]], options: &PaperOptions, seed: u64) -> Result<Vec<Vec<f64>>> {
    let (_, tapes) = published_paths(chain, potentials, options, seed)?;
    Ok(tapes.into_iter().map(|tape| tape.states).collect())
}

fn walker<'a>(
    chain: &'a Chain<'a>,
    potentials: &[[f64; 2]],
    options: &'a PaperOptions,
) -> Result<(Walker<'a>, Vec<Tilt>)> {
    let measure = measure_of(chain)?;
    expect_length("potentials of method paper", potentials.len(), chain.len())?;
    let tilts = potentials.par_iter().map(|&[a, c]| Tilt::new(&measure, a, c)).collect();
    Ok((Walker { chain, measure, options }, tilts))
}

fn walk(walker: &Walker, tilts: &[Tilt], paths: usize, seed: u64) -> Result<Vec<Tape>> {
    (0..paths).into_par_iter().map(|path| walker.forward(tilts, &mut stream(seed, path as u64))).collect()
}

/// Training in progress.
#[derive(Debug)]
pub struct PaperTrainer {
    /// The networks.
    pub potential: NeuralPotential,
    optimiser: Optimiser<f32>,
    drift_optimiser: Option<Optimiser<f64>>,
    /// The ELBO before every iteration; NaN where an iteration failed and nothing was learned from it.
    pub trace: Vec<f64>,
    failures: usize,
}

impl PaperTrainer {
    /// New networks of the published sizes over the span of a chain.
    pub fn new(chain: &Chain, sizes: NeuralPotentialSpec, options: &PaperOptions) -> Result<Self> {
        measure_of(chain)?;
        let times = chain.times();
        let spec = NeuralPotentialSpec { dim: 1, components: 1, span: (times[0], times[times.len() - 1]), ..sizes };
        let potential: NeuralPotential = NeuralPotential::new(spec, options.seed)?;
        let optimiser = Optimiser::new(options.rule, potential.parameters().len());
        Ok(Self { potential, optimiser, drift_optimiser: None, trace: Vec::new(), failures: 0 })
    }

    /// a and c of the potential at the times of a chain.
    pub fn potentials(&self, chain: &Chain) -> Vec<[f64; 2]> {
        let said = self.potential.evaluate(chain.times()).coefficients;
        said.iter().map(|at| centred(at[0][0])).collect()
    }

    /// One iteration at a chain; the ELBO before it, and the step of the drift's parameters on the scales whose slopes
    /// are given (0 for a parameter that is held).
    pub fn step(&mut self, chain: &Chain, options: &PaperOptions, slopes: &[f64]) -> Result<(Option<Bound>, Vec<f64>)> {
        let seed = options.seed.wrapping_add((self.trace.len() as u64 + 1) << 32);
        let evaluation = self.potential.evaluate(chain.times());
        let said: Vec<[f64; 3]> = evaluation.coefficients.iter().map(|at| at[0][0]).collect();
        let potentials: Vec<[f64; 2]> = said.iter().map(|&said| centred(said)).collect();
        let found = match published_gradient(chain, &potentials, options, seed) {
            Ok(found) => found,
            Err(error @ Error::Numerical { .. }) => {
                self.failures += 1;
                self.trace.push(f64::NAN);
                return if self.failures > MOST_FAILURES { Err(error) } else { Ok((None, vec![0.0; slopes.len()])) };
            }
            Err(error) => return Err(error),
        };
        self.failures = 0;
        let by_said = said.iter().zip(&potentials).zip(&found.tilts).map(|((_, &[a, c]), &[by_a, by_c])| {
            // c = b/2a.
            vec![vec![[0.0, by_a - by_c * c / a, 0.5 * by_c / a]]]
        });
        let mut gradient = self.potential.gradient(&evaluation, &by_said.collect::<Vec<_>>());
        self.climb(&mut gradient, options);
        self.trace.push(found.bound.elbo);
        Ok((Some(found.bound), self.drift_step(&found.drift, slopes, options)))
    }

    fn climb(&mut self, gradient: &mut [f32], options: &PaperOptions) {
        let free = self.potential.groups()[0].1.end;
        for (g, p) in gradient.iter_mut().zip(self.potential.parameters()).skip(free) {
            *g -= options.ridge as f32 * p;
        }
        if options.rescale > 0.0 {
            rescale(gradient, &self.potential.layers(), options.rescale);
        }
        let rate = |group: Group| match group {
            Group::References | Group::Sharpness | Group::Embeddings => options.encoder_rate,
            Group::Firmness | Group::Pull => options.rate,
        };
        let rates: Vec<_> = self.potential.groups().into_iter().map(|(group, range)| (range, rate(group))).collect();
        self.optimiser.step(self.potential.parameters_mut(), gradient, &rates);
    }

    fn drift_step(&mut self, gradient: &[f64], slopes: &[f64], options: &PaperOptions) -> Vec<f64> {
        let free: Vec<f64> = gradient.iter().zip(slopes).map(|(g, slope)| g * slope).collect();
        let optimiser = self.drift_optimiser.get_or_insert_with(|| Optimiser::new(Rule::Adam, free.len()));
        let mut moved = vec![0.0; free.len()];
        optimiser.step(&mut moved, &free, &[(0..free.len(), options.drift_rate)]);
        moved.iter_mut().zip(slopes).for_each(|(moved, slope)| *moved *= f64::from(*slope != 0.0));
        moved
    }
}

/// (a, c) of −ax² + bx.
fn centred([_, a, b]: [f64; 3]) -> [f64; 2] {
    [a, 0.5 * b / a]
}
