//! Take new rows into a fitted run without fitting again: how surprising each was, and where the filters are then.

use anyhow::Result;
use levytilt::StateSpace;
use levytilt::internals::exact::filter::{Filter, FilterState, Hindsight, Seen, Taken};
use levytilt::internals::forecast::{ForecastOptions, Target, forecast};
use serde::Serialize;
use serde_json::Value;

use super::driven::Driven;
use crate::directory::state::{FilterRecord, State};
use crate::failure::{bad, quoted};
use crate::finite;
use crate::one_or_many::OneOrMany;
use crate::table::time::Calendar;

/// What one row said, given all rows before it; lists where there are several columns, null where a value is missing.
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    /// Its time as the computation sees it.
    #[serde(skip)]
    pub at: f64,
    /// Its time.
    pub time: Value,
    /// The values.
    pub value: OneOrMany<Option<f64>>,
    /// ln p(value | all earlier values).
    pub log_evidence: OneOrMany<Option<f64>>,
    /// Probability of a value at least as far out on either side.
    pub p_value: OneOrMany<Option<f64>>,
    /// Probability that a jump led to it, without looking ahead.
    pub jump_probability: OneOrMany<Option<f64>>,
    /// Probability that it is wrong, without looking ahead; left out where errors are Gaussian.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outlier_probability: Option<OneOrMany<Option<f64>>>,
    /// Mean of the state, this row included.
    pub mean: OneOrMany<Option<f64>>,
    /// Standard deviation of the state, this row included.
    pub sd: OneOrMany<Option<f64>>,
    /// Whether a p-value is below the limit.
    pub alarm: bool,
    /// Whether the run had this row already, which then changes nothing; left out if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// The row that has now as many rows after it as were asked for; left out if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revised: Option<Revised>,
}

/// What a row looks like with hindsight.
#[derive(Debug, Clone, Serialize)]
pub struct Revised {
    /// Its time.
    pub time: Value,
    /// Probability of a value at least as far out on either side, given all other values so far.
    pub p_value: OneOrMany<Option<f64>>,
    /// Probability that a jump led to it.
    pub jump_probability: OneOrMany<Option<f64>>,
    /// Probability that it is wrong; left out where errors are Gaussian.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outlier_probability: Option<OneOrMany<Option<f64>>>,
}

/// How to look at new rows.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    /// P-value below which a row raises an alarm.
    pub alarm: f64,
    /// Rows of hindsight after which a row is looked at again; 0 for not.
    pub lag: usize,
    /// Increments beyond this are jumps; without it as in the run.
    pub jump_above: Option<f64>,
}

impl Default for Watch {
    fn default() -> Self {
        Self { alarm: 0.001, lag: 0, jump_above: None }
    }
}

/// Most rows of hindsight: each is carried over every new row.
const LONGEST_LAG: usize = 1000;

impl Watch {
    /// # Errors
    /// An alarm level that is not a probability.
    pub fn check_alarm(&self) -> Result<()> {
        match (0.0..=1.0).contains(&self.alarm) {
            true => Ok(()),
            false => Err(bad(format!("--alarm {}: expected a probability between 0 and 1", self.alarm))),
        }
    }
}

impl Summary {
    /// Count a row that was taken in.
    pub fn count(&mut self, alarm: bool, log_evidence: f64, written: &str) {
        self.rows += 1;
        self.alarms += usize::from(alarm);
        self.log_evidence += log_evidence;
        self.to = written.into();
    }
}

impl Answer {
    /// One line of JSON.
    pub fn line(&self) -> Result<String> {
        finite::check(self)?;
        Ok(serde_json::to_string(self)?)
    }
}

/// What became of all rows.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Summary {
    /// Rows taken in.
    pub rows: usize,
    /// Rows that the run had already.
    pub known: usize,
    /// Rows with an alarm.
    pub alarms: usize,
    /// ln p of the new values given the old ones.
    pub log_evidence: f64,
    /// The last time, as it is written.
    pub to: String,
}

/// A run that takes in rows one by one.
pub trait Takes {
    /// How times are written.
    fn calendar(&self) -> &Calendar;

    /// The columns that a row has.
    fn columns(&self) -> Vec<String>;

    /// Take in one row, which has a number for each of [`Takes::columns`], NaN where missing. After an error the run is as
    /// it was.
    ///
    /// # Errors
    /// A row that the model cannot take in.
    fn take(&mut self, time: f64, written: &str, row: &[f64]) -> Result<Answer>;

    /// What state.json is to hold now: forecasts start from the new end.
    ///
    /// # Errors
    /// A number that is not finite.
    fn saved(&self) -> Result<String>;

    /// What became of the rows so far.
    fn summary(&self) -> &Summary;
}

