//! Convolve a stretch of the grid with a step's kernel: directly where relative accuracy is affordable, else by FFT.
//!
//! A direct sum of positive terms is accurate relative to each result, however small; an FFT is accurate relative to the
//! largest result only. Both compute the same linear map.

mod pairs;

use super::kernel::Kernel;
use super::ladder::{Between, Ladder};
use super::lagrange::REACH;
use super::shifted::{ShiftedKernel, SideKernel};
use crate::Result;
use crate::noise::{NodeCache, Nodes, Noise};
use crate::series::length_key;
use pairs::Pairs;
use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Kernel values kept over all step lengths before the cache is emptied (128 MB).
const KEPT: usize = 1 << 24;
/// Kernel values kept for one step length; farther offsets are computed when needed.
pub(super) const KEPT_EACH: usize = 1 << 15;
/// Kernel values computed at once.
const BLOCK: usize = 64;

/// How to weigh speed against rounding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Rounding {
    /// Never use an FFT.
    Careful,
    /// Use an FFT where a direct sum is ten times as dear: its accuracy is worth that.
    Reference,
    /// Use an FFT wherever it is faster.
    Fast,
}

impl Rounding {
    /// How much dearer than an FFT a direct sum may be.
    fn preference(self) -> f64 {
        match self {
            Self::Careful => f64::INFINITY,
            Self::Reference => 10.0,
            Self::Fast => 1.5,
        }
    }
}

/// Which way a convolution goes: forward as masses move, or backward, with K_{−m} for K_m.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Forward,
    Backward,
}

/// A kernel with what has been computed of it.
#[derive(Debug)]
pub(super) struct Entry {
    pub nodes: Arc<Nodes>,
    pub up: Side,
    /// Moves down; none for symmetric noise, whose two sides are the same.
    pub down: Option<Side>,
    reach: u64,
    /// Transforms of the kernel wrapped around circles, by length.
    spectra: BTreeMap<usize, Vec<Complex<f64>>>,
    /// Pairs of states before and after the steps of this length, see [`Convolver::pair`].
    pub pairs: Pairs,
}

/// A kernel on one side of 0.
#[derive(Debug)]
pub(super) struct Side {
    pub kernel: SideKernel,
    /// K_0, K_1, …, and which blocks of them are there.
    values: Vec<f64>,
    filled: Vec<bool>,
    /// K_1 + K_2 + …, K_2 + K_3 + …, …
    tails: Vec<f64>,
}

/// Room for transforms, to be used again and again.
#[derive(Default)]
pub(super) struct Room {
    pub values: Vec<f64>,
    pub spectra: [Vec<Complex<f64>>; 2],
    pub scratch: Vec<Complex<f64>>,
}

impl Room {
    /// Put the spectrum of `values`, placed `shift` cells along the circle of `plan`, into spectrum number `k`.
    pub fn transform(&mut self, plan: &Arc<dyn RealToComplex<f64>>, (values, shift): (&[f64], i64), k: usize) {
        let circle = plan.len();
        let start = shift.rem_euclid(circle as i64) as usize;
        let (head, tail) = values.split_at(values.len().min(circle - start));
        self.values.resize(circle, 0.0);
        // What goes round the seam, then nothing, then the rest.
        self.values[..tail.len()].copy_from_slice(tail);
        self.values[tail.len()..start].fill(0.0);
        self.values[start..start + head.len()].copy_from_slice(head);
        self.values[start + head.len()..].fill(0.0);
        self.spectra[k].resize(circle / 2 + 1, Complex::default());
        self.scratch.resize(plan.get_scratch_len(), Complex::default());
        let spectrum = &mut self.spectra[k];
        plan.process_with_scratch(&mut self.values, spectrum, &mut self.scratch).expect("lengths of the plan");
    }

    /// Put the values of spectrum number 0 into `values`.
    fn invert(&mut self, plan: &Arc<dyn ComplexToReal<f64>>) {
        self.scratch.resize(plan.get_scratch_len(), Complex::default());
        let spectrum = &mut self.spectra[0];
        plan.process_with_scratch(spectrum, &mut self.values, &mut self.scratch).expect("lengths of the plan");
    }
}

