//! Put the data sets of the synthetic study together: table.json and table.md.

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;

use crate::failure::bad;
use crate::finite;
use crate::workflow::reproduce::published::{Published, synthetic};
use crate::workflow::reproduce::synthetic::panel::Panel;
use crate::workflow::reproduce::synthetic::published::ITERATIONS;
use crate::workflow::reproduce::synthetic::score::PERCENTILES;
use crate::workflow::reproduce::synthetic::task::{Line, NEURAL, PUBLISHED, Row};
use crate::workflow::reproduce::system::System;

/// The content of table.json.
#[derive(Debug, Serialize)]
pub struct Table {
    /// Settings that decide the figures.
    pub settings: Value,
    /// One cell per system, observation noise and index, and one for all indices together.
    pub cells: Vec<Cell>,
    /// Data sets whose system returns to rest at a rate of 1 or more, ten times and more in a record; all indices together.
    pub returning: Vec<Cell>,
    /// The others, which hardly tell where rest is or how strongly it draws.
    pub lingering: Vec<Cell>,
    /// Cells of the data sets that networks were trained on.
    pub networks: Vec<Cell>,
    /// Cells of the data sets that the method of the paper was trained on, and for how many iterations.
    pub published: Vec<Cell>,
    /// Its iterations; null where it was not asked for.
    pub iterations: Option<usize>,
    /// Data sets on which a way of inference failed; they are left out for all.
    pub failed: Vec<String>,
    /// Posterior paths of a few data sets, for the page alone.
    #[serde(skip)]
    pub panels: Vec<Panel>,
    /// Version of the program.
    pub version: &'static str,
}

/// Figures of one system, observation noise and index.
#[derive(Debug, Serialize)]
pub struct Cell {
    /// The system.
    pub system: System,
    /// Observation standard deviation.
    pub observation_std: f64,
    /// Index; null for all together.
    pub alpha: Option<f64>,
    /// Data sets.
    pub sets: usize,
    /// What the paper has.
    pub published: Option<Published>,
    /// Our ways.
    pub ways: Vec<WayScores>,
}

/// Figures of one way of inference.
#[derive(Debug, Serialize)]
pub struct WayScores {
    /// Its name.
    pub name: String,
    /// Mean CRPS; null where it failed on every data set, as with the others.
    #[serde(serialize_with = "finite::or_null")]
    pub crps: f64,
    /// Mean jump CRPS at 90, 95, 97.5 and 99%; null where no value held out moved that far.
    #[serde(serialize_with = "finite::or_nulls")]
    pub jump_crps: [f64; 4],
    /// Mean absolute errors of the drift's parameters; 0 where the truth was given.
    #[serde(serialize_with = "finite::or_nulls")]
    pub errors: [f64; 2],
    /// Their medians.
    #[serde(serialize_with = "finite::or_nulls")]
    pub median_errors: [f64; 2],
    /// Mean time per data set.
    pub seconds: f64,
}

impl Table {
    /// Figures of all cells that have data.
    pub fn new(lines: &[Line], settings: Value) -> Result<Self> {
        let (good, odd): (Vec<&Line>, Vec<&Line>) =
            lines.iter().partition(|line| line.rows.iter().all(|row| row.error.is_none() || row.name == PUBLISHED));
        let why = |line: &Line| {
            let errors = line.rows.iter().filter_map(|row| Some(format!("{}: {}", row.name, row.error.as_ref()?)));
            format!("{}: {}", line.set.name(), errors.collect::<Vec<_>>().join("; "))
        };
        let unpublished = good.iter().filter(|line| line.rows.iter().any(|row| row.error.is_some()));
        let failed: Vec<String> = odd.iter().chain(unpublished).map(|line| why(line)).collect();
        if good.is_empty() {
            return Err(bad(format!("no data set was inferred by every method: {}", failed.join(" | "))));
        }
        let returns = |line: &&&Line| line.set.system.return_rate(line.truth) >= 1.0;
        let (fast, slow): (Vec<&Line>, Vec<&Line>) = good.iter().partition(returns);
        let together = |lines: &[&Line]| cells(lines).into_iter().filter(|cell| cell.alpha.is_none()).collect();
        let has = |line: &Line, name: &str| line.rows.iter().any(|row| row.name == name && row.error.is_none());
        let of = |name: &str| cells(&good.iter().filter(|line| has(line, name)).copied().collect::<Vec<_>>());
        Ok(Self {
            settings,
            cells: cells(&good),
            returning: together(&fast),
            lingering: together(&slow),
            networks: of(NEURAL),
            published: of(PUBLISHED),
            iterations: lines.iter().flat_map(|line| &line.rows).find_map(|row| row.iterations),
            failed,
            panels: Vec::new(),
            version: env!("CARGO_PKG_VERSION"),
        })
    }