impl Takes for Update<'_> {
    fn calendar(&self) -> &Calendar {
        &self.calendar
    }

    fn columns(&self) -> Vec<String> {
        Update::columns(self)
    }

    fn take(&mut self, time: f64, written: &str, row: &[f64]) -> Result<Answer> {
        Update::take(self, time, written, row)
    }

    fn saved(&self) -> Result<String> {
        finite::json(&self.state()?)
    }

    fn summary(&self) -> &Summary {
        &self.summary
    }
}

/// A run of columns with a filter each.
pub struct Update<'a> {
    state: State,
    record: FilterRecord,
    /// The inputs, if there are any.
    driven: Option<Driven>,
    filters: Vec<Filter<'a>>,
    calendar: Calendar,
    watch: Watch,
    /// The last time taken in, as it was written.
    last: Option<(f64, String)>,
    /// What became of the rows so far.
    pub summary: Summary,
}

impl<'a> Update<'a> {
    /// Go on from `state` with one model per column, and with inputs if it has any.
    ///
    /// # Errors
    /// A run without a filter; numbers of `watch` that are out of range.
    pub fn new(state: State, models: &'a [StateSpace], driven: Option<Driven>, watch: Watch) -> Result<Self> {
        let Watch { lag, jump_above, .. } = watch;
        watch.check_alarm()?;
        if lag > LONGEST_LAG {
            return Err(bad(format!("--lag {lag}: expected at most {LONGEST_LAG} rows")));
        }
        if let Some(above) = jump_above.filter(|above| !(*above > 0.0 && above.is_finite())) {
            return Err(bad(format!("--jump-above {above}: expected a number greater than 0")));
        }
        let Some(record) = state.filter.clone() else {
            return Err(bad("the run has no filter state: it was made by an earlier version; fit it again"));
        };
        let filter = |model| Filter::new(model, record.longest)?.with_lag(lag).with_jump_above(jump_above);
        let filters = models.iter().map(filter).collect::<levytilt::Result<_>>()?;
        let (calendar, summary) =
            (state.calendar()?, Summary { to: state.calendar()?.write(state.time), ..Default::default() });
        Ok(Self { state, record, driven, filters, calendar, watch, last: None, summary })
    }

    /// The last time taken in.
    pub fn end(&self) -> f64 {
        self.state.trading.as_ref().map_or_else(|| self.model_end(), |trading| trading.from)
    }

    /// The last time taken in as the model counts: by trading time where the run does.
    fn model_end(&self) -> f64 {
        self.record.columns.iter().map(FilterState::end).fold(f64::NEG_INFINITY, f64::max)
    }

    /// A time after the end as the model counts.
    fn model_time(&self, time: f64) -> Result<f64> {
        let Some(trading) = &self.state.trading else { return Ok(time) };
        Ok(self.model_end() + trading.ahead(&[time])?[0])
    }

    /// The columns that a row has: those of the values, of inputs and of known errors.
    pub fn columns(&self) -> Vec<String> {
        let inputs = self.driven.as_ref().map_or(Vec::new(), Driven::columns);
        let errors = self.state.known_errors.iter().map(|known| known.column.clone());
        self.state.dimension.iter().cloned().chain(inputs).chain(errors).collect()
    }

    /// Take in one row, which has a number for each of [`Update::columns`], NaN where missing. After an error the run is as it
    /// was.
    pub fn take(&mut self, time: f64, written: &str, row: &[f64]) -> Result<Answer> {
        let (values, others) = row.split_at(self.filters.len());
        if time <= self.end() {
            self.summary.known += 1;
            let nothing = Taken { seen: None, revised: None };
            return Ok(self.answer((time, written), values, &vec![nothing; values.len()], true));
        }
        let (inputs, error) = others.split_at(others.len() - usize::from(self.state.known_errors.is_some()));
        let unit = self.unit(values, error)?;
        if let Some(driven) = &self.driven {
            let models = driven.models(time, inputs)?;
            self.filters.iter_mut().zip(models).for_each(|(filter, model)| filter.set_model(model));
        }
        let (mut columns, at) = (self.record.columns.clone(), self.model_time(time)?);
        let each = self.filters.iter_mut().zip(&mut columns).zip(values);
        let taken = each.map(|((filter, state), value)| filter.advance(state, at, *value, unit));
        let taken: Vec<Taken> = taken.collect::<levytilt::Result<_>>()?;
        if let Some(driven) = &mut self.driven {
            driven.push(time, inputs, columns.iter().map(FilterState::since).fold(time, f64::min));
            self.state.inputs.values_mut().zip(inputs).for_each(|(last, new)| *last = *new);
        }
        if let Some(trading) = &mut self.state.trading {
            trading.go_on(time)?;
        }
        self.record.columns = columns;
        if let Some(history) = &mut self.state.history {
            history.push(time, values, inputs, error.first().copied());
        }
        let answer = self.answer((time, written), values, &taken, false);
        let log_evidence = taken.iter().flat_map(|taken| taken.seen).map(|seen| seen.log_evidence).sum::<f64>();
        self.summary.count(answer.alarm, log_evidence, written);
        self.last = Some((time, written.into()));
        Ok(answer)
    }

