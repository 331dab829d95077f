//! Learn parameters by Newton steps on the bound, with the information of the sampled paths.

use super::parameters::{Parameter, rebuild};
use super::robust::robust_start;
use super::score::{Score, score};
use super::sweep::{SweepOptions, Swept, sweep};
use crate::series::TimeGrid;
use crate::{Chain, Model, Result};
use nalgebra::{DMatrix, DVector, SymmetricEigen};

/// How to learn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnOptions {
    /// How to sweep between Newton steps.
    pub sweep: SweepOptions,
    /// Most Newton steps.
    pub iterations: usize,
    /// Stop when the next step would move the parameters by less than this many standard errors.
    pub tolerance: f64,
}

impl Default for LearnOptions {
    fn default() -> Self {
        Self { sweep: SweepOptions::default(), iterations: 30, tolerance: 0.03 }
    }
}

/// A model learned.
#[derive(Debug)]
pub struct Learned {
    /// The model with the parameters found.
    pub model: Model,
    /// All parameters with their values.
    pub parameters: Vec<Parameter>,
    /// Standard errors, NaN for fixed parameters; from the observed information, prior included.
    pub std_errors: Vec<f64>,
    /// Share of each free parameter's information that comes from the data rather than from its prior.
    pub data_shares: Vec<f64>,
    /// Sweeps at the end.
    pub swept: Swept,
    /// Newton steps taken.
    pub iterations: usize,
    /// What a careful reader should know.
    pub warnings: Vec<String>,
}

/// A state of the search: a model with its sweeps and the objective, bound plus log prior.
struct Place {
    model: Model,
    values: Vec<f64>,
    swept: Swept,
    objective: f64,
}

/// Learn the free parameters of a model; `parameters` (see [`super::parameters`]) says which are fixed and which have
/// priors, and its values are the start.
pub fn learn(
    model: Model,
    parameters: &[Parameter],
    grid: &TimeGrid,
    columns: &[&[f64]],
    options: &LearnOptions,
) -> Result<Learned> {
    let values: Vec<f64> = parameters.iter().map(|p| p.value).collect();
    let model = rebuild(&model, &values)?;
    let mut place = Place::new(model, values, parameters, grid, columns, None, options)?;
    let mut iterations = 0;
    let mut warnings = Vec::new();
    let mut system = System::new(&place, parameters, grid, columns)?;
    while !system.free.is_empty() && iterations < options.iterations {
        if system.length() < system.floor(options) {
            break;
        }
        let Some(next) = advance(&place, &system, parameters, grid, columns, options)? else {
            warnings.push(format!(
                "no step improved the bound after {iterations} iterations; the parameters are as good as {} paths can tell",
                options.sweep.paths
            ));
            break;
        };
        place = next;
        iterations += 1;
        system = System::new(&place, parameters, grid, columns)?;
    }
    if iterations == options.iterations && !system.free.is_empty() && system.length() >= system.floor(options) {
        warnings.push(format!(
            "stopped after {iterations} iterations with {:.2} standard errors to go; allow more iterations",
            system.length()
        ));
    }
    let (std_errors, data_shares) = system.errors(parameters);
    let parameters: Vec<Parameter> =
        parameters.iter().zip(&place.values).map(|(p, &value)| Parameter { value, ..p.clone() }).collect();
    warnings.extend(place.swept.warnings.iter().cloned());
    Ok(Learned { model: place.model, parameters, std_errors, data_shares, swept: place.swept, iterations, warnings })
}

impl Place {
    fn new(
        model: Model,
        values: Vec<f64>,
        parameters: &[Parameter],
        grid: &TimeGrid,
        columns: &[&[f64]],
        before: Option<&Swept>,
        options: &LearnOptions,
    ) -> Result<Self> {
        let chain = Chain::new(&model, grid, columns)?;
        let swept = match before {
            // Close to the last place its potentials are close too.
            Some(swept) => sweep(&chain, swept.potentials.clone(), &SweepOptions { sweeps: 2, ..options.sweep })?,
            None => sweep(&chain, robust_start(&chain)?, &options.sweep)?,
        };
        let objective = swept.summary.elbo + log_prior(parameters, &values);
        drop(chain);
        Ok(Self { model, values, swept, objective })
    }
}

/// Sum of the log priors, without constants.
fn log_prior(parameters: &[Parameter], values: &[f64]) -> f64 {
    parameters
        .iter()
        .zip(values)
        .filter_map(|(p, &v)| p.prior.map(|prior| -0.5 * ((p.transform.forward(v) - prior.mean) / prior.std).powi(2)))
        .sum()
}

/// Halvings of a Newton step before it is given up.
const HALVINGS: usize = 4;

/// The first of the Newton step and its halves that does not lower the objective beyond its noise.
fn advance(
    place: &Place,
    system: &System,
    parameters: &[Parameter],
    grid: &TimeGrid,
    columns: &[&[f64]],
    options: &LearnOptions,
) -> Result<Option<Place>> {
    let mut share = 1.0;
    for _ in 0..=HALVINGS {
        let mut values = place.values.clone();
        for (&i, step) in system.free.iter().zip(system.step.iter()) {
            let transform = parameters[i].transform;
            values[i] = transform.backward(transform.forward(values[i]) + share * step);
        }
        if let Ok(model) = rebuild(&place.model, &values) {
            let next = Place::new(model, values, parameters, grid, columns, Some(&place.swept), options)?;
            let noise = next.swept.summary.elbo_std_error.max(place.swept.summary.elbo_std_error);
            if next.objective > place.objective - noise {
                return Ok(Some(next));
            }
        }
        share *= 0.5;
    }
    Ok(None)
}

