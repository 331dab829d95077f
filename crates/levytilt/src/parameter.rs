//! Describe a parameter once: name, meaning, unit, domain, first guess and prior. Each family lists its own.

use crate::Result;
use crate::error::check;
use crate::series::Scales;
use serde::{Deserialize, Serialize};

/// Everything that is known of a parameter before any data are seen.
///
/// Flags, help, settings files, report rows and first guesses all derive from it.
#[derive(Debug, Clone, Copy)]
pub struct ParameterEntry {
    /// Name as users write it in files; the flag has `-` in place of `_`.
    pub name: &'static str,
    /// What it is, in half a sentence without a colon.
    pub about: &'static str,
    /// Unit, in units of the values and of time; empty for a pure number.
    pub unit: &'static str,
    /// Values allowed.
    pub domain: Domain,
    /// A value that shows how it is written, for settings files.
    pub example: f64,
    /// Whether it is learned when no value is given; if not, it is held at its first guess.
    pub learned: bool,
    /// What it does to the jumps of a noise.
    pub effect: Effect,
    pub(crate) guess: Guess,
    pub(crate) prior: Option<PriorOf>,
    pub(crate) doubt: Option<Doubt>,
}

/// What a parameter does to the jumps of a noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It is the index of the power law of the tails.
    TailIndex,
    /// It is the scale of the increments.
    Scale,
    /// It multiplies single jumps.
    JumpScale,
    /// It skews the noise, which is symmetric where it is 0, and leaves its mean.
    Skew,
    /// It skews the noise, and moves its mean as well.
    SkewAndMean,
    /// Anything else.
    Other,
}

impl Effect {
    /// Whether the noise is symmetric where the parameter is 0.
    pub fn skews(self) -> bool {
        matches!(self, Self::Skew | Self::SkewAndMean)
    }
}

/// The value given for a parameter of the same dimension, by name.
pub type Given<'a> = &'a dyn Fn(&str) -> Option<f64>;

/// A first guess from typical sizes of the series and from what is given.
pub type Guess = for<'a> fn(&'a Scales, Given<'a>) -> f64;

/// Standard deviation of a prior around the first guess, on the free scale. The second argument has the sizes of the dimension that
/// acts, where that can be another one.
pub type PriorStd = fn(&Scales, &Scales) -> f64;

/// A prior of its own that an entry gives its parameter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PriorOf {
    /// Around the first guess.
    Around(PriorStd),
    /// Around a place of its own.
    At(fn(&Scales) -> Prior),
}

/// Standard deviation of ln|C| where C has a Cauchy law: a normal law so wide on the logarithm stands for a half-Cauchy prior, which is
/// flat towards 0 where a log-uniform one has most of its mass there (Gelman 2006).
pub(crate) const HALF_CAUCHY: f64 = std::f64::consts::FRAC_PI_2;
/// Standard deviation of the logit of a uniform variable, π/√3.
const UNIFORM: f64 = 1.813_799_364_234_217_8;
/// Standard deviation of a uniform variable over its range, 1/√12.
pub(crate) const UNIFORM_STD: f64 = 0.288_675_134_594_812_9;

/// What a learned value means if it may as well be a limit of its family.
pub type Doubt = fn(&LearnedValue) -> Option<&'static str>;

/// A learned value, as [`Doubt`] sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnedValue {
    /// The estimate.
    pub value: f64,
    /// Its standard error, if there is one.
    pub std_error: Option<f64>,
    /// Time from the first observation to the last.
    pub span: f64,
}

/// Entries are the same if they describe the same parameter in the same words.
impl PartialEq for ParameterEntry {
    fn eq(&self, other: &Self) -> bool {
        (self.name, self.about, self.unit) == (other.name, other.about, other.unit)
    }
}

impl ParameterEntry {
    /// A parameter that is learned, with the default prior of its domain.
    pub const fn new(
        name: &'static str,
        about: &'static str,
        unit: &'static str,
        domain: Domain,
        example: f64,
        guess: Guess,
    ) -> Self {
        let effect = Effect::Other;
        Self { name, about, unit, domain, example, learned: true, effect, guess, prior: None, doubt: None }
    }

    /// The same with a prior of another width around its guess.
    pub const fn with_prior(self, std: PriorStd) -> Self {
        Self { prior: Some(PriorOf::Around(std)), ..self }
    }

