//! Run `levytilt fit`: learn parameters and hidden path of the observed columns, write and report them.

use anyhow::Result;
use clap::ValueEnum;
use levytilt::Start;
use levytilt::fit::{AnyNoise, Fit, FitOptions, fit, fit_any_noise, rival_families};
use levytilt::potential::neural::{FrameKind, NeuralPotentialSpec};
use levytilt::progress::Watcher;
use levytilt::series::{Observations, TimeGrid};
use levytilt::solve::neural::{TrainOptions, Trained};
use levytilt::solve::{self, LearnOptions};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

use crate::args::{FitArgs, ReportArgs};
use crate::build_model::open_model;
use crate::claim::Claim;
use crate::exact::locate;
use crate::exact_report;
use crate::exact_report::name_of;
use crate::failure::bad;
use crate::finite;
use crate::fit_report::{NetworkRow, Summary, parameters, rows, write_paths, write_posterior};
use crate::input::{self, Table};
use crate::networks;
use crate::one_or_many::OneOrMany;
use crate::output::{Entry, say};
use crate::report::{self, Material, Segment};
use crate::settings::{DriftKind, Init, Method, NoiseKind, Settings, SolveSettings};
use crate::state::{LearnedParameters, MODEL, NETWORK, STATE, State};
use crate::tensors::Tensors;
use crate::threads::with_threads;
use crate::time::Calendar;
use crate::training::{self, kept_in};
use crate::watch::{noted, terminal};

/// What `fit` found, and for which settings.
pub struct Outcome {
    /// The figures.
    pub summary: Summary,
    /// The fit.
    pub fit: Fit,
    /// The settings in effect.
    pub settings: Settings,
    /// The steps of learning.
    pub trace: Vec<Segment>,
}

/// Read, compute, write, report.
pub fn run(args: &FitArgs) -> Result<()> {
    args.plots.with_place(args.out.as_deref())?;
    let claim = args.out.as_deref().map(Claim::new).transpose()?;
    let settings = args.settings().with_config(args.record.config.as_deref())?;
    let table = input::read(&args.record.source, &settings.data.chosen())?;
    let show = !args.report.wordless();
    let threads = settings.solve.threads;
    let outcome =
        with_threads(threads, || kept_in(args.out.as_deref(), || analyse(settings, &table, terminal(show))))??;
    if let (Some(claim), Some(dir)) = (claim, &args.out) {
        let mut files = entries(&outcome, &table, &outcome.summary, None)?;
        files.extend(training::settled());
        claim.save(&files)?;
        if show {
            training::tell_of_rest(dir);
        }
    }
    tell(&outcome.summary, args.out.as_deref(), &args.report)?;
    args.out.as_deref().map_or(Ok(()), |dir| report::draw_plots(dir, &args.plots, !show))
}