/// Convolution on a grid of one spacing, with kernels by step length.
pub(crate) struct Convolver<'a> {
    nodes: NodeCache<'a>,
    spacing: f64,
    pub(super) entries: BTreeMap<u64, Entry>,
    pub(super) planner: RealFftPlanner<f64>,
    pub(super) room: Room,
    pub rounding: Rounding,
    /// Where kernels of many lengths are interpolated.
    pub ladder: Option<Arc<Ladder>>,
}

impl<'a> Convolver<'a> {
    /// Convolution with the increments of `noise`.
    pub fn new(noise: &'a dyn Noise, spacing: f64, rounding: Rounding) -> Self {
        let nodes = NodeCache::new(noise);
        let (planner, room) = (RealFftPlanner::new(), Room::default());
        Self { nodes, spacing, entries: BTreeMap::new(), planner, room, rounding, ladder: None }
    }

    /// `out`_i = Σ_m K_{(first_out + i) − (first_source + m)} `source`_m for a step of length `dt`; backward, with K_{−m} for
    /// K_m.
    ///
    /// Returns the typical absolute error of a result: 0 for a direct sum, whose results are accurate one by one; the
    /// rounding of an FFT spreads evenly over all results.
    pub fn apply(
        &mut self,
        way: Way,
        dt: f64,
        (first_source, source): (i64, &[f64]),
        (first_out, out): (i64, &mut [f64]),
    ) -> Result<f64> {
        // Zeros at the ends cost time and change nothing.
        let live = source.iter().position(|&b| b != 0.0).map(|start| {
            let end = source.len() - source.iter().rev().position(|&b| b != 0.0).unwrap_or(0);
            (first_source + start as i64, &source[start..end])
        });
        let Some((first_source, source)) = live else {
            out.fill(0.0);
            return Ok(0.0);
        };
        let preference = self.rounding.preference();
        let key = self.prepare(dt)?;
        let lowest = first_out - (first_source + source.len() as i64 - 1);
        let highest = first_out + out.len() as i64 - 1 - first_source;
        let farthest = lowest.unsigned_abs().max(highest.unsigned_abs());
        let entry = self.entries.get_mut(&key).expect("prepared above");
        let band = source.len().min(out.len()) as f64;
        let direct = source.len().max(out.len()) as f64 * band.min(2.0 * entry.reach as f64);
        if direct < preference * fft_cost(farthest) {
            entry.direct(way, source, lowest, out);
            return Ok(0.0);
        }
        let circle = good_length(2 * farthest as usize + 2);
        let forward = self.planner.plan_fft_forward(circle);
        let inverse = self.planner.plan_fft_inverse(circle);
        // Turning a real kernel round conjugates its transform.
        let turned = way == Way::Backward && entry.down.is_some();
        let spectrum = entry.spectrum(circle, &forward);
        let room = &mut self.room;
        Ok(around(source, first_out - first_source, out, (spectrum, turned), (&forward, &inverse), room))
    }

    /// [`Convolver::apply`] forward with the moves of up to `within` cells alone, a cell that is cut counting by its part.
    pub fn apply_within(
        &mut self,
        dt: f64,
        (first_source, source): (i64, &[f64]),
        (first_out, out): (i64, &mut [f64]),
        within: f64,
    ) -> Result<()> {
        let key = self.prepare(dt)?;
        let entry = self.entries.get_mut(&key).expect("prepared above");
        let lowest = first_out - (first_source + source.len() as i64 - 1);
        let mut kernel = entry.stretch(Way::Forward, lowest, source.len() + out.len() - 1 + TAPS);
        for (value, m) in kernel.iter_mut().zip(lowest..) {
            *value *= (within + 0.5 - m.unsigned_abs() as f64).clamp(0.0, 1.0);
        }
        slide(source, &kernel, out);
        Ok(())
    }

