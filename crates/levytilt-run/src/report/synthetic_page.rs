//! Put the page of the synthetic study together: scores and errors by tail index, the paper's beside ours.

use super::compact::short;
use super::figure::{Axis, Figure, Layer};
use super::page::{self, Block, Page, Section};
use super::path::posterior_bands;
use crate::workflow::reproduce::published::Published;
use crate::workflow::reproduce::synthetic::panel::{Panel, Posterior};
use crate::workflow::reproduce::synthetic::published::ITERATIONS;
use crate::workflow::reproduce::synthetic::table::{Cell, Table, title as named};
use crate::workflow::reproduce::synthetic::task::PUBLISHED;
use crate::workflow::reproduce::system::System;

/// What is shown of a cell: a name, a colour, whether it is the paper's, and the figure.
struct Shown {
    name: &'static str,
    tone: &'static str,
    published: bool,
}

/// Ours, then the paper's: Gaussian noise, stable noise, and the floor.
const SHOWN: [Shown; 5] = [
    Shown { name: "exact", tone: "grey", published: false },
    Shown { name: "tilt", tone: "blue", published: false },
    Shown { name: "gaussian", tone: "red", published: false },
    Shown { name: "paper: tilted stable", tone: "blue", published: true },
    Shown { name: "paper: Gaussian", tone: "red", published: true },
];

/// Fewest data sets per point for a line that suggests a trend.
const FEWEST: usize = 5;

/// What is compared: CRPS, or the error of a parameter of the drift.
#[derive(Clone, Copy)]
enum Quantity {
    Crps,
    Error(usize),
}

/// The page of a study.
pub fn synthetic_page(table: &Table) -> Page {
    let mut sections = vec![Section::new("overview", "All tail indices together", overview(table))];
    for (k, cells) in table.cells.chunk_by(|a, b| key(a) == key(b)).enumerate() {
        let single: Vec<&Cell> = cells.iter().filter(|cell| cell.alpha.is_some()).collect();
        if let Some(first) = single.first() {
            sections.push(Section::new(&format!("study-{}", k + 1), title(first), study(&single, k + 1)));
        }
    }
    if !table.panels.is_empty() {
        let shown = table.panels.iter().enumerate().flat_map(|(k, panel)| posteriors(panel, k + 1)).collect();
        sections.push(Section::new("paths", "Posterior paths, Gaussian and stable noise", shown));
    }
    sections.push(Section::new("returns", "What the data say about the drift", vec![split(table)]));
    if !table.networks.is_empty() {
        sections.push(Section::new("networks", "Networks in place of sweeps", vec![networks(table)]));
    }
    if let Some(iterations) = table.iterations.filter(|_| !table.published.is_empty()) {
        let title = format!("The method of the paper, {iterations} iterations");
        sections.push(Section::new("published", &title, vec![by_paper(table, iterations)]));
    }
    let sets: usize = table.cells.iter().filter(|cell| cell.alpha.is_none()).map(|cell| cell.sets).sum();
    Page {
        kind: "reproduce".into(),
        title: format!("Synthetic study: {sets} data sets with known truth"),
        lead: "Posterior of 10 001 states from 1000 noisy observations, scored on held-out observations. The exact \
               posterior with the true parameters is the floor; published figures are for the paper's own data sets."
            .into(),
        dimensions: vec![],
        sections,
        version: table.version.into(),
        ..Page::default()
    }
}

/// A data set: the whole record, then both posteriors about its largest move on the same axes.
fn posteriors(panel: &Panel, number: usize) -> Vec<Block> {
    let set = &panel.set;
    let title = format!("{}, α = {}, realisation {}", named(set.system).0, set.alpha, set.realisation + 1);
    let all: Vec<usize> = (0..panel.times.len()).collect();
    let [_, tilted] = &panel.posteriors;
    let mut whole = shown(panel, tilted, (&format!("paths-{number}"), title.clone()), &all);
    whole.caption = format!(
        "Posterior of the state with {} at the observations that were seen, everything learned but the observation noise.",
        tilted.name
    );
    whole.height = Some(280);
    // Both on the same axes.
    let drawn = panel.posteriors.iter().flat_map(|posterior| &posterior.quantiles);
    let drawn =
        drawn.flat_map(|quantile| panel.close.iter().map(|&j| quantile[j])).chain(panel.truth.1.iter().copied());
    let (low, high) = drawn.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| (low.min(y), high.max(y)));
    let one = |(k, posterior): (usize, &Posterior)| {
        let id = format!("jump-{number}-{}", k + 1);
        let title = format!("The largest move, {}", posterior.name);
        let (times, states) = &panel.truth;
        let mut figure = shown(panel, posterior, (&id, title), &panel.close)
            .column("fine", "time", times.clone())
            .column("truth", "hidden state", short(states.clone()))
            .layer(Layer { dash: true, ..Layer::line("hidden state", "red", "fine", "truth") });
        figure.caption = "The same record about its largest move, with the hidden state that no model has seen.".into();
        (figure.height, figure.y_include) = (Some(300), vec![low, high]);
        figure
    };
    let close = panel.posteriors.iter().enumerate().map(one).collect();
    vec![Block::Figure(Box::new(whole)), Block::Pair(close)]
}

