//! Describe messages from the future, e^{φ(x)}: where the data want the state to be, and how firmly.

mod gaussian_sum;
mod quadratic;

pub use gaussian_sum::GaussianSum;
pub use quadratic::Quadratic;
