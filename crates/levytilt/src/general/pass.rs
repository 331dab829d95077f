//! Move Gaussian laws of the state forward and messages backward when the variance of every jump is known.

use super::chain::{Flow, GeneralChain};
use super::form::{Form, dot, with_room};
use nalgebra::DVector;

/// Variances of all jumps, step after step, source fastest.
pub(super) struct Variances<'a> {
    pub sources: usize,
    pub values: &'a [f64],
}

impl Variances<'_> {
    /// Those of the step that ends at time `j` ≥ 1.
    pub fn of(&self, j: usize) -> &[f64] {
        &self.values[(j - 1) * self.sources..j * self.sources]
    }
}

/// The law after a flow, before any jumps.
pub(super) fn predict_slices(flow: &Flow, law: (&[f64], &[f64]), moved: &mut [f64], spread: &mut [f64]) {
    let (mean, covariance) = law;
    moved.copy_from_slice(flow.offset.as_slice());
    spread.copy_from_slice(covariance);
    if flow.diagonal {
        let slope = flow.slope.diagonal();
        moved.iter_mut().zip(slope.iter().zip(mean)).for_each(|(moved, (f, m))| *moved += f * m);
        for (column, by) in spread.chunks_exact_mut(mean.len()).zip(&slope) {
            column.iter_mut().zip(&slope).for_each(|(entry, f)| *entry *= f * by);
        }
        return;
    }
    for (column, m) in flow.slope.as_slice().chunks_exact(mean.len()).zip(mean) {
        moved.iter_mut().zip(column).for_each(|(moved, f)| *moved += f * m);
    }
    congruence(flow.slope.as_slice(), spread, mean.len());
}

/// P ← F P Fᵀ for a square F, column by column, and a symmetric P.
fn congruence(f: &[f64], p: &mut [f64], dim: usize) {
    with_room(dim * dim, |half| {
        // Column k of F P, with P symmetric.
        for (column, weights) in half.chunks_exact_mut(dim).zip(p.chunks_exact(dim)) {
            for (f, w) in f.chunks_exact(dim).zip(weights) {
                column.iter_mut().zip(f).for_each(|(sum, f)| *sum += f * w);
            }
        }
        p.fill(0.0);
        for (half, f) in half.chunks_exact(dim).zip(f.chunks_exact(dim)) {
            for (column, f) in p.chunks_exact_mut(dim).zip(f) {
                column.iter_mut().zip(half).for_each(|(sum, half)| *sum += f * half);
            }
        }
    });
}

/// The only state that a row sees, if it is only one.
fn alone(h: &[f64]) -> Option<usize> {
    let mut seen = (0..h.len()).filter(|&i| h[i] != 0.0);
    let first = seen.next()?;
    seen.next().is_none().then_some(first)
}

/// P ← (I − w·gain·eᵢᵀ) P (I − w·gain·eᵢᵀ)ᵀ, which differs from P by multiples of its row and its column i.
fn keep_alone(gain: &[f64], w: f64, i: usize, p: &mut [f64]) {
    let dim = gain.len();
    let left = 1.0 - w * gain[i];
    // From the left: row i of every column is taken off the others, and shrinks itself.
    for column in p.chunks_exact_mut(dim) {
        let by = w * column[i];
        let own = left * column[i];
        column.iter_mut().zip(gain).for_each(|(p, gain)| *p -= by * gain);
        column[i] = own;
    }
    // From the right: the same with columns.
    with_room(dim, |taken| {
        taken.copy_from_slice(&p[i * dim..(i + 1) * dim]);
        for (k, column) in p.chunks_exact_mut(dim).enumerate() {
            let by = w * gain[k];
            match k == i {
                true => column.iter_mut().for_each(|p| *p *= left),
                false => column.iter_mut().zip(&*taken).for_each(|(p, taken)| *p -= by * taken),
            }
        }
    });
}

/// Largest ratio of the variance of a value to that of its error at which P − gain·(Ph)ᵀ keeps eleven digits.
const SAFE: f64 = 1e4;

/// P ← (I − gain·hᵀ) P (I − gain·hᵀ)ᵀ + variance·gain·gainᵀ.
fn joseph(h: &[f64], variance: f64, gain: &[f64], covariance: &mut [f64]) {
    let dim = h.len();
    match alone(h) {
        Some(i) => keep_alone(gain, h[i], i, covariance),
        None => with_room(dim * dim, |rest| {
            for (k, column) in rest.chunks_exact_mut(dim).enumerate() {
                column.iter_mut().zip(gain).for_each(|(rest, gain)| *rest = -gain * h[k]);
                column[k] += 1.0;
            }
            congruence(rest, covariance, dim);
        }),
    }
    for (column, by) in covariance.chunks_exact_mut(dim).zip(gain) {
        column.iter_mut().zip(gain).for_each(|(sum, gain)| *sum += variance * gain * by);
    }
}

