//! Fit: infer the parameters and the hidden path of the observed columns.

pub mod bayes;
pub mod outliers;
pub mod summary;

use anyhow::Result;
use levytilt::internals::fit::{
    AnyNoise, Candidate, Fit, FitOptions, Spec, fit_any_noise_by, fit_with, rival_families, use_draws,
};
use levytilt::internals::registry::{OBSERVATION_STD, X0, X0_STD};
use levytilt::internals::series::Observations;
use levytilt::internals::solve::{LearnOptions, LearnedBefore, ParameterPosterior};
use levytilt::{Context, Start};
use levytilt_paper::potential::{FrameKind, NeuralPotentialSpec};
use levytilt_paper::published::{PaperOptions, fit_paper_grid};
use levytilt_paper::training::{TrainOptions, Trained};
use levytilt_paper::{NeuralFit, NeuralOptions, fit_neural};
use std::collections::BTreeMap;
use std::time::Instant;

use crate::directory::networks;
use crate::directory::state::{History, KnownErrors, LearnedParameters, NETWORK, State};
use crate::directory::tensors::Tensors;
use crate::failure::bad;
use crate::one_or_many::OneOrMany;
use crate::settings::build_model::{latent_times, open_model};
use crate::settings::{DriftName, Init, Method, NoiseName, PaperSettings, Settings, SolveSettings, kept, usual_paths};
use crate::settings::{inputs, season};
use crate::table::Table;
use crate::table::time::Calendar;
use crate::workflow::exact::locate;
use crate::workflow::filtering::{Filtered, filter_at};
use crate::workflow::fit::bayes::{PosteriorSummary, draw, refuse_early};
use crate::workflow::fit::summary::{NetworkRow, Summary, brownian_rows, parameters, rows};
use crate::workflow::trading::Trading;
use crate::workflow::watch::{Segment, noted};

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
    refuse_early(&settings, &table.names)?;
    settings.refuse_columns(table)?;
    let mut spec = open_model(&settings, &table.names, "fit")?;
    spec.known_errors.extend(table.errors.iter().map(|errors| errors.as_slice().into()));
    let solve = &settings.solve;
    let neural = match solve.method {
        Some(Method::Neural) => Some(neural_options(solve)?),
        _ => None,
    };
    let paper: Option<(PaperOptions, NeuralPotentialSpec)> = match solve.method {
        Some(Method::Paper) => Some((settings.paper.options(solve.iterations)?, settings.paper.sizes()?)),
        _ => None,
    };
    let started = Instant::now();
    let mut trading = Trading::of(&settings, table)?;
    if trading.is_some() {
        inputs::refuse(&settings.inputs, "trading time", "leave --clock and --volatility out, or --inputs")?;
    }
    let times = trading.as_ref().map_or(&table.times, |trading| &trading.times);
    let states = latent_times(&settings, times)?.times().len() * table.columns.len();
    let paths = *settings.solve.paths.get_or_insert(usual_paths(states));
    let solve = &settings.solve;
    let options = FitOptions {
        paths,
        seed: solve.seed.unwrap_or(1),
        learn: LearnOptions { method: solve.method.unwrap_or_default(), ..LearnOptions::default() },
        jump_above: solve.jump_above,
        learned,
        // With draws of their own, intervals are taken from those.
        ..FitOptions::default()
    };
    let compute = |context: &Context| {
        let series = Observations::new(times.clone(), table.columns.clone(), table.names.clone())?;
        let grid = latent_times(&settings, series.times())?;
        let columns: Vec<&[f64]> = (0..series.dim()).map(|i| series.column(i)).collect();
        let one = |spec: &Spec, context: &Context| match (&neural, &paper) {
            (Some(neural), _) => fit_neural(spec, (&grid, &columns), &options, neural, context),
            (_, Some((paper, sizes))) => {
                let alphas = settings.paper.alpha_grid.as_deref().unwrap_or_default();
                fit_paper_grid(spec, (&grid, &columns), &options, sizes, paper, alphas, context)
            }
            (None, None) => Ok(NeuralFit { fit: fit_with(spec, (&grid, &columns), &options, context)?, trained: None }),
        };
        let found = match settings.noise() {
            // Skewed families are learned on the exact evidence only.
            NoiseName::AUTO => {
                let exact = matches!(options.learn.method, Method::Auto | Method::Grid);
                let rivals: Vec<_> = rival_families().into_iter().filter(|f| exact || !f.is_skewed()).collect();
                fit_any_noise_by(&spec, &rivals, context, one)?
            }
            _ => AnyNoise { fit: one(&spec, context)?, family: spec.noise, candidates: Vec::new() },
        };
        let chosen = Spec { noise: found.family, ..spec.clone() };
        let drawn = draw(&settings.solve, &found.fit.fit, &chosen, (&grid, &columns))?;
        Ok((found, drawn))
    };
    let (result, trace) = noted(context, compute);
    let (AnyNoise { fit: NeuralFit { mut fit, trained }, family, candidates }, drawn) =
        result.map_err(|error| locate(error, table))?;
    if let Some(drawn) = &drawn {
        use_draws(&mut fit.parameters, drawn);
    }
    if let Some(trading) = &mut trading {
        trading.back(&mut fit, &table.times);
    }
    let (x0_mean, x0_std) = starts(&fit);
    let mut summary = Summary {
        elbo: fit.summary.elbo,
        elbo_std_error: fit.summary.elbo_std_error,
        log_evidence: fit.evidence.log_evidence,
        log_evidence_std_error: fit.evidence.std_error,
        effective_sample_size: fit.summary.effective_sample_size,
        k_hat: Some(fit.summary.k_hat).filter(|k| k.is_finite()),
        paths: options.paths,
        paths_written: kept(settings.solve.keep_paths, options.paths, fit.times.len() * fit.paths.dim()),
        steps: fit.times.len() - 1,
        observations: fit.observations,
        jumps: fit.jumps.iter().flatten().filter(|jump| jump.probability >= 0.5).count(),
        dimension: OneOrMany::new(table.names.clone()),
        drift: settings.drift(),
        noise: family.name,
        size: settings.model.size.as_ref().map(|size| size.as_str().to_string()),
        noise_candidates: rows(&candidates),
        method: OneOrMany::new(fit.choices.iter().map(|choice| choice.method.name()).collect()),
        method_reason: OneOrMany::new(fit.choices.iter().map(|choice| choice.why.clone()).collect()),
        posterior: fit.posterior.name(),
        network: fit.network.as_ref().map(NetworkRow::new),
        parameters: parameters(&fit.parameters),
        brownian_evidence: brownian_rows(&fit),
        parameter_posterior: drawn.as_ref().map(PosteriorSummary::new),
        x0_mean: OneOrMany::new(x0_mean),
        x0_std: OneOrMany::new(x0_std),
        residuals: None,
        time_unit: table.calendar.unit(),
        iterations: fit.iterations,
        seconds: started.elapsed().as_secs_f64(),
        seed: options.seed,
        version: env!("CARGO_PKG_VERSION"),
        warnings: [&fit.warnings[..], &bayes::warnings(drawn.as_ref()), &unchosen(family.name, &candidates)]
            .concat()
            .into_iter()
            .chain(table.calendar.warning())
            .chain(table.notes.iter().cloned())
            .collect(),
        estimates: fit.parameters.clone(),
    };
    let model = filled(&summary, &fit, &settings)?;
    let filtered = filtered(&model, &fit, (table, trading.as_ref()), &mut summary);
    let known = settings.known_inputs.iter();
    let history = History::new(table);
    let state = State {
        history: Some(match &settings.known_inputs {
            Some(known) => history.with_inputs(table, known),
            None => history,
        }),
        known_errors: settings
            .data
            .error_column
            .clone()
            .filter(|_| table.errors.is_some())
            .map(|column| KnownErrors { column, typical: typical_error(&fit) }),
        filter: filtered.as_ref().map(|found| found.record.clone()),
        trading: trading.as_ref().map(|trading| trading.record.clone()),
        inputs: known.flat_map(|known| known.last()).map(|(name, value)| (name.to_string(), value)).collect(),
        ..state((&fit, drawn.as_ref()), table, options.seed)
    };
    Ok(Outcome { summary, fit, drawn, trained, settings, model, state, filtered, trace, trading })
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

