//! Put one side of a skewed step's density on the grid: K_m ≈ h Σ_k w_k N(±mh; m_k, S_k) for m ≥ 0.

use super::kernel::{DEEPEST, Kernel, bell};
use super::ladder::Between;
use super::lagrange::{LEFT, NARROW, POINTS, REACH, narrow_gaussian, narrow_gaussian_slope, slopes, weights};
use crate::noise::Nodes;
use std::f64::consts::PI;

/// Cells that a narrow Gaussian between the points of the grid touches.
const TOUCHED: usize = POINTS + 2 * REACH;

/// The kernel of a step for moves to one side.
#[derive(Debug)]
pub(super) enum SideKernel {
    /// Of symmetric noise: the same to either side.
    Centred(Kernel),
    /// Of skewed noise.
    Shifted(ShiftedKernel),
    /// Of symmetric noise, interpolated between lengths.
    Between(Between),
}

/// The kernel of a skewed step for moves up, or for moves down with the offsets negated; offset 0 belongs to both.
#[derive(Debug)]
pub(super) struct ShiftedKernel {
    /// 1 for moves up, −1 for moves down.
    sign: f64,
    broad: Vec<Broad>,
    narrow: Vec<Narrow>,
    spacing: f64,
}

/// A node wide enough to be sampled: its number, w h/√(2πS), h²/(2S), and its centre in cells of this side.
#[derive(Debug, Clone, Copy)]
struct Broad {
    node: usize,
    factor: f64,
    rate: f64,
    centre: f64,
}

/// A node that is not: its number, and a stencil with its moments from offset `first` of both sides on, without its weight.
#[derive(Debug)]
struct Narrow {
    node: usize,
    weight: f64,
    first: i64,
    taps: [f64; TOUCHED],
}

impl SideKernel {
    /// Offset from which on the kernel is zero to the last representable digit.
    pub fn reach(&self) -> u64 {
        match self {
            Self::Centred(kernel) => kernel.reach(),
            Self::Shifted(kernel) => kernel.reach(),
            Self::Between(kernel) => kernel.reach(),
        }
    }

    /// Σ_{i ≥ m} K_i, see [`Kernel::tail`].
    pub fn tail(&self, m: u64) -> f64 {
        match self {
            Self::Centred(kernel) => kernel.tail(m),
            Self::Shifted(kernel) => kernel.tail(m),
            Self::Between(kernel) => kernel.tail(m),
        }
    }

    /// Σ_m (∂K_m/∂p) C_m, see [`Kernel::contract`].
    pub fn contract(&self, nodes: &Nodes, first: u64, pairs: &[f64], rest: f64) -> Vec<f64> {
        match self {
            Self::Centred(kernel) => kernel.contract(nodes, first, pairs, rest),
            Self::Shifted(kernel) => kernel.contract(nodes, first, pairs, rest),
            Self::Between(kernel) => kernel.contract(first, pairs, rest),
        }
    }

    /// Write K_m for m = `first`, `first` + 1, …
    pub fn fill(&self, first: u64, out: &mut [f64]) {
        match self {
            Self::Centred(kernel) => kernel.fill(first, out),
            Self::Shifted(kernel) => kernel.fill(first, out),
            Self::Between(kernel) => kernel.fill(first, out),
        }
    }
}

impl ShiftedKernel {
    /// Kernel of `nodes` with these `means` for moves up, or down if `sign` is −1.
    pub fn new(nodes: &Nodes, means: &[f64], spacing: f64, sign: f64) -> Self {
        let mut kernel = Self { sign, broad: Vec::new(), narrow: Vec::new(), spacing };
        for (node, ((&s, &weight), mean)) in nodes.variances().iter().zip(nodes.weights()).zip(means).enumerate() {
            let (variance, centre) = (s / (spacing * spacing), mean / spacing);
            if variance >= NARROW {
                let factor = weight / (2.0 * PI * variance).sqrt();
                kernel.broad.push(Broad { node, factor, rate: 0.5 / variance, centre: sign * centre });
            } else {
                let (first, taps) = stencil(centre, narrow_gaussian(variance), weights);
                kernel.narrow.push(Narrow { node, weight, first, taps });
            }
        }
        kernel
    }

