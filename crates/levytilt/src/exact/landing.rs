//! Say where the flow takes a state: between which cells of a grid, and with which weights.

use super::lagrange::{LEFT, POINTS, slopes, weights};
use crate::drift::Drift;
use std::ops::Range;
use std::sync::Arc;

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
        Self { target, weights: weights(fraction(target)) }
    }

    /// First cell that the weights belong to.
    #[inline]
    pub fn first(&self) -> i64 {
        floor(self.target) - LEFT
    }

    /// Weights that give the slope per cell.
    #[inline]
    pub fn slopes(&self) -> [f64; POINTS] {
        slopes(fraction(self.target))
    }
}

/// ⌊`position`⌋; 0 for a NaN.
#[inline]
fn floor(position: f64) -> i64 {
    let whole = position as i64;
    whole - i64::from(whole as f64 > position)
}

/// `position` − ⌊`position`⌋.
#[inline]
fn fraction(position: f64) -> f64 {
    position - floor(position) as f64
}

/// What is known of the cells of one time: a part of a table.
#[derive(Debug)]
pub(crate) struct Part<T> {
    pub(super) table: Arc<Vec<T>>,
    pub(super) part: Range<usize>,
}

/// Landings of the cells of one time.
pub(crate) type Landings = Part<Landing>;
/// Weights that give the slopes at the landings of one time.
pub(crate) type Slopes = Part<[f64; POINTS]>;

impl<T> std::ops::Deref for Part<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.table[self.part.clone()]
    }
}

impl<T> From<Vec<T>> for Part<T> {
    fn from(values: Vec<T>) -> Self {
        Arc::new(values).into()
    }
}

impl<T> From<Arc<Vec<T>>> for Part<T> {
    fn from(table: Arc<Vec<T>>) -> Self {
        Self { part: 0..table.len(), table }
    }
}

/// Where `states` land on a grid after a step of length `dt` from time `t` on.
pub(super) fn land(
    drift: &dyn Drift,
    (t, dt): (f64, f64),
    (origin, spacing): (f64, f64),
    states: &[f64],
) -> Vec<Landing> {
    let mut ahead = vec![0.0; states.len()];
    drift.flow_many(t, dt, states, &mut ahead);
    ahead.iter().map(|x| Landing::new((x - origin) / spacing)).collect()
}
