//! Put the report of a comparison together: the table first, then what the residuals of each model say.

use levytilt::internals::residuals::Check;

use super::calibration::tone;
use super::figure::{Axis, Figure, Layer};
use super::page::{Block, Cell, Page, Section, Table, sentence};
use super::ranking::{CAPTION, HEAD, cells};
use crate::table;
use crate::workflow::compare::table::estimate;
use crate::workflow::compare::{Comparison, Row};

/// Evidence against a check is drawn up to p = 10 to the minus this.
const HIGHEST: f64 = 12.0;

/// The report of a comparison.
pub fn compare_page(found: &Comparison, table: &table::Table) -> Page {
    let mut first: Vec<Block> = lead(found).into_iter().collect();
    first.push(Block::Table(ranking(found)));
    first.extend(found.warnings.iter().map(|warning| Block::Warning(sentence(warning))));
    let mut sections = vec![Section::new("models", "Models", first)];
    sections.extend(residuals(found));
    sections.push(Section::new("parameters", "Parameters", vec![Block::Table(parameters(found))]));
    let notes = |row: &Row| {
        row.warnings.iter().map(|note| Block::Warning(sentence(&format!("{}: {note}", row.model)))).collect::<Vec<_>>()
    };
    let notes: Vec<Block> = found.models.iter().flat_map(notes).collect();
    if !notes.is_empty() {
        sections.push(Section::new("notes", "Notes", notes));
    }
    let held = found.held_out_from.as_ref().map_or(String::new(), |from| {
        format!(" The values from {from} on were held out for the scores; evidence is that of the whole record.")
    });
    Page {
        kind: "comparison".into(),
        title: match &found.best {
            Some(best) if level(found).is_some() => {
                format!("{}: {best} ranks first, but not clearly", table.names.join(", "))
            }
            Some(best) => format!("{}: {best} explains it best", table.names.join(", ")),
            None => format!("{}: no model was finished", table.names.join(", ")),
        },
        lead: format!("{} models of the same {} values.{held}", found.models.len(), found.observations),
        dimensions: vec![],
        sections,
        version: found.version.into(),
        ..Page::default()
    }
}

/// Nats from which the evidence tells two models apart: odds of 20 to 1.
const APART: f64 = 3.0;

/// Of finished models the second, and how far it is behind.
fn second(found: &Comparison) -> Option<(&Row, f64)> {
    found.best.as_ref()?;
    let row = found.models.get(1)?;
    Some((row, row.rated.behind?))
}

/// The second model, if the evidence does not tell it from the first.
fn level(found: &Comparison) -> Option<(&Row, f64)> {
    let error = |row: &Row| row.rated.log_evidence_std_error.unwrap_or(0.0);
    let errors = |row: &Row| error(row).hypot(found.models.first().map_or(0.0, error));
    second(found).filter(|(row, behind)| *behind < APART.max(2.0 * errors(row)))
}

/// Whether the held-out scores do not tell a model from the first.
fn same_held_out(row: &Row) -> bool {
    let score = row.held_out.as_ref().and_then(|score| Some((score.difference?, score.difference_std_error?)));
    score.is_some_and(|(difference, error)| difference.abs() < 2.0 * error)
}

/// How sure the ranking is.
fn lead(found: &Comparison) -> Option<Block> {
    let (row, behind) = second(found)?;
    Some(match level(found) {
        Some(_) => Block::Warning(format!(
            "The first two cannot be distinguished: {} is only {behind:.1} nats behind, less than {APART:.0} or \
             twice the \
             standard error.",
            row.model
        )),
        None => {
            let held = if same_held_out(row) { " On the held-out values the two are level." } else { "" };
            Block::Good(format!("The next model, {}, is {behind:.1} nats behind.{held}", row.model))
        }
    })
}

fn ranking(found: &Comparison) -> Table {
    let remarks = found.models.iter().any(|row| row.rated.error.is_some());
    let row = |row: &Row| {
        let mut all = vec![Cell::text(&row.model)];
        all.extend(cells(&row.rated));
        let verdict = row.residuals.as_ref().map_or("–".into(), |verdict| match verdict.failed.len() {
            0 => "pass".into(),
            failed => format!("{failed} fail"),
        });
        all.push(Cell::text(verdict));
        let held = row.held_out.as_ref();
        all.push(held.map_or_else(|| Cell::text("–"), |score| Cell::number(score.log_score)));
        let difference = held.and_then(|score| Some((score.difference?, score.difference_std_error)));
        all.push(match difference {
            None => Cell::text("–"),
            Some((value, None)) => Cell::number(value),
            Some((value, Some(error))) => Cell::estimate(value, Some(error)),
        });
        all.extend(remarks.then(|| Cell::text(row.rated.error.clone().unwrap_or_default())));
        all
    };
    let head = ["model"].into_iter().chain(HEAD).chain(["residuals", "held-out log score", "difference"]);
    let head = head.chain(remarks.then_some("remark"));
    Table {
        caption: format!(
            "{CAPTION} The held-out log score is the mean of ln p(value | earlier values) with parameters learned before; its \
             difference is to the model with the best result, which is in bold."
        ),
        head: head.map(String::from).collect(),
        rows: found.models.iter().map(row).collect(),
        sortable: true,
        best: found.best.as_ref().map(|_| 0),
    }
}

