//! Infer a data set of the synthetic study in some ways, and say how it went: a line of sets.jsonl.

use levytilt::stream;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use std::time::Instant;

use crate::workflow::backtest::score::identity;
use crate::workflow::reproduce::synthetic::score::Scored;
use crate::workflow::reproduce::synthetic::set::DataSet;
use crate::workflow::reproduce::synthetic::ways::Way;

/// A line of sets.jsonl.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Line {
    /// The data set.
    pub set: DataSet,
    /// True parameters of the drift.
    pub truth: [f64; 2],
    /// Ways of inference: tilt, gaussian, exact; or neural alone.
    pub rows: Vec<Row>,
}

/// A piece of work: a data set, by networks or in the quick ways.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The data set.
    pub set: DataSet,
    /// Whether networks are trained on it.
    pub neural: bool,
}

/// One way of inference on one data set.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Parameters of the drift that were found.
    pub found: Option<[f64; 2]>,
    /// Scores of the posterior.
    pub scores: Option<Scored>,
    /// Time it took.
    pub seconds: f64,
    /// Why there are no scores.
    pub error: Option<String>,
}

impl Task {
    /// The task that a line is the result of.
    pub fn of(line: &Line) -> Self {
        Self { set: line.set.clone(), neural: line.rows.iter().any(|row| row.name == "neural") }
    }

    /// A name that no other task has; the quick ways of a set come first.
    pub fn name(&self) -> String {
        format!("{}{}", self.set.name(), if self.neural { ", neural" } else { "" })
    }

    /// Do it.
    pub fn line(&self, seed: u64) -> Line {
        let quick: [(&str, Way); 3] =
            [("tilt", DataSet::tilt), ("gaussian", DataSet::gaussian), ("exact", DataSet::exact)];
        self.set.line(if self.neural { &[("neural", DataSet::neural as Way)] } else { &quick }, seed)
    }
}

impl DataSet {
    /// True parameters of the drift, and seeds for making the data, learning and drawing.
    pub fn drawn(&self, seed: u64) -> ([f64; 2], [u64; 3]) {
        let mut rng = stream(seed, identity(&self.name()));
        let truth = self.system.draw([StandardNormal.sample(&mut rng), StandardNormal.sample(&mut rng)]);
        (truth, [rng.next_u64(), rng.next_u64(), rng.next_u64()])
    }

    /// Simulate, infer and score.
    fn line(&self, ways: &[(&str, Way)], seed: u64) -> Line {
        let (truth, [made, learned, drawn]) = self.drawn(seed);
        let row = |(name, way): &(&str, Way)| {
            let start = Instant::now();
            let outcome = self.data(truth, made).and_then(|data| way(self, &data, truth, [learned, drawn]));
            let seconds = start.elapsed().as_secs_f64();
            let (found, scores, error) = match outcome {
                Ok((found, scores)) => (Some(found), Some(scores), None),
                Err(error) => (None, None, Some(error.to_string())),
            };
            Row { name: name.to_string(), found, scores, seconds, error }
        };
        Line { set: self.clone(), truth, rows: ways.iter().map(row).collect() }
    }
}
