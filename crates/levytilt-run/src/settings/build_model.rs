//! Build a model from settings, and say which parameters are missing, foreign or out of their domain.

use anyhow::Result;
use levytilt::drift::{DoubleWell, Drift, DriftFamily, Linear, Neural, NoDrift, Ou};
use levytilt::fit::{NetworkSize, Spec};
use levytilt::noise::{FAMILIES, Family, Noise, PlusBrownian};
use levytilt::{Model, Start};

use crate::failure::bad;
use crate::settings::name_of;
use crate::settings::{Clock, DriftKind, DriftSettings, ModelSettings, NoiseKind, Settings};

/// A model with the names and values of its parameters, as users write them.
#[derive(Debug)]
pub struct Built {
    /// The model.
    pub model: Model,
    /// Parameters of drift, noise and observation.
    pub parameters: Vec<(&'static str, f64)>,
}

/// The model that `settings` describe for `command`. The start must be settled: [`settle_start`].
pub fn build(settings: &Settings, command: &str) -> Result<Built> {
    check_supported(settings, command)?;
    let family = family(settings, command)?;
    let sections = [drift_section(settings), noise_section(settings, family)];
    sections.iter().try_for_each(Section::check_foreign)?;
    let parameters = complete(&sections, settings, command)?;
    let value = |name: &str| parameters.iter().find(|(known, _)| *known == name).map_or(f64::NAN, |(_, value)| *value);
    let drift = make_drift(settings.drift(), &value)?;
    let noise = family.build(&family.parameters.iter().map(|name| value(name)).collect::<Vec<_>>())?;
    let noise = with_brownian(noise, settings.model.brownian)?;
    let model = Model::new(drift, noise, value("observation_std"), start(&settings.model))?;
    Ok(Built { model, parameters })
}

/// The model that `settings` leave partly open for `command`: what is given is fixed, the rest is learned. Where the
/// noise is open too, its family stands in for all.
pub fn open_model(settings: &Settings, names: &[String], command: &str) -> Result<Spec> {
    check_supported(settings, command)?;
    let open = settings.noise() == NoiseKind::Auto && command == "fit";
    let family = if open { &FAMILIES[0] } else { family(settings, command)? };
    let sections = [drift_section(settings), noise_section(settings, family)];
    // Which names no family knows is the library's to say.
    sections[..if open { 1 } else { 2 }].iter().try_for_each(Section::check_foreign)?;
    let (drift, network) = drift_of(settings, command)?;
    let given = sections.iter().flat_map(|section| section.given.clone());
    let rest = [("observation_std", settings.model.observation_std), ("brownian", settings.model.brownian)];
    let given = given.chain(rest).filter_map(|(name, value)| Some((name.to_string(), value?)));
    let given = given.chain(settings.parameters.iter().map(|(name, value)| (name.clone(), *value))).collect();
    let ModelSettings { x0, x0_std, .. } = settings.model;
    Ok(Spec { drift, network, noise: family, names: names.to_vec(), given, x0, x0_std })
}

/// The family of the drift, or the size of a network and no drift beside it.
fn drift_of(settings: &Settings, command: &str) -> Result<(&'static DriftFamily, Option<NetworkSize>)> {
    let DriftSettings { width, depth, .. } = settings.drift;
    if settings.drift() == DriftKind::Neural {
        let size = NetworkSize::default();
        let size = NetworkSize { width: width.unwrap_or(size.width), depth: depth.unwrap_or(size.depth) };
        return Ok((DriftFamily::none(), Some(size)));
    }
    if width.or(depth).is_some() {
        return Err(bad("--width and --depth belong to drift neural: give --drift neural"));
    }
    let name = name_of(&settings.drift());
    let family = DriftFamily::named(&name).ok_or_else(|| bad(format!("{command} does not know drift \"{name}\"")))?;
    Ok((family, None))
}

/// The model that `settings` describe in full for `command`, in the dimensions called `names`; `network` is its drift if
/// that is one.
pub fn closed_model(settings: &Settings, names: &[String], network: Option<Neural>, command: &str) -> Result<Model> {
    match (names, network) {
        ([_], None) => Ok(build(settings, command)?.model),
        (_, None) => Ok(open_model(settings, names, command)?.model()?),
        (_, Some(network)) => {
            let model = open_model(settings, names, command)?.model()?;
            Ok(Model::multivariate(Box::new(network), model.dimensions)?)
        }
    }
}

/// Write defaults and the prior of the start into `settings`, so that what is saved is what was computed.
///
/// Without x0 the start is Gaussian around `first_seen`, with x0_std or else 10 observation errors: wide against the
/// error, so that the first observation decides.
pub fn settle_start(settings: &mut Settings, first_seen: f64) {
    let model = &mut settings.model;
    if model.x0.is_none() {
        model.x0 = Some(first_seen);
        model.x0_std = model.x0_std.or(model.observation_std.map(|std| 10.0 * std));
    }
}

fn start(model: &ModelSettings) -> Start {
    match (model.x0.unwrap_or(0.0), model.x0_std) {
        (x0, None) => Start::Fixed(x0),
        (mean, Some(std)) => Start::Gaussian { mean, std },
    }
}

fn check_supported(settings: &Settings, command: &str) -> Result<()> {
    if settings.model.clock == Some(Clock::Business) {
        return Err(bad(format!(
            "clock \"business\" has step lengths to be learned; {command} needs clock \"calendar\""
        )));
    }
    if settings.drift() == DriftKind::Neural && !matches!(command, "fit" | "forecast") {
        return Err(bad(format!("drift \"neural\" has weights to be learned; {command} needs another: give --drift")));
    }
    Ok(())
}

/// The family of the noise; `auto` is none.
fn family(settings: &Settings, command: &str) -> Result<&'static Family> {
    let name = name_of(&settings.noise());
    Family::named(&name).ok_or_else(|| {
        bad(format!("noise \"{name}\" is a choice to be learned; {command} needs one family: give --noise"))
    })
}

