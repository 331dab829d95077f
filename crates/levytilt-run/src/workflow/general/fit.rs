//! Fit a written-out model to a table, and keep what a forecast needs of it.

use anyhow::Result;
use levytilt::Context;
use levytilt::internals::general::{GeneralFit, GeneralOptions, Particles, fit_general_with};
use levytilt::internals::series::{Observations, TimeGrid};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Instant;

use super::settings::GeneralSettings;
use super::summary::Summary;
use crate::directory::state::History;
use crate::directory::trading_record::TradingRecord;
use crate::failure::bad;
use crate::settings::{KeepPaths, Settings, SolveSettings};
use crate::table::Table;
use crate::table::time::Calendar;
use crate::workflow::exact::locate;

/// What a forecast needs of a fit: the content of state.json.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GeneralState {
    /// Names of the observed columns.
    pub columns: Vec<String>,
    /// Last latent time.
    pub time: f64,
    /// Typical latent step.
    pub step: f64,
    /// First and last timestamp; nothing if times are numbers.
    pub stamps: Vec<String>,
    /// Posterior states at the last time, state fastest.
    pub ends: Vec<f64>,
    /// Seed of the fit.
    pub seed: u64,
    /// Values of the inputs at the last time, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, f64>,
    /// Whether a parameter was learned.
    pub learned: bool,
    /// The end of the record.
    pub history: History,
    /// Trading time, if the model moves in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trading: Option<TradingRecord>,
    /// The law of the state after rows that were taken in since the fit; nothing if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub particles: Option<Particles>,
}

/// A fit of a written-out model, and what it was asked for.
#[derive(Debug)]
pub struct Outcome {
    /// What was found.
    pub fit: GeneralFit,
    /// The content of summary.json.
    pub summary: Summary,
    /// The effective settings.
    pub settings: GeneralSettings,
    /// The same with every parameter held at its estimate.
    pub model: GeneralSettings,
    /// What a forecast needs.
    pub state: GeneralState,
}

/// Fit `settings` to `table`; `context` is told how it goes, and may ask for an end.
///
/// # Errors
/// A model or table that cannot be used.
pub fn complete(mut settings: GeneralSettings, table: &Table, context: &Context) -> Result<Outcome> {
    settings.solve.threads = None;
    let paths = settings.solve.paths.unwrap_or(GeneralOptions::default().paths);
    let seed = settings.solve.seed.unwrap_or(1);
    (settings.solve.paths, settings.solve.seed) = (Some(paths), Some(seed));
    let options = GeneralOptions { paths, seed, ..GeneralOptions::default() };
    let started = Instant::now();
    let mut trading = settings.trading(table)?;
    let mut fit = match &trading {
        Some(trading) => fit_columns(&settings, &trading.table(table), &options, context)?,
        None => fit_columns(&settings, table, &options, context)?,
    };
    if let Some(trading) = &mut trading {
        trading.latent_back(&mut fit.times, &table.times);
    }
    let summary = Summary::new(&fit, &table.calendar, seed, started.elapsed().as_secs_f64());
    let model = settings.filled(&fit.parameters, &table.names);
    let state = GeneralState { trading: trading.map(|trading| trading.record), ..state(&fit, table, &settings) };
    Ok(Outcome { fit, summary, settings, model, state })
}

/// Fit the columns of `table` in calendar time.
///
/// # Errors
/// A model that moves in trading time; a model or table that cannot be used.
pub fn analyse(
    model: &GeneralSettings,
    table: &Table,
    options: &GeneralOptions,
    context: &Context,
) -> Result<GeneralFit> {
    match model.trading(table)? {
        None => fit_columns(model, table, options, context),
        Some(_) => {
            Err(bad("[model] clock and volatility: with [states] they are for fit and backtest; leave them out"))
        }
    }
}

fn fit_columns(
    model: &GeneralSettings,
    table: &Table,
    options: &GeneralOptions,
    context: &Context,
) -> Result<GeneralFit> {
    model.refuse_columns(table)?;
    let spec = model.spec(&table.names)?;
    let compute = || {
        let series = Observations::new(table.times.clone(), table.columns.clone(), table.names.clone())?;
        let grid = TimeGrid::new(series.times(), model.grid.steps)?;
        let columns: Vec<&[f64]> = (0..series.dim()).map(|i| series.column(i)).collect();
        fit_general_with(&spec, (&grid, &columns), options, context)
    };
    compute().map_err(|error| locate(error, table))
}

/// Flags that say what the model is belong to models that are not written out.
pub fn refuse(flags: &Settings) -> Result<()> {
    let given = [
        (flags.model != Default::default(), "a flag of the noise, the observations or the start"),
        (flags.drift != Default::default(), "a flag of the drift"),
        (!flags.data.chosen().is_empty(), "--column or --columns"),
    ];
    match given.iter().chain(&unsupported(&flags.solve)).find(|(given, _)| *given) {
        Some((_, what)) => Err(bad(format!(
            "{what} cannot be combined with a settings file that has [states]: write it there, or use --set \"NAME=VALUE\" to fix \
             a parameter"
        ))),
        None => Ok(()),
    }
}

/// What the solver of models with directions does not know, and whether it was asked for.
pub fn unsupported(solve: &SolveSettings) -> [(bool, &'static str); 6] {
    let neural = solve.init.is_some() || solve.iterations.is_some() || solve.components.is_some();
    [
        (solve.method.is_some(), "--method"),
        (solve.bayes.is_some() || solve.draws.is_some(), "--bayes or --draws, which are for models without [states],"),
        (neural, "a flag of method neural"),
        (solve.alongside.is_some(), "--alongside"),
        (solve.jump_above.is_some(), "--jump-above"),
        (matches!(solve.keep_paths, Some(KeepPaths::Count(_))), "--keep-paths other than all"),
    ]
}

/// What a forecast needs of `fit`.
fn state(fit: &GeneralFit, table: &Table, settings: &GeneralSettings) -> GeneralState {
    let mut lengths: Vec<f64> = fit.times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    lengths.sort_by(f64::total_cmp);
    let (dim, last) = (fit.model.dim(), fit.times.len() - 1);
    let ends = [table.times[0], table.times[table.times.len() - 1]];
    GeneralState {
        columns: table.names.clone(),
        time: ends[1],
        step: lengths[lengths.len() / 2],
        stamps: match table.calendar {
            Calendar::Numbers => Vec::new(),
            Calendar::Days(_) => ends.iter().map(|&time| table.calendar.write(time)).collect(),
        },
        ends: fit.smoothed.paths.iter().flat_map(|path| path.states[last * dim..].to_vec()).collect(),
        seed: settings.solve.seed.unwrap_or(1),
        inputs: settings.known_inputs.iter().flat_map(|known| known.last()).map(|(n, v)| (n.into(), v)).collect(),
        learned: fit.parameters.iter().any(|p| !p.fixed),
        history: History::new(table),
        trading: None,
        particles: None,
    }
}
