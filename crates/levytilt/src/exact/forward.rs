//! Run the masses from the past against the messages from the future and summarise each time.

use super::backward::{self, Backward, Message};
use super::layout::Layout;
use super::marginal::Marginal;
use super::problem::Problem;
use super::transition::Transition;
use crate::Result;

/// What one run over all times found.
#[derive(Debug, Default)]
pub(super) struct Run {
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
    pub edges: [Edge; 2],
}

/// What presses against one end of the domain.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Edge {
    /// Posterior mass expected outside, summed over the times up to the last observation.
    pub mass: f64,
    /// Share of a variance expected outside, the largest of all times whose variance exists.
    pub variance: f64,
    /// Mass that left after the last observation.
    pub lost: f64,
}

/// Slowest fall |x|^{−q} of a density that is still taken to have a variance; the limit is 3.
const SLOWEST: f64 = 3.05;

/// The evidence alone, from one backward run and, if FFTs were used, a forward run that must agree with it.
///
/// Rounding hits the two in unrelated ways, so a disagreement is its size.
pub(super) fn evidence(problem: &Problem, layout: &Layout, max_cells: usize, careful: bool) -> Result<Run> {
    let mut transition = Transition::new(problem, layout, max_cells, careful);
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

/// Evidence, moments and quantiles at `levels` of every time.
pub(super) fn smooth(
    problem: &Problem,
    layout: &Layout,
    levels: &[f64],
    max_cells: usize,
    careful: bool,
) -> Result<Run> {
    let mut transition = Transition::new(problem, layout, max_cells, careful);
    let backward = Backward::run(&mut transition)?;
    let mut past = Past::start(&transition)?;
    let mut run = Run { log_evidence: past.against(backward.start()).0, ..Run::default() };
    let mut j = 0;
    for k in 0..backward.stretches() {
        for future in backward.stretch(k, &mut transition)?.iter() {
            if j > 0 {
                past = past.step(&mut transition, j - 1)?;
            }
            let (log_evidence, loss) = past.against(future);
            run.disagreement = run.disagreement.max((log_evidence - run.log_evidence).abs());
            run.loss += loss;
            let joint: Vec<f64> = past.filtered.values.iter().zip(&future.values).map(|(a, b)| a * b).collect();
            run.summarise(layout, j, &joint, levels);
            if j > 0 && problem.values[j].is_nan() {
                run.measure_edges(&joint, layout.spacing, problem.model.noise.has_variance());
            }
            j += 1;
        }
    }
    run.predict(&mut transition, past.filtered.values, levels)?;
    Ok(run)
}

/// The masses of one time: α_j before its observation, and times the likelihood after it.
struct Past {
    filtered: Message,
    /// Typical absolute error of the masses before the observation, on the scale of `filtered`.
    floor: f64,
    /// Likelihood of the observation at the cells, if FFT rounding has to be weighed with it.
    likelihood: Option<Vec<f64>>,
}

impl Past {
    fn start(transition: &Transition) -> Result<Self> {
        Self::observe(transition, 0, transition.layout.start().to_vec(), 0.0, 0.0)
    }

    fn step(self, transition: &mut Transition, j: usize) -> Result<Self> {
        let (values, floor) = transition.push(j, &self.filtered.values)?;
        Self::observe(transition, j + 1, values, self.filtered.log_scale, floor)
    }

    fn observe(transition: &Transition, j: usize, mut values: Vec<f64>, log_scale: f64, floor: f64) -> Result<Self> {
        let (problem, points) = (transition.problem, transition.layout.points(j));
        let likelihood = (floor > 0.0).then(|| {
            let mut ones = vec![1.0; values.len()];
            problem.observe(j, points, &mut ones);
            ones
        });
        let constant = problem.observe(j, points, &mut values);
        let filtered = Message::scaled(values, log_scale + constant, floor)
            .ok_or_else(|| problem.impossible(j, "nothing that came before reaches the observation"))?;
        let floor = filtered.floor;
        Ok(Self { filtered, floor, likelihood })
    }

    /// Log evidence against the message from the future, and its expected relative error by FFT rounding.
    fn against(&self, future: &Message) -> (f64, f64) {
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
    fn summarise(&mut self, layout: &Layout, j: usize, masses: &[f64], levels: &[f64]) {
        let (first, spacing) = layout.points(j);
        let marginal = Marginal { first, spacing, masses, outside: (0.0, 0.0) };
        let (mean, sd) = marginal.moments();
        self.mean.push(mean);
        self.sd.push(sd);
        self.quantiles.push(marginal.quantiles(levels));
    }

    /// Judge from the outermost 2% of the cells on each side how much lies beyond them.
    ///
    /// A posterior has no variance if its density falls like |x|^{−3} or slower. That happens between observations too:
    /// a drift that brings any state back within a step leaves the prior tail of the last jump.
    fn measure_edges(&mut self, masses: &[f64], spacing: f64, has_variance: bool) {
        let (n, last) = (masses.len(), self.sd.len() - 1);
        let outer = (n / 50).max(1);
        let total: f64 = masses.iter().sum();
        let sum = |cells: &[f64]| cells.iter().map(|p| p.max(0.0)).sum::<f64>() / total;
        let reach = 0.5 * n as f64 * spacing;
        let sides = [(&masses[..outer], n / 4), (&masses[n - outer..], n - n / 4 - outer)];
        let mut infinite = false;
        let mut shares = [0.0; 2];
        for ((edge, share), (cells, halfway)) in self.edges.iter_mut().zip(&mut shares).zip(sides) {
            let near = sum(cells);
            // A density that falls like |x|^{−3.5} has ten times the mass of the outer 2% beyond them; a lighter tail
            // has less.
            edge.mass += 10.0 * near;
            *share = 10.0 * near * (reach / self.sd[last]).powi(2);
            // Twice the distance from the middle; below the rounding of FFTs there is no fall to be seen.
            let fall = (sum(&masses[halfway..halfway + outer]) / near).log2();
            infinite |= !has_variance && near > 1e-13 && fall < SLOWEST && *share > 1e-6;
        }
        if infinite {
            self.sd[last] = f64::INFINITY;
        } else {
            self.edges.iter_mut().zip(shares).for_each(|(edge, share)| edge.variance = edge.variance.max(share));
        }
    }

    /// Go on after the last observation, where the law is the plain prediction.
    fn predict(&mut self, transition: &mut Transition, mut masses: Vec<f64>, levels: &[f64]) -> Result<()> {
        let total: f64 = masses.iter().sum();
        masses.iter_mut().for_each(|mass| *mass /= total);
        let has_variance = transition.problem.model.noise.has_variance();
        for j in transition.problem.end..transition.problem.grid.steps() {
            let (below, above) = transition.leaving(j, &masses)?;
            masses = transition.push(j, &masses)?.0;
            self.edges[0].lost += below;
            self.edges[1].lost += above;
            let (first, spacing) = transition.layout.points(j + 1);
            let outside = (self.edges[0].lost, self.edges[1].lost);
            let marginal = Marginal { first, spacing, masses: &masses, outside };
            let (mean, sd) = if has_variance { marginal.moments() } else { (marginal.balanced_mean(), f64::INFINITY) };
            if has_variance {
                let far = (0.5 * masses.len() as f64 * spacing / sd).powi(2);
                self.edges.iter_mut().for_each(|edge| edge.variance = edge.variance.max(edge.lost * far));
            }
            self.mean.push(mean);
            self.sd.push(sd);
            self.quantiles.push(marginal.quantiles(levels));
        }
        Ok(())
    }
}
