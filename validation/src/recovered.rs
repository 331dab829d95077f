//! Sum up how well a parameter is recovered from simulated records: bias, spread, and coverage of the intervals that a fit gives.

use levytilt::internals::fit::{Fit, Interval};

/// Estimates of one parameter over records.
#[derive(Debug, Default)]
pub struct Recovered {
    estimates: Vec<f64>,
    errors: Vec<f64>,
    covered: usize,
    below: usize,
    /// Seconds that the fits took.
    pub seconds: f64,
    /// Records whose fit failed.
    pub failed: usize,
}

impl Recovered {
    /// The head of a table of [`Recovered::row`].
    pub const HEAD: &str = "| parameter | truth | mean estimate | bias / its standard error | median | sd | median standard error | 90% \
         intervals cover | truth above / below | failed | seconds per fit |\n|---|---|---|---|---|---|---|---|---|---|---|";

    /// Add the estimate of `name` in a fit.
    pub fn add(&mut self, fit: &Fit, name: &str, truth: f64) {
        let found = fit.parameter(name).and_then(|p| p.interval.map(|interval| (p, interval)));
        let Some((p, Interval { low, high, .. })) = found else {
            self.failed += 1;
            return;
        };
        self.covered += usize::from(low <= truth && truth <= high);
        self.below += usize::from(truth < low);
        self.estimates.push(p.value);
        self.errors.push(p.std_error.unwrap_or(f64::NAN));
        if std::env::var_os("RECOVERED").is_some() {
            eprintln!("{name} {:.4} [{low:.4}, {high:.4}] evidence {:.3}", p.value, fit.evidence.log_evidence);
        }
    }

    /// A row of a table.
    pub fn row(&self, name: &str, truth: f64) -> String {
        let count = self.estimates.len() as f64;
        let centre = self.estimates.iter().sum::<f64>() / count;
        let spread = (self.estimates.iter().map(|e| (e - centre).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
        let fits = count + self.failed as f64;
        format!(
            "| {name} | {truth} | {centre:.4} | {:+.1} | {:.4} | {spread:.4} | {:.4} | {} of {count} ({:.0}%) | {} / {} | {} | {:.1} |",
            (centre - truth) / (spread / count.sqrt()),
            median(&self.estimates),
            median(&self.errors),
            self.covered,
            100.0 * self.covered as f64 / count,
            self.estimates.len() - self.covered - self.below,
            self.below,
            self.failed,
            self.seconds / fits
        )
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
