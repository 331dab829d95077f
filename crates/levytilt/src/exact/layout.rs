//! Decide which cells of the grid each time needs.

use super::problem::Problem;
use crate::{Error, Result, Start};

/// Half-width, in standard deviations, of the cells kept around an observation: e^{−37²/2} ≈ 1e-297 is the smallest
/// likelihood, relative to its peak, that can still be multiplied with other numbers.
pub(crate) const DEPTH: f64 = 37.0;
/// Spacings per standard deviation of a Gaussian start that is narrower than the grid.
const START_POINTS: f64 = 6.0;

/// Cells `first` … `first` + `len` − 1 of the grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Support {
    pub first: i64,
    pub len: usize,
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
        let start = Points::new(problem, spacing, domain, max_cells)?;
        let radius = DEPTH * problem.dimension.observation_std;
        let supports: Vec<Support> = problem
            .values
            .iter()
            .enumerate()
            .map(|(j, &y)| match (j, y.is_nan()) {
                (0, _) => Support { first: 0, len: start.masses.len() },
                (_, true) => full,
                (_, false) => {
                    let first = ((y - radius - lo) / spacing).floor();
                    Support { first: first as i64, len: (2.0 * radius / spacing).ceil() as usize + 1 }
                }
            })
            .collect();
        if let Some((j, widest)) = supports.iter().enumerate().max_by_key(|(_, support)| support.len)
            && widest.len > max_cells
        {
            let y = problem.values[j];
            let range = if y.is_nan() { domain } else { (y - radius, y + radius) };
            return Err(too_large(range, spacing, (range.1 - range.0) / spacing, max_cells));
        }
        Ok(Self { origin: lo, spacing, supports, start })
    }

    /// Cells at time `j`.
    pub fn support(&self, j: usize) -> Support {
        self.supports[j]
    }

    /// Most cells at any one time.
    pub fn widest(&self) -> usize {
        self.supports.iter().map(|support| support.len).max().unwrap_or(0)
    }

    /// State of cell number `i`, counted from the first, of time `j`.
    pub fn cell(&self, j: usize, i: usize) -> f64 {
        let (first, spacing) = self.points(j);
        first + i as f64 * spacing
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
    fn new(problem: &Problem, spacing: f64, domain: (f64, f64), max_cells: usize) -> Result<Self> {
        let (mean, std) = match problem.dimension.start {
            Start::Fixed(x0) => return Ok(Self { first: x0, spacing: 0.0, masses: vec![1.0] }),
            Start::Gaussian { mean, std } => (mean, std),
        };
        // Distances from the mean: exact however narrow the start is.
        let (mut lo, mut hi) = (-DEPTH * std, DEPTH * std);
        let (y, radius) = (problem.values[0] - mean, DEPTH * problem.dimension.observation_std);
        if y.is_nan() {
            (lo, hi) = (lo.max(domain.0 - mean - 3.0 * std), hi.min(domain.1 - mean + 3.0 * std));
        } else {
            (lo, hi) = (lo.max(y - radius), hi.min(y + radius));
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
