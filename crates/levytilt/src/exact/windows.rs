//! Follow the data: which states each time needs, and how finely they have to be told apart.
//!
//! At an observation these are the states within some standard deviations of its error. Between two observations they reach
//! from one to the other and as far beyond as an excursion may lead that comes back in time: to where the noise of the whole
//! gap goes with probability [`EXCURSION`], times a factor that grows until what lies beyond is measured to be negligible.

use super::problem::Problem;
use crate::noise::{NodeCache, Nodes};
use crate::series::length_key;
use crate::{Result, Start};
use std::collections::{BTreeMap, BTreeSet};

/// Standard deviations of the observation error kept to either side of an observation at first.
const DEPTH: f64 = 7.0;
/// The same where the law of the start is all that is known.
const START: f64 = 8.0;
/// Probability to go farther within a gap that decides how far the states of the gap reach.
const EXCURSION: f64 = 1e-2;
/// The same to go away and come back at a time whose value may be wrong: most are not, and a window grows where one is.
const ASTRAY: f64 = 0.1;
/// Factor by which a reach grows at least.
const FARTHER: f64 = 1.6;
/// Observations to either side whose windows a time takes in where values may be wrong.
const AROUND: usize = 2;
/// The same after the last observation, where nothing calls back.
const OUTSIDE: f64 = 2e-5;
/// Step lengths beyond which lengths in between serve all.
const MANY: usize = 32;

/// How far the states of each time reach.
#[derive(Debug, Clone)]
pub(crate) struct Windows {
    /// Standard deviations below and above the observation of each time.
    sides: Vec<[f64; 2]>,
    /// The gap that each time lies in or ends: the number of observations before it.
    gaps: Vec<usize>,
    /// Factors of the reach to either side within each gap.
    reach: Vec<[f64; 2]>,
}

impl Windows {
    /// First windows for the times of `problem`.
    pub fn new(problem: &Problem) -> Self {
        let before = |seen: &mut usize, value: &f64| {
            let gap = *seen;
            *seen += usize::from(!value.is_nan());
            Some(gap)
        };
        let gaps: Vec<usize> = problem.values.iter().scan(0, before).collect();
        let count = gaps.last().map_or(0, |last| last + 1);
        Self { sides: vec![[DEPTH; 2]; gaps.len()], gaps, reach: vec![[1.0; 2]; count] }
    }

    /// Number of times.
    pub fn len(&self) -> usize {
        self.gaps.len()
    }

    /// The windows of some of the times, observations all among them.
    pub fn only(&self, kept: &[usize]) -> Self {
        let (sides, gaps) =
            (kept.iter().map(|&j| self.sides[j]).collect(), kept.iter().map(|&j| self.gaps[j]).collect());
        Self { sides, gaps, reach: self.reach.clone() }
    }

    /// First windows for `problem`, as wide as these, which are those of its times `kept`.
    pub fn spread(&self, problem: &Problem, kept: &[usize]) -> Self {
        let mut all = Self::new(problem);
        kept.iter().zip(&self.sides).for_each(|(&j, sides)| all.sides[j] = *sides);
        Self { reach: self.reach.clone(), ..all }
    }

    /// The times to go on with where those of the widest gaps are left out, until the states of the others extend over half of
    /// `most` in all and over `widest` at each; `ranges` are those of all times but the first.
    pub fn narrow_gaps(&self, problem: &Problem, ranges: &[(f64, f64)], (most, widest): (f64, f64)) -> Vec<usize> {
        let mut extents = vec![0.0; self.reach.len()];
        let open = |j: usize| j > 0 && j < problem.end && problem.values[j].is_nan();
        for j in (0..self.len()).filter(|&j| open(j)) {
            let extent = ranges[j - 1].1 - ranges[j - 1].0;
            extents[self.gaps[j]] += if extent > widest { f64::INFINITY } else { extent };
        }
        let mut order: Vec<usize> = (0..extents.len()).collect();
        order.sort_by(|&a, &b| extents[a].total_cmp(&extents[b]));
        let mut sum = 0.0;
        let kept: BTreeSet<usize> = order
            .into_iter()
            .take_while(|&gap| {
                sum += extents[gap];
                sum <= 0.5 * most
            })
            .collect();
        (0..self.len()).filter(|&j| !open(j) || kept.contains(&self.gaps[j])).collect()
    }

