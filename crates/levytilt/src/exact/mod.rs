//! Compute one-dimensional posteriors without approximation, as the yardstick for everything else.
//!
//! The model x' = flow_Δ(x) + J_Δ, y = x + N(0, σ²) is run forward and backward on a uniform grid of states:
//!
//! ```text
//! β_j(x)      = ∫ Σ_k w_k N(x'; flow(x), S_k) ℓ_{j+1}(x') β_{j+1}(x') dx'     what the future says about x_j
//! α_{j+1}(x') = ∫ Σ_k w_k N(x'; flow(x), S_k) ℓ_j(x) α_j(x) dx                what the past says about x_{j+1}
//! p(x_j | y)  ∝ α_j ℓ_j β_j,          p(y) = ∫ α_j ℓ_j β_j dx  at every j
//! ```
//!
//! The integrals are sums over the grid, which converge exponentially for smooth integrands; the flow is met by 12-point
//! interpolation. The only errors are spacing, domain and rounding: the first two are refined until they do not matter,
//! the last is measured. [`kalman`] is the closed form for Gaussian noise and linear drift.

pub(crate) mod backward;
mod choose;
pub(crate) mod convolve;
pub(crate) mod fill;
pub mod filter;
mod flow_table;
pub(crate) mod follow;
mod forward;
pub(crate) mod gather;
pub(crate) mod gradient;
pub mod kalman;
mod kernel;
mod ladder;
mod lagrange;
mod landing;
pub(crate) mod layout;
mod levels;
mod likelihood;
mod marginal;
pub(crate) mod problem;
pub(crate) mod sample;
mod shifted;
pub(crate) mod solve;
#[cfg(test)]
mod tests;
pub(crate) mod thin;
pub(crate) mod transition;
mod windows;

use crate::error::{check, positive};
use crate::series::TimeGrid;
use crate::{Error, Result, Start, StateSpace};
use problem::Problem;
use serde::{Deserialize, Serialize};

/// Settings of the reference; the defaults choose everything by themselves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Distance of the grid's states; by default refined until halving it does not change the log evidence.
    pub spacing: Option<f64>,
    /// Lowest and highest state at times without an observation; by default widened until it does not matter.
    pub domain: Option<(f64, f64)>,
    /// Levels of the quantiles, each in (0, 1).
    pub quantiles: Vec<f64>,
    /// Most cells of the grid at one time; beyond it an error says what needs so many.
    pub max_cells: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { spacing: None, domain: None, quantiles: vec![0.05, 0.25, 0.5, 0.75, 0.95], max_cells: 1 << 21 }
    }
}

/// The exact posterior of each latent state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Smoothed {
    /// ln p(values), every observation with its Gaussian constant.
    pub log_evidence: f64,
    /// Latent times.
    pub times: Vec<f64>,
    /// Posterior mean at each time. After the last observation, where noise without a variance makes tails that no
    /// domain holds, it is the mean of a stretch symmetric about the median.
    pub mean: Vec<f64>,
    /// Posterior standard deviation at each time; infinite after the last observation if the noise has no variance.
    pub sd: Vec<f64>,
    /// Quantiles: `quantiles[l][j]` for level number `l` at time `j`; infinite where a level lies outside the domain.
    pub quantiles: Vec<Vec<f64>>,
    /// Distance of the grid's states.
    pub spacing: f64,
    /// Range of states considered at times without an observation.
    pub domain: (f64, f64),
    /// Most cells used at one time.
    pub cells: usize,
    /// What a reader should know: that the domain was widened, that a standard deviation does not exist.
    pub notes: Vec<String>,
}

/// Exact posterior of `model` on the times of `grid`, given one value per observation row (NaN = missing).
///
/// Cost: linear in the number of steps. A step between two observed times costs the square of some 600 cells, another
/// one an FFT over the domain.
///
/// # Errors
/// Values that do not fit the grid, are infinite, beyond ±1e150 or all missing; options outside their domain; a grid
/// larger than `max_cells`; data to which the model gives essentially zero probability.
pub fn smooth(model: &StateSpace, grid: &TimeGrid, values: &[f64], options: &Options) -> Result<Smoothed> {
    let problem = Problem::new(model, grid, values)?;
    let solve::Solution { run, spacing, domain, cells, notes, .. } = solve::solve(&problem, options, true)?;
    let by_level = |l: usize| run.quantiles.iter().map(|levels| levels[l]).collect();
    Ok(Smoothed {
        log_evidence: run.log_evidence,
        times: grid.times().to_vec(),
        quantiles: (0..options.quantiles.len()).map(by_level).collect(),
        mean: run.mean,
        sd: run.sd,
        spacing,
        domain,
        cells,
        notes,
    })
}

/// ln p(values) alone, cheaper than [`smooth`]; same arguments, value and errors.
pub fn log_evidence(model: &StateSpace, grid: &TimeGrid, values: &[f64], options: &Options) -> Result<f64> {
    let problem = Problem::new(model, grid, values)?;
    Ok(solve::solve(&problem, options, false)?.run.log_evidence)
}

impl Options {
    fn check(&self, problem: &Problem) -> Result<()> {
        if let Some(spacing) = self.spacing {
            positive("spacing", spacing)?;
        }
        for &level in &self.quantiles {
            check("quantile", level, level > 0.0 && level < 1.0, "must lie between 0 and 1")?;
        }
        check("max_cells", self.max_cells as f64, self.max_cells >= 100, "must be at least 100")?;
        let Some((lo, hi)) = self.domain else { return Ok(()) };
        check("domain start", lo, true, "must be a finite number")?;
        check("domain end", hi, hi > lo, "must be a finite number above the start of the domain")?;
        if let Start::Fixed(x0) = problem.dimension.start {
            check("x0", x0, lo < x0 && x0 < hi, "must lie inside the domain")?;
        }
        match problem.observed().find(|(_, y)| !(lo < *y && *y < hi)) {
            None => Ok(()),
            Some((j, y)) => Err(Error::Series {
                place: format!("time {}", problem.grid.times()[j]),
                problem: format!("value {y} lies outside the domain from {lo} to {hi}"),
            }),
        }
    }
}
