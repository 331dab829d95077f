//! Hold the parameters and potentials of a fit, and put those of separate dimensions together.

use super::{Estimate, FittedNeural, Spec};
use crate::drift::Slot;
use crate::posterior::Potentials;
use crate::solve::{Choice, Learned, Optimum, Parameter};
use crate::{Result, StateSpace};

/// Parameters and potentials; the paths they were found with are not kept.
pub(super) struct Found {
    pub model: StateSpace,
    pub estimates: Vec<Estimate>,
    /// Covariance of the estimates that are not fixed, on their free scales, row after row; empty if unknown.
    pub covariance: Vec<f64>,
    /// From the estimates to the mean of their law, on the same scales; empty if it was not looked for.
    pub shift: Vec<f64>,
    /// How each group of dimensions that act on each other was solved.
    pub choices: Vec<Choice>,
    pub potentials: Potentials,
    pub iterations: usize,
    pub noted: Vec<String>,
    /// The drift network, if the drift is one.
    pub network: Option<FittedNeural>,
}

/// Dimensions that do not act on each other are as many models of one dimension: put what was found together.
pub(super) fn join(spec: &Spec, found: Vec<Found>) -> Result<Found> {
    let starts = found.iter().map(|found| found.model.dimensions[0].start).collect();
    let estimate = |slot: &Slot| {
        let own = found[slot.dimension].estimates.iter().find(|p| p.name == slot.entry.name());
        own.map(|p| Estimate { name: spec.label(slot), ..p.clone() })
    };
    let value = |slot: &Slot| estimate(slot).map(|p| p.value).or_else(|| spec.held(slot));
    let model = spec.assemble(|slot| value(slot).unwrap_or(f64::NAN), starts)?;
    let estimates = spec.slots().iter().filter_map(estimate).collect();
    let (covariance, shift) = join_laws(&spec.slots(), &found);
    let noted = found.iter().zip(&spec.names);
    let noted = noted.flat_map(|(found, name)| found.noted.iter().map(move |note| format!("{name}: {note}"))).collect();
    let iterations = found.iter().map(|found| found.iterations).max().unwrap_or(0);
    let choices = found.iter().flat_map(|found| found.choices.iter().cloned()).collect();
    let potentials = found.into_iter().flat_map(|found| found.potentials).collect();
    Ok(Found { model, estimates, covariance, shift, choices, potentials, iterations, noted, network: None })
}

/// Covariances within each dimension, as there are none between them, and shifts. Empty if one is missing; a dimension
/// without a shift has none.
fn join_laws(slots: &[Slot], found: &[Found]) -> (Vec<f64>, Vec<f64>) {
    // Per free parameter: its dimension, its place there, and how many are free there.
    let slot = |slot: &Slot| {
        let mut free = found[slot.dimension].estimates.iter().filter(|p| !p.fixed);
        let count = free.clone().count();
        Some((slot.dimension, free.position(|p| p.name == slot.entry.name())?, count))
    };
    let free: Vec<(usize, usize, usize)> = slots.iter().filter_map(slot).collect();
    let entry = |&(i, row, count): &(usize, usize, usize), &(j, column, _): &(usize, usize, usize)| {
        if i == j { found[i].covariance.get(row * count + column).copied() } else { Some(0.0) }
    };
    let covariance = free.iter().flat_map(|a| free.iter().map(move |b| entry(a, b))).collect::<Option<_>>();
    let shift = free.iter().map(|&(i, row, _)| found[i].shift.get(row).copied().unwrap_or(0.0)).collect();
    (covariance.unwrap_or_default(), shift)
}

/// What was learned of a drift with a formula.
pub(super) fn found(learned: Learned) -> Found {
    found_at(learned.optimum, learned.choice, learned.potentials)
}

/// Parameters that were found in this way, with potentials there.
pub(super) fn found_at(optimum: Optimum, choice: Choice, potentials: Potentials) -> Found {
    let estimates = estimates(&optimum);
    let Optimum { model, covariance, shift, iterations, warnings, .. } = optimum;
    let choices = vec![choice];
    Found { model, estimates, covariance, shift, choices, potentials, iterations, noted: warnings, network: None }
}

fn estimates(optimum: &Optimum) -> Vec<Estimate> {
    let judged = optimum.std_errors.iter().zip(&optimum.data_shares);
    let estimate = |(p, (&error, &share)): (&Parameter, (&f64, &f64))| Estimate {
        name: p.name.clone(),
        value: p.value,
        std_error: (!p.fixed && error.is_finite()).then_some(error),
        fixed: p.fixed,
        held_by_prior: !p.fixed && p.prior.is_some() && share < 0.5,
        interval: None,
    };
    optimum.parameters.iter().zip(judged).map(estimate).collect()
}
