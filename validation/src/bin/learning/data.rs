//! The data sets: dense observations of a process with stable or Gaussian noise, as in the paper's synthetic study.

use levytilt::drift::{DoubleWell, Drift, Ou};
use levytilt::noise::{Gaussian, Noise, Stable};
use levytilt::{Result, Start, StateSpace, simulate};

/// What made the data.
pub struct Truth {
    pub drift: &'static str,
    /// Index of the stable noise; 2 is Gaussian noise of the family `gaussian`.
    pub alpha: f64,
    pub scale: f64,
    pub observation_std: f64,
}

impl Default for Truth {
    fn default() -> Self {
        Self { drift: "ou", alpha: 1.5, scale: 2.0, observation_std: 0.1 }
    }
}

impl Truth {
    /// The model, from x0 = 0.
    pub fn model(&self) -> Result<StateSpace> {
        let drift: Box<dyn Drift> = match self.drift {
            "ou" => Box::new(Ou::new(3.0, 1.0)?),
            _ => Box::new(DoubleWell::new(4.0, 1.0)?),
        };
        let noise: Box<dyn Noise> = match self.alpha < 2.0 {
            true => Box::new(Stable::new(self.alpha, self.scale)?),
            false => Box::new(Gaussian::new(self.scale)?),
        };
        StateSpace::new(drift, noise, self.observation_std, Start::Fixed(0.0))
    }
}

/// Times 0, 0.01, … and an observation at each.
pub fn observations(truth: &Truth, steps: usize, seed: u64) -> Result<(Vec<f64>, Vec<f64>)> {
    let times: Vec<f64> = (0..=steps).map(|j| j as f64 * 0.01).collect();
    let values = simulate(&truth.model()?, &times, seed)?.observations;
    Ok((times, values))
}