    /// Move out the lower or upper side of the window of time `j`.
    pub fn press(&mut self, j: usize, sides: [bool; 2]) {
        for (side, _) in self.sides[j].iter_mut().zip(sides).filter(|(_, pressed)| *pressed) {
            *side *= 1.6;
        }
    }

    /// Reach farther within the gaps that matter, if `losses`, the errors by states beyond either side of each time, add up
    /// to more than `allowed`; false if they do not.
    ///
    /// The gaps with the largest losses are widened, until those of the others are half of what is allowed.
    pub fn reach_out(&mut self, losses: &[(usize, [f64; 2])], allowed: f64) -> bool {
        let mut sums = vec![[0.0; 2]; self.reach.len()];
        for &(j, [low, high]) in losses {
            let sum: &mut [f64; 2] = &mut sums[self.gaps[j]];
            *sum = [sum[0] + low, sum[1] + high];
        }
        let each = sums.iter().enumerate().flat_map(|(gap, sum)| [(gap, 0, sum[0]), (gap, 1, sum[1])]);
        let mut ordered: Vec<(usize, usize, f64)> = each.filter(|(.., loss)| *loss > 0.0).collect();
        ordered.sort_by(|a, b| a.2.total_cmp(&b.2));
        let total: f64 = ordered.iter().map(|(.., loss)| loss).sum();
        if total <= allowed {
            return false;
        }
        let mut kept = 0.0;
        let few = ordered.iter().take_while(|(.., loss)| {
            kept += loss;
            kept <= 0.5 * allowed
        });
        let few = few.count();
        let share = 0.5 * allowed / (ordered.len() - few) as f64;
        for &(gap, side, loss) in &ordered[few..] {
            // Losses fall with the third to fifth power of the distance; another run costs more than cells.
            self.reach[gap][side] *= (loss / share).powf(1.0 / 3.0).clamp(FARTHER, 6.0);
        }
        true
    }

    /// Reach farther to these sides of these times; false if there is none.
    pub fn reach_out_at(&mut self, places: impl Iterator<Item = (usize, usize)>) -> bool {
        let gaps: BTreeSet<(usize, usize)> = places.map(|(j, side)| (self.gaps[j], side)).collect();
        gaps.iter().for_each(|&(gap, side)| self.reach[gap][side] *= FARTHER);
        !gaps.is_empty()
    }

    /// Depth at the first time.
    pub fn first(&self) -> [f64; 2] {
        self.sides[0].map(|side| side.max(START))
    }

