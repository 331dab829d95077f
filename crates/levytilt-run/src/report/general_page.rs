//! Put the report of a written-out model together: states with their bands, parameters, jumps by source.

use levytilt::internals::general::GeneralFit;

use crate::number::readable;
use crate::report::compact::{pick, short, thin};
use crate::report::equation::Equation;
use crate::report::figure::{Axis, Figure, Layer};
use crate::report::finding::noise_name;
use crate::report::page::{Block, Cell, Fact, Page, Section, Table as PageTable, sentence};
use crate::report::path::posterior_bands;
use crate::table::Table;
use crate::workflow::general::settings::{GeneralSettings, LoadingValue, On};
use crate::workflow::general::summary::{Jump, Summary, jumps};
use levytilt::internals::fit::NINETY;

/// Most times drawn of one state.
const MOST: usize = 4000;
/// Most jumps listed.
const LISTED: usize = 200;

/// The report of a fit of the model that `settings` write out.
pub fn general_page(fit: &GeneralFit, summary: &Summary, table: &Table, settings: &GeneralSettings) -> Page {
    let states = &fit.model.states;
    let mut quality = vec![Block::Facts(vec![
        Fact {
            name: "log evidence".into(),
            cell: Cell::written(
                summary.log_evidence,
                format!("{:.2} ± {:.2}", summary.log_evidence, summary.log_evidence_std_error).replace('-', "−"),
            ),
            remark: "in nats, from independent particle filters".into(),
        },
        Fact {
            name: "paths".into(),
            cell: Cell::count(summary.paths),
            remark: match summary.effective_sample_size < summary.paths as f64 {
                true => {
                    format!("equal weights; at least {:.0} distinct paths at every time", summary.effective_sample_size)
                }
                false => "drawn by backward simulation; equal weights".into(),
            },
        },
    ])];
    quality.extend(summary.warnings.iter().map(|warning| Block::Warning(sentence(warning))));
    // Those that a column sees come first.
    let mut order: Vec<usize> = (0..states.len()).collect();
    order.sort_by_key(|&i| seen(fit, i).is_none());
    let figures = order.iter().map(|&i| Block::Figure(Box::new(state(fit, table, i)))).collect();
    let mut sections = vec![
        Section::new("finding", "What was found", finding(fit, summary, settings, &order)),
        Section::new("path", "States", figures),
        Section::new(
            "parameters",
            "Parameters",
            std::iter::once(parameters(summary)).chain(loadings(fit, settings)).map(Block::Table).collect(),
        ),
        Section::new("quality", "How good is this fit?", quality),
    ];
    let listed = jump_table(fit, table);
    if !listed.rows.is_empty() {
        sections.push(Section::new("jumps", "Probable jumps", vec![Block::Table(listed)]));
    }
    Page {
        kind: "fit".into(),
        title: format!("{}: states {}", table.names.join(", "), states.join(", ")),
        lead: format!(
            "{} observations of {} from {}, modelled by {} states on {} steps, moved by {} {}.",
            summary.observations,
            table.names.join(", "),
            table.source,
            states.len(),
            summary.steps,
            fit.model.sources.len(),
            if fit.model.sources.len() == 1 { "noise" } else { "noises" }
        ),
        dimensions: Vec::new(),
        sections,
        version: summary.version.into(),
        settings: toml::to_string(settings).unwrap_or_default(),
        ..Page::default()
    }
}

