//! Draw a posterior path by the paper's Algorithm 2, and carry the gradient of its ELBO back.
//!
//! A step of length Δ first moves by the drift, then every dimension jumps by itself: N ~ Poisson(ΛΔ) times, with mixing
//! variables from the tilted measure and Gaussian sizes, all at the state before the jumps. A Brownian part σ moves by
//! σ²φ'(x)Δ + σ√Δ ε at the same time and costs ½σ²φ'(x)²Δ. The prior of such a step is the library's chain with truncated
//! stable noise. Where more than half an extra jump is expected, or the Brownian part would move by more than half of the
//! way to the centre, the step is halved until it is not, and the rate is computed anew after every part: a rate frozen
//! over many jumps that all aim at the centre would overshoot it.
//!
//! With δ = c − x and v_i of jump i, a part moves x by Σ v_i δ and a Gaussian number, and the score of its N and r_i is
//! Σ ∂ln C_i − h ∂Λ.

use super::jumps::Jumps;
use super::options::{Gradient, Kl, Motion, PaperOptions};
use super::rates::RateTable;
use crate::continuous::{JumpMeasure, TiltedMeasure};
use levytilt::potential::Quadratic;
use levytilt::{Chain, Error, Result, Start, StreamRng};
use rand_distr::{Distribution, Exp1, StandardNormal};

/// Extra jumps expected in a part of a step, and the share of the way to the centre that a Brownian part moves.
const MOST_EXTRA: f64 = 0.5;
/// Halvings of a step.
const MOST_HALVINGS: i32 = 1000;
/// Part of a step over which the drift is differenced for Euler's f(x).
const EULER_PART: f64 = 1e-4;

/// The noise of one dimension.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PaperNoise {
    /// The jumps.
    pub measure: JumpMeasure,
    /// Standard deviation of the Brownian part per √time, or 0.
    pub brownian: f64,
}

/// The potential of one dimension and step, and its rates.
#[derive(Debug)]
pub(super) struct Tilt {
    a: f64,
    c: f64,
    quadratic: Quadratic,
    rates: RateTable,
    jumps: Jumps,
}

impl Tilt {
    pub fn new(noise: &PaperNoise, [a, c]: [f64; 2]) -> Result<Self> {
        let measure = &noise.measure;
        let (rates, jumps) = (RateTable::new(measure, a), Jumps::new(measure, a));
        Ok(Self { a, c, quadratic: Quadratic::new(a, c)?, rates, jumps })
    }
}

/// A part of a step, with what the gradient needs.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// c − x.
    delta: f64,
    /// Derivative of the motion in δ and in a.
    moved: [f64; 2],
    /// h·D and its derivatives in δ and in a.
    kl: [f64; 3],
    /// Score in δ and in a.
    score: [f64; 2],
}

/// A path with its record; by time and dimension, dimension fastest.
#[derive(Debug, Clone)]
pub(super) struct Tape {
    /// States at all times.
    pub states: Vec<f64>,
    /// Number of jumps of each step.
    pub counts: Vec<u32>,
    /// Size of the jump with the largest mixing variable of each step.
    pub largest: Vec<f64>,
    parts: Vec<Part>,
    /// Where the parts of each step and dimension end.
    ends: Vec<usize>,
    /// Σ log-likelihood less Σ KL from each time on, the KL of its own step included.
    to_go: Vec<f64>,
    /// Log-likelihood and KL of the whole path.
    pub log_likelihood: f64,
    pub kl: f64,
}

/// The gradient of the ELBO of some paths.
#[derive(Debug, Clone)]
pub(super) struct PathGradient {
    /// In a and c, by time and dimension.
    pub tilts: Vec<[f64; 2]>,
    /// In the parameters of the drift.
    pub drift: Vec<f64>,
}

impl PathGradient {
    /// No paths.
    pub fn zero(chain: &Chain) -> Self {
        Self { tilts: vec![[0.0; 2]; chain.len() * chain.dim()], drift: vec![0.0; chain.drift().parameter_count()] }
    }

    /// Add a multiple of another.
    pub fn add(&mut self, other: &Self, factor: f64) {
        self.tilts.iter_mut().flatten().zip(other.tilts.iter().flatten()).for_each(|(sum, g)| *sum += factor * g);
        self.drift.iter_mut().zip(&other.drift).for_each(|(sum, g)| *sum += factor * g);
    }
}

/// What all paths share.
pub(super) struct Walker<'a> {
    pub chain: &'a Chain<'a>,
    pub noises: Vec<PaperNoise>,
    pub options: &'a PaperOptions,
}

