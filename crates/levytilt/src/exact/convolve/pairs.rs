//! Count pairs of states before and after a step by their distance: all that the noise's parameters can learn from.
//!
//! With masses f̂ before the noise of a step and the message b after it, C_m = Σ_i f̂_i b_{i+m} and Σ_m K_m C_m is the
//! evidence, so ∂/∂p of its logarithm is Σ_m (∂K_m/∂p) C_m over the evidence. Where the kernel is symmetric, offsets m and −m
//! are counted together. Steps of one length add up, and every parameter is served by one sum over nodes at the end.

use super::{Convolver, Entry, KEPT_EACH, Rounding, Side, TAPS, fft_cost, good_length, slide};
use crate::Result;
use crate::exact::lagrange::REACH;
use crate::noise::Nodes;
use realfft::RealFftPlanner;
use realfft::num_complex::Complex;
use std::collections::BTreeMap;

/// The pairs of all steps of one length.
#[derive(Debug, Default)]
pub(in crate::exact) struct Pairs {
    /// C_0, C_1, … and 0, C_{−1}, …; for symmetric noise both in the first.
    near: [Vec<f64>; 2],
    /// Spectra of C on circles, by length.
    around: BTreeMap<usize, Vec<Complex<f64>>>,
    /// Derivatives from offsets that are too far out to be kept.
    far: Vec<f64>,
    /// Entry i is added to C_m for all m ≥ i, or to C_{−m}: pairs with states beyond the cells.
    beyond: [Vec<f64>; 2],
}

impl Pairs {
    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        let none = |sides: &[Vec<f64>; 2]| sides.iter().all(Vec::is_empty);
        none(&self.near) && self.around.is_empty() && self.far.is_empty() && none(&self.beyond)
    }

    /// Add C_m for m = `lowest`, `lowest` + 1, …; `skewed` if the two sides differ.
    fn add(&mut self, skewed: bool, lowest: i64, values: &[f64]) {
        let farthest = lowest.unsigned_abs().max((lowest + values.len() as i64 - 1).unsigned_abs()) as usize;
        for near in &mut self.near[..1 + usize::from(skewed)] {
            if near.len() <= farthest {
                near.resize(farthest + 1, 0.0);
            }
        }
        for (value, m) in values.iter().zip(lowest..) {
            self.near[side(skewed, m)][m.unsigned_abs() as usize] += value;
        }
    }
}

impl Convolver<'_> {
    /// Count the pairs of `before` and `after` a step of length `dt`, divided by `evidence`.
    pub fn pair(
        &mut self,
        dt: f64,
        (first_before, before): (i64, &[f64]),
        (first_after, after): (i64, &[f64]),
        evidence: f64,
    ) -> Result<()> {
        let key = self.prepare(dt)?;
        let entry = self.entries.get_mut(&key).expect("prepared above");
        let lowest = first_after - (first_before + before.len() as i64 - 1);
        let highest = first_after + after.len() as i64 - 1 - first_before;
        let farthest = lowest.unsigned_abs().max(highest.unsigned_abs());
        let direct = (before.len() * after.len()) as f64;
        if self.rounding != Rounding::Careful && direct > fft_cost(farthest) && (farthest as usize) < KEPT_EACH {
            let circle = good_length(2 * farthest as usize + 2);
            let (plan, room) = (self.planner.plan_fft_forward(circle), &mut self.room);
            room.transform(&plan, (before, 0), 0);
            room.transform(&plan, (after, first_after - first_before), 1);
            let [before, after] = &room.spectra;
            let sum = entry.pairs.around.entry(circle).or_insert_with(|| vec![Complex::default(); before.len()]);
            let scale = 1.0 / (evidence * circle as f64);
            for ((sum, f), b) in sum.iter_mut().zip(before).zip(after) {
                *sum += f.conj() * b * scale;
            }
            return Ok(());
        }
        // C_m = Σ_i f̂_i b_{i+m}; `slide` reads its source backwards.
        let (n, scale) = (before.len(), 1.0 / evidence);
        let source: Vec<f64> = before.iter().rev().map(|f| f * scale).collect();
        let mut padded = vec![0.0; 2 * (n - 1) + after.len() + TAPS];
        padded[n - 1..][..after.len()].copy_from_slice(after);
        let mut counted = vec![0.0; n + after.len() - 1];
        slide(&source, &padded, &mut counted);
        entry.count(lowest, &counted, farthest as usize);
        Ok(())
    }

    /// Count the pairs of `before` with all states below the first and from the second of `ends` on, where the message is
    /// constant; its `values` there are divided by the evidence already.
    pub fn pair_beyond(&mut self, dt: f64, before: (i64, &[f64]), ends: (i64, i64), values: [f64; 2]) -> Result<()> {
        let key = self.prepare(dt)?;
        let entry = self.entries.get_mut(&key).expect("prepared above");
        let skewed = entry.down.is_some();
        let mut add = |sign: i64, distance: i64, mass: f64| {
            // From beyond the end, one stays there unless one moves back: 1 − Σ_{m > −distance} K_m.
            let out = distance >= 1;
            let (from, mass) = if out { (distance as usize, mass) } else { ((1 - distance) as usize, -mass) };
            let beyond = &mut entry.pairs.beyond[side(skewed, if out { sign } else { -sign })];
            if beyond.len() <= from {
                beyond.resize(from + 1, 0.0);
            }
            beyond[from] += mass;
        };
        for (cell, mass) in (before.0..).zip(before.1) {
            add(-1, cell - ends.0 + 1, mass * values[0]);
            add(1, ends.1 - cell, mass * values[1]);
        }
        Ok(())
    }

    /// Per step length: its key and Σ_m (∂K_m/∂p) C_m for every parameter p of the noise.
    pub fn contract(&mut self) -> Vec<(u64, Vec<f64>)> {
        let planner = &mut self.planner;
        self.entries
            .iter_mut()
            .filter(|(_, e)| !e.pairs.is_empty())
            .map(|(&key, e)| (key, e.contract(planner)))
            .collect()
    }
}