    /// Σ_{m ≥ i} K_{−m} and Σ_{m ≥ i} K_m for i = 1, 2, …, at least `count` of each: the probabilities to move down and up by
    /// i cells or more.
    pub fn tails(&mut self, dt: f64, count: usize) -> Result<[&[f64]; 2]> {
        let key = self.prepare(dt)?;
        let entry = self.entries.get_mut(&key).expect("prepared above");
        entry.up.add_tails(count);
        if let Some(down) = &mut entry.down {
            down.add_tails(count);
        }
        let up = &entry.up.tails;
        Ok([entry.down.as_ref().map_or(up, |down| &down.tails), up])
    }

    /// Exactly `count` of each of [`Convolver::tails`], the same to the last digit whatever was asked for before; `count` > 8.
    pub fn exactly_tails(&mut self, dt: f64, count: usize) -> Result<[Vec<f64>; 2]> {
        let key = self.prepare(dt)?;
        let entry = self.entries.get_mut(&key).expect("prepared above");
        let up = entry.up.sum_tails(count);
        Ok([entry.down.as_mut().map_or_else(|| up.clone(), |down| down.sum_tails(count)), up])
    }

    /// Probabilities to move by `nearest`, `nearest` + 1, … cells or more, `count` of them, up (forward) or down; `nearest` lies beyond
    /// the reach of narrow nodes.
    pub fn far_tails(&mut self, way: Way, dt: f64, nearest: usize, count: usize) -> Result<Vec<f64>> {
        let key = self.prepare(dt)?;
        let Entry { up, down, .. } = self.entries.get_mut(&key).expect("prepared above");
        let side = if way == Way::Backward { down.as_mut().unwrap_or(up) } else { up };
        let mut tails = vec![0.0; count];
        side.kernel.fill(nearest as u64, &mut tails);
        let mut tail = side.kernel.tail((nearest + count) as u64);
        for value in tails.iter_mut().rev() {
            tail += *value;
            *value = tail;
        }
        Ok(tails)
    }

    /// Have a kernel of these nodes for the steps with this key instead of the noise's own.
    pub(super) fn provide(&mut self, key: u64, nodes: impl FnOnce() -> Result<Arc<Nodes>>) -> Result<()> {
        if !self.entries.contains_key(&key) {
            self.make_room();
            self.entries.insert(key, Entry::new(nodes()?, self.spacing));
        }
        Ok(())
    }

    /// Forget kernels if there are many; now and then, because counting takes time too.
    fn make_room(&mut self) {
        if self.entries.len().is_multiple_of(64) && self.entries.values().map(Entry::kept).sum::<usize>() > KEPT {
            // What was paired is a result, not a cache.
            self.entries.retain(|_, entry| !entry.pairs.is_empty());
        }
    }

    /// Have the kernel for steps of length `dt` in `entries`, and return its key there.
    pub(super) fn prepare(&mut self, dt: f64) -> Result<u64> {
        let key = length_key(dt);
        if !self.entries.contains_key(&key) {
            self.make_room();
            let entry = match &self.ladder {
                Some(ladder) => Entry::between(Between::new(ladder, dt)),
                None => Entry::new(self.nodes.nodes(dt)?, self.spacing),
            };
            self.entries.insert(key, entry);
        }
        Ok(key)
    }
}

/// Cost of a convolution by FFT, in multiplications of a direct sum, if no offset exceeds `farthest`.
pub(super) fn fft_cost(farthest: u64) -> f64 {
    let circle = 2.0 * farthest as f64 + 2.0;
    4.0 * circle * circle.log2()
}

impl Entry {
    fn new(nodes: Arc<Nodes>, spacing: f64) -> Self {
        let shifted = |means: &[f64], sign| SideKernel::Shifted(ShiftedKernel::new(&nodes, means, spacing, sign));
        let (up, down) = match nodes.means() {
            Some(means) => (shifted(means, 1.0), Some(shifted(means, -1.0))),
            None => (SideKernel::Centred(Kernel::new(&nodes, spacing)), None),
        };
        Self::of(nodes, up, down)
    }

