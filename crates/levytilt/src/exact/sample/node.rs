//! Hold a node of a step's increments in units of the grid.

use std::f64::consts::PI;

/// A node: mean and variance in cells, its weight, and whether it counts as a jump.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub mean: f64,
    pub variance: f64,
    pub sd: f64,
    pub weight: f64,
    pub jump: bool,
    /// ln w − ½ ln(2πS), the height of its density.
    pub log_height: f64,
}

impl Node {
    /// A node of this mean and variance.
    pub fn new(mean: f64, variance: f64, weight: f64, jump: bool) -> Self {
        let log_height = weight.ln() - 0.5 * (2.0 * PI * variance).ln();
        Self { mean, variance, sd: variance.sqrt(), weight, jump, log_height }
    }
}