/// The parameters of a drift or noise: what it needs and what was given.
struct Section {
    table: &'static str,
    owner: String,
    needs: &'static [&'static str],
    given: Vec<(&'static str, Option<f64>)>,
}

impl Section {
    fn check_foreign(&self) -> Result<()> {
        let foreign = self.given.iter().find(|(name, value)| value.is_some() && !self.needs.contains(name));
        let Some((name, _)) = foreign else { return Ok(()) };
        let needs = if self.needs.is_empty() { "no parameters".into() } else { self.needs.join(", ") };
        let (flag, table, owner) = (flag(name), self.table, &self.owner);
        Err(bad(format!("{flag} ([{table}] {name}) does not belong to {owner}, which takes {needs}")))
    }

    fn value(&self, name: &str) -> Option<f64> {
        self.given.iter().find(|(known, _)| *known == name).and_then(|(_, value)| *value)
    }
}

/// All parameters with their values, or an error that lists everything that is missing.
fn complete(sections: &[Section], settings: &Settings, command: &str) -> Result<Vec<(&'static str, f64)>> {
    let needed = sections.iter().flat_map(|s| s.needs.iter().map(|name| (s.table, *name, s.value(name))));
    let observation = ("model", "observation_std", settings.model.observation_std);
    let all: Vec<_> = needed.chain([observation]).collect();
    let missing: Vec<_> = all.iter().filter(|(_, _, value)| value.is_none()).collect();
    if missing.is_empty() {
        let brownian = settings.model.brownian.map(|value| ("brownian", value));
        return Ok(all.iter().filter_map(|(_, name, value)| Some((*name, (*value)?))).chain(brownian).collect());
    }
    let names: Vec<_> = missing.iter().map(|(_, name, _)| *name).collect();
    let remedies: Vec<_> =
        missing.iter().map(|(table, name, _)| format!("{} or [{table}] {name}", flag(name))).collect();
    Err(bad(format!("{command} needs {}: give {}", names.join(", "), remedies.join("; "))))
}

/// The flag of a key.
fn flag(name: &str) -> String {
    format!("--{}", name.replace('_', "-"))
}

fn drift_section(settings: &Settings) -> Section {
    let DriftSettings { theta, mu, theta1, theta2, slope, offset, .. } = settings.drift;
    let (owner, needs): (_, &[_]) = match settings.drift() {
        DriftKind::Ou => ("drift ou", &["theta", "mu"]),
        DriftKind::DoubleWell => ("drift double-well", &["theta1", "theta2"]),
        DriftKind::Linear => ("drift linear", &["slope", "offset"]),
        DriftKind::Neural => ("drift neural", &[]),
        DriftKind::None => ("drift none", &[]),
    };
    let given = vec![
        ("theta", theta),
        ("mu", mu),
        ("theta1", theta1),
        ("theta2", theta2),
        ("slope", slope),
        ("offset", offset),
    ];
    Section { table: "drift", owner: owner.into(), needs, given }
}

fn noise_section(settings: &Settings, family: &Family) -> Section {
    let m = &settings.model;
    let given = vec![
        ("alpha", m.alpha),
        ("scale", m.scale),
        ("tau", m.tau),
        ("sigma_g", m.sigma_g),
        ("tempering", m.tempering),
        ("nu", m.nu),
        ("dof", m.dof),
        ("rate", m.rate),
        ("jump_std", m.jump_std),
    ];
    Section { table: "model", owner: format!("noise {}", family.name), needs: family.parameters, given }
}

fn make_drift(kind: DriftKind, value: &impl Fn(&str) -> f64) -> Result<Box<dyn Drift>> {
    Ok(match kind {
        DriftKind::Ou => Box::new(Ou::new(value("theta"), value("mu"))?),
        DriftKind::DoubleWell => Box::new(DoubleWell::new(value("theta1"), value("theta2"))?),
        DriftKind::None => Box::new(NoDrift::new(1)?),
        DriftKind::Linear => Box::new(Linear::line(value("slope"), value("offset"))?),
        DriftKind::Neural => return Err(bad("drift \"neural\" has weights to be learned: give another --drift")),
    })
}

/// Add Brownian motion unless it is nought.
fn with_brownian(noise: Box<dyn Noise>, brownian: Option<f64>) -> Result<Box<dyn Noise>> {
    match brownian {
        None | Some(0.0) => Ok(noise),
        Some(sigma) => Ok(Box::new(PlusBrownian::new(noise, sigma)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::NoiseKind;
    use clap::ValueEnum;
    use levytilt::noise::FAMILIES;

    #[test]
    fn every_family_of_the_library_has_a_name_and_flags_here() {
        let names: Vec<String> = NoiseKind::value_variants().iter().map(name_of).collect();
        let known: Vec<_> =
            noise_section(&Settings::default(), &FAMILIES[0]).given.iter().map(|(name, _)| *name).collect();
        for family in FAMILIES {
            assert!(names.iter().any(|name| name == family.name), "{}", family.name);
            assert!(family.parameters.iter().all(|name| known.contains(name)), "{}", family.name);
        }
    }
}
