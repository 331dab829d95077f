//! Tabulate a law of the variance from its log-density in u = ln s, and move it with its shape parameters.
//!
//! A law changes with a parameter in two ways: it slides along ln s and it changes its shape. The part that is a slide
//! moves the nodes, only the rest changes their weights; the split is the one that leaves the least to the weights.

use super::condense::{Condensed, FineLaw, Layout, condense};
use super::quadrature::even_points;
use super::{NodeDerivative, Nodes};
use crate::{Error, Result};

/// ln density of u = ln s at a point, with its derivatives in u and in P shape parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogPoint<const P: usize> {
    pub value: f64,
    pub by_u: f64,
    pub by_shape: [f64; P],
}

/// Log-density below its maximum at which a law is cut off: e^{−40} = 4e-18.
const DEPTH: f64 = 40.0;

/// Where a unimodal law lives: the ends at which its density has fallen by e^{−40}, or the bounds before that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    pub low: f64,
    pub high: f64,
}

/// Widest range of ln s that is tabulated; floating point numbers themselves span 1400.
const WIDEST: f64 = 1000.0;

/// Narrowest range that is told from a point.
const NARROWEST: f64 = 1e-11;

impl Range {
    /// Range of the law with the log-density `f`, which has one maximum; `start` is a guess of it.
    pub(crate) fn of<const P: usize>(f: impl Fn(f64) -> LogPoint<P>, start: f64) -> Result<Self> {
        Self::between(f, start, f64::NEG_INFINITY, f64::INFINITY)
    }

    /// The same inside bounds, which the guess and the maximum must respect.
    pub(crate) fn between<const P: usize>(
        f: impl Fn(f64) -> LogPoint<P>,
        start: f64,
        lowest: f64,
        highest: f64,
    ) -> Result<Self> {
        let rising = |u: f64| f(u).by_u > 0.0;
        let mode = match rising(start) {
            true => last(&rising, start, highest),
            false => last(&|u| !rising(u), start, lowest),
        };
        let level = f(mode).value - DEPTH;
        let above = |u: f64| f(u).value > level;
        let range = Self { low: last(&above, mode, lowest), high: last(&above, mode, highest) };
        range.checked()
    }

    /// The range, or an error if the law on it is too wide or too narrow for floating point numbers.
    pub(crate) fn checked(self) -> Result<Self> {
        let why = match self.high - self.low {
            width if width > WIDEST => "it spans more orders of magnitude than floating-point numbers do",
            width if width < NARROWEST => "it is constant up to rounding: use gaussian noise",
            width if width.is_nan() => "it is NaN",
            _ => return Ok(self),
        };
        Err(Error::Numerical {
            what: "law of the step variance",
            why: format!("{why}; a parameter or the step length is too extreme"),
        })
    }

    /// Widest panels of a table: 0.5 and, for a narrow law, about one standard deviation.
    pub(crate) fn widest_panel(self) -> f64 {
        0.5f64.min((self.high - self.low) / 16.0)
    }

    /// Ten points per panel over the range.
    pub(crate) fn points(self) -> Vec<(f64, f64)> {
        even_points(self.low, self.high, self.widest_panel())
    }
}

/// The farthest point from `start` towards `bound` up to which `holds` is true, to about 1e-3 of the way; the bound if
/// it holds all the way (a bound at infinity counts as 10⁶).
pub(crate) fn last(holds: &impl Fn(f64) -> bool, start: f64, bound: f64) -> f64 {
    let way = (bound - start).abs().min(1e6);
    let sign = if bound > start { 1.0 } else { -1.0 };
    let mut step = 1e-13;
    while step < way && holds(start + sign * step) {
        step *= 2.0;
    }
    if step >= way && holds(start + sign * way) {
        return start + sign * way;
    }
    let (mut inside, mut outside) = (0.0, step.min(way));
    for _ in 0..12 {
        let middle = 0.5 * (inside + outside);
        if holds(start + sign * middle) { inside = middle } else { outside = middle }
    }
    start + sign * inside
}