impl Walker<'_> {
    fn dim(&self) -> usize {
        self.noises.len()
    }

    /// Draw a path. The first state is drawn from its prior.
    pub fn forward(&self, tilts: &[Tilt], rng: &mut StreamRng) -> Result<Tape> {
        let (n, dim) = (self.chain.len(), self.dim());
        let mut tape = Tape {
            states: Vec::with_capacity(n * dim),
            counts: vec![0; n * dim],
            largest: vec![0.0; n * dim],
            parts: Vec::with_capacity(n * dim),
            ends: Vec::with_capacity(n * dim),
            to_go: vec![0.0; n],
            log_likelihood: 0.0,
            kl: 0.0,
        };
        let mut x = self.start(rng);
        let mut before = x.clone();
        for (j, tilts) in tilts.chunks_exact(dim).enumerate() {
            if j > 0 {
                before.copy_from_slice(&x);
                self.motion(j, &before, &mut x);
            }
            for (i, tilt) in tilts.iter().enumerate() {
                if j > 0 {
                    x[i] = self.jumps(tilt, (i, j), x[i], &mut tape, rng)?;
                }
                if !x[i].is_finite() {
                    let why = format!("the state at time {} is not finite; use shorter steps", self.chain.times()[j]);
                    return Err(Error::Numerical { what: "posterior path", why });
                }
                tape.ends.push(tape.parts.len());
                tape.to_go[j] += self.chain.log_likelihood(i, j, x[i]);
            }
            tape.states.extend_from_slice(&x);
        }
        tape.log_likelihood = tape.to_go.iter().sum();
        for j in (0..n).rev() {
            let own = tape.kl_of(j, dim);
            tape.kl += own;
            tape.to_go[j] += if j + 1 < n { tape.to_go[j + 1] } else { 0.0 } - own;
        }
        Ok(tape)
    }

    fn start(&self, rng: &mut StreamRng) -> Vec<f64> {
        let one = |start: &Start| match *start {
            Start::Fixed(x0) => x0,
            Start::Gaussian { mean, std } => mean + std * Distribution::<f64>::sample(&StandardNormal, rng),
        };
        self.chain.model().dimensions.iter().map(|dimension| &dimension.start).map(one).collect()
    }

    /// The part of a step over which the drift is followed, and the factor that makes up for it.
    fn stride(&self, j: usize) -> (f64, f64) {
        let dt = self.chain.length(j);
        match self.options.motion {
            Motion::Flow => (dt, 1.0),
            Motion::Euler => (EULER_PART * dt, 1.0 / EULER_PART),
        }
    }

    /// The state after the drift of step `j`.
    fn motion(&self, j: usize, x: &[f64], out: &mut [f64]) {
        let (part, factor) = self.stride(j);
        self.chain.drift().flow(self.chain.times()[j - 1], part, x, out);
        if factor != 1.0 {
            out.iter_mut().zip(x).for_each(|(out, x)| *out = x + factor * (*out - x));
        }
    }

    /// Carry the gradient `mu` after the drift of step `j` to the state before; that in the parameters is added to `by`.
    fn pull_back(&self, j: usize, x: &[f64], mu: &mut [f64], space: &mut [Vec<f64>; 3], by: &mut [f64]) {
        let ((part, factor), t) = (self.stride(j), self.chain.times()[j - 1]);
        let [lambda, out, carried] = space;
        lambda.iter_mut().zip(&*mu).for_each(|(lambda, mu)| *lambda = factor * mu);
        self.chain.drift().pullback(t, part, x, lambda, out, carried, by);
        for ((mu, carried), lambda) in mu.iter_mut().zip(carried).zip(lambda) {
            *mu = if factor == 1.0 { *carried } else { *mu + (*carried - *lambda) };
        }
    }

    fn jumps(
        &self,
        tilt: &Tilt,
        (i, j): (usize, usize),
        mut x: f64,
        tape: &mut Tape,
        rng: &mut StreamRng,
    ) -> Result<f64> {
        let (PaperNoise { measure, brownian }, place) = (&self.noises[i], j * self.dim() + i);
        let (a, variance) = (tilt.a, brownian * brownian);
        let mut left = self.chain.length(j);
        while left > 0.0 {
            let delta = tilt.c - x;
            let rates = tilt.rates.at(delta)?;
            let fast = (rates.rate - tilt.rates.prior()).max(2.0 * a * variance);
            let halvings = if fast * left > MOST_EXTRA { (fast * left / MOST_EXTRA).log2().ceil() as i32 } else { 0 };
            let h = left * 0.5f64.powi(halvings.min(MOST_HALVINGS));
            let tilted = measure.tilted(tilt.quadratic, x);
            let drawn = tilt.jumps.draw(&tilted, (delta, rates.rate), h, rng)?;
            tape.counts[place] += drawn.count;
            tape.largest[place] = tape.largest[place].max(drawn.largest);
            let v_by_a = (drawn.v - drawn.v_squared) / a;
            let mut part = Part {
                delta,
                moved: [drawn.v, v_by_a * delta - drawn.noise],
                kl: self.divergence(&tilted, (a, delta), &rates, rng)?.map(|k| k * h),
                score: [
                    2.0 * a * delta * drawn.v - h * rates.rate_by_delta,
                    delta * delta * drawn.v + tilted.kappa() * v_by_a - drawn.v / (2.0 * a) - h * rates.rate_by_a,
                ],
            };
            x += drawn.moved;
            if variance > 0.0 {
                x += part.diffuse(a, variance * h, rng);
            }
            tape.parts.push(part);
            left = if halvings == 0 { 0.0 } else { left - h };
        }
        Ok(x)
    }

    /// D of the jumps with its derivatives in δ and a.
    fn divergence(
        &self,
        tilted: &TiltedMeasure,
        at: (f64, f64),
        rates: &super::Rates,
        rng: &mut StreamRng,
    ) -> Result<[f64; 3]> {
        let quadrature = [rates.divergence, rates.divergence_by_delta, rates.divergence_by_a];
        Ok(match self.options.kl {
            Kl::Quadrature => quadrature,
            Kl::Series => [tilted.series()?.divergence_rate, quadrature[1], quadrature[2]],
            Kl::MonteCarlo => symmetric(&tilted.prior(), at, self.options.draws, rng)?,
        })
    }

    /// Add the gradient of a path's ELBO to `sum`; `means` are the means over all paths of [`Tape::after`].
    pub fn backward(&self, tape: &Tape, means: &[f64], paths: usize, sum: &mut PathGradient) {
        let (n, dim) = (self.chain.len(), self.dim());
        let scored = match self.options.gradient {
            Gradient::Published => 0.0,
            // W less its mean over the other paths is this multiple of W less its mean over all.
            Gradient::Unbiased => paths as f64 / (paths - 1) as f64,
        };
        let mut mu = vec![0.0; dim];
        let mut space = [vec![0.0; dim], vec![0.0; dim], vec![0.0; dim]];
        for j in (1..n).rev() {
            let mut surplus = tape.after(j, dim) - means[j];
            for i in (0..dim).rev() {
                let place = j * dim + i;
                mu[i] += self.chain.log_likelihood_slope(i, j, tape.states[place]);
                for part in tape.parts_of(place).rev() {
                    let [by_delta, by_a] =
                        [0, 1].map(|k| mu[i] * part.moved[k] - part.kl[1 + k] + scored * surplus * part.score[k]);
                    sum.tilts[place][0] += by_a;
                    sum.tilts[place][1] += by_delta;
                    mu[i] -= by_delta;
                    surplus -= part.kl[0];
                }
            }
            let before = &tape.states[(j - 1) * dim..j * dim];
            self.pull_back(j, before, &mut mu, &mut space, &mut sum.drift);
        }
    }
}

