//! Put the report of a forecast together.

use levytilt::internals::forecast::{Forecast, Target};

use super::fan::{Fan, law_at_the_end};
use super::figure::Axis;
use super::page::{Block, Cell, Fact, Page, Section, sentence};
use super::together;
use crate::directory::state::History;
use crate::number::readable;
use crate::table::time::{Calendar, without_midnight};

/// What is forecast, and from where.
pub struct Outlook<'a> {
    /// The forecast.
    pub ahead: &'a Forecast,
    /// Names of the dimensions.
    pub names: &'a [String],
    /// How times are written.
    pub calendar: &'a Calendar,
    /// The last time of the record.
    pub from: f64,
    /// The end of the record, if it is known.
    pub history: Option<&'a History>,
    /// What a careful reader should know.
    pub warnings: &'a [String],
    /// Version of the program.
    pub version: &'a str,
}

/// The report of a forecast.
pub fn forecast_page(outlook: &Outlook) -> Page {
    let Outlook { ahead, names, warnings, .. } = outlook;
    let dim = names.len();
    let end = moment(outlook, ahead.times[ahead.times.len() - 1]);
    let mut blocks: Vec<Block> = (0..dim).flat_map(|i| figures(outlook, i)).collect();
    blocks.extend(warnings.iter().map(|warning| Block::Warning(sentence(warning))));
    blocks.push(Block::Text(match ahead.target {
        Target::Observations => "The paths are of observations: the state plus observation noise.".into(),
        Target::States => "The paths are of the state; observations scatter around it by observation_std.".into(),
    }));
    Page {
        kind: "forecast".into(),
        title: format!(
            "{}: forecast from {} to {}",
            names.join(", "),
            moment(outlook, outlook.from),
            with_unit(outlook)
        ),
        lead: format!(
            "{} {} paths of {} by the fitted model, from the end of the record on.",
            (0..dim).map(|i| expected(outlook, i)).collect::<Vec<_>>().join(" "),
            ahead.paths(),
            ahead.target.name()
        ),
        dimensions: names.to_vec(),
        sections: vec![
            Section::new("fan", "Forecast", blocks),
            Section::new("end", format!("At the last time, {end}"), (0..dim).flat_map(|i| last(outlook, i)).collect()),
        ]
        .into_iter()
        .chain(together::section(names, (0..dim).map(|i| draws(ahead, i, ahead.times.len() - 1)).collect()))
        .collect(),
        version: outlook.version.into(),
        ..Page::default()
    }
}

/// A time as it stands in a headline.
fn moment(outlook: &Outlook, time: f64) -> String {
    let text = outlook.calendar.write(time);
    if matches!(outlook.calendar, Calendar::Numbers) {
        text.replace('-', "−")
    } else {
        without_midnight(&text).into()
    }
}

/// The last time, with what plain numbers count.
fn with_unit(outlook: &Outlook) -> String {
    let end = moment(outlook, outlook.ahead.times[outlook.ahead.times.len() - 1]);
    let plain = matches!(outlook.calendar, Calendar::Numbers);
    match outlook.history.map(|record| record.time_name.as_str()).filter(|name| plain && *name != "time") {
        Some(unit) => format!("{end} {unit}"),
        None => end,
    }
}

/// Where dimension `i` is expected at the last time.
fn expected(outlook: &Outlook, i: usize) -> String {
    let ahead = outlook.ahead;
    let j = ahead.times.len() - 1;
    let law = ahead.marginal(i, j, &[0.05, 0.5, 0.95]);
    let [low, middle, high] = [0, 1, 2].map(|k| readable(law.quantiles[k]));
    let (name, time) = (&outlook.names[i], moment(outlook, ahead.times[j]));
    format!("At {time}, {name} is forecast at {middle} (median), with 90% probability from {low} to {high}.")
}

/// Draws of dimension `i` at a time.
fn draws(ahead: &Forecast, i: usize, j: usize) -> Vec<f64> {
    let width = ahead.times.len() * ahead.dim;
    ahead.states.chunks_exact(width).map(|path| path[j * ahead.dim + i]).collect()
}

fn id(outlook: &Outlook, name: &str, i: usize) -> String {
    if outlook.names.len() == 1 { name.into() } else { format!("{name}-{}", i + 1) }
}

fn figures(outlook: &Outlook, i: usize) -> Vec<Block> {
    let (ahead, name) = (outlook.ahead, &outlook.names[i]);
    let time_name = outlook.history.map_or("time", |record| record.time_name.as_str());
    let fan = Fan {
        id: id(outlook, "fan", i),
        name,
        times: &ahead.times,
        axis: Axis::times(outlook.calendar, time_name),
        draws: &|j| draws(ahead, i, j),
        history: outlook.history.map(|record| end_of_record(record, outlook, i)),
        truth: None,
    };
    let mut figure = fan.figure();
    figure.title = if outlook.names.len() > 1 { format!("{name}: forecast") } else { "Forecast".into() };
    figure.caption =
        "Bands contain 50% and 90% of the paths. They start at the last value of the record. The few single paths drawn \
         may jump out of the frame."
            .into();
    figure.dimension = (outlook.names.len() > 1).then(|| name.clone());
    vec![Block::Figure(Box::new(figure))]
}

/// The end of the record of dimension `i`, as long as what is forecast.
fn end_of_record(record: &History, outlook: &Outlook, i: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut times, mut values) = record.seen(i);
    let length = outlook.ahead.times[outlook.ahead.times.len() - 1] - outlook.from;
    let first = times.partition_point(|t| *t < outlook.from - length).min(times.len().saturating_sub(20));
    (times.split_off(first), values.split_off(first))
}

fn last(outlook: &Outlook, i: usize) -> Vec<Block> {
    let (ahead, name) = (outlook.ahead, &outlook.names[i]);
    let j = ahead.times.len() - 1;
    let law = ahead.marginal(i, j, &[0.05, 0.5, 0.95]);
    let fact = |what: &str, value: f64| Fact {
        name: if outlook.names.len() > 1 { format!("{name}, {what}") } else { what.into() },
        cell: Cell::written(value, readable(value)),
        remark: String::new(),
    };
    let facts = ["5%", "median", "95%"].iter().zip(&law.quantiles).map(|(what, q)| fact(what, *q)).collect();
    let mut figure = law_at_the_end(&id(outlook, "law", i), name, draws(ahead, i, j));
    figure.dimension = (outlook.names.len() > 1).then(|| name.clone());
    vec![Block::Facts(facts), Block::Figure(Box::new(figure))]
}
