//! Learn a diffusion beside the jumps, and say whether the evidence tells it from none.

use super::Spec;
use super::start::{Beginning, begin};
use crate::exact::follow::{Follower, Memory, answer};
use crate::exact::problem::Problem;
use crate::noise::{BROWNIAN, has_effect};
use crate::parameter::Effect;
use crate::series::TimeGrid;
use crate::solve::{ExactLearned, Method, Parameter, learn_exact, rebuild};
use crate::{Context, Error, Result, StateSpace};
use rayon::prelude::*;

/// Gain in log evidence from which a diffusion is told from none. With none, twice the gain is 0 half of the time and else
/// χ² with one degree of freedom, as σ = 0 lies at the end of its domain (Chernoff 1954); it then passes 2·1.353 with
/// probability 5%.
const TOLD_APART: f64 = 1.353;

/// Diffusions to start from, as shares of the first guess, and what is left of the scale of the jumps beside them.
const STARTS: [(f64, f64); 6] = [(0.3, 1.0), (1.0, 1.0), (1.0, 0.7), (2.0, 0.7), (2.0, 0.3), (3.0, 0.3)];

/// Log evidence with a learned diffusion and without any, each at its own best parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BrownianEvidence {
    /// With it.
    pub with: f64,
    /// Without it.
    pub without: f64,
}

impl BrownianEvidence {
    /// Whether the data tell the diffusion from none: a likelihood ratio test of σ = 0 at the 5% level.
    pub fn is_told_apart(&self) -> bool {
        self.with - self.without >= TOLD_APART
    }

    /// What is to be said of an estimate that may as well be 0.
    pub(super) fn warning(&self, name: &str) -> Option<String> {
        let Self { with, without } = self;
        (!self.is_told_apart()).then(|| {
            format!(
                "{name} is not distinguishable from 0: log evidence {with:.2} with it, {without:.2} without; leave it out"
            )
        })
    }
}

/// The error for a diffusion to be learned where there is no exact posterior.
pub(super) fn needs_grid(method: Method, why_not: Option<String>) -> Error {
    let got = match (method, why_not) {
        (_, Some(why)) => {
            let why = format!("a learned brownian needs the exact posterior, which is not possible here: {why}");
            return Error::Numerical { what: "fit", why: format!("{why}. Give brownian a value") };
        }
        (Method::Auto | Method::Grid, None) => "coupled dimensions or a drift network".into(),
        (method, None) => format!("method {method}"),
    };
    let expected = "the exact posterior: use method auto and another drift, or give brownian a value".into();
    Error::Shape { what: "learned brownian", got, expected }
}

/// Learn `spec`, which learns a diffusion, by way of the same model without one. Returns what was learned and the log
/// evidence of the model without.
pub(super) fn learn_beside(
    spec: &Spec,
    (grid, values): (&TimeGrid, &[f64]),
    priors: bool,
    most: usize,
    context: &Context,
) -> Result<(ExactLearned, f64)> {
    let data = (grid, values);
    let bare = begin(&Spec { learn_brownian: false, ..spec.clone() }, grid, &[values], priors)?;
    let bare = match bare.parameters.iter().all(|p| p.fixed) {
        true => ExactLearned::given(bare.model, bare.parameters),
        false => learn_exact(&bare.model, &bare.parameters, data, most, context)?,
    };
    let problem = Problem::new(&bare.optimum.model, grid, values)?.stopped_by(context.stop());
    let without = answer(&problem, &[], Memory::default())?.run.log_evidence;
    let Beginning { model, parameters } = begin(spec, grid, &[values], priors)?;
    let parameters = best_start(&model, parameters, &bare.optimum.parameters, data, context)?;
    let values: Vec<f64> = parameters.iter().map(|p| p.value).collect();
    Ok((learn_exact(&rebuild(&model, &values)?, &parameters, data, most, context)?, without))
}

