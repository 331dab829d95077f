//! Multiply matrices that lie row by row: large ones by blocks in registers, thin ones row by row.

use super::Var;
use nalgebra::{DMatrixView, DMatrixViewMut, Dyn};
use pulp::{Arch, NullaryFnOnce};

/// Below this size in any direction the packing of blocks costs more than it saves.
const THIN: usize = 6;

/// out += a b for a of (rows, inner) and b of (inner, columns).
pub(super) fn add_product(a: &[f32], b: &[f32], columns: usize, out: &mut [f32]) {
    let (inner, rows) = (b.len() / columns, out.len() / columns);
    if is_thin(rows, inner, columns) {
        let pairs = out.chunks_exact_mut(columns).zip(a.chunks_exact(inner));
        return pairs.for_each(|(out, a)| add_row(a, b, out, Order::Forwards));
    }
    let (a, b) = (DMatrixView::from_slice(a, inner, rows), DMatrixView::from_slice(b, columns, inner));
    DMatrixViewMut::from_slice(out, columns, rows).gemm(1.0, &b, &a, 1.0);
}

/// out += aᵀ b for a of (inner, rows) and b of (inner, columns).
pub(super) fn add_transposed_product(a: &[f32], b: &[f32], columns: usize, out: &mut [f32]) {
    let (inner, rows) = (b.len() / columns, out.len() / columns);
    if is_thin(rows, inner, columns) {
        let mut across = vec![0.0; inner];
        for (i, out) in out.chunks_exact_mut(columns).enumerate() {
            across.iter_mut().zip(a[i..].iter().step_by(rows)).for_each(|(across, a)| *across = *a);
            add_row(&across, b, out, Order::Forwards);
        }
        return;
    }
    let b = DMatrixView::from_slice(b, columns, inner);
    DMatrixViewMut::from_slice(out, columns, rows).gemm(1.0, &b, &transposed(a, inner, rows), 1.0);
}

/// out += a bᵀ for a of (rows, inner) and b of (columns, inner).
pub(super) fn add_product_transposed(a: &[f32], b: &[f32], inner: usize, out: &mut [f32]) {
    let (rows, columns) = (a.len() / inner, b.len() / inner);
    if is_thin(rows, inner, columns) {
        let pairs = out.chunks_exact_mut(columns).zip(a.chunks_exact(inner));
        return pairs.for_each(|(out, a)| add_dots(a, b, out));
    }
    let a = DMatrixView::from_slice(a, inner, rows);
    DMatrixViewMut::from_slice(out, columns, rows).gemm(1.0, &transposed(b, columns, inner), &a, 1.0);
}

/// A matrix that lies row by row, as the library sees it: column by column unless told the strides.
fn transposed(a: &[f32], rows: usize, columns: usize) -> DMatrixView<'_, f32, Dyn, Dyn> {
    DMatrixView::<f32, Dyn, Dyn>::from_slice_with_strides(a, rows, columns, columns, 1)
}

/// Order in which the rows of a matrix are read: when the same matrix follows at once, backwards, what was read last is still
/// in the cache.
#[derive(Clone, Copy)]
pub(super) enum Order {
    Forwards,
    Backwards,
}

impl Order {
    /// The two in turn.
    pub fn of(t: usize) -> Self {
        if t.is_multiple_of(2) { Self::Forwards } else { Self::Backwards }
    }

    /// Number `k` of `count` in this order.
    #[inline(always)]
    fn place(self, k: usize, count: usize) -> usize {
        match self {
            Self::Forwards => k,
            Self::Backwards => count - 1 - k,
        }
    }
}

/// out += a B for one row, eight rows of B at a time so that `out` is read and written less.
pub(super) fn add_row(a: &[f32], b: &[f32], out: &mut [f32], order: Order) {
    Arch::new().dispatch(AddRow { a, b, out, order });
}

struct AddRow<'a> {
    a: &'a [f32],
    b: &'a [f32],
    out: &'a mut [f32],
    order: Order,
}

/// Compiled for the vectors of this processor; closures would not be.
impl NullaryFnOnce for AddRow<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { a, b, out, order } = self;
        let (columns, count) = (out.len(), a.len().div_ceil(8));
        for k in 0..count {
            let first = 8 * order.place(k, count);
            let a = &a[first..a.len().min(first + 8)];
            add_few_rows(a, &b[first * columns..][..a.len() * columns], out);
        }
    }
}

#[inline(always)]
fn add_few_rows(a: &[f32], rows: &[f32], out: &mut [f32]) {
    match a.len() {
        8 => add_rows::<8>(a, rows, out),
        5 => add_rows::<5>(a, rows, out),
        4 => add_rows::<4>(a, rows, out),
        _ => {
            for (a, row) in a.iter().zip(rows.chunks_exact(out.len())) {
                add_rows::<1>(&[*a], row, out);
            }
        }
    }
}

/// out += Σₖ aₖ bₖ over the K rows of B.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "one index into several slices")]
fn add_rows<const K: usize>(a: &[f32], b: &[f32], out: &mut [f32]) {
    let columns = out.len();
    let weights: [f32; K] = std::array::from_fn(|k| a[k]);
    let rows: [&[f32]; K] = std::array::from_fn(|k| &b[k * columns..][..columns]);
    for j in 0..columns {
        let mut sum = 0.0;
        for k in 0..K {
            sum += weights[k] * rows[k][j];
        }
        out[j] += sum;
    }
}