    /// The same with a prior around another place than its guess.
    pub(crate) const fn with_prior_at(self, prior: fn(&Scales) -> Prior) -> Self {
        Self { prior: Some(PriorOf::At(prior)), ..self }
    }

    /// The same with an effect on the jumps.
    pub(crate) const fn with_effect(self, effect: Effect) -> Self {
        Self { effect, ..self }
    }

    /// The same, held at its guess unless it is given.
    pub const fn held(self) -> Self {
        Self { learned: false, ..self }
    }

    /// The same with a sentence about values at a limit of the family.
    pub const fn with_doubt(self, doubt: Doubt) -> Self {
        Self { doubt: Some(doubt), ..self }
    }

    /// Whether it multiplies the jumps of a noise.
    pub fn is_size(&self) -> bool {
        matches!(self.effect, Effect::Scale | Effect::JumpScale)
    }

    /// The flag of the program.
    pub fn flag(&self) -> String {
        format!("--{}", self.name.replace('_', "-"))
    }

    /// Check a value; the error names the parameter as `name`, which may carry a dimension.
    pub fn check_as(&self, name: &str, value: f64) -> Result<f64> {
        check(name, value, self.domain.contains(value), self.domain.expected)
    }

    /// Check a value.
    pub fn check(&self, value: f64) -> Result<f64> {
        self.check_as(self.name, value)
    }

    /// The scale on which it takes any real value.
    pub fn transform(&self) -> Transform {
        self.domain.transform()
    }

    /// The first guess.
    pub fn guess(&self, scales: &Scales, given: Given) -> f64 {
        (self.guess)(scales, given)
    }

    /// The default prior of a parameter with this first guess: a factor e³ = 20 to either side for rates and sizes, uniform between
    /// two bounds, the spread of the data around the guess for a level.
    pub(crate) fn default_prior(&self, guess: f64, own: &Scales, by: &Scales) -> Prior {
        let around = |std| Prior { mean: self.transform().forward(guess), std };
        match (self.prior, self.transform()) {
            (Some(PriorOf::Around(std)), _) => around(std(own, by)),
            (Some(PriorOf::At(prior)), _) => prior(own),
            (None, Transform::Log | Transform::LogAbove(_)) => around(3.0),
            (None, Transform::Logit(_) | Transform::Symmetric(_)) => Prior { mean: 0.0, std: UNIFORM },
            (None, Transform::Identity) => around(own.spread),
        }
    }

    /// What a learned value means if it may as well be a limit of the family.
    pub fn doubt(&self, learned: &LearnedValue) -> Option<&'static str> {
        self.doubt.and_then(|doubt| doubt(learned))
    }
}

/// An interval of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Domain {
    /// Lower end, or −∞.
    pub low: f64,
    /// Upper end, or ∞.
    pub high: f64,
    /// Whether the lower and the upper end are allowed themselves.
    pub closed: [bool; 2],
    /// What an error says, from "must" on.
    pub expected: &'static str,
}

impl Domain {
    /// Every finite number.
    pub const REAL: Self =
        Self { low: f64::NEG_INFINITY, high: f64::INFINITY, closed: [false; 2], expected: "must be a finite number" };
    /// Numbers greater than 0.
    pub const POSITIVE: Self = Self { low: 0.0, expected: "must be a finite number greater than 0", ..Self::REAL };
    /// Numbers from 0 on.
    pub const NON_NEGATIVE: Self =
        Self { low: 0.0, closed: [true, false], expected: "must be a finite number, 0 or greater", ..Self::REAL };

    /// Whether a value is allowed; NaN and infinities never are.
    pub fn contains(&self, value: f64) -> bool {
        let above = if self.closed[0] { value >= self.low } else { value > self.low };
        let below = if self.closed[1] { value <= self.high } else { value < self.high };
        above && below
    }

    /// The scale on which a value is free: logit between 0 and a bound or from −1 to 1, logarithm of the distance above a
    /// lower end, else
    /// the value itself.
    pub fn transform(&self) -> Transform {
        match (self.low, self.high) {
            (0.0, high) if high.is_finite() => Transform::Logit(high),
            (0.0, _) => Transform::Log,
            (-1.0, 1.0) => Transform::Symmetric(1.0),
            (low, high) if low.is_finite() && high.is_infinite() => Transform::LogAbove(low),
            _ => Transform::Identity,
        }
    }
}

