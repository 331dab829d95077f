//! Take new rows into a run, from a table or as they come, and keep where it stands.

use anyhow::Result;
use csv::{ReaderBuilder, StringRecord, Trim};
use levytilt::Context;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::directory::commit;
use crate::directory::entry::Entry;
use crate::directory::lock::Lock;
use crate::directory::state::{STATE, State};
use crate::failure::{bad, quoted};
use crate::settings::{DataSettings, Settings, Volatility, inputs};
use crate::table::bytes::read_settings;
use crate::table::input::from_sparse_columns;
use crate::table::{self, Format, Table};
use crate::workflow::driven::Driven;
use crate::workflow::filtering::column_models;
use crate::workflow::fit::analyse;
use crate::workflow::forecast::known_at;
use crate::workflow::general::forecast::Origin;
use crate::workflow::general::update::GeneralUpdate;
use crate::workflow::update::{Answer, Summary, Takes, Update, Watch};

/// How often a feed is saved.
const OFTEN: Duration = Duration::from_secs(1);

/// What to take in, and where.
#[derive(Debug, Clone)]
pub struct Request {
    /// Directory of the fit.
    pub run: PathBuf,
    /// How to look at the rows.
    pub watch: Watch,
}

/// Take in the rows of `new`, which has the columns of the run; `tell` hears of every row. All rows are kept, or none.
pub fn update(request: &Request, new: &Table, tell: &mut dyn FnMut(&Answer)) -> Result<Summary> {
    with_update(request, |update: &mut dyn Takes| {
        let names = update.columns();
        let columns = names.iter().map(|name| column(new, name)).collect::<Result<Vec<_>>>()?;
        for (row, text) in new.time_texts().iter().enumerate() {
            let time = update.calendar().read("time", text).map_err(|e| located(&new.source, new.lines[row], &e))?;
            let values: Vec<f64> = columns.iter().map(|column| column[row]).collect();
            let answer = update.take(time, text, &values).map_err(|e| located(&new.source, new.lines[row], &e))?;
            tell(&answer);
        }
        save(&request.run, update)
    })
}

