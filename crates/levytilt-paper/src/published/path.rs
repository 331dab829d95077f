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
//! Where the size of the noise depends on the state, γ at the start of the step multiplies all that the noise does in it, as in the
//! library's chain: the jumps are those of the measure stretched by γ.
//!
//! With δ = c − x and v_i of jump i, a part moves x by Σ v_i δ and a Gaussian number, and the log density of its N, r_i
//! and length h has the gradient Σ ∂ln C_i − h ∂Λ.

use super::jumps::{Drawn, Jumps, Until, power_of};
use super::options::{Gradient, Kl, Motion, PaperOptions};
use super::power::Power;
use super::rates::RateTable;
use super::tape::{NoiseSlopes, Part, PathGradient, Tape};
use crate::continuous::{JumpMeasure, TiltedMeasure};
use levytilt::internals::potential::Quadratic;
use levytilt::internals::{Chain, Size};
use levytilt::{Error, Result, Start, StreamRng};
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

impl PaperNoise {
    /// All that it does times `factor`.
    fn stretched(&self, factor: f64) -> Result<Self> {
        Ok(Self { measure: self.measure.stretched(factor)?, brownian: factor * self.brownian })
    }
}

/// The potential of one dimension and step, and its rates.
#[derive(Debug)]
pub(super) struct Tilt {
    a: f64,
    c: f64,
    quadratic: Quadratic,
    rates: RateTable,
    /// Derivatives of the rates in α, if wanted.
    by_alpha: Option<RateTable>,
    jumps: Jumps,
}

impl Tilt {
    fn new((noise, power): (&PaperNoise, &Arc<Power>), [a, c]: [f64; 2], slopes: Slopes) -> Result<Self> {
        let (measure, alpha) = (&noise.measure, slopes == Slopes::WithNoise);
        let (rates, jumps) = (RateTable::new(measure, a), Jumps::new(measure, a, power.clone(), alpha));
        let by_alpha = alpha.then(|| RateTable::by_alpha(measure, a));
        Ok(Self { a, c, quadratic: Quadratic::new(a, c)?, rates, by_alpha, jumps })
    }
}

/// Which slopes of the ELBO are wanted beside those of the potentials and the drift.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slopes {
    /// None.
    Plain,
    /// Those in the parameters of the noise and of its size.
    WithNoise,
}

/// What all paths share.
pub(super) struct Walker<'a> {
    chain: &'a Chain<'a>,
    noises: Vec<PaperNoise>,
    powers: Vec<Arc<Power>>,
    options: &'a PaperOptions,
    /// Potentials by time and dimension, dimension fastest.
    tilts: Vec<Tilt>,
    /// γ(x), of a single dimension.
    size: Option<&'a Size>,
    slopes: Slopes,
}