    fn reach(&self) -> u64 {
        let broad = self.broad.iter().map(|b| b.centre + (DEEPEST / b.rate).sqrt()).fold(0.0, f64::max);
        let narrow = self.narrow.iter().map(|n| self.sign * n.first as f64 + TOUCHED as f64).fold(0.0, f64::max);
        (broad.max(narrow).min(1e18) as u64 + 1).max(REACH as u64 + 1)
    }

    /// Offsets of this side with the taps of a stencil.
    fn offsets<'a>(&self, first: i64, taps: &'a [f64; TOUCHED]) -> impl Iterator<Item = (u64, f64)> + 'a {
        let sign = self.sign as i64;
        let placed = taps.iter().zip(first..).map(move |(tap, offset)| (sign * offset, *tap));
        placed.filter(|(m, _)| *m >= 0).map(|(m, tap)| (m as u64, tap))
    }

    fn tail(&self, m: u64) -> f64 {
        let edge = m as f64 - 0.5;
        let broad = self.broad.iter().map(|&Broad { factor, rate, centre, .. }| {
            let distance = edge - centre;
            0.5 * factor * (PI / rate).sqrt() * libm::erfc(distance * rate.sqrt())
                - 2.0 * rate * distance * factor * (-rate * distance * distance).exp() / 24.0
        });
        let narrow = self.narrow.iter().map(|n| {
            n.weight
                * self.offsets(n.first, &n.taps).filter(|(offset, _)| *offset >= m).map(|(_, tap)| tap).sum::<f64>()
        });
        broad.sum::<f64>() + narrow.sum::<f64>()
    }

    fn fill(&self, first: u64, out: &mut [f64]) {
        out.fill(0.0);
        for b in &self.broad {
            bell(b.rate, b.centre, first, out.len(), |i, value| out[i] += b.factor * value);
        }
        // Products far below this only cost time: arithmetic with denormal numbers is slow.
        out.iter_mut().filter(|cell| **cell < 1e-300).for_each(|cell| *cell = 0.0);
        for n in &self.narrow {
            for (m, tap) in self.offsets(n.first, &n.taps).filter(|(m, _)| *m >= first) {
                if let Some(cell) = out.get_mut((m - first) as usize) {
                    *cell += n.weight * tap;
                }
            }
        }
    }

    fn contract(&self, nodes: &Nodes, first: u64, pairs: &[f64], rest: f64) -> Vec<f64> {
        let edge = first + pairs.len() as u64;
        // Per node: what its weight, its variance and its mean push, each for a unit.
        let mut pushes = vec![[0.0; 3]; nodes.len()];
        for b in &self.broad {
            pushes[b.node] = self.push_broad(b, nodes, first, pairs, rest);
        }
        for n in &self.narrow {
            let (variance, mean) = (nodes.variances()[n.node], nodes.means().map_or(0.0, |means| means[n.node]));
            let (inner, centre) = (variance / (self.spacing * self.spacing), mean / self.spacing);
            let sum = |(from, taps): (i64, [f64; TOUCHED])| -> f64 {
                let term = |(m, tap): (u64, f64)| match m {
                    m if m < first => 0.0,
                    m if m >= edge => rest * tap,
                    m => pairs[(m - first) as usize] * tap,
                };
                self.offsets(from, &taps).map(term).sum()
            };
            pushes[n.node] = [
                sum((n.first, n.taps)),
                n.weight * sum(stencil(centre, narrow_gaussian_slope(inner), weights)) / (self.spacing * self.spacing),
                n.weight * sum(stencil(centre, narrow_gaussian(inner), slopes)) / self.spacing,
            ];
        }
        let rows = nodes.derivatives().iter().zip(nodes.mean_derivatives());
        rows.map(|(d, means)| {
            let push = |(k, p): (usize, &[f64; 3])| d.weights[k] * p[0] + d.variances[k] * p[1] + means[k] * p[2];
            pushes.iter().enumerate().map(push).sum()
        })
        .collect()
    }

    fn push_broad(&self, b: &Broad, nodes: &Nodes, first: u64, pairs: &[f64], rest: f64) -> [f64; 3] {
        let (weight, variance) = (nodes.weights()[b.node], nodes.variances()[b.node]);
        let (mut mass, mut moment, mut square) = (0.0, 0.0, 0.0);
        bell(b.rate, b.centre, first, pairs.len(), |i, value| {
            let (term, distance) = (value * pairs[i], (first + i as u64) as f64 - b.centre);
            mass += term;
            moment += term * distance;
            square += term * distance * distance;
        });
        // ∂ ln N(x; m, S)/∂S = ((x − m)²/S − 1)/(2S) and ∂/∂m = (x − m)/S
        let mut push = [
            b.factor / weight * mass,
            b.factor * (2.0 * b.rate * square - mass) / (2.0 * variance),
            self.sign * b.factor * moment * self.spacing / variance,
        ];
        if rest != 0.0 {
            let z = ((first + pairs.len() as u64) as f64 - 0.5 - b.centre) * b.rate.sqrt();
            let height = (-z * z).exp() / PI.sqrt();
            push[0] += rest * 0.5 * libm::erfc(z);
            push[1] += rest * weight * 0.5 * z * height / variance;
            push[2] += self.sign * rest * weight * height * b.rate.sqrt() / self.spacing;
        }
        push
    }
}

