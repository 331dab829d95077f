//! Say which model to fit: which parameters are given and which are to be learned.

use crate::drift::{Drift, DriftFamily, Formula, Known, NeuralSpec, Slot};
use crate::model::{OBSERVATION_STD, X0, X0_STD};
use crate::noise::{BROWNIAN, Family, Noise, PlusBrownian};
use crate::parameter::{ParameterEntry, Prior, Transform};
use crate::registry::{self, OTHERS, Part};
use crate::{Dimension, Error, ErrorKind, Errors, Result, Size, Start, StateSpace};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A kind of model. Parameters given a value are held fixed; the others are learned.
///
/// Every dimension has the same kind of drift and noise, with parameters of its own. Where there are several dimensions
/// the name of a parameter carries its dimension: `theta[NVDA]`, or `slope[NVDA,AMD]` for the push that AMD gives to
/// NVDA. A value given for `theta` holds for all dimensions, one for `theta[NVDA]` for that one; a value given for
/// `slope` holds for every dimension's push on itself.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Kind of drift.
    pub drift: &'static DriftFamily,
    /// A network in place of a drift that names and numbers can say; `drift` is then `none`.
    pub network: Option<NeuralSize>,
    /// A formula of one state in place of a drift of the registry; `drift` is then `none`. Every dimension has parameters of
    /// its own, with the bounds, guesses and priors of the formula; their values are `given`, or learned.
    pub formula: Option<Formula>,
    /// Family of the noise.
    pub noise: &'static Family,
    /// Names of the dimensions; a single one needs none.
    pub names: Vec<String>,
    /// Parameters held fixed, by name: those of drift and noise, `observation_std`, and `brownian`, which adds a
    /// Brownian motion to the noise unless it is nought or left out; and `x0[NVDA]` and `x0_std[NVDA]` for the start of
    /// one dimension.
    pub given: Vec<(String, f64)>,
    /// Whether `brownian` is learned where it is not given: a diffusion beside the jumps.
    pub learn_brownian: bool,
    /// What increments are multiplied by, as a formula of the state `x` of their dimension; 1 if left out.
    pub size: Option<Formula>,
    /// Priors of parameters that are learned, by name, in place of the usual ones.
    pub priors: Vec<(String, Prior)>,
    /// Law of the observation errors, the same for all dimensions.
    pub errors: ErrorKind,
    /// Known standard deviation of each value, one per observation row for each dimension; empty if none is known. The
    /// parameter `observation_std` is then a factor of them.
    pub known_errors: Vec<Arc<[f64]>>,
    /// State at the first time; left out, it is Gaussian around the first value.
    pub x0: Option<f64>,
    /// Standard deviation of the state at the first time. Left out, a given `x0` is exact and one from the data has 10
    /// times the observation standard deviation: wide, so that the first value decides.
    pub x0_std: Option<f64>,
}

/// Size of a drift network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NeuralSize {
    /// Units per hidden layer, at least 1.
    pub width: usize,
    /// Hidden layers, at least 1.
    pub depth: usize,
}

impl Default for NeuralSize {
    fn default() -> Self {
        let NeuralSpec { width, depth, .. } = NeuralSpec::default();
        Self { width, depth }
    }
}

impl Spec {
    /// A model with nothing given.
    pub fn new(drift: &'static DriftFamily, noise: &'static Family) -> Self {
        Self {
            drift,
            network: None,
            formula: None,
            noise,
            names: Vec::new(),
            given: Vec::new(),
            learn_brownian: false,
            size: None,
            priors: Vec::new(),
            errors: ErrorKind::Gaussian,
            known_errors: Vec::new(),
            x0: None,
            x0_std: None,
        }
    }

    /// A model whose drift is a network, with nothing given.
    pub fn neural(size: NeuralSize, noise: &'static Family) -> Self {
        Self { network: Some(size), ..Self::new(DriftFamily::none(), noise) }
    }

    /// The same with this law of the observation errors.
    pub fn with_errors(self, errors: ErrorKind) -> Self {
        Self { errors, ..self }
    }

    /// The same with noise of this size.
    pub fn with_size(self, size: Formula) -> Self {
        Self { size: Some(size), ..self }
    }

    /// The same with a diffusion beside the jumps that is learned where it is not given.
    pub fn with_learned_brownian(self) -> Self {
        Self { learn_brownian: true, ..self }
    }

