//! Fit every series of a long table, keep each as it is finished, and write an index of all.

use anyhow::Result;
use levytilt::Context;
use levytilt::internals::solve::LearnedBefore;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::command::fit::save;
use crate::directory::entry::Entry;
use crate::directory::journal::Journal;
use crate::directory::lock::Lock;
use crate::directory::resume::work_through;
use crate::failure::bad;
use crate::progress::Progress;
use crate::report::made::Made;
use crate::report::page::Page;
use crate::report::panel_page;
use crate::settings::Settings;
use crate::table::panel::{Series, read_panel};
use crate::threads::with_threads;
use crate::workflow::backtest::score::identity;
use crate::workflow::fit::{Outcome, analyse_learned};
use crate::workflow::panel::summary::{Failure, PanelSummary, SeriesRow, write_rows};
use crate::workflow::panel::{SharedSummary, Together, given, learn, shares};

/// The files of a panel beside the journal and the series.
const FILES: [&str; 4] = ["summary.json", "panel.csv", "index.html", "settings.toml"];
/// The journal of finished series.
const JOURNAL: &str = "panel.jsonl";
/// Where the series are.
const SERIES: &str = "series";

/// What to fit, and where to write it.
#[derive(Debug, Clone)]
pub struct Request {
    /// File with the long table, or - for standard input.
    pub source: String,
    /// What was given, with the column of names.
    pub settings: Settings,
    /// Settings file, for what was not given.
    pub config: Option<PathBuf>,
    /// Directory for the results.
    pub out: PathBuf,
    /// Whether to show no progress.
    pub quiet: bool,
}

/// A line of the journal.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Shared(Together),
    Series(SeriesRow),
}

/// Whether `settings` with the file `config` ask for a panel.
pub fn is_asked_for(settings: &Settings, config: Option<&Path>) -> Result<bool> {
    Ok(settings.clone().with_config(config)?.data.panel.is_some())
}

/// Read, learn what is shared, fit what is not finished yet, and write.
pub fn run(request: Request) -> Result<PanelSummary> {
    let Request { source, settings, config, out, quiet } = request;
    let lock = Lock::for_files(&out, &FILES)?;
    let mut settings = settings.with_config(config.as_deref())?;
    let Some(column) = settings.data.panel.clone() else {
        return Err(bad("--panel: give the column that names the series"));
    };
    shares(&settings)?;
    let errors = settings.data.error_column.as_deref();
    let with_errors = |one: Series| Series { table: one.table.and_then(|table| table.with_errors(errors)), ..one };
    let series = read_panel(&source, &column, &settings.data.chosen(), &settings.data.format())?;
    let series: Vec<Series> = series.into_iter().map(with_errors).collect();
    if let Some(table) = series.iter().find_map(|one| one.table.as_ref().ok()) {
        settings.refuse_columns(table)?;
    }
    let threads = settings.solve.threads.take();
    let panel = Panel { directories: directories(&series), series, settings, out };
    let (rows, shared) = with_threads(threads, || panel.fit_all(quiet))??;
    let summary = panel.summary(&source, &column, rows, shared)?;
    let page = Page { made: Made::now(), ..panel_page(&summary) }.to_html()?;
    lock.save(&[
        Entry::json("summary.json", &summary),
        Entry::new("panel.csv", |out| write_rows(out, &summary.rows)),
        Entry::text("index.html", page),
        Entry::toml("settings.toml", &panel.settings)?,
    ])?;
    Ok(summary)
}

struct Panel {
    series: Vec<Series>,
    directories: Vec<String>,
    settings: Settings,
    out: PathBuf,
}

impl Panel {
    /// Fit what the journal does not have yet.
    fn fit_all(&self, quiet: bool) -> Result<(Vec<SeriesRow>, Option<SharedSummary>)> {
        let (journal, lines) = Journal::open::<Line>(&self.out.join(JOURNAL), &self.identity()?)?;
        let (mut shared, mut rows) = (None, Vec::new());
        for line in lines {
            match line {
                Line::Shared(found) => shared = Some(found),
                Line::Series(row) => rows.push(row),
            }
        }
        if shared.is_none() && self.settings.data.share.is_some() {
            // A refusal is put right by other settings, which a journal without results must not stand against.
            let found = self.learn(quiet).inspect_err(|_| {
                if rows.is_empty() {
                    drop(std::fs::remove_file(self.out.join(JOURNAL)));
                }
            })?;
            journal.append(&Line::Shared(found.clone()))?;
            shared = Some(found);
        }
        let (shared, own) = match shared {
            Some(Together { summary, own }) => (Some(summary), own),
            None => (None, Vec::new()),
        };
        let own = self.by_series(own);
        let settings = given(&self.settings, shared.as_ref().map_or(&[][..], |found| &found.shared))?;
        let done: HashSet<&str> = rows.iter().map(|row: &SeriesRow| row.id.as_str()).collect();
        let tasks: Vec<usize> =
            (0..self.series.len()).filter(|&i| !done.contains(self.series[i].id.as_str())).collect();
        let progress = Progress::new("series", self.series.len(), self.series.len() - tasks.len(), quiet);
        let lines = work_through(&tasks, &journal, &progress, |&i| {
            Ok(Line::Series(self.fit(i, &settings, own[i].clone())?))
        })?;
        rows.extend(lines.into_iter().filter_map(|line| match line {
            Line::Series(row) => Some(row),
            Line::Shared(_) => None,
        }));
        Ok((rows, shared))
    }

