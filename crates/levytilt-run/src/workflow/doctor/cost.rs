//! Say before a fit how much time and memory it takes.

use anyhow::Result;
use levytilt::drift::DriftFamily;
use levytilt::internals::fit::{Spec, exact_cells};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::Family;

use crate::settings::usual_paths;
use crate::table::Table;

/// Bytes per cell of the exact posterior: its messages, densities and the slopes of learning.
const BYTES_PER_CELL: f64 = 24.0;
/// Bytes per path, time and dimension: states, marks and weights, and copies of them for marginals, files and the page.
const BYTES_PER_STATE: f64 = 33.0;
/// Megabytes of the program itself, with its tables of stable laws.
const PROGRAM: f64 = 28.0;
/// Seconds per cell of a slope, and slopes of a fit.
const SECONDS_PER_CELL: f64 = 1e-7;
const SLOPES: f64 = 20.0;

/// What a fit costs.
pub struct Cost {
    /// Memory.
    pub megabytes: f64,
    /// Time by an optimised build on one core; nothing where the exact posterior is not affordable.
    pub seconds: Option<f64>,
}

impl Cost {
    /// The cost of a fit of all columns of `table` with mean reversion and these noises, with the exact posterior where that
    /// is affordable.
    ///
    /// The cells of the grid of states are counted, not guessed: they depend on observation noise, gaps and tails.
    pub fn of<'a>(table: &Table, noises: impl Iterator<Item = &'a str>) -> Result<Self> {
        let grid = TimeGrid::new(&table.times, None)?;
        let mut cells = Some(0usize);
        for (values, noise) in table.columns.iter().zip(noises) {
            // Of all families that compete, stable noise has the heaviest tails and the widest grids.
            let family = Family::named(if noise == "auto" { "stable" } else { noise });
            let drift = DriftFamily::named("ou");
            let own = drift
                .zip(family)
                .and_then(|(drift, noise)| exact_cells(&Spec::new(drift, noise), &grid, values).ok().flatten());
            cells = cells.zip(own).map(|(sum, own)| sum + own);
        }
        let each = (grid.steps() + 1) * table.names.len();
        let states = usual_paths(each) * each;
        let megabytes = PROGRAM + (BYTES_PER_STATE * states as f64 + BYTES_PER_CELL * cells.unwrap_or(0) as f64) / 1e6;
        Ok(Self { megabytes, seconds: cells.map(|cells| SLOPES * SECONDS_PER_CELL * cells as f64) })
    }
}
