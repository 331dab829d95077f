//! Run on finer grids and wider domains until neither matters, and say in words what was done.

use super::convolve::Rounding;
use super::forward::{self, Run};
use super::layout::Layout;
use super::problem::Problem;
use super::{Options, choose};
use crate::{Error, Result};

/// Largest change of the log evidence by the last halving of the spacing. The error falls by 2¹² per halving, so what
/// is left is about 1e-6.
const RESOLVED: f64 = 2e-3;
/// Halvings of the spacing tried.
const HALVINGS: usize = 8;
/// Relative error of the evidence by FFT rounding above which the run is repeated without FFTs.
const LOSS: f64 = 1e-6;
/// Multiplications that a run without FFTs may cost: minutes.
const DEAREST: f64 = 3e11;

/// Cells beyond which the domain is not widened for the sake of a standard deviation alone.
const MODERATE: f64 = 3e4;

/// A finished run with the grid it was made on.
#[derive(Debug)]
pub(crate) struct Solution {
    pub run: Run,
    pub spacing: f64,
    pub domain: (f64, f64),
    pub cells: usize,
    /// Whether FFTs had to be avoided.
    pub rounding: Rounding,
    pub notes: Vec<String>,
}

/// Solve `problem`: with `marginals`, or for the evidence alone.
pub(crate) fn solve(problem: &Problem, options: &Options, marginals: bool) -> Result<Solution> {
    options.check(problem)?;
    let mut search = Search::new(problem, options)?;
    let levels = marginals.then_some(options.quantiles.as_slice());
    if options.spacing.is_none() {
        search.refine(levels)?;
    } else {
        search.run(levels, true)?;
    }
    search.finish()
}

/// The state of the search for a good grid.
struct Search<'a> {
    problem: &'a Problem<'a>,
    options: &'a Options,
    spacing: f64,
    domain: (f64, f64),
    first_domain: (f64, f64),
    /// Whether rounding forced runs without FFTs; finer grids need them too.
    careful: bool,
    best: Option<(Run, usize)>,
    notes: Vec<String>,
}

impl<'a> Search<'a> {
    fn new(problem: &'a Problem<'a>, options: &'a Options) -> Result<Self> {
        let resolving = choose::spacing(problem)?;
        let spacing = options.spacing.unwrap_or(resolving);
        let mut notes = Vec::new();
        if spacing > 2.0 * resolving {
            notes
                .push(format!("the given spacing {spacing:.3e} is wide: use {resolving:.3e} to resolve the posterior"));
        }
        let domain = match options.domain {
            Some(domain) => domain,
            None => choose::domain(problem)?,
        };
        let (first_domain, careful, best) = (domain, false, None);
        Ok(Self { problem, options, spacing, domain, first_domain, careful, best, notes })
    }

    /// Halve the spacing until the log evidence stands still.
    fn refine(&mut self, levels: Option<&[f64]>) -> Result<()> {
        let finest = self.spacing;
        // Settle the domain on the coarse grid, where a run is cheap.
        self.spacing = 2.0 * finest;
        let mut coarse = self.run(None, true)?;
        for halving in 0..=HALVINGS {
            self.spacing = finest * 0.5f64.powi(halving as i32);
            let fine = self.run(levels, false)?;
            let change = (fine - coarse).abs();
            if change < RESOLVED {
                if halving > 0 {
                    self.notes.push(format!("spacing refined to {:.3e} to resolve the posterior", self.spacing));
                }
                return Ok(());
            }
            coarse = fine;
        }
        Err(Error::Numerical {
            what: "exact reference",
            why: format!("the log evidence still changes when the spacing is {:.3e}; give a spacing", self.spacing),
        })
    }

    /// Run at the present spacing, widening the domain as long as needed; returns the log evidence.
    ///
    /// Without `levels` and with a settled domain only the evidence is computed.
    fn run(&mut self, levels: Option<&[f64]>, widen: bool) -> Result<f64> {
        let judge = self.options.domain.is_none() && self.problem.has_open();
        let judge = judge && (widen || levels.is_some());
        loop {
            let layout = Layout::new(self.problem, self.spacing, self.domain, self.options.max_cells)?;
            let full = judge || levels.is_some();
            let run = self.checked(&layout, full.then_some(levels.unwrap_or(&[])))?;
            let log_evidence = run.log_evidence;
            let wanted = judge.then(|| self.wider(&run)).flatten();
            if let Some(domain) = wanted
                && self.affordable(domain, &run)?
            {
                self.domain = domain;
                continue;
            }
            self.best = Some((run, layout.widest()));
            return Ok(log_evidence);
        }
    }

    /// The domain with the ends moved out that press against mass, or none.
    fn wider(&self, run: &Run) -> Option<(f64, f64)> {
        let (lo, hi) = self.domain;
        let (centre, radius) = (0.5 * (lo + hi), 0.5 * (hi - lo));
        match choose::widening(run, (hi - lo) / self.spacing < MODERATE) {
            [1.0, 1.0] => None,
            [low, high] => Some((centre - low * radius, centre + high * radius)),
        }
    }