/// A move by `centre` cells, interpolated with `between`, followed by a narrow Gaussian: its first offset and its taps.
fn stencil(centre: f64, gaussian: [f64; REACH + 1], between: impl Fn(f64) -> [f64; POINTS]) -> (i64, [f64; TOUCHED]) {
    let cell = centre.floor();
    let mut taps = [0.0; TOUCHED];
    for (k, weight) in between(centre - cell).into_iter().enumerate() {
        for (i, tap) in taps[k..=k + 2 * REACH].iter_mut().enumerate() {
            *tap += weight * gaussian[i.abs_diff(REACH)];
        }
    }
    (cell as i64 - LEFT - REACH as i64, taps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Noise, SkewedCompoundPoisson, SkewedNig};

    fn sides(nodes: &Nodes, h: f64) -> [ShiftedKernel; 2] {
        [1.0, -1.0].map(|sign| ShiftedKernel::new(nodes, nodes.means().unwrap(), h, sign))
    }

    #[test]
    fn identity_samples_are_the_density_and_sum_to_one() {
        let nodes = SkewedNig::new(1.0, 2.0, 1.5).unwrap().nodes(0.5).unwrap();
        let h = 0.04;
        let [up, down] = sides(&nodes, h);
        let count = up.reach().max(down.reach()) as usize;
        let [ups, downs] = [&up, &down].map(|side| {
            let mut values = vec![0.0; count];
            side.fill(0, &mut values);
            values
        });
        assert!((ups[0] - downs[0]).abs() < 1e-12);
        let total = ups.iter().sum::<f64>() + downs[1..].iter().sum::<f64>();
        assert!((total - 1.0).abs() < 1e-9, "{total}");
        for m in [30usize, 80] {
            for (values, x) in [(&ups, m as f64 * h), (&downs, -(m as f64) * h)] {
                let expected = h * nodes.log_density_value(x).exp();
                assert!((values[m] - expected).abs() < 1e-9 * expected, "{x}: {} {expected}", values[m]);
            }
            assert!((up.tail(m as u64) / ups[m..].iter().sum::<f64>() - 1.0).abs() < 1e-4);
            assert!((down.tail(m as u64) / downs[m..].iter().sum::<f64>() - 1.0).abs() < 1e-4);
        }
    }

    #[test]
    fn identity_contraction_is_the_derivative() {
        let h = 0.3;
        let at = |p: &[f64]| SkewedCompoundPoisson::new(p[0], p[1], p[2]).unwrap().nodes(1.0).unwrap();
        let values = [1.5, 0.25, 0.7];
        let pairs: Vec<f64> = (0..60).map(|i| (0.3 * f64::from(i)).cos() + 1.2).collect();
        for side in [0, 1] {
            let rest = 0.4;
            let total = |p: &[f64]| {
                let kernel = &sides(&at(p), h)[side];
                let mut filled = vec![0.0; 60];
                kernel.fill(0, &mut filled);
                filled.iter().zip(&pairs).map(|(k, c)| k * c).sum::<f64>() + rest * kernel.tail(60)
            };
            let got = sides(&at(&values), h)[side].contract(&at(&values), 0, &pairs, rest);
            for (k, got) in got.iter().enumerate() {
                let moved = |by: f64| {
                    let mut values = values;
                    values[k] += by;
                    total(&values)
                };
                let want = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((got - want).abs() < 1e-6 * want.abs().max(1.0), "side {side}, {k}: {got} {want}");
            }
        }
    }
}
