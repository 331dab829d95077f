//! Make report.html: a page that shows a result, in one file that opens anywhere.

mod agreement;
mod backtest_page;
mod calibration;
pub mod compact;
mod curves;
mod fan;
pub mod figure;
mod fit_page;
mod font;
mod forecast_page;
mod histogram;
mod law;
mod lines;
mod message;
mod motion;
mod noise;
pub mod page;
mod parameters;
mod path;
mod picture;
mod plots;
mod png;
mod prices_page;
mod quality;
mod score_page;
mod sheet;
mod svg;
mod synthetic_page;
mod ticks;
mod trace;

use anyhow::Result;
use std::path::Path;

use crate::args::RenderArgs;
use crate::bytes::read_json;
use crate::claim::{Claim, made_by};
use crate::commit;
use crate::failure::bad;
use crate::output::{Entry, say};
use page::Page;

pub use backtest_page::backtest_page;
pub use fit_page::{Material, fit_page};
pub use forecast_page::{Outlook, forecast_page};
pub use page::brief;
pub use plots::draw as draw_plots;
#[cfg(any(test, fuzzing))]
pub use plots::{can_be_painted, draw_one as draw_plot};
pub use prices_page::prices_page;
pub use score_page::score_page;
pub use synthetic_page::synthetic_page;
pub use trace::Segment;

/// Name of the file with the content of the report, from which it is rendered again.
const CONTENT: &str = "report.json";

/// The files of a report: the page, and its content for `levytilt report` and other programs.
pub fn entries<'a>(page: &Page) -> Result<[Entry<'a>; 2]> {
    let (html, content) = (page.to_html()?, serde_json::to_string(page)?);
    Ok([Entry::text("report.html", html), Entry::text(CONTENT, content + "\n")])
}

/// Run `levytilt report`: render the report of a run again.
pub fn run(args: &RenderArgs) -> Result<()> {
    let page = read(&args.run)?;
    Claim::of_any_version(&args.run)?.save(&[Entry::text("report.html", page.to_html()?)])?;
    if !args.quiet {
        say(&format!("written: {}", args.run.join("report.html").display()));
    }
    match args.plots.plots {
        Some(_) => draw_plots(&args.run, &args.plots, args.quiet),
        None => Ok(()),
    }
}

/// The content of a run's report; of a backtest, made from its scores.
pub fn read(dir: &Path) -> Result<Page> {
    commit::steady(dir, || read_once(dir))
}

fn read_once(dir: &Path) -> Result<Page> {
    let path = dir.join(CONTENT);
    if let (false, Ok(scores)) = (path.exists(), read_json(&dir.join("scores.json"))) {
        let damaged =
            |e| bad(format!("{}: {e}; expected what `levytilt backtest` wrote", dir.join("scores.json").display()));
        return backtest_page(&scores.map_err(damaged)?);
    }
    let name = path.display();
    let content = read_json(&path).map_err(|e| {
        bad(format!("{name}: cannot be read ({e}); expected a directory that fit, forecast, score, backtest or reproduce wrote with --out"))
    })?;
    content.map_err(|e| bad(format!("{name}: {e}; write the run again with this version{}", made_by(dir))))
}
