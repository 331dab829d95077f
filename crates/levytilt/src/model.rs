//! Put drift, noise, observation noise and start together: x' = flow_Δ(x) + J_Δ, y = x + N(0, observation_std²).

use crate::drift::Drift;
use crate::error::{finite, positive};
use crate::noise::Noise;
use crate::parameter::{Domain, ParameterEntry};
use crate::{Error, Result};

/// The standard deviation of the observation noise.
pub(crate) const OBSERVATION_STD: ParameterEntry = ParameterEntry::new(
    "observation_std",
    "standard deviation of the observation noise",
    "value",
    Domain::POSITIVE,
    0.1,
    |scales, _| scales.observation,
);
/// The state at the first time. It is not learned: left out, it is Gaussian around the first value.
pub(crate) const X0: ParameterEntry =
    ParameterEntry::new("x0", "state at the first time", "value", Domain::REAL, 0.0, |scales, _| scales.median).held();
/// The standard deviation of the state at the first time.
pub(crate) const X0_STD: ParameterEntry = ParameterEntry::new(
    "x0_std",
    "standard deviation of the state at the first time; without it a given x0 is exact",
    "value",
    Domain::POSITIVE,
    1.0,
    |scales, _| 10.0 * scales.observation,
)
.held();

/// What is known of a state at the first time of the grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Start {
    /// The state is known.
    Fixed(f64),
    /// The state is Gaussian.
    Gaussian {
        /// Mean.
        mean: f64,
        /// Standard deviation, greater than zero.
        std: f64,
    },
}

impl Start {
    /// The known state, or the mean.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Fixed(x) => x,
            Self::Gaussian { mean, .. } => mean,
        }
    }
}

/// What one dimension of a model has of its own; dimensions meet in the drift.
#[derive(Debug)]
pub struct Dimension {
    /// Law of the increments.
    pub noise: Box<dyn Noise>,
    /// Standard deviation of the observation error.
    pub observation_std: f64,
    /// State at the first time.
    pub start: Start,
}

/// A model with all its parameters.
#[derive(Debug)]
pub struct Model {
    /// Motion without noise.
    pub drift: Box<dyn Drift>,
    /// The dimensions, as many as the drift has.
    pub dimensions: Vec<Dimension>,
}

impl Model {
    /// A one-dimensional model, checked as in [`Model::multivariate`].
    pub fn new(drift: Box<dyn Drift>, noise: Box<dyn Noise>, observation_std: f64, start: Start) -> Result<Self> {
        Self::multivariate(drift, vec![Dimension { noise, observation_std, start }])
    }

    /// A model, checked: as many dimensions as the drift has, positive observation noise, finite starts.
    pub fn multivariate(drift: Box<dyn Drift>, dimensions: Vec<Dimension>) -> Result<Self> {
        if drift.dim() != dimensions.len() {
            return Err(Error::Shape {
                what: "drift",
                got: format!("{} dimensions", drift.dim()),
                expected: format!("{}, like the noise", dimensions.len()),
            });
        }
        for dimension in &dimensions {
            OBSERVATION_STD.check(dimension.observation_std)?;
            match dimension.start {
                Start::Fixed(x0) => X0.check(x0)?,
                Start::Gaussian { mean, std } => {
                    finite("x0 mean", mean)?;
                    positive("x0 std", std)?
                }
            };
        }
        Ok(Self { drift, dimensions })
    }

    /// The dimension of a one-dimensional model; an error for any other.
    pub fn only_dimension(&self) -> Result<&Dimension> {
        match self.dimensions.as_slice() {
            [only] => Ok(only),
            several => Err(Error::Shape {
                what: "model",
                got: format!("{} dimensions", several.len()),
                expected: "1 dimension".into(),
            }),
        }
    }

    /// Dimension of the state.
    pub fn dim(&self) -> usize {
        self.dimensions.len()
    }
}
