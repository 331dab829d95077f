//! Draw posterior paths by the paper's Algorithm 2, and carry the gradient of their ELBO back.
//!
//! Some paths go step by step together, so that what a step has for all of them is computed once and stays in the cache;
//! each has its own random numbers and does not depend on the others.
//!
//! A step of length Δ first moves by the drift, then every dimension jumps by itself: N ~ Poisson(ΛΔ) times, with mixing
//! variables from the tilted measure and Gaussian sizes, all at the state before the jumps. A Brownian part σ moves by
//! σ²φ'(x)Δ + σ√Δ ε at the same time and costs ½σ²φ'(x)²Δ. The prior of such a step is the library's chain with truncated
//! stable noise. Where more than half an extra jump is expected, or the Brownian part would move by more than half of the
//! way to the centre, the step is halved until it is not, and the rate is computed anew after every part: a rate frozen
//! over many jumps that all aim at the centre would overshoot it. Where a few per cent of an extra jump are expected a part
//! ends at its first large jump, for the same reason.
//!
//! With δ = c − x and v_i of jump i, a part moves x by Σ v_i δ and a Gaussian number, and the score of its N, r_i
//! and length h is Σ ∂ln C_i − h ∂Λ.

use super::jumps::{Jumps, Until, power_of};
use super::options::{Gradient, Kl, Motion, PaperOptions};
use super::power::Power;
use super::rates::RateTable;
use super::tape::{Part, PathGradient, Tape};
use crate::continuous::{JumpMeasure, TiltedMeasure};
use levytilt::potential::Quadratic;
use levytilt::{Chain, Error, Result, Start, StreamRng};
use rand_distr::{Distribution, Exp1, StandardNormal};
use rayon::prelude::*;
use std::sync::Arc;

/// Extra jumps expected in a part of a step, and the share of the way to the centre that a Brownian part moves.
const MOST_EXTRA: f64 = 0.5;
/// Extra jumps expected in a part that may have several large jumps.
const FEW_EXTRA: f64 = 0.02;
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
    fn new((noise, power): (&PaperNoise, &Arc<Power>), [a, c]: [f64; 2]) -> Result<Self> {
        let measure = &noise.measure;
        let (rates, jumps) = (RateTable::new(measure, a), Jumps::new(measure, a, power.clone()));
        Ok(Self { a, c, quadratic: Quadratic::new(a, c)?, rates, jumps })
    }
}

/// What all paths share.
pub(super) struct Walker<'a> {
    chain: &'a Chain<'a>,
    noises: Vec<PaperNoise>,
    options: &'a PaperOptions,
    /// Potentials by time and dimension, dimension fastest.
    tilts: Vec<Tilt>,
}

impl<'a> Walker<'a> {
    /// Paths of a chain under potentials given by a and c, by time and dimension.
    pub fn new(
        chain: &'a Chain<'a>,
        noises: Vec<PaperNoise>,
        potentials: &[[f64; 2]],
        options: &'a PaperOptions,
    ) -> Result<Self> {
        let powers: Vec<Arc<Power>> = noises.iter().map(|noise| power_of(&noise.measure)).collect();
        let tilt = |(place, &at): (usize, &[f64; 2])| {
            let i = place % noises.len();
            Tilt::new((&noises[i], &powers[i]), at)
        };
        let tilts = potentials.par_iter().enumerate().map(tilt).collect::<Result<_>>()?;
        Ok(Self { chain, noises, options, tilts })
    }

    fn dim(&self) -> usize {
        self.noises.len()
    }

