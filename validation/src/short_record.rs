//! Simulate the records on which intervals are judged: OU with stable noise as in the paper's synthetic study.

use anyhow::{Result, anyhow};
use levytilt::drift::DriftFamily;
use levytilt::internals::fit::Spec;
use levytilt::internals::series::TimeGrid;
use levytilt::noise::Family;
use levytilt::{Start, StateSpace, simulate};

/// The parameters, in the order of a fit.
pub const NAMES: [&str; 5] = ["theta", "mu", "alpha", "scale", "observation_std"];
/// Tail indices, in turns.
pub const ALPHAS: [f64; 3] = [1.2, 1.5, 1.8];

/// A record with its true parameters.
pub struct Record {
    /// In the order of [`NAMES`].
    pub truth: [f64; 5],
    pub grid: TimeGrid,
    pub values: Vec<f64>,
}

impl Record {
    /// Record `number` of `rows` steps of 0.01, each observed with standard deviation 0.1; noise of scale 2, θ = 3, μ = 1.
    pub fn new(number: usize, rows: usize) -> Result<Self> {
        let truth = [3.0, 1.0, ALPHAS[number % ALPHAS.len()], 2.0, 0.1];
        let (drift, noise) = families()?;
        let start = Start::Fixed(0.0);
        let model = StateSpace::new(drift.build(&truth[..2])?, noise.build(&truth[2..4])?, truth[4], start)?;
        let times: Vec<f64> = (0..=rows).map(|j| 0.01 * j as f64).collect();
        let values = simulate(&model, &times, 5000 + number as u64)?.observations;
        Ok(Self { truth, grid: TimeGrid::new(&times, None)?, values })
    }
}

/// What is fitted to them.
pub fn spec() -> Result<Spec> {
    let (drift, noise) = families()?;
    Ok(Spec::new(drift, noise))
}

fn families() -> Result<(&'static DriftFamily, &'static Family)> {
    let drift = DriftFamily::named("ou").ok_or_else(|| anyhow!("no ou"))?;
    Ok((drift, Family::named("stable").ok_or_else(|| anyhow!("no stable"))?))
}