    /// Lowest and highest state of every time but the first.
    pub fn ranges(&self, problem: &Problem) -> Result<Vec<(f64, f64)>> {
        let mut reaches = Reaches { nodes: NodeCache::new(problem.dimension.noise.as_ref()), known: BTreeMap::new() };
        let steps = problem.grid.steps();
        let around = |j: usize, y: f64| (y - self.sides[j][0] * problem.std(j), y + self.sides[j][1] * problem.std(j));
        let mut ranges = Vec::with_capacity(steps);
        let mut past = Anchor::start(problem);
        let mut j = 0;
        while j < steps {
            let next = (j + 1..=steps).find(|&k| !problem.values[k].is_nan());
            let until = next.unwrap_or(steps + 1);
            if until > j + 1 {
                let trail = past.trail(problem, j, until - 1);
                let lost = if next.is_some() { EXCURSION } else { OUTSIDE };
                let reach = trail.largest_size(problem, j, past.state)? * reaches.of(trail.length, lost)?;
                let reach = self.reach[self.gaps[j + 1]].map(|factor| factor * reach + past.margin);
                let ahead = next.map(|k| around(k, problem.values[k]));
                for &centre in &trail.centres {
                    let own = |side: usize| (self.sides[j][side] * problem.std(j)).max(reach[side]);
                    let (lo, hi) = (centre - own(0), centre + own(1));
                    let reached = ahead.zip(next).map(|((low, high), k)| {
                        let depth = DEPTH * problem.std(k);
                        (low.min(low + depth - reach[0]), high.max(high - depth + reach[1]))
                    });
                    ranges.push(reached.map_or((lo, hi), |(low, high)| (lo.min(low), hi.max(high))));
                }
            }
            if let Some(k) = next {
                ranges.push(around(k, problem.values[k]));
                past = Anchor { state: problem.values[k], margin: 0.0 };
            }
            j = until;
        }
        if problem.has_heavy_errors() {
            self.look_around(problem, &mut reaches, &mut ranges)?;
        }
        Ok(ranges)
    }

    /// Where values may be wrong, take in the windows of the observations around and the way between them: what a time
    /// needs if its own value is left out.
    fn look_around(&self, problem: &Problem, reaches: &mut Reaches, ranges: &mut [(f64, f64)]) -> Result<()> {
        let observed: Vec<usize> = problem.observed().map(|(j, _)| j).filter(|&j| j > 0).collect();
        let first = Anchor::start(problem);
        let hull = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
        let (narrow, mut wide) = (ranges.to_vec(), ranges.to_vec());
        for (k, &j) in observed.iter().enumerate() {
            let near = &observed[k.saturating_sub(AROUND)..(k + AROUND + 1).min(observed.len())];
            let range = near.iter().map(|&near| narrow[near - 1]).fold(narrow[j - 1], hull);
            let (from, past) = match k.checked_sub(1).map(|before| observed[before]) {
                Some(before) => (before, Anchor { state: problem.values[before], margin: 0.0 }),
                None => (0, Anchor { state: first.state, margin: first.margin }),
            };
            let trail = past.trail(problem, from, observed.get(k + 1).map_or(j, |next| next - 1));
            let reach = trail.largest_size(problem, from, past.state)? * reaches.of(trail.length, ASTRAY)?;
            let after = self.gaps.get(j + 1).map_or([0.0; 2], |&gap| self.reach[gap]);
            let farther = |side: usize| self.reach[self.gaps[j]][side].max(after[side]) * reach + past.margin;
            let centre = trail.centres.get(j - from - 1).copied().unwrap_or(past.state);
            let (lo, hi) = hull(range, (centre, centre));
            wide[j - 1] = (lo - farther(0), hi + farther(1));
        }
        // Times without an observation go from one such window to the next.
        let mut k = 0;
        for (j, range) in ranges.iter_mut().enumerate().map(|(i, range)| (i + 1, range)) {
            while k < observed.len() && observed[k] < j {
                k += 1;
            }
            let ends = [k.checked_sub(1), Some(k)].into_iter().flatten().filter_map(|k| observed.get(k));
            *range = ends.map(|&end| wide[end - 1]).fold(*range, hull);
            if observed.get(k) == Some(&j) {
                *range = wide[j - 1];
            }
        }
        Ok(())
    }
}

/// Where a gap begins.
struct Anchor {
    state: f64,
    /// How far from there the state may be already.
    margin: f64,
}

/// The way of a state through a gap without noise, and the length of the gap for the noise that is left at its end.
struct Trail {
    centres: Vec<f64>,
    length: f64,
}

impl Trail {
    /// The largest factor of the noise on the way from `state` at time `from`.
    fn largest_size(&self, problem: &Problem, from: usize, state: f64) -> Result<f64> {
        match problem.dimension.size {
            None => Ok(1.0),
            Some(_) => problem.largest_size(from, &[&[state], &self.centres[..]].concat()),
        }
    }
}

