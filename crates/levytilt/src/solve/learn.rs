//! Learn parameters by Newton steps on the ELBO, with the information of the sampled paths: first guarded ones with few
//! paths that share their random numbers, then an average over fresh sets of all paths.

use super::carry::{carry, observation_stds};
use super::expect::{Expected, expect, good_enough, worth};
use super::fisher::gradient_of;
use super::gradient::Gradient;
use super::learned::{LearnOptions, Learned, Optimum};
use super::method::{Choice, Method};
use super::middle::find_middle;
use super::newton::System;
use super::parameters::{Parameter, rebuild};
use super::sweep::SweepOptions;
use crate::chain::only_exact;
use crate::context::{Context, Progress};
use crate::noise::Family;
use crate::posterior::{Potentials, WeightSummary};
use crate::series::TimeGrid;
use crate::{Chain, Result, StateSpace, stream};
use rand::Rng;

/// How posterior paths are found at given parameters: [`expect`], or something that has its own memory.
pub type Expect<'a> = dyn Fn(&Chain, Option<Potentials>, Method, &SweepOptions) -> Result<Expected> + 'a;

/// What is learned from.
#[derive(Clone, Copy)]
struct Task<'a> {
    parameters: &'a [Parameter],
    grid: &'a TimeGrid,
    columns: &'a [&'a [f64]],
    options: &'a LearnOptions,
    expect: &'a Expect<'a>,
    context: &'a Context,
    /// Whether this is the first part of a longer record.
    part: bool,
}

/// A state of the search. The paths behind the gradient are not kept: two sets of them may not fit into memory.
struct Iterate {
    model: StateSpace,
    values: Vec<f64>,
    choice: Choice,
    potentials: Potentials,
    /// Observation standard deviations that the potentials belong to.
    stds: Vec<f64>,
    summary: WeightSummary,
    gradient: Gradient,
    warnings: Vec<String>,
    /// Bound plus log prior.
    objective: f64,
}

impl Iterate {
    fn before(&self) -> (&Potentials, &[f64]) {
        (&self.potentials, &self.stds)
    }
}

/// Learn the free parameters of a model; `parameters` (see [`super::parameters`]) says which are fixed and which have
/// priors, and its values are the start.
pub fn learn(
    model: StateSpace,
    parameters: &[Parameter],
    grid: &TimeGrid,
    columns: &[&[f64]],
    options: &LearnOptions,
) -> Result<Learned> {
    learn_with(model, parameters, (grid, columns), options, &Context::silent())
}

/// [`learn`], watched.
pub fn learn_with(
    model: StateSpace,
    parameters: &[Parameter],
    data: (&TimeGrid, &[&[f64]]),
    options: &LearnOptions,
    context: &Context,
) -> Result<Learned> {
    model.plain_errors("learning by sweeps")?;
    let mut learned = learn_from(model, parameters, data, options, None, context)?;
    find_middle(&mut learned, data, options);
    Ok(learned)
}

/// [`learn`] with potentials that are nearly right from the start, if there are any, and without [`Optimum::shift`].
pub fn learn_from(
    model: StateSpace,
    parameters: &[Parameter],
    (grid, columns): (&TimeGrid, &[&[f64]]),
    options: &LearnOptions,
    before: Option<&Potentials>,
    context: &Context,
) -> Result<Learned> {
    let skewed = |family: &&str| Family::named(family).is_some_and(Family::is_skewed);
    if let Some(family) = model.dimensions.iter().map(|d| d.noise.family()).find(skewed) {
        return Err(only_exact(family, ""));
    }
    let task = Task { parameters, grid, columns, options, expect: &expect, context, part: false };
    let mut values: Vec<f64> = parameters.iter().map(|p| p.value).collect();
    if before.is_none() && grid.len() > LONG {
        // Only a start: if the part cannot be learned from, the whole begins where it would have without it.
        values = task.learn_part(&model).unwrap_or(values);
    }
    task.learn(&model, values, before)
}

/// [`learn`] with another way to get posterior paths.
pub fn learn_by(
    expect: &Expect,
    model: &StateSpace,
    parameters: &[Parameter],
    (grid, columns): (&TimeGrid, &[&[f64]]),
    options: &LearnOptions,
    context: &Context,
) -> Result<Learned> {
    let task = Task { parameters, grid, columns, options, expect, context, part: false };
    task.learn(model, parameters.iter().map(|p| p.value).collect(), None)
}