/// Quantiles, one path and the observations at some of the seen times.
fn shown(panel: &Panel, posterior: &Posterior, (id, title): (&str, String), at: &[usize]) -> Figure {
    let pick = |values: &[f64]| -> Vec<f64> { at.iter().map(|&j| values[j]).collect() };
    let figure = Figure::new(id, title, Axis::linear("time"), Axis::linear("state"))
        .column("time", "time", pick(&panel.times))
        .column("observed", "observed", short(pick(&panel.values)));
    posterior_bands(figure, &posterior.quantiles, at)
        .layer(Layer::line("median", "blue", "time", "q50"))
        .column("path", "posterior path", short(pick(&posterior.path)))
        .layer(Layer { thin: true, ..Layer::line("one path", "teal", "time", "path") })
        .layer(Layer::points("observations", "dots", "time", "observed"))
}

fn key(cell: &Cell) -> (System, u64) {
    (cell.system, cell.observation_std.to_bits())
}

fn title(cell: &Cell) -> String {
    format!("{}, observation noise {}", named(cell.system).0, cell.observation_std)
}

/// A figure of a cell; NaN where there is none.
fn figure_of(cell: &Cell, shown: &Shown, quantity: Quantity) -> f64 {
    let ours = || {
        cell.way(shown.name).map(|way| match quantity {
            Quantity::Crps => way.crps,
            Quantity::Error(i) => way.errors[i],
        })
    };
    let papers = || {
        let published = cell.published.as_ref()?;
        let pair = match quantity {
            Quantity::Crps => published.crps,
            Quantity::Error(0) => published.first,
            Quantity::Error(_) => published.second,
        };
        Some(pair[usize::from(shown.name.ends_with("stable"))])
    };
    // What the exact posterior is given it does not err in.
    let given = shown.name == "exact" && matches!(quantity, Quantity::Error(_));
    let found = if shown.published { papers() } else { ours() };
    found.filter(|_| !given).unwrap_or(f64::NAN)
}

fn overview(table: &Table) -> Vec<Block> {
    let together: Vec<&Cell> = table.cells.iter().filter(|cell| cell.alpha.is_none()).collect();
    let mut head: Vec<String> = ["system", "observation noise", "sets"].map(String::from).to_vec();
    head.extend(SHOWN.iter().map(|shown| format!("CRPS, {}", shown.name)));
    head.extend(["tilt / exact".to_string(), "s per set, tilt".into()]);
    let row = |cell: &&Cell| {
        let mut cells = vec![page::Cell::text(named(cell.system).0), plain(cell.observation_std), count(cell.sets)];
        cells.extend(SHOWN.iter().map(|shown| page::Cell::number(figure_of(cell, shown, Quantity::Crps))));
        cells.push(ratio(cell));
        cells.push(page::Cell::number(cell.way("tilt").map_or(f64::NAN, |way| way.seconds)));
        cells
    };
    let caption = "Mean CRPS over all data sets, in the unit of the state; smaller is better. A method can beat exact \
                   only by chance. tilt: stable noise, everything learned but the observation noise. gaussian: the same \
                   with Brownian motion.";
    let rows = together.iter().map(row).collect();
    let mut blocks =
        vec![Block::Table(page::Table { caption: caption.into(), head, rows, sortable: true, best: None })];
    blocks.extend(table.failed.iter().map(|failed| Block::Warning(format!("Excluded for all methods: {failed}"))));
    blocks
}

/// Errors of parameters, apart for systems that return to rest fast and slowly.
fn split(table: &Table) -> Block {
    let head = [
        "system",
        "observation noise",
        "mean reversion",
        "sets",
        "first parameter, tilt",
        "gaussian",
        "second, tilt",
        "gaussian",
    ];
    let row = |cell: &Cell, returns: &str| {
        let mut row = vec![page::Cell::text(named(cell.system).0), plain(cell.observation_std)];
        row.extend([page::Cell::text(returns), count(cell.sets)]);
        row.extend([0, 1].into_iter().flat_map(|i| ["tilt", "gaussian"].map(|name| error(cell, name, i))));
        row
    };
    let fast = table.returning.iter().map(|cell| row(cell, "fast"));
    let rows = fast.chain(table.lingering.iter().map(|cell| row(cell, "slow"))).collect();
    let caption = "Mean absolute errors, medians in brackets. Fast: mean reversion at a rate (θ, or 2θ₁ in a well) of 1 or \
                   more, so ten relaxation times in the record. A record without reversion barely identifies these parameters.";
    Block::Table(page::Table {
        caption: caption.into(),
        head: head.map(String::from).to_vec(),
        rows,
        sortable: true,
        best: None,
    })
}

