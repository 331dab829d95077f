//! Judge a model by its one-step residuals: z = Φ⁻¹(PIT) of every value given the earlier ones.
//!
//! Under the true model the residuals are independent standard normal. Each [`Check`] looks for one way in which they are
//! not. All checks together raise a false alarm on the true model in at most 5% of records: each is held against 5% divided
//! by their number, and fitted parameters make every one of them rarer.

mod normality;

use crate::exact::filter::Seen;
use normality as test;
use serde::Serialize;

/// Probability of any false alarm.
const FALSE_ALARMS: f64 = 0.05;
/// Residuals below which nothing is judged.
const FEWEST: usize = 30;
/// Lags of the portmanteau tests; even, so that their p-values have a closed form.
const LAGS: usize = 10;

/// A way in which a model can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aspect {
    /// Residuals depend on those before them.
    Dependence,
    /// Residuals depend on the state before them.
    Level,
    /// Residuals repeat after a period of the calendar.
    Season,
    /// Sizes of residuals depend on those before them.
    Volatility,
    /// Sizes of residuals repeat after a period of the calendar.
    Clock,
    /// Residuals are not normal, above all in the tails.
    Distribution,
    /// Residuals lean to one side.
    Skewness,
    /// One residual is larger than any should be.
    Outlier,
}

/// One check of the residuals.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// What it looks for.
    pub aspect: Aspect,
    /// The period, for [`Aspect::Season`] and [`Aspect::Clock`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<&'static str>,
    /// The statistic: Ljung–Box's Q, a correlation, the excess of one at a period, Anderson and Darling's A², skewness, or the largest |z|.
    pub statistic: f64,
    /// How strong it is, for [`Aspect::Dependence`] and [`Aspect::Volatility`]: the autocorrelation of neighbours. In a long record a
    /// weak one fails too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autocorrelation: Option<f64>,
    /// Probability of a larger one under the true model.
    pub p_value: f64,
    /// Whether the model fails.
    pub failed: bool,
}

/// Residuals of one dimension, and what they say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Residuals {
    /// Time of each.
    #[serde(skip)]
    pub times: Vec<f64>,
    /// Standardised residuals Φ⁻¹(PIT).
    #[serde(skip)]
    pub values: Vec<f64>,
    /// Their number.
    pub count: usize,
    /// The checks; none where there are too few residuals.
    pub checks: Vec<Check>,
}

/// The p-value below which one of so many checks fails.
pub fn limit(checks: usize) -> f64 {
    FALSE_ALARMS / checks.max(1) as f64
}

/// A period of the calendar, in the unit of the times.
pub type Period = (f64, &'static str);

impl Residuals {
    /// Residuals of what a filter saw, checked for the periods that the times can show.
    pub fn new(seen: &[Option<Seen>], periods: &[Period]) -> Self {
        let seen: Vec<&Seen> = seen.iter().flatten().collect();
        let times: Vec<f64> = seen.iter().map(|seen| seen.time).collect();
        let values: Vec<f64> = seen.iter().map(|seen| test::normal_score(seen.below, seen.above)).collect();
        let mut checks = if values.len() < FEWEST { Vec::new() } else { checks(&seen, &times, &values, periods) };
        let limit = limit(checks.len());
        checks.iter_mut().for_each(|check| check.failed = check.p_value < limit);
        Self { count: values.len(), times, values, checks }
    }

    /// The checks that failed.
    pub fn failures(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.failed)
    }

    /// Autocorrelation of the residuals at a lag.
    pub fn autocorrelation(&self, lag: usize) -> f64 {
        test::autocorrelation(&self.values, lag)
    }

    /// Autocorrelation of their sizes |z| at a lag.
    pub fn size_autocorrelation(&self, lag: usize) -> f64 {
        let sizes: Vec<f64> = self.values.iter().map(|z| z.abs()).collect();
        test::autocorrelation(&sizes, lag)
    }

    /// Number of values whose PIT lies in each of `bins` equal parts of (0, 1).
    pub fn pit_counts(&self, bins: usize) -> Vec<usize> {
        let mut counts = vec![0; bins];
        for z in &self.values {
            counts[((test::upper_tail(-z) * bins as f64) as usize).min(bins - 1)] += 1;
        }
        counts
    }
}

