//! The same rates by drawing jumps from the prior: the published estimate, without its clipping.

use super::measure::Kernel;
use super::tilted::TiltedMeasure;
use levytilt::{Error, Result, StreamRng};
use rand_distr::{Distribution, Exp1, StandardNormal};

/// A mean over draws.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its standard error, from the draws themselves: too small where rare draws carry the mean (κ above 5 or so).
    pub std_error: f64,
}

/// Rates of a tilted measure estimated on the same draws.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateEstimates {
    /// Λ.
    pub rate: Estimate,
    /// Divergence per time.
    pub divergence_rate: Estimate,
}

impl TiltedMeasure {
    /// Estimate the rates from `draws` ≥ 2 jumps of the prior, each taken with both signs.
    ///
    /// An error if H = e^{φ(x+y)−φ(x)} overflows for a jump drawn (κ above 700).
    pub fn monte_carlo(&self, draws: usize, rng: &mut StreamRng) -> Result<RateEstimates> {
        if draws < 2 {
            let got = format!("{draws} draws");
            return Err(Error::Shape { what: "Monte Carlo", got, expected: "at least 2 draws".into() });
        }
        let (mut rate, mut divergence) = (Mean::default(), Mean::default());
        for _ in 0..draws {
            let [first, second] = self.log_tilts(rng);
            rate.add(0.5 * (first.exp() + second.exp()));
            divergence.add(0.5 * (cost(first) + cost(second)));
        }
        let lambda = self.measure.rate();
        let out = RateEstimates { rate: rate.times(lambda), divergence_rate: divergence.times(lambda) };
        if out.rate.std_error.is_finite() && out.divergence_rate.std_error.is_finite() {
            return Ok(out);
        }
        let why =
            format!("e^{{φ(x+y)−φ(x)}} is too large for a floating-point number at κ = {}; use log_rate", self.kappa);
        Err(Error::Numerical { what: "Monte Carlo estimate of tilted rates", why })
    }

    /// ln H of a jump of the prior and of its mirror image.
    fn log_tilts(&self, rng: &mut StreamRng) -> [f64; 2] {
        let exponential: f64 = Exp1.sample(rng);
        let size = (0.5 * self.u(exponential / self.rho())).sqrt();
        let factor: f64 = match self.measure.kernel() {
            Kernel::Gaussian => StandardNormal.sample(rng),
            Kernel::Sign => 1.0,
        };
        let size = size * factor;
        // ln H = −ay² + 2aδy with y√a = size and δ√a = √κ.
        [1.0, -1.0].map(|sign| size * (2.0 * sign * self.kappa.sqrt() - size))
    }
}

/// H ln H − H + 1 from ln H; 1 where H is 0, also for an infinite jump.
fn cost(log: f64) -> f64 {
    if log < -700.0 { 1.0 } else { log * log.exp() - log.exp_m1() }
}

/// Running mean and sum of squared deviations (Welford).
#[derive(Default)]
struct Mean {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        let before = value - self.mean;
        self.mean += before / self.count;
        self.squares += before * (value - self.mean);
    }

    fn times(&self, factor: f64) -> Estimate {
        let std_error = (self.squares / (self.count - 1.0) / self.count).sqrt();
        Estimate { value: factor * self.mean, std_error: factor * std_error }
    }
}