impl Anchor {
    fn start(problem: &Problem) -> Self {
        match (problem.values[0], problem.dimension.start) {
            (y, _) if !y.is_nan() => Self { state: y, margin: 0.0 },
            (_, Start::Fixed(x0)) => Self { state: x0, margin: 0.0 },
            (_, Start::Gaussian { mean, std }) => Self { state: mean, margin: START * std },
        }
    }

    /// From time `from` over the times up to `to`.
    fn trail(&self, problem: &Problem, from: usize, to: usize) -> Trail {
        let (mut x, mut length) = (self.state, 0.0);
        let mut centres = Vec::with_capacity(to - from);
        for j in from..to {
            let (next, slope) = flow(problem, j, x);
            // A drift that calls back forgets what happened early in the gap.
            length = length * slope.abs().min(1.0).powi(2) + problem.lengths[j];
            x = next;
            centres.push(x);
        }
        // The step to the next observation.
        length += problem.lengths.get(to).copied().unwrap_or(0.0);
        Trail { centres, length }
    }
}

/// The flow of `x` over step `j`, and its slope.
pub(super) fn flow(problem: &Problem, j: usize, x: f64) -> (f64, f64) {
    let (delta, _) = problem.std_range;
    let mut out = [0.0; 3];
    let (t, dt) = (problem.grid.times()[j], problem.grid.step(j));
    problem.model.drift.flow_many(t, dt, &[x - delta, x, x + delta], &mut out);
    (out[1], (out[2] - out[0]) / (2.0 * delta))
}

/// Distances that increments over a length exceed with a given probability, by eighths of a doubling of the length.
struct Reaches<'a> {
    nodes: NodeCache<'a>,
    known: BTreeMap<(i64, u64), f64>,
}

impl Reaches<'_> {
    fn of(&mut self, length: f64, probability: f64) -> Result<f64> {
        let eighth = (8.0 * length.log2()).ceil();
        let key = (eighth as i64, probability.to_bits());
        if let Some(reach) = self.known.get(&key) {
            return Ok(*reach);
        }
        let nodes = self.nodes.nodes((eighth / 8.0).exp2())?;
        let reach = upper(&nodes, probability);
        self.known.insert(key, reach);
        Ok(reach)
    }
}

/// The distance that an increment exceeds, to either side, with this probability.
pub(super) fn upper(nodes: &Nodes, probability: f64) -> f64 {
    let outside = |x: f64| match nodes.means() {
        None => 2.0 * (1.0 - nodes.cdf(x)),
        Some(_) => 1.0 - nodes.cdf(x) + nodes.cdf(-x),
    };
    let (mut low, mut high) = (-690.0f64, 345.0f64);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if outside(middle.exp()) > probability { low = middle } else { high = middle }
    }
    high.exp()
}

/// Whether steps have more lengths than are worth computing the nodes of each.
fn has_many_lengths(problem: &Problem) -> bool {
    let different: BTreeSet<u64> = problem.lengths.iter().map(|&dt| length_key(dt)).collect();
    different.len() > MANY
}

/// A length rounded to eighths of a doubling.
fn eighths(length: f64, round: fn(f64) -> f64) -> f64 {
    (round(8.0 * length.log2()) / 8.0).exp2()
}

/// How narrow messages get, as standard deviations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Widths {
    /// What the future alone says of a state. Messages are at least so wide, and what the past says is only ever weighed with
    /// them, as one pass is the transpose of the other: cells need not be finer for the evidence, its slopes and the moments.
    pub future: f64,
    /// What the past alone says: the width of the law itself, where that is narrower.
    pub past: f64,
}