/// An equation per state with its estimates, and how often the noises jumped.
fn finding(fit: &GeneralFit, summary: &Summary, settings: &GeneralSettings, order: &[usize]) -> Vec<Block> {
    let equation = |&i: &usize| {
        let name = &fit.model.states[i];
        let formula = settings.states.get(name)?.clone();
        let own = |p: &&levytilt::internals::fit::Estimate| names_in(&formula).any(|known| known == p.name);
        let estimates = fit.parameters.iter().filter(own).map(|p| (p.name.clone(), p.value, p.std_error)).collect();
        Some(Block::Equation(Equation {
            estimates,
            terms: noises(fit, i),
            state: Some(name.clone()),
            formula,
            ..Equation::default()
        }))
    };
    let mut blocks: Vec<Block> = order.iter().filter_map(equation).collect();
    let jumps = jumps(fit);
    let text = match jumps.len() {
        0 => "No jump is more likely than not.".to_string(),
        1 => "One jump is more likely than not".into(),
        many => format!("{many} jumps are more likely than not"),
    };
    let shared = jumps.iter().filter(|jump| common(fit, jump.source)).count();
    let several = (0..fit.model.sources.len()).any(|r| common(fit, r));
    let text = match shared {
        _ if jumps.is_empty() => text,
        _ if !several => text + ".",
        0 => text + ", none of them from a common noise.",
        1 => text + ", one of them from a common noise.",
        shared => format!("{text}, {shared} of them from a common noise."),
    };
    let families = fit.model.sources.iter().map(|s| format!("{} is {}", s.name, noise_name(s.noise.family())));
    let families = families.collect::<Vec<_>>().join(", ");
    blocks.push(Block::Text(format!(
        "Noise: {families}. {text} One-step residuals are not checked for written-out states."
    )));
    let facts = fit.parameters.iter().map(|p| Fact {
        name: p.name.clone(),
        cell: Cell::estimate(p.value, p.std_error),
        remark: if p.fixed { "given" } else { "" }.into(),
    });
    blocks.push(Block::Facts(facts.collect()));
    let error = summary.log_evidence_std_error;
    if error > 1.0 {
        blocks.push(Block::Warning(format!(
            "The log evidence is known to ± {error:.1} nats only: compare it with other models only if they differ by more."
        )));
    }
    blocks
}

/// The noises that move state `i` by name, with their loadings; none if the state is moved by others alone.
fn noises(fit: &GeneralFit, i: usize) -> Vec<(String, f64)> {
    let loading = |source: &levytilt::internals::general::Source| (source.name.clone(), source.direction[i]);
    fit.model.sources.iter().map(loading).filter(|(_, by)| *by != 0.0).collect()
}

/// The states that source `r` moves, and by how much.
fn moved(fit: &GeneralFit, r: usize) -> Vec<(&str, f64)> {
    let by = fit.model.states.iter().map(String::as_str).zip(fit.model.sources[r].direction.iter().copied());
    by.filter(|(_, by)| *by != 0.0).collect()
}

/// Whether source `r` moves several states at once.
fn common(fit: &GeneralFit, r: usize) -> bool {
    moved(fit, r).len() > 1
}

/// How far every common noise moves every state, with standard errors; nothing where each noise moves one.
fn loadings(fit: &GeneralFit, settings: &GeneralSettings) -> Option<PageTable> {
    let error = |source: &str, state: &str| {
        let On::Loadings(on) = &settings.noise.get(source)?.on else { return None };
        let LoadingValue::Name(name) = on.get(state)? else { return None };
        fit.parameters.iter().find(|p| p.name == *name)?.std_error
    };
    let mut rows = Vec::new();
    for r in (0..fit.model.sources.len()).filter(|&r| common(fit, r)) {
        let source = &fit.model.sources[r].name;
        for (state, by) in moved(fit, r) {
            let error = error(source, state);
            let range = error.map(|error| {
                let ends = [-1.0, 1.0].map(|side| readable(by + side * NINETY * error));
                format!("{} to {}", ends[0], ends[1])
            });
            rows.push(vec![
                Cell::text(source),
                Cell::text(state),
                Cell::number(by),
                error.map_or_else(|| Cell::text("–"), Cell::number),
                Cell::text(range.unwrap_or_else(|| "–".into())),
            ]);
        }
    }
    (!rows.is_empty()).then(|| PageTable {
        caption: "Loadings: the effect of one unit of a common noise on each state.".into(),
        head: ["noise", "state", "loading", "standard error", "90% interval"].map(String::from).into(),
        rows,
        ..PageTable::default()
    })
}

