//! Compute the nodes of a step length once, however many steps share it.

use super::{Nodes, Noise};
use crate::Result;
use crate::error::positive;
use std::collections::HashMap;
use std::sync::Arc;

/// Nodes of a noise by step length.
///
/// Lengths that differ by less than about 1e-12 of themselves share their nodes: the rounding of times such as
/// 0.1 + 0.2 must not cost a new computation per step.
#[derive(Debug)]
pub struct NodeCache<'a> {
    noise: &'a dyn Noise,
    by_length: HashMap<u64, Arc<Nodes>>,
}

impl<'a> NodeCache<'a> {
    /// An empty cache for `noise`.
    pub fn new(noise: &'a dyn Noise) -> Self {
        Self { noise, by_length: HashMap::new() }
    }

    /// Nodes for a step of length `dt`.
    pub fn nodes(&mut self, dt: f64) -> Result<Arc<Nodes>> {
        positive("step length", dt)?;
        let key = length_key(dt);
        if let Some(nodes) = self.by_length.get(&key) {
            return Ok(nodes.clone());
        }
        let nodes = Arc::new(self.noise.nodes(dt)?);
        self.by_length.insert(key, nodes.clone());
        Ok(nodes)
    }

    /// Number of different step lengths seen so far.
    pub fn lengths(&self) -> usize {
        self.by_length.len()
    }
}

/// The bits of a positive length rounded to 40 of its 52 digits: equal for lengths equal to about 1e-12.
pub(crate) fn length_key(dt: f64) -> u64 {
    dt.to_bits().wrapping_add(1 << 11) >> 12
}
