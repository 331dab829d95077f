//! Multiply matrices that lie row by row: large ones by blocks in registers, thin ones row by row.

use nalgebra::{DMatrixView, DMatrixViewMut, Dyn};

/// Below this size in any direction the packing of blocks costs more than it saves.
const THIN: usize = 6;

/// out += a b for a of (rows, inner) and b of (inner, columns).
pub(super) fn add_product(a: &[f32], b: &[f32], columns: usize, out: &mut [f32]) {
    let (inner, rows) = (b.len() / columns, out.len() / columns);
    if rows.min(inner).min(columns) < THIN {
        let pairs = out.chunks_exact_mut(columns).zip(a.chunks_exact(inner));
        return pairs.for_each(|(out, a)| add_row(a, b, out));
    }
    let (a, b) = (DMatrixView::from_slice(a, inner, rows), DMatrixView::from_slice(b, columns, inner));
    DMatrixViewMut::from_slice(out, columns, rows).gemm(1.0, &b, &a, 1.0);
}

/// out += aᵀ b for a of (inner, rows) and b of (inner, columns).
pub(super) fn add_transposed_product(a: &[f32], b: &[f32], columns: usize, out: &mut [f32]) {
    let (inner, rows) = (b.len() / columns, out.len() / columns);
    if rows.min(inner).min(columns) < THIN {
        let mut across = vec![0.0; inner];
        for (i, out) in out.chunks_exact_mut(columns).enumerate() {
            across.iter_mut().zip(a[i..].iter().step_by(rows)).for_each(|(across, a)| *across = *a);
            add_row(&across, b, out);
        }
        return;
    }
    let b = DMatrixView::from_slice(b, columns, inner);
    DMatrixViewMut::from_slice(out, columns, rows).gemm(1.0, &b, &transposed(a, inner, rows), 1.0);
}

/// out += a bᵀ for a of (rows, inner) and b of (columns, inner).
pub(super) fn add_product_transposed(a: &[f32], b: &[f32], inner: usize, out: &mut [f32]) {
    let (rows, columns) = (a.len() / inner, b.len() / inner);
    if rows.min(inner).min(columns) < THIN {
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

/// out += a B for one row, four rows of B at a time so that `out` is read and written less.
pub(super) fn add_row(a: &[f32], b: &[f32], out: &mut [f32]) {
    let columns = out.len();
    for (a, rows) in a.chunks(4).zip(b.chunks(4 * columns)) {
        if let [a0, a1, a2, a3] = *a {
            let (b0, rest) = rows.split_at(columns);
            let (b1, rest) = rest.split_at(columns);
            let (b2, b3) = rest.split_at(columns);
            for ((((out, b0), b1), b2), b3) in out.iter_mut().zip(b0).zip(b1).zip(b2).zip(b3) {
                *out += (a0 * b0 + a1 * b1) + (a2 * b2 + a3 * b3);
            }
        } else {
            for (a, row) in a.iter().zip(rows.chunks_exact(columns)) {
                out.iter_mut().zip(row).for_each(|(out, b)| *out += a * b);
            }
        }
    }
}

/// out += B a: the inner product of `a` with every row of B.
pub(super) fn add_dots(a: &[f32], b: &[f32], out: &mut [f32]) {
    out.iter_mut().zip(b.chunks_exact(a.len())).for_each(|(out, row)| *out += dot(row, a));
}

/// Inner product in sixteen partial sums, which the compiler keeps in vector registers.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a_chunks, b_chunks) = (a.chunks_exact(16), b.chunks_exact(16));
    let rest: f32 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(x, y)| x * y).sum();
    let mut sums = [0.0; 16];
    for (a, b) in a_chunks.zip(b_chunks) {
        for ((sum, x), y) in sums.iter_mut().zip(a).zip(b) {
            *sum += x * y;
        }
    }
    rest + sums.iter().sum::<f32>()
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
