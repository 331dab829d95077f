//! Cross several latent steps at once where the law of their noise together is known.
//!
//! With an affine drift and a stable law, or without a drift, the noise of a gap has the law of one step of another length
//! (see [`gather`](super::super::gather)). Its part without a jump has no closed form: that is the convolution of what each
//! step contributes, computed by Fourier transforms.

use super::super::convolve::good_length;
use super::super::gather::multiplier;
use super::super::kernel::Kernel;
use super::Filter;
use crate::Result;
use crate::noise::Nodes;
use crate::series::{length_key, standard_length};
use realfft::RealFftPlanner;
use std::sync::Arc;

/// Standard deviations of the widest part of a calm noise that are kept.
const DEPTH: f64 = 9.0;
/// Cells kept of the narrowest one, and most cells of any.
const NARROWEST: f64 = 32.0;
const MOST_CELLS: f64 = 262_144.0;
/// Variance in squared cells that counts as none.
const NOTHING: f64 = 1e-20;

/// Latent steps that are crossed at once.
#[derive(Debug, Clone)]
pub(super) struct Stride {
    /// Where it begins, and how long it is.
    pub from: f64,
    pub dt: f64,
    /// A step of this length has the noise of the whole.
    pub noise: f64,
    /// Its steps if there are several: their lengths, and what is left at the end of a unit after each.
    pub steps: Vec<(f64, f64)>,
}

impl Stride {
    /// One step.
    fn one((from, dt): (f64, f64)) -> Self {
        Self { from, dt, noise: dt, steps: Vec::new() }
    }

    /// What tells the calm noises of strides with several steps apart.
    pub fn key(&self) -> Vec<u64> {
        self.steps.iter().map(|(dt, _)| length_key(*dt)).collect()
    }
}

impl Filter<'_> {
    /// The strides that cross `steps` on a grid of this spacing: one, or one each.
    pub(super) fn strides(&mut self, steps: &[(f64, f64)], spacing: f64) -> Result<Vec<Stride>> {
        let each = || steps.iter().map(|step| Stride::one(*step)).collect();
        let Some(index) = self.index.filter(|_| steps.len() > 1 && !self.kernels.tells_by_increment()) else {
            return Ok(each());
        };
        let (mut noise, mut rest, mut crossed) = (0.0, 0.0, Vec::with_capacity(steps.len()));
        for (_, dt) in steps.iter().rev() {
            let left = multiplier(self.model.drift.as_ref(), rest).0.abs();
            noise += dt * left.powf(index);
            crossed.push((*dt, left));
            rest += dt;
        }
        let noise = standard_length(noise);
        let nodes = |(dt, left): &(f64, f64)| Ok((self.kernels.nodes(*dt)?, *left));
        let calm = crossed.iter().map(nodes).collect::<Result<Vec<_>>>()?;
        if calm.iter().any(|(nodes, _)| nodes.means().is_some()) || reach(&calm, spacing) > MOST_CELLS {
            return Ok(each());
        }
        Ok(vec![Stride { from: steps[0].0, dt: rest, noise, steps: crossed }])
    }
}

/// K_0, K_1, …: the law on cells of the sum of what steps contribute without a jump, each given by its nodes, which are
/// symmetric, and what is left of a unit after it. It sums to the probability of no jump.
pub(super) fn calm_sum(steps: &[(Arc<Nodes>, f64)], spacing: f64) -> Result<Vec<f64>> {
    let circle = good_length(2 * reach(steps, spacing) as usize + 2);
    let mut planner = RealFftPlanner::new();
    let (forward, inverse) = (planner.plan_fft_forward(circle), planner.plan_fft_inverse(circle));
    let mut spectrum = inverse.make_input_vec();
    spectrum.iter_mut().for_each(|value| value.re = 1.0);
    let (mut half, mut one) = (vec![0.0; circle / 2 + 1], forward.make_output_vec());
    for (nodes, left) in steps {
        let (variances, weights) = calm_nodes(nodes);
        let share: f64 = weights.iter().sum();
        if left * left * variances[variances.len() - 1] < NOTHING * spacing * spacing {
            spectrum.iter_mut().for_each(|all| all.re *= share);
            continue;
        }
        let calm = Nodes::new(variances.to_vec(), weights.to_vec(), Vec::new())?.scaled(*left);
        Kernel::new(&calm, spacing).fill(0, &mut half);
        let mut wrapped: Vec<f64> = (0..circle).map(|i| half[i.min(circle - i)]).collect();
        forward.process(&mut wrapped, &mut one).expect("lengths of the plan");
        // A symmetric kernel has a real transform.
        spectrum.iter_mut().zip(&one).for_each(|(all, one)| all.re *= share * one.re);
    }
    let mut kernel = inverse.make_output_vec();
    inverse.process(&mut spectrum, &mut kernel).expect("lengths of the plan");
    kernel.truncate(circle / 2);
    kernel.iter_mut().for_each(|value| *value /= circle as f64);
    Ok(kernel)
}

/// Cells that the sum of `steps` without a jump may lead to either side.
fn reach(steps: &[(Arc<Nodes>, f64)], spacing: f64) -> f64 {
    let widest = |(nodes, left): &(Arc<Nodes>, f64)| left * left * calm_nodes(nodes).0.last().copied().unwrap_or(0.0);
    DEPTH * steps.iter().map(widest).sum::<f64>().sqrt() / spacing + NARROWEST
}

/// Begin and length of the steps between `times`.
pub(super) fn steps(times: &[f64]) -> Vec<(f64, f64)> {
    times.windows(2).map(|pair| (pair[0], length(pair[0], pair[1]))).collect()
}

/// Length of a step, without the digits that its ends do not have, as the one that stands for all with its key: the same
/// for the same times, whatever steps came before.
fn length(from: f64, to: f64) -> f64 {
    let coarsest = 8.0 * f64::EPSILON * from.abs().max(to.abs());
    let unit = coarsest.log2().ceil().exp2();
    let rounded = ((to - from) / unit).round() * unit;
    let length = if rounded > 0.0 { rounded } else { to - from };
    standard_length(length)
}

/// Variances and weights of the nodes that are no jumps.
pub(super) fn calm_nodes(nodes: &Nodes) -> (&[f64], &[f64]) {
    let threshold = crate::posterior::upper_tail(nodes.weights());
    (&nodes.variances()[..threshold], &nodes.weights()[..threshold])
}