/// The search so far.
struct Search {
    at: Iterate,
    iterations: usize,
    /// How much shorter than Newton's the next step is to be, see [`System::step`].
    damping: f64,
    /// Whether the watcher asked to end.
    stopped: bool,
    warnings: Vec<String>,
}

/// Sweeps may miss this many times what a Gaussian sum must add, and still lead the way from the first parameters.
const FIRST_WORTHS: f64 = 5.0;
/// Steps tried from an iterate, each shorter than the last, before the search ends there.
const TRIES: usize = 5;
/// The least damping, and the factor between one and the next.
const DAMPING: f64 = 0.05;
const DAMPING_FACTOR: f64 = 5.0;
/// Paths and first sweeps while the parameters are still far away.
const EARLY_PATHS: usize = 192;
const EARLY_SWEEPS: usize = 4;
/// Times its noise that the way to go must be long for few paths to show it: one more step of few would wander.
const HIDDEN: f64 = 1.5;
/// Standard errors to go at which a search that finds no step has lost its way.
const LOST: f64 = 3.0;
/// Most sets of fresh paths to average over, and the noise, in standard errors, at which there are enough.
const MOST_SETS: usize = 4;
const ENOUGH: f64 = 0.05;

/// Latent times beyond which a part is learned from first, and those of the part: the first steps from a guess are long,
/// and a part shows the way as well as the whole.
const LONG: usize = 20_000;
const PART: usize = 5_000;

