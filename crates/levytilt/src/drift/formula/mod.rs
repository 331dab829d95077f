//! Let a drift be written as on paper: `theta*(mu - x)`, one formula per state, with parameters by name.
//!
//! | file | does |
//! |---|---|
//! | `token`, `parse` | text to expressions, errors with a caret |
//! | `program`, `partials`, `lanes`, `hyper` | expressions to instructions; values and derivatives over many states |
//! | `explicit`, `stiff` | the flow with error control |
//! | `affine`, `table` | the flow at the price of a built-in drift |
//! | `rates` | the formula itself at many points, without its flow |
//! | `motion` | all of it as a [`super::Drift`] |

mod affine;
mod dop853;
mod explicit;
mod family;
mod hyper;
mod inputs;
mod lanes;
mod motion;
mod parse;
mod partials;
mod program;
mod rates;
mod stiff;
mod table;
#[cfg(test)]
mod tests;
mod token;
mod typeset;

pub use inputs::{Between, Inputs};
pub use motion::FormulaDrift;

use super::{Drift, Each, FormulaParameter, Known, Slot};
use crate::error::expect_length;
use crate::parameter::Prior;
use crate::{Error, Result};
use parse::{Expression, is_reserved, parse};
use program::{Names, Program};
use std::sync::Arc;
use token::Source;

/// A drift in formulas, one per state, whose parameters have no values yet.
///
/// Formulas are made of numbers, names, `+ - * / ^`, parentheses and `sin cos tan exp log sqrt abs tanh min max step`
/// (`step` is 0 below 0 and 1 from 0 on). `pi` is π and `t` is time; names of states and inputs are those given, and
/// every other name is a parameter. A name may have an index, as in `gain[wind]`.
///
/// ```
/// use levytilt::drift::{Drift, Formula};
///
/// let formula = Formula::parse("theta*(mu - x)")?.with_bounds("theta", Some(0.0), None)?;
/// assert_eq!(formula.equation(0), "dx/dt = θ·(μ − x)");
/// let drift = formula.drift(&[3.0, 1.0])?;
/// let mut out = [0.0];
/// drift.flow(0.0, 0.1, &[2.0], &mut out);
/// assert!((out[0] - (1.0 + (-0.3f64).exp())).abs() < 1e-12);
/// # Ok::<(), levytilt::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    program: Arc<Program>,
    lists: Arc<Vec<Vec<Expression>>>,
    parameters: Vec<FormulaParameter>,
    inputs: Arc<Inputs>,
}

impl Formula {
    /// The drift of one state, which is called `x`.
    ///
    /// # Errors
    /// [`Error::Formula`], with the column and a caret, where the text is not a formula.
    pub fn parse(text: &str) -> Result<Self> {
        Self::system(&[("x", text)], &[])
    }

    /// The drift of several states, each with a name and a formula, and the names of the inputs that formulas may use.
    ///
    /// # Errors
    /// As for [`Formula::parse`]; also a name that is no name, has another meaning, or is there twice.
    pub fn system(states: &[(&str, &str)], inputs: &[&str]) -> Result<Self> {
        if states.is_empty() {
            let (got, expected) = ("no states".into(), "a formula per state, at least 1".into());
            return Err(Error::Shape { what: "drift formulas", got, expected });
        }
        let owned = |names: &mut dyn Iterator<Item = &str>| names.map(String::from).collect::<Vec<String>>();
        let names = Names {
            states: owned(&mut states.iter().map(|(name, _)| *name)),
            inputs: owned(&mut inputs.iter().copied()),
            parameters: Vec::new(),
        };
        check_names(&names)?;
        let sources: Vec<Source> = states.iter().map(|(name, text)| Source::new(name, text)).collect();
        let lists = sources.iter().map(parse).collect::<Result<Vec<_>>>()?;
        let program = Program::new(names, sources, &lists)?;
        let plain = |name: &String| FormulaParameter {
            name: name.clone(),
            low: None,
            high: None,
            guess: None,
            prior: None,
            entry: None,
        };
        let parameters = program.names.parameters.iter().map(plain).collect();
        Ok(Self { program: Arc::new(program), lists: Arc::new(lists), parameters, inputs: Arc::default() })
    }

    /// The same with bounds for a parameter.
    pub fn with_bounds(mut self, name: &str, low: Option<f64>, high: Option<f64>) -> Result<Self> {
        for bound in [low, high].into_iter().flatten() {
            crate::error::finite(&format!("bound of {name}"), bound)?;
        }
        if let (Some(low), Some(high)) = (low, high) {
            crate::error::check(&format!("high of {name}"), high, high > low, "must be greater than low")?;
        }
        let parameter = self.parameter_mut(name)?;
        (parameter.low, parameter.high) = (low, high);
        Ok(self)
    }

    /// The same with a value at which learning a parameter starts.
    pub fn with_guess(mut self, name: &str, guess: f64) -> Result<Self> {
        let parameter = self.parameter_mut(name)?;
        parameter.check(guess)?;
        parameter.guess = Some(guess);
        Ok(self)
    }

    /// The same with a prior for a parameter, on the scale of [`FormulaParameter::transform`].
    pub fn with_prior(mut self, name: &str, prior: Prior) -> Result<Self> {
        crate::error::finite(&format!("prior mean of {name}"), prior.mean)?;
        crate::error::positive(&format!("prior std of {name}"), prior.std)?;
        self.parameter_mut(name)?.prior = Some(prior);
        Ok(self)
    }

    /// The same with values for the inputs; columns that no formula may use are left out.
    pub fn with_inputs(mut self, inputs: &Inputs) -> Result<Self> {
        self.inputs = inputs.select(&self.program.names.inputs)?;
        Ok(self)
    }

