//! Decide which cells of the grid each time needs.

use super::ladder::Ladder;
use super::landing::{Landing, Landings};
use super::problem::Problem;
use crate::series::length_key;
use crate::{Error, Result, Start};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

/// Half-width, in standard deviations, of the cells kept around an observation: e^{−37²/2} ≈ 1e-297 is the smallest
/// likelihood, relative to its peak, that can still be multiplied with other numbers.
pub(crate) const DEPTH: f64 = 37.0;
/// Spacings per standard deviation of a Gaussian start that is narrower than the grid.
const START_POINTS: f64 = 6.0;

/// Offsets beyond those of a step without drift.
const MARGIN: usize = 64;
/// Cells whose landings passes share (50 MB).
const SHARED: usize = 1 << 19;
/// A time with this many times the mean number of cells is unusual.
const UNUSUAL: usize = 8;

/// Cells `first` … `first` + `len` − 1 of the grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Support {
    pub first: i64,
    pub len: usize,
}

impl Support {
    /// The cell after the last.
    pub fn end(self) -> i64 {
        self.first + self.len as i64
    }

    /// Whether all cells of `other` are among these.
    pub fn contains(self, other: Self) -> bool {
        self.first <= other.first && other.end() <= self.end()
    }
}

/// The grid x_i = origin + i·spacing and the cells of it that each time needs.
///
/// A time with an observation needs the cells within [`DEPTH`] standard deviations of it; other times need the whole
/// domain. The first time has points of its own, because a start may be narrower than a cell.
#[derive(Debug)]
pub(crate) struct Layout {
    pub origin: f64,
    pub spacing: f64,
    supports: Vec<Support>,
    start: Points,
    /// Cells of the times that have no more than usual.
    range: Support,
    /// Kernels that all passes over the layout share, once they were asked for.
    ladder: OnceLock<Option<Arc<Ladder>>>,
    /// Step lengths whose landings are worth a table.
    recurring: OnceLock<BTreeSet<u64>>,
    /// Landings by time, which all passes share.
    landings: OnceLock<Vec<OnceLock<Arc<Vec<Landing>>>>>,
}

/// Evenly spaced points with the probability mass of the start at each.
#[derive(Debug)]
struct Points {
    first: f64,
    spacing: f64,
    masses: Vec<f64>,
}

impl Layout {
    /// The layout of a problem for a spacing and a domain.
    pub fn new(problem: &Problem, spacing: f64, domain: (f64, f64), max_cells: usize) -> Result<Self> {
        let (lo, hi) = domain;
        let cells = (hi - lo) / spacing + 1.0;
        let largest = problem.magnitude().max(lo.abs()).max(hi.abs());
        if spacing < 1e-11 * largest || cells.is_nan() {
            return Err(Error::Numerical {
                what: "exact reference",
                why: format!(
                    "a spacing of {spacing:.3e} cannot be resolved next to values of {largest:.3e}; subtract a \
                     constant from the series or use a larger observation_std"
                ),
            });
        }
        let full = Support { first: 0, len: if cells < 1e15 { cells.ceil() as usize } else { usize::MAX } };
        let start = Points::new(problem, spacing, domain, [DEPTH; 2], max_cells)?;
        let radius = |j: usize| DEPTH * problem.std(j);
        let supports: Vec<Support> = problem
            .values
            .iter()
            .enumerate()
            .map(|(j, &y)| match (j, problem.open(j)) {
                (0, _) => Support { first: 0, len: start.masses.len() },
                (_, true) => full,
                (_, false) => {
                    let first = ((y - radius(j) - lo) / spacing).floor();
                    Support { first: first as i64, len: (2.0 * radius(j) / spacing).ceil() as usize + 1 }
                }
            })
            .collect();
        if let Some((j, widest)) = supports.iter().enumerate().max_by_key(|(_, support)| support.len)
            && widest.len > max_cells
        {
            let y = problem.values[j];
            let range = if problem.open(j) { domain } else { (y - radius(j), y + radius(j)) };
            return Err(too_large(range, spacing, (range.1 - range.0) / spacing, max_cells));
        }
        Ok(Self::of(lo, spacing, supports, start))
    }

    /// A layout with these supports, given as the lowest and the highest state of every time but the first; the first has
    /// the cells within `depth` standard deviations of its observation or its start.
    pub fn following(
        problem: &Problem,
        spacing: f64,
        ranges: &[(f64, f64)],
        depth: [f64; 2],
        max_cells: usize,
    ) -> Result<Self> {
        let start = Points::new(problem, spacing, (f64::NEG_INFINITY, f64::INFINITY), depth, max_cells)?;
        let origin = problem.observed().next().map_or(0.0, |(_, y)| y);
        let cell = |x: f64| (x - origin) / spacing;
        let mut supports = vec![Support { first: 0, len: start.masses.len() }];
        let magnitude = problem.magnitude();
        for &(lo, hi) in ranges {
            let count = (hi - lo) / spacing + 2.0;
            // Also false for a NaN.
            let resolved = spacing > 1e-11 * magnitude.max(lo.abs()).max(hi.abs());
            if !(count <= max_cells as f64 && resolved) {
                return Err(too_large((lo, hi), spacing, count, max_cells));
            }
            let first = cell(lo).floor() as i64;
            supports.push(Support { first, len: (cell(hi).ceil() as i64 - first) as usize + 1 });
        }
        Ok(Self::of(origin, spacing, supports, start))
    }

