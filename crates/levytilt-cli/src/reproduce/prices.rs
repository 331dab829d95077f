//! Run `levytilt reproduce univariate` and `multivariate`: backtests on hourly prices beside the published tables.

use anyhow::{Context, Result};

use crate::args::{PlotArgs, ReportArgs};
use crate::backtest::args::BacktestArgs;
use crate::backtest::backtest;
use crate::claim::Claim;
use crate::failure::bad;
use crate::finite;
use crate::output::{Entry, say};
use crate::report::{self, prices_page};
use crate::reproduce::args::{ReproduceArgs, Study};
use crate::reproduce::beside::Beside;
use crate::reproduce::published::{GOOGL, NVDA, PublishedForecast, TEN};
use crate::settings::DataSettings;

/// Tickers of the multivariate study.
const TICKERS: [&str; 10] = ["NVDA", "GOOGL", "MSFT", "AAPL", "AMZN", "META", "TSLA", "AMD", "NFLX", "INTC"];
/// Models that run without trained networks.
const MODELS: &str =
    "random-walk,student-walk,stable-walk,bootstrap-walk,student-walk+clock+adaptive,garch-t,gaussian-sde,tilt";

/// One backtest of a study.
struct Part {
    name: &'static str,
    columns: &'static [&'static str],
    from: &'static str,
    to: &'static str,
    published: &'static [PublishedForecast],
}

/// NVDA and GOOGL, one at a time, over the spans of the paper.
pub fn univariate(args: &ReproduceArgs, claim: Claim) -> Result<()> {
    let nvda = Part { name: "NVDA", columns: &["NVDA"], from: "2024-03-25", to: "2026-03-01", published: NVDA };
    let googl = Part { name: "GOOGL", columns: &["GOOGL"], from: "2024-04-15", to: "2026-03-01", published: GOOGL };
    run(args, claim, &[nvda, googl])
}

/// Ten tickers together.
pub fn multivariate(args: &ReproduceArgs, claim: Claim) -> Result<()> {
    run(args, claim, &[Part { name: "ten", columns: &TICKERS, from: "2024-06-01", to: "2026-04-13", published: TEN }])
}

fn run(args: &ReproduceArgs, claim: Claim, parts: &[Part]) -> Result<()> {
    let Some(data) = &args.data else {
        return Err(bad(
            "--data is missing: this study needs a CSV file of hourly prices; --help says how to make one",
        ));
    };
    let mut tables = Vec::new();
    for part in parts {
        let scores = backtest(&settings(args, data, part)).with_context(|| part.name)?;
        tables.push(Beside { name: part.name, scores, published: part.published });
    }
    let markdown: Vec<String> = tables.iter().map(Beside::to_markdown).collect();
    let study = if args.study == Study::Univariate { "Univariate" } else { "Multivariate" };
    let [page, content] = report::entries(&prices_page(study, &tables)?)?;
    let text = Entry::text("table.md", markdown.join("\n"));
    claim.save(&[Entry::json("table.json", &tables), text, page, content])?;
    if args.report.json {
        say(&finite::json(&tables)?);
    } else if !args.report.quiet {
        markdown.iter().for_each(|table| say(table));
        say(&format!("written: {}: report.html, table.json, table.md", args.out.display()));
    }
    report::draw_plots(&args.out, &args.plots, args.report.wordless())
}

fn settings(args: &ReproduceArgs, data: &str, part: &Part) -> BacktestArgs {
    // Two months are enough for a look.
    let to = if args.quick { "2024-07-15" } else { part.to };
    let models = args.models.clone().unwrap_or_else(|| MODELS.split(',').map(String::from).collect());
    BacktestArgs {
        cluster: None,
        source: data.into(),
        data: DataSettings { column: None, columns: Some(part.columns.iter().map(|name| name.to_string()).collect()) },
        log_returns: true,
        train: "30d".into(),
        horizon: "2d".into(),
        stride: None,
        from: Some(part.from.into()),
        to: Some(to.into()),
        least: 20,
        models,
        reference: None,
        training_steps: args.training_steps,
        paths: 1000,
        seed: args.seed,
        threads: args.threads,
        out: args.out.join(part.name),
        plots: PlotArgs::default(),
        report: ReportArgs { json: false, quiet: args.report.quiet },
    }
}
