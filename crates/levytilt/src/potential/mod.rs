//! Represent messages from the future, e^{φ(x)}: Gaussians, or sums of them.

mod gaussian_sum;
mod quadratic;

pub use gaussian_sum::GaussianSum;
pub use quadratic::Quadratic;

/// A potential of either kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Potential {
    /// One Gaussian: dense data.
    Quadratic(Quadratic),
    /// A sum of Gaussians: sparse data.
    Sum(GaussianSum),
}

impl Potential {
    /// φ(x).
    pub fn log_value(&self, x: f64) -> f64 {
        match self {
            Self::Quadratic(quadratic) => quadratic.log_value(x),
            Self::Sum(sum) => sum.log_value(x),
        }
    }

    /// Its components (ln π_m, quadratic); a quadratic is one component with π = 1.
    pub fn bumps(&self) -> Vec<(f64, Quadratic)> {
        match self {
            Self::Quadratic(quadratic) => vec![(0.0, *quadratic)],
            Self::Sum(sum) => sum.components().to_vec(),
        }
    }

    /// The quadratic, unless this is a sum.
    pub fn quadratic(&self) -> Option<Quadratic> {
        match self {
            Self::Quadratic(quadratic) => Some(*quadratic),
            Self::Sum(_) => None,
        }
    }
}

impl From<Quadratic> for Potential {
    fn from(quadratic: Quadratic) -> Self {
        Self::Quadratic(quadratic)
    }
}

impl From<GaussianSum> for Potential {
    fn from(sum: GaussianSum) -> Self {
        Self::Sum(sum)
    }
}
