//! Put drift, noise, observation noise and start together: x' = flow_Δ(x) + J_Δ, y = x + N(0, observation_std²).

use crate::drift::Drift;
use crate::error::{finite, positive};
use crate::noise::Noise;
use crate::{Error, Result};

/// What is known of the state at the first time of the grid.
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

/// A one-dimensional model with all its parameters.
#[derive(Debug)]
pub struct Model {
    /// Motion without noise.
    pub drift: Box<dyn Drift>,
    /// Law of the increments.
    pub noise: Box<dyn Noise>,
    /// Standard deviation of the observation error.
    pub observation_std: f64,
    /// State at the first time.
    pub start: Start,
}

impl Model {
    /// A model, checked: one dimension, positive observation noise, finite start.
    pub fn new(drift: Box<dyn Drift>, noise: Box<dyn Noise>, observation_std: f64, start: Start) -> Result<Self> {
        if drift.dim() != 1 {
            return Err(Error::Shape {
                what: "drift",
                got: format!("{} dimensions", drift.dim()),
                expected: "1 dimension".into(),
            });
        }
        positive("observation_std", observation_std)?;
        match start {
            Start::Fixed(x0) => finite("x0", x0)?,
            Start::Gaussian { mean, std } => {
                finite("x0 mean", mean)?;
                positive("x0 std", std)?
            }
        };
        Ok(Self { drift, noise, observation_std, start })
    }
}