    fn between(kernel: Between) -> Self {
        Self::of(kernel.nodes().clone(), SideKernel::Between(kernel), None)
    }

    fn of(nodes: Arc<Nodes>, up: SideKernel, down: Option<SideKernel>) -> Self {
        let reach = up.reach().max(down.as_ref().map_or(0, SideKernel::reach));
        let (up, down) = (Side::new(up), down.map(Side::new));
        Self { nodes, up, down, reach, spectra: BTreeMap::new(), pairs: Pairs::default() }
    }

    /// Number of kernel values kept.
    fn kept(&self) -> usize {
        self.up.values.len() + self.down.as_ref().map_or(0, |down| down.values.len())
    }

    /// K_m, or K_{−m} on the way back, for m = `first` … `first` + `count` − 1, `first` of either sign.
    fn stretch(&mut self, way: Way, first: i64, count: usize) -> Vec<f64> {
        let Some(down) = &mut self.down else { return self.up.stretch(first, count) };
        let (up, down) = if way == Way::Forward { (&mut self.up, down) } else { (down, &mut self.up) };
        let below = (-first).clamp(0, count as i64) as usize;
        // Offsets below 0, the nearest to it last.
        let mut values = match below {
            0 => Vec::new(),
            _ => down.stretch(1 - first - below as i64, below),
        };
        values.reverse();
        if below < count {
            values.extend(up.stretch(first.max(0), count - below));
        }
        values
    }

    /// Sum directly; `lowest` is the offset from the last source cell to the first result.
    fn direct(&mut self, way: Way, source: &[f64], lowest: i64, out: &mut [f64]) {
        let kernel = self.stretch(way, lowest, source.len() + out.len() - 1 + TAPS);
        slide(source, &kernel, out);
    }

    /// Transform of the kernel wrapped around a circle.
    fn spectrum(&mut self, circle: usize, plan: &Arc<dyn RealToComplex<f64>>) -> &[Complex<f64>] {
        if !self.spectra.contains_key(&circle) {
            let half = self.stretch(Way::Forward, 0, circle / 2 + 1);
            let mut wrapped: Vec<f64> = match self.down.is_some() {
                true => {
                    let rest = circle - half.len();
                    let below = self.stretch(Way::Forward, -(rest as i64), rest);
                    half.into_iter().chain(below).collect()
                }
                false => (0..circle).map(|i| half[i.min(circle - i)]).collect(),
            };
            let mut spectrum = plan.make_output_vec();
            plan.process(&mut wrapped, &mut spectrum).expect("lengths of the plan");
            self.spectra.insert(circle, spectrum);
        }
        &self.spectra[&circle]
    }
}

impl Side {
    fn new(kernel: SideKernel) -> Self {
        Self { kernel, values: Vec::new(), filled: Vec::new(), tails: Vec::new() }
    }

    /// Have at least `count` tails.
    fn add_tails(&mut self, count: usize) {
        if self.tails.len() < count {
            self.tails = self.sum_tails((count + REACH).max(2 * self.tails.len()));
        }
    }

    /// K_|m| for m = `first` … `first` + `count` − 1, `first` of either sign.
    fn stretch(&mut self, first: i64, count: usize) -> Vec<f64> {
        let last = first + count as i64 - 1;
        let farthest = first.unsigned_abs().max(last.unsigned_abs()) as usize;
        let nearest = if first <= 0 && last >= 0 { 0 } else { first.unsigned_abs().min(last.unsigned_abs()) as usize };
        if farthest >= KEPT_EACH {
            let mut values = vec![0.0; farthest - nearest + 1];
            self.kernel.fill(nearest as u64, &mut values);
            return (first..=last).map(|m| values[m.unsigned_abs() as usize - nearest]).collect();
        }
        self.fill(nearest / BLOCK, farthest / BLOCK);
        (first..=last).map(|m| self.values[m.unsigned_abs() as usize]).collect()
    }

