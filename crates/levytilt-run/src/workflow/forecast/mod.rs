//! Forecast: predictive paths from the end of a fitted record.

pub mod files;

use anyhow::Result;
use levytilt::StateSpace;
use levytilt::drift::{Between, Inputs, Neural};
use levytilt::internals::forecast::{Forecast, ForecastOptions, Target, forecast, forecast_drawn, forecast_resampled};
use levytilt::internals::posterior::Marginal;
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use crate::directory::commit;
use crate::directory::npz::{self, Array};
use crate::directory::state::{History, LearnedParameters, State};
use crate::directory::trading_record::TradingRecord;
use crate::failure::{bad, quoted};
use crate::finite;
use crate::number::figure;
use crate::one_or_many::OneOrMany;
use crate::settings::Settings;
use crate::settings::build_model::{closed_model, open_model};
use crate::settings::inputs;
use crate::table::bytes::{display_name, read_text};
use crate::table::input::parse_times;
use crate::table::time::{Calendar, Length, Moment, Written};
use crate::table::{Format, Table, read_columns};
use crate::workflow::fit::Outcome;
use crate::workflow::trading;

/// Levels of the quantiles and the names of their columns.
const LEVELS: [f64; 9] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];
const COLUMNS: [&str; 13] =
    ["time", "dimension", "mean", "sd", "q01", "q05", "q10", "q25", "q50", "q75", "q90", "q95", "q99"];
/// Most times of a horizon; steps in between are taken but not written.
const MOST_TIMES: f64 = 1000.0;
/// Most steps of one path.
const MOST_STEPS: f64 = 1e8;

/// The content of summary.json.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// What the paths are of: observations or states.
    pub of: &'static str,
    pub dimension: OneOrMany<String>,
    pub from: String,
    pub to: String,
    pub times: usize,
    pub paths: usize,
    pub median: OneOrMany<f64>,
    pub q05: OneOrMany<f64>,
    pub q95: OneOrMany<f64>,
    pub drawn_parameters: Vec<String>,
    /// What they are drawn from: posterior draws, or the Gaussian approximation of their posterior; left out if they are
    /// fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drawn_from: Option<&'static str>,
    pub seed: u64,
    pub version: &'static str,
    pub warnings: Vec<String>,
}

/// Where a forecast starts: a fitted model and the states it ended with.
#[derive(Debug)]
pub struct Origin {
    state: State,
    settings: Settings,
    /// Whether inputs after the end are known, if the model has any.
    driven: bool,
    model: StateSpace,
    /// Names of its parameters.
    parameters: Vec<String>,
    names: Vec<String>,
    calendar: Calendar,
}

/// How to look ahead.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Number of paths; as many as the fit had if none is given.
    pub paths: Option<usize>,
    /// Seed; that of the fit if none is given.
    pub seed: Option<u64>,
    /// Whether learned parameters stay at their estimates.
    pub fixed_parameters: bool,
    /// Whether to forecast the state, without the observation noise.
    pub state: bool,
}

/// What was seen ahead.
pub struct View {
    /// The paths.
    pub ahead: Forecast,
    /// The content of summary.json.
    pub summary: Summary,
}

impl Origin {
    /// The end of the run in `dir`.
    pub fn read(dir: &Path) -> Result<Self> {
        let (state, settings, network) = commit::steady(dir, || {
            let (state, settings) = State::read(dir)?;
            let network = State::read_network(dir, &settings)?;
            Ok((state, settings, network))
        })?;
        Self::new(state, &settings, network)
    }

    /// The end of a fit.
    pub fn of(outcome: &Outcome) -> Result<Self> {
        let network = outcome.fit.network.as_ref().map(|network| network.drift.clone());
        Self::new(outcome.state.clone(), &outcome.model, network)
    }

    fn new(state: State, settings: &Settings, network: Option<Neural>) -> Result<Self> {
        let mut settings = settings.clone();
        let driven = settings.inputs.is_empty();
        if !driven {
            // The model is complete with any values; those ahead are in `driven_by`.
            settings.known_inputs = Some(Arc::new(known_at(&state)?));
        }
        Self::with(state, settings, network, driven)
    }

    fn with(state: State, settings: Settings, network: Option<Neural>, driven: bool) -> Result<Self> {
        let names: Vec<String> = state.dimension.iter().cloned().collect();
        let model = closed_model(&settings, &names, network, "forecast")?;
        let parameters = open_model(&settings, &names, "forecast")?.parameter_names();
        Ok(Self { calendar: state.calendar()?, model, parameters, names, state, settings, driven })
    }

    /// Columns of the inputs, which a table of values ahead must have.
    pub fn input_columns(&self) -> Vec<String> {
        self.settings.input_columns()
    }

