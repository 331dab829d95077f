//! Build a model from settings, and say which parameters are missing, foreign or out of their domain.

use anyhow::Result;
use levytilt::drift::{Drift, DriftFamily, Neural};
use levytilt::internals::fit::{NeuralSize, Spec};
use levytilt::internals::parameter::ParameterEntry;
use levytilt::internals::registry::{BROWNIAN, OBSERVATION_STD, X0, X0_STD};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::{Errors, Size};
use levytilt::noise::{FAMILIES, Family, Noise, PlusBrownian};
use levytilt::{ErrorKind, Start, StateSpace};

use crate::failure::bad;
use crate::settings::inputs;
use crate::settings::parameters::Section as Table;
use crate::settings::{Clock, DriftName, DriftSettings, ModelSettings, Named, NoiseName, Settings, Volatility};

/// A model with the names and values of its parameters, as users write them.
#[derive(Debug)]
pub struct Built {
    /// The model.
    pub model: StateSpace,
    /// Parameters of drift, noise and observation.
    pub parameters: Vec<(String, f64)>,
}

/// The model that `settings` describe for `command`. The start must be resolved: [`resolve_start`].
pub fn build(settings: &Settings, command: &str) -> Result<Built> {
    check_supported(settings, command)?;
    let family = family(settings, command)?;
    let sections =
        [drift_section(settings), noise_section(settings, family), error_section(settings), size_section(settings)];
    sections.iter().try_for_each(Section::check_foreign)?;
    check_named(settings, [&sections[0], &sections[3]])?;
    let parameters = complete(&sections, settings, command)?;
    let value = |name: &str| parameters.iter().find(|(known, _)| *known == name).map_or(f64::NAN, |(_, value)| *value);
    let values = |section: &Section| section.needs.iter().map(|name| value(name)).collect::<Vec<_>>();
    let drift: Box<dyn Drift> = match settings.formula()? {
        Some(formula) => Box::new(formula.drift(&values(&sections[0]))?),
        None => drift_of(settings, command)?.0.build(&values(&sections[0]))?,
    };
    let noise = with_brownian(family.build(&values(&sections[1]))?, settings.model.values.get(BROWNIAN))?;
    let errors = Errors::of(settings.errors().build(&values(&sections[2]))?);
    let mut model = StateSpace::new(drift, noise, value(OBSERVATION_STD), start(&settings.model))?.with_errors(&errors);
    if let Some(formula) = settings.size()? {
        model = model.with_size(&Size::new(&formula, &values(&sections[3]))?);
    }
    Ok(Built { model, parameters })
}

/// The model that `settings` leave partly open for `command`: what is given is fixed, the rest is learned. Where the
/// noise is open too, its family stands in for all.
pub fn open_model(settings: &Settings, names: &[String], command: &str) -> Result<Spec> {
    check_supported(settings, command)?;
    let open = settings.noise() == NoiseName::AUTO && command == "fit";
    let family = if open { &FAMILIES[0] } else { family(settings, command)? };
    let sections = [drift_section(settings), error_section(settings), noise_section(settings, family)];
    // Which names no family knows is the library's to say.
    sections[..if open { 2 } else { 3 }].iter().try_for_each(Section::check_foreign)?;
    let (drift, network) = drift_of(settings, command)?;
    let given = sections.iter().flat_map(|section| section.given.clone());
    let rest = [OBSERVATION_STD, BROWNIAN].map(|name| (name, settings.model.values.get(name)));
    let given = given.chain(rest.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))));
    check_plain(settings)?;
    let named = settings.parameters.iter().filter_map(|(name, named)| Some((name.clone(), named.value()?)));
    let given = given.chain(named).collect();
    let formula_names = [settings.formula_names(), settings.size_names()].concat();
    let priors =
        settings.parameters.iter().filter(|(name, named)| named.value().is_none() && !formula_names.contains(name));
    let priors = priors.filter_map(|(name, named)| Some((name.clone(), named.prior()?))).collect();
    let [x0, x0_std] = [X0, X0_STD].map(|name| settings.model.values.get(name));
    let (formula, size, errors) = (settings.formula()?, settings.size()?, settings.errors());
    let open = Spec { network, formula, names: names.to_vec(), given, priors, ..Spec::new(drift, family) };
    Ok(Spec { learn_brownian: settings.model.learn_brownian, size, errors, x0, x0_std, ..open })
}

/// The family of the drift, or the size of a network and no drift beside it.
fn drift_of(settings: &Settings, command: &str) -> Result<(&'static DriftFamily, Option<NeuralSize>)> {
    let DriftSettings { width, depth, .. } = settings.drift;
    if settings.drift() == DriftName::NEURAL {
        let size = NeuralSize::default();
        let size = NeuralSize { width: width.unwrap_or(size.width), depth: depth.unwrap_or(size.depth) };
        return Ok((DriftFamily::none(), Some(size)));
    }
    if width.or(depth).is_some() {
        return Err(bad("--width and --depth belong to drift neural: give --drift neural"));
    }
    if settings.formula()?.is_some() {
        return Ok((DriftFamily::none(), None));
    }
    let name = settings.drift();
    let family = name.family().ok_or_else(|| bad(format!("{command} does not know drift \"{name}\"")))?;
    Ok((family, None))
}

