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

use anyhow::Result;
use std::path::Path;

use crate::args::{PlotFormat, RenderArgs};
use crate::bytes::read_json;
use crate::claim::{Claim, made_by};
use crate::commit;
use crate::failure::{bad, quoted};
use crate::output::{Entry, say};
use figure::Figure;
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
    Claim::of_any_version(&args.run)?.save(&[Entry::text("report.html", page.to_html()?)])?;
    if let Some(PlotFormat::Svg) = args.plots {
        let dir = args.run.join("plots");
        let plot = |figure: &Figure| Ok(Entry::text(file_name(figure)?, svg::draw(figure)));
        let plots = page.figures().into_iter().map(plot).collect::<Result<Vec<_>>>()?;
        Claim::of_any_version(&dir)?.save(&plots)?;
        if !args.quiet {
            say(&format!("written: {}: {} figures", dir.display(), page.figures().len()));
        }
    }
    if !args.quiet {
        say(&format!("written: {}", args.run.join("report.html").display()));
    }
    Ok(())
}

/// The name of a figure's file. The figure's own comes from a file that anybody may have written.
fn file_name(figure: &Figure) -> Result<String> {
    let id = &figure.id;
    if !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
        return Ok(format!("{id}.svg"));
    }
    Err(bad(format!("{CONTENT}: {} is no name of a figure; expected letters, digits, - and _", quoted(id))))
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
        bad(format!("{name}: cannot be read ({e}); expected a directory that fit, forecast or score wrote with --out"))
    })?;
    content.map_err(|e| bad(format!("{name}: {e}; write the run again with this version{}", made_by(dir))))
}