/// Condition the law on what is seen at time `j`, value by value; ln of the density of what is seen.
///
/// The covariance is updated in Joseph's form, which keeps it positive semidefinite, where a difference would lose digits.
pub(super) fn see_slices(chain: &GeneralChain, j: usize, mean: &mut [f64], covariance: &mut [f64]) -> f64 {
    see_each(chain, j, mean, covariance, |_, _, _| ())
}

/// The same; `keep` is told of the gain, the miss and the total variance of every value.
pub(super) fn see_each(
    chain: &GeneralChain,
    j: usize,
    mean: &mut [f64],
    covariance: &mut [f64],
    mut keep: impl FnMut(&[f64], f64, f64),
) -> f64 {
    let mut log = 0.0;
    let dim = mean.len();
    for (h, y, variance) in chain.seen(j) {
        let (total, miss) = with_room(2 * dim, |room| {
            let (pressed, gain) = room.split_at_mut(dim);
            for (column, h) in covariance.chunks_exact(dim).zip(h).filter(|(_, h)| **h != 0.0) {
                pressed.iter_mut().zip(column).for_each(|(sum, p)| *sum += p * h);
            }
            let own = dot(h.as_slice(), pressed);
            let total = own + variance;
            gain.iter_mut().zip(&*pressed).for_each(|(gain, pressed)| *gain = pressed / total);
            let miss = y - dot(h.as_slice(), mean);
            mean.iter_mut().zip(&*gain).for_each(|(mean, gain)| *mean += miss * gain);
            match own < SAFE * variance {
                true => {
                    for (column, by) in covariance.chunks_exact_mut(dim).zip(&*pressed) {
                        column.iter_mut().zip(&*gain).for_each(|(sum, gain)| *sum -= gain * by);
                    }
                }
                false => joseph(h.as_slice(), variance, gain, covariance),
            }
            keep(gain, miss, total);
            (total, miss)
        });
        log -= 0.5 * (miss * miss / total + (std::f64::consts::TAU * total).ln());
    }
    log
}

/// Messages from the future, per time about the points `at`: what is seen after time j as a function of the state there.
pub(super) fn backward(chain: &GeneralChain, variances: &Variances, at: &[DVector<f64>]) -> Vec<Form> {
    let last = chain.len() - 1;
    let mut messages = vec![Form::flat(chain.dim())];
    for j in (1..=last).rev() {
        let mut message = messages[messages.len() - 1].clone();
        chain.seen(j).for_each(|seen| message.see(seen, &at[j]));
        for (source, v) in chain.model.sources.iter().zip(variances.of(j)) {
            message.pull_back(&source.direction, *v);
        }
        messages.push(message.before(chain.flow(j), &miss(chain, j, at)));
    }
    messages.reverse();
    messages
}

/// Where the flow of the step that ends at time `j` takes the point before it, less the point at `j`.
pub(super) fn miss(chain: &GeneralChain, j: usize, at: &[DVector<f64>]) -> DVector<f64> {
    &chain.flow(j).slope * &at[j - 1] + &chain.flow(j).offset - &at[j]
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::DMatrix;

    /// A row that sees one state: the short update against the product of full matrices.
    #[test]
    fn identity_a_row_of_one_state_keeps_what_full_matrices_keep() {
        let p = DMatrix::from_row_slice(3, 3, &[4.0, 1.0, 0.5, 1.0, 3.0, -0.7, 0.5, -0.7, 1e6]);
        let gain = [0.1, -0.2, 0.7];
        for (i, w) in [(0, 1.0), (1, -0.5), (2, 1.4)] {
            let mut keep = DMatrix::identity(3, 3);
            (0..3).for_each(|k| keep[(k, i)] -= w * gain[k]);
            let want = &keep * &p * keep.transpose();
            let mut got = p.clone();
            keep_alone(&gain, w, i, got.as_mut_slice());
            assert!((&got - &want).amax() < 1e-9, "{i}: {got} {want}");
        }
        assert_eq!([alone(&[0.0, 2.0]), alone(&[1.0, 2.0]), alone(&[0.0, 0.0])], [Some(1), None, None]);
    }
}
