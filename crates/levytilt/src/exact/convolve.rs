//! Convolve a stretch of the grid with a step's kernel: directly where relative accuracy is affordable, else by FFT.
//!
//! A direct sum of positive terms is accurate relative to each result, however small; an FFT is accurate relative to the
//! largest result only. Both compute the same linear map.

use super::kernel::Kernel;
use super::lagrange::REACH;
use crate::Result;
use crate::noise::{NodeCache, Noise};
use realfft::num_complex::Complex;
use realfft::{RealFftPlanner, RealToComplex};
use std::collections::HashMap;
use std::sync::Arc;

/// Kernel values kept over all step lengths before the cache is emptied (128 MB).
const KEPT: usize = 1 << 24;
/// Kernel values kept for one step length; farther offsets are computed when needed.
const KEPT_EACH: u64 = 1 << 22;
/// How much dearer than an FFT a direct sum may be: its accuracy is worth that.
const PREFERENCE: f64 = 10.0;

/// A kernel with what has been computed of it.
#[derive(Debug)]
struct Entry {
    kernel: Kernel,
    reach: u64,
    /// K_0, K_1, …
    values: Vec<f64>,
    /// K_1 + K_2 + …, K_2 + K_3 + …, …
    tails: Vec<f64>,
    /// Transform of the kernel wrapped around a circle of the given length.
    spectrum: Option<(usize, Vec<Complex<f64>>)>,
}

/// Convolution on a grid of one spacing, with kernels by step length.
pub(crate) struct Convolver<'a> {
    nodes: NodeCache<'a>,
    spacing: f64,
    entries: HashMap<u64, Entry>,
    planner: RealFftPlanner<f64>,
    /// Never use an FFT.
    pub careful: bool,
}

impl<'a> Convolver<'a> {
    /// Convolution with the increments of `noise`.
    pub fn new(noise: &'a dyn Noise, spacing: f64, careful: bool) -> Self {
        let nodes = NodeCache::new(noise);
        Self { nodes, spacing, entries: HashMap::new(), planner: RealFftPlanner::new(), careful }
    }

    /// `out`_i = Σ_m K_{(first_out + i) − (first_source + m)} `source`_m for a step of length `dt`.
    ///
    /// Returns the typical absolute error of a result: 0 for a direct sum, whose results are accurate one by one; the
    /// rounding of an FFT spreads evenly over all results.
    pub fn apply(
        &mut self,
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
        self.prepare(dt)?;
        let lowest = first_out - (first_source + source.len() as i64 - 1);
        let highest = first_out + out.len() as i64 - 1 - first_source;
        let farthest = lowest.unsigned_abs().max(highest.unsigned_abs());
        let entry = self.entries.get_mut(&dt.to_bits()).expect("prepared above");
        let circle = 2.0 * farthest as f64 + 2.0;
        let band = source.len().min(out.len()) as f64;
        let direct = source.len().max(out.len()) as f64 * band.min(2.0 * entry.reach as f64);
        let fft = 4.0 * circle * circle.log2();
        if self.careful || direct < PREFERENCE * fft {
            entry.direct(source, lowest, out);
            Ok(0.0)
        } else {
            let circle = entry.circle(2 * farthest as usize + 2);
            let forward = self.planner.plan_fft_forward(circle);
            let spectrum = entry.spectrum(circle, &forward);
            let mut buffer = vec![0.0; circle];
            buffer[..source.len()].copy_from_slice(source);
            let mut product = forward.make_output_vec();
            forward.process(&mut buffer, &mut product).expect("lengths of the plan");
            product.iter_mut().zip(spectrum).for_each(|(a, b)| *a *= b);
            let inverse = self.planner.plan_fft_inverse(circle);
            inverse.process(&mut product, &mut buffer).expect("lengths of the plan");
            let shift = (first_out - first_source).rem_euclid(circle as i64) as usize;
            let scale = 1.0 / circle as f64;
            let around = buffer[shift..].iter().chain(&buffer[..shift]);
            out.iter_mut().zip(around).for_each(|(value, sum)| *value = scale * sum);
            let norm = source.iter().map(|b| b * b).sum::<f64>().sqrt();
            Ok(f64::EPSILON * norm * (f64::log2(circle as f64) / circle as f64).sqrt())
        }
    }

