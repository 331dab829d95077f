//! Find the 90% interval of one parameter from its profile: the values at which the log evidence, maximised over all other
//! parameters, lies at most 1.35 below its maximum. Unlike a Gaussian interval it does not depend on the scale of the
//! parameter, leans as the evidence does, and may end at a limit of the domain.

use super::climb::{Climber, Surface, definite};
use super::exact_learn::{ExactLearned, LONGEST, Posterior};
use super::parameters::{Parameter, Transform};
use crate::Context;
use crate::Result;
use crate::exact::follow::Memory;
use crate::series::TimeGrid;
use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

/// Half of the 0.9 quantile of χ² with one degree of freedom.
const DROP: f64 = 1.3528;
/// The first step outwards, in standard errors: where a Gaussian interval ends.
const START: f64 = 1.645;
/// Steps outwards, and then towards an end, before the search for it ends; steps after which a level profile has no end.
const OUTWARDS: usize = 8;
const INWARDS: usize = 6;
const LEVEL: usize = 3;
/// Fall that an end may miss before it is interpolated, and change of the profile that counts as level.
const EXACT: f64 = 0.15;
const FLAT: f64 = 0.02;
/// Way to go of the others, in standard errors, at which their search ends; what a Newton step would gain from there is added.
const CLOSE: f64 = 0.3;

/// A point of the profile: the parameter on its free scale, and the best of the others beside it.
#[derive(Clone)]
struct Spot {
    at: f64,
    /// Log evidence plus the log prior of the others.
    value: f64,
    others: DVector<f64>,
    information: DMatrix<f64>,
    memory: Memory,
}

/// The profile of one parameter around what was learned.
struct Profile<'a> {
    posterior: Posterior<'a>,
    place: usize,
    transform: Transform,
    /// Standard error on the free scale.
    error: f64,
    /// How the best of the others move with the parameter, near the top.
    along: DVector<f64>,
    top: Spot,
}

/// The 90% intervals of the parameters at `places` of what was learned from the data, each without its own prior; an end is
/// infinite, or that of the domain, where the profile never falls enough. None for a parameter that was not learned, and for
/// those of a long record, whose law is as good as Gaussian and whose profile would take minutes.
///
/// # Errors
/// Evidence that cannot be computed.
pub(crate) fn profile_intervals(
    learned: &ExactLearned,
    places: &[usize],
    (grid, values): (&TimeGrid, &[f64]),
    most: usize,
    context: &Context,
) -> Vec<Result<Option<[f64; 2]>>> {
    let (data, memory) = match &learned.thinned {
        Some((thinned, memory)) => (thinned.data(), memory),
        None => ((grid, values), &learned.memory),
    };
    let beside = context.beside();
    let profiles: Vec<Result<Option<Profile>>> =
        places.par_iter().map(|&place| Profile::new((learned, memory), place, data, (most, &beside))).collect();
    let sides: Vec<(usize, f64)> = (0..places.len()).flat_map(|k| [(k, -1.0), (k, 1.0)]).collect();
    let end = |&(k, side): &(usize, f64)| match &profiles[k] {
        Ok(Some(profile)) => profile.end(side).map(|end| profile.transform.backward(end)),
        _ => Ok(f64::NAN),
    };
    let ends: Vec<Result<f64>> = sides.par_iter().map(end).collect();
    let mut ends = ends.into_iter();
    let mut both = || Some((ends.next()?, ends.next()?));
    let mut all = Vec::with_capacity(places.len());
    for profile in &profiles {
        all.push(match (profile, both()) {
            (Err(error), _) => Err(error.clone()),
            (Ok(Some(_)), Some((low, high))) => low.and_then(|low| Ok(Some([low, high?]))),
            _ => Ok(None),
        });
    }
    all
}

