//! Line up all parameters of a model, each with the scale on which it is free, and build the model back from them.

use crate::model::OBSERVATION_STD;
pub use crate::parameter::{Prior, Transform};
use crate::{Dimension, Errors, Result, StateSpace};

/// One parameter of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Name as users write it.
    pub name: String,
    /// Value.
    pub value: f64,
    /// Whether it is held at its value.
    pub fixed: bool,
    /// The scale on which it is free.
    pub transform: Transform,
    /// A prior, if any.
    pub prior: Option<Prior>,
}

/// All parameters of a model: those of the drift, then per dimension those of the noise and of its size, the observation
/// standard deviation and the other parameters of the observation errors.
///
/// With several dimensions the names of noise and observation parameters carry `[i]`. All are free and without prior.
pub fn parameters(model: &StateSpace) -> Vec<Parameter> {
    let new = |name: String, value: f64, transform| Parameter { name, value, fixed: false, transform, prior: None };
    let drift = model.drift.parameters().into_iter().zip(model.drift.domains());
    let mut all: Vec<Parameter> = drift.map(|((name, value), domain)| new(name, value, domain.transform())).collect();
    for (i, dimension) in model.dimensions.iter().enumerate() {
        let label = |name: &str| if model.dim() == 1 { name.to_string() } else { format!("{name}[{i}]") };
        let noise = dimension.noise.parameters().into_iter().zip(dimension.noise.domains());
        all.extend(noise.map(|((name, value), domain)| new(label(name), value, domain.transform())));
        if let Some(size) = &dimension.size {
            let own = size.parameters().into_iter().zip(size.domains());
            all.extend(own.map(|((name, value), domain)| new(label(&name), value, domain.transform())));
        }
        let entry = OBSERVATION_STD;
        all.push(new(label(entry.name), dimension.observation_std, entry.transform()));
        let law = dimension.errors.law;
        let errors = law.kind().parameters().iter().zip(law.values());
        all.extend(errors.map(|(entry, value)| new(label(entry.name), value, entry.transform())));
    }
    all
}

/// The same kind of model with other parameter values, in the order of [`parameters`].
pub fn rebuild(model: &StateSpace, values: &[f64]) -> Result<StateSpace> {
    let (drift, mut rest) = values.split_at(model.drift.parameter_count());
    let mut dimensions = Vec::with_capacity(model.dim());
    for dimension in &model.dimensions {
        let (noise, after) = rest.split_at(dimension.noise.parameters().len());
        let (size, after) = after.split_at(dimension.size.as_ref().map_or(0, |size| size.parameters().len()));
        let kind = dimension.errors.law.kind();
        let (errors, later) = after[1..].split_at(kind.parameters().len());
        dimensions.push(Dimension {
            noise: dimension.noise.with_parameters(noise)?,
            size: dimension.size.as_ref().map(|own| own.with_parameters(size)).transpose()?,
            observation_std: after[0],
            errors: Errors { law: kind.build(errors)?, known: dimension.errors.known.clone() },
            start: dimension.start,
        });
        rest = later;
    }
    StateSpace::multivariate(model.drift.with_parameters(drift)?, dimensions)
}