/// A tabulated law with the slide ∂u/∂p of each of its P shape parameters.
#[derive(Debug, Clone)]
pub(crate) struct SlidingLaw<const P: usize> {
    pub fine: FineLaw,
    pub slides: [f64; P],
}

impl<const P: usize> SlidingLaw<P> {
    /// The law with log-density `f` on points (u, quadrature weight).
    pub(crate) fn new(points: &[(f64, f64)], f: impl Fn(f64) -> LogPoint<P>) -> Self {
        let table: Vec<(f64, f64, LogPoint<P>)> = points
            .iter()
            .map(|&(u, weight)| {
                let point = f(u);
                (u, weight * point.value.exp(), point)
            })
            .collect();
        let square: f64 = table.iter().map(|(_, m, p)| m * p.by_u * p.by_u).sum();
        // Least squares: ∂f/∂p + slide·∂f/∂u as small as possible under the law.
        let slides =
            std::array::from_fn(|j| -table.iter().map(|(_, m, p)| m * p.by_shape[j] * p.by_u).sum::<f64>() / square);
        let fine = FineLaw {
            u: table.iter().map(|row| row.0).collect(),
            mass: table.iter().map(|row| row.1).collect(),
            derivatives: (0..P)
                .map(|j| table.iter().map(|(_, m, p)| m * (p.by_shape[j] + slides[j] * p.by_u)).collect())
                .collect(),
            ..FineLaw::default()
        };
        Self { fine, slides }
    }

    /// Add the mass of a tail beyond the table as one point at `u`: `tail` is ln of the mass beyond a bound, with its
    /// derivatives in that bound and in the shape.
    ///
    /// The caller knows it in closed form; one minus the rest would be rounding error where the tail is light.
    pub(crate) fn add_tail(&mut self, u: f64, tail: LogPoint<P>) {
        let fine = &mut self.fine;
        let place = if fine.u.first().is_some_and(|&first| u < first) { 0 } else { fine.u.len() };
        let mass = tail.value.exp();
        // A tail that underflows is not there.
        if mass > 0.0 {
            fine.u.insert(place, u);
            fine.mass.insert(place, mass);
            for (j, derivative) in fine.derivatives.iter_mut().enumerate() {
                derivative.insert(place, mass * (tail.by_shape[j] + self.slides[j] * tail.by_u));
            }
        }
    }

    /// A few nodes that stand for the law.
    pub(crate) fn condense(&self, layout: Layout) -> SlidingNodes<P> {
        SlidingNodes { nodes: condense(&self.fine, layout), slides: self.slides }
    }
}

/// Nodes of a law with P shape parameters.
#[derive(Debug, Clone)]
pub(crate) struct SlidingNodes<const P: usize> {
    pub nodes: Condensed,
    pub slides: [f64; P],
}

/// How a parameter of a family acts on a law: it stretches S, and it changes the shape.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Action<const P: usize> {
    /// Name of the parameter p.
    pub name: &'static str,
    /// ∂ ln factor/∂p, S = factor × (variable of the law).
    pub stretch: f64,
    /// ∂ shape/∂p.
    pub shape: [f64; P],
}

impl<const P: usize> SlidingNodes<P> {
    /// Nodes of S = factor × (variable of the law), with derivatives by the chain rule.
    pub(crate) fn scaled(self, factor: f64, actions: &[Action<P>]) -> Result<Nodes> {
        let variances: Vec<f64> = self.nodes.variances.iter().map(|s| factor * s).collect();
        let derivatives = actions
            .iter()
            .map(|action| {
                let slide = action.stretch + action.shape.iter().zip(&self.slides).map(|(a, b)| a * b).sum::<f64>();
                NodeDerivative {
                    name: action.name,
                    variances: variances.iter().map(|s| slide * s).collect(),
                    weights: (0..variances.len())
                        .map(|k| action.shape.iter().zip(&self.nodes.derivatives).map(|(a, d)| a * d[k]).sum())
                        .collect(),
                }
            })
            .collect();
        Nodes::new(variances, self.nodes.weights, derivatives)
    }
}