    /// Draw a path for each random stream. The first state is drawn from its prior.
    pub fn forward(&self, mut rngs: Vec<StreamRng>) -> Result<Vec<Tape>> {
        let (n, dim) = (self.chain.len(), self.dim());
        let mut tapes: Vec<Tape> = rngs.iter().map(|_| Tape::new(n, dim)).collect();
        let mut x: Vec<f64> = rngs.iter_mut().flat_map(|rng| self.start(rng)).collect();
        let mut before = x.clone();
        for (j, tilts) in self.tilts.chunks_exact(dim).enumerate() {
            if j > 0 {
                before.copy_from_slice(&x);
                self.motion(j, &before, &mut x);
            }
            for ((x, tape), rng) in x.chunks_exact_mut(dim).zip(&mut tapes).zip(&mut rngs) {
                for (i, (x, tilt)) in x.iter_mut().zip(tilts).enumerate() {
                    let jumps = if j > 0 { self.jumps(tilt, (i, j), x, tape, rng)? } else { (0, 0.0) };
                    if !x.is_finite() {
                        let time = self.chain.times()[j];
                        let why = format!("the state at time {time} is not finite; use shorter steps");
                        return Err(Error::Numerical { what: "posterior path", why });
                    }
                    tape.end(j, (*x, self.chain.log_likelihood(i, j, *x)), jumps);
                }
            }
        }
        tapes.iter_mut().for_each(|tape| tape.finish(dim));
        Ok(tapes)
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

    /// States after the drift of step `j`.
    fn motion(&self, j: usize, x: &[f64], out: &mut [f64]) {
        let (part, factor) = self.stride(j);
        self.chain.drift().flow_many(self.chain.times()[j - 1], part, x, out);
        if factor != 1.0 {
            out.iter_mut().zip(x).for_each(|(out, x)| *out = x + factor * (*out - x));
        }
    }

    /// Carry gradients `mu` after the drift of step `j` to the states `x` before; a row of those in the parameters is added
    /// to `by` for each path.
    fn pull_back(&self, j: usize, x: &[f64], mu: &mut [f64], space: &mut [Vec<f64>; 2], by: &mut [f64]) {
        let ((part, factor), t) = (self.stride(j), self.chain.times()[j - 1]);
        let [out, carried] = space;
        let mut lambda = |_: &[f64], lambda: &mut [f64]| {
            lambda.iter_mut().zip(&*mu).for_each(|(lambda, mu)| *lambda = factor * mu);
        };
        self.chain.drift().pullback_many(t, part, x, &mut lambda, out, carried, by);
        for (mu, carried) in mu.iter_mut().zip(carried) {
            *mu = if factor == 1.0 { *carried } else { *mu + (*carried - factor * *mu) };
        }
    }

    /// Move `x` by the jumps of step `j` in dimension `i`: their number, and the size of the one with the largest mixing
    /// variable.
    fn jumps(
        &self,
        tilt: &Tilt,
        (i, j): (usize, usize),
        x: &mut f64,
        tape: &mut Tape,
        rng: &mut StreamRng,
    ) -> Result<(u32, f64)> {
        let PaperNoise { measure, brownian } = &self.noises[i];
        let (a, variance) = (tilt.a, brownian * brownian);
        let (mut left, mut count, mut largest) = (self.chain.length(j), 0, 0.0f64);
        while left > 0.0 {
            let delta = tilt.c - *x;
            let rates = tilt.rates.at(delta)?;
            let extra = rates.rate - tilt.rates.prior();
            let fast = extra.max(2.0 * a * variance);
            let halvings = if fast * left > MOST_EXTRA { (fast * left / MOST_EXTRA).log2().ceil() as i32 } else { 0 };
            let h = left * 0.5f64.powi(halvings.min(MOST_HALVINGS));
            let tilted = measure.tilted(tilt.quadratic, *x);
            let until = if extra * h > FEW_EXTRA { Until::LargeJump } else { Until::End };
            let drawn = tilt.jumps.draw(&tilted, (delta, rates.rate), (h, until), rng)?;
            let unused = 1.0 - drawn.time / h;
            let h = drawn.time;
            (count, largest) = (count + drawn.count, largest.max(drawn.largest));
            let v_by_a = (drawn.v - drawn.v_squared) / a;
            let mut part = Part {
                delta,
                moved: [drawn.v, v_by_a * delta - drawn.noise],
                kl: self.divergence(&tilted, (a, delta), &rates, rng)?.map(|k| k * h),
                unused,
                score: [
                    2.0 * a * delta * drawn.v - h * rates.rate_by_delta,
                    delta * delta * drawn.v + tilted.kappa() * v_by_a - drawn.v / (2.0 * a) - h * rates.rate_by_a,
                ],
            };
            *x += drawn.moved;
            if variance > 0.0 {
                *x += part.diffuse(a, variance * h, rng);
            }
            tape.push(part);
            left = if halvings == 0 && unused == 0.0 { 0.0 } else { left - h };
        }
        Ok((count, largest))
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

    /// The gradient of the sum of some paths' ELBO; `means` are the means over all `paths` of [`Tape::after`].
    pub fn backward(&self, tapes: &[Tape], means: &[f64], paths: usize) -> PathGradient {
        let (n, dim, parameters) = (self.chain.len(), self.dim(), self.chain.drift().parameter_count());
        let scored = match self.options.gradient {
            Gradient::Published => 0.0,
            // W less its mean over the other paths is this multiple of W less its mean over all.
            Gradient::Unbiased => paths as f64 / (paths - 1) as f64,
        };
        let mut sum = PathGradient::zero(self.chain);
        let mut mu = vec![0.0; tapes.len() * dim];
        let (mut before, mut space) = (mu.clone(), [mu.clone(), mu.clone()]);
        let mut by_parameters = vec![0.0; tapes.len() * parameters];
        for j in (1..n).rev() {
            for ((tape, mu), before) in tapes.iter().zip(mu.chunks_exact_mut(dim)).zip(before.chunks_exact_mut(dim)) {
                let mut surplus = scored * (tape.after(j) - means[j]);
                for i in (0..dim).rev() {
                    let place = j * dim + i;
                    mu[i] += self.chain.log_likelihood_slope(i, j, tape.states[place]);
                    for part in tape.parts_of(place).iter().rev() {
                        let own = surplus + scored * part.spared();
                        let slope = |k: usize| mu[i] * part.moved[k] - part.kl[1 + k] + own * part.score[k];
                        let [by_delta, by_a] = [slope(0), slope(1)];
                        sum.tilts[place][0] += by_a;
                        sum.tilts[place][1] += by_delta;
                        mu[i] -= by_delta;
                        surplus -= scored * part.kl[0];
                    }
                }
                before.copy_from_slice(&tape.states[(j - 1) * dim..j * dim]);
            }
            self.pull_back(j, &before, &mut mu, &mut space, &mut by_parameters);
        }
        for row in by_parameters.chunks_exact(parameters.max(1)) {
            sum.drift.iter_mut().zip(row).for_each(|(sum, g)| *sum += g);
        }
        sum
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
