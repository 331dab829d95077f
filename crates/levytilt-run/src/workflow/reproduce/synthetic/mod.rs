//! The synthetic study: simulated systems, our posterior and a Gaussian one beside the exact floor.

pub mod panel;
pub mod published;
pub mod score;
pub mod set;
pub mod table;
pub mod task;
pub mod ways;

use anyhow::Result;
use serde_json::json;
use std::collections::HashSet;

use crate::directory::journal::Journal;
use crate::directory::resume::work_through;
use crate::failure::bad;
use crate::progress::Progress;
use crate::threads::with_threads;
use crate::workflow::reproduce::request::Request;
use crate::workflow::reproduce::synthetic::panel::panels;
use crate::workflow::reproduce::synthetic::set::DataSet;
use crate::workflow::reproduce::synthetic::table::Table;
use crate::workflow::reproduce::synthetic::task::{How, Line, Task};
use crate::workflow::reproduce::system::System;

/// Tail indices of the study.
const ALPHAS: [f64; 9] = [1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9];
/// Those of a quick look.
const QUICK: [f64; 3] = [1.2, 1.5, 1.8];
/// Data sets per system, index and error.
const REALISATIONS: usize = 50;

/// Tail indices, and the number of data sets of each kind, that the method of the paper is trained on if it is asked for.
const PUBLISHED: ([f64; 3], usize) = (QUICK, 2);

/// More than anybody will wait for.
const MOST_REALISATIONS: usize = 100_000;

/// Simulate, infer and score what is not finished yet.
pub fn study(request: &Request) -> Result<Table> {
    let tasks = tasks(request)?;
    let settings = json!({ "study": "synthetic", "seed": request.seed, "version": env!("CARGO_PKG_VERSION") });
    with_threads(Some(request.threads), || {
        let lines = work(request, &tasks, &settings)?;
        let table = Table::new(&lines, settings)?;
        Ok(Table { panels: panels(&lines, request.seed)?, ..table })
    })?
}

fn tasks(request: &Request) -> Result<Vec<Task>> {
    let (alphas, usual): (&[f64], usize) = if request.quick { (&QUICK, 1) } else { (&ALPHAS, REALISATIONS) };
    let realisations = request.realisations.unwrap_or(usual);
    let errors = if request.quick { &request.observation_std[..1] } else { &request.observation_std[..] };
    if let Some(odd) = errors.iter().find(|error| !(**error > 0.0 && error.is_finite())) {
        return Err(bad(format!("--observation-std {odd}: expected numbers above 0")));
    }
    if !(1..=MOST_REALISATIONS).contains(&realisations) {
        return Err(bad(format!("--realisations {realisations}: expected at least 1, at most {MOST_REALISATIONS}")));
    }
    if request.training_steps.is_some() {
        return Err(bad("--training-steps: this study has no forecasting networks; leave it out"));
    }
    if request.paper == Some(0) {
        return Err(bad("--paper 0: expected at least 1 iteration; leave it out for none"));
    }
    let networks = request.networks.min(realisations);
    let mut tasks = Vec::new();
    for &observation_std in errors {
        for realisation in 0..realisations {
            for &alpha in alphas {
                for system in [System::Ou, System::DoubleWell] {
                    let set = DataSet { system, alpha, observation_std, realisation };
                    tasks.push(Task { set, how: How::Quick });
                }
            }
        }
    }
    // What takes longest, and is wanted least often, comes last.
    let trained = tasks.iter().filter(|task| task.set.realisation < networks).cloned();
    let trained: Vec<Task> = trained.map(|task| Task { how: How::Networks, ..task }).collect();
    let published = request.paper.map_or_else(Vec::new, |iterations| {
        let (alphas, sets) = PUBLISHED;
        let own = |task: &&Task| task.set.realisation < sets && alphas.contains(&task.set.alpha);
        tasks.iter().filter(own).map(|task| Task { how: How::Published(iterations), ..task.clone() }).collect()
    });
    Ok([tasks, trained, published].concat())
}

/// The lines of all data sets, those of earlier runs included.
fn work(request: &Request, tasks: &[Task], settings: &serde_json::Value) -> Result<Vec<Line>> {
    let (journal, mut lines) = Journal::open::<Line>(&request.out.join("sets.jsonl"), settings)?;
    let wanted: HashSet<String> = tasks.iter().map(Task::name).collect();
    lines.retain(|line| wanted.contains(&Task::of(line).name()));
    let done: HashSet<String> = lines.iter().map(|line| Task::of(line).name()).collect();
    let open: Vec<&Task> = tasks.iter().filter(|task| !done.contains(&task.name())).collect();
    let progress = Progress::new("data sets", tasks.len(), done.len(), request.quiet);
    lines.extend(work_through(&open, &journal, &progress, |task| Ok(task.line(request.seed, &request.out)))?);
    // The journal's order depends on threads; sums must not.
    lines.sort_by_cached_key(|line| Task::of(line).name());
    lines.dedup_by(|later, line| {
        let same = later.set == line.set;
        if same {
            line.rows.append(&mut later.rows);
        }
        same
    });
    Ok(lines)
}
