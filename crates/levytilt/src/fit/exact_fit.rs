//! Fit dimensions that do not act on each other exactly, where a grid can be afforded: parameters on the exact evidence,
//! marginals and paths from it.

use super::brownian::{BrownianEvidence, learn_beside};
use super::found::{found_at, join};
use super::judge::Judgement;
use super::solved::Solved;
use super::start::{Beginning, begin};
use super::{FitOptions, Interval, Spec};
use crate::exact::fill::sample_filled;
use crate::exact::follow::{Answer, Follower, Partial, partial_answer};
use crate::exact::problem::Problem;
use crate::exact::sample::sample;
use crate::noise::{BROWNIAN, skews};
use crate::posterior::{Evidence, Marginal, Paths, WeightSummary, jump_probability, marginal};
use crate::series::TimeGrid;
use crate::solve::{Choice, ExactLearned, Mark, Method, learn_exact, profile_intervals};
use crate::stop::NEVER;
use crate::{Chain, Context, Error, Result, Stop};
use rayon::prelude::*;

/// Most cells over all times that a pass of learning may have. A slope takes some 0.1 µs per cell and three numbers of memory,
/// and a fit about twenty slopes: a minute and half a gigabyte at most.
const MOST_LEARNING: usize = 20_000_000;

/// Cells of a pass and states of all paths, together, that are computed even if learning was asked to end: about a second.
const MOST_STOPPED: usize = 1_000_000;

/// What an exact fit gave, or why there is none, if that is worth saying.
type Attempt = std::result::Result<Solved, Option<String>>;

/// Fits a column, given by its number, its model and its values, in another way.
pub(super) type Otherwise<'a> = dyn Fn(usize, &Spec, &[f64]) -> Result<Solved> + 'a;

/// Fit `spec` exactly: one dimension, or several that do not act on each other, one by one. If some columns have an exact posterior
/// and others do not, these are fitted by `otherwise`, if it is given.
pub(super) fn fit_exact(
    spec: &Spec,
    (grid, columns): (&TimeGrid, &[&[f64]]),
    options: &FitOptions,
    seed: u64,
    (context, otherwise): (&Context, Option<&Otherwise>),
) -> Result<Attempt> {
    spec.check_names()?;
    if spec.network.is_some() || (spec.dim() > 1 && spec.drift.coupled) {
        return Ok(Err(None));
    }
    if spec.dim() == 1 {
        return fit_one(spec, (grid, columns[0]), options, seed, context);
    }
    let mut all = Vec::with_capacity(spec.dim());
    for (i, (name, column)) in spec.names.iter().zip(columns).enumerate() {
        let fitted = fit_one(&spec.only(i), (grid, column), options, seed ^ i as u64, context);
        let fitted = fitted.map_err(|error| error.in_dimension(name))?;
        if let (Err(why_not), None) = (&fitted, otherwise) {
            return Ok(Err(why_not.as_ref().map(|why_not| format!("for {name}, {why_not}"))));
        }
        all.push(fitted);
    }
    if let Some(otherwise) = otherwise.filter(|_| all.iter().any(|one| one.is_ok())) {
        for (i, one) in all.iter_mut().enumerate() {
            if let Err(why_not) = one {
                let fitted = otherwise(i, &spec.only(i), columns[i]);
                let fitted = fitted.map_err(|error| error.in_dimension(&spec.names[i]))?;
                *one = Ok(fitted.instead_of_exact(why_not.take()));
            }
        }
    }
    match all.into_iter().collect::<std::result::Result<Vec<Solved>, _>>() {
        Ok(all) => Ok(Ok(together(spec, all)?)),
        Err(why_not) => Ok(Err(why_not)),
    }
}

