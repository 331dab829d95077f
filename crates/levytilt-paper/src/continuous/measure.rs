//! The rate of jumps before any tilt: r of rate 2r^{−1−α}dr on [τ, ∞), jump s·r times a random sign or normal number.

use levytilt::Result;
use levytilt::internals::error::{check, positive};
use levytilt::noise::TruncatedStable;
use spec_math::cephes64::{gamma, igam};
use std::f64::consts::PI;

/// What multiplies s·r in a jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// A standard normal number.
    Gaussian,
    /// A fair sign.
    Sign,
}

/// Jumps per time of a truncated stable noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JumpMeasure {
    alpha: f64,
    tau: f64,
    /// Size s of a jump with r = 1.
    unit: f64,
    kernel: Kernel,
}

impl From<&TruncatedStable> for JumpMeasure {
    /// The jumps of a noise: a mixture.
    fn from(noise: &TruncatedStable) -> Self {
        let (alpha, tau, unit) = noise.jump_law();
        Self { alpha, tau, unit, kernel: Kernel::Gaussian }
    }
}

impl JumpMeasure {
    /// Jumps scale·σ_G·r·Z: those of [`TruncatedStable`] with the same parameters.
    pub fn mixture(alpha: f64, scale: f64, tau: f64, sigma_g: f64) -> Result<Self> {
        Ok(Self::from(&TruncatedStable::new(alpha, scale, tau, sigma_g)?))
    }

    /// Jumps ±scale·r, of rate density |y/scale|^{−1−α}/scale on |y| ≥ scale·τ.
    pub fn power_law(alpha: f64, scale: f64, tau: f64) -> Result<Self> {
        Ok(Self { kernel: Kernel::Sign, ..Self::mixture(alpha, scale, tau, 1.0)? })
    }

    /// The same measure with jumps `factor` times as large.
    pub fn stretched(&self, factor: f64) -> Result<Self> {
        positive("jump size factor", factor)?;
        let unit = check("jump size", factor * self.unit, true, "must be a finite number: use a smaller size factor")?;
        Ok(Self { unit, ..*self })
    }

    /// Rate of jumps λ = 2/(α τ^α).
    pub fn rate(&self) -> f64 {
        2.0 / (self.alpha * self.tau.powf(self.alpha))
    }

    /// Index α.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Smallest r.
    pub fn tau(&self) -> f64 {
        self.tau
    }

    /// Size s of a jump with r = 1.
    pub fn unit(&self) -> f64 {
        self.unit
    }

    /// What multiplies s·r.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Rate density of jumps of size `y`.
    ///
    /// For a mixture, with q = (1+α)/2 and γ(·,·) the lower incomplete gamma function,
    /// (y²/2s²)^{−q} γ(q, y²/(2s²τ²))/(s√2π): flat below s·τ, a power beyond.
    pub fn density(&self, y: f64) -> f64 {
        let size = y.abs() / self.unit;
        if self.kernel == Kernel::Sign {
            return if size < self.tau { 0.0 } else { size.powf(-1.0 - self.alpha) / self.unit };
        }
        let q = 0.5 * (1.0 + self.alpha);
        let x = 0.5 * (size / self.tau).powi(2);
        let norm = self.tau.powf(-2.0 * q) / (self.unit * (2.0 * PI).sqrt());
        // Below, γ(q, x) = x^q/q to rounding, and the quotient of two underflows is avoided.
        norm * if x < 1e-20 { 1.0 / q } else { x.powf(-q) * igam(q, x) * gamma(q) }
    }
}
