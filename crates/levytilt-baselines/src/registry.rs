//! Find a forecaster by its name, as users write it: a kind, and what is added to it, as in `student-walk+clock`.

use crate::forecaster::{Forecaster, ForecasterOptions};
use crate::garch::Garch;
use crate::increments::Increments;
use crate::neural::build;
use crate::pace::Pace;
use crate::tilt::Tilt;
use crate::walk::Walk;
use levytilt::drift::DriftFamily;
use levytilt::internals::fit::rival_families;
use levytilt::internals::series::ClockOptions;
use levytilt::noise::Family;
use levytilt::{Error, Result};

/// A kind of forecaster.
pub struct Kind {
    /// Name as users write it.
    pub name: &'static str,
    /// What may be added to the name with a plus sign.
    pub additions: fn() -> Vec<&'static str>,
    /// What it is, in half a sentence.
    pub about: &'static str,
    build: Build,
}

/// Build a forecaster from the additions to its name and the options.
type Build = fn(&[&str], &ForecasterOptions) -> Result<Box<dyn Forecaster>>;

fn pace() -> Vec<&'static str> {
    vec!["clock", "adaptive"]
}

/// The families of noise that can compete, and changes of the model.
fn tilts() -> Vec<&'static str> {
    let families = rival_families().into_iter().map(|family| family.name);
    families.chain(["auto", "ou", "calendar", "steady"]).collect()
}

fn gaussians() -> Vec<&'static str> {
    vec!["ou", "clock", "adaptive"]
}

/// All kinds; a new one is a line here.
#[rustfmt::skip]
pub const KINDS: &[Kind] = &[
    Kind { name: "tilt", additions: tilts, about: "this project's model: Student moves in business time", build: |with, _| tilt(with) },
    Kind { name: "gaussian-sde", additions: gaussians, about: "the same with Brownian motion, in calendar time", build: |with, _| gaussian(with) },
    Kind { name: "random-walk", additions: pace, about: "Gaussian moves of the record's spread", build: |with, _| walk(Increments::Gaussian, with) },
    Kind { name: "student-walk", additions: pace, about: "Student-t moves", build: |with, _| walk(Increments::Student, with) },
    Kind { name: "stable-walk", additions: pace, about: "stable moves", build: |with, _| walk(Increments::Stable, with) },
    Kind { name: "bootstrap-walk", additions: pace, about: "the record's own moves, drawn with replacement", build: |with, _| walk(Increments::Bootstrap, with) },
    Kind { name: "garch-t", additions: Vec::new, about: "GARCH(1,1) with Student-t moves", build: |_, _| Ok(Box::new(Garch)) },
    Kind { name: "deepar", additions: Vec::new, about: "recurrent network with Gaussian output", build: build::deepar },
    Kind { name: "deepar-t", additions: Vec::new, about: "recurrent network with Student-t output", build: build::deepar_t },
    Kind { name: "nhits", additions: || build::SPREADS.to_vec(), about: "hierarchical interpolation: a point, or with held-out residuals", build: build::nhits },
    Kind { name: "dlinear", additions: || build::SPREADS.to_vec(), about: "linear maps of trend and rest: a point, or with held-out residuals", build: build::dlinear },
    Kind { name: "nj-sde", additions: Vec::new, about: "neural jump SDE: a hidden state that jumps with every move", build: build::jump_sde },
    Kind { name: "neural-mjd", additions: Vec::new, about: "Merton's jump diffusion with parameters from a network", build: build::neural_mjd },
];

/// Kinds that are trained.
const NEURAL: &[&str] = &["deepar", "deepar-t", "nhits", "dlinear", "nj-sde", "neural-mjd"];

/// Whether this is the name of a network, which is trained.
pub fn is_network(name: &str) -> bool {
    name.split('+').next().is_some_and(|kind| NEURAL.contains(&kind))
}

/// The forecaster with this name.
///
/// # Errors
/// A name that is not known, or an addition that its kind does not take; the message lists what is.
pub fn forecaster(name: &str, options: &ForecasterOptions) -> Result<Box<dyn Forecaster>> {
    let mut parts = name.split('+');
    let kind = parts.next().unwrap_or_default();
    let with: Vec<&str> = parts.collect();
    let refuse = |problem: String| Err(Error::Series { place: format!("model \"{name}\""), problem });
    let Some(kind) = KINDS.iter().find(|known| known.name == kind) else {
        let known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        return refuse(format!("is not known; expected one of {}", known.join(", ")));
    };
    let additions = (kind.additions)();
    if let Some(odd) = with.iter().find(|part| !additions.contains(part)) {
        let known = if additions.is_empty() { "none".into() } else { additions.join(", ") };
        return refuse(format!("{} has no option \"{odd}\"; its options: {known}", kind.name));
    }
    (kind.build)(&with, options)
}

fn walk(increments: Increments, with: &[&str]) -> Result<Box<dyn Forecaster>> {
    let clock = with.contains(&"clock").then(ClockOptions::default);
    Ok(Box::new(Walk { increments, clock, adaptive: with.contains(&"adaptive") }))
}

/// A family of noise sets aside the default one and learns all its parameters; `calendar` goes without the clock,
/// `steady` without recent volatility.
fn tilt(with: &[&str]) -> Result<Box<dyn Forecaster>> {
    let mut tilt = Tilt::prices();
    for part in with {
        match *part {
            "ou" => tilt.drift = ou(),
            "calendar" => tilt.pace.clock = None,
            "steady" => tilt.pace.memory.clear(),
            // `auto` is no family: nothing stands for the best one.
            family => (tilt.noise, tilt.given) = (Family::named(family), vec![]),
        }
    }
    tilt.name = named("tilt", with);
    Ok(Box::new(tilt))
}

fn gaussian(with: &[&str]) -> Result<Box<dyn Forecaster>> {
    let Pace { clock, memory, .. } = Pace::prices();
    let mut tilt = Tilt::gaussian();
    for part in with {
        match *part {
            "ou" => tilt.drift = ou(),
            "clock" => tilt.pace.clock.clone_from(&clock),
            _ => tilt.pace.memory.clone_from(&memory),
        }
    }
    tilt.name = named("gaussian-sde", with);
    Ok(Box::new(tilt))
}

fn ou() -> &'static DriftFamily {
    DriftFamily::named("ou").unwrap_or(DriftFamily::none())
}

fn named(kind: &str, with: &[&str]) -> String {
    std::iter::once(&kind).chain(with).copied().collect::<Vec<_>>().join("+")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_every_kind_has_a_distinct_name_and_can_be_built() {
        for (i, kind) in KINDS.iter().enumerate() {
            assert!(KINDS[..i].iter().all(|other| other.name != kind.name));
            assert!(forecaster(kind.name, &ForecasterOptions::default()).is_ok(), "{}", kind.name);
        }
        let walk = forecaster("student-walk+clock+adaptive", &ForecasterOptions::default()).unwrap();
        assert_eq!(walk.name(), "student walk, clock (1), adaptive");
    }

    #[test]
    fn unknown_names_are_refused_with_what_is_known() {
        let message = |name: &str| match forecaster(name, &ForecasterOptions::default()) {
            Ok(model) => panic!("{name} gave {}", model.name()),
            Err(error) => error.to_string(),
        };
        assert!(message("arima").contains("random-walk"), "{}", message("arima"));
        assert!(message("garch-t+clock").contains("what may be added: none"));
        assert!(message("random-walk+moon").contains("clock, adaptive"));
    }
}
