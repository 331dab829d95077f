//! Fit a part of a column quickly, with several drifts, and let the evidence say which one to try first.

use levytilt::drift::DriftFamily;
use levytilt::internals::fit::{FitOptions, Rating, Spec, fit};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::Family;
use serde::Serialize;

/// Rows that a quick fit sees at most: of one column, and of all columns together.
const MOST_ROWS: usize = 1000;
const MOST_TOGETHER: usize = 4000;
/// Fewest rows of a column that are seen where there are many columns.
const FEWEST_ROWS: usize = 200;
/// Values below which nothing is fitted.
pub const LEAST: usize = 20;
/// Paths of a quick fit; its evidence does not depend on them where it is exact.
const PATHS: usize = 20;
/// Gain in nats from which logarithms are suggested.
const DECISIVE: f64 = 10.0;

/// A drift that was tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tried {
    /// Flags that choose it.
    pub drift: String,
    /// Log evidence of the quick fit less ½ ln(rows) per learned parameter; null where it failed.
    pub score: Option<f64>,
}

/// What quick fits say of a column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// Flags of the best drift.
    pub drift: String,
    /// How far the next is behind, in nats; null where nothing was tried.
    pub lead: Option<f64>,
    /// Rows that the fits saw.
    pub rows: usize,
    /// Family of noise in the fits.
    pub noise: &'static str,
    /// The drifts, best first.
    pub tried: Vec<Tried>,
    /// Gain in nats of a model of the logarithms, for the same values; null where a value is not positive.
    pub log_gain: Option<f64>,
    /// Middle between the two states of a double well, if that is the advice and 0 is not the middle.
    pub middle: Option<f64>,
}

