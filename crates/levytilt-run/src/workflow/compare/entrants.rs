//! Say which models are compared: settings files, or every combination of noises and drifts.

use anyhow::Result;
use levytilt::internals::fit::rival_families;
use levytilt::internals::general::GeneralOptions;
use std::path::{Path, PathBuf};

use crate::failure::bad;
use crate::settings::build_model::open_model;
use crate::settings::{
    Clock, DataSettings, DriftName, ErrorName, ModelSettings, Named, NoiseName, Settings, Volatility,
    name_of as spelled,
};
use crate::table::Table;
use crate::workflow::compare::Row;
use crate::workflow::general::settings::GeneralSettings;
use crate::workflow::ranking::Rated;
use crate::workflow::trading;

/// A model that takes part.
#[derive(Debug, Clone)]
pub struct Entrant {
    /// Its name in the table.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

/// A model by drift and noise, or one that a settings file writes out.
#[derive(Debug, Clone)]
pub enum Kind {
    /// Drift and noise of every column.
    Plain(Box<Settings>),
    /// States, noise sources and observations.
    Written(Box<GeneralSettings>),
}

/// The options of a fit of a written-out model.
pub fn options(model: &GeneralSettings) -> GeneralOptions {
    let usual = GeneralOptions::default();
    GeneralOptions {
        paths: model.solve.paths.unwrap_or(usual.paths),
        seed: model.solve.seed.unwrap_or(usual.seed),
        ..usual
    }
}

/// What a model by drift and noise is called.
pub fn name_of(settings: &Settings) -> String {
    let ModelSettings { errors, clock, volatility, .. } = &settings.model;
    let more = [
        errors.map(|errors| format!(", {errors} errors")),
        clock.map(|clock| format!(", {} clock", spelled(&clock))),
        volatility.map(|volatility| format!(", {} volatility", spelled(&volatility))),
    ];
    format!("{} with {}", settings.drift(), settings.noise()) + &more.into_iter().flatten().collect::<String>()
}

impl Entrant {
    /// A model by drift and noise; a comparison draws no parameters.
    pub fn plain(name: String, mut settings: Settings) -> Self {
        (settings.solve.bayes, settings.solve.draws) = (None, None);
        Self { name, kind: Kind::Plain(Box::new(settings)) }
    }

    /// The model of a settings file, with `flags` over it.
    ///
    /// # Errors
    /// A file that cannot be read; a flag that does not fit a model that is written out.
    pub fn read(path: &Path, flags: &Settings) -> Result<Self> {
        let name = path.file_stem().map_or_else(|| path.display().to_string(), |s| s.to_string_lossy().into_owned());
        let Some(mut model) = GeneralSettings::read(path)? else {
            return Ok(Self::plain(name, flags.clone().with_config(Some(path))?));
        };
        if flags.model != ModelSettings::default() || flags.solve.method.is_some() {
            let path = path.display();
            return Err(bad(format!(
                "{path} has [states]: flags of the model and --method cannot be combined with it"
            )));
        }
        model.grid.steps = flags.grid.steps.or(model.grid.steps);
        model.solve.paths = flags.solve.paths.or(model.solve.paths);
        model.solve.seed = flags.solve.seed.or(model.solve.seed);
        if flags.data != DataSettings::default() {
            model.data = flags.data.clone();
        }
        model.parameters.extend(flags.parameters.clone());
        Ok(Self { name, kind: Kind::Written(Box::new(model)) })
    }

    /// Which data it asks for.
    pub fn data(&self) -> DataSettings {
        match &self.kind {
            Kind::Plain(settings) => settings.data.clone(),
            Kind::Written(model) => {
                let columns = Some(model.columns()).filter(|columns| !columns.is_empty());
                DataSettings { columns: model.data.columns.clone().or(columns), ..model.data.clone() }
            }
        }
    }

    /// Refuse settings that no fit can have, before any is begun.
    pub fn check(&self, table: &Table) -> Result<()> {
        let checked = match &self.kind {
            Kind::Plain(settings) if settings.noise() == NoiseName::AUTO => {
                Err(bad("noise auto is itself a comparison; give the families, or --noise auto for all of them"))
            }
            Kind::Plain(settings) => {
                trading::check(settings)?;
                let mut settings = settings.clone();
                crate::settings::season::resolve(&mut settings.drift, &table.calendar)?;
                settings.refuse_columns(table)?;
                open_model(&settings, &table.names, "fit").map(drop)
            }
            Kind::Written(model) => model.refuse_columns(table).and_then(|()| model.spec(&table.names).map(drop)),
        };
        checked.map_err(|error| bad(format!("{}: {error:#}", self.name)))
    }

