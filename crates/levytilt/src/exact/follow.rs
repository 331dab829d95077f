//! Solve a problem on windows that follow the data: spacing from known widths, windows widened where they were too small.

use super::backward::Backward;
use super::convolve::{KEPT_EACH, Rounding};
use super::forward::{self, Edge, Run};
use super::gather::{Gathered, index};
use super::gradient::{Gradient, Judged, evidence, gradient};
use super::layout::Layout;
use super::problem::Problem;
use super::sample::On;
use super::thin::Thinned;
use super::windows::{Widths, Windows, widths};
use crate::noise::Lengths;
use crate::series::TimeGrid;
use crate::stop::NEVER;
use crate::{Error, Result, StateSpace, Stop};

/// Cells per standard deviation of what past or future alone say, while learning and for the answer. The interpolation
/// then errs by 0.6·(1/2.5)¹² ≈ 1e-5 and 2e-9 of one step at most: parameters learned with 3.5 cells are the same to 1e-5 of their
/// standard errors.
const LEARNING: f64 = 2.5;
const ANSWER: f64 = 5.0;
/// Error of the log evidence by states outside the windows that is let pass, while learning and for the answer.
const BEYOND_LEARNING: f64 = 2e-2;
const BEYOND: f64 = 2e-4;
/// Relative error of a variance, and mass after the last observation, outside the windows that is let pass in the answer; the
/// former only up to this many cells.
const VARIANCE: f64 = 1e-2;
const OUTSIDE: f64 = 2e-4;
const MODERATE: usize = 1 << 22;
/// Finest spacing of the answer, as a share of what the evidence needs.
const FINER: f64 = 0.125;
/// Cells of times without an observation that are affordable in the answer: in all, and more for every time.
const AFFORDABLE: usize = 1 << 22;
const AFFORDABLE_EACH: usize = 1 << 11;
/// The same of one of them.
const AFFORDABLE_WIDEST: usize = 1 << 17;
/// Error by the rounding of FFTs that is let pass in the answer.
const LOSS: f64 = 1e-5;
/// Multiplications of a run without FFTs that rounding is worth, and the error by rounding from which it is worth any number.
const DEAREST: f64 = 2e10;
const UNBEARABLE: f64 = 1e-2;
/// Most pairs of cells that a slope of the evidence counts one by one: some 0.2 s.
const MOST_PAIRS: f64 = 5e8;
/// Times that windows are widened.
const WIDENINGS: usize = 12;
/// Most cells of one time, and of all times together: three messages of them are kept.
const MOST_CELLS: usize = 1 << 20;
const MOST_TOTAL: usize = 1 << 25;

/// A series to be explained by models of one kind.
#[derive(Debug)]
pub(crate) struct Follower<'a> {
    grid: &'a TimeGrid,
    values: &'a [f64],
    gathered: Option<Gathered>,
    stop: &'a Stop,
}

/// Windows that were enough before, to begin with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    windows: Option<Windows>,
}

impl Memory {
    /// Windows for all times of a series from those of some.
    ///
    /// # Errors
    /// Those of a problem of `model` and these values.
    pub fn of_all(&self, thinned: &Thinned, model: &StateSpace, (grid, values): (&TimeGrid, &[f64])) -> Result<Self> {
        let problem = Problem::new(model, grid, values)?;
        Ok(Self { windows: self.windows.as_ref().map(|windows| windows.spread(&problem, thinned.kept())) })
    }

    /// The windows for `problem`, if they are of its times.
    fn windows(self, problem: &Problem) -> Windows {
        self.windows.filter(|windows| windows.len() == problem.values.len()).unwrap_or_else(|| Windows::new(problem))
    }
}

/// The answer at given parameters: a run on a layout that is fine and wide enough.
#[derive(Debug)]
pub(crate) struct Answer {
    pub run: Run,
    pub layout: Layout,
    pub rounding: Rounding,
    /// Messages from the future on that layout.
    pub backward: Backward,
    /// Error of the log evidence to expect.
    pub error: f64,
}

impl Answer {
    /// The grid that paths are drawn on, and what the future says there.
    pub fn on(&self) -> On<'_> {
        (&self.layout, self.rounding, &self.backward)
    }
}