/// Words of a formula.
fn names_in(formula: &str) -> impl Iterator<Item = &str> {
    formula.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// The column that sees state `i` alone.
fn seen(fit: &GeneralFit, i: usize) -> Option<usize> {
    let alone = |weights: &[f64]| weights.iter().enumerate().all(|(k, w)| *w == f64::from(u8::from(k == i)));
    fit.model.rows.iter().position(|row| alone(row.weights.as_slice()))
}

/// A state with its bands, and the observations if a column sees it alone.
fn state(fit: &GeneralFit, table: &Table, i: usize) -> Figure {
    let name = &fit.model.states[i];
    let quantile = |k: usize| fit.marginals[i].iter().map(|m| m.quantiles[k]).collect::<Vec<f64>>();
    let all: Vec<Vec<f64>> = (0..5).map(quantile).collect();
    let keep = thin(fit.times.len(), MOST, &[&all[0], &all[4]], &[]);
    let seen = seen(fit, i);
    let x = Axis::times(&table.calendar, &table.time_name);
    let mut figure =
        Figure::new(&format!("state-{}", i + 1), format!("{name}: posterior"), x, Axis::linear(name.clone())).column(
            "time",
            "time",
            pick(&fit.times, &keep),
        );
    figure = posterior_bands(figure, &all, &keep).layer(Layer::line("median", "blue", "time", "q50"));
    if let Some(row) = seen {
        let column = &table.columns[row];
        let rows: Vec<usize> = (0..column.len()).filter(|&r| !column[r].is_nan()).collect();
        let values = pick(column, &rows);
        let drawn = thin(rows.len(), MOST, &[&values], &[]);
        figure = figure
            .column("observed_time", "time of observation", pick(&pick(&table.times, &rows), &drawn))
            .column("observed", "observed", short(pick(&values, &drawn)))
            .layer(Layer::points("observations", "dots", "observed_time", "observed"));
    }
    figure.caption = match seen {
        Some(row) => format!("Observations of {} and the posterior of the state behind them.", table.names[row]),
        None => "A hidden state, inferred from the observed columns through the drift.".into(),
    };
    (figure.link, figure.height) = (Some("time".into()), Some(360));
    figure
}

fn parameters(summary: &Summary) -> PageTable {
    let row = |p: &levytilt::internals::fit::Estimate| {
        let from = match p.std_error {
            _ if p.fixed => "given",
            _ if p.held_by_prior => "mostly the prior",
            Some(_) => "data",
            None => "data, no standard error",
        };
        let error = p.std_error.map_or_else(|| Cell::text("–"), Cell::number);
        vec![Cell::text(&p.name), Cell::number(p.value), error, Cell::text(from)]
    };
    PageTable {
        caption: "Estimates are posterior modes; standard errors are from the curvature of the log evidence.".into(),
        head: ["parameter", "estimate", "standard error", "source"].map(String::from).into(),
        rows: summary.estimates.iter().map(row).collect(),
        ..PageTable::default()
    }
}

fn jump_table(fit: &GeneralFit, table: &Table) -> PageTable {
    let mut all = jumps(fit);
    all.sort_by(|a, b| b.size[0].abs().total_cmp(&a.size[0].abs()));
    all.truncate(LISTED);
    let several = (0..fit.model.sources.len()).any(|r| common(fit, r));
    let row = |jump: &Jump| {
        let text = [table.calendar.write(fit.times[jump.place]), fit.model.sources[jump.source].name.clone()];
        let numbers = [jump.probability, jump.size[0], jump.size[1], jump.size[2]];
        let size = |by: f64| readable(by * jump.size[0]);
        let moves: Vec<String> =
            moved(fit, jump.source).into_iter().map(|(state, by)| format!("{state} by {}", size(by))).collect();
        let moves = several.then(|| Cell::text(moves.join(", ")));
        text.map(Cell::text).into_iter().chain(numbers.map(Cell::number)).chain(moves).collect()
    };
    let head = ["time", "noise", "probability", "size", "size, 5%", "size, 95%"].into_iter();
    PageTable {
        caption: "Steps whose variance is more likely than not in the upper 1% of the noise, by source; largest first."
            .into(),
        head: head.chain(several.then_some("moves")).map(String::from).collect(),
        rows: all.iter().map(row).collect(),
        sortable: true,
        ..PageTable::default()
    }
}