impl Entry {
    /// Add C_m for m = `lowest`, `lowest` + 1, …
    fn count(&mut self, lowest: i64, counted: &[f64], farthest: usize) {
        let skewed = self.down.is_some();
        if farthest < KEPT_EACH {
            self.pairs.add(skewed, lowest, counted);
            return;
        }
        let highest = lowest + counted.len() as i64 - 1;
        let first = nearest(lowest, highest);
        let mut folded = [(); 2].map(|()| vec![0.0; farthest + 1 - first]);
        for (value, m) in counted.iter().zip(lowest..) {
            folded[side(skewed, m)][m.unsigned_abs() as usize - first] += value;
        }
        for (side, folded) in [Some(&self.up), self.down.as_ref()].into_iter().flatten().zip(&folded) {
            let push = side.kernel.contract(&self.nodes, first as u64, folded, 0.0);
            self.pairs.far.resize(push.len(), 0.0);
            self.pairs.far.iter_mut().zip(push).for_each(|(sum, push)| *sum += push);
        }
    }

    fn contract(&mut self, planner: &mut RealFftPlanner<f64>) -> Vec<f64> {
        for (circle, mut spectrum) in std::mem::take(&mut self.pairs.around) {
            let inverse = planner.plan_fft_inverse(circle);
            let mut values = inverse.make_output_vec();
            // The first and the last number of a real signal's spectrum are real; rounding may say otherwise.
            spectrum[0].im = 0.0;
            spectrum[circle / 2].im = 0.0;
            inverse.process(&mut spectrum, &mut values).expect("lengths of the plan");
            let half = circle / 2;
            self.pairs.add(self.down.is_some(), 0, &values[..half]);
            self.pairs.add(self.down.is_some(), half as i64 - circle as i64, &values[half..]);
        }
        let Pairs { near, far, beyond, .. } = std::mem::take(&mut self.pairs);
        let sides = [Some(&self.up), self.down.as_ref()].into_iter().flatten();
        let mut total = Vec::new();
        for (side, (near, beyond)) in sides.zip(near.into_iter().zip(beyond)) {
            let push = side.contract(&self.nodes, near, beyond);
            match total.is_empty() {
                true => total = push,
                false => total.iter_mut().zip(push).for_each(|(sum, push)| *sum += push),
            }
        }
        total.iter_mut().zip(&far).for_each(|(push, far)| *push += far);
        total
    }
}

impl Side {
    /// Σ_m (∂K_m/∂p) C_m over the moves to this side.
    fn contract(&self, nodes: &Nodes, mut near: Vec<f64>, mut beyond: Vec<f64>) -> Vec<f64> {
        let mut rest = 0.0;
        let count = near.len().max(beyond.len() + REACH);
        if !beyond.is_empty() {
            near.resize(count, 0.0);
            beyond.resize(count, 0.0);
            for (near, beyond) in near.iter_mut().zip(&beyond) {
                rest += beyond;
                *near += rest;
            }
        }
        self.kernel.contract(nodes, 0, &near, rest)
    }
}

/// Where pairs at offset `m` are counted.
fn side(skewed: bool, m: i64) -> usize {
    usize::from(skewed && m < 0)
}

/// Smallest magnitude of the offsets from `lowest` to `highest`.
fn nearest(lowest: i64, highest: i64) -> usize {
    if lowest <= 0 && highest >= 0 { 0 } else { lowest.unsigned_abs().min(highest.unsigned_abs()) as usize }
}
