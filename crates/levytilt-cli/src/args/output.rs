//! Declare the flags that many commands have: how much to compute, what to print, which figures to write.

use clap::Args;
use levytilt_run::failure::bad;
use levytilt_run::report;
use std::path::Path;

/// Whether figures are wanted as files of their own.
#[derive(Debug, Clone, Default, Args)]
pub struct PlotArgs {
    /// Also write the figures of report.html as separate files, into the directory plots beside it
    #[arg(long, value_name = "FORMAT")]
    pub plots: Option<PlotFormat>,
}

impl PlotArgs {
    /// Refuse figures without a place for them, before anything is computed.
    pub fn with_place(&self, out: Option<&Path>) -> anyhow::Result<()> {
        match (self.plots, out) {
            (Some(_), None) => Err(bad("--plots writes beside report.html; give --out DIR too")),
            _ => Ok(()),
        }
    }
}

/// Formats of single figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PlotFormat {
    /// 1800 pixels wide, for slides and messages
    Png,
    /// Scalable, for papers
    Svg,
}

impl From<PlotFormat> for report::PlotFormat {
    fn from(format: PlotFormat) -> Self {
        match format {
            PlotFormat::Png => Self::Png,
            PlotFormat::Svg => Self::Svg,
        }
    }
}

/// How much to compute, and on how many threads.
#[derive(Debug, Clone, Args)]
pub struct EffortArgs {
    /// Number of paths [default: 500 for fit, those of the fit for forecast]
    #[arg(long, value_name = "N", help_heading = "Solver")]
    pub paths: Option<usize>,
    /// Threads, 0 = all cores; results do not depend on it [default: 0]
    #[arg(long, value_name = "N", help_heading = "Solver")]
    pub threads: Option<usize>,
}

/// How to report.
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// Print only errors (and the JSON, if requested)
    #[arg(long)]
    pub quiet: bool,
}

impl ReportArgs {
    /// Whether to print neither words nor notes.
    pub fn wordless(&self) -> bool {
        self.quiet || self.json
    }
}
