//! Guess the parameters of a formula by regressing increments on its slopes, robustly and from several starts.
//!
//! The residual of a pair of observations is r = y' − y − f(t, y; θ)Δ, in units of what noise and observation error do
//! over Δ; Σ ln(1 + r²) is minimised (a Cauchy likelihood, which jumps do not upset) by Levenberg and Marquardt's method.
//! Errors of observation bend such an estimate, but it only has to be near enough for learning to begin.

use crate::drift::Formula;
use crate::parameter::Transform;
use crate::series::{FIRST_ALPHA, Scales};
use crate::{Error, Result};
use nalgebra::{DMatrix, DVector};

/// Most pairs of observations that are looked at.
const MOST_PAIRS: usize = 1000;
/// Places from which the search starts, and its most steps.
const STARTS: usize = 12;
const STEPS: usize = 60;
/// A prior is so many standard errors of the regression, and so many guesses, wide.
const ERRORS_WIDE: f64 = 30.0;
const GUESSES_WIDE: f64 = 10.0;

/// A first guess.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Guessed {
    pub name: String,
    pub value: f64,
    /// Standard deviation of a weak prior around it, on the free scale.
    pub prior_std: f64,
}

/// A pair of observations: time, value, time to the next, and increment.
#[derive(Debug, Clone, Copy)]
struct Pair {
    t: f64,
    y: f64,
    dt: f64,
    dy: f64,
    /// Typical size of what noise and error add.
    size: f64,
}

/// Guess what `given` does not hold; a guess that the formula has is kept.
///
/// # Errors
/// No start at which the formula has finite values at the observations.
pub(super) fn guess_formula(
    formula: &Formula,
    given: &dyn Fn(&str) -> Option<f64>,
    (times, values): (&[f64], &[f64]),
    scales: &Scales,
) -> Result<Vec<Guessed>> {
    let known: Vec<Option<f64>> = formula.parameters().iter().map(|p| given(&p.name).or(p.guess)).collect();
    let transforms: Vec<Transform> = formula.parameters().iter().map(|p| p.transform()).collect();
    let free: Vec<usize> = (0..known.len()).filter(|&l| known[l].is_none()).collect();
    let search = Search { formula, pairs: pairs(times, values, scales), known: &known, transforms, free };
    let best = (0..STARTS)
        .filter_map(|k| search.descend(search.start(k, scales)))
        .min_by(|a, b| a.loss.total_cmp(&b.loss))
        .ok_or_else(|| search.nowhere(scales))?;
    search.told_apart(&best)?;
    let errors = search.errors(&best).ok_or_else(|| search.nowhere(scales))?;
    let guessed = |(l, parameter): (usize, &crate::drift::FormulaParameter)| {
        let place = search.free.iter().position(|&free| free == l);
        let value = best.values[l];
        let prior_std = match search.transforms[l] {
            Transform::Identity => GUESSES_WIDE * value.abs() + place.map_or(0.0, |place| ERRORS_WIDE * errors[place]),
            Transform::Log | Transform::Logit(_) | Transform::LogAbove(_) | Transform::Symmetric(_) => 3.0,
        };
        // A guess of exactly 0 that was given says nothing of sizes.
        Guessed { name: parameter.name.clone(), value, prior_std: if prior_std > 0.0 { prior_std } else { 10.0 } }
    };
    Ok(formula.parameters().iter().enumerate().map(guessed).collect())
}

/// Consecutive values seen, thinned evenly.
fn pairs(times: &[f64], values: &[f64], scales: &Scales) -> Vec<Pair> {
    let seen: Vec<(f64, f64)> = times.iter().zip(values).filter(|(_, y)| !y.is_nan()).map(|(t, y)| (*t, *y)).collect();
    let pair = |pair: &[(f64, f64)]| {
        let dt = pair[1].0 - pair[0].0;
        let motion = scales.motion * (dt / scales.lag).powf(1.0 / FIRST_ALPHA);
        let size = motion.hypot(std::f64::consts::SQRT_2 * scales.observation);
        Pair { t: pair[0].0, y: pair[0].1, dt, dy: pair[1].1 - pair[0].1, size }
    };
    let all: Vec<Pair> = seen.windows(2).map(pair).collect();
    let count = all.len().min(MOST_PAIRS);
    (0..count).map(|k| all[k * all.len() / count]).collect()
}

