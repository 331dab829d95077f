//! Remember where the flow of each cell lands, and with which weights, for steps of equal length.

use super::lagrange::POINTS;
use super::landing::{Landing, Landings, Part, Slopes, land};
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

/// Landings of the cells of a layout, and their slopes, by step length.
#[derive(Debug, Default)]
pub(crate) struct FlowTable {
    tables: BTreeMap<u64, (Table<Landing>, Table<[f64; POINTS]>)>,
}

/// What is known of the cells of a layout, block by block.
#[derive(Debug)]
struct Table<T> {
    values: Arc<Vec<T>>,
    filled: Vec<bool>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { values: Arc::default(), filled: Vec::new() }
    }
}

impl<T: Copy> Table<T> {
    /// The cells `part` of `len`, with blocks of cells from `block` where they are not there yet; `nothing` fills the rest.
    fn part(&mut self, part: Range<usize>, len: usize, nothing: T, mut block: impl FnMut(usize) -> Vec<T>) -> Part<T> {
        let blocks = len.div_ceil(BLOCK);
        if self.filled.is_empty() {
            *self = Self { values: Arc::new(vec![nothing; blocks * BLOCK]), filled: vec![false; blocks] };
        }
        let touched = part.start / BLOCK..part.end.div_ceil(BLOCK);
        for number in touched.clone().filter(|&number| !self.filled[number]) {
            // Nobody else has the table by now, so that it is not copied.
            Arc::make_mut(&mut self.values)[number * BLOCK..(number + 1) * BLOCK].copy_from_slice(&block(number));
        }
        self.filled[touched].fill(true);
        Part { table: self.values.clone(), part }
    }
}

impl FlowTable {
    /// The landings of the cells of time `j`.
    pub fn landings(&mut self, problem: &Problem, layout: &Layout, j: usize) -> Landings {
        match self.place(problem, layout, j) {
            None => layout.landings(problem, j, || flow(problem, layout, j, &states(layout, j))),
            Some((key, part)) => self.tables.entry(key).or_default().0.part(
                part,
                layout.range().len,
                Landing { target: 0.0, weights: [0.0; POINTS] },
                |block| {
                    let first = layout.range().first + (block * BLOCK) as i64;
                    flow(problem, layout, j, &at_cells(layout, first, BLOCK))
                },
            ),
        }
    }

    /// Weights that give the slopes at `landings`, those of the cells of time `j`.
    pub fn slopes(&mut self, problem: &Problem, layout: &Layout, j: usize, landings: &Landings) -> Slopes {
        let slopes = |landings: &[Landing]| landings.iter().map(Landing::slopes).collect::<Vec<_>>();
        match self.place(problem, layout, j) {
            None => slopes(landings).into(),
            Some((key, part)) => {
                let all = |block: usize| slopes(&landings.table[block * BLOCK..(block + 1) * BLOCK]);
                self.tables.entry(key).or_default().1.part(part, layout.range().len, [0.0; POINTS], all)
            }
        }
    }

    /// Table and part of it for the cells of time `j`, if there is to be one.
    pub fn place(&self, problem: &Problem, layout: &Layout, j: usize) -> Option<(u64, Range<usize>)> {
        let (support, range) = (layout.support(j), layout.range());
        let key = length_key(problem.grid.step(j));
        let usable = j > 0
            && problem.model.drift.is_autonomous()
            && range.len <= WIDEST
            && range.contains(support)
            && layout.recurs(problem, key);
        let from = (support.first - range.first) as usize;
        (usable && (self.tables.contains_key(&key) || self.tables.len() < MOST))
            .then(|| (key, from..from + support.len))
    }
}

/// The states of the cells of time `j`.
fn states(layout: &Layout, j: usize) -> Vec<f64> {
    let (support, (first, spacing)) = (layout.support(j), layout.points(j));
    match j {
        0 => (0..support.len).map(|i| first + i as f64 * spacing).collect(),
        _ => at_cells(layout, support.first, support.len),
    }
}

/// The states of `count` cells from `first` on, the same to the last digit whatever the first is: states on a cell must land there
/// from a table and without one.
pub(super) fn at_cells(layout: &Layout, first: i64, count: usize) -> Vec<f64> {
    (first..first + count as i64).map(|cell| layout.origin + cell as f64 * layout.spacing).collect()
}

/// The landings of `states` of time `j`.
fn flow(problem: &Problem, layout: &Layout, j: usize, states: &[f64]) -> Vec<Landing> {
    let step = (problem.grid.times()[j], problem.grid.step(j));
    land(problem.model.drift.as_ref(), step, (layout.origin, layout.spacing), states)
}
