//! Lay a fit out on its record, for the figures of its page.

use levytilt::internals::Chain;

use super::figure::Axis;
use super::page::capital;
use crate::table::Table;
use crate::workflow::fit::Outcome;

/// A fit laid out on its record, for one dimension at a time.
pub struct Scene<'a> {
    /// The fit and its figures.
    pub outcome: &'a Outcome,
    /// The record.
    pub table: &'a Table,
    /// Model, times and values.
    pub chain: &'a Chain<'a>,
    /// The axis of times.
    pub times: Axis,
}

impl Scene<'_> {
    /// Number of dimensions.
    pub fn dim(&self) -> usize {
        self.table.names.len()
    }

    /// The name of a dimension, where there are several.
    pub fn dimension(&self, i: usize) -> Option<String> {
        (self.dim() > 1).then(|| self.table.names[i].clone())
    }

    /// A title, with the dimension in front where there are several.
    pub fn title(&self, what: &str, i: usize) -> String {
        match self.dimension(i) {
            Some(name) => format!("{name}: {what}"),
            None => capital(what),
        }
    }

    /// A name within the page for figure `name` of dimension `i`.
    pub fn id(&self, name: &str, i: usize) -> String {
        if self.dim() == 1 { name.into() } else { format!("{name}-{}", i + 1) }
    }
}
