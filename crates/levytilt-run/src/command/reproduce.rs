//! Reproduce a study of the paper and write its tables.

use anyhow::{Context, Result};

use crate::command::backtest;
use crate::directory::entry::Entry;
use crate::directory::lock::Lock;
use crate::report::{self, prices_page, synthetic_page};
use crate::workflow::reproduce::beside::Beside;
use crate::workflow::reproduce::prices::{data, parts};
use crate::workflow::reproduce::synthetic::{self, table::Table};
use crate::workflow::reproduce::{Request, Study};

/// What a study found.
pub enum Found {
    /// Simulated systems.
    Synthetic(Box<Table>),
    /// Backtests on prices, beside the published ones.
    Prices(Vec<Beside>),
}

/// Run the study asked for, and write.
pub fn run(request: &Request) -> Result<Found> {
    let lock = Lock::for_files(&request.out, &["table.json", "table.md", "report.html", "report.json"])?;
    match request.study {
        Study::Synthetic => simulated(request, lock),
        Study::Univariate | Study::Multivariate => prices(request, lock),
    }
}

fn simulated(request: &Request, lock: Lock) -> Result<Found> {
    let table = synthetic::study(request)?;
    let [page, content] = report::entries(synthetic_page(&table))?;
    let markdown = Entry::text("table.md", table.to_markdown());
    lock.save(&[Entry::json("table.json", &table), markdown, page, content])?;
    Ok(Found::Synthetic(Box::new(table)))
}

fn prices(request: &Request, lock: Lock) -> Result<Found> {
    let data = data(request)?;
    let mut tables = Vec::new();
    for part in parts(request.study) {
        let scores = backtest::run(&part.backtest(request, data)).with_context(|| part.name)?;
        tables.push(Beside { name: part.name, scores, published: part.published });
    }
    let markdown: Vec<String> = tables.iter().map(Beside::to_markdown).collect();
    let study = if request.study == Study::Univariate { "Univariate" } else { "Multivariate" };
    let [page, content] = report::entries(prices_page(study, &tables))?;
    let text = Entry::text("table.md", markdown.join("\n"));
    lock.save(&[Entry::json("table.json", &tables), text, page, content])?;
    Ok(Found::Prices(tables))
}