    /// Σ_{m ≥ i} K_m for i = 1, 2, …, at least `count` of them: the probability to move by i cells or more to one side.
    pub fn tails(&mut self, dt: f64, count: usize) -> Result<&[f64]> {
        self.prepare(dt)?;
        let entry = self.entries.get_mut(&dt.to_bits()).expect("prepared above");
        if entry.tails.len() < count {
            // Summed from the far end, so that each is accurate by itself.
            let count = count + REACH;
            entry.tails = entry.stretch(1, count);
            let mut tail = entry.kernel.tail(count as u64 + 1);
            for value in entry.tails.iter_mut().rev() {
                tail += *value;
                *value = tail;
            }
        }
        Ok(&entry.tails)
    }

    fn prepare(&mut self, dt: f64) -> Result<()> {
        if self.entries.values().map(|entry| entry.values.len()).sum::<usize>() > KEPT {
            self.entries.clear();
        }
        let key = dt.to_bits();
        if !self.entries.contains_key(&key) {
            let nodes = self.nodes.nodes(dt)?;
            let kernel = Kernel::new(&nodes, self.spacing);
            let reach = kernel.reach();
            self.entries.insert(key, Entry { kernel, reach, values: Vec::new(), tails: Vec::new(), spectrum: None });
        }
        Ok(())
    }
}

impl Entry {
    /// K_m for m = `first` … `first` + `count` − 1, `first` of either sign.
    fn stretch(&mut self, first: i64, count: usize) -> Vec<f64> {
        let last = first + count as i64 - 1;
        let farthest = first.unsigned_abs().max(last.unsigned_abs());
        if farthest >= KEPT_EACH && first.signum() == last.signum() && first != 0 {
            let mut values = vec![0.0; count];
            self.kernel.fill(first.unsigned_abs().min(last.unsigned_abs()), &mut values);
            if first < 0 {
                values.reverse();
            }
            return values;
        }
        if farthest as usize >= self.values.len() {
            // Grow by doubling, so that slowly growing requests stay cheap.
            let length = (farthest as usize + 1).max(2 * self.values.len());
            self.values = vec![0.0; length];
            self.kernel.fill(0, &mut self.values);
        }
        (first..=last).map(|m| self.values[m.unsigned_abs() as usize]).collect()
    }

    /// Sum directly; `lowest` is the offset from the last source cell to the first result.
    fn direct(&mut self, source: &[f64], lowest: i64, out: &mut [f64]) {
        const TAPS: usize = 8;
        let kernel = self.stretch(lowest, source.len() + out.len() - 1 + TAPS);
        let start = kernel.iter().position(|&k| k != 0.0).unwrap_or(kernel.len());
        let end = kernel.len() - kernel.iter().rev().position(|&k| k != 0.0).unwrap_or(0);
        out.fill(0.0);
        // Eight source cells at a time, last to first: one pass over the results does eight multiplications per value.
        for (block, cells) in source.rchunks(TAPS).enumerate() {
            let taps: [f64; TAPS] =
                std::array::from_fn(|t| if t < cells.len() { cells[cells.len() - 1 - t] } else { 0.0 });
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

    /// Length of the circle for an FFT that needs at least `length`: the one already transformed, if it fits.
    fn circle(&self, length: usize) -> usize {
        let kept = self.spectrum.as_ref().map_or(0, |(kept, _)| *kept);
        if (length..=2 * length).contains(&kept) { kept } else { good_length(length) }
    }

    /// Transform of the kernel wrapped around a circle.
    fn spectrum(&mut self, circle: usize, plan: &Arc<dyn RealToComplex<f64>>) -> &[Complex<f64>] {
        if self.spectrum.as_ref().is_none_or(|(length, _)| *length != circle) {
            let half = self.stretch(0, circle / 2 + 1);
            let mut wrapped: Vec<f64> = (0..circle).map(|i| half[i.min(circle - i)]).collect();
            let mut spectrum = plan.make_output_vec();
            plan.process(&mut wrapped, &mut spectrum).expect("lengths of the plan");
            self.spectrum = Some((circle, spectrum));
        }
        self.spectrum.as_ref().map_or(&[], |(_, spectrum)| spectrum)
    }
}

/// The smallest number ≥ `length` of the form c·2^k, c among 8, 9, 10, 12, 15: fast to transform, and few different ones.
fn good_length(length: usize) -> usize {
    let base = (length.max(16) / 8 + 1).next_power_of_two() / 2;
    let candidates = [8, 9, 10, 12, 15, 16, 18].map(|c| c * base);
    candidates.into_iter().find(|&n| n >= length && n % 2 == 0).unwrap_or(length.next_power_of_two())
}
