//! Put the report of a backtest together, from the content of its scores.json.

use super::calibration::{Curve, pit, reliability, tone};
use super::fan::written_axis;
use super::figure::{Axis, Figure, Layer};
use super::page::{Block, Cell, Page, Section, Table, sentence};
use crate::number::to_digits_of;
use crate::table::time::{Written, parse, without_midnight};
use crate::workflow::backtest::summary::{Difference, ModelScores, Scores, Share};
use crate::workflow::backtest::table::percent;

/// The report of a backtest.
pub fn backtest_page(scores: &Scores) -> Page {
    let mut first = vec![verdict(scores), Block::Table(table(scores)), Block::Figure(Box::new(differences(scores)))];
    first.extend(scores.warnings.iter().map(|warning| Block::Warning(sentence(warning))));
    for (what, count) in [("could not be used", scores.skipped.len()), ("had a model that failed", scores.failed.len())]
    {
        if count > 0 {
            first.push(Block::Warning(format!(
                "{count} windows {what} and are excluded for all models; see scores.json."
            )));
        }
    }
    let truths = scores.models.first().map_or(0, |model| model.pit_histogram.iter().sum());
    let curve = |model: &ModelScores| -> (Vec<f64>, Vec<f64>) {
        model.reliability.iter().map(|share| (share.level, share.observed)).unzip()
    };
    let curves: Vec<_> = scores.models.iter().map(|model| (model.name.as_str(), curve(model))).collect();
    let curves: Vec<Curve> =
        curves.into_iter().map(|(name, (levels, observed))| Curve { name, levels, observed }).collect();
    let diagram =
        reliability("reliability", "Reliability", "nominal coverage of the central interval", &curves, truths);
    let pits = scores.models.iter().enumerate();
    let pits =
        pits.map(|(k, m)| pit(&format!("pit-{}", k + 1), format!("{}: PIT histogram", m.name), &m.pit_histogram));
    Page {
        kind: "backtest".into(),
        title: format!("{}: {}", subject(scores), headline(scores)),
        lead: format!(
            "{} models on {} windows of {}, whose training begins from {} to {}. {}; scores are means over targets, then over \
             windows, in {}.",
            scores.models.len(),
            scores.windows.len(),
            file_name(&scores.data),
            scores.windows.first().map_or("", |start| without_midnight(start)),
            scores.windows.last().map_or("", |start| without_midnight(start)),
            if scores.uneven() {
                "Some models forecast only some of the windows, evenly spread: compare them by their differences, which are over \
                 common windows"
            } else {
                "Every model saw the same windows"
            },
            scores.unit
        ),
        dimensions: vec![],
        sections: vec![
            Section::new("models", "Models", first),
            Section::new(
                "horizon",
                "By horizon and window",
                vec![Block::Pair(vec![by_step(scores), by_window(scores)])],
            ),
            Section::new(
                "calibration",
                "Calibration",
                vec![Block::Table(coverage(scores)), Block::Pair(std::iter::once(diagram).chain(pits).collect())],
            ),
        ],
        version: scores.version.clone(),
        settings: serde_json::to_string_pretty(&scores.settings).unwrap_or_default(),
        ..Page::default()
    }
}

/// A p-value; one that would read as 0 says below what it is.
fn p_value(p: f64) -> String {
    if p < 0.0005 { "< 0.001".into() } else { format!("{p:.3}") }
}

/// The last part of a path: a lead need not say where on this machine the data are.
fn file_name(data: &str) -> &str {
    data.rsplit(['/', '\\']).next().unwrap_or(data)
}

/// What was forecast.
fn subject(scores: &Scores) -> String {
    match scores.dimensions.as_slice() {
        many if many.len() > 4 => format!("{} columns", many.len()),
        few => few.join(", "),
    }
}

/// Of the models whose interval lies below 0 on all windows the one with the lowest CRPS.
fn winner(scores: &Scores) -> Option<(&ModelScores, &Difference)> {
    let better = |m: &&ModelScores| scores.has_all(m) && m.difference.as_ref().is_some_and(|d| d.high < 0.0);
    let found = scores.models.iter().filter(better).min_by(|a, b| a.crps.total_cmp(&b.crps))?;
    Some((found, found.difference.as_ref()?))
}

/// By how much of the reference's CRPS a model's is lower, in percent.
fn share(model: &ModelScores, difference: &Difference) -> f64 {
    100.0 * difference.mean.abs() / (model.crps - difference.mean).abs()
}