impl<'a> Follower<'a> {
    /// Models like `model` for the values of `grid`.
    pub fn new(model: &StateSpace, grid: &'a TimeGrid, values: &'a [f64]) -> Result<Self> {
        let gathered = if index(model).is_some() { Gathered::new(grid, values)? } else { None };
        Ok(Self { grid, values, gathered, stop: &NEVER })
    }

    /// The same, which ends with an error once `stop` asks for it.
    pub fn stopped_by(self, stop: &'a Stop) -> Self {
        Self { stop, ..self }
    }

    /// Log evidence and slope in all parameters, as accurate as learning needs.
    pub fn gradient(&self, model: &StateSpace, memory: &mut Memory) -> Result<Gradient> {
        let Some((gathered, index)) = self.gathered.as_ref().zip(index(model)) else {
            let problem = Problem::new(model, self.grid, self.values)?.stopped_by(self.stop);
            return learn(&problem, (memory, usize::MAX), gradient, |gradient| &gradient.judged);
        };
        let problem = gathered.problem(model, index)?.stopped_by(self.stop);
        let mut found = learn(&problem, (memory, usize::MAX), gradient, |gradient| &gradient.judged)?;
        add_lengths(&mut found, gathered, &problem);
        Ok(found)
    }

    /// The log evidence alone, if that takes at most `most` cells over all times and all tries of windows.
    pub fn log_evidence(&self, model: &StateSpace, memory: &mut Memory, most: usize) -> Result<f64> {
        let run = |problem: &Problem, memory: &mut Memory| {
            learn(problem, (memory, most), evidence, |(_, judged)| judged).map(|(log_evidence, _)| log_evidence)
        };
        match self.gathered.as_ref().zip(index(model)) {
            Some((gathered, index)) => run(&gathered.problem(model, index)?.stopped_by(self.stop), memory),
            None => run(&Problem::new(model, self.grid, self.values)?.stopped_by(self.stop), memory),
        }
    }

    /// Cells of all times that learning works on at `model`: what a pass costs.
    pub fn cells(&self, model: &StateSpace) -> Result<usize> {
        let count = |problem: &Problem| {
            let windows = Windows::new(problem);
            Ok(learning_layout(problem, widths(problem)?.future / LEARNING, &windows)?.total())
        };
        match self.gathered.as_ref().zip(index(model)) {
            Some((gathered, index)) => count(&gathered.problem(model, index)?),
            None => count(&Problem::new(model, self.grid, self.values)?),
        }
    }
}

/// What the lengths of gathered steps add to the slopes of the parameters that they depend on: none without a drift.
fn add_lengths(gradient: &mut Gradient, gathered: &Gathered, problem: &Problem) {
    let noise = problem.dimension.noise.as_ref();
    let Lengths::SelfSimilar { index, parameter, scale } = noise.lengths() else { return };
    let slopes = gathered.slopes(problem, index);
    let drift = problem.model.drift.parameter_count();
    for (key, by_noise) in &gradient.by_length {
        let Some(slope) = slopes.get(key) else { continue };
        // The scale enters as scale·Δ^{1/index}: ∂/∂ ln Δ = (scale/index) ∂/∂scale.
        let by_length = by_noise[scale] * noise.parameters()[scale].1 / index;
        gradient.slope.iter_mut().zip(&slope.drift).for_each(|(sum, by)| *sum += by_length * by);
        if let Some(parameter) = parameter {
            gradient.slope[drift + parameter] += by_length * slope.index;
        }
    }
}

/// Run on windows until they are large enough, on at most `most` cells in all.
fn learn<T>(
    problem: &Problem,
    (memory, most): (&mut Memory, usize),
    run: impl Fn(&Problem, &Layout, usize, Rounding) -> Result<T>,
    judged: impl Fn(&T) -> &Judged,
) -> Result<T> {
    let spacing = widths(problem)?.future / LEARNING;
    let windows = memory.windows.get_or_insert_with(|| Windows::new(problem));
    let mut cells = 0;
    for _ in 0..WIDENINGS {
        let layout = learning_layout(problem, spacing, windows)?;
        cells += layout.total();
        if cells > most {
            let why = format!("{cells} cells are more than the {most} that are affordable");
            return Err(Error::Numerical { what: "exact posterior", why });
        }
        let found = run(problem, &layout, MOST_CELLS, Rounding::Fast)?;
        if !widen(windows, judged(&found), BEYOND_LEARNING) {
            return Ok(found);
        }
    }
    Err(unsettled())
}