/// Independent dimensions as one: evidences, their errors and log-weights add up.
fn together(spec: &Spec, all: Vec<Solved>) -> Result<Solved> {
    let (mut found, mut paths, mut marginals, mut wrong) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut notes, mut smoothed) = (Vec::new(), false);
    let mut evidence = Evidence { log_evidence: 0.0, std_error: 0.0, resamplings: 0.0 };
    let mut brownian = Vec::new();
    for (i, one) in all.into_iter().enumerate() {
        brownian.extend(one.brownian.iter().map(|(_, evidence)| (spec.brownian_name(i), *evidence)));
        evidence.log_evidence += one.judgement.evidence.log_evidence;
        evidence.std_error += one.judgement.evidence.std_error;
        evidence.resamplings += one.judgement.evidence.resamplings;
        smoothed |= one.judgement.smoothed;
        found.push(one.found);
        paths.push(one.judgement.paths);
        marginals.extend(one.marginals);
        wrong.extend(one.wrong);
        notes.extend(one.judgement.notes.iter().map(|note| format!("{}: {note}", spec.names[i])));
    }
    let paths = Paths::join(&paths);
    let summary = WeightSummary::new(&paths.log_weights());
    let judgement = Judgement { paths, summary, evidence, notes, smoothed };
    Ok(Solved { found: join(spec, found)?, judgement, marginals, wrong, brownian })
}

/// Cells of a grid over all times that an exact fit of `spec` to one column works on, at the first guess of its parameters:
/// what time and memory are proportional to. Nothing where the fit is not done on a grid: Gaussian noise and a linear drift, or
/// more cells than are affordable.
///
/// # Errors
/// A model or values that cannot be fitted.
pub fn exact_cells(spec: &Spec, grid: &TimeGrid, values: &[f64]) -> Result<Option<usize>> {
    let Beginning { model, .. } = begin(spec, grid, &[values], true)?;
    if is_brownian(&model, grid)? {
        return Ok(None);
    }
    let cells = Follower::new(&model, grid, values)?.cells(&model)?;
    Ok(Some(cells).filter(|cells| *cells <= MOST_LEARNING))
}

/// Whether quadratic potentials are exact: Gaussian noise of one size and a linear drift, seen with plain errors.
fn is_brownian(model: &crate::StateSpace, grid: &TimeGrid) -> Result<bool> {
    let plain = model.dimensions[0].errors.is_plain() && model.dimensions[0].size.is_none();
    Ok(plain && model.drift.is_affine() && model.dimensions[0].noise.nodes(grid.step(0))?.len() == 1)
}

/// Fit `spec` to one column exactly, unless that cannot be done or costs too much.
fn fit_one(
    spec: &Spec,
    (grid, values): (&TimeGrid, &[f64]),
    options: &FitOptions,
    seed: u64,
    context: &Context,
) -> Result<Attempt> {
    let Beginning { model, parameters } = begin(spec, grid, &[values], options.priors)?;
    if is_brownian(&model, grid)? {
        // Brownian motion: quadratic potentials are exact, and cost less.
        return Ok(Err(None));
    }
    let cells = match Follower::new(&model, grid, values).and_then(|follower| follower.cells(&model)) {
        Ok(cells) => cells,
        Err(error) => return Ok(Err(Some(error.to_string()))),
    };
    if cells > MOST_LEARNING {
        return Ok(Err(Some(format!("that would need {cells} cells"))));
    }
    let most = options.learn.iterations;
    let mark = Mark::new(&model, &parameters, (grid, values));
    let learned = match &options.learned {
        _ if spec.learns_brownian(0) => {
            learn_beside(spec, (grid, values), options.priors, most, context).map(|(found, bare)| (found, Some(bare)))
        }
        _ if parameters.iter().all(|p| p.fixed) => Ok((ExactLearned::given(model, parameters), None)),
        Some(before) => Ok((before.learned(&model, &parameters)?, None)),
        None => learn_exact(&model, &parameters, (grid, values), most, context).map(|found| (found, None)),
    };
    let (mut learned, without) = match learned {
        Ok(found) => found,
        Err(error @ Error::Stopped { .. }) => return Err(error),
        Err(error) => return Ok(Err(Some(error.to_string()))),
    };
    let profiles = match context.stopped() {
        true => Vec::new(),
        false => follow_profiles(&mut learned, spec, (grid, values), (most, context)),
    };
    let (steps, so_far) = (learned.optimum.iterations, so_far(&learned));
    let keep = |error: Error| match error {
        Error::Stopped { .. } => {
            if steps > 0 {
                mark.keep(context, &so_far.0);
            }
            Error::Stopped { after: so_far.1.clone() }
        }
        error => error,
    };
    let stop = match context.stopped() {
        true if cells + grid.len() * options.paths <= MOST_STOPPED => &NEVER,
        _ => context.stop(),
    };
    let solved = solve(learned, (grid, values), options, seed, stop).map_err(keep)?;
    Ok(solved.map(|mut solved| {
        for (place, ends) in profiles {
            solved.found.estimates[place].interval = Some(Interval::profile(ends));
        }
        let with = solved.judgement.evidence.log_evidence;
        solved.brownian.extend(without.map(|without| (spec.brownian_name(0), BrownianEvidence { with, without })));
        solved
    }))
}

