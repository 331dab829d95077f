//! Run the masses from the past against the messages from the future and summarise each time.

use super::backward::{self, Backward, Message};
use super::convolve::Rounding;
use super::layout::Layout;
use super::marginal::Marginal;
use super::problem::Problem;
use super::transition::Transition;
use crate::Result;

/// What one run over all times found.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// ln p(values); NaN if the grid is too coarse to make it positive.
    pub log_evidence: f64,
    /// Largest difference of the log evidence computed at different times.
    pub disagreement: f64,
    /// Expected relative error of the evidence by the rounding of FFTs.
    pub loss: f64,
    pub mean: Vec<f64>,
    pub sd: Vec<f64>,
    /// Quantiles by time.
    pub quantiles: Vec<Vec<f64>>,
    /// What presses against either end of the cells of each open time.
    edges: Vec<(usize, [Edge; 2])>,
    /// Probability that the value of each time is wrong, up to the last observation; NaN where there is none. Empty if errors
    /// are Gaussian.
    pub wrong: Vec<f64>,
    /// Observed times whose cells hold too little below or above.
    pub pressed: Vec<(usize, [bool; 2])>,
}

/// What presses against one end of the cells of a time, or of several.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Edge {
    /// Error of the log evidence to expect, summed over the times up to the last observation.
    pub evidence: f64,
    /// Error of a variance relative to it, the largest of all times whose variance exists.
    pub variance: f64,
    /// Mass outside after the last observation, the largest of these times.
    pub outside: f64,
}

/// Slowest fall |x|^{−q} of a density that is still taken to have a variance; the limit is 3.
const SLOWEST: f64 = 3.05;

/// Share of the mass at the edge of an observation's cells above which these are too few.
const PRESSED: f64 = 1e-9;

/// The evidence alone, from one backward run and, if FFTs were used, a forward run that must agree with it.
///
/// Rounding hits the two in unrelated ways, so a disagreement is its size.
pub(super) fn evidence(problem: &Problem, layout: &Layout, max_cells: usize, rounding: Rounding) -> Result<Run> {
    let mut transition = Transition::new(problem, layout, max_cells, rounding);
    let (first, rough) = backward::start(&mut transition)?;
    let mut past = Past::start(&transition)?;
    let log_evidence = past.against(&first).0;
    let mut run = Run { log_evidence, ..Run::default() };
    if rough {
        for j in 0..problem.end {
            past = past.step(&mut transition, j)?;
        }
        let ones = Message { values: vec![1.0; past.filtered.values.len()], log_scale: 0.0, floor: 0.0 };
        run.loss = (past.against(&ones).0 - log_evidence).abs();
    }
    Ok(run)
}

/// Evidence, moments and quantiles at `levels` of every time; and the messages from the future, towards which paths are drawn.
pub(super) fn smooth(
    problem: &Problem,
    layout: &Layout,
    levels: &[f64],
    max_cells: usize,
    rounding: Rounding,
) -> Result<(Run, Backward)> {
    let mut transition = Transition::new(problem, layout, max_cells, rounding);
    let mut other = Transition::new(problem, layout, max_cells, rounding);
    // Past and future side by side, if there is room for both.
    let (backward, ready) = match layout.total() <= backward::KEPT {
        true => rayon::join(|| Backward::run(&mut transition), || Past::all(&mut other)),
        false => (Backward::run(&mut transition), Ok(Vec::new())),
    };
    let (backward, mut ready) = (backward?, ready?.into_iter());
    let mut past = ready.next().map_or_else(|| Past::start(&transition), Ok)?;
    let mut run = Run { log_evidence: past.against(backward.start()).0, ..Run::default() };
    let mut j = 0;
    for k in 0..backward.stretches() {
        for future in backward.stretch(k, &mut transition)?.iter() {
            if j > 0 {
                past = ready.next().map_or_else(|| past.step(&mut transition, j - 1), Ok)?;
            }
            let (log_evidence, loss) = past.against(future);
            run.disagreement = run.disagreement.max((log_evidence - run.log_evidence).abs());
            run.loss += loss;
            let joint: Vec<f64> = past.filtered.values.iter().zip(&future.values).map(|(a, b)| a * b).collect();
            let (missing, open) = (problem.values[j].is_nan(), j > 0 && problem.open(j));
            if let Some(sides) = (!open).then(|| pressed(&joint)).flatten() {
                run.pressed.push((j, sides));
            }
            run.summarise(layout.points(j), &joint, levels, open);
            if open {
                // Where something is observed a jump has to be made up for by an error as well.
                let has_variance = problem.dimension.noise.has_variance() || !missing;
                let (first, spacing) = layout.points(j);
                let ahead = |i: usize| future.values[i].abs() * problem.likelihood(j, first + i as f64 * spacing);
                run.measure_edges(&joint, ahead, (first, spacing), has_variance);
            }
            if problem.has_heavy_errors() {
                run.wrong.push(problem.wrong(j, layout.points(j), &joint));
            }
            j += 1;
        }
    }
    // The drift decides it for all times alike, but near a second mode the tail may be too far out to be recognised.
    if run.sd.iter().any(|sd| sd.is_infinite()) {
        let missing = problem.values.iter().map(|value| value.is_nan());
        run.sd.iter_mut().zip(missing).skip(1).filter(|(_, missing)| *missing).for_each(|(sd, _)| *sd = f64::INFINITY);
    }
    run.predict(&mut transition, past.filtered.values, levels)?;
    Ok((run, backward))
}

