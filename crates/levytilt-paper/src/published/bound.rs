//! The continuous-time ELBO of the published potential on paths of Algorithm 2, and its gradient.

#[cfg(doc)]
use super::options::Gradient;
use super::options::PaperOptions;
use super::path::{PaperNoise, Slopes, Walker};
use super::tape::{PathGradient, Tape};
use crate::continuous::JumpMeasure;
use levytilt::internals::Chain;
use levytilt::internals::error::expect_length;
use levytilt::internals::posterior::WeightSummary;
use levytilt::noise::Noise;
use levytilt::{Error, Result, stream};
use rayon::prelude::*;

/// Paths that go together, and whose gradients are summed together.
const GROUP: usize = 25;

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
    /// In a and c by time and dimension, dimension fastest; the first time has no tilt.
    pub tilts: Vec<[f64; 2]>,
    /// In the parameters of the drift.
    pub drift: Vec<f64>,
    /// In α and in the logarithm of the scale of every dimension; 0 unless asked for ([`noise_gradient`]).
    pub noise: Vec<[f64; 2]>,
    /// In the parameters of the size of the noise.
    pub size: Vec<f64>,
    /// In the standard deviation of the observation error of every dimension.
    pub errors: Vec<f64>,
}

impl PublishedGradient {
    /// In all parameters of the model, in the order of [`levytilt::internals::solve::parameters`]; 0 for those without a gradient.
    pub fn parameters(&self, chain: &Chain) -> Vec<f64> {
        let mut all = self.drift.clone();
        let parts = chain.model().dimensions.iter().zip(&self.noise).zip(&self.errors);
        for ((dimension, &[by_alpha, by_log_scale]), &by_std) in parts {
            // In the order of `noises_of`.
            let noise = |(place, (_, value)): (usize, (&str, f64))| match place {
                0 => by_alpha,
                1 => by_log_scale / value,
                _ => 0.0,
            };
            all.extend(dimension.noise.parameters().into_iter().enumerate().map(noise));
            all.extend(&self.size);
            all.push(by_std);
        }
        all
    }
}

/// The family of noise that the published method takes.
pub const NOISE: &str = "truncated-stable";

/// Jumps and Brownian part of every dimension of a chain with truncated stable noise.
///
/// # Errors
/// Another noise.
pub fn noises_of(chain: &Chain) -> Result<Vec<PaperNoise>> {
    let one = |noise: &dyn Noise| match (noise.family(), &noise.parameters()[..]) {
        (NOISE, &[(_, alpha), (_, scale), (_, tau), (_, sigma_g), ref rest @ ..]) => Ok(PaperNoise {
            measure: JumpMeasure::mixture(alpha, scale, tau, sigma_g)?,
            brownian: rest.first().map_or(0.0, |&(_, sigma)| sigma),
        }),
        (other, _) => Err(Error::Shape {
            what: "method paper",
            got: format!("noise {other}"),
            expected: format!("{NOISE}: give --noise {NOISE}, or another method"),
        }),
    };
    chain.model().dimensions.iter().map(|dimension| one(dimension.noise.as_ref())).collect()
}

/// The ELBO of `options.paths` paths and its gradient, given a and c by time and dimension, dimension fastest.
pub fn published_gradient(
    chain: &Chain,
    potentials: &[[f64; 2]],
    options: &PaperOptions,
    seed: u64,
) -> Result<PublishedGradient> {
    gradient(&walker(chain, potentials, options, Slopes::Plain)?, chain, options, seed)
}

/// [`published_gradient`] with the slopes in the parameters of the noise. Without score function ([`Gradient::Published`]) these
/// are far from the slopes of the ELBO.
pub fn noise_gradient(
    chain: &Chain,
    potentials: &[[f64; 2]],
    options: &PaperOptions,
    seed: u64,
) -> Result<PublishedGradient> {
    gradient(&walker(chain, potentials, options, Slopes::WithNoise)?, chain, options, seed)
}

fn gradient(walker: &Walker, chain: &Chain, options: &PaperOptions, seed: u64) -> Result<PublishedGradient> {
    let tapes = walk(walker, options.paths, seed)?;
    let n = options.paths as f64;
    let mut means = vec![0.0; chain.len()];
    for tape in &tapes {
        means.iter_mut().enumerate().for_each(|(j, mean)| *mean += tape.after(j) / n);
    }
    // Sums of fixed groups of paths, so that the result does not depend on the number of threads.
    let groups: Vec<PathGradient> =
        tapes.par_chunks(GROUP).map(|tapes| walker.backward(tapes, &means, options.paths)).collect();
    let mut sum = PathGradient::zero(chain);
    groups.iter().for_each(|group| sum.add(group, 1.0 / n));
    let PathGradient { tilts, drift, noise, size, errors } = sum;
    Ok(PublishedGradient { bound: Bound::new(&tapes), tilts, drift, noise, size, errors })
}

/// Fresh paths by Algorithm 2 and their ELBO.
pub(super) fn published_paths(
    chain: &Chain,
    potentials: &[[f64; 2]],
    options: &PaperOptions,
    seed: u64,
) -> Result<(Bound, Vec<Tape>)> {
    let tapes = walk(&walker(chain, potentials, options, Slopes::Plain)?, options.paths, seed)?;
    Ok((Bound::new(&tapes), tapes))
}

/// A path by Algorithm 2: by time and dimension, dimension fastest.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnPath {
    /// States.
    pub states: Vec<f64>,
    /// Numbers of jumps in the steps that end there.
    pub jumps: Vec<u32>,
}

/// `options.paths` paths by Algorithm 2, given a and c by time and dimension.
pub fn draw_paths(chain: &Chain, potentials: &[[f64; 2]], options: &PaperOptions, seed: u64) -> Result<Vec<DrawnPath>> {
    let (_, tapes) = published_paths(chain, potentials, options, seed)?;
    Ok(tapes.into_iter().map(|tape| DrawnPath { states: tape.states, jumps: tape.counts }).collect())
}

fn walker<'a>(
    chain: &'a Chain<'a>,
    potentials: &[[f64; 2]],
    options: &'a PaperOptions,
    slopes: Slopes,
) -> Result<Walker<'a>> {
    expect_length("potentials of method paper", potentials.len(), chain.len() * chain.dim())?;
    Walker::new(chain, noises_of(chain)?, potentials, options, slopes)
}

fn walk(walker: &Walker, paths: usize, seed: u64) -> Result<Vec<Tape>> {
    let groups: Vec<Vec<Tape>> = (0..paths.div_ceil(GROUP))
        .into_par_iter()
        .map(|group| {
            let members = group * GROUP..((group + 1) * GROUP).min(paths);
            walker.forward(members.map(|path| stream(seed, path as u64)).collect())
        })
        .collect::<Result<_>>()?;
    Ok(groups.into_iter().flatten().collect())
}
