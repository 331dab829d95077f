//! Write the results: summary.json, posterior.csv and the printed summary.

use anyhow::Result;
use levytilt::internals::exact::Smoothed;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

use crate::failure::quoted;
use crate::number::figure;
use crate::settings::{DriftName, NoiseName, name_of};
use crate::table::time::Calendar;

/// The content of summary.json.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// Log density of all observations.
    pub log_evidence: f64,
    /// Latent steps.
    pub steps: usize,
    /// Observed values, without the missing ones.
    pub observations: usize,
    /// Name of the observed column.
    pub dimension: String,
    /// Drift by name.
    pub drift: DriftName,
    /// Noise by name.
    pub noise: NoiseName,
    /// Parameters of drift, noise and observation.
    pub parameters: BTreeMap<String, Parameter>,
    /// Mean of the state at the first time.
    pub x0_mean: f64,
    /// Its standard deviation; null if the state is known.
    pub x0_std: Option<f64>,
    /// Unit of time in rates and scales.
    pub time_unit: &'static str,
    /// Lowest and highest state of the grid.
    pub domain: (f64, f64),
    /// Distance of its points.
    pub spacing: f64,
    /// Number of its points.
    pub cells: usize,
    /// Time the computation took.
    pub seconds: f64,
    /// Version of the program.
    pub version: &'static str,
    /// What a careful reader should know.
    pub warnings: Vec<String>,
}

/// A parameter in summary.json.
#[derive(Debug, Clone, Serialize)]
pub struct Parameter {
    /// Its value.
    pub estimate: f64,
    /// Whether it was given.
    pub fixed: bool,
}

impl Summary {
    /// The summary for a terminal.
    pub fn to_text(&self) -> String {
        let parameters: Vec<String> =
            self.parameters.iter().map(|(name, parameter)| format!("{name} {}", parameter.estimate)).collect();
        let start = match self.x0_std {
            None => format!("{} exactly", self.x0_mean),
            Some(std) => format!("Gaussian, mean {}, sd {std}", self.x0_mean),
        };
        let (low, high) = self.domain;
        let mut lines = vec![
            format!("log evidence  {:.4}", self.log_evidence),
            format!(
                "data          {} observations of {}, {} latent steps, time unit: {}",
                self.observations,
                quoted(&self.dimension),
                self.steps,
                self.time_unit
            ),
            format!("model         drift {}, noise {}", name_of(&self.drift), name_of(&self.noise)),
            format!("parameters    {}", parameters.join(", ")),
            format!("start         {start}"),
            format!("grid          {} cells of {:.3e} over [{low:.4}, {high:.4}]", self.cells, self.spacing),
            format!("time          {:.2} s", self.seconds),
        ];
        lines.extend(self.warnings.iter().map(|warning| format!("note          {warning}")));
        lines.join("\n")
    }
}

/// Write posterior.csv: one row per latent time.
pub fn write_posterior(out: &mut dyn Write, smoothed: &Smoothed, calendar: &Calendar, dimension: &str) -> Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(["time", "dimension", "mean", "sd", "q05", "q25", "q50", "q75", "q95"])?;
    for (row, time) in smoothed.times.iter().enumerate() {
        let mut fields = vec![calendar.write(*time), dimension.to_string(), figure(smoothed.mean[row])?];
        for column in std::iter::once(&smoothed.sd).chain(&smoothed.quantiles) {
            // Infinite is what does not exist, or lies beyond the grid.
            fields.push(if column[row].is_infinite() { String::new() } else { figure(column[row])? });
        }
        csv.write_record(fields)?;
    }
    Ok(csv.flush()?)
}