/// Widen what was too narrow; false if nothing was.
fn widen(windows: &mut Windows, judged: &Judged, beyond: f64) -> bool {
    judged.pressed.iter().for_each(|&(j, sides)| windows.press(j, sides));
    windows.reach_out(&judged.beyond, beyond) || !judged.pressed.is_empty()
}

fn layout(problem: &Problem, spacing: f64, windows: &Windows) -> Result<Layout> {
    let layout = Layout::following(problem, spacing, &windows.ranges(problem)?, windows.first(), MOST_CELLS)?;
    if layout.total() > MOST_TOTAL {
        return Err(Error::Numerical {
            what: "exact posterior",
            why: format!("{} cells over all times are more than the {MOST_TOTAL} allowed", layout.total()),
        });
    }
    Ok(layout)
}

/// The layout for a slope of the evidence, unless that takes too long: pairs of states that are farther apart than kernels are kept
/// are counted one by one.
fn learning_layout(problem: &Problem, spacing: f64, windows: &Windows) -> Result<Layout> {
    let layout = layout(problem, spacing, windows)?;
    let pairs = |j: usize| {
        let [before, after] = [j - 1, j].map(|j| layout.support(j).len);
        if before.max(after) < KEPT_EACH { 0.0 } else { before as f64 * after as f64 }
    };
    let pairs: f64 = (1..problem.values.len()).map(pairs).sum();
    match pairs > MOST_PAIRS {
        true => Err(Error::Numerical {
            what: "exact posterior",
            why: format!("{pairs:.0e} pairs of cells are more than the {MOST_PAIRS:.0e} allowed"),
        }),
        false => Ok(layout),
    }
}

/// Reach out where a run found too much beyond its windows; false if nowhere. With `variances`, as far as these need it.
fn reach_out(windows: &mut Windows, run: &Run, variances: bool) -> bool {
    let losses: Vec<_> = run.edges().iter().map(|(j, edges)| (*j, edges.map(|edge| edge.evidence))).collect();
    let wide = |edge: &Edge| edge.outside > 0.5 * OUTSIDE || (variances && edge.variance > VARIANCE);
    let sides = run.edges().iter().flat_map(|(j, [low, high])| [(*j, 0, low), (*j, 1, high)]);
    let places = sides.filter(|(.., edge)| wide(edge)).map(|(j, side, _)| (j, side));
    // Both, whatever the first finds.
    windows.reach_out(&losses, BEYOND) | windows.reach_out_at(places)
}

fn unsettled() -> Error {
    Error::Numerical { what: "exact posterior", why: "windows around the data do not contain the posterior".into() }
}

/// The spacing for the answer: as fine as the laws of the states are narrow, so that their quantiles are told, but not finer than
/// [`FINER`] of what the evidence needs, nor than [`MODERATE`] cells allow.
fn answer_spacing(problem: &Problem, windows: &Windows) -> Result<f64> {
    let Widths { future, past } = widths(problem)?;
    let (coarsest, fine) = (future / ANSWER, past.max(FINER * future) / ANSWER);
    let Extents { open, closed, .. } = extents(problem, &windows.ranges(problem)?);
    Ok(fine.max((open + closed) / MODERATE as f64).min(coarsest))
}

/// How far the states of times extend in all: those before the last observation that have none, and all others; and of one of the
/// former at most.
#[derive(Default)]
struct Extents {
    open: f64,
    closed: f64,
    widest_open: f64,
}

fn extents(problem: &Problem, ranges: &[(f64, f64)]) -> Extents {
    let mut sum = Extents::default();
    for (i, (low, high)) in ranges.iter().enumerate() {
        let extent = high - low;
        match problem.values[i + 1].is_nan() && i + 1 < problem.end {
            true => {
                sum.open += extent;
                sum.widest_open = sum.widest_open.max(extent);
            }
            false => sum.closed += extent,
        }
    }
    sum
}

/// Multiplications of a run without FFTs.
fn direct_cost(problem: &Problem, layout: &Layout) -> f64 {
    let step = |j: usize| 3.0 * layout.support(j - 1).len as f64 * layout.support(j).len as f64;
    (1..problem.values.len()).map(step).sum()
}

