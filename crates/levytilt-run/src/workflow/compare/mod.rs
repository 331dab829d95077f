//! Compare models of one record: fit each, and put evidence, residuals and out-of-sample scores into one table.

pub mod entrants;
pub mod held_out;
pub mod table;

use anyhow::Result;
use levytilt::Context;
use levytilt::internals::fit::{Estimate, Rating};
use levytilt::internals::residuals::Residuals;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;

use crate::settings::{DriftName, Settings};
use crate::table::Table;
use crate::workflow::compare::entrants::{Entrant, Kind};
use crate::workflow::compare::held_out::{HeldOut, check_holdout, first_part, score_plain, score_written};
use crate::workflow::fit::summary::{ParameterRow, parameters};
use crate::workflow::fit::{Outcome, analyse};
use crate::workflow::general::fit as general;
use crate::workflow::general::summary::posterior as how_found;
use crate::workflow::ranking::{Rated, rank};

/// Below this difference of results, in nats, no model is clearly the best.
const CLEAR: f64 = 3.0;

/// The content of summary.json.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// Name of the best model; null where none was finished.
    pub best: Option<String>,
    /// The models, best first; those that were not finished come last.
    pub models: Vec<Row>,
    /// Names of the observed columns.
    pub columns: Vec<String>,
    /// Observed values.
    pub observations: usize,
    /// Share of the rows at the end that were held out; 0 for none.
    pub holdout: f64,
    /// First time that was held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out_from: Option<String>,
    /// Time the comparison took.
    pub seconds: f64,
    /// Version of the program.
    pub version: &'static str,
    /// What a careful reader should know.
    pub warnings: Vec<String>,
}

/// What became of one model.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Its name.
    pub model: String,
    /// Its drift; null where states are written out.
    pub drift: Option<String>,
    /// Its noise; null where states are written out.
    pub noise: Option<String>,
    /// How well it explains the record.
    #[serde(flatten)]
    pub rated: Rated,
    /// Its parameters.
    pub parameters: BTreeMap<String, ParameterRow>,
    /// What its one-step residuals say; null where it has none.
    pub residuals: Option<Verdict>,
    /// Log score of the values that were held out; null where there is none.
    pub held_out: Option<HeldOut>,
    /// What its paths and marginals are.
    pub posterior: Option<&'static str>,
    /// Time it took.
    pub seconds: f64,
    /// What a careful reader should know of it.
    pub warnings: Vec<String>,
    /// The checks of its residuals, per column.
    #[serde(skip)]
    pub checks: Vec<Residuals>,
    /// The estimates in their own order.
    #[serde(skip)]
    pub estimates: Vec<Estimate>,
}

/// What one-step residuals say of a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// Whether no check failed.
    pub passed: bool,
    /// The checks that failed, such as `season (day)`; with its name in front where there are several columns.
    pub failed: Vec<String>,
}

impl Verdict {
    fn new(checks: &[Residuals], names: &[String]) -> Option<Self> {
        if checks.is_empty() || checks.iter().any(|found| found.checks.is_empty()) {
            return None;
        }
        let named = |name: &String, what: String| if names.len() > 1 { format!("{name}: {what}") } else { what };
        let failed: Vec<String> = checks
            .iter()
            .zip(names)
            .flat_map(|(found, name)| found.failures().map(move |check| named(name, check.name())))
            .collect();
        Some(Self { passed: failed.is_empty(), failed })
    }

    /// In a few words.
    pub fn text(&self) -> String {
        if self.passed { "pass".into() } else { format!("fail: {}", self.failed.join(", ")) }
    }
}

impl AsRef<Rated> for Row {
    fn as_ref(&self) -> &Rated {
        &self.rated
    }
}

impl AsMut<Rated> for Row {
    fn as_mut(&mut self) -> &mut Rated {
        &mut self.rated
    }
}

/// Who watches one entrant, and may ask for an end.
struct Watch<'a> {
    context: Context,
    asked: &'a dyn Fn() -> bool,
}

impl Watch<'_> {
    /// Whether an end was asked for, in the fit that has just returned or before.
    fn has_ended(&self) -> bool {
        self.context.stopped() || (self.asked)()
    }
}

/// Fit every entrant to `table`, best first; `context` is told how it goes and may ask for an end, as may `asked` between
/// fits.
///
/// A model that fails, or is not finished when an end is asked for, is listed with the reason and not ranked.
///
/// # Errors
/// A share held out that leaves too little; settings that no model can have.
pub fn compare(
    entrants: Vec<Entrant>,
    table: &Table,
    holdout: f64,
    context: &Context,
    asked: &dyn Fn() -> bool,
) -> Result<Comparison> {
    let started = Instant::now();
    check_holdout(holdout)?;
    entrants.iter().try_for_each(|entrant| entrant.check(table))?;
    let first = (holdout > 0.0).then(|| first_part(table, holdout)).transpose()?;
    let mut models: Vec<Row> = Vec::new();
    for entrant in &entrants {
        let began = Instant::now();
        let watch = Watch { context: context.about(&entrant.name), asked };
        let row = match watch.has_ended() {
            true => entrant.unfinished("unfinished: not begun"),
            false => one(entrant, table, first.as_ref(), &watch),
        };
        models.push(Row { seconds: began.elapsed().as_secs_f64(), ..row });
    }
    rank(&mut models);
    held_out::against_the_best(&mut models);
    let best = models.first().filter(|row| row.rated.score.is_some()).map(|row| row.model.clone());
    let held_out_from = first.as_ref().map(|first| table.calendar.write(table.times[first.times.len()]));
    Ok(Comparison {
        best,
        warnings: warnings(&models).into_iter().chain(table.notes.iter().cloned()).collect(),
        models,
        columns: table.names.clone(),
        observations: table.columns.iter().flatten().filter(|value| !value.is_nan()).count(),
        holdout,
        held_out_from,
        seconds: started.elapsed().as_secs_f64(),
        version: env!("CARGO_PKG_VERSION"),
    })
}

