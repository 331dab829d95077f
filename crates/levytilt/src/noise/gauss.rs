//! Compute the Gauss rule of a discrete measure (Golub and Welsch 1969) and project signed measures on its points.

use nalgebra::{DMatrix, SymmetricEigen};

/// A Gauss rule of a discrete measure.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub points: Vec<f64>,
    pub weights: Vec<f64>,
}

/// Most points of a rule.
pub(crate) const MOST_POINTS: usize = 4;

impl Rule {
    /// Lagrange polynomials of the points at `x`: ℓ_k(x) is one at point k and zero at the others.
    pub(crate) fn basis(&self, x: f64) -> [f64; MOST_POINTS] {
        let p = &self.points;
        let factor = |k: usize, l: usize| if l == k { 1.0 } else { (x - p[l]) / (p[k] - p[l]) };
        std::array::from_fn(|k| if k < p.len() { (0..p.len()).map(|l| factor(k, l)).product() } else { 0.0 })
    }

    /// Derivatives ℓ_k'(x) of the Lagrange polynomials.
    pub(crate) fn basis_slope(&self, x: f64) -> [f64; MOST_POINTS] {
        let p = &self.points;
        let term = |k: usize, m: usize| -> f64 {
            let others = (0..p.len()).filter(|&l| l != k && l != m);
            others.map(|l| (x - p[l]) / (p[k] - p[l])).product::<f64>() / (p[k] - p[m])
        };
        std::array::from_fn(|k| match k < p.len() {
            true => (0..p.len()).filter(|&m| m != k).map(|m| term(k, m)).sum(),
            false => 0.0,
        })
    }

    /// Weights on the rule's points that act on polynomials of its degree like the signed masses given.
    pub(crate) fn project(&self, u: &[f64], mass: &[f64]) -> Vec<f64> {
        let mut weights = vec![0.0; self.points.len()];
        for (&x, &m) in u.iter().zip(mass) {
            for (weight, basis) in weights.iter_mut().zip(self.basis(x)) {
                *weight += m * basis;
            }
        }
        weights
    }
}

/// The Gauss rule with at most `n` points of the measure Σ mass_i δ(u_i); the measure itself if it has no more points.
pub(crate) fn gauss_rule(u: &[f64], mass: &[f64], n: usize) -> Rule {
    let live: Vec<(f64, f64)> = u.iter().copied().zip(mass.iter().copied()).filter(|&(_, m)| m > 0.0).collect();
    if live.len() <= n {
        return Rule { points: live.iter().map(|p| p.0).collect(), weights: live.iter().map(|p| p.1).collect() };
    }
    let total: f64 = live.iter().map(|p| p.1).sum();
    let centre = live.iter().map(|p| p.0 * p.1).sum::<f64>() / total;
    let spread = (live.iter().map(|p| p.1 * (p.0 - centre).powi(2)).sum::<f64>() / total).sqrt();
    // A law narrower than rounding is one point.
    if spread <= 1e-9 * centre.abs().max(1.0) {
        return Rule { points: vec![centre], weights: vec![total] };
    }
    let standard: Vec<(f64, f64)> = live.iter().map(|p| ((p.0 - centre) / spread, p.1 / total)).collect();
    let jacobi = recurrence(&standard, n);
    let eigen = SymmetricEigen::new(jacobi);
    let mut pairs: Vec<(f64, f64)> =
        (0..eigen.eigenvalues.len()).map(|k| (eigen.eigenvalues[k], eigen.eigenvectors[(0, k)].powi(2))).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    // An eigenvector component can round to zero for a point without mass: it is no node.
    pairs.retain(|p| p.1 > 0.0);
    Rule {
        points: pairs.iter().map(|p| centre + spread * p.0).collect(),
        weights: pairs.iter().map(|p| total * p.1).collect(),
    }
}

/// Jacobi matrix of the orthogonal polynomials of a standardised measure (Stieltjes), up to order `n`.
fn recurrence(points: &[(f64, f64)], n: usize) -> DMatrix<f64> {
    let mut previous = vec![0.0; points.len()];
    let mut current = vec![1.0; points.len()];
    let mut diagonal = Vec::with_capacity(n);
    let mut off_diagonal = Vec::with_capacity(n);
    for k in 0..n {
        let a: f64 = points.iter().zip(&current).map(|(p, q)| p.1 * p.0 * q * q).sum();
        diagonal.push(a);
        if k + 1 == n {
            break;
        }
        let b_last = off_diagonal.last().copied().unwrap_or(0.0);
        let next: Vec<f64> =
            points.iter().zip(current.iter().zip(&previous)).map(|(p, (q, r))| (p.0 - a) * q - b_last * r).collect();
        let b = points.iter().zip(&next).map(|(p, q)| p.1 * q * q).sum::<f64>().sqrt();
        // No mass left to resolve: the rule so far is the measure.
        if b <= 1e-10 {
            break;
        }
        off_diagonal.push(b);
        previous = current;
        current = next.iter().map(|q| q / b).collect();
    }
    let size = diagonal.len();
    DMatrix::from_fn(size, size, |i, j| match i.abs_diff(j) {
        0 => diagonal[i],
        1 => off_diagonal[i.min(j)],
        _ => 0.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_basis_reproduces_cubics_and_their_slopes() {
        let rule = Rule { points: vec![-1.0, 0.2, 0.7, 2.0], weights: vec![1.0; 4] };
        let cubic = |x: f64| 2.0 - x + 0.5 * x * x - 3.0 * x * x * x;
        let slope = |x: f64| -1.0 + x - 9.0 * x * x;
        for x in [-1.5, 0.0, 0.2, 1.1, 2.5] {
            let sum = |basis: [f64; 4]| -> f64 { basis.iter().zip(&rule.points).map(|(b, &p)| b * cubic(p)).sum() };
            assert!((sum(rule.basis(x)) - cubic(x)).abs() < 1e-12);
            assert!((sum(rule.basis_slope(x)) - slope(x)).abs() < 1e-12);
        }
    }
}
