//! Say what a fit found: summary.json, posterior.csv, jumps.csv, paths.npz and the lines a person reads.

use anyhow::Result;
use levytilt::Start;
use levytilt::internals::fit::{AnyNoise, BrownianEvidence, Candidate, Estimate, Fit, FitOptions, FittedNeural};
use levytilt::internals::residuals::Residuals;
use levytilt::internals::solve::ParameterPosterior;
use levytilt_paper::NeuralFit;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use crate::directory::npz::{self, Array};
use crate::failure::quoted;
use crate::number::figure;
use crate::one_or_many::OneOrMany;
use crate::settings::{DriftName, KeepPaths, Settings, kept, name_of};
use crate::table::Table;
use crate::table::time::Calendar;
use crate::workflow::fit::bayes::{self, PosteriorSummary};
use crate::workflow::ranking::{Rated, lines, rank};

/// The content of summary.json. A figure that does not exist is null.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// Lower bound of the log evidence.
    pub elbo: f64,
    /// Its standard error.
    pub elbo_std_error: f64,
    /// Log evidence by a particle filter.
    pub log_evidence: f64,
    /// Its standard error.
    pub log_evidence_std_error: f64,
    /// Effective number of paths.
    pub effective_sample_size: f64,
    /// Shape of the tail of the weights; null where they have none.
    pub k_hat: Option<f64>,
    /// Posterior paths.
    pub paths: usize,
    /// How many of them paths.npz holds.
    pub paths_written: usize,
    /// Latent steps.
    pub steps: usize,
    /// Observed values, without the missing ones.
    pub observations: usize,
    /// Jumps more likely than not, over all dimensions; jumps.csv lists them.
    pub jumps: usize,
    /// Names of the observed columns.
    pub dimension: OneOrMany<String>,
    /// Drift by name.
    pub drift: DriftName,
    /// Noise by name; the one chosen if it was open.
    pub noise: &'static str,
    /// Size of the noise as a formula of the state; left out where it is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// The families that were compared, best first; left out if the noise was given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub noise_candidates: Vec<CandidateRow>,
    /// How the posterior was found.
    pub method: OneOrMany<&'static str>,
    /// Why so.
    pub method_reason: OneOrMany<String>,
    /// What the paths and marginals are, all columns together: exact, smoothed, weighted or variational.
    pub posterior: &'static str,
    /// Size of a drift network and how it was held back; left out for other drifts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkRow>,
    /// Parameters of drift, noise and observation; those of a network are in a file of their own.
    pub parameters: BTreeMap<String, ParameterRow>,
    /// Log evidence with and without a learned diffusion, by its name; left out if none was learned.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub brownian_evidence: BTreeMap<String, BrownianRow>,
    /// What weighted draws of the parameters show; left out if none were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter_posterior: Option<PosteriorSummary>,
    /// Mean of the state at the first time, per dimension.
    pub x0_mean: OneOrMany<f64>,
    /// Its standard deviation; null if the state is known.
    pub x0_std: OneOrMany<Option<f64>>,
    /// Checks of the one-step residuals, per dimension; left out where the columns act on each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residuals: Option<OneOrMany<Residuals>>,
    /// Unit of time in rates and scales.
    pub time_unit: &'static str,
    /// Newton steps taken, or iterations of training.
    pub iterations: usize,
    /// Time the computation took.
    pub seconds: f64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Version of the program.
    pub version: &'static str,
    /// What a careful reader should know.
    pub warnings: Vec<String>,
    /// The estimates again, for the lines a person reads.
    #[serde(skip)]
    pub estimates: Vec<Estimate>,
}

