//! Draw a posterior path by the paper's Algorithm 2, and carry the gradient of its ELBO back.
//!
//! A step of length Δ first moves by the drift, then jumps: N ~ Poisson(ΛΔ) times, with mixing variables from the tilted
//! measure and Gaussian sizes, all at the state before the jumps. The prior of such a step is the library's chain with
//! truncated stable noise. Where the tilt raises the rate so much that more than half an extra jump is expected, the
//! step is halved until it is not, and the rate is computed anew after every part: a rate frozen over many jumps that
//! all aim at the centre would overshoot it.
//!
//! With δ = c − x, v_i and ε_i of jump i, a part moves x by Σ [v_i δ + s r_i ε_i/√(1+u_i)], and the score of its N and
//! r_i is Σ ∂ln C_i − h ∂Λ.

use super::options::{Gradient, Kl, Motion, PaperOptions};
use super::rates::RateTable;
use crate::continuous::JumpMeasure;
use levytilt::potential::Quadratic;
use levytilt::{Chain, Error, Result, Start, StreamRng};
use rand_distr::{Distribution, Exp1, Poisson, StandardNormal};

/// Extra jumps expected in a part of a step.
const MOST_EXTRA: f64 = 0.5;
/// Halvings of a step.
const MOST_HALVINGS: i32 = 1000;
/// κ up to which mixing variables are proposed from the prior; beyond, most proposals would be rejected.
const SMALL_KAPPA: f64 = 2.0;
/// Proposals from the prior before giving up; at a small κ some ten are used.
const MOST_TRIES: u64 = 10_000_000;
/// Part of a step over which the drift is differenced for Euler's f(x).
const EULER_PART: f64 = 1e-4;

/// The potential of one step and its rates.
#[derive(Debug, Clone)]
pub(super) struct Tilt {
    pub a: f64,
    pub c: f64,
    pub rates: RateTable,
}

impl Tilt {
    pub fn new(measure: &JumpMeasure, a: f64, c: f64) -> Self {
        Self { a, c, rates: RateTable::new(measure, a) }
    }
}

/// A part of a step, with what the gradient needs.
#[derive(Debug, Clone, Copy)]
struct Part {
    x: f64,
    /// Σ v, Σ ∂v/∂a, and Σ v/(2a) times the Gaussian part of the jump.
    v: f64,
    v_by_a: f64,
    noise: f64,
    /// h·D and its derivatives.
    kl: [f64; 3],
    /// Score in δ and in a.
    score: [f64; 2],
}

/// A path with its record.
#[derive(Debug, Clone)]
pub(super) struct Tape {
    /// States at all times.
    pub states: Vec<f64>,
    /// Number of jumps of each step.
    pub counts: Vec<u32>,
    /// Largest |jump| of each step.
    pub largest: Vec<f64>,
    parts: Vec<Part>,
    /// Where the parts of each step end.
    ends: Vec<usize>,
    /// Σ log-likelihood and Σ KL from each time on, the KL of its own step included.
    pub to_go: Vec<f64>,
    /// Log-likelihood and KL of the whole path.
    pub log_likelihood: f64,
    pub kl: f64,
}

/// The gradient of one path's ELBO.
#[derive(Debug, Clone)]
pub(super) struct PathGradient {
    /// In a and c of every time.
    pub tilts: Vec<[f64; 2]>,
    /// In the parameters of the drift.
    pub drift: Vec<f64>,
}

/// What all paths share.
pub(super) struct Walker<'a> {
    pub chain: &'a Chain<'a>,
    pub measure: JumpMeasure,
    pub options: &'a PaperOptions,
}