/// The finding, as a title.
fn headline(scores: &Scores) -> String {
    let reference = &scores.reference;
    match winner(scores) {
        Some((model, difference)) => {
            format!("{} forecasts better than {reference}, by {:.1}%", model.name, share(model, difference))
        }
        None if scores.models.len() < 2 => format!("scores of {reference}"),
        None => format!("no model forecasts better than {reference} beyond chance"),
    }
}

/// Which model forecasts best, if the windows tell.
fn verdict(scores: &Scores) -> Block {
    let reference = &scores.reference;
    if let Some((model, difference)) = winner(scores) {
        let [low, high] = ends(difference);
        return Block::Good(format!(
            "Of the models that are better than {reference} beyond chance, {} has the lowest CRPS: {:.1}% lower (95% \
             interval of the difference {low} to {high}).",
            model.name,
            share(model, difference)
        ));
    }
    match scores.models.len() {
        0 | 1 => Block::Text(format!("{reference} alone was scored: there is nothing to compare it with.")),
        _ => Block::Warning(format!(
            "No model is better than {reference} beyond chance: no 95% interval of a difference lies below 0."
        )),
    }
}

/// The ends of an interval, both to the second digit of its width.
fn ends(difference: &Difference) -> [String; 2] {
    let width = difference.high - difference.low;
    [difference.low, difference.high].map(|end| to_digits_of(end, width))
}

/// How often central intervals held the truth.
fn coverage(scores: &Scores) -> Table {
    let levels = scores.models.first().map_or(&[][..], |model| &model.coverage);
    let covered = |s: &Share| Cell::written(s.observed, format!("{}%", percent(s.observed, s.std_error)));
    let row = |m: &ModelScores| {
        std::iter::once(Cell::text(&m.name)).chain(m.coverage.iter().map(covered)).collect::<Vec<_>>()
    };
    let heads = levels.iter().map(|share| format!("{:.0}% interval", 100.0 * share.level));
    Table {
        caption: "Share of observations within central intervals, with standard errors over windows.".into(),
        head: std::iter::once("model".to_string()).chain(heads).collect(),
        rows: scores.models.iter().map(row).collect(),
        ..Table::default()
    }
}

fn table(scores: &Scores) -> Table {
    let uneven = scores.uneven();
    let mut head = vec!["model".to_string()];
    head.extend(uneven.then(|| "windows".to_string()));
    head.extend(["CRPS", "difference", "95% interval", "p", "better in"].map(String::from));
    let several = scores.dimensions.len() > 1;
    if several {
        head.extend(["energy score", "variogram score", "equal shares below 5%", "below 1%"].map(String::from));
    }
    head.extend(["tail CRPS", "MSE", "MAE"].map(String::from));
    head.push("s/window".into());
    let covered = |s: &Share| Cell::written(s.observed, format!("{}%", percent(s.observed, s.std_error)));
    let or_dash = |score: Option<f64>| score.map_or_else(|| Cell::text("–"), Cell::number);
    let row = |model: &ModelScores| {
        let mut cells = vec![Cell::text(&model.name)];
        cells.extend(uneven.then(|| Cell::written(model.windows as f64, model.windows.to_string())));
        cells.push(Cell::number(model.crps));
        cells.extend(match &model.difference {
            None => vec![Cell::text("reference"), Cell::text(""), Cell::text(""), Cell::text("")],
            Some(d) => vec![
                Cell::written(d.mean, to_digits_of(d.mean, d.high - d.low)),
                Cell::text(ends(d).join(" to ")),
                // Without an interval there is no test.
                Cell::written(if d.low.is_nan() { f64::NAN } else { d.p_value }, p_value(d.p_value)),
                Cell::written(d.better, format!("{}%", percent(d.better, None))),
            ],
        });
        if several {
            cells.extend([model.energy_score, model.variogram_score].map(or_dash));
            let below = |k: usize| model.portfolio.get(k).map_or_else(|| Cell::text("–"), covered);
            cells.extend([0, 1].map(below));
        }
        cells.extend([model.tail_crps, model.mse, model.mae].map(Cell::number));
        cells.push(Cell::number(model.seconds_per_window));
        cells
    };
    let best = (0..scores.models.len()).min_by(|&a, &b| scores.models[a].crps.total_cmp(&scores.models[b].crps));
    // Means over different windows do not rank models.
    let best = best.filter(|_| !uneven);
    // Stressed only where the data tell it from the reference.
    let best = best.filter(|&k| scores.models[k].difference.as_ref().is_some_and(|d| d.high < 0.0));
    Table {
        caption: format!(
            "Smaller is better. The reference is {}; differences are model minus reference, with a block-bootstrap interval and the Diebold–Mariano \
             p-value. In bold: the model with the lowest CRPS, if its interval excludes 0.",
            scores.reference
        ),
        head,
        rows: scores.models.iter().map(row).collect(),
        sortable: true,
        best,
    }
}

