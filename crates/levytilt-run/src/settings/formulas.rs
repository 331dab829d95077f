//! Make the formulas of a model: of its drift, with seasons and inputs, and of the size of its noise.

use anyhow::Result;
use levytilt::drift::Formula;

use super::{DriftName, Settings, inputs, season};
use crate::failure::bad;

impl Settings {
    /// The formula of the drift, if it is one, with what is known of its parameters.
    ///
    /// # Errors
    /// Bounds, guesses or values of its parameters that do not fit together.
    pub fn formula(&self) -> Result<Option<Formula>> {
        let Some(mut formula) = self.plain_formula()? else { return Ok(None) };
        for (name, named) in &self.parameters {
            if formula.parameters().iter().any(|parameter| parameter.name == *name) {
                formula = named.apply(name, formula)?;
            }
        }
        if let Some(values) = &self.known_inputs {
            formula = formula.with_inputs(values)?;
        }
        Ok(Some(formula))
    }

    /// The formula of the drift, of what was typed or of a family with seasons and inputs.
    fn plain_formula(&self) -> Result<Option<Formula>> {
        let seasons = season::terms(&self.drift, "")?;
        let names = self.input_names();
        let name = match self.drift() {
            DriftName::Formula(text) => {
                let text = format!("{text}{}", seasons.unwrap_or_default());
                let formula = Formula::system(&[("x", &text)], &names).map_err(inputs::renamed)?;
                return match self.unused(&formula, &names) {
                    Some(unused) => Err(bad(format!(
                        "--inputs {unused}: the formula {text} does not use it; name it there or in --size, or leave it out"
                    ))),
                    None => Ok(Some(formula)),
                };
            }
            DriftName::Listed(name) => name,
        };
        if seasons.is_none() && names.is_empty() {
            return Ok(None);
        }
        let terms = seasons.clone().unwrap_or_default() + &inputs::terms(&self.inputs);
        match name.family() {
            Some(family) => Ok(Some(family.with_terms(&terms, &names).map_err(inputs::renamed)?)),
            None => {
                let flag = if names.is_empty() { "--season does" } else { "--inputs do" };
                Err(bad(format!("{flag} not go with drift {name}; give another --drift, or a formula")))
            }
        }
    }

    /// The first input that neither the formula of the drift nor that of the size uses.
    fn unused(&self, drift: &Formula, names: &[&str]) -> Option<String> {
        let size = self.model.size.as_ref().and_then(|size| size.formula(names).ok());
        let elsewhere = |name: &&str| size.as_ref().is_some_and(|size| !size.unused_inputs().contains(name));
        drift.unused_inputs().into_iter().find(|name| !elsewhere(name)).map(String::from)
    }

    /// The size of the noise, if it depends on the state or on inputs, with what is known of its parameters.
    ///
    /// # Errors
    /// Bounds, guesses or values of its parameters that do not fit together.
    pub fn size(&self) -> Result<Option<Formula>> {
        let Some(size) = &self.model.size else { return Ok(None) };
        let mut formula = size.formula(&self.input_names()).map_err(inputs::renamed)?;
        for (name, named) in &self.parameters {
            if formula.parameters().iter().any(|parameter| parameter.name == *name) {
                formula = named.apply(name, formula)?;
            }
        }
        if let Some(values) = &self.known_inputs {
            formula = formula.with_inputs(values)?;
        }
        Ok(Some(formula))
    }

    /// Names of the parameters of the size of the noise.
    pub fn size_names(&self) -> Vec<String> {
        self.model.size.as_ref().map_or(Vec::new(), |size| size.names(&self.input_names()))
    }

    /// Names of the inputs in formulas.
    fn input_names(&self) -> Vec<&str> {
        self.inputs.keys().map(String::as_str).collect()
    }

    /// Names of the parameters of the formula, if the drift is one.
    pub fn formula_names(&self) -> Vec<String> {
        let formula = self.plain_formula().ok().flatten();
        formula.iter().flat_map(|formula| formula.parameters().iter().map(|parameter| parameter.name.clone())).collect()
    }
}