    /// The same origin, with inputs after its end as in the later rows of `table`, which must reach up to the last of `times`.
    ///
    /// # Errors
    /// A model without inputs; a column that is not there, or has a missing value; rows that end too early.
    pub fn driven_by(&self, table: &Table, times: &[f64]) -> Result<Self> {
        if self.settings.inputs.is_empty() {
            return Err(bad(format!("{}: the model has no inputs; leave --inputs-file out", table.source)));
        }
        let until = times.iter().copied().fold(self.state.time, f64::max);
        let (from, last) = (self.state.time, &self.state.inputs);
        let known = inputs::ahead(table, &self.settings.inputs, &self.calendar, (from, until), last)?;
        let settings = Settings { known_inputs: Some(Arc::new(known)), ..self.settings.clone() };
        Self::with(self.state.clone(), settings, None, true)
    }

    /// Read the file of inputs ahead.
    pub fn read_inputs(&self, source: &str) -> Result<Table> {
        read_columns(source, &self.input_columns(), &self.settings.data.format())
    }

    /// Names of the dimensions.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How times are written.
    pub fn calendar(&self) -> &Calendar {
        &self.calendar
    }

    /// The times up to `horizon`, such as 2.5 or 2d.
    pub fn until(&self, horizon: &Length) -> Result<Vec<f64>> {
        horizon_times(horizon, &self.state, &self.calendar)
    }

    /// The times in the first column of the file `source`.
    pub fn at_file(&self, source: &str) -> Result<Vec<f64>> {
        file_times(source, &self.calendar, &self.settings.data.format())
    }

    /// The last time of the record.
    pub fn last(&self) -> f64 {
        self.state.time
    }

    /// The end of the record; nothing in a run of before it was kept.
    pub fn history(&self) -> Option<&History> {
        self.state.history.as_ref()
    }

    /// These times, of a record whose times are numbers.
    pub fn at_numbers(&self, times: &[f64]) -> Result<Vec<f64>> {
        times.iter().map(|&time| Moment::Number(time).read("at", &self.calendar)).collect()
    }

    /// The times that are written so.
    pub fn at(&self, texts: &[String]) -> Result<Vec<f64>> {
        texts.iter().map(|text| self.calendar.read("at", text)).collect()
    }

    /// Simulate to `times`.
    pub fn look(&self, times: &[f64], look: Look) -> Result<View> {
        if !self.driven {
            let names = self.input_columns().join(", ");
            return Err(bad(format!(
                "the model has inputs, and a forecast needs their values ahead: give --inputs-file FILE (in Python inputs=), a \
                 table of times and {names} from the end of the record on"
            )));
        }
        let state = &self.state;
        // In trading time the record ends at 0; what is told of the paths stays in the calendar.
        let (from, longest_step, calendar) = match &state.trading {
            None => (state.time, state.step, times),
            Some(trading) => (0.0, trading.step, times),
        };
        let ahead = state.trading.as_ref().map(|trading| trading.ahead(calendar)).transpose()?;
        let times = ahead.as_deref().unwrap_or(calendar);
        let options = ForecastOptions {
            from,
            longest_step,
            paths: look.paths.unwrap_or(state.weights.len()),
            seed: look.seed.unwrap_or(state.seed),
            target: if look.state { Target::States } else { Target::Observations },
        };
        check_work(times, &options)?;
        let ends = (&state.states[..], &state.weights[..]);
        let (learned, doubt) = if look.fixed_parameters { (None, None) } else { self.learned() };
        let places =
            learned.map(|learned| learned.places(&self.model, &self.parameters)).transpose()?.unwrap_or_default();
        let (mut ahead, drawn_from) = match learned.map(|learned| (learned, learned.draws_at(&places))) {
            None => (forecast(&self.model, ends, times, &options)?, None),
            Some((_, Some(drawn))) => {
                (forecast_resampled(&self.model, drawn, ends, times, &options)?, Some("posterior draws"))
            }
            Some((learned, None)) => {
                let law = learned.law(&self.model, &places)?;
                (forecast_drawn(&law, ends, times, &options)?, Some("Gaussian approximation"))
            }
        };
        ahead.times = calendar.to_vec();
        let place = if drawn_from.is_some() { " at some of the parameters drawn" } else { "" };
        let no_variance = format!("this noise has infinite variance{place}: sd is left empty");
        let no_variance = Some(no_variance).filter(|_| !ahead.has_variance);
        let mut summary = summarise(&ahead, state, &self.calendar, options.seed);
        summary.warnings = no_variance.into_iter().chain(doubt).collect();
        summary.drawn_from = drawn_from;
        if let Some(learned) = learned {
            summary.drawn_parameters.clone_from(&learned.names);
        }
        Ok(View { ahead, summary })
    }

    /// The parameters that can be drawn, if there are any, and what to say if there should be some and are not.
    fn learned(&self) -> (Option<&LearnedParameters>, Option<String>) {
        let held =
            |why: &str| Some(format!("parameters are fixed at their estimates: {why}; intervals are too narrow"));
        match &self.state.learned {
            None => (None, held("the run has no standard errors, fit it again")),
            Some(learned) if learned.names.is_empty() => (None, None),
            Some(learned) if !learned.can_be_drawn() => (None, held("their standard errors are unknown")),
            Some(learned) => (Some(learned), None),
        }
    }
}