impl Part {
    /// Add a Brownian motion of variance `s` with the drift sφ'(x) = 2asδ, which costs ½sφ'² = 2sa²δ².
    fn diffuse(&mut self, a: f64, s: f64, rng: &mut StreamRng) -> f64 {
        let delta = self.delta;
        let normal: f64 = StandardNormal.sample(rng);
        let cost = [2.0 * a * a * delta * delta, 4.0 * a * a * delta, 4.0 * a * delta * delta];
        self.kl.iter_mut().zip(cost).for_each(|(kl, cost)| *kl += s * cost);
        self.moved[0] += 2.0 * a * s;
        self.moved[1] += 2.0 * s * delta;
        2.0 * a * s * delta + s.sqrt() * normal
    }
}

impl Tape {
    fn parts_of(&self, place: usize) -> impl DoubleEndedIterator<Item = &Part> {
        let first = if place == 0 { 0 } else { self.ends[place - 1] };
        self.parts[first..self.ends[place]].iter()
    }

    /// KL of step `j`.
    fn kl_of(&self, j: usize, dim: usize) -> f64 {
        (j * dim..(j + 1) * dim).flat_map(|place| self.parts_of(place)).map(|part| part.kl[0]).sum()
    }

    /// What is still to come once the jumps of step `j` are over.
    pub fn after(&self, j: usize, dim: usize) -> f64 {
        self.to_go[j] + self.kl_of(j, dim)
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