    /// Whether a wider domain fits into the limit; if not, say what is missing, or fail if it is too much.
    fn affordable(&mut self, (lo, hi): (f64, f64), run: &Run) -> Result<bool> {
        // The domain is settled on twice the final spacing, unless the spacing is given.
        let cells = (hi - lo) / self.spacing * if self.options.spacing.is_some() { 1.0 } else { 2.0 };
        if cells <= self.options.max_cells as f64 {
            return Ok(true);
        }
        let error = run.ends()[0].evidence + run.ends()[1].evidence;
        let missing = format!(
            "states from {lo:.6} to {hi:.6} with a spacing of {:.3e} would need more than {} cells; without them \
             the log evidence is uncertain by {error:.1e}, and after the last observation {:.1e} of the mass is outside",
            self.spacing,
            self.options.max_cells,
            run.ends()[0].outside + run.ends()[1].outside
        );
        if error > 1e-2 {
            return Err(Error::Numerical { what: "exact reference", why: missing });
        }
        let note = format!("domain kept at [{:.6}, {:.6}]: {missing}", self.domain.0, self.domain.1);
        self.notes.retain(|old| !old.starts_with("domain kept"));
        self.notes.push(note);
        Ok(false)
    }

    fn rounding(&self) -> Rounding {
        if self.careful { Rounding::Careful } else { Rounding::Reference }
    }

    /// A run whose rounding error is known to be small: with FFTs if they suffice, else without.
    fn checked(&mut self, layout: &Layout, levels: Option<&[f64]>) -> Result<Run> {
        let run = |rounding: Rounding| match levels {
            Some(levels) => {
                forward::smooth(self.problem, layout, levels, self.options.max_cells, rounding).map(|(run, _)| run)
            }
            None => forward::evidence(self.problem, layout, self.options.max_cells, rounding),
        };
        let fast = run(self.rounding())?;
        if fast.loss < LOSS || self.careful {
            return Ok(fast);
        }
        let cost: f64 = (1..self.problem.values.len())
            .map(|j| 3.0 * layout.support(j - 1).len as f64 * layout.support(j).len as f64)
            .sum();
        if cost < DEAREST {
            self.careful = true;
            self.notes.push(
                "convolved directly, because the data lie so far in the tails that FFT rounding would matter".into(),
            );
            return run(Rounding::Careful);
        }
        if fast.loss < 1e-3 {
            self.notes.push(format!("FFT rounding may change the log evidence by {:.1e}", fast.loss));
            return Ok(fast);
        }
        Err(Error::Numerical {
            what: "exact reference",
            why: "the model gives the data so little probability that rounding errors dominate; use a noise with \
                  heavier tails, a larger observation_std, or a wider spacing"
                .into(),
        })
    }

    fn finish(mut self) -> Result<Solution> {
        let (run, cells) = self.best.take().expect("every path of solve ends with a run");
        if !run.log_evidence.is_finite() {
            return Err(Error::Numerical {
                what: "exact reference",
                why: format!(
                    "a spacing of {:.3e} is too wide to resolve the posterior; give a smaller one",
                    self.spacing
                ),
            });
        }
        let ((lo, hi), first) = (self.domain, self.first_domain);
        if (lo, hi) != first {
            self.notes.push(format!(
                "domain widened from [{:.6}, {:.6}] to [{lo:.6}, {hi:.6}] because heavy tails put mass near its ends",
                first.0, first.1
            ));
        }
        self.note_spread(&run);
        self.note_prediction(&run);
        let (spacing, rounding) = (self.spacing, self.rounding());
        Ok(Solution { run, spacing, domain: (lo, hi), cells, rounding, notes: self.notes })
    }

    fn note_spread(&mut self, run: &Run) {
        if self.options.domain.is_some() && choose::widening(run, true) != [1.0, 1.0] {
            self.notes.push(format!(
                "the given domain is narrow: states outside may change the log evidence by {:.1e}",
                run.ends()[0].evidence + run.ends()[1].evidence
            ));
        }
        let until = run.sd.len().min(self.problem.end + 1);
        let infinite = run.sd[..until].iter().filter(|sd| sd.is_infinite()).count();
        if infinite > 0 {
            self.notes.push(format!(
                "sd is infinite at {infinite} times without an observation: there the posterior has tails as heavy \
                 as a jump's; use the quantiles instead"
            ));
        }
        let share = run.ends()[0].variance.max(run.ends()[1].variance);
        if share > 0.02 {
            self.notes
                .push(format!("at some time a share of about {share:.1e} of the variance lies outside the domain"));
        }
    }

    fn note_prediction(&mut self, run: &Run) {
        let (grid, end) = (self.problem.grid, self.problem.end);
        if end == grid.steps() || run.sd.is_empty() {
            return;
        }
        let time = grid.times()[end];
        if !self.problem.dimension.noise.has_variance() {
            self.notes.push(format!(
                "after the last observation, at time {time}, the prediction has no finite variance: sd is infinite \
                 there, and the mean is computed symmetrically about the median"
            ));
        }
        let outside = run.ends()[0].outside + run.ends()[1].outside;
        if outside > 1e-6 {
            self.notes.push(format!(
                "after the last observation, at time {time}, up to {outside:.1e} of the predicted mass lies outside \
                 the domain; the quantiles count it as tails"
            ));
        }
    }
}
