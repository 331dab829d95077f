//! Guess where to start learning the size of the noise: near a size of 1, at values that make it positive.

use super::guess::{Guessed, remedy};
use crate::drift::{Formula, FormulaParameter};
use crate::parameter::Transform;
use crate::series::Scales;
use crate::{Error, Result, Size};

/// Guesses for the parameters of the formula `size`; those `given` or with a guess of their own stay. The others start at 0,
/// which is no dependence in formulas such as 1 + s·|x| or exp(k·x), or else at the first of some small values that make the
/// size positive at all observations.
///
/// # Errors
/// No values that do, with what to give.
pub(super) fn guess_size(
    size: &Formula,
    given: &dyn Fn(&str) -> Option<f64>,
    (times, values): (&[f64], &[f64]),
    scales: &Scales,
) -> Result<Vec<Guessed>> {
    let seen: Vec<(f64, f64)> = times.iter().zip(values).filter(|(_, y)| !y.is_nan()).map(|(t, y)| (*t, *y)).collect();
    let small = 0.1 / scales.spread.max(scales.median.abs());
    let mut reason = None;
    for start in [0.0, small, -small, 0.1, 1.0] {
        let value = |p: &FormulaParameter| given(&p.name).or(p.guess).unwrap_or_else(|| within(start, small, p));
        let tried: Vec<f64> = size.parameters().iter().map(value).collect();
        let positive =
            Size::new(size, &tried).and_then(|size| seen.iter().try_for_each(|(t, y)| size.at(*t, &[*y]).map(drop)));
        if let Err(error) = positive {
            reason.get_or_insert(error);
        } else {
            let guessed = |(p, value): (&FormulaParameter, f64)| Guessed {
                name: p.name.clone(),
                value,
                prior_std: match p.transform() {
                    Transform::Identity => 10.0 * (10.0 * small).max(1.0),
                    _ => 3.0,
                },
            };
            return Ok(size.parameters().iter().zip(tried).map(guessed).collect());
        }
    }
    let names: Vec<&str> =
        size.parameters().iter().map(|p| p.name.as_str()).filter(|name| given(name).is_none()).collect();
    match reason {
        // Nothing to be chosen: the first value that is wrong says all.
        Some(reason) if names.is_empty() => Err(reason),
        _ => Err(Error::Series {
            place: format!("size {}", size.brief(0)),
            problem: format!(
                "no start was found at which it is positive at all observations; {}",
                remedy(&names, size)
            ),
        }),
    }
}

/// The start, or a value within the bounds.
fn within(start: f64, small: f64, parameter: &FormulaParameter) -> f64 {
    match (parameter.low, parameter.high) {
        (None, None) => start,
        (Some(low), Some(high)) => start.clamp(low + 0.05 * (high - low), high - 0.05 * (high - low)),
        (Some(low), None) => start.max(low + small),
        (None, Some(high)) => start.min(high - small),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_starts() {
        let (times, values) = ([0.0, 1.0, 2.0, 3.0], [1.0, 3.0, -2.0, 2.0]);
        let scales = Scales::new(&times, &values, None).unwrap();
        let start = |text: &str| {
            let guessed = guess_size(&Formula::parse(text).unwrap(), &|_| None, (&times, &values), &scales);
            guessed.map(|all| all.iter().map(|one| one.value).collect::<Vec<_>>()).map_err(|error| error.to_string())
        };
        assert_eq!(start("1 + s*abs(x)").unwrap(), [0.0]);
        assert_eq!(start("exp(k*x)").unwrap(), [0.0]);
        assert!(start("a + b*abs(x)").unwrap()[0] > 0.0);
        assert!(start("x*s").unwrap_err().contains("give guesses for s"));
        let bounded = Formula::parse("1 + s*abs(x)").unwrap().with_bounds("s", Some(0.0), None).unwrap();
        let found = guess_size(&bounded, &|_| None, (&times, &values), &scales).unwrap();
        assert!(found[0].value > 0.0 && found[0].prior_std == 3.0);
    }
}
