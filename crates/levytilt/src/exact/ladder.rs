//! Interpolate the kernels of many step lengths between those of a ladder of lengths.
//!
//! Kernels are computed at the lengths e^{lδ}, l a whole number, and that of length Δ is Σ_l c_l(ln Δ/δ) K_l with the weights c of
//! 12-point interpolation. So a record whose steps all have different lengths needs some tens of kernels instead of one per step,
//! and derivatives in the parameters are those of what is computed. Heavy tails are smooth in ln Δ; a Gaussian's are not, so
//! the ladder is tried between its rungs before it is used.

use super::kernel::Kernel;
use super::lagrange::{LEFT, POINTS, weights};
use crate::noise::{Nodes, Noise};
use crate::series::length_key;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// Distance of neighbouring lengths, as logarithms.
const APART: f64 = 0.1;
/// Fewest different lengths that are worth a ladder.
const MANY: usize = 64;
/// Most offsets of a kernel on the ladder.
const MOST: usize = 1 << 12;
/// Error between rungs that is let pass: of the largest value, and of a value in the tails, which nodes promise no better.
const BULK: f64 = 1e-6;
const TAILS: f64 = 2e-3;
/// Offsets whose slopes are computed at once.
const BLOCK: usize = 64;
/// Cells over which messages vary at least.
const BLUR: f64 = 3.0;

/// Kernels of symmetric noise at a ladder of step lengths.
#[derive(Debug)]
pub(crate) struct Ladder {
    lowest: i64,
    rungs: Vec<Rung>,
}

/// The kernel of one length.
#[derive(Debug)]
struct Rung {
    nodes: Arc<Nodes>,
    kernel: Kernel,
    reach: u64,
    /// K_0, K_1, …
    values: Vec<f64>,
    /// K_0 + K_1 + …, K_1 + K_2 + …, …; from beyond the stencil on these are those of [`Kernel::tail`].
    tails: Vec<f64>,
    /// By block of [`BLOCK`] offsets, once they are asked for: ∂K_m/∂p for every parameter p of the noise.
    slopes: Vec<OnceLock<Vec<Vec<f64>>>>,
}

/// The kernel of a length between rungs.
#[derive(Debug)]
pub(super) struct Between {
    ladder: Arc<Ladder>,
    first: usize,
    weights: [f64; POINTS],
}

impl Ladder {
    /// A ladder for steps of these `lengths` on a grid of this spacing, with `count` offsets of each kernel at hand. None if there are
    /// few lengths, the noise is skewed, or values between rungs are not accurate enough.
    pub fn new(noise: &dyn Noise, lengths: &[f64], spacing: f64, count: usize) -> Option<Self> {
        let different: BTreeSet<u64> = lengths.iter().map(|&dt| length_key(dt)).collect();
        let range = lengths.iter().fold((f64::INFINITY, 0.0f64), |(lo, hi), &dt| (lo.min(dt), hi.max(dt)));
        let [lowest, highest] = [range.0, range.1].map(|dt| place(dt).floor() as i64 - LEFT);
        let rungs = (highest - lowest) as usize + POINTS;
        if different.len() < MANY || different.len() < 2 * rungs || count > MOST {
            return None;
        }
        let rung = |level: i64| Rung::new(noise, (level as f64 * APART).exp(), spacing, count);
        let rungs: Vec<Rung> = (lowest..lowest + rungs as i64).map(rung).collect::<Option<_>>()?;
        let ladder = Self { lowest, rungs };
        let middle = (range.0 * range.1).sqrt();
        [range.0, middle, range.1].iter().all(|&dt| ladder.is_accurate(noise, dt, spacing)).then_some(ladder)
    }

    /// Whether the kernel between the two rungs around `dt` is that of its own length.
    fn is_accurate(&self, noise: &dyn Noise, dt: f64, spacing: f64) -> bool {
        let dt = ((place(dt).floor() + 0.5) * APART).exp();
        let Ok(nodes) = noise.nodes(dt) else { return false };
        let (first, weights) = self.around(dt);
        let mut own = vec![0.0; self.rungs[0].values.len()];
        Kernel::new(&nodes, spacing).fill(0, &mut own);
        let between = |m: usize| self.sum(first, &weights, |rung| rung.values[m]);
        let error: Vec<f64> = own.iter().enumerate().map(|(m, own)| between(m) - own).collect();
        // A narrow node is a stencil and a broad one is sampled; to what varies over some cells they are the same.
        let (own, error) = (blurred(&own), blurred(&error));
        let top = own.first().copied().unwrap_or(0.0);
        let fine =
            |(own, error): (&f64, &f64)| error.abs() <= BULK * top && (error.abs() <= TAILS * own || *own < 1e-250);
        own.iter().zip(&error).all(fine)
    }