/// Fit the columns of `table`; `heed` sees how it goes, and may ask for an end.
pub fn analyse(mut settings: Settings, table: &Table, heed: Watcher) -> Result<Outcome> {
    settle(&mut settings)?;
    let spec = open_model(&settings, &table.names, "fit")?;
    let solve = &settings.solve;
    let options = FitOptions {
        paths: solve.paths.unwrap_or(FitOptions::default().paths),
        seed: solve.seed.unwrap_or(1),
        learn: LearnOptions { method: method(solve.method), ..LearnOptions::default() },
        neural: (sizes(solve), train_options(solve)),
        networks: networks_of(solve)?,
        alongside: solve.alongside.unwrap_or(false),
        ..FitOptions::default()
    };
    let started = Instant::now();
    let compute = || {
        let series = Observations::new(table.times.clone(), table.columns.clone(), table.names.clone())?;
        let grid = TimeGrid::new(series.times(), settings.grid.steps)?;
        let columns: Vec<&[f64]> = (0..series.dim()).map(|i| series.column(i)).collect();
        match settings.noise() {
            NoiseKind::Auto => fit_any_noise(&spec, &rival_families(), &grid, &columns, &options),
            _ => {
                Ok(AnyNoise { fit: fit(&spec, &grid, &columns, &options)?, family: spec.noise, candidates: Vec::new() })
            }
        }
    };
    let (result, trace) = noted(heed, compute);
    let AnyNoise { fit, family, candidates } = result.map_err(|error| locate(error, table))?;
    let (x0_mean, x0_std) = starts(&fit);
    let summary = Summary {
        elbo: fit.summary.elbo,
        elbo_std_error: fit.summary.elbo_std_error,
        log_evidence: fit.evidence.log_evidence,
        log_evidence_std_error: fit.evidence.std_error,
        effective_sample_size: fit.summary.effective_sample_size,
        k_hat: Some(fit.summary.k_hat).filter(|k| k.is_finite()),
        paths: options.paths,
        steps: fit.times.len() - 1,
        observations: fit.observations,
        dimension: OneOrMany::new(table.names.clone()),
        drift: settings.drift(),
        noise: family.name,
        noise_candidates: rows(&candidates),
        method: OneOrMany::new(fit.choices.iter().map(|choice| choice.method.name()).collect()),
        method_reason: OneOrMany::new(fit.choices.iter().map(|choice| choice.why.clone()).collect()),
        posterior: fit.posterior.name(),
        network: fit.network.as_ref().map(NetworkRow::new),
        parameters: parameters(&fit.parameters),
        x0_mean: OneOrMany::new(x0_mean),
        x0_std: OneOrMany::new(x0_std),
        time_unit: table.calendar.unit(),
        iterations: fit.iterations,
        seconds: started.elapsed().as_secs_f64(),
        seed: options.seed,
        version: env!("CARGO_PKG_VERSION"),
        warnings: fit.warnings.iter().cloned().chain(table.calendar.warning()).collect(),
        estimates: fit.parameters.clone(),
    };
    Ok(Outcome { summary, fit, settings, trace })
}

/// The library's name for a method.
fn method(asked: Option<Method>) -> solve::Method {
    asked.and_then(|method| solve::Method::named(&name_of(&method))).unwrap_or_default()
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
            "--components {asked}: the networks of --init {} have {has}; leave --components out, or begin cold",
            dir.display()
        ))),
        None => Ok(Some(networks)),
    }
}

/// Write defaults into the settings, so that what is saved is what was computed, and refuse what cannot be done.
fn settle(settings: &mut Settings) -> Result<()> {
    settings.model.drift.get_or_insert(DriftKind::Ou);
    settings.model.noise.get_or_insert(NoiseKind::Stable);
    let solve = &mut settings.solve;
    if *solve.method.get_or_insert(Method::Auto) != Method::Neural {
        let given = [
            (solve.init.is_some(), "--init"),
            (solve.iterations.is_some(), "--iterations"),
            (solve.components.is_some(), "--components"),
            (solve.alongside.is_some(), "--alongside"),
        ];
        for (given, flag) in given {
            if given {
                return Err(bad(format!("{flag} is for --method neural; give that too, or leave {flag} out")));
            }
        }
    }
    if solve.components == Some(0) {
        return Err(bad("--components 0: a message has at least one bump; give 1 or more, or leave it out"));
    }
    solve.paths.get_or_insert(FitOptions::default().paths);
    solve.seed.get_or_insert(1);
    // Results do not depend on threads, so they are no part of the record.
    solve.threads = None;
    Ok(())
}

/// Mean and standard deviation of the start of every dimension.
fn starts(fit: &Fit) -> (Vec<f64>, Vec<Option<f64>>) {
    let start = |start| match start {
        Start::Fixed(x0) => (x0, None),
        Start::Gaussian { mean, std } => (mean, Some(std)),
    };
    fit.model.dimensions.iter().map(|dimension| start(dimension.start)).unzip()
}

