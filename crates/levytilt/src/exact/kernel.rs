//! Put the mixture density of one step on the grid: K_m ≈ h Σ_k w_k N(mh; 0, S_k).

use super::lagrange::{NARROW, REACH, narrow_gaussian, narrow_gaussian_slope};
use crate::noise::{NodeDerivative, Nodes};
use std::f64::consts::PI;

/// Smallest exponent kept: e^{−700} is still a normal number with room for weights and spacings.
pub(super) const DEEPEST: f64 = 700.0;
/// Cells between two fresh exponentials; in between a recurrence runs, with rounding below 32² ulp.
const BLOCK: usize = 32;

/// The kernel of one step length on a grid of one spacing, symmetric in the offset m.
///
/// Nodes wider than about one cell are sampled; a narrower one (or an atom at 0) is a stencil with its moments, so that
/// smooth functions are convolved to high order however narrow it is. The kernel sums to one over all offsets.
#[derive(Debug)]
pub(super) struct Kernel {
    stencil: [f64; REACH + 1],
    /// Factor w h/√(2πS) and rate h²/(2S) of each sampled node.
    sampled: Vec<(f64, f64)>,
    /// Number of nodes that went into the stencil: the narrowest, which come first.
    narrow: usize,
    spacing: f64,
}

impl Kernel {
    /// Kernel of `nodes` on a grid with the given spacing.
    pub fn new(nodes: &Nodes, spacing: f64) -> Self {
        let mut stencil = [0.0; REACH + 1];
        let mut sampled = Vec::new();
        for (&s, &w) in nodes.variances().iter().zip(nodes.weights()) {
            let variance = s / (spacing * spacing);
            if variance < NARROW {
                let taps = narrow_gaussian(variance);
                stencil.iter_mut().zip(taps).for_each(|(total, tap)| *total += w * tap);
            } else {
                sampled.push((w / (2.0 * PI * variance).sqrt(), 0.5 / variance));
            }
        }
        let narrow = nodes.len() - sampled.len();
        Self { stencil, sampled, narrow, spacing }
    }

    /// Offset from which on the kernel is zero to the last representable digit.
    pub fn reach(&self) -> u64 {
        let widest = self.sampled.iter().map(|&(_, rate)| (DEEPEST / rate).sqrt()).fold(0.0, f64::max);
        (widest.min(1e18) as u64 + 1).max(REACH as u64 + 1)
    }

    /// Σ_{i ≥ m} K_i for `m` beyond the stencil: an integral from m − ½, corrected for the curvature within cells.
    pub fn tail(&self, m: u64) -> f64 {
        let edge = m as f64 - 0.5;
        let integral = |(factor, rate): (f64, f64)| 0.5 * factor * (PI / rate).sqrt() * libm::erfc(edge * rate.sqrt());
        let slope = |(factor, rate): (f64, f64)| -2.0 * rate * edge * factor * (-rate * edge * edge).exp();
        self.sampled.iter().map(|&node| integral(node) + slope(node) / 24.0).sum()
    }

    /// Σ_m (∂K_m/∂p) C_m for each parameter p of `nodes`, the nodes of this kernel, where `pairs` holds C_m for
    /// m = `first`, `first` + 1, … (`first` ≥ 0), offsets of either sign together, and C_m = `rest` for all m beyond these,
    /// which must lie beyond the stencil if `rest` is not 0.
    pub fn contract(&self, nodes: &Nodes, first: u64, pairs: &[f64], rest: f64) -> Vec<f64> {
        let near = pairs.len().min((REACH as u64 + 1).saturating_sub(first) as usize);
        let stencil = |taps: [f64; REACH + 1]| -> f64 {
            taps[(first as usize).min(REACH)..].iter().zip(&pairs[..near]).map(|(tap, c)| tap * c).sum()
        };
        // Per node: what its weight and its variance push, each for a unit.
        let square = self.spacing * self.spacing;
        let edge = (first + pairs.len() as u64) as f64 - 0.5;
        let pushes: Vec<(f64, f64)> = (0..nodes.len())
            .map(|k| {
                let (weight, variance) = (nodes.weights()[k], nodes.variances()[k]);
                if k < self.narrow {
                    let inner = variance / square;
                    return (stencil(narrow_gaussian(inner)), weight * stencil(narrow_gaussian_slope(inner)) / square);
                }
                let (factor, rate) = self.sampled[k - self.narrow];
                let (mass, moment) = gaussian_sums(rate, first, pairs);
                let height = factor / weight;
                let (tail, tail_slope) = if rest == 0.0 { (0.0, 0.0) } else { tail(edge, rate) };
                // ∂ ln N(x; 0, S)/∂S = (x²/S − 1)/(2S)
                let by_variance = factor * (moment * 2.0 * rate - mass) / (2.0 * variance);
                (height * mass + rest * tail, by_variance + rest * weight * tail_slope / variance)
            })
            .collect();
        let push = |d: &NodeDerivative| {
            pushes
                .iter()
                .enumerate()
                .map(|(k, (weight, variance))| d.weights[k] * weight + d.variances[k] * variance)
                .sum()
        };
        nodes.derivatives().iter().map(push).collect()
    }