    /// First rung and weights of a length.
    fn around(&self, dt: f64) -> (usize, [f64; POINTS]) {
        let (place, cell) = (place(dt), place(dt).floor());
        ((cell as i64 - LEFT - self.lowest) as usize, weights(place - cell))
    }

    fn sum(&self, first: usize, weights: &[f64; POINTS], of: impl Fn(&Rung) -> f64) -> f64 {
        weights.iter().zip(&self.rungs[first..]).map(|(weight, rung)| weight * of(rung)).sum()
    }
}

/// A symmetric kernel as it acts on what varies over [`BLUR`] cells, but for its last offsets.
fn blurred(kernel: &[f64]) -> Vec<f64> {
    let reach = (6.0 * BLUR) as usize;
    let bell: Vec<f64> = (0..=reach).map(|i| (-0.5 * (i as f64 / BLUR).powi(2)).exp()).collect();
    let at = |m: usize| -> f64 {
        let around = (0..=reach).map(|i| bell[i] * (kernel[m.abs_diff(i)] + kernel[m + i]));
        around.sum::<f64>() - kernel[m]
    };
    (0..kernel.len().saturating_sub(reach)).map(at).collect()
}

/// Place of a length on the ladder.
fn place(dt: f64) -> f64 {
    dt.ln() / APART
}

impl Rung {
    fn new(noise: &dyn Noise, dt: f64, spacing: f64, count: usize) -> Option<Self> {
        let nodes = Arc::new(noise.nodes(dt).ok().filter(|nodes| nodes.means().is_none())?);
        let kernel = Kernel::new(&nodes, spacing);
        let count = count.next_multiple_of(BLOCK);
        let mut values = vec![0.0; count];
        kernel.fill(0, &mut values);
        let slopes = (0..count / BLOCK).map(|_| OnceLock::new()).collect();
        let mut tail = kernel.tail(count as u64);
        let sum = |value: &f64| {
            tail += value;
            tail
        };
        let mut tails: Vec<f64> = values.iter().rev().map(sum).collect();
        tails.reverse();
        Some(Self { nodes, reach: kernel.reach(), kernel, values, tails, slopes })
    }
}

impl Rung {
    /// Add `weight`·Σ_m (∂K_m/∂p) C_m to `total` for every parameter p, where `pairs` holds C_m from m = `first` on.
    fn contract(&self, weight: f64, first: usize, pairs: &[f64], total: &mut [f64]) {
        let mut rest = pairs;
        let mut m = first;
        while !rest.is_empty() {
            let (block, from) = (m / BLOCK, m % BLOCK);
            let (here, later) = rest.split_at(rest.len().min(BLOCK - from));
            let slopes =
                self.slopes[block].get_or_init(|| self.kernel.slopes(&self.nodes, (block * BLOCK) as u64, BLOCK));
            for (sum, slopes) in total.iter_mut().zip(slopes) {
                *sum += weight * dot(&slopes[from..], here);
            }
            (rest, m) = (later, m + here.len());
        }
    }
}

/// Σ a·b over the shorter of the two, in eight sums side by side.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a, b) = (a[..a.len().min(b.len())].chunks_exact(8), b[..a.len().min(b.len())].chunks_exact(8));
    let last = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum::<f64>();
    for (a, b) in a.zip(b) {
        for i in 0..8 {
            sums[i] += a[i] * b[i];
        }
    }
    sums.iter().sum::<f64>() + last
}

impl Between {
    /// The kernel of length `dt`, which is one of those the ladder was made for.
    pub fn new(ladder: &Arc<Ladder>, dt: f64) -> Self {
        let (first, weights) = ladder.around(dt);
        Self { ladder: ladder.clone(), first, weights }
    }

    /// Nodes of a length nearby.
    pub fn nodes(&self) -> &Arc<Nodes> {
        &self.ladder.rungs[self.first + LEFT as usize].nodes
    }