    /// Names of the inputs that no formula uses.
    pub fn unused_inputs(&self) -> Vec<&str> {
        let named = |name: &str| {
            let is = |e: &Expression| matches!(&e.form, parse::Form::Name(known) if known == name);
            self.lists.iter().flatten().any(is)
        };
        self.program.names.inputs.iter().map(String::as_str).filter(|name| !named(name)).collect()
    }

    /// Names of the states.
    pub fn states(&self) -> &[String] {
        &self.program.names.states
    }

    /// Names of the inputs.
    pub fn inputs(&self) -> &[String] {
        &self.program.names.inputs
    }

    /// The parameters in the order in which they appear.
    pub fn parameters(&self) -> &[FormulaParameter] {
        &self.parameters
    }

    /// The formula of state number `i` as it was given.
    ///
    /// # Panics
    /// If there are no more than `i` states.
    pub fn text(&self, i: usize) -> String {
        self.program.sources[i].text.iter().collect()
    }

    /// The beginning of that, for messages.
    pub(crate) fn brief(&self, i: usize) -> String {
        self.program.sources[i].brief()
    }

    /// The equation of state number `i` in Unicode text.
    ///
    /// # Panics
    /// If there are no more than `i` states.
    pub fn equation(&self, i: usize) -> String {
        format!("d{}/dt = {}", self.states()[i], typeset::unicode(&self.lists[i]))
    }

    /// The right-hand side of the equation of state number `i` as the content of a MathML `math` element.
    ///
    /// # Panics
    /// If there are no more than `i` states.
    pub fn mathml(&self, i: usize) -> String {
        typeset::mathml(&self.lists[i])
    }

    /// Whether all formulas are affine in the states.
    pub fn is_affine(&self) -> bool {
        self.program.affine
    }

    /// Whether no formula depends on time or inputs.
    pub fn is_autonomous(&self) -> bool {
        self.program.autonomous
    }

    /// The drift with these parameter values, in the order of [`Formula::parameters`].
    ///
    /// # Errors
    /// A wrong number of values; a value outside of its bounds, or at which a part of the formula has no finite value;
    /// inputs that were not given ([`Formula::with_inputs`]).
    pub fn drift(&self, values: &[f64]) -> Result<FormulaDrift> {
        expect_length("parameters of the formula", values.len(), self.parameters.len())?;
        self.parameters.iter().zip(values).try_for_each(|(parameter, value)| parameter.check(*value))?;
        FormulaDrift::new(self.clone(), values.to_vec())
    }

    /// The drift of `dim` dimensions that do not act on each other, each by this formula of one state with values of its own,
    /// in the order of [`Formula::slots_in`].
    ///
    /// # Errors
    /// As for [`Formula::drift`]; also a formula of several states.
    pub fn drift_in(&self, dim: usize, values: &[f64]) -> Result<Box<dyn Drift>> {
        if dim == 1 {
            return Ok(Box::new(self.drift(values)?));
        }
        let count = self.parameters.len();
        expect_length("parameters of the formula", values.len(), dim * count)?;
        let part = |i: usize| Ok(Box::new(self.drift(&values[i * count..][..count])?) as Box<dyn Drift>);
        Ok(Box::new(Each::new((0..dim).map(part).collect::<Result<_>>()?)?))
    }

    /// The parameters of `dim` dimensions that each have this drift: those of the first, then those of the second, …
    pub fn slots_in(&self, dim: usize) -> Vec<Slot> {
        (0..dim).flat_map(|dimension| self.slots().into_iter().map(move |slot| Slot { dimension, ..slot })).collect()
    }

    /// The parameters as those of a model.
    pub fn slots(&self) -> Vec<Slot> {
        let known = |parameter: &FormulaParameter| match parameter.entry {
            Some(entry) => Known::Listed(entry),
            None => Known::Named(Arc::new(parameter.clone())),
        };
        self.parameters.iter().map(|parameter| Slot::new(known(parameter), 0)).collect()
    }

    fn parameter_mut(&mut self, name: &str) -> Result<&mut FormulaParameter> {
        let known: Vec<String> = self.parameters.iter().map(|parameter| parameter.name.clone()).collect();
        self.parameters.iter_mut().find(|parameter| parameter.name == name).ok_or_else(|| Error::Shape {
            what: "parameter of the formula",
            got: name.to_string(),
            expected: if known.is_empty() { "none".into() } else { format!("one of {}", known.join(", ")) },
        })
    }
}

/// Names must be names, free, and distinct.
fn check_names(names: &Names) -> Result<()> {
    let all: Vec<&String> = names.states.iter().chain(&names.inputs).collect();
    for (k, name) in all.iter().enumerate() {
        let short: String = name.chars().take(token::LONGEST_NAME).collect();
        let dots = if short.len() < name.len() { "…" } else { "" };
        let fail =
            |problem: &str| Err(Error::Series { place: format!("name {short:?}{dots}"), problem: problem.into() });
        if !dots.is_empty() {
            return fail("is too long; at most 100 characters are allowed");
        }
        let mut letters = name.chars();
        let is_name = letters.next().is_some_and(|c| c.is_alphabetic() || c == '_')
            && letters.all(|c| c.is_alphanumeric() || c == '_');
        if !is_name {
            return fail("expected a letter followed by letters, digits and underscores");
        }
        if is_reserved(name) {
            return fail("this name has a meaning of its own in formulas; choose another one");
        }
        if all[..k].contains(name) {
            return fail("there are two states or inputs of this name");
        }
    }
    Ok(())
}