/// What to say if no family of noise was finished before an end was asked for.
fn unchosen(name: &str, candidates: &[Candidate]) -> Vec<String> {
    let say = || format!("stopped before any family of noise was finished: {name} was not chosen by evidence");
    let none = !candidates.is_empty() && candidates.iter().all(|candidate| candidate.outcome.is_err());
    none.then(say).into_iter().collect()
}

/// What method neural is asked to do.
fn neural_options(solve: &SolveSettings) -> Result<NeuralOptions> {
    Ok(NeuralOptions {
        sizes: sizes(solve),
        train: train_options(solve),
        networks: networks_of(solve)?,
        alongside: solve.alongside.unwrap_or(false),
    })
}

/// Sizes of the networks of method neural.
fn sizes(solve: &SolveSettings) -> NeuralPotentialSpec {
    let usual = NeuralPotentialSpec::default();
    NeuralPotentialSpec { components: solve.components.unwrap_or(usual.components), ..usual }
}

/// How to train the networks of method neural.
fn train_options(solve: &SolveSettings) -> TrainOptions {
    let usual = TrainOptions::default();
    let frame = match solve.init {
        Some(Init::Sweep) => FrameKind::Sweep,
        Some(Init::Cold | Init::Run(_)) | None => usual.frame,
    };
    TrainOptions { frame, iterations: solve.iterations.unwrap_or(usual.iterations), ..usual }
}

