//! What a process does on average in a short time, L h(x) = lim E[h(X_t) − h(x)]/t, before and after the tilt.
//!
//! The tilted generator must equal e^{−φ}\[L(e^φ h) − h L e^φ\], which is how the tilt is derived. The two sides are
//! computed from different formulas here — the prior from the density of jumps, the tilted one from the law of r and
//! Gaussian jumps given r — so that their agreement says something.

use super::integral::{edges, integrate};
use super::measure::JumpMeasure;
use super::tilted::gain;
use super::{Brownian, JumpSize};
use levytilt::Result;
use levytilt::internals::potential::Quadratic;
use std::f64::consts::PI;

/// Drift, Brownian part and jumps of a process at one state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Generator {
    /// Drift f(x) there.
    pub drift: f64,
    /// Brownian part.
    pub brownian: Brownian,
    /// Jumps.
    pub measure: JumpMeasure,
    /// Their size γ.
    pub size: JumpSize,
}

impl Generator {
    /// f h' + ½σ²h'' + ∫(h(x + γy) − h(x)) ν(dy), for a smooth bounded `h`.
    ///
    /// The integral runs over both signs in ln |y| with the density of ν; what is beyond is of order 1e-12.
    pub fn prior(&self, h: &dyn Fn(f64) -> f64, x: f64) -> Result<f64> {
        let measure = self.measure.stretched(self.size.at(x))?;
        let smallest = (measure.unit() * measure.tau()).ln();
        let here = h(x);
        let both = |log: f64| {
            let y = log.exp();
            (h(x + y) + h(x - y) - 2.0 * here) * measure.density(y) * y
        };
        let end = 30.0 / measure.alpha();
        let body = integrate(&both, &edges(smallest - 20.0, smallest + end, 0.5, std::iter::empty()));
        Ok(self.local(self.drift, h, x) + body)
    }

    /// The same for the process tilted by `potential`, from its own jumps: r by its tilted rate, N(vδ, v/(2a)) given r.
    pub fn tilted(&self, potential: Quadratic, h: &dyn Fn(f64) -> f64, x: f64) -> Result<f64> {
        let measure = self.measure.stretched(self.size.at(x))?;
        let tilted = measure.tilted(potential, x);
        let (rho, here) = (0.5 * measure.alpha(), h(x));
        let given_r = |theta: f64| {
            let u = tilted.u(theta);
            let (mean, std) = (gain(u) * tilted.pull, measure.unit() * tilted.r(theta) / (1.0 + u).sqrt());
            let density = |z: f64| (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
            integrate(&|z| density(z) * (h(x + mean + std * z) - here), &edges(-9.0, 9.0, 1.5, std::iter::empty()))
        };
        let rate = |theta: f64| rho * (tilted.log_factor(theta) + tilted.kappa() - rho * theta).exp();
        let body = integrate(
            &|theta| rate(theta) * given_r(theta),
            &edges(0.0, (60.0 / rho).min(600.0), 1.0, std::iter::empty()),
        );
        let drift = self.drift + self.brownian.drift_correction(potential, x);
        Ok(self.local(drift, h, x) + measure.rate() * body)
    }

    /// drift·h' + ½σ²h'' by fourth-order differences.
    fn local(&self, drift: f64, h: &dyn Fn(f64) -> f64, x: f64) -> f64 {
        let step = 2e-3;
        let [a, b, c, d, e] = [-2.0, -1.0, 0.0, 1.0, 2.0].map(|i| h(x + i * step));
        let slope = (a - 8.0 * b + 8.0 * d - e) / (12.0 * step);
        let bend = (-a + 16.0 * b - 30.0 * c + 16.0 * d - e) / (12.0 * step * step);
        drift * slope + 0.5 * self.brownian.sigma().powi(2) * bend
    }
}
