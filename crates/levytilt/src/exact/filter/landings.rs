//! Keep where the cells of the grid land under a drift that does not change in time.

use super::super::flow_table::Landing;
use crate::drift::Drift;
use crate::series::length_key;
use std::collections::BTreeMap;

/// Cells computed at once, in blocks at fixed places: what was asked for before must not change a digit.
const BLOCK: i64 = 64;
/// Landings kept (30 MB).
const MOST: usize = 1 << 18;

/// Landings on one grid, by step length.
#[derive(Default)]
pub(super) struct Landings {
    /// A state at a cell of the grid, and its spacing.
    grid: (f64, f64),
    tables: BTreeMap<u64, Table>,
}

/// Landings of adjoining cells.
#[derive(Default)]
struct Table {
    first: i64,
    landings: Vec<Landing>,
}

impl Landings {
    /// The landings of `len` cells from `first` on after a step of length `dt`.
    pub fn of_cells(
        &mut self,
        drift: &dyn Drift,
        (t, dt): (f64, f64),
        grid: (f64, f64),
        (first, len): (i64, usize),
    ) -> &[Landing] {
        let key = length_key(dt);
        let kept: usize = self.tables.values().map(|table| table.landings.len()).sum();
        if self.grid != grid || kept > MOST {
            *self = Self { grid, tables: BTreeMap::new() };
        }
        let table = self.tables.entry(key).or_default();
        table.cover((first, first + len as i64), |cells| land(drift, (t, dt), grid, cells));
        let from = (first - table.first) as usize;
        &table.landings[from..from + len]
    }
}

impl Table {
    /// Have the cells from `low` to `high`, `high` excluded.
    fn cover(&mut self, (low, high): (i64, i64), land: impl Fn(std::ops::Range<i64>) -> Vec<Landing>) {
        let (low, high) = (low.div_euclid(BLOCK) * BLOCK, (high + BLOCK - 1).div_euclid(BLOCK) * BLOCK);
        if self.landings.is_empty() {
            self.first = low;
        }
        let blocks =
            |from: i64, to: i64| (from..to).step_by(BLOCK as usize).flat_map(|block| land(block..block + BLOCK));
        if low < self.first {
            self.landings = blocks(low, self.first).chain(self.landings.iter().copied()).collect();
            self.first = low;
        }
        let end = self.first + self.landings.len() as i64;
        self.landings.extend(blocks(end, high));
    }
}

/// Where cells land.
fn land(
    drift: &dyn Drift,
    (t, dt): (f64, f64),
    (origin, spacing): (f64, f64),
    cells: std::ops::Range<i64>,
) -> Vec<Landing> {
    let states: Vec<f64> = cells.map(|cell| origin + cell as f64 * spacing).collect();
    land_states(drift, (t, dt), (origin, spacing), &states)
}

/// Where `states` land after a step of length `dt` from time `t` on.
pub(super) fn land_states(
    drift: &dyn Drift,
    (t, dt): (f64, f64),
    (origin, spacing): (f64, f64),
    states: &[f64],
) -> Vec<Landing> {
    let mut ahead = vec![0.0; states.len()];
    drift.flow_many(t, dt, states, &mut ahead);
    ahead.iter().map(|x| Landing::new((x - origin) / spacing)).collect()
}