impl Task<'_> {
    /// Climb from these values, average, and say how well they are known.
    fn learn(&self, model: &StateSpace, values: Vec<f64>, before: Option<&Potentials>) -> Result<Learned> {
        let (stds, model) = (observation_stds(model), rebuild(model, &values)?);
        let first = self.begin(model, values, before.map(|before| (before, &stds[..])))?;
        let mut search = Search { at: first, iterations: 0, damping: 0.0, stopped: false, warnings: Vec::new() };
        self.tell(&mut search);
        self.climb(&mut search)?;
        self.choose_method(&mut search)?;
        self.average(&mut search)?;
        let Search { at, iterations, stopped, mut warnings, .. } = search;
        let system = self.system(&at);
        let (std_errors, data_shares) = system.errors(self.parameters, &at.values);
        let covariance = system.covariance();
        warnings.extend(vague(self.parameters, system.vague()));
        let Iterate { model, values, choice, potentials, summary, warnings: noted, .. } = at;
        let parameters =
            self.parameters.iter().zip(values).map(|(p, value)| Parameter { value, ..p.clone() }).collect();
        warnings.extend(noted);
        let shift = Vec::new();
        let optimum = Optimum { model, parameters, std_errors, data_shares, covariance, shift, iterations, warnings };
        Ok(Learned { optimum, choice, potentials, summary, stopped })
    }

    /// The first iterate.
    fn begin(&self, model: StateSpace, values: Vec<f64>, before: Option<(&Potentials, &[f64])>) -> Result<Iterate> {
        let at = |method| self.evaluate(rebuild(&model, &values)?, values.clone(), method, before, &self.early());
        if self.options.method != Method::Auto {
            return at(self.options.method);
        }
        let swept = at(Method::Sweep)?;
        let close = good_enough(&swept.summary, self.early().paths, FIRST_WORTHS * self.worth());
        if close.is_some() { Ok(swept) } else { at(Method::Auto) }
    }

    /// Nats that a Gaussian sum must add to the ELBO.
    fn worth(&self) -> f64 {
        worth(self.columns.iter().flat_map(|column| column.iter()).filter(|value| !value.is_nan()).count())
    }

    /// Choose between sweeps and a Gaussian sum where sweeps led, and go on from there if it is the sum.
    fn choose_method(&self, search: &mut Search) -> Result<()> {
        let Iterate { model, values, choice, summary, .. } = &search.at;
        if self.options.method != Method::Auto || choice.method != Method::Sweep {
            return Ok(());
        }
        if let Some(choice) = good_enough(summary, self.early().paths, self.worth()) {
            search.at.choice = choice;
            return Ok(());
        }
        let before = Some(search.at.before());
        let chosen = self.evaluate(rebuild(model, values)?, values.clone(), Method::Auto, before, &self.early())?;
        let goes_on = chosen.choice.method != Method::Sweep;
        search.at = chosen;
        if goes_on && search.iterations < self.options.iterations { self.climb(search) } else { Ok(()) }
    }

    /// The values that the first part of the data alone gives.
    fn learn_part(&self, model: &StateSpace) -> Result<Vec<f64>> {
        let values: Vec<f64> = self.parameters.iter().map(|p| p.value).collect();
        let grid = self.grid.head(PART);
        let columns: Vec<&[f64]> = self.columns.iter().map(|column| &column[..grid.rows()]).collect();
        let learned = Task { grid: &grid, columns: &columns, part: true, ..*self }.learn(model, values, None)?;
        Ok(learned.optimum.parameters.iter().map(|p| p.value).collect())
    }

    fn early(&self) -> SweepOptions {
        let SweepOptions { paths, sweeps, .. } = self.options.sweep;
        SweepOptions { paths: paths.min(EARLY_PATHS), sweeps: sweeps.min(EARLY_SWEEPS), ..self.options.sweep }
    }

    /// The iterate at these values; `before` are potentials of one nearby and the observation standard deviations there.
    fn evaluate(
        &self,
        model: StateSpace,
        values: Vec<f64>,
        method: Method,
        before: Option<(&Potentials, &[f64])>,
        sweep: &SweepOptions,
    ) -> Result<Iterate> {
        let chain = Chain::new(&model, self.grid, self.columns)?;
        let before = before.map(|(potentials, stds)| carry(potentials, stds, &chain)).transpose()?;
        let expected = chain.unless_failed((self.expect)(&chain, before, method, sweep))?;
        let gradient = gradient_of(&chain, self.parameters, &expected)?;
        drop(chain);
        let Expected { choice, potentials, summary, warnings, .. } = expected;
        let objective = summary.elbo + log_prior(self.parameters, &values);
        let stds = observation_stds(&model);
        Ok(Iterate { model, values, choice, potentials, stds, summary, gradient, warnings, objective })
    }

    /// Tell the watcher where the search stands.
    fn tell(&self, search: &mut Search) {
        let Iterate { summary, values, .. } = &search.at;
        let goes_on = self.context.tell(&Progress {
            subject: self.context.subject(),
            iteration: search.iterations,
            most: self.options.iterations,
            part: self.part,
            elbo: summary.elbo,
            elbo_std_error: summary.elbo_std_error,
            parts: None,
            parameters: self.parameters,
            values,
        });
        if !goes_on && !search.stopped {
            search.stopped = true;
            search.warnings.push(format!(
                "stopped on request after {} iterations: the parameters may not have converged",
                search.iterations
            ));
        }
    }

    fn system(&self, at: &Iterate) -> System {
        System::new(&at.gradient, self.parameters, &at.values)
    }

    /// Newton steps with the same random numbers throughout, until the noise of the paths nearly hides the rest of the way.
    fn climb(&self, search: &mut Search) -> Result<()> {
        loop {
            let system = self.system(&search.at);
            let close = system.length() < self.options.tolerance.max(HIDDEN * system.noise());
            if search.stopped || system.is_empty() || close {
                return Ok(());
            }
            if search.iterations == self.options.iterations {
                search.warnings.push(format!(
                    "not converged after {} iterations: the optimum is about {:.2} standard errors away; allow more \
                     iterations",
                    search.iterations,
                    system.length()
                ));
                return Ok(());
            }
            let Some(next) = self.advance(&search.at, &system, &mut search.damping) else {
                // Often the ELBO is as flat as its noise, and new paths will tell more.
                if system.length() > LOST.max(HIDDEN * system.noise()) {
                    search.warnings.push(format!(
                        "no step raises the ELBO, although its gradient puts the optimum {:.1} standard errors away; \
                         try other starting values",
                        system.length()
                    ));
                }
                return Ok(());
            };
            search.at = next;
            search.iterations += 1;
            self.tell(search);
        }
    }

    /// The first of ever more damped steps that does not lower the objective beyond its noise. The damping is that of the
    /// step before, less if that one gained what it promised, more if it did not.
    fn advance(&self, at: &Iterate, system: &System, damping: &mut f64) -> Option<Iterate> {
        for _ in 0..TRIES {
            let step = system.step(*damping);
            let values = system.moved(self.parameters, &at.values, &step, 1.0);
            let method = at.choice.method;
            let next = rebuild(&at.model, &values)
                .and_then(|model| self.evaluate(model, values, method, Some(at.before()), &self.early()));
            // Values at which the model cannot be computed are too far away.
            if let Ok(next) = next {
                let noise = next.summary.elbo_std_error.max(at.summary.elbo_std_error);
                let gain = next.objective - at.objective;
                if gain < 0.25 * step.gain - noise {
                    *damping = more(*damping);
                } else if gain > 0.75 * step.gain - noise {
                    *damping = less(*damping);
                }
                if gain > -noise {
                    return Some(Iterate { choice: at.choice.clone(), ..next });
                }
            } else {
                *damping = more(*damping);
            }
        }
        None
    }

    /// Newton steps of 1, 1/2, 1/3, … of their length, each with a fresh set of all paths: the average of what every
    /// set would have found by itself. Ends with a set at the last parameters, from which no step is taken; if the ELBO
    /// is lower there than at the first, with one at those.
    fn average(&self, search: &mut Search) -> Result<()> {
        if search.iterations >= self.options.iterations && self.options.sweep.paths <= EARLY_PATHS {
            // No step is left to take, and all paths are there already.
            return Ok(());
        }
        let mut seeds = stream(self.options.sweep.seed, u64::MAX - 2);
        let mut first: Option<(Vec<f64>, f64, f64)> = None;
        let mut sets = 0;
        loop {
            self.refresh(search, seeds.next_u64())?;
            if sets > 0 {
                self.tell(search);
            }
            let Iterate { values, objective, summary, .. } = &search.at;
            let (start, best, noise) = first.get_or_insert((values.clone(), *objective, summary.elbo_std_error));
            let fell = *objective < *best - 2.0 * noise.hypot(summary.elbo_std_error);
            if fell {
                let note = "the final refinement with new paths lowered the ELBO, so the parameters from before it \
                            are reported; use more paths";
                search.warnings.push(note.into());
                self.move_to(search, start.clone())?;
                self.refresh(search, seeds.next_u64())?;
                self.tell(search);
                return Ok(());
            }
            let system = self.system(&search.at);
            let enough = system.noise() <= ENOUGH * (sets as f64).sqrt();
            let converged = system.is_empty() || enough || sets == MOST_SETS;
            if search.stopped || converged || search.iterations >= self.options.iterations {
                return Ok(());
            }
            sets += 1;
            let step = system.step(search.damping);
            let values = system.moved(self.parameters, &search.at.values, &step, 1.0 / sets as f64);
            if self.move_to(search, values).is_err() {
                let note = "the last step led to parameters at which the model cannot be computed, so the parameters \
                            from before it are reported";
                search.warnings.push(note.into());
                return Ok(());
            }
            search.iterations += 1;
        }
    }

    /// Draw all paths anew at the parameters as they stand.
    fn refresh(&self, search: &mut Search, seed: u64) -> Result<()> {
        let sweep = SweepOptions { seed, sweeps: 1, ..self.options.sweep };
        let Iterate { model, values, choice, .. } = &search.at;
        let before = Some(search.at.before());
        let again = self.evaluate(rebuild(model, values)?, values.clone(), choice.method, before, &sweep)?;
        search.at = Iterate { choice: choice.clone(), ..again };
        Ok(())
    }

    /// Take other parameters, if the model can be computed there.
    fn move_to(&self, search: &mut Search, values: Vec<f64>) -> Result<()> {
        let model = rebuild(&search.at.model, &values)?;
        Chain::new(&model, self.grid, self.columns)?;
        (search.at.model, search.at.values) = (model, values);
        Ok(())
    }
}

/// The next stronger and weaker damping.
fn more(damping: f64) -> f64 {
    (DAMPING_FACTOR * damping).max(DAMPING)
}

fn less(damping: f64) -> f64 {
    if damping > DAMPING { damping / DAMPING_FACTOR } else { 0.0 }
}

/// What to say about parameters whose information is hidden by the noise of the paths.
fn vague(parameters: &[Parameter], which: &[usize]) -> Option<String> {
    let mut names: Vec<&str> = which.iter().map(|&i| parameters[i].name.as_str()).collect();
    names.dedup();
    (!names.is_empty()).then(|| {
        format!(
            "the standard error of {} is probably too small: Monte Carlo noise hides the information; use more paths",
            names.join(", ")
        )
    })
}

/// Sum of the log priors, without constants.
fn log_prior(parameters: &[Parameter], values: &[f64]) -> f64 {
    parameters
        .iter()
        .zip(values)
        .filter_map(|(p, &v)| p.prior.map(|prior| -0.5 * ((p.transform.forward(v) - prior.mean) / prior.std).powi(2)))
        .sum()
}