    /// Its row of the table, with nothing found yet.
    pub(super) fn row(&self) -> Row {
        let (drift, noise) = match &self.kind {
            Kind::Plain(settings) => (Some(settings.drift().to_string()), Some(settings.noise().to_string())),
            Kind::Written(_) => (None, None),
        };
        Row {
            model: self.name.clone(),
            drift,
            noise,
            rated: Rated::default(),
            parameters: Default::default(),
            residuals: None,
            held_out: None,
            posterior: None,
            seconds: 0.0,
            warnings: Vec::new(),
            checks: Vec::new(),
            estimates: Vec::new(),
        }
    }

    pub(super) fn unfinished(&self, why: &str) -> Row {
        Row { rated: Rated::new(Err(why.into()), true), ..self.row() }
    }

    pub(super) fn failed(&self, why: &str) -> Row {
        Row { rated: Rated::new(Err(why.into()), false), ..self.row() }
    }
}

/// What may be compared.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Settings files, each a model.
    pub models: Vec<PathBuf>,
    /// Noises by name; `auto` stands for all that compete by default.
    pub noises: Vec<String>,
    /// Drifts by name or as formulas.
    pub drifts: Vec<String>,
    /// Laws of the observation errors.
    pub errors: Vec<ErrorName>,
    /// Time scales of the noise.
    pub clocks: Vec<Clock>,
    /// Volatilities of the noise.
    pub volatilities: Vec<Volatility>,
    /// Parameters to hold in every model that has them.
    pub held: Vec<(String, f64)>,
}

impl Wanted {
    /// The models, each with a name of its own, with `flags` over their files and `config` under all combinations.
    ///
    /// # Errors
    /// Nothing to compare, an unknown name, a file that cannot be read, a parameter that no model has.
    pub fn entrants(&self, flags: &Settings, config: Option<&Path>) -> Result<Vec<Entrant>> {
        let mut all = Vec::new();
        for path in &self.models {
            all.push(Entrant::read(path, flags)?);
        }
        if self.has_lists() {
            let below = flags.clone().with_config(config)?;
            for model in self.combinations(&below)? {
                let settings = Settings { model, ..Settings::default() }.over(below.clone())?;
                all.push(Entrant::plain(name_of(&settings), settings));
            }
        } else if let (Some(path), false) = (config, self.models.is_empty()) {
            let path = path.display();
            return Err(bad(format!(
                "--config {path} is for --noise, --drift and other lists; list it among --models, or leave it out"
            )));
        }
        if all.len() < 2 {
            return Err(bad(
                "nothing to compare: give two or more models, as --models a.toml,b.toml or as --noise stable,nig --drift \
                 ou,none",
            ));
        }
        self.held.iter().try_for_each(|(name, value)| hold(&mut all, name, *value))?;
        Ok(distinct(all))
    }

    /// Whether there is more than files.
    pub fn has_lists(&self) -> bool {
        let Self { noises, drifts, errors, clocks, volatilities, .. } = self;
        !(noises.is_empty() && drifts.is_empty() && errors.is_empty() && clocks.is_empty() && volatilities.is_empty())
    }

    /// Every combination of what is listed; what is not stays open.
    fn combinations(&self, below: &Settings) -> Result<Vec<ModelSettings>> {
        let mut all = Vec::new();
        for drift in self.drifts(below)? {
            for noise in self.noises(below)? {
                all.push(ModelSettings { drift: Some(drift.clone()), noise: Some(noise), ..Default::default() });
            }
        }
        let all = each(all, &self.errors, |model, errors| model.errors = Some(errors));
        let all = each(all, &self.clocks, |model, clock| model.clock = Some(clock));
        Ok(each(all, &self.volatilities, |model, volatility| model.volatility = Some(volatility)))
    }

    fn drifts(&self, below: &Settings) -> Result<Vec<DriftName>> {
        if self.drifts.is_empty() {
            return Ok(vec![below.drift()]);
        }
        let read = |text: &String| DriftName::read(text.trim()).map_err(|error| bad(format!("--drift: {error}")));
        self.drifts.iter().map(read).collect()
    }

    fn noises(&self, below: &Settings) -> Result<Vec<NoiseName>> {
        let mut all = Vec::new();
        for text in &self.noises {
            match NoiseName::read(text.trim()).map_err(|error| bad(format!("--noise: {error}")))? {
                NoiseName::AUTO => all.extend(rival_families().into_iter().map(NoiseName::of)),
                noise => all.push(noise),
            }
        }
        if self.noises.is_empty() {
            all.push(below.noise());
        }
        let mut seen = Vec::new();
        all.retain(|noise| {
            !seen.contains(noise) && {
                seen.push(*noise);
                true
            }
        });
        Ok(all)
    }
}