    /// A model whose drift is a formula of one state, with nothing given.
    pub fn with_formula(formula: Formula, noise: &'static Family) -> Self {
        Self { formula: Some(formula), ..Self::new(DriftFamily::none(), noise) }
    }

    /// A model whose dimensions have these names.
    pub fn named(mut self, names: &[&str]) -> Self {
        self.names = names.iter().map(|name| name.to_string()).collect();
        self
    }

    /// Hold a parameter fixed.
    pub fn fix(mut self, name: &str, value: f64) -> Self {
        self.given.push((name.into(), value));
        self
    }

    /// Learn a parameter with this prior on its free scale.
    pub fn with_prior(mut self, name: &str, prior: Prior) -> Self {
        self.priors.push((name.into(), prior));
        self
    }

    /// The value given under exactly this name, if there is one.
    pub fn given(&self, name: &str) -> Option<f64> {
        self.given.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// Whether observation errors are Gaussian and of one size, which every method can take.
    pub fn has_plain_errors(&self) -> bool {
        self.errors == ErrorKind::Gaussian && self.known_errors.is_empty()
    }

    /// Number of dimensions.
    pub fn dim(&self) -> usize {
        self.names.len().max(1)
    }

    /// The model with all its parameters and starts given; without drift where that is a network, whose weights have no
    /// names here.
    ///
    /// # Errors
    /// A parameter that is missing, unknown or outside its domain.
    pub fn model(&self) -> Result<StateSpace> {
        self.check_names()?;
        let missing = |name: String| Error::Parameter {
            name,
            value: f64::NAN,
            expected: "has no value; a model that is not fitted needs a value for every parameter",
        };
        for slot in self.slots() {
            self.held(&slot).ok_or_else(|| missing(self.label(&slot)))?;
        }
        let starts = (0..self.dim()).map(|i| match (self.of(X0.name, i), self.of(X0_STD.name, i)) {
            (None, _) => Err(missing(self.label(&Slot::new(const { &X0 }, i)))),
            (Some(mean), Some(std)) => Ok(Start::Gaussian { mean, std }),
            (Some(x0), None) => Ok(Start::Fixed(x0)),
        });
        self.assemble(|slot| self.held(slot).unwrap_or(f64::NAN), starts.collect::<Result<_>>()?)
    }

    /// All parameters in the order of [`crate::solve::parameters`]: those of the drift, then per dimension those of the
    /// noise, the observation standard deviation and the other parameters of the observation errors.
    pub(super) fn slots(&self) -> Vec<Slot> {
        let mut slots = self.drift_slots();
        for dimension in 0..self.dim() {
            let brownian = self.has_brownian(dimension).then_some(const { &BROWNIAN });
            let noise = self.noise.parameters.iter().chain(brownian).map(|entry| Slot::new(entry, dimension));
            let size = self.size.iter().flat_map(Formula::slots).map(|slot| Slot { dimension, ..slot });
            let errors = [const { &OBSERVATION_STD }].into_iter().chain(self.errors.parameters());
            let own = noise.chain(size).chain(errors.map(|entry| Slot::new(entry, dimension)));
            slots.extend(own.filter(|slot| !self.is_at_end(slot)));
        }
        slots
    }

    /// Whether this is held at a closed upper end, such as α = 2 of a stable noise, and then no parameter: it could not be
    /// learned.
    fn is_at_end(&self, slot: &Slot) -> bool {
        let domain = slot.entry.domain();
        let logit = matches!(domain.transform(), Transform::Logit(_));
        logit && domain.closed[1] && self.held(slot) == Some(domain.high)
    }

    /// The names of all parameters as users write them, in the order of [`crate::solve::parameters`], but for the weights of
    /// a network, which have none.
    pub fn parameter_names(&self) -> Vec<String> {
        self.slots().iter().map(|slot| self.label(slot)).collect()
    }

    /// The name of a parameter as users write it.
    pub(super) fn label(&self, slot: &Slot) -> String {
        slot.label(&self.names)
    }

    /// The names of the parameters of dimension `i`, in the order of the model of that dimension alone.
    pub(super) fn names_of(&self, i: usize) -> Vec<String> {
        self.slots().iter().filter(|slot| slot.dimension == i).map(|slot| self.label(slot)).collect()
    }

    /// The value held for a parameter, if there is one.
    pub(super) fn held(&self, slot: &Slot) -> Option<f64> {
        match slot.by.filter(|by| *by != slot.dimension) {
            Some(_) => self.given(&self.label(slot)),
            None => self.given(&self.label(slot)).or_else(|| self.of(slot.entry.name(), slot.dimension)),
        }
    }

    /// The value given for `name` in dimension `i`: for that one, or for all.
    pub(super) fn of(&self, name: &str, i: usize) -> Option<f64> {
        let for_all = [(X0.name, self.x0), (X0_STD.name, self.x0_std)];
        let for_all = for_all.into_iter().find(|(known, _)| *known == name).and_then(|(_, value)| value);
        let for_one = self.names.get(i).and_then(|dimension| self.given(&format!("{name}[{dimension}]")));
        for_one.or_else(|| self.given(name)).or(for_all)
    }

    /// The model of dimension `i` alone.
    pub fn only(&self, i: usize) -> Self {
        let own = |entry: Known| {
            let name = entry.name().to_string();
            Some((name, self.held(&Slot { entry, dimension: i, by: Some(i) })?))
        };
        let named = self.formula.iter().chain(&self.size).flat_map(Formula::slots).map(|slot| slot.entry);
        let entries = self.drift.parameters.iter().chain(self.noise.parameters).chain(self.errors.parameters());
        Self {
            names: self.names.get(i).cloned().into_iter().collect(),
            given: named
                .chain(entries.chain(const { &[OBSERVATION_STD, BROWNIAN] }).map(Known::from))
                .filter_map(own)
                .collect(),
            priors: self.priors.iter().filter_map(|(name, prior)| Some((self.own_name(name, i)?, *prior))).collect(),
            known_errors: self.known_errors.get(i).cloned().into_iter().collect(),
            x0: self.of(X0.name, i),
            x0_std: self.of(X0_STD.name, i),
            ..self.clone()
        }
    }

    /// What dimension `i` by itself calls the parameter `name`; none if it is another dimension's.
    fn own_name(&self, name: &str, i: usize) -> Option<String> {
        let label = format!("[{}]", self.names.get(i).map_or("", String::as_str));
        match name.strip_suffix(&label) {
            Some(plain) if self.dim() > 1 => Some(plain.into()),
            None if self.dim() > 1 && name.ends_with(']') => None,
            _ => Some(name.into()),
        }
    }

    /// The model with a value for every parameter.
    pub(super) fn assemble(&self, value: impl Fn(&Slot) -> f64, starts: Vec<Start>) -> Result<StateSpace> {
        let drift = self.build_drift(&self.drift_slots().iter().map(&value).collect::<Vec<_>>())?;
        let dimension = |(i, start): (usize, Start)| {
            let named = |slot: Slot| value(&Slot { dimension: i, ..slot });
            let of = |size: &Formula| Size::new(size, &size.slots().into_iter().map(named).collect::<Vec<_>>());
            let size = self.size.as_ref().map(of).transpose()?;
            let value = |entry: &'static ParameterEntry| value(&Slot::new(entry, i));
            let noise = self.noise.build(&self.noise.parameters.iter().map(value).collect::<Vec<_>>())?;
            let observation_std = value(const { &OBSERVATION_STD });
            let law = self.errors.build(&self.errors.parameters().iter().map(value).collect::<Vec<_>>())?;
            let errors = Errors { law, known: self.known_errors.get(i).cloned() };
            let noise: Box<dyn Noise> = match self.has_brownian(i) {
                true => Box::new(PlusBrownian::new(noise, value(const { &BROWNIAN }))?),
                false => noise,
            };
            Ok(Dimension { noise, size, observation_std, errors, start })
        };
        let dimensions = starts.into_iter().enumerate().map(dimension).collect::<Result<Vec<_>>>()?;
        StateSpace::multivariate(drift, dimensions)
    }

    /// The parameters of the drift.
    fn drift_slots(&self) -> Vec<Slot> {
        match &self.formula {
            Some(formula) => formula.slots_in(self.dim()),
            None => self.drift.slots(self.dim()),
        }
    }

    fn build_drift(&self, values: &[f64]) -> Result<Box<dyn Drift>> {
        match &self.formula {
            Some(formula) => formula.drift_in(self.dim(), values),
            None => self.drift.build_in(self.dim(), values),
        }
    }

    /// The parameters of one dimension: of the drift, of the noise, and those of no family.
    fn entries(&self) -> impl Iterator<Item = &'static ParameterEntry> {
        let families = self.drift.parameters.iter().chain(self.noise.parameters);
        families.chain(self.errors.parameters()).chain(const { &OTHERS })
    }

