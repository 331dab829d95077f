//! Fit: infer the parameters and the hidden path of the observed columns.

pub mod bayes;
mod networks;
pub mod outliers;
mod record;
mod resolve;
pub mod summary;

use anyhow::Result;
use levytilt::Context;
use levytilt::internals::fit::{AnyNoise, Fit, FitOptions, Spec, fit_any_noise_by, rival_families, use_draws};
use levytilt::internals::series::Observations;
use levytilt::internals::solve::{LearnOptions, LearnedBefore, ParameterPosterior};
use levytilt_paper::NeuralFit;
use levytilt_paper::training::Trained;
use std::time::Instant;

use crate::directory::state::State;
use crate::one_or_many::OneOrMany;
use crate::settings::build_model::{latent_times, open_model};
use crate::settings::{Method, NoiseName, Settings, SolveSettings, usual_paths};
use crate::settings::{inputs, season};
use crate::table::Table;
use crate::workflow::exact::locate;
use crate::workflow::filtering::{Filtered, filter_at};
use crate::workflow::fit::bayes::{draw, refuse_early};
use crate::workflow::fit::networks::Networks;
use crate::workflow::fit::record::{filled, state, typical_error};
use crate::workflow::fit::resolve::refuse_panel;
use crate::workflow::fit::summary::Summary;
use crate::workflow::trading::Trading;
use crate::workflow::watch::{Segment, noted};

pub(crate) use resolve::resolve_defaults;

/// What `fit` found, and for which settings.
pub struct Outcome {
    /// The figures.
    pub summary: Summary,
    /// The fit.
    pub fit: Fit,
    /// Weighted draws of the parameters, if they were asked for.
    pub drawn: Option<ParameterPosterior>,
    /// The potential's networks, if the method trains any.
    pub trained: Option<Trained>,
    /// The settings in effect.
    pub settings: Settings,
    /// The settings with every estimate and the start filled in.
    pub model: Settings,
    /// What a forecast needs.
    pub state: State,
    /// What the filters of the columns saw; nothing where the columns act on each other, or a filter failed.
    pub filtered: Option<Filtered>,
    /// The steps of learning.
    pub trace: Vec<Segment>,
    /// The trading time of every row, if the model moves in it.
    pub trading: Option<Trading>,
}

impl Outcome {
    /// The known error to which the observation_std of the model belongs; 1 where no errors are known.
    pub fn typical_error(&self) -> f64 {
        typical_error(&self.fit)
    }

    /// The times of the rows of `table` as the model sees them.
    pub fn model_times<'a>(&'a self, table: &'a Table) -> &'a [f64] {
        self.trading.as_ref().map_or(&table.times, |trading| &trading.times)
    }
}

/// Fit the columns of `table`; `context` is told how it goes, and may ask for an end.
pub fn analyse(settings: Settings, table: &Table, context: &Context) -> Result<Outcome> {
    analyse_learned(settings, table, None, context)
}

