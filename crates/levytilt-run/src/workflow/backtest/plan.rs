//! Plan a backtest: its windows, its models, and what decides the figures. Where the windows are forecast is left open.

use anyhow::Result;
use levytilt_baselines::{Forecaster, ForecasterOptions, forecaster, is_network};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};

use crate::directory::journal::Journal;
use crate::failure::bad;
use crate::table::input::Table;
use crate::workflow::backtest::own::{Made, Own, own_settings};
use crate::workflow::backtest::paper::is_paper;
use crate::workflow::backtest::request::Request;
use crate::workflow::backtest::score::{Line, Protocol, identity};
use crate::workflow::backtest::spread::spread;
use crate::workflow::backtest::summary::{Entry, Judged, Scores, summarise};
use crate::workflow::backtest::windows::{Case, Cut, cut};

/// Most paths of a forecast.
const MOST_PATHS: usize = 1_000_000;

/// A backtest ready to run.
pub struct Plan {
    request: Request,
    table: Table,
    windows: Cut,
    models: Vec<Entrant>,
    protocol: Protocol,
    reference: String,
    settings: Value,
}

/// A model and the windows that it forecasts.
struct Entrant {
    name: String,
    model: Box<dyn Forecaster>,
    /// Places among the cases, in the order in which they are forecast.
    places: Vec<usize>,
    /// Whether these are all.
    all: bool,
}

/// One window for one model.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    case: &'a Case,
    name: &'a str,
    model: &'a dyn Forecaster,
}

impl Task<'_> {
    /// Number of the window and name of the model.
    pub fn id(&self) -> (usize, &str) {
        (self.case.number, self.name)
    }
}

impl Plan {
    /// Check what was asked for, then `read` the data and cut them.
    pub fn new(request: &Request, read: impl FnOnce() -> Result<Table>) -> Result<Self> {
        check_counts(request)?;
        if request.data.error_column.is_some() {
            return Err(bad("--error-column is for fit and exact; leave it out of backtest"));
        }
        let options = ForecasterOptions { steps: request.training_steps };
        let own = own_settings(request)?;
        let kind = |name: &String| match own.contains_key(name) {
            true => Ok((name.clone(), None)),
            false => forecaster(name, &options).map(|kind| (name.clone(), Some(kind))),
        };
        let kinds = request.models.iter().map(kind).collect::<levytilt::Result<Vec<_>>>()?;
        let reference = reference(request)?;
        let table = read()?;
        let windows = cut(request, &table)?;
        let mut models = Vec::new();
        for (name, kind) in kinds {
            let model = match (kind, own.get(&name)) {
                (None, Some(settings)) => {
                    let own = Own::new(&name, settings.clone(), &table)?;
                    let own = if is_paper(&name) { own.published_over(windows.rolling.train) } else { own };
                    Box::new(own) as Box<dyn Forecaster>
                }
                (Some(kind), _) => kind,
                (None, None) => return Err(bad(format!("--models {name}: is not a model"))),
            };
            let count = windows.cases.len();
            let some = request.windows.get(&name).filter(|some| **some < count);
            let places = some.map_or_else(|| (0..count).collect(), |some| spread(*some, count));
            models.push(Entrant { name, model, places, all: some.is_none() });
        }
        let settings = settings(request, &own, &table, &windows)?;
        let protocol = Protocol { paths: request.paths, seed: request.seed, tails: windows.tails.clone() };
        Ok(Self { request: request.clone(), table, windows, models, protocol, reference, settings })
    }

    /// What was asked for.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Forecasts in all.
    pub fn size(&self) -> usize {
        self.models.iter().map(|entrant| entrant.places.len()).sum()
    }

    /// Open the journal, and read what is finished.
    pub fn open(&self) -> Result<(Journal, Vec<Line>)> {
        Journal::open(&self.request.out.join("windows.jsonl"), &self.settings)
    }