/// The masses of one time: α_j before its observation, and times the likelihood after it.
pub(super) struct Past {
    pub filtered: Message,
    /// Typical absolute error of the masses before the observation, on the scale of `filtered`.
    floor: f64,
    /// Likelihood of the observation at the cells, if FFT rounding has to be weighed with it.
    likelihood: Option<Vec<f64>>,
}

impl Past {
    pub fn start(transition: &Transition) -> Result<Self> {
        Self::observe(transition, 0, transition.layout.start().to_vec(), 0.0, 0.0)
    }

    /// The masses of all times up to the last observation.
    fn all(transition: &mut Transition) -> Result<Vec<Self>> {
        let mut all = vec![Self::start(transition)?];
        for j in 0..transition.problem.end {
            all.push(all[j].step(transition, j)?);
        }
        Ok(all)
    }

    pub fn step(&self, transition: &mut Transition, j: usize) -> Result<Self> {
        let (values, floor) = transition.push(j, &self.filtered.values)?;
        Self::observe(transition, j + 1, values, self.filtered.log_scale, floor)
    }

    fn observe(transition: &Transition, j: usize, mut values: Vec<f64>, log_scale: f64, floor: f64) -> Result<Self> {
        let (problem, points) = (transition.problem, transition.layout.points(j));
        // Rounding of an FFT is as large where the likelihood is small.
        let (likelihood, constant) = match floor > 0.0 {
            true => {
                let mut likelihood = vec![1.0; values.len()];
                let constant = problem.observe(j, points, &mut likelihood);
                values.iter_mut().zip(&likelihood).for_each(|(value, factor)| *value *= factor);
                (Some(likelihood), constant)
            }
            false => (None, problem.observe(j, points, &mut values)),
        };
        let filtered = Message::scaled(values, log_scale + constant, floor).ok_or_else(|| {
            problem.impossible(j, "no state consistent with the earlier observations reaches the observation")
        })?;
        let floor = filtered.floor;
        Ok(Self { filtered, floor, likelihood })
    }

    /// Log evidence against the message from the future, and its expected relative error by FFT rounding.
    pub fn against(&self, future: &Message) -> (f64, f64) {
        let (a, b) = (&self.filtered.values, &future.values);
        let total: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
        let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
        let mut loss = future.floor * norm(&mut a.iter().copied());
        if let Some(likelihood) = &self.likelihood {
            loss += self.floor * norm(&mut b.iter().zip(likelihood).map(|(b, l)| b * l));
        }
        (total.ln() + self.filtered.log_scale + future.log_scale, loss / total.abs())
    }
}

impl Run {
    /// What presses against either end at any time.
    pub fn ends(&self) -> [Edge; 2] {
        let add = |sum: Edge, edge: Edge| Edge {
            evidence: sum.evidence + edge.evidence,
            variance: sum.variance.max(edge.variance),
            outside: sum.outside.max(edge.outside),
        };
        self.edges.iter().fold(Default::default(), |[low, high], &(_, edges)| [add(low, edges[0]), add(high, edges[1])])
    }

    /// What presses against either end of the cells of each open time.
    pub fn edges(&self) -> &[(usize, [Edge; 2])] {
        &self.edges
    }

    /// Put what was found at the times `kept` into a run over `count` times; NaN elsewhere.
    pub fn spread(&mut self, kept: &[usize], count: usize) {
        let over = |values: &[f64]| {
            let mut all = vec![f64::NAN; count];
            values.iter().zip(kept).for_each(|(value, &j)| all[j] = *value);
            all
        };
        (self.mean, self.sd) = (over(&self.mean), over(&self.sd));
        if !self.wrong.is_empty() {
            let until = kept[self.wrong.len() - 1] + 1;
            self.wrong = over(&self.wrong)[..until].to_vec();
        }
        let levels = self.quantiles.first().map_or(0, Vec::len);
        let mut quantiles = vec![vec![f64::NAN; levels]; count];
        std::mem::take(&mut self.quantiles).into_iter().zip(kept).for_each(|(own, &j)| quantiles[j] = own);
        self.quantiles = quantiles;
    }

    /// Add the moments and quantiles of one time; `open` if the first and the last cell stand for all beyond them.
    fn summarise(&mut self, (first, spacing): (f64, f64), masses: &[f64], levels: &[f64], open: bool) {
        let all = Marginal { first, spacing, masses, outside: (0.0, 0.0) };
        let (mean, sd) = all.moments();
        self.mean.push(mean);
        self.sd.push(sd);
        self.quantiles.push(if open { all.opened().quantiles(levels) } else { all.quantiles(levels) });
    }