/// Take in rows as they come: the first line names the columns. The run is saved every second and at the end.
pub fn follow(request: &Request, rows: impl BufRead, tell: &mut dyn FnMut(&Answer)) -> Result<Summary> {
    with_update(request, |update: &mut dyn Takes| {
        let names = update.columns();
        let (mut lines, mut saved) = (rows.lines().enumerate(), Instant::now());
        let header =
            lines.next().ok_or_else(|| bad("standard input: is empty; expected a header such as time,value"))?;
        let header = fields(&header.1?, 1)?;
        let place = |name: &String| {
            header.iter().skip(1).position(|field| field == name).map(|k| k + 1).ok_or_else(|| {
                bad(format!("standard input, line 1: has no column {}, which the run has", quoted(name)))
            })
        };
        let places = names.iter().map(place).collect::<Result<Vec<usize>>>()?;
        let mut outcome = Ok(());
        for (number, line) in lines {
            let taken = line.map_err(Into::into).and_then(|line| take_line(update, &line, number + 1, &places));
            match taken {
                Ok(Some(answer)) => tell(&answer),
                Ok(None) => {}
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
            if saved.elapsed() > OFTEN {
                save(&request.run, update)?;
                saved = Instant::now();
            }
        }
        save(&request.run, update)?;
        outcome
    })
}

/// Fit again to all rows that the run has taken in, and replace it.
pub fn refit(run: &Path, context: &Context) -> Result<crate::workflow::fit::Outcome> {
    let lock = Lock::new(run)?;
    if Origin::read(run)?.is_some() {
        return Err(bad(
            "--refit is not available for a model with [states]: run `levytilt fit` with its settings.toml as \
             --config on the whole \
             record",
        ));
    }
    let (state, _) = State::read(run)?;
    let mut settings: Settings = toml::from_str(&read_settings(&run.join("settings.toml"))?)?;
    let names: Vec<String> = state.dimension.iter().cloned().collect();
    let calendar = state.calendar()?;
    let Some(history) = state.history.as_ref().filter(|history| history.whole) else {
        return Err(bad(format!(
            "{}: keeps only the end of its record; --refit needs all of it: run `levytilt fit` on the whole record",
            run.display()
        )));
    };
    let times: Vec<String> = history.times.iter().map(|time| calendar.write(*time)).collect();
    let column = |values: &Vec<Option<f64>>| values.iter().map(|value| value.unwrap_or(f64::NAN)).collect();
    let mut columns: Vec<Vec<f64>> = history.values.iter().map(column).collect();
    let mut names = names;
    for (name, input) in &settings.inputs {
        if let Some(values) = history.inputs.get(name) {
            names.push(inputs::column(name, input).into());
            columns.push(values.clone());
        }
    }
    if let Some(known) = &state.known_errors {
        names.push(known.column.clone());
        columns.push(column(&history.errors));
    }
    let table = from_sparse_columns("the run's record", &history.time_name, names, &times, &columns)?;
    let table = inputs::take(table, &mut settings)?.with_errors(settings.data.error_column.as_deref())?;
    let outcome = analyse(settings, &table, context)?;
    lock.save(&super::fit::entries(&outcome, &table, &outcome.summary, None)?)?;
    Ok(outcome)
}

/// Read a table for a run: the columns that the run has, written as `format` says and otherwise as the run's record.
pub fn read(run: &Path, source: &str, format: Format) -> Result<Table> {
    let (names, data): (Vec<String>, DataSettings) = match Origin::read(run)? {
        Some(origin) => (origin.state.columns.clone(), origin.data().clone()),
        None => {
            let (state, settings) = commit::steady(run, || State::read(run))?;
            (state.dimension.iter().cloned().collect(), settings.data)
        }
    };
    let table = table::read_sparse(source, &format.or(data.format()))?;
    names.iter().try_for_each(|name| column(&table, name).map(drop))?;
    Ok(table)
}

fn with_update(request: &Request, work: impl FnOnce(&mut dyn Takes) -> Result<()>) -> Result<Summary> {
    let _lock = Lock::of_any_version(&request.run)?;
    if let Some(origin) = Origin::read(&request.run)? {
        let mut update = GeneralUpdate::new(origin, request.watch)?;
        work(&mut update)?;
        return Ok(update.summary().clone());
    }
    let (state, mut settings) = State::read(&request.run)?;
    let network = State::read_network(&request.run, &settings)?;
    if settings.model.volatility == Some(Volatility::Recent) {
        return Err(bad(
            "the run goes by recent volatility (--volatility recent), which is learned from a whole record; fit again with \
             the new rows",
        ));
    }
    let names: Vec<String> = state.dimension.iter().cloned().collect();
    let driven = Driven::new(&state, &settings, network.clone())?;
    if driven.is_some() {
        // Any values make the model complete; those of a row come with it.
        settings.known_inputs = Some(Arc::new(known_at(&state)?));
    }
    let models = column_models(&settings, &names, network)?;
    let watch = Watch { jump_above: request.watch.jump_above.or(settings.solve.jump_above), ..request.watch };
    let mut update = Update::new(state, &models, driven, watch)?;
    work(&mut update)?;
    Ok(update.summary)
}

fn save(run: &Path, update: &dyn Takes) -> Result<()> {
    commit::write(run, &[Entry::text(STATE, update.saved()? + "\n")])
}

fn column<'a>(table: &'a Table, name: &str) -> Result<&'a [f64]> {
    let place = table.names.iter().position(|known| known == name).ok_or_else(|| {
        bad(format!(
            "{}: has no column {}, which the run has; it has: {}",
            table.source,
            quoted(name),
            table.names.join(", ")
        ))
    })?;
    Ok(&table.columns[place])
}

fn take_line(update: &mut dyn Takes, line: &str, number: usize, places: &[usize]) -> Result<Option<Answer>> {
    if line.trim().is_empty() {
        return Ok(None);
    }
    let fields = fields(line, number)?;
    let text = fields.get(0).unwrap_or_default();
    let time = update.calendar().read("time", text).map_err(|e| located("standard input", number, &e))?;
    let value = |place: &usize| match fields.get(*place) {
        None => Err(bad(format!("standard input, line {number}: has {} fields, expected more", fields.len()))),
        Some("" | "NaN" | "NA" | "nan") => Ok(f64::NAN),
        Some(field) => match field.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(bad(format!("standard input, line {number}: {} is not a number", quoted(field)))),
        },
    };
    let values = places.iter().map(value).collect::<Result<Vec<f64>>>()?;
    update.take(time, text, &values).map(Some).map_err(|e| located("standard input", number, &e))
}

fn fields(line: &str, number: usize) -> Result<StringRecord> {
    let mut reader = ReaderBuilder::new().has_headers(false).trim(Trim::All).from_reader(line.as_bytes());
    let mut record = StringRecord::new();
    let read = reader.read_record(&mut record);
    read.map_err(|error| bad(format!("standard input, line {number}: not readable as CSV: {error}")))?;
    Ok(record)
}

fn located(source: &str, line: usize, error: &anyhow::Error) -> anyhow::Error {
    // Times are read as those of a flag are.
    bad(format!("{source}, line {line}: {}", format!("{error:#}").replacen("--time", "time", 1)))
}
