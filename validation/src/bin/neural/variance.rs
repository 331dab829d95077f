//! Compare the noise of two estimates of the bound's slope: the one that trains, and the score estimator.
//!
//! The score estimator, at its best: with r_j(x̃) = E[ℓ_j] − KL_j in closed form given the state before the step,
//!
//! ```text
//! ∂ bound = E Σ_j [ ∂r_j(x̃_{j−1}) + ∂ ln q(x_j | x̃_{j−1}) · (Σ_{i>j} r_i less its mean over the other paths) ]
//! ```
//!
//! where ln q = φ − ln Z up to what does not depend on the potential, the node summed out.

use levytilt::Result;
use levytilt::internals::Chain;
use levytilt::internals::posterior::{Potentials, walk};
use levytilt::internals::potential::Quadratic;
use levytilt::internals::tilt::TiltedStep;
use rayon::prelude::*;

/// Slopes of the bound in a and c of every potential (one dimension), from `paths` paths.
pub fn score_gradient(chain: &Chain, potentials: &Potentials, paths: usize, seed: u64) -> Result<Vec<[f64; 2]>> {
    let walked = walk(chain, potentials, paths, seed);
    let steps: Vec<Vec<Sample>> = (0..chain.len())
        .into_par_iter()
        .map(|j| {
            let before: Vec<f64> = walked.states(j.saturating_sub(1)).flatten().copied().collect();
            let mut ahead = vec![0.0; paths];
            chain.flow_many(j, &before, &mut ahead);
            let step = Step::new(chain, potentials, j)?;
            Ok(ahead.iter().zip(walked.column(0, j)).map(|(&ahead, x)| step.sample(ahead, x)).collect())
        })
        .collect::<Result<_>>()?;
    let n = paths as f64;
    let mut to_go = vec![0.0; paths];
    let mut slopes = vec![[0.0; 2]; chain.len()];
    for (slope, samples) in slopes.iter_mut().zip(&steps).rev() {
        let mean = to_go.iter().sum::<f64>() / n;
        for (sample, to_go) in samples.iter().zip(&mut to_go) {
            let surplus = (*to_go - mean) * n / (n - 1.0);
            for (sum, (slope, score)) in slope.iter_mut().zip(sample.slopes.iter().zip(&sample.scores)) {
                *sum += (slope + score * surplus) / n;
            }
            *to_go += sample.reward;
        }
    }
    Ok(slopes)
}

/// What one path gives at one step: r, ∂r and ∂ ln q in (a, c).
struct Sample {
    reward: f64,
    slopes: [f64; 2],
    scores: [f64; 2],
}

/// A tilted step with its neighbours in a and c, for slopes of the mean likelihood by central differences.
struct Step<'a> {
    chain: &'a Chain<'a>,
    j: usize,
    centre: TiltedStep,
    /// Below and above, in a and in c; distances between them.
    around: [[TiltedStep; 2]; 2],
    widths: [f64; 2],
}

impl<'a> Step<'a> {
    fn new(chain: &'a Chain<'a>, potentials: &Potentials, j: usize) -> Result<Self> {
        let q = potentials[0][j].quadratic().expect("networks give one quadratic per time");
        let (h, k) = (1e-5 * q.a(), 1e-5 / (2.0 * q.a()).sqrt());
        let at = |a: f64, c: f64| Ok(TiltedStep::new(chain.nodes(0, j), Quadratic::new(a, c)?));
        let (a, c) = (q.a(), q.c());
        let around = [[at(a - h, c)?, at(a + h, c)?], [at(a, c - k)?, at(a, c + k)?]];
        Ok(Self { chain, j, centre: at(a, c)?, around, widths: [2.0 * h, 2.0 * k] })
    }

    /// E[ℓ_j] from x̃.
    fn likelihood(&self, step: &TiltedStep, ahead: f64) -> f64 {
        let y = self.chain.value(0, self.j);
        if y.is_nan() {
            return 0.0;
        }
        let std = self.chain.model().dimensions[0].observation_std;
        self.chain.log_likelihood(0, self.j, y) - 0.5 * step.mean_square(ahead, y) / (std * std)
    }

    fn sample(&self, ahead: f64, x: f64) -> Sample {
        let (kl, log_z) = (self.centre.kl_derivatives(ahead), self.centre.log_z_derivatives(ahead));
        let (a, c) = (self.centre.potential().a(), self.centre.potential().c());
        let by_likelihood: Vec<f64> = (self.around.iter().zip(self.widths))
            .map(|([below, above], width)| (self.likelihood(above, ahead) - self.likelihood(below, ahead)) / width)
            .collect();
        Sample {
            reward: self.likelihood(&self.centre, ahead) - self.centre.evaluate(ahead).kl,
            slopes: [by_likelihood[0] - kl.a, by_likelihood[1] - kl.c],
            scores: [-(x - c).powi(2) - log_z.a, 2.0 * a * (x - c) - log_z.c],
        }
    }
}
