//! Add the noise of a step to masses on the grid: all of it, or only what is no jump.

use super::super::convolve::{Convolver, Rounding, TAPS, Way, slide};
use super::super::levels::level_size;
use super::law::Moved;
use super::stride::{Stride, calm_nodes, calm_sum};
use crate::Result;
use crate::noise::{NodeCache, Nodes, Noise};
use crate::series::length_key;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Different step lengths whose tables are kept.
const MOST_LENGTHS: usize = 512;
/// Cells from a law to where it goes beyond which only the tails in between are computed.
const FAR: i64 = 1 << 14;
/// Fewest cells whose tails are kept.
const FEWEST_TAILS: usize = 128;

/// The kernels of a noise.
pub(super) struct Kernels<'a> {
    noise: &'a dyn Noise,
    nodes: NodeCache<'a>,
    /// Increments beyond this are jumps; without it those whose variance is in the upper 1% of the prior.
    jump_above: Option<f64>,
    /// Distance of the cells, and the kernels for it by the level of the noise's size.
    spacing: f64,
    levels: BTreeMap<i64, Tables<'a>>,
    /// K_0, K_1, … of what strides of several steps contribute without a jump.
    calm_sums: BTreeMap<Vec<u64>, Arc<Vec<f64>>>,
}

/// Kernels of noise of one size: of the whole noise, and of its steps that are no jumps.
struct Tables<'a> {
    all: Convolver<'a>,
    calm: Convolver<'a>,
    /// Probabilities to move down and up by so many cells or more, by step length and number.
    tails: BTreeMap<(u64, usize), [Vec<f64>; 2]>,
}

/// Masses at cells of the grid, and what went below and above them.
pub(super) struct Pushed {
    pub masses: Vec<Vec<f64>>,
    pub outside: Vec<(f64, f64)>,
}

impl<'a> Kernels<'a> {
    pub fn new(noise: &'a dyn Noise) -> Self {
        Self {
            noise,
            nodes: NodeCache::new(noise),
            jump_above: None,
            spacing: 0.0,
            levels: BTreeMap::new(),
            calm_sums: BTreeMap::new(),
        }
    }

    /// Count increments beyond `above` as jumps.
    pub fn set_jump_above(&mut self, above: Option<f64>) {
        self.jump_above = above;
    }

    /// Whether jumps are told by increments.
    pub fn tells_by_increment(&self) -> bool {
        self.jump_above.is_some()
    }

    /// Nodes of a step.
    pub fn nodes(&mut self, dt: f64) -> Result<Arc<Nodes>> {
        if self.nodes.lengths() > MOST_LENGTHS {
            self.nodes = NodeCache::new(self.noise);
            self.levels.clear();
            self.calm_sums.clear();
        }
        self.nodes.nodes(dt)
    }

    /// Add the noise of a stride; results at `len` cells from `first` on. If `calm`, the first part takes only the increments
    /// that are no jumps.
    pub fn add_noise(
        &mut self,
        moved: &[Moved],
        (stride, calm): (&Stride, bool),
        spacing: f64,
        (first, len): (i64, usize),
    ) -> Result<Pushed> {
        if self.spacing != spacing {
            self.levels.clear();
            self.calm_sums.clear();
            self.spacing = spacing;
        }
        let dt = stride.noise;
        let calm_sum = if calm { self.calm_sum(stride)? } else { None };
        let count = moved.first().map_or(0, |moved| moved.masses.len());
        let mut pushed = Pushed { masses: vec![vec![0.0; len]; count], outside: vec![(0.0, 0.0); count] };
        for Moved { level, first: from, masses } in moved {
            let nodes = self.nodes(dt)?;
            let above = self.jump_above;
            let tables = self.tables(*level, dt)?;
            let end = first + len as i64;
            for (k, masses) in masses.iter().enumerate() {
                let mut own = vec![0.0; len];
                let (source, out) = ((*from, masses.as_slice()), (first, own.as_mut_slice()));
                match (calm && k == 1, &calm_sum, above) {
                    (true, Some(kernel), _) => add_calm(kernel, source, out),
                    (true, None, Some(above)) => tables.all.apply_within(dt, source, out, above / spacing)?,
                    (true, None, None) => {
                        tables.calm.apply(Way::Forward, dt, source, out)?;
                        let share: f64 = calm_nodes(&nodes).1.iter().sum();
                        own.iter_mut().for_each(|mass| *mass *= share);
                    }
                    (false, ..) => {
                        tables.all.apply(Way::Forward, dt, source, out)?;
                        for (beyond, mass) in tables.beyond(dt, (*from, masses.len()), (first, end))?.iter().zip(masses)
                        {
                            pushed.outside[k].0 += mass * beyond.0;
                            pushed.outside[k].1 += mass * beyond.1;
                        }
                    }
                }
                pushed.masses[k].iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
            }
        }
        Ok(pushed)
    }

