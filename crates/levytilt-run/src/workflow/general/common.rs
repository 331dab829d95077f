//! Write the model out that `--noise-common` asks for: every column with its own drift and noise, and a noise that moves all.

use anyhow::Result;
use levytilt::internals::registry::{OBSERVATION_STD, X0};
use levytilt::noise::Family;
use std::collections::BTreeMap;

use super::fit::unsupported;
use super::settings::{
    GeneralSettings, LoadingValue, NoiseSettings, ObserveSettings, Of, On, PaceSettings, StartValue,
};
use crate::failure::bad;
use crate::settings::{DriftName, Named, NoiseName, Settings, season};
use crate::table::Table;
use crate::workflow::trading;

/// Name of the common source.
const COMMON: &str = "common";

/// The model of the short form `settings` for the columns of `table`, with a common source of this family beside each
/// column's own. Loadings are `load[COLUMN]`; the scale of the common source is 1.
///
/// # Errors
/// A setting that the general model does not know; fewer than two columns; a column whose name cannot stand in a formula.
pub fn written_out(settings: &Settings, family: NoiseName, table: &Table) -> Result<GeneralSettings> {
    refuse(settings, family)?;
    trading::check(settings)?;
    let mut seasonal = settings.drift.clone();
    season::resolve(&mut seasonal, &table.calendar)?;
    if table.names.len() < 2 {
        return Err(bad("--noise-common moves several columns at once, and there is only one; leave it out"));
    }
    let own = settings.noise();
    let mut model = GeneralSettings {
        data: settings.data.clone(),
        model: PaceSettings { clock: settings.model.clock, volatility: settings.model.volatility },
        parameters: settings.parameters.clone(),
        grid: settings.grid.clone(),
        solve: settings.solve.clone(),
        ..GeneralSettings::default()
    };
    for (name, column) in table.names.iter().zip(&table.columns) {
        check_name(name)?;
        let seasons = season::terms(&seasonal, &format!("[{name}]"))?.unwrap_or_default();
        let formula = drift(settings, name, column, &mut model)? + &seasons;
        model.states.insert(name.clone(), formula);
        let values = values(settings, own)?;
        let noise = NoiseSettings { family: own.to_string(), on: On::State(name.clone()), values };
        model.noise.insert(name.clone(), noise);
        let std = settings.model.values.get(OBSERVATION_STD);
        model.observe.insert(name.clone(), ObserveSettings { of: Of::State(name.clone()), error: None, std });
        if let Some(x0) = settings.model.values.get(X0) {
            model.start.insert(name.clone(), StartValue::Known(x0));
        }
    }
    let loading = |name: &String| (name.clone(), LoadingValue::Name(format!("load[{name}]")));
    let on = On::Loadings(table.names.iter().map(loading).collect());
    model.noise.insert(COMMON.into(), NoiseSettings { family: family.to_string(), on, values: BTreeMap::new() });
    Ok(model)
}

/// Refuse what a model with a common noise does not know.
fn refuse(settings: &Settings, family: NoiseName) -> Result<()> {
    let gaussian = settings.model.errors.is_none_or(|law| law.kind() == levytilt::ErrorKind::Gaussian);
    let skewed = |name: NoiseName| Family::named(&name.to_string()).is_none_or(Family::is_skewed);
    let given = [
        (skewed(family), format!("--noise-common {family}: the common noise must be a symmetric family")),
        (
            skewed(settings.noise()),
            format!("--noise {}: beside a common noise it must be a symmetric family", settings.noise()),
        ),
        (!gaussian, "--errors other than gaussian".into()),
        (settings.model.learn_brownian, "--brownian learn".into()),
        (settings.model.size.is_some(), "--size".into()),
        (!settings.inputs.is_empty(), "--inputs".into()),
        (settings.data.error_column.is_some(), "--error-column".into()),
    ];
    let solver = unsupported(&settings.solve).map(|(given, what)| (given, what.trim_end_matches(',').to_string()));
    match given.into_iter().chain(solver).find(|(given, _)| *given) {
        Some((_, what)) => Err(bad(format!("{what}: not possible with --noise-common; leave one of them out"))),
        None => Ok(()),
    }
}

/// A column is a state of its formula.
fn check_name(name: &str) -> Result<()> {
    let mut letters = name.chars();
    let fits = letters.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && letters.all(|c| c.is_alphanumeric() || c == '_');
    match fits && name != COMMON {
        true => Ok(()),
        false => Err(bad(format!(
            "column {name:?}: with --noise-common a column needs a name of letters, digits and underscores, other than \
             {COMMON}; rename it"
        ))),
    }
}

/// The formula of the column's drift, with what is known of its parameters.
fn drift(settings: &Settings, name: &str, column: &[f64], model: &mut GeneralSettings) -> Result<String> {
    let drift = settings.drift();
    let mut known = |key: &str, open: Named| {
        let held = settings.drift.values.get(key).map(Named::from);
        model.parameters.entry(format!("{key}[{name}]")).or_insert(held.unwrap_or(open));
    };
    if drift == DriftName::OU {
        known("theta", Named::positive());
        known("mu", Named::guess(middle(column)));
        Ok(format!("theta[{name}]*(mu[{name}] - {name})"))
    } else if drift == DriftName::NONE {
        Ok("0".into())
    } else {
        Err(bad(format!(
            "--drift {drift}: with --noise-common it must be ou or none; write other models out in a settings file with \
             [states]"
        )))
    }
}

/// The median of the values that are there.
fn middle(column: &[f64]) -> f64 {
    let mut all: Vec<f64> = column.iter().copied().filter(|y| !y.is_nan()).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}

/// The parameters of the noise that are given.
fn values(settings: &Settings, noise: NoiseName) -> Result<BTreeMap<String, toml::Value>> {
    let family = Family::named(&noise.to_string());
    let mut known: Vec<&str> =
        family.map_or(&[][..], |family| family.parameters).iter().map(|entry| entry.name).collect();
    known.extend([OBSERVATION_STD, X0]);
    if let Some((other, _)) = settings.model.values.given().find(|(name, _)| !known.contains(name)) {
        return Err(bad(format!("{other}: not possible with --noise-common; leave one of them out")));
    }
    let given = known[..known.len() - 2].iter().filter_map(|name| Some((*name, settings.model.values.get(name)?)));
    Ok(given.map(|(name, value)| (name.to_string(), toml::Value::Float(value))).collect())
}