/// Every model with every one of `choices`, or as it is if there are none.
fn each<T: Copy>(models: Vec<ModelSettings>, choices: &[T], set: impl Fn(&mut ModelSettings, T)) -> Vec<ModelSettings> {
    if choices.is_empty() {
        return models;
    }
    let with = |model: &ModelSettings, choice: T| {
        let mut model = model.clone();
        set(&mut model, choice);
        model
    };
    models.iter().flat_map(|model| choices.iter().map(move |choice| with(model, *choice))).collect()
}

/// Parts of a list at commas that are not within parentheses, which formulas have: `min(x,1),ou` has two.
pub fn parts(text: &str) -> Vec<String> {
    let (mut all, mut depth) = (vec![String::new()], 0);
    for letter in text.chars() {
        match letter {
            ',' if depth == 0 => {
                all.push(String::new());
                continue;
            }
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        all.iter_mut().last().into_iter().for_each(|part| part.push(letter));
    }
    all.into_iter().map(|part| part.trim().to_string()).filter(|part| !part.is_empty()).collect()
}

/// Hold a parameter in every model that has it.
fn hold(all: &mut [Entrant], name: &str, value: f64) -> Result<()> {
    let mut found = false;
    for entrant in all {
        match &mut entrant.kind {
            Kind::Plain(settings) if settings.has(name) => {
                match name.contains('[') {
                    true => drop(settings.parameters.insert(name.into(), Named::from(value))),
                    false => settings.hold(name, value)?,
                }
                found = true;
            }
            Kind::Plain(_) => {}
            Kind::Written(model) => {
                model.parameters.insert(name.into(), Named::from(value));
                found = true;
            }
        }
    }
    match found {
        true => Ok(()),
        false => Err(bad(format!("--set {name}={value}: none of the models has a parameter {name}"))),
    }
}

/// Number what has the same name.
pub fn distinct(all: Vec<Entrant>) -> Vec<Entrant> {
    let mut seen: Vec<String> = Vec::new();
    let mut own = |entrant: Entrant| {
        let count = seen.iter().filter(|name| **name == entrant.name).count();
        seen.push(entrant.name.clone());
        let name = if count == 0 { entrant.name } else { format!("{} ({})", entrant.name, count + 1) };
        Entrant { name, ..entrant }
    };
    all.into_iter().map(&mut own).collect()
}

/// The data that all entrants ask for; those that ask for nothing take what the others do.
///
/// # Errors
/// Entrants that ask for different data: their evidence could not be compared.
pub fn common_data(all: &[Entrant]) -> Result<DataSettings> {
    let mut found: Option<(&str, DataSettings)> = None;
    for entrant in all {
        let data = entrant.data();
        match &found {
            _ if data == DataSettings::default() => {}
            Some((_, known)) if *known == data => {}
            None => found = Some((&entrant.name, data)),
            Some((name, _)) => {
                return Err(bad(format!(
                    "{name} and {} ask for different [data]: evidence compares models of the same values; give the same \
                     columns to both, or --column",
                    entrant.name
                )));
            }
        }
    }
    Ok(found.map_or_else(DataSettings::default, |(_, data)| data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_lists_keep_the_commas_of_formulas() {
        assert_eq!(parts("ou, none"), ["ou", "none"]);
        assert_eq!(parts("theta*(mu - x),min(x,1) - x,"), ["theta*(mu - x)", "min(x,1) - x"]);
        assert!(parts("").is_empty());
    }

    #[test]
    fn identity_every_combination_takes_part_once() {
        let wanted = Wanted {
            noises: parts("nig,gaussian,nig"),
            drifts: parts("ou,none"),
            held: vec![("theta".into(), 2.0), ("observation_std".into(), 0.1)],
            ..Wanted::default()
        };
        let all = wanted.entrants(&Settings::default(), None).unwrap();
        let names: Vec<&str> = all.iter().map(|entrant| entrant.name.as_str()).collect();
        assert_eq!(names, ["ou with nig", "ou with gaussian", "none with nig", "none with gaussian"]);
        let held = |k: usize| match &all[k].kind {
            Kind::Plain(settings) => (settings.drift.values.get("theta"), settings.model.values.get("observation_std")),
            Kind::Written(_) => (None, None),
        };
        assert_eq!((held(0), held(2)), ((Some(2.0), Some(0.1)), (None, Some(0.1))));
        let one = Wanted { noises: parts("nig"), ..Wanted::default() };
        let said = one.entrants(&Settings::default(), None).unwrap_err().to_string();
        assert!(said.contains("nothing to compare"), "{said}");
        let foreign = Wanted { held: vec![("kappa".into(), 1.0)], ..wanted };
        let said = foreign.entrants(&Settings::default(), None).unwrap_err().to_string();
        assert!(said.contains("none of the models has a parameter kappa"), "{said}");
    }
}