/// The networks of the run that method neural begins at.
fn networks_of(solve: &SolveSettings) -> Result<Option<Trained>> {
    let Some(Init::Run(dir)) = &solve.init else { return Ok(None) };
    let path = dir.join(NETWORK);
    let file = std::fs::File::open(&path).map_err(|error| {
        bad(format!(
            "--init {}: {NETWORK} there cannot be read ({error}); give cold, sweep, or the directory of a run with \
             --method neural",
            dir.display()
        ))
    })?;
    let networks = Tensors::read(std::io::BufReader::new(file)).and_then(|tensors| networks::potential(&tensors));
    let networks = networks.map_err(|error| bad(format!("{}: {error:#}", path.display())))?;
    let (has, asked) = (networks.potential.spec().components, solve.components);
    match asked.filter(|&asked| asked != has) {
        Some(asked) => Err(bad(format!(
            "--components {asked}: the networks of --init {} have {has}; leave --components out, or start cold",
            dir.display()
        ))),
        None => Ok(Some(networks)),
    }
}

/// A long table has a command path of its own.
fn refuse_panel(settings: &Settings) -> Result<()> {
    match (&settings.data.panel, &settings.data.share) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(bad("--share is for --panel COLUMN; give that too, or leave --share out")),
        (Some(column), _) => {
            Err(bad(format!("--panel {column} is for `levytilt fit` with --out DIR; in Python use fit_panel")))
        }
    }
}

/// Write defaults into the settings, so that what is saved is what was computed, and refuse what cannot be done.
pub(crate) fn resolve_defaults(settings: &mut Settings) -> Result<()> {
    settings.model.drift.get_or_insert(DriftName::OU);
    let method = *settings.solve.method.get_or_insert(Method::Auto);
    if method == Method::Paper {
        resolve_paper(settings)?;
    } else if settings.paper != PaperSettings::default() {
        return Err(bad(
            "--kl, --gradient, --motion, --alpha-grid and [paper] are for --method paper; give that, or leave them out",
        ));
    }
    settings.model.noise.get_or_insert(NoiseName::STABLE);
    let solve = &mut settings.solve;
    if solve.iterations.is_some() && ![Method::Neural, Method::Paper].contains(&method) {
        return Err(bad("--iterations is for --method neural and paper; give one too, or leave --iterations out"));
    }
    if solve.alongside == Some(false) && method == Method::Paper {
        return Err(bad(
            "alongside = false: method paper learns the drift jointly with its networks; leave alongside out",
        ));
    }
    if method != Method::Neural {
        let given = [
            (solve.init.is_some(), "--init"),
            (solve.components.is_some(), "--components"),
            (solve.alongside.is_some() && method != Method::Paper, "--alongside"),
        ];
        for (given, flag) in given {
            if given {
                return Err(bad(format!("{flag} is for --method neural; give that too, or leave {flag} out")));
            }
        }
    }
    if solve.components == Some(0) {
        return Err(bad("--components 0: a message has at least one component; give 1 or more, or leave it out"));
    }
    match (solve.bayes, solve.draws) {
        (Some(true), draws) => solve.draws = Some(draws.unwrap_or(bayes::DRAWS)),
        (_, Some(_)) => return Err(bad("--draws is for --bayes; give that too, or leave --draws out")),
        _ => {}
    }
    solve.seed.get_or_insert(1);
    // Results do not depend on threads, so they are no part of the record.
    solve.threads = None;
    Ok(())
}

