//! Draw all jumps of a tilted measure in some time at once.
//!
//! Tilted jumps are a Poisson process in ϑ of density λρe^{−ρϑ}C. On a bin of v = u/(1 + u), C = e^{κv}/√(1 + u) is at
//! most e^{κv₂}/√(1 + u₁) and at least e^{κv₁}/√(1 + u₂); so a Poisson number of proposals from the upper bounds, each
//! kept with C over its bound, is that process, and most proposals are kept without computing C. Where κ is too
//! large for these bins the number is drawn first and the jumps by [`crate::continuous::JumpSampler`]: the same law.
//!
//! Given their mixing variables jumps are independent, N(vδ, v/(2a)), and a path needs their sum only. The one with the
//! largest mixing variable gets a normal number of its own, all others share one.

use crate::continuous::{JumpMeasure, TiltedMeasure};
use levytilt::{Error, Result, StreamRng};
use rand::RngExt;
use rand_distr::{Distribution, Poisson, StandardNormal};

/// Edges of v between 0 and 1, and the κ up to which they are used.
const COARSE: (f64, &[f64]) = (1.0, &[0.04, 0.15, 0.35, 0.65]);
const FINE: (f64, &[f64]) = (10.0, &[0.02, 0.06, 0.12, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.87, 0.93, 0.97]);
const MOST_BINS: usize = 14;

/// The bins at one precision.
#[derive(Debug, Clone)]
pub(super) struct Jumps {
    a: f64,
    /// −1/ρ.
    exponent: f64,
    prior: f64,
    least_u: f64,
    coarse: Vec<Edge>,
    fine: Vec<Edge>,
}

/// An end of a bin.
#[derive(Debug, Clone, Copy)]
struct Edge {
    v: f64,
    /// 1/√(1 + u).
    g: f64,
    /// e^{−ρϑ}: the share of the prior's jumps beyond.
    beyond: f64,
}

/// What a path and its gradient need of the jumps in some time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Drawn {
    pub count: u32,
    /// Σ v and Σ v².
    pub v: f64,
    pub v_squared: f64,
    /// The largest v.
    most: f64,
    /// Σ of the jumps.
    pub moved: f64,
    /// Minus the derivative in a of the jumps' Gaussian part.
    pub noise: f64,
    /// Size of the jump with the largest mixing variable.
    pub largest: f64,
}

impl Jumps {
    pub fn new(measure: &JumpMeasure, a: f64) -> Self {
        let rho = 0.5 * measure.alpha();
        let least_u = 2.0 * a * (measure.unit() * measure.tau()).powi(2);
        let first = Edge { v: least_u / (1.0 + least_u), g: 1.0 / (1.0 + least_u).sqrt(), beyond: 1.0 };
        let edge = |v: f64| Edge { v, g: (1.0 - v).sqrt(), beyond: (v / (1.0 - v) / least_u).powf(-rho) };
        let edges = |inner: &[f64]| -> Vec<Edge> {
            let inner = inner.iter().copied().filter(|&v| v > first.v).map(edge);
            std::iter::once(first).chain(inner).chain([Edge { v: 1.0, g: 0.0, beyond: 0.0 }]).collect()
        };
        let (coarse, fine) = (edges(COARSE.1), edges(FINE.1));
        Self { a, exponent: -1.0 / rho, prior: measure.rate(), least_u, coarse, fine }
    }

    /// The jumps within `h` at κ and δ = c − x; `rate` is Λ.
    ///
    /// # Errors
    /// More jumps than a Poisson number can count.
    pub fn draw(
        &self,
        tilted: &TiltedMeasure,
        (delta, rate): (f64, f64),
        h: f64,
        rng: &mut StreamRng,
    ) -> Result<Drawn> {
        let kappa = tilted.kappa();
        let mut drawn = Drawn::default();
        if kappa > FINE.0 {
            let count = poisson(rate * h, rng)?;
            if count > 0 {
                let (sampler, unit) = (tilted.sampler()?, tilted.prior().unit());
                for _ in 0..count {
                    let u = 2.0 * self.a * (unit * sampler.mixing(rng)).powi(2);
                    drawn.add(1.0 / (1.0 + 1.0 / u));
                }
            }
        } else {
            self.thin(kappa, h, &mut drawn, rng)?;
        }
        drawn.finish(self.a, delta, rng);
        Ok(drawn)
    }

