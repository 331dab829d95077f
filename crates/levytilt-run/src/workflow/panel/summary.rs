//! Say what the fits of a panel found: its summary.json and panel.csv.

use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::io::Write;

use super::SharedSummary;
use crate::number::number;

/// A panel as summary.json has it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PanelSummary {
    /// Name of the input.
    pub data: String,
    /// Column that names the series.
    pub panel: String,
    /// Series in all.
    pub series: usize,
    /// Those fitted.
    pub fitted: usize,
    /// Those that could not be, with their reasons.
    pub failures: Vec<Failure>,
    /// What they share; left out if nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedSummary>,
    /// Version of the program.
    pub version: &'static str,
    /// What a careful reader should know.
    pub warnings: Vec<String>,
    /// One row per series, in the order of the table: the content of panel.csv.
    #[serde(skip)]
    pub rows: Vec<SeriesRow>,
}

/// A series without a fit.
#[derive(Debug, Clone, Serialize)]
pub struct Failure {
    /// Its name.
    pub id: String,
    /// Why.
    pub reason: String,
}

/// One series in panel.csv and in the journal.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SeriesRow {
    /// Its name.
    pub id: String,
    /// Its directory, from that of the panel.
    pub directory: String,
    /// Values observed.
    pub observations: usize,
    /// Log evidence, if it was fitted.
    pub log_evidence: Option<f64>,
    /// Name, value and standard error of every parameter.
    pub parameters: Vec<(String, f64, Option<f64>)>,
    /// Jumps more likely than not.
    pub jumps: usize,
    /// Number of warnings of the fit.
    pub warnings: usize,
    /// Why there is no fit, if there is none.
    pub reason: Option<String>,
}

/// panel.csv: one row per series; an empty field where there is no value.
pub fn write_rows(out: &mut dyn Write, rows: &[SeriesRow]) -> Result<()> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _, _) in rows.iter().flat_map(|row| &row.parameters) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let mut table = csv::Writer::from_writer(out);
    let head = ["id", "directory", "observations", "status", "log_evidence", "jumps"].map(String::from);
    let columns = names.iter().flat_map(|name| [name.to_string(), format!("{name}_se")]);
    table.write_record(head.into_iter().chain(columns).chain(["reason".to_string()]))?;
    for row in rows {
        let status = if row.reason.is_none() { "fitted" } else { "failed" };
        let text = |value: Option<f64>| value.map_or(String::new(), number);
        let mut fields = vec![row.id.clone(), row.directory.clone(), row.observations.to_string(), status.into()];
        fields.extend([text(row.log_evidence), row.jumps.to_string()]);
        for name in &names {
            let found = row.parameters.iter().find(|(known, _, _)| known == name);
            fields.extend([text(found.map(|(_, value, _)| *value)), text(found.and_then(|(_, _, error)| *error))]);
        }
        fields.push(row.reason.clone().unwrap_or_default());
        table.write_record(fields)?;
    }
    Ok(table.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_rows_have_all_columns() {
        let row = |id: &str, parameters: Vec<(String, f64, Option<f64>)>| SeriesRow {
            id: id.into(),
            parameters,
            ..SeriesRow::default()
        };
        let failed = SeriesRow { reason: Some("all, equal".into()), ..row("c", vec![]) };
        let mut out = Vec::new();
        let a = row("a", vec![("alpha".into(), 1.5, Some(0.1))]);
        write_rows(&mut out, &[a, row("b", vec![("scale".into(), 2.0, None)]), failed]).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "id,directory,observations,status,log_evidence,jumps,alpha,alpha_se,scale,scale_se,reason"
        );
        assert_eq!(lines[1], "a,,0,fitted,,0,1.5,0.1,,,");
        assert_eq!(lines[3], "c,,0,failed,,0,,,,,\"all, equal\"");
    }
}
