//! What a tilt does to a Brownian part: it adds the drift σ²φ'(x) and leaves the diffusion as it is.

use levytilt::Result;
use levytilt::internals::error::non_negative;
use levytilt::internals::potential::Quadratic;

/// A Brownian motion with standard deviation σ per √time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Brownian {
    sigma: f64,
}

impl Brownian {
    /// An error names a σ that is negative or not finite.
    pub fn new(sigma: f64) -> Result<Self> {
        Ok(Self { sigma: non_negative("brownian", sigma)? })
    }

    /// σ.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// σ²φ'(x) = 2aσ²(c − x), what the tilt adds to the drift.
    pub fn drift_correction(&self, potential: Quadratic, x: f64) -> f64 {
        2.0 * potential.a() * self.sigma * self.sigma * (potential.c() - x)
    }

    /// ½σ²φ'(x)², the divergence per time.
    pub fn divergence_rate(&self, potential: Quadratic, x: f64) -> f64 {
        -2.0 * potential.a() * self.sigma * self.sigma * potential.log_value(x)
    }

    /// The tilted Brownian part alone over `dt` from `x`, for a standard normal number: dX = σ²φ'(X)dt + σ dB is an
    /// Ornstein–Uhlenbeck process of rate k = 2aσ², X' = c + (x − c)e^{−k·dt} + σ√((1 − e^{−2k·dt})/(2k)) · normal.
    pub fn step(&self, potential: Quadratic, dt: f64, x: f64, normal: f64) -> f64 {
        let k = 2.0 * potential.a() * self.sigma * self.sigma * dt;
        let variance = if k == 0.0 { 1.0 } else { -(-2.0 * k).exp_m1() / (2.0 * k) };
        x - (potential.c() - x) * (-k).exp_m1() + self.sigma * (dt * variance).sqrt() * normal
    }
}
