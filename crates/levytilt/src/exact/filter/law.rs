//! Hold masses at evenly spaced states: the law of a state, and parts of it that belong to events.

use super::super::lagrange::{LEFT, weights};
use super::super::landing::{Landing, land};
use super::super::levels::{Rung, stretches};
use super::super::marginal::Marginal;
use super::super::transition::{spread as spread_masses, touched};
use super::Filter;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Most cells of one latent time.
pub(super) const MOST_CELLS: f64 = 1_048_576.0;
/// Share of the largest mass below which cells at the ends are dropped.
const DROPPED: f64 = 1e-17;

/// Masses at the states `first`, `first` + `step`, …
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Law {
    pub first: f64,
    pub step: f64,
    /// The law itself, then its parts.
    pub masses: Vec<Vec<f64>>,
}

/// Masses moved along the drift, before noise of one size: at the cells of the grid from `first` on.
pub(super) struct Moved {
    /// Level of the size of the noise; 0 where all noise has one size.
    pub level: i64,
    pub first: i64,
    pub masses: Vec<Vec<f64>>,
}

impl Law {
    /// The law itself.
    pub fn all(&self) -> &[f64] {
        &self.masses[0]
    }

    /// The share of a part.
    pub fn share(&self, part: usize) -> f64 {
        let total: f64 = self.all().iter().sum();
        (self.masses[part].iter().sum::<f64>() / total).clamp(0.0, 1.0)
    }

    /// States of the cells.
    pub fn states(&self) -> Vec<f64> {
        (0..self.all().len()).map(|i| self.first + i as f64 * self.step).collect()
    }

    /// First cell and number of cells, if they are those of a grid.
    fn cells(&self, (origin, spacing): (f64, f64)) -> Option<(i64, usize)> {
        let first = ((self.first - origin) / spacing).round();
        // Twice the rounding of a first state.
        let rounding = 4.0 * f64::EPSILON * self.first.abs().max(origin.abs());
        let on_grid = self.step == spacing && (origin + first * spacing - self.first).abs() <= rounding;
        (on_grid && first.abs() < 1e15).then_some((first as i64, self.all().len()))
    }

    /// Mean and standard deviation.
    pub fn moments(&self) -> (f64, f64) {
        Marginal { first: self.first, spacing: self.step, masses: self.all(), outside: (0.0, 0.0) }.moments()
    }

    /// Halve the distance of the cells until it is not longer than `spacing`, by interpolation.
    pub fn refine(&mut self, spacing: f64) {
        while self.all().len() > 1 && self.step > spacing {
            let between = weights(0.5);
            for masses in &mut self.masses {
                let mass = |i: i64| usize::try_from(i).ok().and_then(|i| masses.get(i)).copied().unwrap_or(0.0);
                let middle = |i: usize| (0..).zip(between).map(|(k, w)| w * mass(i as i64 - LEFT + k)).sum::<f64>();
                *masses = (0..masses.len()).flat_map(|i| [0.5 * masses[i], 0.5 * middle(i)]).collect();
            }
            self.step *= 0.5;
            self.normalise();
        }
    }

    /// The cells that matter, with a total of 1.
    pub fn trimmed(mut self) -> Self {
        let largest = self.all().iter().copied().fold(0.0, f64::max);
        let kept = |mass: &f64| mass.abs() > DROPPED * largest;
        let from = self.all().iter().position(kept).unwrap_or(0);
        let to = self.all().iter().rposition(kept).unwrap_or(self.all().len() - 1);
        for masses in &mut self.masses {
            masses.truncate(to + 1);
            masses.drain(..from);
        }
        self.first += from as f64 * self.step;
        self.normalise();
        self
    }

    fn normalise(&mut self) {
        let total: f64 = self.all().iter().sum();
        self.masses.iter_mut().flatten().for_each(|mass| *mass /= total);
    }

    /// Whether the masses can be those of a filter.
    pub fn is_sound(&self) -> bool {
        let total: f64 = self.masses.first().map_or(0.0, |all| all.iter().sum());
        let finite = self.first.is_finite() && self.masses.iter().flatten().all(|mass| mass.is_finite());
        let even = self.masses.iter().all(|masses| masses.len() == self.masses[0].len());
        finite && even && self.step > 0.0 && self.step.is_finite() && (total - 1.0).abs() < 1e-6
    }
}

impl Filter<'_> {
    /// Masses moved along the drift onto the grid, by the size of the noise to come; with the mean and the standard deviation
    /// of the law there.
    pub(super) fn along(
        &mut self,
        law: &Law,
        (t, dt): (f64, f64),
        (origin, spacing): (f64, f64),
    ) -> Result<(Vec<Moved>, (f64, f64))> {
        let drift = self.model.drift.as_ref();
        let landings = match law.cells((origin, spacing)).filter(|_| drift.is_autonomous()) {
            Some(cells) => self.landings.of_cells(drift, (t, dt), (origin, spacing), cells),
            None => land(drift, (t, dt), (origin, spacing), &law.states()),
        };
        let ends = |landings: &[Landing]| {
            let targets = landings.iter().map(|landing| landing.target);
            targets.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), t| (low.min(t), high.max(t)))
        };
        let (low, high) = ends(&landings);
        let unbounded = low.abs().max(high.abs()) > 1e15 || high - low > 4.0 * MOST_CELLS;
        if landings.iter().any(|landing| !landing.target.is_finite()) || unbounded {
            let why =
                format!("the drift spreads the states at time {t} over {:.3e} cells; use shorter steps", high - low);
            return Err(self.model.drift.failure().unwrap_or(Error::Numerical { what: "filter", why }));
        }
        let spread = |level: i64, landings: &[Landing], mass: &dyn Fn(&[f64], usize) -> f64| {
            let (low, high) = ends(landings);
            let cells = touched(low, high);
            let one = |masses: &Vec<f64>| {
                let masses = (0..landings.len()).map(|i| mass(masses, i));
                spread_masses(landings, masses, cells)
            };
            Moved { level, first: cells.0, masses: law.masses.iter().map(one).collect() }
        };
        let moved = match &self.model.dimensions[0].size {
            None => vec![spread(0, &landings, &|masses, i| masses[i])],
            Some(size) => {
                let rungs: Vec<Rung> = size.at(t, &law.states())?.into_iter().map(Rung::new).collect();
                let part = |(level, range): (i64, std::ops::Range<usize>)| {
                    let from = range.start;
                    spread(level, &landings[range], &|masses, i| rungs[from + i].weight(level) * masses[from + i])
                };
                stretches(&rungs, false).into_iter().map(part).collect()
            }
        };
        let (mean, sd) = moments(law.all(), landings.iter().map(|landing| landing.target));
        Ok((moved, (origin + spacing * mean, spacing * sd)))
    }
}

/// Mean and standard deviation of masses at `states`.
fn moments(masses: &[f64], states: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let total: f64 = masses.iter().sum();
    let each = || masses.iter().zip(states.clone());
    let mean = each().map(|(mass, x)| mass * x).sum::<f64>() / total;
    let variance = each().map(|(mass, x)| mass * (x - mean).powi(2)).sum::<f64>() / total;
    (mean, variance.max(0.0).sqrt())
}
