//! Infer a data set of the synthetic study in some ways, and say how it went: a line of sets.jsonl.

use levytilt::{Result, stream};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Instant;

use crate::workflow::backtest::score::identity;
use crate::workflow::reproduce::synthetic::score::Scored;
use crate::workflow::reproduce::synthetic::set::{Data, DataSet};
use crate::workflow::reproduce::synthetic::ways::Way;

/// A line of sets.jsonl.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Line {
    /// The data set.
    pub set: DataSet,
    /// True parameters of the drift.
    pub truth: [f64; 2],
    /// Ways of inference: tilt, gaussian, exact; or neural or paper alone.
    pub rows: Vec<Row>,
}

/// A piece of work: a data set, and how it is inferred.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The data set.
    pub set: DataSet,
    /// How.
    pub how: How,
}

/// How a data set is inferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Stable noise, Gaussian noise, and the exact posterior.
    Quick,
    /// By networks on this library's chain.
    Networks,
    /// By the method of the paper, for so many iterations.
    Published(usize),
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
    /// Iterations of training, of the method of the paper alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<usize>,
    /// Time it took; of a training that was resumed, since then.
    pub seconds: f64,
    /// Why there are no scores.
    pub error: Option<String>,
}

impl Task {
    /// The task that a line is the result of.
    pub fn of(line: &Line) -> Self {
        let how = match line.rows.iter().find_map(|row| row.iterations) {
            Some(iterations) => How::Published(iterations),
            None if line.rows.iter().any(|row| row.name == NEURAL) => How::Networks,
            None => How::Quick,
        };
        Self { set: line.set.clone(), how }
    }

    /// A name that no other task has; the quick ways of a set come first.
    pub fn name(&self) -> String {
        let how = match self.how {
            How::Quick => String::new(),
            How::Networks => format!(", {NEURAL}"),
            How::Published(iterations) => format!(", {PUBLISHED} {iterations}"),
        };
        self.set.name() + &how
    }

    /// Do it; long trainings keep their checkpoints in `out`.
    pub fn line(&self, seed: u64, out: &Path) -> Line {
        match self.how {
            How::Quick => {
                let quick: [(&str, Way); 3] =
                    [("tilt", DataSet::tilt), ("gaussian", DataSet::gaussian), ("exact", DataSet::exact)];
                self.set.line(&quick, seed)
            }
            How::Networks => self.set.line(&[(NEURAL, DataSet::neural as Way)], seed),
            How::Published(iterations) => self.published(seed, iterations, out),
        }
    }

    fn published(&self, seed: u64, iterations: usize, out: &Path) -> Line {
        let kept = out.join(CHECKPOINTS).join(self.set.name().replace(' ', "-"));
        let way = |set: &DataSet, data: &Data, _: [f64; 2], seeds: [u64; 2]| {
            let made = std::fs::create_dir_all(&kept).is_ok();
            set.published(data, seeds, iterations, made.then_some(kept.as_path()))
        };
        let mut line = self.set.line(&[(PUBLISHED, way)], seed);
        line.rows.iter_mut().for_each(|row| row.iterations = Some(iterations));
        // Where it goes on from is of no use to a finished training.
        let _ = std::fs::remove_dir_all(&kept);
        let _ = std::fs::remove_dir(out.join(CHECKPOINTS));
        line
    }
}

/// Names of the rows that are trained.
pub const NEURAL: &str = "neural";
/// The method of the paper.
pub const PUBLISHED: &str = "paper";
/// Directory of checkpoints.
const CHECKPOINTS: &str = "training";

impl DataSet {
    /// True parameters of the drift, and seeds for making the data, learning and drawing.
    pub fn drawn(&self, seed: u64) -> ([f64; 2], [u64; 3]) {
        let mut rng = stream(seed, identity(&self.name()));
        let truth = self.system.draw([StandardNormal.sample(&mut rng), StandardNormal.sample(&mut rng)]);
        (truth, [rng.next_u64(), rng.next_u64(), rng.next_u64()])
    }

    /// Simulate, infer and score.
    fn line<W>(&self, ways: &[(&str, W)], seed: u64) -> Line
    where
        W: Fn(&DataSet, &Data, [f64; 2], [u64; 2]) -> Result<([f64; 2], Scored)>,
    {
        let (truth, [made, learned, drawn]) = self.drawn(seed);
        let row = |(name, way): &(&str, W)| {
            let start = Instant::now();
            let outcome = self.data(truth, made).and_then(|data| way(self, &data, truth, [learned, drawn]));
            let seconds = start.elapsed().as_secs_f64();
            let (found, scores, error) = match outcome {
                Ok((found, scores)) => (Some(found), Some(scores), None),
                Err(error) => (None, None, Some(error.to_string())),
            };
            Row { name: name.to_string(), found, scores, iterations: None, seconds, error }
        };
        Line { set: self.clone(), truth, rows: ways.iter().map(row).collect() }
    }
}
