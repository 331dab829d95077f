//! Remember where the flow of each cell lands, and with which weights, for steps of equal length.

use super::lagrange::{LEFT, POINTS, weights};
use super::layout::Layout;
use super::problem::Problem;
use crate::series::length_key;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Cells of a table, and step lengths that have one; without a table, places are computed again for every step.
const WIDEST: usize = 1 << 15;
const MOST: usize = 48;
/// Cells computed at once.
const BLOCK: usize = 64;

/// Where a state lands between cells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Landing {
    /// Position in cells of the grid.
    pub target: f64,
    /// Weights of the cells around it, see [`Landing::first`].
    pub weights: [f64; POINTS],
}

impl Landing {
    /// The landing at a position in cells of the grid.
    #[inline]
    pub fn new(target: f64) -> Self {
        Self { target, weights: weights(target - target.floor()) }
    }

    /// First cell that the weights belong to.
    #[inline]
    pub fn first(&self) -> i64 {
        self.target.floor() as i64 - LEFT
    }
}

/// Landings of the cells of a layout, by step length.
#[derive(Debug, Default)]
pub(crate) struct FlowTable {
    tables: BTreeMap<u64, (Arc<Vec<Landing>>, Vec<bool>)>,
}

/// Landings of the cells of one time: a part of a table.
#[derive(Debug)]
pub(crate) struct Landings {
    table: Arc<Vec<Landing>>,
    part: Range<usize>,
}

impl std::ops::Deref for Landings {
    type Target = [Landing];

    fn deref(&self) -> &[Landing] {
        &self.table[self.part.clone()]
    }
}

impl FlowTable {
    /// The landings of the cells of time `j`.
    pub fn landings(&mut self, problem: &Problem, layout: &Layout, j: usize) -> Landings {
        let (support, range) = (layout.support(j), layout.range());
        let key = length_key(problem.grid.step(j));
        let known = self.tables.contains_key(&key);
        let usable = j > 0 && problem.model.drift.is_autonomous() && range.len <= WIDEST && range.contains(support);
        if !usable || !(known || self.tables.len() < MOST) {
            let table = Arc::new(flow(problem, layout, j, layout.points(j), support.len));
            return Landings { table, part: 0..support.len };
        }
        let blocks = range.len.div_ceil(BLOCK);
        let nowhere = Landing { target: 0.0, weights: [0.0; POINTS] };
        let (table, filled) =
            self.tables.entry(key).or_insert_with(|| (Arc::new(vec![nowhere; blocks * BLOCK]), vec![false; blocks]));
        let from = (support.first - range.first) as usize;
        for block in (from / BLOCK..(from + support.len).div_ceil(BLOCK)).filter(|&block| !filled[block]) {
            let first = layout.origin + (range.first + (block * BLOCK) as i64) as f64 * layout.spacing;
            let landings = flow(problem, layout, j, (first, layout.spacing), BLOCK);
            // Nobody else has the table by now, so that it is not copied.
            Arc::make_mut(table)[block * BLOCK..(block + 1) * BLOCK].copy_from_slice(&landings);
        }
        filled[from / BLOCK..(from + support.len).div_ceil(BLOCK)].fill(true);
        Landings { table: table.clone(), part: from..from + support.len }
    }
}

/// The landings of `count` states from `first` on, `spacing` apart.
fn flow(problem: &Problem, layout: &Layout, j: usize, (first, spacing): (f64, f64), count: usize) -> Vec<Landing> {
    let states: Vec<f64> = (0..count).map(|i| first + i as f64 * spacing).collect();
    let mut out = vec![0.0; count];
    problem.model.drift.flow_many(problem.grid.times()[j], problem.grid.step(j), &states, &mut out);
    out.iter().map(|x| Landing::new((x - layout.origin) / layout.spacing)).collect()
}