impl<'a> Profile<'a> {
    fn new(
        (learned, memory): (&'a ExactLearned, &Memory),
        place: usize,
        data: (&'a TimeGrid, &'a [f64]),
        (most, context): (usize, &'a Context),
    ) -> Result<Option<Self>> {
        let moving: Vec<usize> =
            (0..learned.optimum.parameters.len()).filter(|&i| !learned.optimum.parameters[i].fixed).collect();
        let n = moving.len();
        let Some(k) = moving.iter().position(|&i| i == place).filter(|_| learned.optimum.covariance.len() == n * n)
        else {
            return Ok(None);
        };
        let covariance = DMatrix::from_row_slice(n, n, &learned.optimum.covariance);
        let Some(information) = covariance.clone().try_inverse() else { return Ok(None) };
        let free = |i: usize| learned.optimum.parameters[i].transform.forward(learned.optimum.parameters[i].value);
        let others = moving.iter().filter(|&&i| i != place).map(|&i| free(i));
        let start = Spot {
            at: free(place),
            value: 0.0,
            others: DVector::from_iterator(n - 1, others),
            information: information.remove_row(k).remove_column(k),
            memory: memory.clone(),
        };
        let posterior = Posterior::new(&learned.optimum.model, &learned.optimum.parameters, data, most, context)?;
        if posterior.is_parabolic() {
            return Ok(None);
        }
        let (transform, error) = (learned.optimum.parameters[place].transform, covariance[(k, k)].sqrt());
        let along = covariance.column(k).remove_row(k) / covariance[(k, k)];
        let mut profile = Self { posterior, place, transform, error, along, top: start.clone() };
        profile.top = profile.best(start.at, &start)?;
        Ok(Some(profile))
    }

    /// The best of the others beside `at`, from a point nearby.
    fn best(&self, at: f64, near: &Spot) -> Result<Spot> {
        let held = |(i, p): (usize, &Parameter)| match i == self.place {
            true => Parameter { value: self.transform.backward(at), fixed: true, ..p.clone() },
            false => p.clone(),
        };
        let parameters = self.posterior.parameters().iter().enumerate().map(held).collect();
        let surface = self.posterior.with(parameters);
        if near.others.is_empty() {
            let mut memory = near.memory.clone();
            let value = surface.at(near.others.clone(), &mut memory)?.value;
            return Ok(Spot { at, value, memory, ..near.clone() });
        }
        let known = Climber::new(surface, self.posterior.most());
        let mut search = Climber { memory: near.memory.clone(), close: CLOSE, ..known };
        let (top, information) = search.climb(self.ahead(at, near), Some(near.information.clone()))?;
        let step = definite(&information).cholesky().map_or_else(|| top.slope.clone() * 0.0, |c| c.solve(&top.slope));
        let gain = 0.5 * step.dot(&top.slope);
        // What is left to gain is small, unless the search ended for want of a step.
        let value = top.value + gain.min(CLOSE * CLOSE);
        Ok(Spot { at, value, others: top.free + step, information, memory: search.memory })
    }

    /// Where the best of the others lie beside `at`: on the line through what is known.
    fn ahead(&self, at: f64, near: &Spot) -> DVector<f64> {
        let gone = near.at - self.top.at;
        let along = match gone.abs() > 0.1 * self.error {
            true => (&near.others - &self.top.others) / gone,
            false => self.along.clone(),
        };
        &near.others + along * (at - near.at)
    }

    /// The end to one side, on the free scale; infinite where the profile never falls enough.
    fn end(&self, side: f64) -> Result<f64> {
        let longest = if self.transform == Transform::Identity { f64::INFINITY } else { LONGEST };
        let mut step = (START * self.error).min(longest);
        let mut inner = self.top.clone();
        let mut outer = None;
        for gone in 0..OUTWARDS {
            let next = self.best(inner.at + side * step, &inner)?;
            let (fall, change) = (self.fall(&next), (next.value - inner.value).abs());
            // A profile that is level over a factor, or far out, has come to its limit.
            if fall < DROP && (step >= LONGEST || gone >= LEVEL) && change < FLAT {
                break;
            }
            if fall >= DROP - EXACT {
                outer = Some(next);
                break;
            }
            (inner, step) = (next, (2.0 * step).min(longest));
        }
        let Some(mut outer) = outer else { return Ok(side * f64::INFINITY) };
        for _ in 0..INWARDS {
            let next = if (self.fall(&outer) - DROP).abs() < EXACT {
                break;
            } else {
                self.best(self.between(&inner, &outer), &inner)?
            };
            // Whichever is nearer to the end counts as the outer one.
            if self.fall(&next) < DROP - EXACT {
                inner = next;
            } else {
                outer = next;
            }
        }
        Ok(self.between(&inner, &outer))
    }

    /// Where the profile falls enough, by two places: the root of the fall is a straight line for a Gaussian.
    fn between(&self, inner: &Spot, outer: &Spot) -> f64 {
        let [near, far] = [inner, outer].map(|spot| self.fall(spot).max(0.0).sqrt());
        let share = ((DROP.sqrt() - near) / (far - near)).clamp(0.1, 1.1);
        inner.at + share * (outer.at - inner.at)
    }

    /// How far the profile has fallen.
    fn fall(&self, spot: &Spot) -> f64 {
        self.top.value - spot.value
    }
}
