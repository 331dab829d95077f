//! Put layers and matrix products on the tape.

use super::product::{add_product, add_product_transposed, add_transposed_product, is_thin};
use super::{Activation, Back, Node, Op, Tape, Var};

impl Tape {
    /// f(x W + b), for x of (rows, inputs), W of (inputs, outputs) and b of (1, outputs).
    pub fn dense(&mut self, x: Var, weight: Var, bias: Var, activation: Activation) -> Var {
        let ((rows, inputs), (fed, outputs)) = (self.shape(x), self.shape(weight));
        assert_eq!((inputs, (1, outputs)), (fed, self.shape(bias)), "shapes of a layer");
        let op = Op::Dense { x, weight, bias, activation };
        self.record(op, &[x, weight, bias], (rows, outputs), 0, |past, out, _| {
            let bias = past.value(bias);
            out.chunks_exact_mut(outputs).for_each(|row| row.copy_from_slice(bias));
            add_product(past.value(x), past.value(weight), outputs, out);
            activation.apply(out);
        })
    }

    /// x M.
    pub fn product(&mut self, x: Var, matrix: Var) -> Var {
        let ((rows, inner), (same, columns)) = (self.shape(x), self.shape(matrix));
        assert_eq!(inner, same, "shapes of a product");
        self.record(Op::Product { x, matrix }, &[x, matrix], (rows, columns), 0, |past, out, _| {
            add_product(past.value(x), past.value(matrix), columns, out);
        })
    }
}

/// With D = G ∘ f'(x W + b): D Wᵀ in x, xᵀ D in W, the sum of the rows of D in b.
pub(super) fn pull_dense(mut back: Back, x: Var, weight: Var, bias: Var, activation: Activation, slope: &mut [f32]) {
    activation.pull(back.result(), slope);
    if let Some(by_bias) = back.slope(bias) {
        for row in slope.chunks_exact(by_bias.len()) {
            by_bias.iter_mut().zip(row).for_each(|(by_bias, g)| *by_bias += g);
        }
    }
    pull_product(back, x, weight, slope);
}

/// G Mᵀ in x, xᵀ G in M.
pub(super) fn pull_product(mut back: Back, x: Var, matrix: Var, slope: &mut [f32]) {
    let (columns, xs, values) = (back.node.columns, back.value(x), back.value(matrix));
    if let Some(by_matrix) = back.slope(matrix) {
        add_transposed_product(xs, slope, columns, by_matrix);
    }
    let (rows, inner) = (back.node.rows, back.columns(x));
    let parameter = matches!(back.nodes[matrix.0], Node { op: Op::Leaf, learned: true, .. });
    match back.slope(x) {
        Some(_) if parameter && is_thin(rows, inner, columns) => back.add_thin(x, matrix, slope),
        Some(by_x) => add_product_transposed(slope, values, columns, by_x),
        None => {}
    }
}