impl std::fmt::Display for Domain {
    /// In an interval's usual notation, or as an inequality where one end is open.
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let [open, close] = [if self.closed[0] { '[' } else { '(' }, if self.closed[1] { ']' } else { ')' }];
        match (self.low.is_finite(), self.high.is_finite(), self.closed[0]) {
            (false, false, _) => f.write_str("any number"),
            (true, false, true) => write!(f, "at least {}", self.low),
            (true, false, false) => write!(f, "greater than {}", self.low),
            _ => write!(f, "in {open}{}, {}{close}", self.low, self.high),
        }
    }
}

/// A Gaussian prior on the free scale: the logarithm of a parameter that is bounded below by 0, ln(p/(high − p)) of one between
/// 0 and a bound, else the parameter itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prior {
    /// Mean on the free scale.
    pub mean: f64,
    /// Standard deviation on the free scale.
    pub std: f64,
}

/// The scale on which a parameter takes any real value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Transform {
    /// The parameter itself.
    Identity,
    /// Its logarithm: positive parameters.
    Log,
    /// ln(p/(bound − p)): parameters between zero and a bound.
    Logit(f64),
    /// ln((bound + p)/(bound − p)): parameters between −bound and bound.
    Symmetric(f64),
    /// ln(p − bound): parameters above a bound.
    LogAbove(f64),
}

impl Transform {
    /// To the free scale.
    pub fn forward(self, value: f64) -> f64 {
        match self {
            Self::Identity => value,
            Self::Log => value.ln(),
            Self::Logit(bound) => (value / (bound - value)).ln(),
            Self::Symmetric(bound) => 2.0 * (value / bound).atanh(),
            Self::LogAbove(bound) => (value - bound).ln(),
        }
    }

    /// Back from the free scale.
    pub fn backward(self, free: f64) -> f64 {
        match self {
            Self::Identity => free,
            Self::Log => free.exp(),
            Self::Logit(bound) => bound / (1.0 + (-free).exp()),
            Self::Symmetric(bound) => bound * (0.5 * free).tanh(),
            Self::LogAbove(bound) => bound + free.exp(),
        }
    }

    /// d value / d free at `value`.
    pub fn slope(self, value: f64) -> f64 {
        match self {
            Self::Identity => 1.0,
            Self::Log => value,
            Self::Logit(bound) => value * (bound - value) / bound,
            Self::Symmetric(bound) => (bound - value) * (bound + value) / (2.0 * bound),
            Self::LogAbove(bound) => value - bound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_domains() {
        let index = Domain { high: 2.0, closed: [false, true], ..Domain::POSITIVE };
        assert_eq!(index.to_string(), "in (0, 2]");
        assert_eq!(Domain::POSITIVE.to_string(), "greater than 0");
        assert!(index.contains(2.0) && !index.contains(0.0) && !index.contains(f64::NAN));
        assert!(!Domain::REAL.contains(f64::INFINITY) && Domain::NON_NEGATIVE.contains(0.0));
        assert_eq!(index.transform(), Transform::Logit(2.0));
        assert_eq!(Domain::NON_NEGATIVE.transform(), Transform::Log);
        let above = Domain { low: 1.0, ..Domain::REAL }.transform();
        assert_eq!(above, Transform::LogAbove(1.0));
        assert!((above.backward(above.forward(20.0)) - 20.0).abs() < 1e-12 && above.slope(20.0) == 19.0);
        assert_eq!(Domain { low: -9.0, high: 9.0, ..Domain::REAL }.transform(), Transform::Identity);
        assert_eq!(Domain { low: -1.0, high: 1.0, ..Domain::REAL }.transform(), Transform::Symmetric(1.0));
    }

    #[test]
    fn identity_transforms_go_back_and_have_their_slope() {
        for transform in [Transform::Identity, Transform::Log, Transform::Logit(2.0), Transform::Symmetric(1.0)] {
            for value in [0.1, 0.7] {
                let free = transform.forward(value);
                assert!((transform.backward(free) - value).abs() < 1e-14, "{transform:?}");
                let slope = (transform.backward(free + 1e-6) - transform.backward(free - 1e-6)) / 2e-6;
                assert!((transform.slope(value) - slope).abs() < 1e-9, "{transform:?}");
            }
        }
        assert!((Transform::Symmetric(1.0).forward(-0.5) + Transform::Symmetric(1.0).forward(0.5)).abs() < 1e-15);
    }
}
