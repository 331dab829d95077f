//! Write the files of a report, read its content back, and render it again.

use anyhow::Result;
use std::path::{Path, PathBuf};

use super::backtest_page::backtest_page;
use super::made::Made;
use super::page::Page;
use crate::directory::commit;
use crate::directory::entry::Entry;
use crate::directory::lock::{Lock, made_by};
use crate::failure::bad;
use crate::table::bytes::read_json;
use crate::workflow::backtest::summary::Scores;

/// Name of the file with the content of the report, from which it is rendered again.
pub const CONTENT: &str = "report.json";

/// The files of a report: the page, and its content for `levytilt report` and other programs.
pub fn entries<'a>(page: Page) -> Result<[Entry<'a>; 2]> {
    let page = Page { made: Made::now(), ..page };
    let (html, content) = (page.to_html()?, serde_json::to_string(&page)?);
    Ok([Entry::text("report.html", html), Entry::text(CONTENT, content + "\n")])
}

/// Render the report of the run in `dir` again; the path of the page.
pub fn render(dir: &Path) -> Result<PathBuf> {
    let page = read(dir)?;
    Lock::of_any_version(dir)?.save(&[Entry::text("report.html", page.to_html()?)])?;
    Ok(dir.join("report.html"))
}

/// The content of a run's report; of a backtest, made from its scores.
pub fn read(dir: &Path) -> Result<Page> {
    commit::steady(dir, || read_once(dir))
}

fn read_once(dir: &Path) -> Result<Page> {
    let path = dir.join(CONTENT);
    if let (false, Ok(scores)) = (path.exists(), read_json::<Scores>(&dir.join("scores.json"))) {
        let damaged =
            |e| bad(format!("{}: {e}; expected what `levytilt backtest` wrote", dir.join("scores.json").display()));
        return Ok(backtest_page(&scores.map_err(damaged)?));
    }
    let name = path.display();
    let content = read_json(&path).map_err(|e| {
        bad(format!("{name}: cannot be read ({e}); expected a directory that fit, forecast, score, backtest, compare or reproduce wrote with --out"))
    })?;
    content.map_err(|e| bad(format!("{name}: {e}; write the run again with this version{}", made_by(dir))))
}
