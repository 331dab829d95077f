//! Say which model to fit: which parameters are given and which are to be learned.

use super::guess::{Scales, guess};
use crate::drift::DriftFamily;
use crate::noise::{Family, Noise, PlusBrownian};
use crate::series::TimeGrid;
use crate::solve::{Parameter, Prior, Transform, parameters};
use crate::{Error, Model, Result, Start};

/// A kind of model in one dimension. Parameters given a value are held fixed; the others are learned.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Kind of drift.
    pub drift: &'static DriftFamily,
    /// Family of the noise.
    pub noise: &'static Family,
    /// Parameters held fixed, by name: those of drift and noise, `observation_std`, and `brownian`, which adds a
    /// Brownian motion to the noise unless it is nought or left out.
    pub given: Vec<(String, f64)>,
    /// State at the first time; left out, it is Gaussian around the first value.
    pub x0: Option<f64>,
    /// Standard deviation of the state at the first time. Left out, a given `x0` is exact and one from the data has 10
    /// times the error of observation: wide, so that the first value decides.
    pub x0_std: Option<f64>,
}

/// Only the product of this parameter and `scale` matters: left out, it is 1.
const REDUNDANT: &str = "sigma_g";

/// A model to start from, and what may be learned of it.
#[derive(Debug)]
pub(super) struct Start0 {
    pub model: Model,
    pub parameters: Vec<Parameter>,
}

impl Spec {
    /// A model with nothing given.
    pub fn new(drift: &'static DriftFamily, noise: &'static Family) -> Self {
        Self { drift, noise, given: Vec::new(), x0: None, x0_std: None }
    }

    /// Hold a parameter fixed.
    pub fn fix(mut self, name: &str, value: f64) -> Self {
        self.given.push((name.into(), value));
        self
    }

    /// The value held fixed for a parameter, if there is one.
    pub fn given(&self, name: &str) -> Option<f64> {
        self.given.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// The model at the given values and guesses for the others; with `priors`, each guess has a wide prior around it.
    pub(super) fn start(&self, grid: &TimeGrid, values: &[f64], priors: bool) -> Result<Start0> {
        self.check_names()?;
        let rows: Vec<f64> =
            (0..grid.len()).filter(|&j| grid.observation(j).is_some()).map(|j| grid.times()[j]).collect();
        let open = self.names().any(|name| self.given(name).is_none());
        let scales = if open { Some(Scales::new(&rows, values, self.given("observation_std"))?) } else { None };
        let value = |name: &str| match (self.given(name), &scales) {
            (Some(value), _) => value,
            (None, Some(scales)) => guess(name, self, scales),
            (None, None) => f64::NAN,
        };
        let all = |names: &[&'static str]| names.iter().map(|name| value(name)).collect::<Vec<f64>>();
        let observation_std = value("observation_std");
        let model = Model::new(
            self.drift.build(&all(self.drift.parameters))?,
            self.with_brownian(self.noise.build(&all(self.noise.parameters))?)?,
            observation_std,
            self.first_state(values, observation_std),
        )?;
        let mut parameters = parameters(&model);
        // A drift of several dimensions has names of its own for what users of one dimension write.
        for (parameter, name) in parameters.iter_mut().zip(self.drift.parameters) {
            parameter.name = (*name).into();
        }
        for parameter in &mut parameters {
            parameter.fixed = self.given(&parameter.name).is_some() || parameter.name == REDUNDANT;
            if let Some(scales) = scales.as_ref().filter(|_| priors && !parameter.fixed) {
                parameter.prior = Some(prior(parameter, scales));
            }
        }
        Ok(Start0 { model, parameters })
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.drift.parameters.iter().chain(self.noise.parameters).copied().chain(["observation_std"])
    }

    fn check_names(&self) -> Result<()> {
        match self.given.iter().find(|(name, _)| name != "brownian" && !self.names().any(|known| known == name)) {
            None => Ok(()),
            Some((name, value)) => Err(Error::Parameter {
                name: name.clone(),
                value: *value,
                expected: "no parameter of this drift or noise has this name",
            }),
        }
    }

    fn with_brownian(&self, noise: Box<dyn Noise>) -> Result<Box<dyn Noise>> {
        match self.given("brownian") {
            None | Some(0.0) => Ok(noise),
            Some(sigma) => Ok(Box::new(PlusBrownian::new(noise, sigma)?)),
        }
    }

    fn first_state(&self, values: &[f64], observation_std: f64) -> Start {
        match (self.x0, self.x0_std) {
            (Some(x0), None) => Start::Fixed(x0),
            (Some(mean), Some(std)) => Start::Gaussian { mean, std },
            (None, std) => Start::Gaussian {
                mean: values.iter().copied().find(|y| !y.is_nan()).unwrap_or(0.0),
                std: std.unwrap_or(10.0 * observation_std),
            },
        }
    }
}

/// A prior around the guess, on the scale on which the parameter is free: a factor e³ = 20 to either side for rates
/// and sizes, all of (0.3, 1.97) for the index, ten spreads of the data for a level. Data of a hundred observations
/// outweigh it a hundredfold where they say anything at all.
fn prior(parameter: &Parameter, scales: &Scales) -> Prior {
    let std = match parameter.transform {
        Transform::Log => 3.0,
        Transform::Logit(_) => 3.0,
        Transform::Identity => match parameter.name.as_str() {
            "slope" => 100.0 / scales.span,
            "offset" => 100.0 * scales.spread.max(scales.median.abs()) / scales.span,
            _ => 10.0 * scales.spread,
        },
    };
    Prior { mean: parameter.transform.forward(parameter.value), std }
}
