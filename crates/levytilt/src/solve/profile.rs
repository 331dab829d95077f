//! Find the 90% interval of one parameter from its profile: the values at which the log evidence, maximised over all other
//! parameters, lies at most 1.35 below its maximum. Unlike a Gaussian interval it does not depend on the scale of the
//! parameter, leans as the evidence does, and may end at a limit of the domain.

use super::climb::{Climber, Surface};
use super::context::SILENT;
use super::exact_learn::{ExactLearned, LONGEST, Posterior};
use super::parameters::{Parameter, Transform};
use crate::Result;
use crate::exact::follow::Memory;
use crate::series::TimeGrid;
use nalgebra::{DMatrix, DVector};

/// Half of the 0.9 quantile of χ² with one degree of freedom.
const DROP: f64 = 1.3528;
/// The first step outwards, in standard errors: where a Gaussian interval ends.
const START: f64 = 1.645;
/// Steps outwards, and then towards an end, before the search for it ends.
const OUTWARDS: usize = 8;
const INWARDS: usize = 6;
/// Error of an end in log evidence.
const EXACT: f64 = 0.02;

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
    top: Spot,
}

/// The 90% interval of the parameter number `place` of what was learned from the data; its own prior does not count.
///
/// # Errors
/// A parameter without a covariance, or evidence that cannot be computed.
pub(crate) fn profile_interval(
    learned: &ExactLearned,
    place: usize,
    (grid, values): (&TimeGrid, &[f64]),
    most: usize,
) -> Result<Option<[f64; 2]>> {
    let Some(profile) = Profile::new(learned, place, (grid, values), most)? else { return Ok(None) };
    let ends = [profile.end(-1.0)?, profile.end(1.0)?];
    Ok(Some(ends.map(|end| profile.transform.backward(end))))
}

impl<'a> Profile<'a> {
    fn new(
        learned: &'a ExactLearned,
        place: usize,
        data: (&'a TimeGrid, &'a [f64]),
        most: usize,
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
            memory: learned.memory.clone(),
        };
        let posterior = Posterior::new(&learned.optimum.model, &learned.optimum.parameters, data, most, &SILENT)?;
        // The law of a parameter of a long record is as good as Gaussian, and a profile would take minutes.
        if posterior.is_parabolic() {
            return Ok(None);
        }
        let (transform, error) = (learned.optimum.parameters[place].transform, covariance[(k, k)].sqrt());
        let mut profile = Self { posterior, place, transform, error, top: start.clone() };
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
        let mut search = Climber { memory: near.memory.clone(), ..Climber::new(surface, self.posterior.most()) };
        let (top, information) = search.climb(near.others.clone(), Some(near.information.clone()))?;
        Ok(Spot { at, value: top.value, others: top.free, information, memory: search.memory })
    }

    /// The end to one side, on the free scale; infinite where the profile never falls enough.
    fn end(&self, side: f64) -> Result<f64> {
        let longest = if self.transform == Transform::Identity { f64::INFINITY } else { LONGEST };
        let mut step = (START * self.error).min(longest);
        let mut inner = self.top.clone();
        let mut outer = None;
        for _ in 0..OUTWARDS {
            let next = self.best(inner.at + side * step, &inner)?;
            let (fall, change) = (self.top.value - next.value, (next.value - inner.value).abs());
            // A profile that is level over a factor has come to its limit.
            if fall < DROP && step >= LONGEST && change < EXACT {
                break;
            }
            if fall >= DROP {
                outer = Some(next);
                break;
            }
            (inner, step) = (next, (2.0 * step).min(longest));
        }
        let Some(mut outer) = outer else { return Ok(side * f64::INFINITY) };
        for _ in 0..INWARDS {
            // The root of the fall is a straight line for a Gaussian.
            let [near, far] = [&inner, &outer].map(|spot| (self.top.value - spot.value).max(0.0).sqrt());
            let share = ((DROP.sqrt() - near) / (far - near)).clamp(0.1, 0.9);
            let next = self.best(inner.at + share * (outer.at - inner.at), &inner)?;
            let fall = self.top.value - next.value;
            if (fall - DROP).abs() < EXACT {
                return Ok(next.at);
            }
            if fall < DROP {
                inner = next;
            } else {
                outer = next;
            }
        }
        Ok(outer.at)
    }
}
