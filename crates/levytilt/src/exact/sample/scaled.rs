//! See the law of the increments with every increment multiplied by a factor.

use super::increment::Increment;
use super::node::Node;
use crate::StreamRng;

/// The increments of a table times a factor, with the same questions answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scaled<'a> {
    increment: &'a Increment,
    factor: f64,
    inverse: f64,
    /// What distances are counted from.
    pub centre: f64,
}

impl<'a> Scaled<'a> {
    /// The increments of `increment` times `factor` > 0.
    pub fn new(increment: &'a Increment, factor: f64) -> Self {
        Self { increment, factor, inverse: 1.0 / factor, centre: factor * increment.centre }
    }

    /// Nodes far narrower than a cell, before they are multiplied by the factor.
    pub fn narrow(&self) -> &'a [Node] {
        &self.increment.narrow
    }

    /// Weight of these together.
    pub fn narrow_weight(&self) -> f64 {
        self.increment.narrow_weight
    }

    /// The factor.
    pub fn factor(&self) -> f64 {
        self.factor
    }

    /// See [`Increment::is_skewed`].
    #[inline]
    pub fn is_skewed(&self) -> bool {
        self.increment.is_skewed()
    }

    /// See [`Increment::draw`].
    #[inline]
    pub fn draw(&self, rng: &mut StreamRng) -> (f64, bool) {
        let (move_by, jump) = self.increment.draw(rng);
        (self.factor * move_by, jump)
    }

    /// See [`Increment::ceiling`].
    #[inline]
    pub fn ceiling(&self, distance: f64) -> f64 {
        self.inverse * self.increment.ceiling(self.inverse * distance)
    }

    /// See [`Increment::density`].
    #[inline]
    pub fn density(&self, distance: f64) -> f64 {
        self.inverse * self.increment.density(self.inverse * distance)
    }

    /// See [`Increment::jump_probability`].
    pub fn jump_probability(&self, distance: f64) -> f64 {
        self.increment.jump_probability(self.inverse * distance)
    }

    /// See [`Increment::tail_ceiling`].
    pub fn tail_ceiling(&self, distance: f64) -> f64 {
        self.increment.tail_ceiling(self.inverse * distance)
    }

    /// See [`Increment::draw_tail`].
    pub fn draw_tail(&self, distance: f64, uniforms: [f64; 2]) -> (f64, f64) {
        let (size, ceiling) = self.increment.draw_tail(self.inverse * distance, uniforms);
        (self.factor * size, self.inverse * ceiling)
    }
}