impl<'a> Walker<'a> {
    /// Paths of a chain under potentials given by a and c, by time and dimension.
    pub fn new(
        chain: &'a Chain<'a>,
        noises: Vec<PaperNoise>,
        potentials: &[[f64; 2]],
        options: &'a PaperOptions,
        slopes: Slopes,
    ) -> Result<Self> {
        let powers: Vec<Arc<Power>> = noises.iter().map(|noise| power_of(&noise.measure)).collect();
        let tilt = |(place, &at): (usize, &[f64; 2])| {
            let i = place % noises.len();
            Tilt::new((&noises[i], &powers[i]), at, slopes)
        };
        let tilts = potentials.par_iter().enumerate().map(tilt).collect::<Result<_>>()?;
        let size = chain.model().dimensions[0].size.as_ref();
        Ok(Self { chain, noises, powers, options, tilts, size, slopes })
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
            let mut sizes = Vec::new();
            if j > 0 {
                before.copy_from_slice(&x);
                self.motion(j, &before, &mut x);
                if let Some(size) = self.size {
                    sizes = size.slopes(self.chain.times()[j - 1], &before)?;
                }
            }
            let mut sizes = sizes.chunks_exact((sizes.len() / rngs.len()).max(1));
            for ((x, tape), rng) in x.chunks_exact_mut(dim).zip(&mut tapes).zip(&mut rngs) {
                let size = sizes.next();
                tape.sizes.extend(size.unwrap_or_default());
                for (i, (x, tilt)) in x.iter_mut().zip(tilts).enumerate() {
                    let jumps = match size {
                        _ if j == 0 => (0, 0.0),
                        None => self.jumps(tilt, (&self.noises[i], j), x, tape, rng)?,
                        Some(size) => {
                            let noise = self.noises[i].stretched(size[0])?;
                            let own = Tilt::new((&noise, &self.powers[i]), [tilt.a, tilt.c], self.slopes)?;
                            self.jumps(&own, (&noise, j), x, tape, rng)?
                        }
                    };
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

    /// Move `x` by the jumps of `noise` in step `j`: their number, and the size of the one with the largest mixing
    /// variable.
    fn jumps(
        &self,
        tilt: &Tilt,
        (noise, j): (&PaperNoise, usize),
        x: &mut f64,
        tape: &mut Tape,
        rng: &mut StreamRng,
    ) -> Result<(u32, f64)> {
        let PaperNoise { measure, brownian } = noise;
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
                log_density: [
                    2.0 * a * delta * drawn.v - h * rates.rate_by_delta,
                    delta * delta * drawn.v + tilted.kappa() * v_by_a - drawn.v / (2.0 * a) - h * rates.rate_by_a,
                ],
            };
            let mut slopes = self.noise_slopes(tilt, (&tilted, delta), (&drawn, &rates))?;
            *x += drawn.moved;
            if variance > 0.0 {
                // γ multiplies the Brownian part too, the scale does not.
                let slopes = slopes.as_mut().filter(|_| self.size.is_some());
                *x += part.diffuse(a, variance * h, rng, slopes);
            }
            tape.push(part, slopes);
            left = if halvings == 0 && unused == 0.0 { 0.0 } else { left - h };
        }
        Ok((count, largest))
    }

    /// What jumps add to the gradient in the noise, if that is wanted.
    fn noise_slopes(
        &self,
        tilt: &Tilt,
        (tilted, delta): (&TiltedMeasure, f64),
        (drawn, rates): (&Drawn, &super::Rates),
    ) -> Result<Option<NoiseSlopes>> {
        if self.size.is_none() && self.slopes == Slopes::Plain {
            return Ok(None);
        }
        let (h, v) = (drawn.time, drawn.v);
        let by_log_u = v - drawn.v_squared;
        let mut slopes = NoiseSlopes {
            // The Gaussian part is √(v/2a) times a normal number.
            moved: by_log_u * delta + 0.5 * (drawn.moved - v * delta) - tilt.a * drawn.noise,
            kl: [h * rates.divergence_by_log_u, 0.0],
            log_density: [tilted.kappa() * by_log_u - 0.5 * v - h * rates.rate_by_log_u, 0.0],
        };
        if let Some(table) = &tilt.by_alpha {
            let by_alpha = table.at(delta)?;
            let log_r = f64::from(drawn.count) * tilted.prior().tau().ln() + 0.5 * drawn.theta;
            slopes.kl[1] = h * by_alpha.divergence;
            slopes.log_density[1] = -log_r - h * by_alpha.rate;
        }
        Ok(Some(slopes))
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
            Kl::Series => [tilted.expansion()?.divergence_rate, quadrature[1], quadrature[2]],
            Kl::MonteCarlo => symmetric(&tilted.prior(), at, self.options.kl_draws, rng)?,
        })
    }

    /// Add the derivatives of a path's log-likelihood in the standard deviations of Gaussian errors: (r²/σ² − 1)/σ each.
    fn add_errors(&self, tape: &Tape, sum: &mut [f64]) {
        let dim = self.dim();
        for (place, x) in tape.states.iter().enumerate() {
            let (i, j) = (place % dim, place / dim);
            let (y, std) = (self.chain.value(i, j), self.chain.model().dimensions[i].observation_std);
            if !y.is_nan() {
                sum[i] += (((y - x) / std).powi(2) - 1.0) / std;
            }
        }
    }

    /// Carry gradients in the logarithm of γ of step `j` to the states before it, and add those in its parameters to `sum`.
    fn pull_back_size(&self, j: usize, (tapes, by_size): (&[Tape], &[f64]), mu: &mut [f64], sum: &mut [f64]) {
        if self.size.is_none() {
            return;
        }
        let width = 2 + sum.len();
        for ((tape, by), mu) in tapes.iter().zip(by_size).zip(mu) {
            let row = &tape.sizes[(j - 1) * width..j * width];
            *mu += by * row[1] / row[0];
            sum.iter_mut().zip(&row[2..]).for_each(|(sum, slope)| *sum += by * slope / row[0]);
        }
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
        let mut by_size = vec![0.0; tapes.len()];
        for j in (1..n).rev() {
            by_size.fill(0.0);
            for (((tape, mu), before), by_size) in
                tapes.iter().zip(mu.chunks_exact_mut(dim)).zip(before.chunks_exact_mut(dim)).zip(&mut by_size)
            {
                let mut surplus = scored * (tape.after(j) - means[j]);
                for i in (0..dim).rev() {
                    let place = j * dim + i;
                    mu[i] += self.chain.log_likelihood_slope(i, j, tape.states[place]);
                    let mut noise = tape.noise_of(place).iter().rev();
                    for part in tape.parts_of(place).iter().rev() {
                        let own = surplus + scored * part.spared();
                        if let Some(noise) = noise.next() {
                            let by_log_u = mu[i] * noise.moved - noise.kl[0] + own * noise.log_density[0];
                            *by_size += 2.0 * by_log_u;
                            sum.noise[i][0] += own * noise.log_density[1] - noise.kl[1];
                            sum.noise[i][1] += 2.0 * by_log_u;
                        }
                        let slope = |k: usize| mu[i] * part.moved[k] - part.kl[1 + k] + own * part.log_density[k];
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
            self.pull_back_size(j, (tapes, &by_size), &mut mu, &mut sum.size);
        }
        if self.slopes == Slopes::WithNoise {
            tapes.iter().for_each(|tape| self.add_errors(tape, &mut sum.errors));
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
