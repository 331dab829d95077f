//! Panel: learn what the series of a long table share, and set it for each of them.

pub mod summary;

use anyhow::Result;
use levytilt::Context;
use levytilt::internals::fit::{FitOptions, Record, learn_shared_with};
use levytilt::internals::parameter::Prior;
use levytilt::internals::solve::{LearnOptions, Method, Share, Shared};
use serde::{Deserialize, Serialize};

use crate::failure::bad;
use crate::settings::build_model::{latent_times, open_model};
use crate::settings::{Clock, DriftName, NoiseName, Settings, Volatility, season};
use crate::table::Table;
use crate::workflow::fit::resolve_defaults;

/// What the series of a panel share.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SharedSummary {
    /// The parameters.
    pub shared: Vec<SharedRow>,
    /// Sum over series of the log evidence, each series' own parameters integrated out.
    pub log_evidence: f64,
    /// Series that were learned from.
    pub series: usize,
    /// Steps taken.
    pub iterations: usize,
    /// What a careful reader should know.
    pub warnings: Vec<String>,
}

/// A shared parameter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SharedRow {
    /// Its name.
    pub name: String,
    /// The value of all series, or of a typical one if it is pooled.
    pub estimate: f64,
    /// Its standard error; null where there is none.
    pub std_error: Option<f64>,
    /// Whether series differ in it.
    pub pooled: bool,
    /// If they do: mean over series on the scale on which it is learned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// Standard deviation over series on that scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
    /// Standard error of that standard deviation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread_std_error: Option<f64>,
}

impl SharedRow {
    fn new(found: &Shared) -> Self {
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        Self {
            name: found.name.clone(),
            estimate: found.value,
            std_error: finite(found.std_error),
            pooled: found.law.is_some(),
            mean: found.law.map(|law| law.mean),
            spread: found.law.map(|law| law.std),
            spread_std_error: found.law.zip(found.log_spread_error).and_then(|(law, error)| finite(law.std * error)),
        }
    }
}

/// The parameters that `settings` ask to share.
///
/// # Errors
/// A name that is none.
pub fn shares(settings: &Settings) -> Result<Vec<Share>> {
    let one =
        |text: &String| text.parse::<Share>().map_err(|_| bad(format!("--share {text}: expected names such as alpha")));
    settings.data.share.iter().flatten().map(one).collect()
}

/// Learn what `tables` share; `context` is told how it goes, and may ask for an end.
///
/// # Errors
/// A parameter that cannot be shared, or a kind of model that cannot share any; no table that can be used.
pub fn learn(settings: &Settings, tables: &[&Table], context: &Context) -> Result<SharedSummary> {
    let shares = shares(settings)?;
    let mut settings = alone(settings);
    let Some(first) = tables.first() else { return Err(bad("there is no series to learn from")) };
    resolve_defaults(&mut settings)?;
    season::resolve(&mut settings.drift, &first.calendar)?;
    check(&settings, tables)?;
    let spec = open_model(&settings, &first.names, "fit")?;
    let record = |table: &&Table| -> Result<Record> {
        Ok(Record { grid: latent_times(&settings, &table.times)?, values: table.columns[0].clone() })
    };
    let records = tables.iter().map(record).collect::<Result<Vec<_>>>()?;
    let options = FitOptions { learn: LearnOptions::default(), ..FitOptions::default() };
    let found = learn_shared_with(&spec, &records, &shares, &options, context)?;
    Ok(SharedSummary {
        shared: found.shared.iter().map(SharedRow::new).collect(),
        log_evidence: found.log_evidence,
        series: tables.len() - found.failures.len(),
        iterations: found.iterations,
        warnings: found.warnings,
    })
}

/// Parameters are shared on the exact evidence of one column.
fn check(settings: &Settings, tables: &[&Table]) -> Result<()> {
    let wrong = |what: String, remedy: &str| {
        Err(bad(format!("--share cannot be combined with {what}; {remedy}, or leave --share out")))
    };
    if let Some(table) = tables.iter().find(|table| table.names.len() != 1) {
        return wrong(
            format!("{} value columns ({})", table.names.len(), table.names.join(", ")),
            "choose one with --column",
        );
    }
    if settings.noise() == NoiseName::AUTO {
        return wrong("--noise auto".into(), "choose a family of noise");
    }
    if settings.drift() == DriftName::NEURAL {
        return wrong("--drift neural".into(), "choose another drift");
    }
    if settings.model.clock == Some(Clock::Business) || settings.model.volatility == Some(Volatility::Recent) {
        return wrong("--clock business or --volatility recent".into(), "leave that out");
    }
    if settings.data.error_column.is_some() {
        return wrong("--error-column".into(), "leave that out");
    }
    match settings.solve.method {
        None | Some(Method::Auto | Method::Grid) => Ok(()),
        Some(method) => wrong(format!("--method {method}"), "use auto or grid"),
    }
}

/// The settings of one series of a panel.
pub fn alone(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    (settings.data.panel, settings.data.share) = (None, None);
    settings
}

/// The settings of one series, given what all share: a shared value is held, a pooled one has its law as prior.
///
/// # Errors
/// A name that no settings file can hold.
pub fn given(settings: &Settings, shared: &[SharedRow]) -> Result<Settings> {
    let mut settings = alone(settings);
    for row in shared {
        match row.mean.zip(row.spread) {
            Some((mean, std)) => {
                let named = settings.parameters.entry(row.name.clone()).or_default();
                *named = named.with_prior(Prior { mean, std });
            }
            None => settings.hold(&row.name, row.estimate)?,
        }
    }
    Ok(settings)
}