impl View {
    /// The content of summary.json.
    pub fn summary_json(&self) -> Result<String> {
        finite::json(&self.summary)
    }
}

/// The inputs of a run at its last time, as values that never change.
pub(crate) fn known_at(state: &State) -> Result<Inputs> {
    let mut known = Inputs::new(vec![state.time, state.time + state.step])?;
    for (name, value) in &state.inputs {
        known = known.with_column(name, vec![*value; 2], Between::Previous)?;
    }
    Ok(known)
}

/// Refuse work that would not end.
fn check_work(times: &[f64], options: &ForecastOptions) -> Result<()> {
    let steps = times.last().map_or(0.0, |last| (last - options.from) / options.longest_step) + times.len() as f64;
    if steps * options.paths as f64 > MOST_STEPS * 100.0 || steps > MOST_STEPS {
        return Err(bad(format!(
            "the horizon takes {steps:.1e} latent steps of {:.3e} for each of {} paths; use a shorter one",
            options.longest_step, options.paths
        )));
    }
    Ok(())
}

/// Times up to a horizon: every latent step, or a thousand even times if there are more; with a clock of trading time the times
/// of the week at which the record has rows.
fn horizon_times(horizon: &Length, state: &State, calendar: &Calendar) -> Result<Vec<f64>> {
    let length = horizon.measure("horizon", calendar)?;
    if let (Some(TradingRecord { clock: Some(_), .. }), Some(history)) = (&state.trading, &state.history) {
        return Ok(trading::session_times(&history.times, (state.time, length), MOST_TIMES as usize));
    }
    let count = (length / state.step * (1.0 - 1e-9)).ceil().clamp(1.0, MOST_TIMES);
    Ok((1..=count as usize).map(|k| state.time + length * (k as f64 / count)).collect())
}

/// The times of a file that is written as `format` says.
pub(crate) fn file_times(source: &str, calendar: &Calendar, format: &Format) -> Result<Vec<f64>> {
    let name = display_name(source);
    let read = |(line, time): (usize, Written)| match (time, calendar) {
        (Written::Number(time), Calendar::Numbers) => Ok(time),
        (Written::Stamp(stamp), Calendar::Days(stamps)) => Ok(stamp.days_since(&stamps[0])),
        (Written::Number(time), _) => {
            Err(bad(format!("{name}, line {line}: expected a timestamp as in the record, found {time}")))
        }
        (Written::Stamp(stamp), _) => {
            let found = quoted(stamp.text());
            Err(bad(format!("{name}, line {line}: expected a number as in the record, found {found}")))
        }
    };
    parse_times(&read_text(source)?, &name, format)?.into_iter().map(read).collect()
}

fn summarise(ahead: &Forecast, state: &State, calendar: &Calendar, seed: u64) -> Summary {
    let last = ahead.times.len() - 1;
    let laws: Vec<Marginal> = (0..ahead.dim).map(|i| ahead.marginal(i, last, &[0.05, 0.5, 0.95])).collect();
    let quantile = |k: usize| OneOrMany::new(laws.iter().map(|law| law.quantiles[k]).collect());
    Summary {
        of: ahead.target.name(),
        dimension: state.dimension.clone(),
        from: calendar.write(state.time),
        to: calendar.write(ahead.times[last]),
        times: ahead.times.len(),
        paths: ahead.paths(),
        median: quantile(1),
        q05: quantile(0),
        q95: quantile(2),
        drawn_parameters: vec![],
        drawn_from: None,
        seed,
        version: env!("CARGO_PKG_VERSION"),
        warnings: vec![],
    }
}

/// Write forecast.csv.
pub fn write_table(out: &mut dyn Write, ahead: &Forecast, calendar: &Calendar, names: &[String]) -> Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(COLUMNS)?;
    for (j, time) in ahead.times.iter().enumerate() {
        for (i, name) in names.iter().enumerate() {
            let m = ahead.marginal(i, j, &LEVELS);
            let sd = if ahead.has_variance { figure(m.sd)? } else { String::new() };
            let mut fields = vec![calendar.write(*time), name.clone(), figure(m.mean)?, sd];
            for quantile in &m.quantiles {
                fields.push(figure(*quantile)?);
            }
            csv.write_record(fields)?;
        }
    }
    Ok(csv.flush()?)
}

/// Name of the array in paths.npz that says what the paths are of: 1 for observations, 0 for states.
pub const OF_OBSERVATIONS: &str = "of_observations";

/// Write paths.npz.
pub fn write_paths(out: &mut dyn Write, ahead: &Forecast) -> Result<()> {
    let shape = vec![ahead.paths(), ahead.times.len(), ahead.dim];
    let times = Array { name: "times", shape: vec![ahead.times.len()], values: ahead.times.clone() };
    let of = if ahead.target == Target::Observations { 1.0 } else { 0.0 };
    let of = Array { name: OF_OBSERVATIONS, shape: vec![1], values: vec![of] };
    npz::write(out, &[times, Array { name: "paths", shape, values: ahead.states.clone() }, of])
}
