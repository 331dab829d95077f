//! Hold the choices of the published method: `[paper]`.

use anyhow::Result;
use clap::Args;
use levytilt_paper::published::{Gradient, Kl, Motion, PaperOptions};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;
use toml::{Table, Value};

/// `[paper]`: choices of method paper.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PaperSettings {
    /// Values of alpha that are tried; the one with the highest ELBO is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha_grid: Option<Vec<f64>>,
    /// Fields of [`PaperOptions`] that are given.
    #[serde(flatten)]
    given: Table,
}

const ALPHA_GRID: &str = "alpha_grid";

impl<'de> Deserialize<'de> for PaperSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reader)
    }
}

/// Reads the section key by key, so that an error shows the line.
struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = PaperSettings;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("the section [paper]")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PaperSettings, A::Error> {
        let mut settings = PaperSettings::default();
        while let Some(key) = map.next_key::<String>()? {
            if key == ALPHA_GRID {
                settings.alpha_grid = map.next_value()?;
            } else {
                let value = map.next_value_seed(Field(&key))?;
                settings.given.insert(key, value);
            }
        }
        Ok(settings)
    }
}

/// A field of [`PaperOptions`].
struct Field<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Field<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let alone = Table::from_iter([(self.0.to_string(), value.clone())]);
        match alone.try_into::<PaperOptions>() {
            Ok(_) => Ok(value),
            Err(error) => Err(D::Error::custom(error.message())),
        }
    }
}

impl PaperSettings {
    /// The choices with their defaults; paths and seed are those of the fit.
    ///
    /// # Errors
    /// A rate, quantile, weight or size outside its range.
    pub fn options(&self, iterations: Option<usize>) -> Result<PaperOptions> {
        let options: PaperOptions = self.given.clone().try_into()?;
        Ok(PaperOptions { iterations: iterations.unwrap_or(options.iterations), ..options }.checked()?)
    }

    /// All keys of the section.
    pub(super) fn keys() -> Vec<String> {
        let options = Table::try_from(PaperOptions::default()).unwrap_or_default();
        options.into_iter().map(|(key, _)| key).chain([ALPHA_GRID.to_string()]).collect()
    }
}

/// Flags of method paper.
#[derive(Debug, Clone, Default, Args)]
pub struct PaperArgs {
    /// Divergence of method paper: quadrature, series or monte-carlo [default: quadrature]
    #[arg(long, value_name = "NAME", help_heading = "Solver", value_parser = named::<Kl>)]
    pub kl: Option<Value>,
    /// Gradient of method paper: unbiased, or published (pathwise only) [default: unbiased]
    #[arg(long, value_name = "NAME", help_heading = "Solver", value_parser = named::<Gradient>)]
    pub gradient: Option<Value>,
    /// Drift between jumps of method paper: flow or euler [default: flow]
    #[arg(long, value_name = "NAME", help_heading = "Solver", value_parser = named::<Motion>)]
    pub motion: Option<Value>,
    /// Values of alpha that method paper tries, separated by commas; the one with the highest ELBO is kept
    #[arg(long, value_name = "VALUES", help_heading = "Solver", value_delimiter = ',')]
    pub alpha_grid: Option<Vec<f64>>,
}

impl PaperArgs {
    /// What was given as flags.
    pub fn settings(&self) -> PaperSettings {
        let flags = [("kl", &self.kl), ("gradient", &self.gradient), ("motion", &self.motion)];
        let given = flags.into_iter().filter_map(|(key, value)| Some((key.into(), value.clone()?)));
        PaperSettings { alpha_grid: self.alpha_grid.clone(), given: given.collect() }
    }
}

/// The name of a choice, as a settings file has it.
fn named<T: serde::de::DeserializeOwned>(name: &str) -> Result<Value, String> {
    let name = Value::String(name.into());
    name.clone().try_into::<T>().map(|_| name).map_err(|error| error.message().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn identity_keys_are_fields_of_the_options() {
        let text = "[paper]\nkl = \"series\"\nunits = 8\nridge = 1\nalpha_grid = [1.5]\n";
        let settings = Settings::parse(text, "a.toml").unwrap();
        let options = settings.paper.options(Some(7)).unwrap();
        assert_eq!((options.kl, options.units, options.ridge, options.iterations), (Kl::Series, 8, 1.0, 7));
        assert_eq!(Settings::parse(&settings.to_toml().unwrap(), "b.toml").unwrap(), settings);
        let flags = PaperArgs { kl: Some(named::<Kl>("quadrature").unwrap()), ..PaperArgs::default() };
        let both = Settings { paper: flags.settings(), ..Settings::default() }.over(settings).unwrap();
        let options = both.paper.options(None).unwrap();
        assert_eq!((options.kl, options.units, both.paper.alpha_grid), (Kl::Quadrature, 8, Some(vec![1.5])));
    }

    #[test]
    fn errors_name_the_key_and_its_line() {
        let said = |text: &str| Settings::parse(&format!("[paper]\n{text}\n"), "a.toml").unwrap_err().to_string();
        assert!(said("learning_rat = 1.0").contains("unknown field `learning_rat`"));
        assert!(said("seed = 1").contains("unknown field `seed`"));
        let units = said("\nunits = \"x\"");
        assert!(units.contains("line 3") && units.contains("expected usize"), "{units}");
        let wide = Settings::parse("[paper]\nrescale = 1.5\n", "a.toml").unwrap().paper.options(None).unwrap_err();
        assert!(wide.to_string().contains("[paper] rescale = 1.5 is not allowed: give a number from 0 to 1"), "{wide}");
    }
}
