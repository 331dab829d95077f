//! Climb to the maximum of a surface with its slope: quasi-Newton steps guarded by the surface itself.
//!
//! The information at the end comes from slopes one half of a standard error to either side along each axis of the law that
//! the surface describes; their second differences also tell how far the mean of that law lies from its maximum.

use crate::Result;
use nalgebra::{DMatrix, DVector, SymmetricEigen};
use rayon::prelude::*;

/// Halvings of a step before the search ends.
const HALVINGS: usize = 8;
/// Way to go, in standard errors, at which the search ends; a Newton step with the final information follows.
pub(super) const CLOSE: f64 = 1e-2;
/// Steps with an information that is only updated; then it is computed anew.
const STALE: usize = 3;
/// Standard errors to either side at which slopes are taken for the information.
const APART: f64 = 0.5;

/// A point on the free scale with log evidence plus log prior, and its slope.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub free: DVector<f64>,
    pub log_evidence: f64,
    pub value: f64,
    pub slope: DVector<f64>,
    /// Slope of the log evidence alone in all parameters on their free scales, those that are held included.
    pub by_all: Vec<f64>,
}

/// A smooth function to be maximised.
pub(super) trait Surface: Sync {
    /// What makes an evaluation near the last one cheaper.
    type Memory: Clone + Default + Send + Sync;

    /// Value and slope at a point; an error if it cannot be computed there.
    fn at(&self, free: DVector<f64>, memory: &mut Self::Memory) -> Result<Point>;

    /// A small move of coordinate `k`, for differences of slopes.
    fn small(&self, k: usize) -> f64;

    /// The longest step of coordinate `k` that can be trusted, or ∞.
    fn longest(&self, k: usize) -> f64;

    /// The information as far as the last evaluation tells it.
    fn known_information(&self, _memory: &Self::Memory) -> Option<DMatrix<f64>> {
        None
    }

    /// Whether the surface is a parabola, as good as, within a standard error of its maximum, so that slopes to one side tell
    /// the information.
    fn is_parabolic(&self) -> bool {
        false
    }

    /// Whether an evaluation keeps all threads busy by itself and needs memory that should not be needed several times.
    fn is_large(&self) -> bool {
        false
    }

    /// Tell who watches of a step; whether to go on.
    fn tell(&self, point: &Point, iteration: usize) -> bool;

    /// Whether an end was asked for, so that nothing more can be computed.
    fn is_stopped(&self) -> bool {
        false
    }

    /// Keep where a search stands that was asked to end.
    fn keep(&self, _free: &DVector<f64>) {}
}

/// A search for the maximum.
pub(super) struct Climber<S: Surface> {
    pub surface: S,
    pub memory: S::Memory,
    /// Way to go at which it ends, in standard errors.
    pub close: f64,
    pub most: usize,
    pub iterations: usize,
    pub stopped: bool,
}

/// Slopes to either side of a point along the axes of the law around it, in pairs; to one side only of a parabola.
pub(super) struct Sides {
    top: Point,
    points: Vec<Point>,
    axes: DMatrix<f64>,
}

impl<S: Surface> Climber<S> {
    pub(super) fn new(surface: S, most: usize) -> Self {
        Self { surface, memory: S::Memory::default(), close: CLOSE, most, iterations: 0, stopped: false }
    }