    /// What is known of the parameter called `name`, with or without a dimension.
    pub fn entry(&self, name: &str) -> Option<&'static ParameterEntry> {
        let plain = name.split('[').next().unwrap_or(name);
        self.entries().find(|entry| entry.name == plain)
    }

    /// A formula is the only drift, of one state, and its names are its own.
    fn check_formula(&self) -> Result<()> {
        let Some(formula) = &self.formula else { return Ok(()) };
        let wrong = |what, got: String, expected: &str| Err(Error::Shape { what, got, expected: expected.into() });
        if self.network.is_some() || self.drift.name != DriftFamily::none().name {
            return wrong("drift", "a formula and another drift".into(), "only one of them");
        }
        if formula.states().len() != 1 {
            let got = format!("formulas of {} states", formula.states().len());
            return wrong("drift", got, "a formula of one state, which every dimension follows");
        }
        formula.parameters().iter().try_for_each(|parameter| check_free(&parameter.name))
    }

    /// A size is a formula of one state, and its names are its own.
    fn check_size(&self) -> Result<()> {
        let Some(size) = &self.size else { return Ok(()) };
        if size.states().len() != 1 || self.network.is_some() {
            let network = if self.network.is_some() { " and a drift network" } else { "" };
            let got = format!("a formula of {} states{network}", size.states().len());
            let expected = "a formula of one state, and another drift".into();
            return Err(Error::Shape { what: "size of the noise", got, expected });
        }
        let of_drift: Vec<String> = self.drift_slots().iter().map(|slot| slot.entry.name().to_string()).collect();
        for parameter in size.parameters() {
            check_free(&parameter.name)?;
            if of_drift.contains(&parameter.name) {
                return Err(Error::Series {
                    place: format!("size parameter {}", parameter.name),
                    problem: "the drift has a parameter of this name; choose another one in the size".into(),
                });
            }
        }
        Ok(())
    }

    /// Every name given must be one of this kind of model, and the dimensions' own names distinct.
    pub(super) fn check_names(&self) -> Result<()> {
        self.check_formula()?;
        self.check_brownian()?;
        self.check_size()?;
        if self.network.is_some() && self.drift.name != DriftFamily::none().name {
            let got = format!("a network and drift {}", self.drift.name);
            return Err(Error::Shape {
                what: "drift",
                got,
                expected: "only one of them; use drift none with a network".into(),
            });
        }
        if let Some(twice) = (1..self.names.len()).find(|&i| self.names[..i].contains(&self.names[i])) {
            let problem = format!("two dimensions are called {}; expected distinct names", self.names[twice]);
            return Err(Error::Series { place: "names of the dimensions".into(), problem });
        }
        let plain = || self.entries().map(|entry| entry.name);
        let known = |name: &str| {
            plain().any(|known| known == name)
                || self.names.iter().any(|d| plain().any(|known| name == format!("{known}[{d}]")))
                || self.slots().iter().any(|slot| self.label(slot) == name)
        };
        let priors = self.priors.iter().map(|(name, prior)| (name, prior.mean));
        match self.given.iter().map(|(name, value)| (name, *value)).chain(priors).find(|(name, _)| !known(name)) {
            None => Ok(()),
            Some((name, value)) => Err(Error::Parameter {
                name: name.clone(),
                value,
                expected: "no parameter of this drift or noise has this name",
            }),
        }
    }

    /// Whether dimension `i` has a Brownian motion beside its noise: one that is given and not 0, or learned.
    fn has_brownian(&self, i: usize) -> bool {
        self.of(BROWNIAN.name, i).map_or(self.learn_brownian, |sigma| sigma != 0.0)
    }

    /// Whether that of dimension `i` is learned.
    pub fn learns_brownian(&self, i: usize) -> bool {
        self.learn_brownian && self.of(BROWNIAN.name, i).is_none()
    }

    /// The name of the Brownian motion of dimension `i` as users write it.
    pub(super) fn brownian_name(&self, i: usize) -> String {
        self.label(&Slot::new(const { &BROWNIAN }, i))
    }

    /// A Brownian motion beside Brownian noise cannot be told from it.
    fn check_brownian(&self) -> Result<()> {
        if self.noise.name != "gaussian" || !(0..self.dim()).any(|i| self.learns_brownian(i)) {
            return Ok(());
        }
        Err(Error::Shape {
            what: "learned brownian",
            got: "gaussian noise, which is Brownian motion itself".into(),
            expected: "a noise with jumps, such as stable; or leave brownian out".into(),
        })
    }
}

