//! Put the page of a study on prices together: per backtest our models and the paper's in one table, and how well ours keep
//! their word.

use super::backtest_page::backtest_page;
use super::figure::{Axis, Figure, Layer};
use super::page::{Block, Cell, Page, Section, Table, sentence};
use crate::workflow::backtest::summary::{ModelScores, PERCENTILES};
use crate::workflow::reproduce::beside::Beside;
use crate::workflow::reproduce::published::PublishedForecast;

/// The page of a study.
pub fn prices_page(study: &str, parts: &[Beside]) -> Page {
    let windows: Vec<String> =
        parts.iter().map(|p| format!("{} ({} windows)", p.name, p.scores.windows.len())).collect();
    Page {
        kind: "reproduce".into(),
        title: format!("{study} study: {}", windows.join(", ")),
        lead: "Cumulative log-returns two days ahead from thirty days of hourly prices, in units of their spread over the \
               training part. Ours are scored on the prices given; published figures are for the paper's own prices."
            .into(),
        dimensions: vec![],
        sections: parts.iter().map(section).collect(),
        version: parts.first().map_or(String::new(), |part| part.scores.version.clone()),
        ..Page::default()
    }
}

fn section(part: &Beside) -> Section {
    let mut blocks = vec![Block::Table(table(part)), Block::Figure(Box::new(side_by_side(part)))];
    blocks.extend(part.scores.warnings.iter().map(|warning| Block::Warning(sentence(warning))));
    let own = backtest_page(&part.scores);
    let figure = |id: &str| {
        own.figures()
            .into_iter()
            .find(|figure| figure.id == id)
            .map(|figure| Figure { id: format!("{id}-{}", part.name), ..figure.clone() })
    };
    blocks.push(Block::Pair(["reliability", "differences"].iter().filter_map(|id| figure(id)).collect()));
    blocks.extend(figure("crps").map(|figure| Block::Figure(Box::new(figure))));
    blocks.push(Block::Text(format!(
        "{}/report.html is the full report of this backtest, with every window and the PIT histogram of every model.",
        part.name
    )));
    Section::new(&format!("part-{}", part.name), part.name, blocks)
}

/// Jump CRPS at one percentile; NaN if no move was that large.
fn jump(model: &ModelScores, percentile: f64) -> f64 {
    let found = model.jump_crps.iter().find(|jump| jump.percentile == percentile);
    found.and_then(|jump| jump.crps).unwrap_or(f64::NAN)
}

fn table(part: &Beside) -> Table {
    let several = part.scores.dimensions.len() > 1;
    let mut head: Vec<String> = ["model", "whose", "CRPS", "sd"].map(String::from).to_vec();
    let uneven = part.scores.uneven();
    head.extend(uneven.then(|| "windows".to_string()));
    head.extend(several.then(|| "energy score".to_string()));
    head.extend(PERCENTILES.map(|percentile| format!("jump {percentile}%")));
    let levels = part.scores.models.first().map_or(&[][..], |model| &model.coverage);
    head.extend(levels.iter().map(|share| format!("in {:.0}%", 100.0 * share.level)));
    head.push("min/window".into());
    let percent = |share: f64| Cell::written(share, format!("{:.1}%", 100.0 * share));
    let or_dash = |number: Option<f64>, cell: &dyn Fn(f64) -> Cell| number.map_or_else(|| Cell::text("–"), cell);
    let ours = |model: &ModelScores| {
        let mut row =
            vec![Cell::text(&model.name), Cell::text("ours"), Cell::number(model.crps), Cell::number(model.crps_std)];
        row.extend(uneven.then(|| Cell::written(model.windows as f64, model.windows.to_string())));
        row.extend(several.then(|| Cell::number(model.energy_score.unwrap_or(f64::NAN))));
        row.extend(PERCENTILES.map(|percentile| Cell::number(jump(model, percentile))));
        row.extend(model.coverage.iter().map(|share| percent(share.observed)));
        row.push(Cell::number(model.seconds_per_window / 60.0));
        row
    };
    let papers = |model: &PublishedForecast| {
        let mut row =
            vec![Cell::text(model.model), Cell::text("paper"), Cell::number(model.crps), Cell::number(model.std)];
        row.extend(uneven.then(|| Cell::text("–")));
        row.extend(several.then(|| Cell::number(model.energy.unwrap_or(f64::NAN))));
        row.extend(model.jump.map(Cell::number));
        let known = |level: f64| [0.5, 0.9].iter().position(|known| *known == level).and_then(|k| model.coverage[k]);
        row.extend(levels.iter().map(|share| or_dash(known(share.level), &percent)));
        row.push(or_dash(model.minutes, &Cell::number));
        row
    };
    let scores = &part.scores;
    Table {
        caption: format!(
            "Ours: {} windows, {} skipped, {} excluded because a model failed. Smaller is better, except for the coverage of \
             central intervals. sd: standard deviation over windows; jump: CRPS after the largest moves, which selects by outcome and is not a proper score; in: \
             observations within the central interval. Minutes are \
             those of one window: ours of wall-clock time on this machine, the paper's on one GPU.",
            scores.windows.len(),
            scores.skipped.len(),
            scores.failed.len()
        ),
        head,
        rows: scores.models.iter().map(ours).chain(part.published.iter().map(papers)).collect(),
        sortable: true,
        best: None,
    }
}

/// CRPS of all models, the best first, ours and the paper's apart in colour.
fn side_by_side(part: &Beside) -> Figure {
    let ours = part.scores.models.iter().map(|model| (model.name.clone(), model.crps, true));
    let papers = part.published.iter().map(|model| (format!("{} (paper)", model.model), model.crps, false));
    let mut all: Vec<(String, f64, bool)> = ours.chain(papers).collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    let values = |own: bool| all.iter().map(|(_, crps, is)| if *is == own { *crps } else { f64::NAN }).collect();
    let names = all.iter().map(|(name, _, _)| name.clone()).collect();
    let x = Axis { names, ..Axis::linear("model") };
    let y = Axis::linear("CRPS (spreads of the training part)");
    let mut figure = Figure::new(&format!("models-{}", part.name), "CRPS, ours and published", x, y)
        .column("model", "model", (1..=all.len()).map(|k| k as f64).collect())
        .column("ours", "ours", values(true))
        .column("paper", "paper", values(false))
        .layer(Layer { large: true, ..Layer::points("ours", "blue", "model", "ours") })
        .layer(Layer { large: true, ..Layer::points("paper", "red", "model", "paper") });
    figure.caption = "Best first. Ours and the paper's use different prices: compare within a colour only.".into();
    (figure.height, figure.y_include) = (Some(300), vec![0.0]);
    figure
}