/// Slope, information and Newton step on the free scale.
struct System {
    free: Vec<usize>,
    information: DMatrix<f64>,
    prior: DVector<f64>,
    step: DVector<f64>,
    slope: DVector<f64>,
    values: Vec<f64>,
    /// What the sampling of paths alone adds to the length of the way to go, in standard errors.
    noise: f64,
}

/// Smallest share of the complete information that a direction is trusted to keep: bounds how far a step may go.
const LEAST_SHARE: f64 = 0.02;
/// Longest step per parameter on the free scale: a factor of about e.
const LONGEST: f64 = 1.0;

impl System {
    fn new(place: &Place, parameters: &[Parameter], grid: &TimeGrid, columns: &[&[f64]]) -> Result<Self> {
        let free: Vec<usize> = (0..parameters.len()).filter(|&i| !parameters[i].fixed).collect();
        let n = free.len();
        let chain = Chain::new(&place.model, grid, columns)?;
        let count = place.swept.paths.len();
        let Score { slope, complete, missing } = score(&chain, &place.swept.paths, &vec![1.0 / count as f64; count]);
        let scale: Vec<f64> = free.iter().map(|&i| parameters[i].transform.slope(place.values[i])).collect();
        let on_free = |m: &DMatrix<f64>| DMatrix::from_fn(n, n, |i, j| m[(free[i], free[j])] * scale[i] * scale[j]);
        let mut prior = DVector::zeros(n);
        let mut slope = DVector::from_fn(n, |i, _| slope[free[i]] * scale[i]);
        for (k, &i) in free.iter().enumerate() {
            if let Some(p) = parameters[i].prior {
                prior[k] = p.std.powi(-2);
                slope[k] -= (parameters[i].transform.forward(place.values[i]) - p.mean) * prior[k];
            }
        }
        let missing = on_free(&missing);
        let information = observed(&on_free(&complete), &missing) + DMatrix::from_diagonal(&prior);
        // The slope is a mean over paths with covariance missing/count.
        let inverse = information.clone().cholesky().map(|c| c.inverse());
        let noise = inverse.map_or(0.0, |inverse| ((inverse * missing).trace() / count as f64).sqrt());
        let mut step = information.clone().cholesky().map_or_else(|| slope.clone() * 0.0, |c| c.solve(&slope));
        let longest = step.amax();
        if longest > LONGEST {
            step *= LONGEST / longest;
        }
        Ok(Self { free, information, prior, step, slope, values: place.values.clone(), noise })
    }

    /// Length below which the search stops: the tolerance, or what the noise of the paths hides.
    fn floor(&self, options: &LearnOptions) -> f64 {
        options.tolerance.max(1.5 * self.noise)
    }

    /// √(slopeᵀ information⁻¹ slope): the way to go in standard errors.
    fn length(&self) -> f64 {
        self.information.clone().cholesky().map_or(f64::INFINITY, |c| c.solve(&self.slope).dot(&self.slope).sqrt())
    }

    /// Standard errors of all parameters (delta method) and the data's share in each free parameter's information.
    fn errors(&self, parameters: &[Parameter]) -> (Vec<f64>, Vec<f64>) {
        let mut errors = vec![f64::NAN; parameters.len()];
        let mut shares = vec![f64::NAN; parameters.len()];
        if let Some(covariance) = self.information.clone().cholesky().map(|c| c.inverse()) {
            for (k, &i) in self.free.iter().enumerate() {
                errors[i] = covariance[(k, k)].sqrt() * parameters[i].transform.slope(self.values[i]);
                shares[i] = 1.0 - self.prior[k] * covariance[(k, k)];
            }
        }
        (errors, shares)
    }
}

/// complete − missing, with every direction left at least [`LEAST_SHARE`] of its complete information.
fn observed(complete: &DMatrix<f64>, missing: &DMatrix<f64>) -> DMatrix<f64> {
    let n = complete.nrows();
    // A whisper of a ridge keeps a parameter that nothing pushes (a slope of zero everywhere) solvable.
    let ridge = DMatrix::from_diagonal(&DVector::from_fn(n, |i, _| 1e-10 * complete[(i, i)] + 1e-12));
    let Some(factor) = (complete + ridge).cholesky() else {
        return complete.clone();
    };
    let l = factor.l();
    let Some(inverse) = l.clone().try_inverse() else {
        return complete.clone();
    };
    let eigen = SymmetricEigen::new(&inverse * missing * inverse.transpose());
    let kept = eigen.eigenvalues.map(|lost| (1.0 - lost).max(LEAST_SHARE));
    let half = l * eigen.eigenvectors;
    &half * DMatrix::from_diagonal(&kept) * half.transpose()
}