    /// The error of a row's value in that of the model; 1 where errors are not known, or nothing was seen.
    fn unit(&self, values: &[f64], error: &[f64]) -> Result<f64> {
        let (Some(known), [error], [value]) = (&self.state.known_errors, error, values) else { return Ok(1.0) };
        match value.is_nan() {
            true => Ok(1.0),
            false if *error > 0.0 && error.is_finite() => Ok(error / known.typical),
            false => Err(bad(format!(
                "column {}: {} is not a standard deviation; expected a number greater than 0, or no value",
                quoted(&known.column),
                if error.is_nan() { "a missing value".into() } else { error.to_string() }
            ))),
        }
    }

    fn answer(&self, (time, written): (f64, &str), values: &[f64], taken: &[Taken], known: bool) -> Answer {
        let of = |pick: &dyn Fn(&Seen) -> f64| each(taken.iter().map(|taken| taken.seen.as_ref().map(pick)));
        let outliers = self
            .filters
            .iter()
            .any(|filter| filter.model().dimensions[0].errors.law != levytilt::internals::ErrorLaw::Gaussian);
        Answer {
            at: time,
            time: self.calendar.told(time, written),
            value: each(values.iter().map(|value| Some(*value).filter(|value| !value.is_nan()))),
            log_evidence: of(&|seen| seen.log_evidence),
            p_value: of(&Seen::p_value),
            jump_probability: of(&|seen| seen.jump_probability),
            outlier_probability: outliers.then(|| of(&|seen| seen.outlier_probability)),
            mean: of(&|seen| seen.mean),
            sd: of(&|seen| seen.sd),
            alarm: taken.iter().flat_map(|taken| taken.seen).any(|seen| seen.p_value() < self.watch.alarm),
            known,
            revised: self.revised(taken, outliers),
        }
    }

    /// The row with its hindsight, if one has it now.
    fn revised(&self, taken: &[Taken], outliers: bool) -> Option<Revised> {
        let time = taken.iter().find_map(|taken| taken.revised)?.time;
        // In trading time, the row is found in the record: it is the one so many rows before.
        let rows = self.state.history.as_ref().filter(|_| self.state.trading.is_some()).map(|history| &history.times);
        let time = rows.and_then(|times| times.iter().rev().nth(self.watch.lag)).copied().unwrap_or(time);
        let of = |pick: &dyn Fn(&Hindsight) -> f64| each(taken.iter().map(|taken| taken.revised.as_ref().map(pick)));
        Some(Revised {
            time: self.calendar.told(time, &self.calendar.write(time)),
            p_value: of(&Hindsight::p_value),
            jump_probability: of(&|found| found.jump_probability),
            outlier_probability: outliers.then(|| of(&|found| found.outlier_probability)),
        })
    }

    /// What state.json is to hold now: forecasts start from the new end.
    pub fn state(&self) -> Result<State> {
        let Some((end, written)) = &self.last else { return Ok(self.state.clone()) };
        let count = self.state.weights.len();
        let (dim, weights) = (self.filters.len(), vec![1.0 / count as f64; count]);
        let now = self.model_end();
        let mut states = vec![0.0; dim * count];
        for (i, (filter, column)) in self.filters.iter().zip(&self.record.columns).enumerate() {
            let seed = self.state.seed ^ (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ column.observations as u64;
            let mut own = column.states(count, seed);
            if column.time < now {
                let options = ForecastOptions {
                    from: column.time,
                    longest_step: self.record.longest,
                    paths: count,
                    seed,
                    target: Target::States,
                };
                own = forecast(filter.model(), (&own, &weights), &[now], &options)?.states;
            }
            own.into_iter().enumerate().for_each(|(path, x)| states[path * dim + i] = x);
        }
        let mut state = State { time: *end, states, weights, filter: Some(self.record.clone()), ..self.state.clone() };
        if let Some(stamp) = state.stamps.last_mut() {
            stamp.clone_from(written);
        }
        Ok(state)
    }
}

/// One figure, or a list of them.
pub(super) fn each(figures: impl Iterator<Item = Option<f64>>) -> OneOrMany<Option<f64>> {
    OneOrMany::new(figures.collect())
}