/// The start with the most evidence: the first guess, or what was learned without a diffusion and one beside it.
fn best_start(
    model: &StateSpace,
    guessed: Vec<Parameter>,
    bare: &[Parameter],
    (grid, values): (&TimeGrid, &[f64]),
    context: &Context,
) -> Result<Vec<Parameter>> {
    let beside = |&(share, left): &(f64, f64)| -> Vec<Parameter> {
        let moved = |p: &Parameter| {
            let known = bare.iter().find(|known| known.name == p.name);
            let value = match p.name.as_str() {
                _ if p.fixed => p.value,
                name if name == BROWNIAN.name => share * p.value,
                name if has_effect(name, Effect::Scale) => left * known.map_or(p.value, |known| known.value),
                _ => known.map_or(p.value, |known| known.value),
            };
            Parameter { value, ..p.clone() }
        };
        guessed.iter().map(moved).collect()
    };
    let starts: Vec<Vec<Parameter>> = STARTS.iter().map(beside).chain([guessed.clone()]).collect();
    let follower = Follower::new(model, grid, values)?.stopped_by(context.stop());
    let rate = |start: &Vec<Parameter>| {
        let model = rebuild(model, &start.iter().map(|p| p.value).collect::<Vec<_>>())?;
        follower.log_evidence(&model, &mut Memory::default(), usize::MAX)
    };
    // A start at which the model cannot be computed is none.
    let rated: Vec<f64> = starts.par_iter().map(|start| rate(start).unwrap_or(f64::NEG_INFINITY)).collect();
    let best = (0..starts.len()).max_by(|&a, &b| rated[a].total_cmp(&rated[b]));
    Ok(best.map_or(guessed, |best| starts[best].clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::DriftFamily;
    use crate::noise::Family;

    /// The slope of the evidence in σ, beside that of the other parameters, is the difference quotient: with a latent step
    /// per observation and with several, where steps of a stable law alone could be gathered.
    #[test]
    fn identity_the_slope_in_the_diffusion() {
        let spec = Spec::new(DriftFamily::named("ou").unwrap(), Family::named("stable").unwrap());
        let spec = spec.fix("theta", 1.0).fix("mu", 0.2).fix("alpha", 1.3).fix("scale", 0.5);
        let spec = spec.fix("observation_std", 0.1).fix("x0", 0.0).fix("brownian", 0.7);
        let model = spec.model().unwrap();
        let times: Vec<f64> = (0..12).map(|j| 0.3 * f64::from(j)).collect();
        let values: Vec<f64> = (0..12).map(|j| (1.7 * f64::from(j)).sin() + if j > 7 { 3.0 } else { 0.0 }).collect();
        for grid in [TimeGrid::unsplit(&times).unwrap(), TimeGrid::new(&times, Some(40)).unwrap()] {
            let follower = Follower::new(&model, &grid, &values).unwrap();
            let at: Vec<f64> = crate::solve::parameters(&model).iter().map(|p| p.value).collect();
            let mut memory = Memory::default();
            let gradient = follower.gradient(&model, &mut memory).unwrap();
            let exact = answer(&Problem::new(&model, &grid, &values).unwrap(), &[], Memory::default())
                .unwrap()
                .run
                .log_evidence;
            // As accurate as learning needs.
            assert!((gradient.log_evidence - exact).abs() < 2e-2, "{} {} {exact}", grid.len(), gradient.log_evidence);
            for k in [3, 4] {
                let moved = |by: f64| {
                    let mut at = at.clone();
                    at[k] += by;
                    follower.log_evidence(&rebuild(&model, &at).unwrap(), &mut memory.clone(), usize::MAX).unwrap()
                };
                let slope = (moved(1e-4) - moved(-1e-4)) / 2e-4;
                let away = (gradient.slope[k] - slope).abs();
                assert!(away < 2e-3 * (1.0 + slope.abs()), "{} {k} {} {slope}", grid.len(), gradient.slope[k]);
            }
        }
    }

    #[test]
    fn golden_the_five_percent_level_of_a_boundary_test() {
        // Half of P(χ²₁ > 2.706) = 0.1.
        let told = |gain: f64| BrownianEvidence { with: gain - 10.0, without: -10.0 }.is_told_apart();
        assert!(!told(0.0) && !told(1.35) && told(1.36));
        let said = BrownianEvidence { with: -9.5, without: -10.0 }.warning("brownian[A]").unwrap();
        assert!(said.starts_with("brownian[A] is not distinguishable from 0") && said.contains("-9.50"), "{said}");
        assert_eq!(BrownianEvidence { with: 0.0, without: -10.0 }.warning("brownian"), None);
    }
}