/// Networks beside the others, on the data sets that they were trained on.
fn networks(table: &Table) -> Block {
    let head = [
        "system",
        "observation noise",
        "α",
        "sets",
        "CRPS, exact",
        "tilt",
        "neural",
        "neural / exact",
        "s per set, neural",
    ];
    let row = |cell: &Cell| {
        let crps = ["exact", "tilt", "neural"].map(|name| cell.crps(name));
        let mut row = vec![page::Cell::text(named(cell.system).0), plain(cell.observation_std)];
        row.push(cell.alpha.map_or(page::Cell::text("all"), plain));
        row.push(count(cell.sets));
        row.extend(crps.map(page::Cell::number));
        row.push(page::Cell::written(crps[2] / crps[0], format!("{:.3}", crps[2] / crps[0])));
        row.push(page::Cell::number(cell.way("neural").map_or(f64::NAN, |way| way.seconds)));
        row
    };
    let caption = "Paths of networks of the paper's size, trained from a cold start at the parameters that tilt learned, \
                   unweighted; tilt and exact on the same data sets.";
    Block::Table(page::Table {
        caption: caption.into(),
        head: head.map(String::from).to_vec(),
        rows: table.networks.iter().map(row).collect(),
        sortable: true,
        best: None,
    })
}

/// The method of the paper beside the others, on the data sets that it was trained on.
fn by_paper(table: &Table, iterations: usize) -> Block {
    let head = [
        "system",
        "observation noise",
        "α",
        "sets",
        "CRPS, exact",
        "tilt",
        "gaussian",
        "paper's method",
        "published",
        "first parameter, paper's method",
        "published",
        "second, paper's method",
        "published",
        "min per set",
    ];
    let row = |cell: &Cell| {
        let theirs = |of: fn(&Published) -> [f64; 2]| {
            cell.published.as_ref().map_or_else(|| page::Cell::text("–"), |p| page::Cell::number(of(p)[1]))
        };
        let mut row = vec![page::Cell::text(named(cell.system).0), plain(cell.observation_std)];
        row.push(cell.alpha.map_or(page::Cell::text("all"), plain));
        row.push(count(cell.sets));
        row.extend(["exact", "tilt", "gaussian", PUBLISHED].map(|name| page::Cell::number(cell.crps(name))));
        row.extend([theirs(|p| p.crps), error(cell, PUBLISHED, 0), theirs(|p| p.first)]);
        row.extend([error(cell, PUBLISHED, 1), theirs(|p| p.second)]);
        row.push(page::Cell::number(cell.way(PUBLISHED).map_or(f64::NAN, |way| way.seconds) / 60.0));
        row
    };
    let budget = match iterations == ITERATIONS {
        true => "its published budget".into(),
        false => format!("{iterations} of its {ITERATIONS} iterations"),
    };
    let caption = format!(
        "Paths of the published method after {budget}, 500 paths and 1000 steps; α and the observation noise given. The other columns \
         are of the same data sets, but for the published ones, which are over 50 of the paper's own."
    );
    Block::Table(page::Table {
        caption,
        head: head.map(String::from).to_vec(),
        rows: table.published.iter().map(row).collect(),
        sortable: true,
        best: None,
    })
}

/// Mean and median error of a parameter.
fn error(cell: &Cell, name: &str, i: usize) -> page::Cell {
    let mean = cell.way(name).map(|way| way.errors[i]);
    mean.map_or(page::Cell::text("–"), |mean| page::Cell::written(mean, cell.error(name, i)))
}

fn plain(value: f64) -> page::Cell {
    page::Cell::written(value, value.to_string())
}

fn count(value: usize) -> page::Cell {
    page::Cell::written(value as f64, value.to_string())
}

fn ratio(cell: &Cell) -> page::Cell {
    let ratio = cell.crps("tilt") / cell.crps("exact");
    page::Cell::written(ratio, format!("{ratio:.3}"))
}

