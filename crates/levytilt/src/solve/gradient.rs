//! Hold slope and information of a log evidence.

use nalgebra::{DMatrix, DVector};

/// Slope and information of the log evidence in all parameters of the model, as they stand (not on the free scale).
#[derive(Debug, Clone)]
pub struct Gradient {
    /// Number of the first parameter covered: 0, or the first behind those of the drift.
    pub first: usize,
    /// Mean complete-data gradient.
    pub slope: DVector<f64>,
    /// Information of a path known exactly: minus the second derivatives of its log-density.
    pub complete: DMatrix<f64>,
    /// The same as products of gradients: equal in the mean if the model is right, and never negative.
    pub products: DMatrix<f64>,
    /// Covariance of the gradient over paths: the information lost.
    pub missing: DMatrix<f64>,
    /// Paths behind the slope, whose covariance is `missing` divided by this; none if the slope is exact.
    pub paths: Option<usize>,
}
