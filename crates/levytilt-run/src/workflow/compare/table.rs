//! Write a comparison: compare.csv, and the table that a person reads on a terminal.

use anyhow::Result;
use levytilt::internals::fit::Estimate;
use std::io::Write;

use crate::number::{figure, readable, with_error};
use crate::workflow::compare::{Comparison, Row};
use crate::workflow::ranking::lines;

/// Columns of compare.csv before those of the parameters.
const HEAD: [&str; 15] = [
    "model",
    "drift",
    "noise",
    "log_evidence",
    "log_evidence_std_error",
    "learned",
    "penalty",
    "score",
    "behind",
    "residuals",
    "held_out_log_score",
    "held_out_values",
    "held_out_difference",
    "held_out_difference_std_error",
    "remark",
];

/// A parameter as people read it: value and standard error.
pub fn estimate(p: &Estimate) -> String {
    match p.std_error {
        _ if p.fixed => format!("{} (given)", readable(p.value)),
        Some(error) => with_error(p.value, error),
        None => readable(p.value),
    }
}

impl Comparison {
    /// Names of the parameters of all models, in the order of their first appearance.
    pub fn parameter_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for p in self.models.iter().flat_map(|row| &row.estimates) {
            if !names.contains(&p.name.as_str()) {
                names.push(&p.name);
            }
        }
        names
    }

    /// Write compare.csv: one row per model, with two columns per parameter: value and standard error.
    pub fn write_csv(&self, out: &mut dyn Write) -> Result<()> {
        let names = self.parameter_names();
        let mut csv = csv::Writer::from_writer(out);
        let of_parameters = names.iter().flat_map(|name| [name.to_string(), format!("{name}_std_error")]);
        csv.write_record(HEAD.iter().map(|name| name.to_string()).chain(of_parameters))?;
        for row in &self.models {
            let mut fields = row.fields()?;
            for name in &names {
                let found = row.estimates.iter().find(|p| p.name == *name);
                fields.push(optional(found.map(|p| p.value))?);
                fields.push(optional(found.and_then(|p| p.std_error))?);
            }
            csv.write_record(fields)?;
        }
        Ok(csv.flush()?)
    }

    /// The comparison for a terminal.
    pub fn to_text(&self) -> String {
        let rows = self.models.iter().map(|row| (row.model.as_str(), &row.rated));
        let mut all = lines("model", rows).into_iter();
        let mut text: Vec<String> =
            all.next().map(|head| format!("{head}  {:>8}  residuals", "held out")).into_iter().collect();
        for (line, row) in all.zip(&self.models) {
            text.push(if row.rated.score.is_some() { format!("{line}  {}", row.checked()) } else { line });
        }
        text.push(String::new());
        let width = self.models.iter().map(|row| row.model.chars().count()).max().unwrap_or(0);
        for row in self.models.iter().filter(|row| !row.estimates.is_empty()) {
            let all: Vec<String> = row.estimates.iter().map(|p| format!("{} {}", p.name, estimate(p))).collect();
            text.push(format!("{:width$}  {}", row.model, all.join(", ")));
        }
        text.extend(self.notes().into_iter().map(|note| format!("note  {note}")));
        text.push(format!("time  {:.2} s", self.seconds));
        text.join("\n")
    }

    /// Warnings of the table and of its models, each once.
    pub fn notes(&self) -> Vec<String> {
        let own =
            |row: &Row| row.warnings.iter().map(|warning| format!("{}: {warning}", row.model)).collect::<Vec<_>>();
        self.warnings.iter().cloned().chain(self.models.iter().flat_map(own)).collect()
    }
}

impl Row {
    /// Held-out score and verdict.
    fn checked(&self) -> String {
        let score = self.held_out.as_ref().map_or("–".into(), |found| format!("{:.4}", found.log_score));
        let verdict = self.residuals.as_ref().map_or("–".into(), |verdict| verdict.text());
        format!("{score:>8}  {verdict}")
    }

    fn fields(&self) -> Result<Vec<String>> {
        let (rated, held) = (&self.rated, self.held_out.as_ref());
        Ok(vec![
            self.model.clone(),
            self.drift.clone().unwrap_or_default(),
            self.noise.clone().unwrap_or_default(),
            optional(rated.log_evidence)?,
            optional(rated.log_evidence_std_error)?,
            rated.learned.map_or(String::new(), |n| n.to_string()),
            optional(rated.penalty)?,
            optional(rated.score)?,
            optional(rated.behind)?,
            self.residuals.as_ref().map_or(String::new(), |verdict| verdict.text()),
            optional(held.map(|found| found.log_score))?,
            held.map_or(String::new(), |found| found.values.to_string()),
            optional(held.and_then(|found| found.difference))?,
            optional(held.and_then(|found| found.difference_std_error))?,
            rated.error.clone().unwrap_or_default(),
        ])
    }
}

fn optional(value: Option<f64>) -> Result<String> {
    value.map_or(Ok(String::new()), figure)
}
