//! Put drift, noise, observation errors and start together: x' = flow_Δ(x) + J_Δ, y = x + observation_std·z, z of an
//! [`ErrorLaw`](crate::ErrorLaw).

pub mod error_law;
pub mod size;

use crate::drift::Drift;
use crate::error::{finite, positive};
use crate::noise::Noise;
use crate::parameter::{Domain, HALF_CAUCHY, ParameterEntry};
use crate::{Error, Errors, Result, Size, StreamRng};

/// The standard deviation of the observation noise.
pub(crate) const OBSERVATION_STD: ParameterEntry = ParameterEntry::new(
    "observation_std",
    "standard deviation of the observation noise; with known errors, their common factor",
    "value",
    Domain::POSITIVE,
    0.1,
    |scales, _| scales.observation,
)
.with_prior(|_, _| HALF_CAUCHY);
/// The state at the first time. It is not learned: left out, it is Gaussian around the first value.
pub(crate) const X0: ParameterEntry =
    ParameterEntry::new("x0", "state at the first time", "value", Domain::REAL, 0.0, |scales, _| scales.median).held();
/// The standard deviation of the state at the first time.
pub(crate) const X0_STD: ParameterEntry = ParameterEntry::new(
    "x0_std",
    "standard deviation of the state at the first time; without it a given x0 is exact",
    "value",
    Domain::POSITIVE,
    1.0,
    |scales, _| 10.0 * scales.observation,
)
.held();

/// What is known of a state at the first time of the grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Start {
    /// The state is known.
    Fixed(f64),
    /// The state is Gaussian.
    Gaussian {
        /// Mean.
        mean: f64,
        /// Standard deviation, greater than zero.
        std: f64,
    },
}

impl Start {
    /// The known state, or the mean.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Fixed(x) => x,
            Self::Gaussian { mean, .. } => mean,
        }
    }
}

/// What one dimension of a model has of its own; dimensions meet in the drift.
#[derive(Debug)]
pub struct Dimension {
    /// Law of the increments.
    pub noise: Box<dyn Noise>,
    /// What increments are multiplied by, as a function of the state before the step; 1 if left out.
    pub size: Option<Size>,
    /// Standard deviation of the observation error: the scale of its law, and a factor where errors are known.
    pub observation_std: f64,
    /// Law of the observation error, and its size for each value if that is known.
    pub errors: Errors,
    /// State at the first time.
    pub start: Start,
}

impl Dimension {
    /// What an increment is multiplied by from state `x` at time `t` on.
    pub(crate) fn size_at(&self, t: f64, x: f64) -> Result<f64> {
        self.size.as_ref().map_or(Ok(1.0), |size| Ok(size.at(t, &[x])?[0]))
    }

    /// Draw an observation error: of the value in `row`, or of a value yet to be seen, whose known standard deviation, if
    /// errors are known, is taken to be the median of the known ones.
    pub fn draw_error(&self, row: Option<usize>, rng: &mut StreamRng) -> f64 {
        let std = row.map_or_else(|| self.typical_error(), |row| self.observation_std * self.errors.unit(row));
        std * self.errors.law.sample(rng)
    }

    /// Standard deviation, or scale, of a typical observation error: the median where errors are known.
    pub fn typical_error(&self) -> f64 {
        self.observation_std * self.errors.typical()
    }
}

/// A model with all its parameters.
#[derive(Debug)]
pub struct StateSpace {
    /// Motion without noise.
    pub drift: Box<dyn Drift>,
    /// The dimensions, as many as the drift has.
    pub dimensions: Vec<Dimension>,
}

impl StateSpace {
    /// A one-dimensional model, checked as in [`StateSpace::multivariate`].
    pub fn new(drift: Box<dyn Drift>, noise: Box<dyn Noise>, observation_std: f64, start: Start) -> Result<Self> {
        Self::multivariate(
            drift,
            vec![Dimension { noise, size: None, observation_std, errors: Errors::default(), start }],
        )
    }

    /// A model, checked: as many dimensions as the drift has, positive observation noise, finite starts.
    pub fn multivariate(drift: Box<dyn Drift>, dimensions: Vec<Dimension>) -> Result<Self> {
        if drift.dim() != dimensions.len() {
            return Err(Error::Shape {
                what: "drift",
                got: format!("{} dimensions", drift.dim()),
                expected: format!("{}, like the noise", dimensions.len()),
            });
        }
        for dimension in &dimensions {
            OBSERVATION_STD.check(dimension.observation_std)?;
            dimension.errors.law.kind().build(&dimension.errors.law.values())?;
            match dimension.start {
                Start::Fixed(x0) => X0.check(x0)?,
                Start::Gaussian { mean, std } => {
                    finite("x0 mean", mean)?;
                    positive("x0 std", std)?
                }
            };
        }
        Ok(Self { drift, dimensions })
    }

    /// Refuse observation errors that only the exact grid can take, on behalf of `method`.
    pub(crate) fn plain_errors(&self, method: &'static str) -> Result<()> {
        if self.dimensions.iter().all(|dimension| dimension.errors.is_plain()) {
            return Ok(());
        }
        Err(Error::Shape {
            what: method,
            got: "observation errors that are not Gaussian, or known for each value".into(),
            expected: "Gaussian errors of one size; other errors need the exact posterior of independent dimensions: \
                 method auto or grid"
                .into(),
        })
    }

    /// The same model with noise of this size in every dimension.
    pub fn with_size(mut self, size: &Size) -> Self {
        self.dimensions.iter_mut().for_each(|dimension| dimension.size = Some(size.clone()));
        self
    }

    /// Refuse noise whose size depends on the state on behalf of `method`.
    pub(crate) fn even_noise(&self, method: &'static str) -> Result<()> {
        match self.dimensions.iter().any(|dimension| dimension.size.is_some()) {
            false => Ok(()),
            true => Err(Error::Shape {
                what: method,
                got: "noise whose size depends on the state".into(),
                expected: "noise of one size; other noise needs the exact posterior of dimensions that do not act on each other: method auto"
                    .into(),
            }),
        }
    }

    /// The same model with these observation errors in every dimension.
    pub fn with_errors(mut self, errors: &Errors) -> Self {
        self.dimensions.iter_mut().for_each(|dimension| dimension.errors = errors.clone());
        self
    }

    /// The dimension of a one-dimensional model; an error for any other.
    pub fn only_dimension(&self) -> Result<&Dimension> {
        match self.dimensions.as_slice() {
            [only] => Ok(only),
            several => Err(Error::Shape {
                what: "model",
                got: format!("{} dimensions", several.len()),
                expected: "1 dimension".into(),
            }),
        }
    }

    /// Dimension of the state.
    pub fn dim(&self) -> usize {
        self.dimensions.len()
    }
}
