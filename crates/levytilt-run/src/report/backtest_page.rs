//! Put the report of a backtest together, from the content of its scores.json.

use super::calibration::{Curve, pit, reliability, tone};
use super::fan::written_axis;
use super::figure::{Axis, Figure, Layer};
use super::page::{Block, Cell, Page, Section, Table, sentence};
use crate::table::time::{Written, parse};
use crate::workflow::backtest::summary::{Difference, ModelScores, Scores, Share};
use crate::workflow::backtest::table::percent;

/// The report of a backtest.
pub fn backtest_page(scores: &Scores) -> Page {
    let mut first = vec![Block::Table(table(scores)), Block::Figure(Box::new(differences(scores)))];
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
        title: format!("{}: {} models, {} windows", file_name(&scores.data), scores.models.len(), scores.windows.len()),
        lead: format!(
            "{} in windows whose training begins from {} to {} ({}). Every model saw the same windows; scores are means over targets, then over windows.",
            scores.dimensions.join(", "),
            scores.windows.first().map_or("", String::as_str),
            scores.windows.last().map_or("", String::as_str),
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
                vec![Block::Figure(Box::new(diagram)), Block::Pair(pits.collect())],
            ),
        ],
        version: scores.version.clone(),
    }
}

/// The last part of a path: a title need not say where on this machine the data are.
fn file_name(data: &str) -> &str {
    data.rsplit(['/', '\\']).next().unwrap_or(data)
}

fn table(scores: &Scores) -> Table {
    let mut head = ["model", "CRPS", "difference", "95% interval", "p", "better in"].map(String::from).to_vec();
    let several = scores.dimensions.len() > 1;
    if several {
        head.extend(["energy score", "variogram score", "equal shares below 5%", "below 1%"].map(String::from));
    }
    head.extend(["tail CRPS", "MSE", "MAE"].map(String::from));
    let levels = scores.models.first().map_or(&[][..], |model| &model.coverage);
    head.extend(levels.iter().map(|share| format!("coverage {:.0}%", 100.0 * share.level)));
    head.push("s/window".into());
    let covered = |s: &Share| Cell::written(s.observed, format!("{}%", percent(s.observed, s.std_error)));
    let or_dash = |score: Option<f64>| score.map_or_else(|| Cell::text("–"), Cell::number);
    let row = |model: &ModelScores| {
        let mut cells = vec![Cell::text(&model.name), Cell::number(model.crps)];
        cells.extend(match &model.difference {
            None => vec![Cell::text("reference"), Cell::text(""), Cell::text(""), Cell::text("")],
            Some(d) => vec![
                Cell::number(d.mean),
                Cell::text(format!("{} to {}", crate::number::readable(d.low), crate::number::readable(d.high))),
                // Without an interval there is no test.
                Cell::written(if d.low.is_nan() { f64::NAN } else { d.p_value }, format!("{:.3}", d.p_value)),
                Cell::written(d.better, format!("{}%", percent(d.better, None))),
            ],
        });
        if several {
            cells.extend([model.energy_score, model.variogram_score].map(or_dash));
            let below = |k: usize| model.portfolio.get(k).map_or_else(|| Cell::text("–"), covered);
            cells.extend([0, 1].map(below));
        }
        cells.extend([model.tail_crps, model.mse, model.mae].map(Cell::number));
        cells.extend(model.coverage.iter().map(covered));
        cells.push(Cell::number(model.seconds_per_window));
        cells
    };
    let best = (0..scores.models.len()).min_by(|&a, &b| scores.models[a].crps.total_cmp(&scores.models[b].crps));
    // Stressed only where the data tell it from the reference.
    let best = best.filter(|&k| scores.models[k].difference.as_ref().is_some_and(|d| d.high < 0.0));
    Table {
        caption: format!(
            "Smaller is better, except for the coverage of central intervals, which has standard errors over windows. The \
             reference is {}; differences are model minus reference, with a block-bootstrap interval and the Diebold–Mariano \
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

/// Where the windows start, by date or number; their numbers where that cannot be read.
fn starts(scores: &Scores) -> (Axis, Vec<f64>) {
    let read: Option<Vec<Written>> = scores.windows.iter().map(|start| parse(start).ok()).collect();
    let (mut axis, starts) = match read.and_then(|times| written_axis(&times).ok()) {
        Some(read) if read.1.iter().all(|start| start.is_finite()) => read,
        _ => (Axis::linear(""), (1..=scores.windows.len()).map(|k| k as f64).collect()),
    };
    axis.label = "start of the window".into();
    (axis, starts)
}

fn by_window(scores: &Scores) -> Figure {
    let (axis, starts) = starts(scores);
    let mut figure =
        Figure::new("windows", "CRPS by window", axis, Axis::log("CRPS")).column("window", "window from", starts);
    for (k, model) in scores.models.iter().enumerate() {
        let y = format!("crps{k}");
        let line = Layer::line(&model.name, tone(k), "window", &y);
        figure = figure.column(&y, &model.name, model.crps_by_window.clone()).layer(Layer { thin: true, ..line });
    }
    figure.caption =
        format!("All models on the same windows; a few hard windows can dominate the mean. In {}.", scores.unit);
    figure.height = Some(320);
    figure
}
