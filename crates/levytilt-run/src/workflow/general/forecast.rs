//! Look ahead from a fit of a written-out model.

use anyhow::Result;
use levytilt::drift::{Between, Inputs};
use levytilt::internals::forecast::{Forecast, ForecastOptions, Target};
use levytilt::internals::general::{GeneralModel, forecast_general};
use levytilt::internals::posterior::Marginal;
use std::path::Path;
use std::sync::Arc;

use super::fit::{GeneralState, Outcome};
use super::settings::GeneralSettings;
use crate::directory::commit;
use crate::directory::state::{MODEL, STATE};
use crate::directory::trading_record::TradingRecord;
use crate::failure::{bad, brief};
use crate::one_or_many::OneOrMany;
use crate::settings::{DataSettings, inputs};
use crate::table::bytes::{read_json, read_settings};
use crate::table::read_columns;
use crate::table::time::{Calendar, Length, Moment, Stamp, Written, parse};
use crate::workflow::forecast::{Look, Summary, View};
use crate::workflow::trading;

/// Where a forecast of a written-out model starts.
#[derive(Debug)]
pub struct Origin {
    /// What the fit kept.
    pub state: GeneralState,
    settings: GeneralSettings,
    model: GeneralModel,
    /// How times are written.
    pub calendar: Calendar,
}

/// Most times of a horizon; steps in between are taken but not written.
const MOST_TIMES: f64 = 1000.0;

impl Origin {
    /// The end of the run in `dir`, if its model is written out.
    ///
    /// # Errors
    /// Files of such a run that are missing or damaged.
    pub fn read(dir: &Path) -> Result<Option<Self>> {
        let path = dir.join(MODEL);
        let Ok(text) = read_settings(&path) else { return Ok(None) };
        if !text.parse::<toml::Table>().is_ok_and(|table| table.contains_key("states")) {
            return Ok(None);
        }
        commit::steady(dir, || {
            let damaged = |what: String| bad(format!("{}: {what}", dir.display()));
            let settings: GeneralSettings =
                toml::from_str(&read_settings(&path)?).map_err(|e| damaged(format!("{MODEL}: {}", brief(&e))))?;
            let state: GeneralState = read_json(&dir.join(STATE))?.map_err(|e| damaged(format!("{STATE}: {e}")))?;
            Self::new(state, &settings).map(Some)
        })
    }

    /// How its record was read.
    pub fn data(&self) -> &DataSettings {
        &self.settings.data
    }

    /// The end of a fit.
    ///
    /// # Errors
    /// A model that cannot be built.
    pub fn of(outcome: &Outcome) -> Result<Self> {
        Self::new(outcome.state.clone(), &outcome.model)
    }

    /// Inputs have the values that `settings` know, else those of the end for one more step.
    fn new(state: GeneralState, settings: &GeneralSettings) -> Result<Self> {
        let mut settings = settings.clone();
        if settings.known_inputs.is_none() && !state.inputs.is_empty() {
            let mut known = Inputs::new(vec![state.time, state.time + state.step])?;
            for (name, value) in &state.inputs {
                known = known.with_column(name, vec![*value; 2], Between::Previous)?;
            }
            settings.known_inputs = Some(Arc::new(known));
        }
        let model = settings.spec(&state.columns)?.closed()?;
        let calendar = calendar(&state)?;
        Ok(Self { state, settings, model, calendar })
    }

    /// The same with the inputs of a file, which reach from the end of the record to the last of `times`.
    ///
    /// # Errors
    /// A model without inputs; a file that does not have them, or not for all times.
    pub fn driven_by(&self, source: &str, times: &[f64]) -> Result<Self> {
        if self.settings.inputs.is_empty() {
            return Err(bad("--inputs-file: the model has no [inputs]; leave it out"));
        }
        let columns: Vec<String> = inputs::columns(&self.settings.inputs).collect();
        let table = read_columns(source, &columns, &self.settings.data.format())?;
        let (from, until) = (self.state.time, times.iter().copied().fold(self.state.time, f64::max));
        let known = inputs::ahead(&table, &self.settings.inputs, &self.calendar, (from, until), &self.state.inputs)?;
        let settings = GeneralSettings { known_inputs: Some(Arc::new(known)), ..self.settings.clone() };
        Self::new(self.state.clone(), &settings)
    }

