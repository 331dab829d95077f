//! Say what a fit of a written-out model found: summary.json, posterior.csv, jumps.csv, paths.npz, and lines for people.

use anyhow::Result;
use levytilt::internals::fit::Estimate;
use levytilt::internals::general::GeneralFit;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

use crate::directory::npz::{self, Array};
use crate::number::{figure, readable};
use crate::table::time::Calendar;
use crate::workflow::fit::summary::{ParameterRow, parameters};

/// The content of summary.json.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// Log evidence from independent filters.
    pub log_evidence: f64,
    /// Its standard error.
    pub log_evidence_std_error: f64,
    /// Paths count equally; with a nonlinear drift, how many differ at the time where the fewest do.
    pub effective_sample_size: f64,
    /// Equal weights have no tail.
    pub k_hat: Option<f64>,
    /// Posterior paths.
    pub paths: usize,
    /// Latent steps.
    pub steps: usize,
    /// Observed values.
    pub observations: usize,
    /// Names of the states.
    pub states: Vec<String>,
    /// Names of the observed columns.
    pub columns: Vec<String>,
    /// Names of the noise sources with their families.
    pub noise: BTreeMap<String, &'static str>,
    /// What the paths and marginals are.
    pub posterior: &'static str,
    /// Parameters by name.
    pub parameters: BTreeMap<String, ParameterRow>,
    /// Unit of time.
    pub time_unit: &'static str,
    /// Steps of the search.
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
    /// How evidence and paths were found, for the same lines.
    #[serde(skip)]
    pub solver: &'static str,
}

/// What the paths and marginals of a fit are, in a word.
pub(crate) fn posterior(fit: &GeneralFit) -> &'static str {
    if fit.exact { "exact" } else { "smoothed" }
}

impl Summary {
    /// What was found, in `seconds`.
    pub fn new(fit: &GeneralFit, calendar: &Calendar, seed: u64, seconds: f64) -> Self {
        Self {
            log_evidence: fit.smoothed.evidence.log_evidence,
            log_evidence_std_error: fit.smoothed.evidence.std_error,
            effective_sample_size: fit.smoothed.effective_paths,
            k_hat: None,
            paths: fit.smoothed.paths.len(),
            steps: fit.times.len() - 1,
            observations: fit.observations,
            states: fit.model.states.clone(),
            columns: fit.model.rows.iter().map(|row| row.name.clone()).collect(),
            noise: fit.model.sources.iter().map(|source| (source.name.clone(), source.noise.family())).collect(),
            posterior: posterior(fit),
            parameters: parameters(&fit.parameters),
            time_unit: calendar.unit(),
            iterations: fit.iterations,
            seconds,
            seed,
            version: env!("CARGO_PKG_VERSION"),
            warnings: fit.warnings.iter().cloned().chain(calendar.warning()).collect(),
            estimates: fit.parameters.clone(),
            solver: match fit.model.drift.is_affine() {
                _ if fit.exact => "Kalman filter and smoother: exact evidence and bands, independent paths",
                true => "Rao-Blackwellised particles, backward simulation: equally weighted paths",
                false => "particle filter, ancestral paths: equally weighted",
            },
        }
    }

    /// The summary for a terminal.
    pub fn to_text(&self) -> String {
        let noise: Vec<String> = self.noise.iter().map(|(name, family)| format!("{name} ({family})")).collect();
        let mut lines = vec![
            format!("log evidence  {:.2} ± {:.2}", self.log_evidence, self.log_evidence_std_error),
            format!(
                "data          {} observations of {}, {} latent steps, time unit: {}",
                self.observations,
                self.columns.join(", "),
                self.steps,
                self.time_unit
            ),
            format!("model         states {}; noise {}", self.states.join(", "), noise.join(", ")),
            format!("solver        {}", self.solver),
        ];
        let width = self.estimates.iter().map(|p| p.name.len()).max().unwrap_or(0);
        for (i, p) in self.estimates.iter().enumerate() {
            let error = match p.std_error {
                _ if p.fixed => "given".into(),
                Some(error) => format!("± {}{}", readable(error), if p.held_by_prior { ", mostly prior" } else { "" }),
                None => "no standard error".into(),
            };
            let head = if i == 0 { "parameters" } else { "" };
            lines.push(format!("{head:<13} {:width$}  {} {error}", p.name, readable(p.value)));
        }
        lines.push(format!("time          {:.2} s, {} iterations, seed {}", self.seconds, self.iterations, self.seed));
        lines.extend(self.warnings.iter().map(|warning| format!("note          {warning}")));
        lines.join("\n")
    }
}

/// Write posterior.csv: one row per latent time and state.
pub fn write_posterior(out: &mut dyn Write, fit: &GeneralFit, calendar: &Calendar) -> Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(["time", "dimension", "mean", "sd", "q05", "q25", "q50", "q75", "q95", "jump_probability"])?;
    for (j, time) in fit.times.iter().enumerate() {
        for (marginals, name) in fit.marginals.iter().zip(&fit.model.states) {
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

/// A probable jump of a source.
pub struct Jump {
    /// Number of the time at which its step ends.
    pub place: usize,
    /// Number of the source.
    pub source: usize,
    /// Probability that it was a jump.
    pub probability: f64,
    /// Median and ends of the 90% interval of its size.
    pub size: [f64; 3],
}

/// Probability from which a jump is listed.
const PROBABLE: f64 = 0.5;

/// The probable jumps of all sources, in the order of time.
pub fn jumps(fit: &GeneralFit) -> Vec<Jump> {
    let sources = fit.model.sources.len();
    let mut all = Vec::new();
    for j in 1..fit.times.len() {
        for r in (0..sources).filter(|&r| fit.jump_probability[r][j - 1] >= PROBABLE) {
            let mut sizes: Vec<f64> = fit.smoothed.paths.iter().map(|path| path.jumps[(j - 1) * sources + r]).collect();
            sizes.sort_by(f64::total_cmp);
            let at = |share: f64| sizes[((sizes.len() - 1) as f64 * share).round() as usize];
            let probability = fit.jump_probability[r][j - 1];
            all.push(Jump { place: j, source: r, probability, size: [at(0.5), at(0.05), at(0.95)] });
        }
    }
    all
}

/// Write jumps.csv: one row per probable jump; the dimension is its noise source.
pub fn write_jumps(out: &mut dyn Write, fit: &GeneralFit, calendar: &Calendar) -> Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(["time", "dimension", "probability", "size", "size_q05", "size_q95"])?;
    for jump in jumps(fit) {
        let mut fields = vec![calendar.write(fit.times[jump.place]), fit.model.sources[jump.source].name.clone()];
        for value in [jump.probability].iter().chain(&jump.size) {
            fields.push(figure(*value)?);
        }
        csv.write_record(fields)?;
    }
    Ok(csv.flush()?)
}

/// Write paths.npz: times, paths (path, time, state), weights, and the jumps of the paths.
pub fn write_paths(out: &mut dyn Write, fit: &GeneralFit) -> Result<()> {
    let paths = &fit.smoothed.paths;
    let (count, times, dim) = (paths.len(), fit.times.len(), fit.model.dim());
    let states = paths.iter().flat_map(|path| path.states.iter().copied()).collect();
    npz::write(
        out,
        &[
            Array { name: "times", shape: vec![times], values: fit.times.clone() },
            Array { name: "paths", shape: vec![count, times, dim], values: states },
            Array { name: "weights", shape: vec![count], values: vec![1.0 / count as f64; count] },
            npz::rows("jumps", &fit.jumped),
        ],
    )
}