    /// Judge from the mass at the ends of the domain what the states beyond them change.
    fn measure_edges(
        &mut self,
        masses: &[f64],
        future: impl Fn(usize) -> f64,
        (first, spacing): (f64, f64),
        has_variance: bool,
    ) {
        let (n, time) = (masses.len(), self.sd.len() - 1);
        let centre = (((self.mean[time] - first) / spacing) as usize).min(n - 1);
        let total: f64 = masses.iter().sum();
        let far = (0.5 * n as f64 * spacing / self.sd[time]).powi(2);
        let mut edges = [Edge::default(); 2];
        let mut slow = [None; 2];
        for (side, end) in [0, n - 1].into_iter().enumerate() {
            let outside = (masses[end] / total).abs();
            let halfway = (centre + end) / 2;
            // States beyond count as being at the end: wrong by as much as the message from the future changes there.
            // A message that levels off like 1/x² changes by a third of what it did on the way from half the distance.
            let (here, there) = (future(end), future(halfway));
            let change = 1.0 - here.min(there) / here.max(there).max(1e-300);
            edges[side].evidence = outside * change * (1.0 + 2.0 * change) / 3.0;
            edges[side].variance = outside * far;
            if !has_variance && edges[side].variance > 1e-6 {
                slow[side] = slow_fall(masses, total, centre, end).map(|falls| (falls, outside));
            }
        }
        if slow == [None; 2] {
            self.edges.push((time, edges));
            return;
        }
        self.edges.push((time, edges.map(|edge| Edge { variance: 0.0, ..edge })));
        self.sd[time] = f64::INFINITY;
        for (end, fall) in [0, n - 1].into_iter().zip(slow) {
            // Only a fall that has settled can be carried on beyond the end.
            if let Some(([_, late], outside)) = fall.filter(|(q, _)| q[1] > 2.2 && (q[0] - q[1]).abs() < 0.1) {
                // The mass beyond, counted at distance d, has its mean at d(q − 1)/(q − 2) under a fall like |x|^{−q}.
                self.mean[time] += outside * spacing * (end as f64 - centre as f64) / (late - 2.0);
            }
        }
    }

    /// Go on after the last observation, where the law is the plain prediction.
    fn predict(&mut self, transition: &mut Transition, mut masses: Vec<f64>, levels: &[f64]) -> Result<()> {
        let has_variance = transition.problem.dimension.noise.has_variance();
        for j in transition.problem.end..transition.problem.grid.steps() {
            masses = transition.push(j, &masses)?.0;
            let (first, spacing) = transition.layout.points(j + 1);
            self.summarise((first, spacing), &masses, levels, true);
            let total: f64 = masses.iter().sum();
            let time = self.sd.len() - 1;
            let far = (0.5 * masses.len() as f64 * spacing / self.sd[time]).powi(2);
            let edge = |mass: f64| {
                let outside = mass / total;
                Edge { outside, variance: if has_variance { outside * far } else { 0.0 }, ..Edge::default() }
            };
            self.edges.push((time, [masses[0], masses[masses.len() - 1]].map(edge)));
            if !has_variance {
                self.mean[time] =
                    Marginal { first, spacing, masses: &masses, outside: (0.0, 0.0) }.opened().balanced_mean();
                self.sd[time] = f64::INFINITY;
            }
        }
        Ok(())
    }
}

/// Whether there is mass at the lower or upper edge of an observation's cells.
pub(super) fn pressed(masses: &[f64]) -> Option<[bool; 2]> {
    let [low, .., high] = masses else { return None };
    let total: f64 = masses.iter().sum();
    let sides = [low, high].map(|mass| mass.abs() > PRESSED * total);
    (sides[0] || sides[1]).then_some(sides)
}

/// Exponents q with which the masses from `centre` towards `end` fall like |x|^{−q}, if too slow for a variance.
///
/// That happens between observations too: a drift that brings any state back within a step leaves the tail of the last
/// jump. Judged from a quarter to half and from half to three quarters of the distance (a second mode would show in one of
/// them), away from the end that stands for all beyond it, and only where that is tail (little mass beyond) and not
/// rounding.
fn slow_fall(masses: &[f64], total: f64, centre: usize, end: usize) -> Option<[f64; 2]> {
    let at = |part: f64| (centre as f64 + part * (end as f64 - centre as f64)) as usize;
    let width = (masses.len() / 100).max(1);
    let around = |part: f64| {
        let cell = at(part);
        masses[cell.saturating_sub(width)..(cell + width).min(masses.len())].iter().sum::<f64>() / total
    };
    let (quarter, half, late) = (around(0.25), around(0.5), around(0.75));
    let beyond: f64 = masses[at(0.5).min(end)..=at(0.5).max(end)].iter().sum();
    let falls = [(quarter / half).ln() / 2f64.ln(), (half / late).ln() / 1.5f64.ln()];
    let slow = falls.iter().all(|fall| *fall < SLOWEST);
    (slow && beyond < 1e-2 * total && late > 1e-13).then_some(falls)
}
