//! Jumps whose size depends on where the process is.
//!
//! A size is a change of unit: γ times the noise under the potential (a, c) is γ times (the noise under (aγ², c/γ)).
//! This holds for a measure ([`JumpMeasure::stretched`](super::JumpMeasure::stretched)) and for a step of a chain alike:
//! a step x' = x̃ + γ(x)J with message (a, c) is `gamma * TiltedStep::new(nodes, Quadratic::new(a * gamma * gamma,
//! c / gamma)?)` at x̃/γ, with the same κ and the same Z.

use levytilt::Result;
use levytilt::internals::error::{non_negative, positive};

/// γ(x) = γ₀ + γ₁|x|, γ₀ > 0, γ₁ ≥ 0: a jump from x is γ(x) times one of the noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JumpSize {
    constant: f64,
    slope: f64,
}

impl Default for JumpSize {
    /// γ = 1.
    fn default() -> Self {
        Self { constant: 1.0, slope: 0.0 }
    }
}

impl JumpSize {
    /// γ₀ + γ₁|x|; an error names a γ₀ that is not positive or a γ₁ that is negative.
    pub fn new(constant: f64, slope: f64) -> Result<Self> {
        Ok(Self { constant: positive("gamma0", constant)?, slope: non_negative("gamma1", slope)? })
    }

    /// γ(x).
    pub fn at(&self, x: f64) -> f64 {
        self.constant + self.slope * x.abs()
    }

    /// Smallest and largest γ between two states.
    pub fn range(&self, from: f64, to: f64) -> (f64, f64) {
        let (first, second) = (self.at(from), self.at(to));
        let least = if from * to < 0.0 { self.constant } else { first.min(second) };
        (least, first.max(second))
    }
}