impl Summary {
    /// What `found` says, and what was drawn of the parameters.
    pub(super) fn new(
        (found, drawn): (&AnyNoise<NeuralFit>, Option<&ParameterPosterior>),
        settings: &Settings,
        table: &Table,
        options: &FitOptions,
        took: Duration,
    ) -> Self {
        let AnyNoise { fit: NeuralFit { fit, .. }, family, candidates } = found;
        let (x0_mean, x0_std) = starts(fit);
        Self {
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
            noise_candidates: rows(candidates),
            method: OneOrMany::new(fit.choices.iter().map(|choice| choice.method.name()).collect()),
            method_reason: OneOrMany::new(fit.choices.iter().map(|choice| choice.why.clone()).collect()),
            posterior: fit.posterior.name(),
            network: fit.network.as_ref().map(NetworkRow::new),
            parameters: parameters(&fit.parameters),
            brownian_evidence: brownian_rows(fit),
            parameter_posterior: drawn.map(PosteriorSummary::new),
            x0_mean: OneOrMany::new(x0_mean),
            x0_std: OneOrMany::new(x0_std),
            residuals: None,
            time_unit: table.calendar.unit(),
            iterations: fit.iterations,
            seconds: took.as_secs_f64(),
            seed: options.seed,
            version: env!("CARGO_PKG_VERSION"),
            warnings: [&fit.warnings[..], &bayes::warnings(drawn), &unchosen(family.name, candidates)]
                .concat()
                .into_iter()
                .chain(table.calendar.warning())
                .chain(table.notes.iter().cloned())
                .collect(),
            estimates: fit.parameters.clone(),
        }
    }
}

/// Mean and standard deviation of the start of every dimension.
pub(super) fn starts(fit: &Fit) -> (Vec<f64>, Vec<Option<f64>>) {
    let start = |start| match start {
        Start::Fixed(x0) => (x0, None),
        Start::Gaussian { mean, std } => (mean, Some(std)),
    };
    fit.model.dimensions.iter().map(|dimension| start(dimension.start)).unzip()
}

/// What to say if no family of noise was finished before an end was asked for.
fn unchosen(name: &str, candidates: &[Candidate]) -> Vec<String> {
    let say = || format!("stopped before any family of noise was finished: {name} was not chosen by evidence");
    let none = !candidates.is_empty() && candidates.iter().all(|candidate| candidate.outcome.is_err());
    none.then(say).into_iter().collect()
}

/// A parameter in summary.json.
#[derive(Debug, Clone, Serialize)]
pub struct ParameterRow {
    /// Its value.
    pub estimate: f64,
    /// Whether it was given.
    pub fixed: bool,
    /// Whether the data say less of it than its prior; left out where they say more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub held_by_prior: bool,
    /// Standard error; null where there is none.
    pub std_error: Option<f64>,
    /// Lower end of the 90% interval; null where there is none, and where the data set no limit.
    pub q05: Option<f64>,
    /// Its upper end.
    pub q95: Option<f64>,
}

/// What the evidence says of a learned diffusion.
#[derive(Debug, Clone, Serialize)]
pub struct BrownianRow {
    /// Log evidence with it.
    pub with: f64,
    /// Log evidence of the model without it, at its own estimates.
    pub without: f64,
    /// Whether it is distinguishable from 0: a likelihood ratio test at the 5% level.
    pub told_apart: bool,
}

/// The learned diffusions for summary.json.
pub fn brownian_rows(fit: &Fit) -> BTreeMap<String, BrownianRow> {
    let row = |(name, evidence): &(String, BrownianEvidence)| {
        let BrownianEvidence { with, without } = *evidence;
        (name.clone(), BrownianRow { with, without, told_apart: evidence.is_told_apart() })
    };
    fit.brownian.iter().map(row).collect()
}

/// A drift network in summary.json.
#[derive(Debug, Clone, Serialize)]
pub struct NetworkRow {
    /// Units per layer.
    pub width: usize,
    /// Layers.
    pub depth: usize,
    /// Strength of its penalty, chosen on held-out transitions; null where no drift at all was the choice, or where the
    /// network was learned jointly with the potentials.
    pub regularisation: Option<f64>,
    /// Gain in held-out log density over no drift; null where the network was learned jointly with the potentials.
    pub held_out_gain: Option<f64>,
    /// Its standard error.
    pub held_out_gain_std_error: Option<f64>,
}

impl NetworkRow {
    /// What is said of a network.
    pub fn new(network: &FittedNeural) -> Self {
        let (spec, held) = (network.drift.spec(), network.regularisation);
        Self {
            width: spec.width,
            depth: spec.depth,
            regularisation: held.map(|held| held.strength).filter(|strength| strength.is_finite()),
            held_out_gain: held.map(|held| held.gain),
            held_out_gain_std_error: held.map(|held| held.std_error),
        }
    }