/// The values of all parameters, and what to say of them where there is no more.
fn so_far(learned: &ExactLearned) -> (Vec<f64>, String) {
    let all = &learned.optimum.parameters;
    let each: Vec<String> = all.iter().map(|p| format!("{} = {:.6}", p.name, p.value)).collect();
    let steps = learned.optimum.iterations;
    let words =
        format!(" after {steps} steps of learning, before there were marginals and paths, at {}", each.join(", "));
    (all.iter().map(|p| p.value).collect(), words)
}

/// Distance from the mode of a drift's parameter to its mean, in standard errors, from which the law of the drift is not taken
/// to be Gaussian.
const BENT: f64 = 0.2;

/// Intervals of the parameters whose law may be far from Gaussian: a diffusion, which may be 0, those of the size, a skew, and those
/// of a drift that a short record leaves open, such as a level to which the state hardly returns.
fn follow_profiles(
    learned: &mut ExactLearned,
    spec: &Spec,
    data: (&TimeGrid, &[f64]),
    (most, context): (usize, &Context),
) -> Vec<(usize, [f64; 2])> {
    let places = bent_places(learned, spec);
    let all = profile_intervals(learned, &places, data, most, context);
    let mut found = Vec::new();
    for (place, interval) in places.into_iter().zip(all) {
        let name = &learned.optimum.parameters[place].name;
        let open = |ends: &[f64; 2]| ends.iter().any(|end| end.is_infinite());
        let note = match interval {
            Ok(interval) => {
                found.extend(interval.map(|ends| (place, ends)));
                interval.filter(open).map(|[low, _]| {
                    let side = if low.is_infinite() { "below" } else { "above" };
                    format!("the data set no limit to {name} from {side}: its 90% interval is open there")
                })
            }
            Err(error) => Some(format!(
                "the interval of {name} is that of a Gaussian, as its profile could not be followed: {error}"
            )),
        };
        learned.optimum.warnings.extend(note);
    }
    found
}

/// Places of the parameters whose profiles are followed.
fn bent_places(learned: &ExactLearned, spec: &Spec) -> Vec<usize> {
    let sizes = spec.size.iter().flat_map(|size| size.parameters());
    let names: Vec<&str> = sizes.map(|p| p.name.as_str()).chain([BROWNIAN.name]).collect();
    let free: Vec<usize> =
        (0..learned.optimum.parameters.len()).filter(|&i| !learned.optimum.parameters[i].fixed).collect();
    let of_drift = |place: usize| place < learned.optimum.model.drift.parameter_count();
    let is_bent = free.iter().zip(&learned.optimum.shift).enumerate().any(|(k, (&place, shift))| {
        let variance = learned.optimum.covariance.get(k * free.len() + k).copied().unwrap_or(f64::INFINITY);
        of_drift(place) && shift.abs() > BENT * variance.sqrt()
    });
    let wanted = |place: &usize| {
        let name = learned.optimum.parameters[*place].name.as_str();
        names.contains(&name) || skews(name) || (is_bent && of_drift(*place))
    };
    free.iter().copied().filter(wanted).collect()
}