    /// Climb to the maximum; `information` if it is known roughly.
    pub(super) fn climb(
        &mut self,
        free: DVector<f64>,
        information: Option<DMatrix<f64>>,
    ) -> Result<(Point, DMatrix<f64>)> {
        let mut memory = std::mem::take(&mut self.memory);
        let mut point = self.surface.at(free, &mut memory)?;
        self.memory = memory;
        self.tell(&point);
        let mut information = match information.or_else(|| self.surface.known_information(&self.memory)) {
            Some(known) => known,
            None => self.rough_information(&point).inspect_err(|_| self.keep(&point))?,
        };
        let (mut fresh, mut age) = (true, 0);
        while !self.stopped && self.iterations < self.most {
            let definite = definite(&information);
            let mut step = definite.clone().cholesky().map_or_else(|| point.slope.clone(), |c| c.solve(&point.slope));
            let length = step.dot(&point.slope).sqrt();
            if length < self.close {
                break;
            }
            if age >= STALE && length > 10.0 * CLOSE {
                (information, fresh, age) = (self.renewed(&point, information)?, true, 0);
                continue;
            }
            self.shorten(&mut step);
            match self.advance(&point, &step) {
                Some(next) => {
                    information = updated(definite, &(&next.free - &point.free), &(&point.slope - &next.slope));
                    (point, fresh, age) = (next, false, age + 1);
                    self.iterations += 1;
                    self.tell(&point);
                }
                None if self.surface.is_stopped() => self.stopped = true,
                // A wrong idea of the curvature is the likely reason; if it is fresh, this is as far as one gets.
                None if fresh => break,
                None => (information, fresh, age) = (self.renewed(&point, information)?, true, 0),
            }
        }
        self.keep(&point);
        Ok((point, information))
    }

    /// Keep a point if an end was asked for.
    fn keep(&self, point: &Point) {
        if self.stopped || self.surface.is_stopped() {
            self.surface.keep(&point.free);
        }
    }

    /// The information anew; as it was if an end is asked for.
    fn renewed(&mut self, point: &Point, information: DMatrix<f64>) -> Result<DMatrix<f64>> {
        match self.rough_information(point) {
            Err(_) if self.surface.is_stopped() => {
                self.stopped = true;
                Ok(information)
            }
            found => found,
        }
    }

    /// Points moved by the columns of `moves`.
    fn around(&self, point: &Point, moves: &[DVector<f64>]) -> Result<Vec<Point>> {
        let one = |by: &DVector<f64>| self.surface.at(&point.free + by, &mut self.memory.clone());
        match self.surface.is_large() {
            true => moves.iter().map(one).collect(),
            false => moves.par_iter().map(one).collect(),
        }
    }

    /// The information from slopes a little to one side of a point.
    fn rough_information(&self, point: &Point) -> Result<DMatrix<f64>> {
        let n = point.free.len();
        let moves: Vec<DVector<f64>> = (0..n)
            .map(|k| {
                let size = self.surface.small(k);
                // Uphill, where the evidence is surer to be computable.
                let towards = if point.slope[k] < 0.0 { -size } else { size };
                DVector::from_fn(n, |i, _| if i == k { towards } else { 0.0 })
            })
            .collect();
        let around = self.around(point, &moves)?;
        let rows = DMatrix::from_fn(n, n, |i, k| (point.slope[i] - around[k].slope[i]) / moves[k][k]);
        Ok(0.5 * (&rows + rows.transpose()))
    }

    /// Cut a step to what can be trusted.
    pub(super) fn shorten(&self, step: &mut DVector<f64>) {
        let over = step.iter().enumerate().map(|(k, step)| step.abs() / self.surface.longest(k));
        *step /= over.fold(1.0, f64::max);
    }

    /// The first of ever shorter steps that raises the evidence.
    fn advance(&mut self, point: &Point, step: &DVector<f64>) -> Option<Point> {
        let promised = step.dot(&point.slope);
        let mut share = 1.0;
        for _ in 0..HALVINGS {
            let mut memory = self.memory.clone();
            // A place where the model cannot be computed is too far away.
            if let Ok(next) = self.surface.at(&point.free + share * step, &mut memory)
                && next.value > point.value + 1e-4 * share * promised
            {
                self.memory = memory;
                return Some(next);
            }
            share *= if share == 1.0 { 0.3 } else { 0.4 };
        }
        None
    }

    pub(super) fn tell(&mut self, point: &Point) {
        self.stopped |= !self.surface.tell(point, self.iterations);
    }

