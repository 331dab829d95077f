//! Put the report of a fit together, in the order in which a scientist looks.

use anyhow::Result;
use levytilt::internals::Chain;

use super::figure::Axis;
use super::page::{Block, Page, Section};
use super::scene::Scene;
use super::{finding, message, motion, noise, parameters, path, quality, residuals, trace};
use crate::settings::DriftName;
use crate::settings::build_model::latent_times;
use crate::table::input::Table;
use crate::workflow::exact;
use crate::workflow::fit::Outcome;

/// What a fit left to look at.
pub struct Material<'a> {
    /// The fit and its figures.
    pub outcome: &'a Outcome,
    /// The record.
    pub table: &'a Table,
    /// Another model at its best, for comparison.
    pub rival: Option<&'a exact::summary::Summary>,
}

/// The report of a fit.
pub fn fit_page(material: &Material) -> Result<Page> {
    let Material { outcome, table, rival } = *material;
    let summary = &outcome.summary;
    let grid = latent_times(&outcome.settings, outcome.model_times(table))?;
    let columns: Vec<&[f64]> = table.columns.iter().map(Vec::as_slice).collect();
    let chain = Chain::new(&outcome.fit.model, &grid, &columns)?;
    let scene = Scene { outcome, table, chain: &chain, times: Axis::times(&table.calendar, &table.time_name) };
    let all = 0..scene.dim();
    let found = finding::blocks(&scene, rival);
    let mut sections = vec![
        Section::new("finding", "What was found", found),
        Section::new("path", "Data and hidden path", path::blocks(&scene)),
        Section::new(
            "parameters",
            "Parameters",
            std::iter::once(parameters::table(
                &outcome.fit,
                &summary.drift,
                summary.noise,
                outcome.settings.model.size.as_ref(),
            ))
            .chain(summary.parameter_posterior.as_ref().map(parameters::posterior_table))
            .map(Block::Table)
            .collect(),
        ),
        Section::new("quality", "How good is this fit?", quality::blocks(summary, &outcome.fit.diagnosis(), rival)),
        Section::new("drift", "Drift", motion::blocks(&scene)),
        Section::new("noise", "Noise", all.map(|i| noise::blocks(&scene, i)).collect::<Result<Vec<_>>>()?.concat()),
    ];
    if let Some(wrong) = super::outliers::table(&outcome.fit, table) {
        sections.insert(2, Section::new("outliers", "Probably wrong values", vec![Block::Table(wrong)]));
    }
    if let Some(section) = residuals::section(&scene) {
        let place = sections.iter().position(|section| section.id == "drift").unwrap_or(sections.len());
        sections.insert(place, section);
    }
    let steps = trace::figures(&outcome.trace, &outcome.fit, &table.names);
    if !steps.is_empty() {
        sections.push(Section::new("trace", "Convergence", vec![Block::Pair(steps)]));
    }
    if let Some(trained) = &outcome.trained {
        sections.push(Section::new("networks", "Trained message", message::blocks(&scene, trained)));
    }
    let names = table.names.join(", ");
    Ok(Page {
        kind: "fit".into(),
        title: format!("{names}: {}, {} noise", drift_name(&summary.drift), summary.noise),
        lead: format!(
            "{} observations of {names} from {}, modelled by a hidden path of {} steps that {}.",
            summary.observations,
            table.source,
            summary.steps,
            movement(&summary.drift, summary.noise)
        ),
        dimensions: table.names.clone(),
        sections,
        version: summary.version.into(),
        settings: outcome.settings.to_toml()?,
        ..Page::default()
    })
}

fn drift_name(drift: &DriftName) -> String {
    match drift {
        &DriftName::NONE => "no drift".into(),
        DriftName::Formula(text) => format!("drift {text}"),
        DriftName::Listed(name) => format!("{name} drift"),
    }
}

/// What the path does, in words.
fn movement(drift: &DriftName, noise: &str) -> &'static str {
    match (drift, noise) {
        (&DriftName::NONE, "gaussian") => "diffuses",
        (&DriftName::NONE, _) => "jumps",
        (_, "gaussian") => "drifts and diffuses",
        _ => "drifts and jumps",
    }
}
