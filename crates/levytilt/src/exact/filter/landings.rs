//! Keep where the cells of the grid land under a drift that does not change in time.

use super::super::landing::{Landing, land};
use crate::drift::Drift;
use crate::series::length_key;
use std::collections::BTreeMap;

/// Cells computed at once, in blocks at fixed places: what was asked for before must not change a digit.
const BLOCK: i64 = 64;
/// Blocks kept (30 MB).
const MOST: usize = 1 << 12;

/// Landings on one grid.
#[derive(Default)]
pub(super) struct Landings {
    /// A state at a cell of the grid, and its spacing.
    grid: (f64, f64),
    /// By step length and number of the block.
    blocks: BTreeMap<(u64, i64), Vec<Landing>>,
}

impl Landings {
    /// The landings of `len` cells from `first` on after a step of length `dt`.
    pub fn of_cells(
        &mut self,
        drift: &dyn Drift,
        (t, dt): (f64, f64),
        grid: (f64, f64),
        (first, len): (i64, usize),
    ) -> Vec<Landing> {
        if self.grid != grid || self.blocks.len() > MOST {
            *self = Self { grid, blocks: BTreeMap::new() };
        }
        let (key, end) = (length_key(dt), first + len as i64);
        let mut landings = Vec::with_capacity(len);
        for block in first.div_euclid(BLOCK)..=(end - 1).div_euclid(BLOCK) {
            let begin = block * BLOCK;
            let known = self.blocks.entry((key, block)).or_insert_with(|| {
                let states: Vec<f64> = (begin..begin + BLOCK).map(|cell| grid.0 + cell as f64 * grid.1).collect();
                land(drift, (t, dt), grid, &states)
            });
            landings.extend_from_slice(&known[(first - begin).max(0) as usize..(end - begin).min(BLOCK) as usize]);
        }
        landings
    }
}
