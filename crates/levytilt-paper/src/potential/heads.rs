//! Read components off the outputs of the two networks, and propagate gradients back to the outputs.
//!
//! The first network gives the precision ("firmness") of every component. The second gives its linear coefficient
//! ("pull") and, if there are several, its log weight. A single component needs no weight, and its networks are those
//! of the paper.

use super::{real, softplus};
use nalgebra::{DMatrix, RealField, convert};

/// The number of outputs, and the smallest precision.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heads {
    pub dim: usize,
    pub components: usize,
    pub least: f64,
}

/// Initial width of each further component, relative to the one before.
const WIDER: f64 = 3.0;
/// Its initial distance from the frame's centre in its own widths, on alternating sides, so that components can
/// separate.
const ASIDE: f64 = 0.5;
/// Its initial log weight, relative to the one before.
const FAINTER: f64 = -2.0;

impl Heads {
    /// Numbers of outputs of the first and of the second network.
    pub fn outputs(&self) -> [usize; 2] {
        let each = self.dim * self.components;
        [each, if self.components == 1 { each } else { 2 * each }]
    }

    /// Initial biases of the outputs: the first component is what a single one would be, the others are wider and have
    /// less weight.
    pub fn biases(&self) -> [Vec<f64>; 2] {
        let mut biases = self.outputs().map(|count| vec![0.0; count]);
        for m in 1..self.components {
            let firmness = softplus(0.0) * WIDER.powi(-2 * m as i32);
            let side = if m % 2 == 1 { ASIDE } else { -ASIDE };
            for i in 0..self.dim {
                // The inverse of softplus.
                biases[0][self.row(i, m)] = firmness.exp_m1().ln();
                // A component of precision a has the width 1/√2a and the centre b/2a.
                biases[1][self.row(i, m)] = side * (2.0 * firmness).sqrt();
                biases[1][self.weight_row(i, m)] = FAINTER * m as f64;
            }
        }
        biases
    }

    fn row(&self, i: usize, m: usize) -> usize {
        m * self.dim + i
    }

    fn weight_row(&self, i: usize, m: usize) -> usize {
        self.components * self.dim + self.row(i, m)
    }

    /// (log weight, precision, linear coefficient) per time, dimension and component.
    pub fn read<T: RealField + Copy>(&self, firmness: &DMatrix<T>, pull: &DMatrix<T>) -> Vec<Vec<Vec<[f64; 3]>>> {
        let one = |j: usize, i: usize, m: usize| {
            let row = self.row(i, m);
            let weight = if self.components == 1 { 0.0 } else { real(pull[(self.weight_row(i, m), j)]) };
            [weight, self.least + softplus(real(firmness[(row, j)])), real(pull[(row, j)])]
        };
        let all = |j: usize, i: usize| (0..self.components).map(|m| one(j, i, m)).collect();
        (0..firmness.ncols()).map(|j| (0..self.dim).map(|i| all(j, i)).collect()).collect()
    }

    /// Gradients in the outputs of both networks, given those in the result of [`Heads::read`].
    pub fn slopes<T: RealField + Copy>(
        &self,
        firmness: &DMatrix<T>,
        by_bump: &[Vec<Vec<[f64; 3]>>],
    ) -> [DMatrix<T>; 2] {
        let [mut by_firmness, mut by_pull] = self.outputs().map(|rows| DMatrix::zeros(rows, by_bump.len()));
        // softplus' = the logistic function
        let logistic = |u: f64| 1.0 / (1.0 + (-u).exp());
        for (j, dimensions) in by_bump.iter().enumerate() {
            for (i, bumps) in dimensions.iter().enumerate() {
                for (m, [by_weight, by_a, by_b]) in bumps.iter().enumerate() {
                    let row = self.row(i, m);
                    by_firmness[(row, j)] = convert(by_a * logistic(real(firmness[(row, j)])));
                    by_pull[(row, j)] = convert(*by_b);
                    if self.components > 1 {
                        by_pull[(self.weight_row(i, m), j)] = convert(*by_weight);
                    }
                }
            }
        }
        [by_firmness, by_pull]
    }
}