fn checks(seen: &[&Seen], times: &[f64], values: &[f64], periods: &[Period]) -> Vec<Check> {
    let sizes: Vec<f64> = values.iter().map(|z| z.abs()).collect();
    let lags = if values.len() < 5 * LAGS { 4 } else { LAGS };
    let check = |aspect, (statistic, p_value)| Check {
        aspect,
        period: None,
        statistic,
        autocorrelation: None,
        p_value,
        failed: false,
    };
    let serial = |aspect, series: &[f64]| Check {
        autocorrelation: Some(test::autocorrelation(series, 1)),
        ..check(aspect, test::ljung_box(series, lags))
    };
    let before: Vec<f64> = seen.iter().map(|seen| seen.mean).collect();
    let tails: Vec<(f64, f64)> = seen.iter().map(|seen| (seen.below, seen.above)).collect();
    let mut all = vec![
        serial(Aspect::Dependence, values),
        serial(Aspect::Volatility, &sizes),
        check(Aspect::Level, test::level(&before[..before.len() - 1], &values[1..])),
        check(Aspect::Distribution, test::anderson_darling(&tails)),
        check(Aspect::Skewness, test::skewness(values)),
        check(Aspect::Outlier, test::largest(&tails)),
    ];
    for &(length, name) in periods {
        if let Some(lag) = test::lag_of(times, length) {
            let mut periodic = |aspect, series: &[f64]| {
                all.push(Check { period: Some(name), ..check(aspect, test::at_period(series, lag)) });
            };
            periodic(Aspect::Season, values);
            periodic(Aspect::Clock, &sizes);
        }
    }
    all
}

impl Aspect {
    /// Its name, as it is serialised.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dependence => "dependence",
            Self::Level => "level",
            Self::Season => "season",
            Self::Volatility => "volatility",
            Self::Clock => "clock",
            Self::Distribution => "distribution",
            Self::Skewness => "skewness",
            Self::Outlier => "outlier",
        }
    }
}

impl Check {
    /// What it looks for, with its period: `volatility`, `season (day)`.
    pub fn name(&self) -> String {
        let name = self.aspect.name();
        self.period.map_or(name.into(), |period| format!("{name} ({period})"))
    }

    /// What was found, what it means and what to try, as one sentence without a full stop.
    pub fn advice(&self) -> String {
        let (found, meaning) = self.meaning();
        let strength = self.autocorrelation.map_or(String::new(), |value| format!("{value:.2} from one to the next, "));
        format!("{found} ({strength}p {}): {meaning}", short(self.p_value))
    }

    /// What a failure says of the residuals; what it means and what to try.
    pub fn meaning(&self) -> (String, &'static str) {
        let period = self.period.unwrap_or_default();
        match self.aspect {
            Aspect::Dependence => (
                "one-step residuals are autocorrelated".to_string(),
                "the drift misses part of the motion. Try another drift, a season, or an input that drives the record",
            ),
            Aspect::Level => (
                "one-step residuals depend on the level of the state".into(),
                "the drift is missing or has the wrong shape. Compare others: levytilt compare DATA --drift ou,double-well",
            ),
            Aspect::Season => (
                format!(
                    "one-step residuals repeat: their autocorrelation after one {period} and after two is {:.2} or more above \
                     that in between",
                    self.statistic
                ),
                "the record has a season that the drift misses. Remove it first, or put it into the drift with --season, \
                 and more --harmonics",
            ),
            Aspect::Volatility => (
                "the sizes of one-step residuals are autocorrelated".into(),
                "the volatility changes over time, or outliers come in pairs. Try --volatility recent, or fit shorter stretches",
            ),
            Aspect::Clock => (
                format!(
                    "sizes of one-step residuals repeat: their autocorrelation after one {period} and after two is {:.2} or \
                     more above that in between",
                    self.statistic
                ),
                "the noise depends on the calendar. Try --clock business, or leave out hours of rest",
            ),
            Aspect::Distribution => (
                "one-step residuals do not follow the predicted distribution".into(),
                "the noise family or the observation noise is wrong. Compare families with --noise auto",
            ),
            Aspect::Skewness => (
                format!("one-step residuals have a skewness of {:.2}", self.statistic),
                "moves up and down have different sizes, and this noise is symmetric. Try a skewed noise, or logarithms of \
                 the values",
            ),
            Aspect::Outlier => (
                format!("one residual is {:.1} standard deviations out", self.statistic),
                "this noise cannot explain so large a move. Check that value, or use a noise with heavier tails",
            ),
        }
    }

    /// Its p-value, in few digits.
    pub fn short_p_value(&self) -> String {
        short(self.p_value).trim_start_matches("= ").into()
    }
}

/// A p-value in words short enough for a sentence.
fn short(p: f64) -> String {
    match p {
        p if p < 1e-4 => "< 0.0001".into(),
        p if p < 1e-2 => format!("= {p:.4}"),
        p => format!("= {p:.2}"),
    }
}