/// A name in a formula must not be that of a parameter of a noise, of the observations or of the start: a value given for it
/// could be meant for either.
fn check_free(name: &str) -> Result<()> {
    match registry::find(name).filter(|listed| listed.part != Part::Drift) {
        None => Ok(()),
        Some(listed) => Err(Error::Series {
            place: format!("formula parameter {name}"),
            problem: format!(
                "{name} is already the name of a parameter of the {}; choose another name in the formula",
                if listed.part == Part::Noise { "noise" } else { "observations or the start" }
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two(drift: &str) -> Spec {
        Spec::new(DriftFamily::named(drift).unwrap(), Family::named("stable").unwrap()).named(&["A", "B"])
    }

    #[test]
    fn identity_one_name_goes_before_all() {
        let spec = two("ou").fix("alpha", 1.5).fix("alpha[B]", 1.7).fix("x0[A]", 2.0);
        assert_eq!([spec.of("alpha", 0), spec.of("alpha", 1)], [Some(1.5), Some(1.7)]);
        assert_eq!([spec.of("x0", 0), spec.of("x0", 1)], [Some(2.0), None]);
        let only = spec.only(1);
        assert_eq!((only.given("alpha"), only.x0, only.dim()), (Some(1.7), None, 1));
        assert!(spec.check_names().is_ok());
        assert!(two("ou").fix("alpha[C]", 1.5).check_names().is_err());
        assert!(two("ou").fix("slope", 1.5).check_names().is_err());
        assert!(two("ou").named(&["A", "A"]).check_names().is_err());
        // Each dimension by itself has its own priors, under plain names.
        let prior = |mean| Prior { mean, std: 1.0 };
        let only = two("ou").with_prior("theta[A]", prior(1.0)).with_prior("theta[B]", prior(2.0)).only(1);
        assert_eq!(only.priors, [("theta".to_string(), prior(2.0))]);
        assert!(only.check_names().is_ok());
    }

    /// Names and parameters of the model keep step, whatever is given.
    #[test]
    fn identity_every_parameter_of_the_model_has_its_name() {
        for alpha in [1.5, 2.0] {
            for brownian in [0.0, 1.0] {
                let spec = two("ou").fix("theta", 1.0).fix("mu", 0.0).fix("alpha[A]", alpha).fix("alpha[B]", 1.7);
                let spec = spec.fix("scale", 2.0).fix("observation_std", 0.1).fix("brownian", brownian);
                let model = spec.fix("x0", 0.0);
                let names: Vec<String> = model.parameter_names().iter().map(|name| name.replace('A', "0")).collect();
                let names: Vec<String> = names.iter().map(|name| name.replace('B', "1")).collect();
                let all = crate::solve::parameters(&model.model().unwrap());
                assert_eq!(names, all.into_iter().map(|p| p.name).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn identity_a_slope_for_all_is_the_diagonal() {
        let spec = two("linear").fix("slope", -2.0).fix("slope[B,A]", 0.5);
        let held: Vec<Option<f64>> = spec.slots()[..4].iter().map(|slot| spec.held(slot)).collect();
        assert_eq!(held, [Some(-2.0), None, Some(0.5), Some(-2.0)]);
        assert_eq!(spec.only(0).given("slope"), Some(-2.0));
        assert!(spec.check_names().is_ok());
    }

    #[test]
    fn a_model_needs_every_value() {
        let error = |spec: &Spec| spec.model().unwrap_err().to_string();
        let spec = two("ou").fix("theta", 1.0).fix("mu", 0.0).fix("alpha", 1.5).fix("scale[A]", 1.0);
        let spec = spec.fix("observation_std", 0.1);
        assert!(error(&spec).contains("scale[B]"), "{}", error(&spec));
        let spec = spec.fix("scale[B]", 2.0).fix("x0[A]", 0.0);
        assert!(error(&spec).contains("x0[B]"), "{}", error(&spec));
        let model = spec.fix("x0[B]", 1.0).fix("x0_std[B]", 0.5).model().unwrap();
        assert_eq!(model.dimensions[1].noise.parameters(), [("alpha", 1.5), ("scale", 2.0)]);
        assert_eq!(model.dimensions[0].start, Start::Fixed(0.0));
        assert_eq!(model.dimensions[1].start, Start::Gaussian { mean: 1.0, std: 0.5 });
    }
}