/// Fit one entrant to the whole record and, for its score, to the first part of it.
fn one(entrant: &Entrant, table: &Table, first: Option<&Table>, watch: &Watch) -> Row {
    let row = match &entrant.kind {
        Kind::Plain(settings) => plain(entrant, settings, table, watch),
        Kind::Written(_) => written(entrant, table, &watch.context),
    };
    if watch.has_ended() {
        return entrant.unfinished("unfinished: stopped while it was learned");
    }
    let mut row = match row {
        Ok(row) => row,
        Err(error) => return entrant.failed(&format!("failed: {error:#}")),
    };
    let Some(first) = first else { return row };
    let scored = match &entrant.kind {
        Kind::Plain(settings) => score_plain(settings, first, table, &watch.context),
        Kind::Written(model) => score_written(model, first, table, &watch.context),
    };
    match scored {
        _ if watch.has_ended() => row.warnings.push("the score of the held-out part was stopped".into()),
        Ok(score) => row.held_out = Some(score),
        Err(error) => row.warnings.push(format!("no score of the held-out part: {error:#}")),
    }
    row
}

fn plain(entrant: &Entrant, settings: &Settings, table: &Table, watch: &Watch) -> Result<Row> {
    let Outcome { summary, fit, filtered, trading, .. } = analyse(settings.clone(), table, &watch.context)?;
    let checks = filtered.map_or(Vec::new(), |found| found.residuals);
    let mut warnings = summary.warnings;
    // The verdict stands in a column of its own; what each failure means is shown below the table.
    warnings
        .retain(|warning| !checks.iter().any(|found| found.failures().any(|check| warning.ends_with(&check.advice()))));
    if settings.drift() == DriftName::NEURAL {
        warnings.push("the weights of the network are not counted in the penalty: look at the held-out score".into());
    }
    // The lengths of a clock are learned from the same record as everything else.
    let of_clock = trading.and_then(|trading| trading.record.clock).map_or(0, |clock| clock.learned());
    let learned = fit.parameters.iter().filter(|p| !p.fixed).count() + of_clock;
    let (log_evidence, std_error) = (fit.evidence.log_evidence, fit.evidence.std_error);
    Ok(Row {
        noise: Some(summary.noise.to_string()),
        rated: Rated::new(Ok(Rating::new(log_evidence, std_error, learned, fit.observations)), false),
        parameters: summary.parameters,
        residuals: Verdict::new(&checks, &table.names),
        posterior: Some(fit.posterior.name()),
        warnings,
        checks,
        estimates: summary.estimates,
        ..entrant.row()
    })
}

fn written(entrant: &Entrant, table: &Table, context: &Context) -> Result<Row> {
    let Kind::Written(model) = &entrant.kind else { return Ok(entrant.row()) };
    let fit = general::analyse(model, table, &entrants::options(model), context)?;
    let learned = fit.parameters.iter().filter(|p| !p.fixed).count();
    let evidence = &fit.smoothed.evidence;
    Ok(Row {
        rated: Rated::new(Ok(Rating::new(evidence.log_evidence, evidence.std_error, learned, fit.observations)), false),
        parameters: parameters(&fit.parameters),
        posterior: Some(how_found(&fit)),
        warnings: fit.warnings,
        estimates: fit.parameters,
        ..entrant.row()
    })
}

/// What a reader of the whole table should know.
fn warnings(models: &[Row]) -> Vec<String> {
    let mut all = Vec::new();
    let missing = models.iter().filter(|row| row.rated.score.is_none()).count();
    if missing > 0 {
        all.push(format!("{missing} of {} models were not finished and are not ranked", models.len()));
    }
    let ranked: Vec<&Row> = models.iter().filter(|row| row.rated.score.is_some()).collect();
    if let [first, second, ..] = ranked[..] {
        let gap = second.rated.behind.unwrap_or(f64::NAN);
        let error = |row: &Row| row.rated.log_evidence_std_error.unwrap_or(0.0);
        let unsure = 2.0 * error(first).hypot(error(second));
        if gap < CLEAR.max(unsure) {
            all.push(format!(
                "{} and {} differ by {gap:.2} nats only: the record does not clearly prefer either",
                first.model, second.model
            ));
        }
    }
    if !ranked.is_empty() && ranked.iter().all(|row| row.residuals.as_ref().is_some_and(|found| !found.passed)) {
        all.push(
            "the residuals of every model fail a check: even the best of these models does not describe the record"
                .into(),
        );
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::input::from_numbers;
    use std::ops::ControlFlow;

    #[test]
    fn identity_what_was_not_begun_is_listed_and_not_ranked() {
        let times: Vec<f64> = (0..40).map(f64::from).collect();
        let values: Vec<f64> = times.iter().map(|t| (1.3 * t).sin()).collect();
        let table = from_numbers("waves", vec!["v".into()], &times, &[values]).unwrap();
        let entrants = ["a", "b"].map(|name| Entrant::plain(name.into(), Settings::default())).to_vec();
        let found = compare(entrants, &table, 0.2, &Context::watched(|_| ControlFlow::Break(())), &|| true).unwrap();
        assert_eq!((found.best.as_deref(), found.models.len()), (None, 2));
        assert!(found.models.iter().all(|row| row.rated.unfinished && row.rated.behind.is_none()));
        assert!(found.warnings.iter().any(|warning| warning.contains("2 of 2 models were not finished")));
        assert!(found.to_text().contains("unfinished: not begun"), "{}", found.to_text());
    }
}