    /// What was learned of each series; the tables that were learned from are those that could be read.
    fn by_series(&self, own: Vec<Option<LearnedBefore>>) -> Vec<Option<LearnedBefore>> {
        let mut own = own.into_iter();
        self.series.iter().map(|series| series.table.as_ref().ok().and_then(|_| own.next().flatten())).collect()
    }

    fn learn(&self, quiet: bool) -> Result<Together> {
        let tables: Vec<_> = self.series.iter().filter_map(|series| series.table.as_ref().ok()).collect();
        if let (true, Some(Err(error))) = (tables.is_empty(), self.series.first().map(|series| &series.table)) {
            return Err(bad(format!("no series can be read; the first, {}: {error:#}", self.series[0].id)));
        }
        let found = learn(&self.settings, &tables, &crate::workflow::watch::terminal(!quiet))?;
        match crate::interrupt::asked() {
            true => anyhow::bail!("stopped while learning what the series share; the same command starts again"),
            false => Ok(found),
        }
    }

    /// Fit one series and write its directory; a fit that fails is a row with its reason.
    fn fit(&self, i: usize, settings: &Settings, learned: Option<LearnedBefore>) -> Result<SeriesRow> {
        let Series { id, table } = &self.series[i];
        let row = SeriesRow {
            id: id.clone(),
            directory: format!("{SERIES}/{}", self.directories[i]),
            ..SeriesRow::default()
        };
        let failed = |error: String| Ok(SeriesRow { reason: Some(error), ..row.clone() });
        let table = match table {
            Ok(table) => table,
            Err(error) => return failed(format!("{error:#}")),
        };
        // A fit that was cut short would not be what the same command gives without Ctrl-C: those in hand are finished.
        match analyse_learned(settings.clone(), table, learned, &Context::silent()) {
            Err(error) => failed(format!("{error:#}")),
            Ok(outcome) => {
                save(&self.out.join(SERIES).join(&self.directories[i]), &outcome, table)?;
                Ok(fitted(row, &outcome))
            }
        }
    }

    /// What decides the figures.
    fn identity(&self) -> Result<Value> {
        let mut fingerprint = 0u64;
        for Series { id, table } in &self.series {
            fingerprint = identity(&format!("{fingerprint} {id}"));
            if let Ok(table) = table {
                let numbers = table.times.iter().chain(table.columns.iter().flatten());
                fingerprint = numbers.fold(fingerprint, |hash, x| identity(&format!("{hash} {x}")));
            }
        }
        Ok(json!({
            "series": self.series.len(),
            "data_fingerprint": format!("{fingerprint:016x}"),
            "settings": self.settings.to_toml()?,
            "version": env!("CARGO_PKG_VERSION"),
        }))
    }

    fn summary(
        &self,
        source: &str,
        column: &str,
        rows: Vec<SeriesRow>,
        shared: Option<SharedSummary>,
    ) -> Result<PanelSummary> {
        let places: HashMap<&str, usize> = self.series.iter().enumerate().map(|(i, s)| (s.id.as_str(), i)).collect();
        let mut rows: Vec<SeriesRow> = rows.into_iter().filter(|row| places.contains_key(row.id.as_str())).collect();
        rows.sort_by_key(|row| places[row.id.as_str()]);
        let reason = |row: &SeriesRow| Some(Failure { id: row.id.clone(), reason: row.reason.clone()? });
        let failures: Vec<Failure> = rows.iter().filter_map(reason).collect();
        if let (true, Some(first)) = (failures.len() == rows.len(), failures.first()) {
            return Err(bad(format!(
                "none of {} series could be fitted; the first, {}: {}",
                rows.len(),
                first.id,
                first.reason
            )));
        }
        Ok(PanelSummary {
            data: source.into(),
            panel: column.into(),
            series: rows.len(),
            fitted: rows.len() - failures.len(),
            failures,
            warnings: shared.iter().flat_map(|shared| shared.warnings.clone()).collect(),
            shared,
            version: env!("CARGO_PKG_VERSION"),
            rows,
        })
    }
}

fn fitted(row: SeriesRow, outcome: &Outcome) -> SeriesRow {
    let summary = &outcome.summary;
    SeriesRow {
        observations: summary.observations,
        log_evidence: Some(summary.log_evidence),
        parameters: summary.estimates.iter().map(|p| (p.name.clone(), p.value, p.std_error)).collect(),
        jumps: summary.jumps,
        warnings: summary.warnings.len(),
        ..row
    }
}

/// A name for the directory of every series: its own where a file system takes that, and distinct in any case of letters.
fn directories(series: &[Series]) -> Vec<String> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let mut taken = HashSet::new();
    let mut name = |series: &Series| {
        let text: String = series.id.chars().take(80).map(plain).collect();
        let text = if text.starts_with(['.', '-']) { format!("_{text}") } else { text };
        let numbered = (2..).map(|k| format!("{text}-{k}"));
        let mut names = std::iter::once(text.clone()).chain(numbered);
        names.find(|name| taken.insert(name.to_ascii_lowercase())).unwrap_or(text.clone())
    };
    series.iter().map(&mut name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_directories_are_distinct_and_harmless() {
        let series = |id: &str| Series { id: id.into(), table: Err(bad("none")) };
        let names = directories(&["a", "A", "../x", "a/b", "a_b", "ü"].map(series));
        assert_eq!(names, ["a", "A-2", "_.._x", "a_b", "a_b-2", "_"]);
    }
}