    /// K_1 + K_2 + …, K_2 + K_3 + …, `count` of them, summed from the far end, so that each is accurate by itself.
    fn sum_tails(&mut self, count: usize) -> Vec<f64> {
        let mut tails = self.stretch(1, count);
        let mut tail = self.kernel.tail(count as u64 + 1);
        for value in tails.iter_mut().rev() {
            tail += *value;
            *value = tail;
        }
        tails
    }

    /// Have the blocks from `from` to `to` computed.
    fn fill(&mut self, from: usize, to: usize) {
        if to >= self.filled.len() {
            self.filled.resize(to + 1, false);
            self.values.resize((to + 1) * BLOCK, 0.0);
        }
        for block in (from..=to).filter(|&block| !self.filled[block]) {
            self.kernel.fill((block * BLOCK) as u64, &mut self.values[block * BLOCK..(block + 1) * BLOCK]);
        }
        self.filled[from..=to].fill(true);
    }
}

/// Source cells taken at a time.
pub(super) const TAPS: usize = 8;

/// `out`_i = Σ_m `kernel`_{i + m} · (`source` backwards)_m; the kernel has [`TAPS`] values more than it needs.
pub(super) fn slide(source: &[f64], kernel: &[f64], out: &mut [f64]) {
    let start = kernel.iter().position(|&k| k != 0.0).unwrap_or(kernel.len());
    let end = kernel.len() - kernel.iter().rev().position(|&k| k != 0.0).unwrap_or(0);
    out.fill(0.0);
    // Eight source cells at a time, last to first: one pass over the results does eight multiplications per value.
    for (block, cells) in source.rchunks(TAPS).enumerate() {
        let taps: [f64; TAPS] = std::array::from_fn(|t| if t < cells.len() { cells[cells.len() - 1 - t] } else { 0.0 });
        let shift = block * TAPS;
        let from = start.saturating_sub(shift + TAPS - 1).min(out.len());
        let to = end.saturating_sub(shift).min(out.len());
        if from >= to {
            continue;
        }
        for (value, window) in out[from..to].iter_mut().zip(kernel[shift + from..].windows(TAPS)) {
            let mut sum = 0.0;
            for t in 0..TAPS {
                sum += taps[t] * window[t];
            }
            *value += sum;
        }
    }
}

/// Convolve around a circle with the kernel of a `spectrum`, or with that kernel turned round; the results begin `shift` cells
/// from the source. Returns the typical error of a result.
fn around(
    source: &[f64],
    shift: i64,
    out: &mut [f64],
    (spectrum, turned): (&[Complex<f64>], bool),
    (forward, inverse): (&Arc<dyn RealToComplex<f64>>, &Arc<dyn ComplexToReal<f64>>),
    room: &mut Room,
) -> f64 {
    let circle = forward.len();
    room.transform(forward, (source, 0), 0);
    let product = room.spectra[0].iter_mut().zip(spectrum);
    match turned {
        true => product.for_each(|(a, b)| *a *= b.conj()),
        false => product.for_each(|(a, b)| *a *= b),
    }
    room.invert(inverse);
    let shift = shift.rem_euclid(circle as i64) as usize;
    let scale = 1.0 / circle as f64;
    let (before, after) = room.values.split_at(shift);
    let (first, rest) = out.split_at_mut(after.len().min(out.len()));
    first.iter_mut().zip(after).for_each(|(value, sum)| *value = scale * sum);
    rest.iter_mut().zip(before).for_each(|(value, sum)| *value = scale * sum);
    let norm = source.iter().map(|b| b * b).sum::<f64>().sqrt();
    f64::EPSILON * norm * (f64::log2(circle as f64) / circle as f64).sqrt()
}

/// The smallest number ≥ `length` of the form c·2^k, c among 8, 9, 10, 12, 15: fast to transform, and few different ones.
pub(super) fn good_length(length: usize) -> usize {
    let base = (length.max(16) / 8 + 1).next_power_of_two() / 2;
    let candidates = [8, 9, 10, 12, 15, 16, 18].map(|c| c * base);
    candidates.into_iter().find(|&n| n >= length && n % 2 == 0).unwrap_or(length.next_power_of_two())
}