    fn of(origin: f64, spacing: f64, supports: Vec<Support>, start: Points) -> Self {
        let later = &supports[1..];
        let usual = UNUSUAL * (later.iter().map(|support| support.len).sum::<usize>() / later.len().max(1));
        let common = later.iter().filter(|support| support.len <= usual);
        let ends = common.map(|support| (support.first, support.end()));
        let (lo, hi) = ends.fold((i64::MAX, i64::MIN), |(lo, hi), (first, end)| (lo.min(first), hi.max(end)));
        let range = Support { first: lo, len: hi.saturating_sub(lo).max(0) as usize };
        let (ladder, recurring, landings) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { origin, spacing, supports, start, range, ladder, recurring, landings }
    }

    /// Kernels of many step lengths, where there are many.
    pub fn ladder(&self, problem: &Problem) -> Option<Arc<Ladder>> {
        let noise = problem.dimension.noise.as_ref();
        let build = || Ladder::new(noise, &problem.lengths, self.spacing, self.usual_offsets()).map(Arc::new);
        self.ladder.get_or_init(build).clone()
    }

    /// Whether the steps of the length with this key have at least as many cells together as a table of their landings.
    pub fn recurs(&self, problem: &Problem, key: u64) -> bool {
        let find = || {
            let mut cells: BTreeMap<u64, usize> = BTreeMap::new();
            for j in 0..problem.grid.steps() {
                *cells.entry(length_key(problem.grid.step(j))).or_default() += self.supports[j].len;
            }
            cells.into_iter().filter(|(_, cells)| *cells >= self.range.len).map(|(key, _)| key).collect()
        };
        self.recurring.get_or_init(find).contains(&key)
    }

    /// The landings of the cells of time `j`, computed once for all passes if there is room.
    pub fn landings(&self, problem: &Problem, j: usize, compute: impl FnOnce() -> Vec<Landing>) -> Landings {
        let room = || match self.total() <= SHARED {
            true => (0..problem.grid.len()).map(|_| OnceLock::new()).collect(),
            false => Vec::new(),
        };
        match self.landings.get_or_init(room).get(j) {
            Some(shared) => shared.get_or_init(|| Arc::new(compute())).clone().into(),
            None => compute().into(),
        }
    }

    /// Offsets that all but a few steps need, without their drift; for tails, twice as many as from cell to cell.
    fn usual_offsets(&self) -> usize {
        let mut farthest: Vec<u64> = self.supports[1..]
            .windows(2)
            .map(|s| (s[1].end() - s[0].first).unsigned_abs().max((s[0].end() - s[1].first).unsigned_abs()))
            .collect();
        farthest.sort_unstable();
        let usual = farthest.get(farthest.len().saturating_mul(49) / 50).or(farthest.last());
        usual.map_or(0, |usual| 2 * *usual as usize + MARGIN)
    }

    /// The cells of all times but the first and those that have many more than usual.
    pub fn range(&self) -> Support {
        self.range
    }

    /// Cells of all times together.
    pub fn total(&self) -> usize {
        self.supports.iter().map(|support| support.len).sum()
    }

    /// Cells at time `j`.
    pub fn support(&self, j: usize) -> Support {
        self.supports[j]
    }

    /// Most cells at any one time.
    pub fn widest(&self) -> usize {
        self.supports.iter().map(|support| support.len).max().unwrap_or(0)
    }

    /// First state and spacing of the cells of time `j`.
    pub fn points(&self, j: usize) -> (f64, f64) {
        if j == 0 {
            (self.start.first, self.start.spacing)
        } else {
            (self.origin + self.supports[j].first as f64 * self.spacing, self.spacing)
        }
    }

    /// Probability mass of the start at the cells of time 0.
    pub fn start(&self) -> &[f64] {
        &self.start.masses
    }
}

impl Points {
    fn new(
        problem: &Problem,
        spacing: f64,
        domain: (f64, f64),
        [below, above]: [f64; 2],
        max_cells: usize,
    ) -> Result<Self> {
        let (mean, std) = match problem.dimension.start {
            Start::Fixed(x0) => return Ok(Self { first: x0, spacing: 0.0, masses: vec![1.0] }),
            Start::Gaussian { mean, std } => (mean, std),
        };
        // Distances from the mean: exact however narrow the start is.
        let (mut lo, mut hi) = (-below * std, above * std);
        let (y, error) = (problem.values[0] - mean, problem.std(0));
        if problem.open(0) {
            (lo, hi) = (lo.max(domain.0 - mean - 3.0 * std), hi.min(domain.1 - mean + 3.0 * std));
        } else {
            (lo, hi) = (lo.max(y - below * error), hi.min(y + above * error));
        }
        if lo > hi {
            return Err(problem.impossible(0, "the start and the first observation are too far apart"));
        }
        let spacing = spacing.min(std / START_POINTS);
        let count = (hi - lo) / spacing + 1.0;
        if count > max_cells as f64 {
            return Err(too_large((mean + lo, mean + hi), spacing, count, max_cells));
        }
        let density = spacing / (std * (2.0 * std::f64::consts::PI).sqrt());
        let mass = |i: usize| density * (-0.5 * ((lo + i as f64 * spacing) / std).powi(2)).exp();
        Ok(Self { first: mean + lo, spacing, masses: (0..count.ceil() as usize).map(mass).collect() })
    }
}

/// The error for a grid beyond the limit.
fn too_large((lo, hi): (f64, f64), spacing: f64, cells: f64, max_cells: usize) -> Error {
    Error::Numerical {
        what: "exact reference",
        why: format!(
            "states from {lo:.6} to {hi:.6} with a spacing of {spacing:.3e} need {cells:.3e} cells, more than the \
             {max_cells} allowed; give a wider spacing, a narrower domain or a larger limit"
        ),
    }
}