    /// The table that a person reads.
    pub fn to_markdown(&self) -> String {
        let mut lines = vec!["# Synthetic study".to_string()];
        for (i, cell) in self.cells.iter().enumerate() {
            let before = i.checked_sub(1).map(|i| (self.cells[i].system, self.cells[i].observation_std));
            if before != Some((cell.system, cell.observation_std)) {
                lines.extend(heading(cell));
            }
            lines.push(cell.row());
        }
        lines.extend(self.jumps());
        lines.extend(self.split());
        lines.extend(self.trained());
        lines.extend(self.by_paper());
        lines.push(String::new());
        lines.push(
            "CRPS on held-out observations, without observation noise added to the posterior; parameter errors are mean \
             (in brackets median) absolute errors. Published figures are for the paper's own data sets."
                .into(),
        );
        lines.extend(self.failed.iter().map(|failed| format!("\nLeft out: {failed}")));
        lines.join("\n") + "\n"
    }

    /// Jump CRPS of all cells, and what the paper has.
    fn jumps(&self) -> Vec<String> {
        let mut lines = vec![
            format!("\n## Jump CRPS at {}\n", PERCENTILES.map(|p| p.to_string()).join(" / ")),
            "| system | observation noise | α | exact | tilt | gaussian | paper TS | paper G |".into(),
            format!("|{}", "---|".repeat(8)),
        ];
        lines.extend(self.cells.iter().map(|cell| {
            let ours = ["exact", "tilt", "gaussian"].map(|name| cell.jumps(name));
            let theirs = [1, 0].map(|side| cell.published_jumps(side));
            let cells = [&ours[..], &theirs[..]].concat().join(" | ");
            format!("| {} | {} | {} | {cells} |", title(cell.system).0, cell.observation_std, cell.index())
        }));
        lines
    }

    /// Errors of parameters, apart for systems that return fast and slowly.
    fn split(&self) -> Vec<String> {
        let mut lines = vec![
            "\n## Parameter errors by speed of mean reversion\n".into(),
            "| system | observation noise | reversion | sets | first parameter, tilt | gaussian | second, tilt | gaussian |".into(),
            format!("|{}", "---|".repeat(8)),
        ];
        for (cells, returns) in [(&self.returning, "rate of 1 or more"), (&self.lingering, "slower")] {
            lines.extend(cells.iter().map(|cell| {
                let [a, b] = [0, 1].map(|i| format!("{} | {}", cell.error("tilt", i), cell.error("gaussian", i)));
                let Cell { observation_std, sets, .. } = cell;
                format!("| {} | {observation_std} | {returns} | {sets} | {a} | {b} |", title(cell.system).0)
            }));
        }
        lines
    }

