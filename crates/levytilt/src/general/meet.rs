//! Meet a Gaussian law of the state with a quadratic message: the integral, and how it changes as jumps widen the law.

use super::form::{Form, dot};
use nalgebra::{DMatrix, DVector};

/// A direction by its entries that are not 0.
#[derive(Debug, Clone)]
pub(super) struct Direction(Vec<(usize, f64)>);

impl Direction {
    pub fn new(b: &DVector<f64>) -> Self {
        Self(b.iter().copied().enumerate().filter(|(_, b)| *b != 0.0).collect())
    }

    fn dot(&self, other: &[f64]) -> f64 {
        self.0.iter().map(|&(i, b)| b * other[i]).sum()
    }
}

/// What a message says to a Gaussian law N(m, P), and how that changes along the directions b of all sources.
///
/// With Λ̃ = (I + ΛP)⁻¹Λ and γ = g − Λ(m − at), more variance along one direction is a change of rank one in these numbers, so
/// matrices of the size of the state are met once for all sources.
#[derive(Debug, Clone, Default)]
pub(super) struct Met {
    /// ln ∫ N(z; m, P) e^{message}.
    pub log: f64,
    /// bᵀ(I + ΛP)⁻¹γ per source.
    pub force: Vec<f64>,
    /// bᵀΛ̃b' of all pairs of sources.
    pub firmness: Vec<f64>,
}

impl Met {
    /// bᵀΛ̃b of source `r`.
    pub fn firmness_along(&self, r: usize) -> f64 {
        self.firmness[r * (self.force.len() + 1)].max(0.0)
    }

    /// What is said to the law without the variance `guess` that source `r` has in it.
    pub fn without(&self, r: usize, guess: f64) -> Along {
        let (force, firmness) = (self.force[r], self.firmness_along(r));
        let left = 1.0 - guess * firmness;
        let log = self.log - 0.5 * (force * force * guess / left + left.ln());
        Along { log, force: force / left, firmness: firmness / left }
    }

    /// The law has become wider by `variance` (negative: narrower) along source `r`; sources up to `r` are not asked again.
    pub fn widen(&mut self, r: usize, variance: f64) {
        let count = self.force.len();
        let (force, grown) = (self.force[r], 1.0 + variance * self.firmness_along(r));
        let share = variance / grown;
        self.log += 0.5 * (force * force * share - grown.ln());
        let (above, below) = self.firmness.split_at_mut((r + 1) * count);
        let own = &above[r * count..];
        for (q, row) in (r + 1..).zip(below.chunks_exact_mut(count)) {
            let by = share * own[q];
            self.force[q] -= by * force;
            // The matrix is symmetric: what lies below its diagonal is not asked for.
            row[q..].iter_mut().zip(&own[q..]).for_each(|(entry, own)| *entry -= by * own);
        }
    }
}

/// What a message says to a law without any variance along one direction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Along {
    pub log: f64,
    pub force: f64,
    pub firmness: f64,
}

impl Along {
    /// ln of the integral with the law wider by s ≥ 0: log + ½f²s/(1 + φs) − ½ln(1 + φs) for the force f and the firmness φ.
    /// It rises and then falls, so its lowest value up to `largest` is that of an end.
    pub fn lowest(&self, largest: f64) -> f64 {
        let grown = 1.0 + largest * self.firmness;
        self.log + (0.5 * (self.force.powi(2) * largest / grown - grown.ln())).min(0.0)
    }

    /// ½f²/φ; 0 where the message does not see the direction.
    pub fn kappa(&self) -> f64 {
        match self.firmness > 0.0 {
            true => 0.5 * self.force.powi(2) / self.firmness,
            false => 0.0,
        }
    }

    /// A bound of the same: s/(1 + φs) is below 1/φ.
    pub fn highest(&self) -> f64 {
        self.log + self.kappa()
    }
}

/// Meet `form` with the law of mean at + `away` and `covariance` (symmetric), along the directions of `sources`:
/// ln ∫ = log − ½awayᵀΛ away + gᵀaway − ½ ln|I + ΛP| + ½ γᵀP(I + ΛP)⁻¹γ.
pub(super) fn meet(form: &Form, away: &[f64], covariance: &[f64], sources: &[Direction], met: &mut Met) {
    match away.len() {
        1 => meet_in::<1>(form, away, covariance, sources, met),
        2 => meet_in::<2>(form, away, covariance, sources, met),
        3 => meet_in::<3>(form, away, covariance, sources, met),
        4 => meet_in::<4>(form, away, covariance, sources, met),
        5 => meet_in::<5>(form, away, covariance, sources, met),
        6 => meet_in::<6>(form, away, covariance, sources, met),
        7 => meet_in::<7>(form, away, covariance, sources, met),
        8 => meet_in::<8>(form, away, covariance, sources, met),
        9 => meet_in::<9>(form, away, covariance, sources, met),
        10 => meet_in::<10>(form, away, covariance, sources, met),
        _ => meet_anywhere(form, away, covariance, sources, met),
    }
}

