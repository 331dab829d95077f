//! One step with tables, whatever the kind of its potential.

use super::{LogSum, SumTable, TiltTable};
use crate::StreamRng;
use crate::noise::Nodes;
use crate::potential::Potential;
use std::sync::Arc;

/// A step tilted by a potential of either kind, with tables.
#[derive(Debug)]
pub enum StepTable {
    /// By one bump.
    Quadratic(TiltTable),
    /// By several.
    Sum(SumTable),
}

impl StepTable {
    /// Tables of the nodes of a step tilted by a potential, empty until paths come.
    pub fn new(nodes: &Arc<Nodes>, potential: &Potential) -> Self {
        match potential {
            Potential::Quadratic(quadratic) => Self::Quadratic(TiltTable::new(nodes.clone(), *quadratic)),
            Potential::Sum(sum) => Self::Sum(SumTable::new(nodes, sum.clone())),
        }
    }

    /// ln Z(x̃) within 1e-9.
    pub fn log_z(&self, x: f64) -> f64 {
        match self {
            Self::Quadratic(table) => table.log_z(x),
            Self::Sum(table) => table.log_z(x),
        }
    }

    /// ∂ ln Z/∂x̃, the pull of the potential on the state before the noise.
    pub fn pull(&self, x: f64) -> f64 {
        match self {
            Self::Quadratic(table) => table.pull(x),
            Self::Sum(table) => table.pull(x),
        }
    }

    /// φ(x).
    #[inline]
    pub fn log_potential(&self, x: f64) -> f64 {
        match self {
            Self::Quadratic(table) => table.potential().log_value(x),
            Self::Sum(table) => table.log_potential(x),
        }
    }

    /// Draw the node and the next state from x̃ and add ln Z(x̃) to a path's log-weight.
    #[inline]
    pub fn advance(&self, x: f64, rng: &mut StreamRng, log_weight: &mut LogSum) -> (usize, f64) {
        match self {
            Self::Quadratic(table) => table.advance(x, rng, log_weight),
            Self::Sum(table) => table.advance(x, rng, log_weight),
        }
    }
}
