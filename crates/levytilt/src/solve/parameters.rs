//! Line up all parameters of a model, each with the scale on which it is free, and build the model back from them.

use crate::{Dimension, Model, Result};

/// The scale on which a parameter takes any real value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Transform {
    /// The parameter itself.
    Identity,
    /// Its logarithm: positive parameters.
    Log,
    /// ln(p/(bound − p)): parameters between zero and a bound.
    Logit(f64),
}

impl Transform {
    /// To the free scale.
    pub fn forward(self, value: f64) -> f64 {
        match self {
            Self::Identity => value,
            Self::Log => value.ln(),
            Self::Logit(bound) => (value / (bound - value)).ln(),
        }
    }

    /// Back from the free scale.
    pub fn backward(self, free: f64) -> f64 {
        match self {
            Self::Identity => free,
            Self::Log => free.exp(),
            Self::Logit(bound) => bound / (1.0 + (-free).exp()),
        }
    }

    /// d value / d free at `value`.
    pub fn slope(self, value: f64) -> f64 {
        match self {
            Self::Identity => 1.0,
            Self::Log => value,
            Self::Logit(bound) => value * (bound - value) / bound,
        }
    }
}

/// A Gaussian prior on the free scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// Mean on the free scale.
    pub mean: f64,
    /// Standard deviation on the free scale.
    pub std: f64,
}

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

/// All parameters of a model: those of the drift, then per dimension those of the noise and the observation noise.
///
/// With several dimensions the names of noise and observation parameters carry `[i]`. All are free and without prior.
pub fn parameters(model: &Model) -> Vec<Parameter> {
    let bounds = model.drift.lower_bounds();
    let new = |name: String, value: f64, transform| Parameter { name, value, fixed: false, transform, prior: None };
    let mut all: Vec<Parameter> = model
        .drift
        .parameters()
        .into_iter()
        .zip(bounds)
        .map(|((name, value), bound)| new(name, value, if bound == 0.0 { Transform::Log } else { Transform::Identity }))
        .collect();
    for (i, dimension) in model.dimensions.iter().enumerate() {
        let label = |name: &str| if model.dim() == 1 { name.to_string() } else { format!("{name}[{i}]") };
        for (name, value) in dimension.noise.parameters() {
            let transform = if name == "alpha" { Transform::Logit(2.0) } else { Transform::Log };
            all.push(new(label(name), value, transform));
        }
        all.push(new(label("observation_std"), dimension.observation_std, Transform::Log));
    }
    all
}

/// The same kind of model with other parameter values, in the order of [`parameters`].
pub fn rebuild(model: &Model, values: &[f64]) -> Result<Model> {
    let (drift, mut rest) = values.split_at(model.drift.parameter_count());
    let mut dimensions = Vec::with_capacity(model.dim());
    for dimension in &model.dimensions {
        let (noise, after) = rest.split_at(dimension.noise.parameters().len());
        dimensions.push(Dimension {
            noise: dimension.noise.with_parameters(noise)?,
            observation_std: after[0],
            start: dimension.start,
        });
        rest = &after[1..];
    }
    Model::multivariate(model.drift.with_parameters(drift)?, dimensions)
}
