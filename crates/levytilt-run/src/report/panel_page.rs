//! Put the index of a panel together: what its series share, and one row for each of them.

use super::page::{Block, Cell, Page, Section, Table, sentence};
use crate::number::{brief, with_error};
use crate::workflow::panel::summary::{Failure, PanelSummary, SeriesRow};
use crate::workflow::panel::{SharedRow, SharedSummary};

/// The index of a panel.
pub fn panel_page(summary: &PanelSummary) -> Page {
    let mut sections = Vec::new();
    if let Some(shared) = &summary.shared {
        let mut blocks = vec![Block::Table(shared_table(shared))];
        blocks.extend(summary.warnings.iter().map(|warning| Block::Warning(sentence(warning))));
        sections.push(Section::new("shared", "Shared parameters", blocks));
    }
    sections.push(Section::new("series", "Series", vec![Block::Table(series_table(&summary.rows))]));
    if !summary.failures.is_empty() {
        let row = |failure: &Failure| vec![Cell::text(&failure.id), Cell::text(&failure.reason)];
        let table = Table {
            caption: "Series that could not be fitted; the others are not affected.".into(),
            head: ["series", "reason"].map(String::from).to_vec(),
            rows: summary.failures.iter().map(row).collect(),
            ..Table::default()
        };
        sections.push(Section::new("failures", "Failures", vec![Block::Table(table)]));
    }
    Page {
        kind: "panel".into(),
        title: format!("{}: {} series{}", summary.data, summary.series, common(summary)),
        lead: format!(
            "{} series of column {} fitted, {} failed.",
            summary.fitted,
            summary.panel,
            summary.failures.len()
        ),
        dimensions: vec![],
        sections,
        version: summary.version.into(),
        ..Page::default()
    }
}

/// What all series share, as the end of a title.
fn common(summary: &PanelSummary) -> String {
    let held = summary.shared.iter().flat_map(|shared| &shared.shared).filter(|row| !row.pooled);
    let one = |row: &SharedRow| {
        let value = row.std_error.map_or_else(|| brief(row.estimate), |error| with_error(row.estimate, error));
        format!("{} {value}", row.name)
    };
    let held: Vec<String> = held.map(one).collect();
    if held.is_empty() { String::new() } else { format!(" share {}", held.join(", ")) }
}

fn number(value: Option<f64>) -> Cell {
    value.map_or_else(|| Cell::text("–"), Cell::number)
}

fn shared_table(shared: &SharedSummary) -> Table {
    let pooled = shared.shared.iter().any(|row| row.pooled);
    let mut head = ["parameter", "estimate", "std. error"].map(String::from).to_vec();
    if pooled {
        head.extend(["spread over series", "std. error"].map(String::from));
    }
    let row = |row: &SharedRow| {
        let mut cells = vec![Cell::text(&row.name), Cell::number(row.estimate), number(row.std_error)];
        if pooled {
            cells.extend([number(row.spread), number(row.spread_std_error)]);
        }
        cells
    };
    let pools = if pooled {
        " A parameter with a spread differs from series to series: its estimate is that of a typical one, and the spread is a \
         standard deviation on the scale on which it is learned."
    } else {
        ""
    };
    Table {
        caption: format!(
            "Learned from {} series together, the other parameters of each integrated out. The fits below are given these \
             values.{pools}",
            shared.series
        ),
        head,
        rows: shared.shared.iter().map(row).collect(),
        ..Table::default()
    }
}

fn series_table(rows: &[SeriesRow]) -> Table {
    let fitted = || rows.iter().filter(|row| row.reason.is_none());
    let mut names: Vec<&str> = Vec::new();
    for (name, _, _) in fitted().flat_map(|row| &row.parameters) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let mut head = ["series", "observations", "log evidence", "jumps"].map(String::from).to_vec();
    head.extend(names.iter().map(|name| name.to_string()));
    head.push("warnings".into());
    let row = |row: &SeriesRow| {
        let page = format!("{}/report.html", row.directory);
        let mut cells = vec![Cell::link(&row.id, page), Cell::count(row.observations)];
        cells.extend([number(row.log_evidence), Cell::count(row.jumps)]);
        for name in &names {
            let found = row.parameters.iter().find(|(known, _, _)| known == name);
            cells.push(found.map_or_else(|| Cell::text("–"), |(_, value, error)| Cell::estimate(*value, *error)));
        }
        cells.push(Cell::count(row.warnings));
        cells
    };
    Table {
        caption: "One row per series; its name leads to its report. Estimates are with standard errors; one without was given, \
                  or is shared."
            .into(),
        head,
        rows: fitted().map(row).collect(),
        sortable: true,
        best: None,
    }
}
