//! Keep where a search on the exact evidence stands when an end is asked for, so that the same search goes on from there.

use super::parameters::{Parameter, Transform};
use crate::context::{Checkpoint, Context};
use crate::series::TimeGrid;
use crate::{ErrorLaw, StateSpace};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What identifies a search: its data, its kind of model, and its parameters, without the values that it begins with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark(u64);

impl Mark {
    /// The mark of a search for `parameters` of models like `model`.
    pub fn new(model: &StateSpace, parameters: &[Parameter], (grid, values): (&TimeGrid, &[f64])) -> Self {
        let mut hash = DefaultHasher::new();
        grid.times().iter().chain(values).for_each(|x| x.to_bits().hash(&mut hash));
        model.drift.kind().hash(&mut hash);
        for dimension in &model.dimensions {
            dimension.noise.family().hash(&mut hash);
            (dimension.errors.law != ErrorLaw::Gaussian).hash(&mut hash);
            let known = dimension.errors.known.iter().flat_map(|known| known.iter());
            known.for_each(|std| std.to_bits().hash(&mut hash));
            format!("{:?} {:?}", dimension.start, dimension.size).hash(&mut hash);
        }
        for Parameter { name, value, fixed, transform, prior } in parameters {
            (name, fixed.then(|| value.to_bits()), *transform == Transform::Identity).hash(&mut hash);
            prior.map(|prior| [prior.mean.to_bits(), prior.std.to_bits()]).hash(&mut hash);
        }
        Self(hash.finish())
    }

    /// Keep the values of all parameters.
    pub fn keep(self, context: &Context, values: &[f64]) {
        context.keep(|| Checkpoint {
            fingerprint: self.0,
            parameters: Vec::new(),
            moments: Default::default(),
            trace: Vec::new(),
            rest: values.to_vec(),
        });
    }

    /// The values kept of `count` parameters, if there are any.
    pub fn find(self, context: &Context, count: usize) -> Option<Vec<f64>> {
        context.find(self.0).map(|kept| kept.rest).filter(|values| values.len() == count)
    }
}