    /// What the fit kept, its model, and how times are written.
    pub fn parts(self) -> (GeneralState, GeneralModel, Calendar) {
        (self.state, self.model, self.calendar)
    }

    /// Names of the states.
    pub fn states(&self) -> &[String] {
        &self.model.states
    }

    /// These times, of a record whose times are numbers.
    ///
    /// # Errors
    /// A record whose times are timestamps.
    pub fn at_numbers(&self, times: &[f64]) -> Result<Vec<f64>> {
        times.iter().map(|&time| Moment::Number(time).read("at", &self.calendar)).collect()
    }

    /// The times that are written so.
    ///
    /// # Errors
    /// A text that is no time of such a record.
    pub fn at(&self, texts: &[String]) -> Result<Vec<f64>> {
        texts.iter().map(|text| self.calendar.read("at", text)).collect()
    }

    /// The times up to `horizon`: every latent step, or a thousand even times if there are more; with a clock of trading time
    /// the times of the week at which the record has rows.
    pub fn until(&self, horizon: &Length) -> Result<Vec<f64>> {
        let length = horizon.measure("horizon", &self.calendar)?;
        if let Some(TradingRecord { clock: Some(_), .. }) = &self.state.trading {
            let (rows, from) = (&self.state.history.times, self.state.time);
            return Ok(trading::session_times(rows, (from, length), MOST_TIMES as usize));
        }
        let count = (length / self.state.step * (1.0 - 1e-9)).ceil().clamp(1.0, MOST_TIMES);
        Ok((1..=count as usize).map(|k| self.state.time + length * (k as f64 / count)).collect())
    }

    /// Simulate the observed columns to `times`.
    pub fn look(&self, times: &[f64], look: Look) -> Result<View> {
        let state = &self.state;
        // In trading time the record ends at 0; what is told of the paths stays in the calendar.
        let (from, longest_step) =
            state.trading.as_ref().map_or((state.time, state.step), |trading| (0.0, trading.step));
        let in_trading = state.trading.as_ref().map(|trading| trading.ahead(times)).transpose()?;
        let options = ForecastOptions {
            from,
            longest_step,
            paths: look.paths.unwrap_or(state.ends.len() / self.model.dim()),
            seed: look.seed.unwrap_or(state.seed),
            target: if look.state { Target::States } else { Target::Observations },
        };
        let mut ahead = forecast_general(&self.model, &state.ends, in_trading.as_deref().unwrap_or(times), &options)?;
        ahead.times = times.to_vec();
        let mut warnings = Vec::new();
        if !ahead.has_variance {
            warnings.push("this noise has infinite variance: sd is left empty".into());
        }
        if state.learned && !look.fixed_parameters {
            let held = "parameters are fixed at their estimates, as for every model with [states]; intervals \
                        are too narrow";
            warnings.push(held.into());
        }
        let summary = self.summarise(&ahead, options.seed, warnings);
        Ok(View { ahead, summary })
    }

    fn summarise(&self, ahead: &Forecast, seed: u64, warnings: Vec<String>) -> Summary {
        let last = ahead.times.len() - 1;
        let laws: Vec<Marginal> = (0..ahead.dim).map(|i| ahead.marginal(i, last, &[0.05, 0.5, 0.95])).collect();
        let quantile = |k: usize| OneOrMany::new(laws.iter().map(|law| law.quantiles[k]).collect());
        Summary {
            of: ahead.target.name(),
            dimension: OneOrMany::new(self.state.columns.clone()),
            from: self.calendar.write(self.state.time),
            to: self.calendar.write(ahead.times[last]),
            times: ahead.times.len(),
            paths: ahead.paths(),
            median: quantile(1),
            q05: quantile(0),
            q95: quantile(2),
            drawn_parameters: Vec::new(),
            drawn_from: None,
            seed,
            version: env!("CARGO_PKG_VERSION"),
            warnings,
        }
    }
}

fn calendar(state: &GeneralState) -> Result<Calendar> {
    let stamp = |text: &String| match parse(text) {
        Ok(Written::Stamp(stamp)) => Ok(stamp),
        _ => Err(bad(format!("{STATE}: {text} is not a timestamp"))),
    };
    let stamps = state.stamps.iter().map(stamp).collect::<Result<Vec<Stamp>>>()?;
    Ok(if stamps.is_empty() { Calendar::Numbers } else { Calendar::Days(stamps) })
}
