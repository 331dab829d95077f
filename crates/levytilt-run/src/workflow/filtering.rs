//! Filter the columns of a record one by one with the model found: one-step residuals, and the state that `update` goes on
//! from.

use anyhow::Result;
use levytilt::StateSpace;
use levytilt::drift::Neural;
use levytilt::internals::exact::filter::{Filter, Seen};
use levytilt::internals::residuals::{Period, Residuals};
use std::io::Write;

use crate::directory::state::FilterRecord;
use crate::failure::{bad, quoted};
use crate::number::figure;
use crate::settings::build_model::{closed_model, latent_times, open_model};
use crate::settings::{DriftName, Settings};
use crate::table::Table;
use crate::table::time::Calendar;

/// Periods of the calendar in days that residuals are checked for.
const PERIODS: [Period; 2] = [(1.0, "day"), (7.0, "week")];

/// What the filters of all columns found.
pub struct Filtered {
    /// Where they ended.
    pub record: FilterRecord,
    /// Per column and row but the first: what was seen there.
    pub seen: Vec<Vec<Option<Seen>>>,
    /// Per column: the residuals and what they say.
    pub residuals: Vec<Residuals>,
}

/// One model per column, all parameters given.
///
/// # Errors
/// Columns that act on each other: they have no filter of their own.
pub fn column_models(settings: &Settings, names: &[String], network: Option<Neural>) -> Result<Vec<StateSpace>> {
    if names.len() == 1 {
        return Ok(vec![closed_model(settings, names, network, "forecast")?]);
    }
    let spec = open_model(settings, names, "forecast")?;
    if spec.drift.coupled || settings.drift() == DriftName::NEURAL {
        let drift = settings.drift();
        return Err(bad(format!(
            "drift \"{drift}\" couples the columns {}, and a filter takes one column at a time; fit again with the new rows, \
             or fit the columns one by one",
            names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
        )));
    }
    Ok((0..names.len()).map(|i| spec.only(i).model()).collect::<levytilt::Result<_>>()?)
}

/// Filter the columns of `table` with the model that `settings` describe in full, whose rows are at `times` for the model.
/// What is seen is told by the times of the table. Where errors are known, the model's are those of a value with error
/// `typical`.
pub fn filter_at(
    settings: &Settings,
    network: Option<Neural>,
    (table, typical): (&Table, f64),
    times: &[f64],
) -> Result<Filtered> {
    let mut models = column_models(settings, &table.names, network)?;
    if let Some(errors) = &table.errors {
        models[0].dimensions[0].errors.known = Some(errors.iter().map(|error| error / typical).collect());
    }
    let grid = latent_times(settings, times)?;
    let longest = (0..grid.steps()).map(|j| grid.step(j)).fold(0.0, f64::max);
    let periods: &[Period] = if matches!(table.calendar, Calendar::Days(_)) { &PERIODS } else { &[] };
    let (mut columns, mut all) = (Vec::new(), Vec::new());
    for (model, values) in models.iter().zip(&table.columns) {
        let mut filter = Filter::new(model, longest)?.with_jump_above(settings.solve.jump_above)?;
        let (state, mut seen) = filter.run(&grid, values)?;
        for (seen, time) in seen.iter_mut().zip(&table.times[1..]) {
            seen.iter_mut().for_each(|seen| seen.time = *time);
        }
        columns.push(state);
        all.push(seen);
    }
    let residuals = all.iter().map(|seen| Residuals::new(seen, periods)).collect();
    Ok(Filtered { record: FilterRecord { longest, columns }, seen: all, residuals })
}

impl Filtered {
    /// What fails, as warnings; those of one of several columns begin with its name.
    pub fn warnings(&self, names: &[String]) -> Vec<String> {
        let named = |name: &String, text: String| if names.len() == 1 { text } else { format!("{name}: {text}") };
        let each = names.iter().zip(&self.residuals);
        each.flat_map(|(name, found)| found.failures().map(move |check| named(name, check.advice()))).collect()
    }
}

/// Write residuals.csv: what the filter saw at every value given the earlier ones.
pub fn write_residuals(out: &mut dyn Write, found: &Filtered, calendar: &Calendar, names: &[String]) -> Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(["time", "dimension", "residual", "log_evidence", "jump_probability"])?;
    for ((seen, residuals), name) in found.seen.iter().zip(&found.residuals).zip(names) {
        for (seen, residual) in seen.iter().flatten().zip(&residuals.values) {
            let mut fields = vec![calendar.write(seen.time), name.clone()];
            for value in [*residual, seen.log_evidence, seen.jump_probability] {
                fields.push(figure(value)?);
            }
            csv.write_record(fields)?;
        }
    }
    Ok(csv.flush()?)
}