    fn thin(&self, kappa: f64, h: f64, drawn: &mut Drawn, rng: &mut StreamRng) -> Result<()> {
        let edges = if kappa <= COARSE.0 { &self.coarse } else { &self.fine };
        let bins = edges.len() - 1;
        // Upper and lower bounds of C, and running sums of the proposals' rates in units of λ.
        let (mut high, mut low, mut sums) = ([0.0; MOST_BINS], [0.0; MOST_BINS], [0.0; MOST_BINS]);
        let (mut total, mut power) = (0.0, (kappa * edges[0].v).exp());
        for (k, pair) in edges.windows(2).enumerate() {
            let next = (kappa * pair[1].v).exp();
            (high[k], low[k]) = (next * pair[0].g, power * pair[1].g);
            total += high[k] * (pair[0].beyond - pair[1].beyond);
            (sums[k], power) = (total, next);
        }
        for _ in 0..poisson(self.prior * h * total, rng)? {
            let mark = total * rng.random::<f64>();
            let k = sums[..bins - 1].iter().take_while(|&&sum| sum <= mark).count();
            // What is left of the mark is uniform within the bin.
            let beyond = edges[k + 1].beyond + (sums[k] - mark) / high[k];
            let u = self.least_u * (self.exponent * beyond.ln()).exp();
            let v = 1.0 / (1.0 + 1.0 / u);
            let level = high[k] * rng.random::<f64>();
            if level < low[k] || level < (kappa * v).exp() / (1.0 + u).sqrt() {
                drawn.add(v);
            }
        }
        Ok(())
    }
}

impl Drawn {
    /// A jump; one without end (v not a number because u is 0) cannot be, since a > 0.
    fn add(&mut self, v: f64) {
        self.count += 1;
        self.v += v;
        self.v_squared += v * v;
        self.most = self.most.max(v);
    }

    /// Draw the sum of the jumps given their mixing variables: N(vδ, v/(2a)) for the largest, and for the rest together.
    fn finish(&mut self, a: f64, delta: f64, rng: &mut StreamRng) {
        if self.count == 0 {
            return;
        }
        let mut part = |v: f64, v_squared: f64| {
            let normal: f64 = StandardNormal.sample(rng);
            let gaussian = (0.5 * v / a).sqrt() * normal;
            self.moved += v * delta + gaussian;
            // ∂√(Σv/2a)/∂a = −√(Σv/2a) Σv²/(2aΣv), since a ∂v/∂a = v − v².
            self.noise += gaussian * v_squared / (2.0 * a * v);
            v * delta + gaussian
        };
        self.largest = part(self.most, self.most * self.most).abs();
        let rest = [self.v - self.most, self.v_squared - self.most * self.most];
        if self.count > 1 && rest[0] > 0.0 {
            part(rest[0], rest[1].max(0.0));
        }
    }
}

fn poisson(mean: f64, rng: &mut StreamRng) -> Result<u64> {
    let law = Poisson::new(mean).map_err(|_| Error::Numerical {
        what: "number of jumps",
        why: format!("{mean} jumps are expected in a step; use shorter steps or a larger tau"),
    })?;
    Ok(law.sample(rng) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::RateTable;
    use levytilt::potential::Quadratic;
    use levytilt::stream;

    /// Mean number, Σv and Σ of jumps in 40 000 parts against Λh, ∂Λ/∂κ h and δ times that; κ on both sides of every change
    /// of method. Five standard errors: 18 figures, a false alarm in 10⁵ seeds.
    #[test]
    fn statistics_numbers_and_sums_have_the_means_of_the_tilted_measure() {
        let measure = JumpMeasure::mixture(1.5, 1.0, 0.01, 1.0).unwrap();
        let (n, h) = (40_000, 1e-3);
        for (a, kappa) in [(0.7, 0.3), (0.7, 0.99), (30.0, 1.01), (300.0, 3.0), (30.0, 9.9), (30.0, 10.1)] {
            let delta = f64::sqrt(kappa / a);
            let (jumps, rates) = (Jumps::new(&measure, a), RateTable::new(&measure, a).at(delta).unwrap());
            let tilted = measure.tilted(Quadratic::new(a, delta).unwrap(), 0.0);
            let mut rng = stream(3, (100.0 * kappa) as u64);
            let draws: Vec<Drawn> =
                (0..n).map(|_| jumps.draw(&tilted, (delta, rates.rate), h, &mut rng).unwrap()).collect();
            let check = |name: &str, want: f64, value: &dyn Fn(&Drawn) -> f64| {
                let mean = draws.iter().map(value).sum::<f64>() / n as f64;
                let variance = draws.iter().map(|d| (value(d) - mean).powi(2)).sum::<f64>() / (n * n) as f64;
                assert!((mean - want).abs() < 5.0 * variance.sqrt(), "{name} {a} {kappa}: {mean} {want}");
            };
            let v = h * rates.rate_by_delta / (2.0 * a * delta);
            check("number", rates.rate * h, &|d| f64::from(d.count));
            check("v", v, &|d| d.v);
            check("jumps", v * delta, &|d| d.moved);
        }
    }
}