    fn to_text(&self) -> String {
        let Self { width, depth, .. } = self;
        let (Some(held_out_gain), Some(held_out_gain_std_error)) = (self.held_out_gain, self.held_out_gain_std_error)
        else {
            return format!("network       width {width}, depth {depth}, learned jointly on the ELBO");
        };
        let held = match self.regularisation {
            Some(strength) => format!("penalty {strength}"),
            None => "no drift: no held-out gain beyond one standard error".into(),
        };
        format!(
            "network       width {width}, depth {depth}, {held} (held-out gain {held_out_gain:.1} ± \
             {held_out_gain_std_error:.1} nats)"
        )
    }
}

/// One family of noise in the comparison by evidence.
#[derive(Debug, Clone, Serialize)]
pub struct CandidateRow {
    /// The family.
    pub noise: &'static str,
    /// How it was rated.
    #[serde(flatten)]
    pub rated: Rated,
}

impl AsRef<Rated> for CandidateRow {
    fn as_ref(&self) -> &Rated {
        &self.rated
    }
}

impl AsMut<Rated> for CandidateRow {
    fn as_mut(&mut self) -> &mut Rated {
        &mut self.rated
    }
}

/// The comparison of families for summary.json, best first.
pub fn rows(candidates: &[Candidate]) -> Vec<CandidateRow> {
    let row = |candidate: &Candidate| CandidateRow {
        noise: candidate.family.name,
        rated: Rated::new(candidate.outcome.clone(), candidate.unfinished),
    };
    let mut rows: Vec<CandidateRow> = candidates.iter().map(row).collect();
    rank(&mut rows);
    rows
}

/// The comparison of families for a terminal.
fn candidate_lines(rows: &[CandidateRow]) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let table = lines("family", rows.iter().map(|row| (row.noise, &row.rated)));
    table.into_iter().enumerate().map(|(k, line)| format!("{:13} {line}", if k == 0 { "noise" } else { "" })).collect()
}

/// The estimates as the object `parameters` of summary.json.
pub fn parameters(estimates: &[Estimate]) -> BTreeMap<String, ParameterRow> {
    let row = |p: &Estimate| ParameterRow {
        estimate: p.value,
        fixed: p.fixed,
        held_by_prior: p.held_by_prior,
        std_error: p.std_error,
        q05: p.interval.map(|interval| interval.low).filter(|low| low.is_finite()),
        q95: p.interval.map(|interval| interval.high).filter(|high| high.is_finite()),
    };
    estimates.iter().map(|p| (p.name.clone(), row(p))).collect()
}

impl Summary {
    /// The summary for a terminal.
    pub fn to_text(&self) -> String {
        let width = self.estimates.iter().map(|p| p.name.len()).max().unwrap_or(0);
        let mut lines = vec![
            format!("log evidence  {:.2} ± {:.2}", self.log_evidence, self.log_evidence_std_error),
            format!(
                "ELBO          {:.2} ± {:.2}, effective sample size {:.0} of {}{}",
                self.elbo,
                self.elbo_std_error,
                self.effective_sample_size,
                self.paths,
                self.k_hat.map_or(String::new(), |k| format!(", k-hat {k:.2}"))
            ),
            format!(
                "data          {} observations of {}, {} latent steps, time unit: {}",
                self.observations,
                self.dimension.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "),
                self.steps,
                self.time_unit
            ),
            format!(
                "model         drift {}, noise {}{}",
                name_of(&self.drift),
                self.noise,
                self.size.as_ref().map_or(String::new(), |size| format!(", size {size}"))
            ),
        ];
        for (method, why) in self.method.iter().zip(self.method_reason.iter()) {
            lines.push(format!("solver        {method}: {why}"));
        }
        lines.extend(self.network.as_ref().map(NetworkRow::to_text));
        lines.extend(candidate_lines(&self.noise_candidates));
        for (i, p) in self.estimates.iter().enumerate() {
            let error = p.std_error.filter(|_| !p.fixed);
            let write = legible(error.unwrap_or(p.value));
            let error = match error {
                _ if p.fixed => "given".into(),
                Some(error) => {
                    format!("± {}{}", write(error), if p.held_by_prior { ", mostly prior" } else { "" })
                }
                None => "no standard error".into(),
            };
            let head = if i == 0 { "parameters" } else { "" };
            lines.push(format!("{head:<13} {:width$}  {} {error}", p.name, write(p.value)));
        }
        for (name, BrownianRow { with, without, told_apart }) in &self.brownian_evidence {
            let verdict = if *told_apart { "distinguishable from 0" } else { "not distinguishable from 0" };
            lines.push(format!("{name:<13} log evidence {with:.2} with it, {without:.2} without: {verdict}"));
        }
        lines.extend(self.parameter_posterior.iter().flat_map(PosteriorSummary::lines));
        lines.push(format!("time          {:.2} s, {} iterations, seed {}", self.seconds, self.iterations, self.seed));
        lines.extend(self.warnings.iter().map(|warning| format!("note          {warning}")));
        lines.join("\n")
    }
}