/// A place of the search.
#[derive(Debug, Clone)]
struct Spot {
    /// All parameters.
    values: Vec<f64>,
    loss: f64,
    /// JᵀWJ and JᵀWr on the free scale of the free parameters.
    normal: DMatrix<f64>,
    slope: DVector<f64>,
}

struct Search<'a> {
    formula: &'a Formula,
    pairs: Vec<Pair>,
    known: &'a [Option<f64>],
    transforms: Vec<Transform>,
    /// Places of the parameters that are looked for.
    free: Vec<usize>,
}

impl Search<'_> {
    /// Start number `k`: parameters are rates, levels, sizes or pure numbers, and nobody knows which.
    fn start(&self, k: usize, scales: &Scales) -> Vec<f64> {
        let (slow, fast) = (10.0 / scales.span, 0.1 / scales.lag);
        let likely = [1.0, slow, scales.median, fast, scales.spread, 0.1];
        let value = |(l, known): (usize, &Option<f64>)| {
            let value = known.unwrap_or(likely[(k + l * (1 + k / likely.len())) % likely.len()]);
            match (known, self.transforms[l]) {
                (Some(value), _) => *value,
                (None, Transform::Log) => value.abs().max(1e-6),
                (None, Transform::LogAbove(low)) => low + value.abs().max(1e-6),
                (None, Transform::Logit(high)) => high * (0.1 + 0.8 * (k as f64 + 0.5) / STARTS as f64),
                (None, Transform::Symmetric(high)) => high * (1.6 * (k as f64 + 0.5) / STARTS as f64 - 0.8),
                (None, Transform::Identity) => within(value, &self.formula.parameters()[l]),
            }
        };
        self.known.iter().enumerate().map(value).collect()
    }

    /// Loss and its derivatives; nothing where the formula has no finite value at a pair, or the values are not allowed.
    fn at(&self, values: Vec<f64>) -> Option<Spot> {
        let drift = self.formula.drift(&values).ok()?;
        let points: Vec<(f64, f64)> = self.pairs.iter().map(|pair| (pair.t, pair.y)).collect();
        let rows = drift.rates_by_parameter(&points);
        let (n, width) = (self.free.len(), 1 + values.len());
        let (mut loss, mut normal, mut slope) = (0.0, DMatrix::zeros(n, n), DVector::zeros(n));
        let scales: Vec<f64> = self.free.iter().map(|&l| self.transforms[l].slope(values[l])).collect();
        let mut by = DVector::zeros(n);
        for (pair, row) in self.pairs.iter().zip(rows.chunks_exact(width)) {
            let residual = (pair.dy - row[0] * pair.dt) / pair.size;
            let weight = 1.0 / (1.0 + residual * residual);
            loss += (residual * residual).ln_1p();
            for (by, (&l, scale)) in by.iter_mut().zip(self.free.iter().zip(&scales)) {
                *by = row[1 + l] * scale * pair.dt / pair.size;
            }
            slope.axpy(weight * residual, &by, 1.0);
            normal.ger(weight, &by, &by, 1.0);
        }
        let sound = loss.is_finite() && slope.iter().chain(normal.iter()).all(|number| number.is_finite());
        sound.then_some(Spot { values, loss, normal, slope })
    }

    /// Go downhill from a start.
    fn descend(&self, start: Vec<f64>) -> Option<Spot> {
        let mut spot = self.at(start)?;
        let mut damping = 1e-3;
        for _ in 0..STEPS {
            let Some(next) = self.stepped(&spot, damping).filter(|next| next.loss < spot.loss) else {
                damping *= 10.0;
                if damping > 1e8 {
                    break;
                }
                continue;
            };
            let gain = spot.loss - next.loss;
            spot = next;
            if gain < 1e-6 {
                break;
            }
            damping = (0.1 * damping).max(1e-9);
        }
        Some(spot)
    }

    fn stepped(&self, spot: &Spot, damping: f64) -> Option<Spot> {
        let step = self.damped(spot, damping).cholesky()?.solve(&spot.slope);
        let mut values = spot.values.clone();
        for (&l, step) in self.free.iter().zip(step.iter()) {
            values[l] = self.transforms[l].backward(self.transforms[l].forward(values[l]) + step);
        }
        self.at(values)
    }

    /// The normal matrix with its diagonal enlarged; what does not act at all gets a unit.
    fn damped(&self, spot: &Spot, damping: f64) -> DMatrix<f64> {
        let mut matrix = spot.normal.clone();
        for k in 0..matrix.nrows() {
            let own = matrix[(k, k)];
            matrix[(k, k)] = if own > 0.0 { own * (1.0 + damping) } else { 1.0 };
        }
        matrix
    }

    /// Standard errors of the free parameters on their free scales, of what the pairs tell alone.
    fn errors(&self, spot: &Spot) -> Option<Vec<f64>> {
        let inverse = self.damped(spot, 1e-6).try_inverse()?;
        Some((0..self.free.len()).map(|k| inverse[(k, k)].max(0.0).sqrt()).collect())
    }

    /// Refuse parameters that act only together, such as the factors of a product: at the spot and beside it, their slopes at all
    /// pairs are multiples of each other.
    fn told_apart(&self, spot: &Spot) -> Result<()> {
        let beside = |(l, value): (usize, &f64)| match self.free.contains(&l) {
            true => self.transforms[l].backward(self.transforms[l].forward(*value) + 0.1 + 0.03 * l as f64),
            false => *value,
        };
        let there = self.at(spot.values.iter().enumerate().map(beside).collect());
        // Those of built-in drifts have priors that mean something.
        let is_plain = |k: &usize| {
            let parameter = &self.formula.parameters()[self.free[*k]];
            parameter.prior.is_none() && parameter.entry.is_none()
        };
        let plain: Vec<usize> = (0..self.free.len()).filter(is_plain).collect();
        if self.pairs.len() <= 2 * self.free.len() {
            return Ok(());
        }
        for (k, &a) in plain.iter().enumerate() {
            for &b in &plain[k + 1..] {
                let parallel = |spot: &Spot| {
                    let norms = spot.normal[(a, a)] * spot.normal[(b, b)];
                    norms > 0.0 && 1.0 - spot.normal[(a, b)].powi(2) / norms < 1e-12
                };
                if parallel(spot) && there.as_ref().is_some_and(parallel) {
                    let [a, b] = [a, b].map(|k| &self.formula.parameters()[self.free[k]].name);
                    return Err(Error::Series {
                        place: format!("formula {}", self.formula.brief(0)),
                        problem: format!(
                            "{a} and {b} only act together, so the record cannot tell them apart; give one of them a value"
                        ),
                    });
                }
            }
        }
        Ok(())
    }

    fn nowhere(&self, scales: &Scales) -> Error {
        let names: Vec<&str> = self.free.iter().map(|&l| self.formula.parameters()[l].name.as_str()).collect();
        // An observation at which no start has a value tells most.
        let points: Vec<(f64, f64)> = self.pairs.iter().map(|pair| (pair.t, pair.y)).collect();
        let drifts = (0..STARTS).filter_map(|k| self.formula.drift(&self.start(k, scales)).ok());
        let sound = drifts.map(|drift| drift.rates(&points)).fold(vec![false; points.len()], |sound, rates| {
            sound.iter().zip(rates).map(|(sound, rate)| *sound || rate.is_finite()).collect()
        });
        let never = sound.iter().position(|sound| !sound).map(|k| points[k]);
        let where_not =
            never.map(|(t, x)| format!(", at none of them at the value {x} of time {t}")).unwrap_or_default();
        let remedy = remedy(&names, self.formula);
        let or_else = if never.is_some() && !names.is_empty() { ", or change the formula" } else { "" };
        Error::Series {
            place: format!("formula {}", self.formula.brief(0)),
            problem: format!(
                "no start was found at which it has finite values at all observations{where_not}; {remedy}{or_else}"
            ),
        }
    }
}