impl Walker<'_> {
    /// Draw a path. The first state is drawn from its prior.
    pub fn forward(&self, tilts: &[Tilt], rng: &mut StreamRng) -> Result<Tape> {
        let n = self.chain.len();
        let mut x = match self.chain.model().dimensions[0].start {
            Start::Fixed(x0) => x0,
            Start::Gaussian { mean, std } => mean + std * Distribution::<f64>::sample(&StandardNormal, rng),
        };
        let mut tape = Tape {
            states: Vec::with_capacity(n),
            counts: vec![0; n],
            largest: vec![0.0; n],
            parts: Vec::with_capacity(n),
            ends: Vec::with_capacity(n),
            to_go: vec![0.0; n],
            log_likelihood: 0.0,
            kl: 0.0,
        };
        for (j, tilt) in tilts.iter().enumerate() {
            if j > 0 {
                let (_, dt) = self.step(j);
                x = self.motion(j, x, None).0;
                x = self.jumps(tilt, (j, dt), x, &mut tape, rng)?;
                if !x.is_finite() {
                    let why = format!("the state at time {} is not finite; use shorter steps", self.chain.times()[j]);
                    return Err(Error::Numerical { what: "posterior path", why });
                }
            }
            tape.states.push(x);
            tape.ends.push(tape.parts.len());
            let seen = self.chain.log_likelihood(0, j, x);
            tape.log_likelihood += seen;
            tape.to_go[j] = seen;
        }
        for j in (0..n).rev() {
            let own: f64 = tape.parts_of(j).map(|part| part.kl[0]).sum();
            tape.kl += own;
            tape.to_go[j] += if j + 1 < n { tape.to_go[j + 1] } else { 0.0 } - own;
        }
        Ok(tape)
    }

    /// Start and length of the step that ends at time `j`.
    fn step(&self, j: usize) -> (f64, f64) {
        (self.chain.times()[j - 1], self.chain.length(j))
    }

    /// The state after the drift of step `j`, its derivative in `x`, and λ times that in the parameters, added to `by`.
    fn motion(&self, j: usize, x: f64, by: Option<(f64, &mut [f64])>) -> (f64, f64) {
        let ((t, dt), drift) = (self.step(j), self.chain.drift());
        let (part, factor) = match self.options.motion {
            Motion::Flow => (dt, 1.0),
            Motion::Euler => (EULER_PART * dt, 1.0 / EULER_PART),
        };
        let (mut out, mut slope) = ([0.0], [0.0]);
        match by {
            None => drift.flow(t, part, &[x], &mut out),
            Some((lambda, by)) => {
                // The covector 1 for the derivative in the state; the parameters are scaled afterwards.
                let mut own = vec![0.0; by.len()];
                drift.pullback(t, part, &[x], &[1.0], &mut out, &mut slope, &mut own);
                by.iter_mut().zip(own).for_each(|(by, own)| *by += lambda * factor * own);
            }
        }
        (x + factor * (out[0] - x), 1.0 + factor * (slope[0] - 1.0))
    }

    fn jumps(
        &self,
        tilt: &Tilt,
        (j, dt): (usize, f64),
        mut x: f64,
        tape: &mut Tape,
        rng: &mut StreamRng,
    ) -> Result<f64> {
        let mut left = dt;
        while left > 0.0 {
            let delta = tilt.c - x;
            let rates = tilt.rates.at(delta)?;
            let extra = rates.rate - tilt.rates.prior();
            let halvings = if extra * left > MOST_EXTRA { (extra * left / MOST_EXTRA).log2().ceil() as i32 } else { 0 };
            let h = left * 0.5f64.powi(halvings.min(MOST_HALVINGS));
            let quadratic = Quadratic::new(tilt.a, tilt.c)?;
            let tilted = self.measure.tilted(quadratic, x);
            let poisson = Poisson::new(rates.rate * h).map_err(|_| Error::Numerical {
                what: "number of jumps",
                why: format!("{} jumps are expected in a step; use shorter steps or a larger tau", rates.rate * h),
            })?;
            let count = poisson.sample(rng) as u64;
            let sampler = if tilted.kappa() > SMALL_KAPPA && count > 0 { Some(tilted.sampler()?) } else { None };
            let (mut moved, mut sums) = (0.0, [0.0; 3]);
            for _ in 0..count {
                let drawn = match &sampler {
                    Some(sampler) => sampler.draw(rng),
                    None => tilted.draw_by_prior(MOST_TRIES, rng)?,
                };
                let u = 2.0 * tilt.a * (self.measure.unit() * drawn.r).powi(2);
                let (v, g) = if u.is_finite() { (u / (1.0 + u), 1.0 / (1.0 + u)) } else { (1.0, 0.0) };
                sums[0] += v;
                sums[1] += v * g / tilt.a;
                sums[2] += (drawn.jump - v * delta) * v / (2.0 * tilt.a);
                moved += drawn.jump;
                tape.largest[j] = tape.largest[j].max(drawn.jump.abs());
            }
            tape.counts[j] += count as u32;
            let [v, v_by_a, noise] = sums;
            let kappa = tilted.kappa();
            let kl = match self.options.kl {
                Kl::Quadrature => [rates.divergence, rates.divergence_by_delta, rates.divergence_by_a],
                Kl::Series => [tilted.series()?.divergence_rate, rates.divergence_by_delta, rates.divergence_by_a],
                Kl::MonteCarlo => symmetric(&self.measure, (tilt.a, delta), self.options.draws, rng)?,
            };
            let score = [
                2.0 * tilt.a * delta * v - h * rates.rate_by_delta,
                delta * delta * v + kappa * v_by_a - v / (2.0 * tilt.a) - h * rates.rate_by_a,
            ];
            tape.parts.push(Part { x, v, v_by_a, noise, kl: kl.map(|k| k * h), score });
            x += moved;
            left = if halvings == 0 { 0.0 } else { left - h };
        }
        Ok(x)
    }

    /// The gradient of a path's ELBO; `means` are the means over all paths of [`Tape::to_go`] after each step's own KL.
    pub fn backward(&self, tape: &Tape, tilts: &[Tilt], means: &[f64], paths: usize) -> PathGradient {
        let n = self.chain.len();
        let mut found =
            PathGradient { tilts: vec![[0.0; 2]; n], drift: vec![0.0; self.chain.drift().parameter_count()] };
        let scored = match self.options.gradient {
            Gradient::Published => 0.0,
            // W less its mean over the other paths is this multiple of W less its mean over all.
            Gradient::Unbiased => paths as f64 / (paths - 1) as f64,
        };
        let mut mu = 0.0;
        for j in (1..n).rev() {
            mu += self.chain.log_likelihood_slope(0, j, tape.states[j]);
            let (tilt, mut surplus) = (&tilts[j], tape.after(j) - means[j]);
            for part in tape.parts_of(j).rev() {
                let delta = tilt.c - part.x;
                let [kl, kl_by_delta, kl_by_a] = part.kl;
                let by_delta = mu * part.v - kl_by_delta + scored * surplus * part.score[0];
                let by_a = mu * (part.v_by_a * delta - part.noise) - kl_by_a + scored * surplus * part.score[1];
                found.tilts[j][0] += by_a;
                found.tilts[j][1] += by_delta;
                mu -= by_delta;
                surplus -= kl;
            }
            let (_, slope) = self.motion(j, tape.states[j - 1], Some((mu, &mut found.drift)));
            mu *= slope;
        }
        found
    }
}