    fn rungs(&self) -> impl Iterator<Item = (f64, &Rung)> {
        self.weights.iter().copied().zip(&self.ladder.rungs[self.first..])
    }

    /// See [`Kernel::reach`].
    pub fn reach(&self) -> u64 {
        self.rungs().map(|(_, rung)| rung.reach).max().unwrap_or(0)
    }

    /// See [`Kernel::tail`].
    pub fn tail(&self, m: u64) -> f64 {
        let tail = |rung: &Rung| rung.tails.get(m as usize).copied().unwrap_or_else(|| rung.kernel.tail(m));
        self.ladder.sum(self.first, &self.weights, tail)
    }

    /// See [`Kernel::fill`].
    pub fn fill(&self, first: u64, out: &mut [f64]) {
        out.fill(0.0);
        let mut far = Vec::new();
        for (weight, rung) in self.rungs() {
            let values = match rung.values.get(first as usize..first as usize + out.len()) {
                Some(values) => values,
                None => {
                    far.resize(out.len(), 0.0);
                    rung.kernel.fill(first, &mut far);
                    &far
                }
            };
            out.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
        }
    }

    /// See [`Kernel::contract`].
    pub fn contract(&self, first: u64, pairs: &[f64], rest: f64) -> Vec<f64> {
        let mut total = vec![0.0; self.nodes().derivatives().len()];
        for (weight, rung) in self.rungs() {
            let at_hand = rung.values.len().saturating_sub(first as usize).min(pairs.len());
            let (near, far) = pairs.split_at(at_hand);
            rung.contract(weight, first as usize, near, &mut total);
            if !far.is_empty() || rest != 0.0 {
                let rest = rung.kernel.contract(&rung.nodes, first + at_hand as u64, far, rest);
                total.iter_mut().zip(rest).for_each(|(sum, push)| *sum += weight * push);
            }
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Gaussian, Nig, Stable};

    fn lengths() -> Vec<f64> {
        (0..200).map(|i| 0.02 * (1.0 + 0.01 * f64::from(i))).collect()
    }

    #[test]
    fn identity_kernels_and_slopes_between_rungs_are_their_own() {
        let noises: [Box<dyn Noise>; 3] = [
            Box::new(Stable::new(1.7, 1.0).unwrap()),
            Box::new(Stable::new(0.8, 1.0).unwrap()),
            Box::new(Nig::new(1.0, 3.0).unwrap()),
        ];
        let (h, count) = (0.02, 300);
        for noise in noises {
            let ladder = Arc::new(Ladder::new(noise.as_ref(), &lengths(), h, count).expect("smooth tails"));
            for dt in [0.02, 0.0333, 0.0598] {
                let nodes = noise.nodes(dt).unwrap();
                let (own, between) = (Kernel::new(&nodes, h), Between::new(&ladder, dt));
                let [mut a, mut b] = [vec![0.0; 400], vec![0.0; 400]];
                own.fill(0, &mut a);
                between.fill(0, &mut b);
                for (m, (a, b)) in a.iter().zip(&b).enumerate() {
                    assert!((a - b).abs() < 1e-9 + 1e-3 * a, "{} {dt} {m}: {a} {b}", noise.family());
                }
                for m in [20, 200, 350] {
                    assert!((own.tail(m) / between.tail(m) - 1.0).abs() < 1e-3, "{} {dt} {m}", noise.family());
                }
                let mut pairs: Vec<f64> = (0..350).map(|i| 1.2 + (0.1 * f64::from(i)).cos()).collect();
                // Both signs are counted together, so that offset 0 counts half; then this varies slowly.
                pairs[0] *= 0.5;
                let [a, b] = [own.contract(&nodes, 0, &pairs, 0.4), between.contract(0, &pairs, 0.4)];
                for (a, b) in a.iter().zip(&b) {
                    assert!((a - b).abs() < 1e-5 * a.abs().max(1.0), "{} {dt}: {a} {b}", noise.family());
                }
            }
        }
    }

    #[test]
    fn few_lengths_and_thin_tails_have_no_ladder() {
        let stable = Stable::new(1.5, 1.0).unwrap();
        assert!(Ladder::new(&stable, &[0.1; 500], 0.02, 300).is_none());
        assert!(Ladder::new(&Gaussian::new(1.0).unwrap(), &lengths(), 0.02, 300).is_none());
    }
}
