//! Draw the parameters of a fit from their posterior, weighted by evidence, and say what the draws show.

use anyhow::Result;
use levytilt::internals::fit::{Fit, PosteriorKind, Spec, parameter_posterior};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::ParameterPosterior;
use levytilt::{Error, Result as LibraryResult};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

use crate::failure::bad;
use crate::number::figure;
use crate::settings::{DriftName, Settings, SolveSettings};

/// Draws if no number is given.
pub const DRAWS: usize = 1000;
/// Fewest and most draws.
const ALLOWED: std::ops::RangeInclusive<usize> = 20..=1_000_000;
/// Name of the file with the draws.
pub const DRAWS_FILE: &str = "parameters.csv";
/// Levels of the quantiles.
const LEVELS: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// `parameter_posterior` in summary.json.
#[derive(Debug, Clone, Serialize)]
pub struct PosteriorSummary {
    /// Number of draws.
    pub draws: usize,
    /// Draws that equal weights would be worth.
    pub effective_sample_size: f64,
    /// Shape of the tail of the weights; null where they have none.
    pub k_hat: Option<f64>,
    /// The learned parameters.
    pub parameters: BTreeMap<String, Spread>,
}

/// Posterior of one parameter.
#[derive(Debug, Clone, Serialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Quantiles.
    pub q05: f64,
    /// 25%.
    pub q25: f64,
    /// Median.
    pub q50: f64,
    /// 75%.
    pub q75: f64,
    /// 95%.
    pub q95: f64,
}

impl PosteriorSummary {
    /// What the draws show.
    pub fn new(drawn: &ParameterPosterior) -> Self {
        let spread = |i: usize| {
            let ((mean, sd), q) = (drawn.moments(i), drawn.quantiles(i, &LEVELS));
            Spread { mean, sd, q05: q[0], q25: q[1], q50: q[2], q75: q[3], q95: q[4] }
        };
        Self {
            draws: drawn.draws.len(),
            effective_sample_size: drawn.effective_sample_size,
            k_hat: Some(drawn.k_hat).filter(|k| k.is_finite()),
            parameters: drawn.names.iter().enumerate().map(|(i, name)| (name.clone(), spread(i))).collect(),
        }
    }

    /// The lines a person reads.
    pub fn lines(&self) -> Vec<String> {
        let k_hat = self.k_hat.map_or(String::new(), |k| format!(", k-hat {k:.2}"));
        let head = format!("posterior     {} draws, effective {:.0}{k_hat}", self.draws, self.effective_sample_size);
        let width = self.parameters.keys().map(String::len).max().unwrap_or(0);
        let line = |(name, p): (&String, &Spread)| {
            format!("{:13} {name:width$}  median {:.4}, 90% between {:.4} and {:.4}", "", p.q50, p.q05, p.q95)
        };
        std::iter::once(head).chain(self.parameters.iter().map(line)).collect()
    }
}

/// Refuse, before anything is computed, what has no evidence of a draw.
pub fn refuse_early(settings: &Settings) -> Result<()> {
    if settings.solve.bayes != Some(true) {
        return Ok(());
    }
    let draws = settings.solve.draws.unwrap_or(DRAWS);
    if !ALLOWED.contains(&draws) {
        let (least, most) = (ALLOWED.start(), ALLOWED.end());
        return Err(bad(format!("--draws {draws} is not allowed: must lie between {least} and {most}")));
    }
    if settings.drift() == DriftName::NEURAL {
        return Err(bad(
            "--bayes needs the evidence of every draw, which drift neural does not have; use another drift",
        ));
    }
    Ok(())
}

/// Draw the parameters of what was found, if the settings ask for it.
pub fn draw(
    solve: &SolveSettings,
    fit: &Fit,
    spec: &Spec,
    (grid, columns): (&TimeGrid, &[&[f64]]),
) -> LibraryResult<Option<ParameterPosterior>> {
    if solve.bayes != Some(true) {
        return Ok(None);
    }
    let refused = |got: String, expected: &str| Err(Error::Shape { what: "--bayes", got, expected: expected.into() });
    // Columns that act on each other have unbiased estimates of the evidence instead.
    if fit.posterior != PosteriorKind::Exact && !(columns.len() > 1 && spec.drift.coupled) {
        let why = fit.choices.first().map_or("", |choice| choice.why.as_str());
        let got = format!("a posterior that is {} ({why})", fit.posterior);
        return refused(got, "an exact one: use --method auto, and fewer --steps if the grid is too large");
    }
    if fit.parameters.iter().all(|p| p.fixed) {
        return refused("values for all parameters".into(), "at least one to learn: leave it out");
    }
    let count = (solve.draws.unwrap_or(DRAWS), solve.seed.unwrap_or(1));
    parameter_posterior(fit, spec, (grid, columns), true, count).map(Some)
}

/// What a careful reader should know of the draws.
pub fn warnings(drawn: Option<&ParameterPosterior>) -> Vec<String> {
    let say = |drawn: &ParameterPosterior| {
        (drawn.k_hat > 0.7).then(|| {
            let k = drawn.k_hat;
            format!(
                "the weights of the parameter draws have k-hat {k:.2}, above 0.7: their quantiles cannot be trusted"
            )
        })
    };
    drawn.and_then(say).into_iter().collect()
}

/// Write parameters.csv: draw, weight, one column per learned parameter, log_evidence (empty where there is none).
pub fn write_draws(out: &mut dyn Write, drawn: &ParameterPosterior) -> Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    let names = drawn.names.iter().map(String::as_str);
    csv.write_record(["draw", "weight"].into_iter().chain(names).chain(["log_evidence"]))?;
    for (k, ((draw, weight), evidence)) in drawn.draws.iter().zip(&drawn.weights).zip(&drawn.log_evidences).enumerate()
    {
        let mut fields = vec![(k + 1).to_string(), figure(*weight)?];
        for value in draw {
            fields.push(figure(*value)?);
        }
        fields.push(if evidence.is_finite() { figure(*evidence)? } else { String::new() });
        csv.write_record(fields)?;
    }
    Ok(csv.flush()?)
}