impl Tape {
    fn parts_of(&self, j: usize) -> impl DoubleEndedIterator<Item = &Part> {
        let first = if j == 0 { 0 } else { self.ends[j - 1] };
        self.parts[first..self.ends[j]].iter()
    }

    /// What is still to come once the jumps of step `j` are over.
    pub fn after(&self, j: usize) -> f64 {
        self.to_go[j] + self.parts_of(j).map(|part| part.kl[0]).sum::<f64>()
    }
}

/// Symmetric Monte Carlo estimate of D with its derivatives in δ and a: E[H ln H − H + 1] over ±y.
fn symmetric(measure: &JumpMeasure, (a, delta): (f64, f64), draws: usize, rng: &mut StreamRng) -> Result<[f64; 3]> {
    let rho = 0.5 * measure.alpha();
    let mut sums = [0.0; 3];
    for _ in 0..draws {
        let exponential: f64 = Exp1.sample(rng);
        let normal: f64 = StandardNormal.sample(rng);
        let y = measure.unit() * measure.tau() * (0.5 * exponential / rho).exp() * normal;
        for y in [y, -y] {
            let log = a * y * (2.0 * delta - y);
            if log < -700.0 || !y.is_finite() {
                sums[0] += 1.0;
                continue;
            }
            let weight = log * log.exp();
            sums[0] += weight - log.exp_m1();
            sums[1] += weight * 2.0 * a * y;
            sums[2] += weight * y * (2.0 * delta - y);
        }
    }
    let found = sums.map(|sum| measure.rate() * sum / (2 * draws) as f64);
    if found.iter().all(|value| value.is_finite()) {
        return Ok(found);
    }
    let why =
        format!("it is not finite at a = {a:.2e}, c − x = {delta:.2e} with {draws} draws; use kl = \"quadrature\"");
    Err(Error::Numerical { what: "Monte Carlo divergence", why })
}
