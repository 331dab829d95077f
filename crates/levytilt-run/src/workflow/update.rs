//! Take new rows into a fitted run without fitting again: how surprising each was, and where the filters are then.

use anyhow::Result;
use levytilt::StateSpace;
use levytilt::exact::filter::{Filter, FilterState, Seen};
use levytilt::forecast::{ForecastOptions, Target, forecast};
use serde::Serialize;
use serde_json::Value;

use crate::directory::state::{FilterRecord, State};
use crate::failure::bad;
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
    /// Mean of the state, this row included.
    pub mean: OneOrMany<Option<f64>>,
    /// Standard deviation of the state, this row included.
    pub sd: OneOrMany<Option<f64>>,
    /// Whether a p-value is below the limit.
    pub alarm: bool,
    /// Whether the run had this row already, which then changes nothing; left out if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
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

/// A run that takes in rows.
pub struct Update<'a> {
    state: State,
    record: FilterRecord,
    models: &'a [StateSpace],
    filters: Vec<Filter<'a>>,
    calendar: Calendar,
    alarm: f64,
    /// The last time taken in, as it was written.
    last: Option<(f64, String)>,
    /// What became of the rows so far.
    pub summary: Summary,
}

impl<'a> Update<'a> {
    /// Go on from `state` with one model per column; a p-value below `alarm` raises an alarm.
    ///
    /// # Errors
    /// A run without a filter.
    pub fn new(state: State, models: &'a [StateSpace], alarm: f64) -> Result<Self> {
        if !(0.0..=1.0).contains(&alarm) {
            return Err(bad(format!("--alarm {alarm}: expected a probability between 0 and 1")));
        }
        if state.trading.is_some() {
            return Err(bad(
                "the run goes by trading time (--clock business or --volatility recent), and update by the calendar; fit \
                 again with the new rows",
            ));
        }
        let Some(record) = state.filter.clone() else {
            return Err(bad("the run has no filter state: it was made by an earlier version; fit it again"));
        };
        let filters = models.iter().map(|model| Filter::new(model, record.longest)).collect::<levytilt::Result<_>>()?;
        let (calendar, summary) =
            (state.calendar()?, Summary { to: state.calendar()?.write(state.time), ..Default::default() });
        Ok(Self { state, record, models, filters, calendar, alarm, last: None, summary })
    }

    /// How times are written.
    pub fn calendar(&self) -> &Calendar {
        &self.calendar
    }

    /// The last time taken in.
    pub fn end(&self) -> f64 {
        self.record.columns.iter().map(FilterState::end).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Take in the values of one row, NaN where missing. After an error the run is as it was.
    pub fn take(&mut self, time: f64, written: &str, values: &[f64]) -> Result<Answer> {
        if time <= self.end() {
            self.summary.known += 1;
            return Ok(self.answer((time, written), values, &vec![None; values.len()], true));
        }
        let mut columns = self.record.columns.clone();
        let each = self.filters.iter_mut().zip(&mut columns).zip(values);
        let seen = each.map(|((filter, state), value)| filter.advance(state, time, *value));
        let seen: Vec<Option<Seen>> = seen.collect::<levytilt::Result<_>>()?;
        self.record.columns = columns;
        if let Some(history) = &mut self.state.history {
            history.push(time, values);
        }
        let answer = self.answer((time, written), values, &seen, false);
        self.summary.rows += 1;
        self.summary.alarms += usize::from(answer.alarm);
        self.summary.log_evidence += seen.iter().flatten().map(|seen| seen.log_evidence).sum::<f64>();
        self.summary.to = written.into();
        self.last = Some((time, written.into()));
        Ok(answer)
    }

    fn answer(&self, (time, written): (f64, &str), values: &[f64], seen: &[Option<Seen>], known: bool) -> Answer {
        let of = |pick: &dyn Fn(&Seen) -> f64| OneOrMany::new(seen.iter().map(|s| s.as_ref().map(pick)).collect());
        Answer {
            at: time,
            time: match self.calendar {
                Calendar::Numbers => Value::from(time),
                Calendar::Days(_) => Value::from(written),
            },
            value: OneOrMany::new(values.iter().map(|value| Some(*value).filter(|value| !value.is_nan())).collect()),
            log_evidence: of(&|seen| seen.log_evidence),
            p_value: of(&Seen::p_value),
            jump_probability: of(&|seen| seen.jump_probability),
            mean: of(&|seen| seen.mean),
            sd: of(&|seen| seen.sd),
            alarm: seen.iter().flatten().any(|seen| seen.p_value() < self.alarm),
            known,
        }
    }

    /// What state.json is to hold now: forecasts start from the new end.
    pub fn state(&self) -> Result<State> {
        let Some((end, written)) = &self.last else { return Ok(self.state.clone()) };
        let count = self.state.weights.len();
        let (dim, weights) = (self.models.len(), vec![1.0 / count as f64; count]);
        let mut states = vec![0.0; dim * count];
        for (i, (model, column)) in self.models.iter().zip(&self.record.columns).enumerate() {
            let seed = self.state.seed ^ (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ column.observations as u64;
            let mut own = column.states(count, seed);
            if column.time < *end {
                let options = ForecastOptions {
                    from: column.time,
                    longest_step: self.record.longest,
                    paths: count,
                    seed,
                    target: Target::States,
                };
                own = forecast(model, (&own, &weights), &[*end], &options)?.states;
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
