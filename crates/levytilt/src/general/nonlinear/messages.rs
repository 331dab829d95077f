//! Hold the messages that steer particles; `guide` finds them.

use super::super::form::Form;
use super::super::guide::Reach;
use nalgebra::DVector;

/// Messages that steer particles of a model with a nonlinear drift.
#[derive(Debug, Clone)]
pub(in super::super) struct NonlinearGuide {
    pub reach: Reach,
    /// Reference points, per time.
    pub(super) at: Vec<DVector<f64>>,
    /// Per time, the copies of the message from its future.
    pub(super) future: Vec<Vec<Form>>,
    /// Variances that a source takes the later ones of its step to have, step after step, source fastest.
    pub(super) variances: Vec<f64>,
}