/// The same in `D` dimensions, which the compiler knows: no bounds to check, and loops over rows in the vector unit.
fn meet_in<const D: usize>(form: &Form, away: &[f64], covariance: &[f64], sources: &[Direction], met: &mut Met) {
    let (lambda, covariance) = (form.precision.as_slice().as_chunks::<D>().0, covariance.as_chunks::<D>().0);
    let (mut matrix, mut gradient) = ([[0.0; D]; D], [0.0; D]);
    met.log = form.log;
    for (i, row) in lambda.iter().enumerate() {
        gradient[i] = form.pull[i] - dot(row, away);
        met.log += 0.5 * away[i] * (form.pull[i] + gradient[i]);
        // Row i of ΛP, with P symmetric.
        for (by, column) in row.iter().zip(covariance).filter(|(by, _)| **by != 0.0) {
            matrix[i].iter_mut().zip(column).for_each(|(sum, p)| *sum += by * p);
        }
        matrix[i][i] += 1.0;
    }
    let mut force = gradient;
    // Λ becomes (I + ΛP)⁻¹Λ, if any source asks for it.
    let mut stiff = [[0.0; D]; D];
    let log_det = match sources.is_empty() {
        true => eliminate(&mut matrix, &mut force, &mut [[0.0; 0]; D]),
        false => {
            stiff.copy_from_slice(lambda);
            eliminate(&mut matrix, &mut force, &mut stiff)
        }
    };
    met.log -= 0.5 * log_det;
    for (gradient, row) in gradient.iter().zip(covariance) {
        met.log += 0.5 * gradient * dot(row, &force);
    }
    met.force.clear();
    met.firmness.clear();
    for b in sources {
        met.force.push(b.dot(&force));
        let mut along = [0.0; D];
        for &(i, b) in &b.0 {
            along.iter_mut().zip(&stiff[i]).for_each(|(sum, entry)| *sum += b * entry);
        }
        met.firmness.extend(sources.iter().map(|other| other.dot(&along)));
    }
}

/// The same in any number of dimensions.
fn meet_anywhere(form: &Form, away: &[f64], covariance: &[f64], sources: &[Direction], met: &mut Met) {
    let dim = away.len();
    let away = DVector::from_column_slice(away);
    let covariance = DMatrix::from_column_slice(dim, dim, covariance);
    let mut directions = DMatrix::zeros(dim, sources.len());
    sources.iter().enumerate().for_each(|(r, b)| b.0.iter().for_each(|&(i, b)| directions[(i, r)] = b));
    let gradient = &form.pull - &form.precision * &away;
    let lu = (DMatrix::identity(dim, dim) + &form.precision * &covariance).lu();
    // I + ΛP has no eigenvalue below 1; a pivot of 0 would be one of rounding, and makes the integral NaN.
    let log_det: f64 = lu.u().diagonal().iter().map(|pivot| pivot.abs().ln()).sum();
    let lost = || DVector::from_element(dim, f64::NAN);
    let force = lu.solve(&gradient).unwrap_or_else(lost);
    let stiff = lu.solve(&(&form.precision * &directions)).unwrap_or_else(|| &directions * f64::NAN);
    met.log = form.log + 0.5 * (away.dot(&(&form.pull + &gradient)) - log_det + gradient.dot(&(covariance * &force)));
    met.force.clear();
    met.force.extend((directions.transpose() * force).iter());
    met.firmness.clear();
    met.firmness.extend((directions.transpose() * stiff).iter());
}