    /// ∂K_m/∂p for m = `first`, …, `first` + `count` − 1 (`first` ≥ 0), for each parameter p of `nodes`, the nodes of this kernel.
    pub fn slopes(&self, nodes: &Nodes, first: u64, count: usize) -> Vec<Vec<f64>> {
        let mut slopes = vec![vec![0.0; count]; nodes.derivatives().len()];
        let square = self.spacing * self.spacing;
        let squares: Vec<f64> = (first..).take(count).map(|m| (m as f64).powi(2)).collect();
        let mut values = vec![0.0; count];
        // Taps that are not before the first offset.
        let before = (first as usize).min(REACH + 1);
        for k in 0..nodes.len() {
            let (weight, variance) = (nodes.weights()[k], nodes.variances()[k]);
            let pushes = nodes.derivatives().iter().map(|d| (d.weights[k], d.variances[k])).zip(&mut slopes);
            if k < self.narrow {
                let (by_weight, by_variance) =
                    (narrow_gaussian(variance / square), narrow_gaussian_slope(variance / square));
                for ((weights, variances), row) in pushes {
                    for ((cell, a), b) in row.iter_mut().zip(&by_weight[before..]).zip(&by_variance[before..]) {
                        *cell += weights * a + variances * weight * b / square;
                    }
                }
                continue;
            }
            let (factor, rate) = self.sampled[k - self.narrow];
            values.fill(0.0);
            bell(rate, 0.0, first, count, |i, value| values[i] = value);
            for ((weights, variances), row) in pushes {
                // ∂ ln N(x; 0, S)/∂S = (x²/S − 1)/(2S)
                let (by_weight, by_variance) = (weights * factor / weight, variances * factor / (2.0 * variance));
                let (level, bend) = (by_weight - by_variance, by_variance * 2.0 * rate);
                for ((cell, value), square) in row.iter_mut().zip(&values).zip(&squares) {
                    *cell += value * (level + bend * square);
                }
            }
        }
        slopes
    }

    /// Write K_m for m = `first`, `first` + 1, … (`first` ≥ 0).
    pub fn fill(&self, first: u64, out: &mut [f64]) {
        out.fill(0.0);
        for (block, values) in out.chunks_mut(BLOCK).enumerate() {
            let m = (first + (block * BLOCK) as u64) as f64;
            for &(factor, rate) in &self.sampled {
                let exponent = rate * m * m;
                if exponent > DEEPEST {
                    continue;
                }
                // e^{−rate(m+1)²} = e^{−rate m²} e^{−rate(2m+1)}, and the last factor shrinks by e^{−2rate} per cell.
                let mut value = factor * (-exponent).exp();
                let mut ratio = (-rate * (2.0 * m + 1.0)).exp();
                let shrink = (-2.0 * rate).exp();
                for cell in values.iter_mut() {
                    *cell += value;
                    value *= ratio;
                    ratio *= shrink;
                }
            }
            for (cell, k) in values.iter_mut().zip(first + (block * BLOCK) as u64..) {
                // Products far below this only cost time: arithmetic with denormal numbers is slow.
                if *cell < 1e-300 {
                    *cell = 0.0;
                }
                if k <= REACH as u64 {
                    *cell += self.stencil[k as usize];
                }
            }
        }
    }
}