/// The model that `settings` describe in full for `command`, in the dimensions called `names`; `network` is its drift if
/// that is one.
pub fn closed_model(
    settings: &Settings,
    names: &[String],
    network: Option<Neural>,
    command: &str,
) -> Result<StateSpace> {
    match (names, network) {
        ([_], None) => Ok(build(settings, command)?.model),
        (_, None) => Ok(open_model(settings, names, command)?.model()?),
        (_, Some(network)) => {
            let model = open_model(settings, names, command)?.model()?;
            Ok(StateSpace::multivariate(Box::new(network), model.dimensions)?)
        }
    }
}

/// The latent times for observations at `times`. A law whose steps do not add up is that of the steps between observations:
/// they are not split unless steps are asked for, so that one observation more or less does not change it.
pub fn latent_times(settings: &Settings, times: &[f64]) -> levytilt::Result<TimeGrid> {
    match settings.grid.steps {
        None if settings.noise() == NoiseName::STUDENT => TimeGrid::unsplit(times),
        steps => TimeGrid::new(times, steps),
    }
}

/// Write defaults and the prior of the start into `settings`, so that what is saved is what was computed.
///
/// Without x0 the start is Gaussian around `first_seen`, with x0_std or else 10 observation standard deviations, in units of
/// `known_error` if errors are known: wide against the
/// error, so that the first observation decides.
pub fn resolve_start(settings: &mut Settings, first_seen: f64, known_error: Option<f64>) {
    let values = &mut settings.model.values;
    if values.get(X0).is_none() {
        values.set(X0, Some(first_seen));
        values.set(
            X0_STD,
            values.get(X0_STD).or(values.get(OBSERVATION_STD).map(|std| 10.0 * std * known_error.unwrap_or(1.0))),
        );
    }
}

fn start(model: &ModelSettings) -> Start {
    match (model.values.get(X0).unwrap_or(0.0), model.values.get(X0_STD)) {
        (x0, None) => Start::Fixed(x0),
        (mean, Some(std)) => Start::Gaussian { mean, std },
    }
}

fn check_supported(settings: &Settings, command: &str) -> Result<()> {
    let trading = [
        (settings.model.clock == Some(Clock::Business), "--clock business"),
        (settings.model.volatility == Some(Volatility::Recent), "--volatility recent"),
    ];
    if let (Some((_, what)), false) = (trading.iter().find(|(asked, _)| *asked), matches!(command, "fit" | "forecast"))
    {
        return Err(bad(format!(
            "{what} ([model]) is learned from a record by fit, and not supported by {command}, which uses calendar time: \
             leave it out"
        )));
    }
    if settings.model.learn_brownian && command != "fit" {
        return Err(bad(format!("--brownian learn is for `levytilt fit`; {command} needs a number, or none")));
    }
    if settings.known_inputs.is_none() {
        inputs::refuse(&settings.inputs, command, "give --inputs-file, or leave --inputs and [inputs] out")?;
    }
    if settings.drift() == DriftName::NEURAL && !matches!(command, "fit" | "forecast") {
        return Err(bad(format!("drift \"neural\" has weights to be learned; {command} needs another: give --drift")));
    }
    Ok(())
}

/// The family of the noise; `auto` is none.
fn family(settings: &Settings, command: &str) -> Result<&'static Family> {
    let name = settings.noise();
    name.family().ok_or_else(|| {
        bad(format!("noise \"{name}\" is a choice to be learned; {command} needs one family: give --noise"))
    })
}

/// The parameters of a drift or noise: what it needs and what was given.
struct Section {
    table: Table,
    owner: String,
    needs: Vec<String>,
    given: Vec<(String, f64)>,
}

impl Section {
    fn check_foreign(&self) -> Result<()> {
        let foreign = self.given.iter().find(|(name, _)| !self.needs.contains(name));
        let Some((name, _)) = foreign else { return Ok(()) };
        let needs = if self.needs.is_empty() { "no parameters".into() } else { self.needs.join(", ") };
        let (flag, table, owner) = (flag(name), self.table.name(), &self.owner);
        Err(bad(format!("{flag} ([{table}] {name}) does not belong to {owner}, which takes {needs}")))
    }

