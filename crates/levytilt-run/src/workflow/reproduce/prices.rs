//! The studies on hourly prices: backtests that stand beside the published tables.

use anyhow::Result;

use crate::failure::bad;
use crate::settings::DataSettings;
use crate::table::time::Moment;
use crate::workflow::backtest;
use crate::workflow::reproduce::published::{GOOGL, NVDA, PublishedForecast, TEN};
use crate::workflow::reproduce::request::{Request, Study};

/// Tickers of the multivariate study.
const TICKERS: [&str; 10] = ["NVDA", "GOOGL", "MSFT", "AAPL", "AMZN", "META", "TSLA", "AMD", "NFLX", "INTC"];
/// Models that run without trained networks.
const MODELS: &str =
    "random-walk,student-walk,stable-walk,bootstrap-walk,student-walk+clock+adaptive,garch-t,gaussian-sde,tilt";

/// One backtest of a study.
pub struct Part {
    /// Its name.
    pub name: &'static str,
    columns: &'static [&'static str],
    from: &'static str,
    to: &'static str,
    /// What the paper has for it.
    pub published: &'static [PublishedForecast],
}

/// The backtests of a study: NVDA and GOOGL, one at a time, over the spans of the paper; or ten tickers together.
///
/// Windows start at the hour of the first return of the record. With the prices of Yahoo that gives 314 windows of NVDA, as many as
/// the paper has, 305 of GOOGL (paper: 304) and 300 of all ten (302). From midnight there would be 281, 280 and 272.
pub fn parts(study: Study) -> Vec<Part> {
    match study {
        Study::Synthetic => vec![],
        Study::Univariate => vec![
            Part { name: "NVDA", columns: &["NVDA"], from: "2024-03-25T14:30", to: "2026-03-01", published: NVDA },
            Part { name: "GOOGL", columns: &["GOOGL"], from: "2024-04-15T14:30", to: "2026-03-01", published: GOOGL },
        ],
        Study::Multivariate => {
            vec![Part { name: "ten", columns: &TICKERS, from: "2024-06-03T14:30", to: "2026-04-16", published: TEN }]
        }
    }
}

/// The file of prices that a study needs.
pub fn data(request: &Request) -> Result<&str> {
    request.data.as_deref().ok_or_else(|| {
        bad("--data is missing: this study needs a CSV file of hourly prices; see --help for its format")
    })
}

impl Part {
    /// What to backtest for this part of `request`, on the prices in `data`.
    pub fn backtest(&self, request: &Request, data: &str) -> backtest::Request {
        // Two months are enough for a look.
        let to = if request.quick { "2024-07-15" } else { self.to };
        let models = request.models.clone().unwrap_or_else(|| MODELS.split(',').map(String::from).collect());
        let columns = self.columns.iter().map(|name| name.to_string()).collect();
        backtest::Request {
            source: data.into(),
            data: DataSettings { columns: Some(columns), ..DataSettings::default() },
            log_returns: true,
            from: Some(Moment::Text(self.from.into())),
            to: Some(Moment::Text(to.into())),
            models,
            windows: request.windows.clone(),
            training_steps: request.training_steps,
            seed: request.seed,
            threads: request.threads,
            out: request.out.join(self.name),
            quiet: request.quiet,
            ..backtest::Request::default()
        }
    }
}