    /// The method of the paper beside the others, on the data sets that it was trained on, and what the paper has.
    fn by_paper(&self) -> Vec<String> {
        let Some(iterations) = self.iterations.filter(|_| !self.published.is_empty()) else { return vec![] };
        let mut lines = vec![
            format!("\n## The method of the paper, {iterations} of {ITERATIONS} iterations, on some data sets\n"),
            "| system | observation noise | α | sets | CRPS exact | tilt | gaussian | paper's method | published | first \
             parameter, paper's method | published | second | published | min per set |"
                .into(),
            format!("|{}", "---|".repeat(14)),
        ];
        lines.extend(self.published.iter().map(|cell| {
            let [exact, tilt, gaussian, paper] = ["exact", "tilt", "gaussian", PUBLISHED].map(|name| cell.crps(name));
            let theirs = |of: fn(&Published) -> [f64; 2]| {
                cell.published.as_ref().map_or("–".into(), |published| format!("{:.2}", of(published)[1]))
            };
            let [first, second] = [0, 1].map(|i| cell.error(PUBLISHED, i));
            format!(
                "| {} | {} | {} | {} | {exact:.4} | {tilt:.4} | {gaussian:.4} | {paper:.4} | {} | {first} | {} | {second} | {} | {:.1} |",
                title(cell.system).0,
                cell.observation_std,
                cell.index(),
                cell.sets,
                theirs(|p| p.crps),
                theirs(|p| p.first),
                theirs(|p| p.second),
                cell.way(PUBLISHED).map_or(f64::NAN, |way| way.seconds) / 60.0
            )
        }));
        lines
    }

    /// Networks beside the others, on the data sets that they were trained on.
    fn trained(&self) -> Vec<String> {
        if self.networks.is_empty() {
            return vec![];
        }
        let mut lines = vec![
            "\n## Networks, on the data sets that they were trained on\n".into(),
            "| system | observation noise | α | sets | CRPS exact | tilt | neural | neural / exact | s per set |"
                .into(),
            format!("|{}", "---|".repeat(9)),
        ];
        lines.extend(self.networks.iter().map(|cell| {
            let [exact, tilt, neural] = ["exact", "tilt", "neural"].map(|name| cell.crps(name));
            let seconds = cell.way("neural").map_or(f64::NAN, |way| way.seconds);
            format!(
                "| {} | {} | {} | {} | {exact:.4} | {tilt:.4} | {neural:.4} | {:.3} | {seconds:.0} |",
                title(cell.system).0,
                cell.observation_std,
                cell.index(),
                cell.sets,
                neural / exact
            )
        }));
        lines
    }
}

/// A cell for every system, observation noise and index, and after those of all indices one for them together.
fn cells(lines: &[&Line]) -> Vec<Cell> {
    let mut keys: Vec<(f64, System)> = Vec::new();
    let mut alphas: Vec<f64> = lines.iter().map(|line| line.set.alpha).collect();
    alphas.sort_by(f64::total_cmp);
    alphas.dedup();
    for line in lines {
        let key = (line.set.observation_std, line.set.system);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let mut cells = Vec::new();
    for (observation_std, system) in keys {
        for alpha in alphas.iter().copied().map(Some).chain([None]) {
            let inside = |line: &&&Line| {
                let set = &line.set;
                set.system == system
                    && set.observation_std == observation_std
                    && alpha.is_none_or(|alpha| set.alpha == alpha)
            };
            let own: Vec<&Line> = lines.iter().filter(inside).copied().collect();
            if !own.is_empty() {
                cells.push(cell(&own, (system, observation_std, alpha)));
            }
        }
    }
    cells
}

/// A system and its parameters, by name.
pub fn title(system: System) -> (&'static str, [&'static str; 2]) {
    match system {
        System::Ou => ("Ornstein–Uhlenbeck", ["θ", "μ"]),
        System::DoubleWell => ("Double well", ["θ₁", "θ₂"]),
    }
}

fn heading(cell: &Cell) -> Vec<String> {
    let (title, [first, second]) = title(cell.system);
    vec![
        format!("\n## {title}, observation noise {}\n", cell.observation_std),
        format!(
            "| α | sets | CRPS exact | tilt | tilt / exact | gaussian | paper TS | paper G | {first} tilt | gaussian | paper \
             TS | paper G | {second} tilt | gaussian | paper TS | paper G |"
        ),
        format!("|{}", "---|".repeat(16)),
    ]
}