/// Marginals and paths at the parameters found.
fn solve(
    mut learned: ExactLearned,
    (grid, values): (&TimeGrid, &[f64]),
    options: &FitOptions,
    seed: u64,
    stop: &Stop,
) -> Result<Attempt> {
    let memory = std::mem::take(&mut learned.memory);
    let partial = partial_answer(&learned.optimum.model, (grid, values), &options.quantiles, memory, stop);
    let Partial { answer: mut solved, gathered } = match partial {
        Ok(partial) => partial,
        Err(error @ Error::Stopped { .. }) => return Err(error),
        Err(error) => return Ok(Err(Some(error.to_string()))),
    };
    let on = solved.on();
    let paths = match &gathered {
        None => {
            let problem = Problem::new(&learned.optimum.model, grid, values)?.stopped_by(stop);
            sample(
                (&problem, &Chain::new(&learned.optimum.model, grid, &[values])?),
                on,
                usize::MAX,
                options.paths,
                seed,
            )?
        }
        Some(gathered) => sample_filled((&learned.optimum.model, grid), gathered, on, (options.paths, seed), stop)?,
    };
    let cells = solved.layout.total() / solved.run.mean.len();
    if let Some(gathered) = &gathered {
        solved.run.spread(gathered.kept(), grid.len());
    }
    let summary = WeightSummary::new(&paths.log_weights());
    let evidence = Evidence { log_evidence: solved.run.log_evidence, std_error: solved.error, resamplings: 0.0 };
    let marginals = exact_marginals(&paths, &solved, &options.quantiles);
    let left_out = grid.len() - gathered.as_ref().map_or(grid.len(), |gathered| gathered.kept().len());
    let filled = match left_out {
        0 => String::new(),
        _ => format!("; {left_out} times, whose states spread far, are drawn between the states around them"),
    };
    let why = format!(
        "the exact posterior on a grid of {cells} cells per time; the log evidence is accurate to {:.0e}{filled}",
        solved.error.max(1e-6)
    );
    let judgement = Judgement { paths, summary, evidence, notes: Vec::new(), smoothed: false };
    let found = found_at(learned.optimum, Choice { method: Method::Grid, why }, vec![Vec::new()]);
    let wrong = if solved.run.wrong.is_empty() { Vec::new() } else { vec![solved.run.wrong] };
    Ok(Ok(Solved { found, judgement, marginals: vec![Some(marginals)], wrong, brownian: Vec::new() }))
}

/// The marginals of the grid, with the probabilities of jumps from paths. Where a moment or a quantile is not finite, or lies
/// outside the grid, it is that of the paths.
fn exact_marginals(paths: &Paths, solved: &Answer, levels: &[f64]) -> Vec<Marginal> {
    let run = &solved.run;
    let equal = vec![1.0 / paths.len() as f64; paths.len()];
    let finite = |exact: f64, drawn: f64| if exact.is_finite() { exact } else { drawn };
    let one = |j: usize| {
        let known = Marginal {
            mean: run.mean[j],
            sd: run.sd[j],
            quantiles: run.quantiles[j].clone(),
            jump_probability: jump_probability(paths, 0, j, &equal),
        };
        if known.mean.is_finite() && known.sd.is_finite() && known.quantiles.iter().all(|quantile| quantile.is_finite())
        {
            return known;
        }
        let drawn = marginal(paths, 0, j, &equal, levels);
        Marginal {
            mean: finite(known.mean, drawn.mean),
            sd: finite(known.sd, drawn.sd),
            quantiles: known.quantiles.iter().zip(&drawn.quantiles).map(|(&q, &drawn)| finite(q, drawn)).collect(),
            jump_probability: known.jump_probability,
        }
    };
    (0..paths.times()).into_par_iter().map(one).collect()
}
