//! Forecast with this project's own models: a drift and a noise fitted in business time, simulated on from the posterior.

use crate::basis::Basis;
use crate::forecaster::{Forecaster, Paths, Record};
use crate::pace::{Pace, Paced, cumulative};
use levytilt::drift::DriftFamily;
use levytilt::internals::fit::{Fit, FitOptions, Spec, fit, fit_any_noise, rival_families};
use levytilt::internals::forecast::{ForecastOptions, Target, forecast};
use levytilt::internals::series::{ClockOptions, ClockPrior, Memory, TimeGrid};
use levytilt::internals::solve::{LearnOptions, Method};
use levytilt::noise::Family;
use levytilt::{Context, Result, stream};
use rand::Rng;

/// Posterior paths of a fit: their ends hardly differ, and what is learned is a few numbers.
const FIT_PATHS: usize = 100;
/// Error of observation as a share of the mean |move|: prices are seen all but exactly.
const OBSERVATION: f64 = 0.03;

/// A fitted model. Dimensions are turned into uncorrelated components first, each with a noise of its own.
#[derive(Debug, Clone)]
pub struct Tilt {
    /// Name in tables.
    pub name: String,
    /// Kind of drift.
    pub drift: &'static DriftFamily,
    /// Family of the noise; nothing for the one with the best evidence.
    pub noise: Option<&'static Family>,
    /// Parameters held fixed, as in [`Spec::given`].
    pub given: Vec<(String, f64)>,
    /// Time in which the model moves.
    pub pace: Pace,
}

/// Degrees of freedom of the moves of prices. A month cannot tell them: chosen beforehand, as all of this.
const DOF: f64 = 4.0;

impl Tilt {
    /// For prices: no drift, Student noise with 4 degrees of freedom, and business time in which a night starts as 12
    /// hours of trading and recent moves count half, with a half-life of 10 steps.
    ///
    /// These numbers were chosen on ten tickers before July 2024 (docs/validation/forecasting.md).
    pub fn prices() -> Self {
        Self {
            name: "tilt".into(),
            drift: DriftFamily::none(),
            noise: Family::named("student"),
            given: vec![("dof".into(), DOF)],
            pace: Pace::prices(),
        }
    }

    /// Brownian motion in calendar time with the same machinery.
    pub fn gaussian() -> Self {
        let noise = Family::named("gaussian");
        Self { name: "gaussian-sde".into(), noise, given: vec![], pace: Pace::calendar(), ..Self::prices() }
    }

    /// Fit the components, one column each, at cumulative business times.
    fn fit(&self, times: &[f64], columns: &[Vec<f64>], seed: u64) -> Result<Fit> {
        let grid = TimeGrid::new(times, Some(1))?;
        let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let names: Vec<String> = (1..=columns.len()).map(|i| i.to_string()).collect();
        let mut spec = Spec::new(self.drift, self.noise.unwrap_or(rival_families()[0]));
        spec.given.clone_from(&self.given);
        spec.names.clone_from(&names);
        for (name, column) in names.iter().zip(&columns) {
            let mean = column.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum::<f64>() / column.len() as f64;
            spec.given.push((format!("observation_std[{name}]"), OBSERVATION * mean));
        }
        let learn = LearnOptions { method: Method::Sweep, ..LearnOptions::default() };
        let options = FitOptions { paths: FIT_PATHS, seed, learn, quantiles: vec![0.5], ..FitOptions::default() };
        match self.noise {
            Some(_) => fit(&spec, &grid, &columns, &options),
            None => Ok(fit_any_noise(&spec, &rival_families(), &grid, &columns, &options, &Context::silent())?.fit),
        }
    }
}

impl Pace {
    /// The pace of [`Tilt::prices`].
    pub fn prices() -> Self {
        let prior = Some(ClockPrior { closed: 12.0, weight: 100.0 });
        Self {
            clock: Some(ClockOptions { prior, ..ClockOptions::default() }),
            memory: vec![Memory { half_life: 10.0, share: 0.5 }],
            gaps_tell: true,
        }
    }
}

impl Forecaster for Tilt {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn forecast(&self, record: &Record, ahead: &[f64], paths: usize, seed: u64) -> Result<Paths> {
        record.check_ahead(ahead)?;
        let dim = record.dim();
        let paced = self.pace.of(record, ahead)?;
        let columns = even(record, &paced);
        let (basis, components) = components(&columns, &paced.lengths)?;
        let times = cumulative(&paced.lengths);
        let from = times[times.len() - 1];
        let mut seeds = stream(seed, 0);
        let fit = self.fit(&times, &components, seeds.next_u64())?;
        let times: Vec<f64> = cumulative(&paced.ahead)[1..].iter().map(|length| from + length).collect();
        // Steps stay whole: the law was learned for whole steps.
        let longest_step = times[times.len() - 1] - from;
        // The observation noise is a small fixed share of a move, there for the computation only: paths are of the state.
        let options = ForecastOptions { from, longest_step, paths, seed: seeds.next_u64(), target: Target::States };
        let found = forecast(&fit.model, (&fit.end_states(), &fit.weights), &times, &options)?;
        let (last, even_last) = (record.last(), columns.iter().map(|column| column[column.len() - 1]));
        let shifts: Vec<f64> = last.iter().zip(even_last).map(|(last, even)| last - paced.scale * even).collect();
        let back = |x: &[f64]| basis.state(x).into_iter().zip(&shifts).map(|(x, shift)| shift + paced.scale * x);
        let states = found.states.chunks_exact(dim).flat_map(|x| back(x).collect::<Vec<f64>>()).collect();
        Paths::new(states, ahead.len(), dim)
    }
}

/// The record with its moves divided by their scales, beginning with 0.
fn even(record: &Record, paced: &Paced) -> Vec<Vec<f64>> {
    let moves = |i: usize| record.moves(i).iter().zip(&paced.scales).map(|(x, scale)| x / scale).collect::<Vec<f64>>();
    (0..record.dim()).map(|i| cumulative(&moves(i))).collect()
}

/// Directions in which moves over unit time are uncorrelated, and the columns along them.
fn components(columns: &[Vec<f64>], lengths: &[f64]) -> Result<(Basis, Vec<Vec<f64>>)> {
    let unit = |column: &Vec<f64>| {
        column.windows(2).zip(lengths).map(|(pair, length)| (pair[1] - pair[0]) / length.sqrt()).collect()
    };
    let basis = Basis::learn(&columns.iter().map(unit).collect::<Vec<_>>())?;
    let row = |j: usize| basis.components(&columns.iter().map(|column| column[j]).collect::<Vec<_>>());
    let rows: Vec<Vec<f64>> = (0..columns[0].len()).map(row).collect();
    let components = (0..columns.len()).map(|k| rows.iter().map(|row| row[k]).collect()).collect();
    Ok((basis, components))
}