impl Cell {
    /// A way of inference, by name.
    pub fn way(&self, name: &str) -> Option<&WayScores> {
        self.ways.iter().find(|way| way.name == name)
    }

    /// Mean CRPS of a way; NaN if it is not there.
    pub fn crps(&self, name: &str) -> f64 {
        self.way(name).map_or(f64::NAN, |way| way.crps)
    }

    /// Mean and median error of a parameter.
    pub fn error(&self, name: &str, i: usize) -> String {
        self.way(name).map_or("–".into(), |way| format!("{:.2} ({:.2})", way.errors[i], way.median_errors[i]))
    }

    /// Mean jump CRPS of a way at every percentile.
    pub fn jumps(&self, name: &str) -> String {
        self.way(name).map_or("–".into(), |way| slashed(way.jump_crps))
    }

    /// The same of the paper's Gaussian (0) or tilted stable (1) model.
    pub fn published_jumps(&self, side: usize) -> String {
        self.published.as_ref().map_or("–".into(), |published| slashed(published.jump.map(|pair| pair[side])))
    }

    fn index(&self) -> String {
        self.alpha.map_or("all".into(), |alpha| alpha.to_string())
    }

    fn row(&self) -> String {
        let paper = |figures: fn(&Published) -> [f64; 2]| {
            self.published
                .as_ref()
                .map_or("– | –".into(), |p| format!("{:.2} | {:.2}", figures(p)[1], figures(p)[0]))
        };
        format!(
            "| {} | {} | {:.4} | {:.4} | {:.3} | {:.4} | {} | {} | {} | {} | {} | {} | {} |",
            self.index(),
            self.sets,
            self.crps("exact"),
            self.crps("tilt"),
            self.crps("tilt") / self.crps("exact"),
            self.crps("gaussian"),
            paper(|p| p.crps),
            self.error("tilt", 0),
            self.error("gaussian", 0),
            paper(|p| p.first),
            self.error("tilt", 1),
            self.error("gaussian", 1),
            paper(|p| p.second),
        )
    }
}

fn cell(lines: &[&Line], (system, observation_std, alpha): (System, f64, Option<f64>)) -> Cell {
    // A mean over some of the data sets would not compare with one over all.
    let everywhere = |name: &&str| lines.iter().all(|line| line.rows.iter().any(|row| row.name == *name));
    let names: Vec<&str> = lines[0].rows.iter().map(|row| row.name.as_str()).filter(everywhere).collect();
    let published = synthetic(system, observation_std, alpha);
    let ways = names.iter().map(|name| way(lines, name)).collect();
    Cell { system, observation_std, alpha, sets: lines.len(), published, ways }
}

fn way(lines: &[&Line], name: &str) -> WayScores {
    let rows: Vec<(&Line, &Row)> =
        lines.iter().flat_map(|line| line.rows.iter().filter(|row| row.name == name).map(|row| (*line, row))).collect();
    let errors = |i: usize| -> Vec<f64> {
        rows.iter().filter_map(|(line, row)| Some((row.found?[i] - line.truth[i]).abs())).collect()
    };
    let jump =
        |k: usize| mean(&rows.iter().filter_map(|(_, row)| row.scores.as_ref()?.jump_crps[k]).collect::<Vec<_>>());
    WayScores {
        name: name.into(),
        crps: mean(&rows.iter().filter_map(|(_, row)| Some(row.scores.as_ref()?.crps)).collect::<Vec<_>>()),
        jump_crps: [0, 1, 2, 3].map(jump),
        errors: [mean(&errors(0)), mean(&errors(1))],
        median_errors: [median(errors(0)), median(errors(1))],
        seconds: mean(&rows.iter().map(|(_, row)| row.seconds).collect::<Vec<_>>()),
    }
}

fn slashed(values: [f64; 4]) -> String {
    values.map(|x| if x.is_nan() { "–".into() } else { format!("{x:.2}") }).join(" / ")
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
