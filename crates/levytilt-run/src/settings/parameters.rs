//! Hold values of the registry's parameters: as keys of a settings file and as flags alike.

use clap::builder::TypedValueParser;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches, value_parser};
use levytilt::internals::registry::{self, BROWNIAN, Listed, Part, close_names};
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use crate::settings::diffusion::{Diffusion, LEARN};
use crate::settings::season::SeasonArgs;
use crate::settings::{Clock, DriftName, DriftSettings, ErrorName, ModelSettings, NoiseName, SizeFormula, Volatility};
use crate::table::time::Length;

/// A section of a settings file that holds parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// `[model]`: noise, observation and start.
    Model,
    /// `[drift]`.
    Drift,
}

/// A parameter of the registry with its flag.
struct Known {
    listed: Listed,
    section: Section,
    flag: String,
    help: String,
}

/// All parameters, in the order of the registry.
fn known() -> &'static [Known] {
    static ALL: OnceLock<Vec<Known>> = OnceLock::new();
    ALL.get_or_init(|| registry::all().into_iter().map(Known::new).collect())
}

impl Known {
    fn new(listed: Listed) -> Self {
        let section = if listed.part == Part::Drift { Section::Drift } else { Section::Model };
        let flag = listed.name.replace('_', "-");
        let mut help = listed.about();
        if listed.name == BROWNIAN {
            help += "; or learn, in `fit`";
        }
        if listed.entry().domain.contains(0.0) && listed.part == Part::Noise {
            help += " [default: 0]";
        }
        Self { section, flag, help, listed }
    }

    fn heading(&self) -> &'static str {
        match self.listed.part {
            Part::Drift => "Drift",
            Part::Noise => "Noise",
            Part::Observation => "Observation and start",
        }
    }
}

impl Section {
    /// Name in a file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Drift => "drift",
        }
    }

    /// The section that holds a parameter, if there is such a parameter.
    pub fn of(name: &str) -> Option<Self> {
        known().iter().find(|known| known.listed.name == name).map(|known| known.section)
    }

    /// Names of its parameters, in the order of the registry.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        known().iter().filter(move |known| known.section == self).map(|known| known.listed.name)
    }

    /// Its parameters, as comments of a settings file explain them.
    pub fn listed(self) -> impl Iterator<Item = &'static Listed> {
        known().iter().filter(move |known| known.section == self).map(|known| &known.listed)
    }

    /// Keys that are no parameters.
    fn others(self) -> &'static [&'static str] {
        match self {
            Self::Model => &["drift", "noise", "size", "errors", "clock", "volatility"],
            Self::Drift => &["width", "depth", "season", "harmonics"],
        }
    }

    /// All its keys.
    pub fn keys(self) -> impl Iterator<Item = &'static str> {
        self.names().chain(self.others().iter().copied())
    }

    /// What is wrong with a key that the section does not have.
    fn unknown(self, key: &str) -> String {
        let section = self.name();
        if let Some(right) = Self::of(key) {
            return format!("unknown field `{key}` of [{section}]: it belongs in [{}]", right.name());
        }
        let all = || self.keys();
        match close_names(key, all()).as_slice() {
            [] => format!(
                "unknown field `{key}` of [{section}]; expected one of {}{}",
                all().collect::<Vec<_>>().join(", "),
                if self == Self::Drift { "; parameters of a formula belong in [parameters]" } else { "" }
            ),
            close => format!("unknown field `{key}` of [{section}]; did you mean {}?", close.join(" or ")),
        }
    }
}

/// Values of the parameters of one section.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Values(BTreeMap<&'static str, f64>);

impl Values {
    /// The value of a parameter, if it is given.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// Give a value to a parameter of the registry, or take it back; any other name is left alone, and `false`.
    pub fn set(&mut self, name: &str, value: Option<f64>) -> bool {
        let Some(known) = known().iter().find(|known| known.listed.name == name) else { return false };
        match value {
            Some(value) => drop(self.0.insert(known.listed.name, value)),
            None => drop(self.0.remove(name)),
        }
        true
    }