/// Figures and tables of one system and observation noise.
fn study(cells: &[&Cell], number: usize) -> Vec<Block> {
    let names = named(cells[0].system).1;
    let errors = |i: usize| by_alpha(cells, Quantity::Error(i), &format!("error-{}-{number}", i + 1), names[i]);
    vec![
        Block::Figure(Box::new(by_alpha(cells, Quantity::Crps, &format!("crps-{number}"), ""))),
        Block::Pair(vec![errors(0), errors(1)]),
        Block::Table(table(cells, Quantity::Crps, "CRPS on held-out observations; smaller is better.")),
        Block::Table(table(
            cells,
            Quantity::Error(0),
            &format!("Mean absolute error of {}; for ours, median in brackets.", names[0]),
        )),
        Block::Table(table(
            cells,
            Quantity::Error(1),
            &format!("Mean absolute error of {}; for ours, median in brackets.", names[1]),
        )),
        Block::Table(jumps(cells)),
    ]
}

/// Jump CRPS beside the paper's.
fn jumps(cells: &[&Cell]) -> page::Table {
    let head = ["α", "exact", "tilt", "gaussian", "paper: tilted stable", "paper: Gaussian"];
    let row = |cell: &&Cell| {
        let ours = ["exact", "tilt", "gaussian"].map(|name| cell.jumps(name));
        let theirs = [1, 0].map(|side| cell.published_jumps(side));
        let cells = ours.into_iter().chain(theirs).map(page::Cell::text);
        std::iter::once(plain(cell.alpha.unwrap_or(f64::NAN))).chain(cells).collect()
    };
    page::Table {
        caption: "CRPS after the largest moves, above the 90 / 95 / 97.5 / 99% percentiles of all observed moves. It selects by \
                  outcome and is not a proper score. The published figures for OU are the same for both observation noises."
            .into(),
        head: head.map(String::from).to_vec(),
        rows: cells.iter().map(row).collect(),
        sortable: false,
        best: None,
    }
}

/// A quantity over the tail index, all that is known of it together.
fn by_alpha(cells: &[&Cell], quantity: Quantity, id: &str, parameter: &str) -> Figure {
    let (title, y) = match quantity {
        Quantity::Crps => ("CRPS by tail index".to_string(), "CRPS (unit of the state)".to_string()),
        Quantity::Error(_) => (format!("Error of {parameter}"), format!("mean |error of {parameter}|")),
    };
    let alphas = cells.iter().filter_map(|cell| cell.alpha).collect();
    let mut figure = Figure::new(id, title, Axis::linear("tail index α"), Axis::log(y)).column("alpha", "α", alphas);
    let few = cells.iter().map(|cell| cell.sets).min().unwrap_or(0) < FEWEST;
    for (k, shown) in SHOWN.iter().enumerate() {
        let values: Vec<f64> = cells.iter().map(|cell| figure_of(cell, shown, quantity)).collect();
        if values.iter().all(|value| value.is_nan()) {
            continue;
        }
        let column = format!("y{k}");
        let line = Layer::line(shown.name, shown.tone, "alpha", &column);
        let name = if few && !shown.published { shown.name } else { "" };
        figure = figure.column(&column, shown.name, values);
        if !few || shown.published {
            figure = figure.layer(Layer { dash: shown.published, thin: shown.published, ..line });
        }
        figure = figure.layer(Layer { large: !shown.published, ..Layer::points(name, shown.tone, "alpha", &column) });
    }
    figure.caption = match quantity {
        Quantity::Crps => "Logarithmic scale, smaller is better; dashed: as published.".into(),
        Quantity::Error(_) => "Mean over data sets, which a few hard ones can dominate.".into(),
    };
    if few {
        figure.caption += " So few data sets per point show no trend; no line joins them.";
    }
    figure.height = Some(if matches!(quantity, Quantity::Crps) { 340 } else { 280 });
    figure
}

fn table(cells: &[&Cell], quantity: Quantity, caption: &str) -> page::Table {
    // The floor has no errors to show, and the ratio to it is of the scores.
    let is_score = matches!(quantity, Quantity::Crps);
    let shown = || SHOWN.iter().filter(move |shown| is_score || shown.name != "exact");
    let mut head: Vec<String> = ["α", "sets"].map(String::from).to_vec();
    head.extend(shown().map(|shown| shown.name.to_string()));
    head.extend(is_score.then(|| "tilt / exact".to_string()));
    let entry = |cell: &Cell, shown: &Shown| match quantity {
        Quantity::Error(i) if !shown.published => error(cell, shown.name, i),
        _ => page::Cell::number(figure_of(cell, shown, quantity)),
    };
    let row = |cell: &&Cell| {
        let mut row = vec![plain(cell.alpha.unwrap_or(f64::NAN)), count(cell.sets)];
        row.extend(shown().map(|shown| entry(cell, shown)));
        row.extend(is_score.then(|| ratio(cell)));
        row
    };
    page::Table { caption: caption.into(), head, rows: cells.iter().map(row).collect(), sortable: true, best: None }
}