/// [`analyse`] with the parameters that were learned of this series together with those of others.
pub fn analyse_learned(
    mut settings: Settings,
    table: &Table,
    learned: Option<LearnedBefore>,
    context: &Context,
) -> Result<Outcome> {
    refuse_panel(&settings)?;
    resolve_defaults(&mut settings)?;
    season::resolve(&mut settings.drift, &table.calendar)?;
    refuse_early(&settings)?;
    settings.refuse_columns(table)?;
    let mut spec = open_model(&settings, &table.names, "fit")?;
    spec.known_errors.extend(table.errors.iter().map(|errors| errors.as_slice().into()));
    let networks = Networks::of(&settings)?;
    let started = Instant::now();
    let mut trading = Trading::of(&settings, table)?;
    if trading.is_some() {
        inputs::refuse(&settings.inputs, "trading time", "leave --clock and --volatility out, or --inputs")?;
    }
    let times = trading.as_ref().map_or(&table.times, |trading| &trading.times);
    let states = latent_times(&settings, times)?.times().len() * table.columns.len();
    settings.solve.paths.get_or_insert(usual_paths(states));
    let options = options(&settings.solve, learned);
    let compute = |context: &Context| {
        let series = Observations::new(times.clone(), table.columns.clone(), table.names.clone())?;
        let grid = latent_times(&settings, series.times())?;
        let columns: Vec<&[f64]> = (0..series.dim()).map(|i| series.column(i)).collect();
        let found = fit_noise(settings.noise(), &spec, &options, context, |spec, context| {
            networks.fit(spec, (&grid, &columns), &options, context)
        })?;
        let chosen = Spec { noise: found.family, ..spec.clone() };
        let drawn = draw(&settings.solve, &found.fit.fit, &chosen, (&grid, &columns))?;
        Ok((found, drawn))
    };
    let (result, trace) = noted(context, compute);
    let (mut found, drawn) = result.map_err(|error| locate(error, table))?;
    if let Some(drawn) = &drawn {
        use_draws(&mut found.fit.fit.parameters, drawn);
    }
    if let Some(trading) = &mut trading {
        trading.back(&mut found.fit.fit, &table.times);
    }
    let mut summary = Summary::new((&found, drawn.as_ref()), &settings, table, &options, started.elapsed());
    let NeuralFit { fit, trained } = found.fit;
    let model = filled(&summary, &fit, &settings)?;
    let filtered = filtered(&model, &fit, (table, trading.as_ref()), &mut summary);
    let mut state = state((&fit, drawn.as_ref()), &settings, table);
    state.filter = filtered.as_ref().map(|found| found.record.clone());
    state.trading = trading.as_ref().map(|trading| trading.record.clone());
    Ok(Outcome { summary, fit, drawn, trained, settings, model, state, filtered, trace, trading })
}

/// What the library is asked to do.
fn options(solve: &SolveSettings, learned: Option<LearnedBefore>) -> FitOptions {
    let usual = FitOptions::default();
    FitOptions {
        paths: solve.paths.unwrap_or(usual.paths),
        seed: solve.seed.unwrap_or(usual.seed),
        learn: LearnOptions { method: solve.method.unwrap_or_default(), ..usual.learn },
        jump_above: solve.jump_above,
        learned,
        ..usual
    }
}

/// Fit the family of noise that is named, or every rival of `auto`.
fn fit_noise<F>(
    noise: NoiseName,
    spec: &Spec,
    options: &FitOptions,
    context: &Context,
    one: F,
) -> levytilt::Result<AnyNoise<NeuralFit>>
where
    F: Fn(&Spec, &Context) -> levytilt::Result<NeuralFit>,
{
    match noise {
        // Skewed families are learned on the exact evidence only.
        NoiseName::AUTO => {
            let exact = matches!(options.learn.method, Method::Auto | Method::Grid);
            let rivals: Vec<_> = rival_families().into_iter().filter(|f| exact || !f.is_skewed()).collect();
            fit_any_noise_by(spec, &rivals, context, one)
        }
        _ => Ok(AnyNoise { fit: one(spec, context)?, family: spec.noise, candidates: Vec::new() }),
    }
}

/// Filter the record with the model found, and add what the residuals say to `summary`.
fn filtered(
    model: &Settings,
    fit: &Fit,
    (table, trading): (&Table, Option<&Trading>),
    summary: &mut Summary,
) -> Option<Filtered> {
    let network = fit.network.as_ref().map(|network| network.drift.clone());
    if table.names.len() > 1 && (network.is_some() || model.drift().family().is_none_or(|drift| drift.coupled)) {
        return None;
    }
    match filter_at(model, network, (table, typical_error(fit)), trading.map_or(&table.times, |trading| &trading.times))
    {
        Ok(found) => {
            summary.warnings.extend(found.warnings(&table.names));
            summary.residuals = Some(OneOrMany::new(found.residuals.clone()));
            Some(found)
        }
        Err(error) => {
            summary
                .warnings
                .push(format!("no one-step residuals and no `update`, because the filter failed: {error:#}"));
            None
        }
    }
}