    /// What is given, in the order of the registry.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, f64)> {
        known().iter().filter_map(|known| Some((known.listed.name, self.get(known.listed.name)?)))
    }

    /// Keep those whose name passes.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.0.retain(|name, _| keep(name));
    }

    /// Add the flags of the section.
    fn flags(section: Section, command: Command) -> Command {
        let own = known().iter().filter(|known| known.section == section);
        own.fold(command, |command, known| {
            let flag = Arg::new(known.listed.name).long(known.flag.as_str()).value_name("X");
            let flag = flag.help(known.help.clone()).help_heading(known.heading());
            match known.listed.name {
                BROWNIAN => command.arg(flag.value_parser(value_parser!(Diffusion))),
                _ => command.arg(flag.value_parser(value_parser!(f64))),
            }
        })
    }

    /// The values of the section's flags.
    fn matched(section: Section, matches: &ArgMatches) -> Self {
        let value = |name| match name {
            BROWNIAN => match matches.get_one::<Diffusion>(name)? {
                Diffusion::Held(value) => Some((name, *value)),
                Diffusion::Learned => None,
            },
            _ => Some((name, *matches.get_one::<f64>(name)?)),
        };
        Self(section.names().filter_map(value).collect())
    }

    /// Read a key of the section.
    fn read<'de, A: MapAccess<'de>>(&mut self, section: Section, key: &str, map: &mut A) -> Result<(), A::Error> {
        match section.names().find(|name| *name == key) {
            Some(name) if self.0.contains_key(name) => Err(A::Error::duplicate_field(name)),
            Some(name) => {
                self.0.insert(name, map.next_value()?);
                Ok(())
            }
            None => Err(A::Error::custom(section.unknown(key))),
        }
    }
}

impl Args for ModelSettings {
    fn augment_args(command: Command) -> Command {
        let choice = |name: &'static str, value: &'static str, heading: &'static str, help: &'static str| {
            Arg::new(name).long(name).value_name(value).help_heading(heading).help(help)
        };
        let drift = choice("drift", "KIND", "Drift", "Drift family, or a formula for state x [default: ou]");
        let noise = choice("noise", "FAMILY", "Noise", "Noise family [default: stable]");
        let about = "Size of the noise as a formula of state x, such as \"1 + s*abs(x)\" [default: 1]";
        let size = choice("size", "FORMULA", "Noise", about);
        let about = "Distribution of the observation errors [default: gaussian]";
        let errors = choice("errors", "LAW", "Observation and start", about);
        let command = command
            .arg(drift.value_parser(DriftName::parser()).allow_hyphen_values(true))
            .arg(noise.value_parser(NoiseName::parser()))
            .arg(size.value_parser(value_parser!(SizeFormula)).allow_hyphen_values(true))
            .arg(errors.value_parser(ErrorName::parser()))
            .arg(
                choice("clock", "NAME", "Time", "Time scale of the noise, where times are in days [default: calendar]")
                    .value_parser(value_parser!(Clock)),
            )
            .arg(
                choice(
                    "volatility",
                    "NAME",
                    "Time",
                    "Volatility of the noise, where times are in days [default: steady]",
                )
                .value_parser(value_parser!(Volatility)),
            );
        Values::flags(Section::Model, command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ModelSettings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self {
            drift: matches.get_one("drift").cloned(),
            noise: matches.get_one("noise").copied(),
            errors: matches.get_one("errors").copied(),
            size: matches.get_one("size").cloned(),
            values: Values::matched(Section::Model, matches),
            learn_brownian: matches.get_one(BROWNIAN) == Some(&Diffusion::Learned),
            clock: matches.get_one("clock").copied(),
            volatility: matches.get_one("volatility").copied(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for DriftSettings {
    fn augment_args(command: Command) -> Command {
        let command = Values::flags(Section::Drift, command);
        let count = |name: &'static str, help: &'static str| {
            let flag = Arg::new(name).long(name).value_name("N").help_heading("Drift").help(help);
            flag.value_parser(value_parser!(u64).map(|count| count as usize))
        };
        let command = command
            .arg(count("width", "Units per layer: neural [default: 32]"))
            .arg(count("depth", "Layers: neural [default: 2]"));
        SeasonArgs::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for DriftSettings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let values = Values::matched(Section::Drift, matches);
        let count = |name| matches.get_one(name).copied();
        let SeasonArgs { season, harmonics } = SeasonArgs::from_arg_matches(matches)?;
        Ok(Self { values, width: count("width"), depth: count("depth"), season, harmonics })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// A section is written as a map: what is given, in a fixed order.
fn write<S: Serializer>(
    serializer: S,
    first: &[(&str, Option<&str>)],
    values: &Values,
    last: &[(&str, Option<Last>)],
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    for (key, name) in first {
        name.map_or(Ok(()), |name| map.serialize_entry(key, name))?;
    }
    for (key, value) in values.given() {
        map.serialize_entry(key, &value)?;
    }
    for (key, value) in last {
        value.as_ref().map_or(Ok(()), |value| map.serialize_entry(key, value))?;
    }
    map.end()
}

/// What follows the parameters of a section.
#[derive(Serialize)]
#[serde(untagged)]
enum Last {
    Clock(Clock),
    Volatility(Volatility),
    Count(usize),
    Season(Vec<Length>),
}

impl Serialize for ModelSettings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = [
            ("drift", self.drift.as_ref().map(DriftName::as_str)),
            ("noise", self.noise.map(NoiseName::as_str)),
            ("size", self.size.as_ref().map(SizeFormula::as_str)),
            ("errors", self.errors.map(ErrorName::as_str)),
            (BROWNIAN, self.learn_brownian.then_some(LEARN)),
        ];
        let last = [("clock", self.clock.map(Last::Clock)), ("volatility", self.volatility.map(Last::Volatility))];
        write(serializer, &names, &self.values, &last)
    }
}

impl Serialize for DriftSettings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let last = [
            ("width", self.width.map(Last::Count)),
            ("depth", self.depth.map(Last::Count)),
            ("season", self.season.clone().map(Last::Season)),
            ("harmonics", self.harmonics.map(Last::Count)),
        ];
        write(serializer, &[], &self.values, &last)
    }
}

/// Reads a section key by key.
struct Reader<T>(std::marker::PhantomData<T>);

/// What takes the value of a key.
trait Keyed: Default {
    const SECTION: Section;
    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error>;
}

impl Keyed for ModelSettings {
    const SECTION: Section = Section::Model;

    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "drift" => self.drift = Some(map.next_value()?),
            "noise" => self.noise = Some(map.next_value()?),
            "errors" => self.errors = Some(map.next_value()?),
            "size" => self.size = Some(map.next_value()?),
            "clock" => self.clock = Some(map.next_value()?),
            BROWNIAN => match map.next_value()? {
                _ if self.learn_brownian || self.values.get(BROWNIAN).is_some() => {
                    return Err(A::Error::duplicate_field(BROWNIAN));
                }
                Diffusion::Held(value) => drop(self.values.set(BROWNIAN, Some(value))),
                Diffusion::Learned => self.learn_brownian = true,
            },
            "volatility" => self.volatility = Some(map.next_value()?),
            _ => self.values.read(Self::SECTION, key, map)?,
        }
        Ok(())
    }
}

impl Keyed for DriftSettings {
    const SECTION: Section = Section::Drift;

    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "width" => self.width = Some(map.next_value()?),
            "depth" => self.depth = Some(map.next_value()?),
            "season" => self.season = Some(map.next_value()?),
            "harmonics" => self.harmonics = Some(map.next_value()?),
            _ => self.values.read(Self::SECTION, key, map)?,
        }
        Ok(())
    }
}

