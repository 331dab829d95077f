//! Find the 90% interval of one parameter from its profile: the values at which the log evidence, maximised over all other
//! parameters, lies at most 1.35 below its maximum. Unlike a Gaussian interval it does not depend on the scale of the
//! parameter, leans as the evidence does, and may end at a limit of the domain.

use super::climb::Climber;
use super::exact_learn::{ExactLearned, Posterior};
use super::parameters::{Parameter, Transform};
use crate::Result;
use crate::series::TimeGrid;
use nalgebra::{DMatrix, DVector};

/// Half of the 0.9 quantile of χ² with one degree of freedom.
const DROP: f64 = 1.3528;
/// Half the width of a 90% interval of a normal law.
const NINETY: f64 = 1.645;
/// Steps outwards, and then towards an end, before the search for it ends.
const OUTWARDS: usize = 8;
const INWARDS: usize = 6;
/// Step on the free scale over which a profile that does not change has come to its limit.
const LEVEL: f64 = 1.5;
/// Error of an end in log evidence.
const EXACT: f64 = 0.02;

/// The profile of one parameter around what was learned.
struct Profile<'a> {
    posterior: Posterior<'a>,
    place: usize,
    transform: Transform,
    /// The parameter on its free scale, its standard error there, and the others' best values and their change per unit of it.
    middle: f64,
    error: f64,
    others: DVector<f64>,
    along: DVector<f64>,
    information: DMatrix<f64>,
    top: f64,
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
        let moving: Vec<usize> = (0..learned.parameters.len()).filter(|&i| !learned.parameters[i].fixed).collect();
        let n = moving.len();
        let Some(k) = moving.iter().position(|&i| i == place).filter(|_| learned.covariance.len() == n * n) else {
            return Ok(None);
        };
        let covariance = DMatrix::from_row_slice(n, n, &learned.covariance);
        let Some(information) = covariance.clone().try_inverse() else { return Ok(None) };
        let free = |i: usize| learned.parameters[i].transform.forward(learned.parameters[i].value);
        let rest: Vec<usize> = (0..n).filter(|&i| i != k).collect();
        let pick = |from: &dyn Fn(usize) -> f64| DVector::from_iterator(n - 1, rest.iter().map(|&i| from(i)));
        let mut profile = Self {
            posterior: Posterior::new(&learned.model, &learned.parameters, data, most)?.quietly(),
            place,
            transform: learned.parameters[place].transform,
            middle: free(place),
            error: covariance[(k, k)].sqrt(),
            others: pick(&|i| free(moving[i])),
            along: pick(&|i| covariance[(i, k)] / covariance[(k, k)]),
            information: information.remove_row(k).remove_column(k),
            top: 0.0,
        };
        profile.top = profile.value(profile.middle)?;
        Ok(Some(profile))
    }

    /// The log evidence plus the log prior of the others, maximised over them.
    fn value(&self, at: f64) -> Result<f64> {
        let held = |(i, p): (usize, &Parameter)| match i == self.place {
            true => Parameter { value: self.transform.backward(at), fixed: true, ..p.clone() },
            false => p.clone(),
        };
        let parameters = self.posterior.parameters().iter().enumerate().map(held).collect();
        let begin = &self.others + &self.along * (at - self.middle);
        let mut search = Climber::new(self.posterior.with(parameters), self.posterior.most());
        Ok(search.climb(begin, Some(self.information.clone()))?.0.value)
    }

    /// The end to one side, on the free scale; infinite where the profile never falls enough.
    fn end(&self, side: f64) -> Result<f64> {
        // The root of the fall is a straight line for a Gaussian.
        let root = |at: f64| Ok::<f64, crate::Error>((self.top - self.value(at)?).max(0.0).sqrt());
        let goal = DROP.sqrt();
        let (mut inner, mut outer) = ((self.middle, 0.0), (self.middle, 0.0));
        let mut step = NINETY * self.error;
        for _ in 0..OUTWARDS {
            let at = outer.0 + side * step;
            outer = (at, root(at)?);
            // A profile that is level over a factor has come to its limit.
            if outer.1 >= goal || (step > LEVEL && (outer.1 - inner.1).abs() < EXACT) {
                break;
            }
            (inner, step) = (outer, 2.0 * step);
        }
        if outer.1 < goal {
            return Ok(side * f64::INFINITY);
        }
        for _ in 0..INWARDS {
            let share = ((goal - inner.1) / (outer.1 - inner.1)).clamp(0.1, 0.9);
            let at = inner.0 + share * (outer.0 - inner.0);
            let found = (at, root(at)?);
            if (found.1 * found.1 - DROP).abs() < EXACT {
                return Ok(at);
            }
            if found.1 < goal {
                inner = found;
            } else {
                outer = found;
            }
        }
        Ok(outer.0)
    }
}