fn parameters(found: &Comparison) -> Table {
    let names = found.parameter_names();
    let fitted: Vec<&Row> = found.models.iter().filter(|row| !row.estimates.is_empty()).collect();
    let cell = |row: &&Row, name: &str| match row.estimates.iter().find(|p| p.name == name) {
        Some(p) => Cell::text(estimate(p)),
        None => Cell::text(""),
    };
    let row = |name: &&str| {
        std::iter::once(Cell::text(*name)).chain(fitted.iter().map(|row| cell(row, name))).collect::<Vec<_>>()
    };
    Table {
        caption: "Estimates with standard errors, best model first.".into(),
        head: std::iter::once("parameter".to_string()).chain(fitted.iter().map(|row| row.model.clone())).collect(),
        rows: names.iter().map(row).collect(),
        ..Table::default()
    }
}

/// The checks of all models in one figure, and what the failures mean; nothing where no model has residuals.
fn residuals(found: &Comparison) -> Option<Section> {
    let judged: Vec<&Row> = found.models.iter().filter(|row| row.checks.iter().any(|c| !c.checks.is_empty())).collect();
    let first = judged.first()?;
    let mut blocks: Vec<Block> =
        (0..first.checks.len()).map(|i| Block::Figure(Box::new(overlay(found, &judged, i)))).collect();
    let advice = advice(&judged, &found.columns);
    blocks.push(if advice.rows.is_empty() { Block::Text("No check fails.".into()) } else { Block::Table(advice) });
    Some(Section::new("residuals", "Residuals", blocks))
}

/// Evidence of every check against every model, for column `i`.
fn overlay(found: &Comparison, judged: &[&Row], i: usize) -> Figure {
    let checks: &[Check] = judged.first().map_or(&[], |row| &row.checks[i].checks);
    let count = checks.len();
    let several = found.columns.len() > 1;
    let title = if several { format!("{}: residual checks", found.columns[i]) } else { "Residual checks".into() };
    let x = Axis { names: checks.iter().map(Check::name).collect(), ..Axis::linear("check") };
    let mut figure = Figure::new(&format!("residuals-{}", i + 1), title, x, Axis::linear("log₁₀(1/p)"))
        .column("ends", "check", vec![0.5, count as f64 + 0.5])
        .column("limit", "limit", vec![levytilt::internals::residuals::limit(count).recip().log10(); 2])
        .layer(Layer { dash: true, ..Layer::line("failed above this line", "grey", "ends", "limit") });
    for (k, row) in judged.iter().enumerate() {
        let (place, value) = (format!("place{k}"), format!("p{k}"));
        // Beside each other, so that equal ones are seen.
        let shift = 0.5 * ((k as f64 + 0.5) / judged.len() as f64 - 0.5);
        let evidence = row.checks[i].checks.iter().map(|check| check.p_value.recip().log10().min(HIGHEST));
        figure = figure
            .column(&place, "check", (1..=count).map(|c| c as f64 + shift).collect())
            .column(&value, &row.model, evidence.collect())
            .layer(Layer { large: true, ..Layer::points(&row.model, tone(k), &place, &value) });
    }
    figure.caption = format!(
        "Evidence of each check against each model: the true model stays below the line in at least 95% of records. Values \
         above {HIGHEST} are drawn at {HIGHEST}."
    );
    (figure.height, figure.y_include) = (Some(300), vec![0.0]);
    figure
}

/// Every check that fails, of which models, and for the one it fails most clearly what that means and what to try.
fn advice(judged: &[&Row], columns: &[String]) -> Table {
    let mut found: Vec<(String, Vec<&str>, &Check)> = Vec::new();
    for row in judged {
        for (residuals, column) in row.checks.iter().zip(columns) {
            for check in residuals.failures() {
                let name = if columns.len() > 1 { format!("{column}: {}", check.name()) } else { check.name() };
                match found.iter_mut().find(|(known, ..)| *known == name) {
                    None => found.push((name, vec![&row.model], check)),
                    Some((_, models, worst)) => {
                        models.push(&row.model);
                        *worst = if check.p_value < worst.p_value { check } else { worst };
                    }
                }
            }
        }
    }
    let fails = |models: &[&str]| match models.len() {
        all if all == judged.len() && all > 1 => "every model".into(),
        _ => models.join(", "),
    };
    let row = |(name, models, worst): &(String, Vec<&str>, &Check)| {
        vec![Cell::text(name), Cell::text(format!("{} Fails for {}.", sentence(&worst.advice()), fails(models)))]
    };
    Table {
        caption: "What fails, and what to try; the figures are those of the clearest failure.".into(),
        head: ["check", "meaning"].map(String::from).into(),
        rows: found.iter().map(row).collect(),
        ..Table::default()
    }
}