    /// Slopes to either side of `top` along the axes of the law that `rough` describes; none if that describes no law.
    pub(super) fn sides(&self, top: &Point, rough: &DMatrix<f64>) -> Result<Option<Sides>> {
        let n = top.free.len();
        let covariance = definite(rough).try_inverse().unwrap_or_else(|| DMatrix::identity(n, n));
        let Some(axes) = covariance.cholesky().map(|c| c.l()) else { return Ok(None) };
        let up = |k: usize| axes.column(k) * APART;
        let moves: Vec<DVector<f64>> = match self.surface.is_parabolic() {
            true => (0..n).map(up).collect(),
            false => (0..n).flat_map(|k| [up(k), -up(k)]).collect(),
        };
        Ok(Some(Sides { top: top.clone(), points: self.around(top, &moves)?, axes }))
    }
}

impl Sides {
    /// −∂slope_i/∂free_k of any slopes of the points.
    pub(super) fn falls(&self, slope: impl Fn(&Point) -> DVector<f64>) -> DMatrix<f64> {
        let falls: Vec<DVector<f64>> = match self.pairs() {
            Some(pairs) => pairs.map(|[up, down]| (slope(down) - slope(up)) / (2.0 * APART)).collect(),
            None => self.points.iter().map(|up| (slope(&self.top) - slope(up)) / APART).collect(),
        };
        let falls = DMatrix::from_columns(&falls);
        // falls = information · axes
        let n = self.axes.nrows();
        falls * self.axes.clone().try_inverse().unwrap_or_else(|| DMatrix::identity(n, n))
    }

    /// The information.
    pub(super) fn information(&self) -> DMatrix<f64> {
        let found = self.falls(|point| point.slope.clone());
        0.5 * (&found + found.transpose())
    }

    /// Σ_ij T_kij C_ij with the second derivatives T of any slopes at the top and the covariance C of the law; 0 for a
    /// parabola.
    pub(super) fn bend(&self, slope: impl Fn(&Point) -> DVector<f64>) -> DVector<f64> {
        let middle = slope(&self.top);
        let mut bend = DVector::zeros(middle.len());
        for [up, down] in self.pairs().into_iter().flatten() {
            bend += (slope(up) + slope(down) - 2.0 * &middle) / (APART * APART);
        }
        bend
    }

    /// The points up and down each axis, if there are both.
    fn pairs(&self) -> Option<impl Iterator<Item = [&Point; 2]>> {
        let both = self.points.len() > self.axes.ncols();
        both.then(|| self.points.chunks_exact(2).map(|pair| [&pair[0], &pair[1]]))
    }
}

/// The nearest information with all its eigenvalues positive: those that are not are turned around, and none is less than
/// a hundred-millionth of the largest after scaling to a unit diagonal.
pub(super) fn definite(information: &DMatrix<f64>) -> DMatrix<f64> {
    let n = information.nrows();
    let scale = DVector::from_fn(n, |k, _| information[(k, k)].abs().max(1e-300).sqrt());
    let unit = DMatrix::from_fn(n, n, |i, k| information[(i, k)] / (scale[i] * scale[k]));
    let eigen = SymmetricEigen::new(unit);
    let top = eigen.eigenvalues.iter().fold(0.0f64, |top, v| top.max(v.abs()));
    let kept = eigen.eigenvalues.map(|v| v.abs().max(1e-8 * top));
    let unit = &eigen.eigenvectors * DMatrix::from_diagonal(&kept) * eigen.eigenvectors.transpose();
    DMatrix::from_fn(n, n, |i, k| 0.5 * (unit[(i, k)] + unit[(k, i)]) * scale[i] * scale[k])
}

/// The information after a step by `moved` along which the slope fell by `fell` (Broyden, Fletcher, Goldfarb, Shanno), damped
/// as Powell does where it did not fall enough.
pub(super) fn updated(information: DMatrix<f64>, moved: &DVector<f64>, fell: &DVector<f64>) -> DMatrix<f64> {
    let expected = &information * moved;
    let curvature = moved.dot(&expected);
    let measured = moved.dot(fell);
    let share = if measured >= 0.2 * curvature { 1.0 } else { 0.8 * curvature / (curvature - measured) };
    let fell = fell * share + &expected * (1.0 - share);
    let along = moved.dot(&fell);
    if !(along > 0.0 && curvature > 0.0) {
        return information;
    }
    information + &fell * fell.transpose() / along - &expected * expected.transpose() / curvature
}