/// Differences from the reference with their intervals.
fn differences(scores: &Scores) -> Figure {
    let compared: Vec<(&ModelScores, &Difference)> =
        scores.models.iter().filter_map(|m| Some((m, m.difference.as_ref()?))).collect();
    let count = compared.len().max(1) as f64;
    let names = compared.iter().map(|(m, _)| m.name.clone()).collect();
    let column = |of: fn(&Difference) -> f64| compared.iter().map(|(_, d)| of(d)).collect::<Vec<f64>>();
    let mut figure = Figure::new(
        "differences",
        format!("CRPS against {}", scores.reference),
        Axis { names, ..Axis::linear("model") },
        Axis::linear("difference in CRPS"),
    )
    .column("model", "model", (1..=compared.len()).map(|k| k as f64).collect())
    .column("low", "2.5%", column(|d| d.low))
    .column("mean", "difference", column(|d| d.mean))
    .column("high", "97.5%", column(|d| d.high))
    .column("ends", "model", vec![0.5, count + 0.5])
    .column("zero", "equal", vec![0.0, 0.0])
    .layer(Layer { dash: true, ..Layer::line("equal to the reference", "grey", "ends", "zero") })
    .layer(Layer::whiskers("model minus reference, 95% interval", "blue", "model", ["low", "mean", "high"]));
    figure.caption = format!(
        "Below zero the model beats the reference; an interval that contains zero is inconclusive. In {}.",
        scores.unit
    );
    figure.height = Some(260);
    figure
}

fn by_step(scores: &Scores) -> Figure {
    let mut figure = Figure::new("crps", "CRPS by step ahead", Axis::linear("step ahead"), Axis::linear("CRPS"));
    for (k, model) in scores.models.iter().enumerate() {
        let (x, y) = (format!("step{k}"), format!("crps{k}"));
        figure = figure
            .column(&x, "step", model.crps_by_step.iter().map(|s| s.step as f64).collect())
            .column(&y, &model.name, model.crps_by_step.iter().map(|s| s.crps).collect())
            .layer(Layer::line(&model.name, tone(k), &x, &y));
    }
    figure.caption = format!("How CRPS grows with the horizon, in {}.", scores.unit);
    (figure.height, figure.y_include) = (Some(320), vec![0.0]);
    figure
}

/// From when the windows forecast, by date or number: where their training starts, and its length later. Their numbers where
/// that cannot be read.
fn origins(scores: &Scores) -> (Axis, Vec<f64>) {
    let read: Option<Vec<Written>> = scores.windows.iter().map(|start| parse(start).ok()).collect();
    let read = read.and_then(|times| written_axis(&times).ok());
    match (read, scores.settings.get("train").and_then(serde_json::Value::as_f64)) {
        (Some((axis, starts)), length) if starts.iter().all(|start| start.is_finite()) => {
            let label = if length.is_some() { "forecast from" } else { "start of training" };
            let origins = starts.iter().map(|start| start + length.unwrap_or(0.0)).collect();
            (Axis { label: label.into(), ..axis }, origins)
        }
        _ => (Axis::linear("number of the window"), (1..=scores.windows.len()).map(|k| k as f64).collect()),
    }
}

fn by_window(scores: &Scores) -> Figure {
    let (axis, origins) = origins(scores);
    let label = axis.label.clone();
    let mut figure = Figure::new("windows", "CRPS by window", axis, Axis::log("CRPS")).column("window", label, origins);
    for (k, model) in scores.models.iter().enumerate() {
        let y = format!("crps{k}");
        let line = Layer::line(&model.name, tone(k), "window", &y);
        // Windows far apart are not joined.
        let layer = match scores.has_all(model) {
            true => Layer { thin: true, ..line },
            false => Layer::points(&model.name, tone(k), "window", &y),
        };
        figure = figure.column(&y, &model.name, model.crps_by_window.clone()).layer(layer);
    }
    figure.caption =
        format!("All models on the same windows; a few hard windows can dominate the mean. In {}.", scores.unit);
    figure.height = Some(320);
    figure
}