/// The settings with every estimate and the start filled in.
pub fn filled(outcome: &Outcome) -> Settings {
    let mut settings = outcome.settings.clone();
    settings.model.noise = NoiseKind::from_str(outcome.summary.noise, false).ok();
    let (means, stds) = starts(&outcome.fit);
    if let OneOrMany::Many(names) = &outcome.summary.dimension {
        // What holds for all is said for each.
        (settings.model.x0, settings.model.x0_std) = (None, None);
        for (name, (mean, std)) in names.iter().zip(means.into_iter().zip(stds)) {
            settings.parameters.insert(format!("x0[{name}]"), mean);
            std.and_then(|std| settings.parameters.insert(format!("x0_std[{name}]"), std));
        }
        settings.parameters.extend(outcome.fit.parameters.iter().map(|p| (p.name.clone(), p.value)));
        return settings;
    }
    (settings.model.x0, settings.model.x0_std) = (Some(means[0]), stds[0]);
    for p in &outcome.fit.parameters {
        let (model, drift) = (&mut settings.model, &mut settings.drift);
        let slot = match p.name.as_str() {
            "theta" => &mut drift.theta,
            "mu" => &mut drift.mu,
            "theta1" => &mut drift.theta1,
            "theta2" => &mut drift.theta2,
            "slope" => &mut drift.slope,
            "offset" => &mut drift.offset,
            "alpha" => &mut model.alpha,
            "scale" => &mut model.scale,
            "tau" => &mut model.tau,
            "sigma_g" => &mut model.sigma_g,
            "tempering" => &mut model.tempering,
            "nu" => &mut model.nu,
            "dof" => &mut model.dof,
            "rate" => &mut model.rate,
            "jump_std" => &mut model.jump_std,
            "brownian" => &mut model.brownian,
            "observation_std" => &mut model.observation_std,
            _ => continue,
        };
        *slot = Some(p.value);
    }
    settings
}

/// What a forecast needs of a fit.
pub fn state(outcome: &Outcome, table: &Table) -> State {
    let fit = &outcome.fit;
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
        seed: outcome.summary.seed,
        learned: Some(LearnedParameters::new(fit)),
    }
}

/// The files of a run, with `summary` in summary.json, and `rival` compared with in the report.
pub fn entries<'a>(
    outcome: &'a Outcome,
    table: &'a Table,
    summary: &'a impl Serialize,
    rival: Option<&exact_report::Summary>,
) -> Result<Vec<Entry<'a>>> {
    let page = report::fit_page(&Material { outcome, table, rival })?;
    let state = finite::json(&state(outcome, table))?;
    let mut entries = vec![
        Entry::json("summary.json", summary),
        Entry::new("posterior.csv", |out| write_posterior(out, &outcome.fit, &table.calendar, &table.names)),
        Entry::new("paths.npz", |out| write_paths(out, &outcome.fit)),
        Entry::toml("settings.toml", &outcome.settings)?,
        Entry::toml(MODEL, &filled(outcome))?,
        Entry::text(STATE, state + "\n"),
    ];
    entries.extend(report::entries(&page)?);
    let networks = networks::tensors(outcome.fit.network.as_ref().map(|n| &n.drift), outcome.fit.trained.as_ref())?;
    entries.push(match networks.is_empty() {
        true => Entry::gone(NETWORK),
        false => Entry::new(NETWORK, move |out| networks.write(out)),
    });
    Ok(entries)
}

fn tell(summary: &Summary, dir: Option<&Path>, how: &ReportArgs) -> Result<()> {
    if how.json {
        say(&finite::json(summary)?);
    } else if !how.quiet {
        say(&summary.to_text());
        if let Some(dir) = dir {
            let dir = dir.display();
            say(&format!("written       {dir}: summary.json, posterior.csv, paths.npz, settings.toml, model.toml"));
            say(&format!("look at       {dir}/report.html"));
            say(&format!("next          levytilt forecast {dir} --horizon H"));
        }
    }
    Ok(())
}
