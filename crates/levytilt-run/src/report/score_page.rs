//! Put the report of a score together.

use anyhow::Result;

use super::calibration::{Curve, pit, reliability};
use super::compact::short;
use super::fan::{Fan, written_axis};
use super::figure::{Axis, Figure, Layer};
use super::page::{Block, Cell, Page, Section, Table, sentence};
use crate::number::readable;
use crate::table::time;
use crate::workflow::forecast::files::Ahead;
use crate::workflow::score::summary::{DimensionScores, Scores};

/// The report of a score; `truths` holds per dimension the index of the forecast time and the value of every observation.
pub fn score_page(scores: &Scores, ahead: &Ahead, truths: &[Vec<(usize, f64)>]) -> Result<Page> {
    let dim = ahead.dimensions.len();
    let (axis, times) = written_axis(&ahead.times)?;
    let fan = |i: usize| {
        let name = &ahead.dimensions[i];
        let (at, values): (Vec<f64>, Vec<f64>) = truths[i].iter().map(|&(j, value)| (times[j], value)).unzip();
        let fan = Fan {
            id: id("fan", i, dim),
            name,
            times: &times,
            axis: axis.clone(),
            draws: &|j| ahead.draws(j, i),
            history: None,
            truth: Some((at, values)),
        };
        let mut figure = fan.figure();
        figure.title =
            if dim > 1 { format!("{name}: forecast and observations") } else { "Forecast and observations".into() };
        figure.caption = "Bands contain 50% and 90% of the forecast paths.".into();
        figure.dimension = (dim > 1).then(|| name.clone());
        Block::Figure(Box::new(figure))
    };
    let calibration = |(i, row): (usize, &DimensionScores)| {
        let prefix = if dim > 1 { format!("{}: ", row.name) } else { String::new() };
        let mut figures = vec![
            diagram(&id("reliability", i, dim), &format!("{prefix}Reliability"), row),
            pit(&id("pit", i, dim), format!("{prefix}PIT histogram"), &row.pit_histogram),
        ];
        figures.iter_mut().for_each(|figure| figure.dimension = (dim > 1).then(|| row.name.clone()));
        Block::Pair(figures)
    };
    let mut overview: Vec<Block> = vec![Block::Table(table(scores))];
    overview.extend(scores.warnings.iter().map(|warning| Block::Warning(sentence(warning))));
    Ok(Page {
        kind: "score".into(),
        title: format!("{}: how good was the forecast?", ahead.dimensions.join(", ")),
        lead: format!(
            "Scores of {}: mean CRPS {} (fair) over {} times and {} paths, in the unit of the record; smaller is better.",
            scores.of,
            readable(scores.crps),
            scores.times.len(),
            scores.paths
        ),
        dimensions: ahead.dimensions.clone(),
        sections: vec![
            Section::new("fan", "Forecast and observations", (0..dim).map(fan).collect()),
            Section::new("scores", "Scores", overview),
            Section::new("calibration", "Calibration", scores.dimensions.iter().enumerate().map(calibration).collect()),
            Section::new("horizon", "By horizon", vec![Block::Figure(Box::new(by_time(scores)?))]),
        ],
        version: scores.version.into(),
        ..Page::default()
    })
}

fn id(name: &str, i: usize, dim: usize) -> String {
    if dim == 1 { name.into() } else { format!("{name}-{}", i + 1) }
}

/// Share of observations below every tenth quantile, from the counts of the PIT.
fn diagram(id: &str, title: &str, row: &DimensionScores) -> Figure {
    let (bins, total) = (row.pit_histogram.len(), row.targets as f64);
    let mut below = 0;
    let observed = row.pit_histogram[..bins - 1].iter().map(|count| {
        below += count;
        below as f64 / total
    });
    let curve = Curve {
        name: &row.name,
        observed: observed.collect(),
        levels: (1..bins).map(|k| k as f64 / bins as f64).collect(),
    };
    reliability(id, title, "nominal level of the forecast quantile", &[curve], row.targets)
}

fn table(scores: &Scores) -> Table {
    let coverage = |row: &DimensionScores, k: usize| {
        let share = row.coverage[k].observed;
        Cell::written(share, format!("{:.1}%", 100.0 * share))
    };
    let row = |row: &DimensionScores| {
        let mut cells = vec![Cell::text(&row.name)];
        cells.extend([row.crps, row.above.crps, row.below.crps, row.mse, row.mae].map(Cell::number));
        cells.extend((0..row.coverage.len()).map(|k| coverage(row, k)));
        cells
    };
    let mut head = ["dimension", "CRPS", "above", "below", "MSE", "MAE"].map(String::from).to_vec();
    let levels = scores.dimensions.first().map_or(&[][..], |row| &row.coverage);
    head.extend(levels.iter().map(|c| format!("coverage {:.0}%", 100.0 * c.level)));
    let tails = scores.dimensions.iter().map(|row| {
        format!("{}: above {}, below {}", row.name, readable(row.above.threshold), readable(row.below.threshold))
    });
    Table {
        caption: format!(
            "CRPS, its parts beyond two thresholds ({}), errors of mean and median, coverage of central intervals.",
            tails.collect::<Vec<_>>().join("; ")
        ),
        head,
        rows: scores.dimensions.iter().map(row).collect(),
        sortable: scores.dimensions.len() > 1,
        best: None,
    }
}

fn by_time(scores: &Scores) -> Result<Figure> {
    let written =
        scores.times.iter().map(|t| time::parse(&t.time).map_err(crate::failure::bad)).collect::<Result<Vec<_>>>()?;
    let (axis, times) = written_axis(&written)?;
    let crps: Vec<f64> = scores.times.iter().map(|time| time.crps).collect();
    let mut sum = 0.0;
    let so_far = crps.iter().enumerate().map(|(k, value)| {
        sum += value;
        sum / (k + 1) as f64
    });
    let so_far: Vec<f64> = so_far.collect();
    let mut figure = Figure::new("crps", "CRPS by time", axis, Axis::linear("CRPS (unit of the record)"))
        .column("time", "time", times)
        .column("crps", "CRPS", short(crps))
        .column("mean", "running mean", short(so_far))
        .layer(Layer::points("CRPS", "blue", "time", "crps"))
        .layer(Layer::line("running mean", "brown", "time", "mean"));
    figure.caption = "CRPS of every forecast time, and the running mean.".into();
    (figure.height, figure.y_include) = (Some(280), vec![0.0]);
    Ok(figure)
}
