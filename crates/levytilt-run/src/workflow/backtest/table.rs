//! Write the scores as a table that a person reads: scores.md.

use std::collections::BTreeMap;

use crate::workflow::backtest::summary::{COVERAGES, Difference, ModelScores, PERCENTILES, Scores};

impl Scores {
    /// The table, and what was left out.
    pub fn to_markdown(&self) -> String {
        let mut lines = vec![
            format!("# Backtest of {}", self.data),
            String::new(),
            format!(
                "{} windows of {}; scores in {}. {}",
                self.windows.len(),
                self.dimensions.join(", "),
                self.unit,
                self.left_out()
            ),
            String::new(),
        ];
        lines.extend(self.table());
        lines.push(String::new());
        lines.push(format!(
            "Differences are means over windows, negative where a model beats {}, with 95% intervals by the block bootstrap \
             and Diebold–Mariano p-values. Tail CRPS is the part of the CRPS beyond the 5% and 95% quantiles of all moves. \
             Coverage has its standard error by the block bootstrap over whole windows. Jump CRPS selects targets by their \
             outcome and is not a proper score; it is given for comparison with published tables.",
            self.reference
        ));
        if self.dimensions.len() > 1 {
            lines.push(
                "Energy and variogram score (order ½) are of all columns together; equal shares is the share of times at \
                 which the mean move of all columns since the last value was below its forecast 5% and 1% quantiles, which \
                 should be 5% and 1%."
                    .into(),
            );
        }
        if self.uneven() {
            lines.push(
                "Not every model forecast every window. A difference is over the windows that both models have; other scores \
                 are over the model's own windows, so compare them by the difference."
                    .into(),
            );
        }
        if !self.failed.is_empty() {
            lines.push(String::new());
            lines.push("Windows excluded for all models because one failed:".into());
            lines.extend(self.failed.iter().map(|f| format!("- {}, {}: {}", f.start, f.model, f.error)));
        }
        lines.extend(self.warnings.iter().map(|warning| format!("\nNote: {warning}.")));
        lines.join("\n") + "\n"
    }

    /// Decimals that show four digits of the smallest CRPS: moves of prices are small.
    fn decimals(&self) -> usize {
        let scores = self.models.iter().map(|model| model.crps).filter(|crps| *crps > 0.0);
        let smallest = scores.fold(f64::INFINITY, f64::min);
        if smallest.is_finite() { (3 - smallest.log10().floor() as i32).clamp(4, 12) as usize } else { 4 }
    }

    /// The rows of the table, also for a terminal.
    pub fn table(&self) -> Vec<String> {
        let several = self.dimensions.len() > 1;
        let energy = match several {
            true => " energy | minus reference, 95% | variogram | minus reference, 95% | equal shares below 5 / 1% |",
            false => "",
        };
        let windows = if self.uneven() { " windows |" } else { "" };
        let slash = |numbers: &[f64], factor: f64| {
            numbers.iter().map(|x| (factor * x).to_string()).collect::<Vec<_>>().join(" / ")
        };
        let mut lines = vec![
            format!(
                "| model |{windows} CRPS | minus {}, 95% | p |{energy} tail CRPS | coverage {} | jump CRPS {} |",
                self.reference,
                slash(&COVERAGES, 100.0),
                slash(&PERCENTILES, 1.0)
            ),
            format!(
                "|---|{}---|---|---|{}---|---|---|",
                if self.uneven() { "---|" } else { "" },
                if several { "---|".repeat(5) } else { String::new() }
            ),
        ];
        lines.extend(self.models.iter().map(|model| row(model, several, self.uneven(), self.decimals())));
        lines
    }

    /// Whether some model forecast fewer windows than there are.
    pub fn uneven(&self) -> bool {
        !self.models.iter().all(|model| self.has_all(model))
    }

    /// Whether a model forecast all windows; those of earlier versions, which do not say, did.
    pub fn has_all(&self, model: &ModelScores) -> bool {
        [0, self.windows.len()].contains(&model.windows)
    }

    /// Windows left out, by reason.
    fn left_out(&self) -> String {
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for left in &self.skipped {
            reasons.entry(&left.reason).or_default().push(&left.start);
        }
        let one = |(reason, starts): (&&str, &Vec<&str>)| {
            format!("{} skipped ({reason}; the first starts at {})", starts.len(), starts[0])
        };
        let parts: Vec<String> = reasons.iter().map(one).collect();
        if parts.is_empty() { "None skipped.".into() } else { parts.join("; ") + "." }
    }
}

fn row(model: &ModelScores, several: bool, uneven: bool, decimals: usize) -> String {
    let cover: Vec<String> = model.coverage.iter().map(|share| percent(share.observed, share.std_error)).collect();
    let jumps: Vec<String> = model
        .jump_crps
        .iter()
        .map(|jump| jump.crps.map_or("–".into(), |crps| format!("{crps:.*}", decimals - 1)))
        .collect();
    let energy = match (several, model.energy_score) {
        (true, Some(score)) => {
            let below: Vec<String> =
                model.portfolio.iter().map(|share| percent(share.observed, share.std_error)).collect();
            format!(
                " {score:.decimals$} | {} | {} | {} | {} |",
                interval(model.energy_difference.as_ref(), decimals),
                model.variogram_score.map_or("–".into(), |score| format!("{score:.decimals$}")),
                interval(model.variogram_difference.as_ref(), decimals),
                if below.is_empty() { "–".into() } else { below.join(" / ") }
            )
        }
        _ => String::new(),
    };
    format!(
        "| {} |{} {:.decimals$} | {} | {} |{energy} {:.decimals$} | {} | {} |",
        model.name,
        if uneven { format!(" {} |", model.windows) } else { String::new() },
        model.crps,
        interval(model.difference.as_ref(), decimals),
        model.difference.as_ref().filter(|d| !d.low.is_nan()).map_or("–".into(), |d| format!("{:.1e}", d.p_value)),
        model.tail_crps,
        cover.join(" / "),
        jumps.join(" / ")
    )
}

/// A share in percent, with its standard error where it is known.
pub fn percent(share: f64, std_error: Option<f64>) -> String {
    let error = std_error.map_or(String::new(), |error| format!(" ± {:.1}", 100.0 * error));
    format!("{:.1}{error}", 100.0 * share)
}

fn interval(difference: Option<&Difference>, decimals: usize) -> String {
    difference.map_or("–".into(), |Difference { mean, low, high, .. }| match low.is_nan() {
        true => format!("{mean:+.decimals$}"),
        false => format!("{mean:+.decimals$} ({low:+.decimals$}, {high:+.decimals$})"),
    })
}
