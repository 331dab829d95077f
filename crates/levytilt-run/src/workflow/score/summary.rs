//! Say how good a forecast was: scores.json and the table a person reads.

use levytilt::score::{Estimator, JumpCrps};
use serde::Serialize;

/// The content of scores.json.
#[derive(Debug, Serialize)]
pub struct Scores {
    /// What was forecast and scored: observations or states.
    pub of: &'static str,
    /// Mean CRPS over times of the mean over dimensions.
    pub crps: f64,
    /// How it was estimated.
    pub estimator: Estimator,
    /// Mean energy score over times with all dimensions; null for one dimension, where it is the CRPS.
    pub energy_score: Option<f64>,
    /// Mean variogram score of order ½ over the same times; null for one dimension.
    pub variogram_score: Option<f64>,
    /// How often the mean of all dimensions was below its lower quantiles, over the same times; empty for one dimension.
    pub portfolio: Vec<Exceeded>,
    /// CRPS after the largest moves; empty if no two neighbouring times were seen.
    pub jump_crps: Vec<JumpCrps>,
    /// Scores per dimension.
    pub dimensions: Vec<DimensionScores>,
    /// Scores per time.
    pub times: Vec<TimeScore>,
    /// Number of paths.
    pub paths: usize,
    /// Seed of the transform.
    pub seed: u64,
    /// Version of the program.
    pub version: &'static str,
    /// What a careful reader should know.
    pub warnings: Vec<String>,
}

/// Scores of one dimension, means over its times.
#[derive(Debug, Serialize)]
pub struct DimensionScores {
    /// Its name.
    pub name: String,
    /// Number of times.
    pub targets: usize,
    /// CRPS.
    pub crps: f64,
    /// The part above a threshold.
    pub above: TailScore,
    /// The part below a threshold.
    pub below: TailScore,
    /// Squared error of the mean.
    pub mse: f64,
    /// Absolute error of the median.
    pub mae: f64,
    /// Central intervals.
    pub coverage: Vec<Coverage>,
    /// Quantile scores.
    pub quantile_scores: Vec<QuantileScore>,
    /// Counts of the PIT in equal bins.
    pub pit_histogram: Vec<usize>,
}

/// Threshold-weighted CRPS.
#[derive(Debug, Serialize)]
pub struct TailScore {
    /// The threshold.
    pub threshold: f64,
    /// The score.
    pub crps: f64,
}

/// A central interval.
#[derive(Debug, Serialize)]
pub struct Coverage {
    /// Its probability.
    pub level: f64,
    /// Share of observations inside.
    pub observed: f64,
    /// Mean interval score.
    pub interval_score: f64,
}

/// A lower quantile of the mean of all dimensions.
#[derive(Debug, Serialize)]
pub struct Exceeded {
    /// Its level.
    pub level: f64,
    /// Share of times at which the truth was below it; the level, if the forecast is calibrated.
    pub observed: f64,
    /// Number of times.
    pub times: usize,
}

/// A quantile.
#[derive(Debug, Serialize)]
pub struct QuantileScore {
    /// Its level.
    pub level: f64,
    /// Mean pinball score.
    pub score: f64,
}

/// Scores of one time.
#[derive(Debug, Serialize)]
pub struct TimeScore {
    /// The time as the forecast wrote it.
    pub time: String,
    /// Mean CRPS over the dimensions seen.
    pub crps: f64,
    /// Energy score, if there are several dimensions and all were seen.
    pub energy_score: Option<f64>,
    /// Variogram score of order ½ at such times.
    pub variogram_score: Option<f64>,
    /// Whether the mean of all dimensions was below its 5% and 1% quantiles at such times.
    #[serde(skip)]
    pub below: Option<[bool; 2]>,
}

impl Scores {
    /// The table.
    pub fn to_text(&self) -> String {
        let mut lines = vec![format!("scores of     {}, {} paths, {} times", self.of, self.paths, self.times.len())];
        lines.push(format!("crps          {:.5} (fair)", self.crps));
        lines.extend(self.energy_score.map(|score| format!("energy score  {score:.5}")));
        lines.extend(self.variogram_score.map(|score| format!("variogram     {score:.5} (order 1/2)")));
        if !self.portfolio.is_empty() {
            let cell =
                |row: &Exceeded| format!("{:.1}% below its {}% quantile", 100.0 * row.observed, 100.0 * row.level);
            let cells: Vec<String> = self.portfolio.iter().map(cell).collect();
            lines.push(format!("equal shares  {}", cells.join(", ")));
        }
        if !self.jump_crps.is_empty() {
            let cell = |row: &JumpCrps| row.crps.map_or("-".into(), |crps| format!("{crps:.4} at {}%", row.percentile));
            let cells: Vec<String> = self.jump_crps.iter().map(cell).collect();
            lines.push(format!("jump crps     {} (not a proper score)", cells.join(", ")));
        }
        let width = self.dimensions.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max(9);
        lines.push(format!(
            "\n{:width$}  {:>9} {:>9} {:>9} {:>9} {:>9}   {:<22} {:<20}",
            "dimension", "crps", "above", "below", "mse", "mae", "coverage 50 / 90 / 99%", "pit"
        ));
        lines.extend(self.dimensions.iter().map(|row| row.to_line(width)));
        let tails = self
            .dimensions
            .iter()
            .map(|row| format!("{}: above {:.4}, below {:.4}", row.name, row.above.threshold, row.below.threshold));
        lines.push(format!("tails of {}", tails.collect::<Vec<_>>().join("; ")));
        lines.extend(self.warnings.iter().map(|warning| format!("note: {warning}")));
        lines.join("\n")
    }
}

impl DimensionScores {
    fn to_line(&self, width: usize) -> String {
        let numbers = [self.crps, self.above.crps, self.below.crps, self.mse, self.mae].map(short);
        let cover: Vec<String> = self.coverage.iter().map(|row| format!("{:.1}", 100.0 * row.observed)).collect();
        let pit: Vec<String> = self.pit_histogram.iter().map(usize::to_string).collect();
        let [crps, above, below, mse, mae] = numbers;
        let (name, cover, pit) = (&self.name, cover.join(" / "), pit.join(" "));
        format!("{name:width$}  {crps:>9} {above:>9} {below:>9} {mse:>9} {mae:>9}   {cover:<22} {pit}")
    }
}

/// A number in a narrow column.
fn short(value: f64) -> String {
    if value == 0.0 || (1e-3..1e5).contains(&value.abs()) { format!("{value:.4}") } else { format!("{value:.2e}") }
}
