//! Represent the quadratic potential φ(x) = −a(x − c)²: "be near c, with variance 1/(2a)".

use crate::Result;
use crate::error::{finite, non_negative};

/// φ(x) = −a(x − c)² with a ≥ 0; a = 0 carries no information and leaves the prior unchanged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quadratic {
    a: f64,
    c: f64,
}

impl Quadratic {
    /// A potential; an error names a negative or non-finite `a` or a non-finite `c`.
    pub fn new(a: f64, c: f64) -> Result<Self> {
        Ok(Self { a: non_negative("a", a)?, c: finite("c", c)? })
    }

    /// From φ(x) = A x² + B x up to a constant, A < 0: a = −A, c = −B/(2A).
    pub fn from_coefficients(quadratic: f64, linear: f64) -> Result<Self> {
        Self::new(-quadratic, -linear / (2.0 * quadratic))
    }

    /// Precision a (half the inverse variance).
    pub fn a(&self) -> f64 {
        self.a
    }

    /// Centre c.
    pub fn c(&self) -> f64 {
        self.c
    }

    /// φ(x).
    pub fn log_value(&self, x: f64) -> f64 {
        -self.a * (x - self.c) * (x - self.c)
    }
}