/// The noise of method paper: truncated stable, at the published tau unless another is given.
fn resolve_paper(settings: &mut Settings) -> Result<()> {
    const NOISE: &str = "truncated-stable";
    if settings.model.noise.is_none() {
        settings.model.noise = NoiseName::named(NOISE);
    }
    match settings.model.noise {
        Some(noise) if noise.as_str() != NOISE => Err(bad(format!(
            "--noise {noise}: method paper has {NOISE} noise; give --noise {NOISE}, leave --noise out, or use another \
             method"
        ))),
        _ => {
            if settings.model.values.get(TAU).is_none() {
                settings.model.values.set(TAU, Some(PUBLISHED_TAU));
            }
            check_grid(settings)
        }
    }
}

/// Refuse a grid of alpha beside alpha itself, or of impossible values.
fn check_grid(settings: &Settings) -> Result<()> {
    let Some(alphas) = settings.paper.alpha_grid.as_deref() else { return Ok(()) };
    if settings.model.values.get(ALPHA).is_some() {
        return Err(bad("--alpha and --alpha-grid both set alpha; leave one out"));
    }
    if alphas.is_empty() || alphas.iter().any(|&alpha| alpha.is_nan() || alpha <= 0.0 || alpha >= 2.0) {
        return Err(bad("--alpha-grid: give numbers between 0 and 2, separated by commas"));
    }
    Ok(())
}

/// The smallest mixing radius of the paper.
const PUBLISHED_TAU: f64 = 0.01;
/// Its parameter.
const TAU: &str = "tau";
/// The index.
const ALPHA: &str = "alpha";

/// Mean and standard deviation of the start of every dimension.
fn starts(fit: &Fit) -> (Vec<f64>, Vec<Option<f64>>) {
    let start = |start| match start {
        Start::Fixed(x0) => (x0, None),
        Start::Gaussian { mean, std } => (mean, Some(std)),
    };
    fit.model.dimensions.iter().map(|dimension| start(dimension.start)).unzip()
}

/// The settings with every estimate and the start filled in.
///
/// # Errors
/// A parameter that no settings file can hold.
fn filled(summary: &Summary, fit: &Fit, settings: &Settings) -> Result<Settings> {
    let mut settings = settings.clone();
    // Alpha is known by now.
    settings.paper.alpha_grid = None;
    settings.model.noise = NoiseName::named(summary.noise);
    let (means, stds) = starts(fit);
    if let OneOrMany::Many(names) = &summary.dimension {
        // What holds for all is said for each.
        settings.model.values.retain(|name| ![X0, X0_STD].contains(&name));
        for (name, (mean, std)) in names.iter().zip(means.into_iter().zip(stds)) {
            settings.parameters.insert(format!("{X0}[{name}]"), mean.into());
            std.and_then(|std| settings.parameters.insert(format!("{X0_STD}[{name}]"), std.into()));
        }
        settings.model.learn_brownian = false;
        settings.parameters.extend(fit.parameters.iter().map(|p| (p.name.clone(), p.value.into())));
        return Ok(settings);
    }
    settings.model.values.set(X0, Some(means[0]));
    settings.model.values.set(X0_STD, stds[0]);
    fit.parameters.iter().try_for_each(|p| settings.hold(&p.name, p.value))?;
    // Values to come have no known errors yet: a typical one stands in for them.
    if settings.data.error_column.take().is_some() {
        settings.hold(OBSERVATION_STD, fit.model.dimensions[0].typical_error())?;
    }
    Ok(settings)
}

/// The known error to which the observation_std of a filled model belongs; 1 where no errors are known.
fn typical_error(fit: &Fit) -> f64 {
    let dimension = &fit.model.dimensions[0];
    dimension.typical_error() / dimension.observation_std
}

/// What a forecast needs of a fit.
fn state((fit, drawn): (&Fit, Option<&ParameterPosterior>), table: &Table, seed: u64) -> State {
    let mut lengths: Vec<f64> = fit.times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    lengths.sort_by(f64::total_cmp);
    let ends = [table.times[0], table.times[table.times.len() - 1]];
    State {
        dimension: OneOrMany::new(table.names.clone()),
        time: ends[1],
        step: lengths[lengths.len() / 2],
        stamps: match table.calendar {
            Calendar::Numbers => Vec::new(),
            Calendar::Days(_) => ends.iter().map(|&time| table.calendar.write(time)).collect(),
        },
        states: fit.end_states(),
        weights: fit.weights.clone(),
        seed,
        learned: Some(LearnedParameters::new(fit, drawn)),
        filter: None,
        trading: None,
        history: None,
        inputs: BTreeMap::new(),
        known_errors: None,
    }
}