/// A drift to try: its name, its flags, a value that is held.
type Candidate = (&'static str, &'static str, Option<(&'static str, f64)>);

/// The drifts that are tried.
const DRIFTS: [Candidate; 4] = [
    ("none", "--drift none", None),
    ("linear", "--drift linear --slope 0", Some(("slope", 0.0))),
    ("ou", "--drift ou", None),
    ("double-well", "--drift double-well", None),
];

/// Try the drifts on at most a thousand rows of `values` at `times`, evenly over the record, with a light or a heavy-tailed
/// noise. Missing values are NaN; `columns` is how many columns share the time that may be spent.
pub fn advise(times: &[f64], values: &[f64], heavy: bool, columns: usize) -> Option<Advice> {
    let seen: Vec<(f64, f64)> =
        times.iter().copied().zip(values.iter().copied()).filter(|(_, value)| !value.is_nan()).collect();
    if seen.len() < LEAST {
        return None;
    }
    let rows = (MOST_TOGETHER / columns).clamp(FEWEST_ROWS, MOST_ROWS);
    let (times, values): (Vec<f64>, Vec<f64>) = thinned(&seen, rows).into_iter().unzip();
    let noise = Family::named(if heavy { "student" } else { "gaussian" })?;
    let worst = f64::NEG_INFINITY;
    // Flags, score, and the middle that was taken from the values.
    let mut scored: Vec<(&str, Option<f64>, f64)> = Vec::new();
    for (name, flags, held) in DRIFTS {
        let tried = middles(name, &values).into_iter().map(|middle| {
            let shifted: Vec<f64> = values.iter().map(|value| value - middle).collect();
            let score = score(name, held, usize::from(middle != 0.0), noise, (&times, &shifted));
            (flags, score, middle)
        });
        scored.extend(tried.max_by(|a, b| a.1.unwrap_or(worst).total_cmp(&b.1.unwrap_or(worst))));
    }
    scored.sort_by(|a, b| b.1.unwrap_or(worst).total_cmp(&a.1.unwrap_or(worst)));
    let (drift, best, middle) = (scored[0].0, scored[0].1?, scored[0].2);
    Some(Advice {
        drift: drift.into(),
        lead: scored[1].1.map(|second| best - second),
        rows: times.len(),
        noise: noise.name,
        log_gain: of_logarithms(&times, &values, noise).map(|score| score - best),
        middle: Some(middle).filter(|middle| *middle != 0.0),
        tried: scored.into_iter().map(|(drift, score, _)| Tried { drift: drift.into(), score }).collect(),
    })
}

impl Advice {
    /// The drifts with their distances behind the best.
    pub fn ranking(&self) -> String {
        let best = self.tried.first().and_then(|tried| tried.score).unwrap_or(f64::NAN);
        let one = |tried: &Tried| match tried.score {
            Some(score) if score == best => tried.drift.clone(),
            Some(score) => format!("{} {:.1} nats behind", tried.drift, best - score),
            None => format!("{} cannot be fitted", tried.drift),
        };
        self.tried.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// Whether logarithms explain the values far better.
    pub fn wants_logarithms(&self) -> bool {
        self.log_gain.is_some_and(|gain| gain > DECISIVE)
    }
}

/// At most `most` of the values, evenly over the record, its ends among them.
fn thinned(seen: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    if seen.len() <= most {
        return seen.to_vec();
    }
    (0..most).map(|k| seen[k * (seen.len() - 1) / (most - 1)]).collect()
}

/// Penalised log evidence of one drift; nothing where it cannot be fitted.
fn score(
    drift: &str,
    held: Option<(&str, f64)>,
    more: usize,
    noise: &'static Family,
    (times, values): (&[f64], &[f64]),
) -> Option<f64> {
    let mut spec = Spec::new(DriftFamily::named(drift)?, noise);
    spec.given.extend(held.map(|(name, value)| (name.to_string(), value)));
    // One step per value: the law of Student noise is that of whole steps, and all drifts get the same.
    let grid = TimeGrid::unsplit(times).ok()?;
    let options = FitOptions { paths: PATHS, quantiles: vec![0.5], ..FitOptions::default() };
    let found = fit(&spec, &grid, &[values], &options).ok()?;
    let rating = Rating::of(&found);
    let rating = Rating::new(rating.log_evidence, rating.std_error, rating.learned + more, found.observations);
    Some(rating.score).filter(|score| score.is_finite())
}

/// Penalised log evidence of the values as exponentials of a model without or with mean reversion: ln p(y) = ln p(ln y) −
/// Σ ln y. Nothing where a value is not positive.
fn of_logarithms(times: &[f64], values: &[f64], noise: &'static Family) -> Option<f64> {
    if values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let jacobian: f64 = logs.iter().sum();
    let best = ["none", "ou"].iter().filter_map(|drift| score(drift, None, 0, noise, (times, &logs)));
    best.max_by(f64::total_cmp).map(|score| score - jacobian)
}

/// Middles to take from the values before a drift is fitted: none, and for a double well that between its states.
pub fn middles(drift: &str, values: &[f64]) -> Vec<f64> {
    match drift {
        "double-well" => vec![0.0, middle(values)],
        _ => vec![0.0],
    }
}

/// The middle between the means of two clusters, by Lloyd's rule from the lower and upper tenth.
fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    let mut cut = 0.5 * (sorted[sorted.len() / 10] + sorted[sorted.len() * 9 / 10]);
    for _ in 0..50 {
        let below = sorted.partition_point(|value| *value < cut);
        if below == 0 || below == sorted.len() {
            break;
        }
        let next = 0.5 * (mean(&sorted[..below]) + mean(&sorted[below..]));
        if next == cut {
            break;
        }
        cut = next;
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_middle_and_thinning() {
        let values = [-1.1, 1.0, -0.9, 1.1, 0.9, -1.0, 3.0 - 2.0];
        assert!(middle(&values).abs() < 0.01, "{}", middle(&values));
        let seen: Vec<(f64, f64)> = (0..2500).map(|k| (f64::from(k), 0.0)).collect();
        let few = thinned(&seen, 1000);
        assert_eq!((few.len(), few[0].0, few[999].0), (1000, 0.0, 2499.0));
        assert!(few.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    /// A random walk, a walk pulled to 5, and exponentials of a walk, all with steps from one deterministic sequence.
    #[test]
    fn statistics_evidence_tells_drifts_and_scales_apart() {
        let mut state = 7u64;
        let mut normal = || {
            let mut sum = -6.0;
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                sum += (state >> 11) as f64 / 2f64.powi(53);
            }
            sum
        };
        let steps: Vec<f64> = (0..300).map(|_| normal()).collect();
        let times: Vec<f64> = (0..300).map(f64::from).collect();
        let follow = |pull: f64| {
            let mut x = 5.0;
            steps
                .iter()
                .map(|step| {
                    x += pull * (5.0 - x) + step;
                    x
                })
                .collect::<Vec<f64>>()
        };
        let walk = advise(&times, &follow(0.0), false, 1).unwrap();
        assert_eq!(walk.drift, "--drift none", "{:?}", walk.tried);
        let pulled = advise(&times, &follow(0.3), false, 1).unwrap();
        assert_eq!(pulled.drift, "--drift ou", "{:?}", pulled.tried);
        let none =
            pulled.tried.iter().find(|tried| tried.drift == "--drift none").and_then(|tried| tried.score).unwrap();
        assert!(pulled.tried[0].score.unwrap() - none > 5.0, "{:?}", pulled.tried);
        let grown: Vec<f64> = follow(0.0).iter().map(|x| (0.1 * x).exp()).collect();
        let grown = advise(&times, &grown, false, 1).unwrap();
        assert!(grown.wants_logarithms(), "{:?}", grown.log_gain);
        assert!(
            !advise(&times, &follow(0.3).iter().map(|x| x + 100.0).collect::<Vec<_>>(), false, 1)
                .unwrap()
                .wants_logarithms()
        );
        assert!(advise(&times[..10], &steps[..10], false, 1).is_none());
    }
}