/// How narrow the messages of a problem get.
///
/// A filter of variances in either direction: the noise of a step takes P to 1/E[1/(P + S)], an observation adds its precision, and
/// the drift takes P to a²P, or to P/a² on the way back. A drift that is not affine has other slopes at other states, so that
/// its messages count as narrowed by the steepest slope in the first window of each time.
pub(crate) fn widths(problem: &Problem) -> Result<Widths> {
    let mut cache = NodeCache::new(problem.dimension.noise.as_ref());
    let coarse = has_many_lengths(problem);
    let core = problem.law().core();
    let precision = |j: usize| match problem.values[j].is_nan() {
        true => 0.0,
        false => (problem.std(j) * core).powi(-2),
    };
    let first = problem.narrowest_error().powi(2);
    // Per step: its nodes, the square of their factor, and the square of the slope of the flow.
    let mut steps = Vec::with_capacity(problem.end);
    let (mut variance, mut past) = (first, first);
    let mut x = problem.values[0];
    for j in 0..problem.end {
        // A shorter step leaves no more, so that the width is none too large.
        let length = if coarse { eighths(problem.lengths[j], f64::floor) } else { problem.lengths[j] };
        let nodes = cache.nodes(length)?;
        let (next, slope) = if x.is_nan() { (x, 1.0) } else { flow(problem, j, x) };
        let size = if x.is_nan() { 1.0 } else { problem.largest_size(j, &[x])? };
        let carried = blurred(slope * slope * variance, &nodes, size);
        variance = 1.0 / (carried.recip() + precision(j + 1));
        past = if variance < past { variance } else { past };
        let y = problem.values[j + 1];
        x = if y.is_nan() { next } else { y };
        steps.push((nodes, size, slope * slope));
    }
    let steepest = if problem.model.drift.is_affine() { vec![0.0; problem.end] } else { steepest(problem)? };
    // Nothing follows the last observation.
    let (mut ahead, mut future) = (0.0f64, first);
    for (j, (nodes, size, square)) in steps.iter().enumerate().rev() {
        let product = ahead + precision(j + 1);
        if product > 0.0 {
            future = future.min(product.recip());
            ahead = square.max(steepest[j]) / blurred(product.recip(), nodes, *size);
        }
    }
    Ok(Widths { future: future.sqrt(), past: past.min(future).sqrt() })
}

/// The variance that the noise of `nodes` times `size` leaves of one.
fn blurred(variance: f64, nodes: &Nodes, size: f64) -> f64 {
    let each = nodes.variances().iter().zip(nodes.weights());
    1.0 / each.map(|(s, w)| w / (variance + size * size * s)).sum::<f64>()
}

/// Places between the values at which slopes of the flow are taken.
const PLACES: usize = 64;

/// Per step, the square of the steepest slope of the flow in the first window of the time it starts from, as far as that lies between
/// the lowest and the highest value. The flow is that of the longest step.
fn steepest(problem: &Problem) -> Result<Vec<f64>> {
    let longest = (0..problem.end).max_by(|&a, &b| problem.grid.step(a).total_cmp(&problem.grid.step(b))).unwrap_or(0);
    let (lowest, highest) =
        problem.observed().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), (_, y)| (lo.min(y), hi.max(y)));
    let apart = (highest - lowest) / PLACES as f64;
    let squares: Vec<f64> = (0..=PLACES).map(|k| flow(problem, longest, lowest + apart * k as f64).1.powi(2)).collect();
    // The places around a window belong to it.
    let place = |state: f64, round: fn(f64) -> f64| round((state - lowest) / apart).clamp(0.0, PLACES as f64) as usize;
    let within = |(low, high): (f64, f64)| {
        let places = &squares[place(low, f64::floor)..=place(high, f64::ceil)];
        places.iter().copied().filter(|square| square.is_finite()).fold(0.0, f64::max)
    };
    let everywhere = (lowest, highest);
    let ranges = Windows::new(problem).ranges(problem)?;
    Ok(std::iter::once(everywhere).chain(ranges).take(problem.end).map(within).collect())
}
