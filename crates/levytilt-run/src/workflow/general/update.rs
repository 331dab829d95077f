//! Take new rows into a fitted run of a written-out model, with particles.

use anyhow::Result;
use levytilt::internals::general::{OnlineFilter, Particles};

use super::fit::GeneralState;
use super::forecast::Origin;
use crate::failure::bad;
use crate::finite;
use crate::table::time::Calendar;
use crate::workflow::update::{Answer, Summary, Takes, Watch, each};

/// A run that takes in rows.
#[derive(Debug)]
pub struct GeneralUpdate {
    state: GeneralState,
    filter: OnlineFilter,
    particles: Particles,
    calendar: Calendar,
    watch: Watch,
    summary: Summary,
}

impl GeneralUpdate {
    /// Go on from where the run stands.
    ///
    /// # Errors
    /// What is not there for such a model: hindsight, jumps by their size, nonlinear drifts, and inputs.
    pub fn new(origin: Origin, watch: Watch) -> Result<Self> {
        watch.check_alarm()?;
        let refused = [(watch.lag > 0, "--lag"), (watch.jump_above.is_some(), "--jump-above")];
        if let Some((_, flag)) = refused.iter().find(|(given, _)| *given) {
            return Err(bad(format!("{flag} is not available for a model with [states]; leave it out")));
        }
        let (state, model, calendar) = origin.parts();
        let refused = [
            (!model.drift.is_affine(), "a nonlinear drift"),
            (!state.inputs.is_empty(), "[inputs]"),
            (state.trading.is_some(), "clock or volatility in [model]"),
        ];
        if let Some((_, what)) = refused.iter().find(|(there, _)| *there) {
            return Err(bad(format!(
                "update is not available for [states] with {what}; fit the longer record instead"
            )));
        }
        let filter = OnlineFilter::new(model, state.step, state.seed).map_err(|error| bad(error.to_string()))?;
        let particles = match &state.particles {
            Some(particles) => particles.clone(),
            None => filter.start(state.time, &state.ends)?,
        };
        let summary = Summary { to: calendar.write(state.time), ..Summary::default() };
        Ok(Self { state, filter, particles, calendar, watch, summary })
    }
}

impl Takes for GeneralUpdate {
    fn calendar(&self) -> &Calendar {
        &self.calendar
    }

    fn columns(&self) -> Vec<String> {
        self.state.columns.clone()
    }

    fn take(&mut self, time: f64, written: &str, values: &[f64]) -> Result<Answer> {
        let mut answer = Answer {
            at: time,
            time: self.calendar.told(time, written),
            value: each(values.iter().map(|value| Some(*value).filter(|value| !value.is_nan()))),
            log_evidence: each([None].into_iter()),
            p_value: each(values.iter().map(|_| None)),
            jump_probability: each(self.filter.model().sources.iter().map(|_| None)),
            outlier_probability: None,
            mean: each(self.filter.model().states.iter().map(|_| None)),
            sd: each(self.filter.model().states.iter().map(|_| None)),
            alarm: false,
            known: time <= self.particles.time,
            revised: None,
        };
        if answer.known {
            self.summary.known += 1;
            return Ok(answer);
        }
        let seen = self.filter.advance(&mut self.particles, time, values)?;
        answer.log_evidence = each([seen.log_evidence].into_iter());
        answer.alarm = seen.p_values.iter().flatten().any(|p| *p < self.watch.alarm);
        answer.p_value = each(seen.p_values.into_iter());
        answer.jump_probability = each(seen.jump_probability.into_iter().map(Some));
        answer.mean = each(seen.means.into_iter().map(Some));
        answer.sd = each(seen.sds.into_iter().map(Some));
        self.state.history.push(time, values, &[], None);
        self.state.time = time;
        if let Some(stamp) = self.state.stamps.last_mut() {
            *stamp = written.into();
        }
        self.summary.count(answer.alarm, seen.log_evidence.unwrap_or(0.0), written);
        Ok(answer)
    }

    fn saved(&self) -> Result<String> {
        if self.summary.rows == 0 {
            return finite::json(&self.state);
        }
        let count = self.state.ends.len() / self.filter.model().dim();
        let ends = self.particles.draws(count, self.state.seed);
        finite::json(&GeneralState { ends, particles: Some(self.particles.clone()), ..self.state.clone() })
    }

    fn summary(&self) -> &Summary {
        &self.summary
    }
}