/// How to write numbers so that one of the size of `smallest` shows three digits: with four decimals or more, or with an
/// exponent.
fn legible(smallest: f64) -> impl Fn(f64) -> String {
    let decimals = if smallest == 0.0 { 4 } else { (2.0 - smallest.abs().log10().floor()).max(4.0) as usize };
    move |value| if decimals <= 8 { format!("{value:.decimals$}") } else { format!("{value:.3e}") }
}

/// Write posterior.csv: one row per latent time and dimension.
pub fn write_posterior(out: &mut dyn Write, fit: &Fit, calendar: &Calendar, names: &[String]) -> Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(["time", "dimension", "mean", "sd", "q05", "q25", "q50", "q75", "q95", "jump_probability"])?;
    for (j, time) in fit.times.iter().enumerate() {
        for (marginals, name) in fit.marginals.iter().zip(names) {
            let m = &marginals[j];
            let mut fields = vec![calendar.write(*time), name.clone()];
            for value in [m.mean, m.sd].iter().chain(&m.quantiles).chain([&m.jump_probability]) {
                fields.push(figure(*value)?);
            }
            csv.write_record(fields)?;
        }
    }
    Ok(csv.flush()?)
}

/// Write jumps.csv: one row per jump, in order of dimension and time.
pub fn write_jumps(out: &mut dyn Write, fit: &Fit, calendar: &Calendar, names: &[String]) -> Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(["time", "dimension", "probability", "size", "size_q05", "size_q95"])?;
    for (jumps, name) in fit.jumps.iter().zip(names) {
        for jump in jumps {
            let mut fields = vec![calendar.write(jump.time), name.clone()];
            for value in [jump.probability, jump.size, jump.size_q05, jump.size_q95] {
                fields.push(figure(value)?);
            }
            csv.write_record(fields)?;
        }
    }
    Ok(csv.flush()?)
}

/// Write paths.npz: times, paths (path, time, dimension), weights, and the jumps of the paths; of the first paths, as many as
/// `keep` says.
pub fn write_paths(out: &mut dyn Write, fit: &Fit, keep: Option<KeepPaths>) -> Result<()> {
    let (times, dim) = (fit.paths.times(), fit.paths.dim());
    let count = kept(keep, fit.paths.len(), times * dim);
    let total: f64 = fit.weights[..count].iter().sum();
    let weights = match count == fit.weights.len() || total == 0.0 {
        true => fit.weights[..count].to_vec(),
        false => fit.weights[..count].iter().map(|weight| weight / total).collect(),
    };
    let mut states = vec![0.0; count * times * dim];
    for j in 0..times {
        for i in 0..dim {
            for (path, x) in fit.paths.column(i, j).take(count).enumerate() {
                states[(path * times + j) * dim + i] = x;
            }
        }
    }
    let jumps = |(i, jumped): (usize, &Vec<(usize, usize)>)| {
        let kept = jumped.iter().filter(|(path, _)| *path < count);
        kept.map(|&(path, j)| [path, j, i]).collect::<Vec<_>>()
    };
    let jumps: Vec<[usize; 3]> = fit.jumped.iter().enumerate().flat_map(jumps).collect();
    npz::write(
        out,
        &[
            Array { name: "times", shape: vec![times], values: fit.times.clone() },
            Array { name: "paths", shape: vec![count, times, dim], values: states },
            Array { name: "weights", shape: vec![count], values: weights },
            npz::rows("jumps", &jumps),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::legible;

    #[test]
    fn small_numbers_keep_their_digits() {
        assert_eq!(legible(0.4321)(3.123_456), "3.1235");
        assert_eq!(legible(0.000_012_34)(0.0567), "0.0567000");
        assert_eq!(legible(0.000_012_34)(0.000_012_34), "0.0000123");
        assert_eq!(legible(3e-9)(1.5e-7), "1.500e-7");
        assert_eq!(legible(0.0)(0.0), "0.0000");
    }
}