/// What [`try_answer`] came to.
enum Outcome {
    Answered(Box<Answer>),
    /// More cells than are affordable; the times to go on with, and their windows.
    TooWide(Vec<usize>, Windows),
}

/// Evidence and marginals of `problem`, all its times included; `memory` says where learning ended.
pub(crate) fn answer(problem: &Problem, levels: &[f64], memory: Memory) -> Result<Answer> {
    match try_answer(problem, levels, memory.windows(problem), None)? {
        Outcome::Answered(answer) => Ok(*answer),
        Outcome::TooWide(..) => Err(unsettled()),
    }
}

/// The same on times of which some may be left out.
#[derive(Debug)]
pub(crate) struct Partial {
    pub answer: Answer,
    /// The times that are left; nothing if that is all.
    pub gathered: Option<Gathered>,
}

/// Evidence and marginals of `model`. Where the law over a gap is known, the times in gaps whose states spread over more cells than
/// are affordable are left out, to be filled in between the states at their ends. Ends with an error once `stop` asks for it.
pub(crate) fn partial_answer(
    model: &StateSpace,
    (grid, values): (&TimeGrid, &[f64]),
    levels: &[f64],
    memory: Memory,
    stop: &Stop,
) -> Result<Partial> {
    let problem = Problem::new(model, grid, values)?.stopped_by(stop);
    let index = index(model).filter(|_| model.dimensions[0].errors.known.is_none());
    let affordable = index.map(|_| (AFFORDABLE + AFFORDABLE_EACH * grid.len()) as f64);
    let (mut kept, mut windows) = match try_answer(&problem, levels, memory.windows(&problem), affordable)? {
        Outcome::Answered(answer) => return Ok(Partial { answer: *answer, gathered: None }),
        Outcome::TooWide(kept, windows) => (kept, windows),
    };
    for _ in 0..WIDENINGS {
        let gathered = Gathered::only(grid, &problem.values, kept);
        let reduced = gathered.problem(model, index.ok_or_else(unsettled)?)?.stopped_by(stop);
        match try_answer(&reduced, levels, windows, affordable)? {
            Outcome::Answered(answer) => return Ok(Partial { answer: *answer, gathered: Some(gathered) }),
            Outcome::TooWide(fewer, next) => {
                kept = fewer.into_iter().map(|k| gathered.kept()[k]).collect();
                windows = next;
            }
        }
    }
    Err(unsettled())
}

/// [`answer`], unless times without an observation have more than `affordable` cells together, or one of them too many.
fn try_answer(problem: &Problem, levels: &[f64], mut windows: Windows, affordable: Option<f64>) -> Result<Outcome> {
    let mut rounding = Rounding::Fast;
    let spacing = answer_spacing(problem, &windows)?;
    for _ in 0..WIDENINGS {
        if let Some(cells) = affordable {
            let (most, widest) = (cells * spacing, AFFORDABLE_WIDEST as f64 * spacing);
            let ranges = windows.ranges(problem)?;
            let Extents { open, widest_open, .. } = extents(problem, &ranges);
            if open > most || widest_open > widest {
                let kept = windows.narrow_gaps(problem, &ranges, (most, widest));
                let windows = windows.only(&kept);
                return Ok(Outcome::TooWide(kept, windows));
            }
        }
        let layout = layout(problem, spacing, &windows)?;
        let (run, backward) = forward::smooth(problem, &layout, levels, MOST_CELLS, rounding)?;
        let narrow = reach_out(&mut windows, &run, layout.total() < MODERATE);
        // Beyond this a run without FFTs takes minutes, and the error is stated as it is.
        let bearable = direct_cost(problem, &layout) < DEAREST || run.loss > UNBEARABLE;
        let rough = run.loss > LOSS && rounding == Rounding::Fast && bearable;
        if !(narrow || rough) && run.pressed.is_empty() {
            let [low, high] = run.ends();
            let error = low.evidence + high.evidence + run.loss;
            return Ok(Outcome::Answered(Box::new(Answer { run, layout, rounding, backward, error })));
        }
        run.pressed.iter().for_each(|&(j, sides)| windows.press(j, sides));
        if rough {
            rounding = Rounding::Careful;
        }
    }
    Err(unsettled())
}
