//! Describe a model, and fit it: what is given a value is held, all else is learned.

use super::Series;
use crate::drift::DriftPart;
use crate::fit::{Fit, FitOptions, Spec, fit_with};
use crate::noise::NoisePart;
use crate::solve::Method;
use crate::{Context, Result};

/// A model to be fitted: dX = f(X) dt + dL, seen with noise.
///
/// ```
/// use levytilt::{Model, Series, drift::Ou, noise::Stable};
///
/// # let times: Vec<f64> = (0..80).map(|j| 0.1 * f64::from(j)).collect();
/// # let values: Vec<f64> = (0..80).map(|j| (0.7 * f64::from(j)).sin() + if j > 40 { 3.0 } else { 0.0 }).collect();
/// let series = Series::new(&times, &values)?;
/// let fit = Model::new(Ou::learned(), Stable::learned()).hold("observation_std", 0.1).fit(&series)?;
/// println!("alpha = {:.2}", fit.parameter("alpha").unwrap().value);
/// # Ok::<(), levytilt::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Model {
    drift: DriftPart,
    noise: NoisePart,
    held: Vec<(String, f64)>,
    options: FitOptions,
}

impl Model {
    /// A model of this drift and noise: `Ou::learned()` is learned, `Ou::new(3.0, 1.0)?` is held at its values.
    pub fn new(drift: impl Into<DriftPart>, noise: impl Into<NoisePart>) -> Self {
        Self { drift: drift.into(), noise: noise.into(), held: Vec::new(), options: FitOptions::default() }
    }

    /// Hold a parameter at a value, by its name: `alpha`, `observation_std`, `x0`, or `theta[NVDA]` for one variable.
    pub fn hold(mut self, name: &str, value: f64) -> Self {
        self.held.push((name.into(), value));
        self
    }

    /// Number of posterior paths; 500 unless given.
    pub fn paths(mut self, paths: usize) -> Self {
        self.options.paths = paths;
        self
    }

    /// Seed of all random numbers; 1 unless given.
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.seed = seed;
        self
    }

    /// How to find the posterior, instead of the best affordable way.
    pub fn method(mut self, method: Method) -> Self {
        self.options.learn.method = method;
        self
    }

    /// Learn the parameters that are not held, and infer the hidden path.
    ///
    /// # Errors
    /// A parameter that is unknown or outside its domain; a record with too little to learn from; a computation that failed.
    pub fn fit(&self, series: &Series) -> Result<Fit> {
        self.fit_with(series, &Context::silent())
    }

    /// [`Model::fit`] that tells `context` of every step and can be stopped by it.
    ///
    /// ```
    /// use levytilt::{Context, Model, Series, drift::Ou, noise::Stable};
    /// use std::ops::ControlFlow;
    ///
    /// # let times: Vec<f64> = (0..40).map(|j| 0.1 * f64::from(j)).collect();
    /// # let values: Vec<f64> = (0..40).map(|j| (0.7 * f64::from(j)).sin() + if j > 20 { 3.0 } else { 0.0 }).collect();
    /// let context = Context::watched(|step| {
    ///     println!("step {}: {:.2}", step.iteration, step.elbo);
    ///     ControlFlow::Continue(())
    /// });
    /// let fit = Model::new(Ou::learned(), Stable::learned()).fit_with(&Series::new(&times, &values)?, &context)?;
    /// # Ok::<(), levytilt::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Model::fit`].
    pub fn fit_with(&self, series: &Series, context: &Context) -> Result<Fit> {
        let grid = series.grid()?;
        let seen = series.observations();
        let columns: Vec<&[f64]> = (0..seen.dim()).map(|i| seen.column(i)).collect();
        fit_with(&self.spec(series)?, (&grid, &columns), &self.options, context)
    }

    fn spec(&self, series: &Series) -> Result<Spec> {
        let names = series.observations().names();
        let (drift, of_drift) = self.drift.resolve(names)?;
        let (noise, of_noise) = self.noise.resolve()?;
        let spec = Spec { names: names.to_vec(), ..Spec::new(drift, noise) };
        let held = of_drift.iter().chain(of_noise).chain(&self.held);
        Ok(held.fold(spec, |spec, (name, value)| spec.fix(name, *value)))
    }
}