/// out += B a: the inner product of `a` with every row of B, four rows at a time so that `a` is read less.
pub(super) fn add_dots(a: &[f32], b: &[f32], out: &mut [f32]) {
    let inner = a.len();
    let (fours, rest) = out.as_chunks_mut::<4>();
    let (blocks, tail) = b.split_at(4 * inner * fours.len());
    for (out, block) in fours.iter_mut().zip(blocks.chunks_exact(4 * inner)) {
        let sums = dots::<4>(a, block);
        (0..4).for_each(|k| out[k] += sums[k]);
    }
    rest.iter_mut().zip(tail.chunks_exact(inner)).for_each(|(out, row)| *out += dot(row, a));
}

/// Matrices of parameters, transposed when they are first asked for; room is kept when they are forgotten.
#[derive(Default)]
pub(super) struct Transposes {
    known: Vec<(Var, Vec<f32>)>,
    valid: usize,
}

impl Transposes {
    pub fn clear(&mut self) {
        self.valid = 0;
    }

    /// The transpose of a matrix with these numbers.
    pub fn get(&mut self, matrix: Var, values: &[f32], columns: usize) -> &[f32] {
        let Self { known, valid } = self;
        let place = known[..*valid].iter().position(|(known, _)| *known == matrix).unwrap_or_else(|| {
            if *valid == known.len() {
                known.push((matrix, Vec::new()));
            }
            let (name, out) = &mut known[*valid];
            *name = matrix;
            transpose(values, columns, out);
            *valid += 1;
            *valid - 1
        });
        &known[place].1
    }
}

/// By squares, so that both matrices are read and written in lines.
fn transpose(values: &[f32], columns: usize, out: &mut Vec<f32>) {
    const SIDE: usize = 16;
    let rows = values.len() / columns;
    out.resize(values.len(), 0.0);
    for top in (0..rows).step_by(SIDE) {
        for left in (0..columns).step_by(SIDE) {
            for j in left..(left + SIDE).min(columns) {
                for i in top..(top + SIDE).min(rows) {
                    out[j * rows + i] = values[i * columns + j];
                }
            }
        }
    }
}

/// Whether a product is computed row by row.
pub(super) fn is_thin(rows: usize, inner: usize, columns: usize) -> bool {
    rows.min(inner).min(columns) < THIN
}

/// Inner product.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    dots::<1>(a, b)[0]
}

/// Inner products of `a` with K rows, in eight partial sums each, which the compiler keeps in vector registers.
#[allow(clippy::needless_range_loop, reason = "one index into several slices")]
fn dots<const K: usize>(a: &[f32], rows: &[f32]) -> [f32; K] {
    let inner = a.len();
    let (a_chunks, a_rest) = a.as_chunks::<8>();
    let rows: [(&[[f32; 8]], &[f32]); K] = std::array::from_fn(|k| rows[k * inner..][..inner].as_chunks::<8>());
    let mut sums = [[0.0f32; 8]; K];
    for (c, a) in a_chunks.iter().enumerate() {
        for k in 0..K {
            let row = &rows[k].0[c];
            for l in 0..8 {
                sums[k][l] += a[l] * row[l];
            }
        }
    }
    std::array::from_fn(|k| {
        let [s0, s1, s2, s3, s4, s5, s6, s7] = sums[k];
        let rest: f32 = a_rest.iter().zip(rows[k].1).map(|(x, y)| x * y).sum();
        rest + ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, phase: f64) -> Vec<f32> {
        (0..count).map(|k| (phase + 1.7 * k as f64).sin() as f32).collect()
    }

    /// Entry (i, j) of the sum over k of f(i, k) g(k, j), in double precision.
    fn check(
        out: &[f32],
        (inner, columns): (usize, usize),
        f: impl Fn(usize, usize) -> f32,
        g: impl Fn(usize, usize) -> f32,
    ) {
        for (k, got) in out.iter().enumerate() {
            let (i, j) = (k / columns, k % columns);
            let sum: f64 = (0..inner).map(|l| f64::from(f(i, l)) * f64::from(g(l, j))).sum();
            assert!((f64::from(*got) - 0.5 - sum).abs() < 1e-5 * (1.0 + inner as f64), "({i}, {j}): {got} {sum}");
        }
    }

    #[test]
    fn identity_transposes_and_backwards_sums() {
        for (rows, columns) in [(1, 1), (3, 40), (33, 17)] {
            let values = numbers(rows * columns, 0.4);
            let mut flipped = Vec::new();
            transpose(&values, columns, &mut flipped);
            assert!((0..values.len()).all(|k| values[k] == flipped[(k % columns) * rows + k / columns]));
            let a = numbers(rows, 0.9);
            let (mut forwards, mut backwards) = (vec![0.0; columns], vec![0.0; columns]);
            add_row(&a, &values, &mut forwards, Order::Forwards);
            add_row(&a, &values, &mut backwards, Order::Backwards);
            assert!(forwards.iter().zip(&backwards).all(|(x, y)| (x - y).abs() < 1e-5));
        }
    }

    #[test]
    fn identity_products_agree_with_plain_sums() {
        for (rows, inner, columns) in
            [(1, 1, 1), (1, 20, 33), (5, 64, 64), (6, 6, 6), (7, 3, 9), (17, 40, 23), (9, 65, 2)]
        {
            let (a, b) = (numbers(rows * inner, 0.3), numbers(inner * columns, 1.1));
            let mut out = vec![0.5; rows * columns];
            add_product(&a, &b, columns, &mut out);
            check(&out, (inner, columns), |i, l| a[i * inner + l], |l, j| b[l * columns + j]);
            out.fill(0.5);
            add_transposed_product(&a, &b, columns, &mut out);
            check(&out, (inner, columns), |i, l| a[l * rows + i], |l, j| b[l * columns + j]);
            out.fill(0.5);
            add_product_transposed(&a, &b, inner, &mut out);
            check(&out, (inner, columns), |i, l| a[i * inner + l], |l, j| b[j * inner + l]);
        }
    }
}