/// What to do about a formula that has no value at the observations, with these parameters to be learned.
pub(super) fn remedy(free: &[&str], formula: &Formula) -> String {
    match (free.is_empty(), formula.parameters().is_empty()) {
        (false, _) => format!("give guesses for {}", free.join(", ")),
        (true, false) => "change the values given for its parameters".into(),
        (true, true) => "change the formula".into(),
    }
}

/// The nearest value well within the bounds.
fn within(value: f64, parameter: &crate::drift::FormulaParameter) -> f64 {
    match (parameter.low, parameter.high) {
        (Some(low), Some(high)) => value.clamp(low + 0.05 * (high - low), high - 0.05 * (high - low)),
        (Some(low), None) => value.max(low + 0.1 * (1.0 + low.abs())),
        (None, Some(high)) => value.min(high - 0.1 * (1.0 + high.abs())),
        (None, None) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record without noise but for a few jumps.
    fn record(rate: impl Fn(f64) -> f64) -> (Vec<f64>, Vec<f64>) {
        let mut x = 2.0;
        let times: Vec<f64> = (0..400).map(|k| 0.05 * f64::from(k)).collect();
        let step = |(k, _): (usize, &f64)| {
            let here = x;
            x += 0.05 * rate(x) + if k % 37 == 20 { 3.0 } else { 0.01 * f64::from(((k * 7919) % 13) as u32) - 0.06 };
            here
        };
        let values = times.iter().enumerate().map(step).collect();
        (times, values)
    }

    #[test]
    fn statistics_guesses_are_near_whatever_the_units() {
        for factor in [1e-3, 1.0, 1e4] {
            let (times, values) = record(|x| 0.8 * (1.5 - x));
            let values: Vec<f64> = values.iter().map(|y| factor * y).collect();
            let scales = Scales::new(&times, &values, None).unwrap();
            let formula = Formula::parse("theta*(mu - x)").unwrap();
            let guessed = guess_formula(&formula, &|_| None, (&times, &values), &scales).unwrap();
            let [theta, mu] = [guessed[0].value, guessed[1].value / factor];
            assert!((theta - 0.8).abs() < 0.1 && (mu - 1.5).abs() < 0.2, "{factor} {guessed:?}");
            assert!(guessed[1].prior_std > factor, "{guessed:?}");
        }
        let (times, values) = record(|x| 2.0 * x - 0.5 * x * x * x);
        let scales = Scales::new(&times, &values, None).unwrap();
        let formula = Formula::parse("a*x - b*x^3").unwrap().with_bounds("b", Some(0.0), None).unwrap();
        let guessed = guess_formula(&formula, &|_| None, (&times, &values), &scales).unwrap();
        assert!((guessed[0].value - 2.0).abs() < 0.2 && (guessed[1].value - 0.5).abs() < 0.05, "{guessed:?}");
        // What is given or guessed already stays.
        let formula = formula.with_guess("b", 0.4).unwrap();
        let given = |name: &str| (name == "a").then_some(1.7);
        let guessed = guess_formula(&formula, &given, (&times, &values), &scales).unwrap();
        assert_eq!([guessed[0].value, guessed[1].value], [1.7, 0.4]);
    }

    #[test]
    fn identity_factors_of_a_product_are_refused() {
        let (times, values) = record(|x| 0.8 * (1.5 - x));
        let scales = Scales::new(&times, &values, None).unwrap();
        let guess = |text: &str, given: &dyn Fn(&str) -> Option<f64>| {
            guess_formula(&Formula::parse(text).unwrap(), given, (&times, &values), &scales)
        };
        let text = guess("a*x - b*x^3 + c*wind", &|_| None).unwrap_err().to_string();
        assert!(text.contains("c and wind only act together") && text.contains("give one of them a value"), "{text}");
        assert!(guess("a*x - b*x^3 + c*wind", &|name| (name == "wind").then_some(2.0)).is_ok());
        assert!(guess("a*exp(b*x) + c*x", &|_| None).is_ok());
    }

    #[test]
    fn a_formula_without_values_is_named() {
        let (times, values) = record(|x| -x);
        let scales = Scales::new(&times, &values, None).unwrap();
        let formula = Formula::parse("-k*log(x - 100)").unwrap();
        let text = guess_formula(&formula, &|_| None, (&times, &values), &scales).unwrap_err().to_string();
        assert!(text.contains("-k*log(x - 100)") && text.contains("at the value 2 of time 0"), "{text}");
        assert!(text.contains("guesses for k, or change the formula"), "{text}");
    }
}