    /// What `lines` do not hold yet, window after window.
    pub fn missing(&self, lines: &[Line]) -> Vec<Task<'_>> {
        let done: HashSet<(usize, &str)> = lines.iter().map(|line| (line.window, line.model.as_str())).collect();
        self.tasks().filter(|task| !done.contains(&task.id())).collect()
    }

    /// Models that forecast all windows, window after window; then the others, so that what is done is spread at any time.
    fn tasks(&self) -> impl Iterator<Item = Task<'_>> {
        let (whole, some): (Vec<&Entrant>, Vec<&Entrant>) = self.models.iter().partition(|entrant| entrant.all);
        let all = 0..self.windows.cases.len();
        let first = all.flat_map(move |place| whole.clone().into_iter().map(move |entrant| (entrant, place)));
        let rest = some.into_iter().flat_map(|entrant| entrant.places.iter().map(move |place| (entrant, *place)));
        first.chain(rest).map(|(entrant, place)| Task {
            case: &self.windows.cases[place],
            name: &entrant.name,
            model: entrant.model.as_ref(),
        })
    }

    /// The task with this window and this model.
    pub fn task(&self, window: usize, model: &str) -> Result<Task<'_>> {
        let found = self.tasks().find(|task| task.id() == (window, model));
        found.ok_or_else(|| bad(format!("the backtest has no window {window} for a model {model}")))
    }

    /// Forecast and score.
    pub fn line(&self, task: &Task) -> Line {
        self.protocol.line(task.case, task.name, task.model)
    }

    /// Put all lines together; lines of other models may be among them.
    pub fn scores(&self, mut lines: Vec<Line>) -> Result<Scores> {
        let Self { request, table, windows, models, reference, settings, .. } = self;
        let judged: Vec<Entry> = models
            .iter()
            .map(|Entrant { name, places, .. }| Entry {
                name,
                cases: places.iter().map(|k| &windows.cases[*k]).collect(),
            })
            .collect();
        lines.retain(|line| judged.iter().any(|entry| entry.holds(line)));
        let judged =
            Judged { cases: &windows.cases, entries: judged, lines: &lines, reference, dim: table.names.len() };
        let (models, starts, failed) = summarise(&judged)?;
        Ok(Scores {
            data: table.source.clone(),
            dimensions: table.names.clone(),
            settings: settings.clone(),
            unit: if request.log_returns { "units of the training part's spread" } else { "the unit of the data" }
                .into(),
            windows: starts,
            skipped: windows.skipped.clone(),
            failed,
            reference: reference.clone(),
            models,
            version: env!("CARGO_PKG_VERSION").into(),
            warnings: windows.notes.iter().cloned().chain(table.calendar.warning()).collect(),
        })
    }
}

fn check_counts(request: &Request) -> Result<()> {
    if !(2..=MOST_PATHS).contains(&request.paths) {
        return Err(bad(format!("--paths {}: expected at least 2 and at most {MOST_PATHS}", request.paths)));
    }
    if request.training_steps.is_some() && !request.models.iter().any(|name| is_network(name) || is_paper(name)) {
        return Err(bad(
            "--training-steps: none of the models is a neural network; leave it out, or see --models in --help",
        ));
    }
    for (name, count) in &request.windows {
        if !request.models.contains(name) {
            return Err(bad(format!("--windows {name}={count}: {name} is not among the models")));
        }
        if *count == 0 {
            return Err(bad(format!("--windows {name}=0: expected at least 1; leave a model out of --models instead")));
        }
    }
    match (1..request.models.len()).find(|&k| request.models[..k].contains(&request.models[k])) {
        Some(twice) => Err(bad(format!("--models: {} is named twice; expected each once", request.models[twice]))),
        None => Ok(()),
    }
}

fn reference(request: &Request) -> Result<String> {
    let has = |name: &String| request.models.contains(name);
    match &request.reference {
        Some(name) if !has(name) => Err(bad(format!("--reference {name}: is not among the models"))),
        Some(name) => Ok(name.clone()),
        None => {
            let walk = Some("random-walk".to_string()).filter(has);
            walk.or(request.models.first().cloned()).ok_or_else(|| bad("--models: expected at least one"))
        }
    }
}

/// What decides the figures, but for the list of models: lines of other models may stand in the same journal.
fn settings(request: &Request, own: &BTreeMap<String, Made>, table: &Table, windows: &Cut) -> Result<Value> {
    let numbers = table.times.iter().chain(table.columns.iter().flatten());
    let fingerprint = numbers.fold(0u64, |hash, x| identity(&format!("{hash} {x}")));
    let mut decides = json!({
        "dimensions": table.names,
        "data_fingerprint": format!("{fingerprint:016x}"),
        "log_returns": request.log_returns,
        "from": table.calendar.write(windows.rolling.from),
        "to": table.calendar.write(windows.rolling.to),
        "train": windows.rolling.train,
        "horizon": windows.rolling.horizon,
        "stride": windows.rolling.stride,
        "least": windows.rolling.least,
        "paths": request.paths,
        "seed": request.seed,
        "training_steps": request.training_steps,
        "version": env!("CARGO_PKG_VERSION"),
    });
    // A file whose content has changed is another model; those of the paper belong to the version.
    let files: Vec<_> = own.iter().filter(|(name, _)| !is_paper(name)).collect();
    if !files.is_empty() {
        let mut marks = serde_json::Map::new();
        for (name, settings) in files {
            marks.insert(name.clone(), format!("{:016x}", identity(&settings.to_toml()?)).into());
        }
        decides["own_models"] = Value::Object(marks);
    }
    Ok(decides)
}
