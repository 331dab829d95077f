//! Make report.html: a page that shows a result, in one file that opens anywhere.

mod backtest_page;
mod calibration;
pub mod compact;
mod curves;
mod fan;
pub mod figure;
mod fit_page;
mod forecast_page;
mod histogram;
mod law;
mod message;
mod motion;
mod noise;
pub mod page;
mod parameters;
mod path;
mod quality;
mod score_page;
mod svg;
mod ticks;
mod trace;

use anyhow::{Context, Result};
use std::path::Path;

use crate::args::{PlotFormat, RenderArgs};
use crate::failure::bad;
use crate::output::{Entry, save, say};
use page::Page;

pub use backtest_page::backtest_page;
pub use fit_page::{Material, fit_page};
pub use forecast_page::{Outlook, forecast_page};
pub use page::brief;
pub use score_page::score_page;
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
    save(&args.run, &[Entry::text("report.html", page.to_html()?)])?;
    if let Some(PlotFormat::Svg) = args.plots {
        let dir = args.run.join("plots");
        for figure in page.figures() {
            write_file(&dir, &format!("{}.svg", figure.id), &svg::draw(figure))?;
        }
        if !args.quiet {
            say(&format!("written: {}: {} figures", dir.display(), page.figures().len()));
        }
    }
    if !args.quiet {
        say(&format!("written: {}", args.run.join("report.html").display()));
    }
    Ok(())
}

fn write_file(dir: &Path, name: &str, text: &str) -> Result<()> {
    let path = dir.join(name);
    std::fs::create_dir_all(dir)
        .and_then(|()| std::fs::write(&path, text))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// The content of a run's report; of a backtest, made from its scores.
pub fn read(dir: &Path) -> Result<Page> {
    let path = dir.join(CONTENT);
    if let (false, Ok(text)) = (path.exists(), std::fs::read_to_string(dir.join("scores.json"))) {
        let damaged =
            |e| bad(format!("{}: {e}; expected what `levytilt backtest` wrote", dir.join("scores.json").display()));
        return backtest_page(&serde_json::from_str(&text).map_err(damaged)?);
    }
    let name = path.display();
    let text = std::fs::read_to_string(&path).map_err(|e| {
        bad(format!("{name}: cannot be read ({e}); expected a directory that fit, forecast or score wrote with --out"))
    })?;
    serde_json::from_str(&text).map_err(|e| bad(format!("{name}: {e}; write the run again with this version")))
}
