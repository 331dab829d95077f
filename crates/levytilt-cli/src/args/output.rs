//! Declare the flags that many commands have: how much to compute, what to print, which figures to write.

use clap::Args;
use levytilt_run::failure::bad;
use levytilt_run::report;
use levytilt_run::table::Format;
use levytilt_run::table::decimal::Decimal;
use levytilt_run::table::separator::Separator;
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

/// How a table is written, where it does not show by itself.
#[derive(Debug, Clone, Default, Args)]
pub struct TableArgs {
    /// Column that holds the times [default: the first, or the first after row numbers]
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    pub time_column: Option<String>,
    /// How dates are written, such as %d.%m.%Y; or seconds, milliseconds (Unix time), or number [default: recognised]
    #[arg(long, value_name = "FORMAT", help_heading = "Data")]
    pub date_format: Option<String>,
    /// What separates fields: comma, semicolon, tab, pipe or space [default: recognised]
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    pub separator: Option<Separator>,
    /// Decimal mark: point or comma [default: recognised]
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    pub decimal: Option<Decimal>,
}

impl TableArgs {
    /// What was said.
    pub fn format(&self) -> Format {
        let Self { time_column, date_format, separator, decimal } = self.clone();
        Format { separator, decimal, date_format, time_column }
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
