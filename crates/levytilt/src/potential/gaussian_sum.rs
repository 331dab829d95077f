//! Represent a sum of Gaussians, e^{φ(x)} = Σ_m π_m exp(−a_m(x − c_m)²): curved near its target and nearly flat far
//! away.

use super::Quadratic;
use crate::error::finite;
use crate::{Error, Result};

/// A Gaussian-sum potential with components (ln π_m, quadratic); the π_m need not sum to one.
#[derive(Debug, Clone, PartialEq)]
pub struct GaussianSum {
    components: Vec<(f64, Quadratic)>,
}

impl GaussianSum {
    /// A sum of at least one component with finite log-weights.
    pub fn new(components: Vec<(f64, Quadratic)>) -> Result<Self> {
        if components.is_empty() {
            return Err(Error::Shape {
                what: "Gaussian sum",
                got: "0 components".into(),
                expected: "at least 1 component".into(),
            });
        }
        for (m, (log_weight, _)) in components.iter().enumerate() {
            finite(&format!("log weight of component {m}"), *log_weight)?;
        }
        Ok(Self { components })
    }

    /// Components (ln π_m, quadratic).
    pub fn components(&self) -> &[(f64, Quadratic)] {
        &self.components
    }

    /// φ(x) = ln Σ_m π_m exp(−a_m(x − c_m)²), relative to the largest term, so it never underflows.
    pub fn log_value(&self, x: f64) -> f64 {
        let terms = self.components.iter().map(|(log_weight, q)| log_weight + q.log_value(x));
        let top = terms.clone().fold(f64::NEG_INFINITY, f64::max);
        top + terms.map(|t| (t - top).exp()).sum::<f64>().ln()
    }
}
