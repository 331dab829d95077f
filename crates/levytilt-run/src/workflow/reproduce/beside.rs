//! Set a backtest beside what the paper has for it: one row per model, ours and theirs side by side.

use serde::Serialize;

use crate::workflow::backtest::summary::{ModelScores, PERCENTILES, Scores};
use crate::workflow::reproduce::published::PublishedForecast;

/// Which of our models is which of the paper's.
const NAMES: [(&str, &str); 7] = [
    ("tilt", "tilted stable"),
    ("gaussian-sde", "Gaussian SDE"),
    ("deepar", "DeepAR"),
    ("nhits", "N-HiTS"),
    ("dlinear", "DLinear"),
    ("nj-sde", "NJ-SDE"),
    ("neural-mjd", "Neural MJD"),
];

/// A backtest and what the paper has for it.
#[derive(Debug, Serialize)]
pub struct Beside {
    /// Name of the part of the study.
    pub name: &'static str,
    /// Ours.
    pub scores: Scores,
    /// Theirs.
    pub published: &'static [PublishedForecast],
}

impl Beside {
    /// All of ours in a table, then ours beside theirs.
    pub fn to_markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
        let head = self.head();
        let rule = "|---".repeat(head.len()) + "|";
        let mut lines = vec![format!("# {}\n", self.name), self.windows() + "\n"];
        lines.extend(self.scores.table());
        lines.push(format!("\nCompared with the paper:\n\n{}\n{rule}", line(&head)));
        lines.extend(self.rows().iter().map(|row| line(row)));
        lines.join("\n") + "\n"
    }

    fn windows(&self) -> String {
        format!("{} windows, {} skipped.", self.scores.windows.len(), self.scores.skipped.len())
    }

    fn several(&self) -> bool {
        self.scores.dimensions.len() > 1
    }

    fn head(&self) -> Vec<String> {
        let jump = format!("jump CRPS {}", PERCENTILES.map(|p| p.to_string()).join(" / "));
        let side = |who: &str| {
            let energy = self.several().then_some("energy".to_string());
            [who.into(), "CRPS".into()].into_iter().chain(energy).chain([jump.clone()]).collect::<Vec<_>>()
        };
        [side("here"), side("paper")].concat()
    }

    /// Our models, each with its like in the paper; then what the paper has besides.
    fn rows(&self) -> Vec<Vec<String>> {
        let theirs = |ours: &str| {
            let (_, name) = NAMES.iter().find(|(name, _)| *name == ours)?;
            self.published.iter().find(|row| row.model == *name)
        };
        let mut rows: Vec<Vec<String>> = (self.scores.models.iter())
            .map(|model| [self.ours(Some(model)), self.theirs(theirs(&model.name))].concat())
            .collect();
        let run = |row: &&PublishedForecast| {
            self.scores.models.iter().any(|model| theirs(&model.name).is_some_and(|found| found.model == row.model))
        };
        let rest = self.published.iter().filter(|row| !run(row));
        rows.extend(rest.map(|row| [self.ours(None), self.theirs(Some(row))].concat()));
        rows
    }

    fn ours(&self, model: Option<&ModelScores>) -> Vec<String> {
        self.cells(model.map(|model| Figures {
            name: &model.name,
            crps: model.crps,
            energy: model.energy_score,
            jumps: model.jump_crps.iter().map(|jump| jump.crps).collect(),
        }))
    }

    fn theirs(&self, row: Option<&PublishedForecast>) -> Vec<String> {
        self.cells(row.map(|row| Figures {
            name: row.model,
            crps: row.crps,
            energy: row.energy,
            jumps: row.jump.map(Some).to_vec(),
        }))
    }

    /// Name, CRPS, energy score in several dimensions, jump CRPS; dashes for what there is not.
    fn cells(&self, found: Option<Figures>) -> Vec<String> {
        let write = |score: Option<f64>| score.map_or("–".to_string(), |score| format!("{score:.3}"));
        let crps = found.as_ref().map(|f| f.crps);
        let Figures { name, energy, jumps, .. } =
            found.unwrap_or(Figures { name: "–", crps: f64::NAN, energy: None, jumps: vec![None] });
        let jumps: Vec<String> = jumps.into_iter().map(write).collect();
        let energy = self.several().then(|| write(energy));
        [name.to_string(), write(crps)].into_iter().chain(energy).chain([jumps.join(" / ")]).collect()
    }
}

/// What one side has for a model.
struct Figures<'a> {
    name: &'a str,
    crps: f64,
    energy: Option<f64>,
    jumps: Vec<Option<f64>>,
}