/// Solve with `matrix` for a vector and the columns of `right`, in place, by Gaussian elimination with row pivots; ln |det|.
fn eliminate<const D: usize, const N: usize>(
    matrix: &mut [[f64; D]; D],
    vector: &mut [f64; D],
    right: &mut [[f64; N]; D],
) -> f64 {
    let (mut det, mut log_det) = (1.0, 0.0);
    for c in 0..D {
        let mut pivot = c;
        for i in c + 1..D {
            if matrix[i][c].abs() > matrix[pivot][c].abs() {
                pivot = i;
            }
        }
        if pivot != c {
            matrix.swap(c, pivot);
            vector.swap(c, pivot);
            right.swap(c, pivot);
        }
        det *= matrix[c][c].abs();
        // One logarithm for several pivots, before their product leaves the range of numbers.
        if !(1e-100..1e100).contains(&det) {
            log_det += f64::ln(det);
            det = 1.0;
        }
        let inverse = 1.0 / matrix[c][c];
        matrix[c][c] = inverse;
        let (top, top_right, top_vector) = (matrix[c], right[c], vector[c]);
        for i in c + 1..D {
            let factor = matrix[i][c] * inverse;
            // Entries before the column are not asked for again; whole rows keep the vector unit busy.
            matrix[i].iter_mut().zip(&top).for_each(|(entry, top)| *entry -= factor * top);
            right[i].iter_mut().zip(&top_right).for_each(|(entry, top)| *entry -= factor * top);
            vector[i] -= factor * top_vector;
        }
    }
    for c in (0..D).rev() {
        let inverse = matrix[c][c];
        right[c].iter_mut().for_each(|entry| *entry *= inverse);
        vector[c] *= inverse;
        let (low_right, low_vector) = (right[c], vector[c]);
        for i in 0..c {
            let factor = matrix[i][c];
            right[i].iter_mut().zip(&low_right).for_each(|(entry, low)| *entry -= factor * low);
            vector[i] -= factor * low_vector;
        }
    }
    log_det + det.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;
    use rand::RngExt;

    fn random(rng: &mut crate::StreamRng, rows: usize, columns: usize) -> DMatrix<f64> {
        DMatrix::from_fn(rows, columns, |_, _| rng.random::<f64>() - 0.4)
    }

    fn directions(b: &DMatrix<f64>) -> Vec<Direction> {
        b.column_iter().map(|column| Direction::new(&column.into_owned())).collect()
    }

    fn close(got: &Met, want: &Met) -> bool {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-8 * (1.0 + b.abs());
        let all = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(*a, *b));
        close(got.log, want.log) && all(&got.force, &want.force) && all(&got.firmness, &want.firmness)
    }

    /// The elimination that knows the dimension against the one that does not, at laws from narrow to very wide.
    #[test]
    fn identity_known_dimensions_meet_as_any_do() {
        let mut rng = stream(1, 0);
        for dim in 1..=10 {
            for size in [1e-6, 1.0, 1e6] {
                let (a, p) = (random(&mut rng, dim + 1, dim), random(&mut rng, dim + 2, dim));
                let covariance = p.transpose() * &p * size;
                let pull = random(&mut rng, dim, 1).column(0).into_owned();
                let (away, b) = (random(&mut rng, dim, 1), random(&mut rng, dim, 3));
                let form = Form { log: 0.3, precision: a.transpose() * &a, pull };
                let [mut got, mut want] = [Met::default(), Met::default()];
                meet(&form, away.as_slice(), covariance.as_slice(), &directions(&b), &mut got);
                meet_anywhere(&form, away.as_slice(), covariance.as_slice(), &directions(&b), &mut want);
                assert!(close(&got, &want), "{dim} {size}: {got:?} {want:?}");
            }
        }
    }

    /// Widening what was met against meeting the wider law.
    #[test]
    fn identity_widening_is_meeting_a_wider_law() {
        let mut rng = stream(2, 0);
        let (dim, count) = (4, 3);
        let (a, p) = (random(&mut rng, dim, dim), random(&mut rng, dim, dim));
        let form =
            Form { log: -1.0, precision: a.transpose() * &a, pull: random(&mut rng, dim, 1).column(0).into_owned() };
        let (away, b) = (random(&mut rng, dim, 1), random(&mut rng, dim, count));
        let mut covariance = p.transpose() * &p;
        let mut got = Met::default();
        meet(&form, away.as_slice(), covariance.as_slice(), &directions(&b), &mut got);
        for (r, variance) in [0.7, -0.05, 30.0].into_iter().enumerate() {
            got.widen(r, variance);
            covariance.ger(variance, &b.column(r), &b.column(r), 1.0);
            let mut want = Met::default();
            meet(&form, away.as_slice(), covariance.as_slice(), &directions(&b), &mut want);
            assert!((got.log - want.log).abs() < 1e-10, "{got:?} {want:?}");
            for q in r + 1..count {
                assert!((got.force[q] - want.force[q]).abs() < 1e-10);
                assert!((got.firmness_along(q) - want.firmness_along(q)).abs() < 1e-10);
            }
        }
    }
}