    fn value(&self, name: &str) -> Option<f64> {
        self.given.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

/// All parameters with their values, or an error that lists everything that is missing.
fn complete(sections: &[Section], settings: &Settings, command: &str) -> Result<Vec<(String, f64)>> {
    let named = |name: &str| settings.parameters.get(name).and_then(Named::value);
    let value = |s: &Section, name: &str| s.value(name).or_else(|| named(name));
    let needed = sections.iter().flat_map(|s| s.needs.iter().map(move |name| (s.table, name.as_str(), value(s, name))));
    let observation = (Table::Model, OBSERVATION_STD, settings.model.values.get(OBSERVATION_STD));
    let all: Vec<_> = needed.chain([observation]).collect();
    let missing: Vec<_> = all.iter().filter(|(_, _, value)| value.is_none()).collect();
    if missing.is_empty() {
        let brownian = settings.model.values.get(BROWNIAN).map(|value| (BROWNIAN, value));
        let all = all.iter().filter_map(|(_, name, value)| Some((*name, (*value)?)));
        return Ok(all.chain(brownian).map(|(name, value)| (name.to_string(), value)).collect());
    }
    let names: Vec<_> = missing.iter().map(|(_, name, _)| *name).collect();
    let remedy = |(table, name, _): &&(Table, &str, Option<f64>)| match Table::of(name) {
        Some(_) => format!("{} or [{}] {name}", flag(name), table.name()),
        None => format!("--set {name}=VALUE or [parameters] {name}"),
    };
    let remedies: Vec<_> = missing.iter().map(remedy).collect();
    Err(bad(format!("{command} needs {}: give {}", names.join(", "), remedies.join("; "))))
}

/// Parameters given by name must be those of the drift, unless they name a dimension or belong elsewhere.
fn check_named(settings: &Settings, [drift, size]: [&Section; 2]) -> Result<()> {
    check_plain(settings)?;
    let known = |name: &String| drift.needs.contains(name) || size.needs.contains(name);
    let odd = |name: &&String| !name.contains('[') && !known(name) && Table::of(name).is_none();
    match settings.parameters.keys().find(odd) {
        Some(name) => {
            Err(bad(format!("[parameters] {name} (--set {name}=VALUE): {} has no parameter of this name", drift.owner)))
        }
        None => Ok(()),
    }
}

/// Only parameters of a formula have bounds and guesses of their own.
fn check_plain(settings: &Settings) -> Result<()> {
    let names = [settings.formula_names(), settings.size_names()].concat();
    match settings.parameters.iter().find(|(name, named)| !named.is_listed() && !names.contains(name)) {
        Some((name, _)) => Err(bad(format!(
            "[parameters] {name}: guess, low and high are for parameters of a formula; give a number or a prior, or name {name} \
             in the formula of the drift"
        ))),
        None => Ok(()),
    }
}

/// The flag of a key.
fn flag(name: &str) -> String {
    format!("--{}", name.replace('_', "-"))
}

fn drift_section(settings: &Settings) -> Section {
    let name = settings.drift();
    Section {
        table: Table::Drift,
        owner: format!("drift {name}"),
        needs: match (settings.formula_names(), name.family()) {
            (names, _) if !names.is_empty() => names,
            (_, family) => family.map_or(Vec::new(), |family| names_of(family.parameters)),
        },
        given: settings.drift.values.given().map(|(name, value)| (name.to_string(), value)).collect(),
    }
}

fn noise_section(settings: &Settings, family: &Family) -> Section {
    let of_noise = |name: &str| FAMILIES.iter().any(|family| family.parameter(name).is_some());
    Section {
        table: Table::Model,
        owner: format!("noise {}", family.name),
        needs: names_of(family.parameters),
        given: (settings.model.values.given().filter(|(name, _)| of_noise(name)))
            .map(|(name, value)| (name.to_string(), value))
            .collect(),
    }
}

/// The parameters of the size of the noise, which are given by name alone.
fn size_section(settings: &Settings) -> Section {
    Section { table: Table::Model, owner: "size".into(), needs: settings.size_names(), given: Vec::new() }
}

fn error_section(settings: &Settings) -> Section {
    let kind = settings.errors();
    let of_errors = |name: &str| ErrorKind::ALL.iter().any(|k| k.parameters().iter().any(|entry| entry.name == name));
    Section {
        table: Table::Model,
        owner: format!("errors {}", kind.name()),
        needs: names_of(kind.parameters()),
        given: (settings.model.values.given().filter(|(name, _)| of_errors(name)))
            .map(|(name, value)| (name.to_string(), value))
            .collect(),
    }
}

fn names_of(entries: &[ParameterEntry]) -> Vec<String> {
    entries.iter().map(|entry| entry.name.to_string()).collect()
}

/// Add Brownian motion unless it is nought.
fn with_brownian(noise: Box<dyn Noise>, brownian: Option<f64>) -> Result<Box<dyn Noise>> {
    match brownian {
        None | Some(0.0) => Ok(noise),
        Some(sigma) => Ok(Box::new(PlusBrownian::new(noise, sigma)?)),
    }
}