/// Visit e^{−rate(m − centre)²} for m = `first`, …, with the number of each.
pub(super) fn bell(rate: f64, centre: f64, first: u64, count: usize, mut visit: impl FnMut(usize, f64)) {
    let shrink = (-2.0 * rate).exp();
    for from in (0..count).step_by(BLOCK) {
        let to = (from + BLOCK).min(count);
        let distance = (first + from as u64) as f64 - centre;
        let nearest = distance.max(-(distance + (to - 1 - from) as f64)).max(0.0);
        if rate * nearest * nearest > DEEPEST {
            continue;
        }
        if rate * distance * distance > DEEPEST {
            // The recurrence would start from nothing.
            for i in from..to {
                let distance = distance + (i - from) as f64;
                visit(i, (-rate * distance * distance).exp());
            }
            continue;
        }
        let mut value = (-rate * distance * distance).exp();
        let mut ratio = (-rate * (2.0 * distance + 1.0)).exp();
        for i in from..to {
            visit(i, value);
            value *= ratio;
            ratio *= shrink;
        }
    }
}

/// The mass of a Gaussian beyond `edge`, with e^{−rate·x²} for its shape, and its derivative in the logarithm of the variance.
fn tail(edge: f64, rate: f64) -> (f64, f64) {
    let z = edge * rate.sqrt();
    (0.5 * libm::erfc(z), 0.5 * z * (-z * z).exp() / PI.sqrt())
}

/// Σ_m e^{−rate·m²} C_m and Σ_m m² e^{−rate·m²} C_m over m = `first`, `first` + 1, …
fn gaussian_sums(rate: f64, first: u64, pairs: &[f64]) -> (f64, f64) {
    let (mut mass, mut moment) = (0.0, 0.0);
    let shrink = (-2.0 * rate).exp();
    for (block, pairs) in pairs.chunks(BLOCK).enumerate() {
        let mut m = (first + (block * BLOCK) as u64) as f64;
        let exponent = rate * m * m;
        if exponent > DEEPEST {
            break;
        }
        let mut value = (-exponent).exp();
        let mut ratio = (-rate * (2.0 * m + 1.0)).exp();
        for pair in pairs {
            let term = value * pair;
            mass += term;
            moment += term * m * m;
            value *= ratio;
            ratio *= shrink;
            m += 1.0;
        }
    }
    (mass, moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes() -> Nodes {
        Nodes::new(vec![0.0, 1e-9, 2e-3, 0.3, 40.0, 1e6], vec![0.1, 0.1, 0.2, 0.3, 0.2, 0.1], vec![]).unwrap()
    }

    #[test]
    fn samples_are_the_mixture_density() {
        let h = 0.05;
        let kernel = Kernel::new(&nodes(), h);
        for first in [7u64, 100, 5000, 123_456] {
            let mut values = vec![0.0; 100];
            kernel.fill(first, &mut values);
            for (value, m) in values.iter().zip(first..) {
                let expected = h * nodes().log_density(m as f64 * h).value.exp();
                // The atom and the two narrow nodes have no density out here.
                assert!((value - expected).abs() <= 1e-12 * expected, "{m}: {value} {expected}");
            }
        }
    }

    #[test]
    fn kernel_sums_to_one() {
        let narrow = Nodes::new(vec![0.0, 1e-4, 0.3, 4.0], vec![0.25; 4], vec![]).unwrap();
        let kernel = Kernel::new(&narrow, 0.1);
        let mut values = vec![0.0; kernel.reach() as usize + 2];
        kernel.fill(0, &mut values);
        let total = 2.0 * values.iter().sum::<f64>() - values[0];
        assert!((total - 1.0).abs() < 1e-12, "{total}");
        assert_eq!(values[values.len() - 1], 0.0);
        for m in [8, 20, 60] {
            let sum: f64 = values[m..].iter().sum();
            assert!((kernel.tail(m as u64) / sum - 1.0).abs() < 1e-4, "{m}: {} {sum}", kernel.tail(m as u64));
        }
    }
}