    /// K_0, K_1, … of what a stride of several steps contributes without a jump.
    fn calm_sum(&mut self, stride: &Stride) -> Result<Option<Arc<Vec<f64>>>> {
        if stride.steps.is_empty() {
            return Ok(None);
        }
        let key = stride.key();
        if !self.calm_sums.contains_key(&key) {
            let nodes = |(dt, left): &(f64, f64)| Ok((self.nodes(*dt)?, *left));
            let steps = stride.steps.iter().map(nodes).collect::<Result<Vec<_>>>()?;
            self.calm_sums.insert(key.clone(), Arc::new(calm_sum(&steps, self.spacing)?));
        }
        Ok(self.calm_sums.get(&key).cloned())
    }

    /// The kernels of noise of the size of a level, ready for steps of length `dt`.
    fn tables(&mut self, level: i64, dt: f64) -> Result<&mut Tables<'a>> {
        let nodes = self.nodes(dt)?;
        let (noise, spacing) = (self.noise, self.spacing);
        let convolver = || Convolver::new(noise, spacing, Rounding::Reference);
        let tables = self.levels.entry(level).or_insert_with(|| Tables {
            all: convolver(),
            calm: convolver(),
            tails: BTreeMap::new(),
        });
        let sized = |nodes: &Nodes| if level == 0 { nodes.clone() } else { nodes.scaled(level_size(level)) };
        tables.all.provide(length_key(dt), || Ok(Arc::new(sized(&nodes))))?;
        tables.calm.provide(length_key(dt), || {
            let (variances, weights) = calm_nodes(&nodes);
            let (variances, weights) = (variances.to_vec(), weights.to_vec());
            let calm = match nodes.means() {
                Some(means) => {
                    let means = means[..weights.len()].to_vec();
                    Nodes::with_means(means, variances, weights, Vec::new(), Vec::new())
                }
                None => Nodes::new(variances, weights, Vec::new()),
            };
            Ok(Arc::new(sized(&calm?)))
        })?;
        Ok(tables)
    }
}

impl Tables<'_> {
    /// Probabilities to move below cell `first` and to cell `end` or above it, from each of `len` cells from `from` on.
    fn beyond(&mut self, dt: f64, (from, len): (i64, usize), (first, end): (i64, i64)) -> Result<Vec<(f64, f64)>> {
        let (last, count) = (from + len as i64 - 1, (end - first) as usize);
        let mut far = |way: Way, nearest: i64| self.all.far_tails(way, dt, nearest as usize, len);
        if last + FAR < first {
            // From the last cell on, so that distances rise.
            let (reached, passed) = (far(Way::Forward, first - last)?, far(Way::Forward, end - last)?);
            return Ok(reached.iter().zip(&passed).rev().map(|(reached, passed)| (1.0 - reached, *passed)).collect());
        }
        if from > end - 1 + FAR {
            let (reached, passed) = (far(Way::Backward, from - end + 1)?, far(Way::Backward, from - first + 1)?);
            return Ok(reached.iter().zip(&passed).map(|(reached, passed)| (*passed, 1.0 - reached)).collect());
        }
        let [down, up] = self.tails(dt, count + len + (from - first).unsigned_abs() as usize + 1)?;
        let one = |cell: i64| (move_by(down, up, cell - first + 1), move_by(up, down, end - cell));
        Ok((from..=last).map(one).collect())
    }

    /// At least `count` probabilities each to move down and up by 1, 2, … cells or more in a step of length `dt`.
    ///
    /// Their number is a power of two, and each number has a list of its own: what was asked for before must not change a
    /// digit.
    fn tails(&mut self, dt: f64, count: usize) -> Result<&[Vec<f64>; 2]> {
        let key = (length_key(dt), count.max(FEWEST_TAILS).next_power_of_two());
        if !self.tails.contains_key(&key) {
            let tails = self.all.exactly_tails(dt, key.1)?;
            self.tails.insert(key, tails);
        }
        Ok(&self.tails[&key])
    }
}

/// Convolve a source with the symmetric kernel K_0, K_1, …
fn add_calm(kernel: &[f64], (first_source, source): (i64, &[f64]), (first_out, out): (i64, &mut [f64])) {
    let lowest = first_out - (first_source + source.len() as i64 - 1);
    let at = |m: i64| kernel.get(m.unsigned_abs() as usize).copied().unwrap_or(0.0);
    let stretch: Vec<f64> = (lowest..).take(source.len() + out.len() - 1 + TAPS).map(at).collect();
    slide(source, &stretch, out);
}

/// Probability to move by `distance` cells or more to the side of `out`; below 1, not to move back by as many.
fn move_by(out: &[f64], back: &[f64], distance: i64) -> f64 {
    match distance {
        1.. => out[distance as usize - 1],
        _ => 1.0 - back[(-distance) as usize],
    }
}