impl<'de, T: Keyed> Visitor<'de> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "the section [{}]", T::SECTION.name())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut section = T::default();
        while let Some(key) = map.next_key::<String>()? {
            section.read(&key, &mut map)?;
        }
        Ok(section)
    }
}

impl<'de> Deserialize<'de> for ModelSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reader(std::marker::PhantomData))
    }
}

impl<'de> Deserialize<'de> for DriftSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reader(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::Settings;

    #[test]
    fn identity_settings_come_back_as_they_were_written() {
        let text = "[model]\ndrift = \"linear\"\nnoise = \"nig\"\nscale = 1.5\ntempering = 2.0\nobservation_std = 0.1\n\
                    x0 = 0.0\n\n[drift]\nslope = -1.0\noffset = 0.5\n";
        let settings: Settings = toml::from_str(text).unwrap();
        assert_eq!(settings.to_toml().unwrap(), text);
        assert_eq!(settings.model.values.get("tempering"), Some(2.0));
    }

    #[test]
    fn unknown_keys_are_named_with_what_was_meant() {
        let message = |text: &str| toml::from_str::<Settings>(text).unwrap_err().to_string();
        assert!(message("[model]\nalfa = 1.5").contains("did you mean alpha?"), "{}", message("[model]\nalfa = 1.5"));
        assert!(message("[model]\ntheta = 1.5").contains("belongs in [drift]"));
        assert!(message("[drift]\nqqqqqqq = 1.5").contains("expected one of theta, mu"));
        assert!(message("[model]\nnoise = \"stabel\"").contains("did you mean stable?"));
        assert!(message("[model]\nalpha = \"x\"").contains("alpha"));
    }
}
