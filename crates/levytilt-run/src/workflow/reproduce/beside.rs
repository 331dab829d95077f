//! Set a backtest beside what the paper has for it: one row per model, ours and theirs side by side.

use serde::Serialize;

use crate::workflow::backtest::summary::{ModelScores, PERCENTILES, Scores};
use crate::workflow::reproduce::published::PublishedForecast;

/// Which of our models is which of the paper's.
const NAMES: [(&str, &str); 7] = [
    ("paper", "tilted stable"),
    ("paper-gaussian", "Gaussian SDE"),
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
            let mut head = vec![who.to_string(), "CRPS".into(), "sd".into()];
            head.extend(self.several().then(|| "energy".into()));
            head.extend([jump.clone(), "coverage 50 / 90".into(), "min/window".into()]);
            head
        };
        [vec!["windows".into()], side("here"), side("paper")].concat()
    }

    /// Our models, each with its like in the paper; then what the paper has besides.
    fn rows(&self) -> Vec<Vec<String>> {
        let theirs = |ours: &str| {
            // What is added to a name says how much of it was computed.
            let (_, name) = NAMES.iter().find(|(name, _)| Some(*name) == ours.split('+').next())?;
            self.published.iter().find(|row| row.model == *name)
        };
        let mut rows: Vec<Vec<String>> = (self.scores.models.iter())
            .map(|model| {
                let windows = vec![model.windows.to_string()];
                [windows, self.ours(Some(model)), self.theirs(theirs(&model.name))].concat()
            })
            .collect();
        let run = |row: &&PublishedForecast| {
            self.scores.models.iter().any(|model| theirs(&model.name).is_some_and(|found| found.model == row.model))
        };
        let rest = self.published.iter().filter(|row| !run(row));
        rows.extend(rest.map(|row| [vec!["–".into()], self.ours(None), self.theirs(Some(row))].concat()));
        rows
    }

    fn ours(&self, model: Option<&ModelScores>) -> Vec<String> {
        self.cells(model.map(|model| {
            let covered = |level: f64| model.coverage.iter().find(|share| share.level == level);
            Figures {
                name: &model.name,
                crps: model.crps,
                std: model.crps_std,
                energy: model.energy_score,
                jumps: model.jump_crps.iter().map(|jump| jump.crps).collect(),
                coverage: [0.5, 0.9].map(|level| covered(level).map(|share| share.observed)),
                minutes: Some(model.seconds_per_window / 60.0),
            }
        }))
    }

    fn theirs(&self, row: Option<&PublishedForecast>) -> Vec<String> {
        self.cells(row.map(|row| Figures {
            name: row.model,
            crps: row.crps,
            std: row.std,
            energy: row.energy,
            jumps: row.jump.map(Some).to_vec(),
            coverage: row.coverage,
            minutes: row.minutes,
        }))
    }

    /// Name, CRPS and its standard deviation over windows, energy score in several dimensions, jump CRPS, coverage and time;
    /// dashes for what there is not.
    fn cells(&self, found: Option<Figures>) -> Vec<String> {
        let dash = || "–".to_string();
        let Some(found) = found else {
            return vec![dash(); if self.several() { 7 } else { 6 }];
        };
        let write = |score: f64| if score.is_nan() { dash() } else { format!("{score:.3}") };
        let all = |cells: Vec<String>| if cells.iter().all(|cell| *cell == "–") { dash() } else { cells.join(" / ") };
        let percent = |share: &Option<f64>| share.map_or_else(dash, |share| format!("{:.1}", 100.0 * share));
        let mut cells = vec![found.name.to_string(), write(found.crps), write(found.std)];
        cells.extend(self.several().then(|| found.energy.map_or_else(dash, write)));
        cells.push(all(found.jumps.iter().map(|jump| jump.map_or_else(dash, write)).collect()));
        cells.push(all(found.coverage.iter().map(percent).collect()));
        cells.push(found.minutes.map_or_else(dash, minutes));
        cells
    }
}

/// Minutes in as many digits as tell.
fn minutes(minutes: f64) -> String {
    if minutes < 0.1 { format!("{minutes:.4}") } else { format!("{minutes:.1}") }
}

/// What one side has for a model.
struct Figures<'a> {
    name: &'a str,
    crps: f64,
    std: f64,
    energy: Option<f64>,
    jumps: Vec<Option<f64>>,
    coverage: [Option<f64>; 2],
    minutes: Option<f64>,
}
