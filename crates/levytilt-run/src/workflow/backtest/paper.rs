//! The two models of the paper for prices, with its settings: tilted stable noise, and Brownian motion with the same drift.

use anyhow::Result;

use crate::failure::bad;
use crate::settings::Settings;

/// Names that may stand in --models.
pub const NAMES: [&str; 2] = ["paper", "paper-gaussian"];

/// Settings of the published code for prices: time in lengths of the training part, where the jumps have unit scale, α = 1.9,
/// τ = 0.01 and an observation error of 0.1; one hidden layer of 32 for the drift; 500 paths, 1000 latent steps and 3000
/// iterations of RMSProp on the pathwise gradient. Penalties there are weights of sums of squares, here of half of them.
const TILTED: &str = r#"
[model]
drift = "neural"
noise = "truncated-stable"
alpha = 1.9
scale = 1.0
tau = 0.01
sigma_g = 1.0
observation_std = 0.1
x0 = 0.0
[drift]
width = 32
depth = 1
[grid]
steps = 1000
[solve]
method = "paper"
paths = 500
iterations = 3000
[paper]
gradient = "published"
drift_rate = 5e-6
drift_ridge = 4.0
ridge = 0.02
"#;

/// Brownian motion of unit scale with a network of the same size for the drift and the published observation error of 0.2. The
/// path given the drift is exact here, where the paper trains a control.
const GAUSSIAN: &str = r#"
[model]
drift = "neural"
noise = "gaussian"
scale = 1.0
observation_std = 0.2
x0 = 0.0
[drift]
width = 32
depth = 1
"#;

/// Values of α that +grid tries.
const GRID: [f64; 3] = [1.5, 1.7, 1.9];
/// Paths and iterations of +small, which has no latent times beside the observed ones.
const SMALL: (usize, usize) = (100, 300);

/// Whether this is one of them, with what may be added.
pub fn is_paper(name: &str) -> bool {
    name.split('+').next().is_some_and(|kind| NAMES.contains(&kind))
}

/// The settings of one of them; `steps` in place of its number of iterations.
///
/// # Errors
/// Additions that it does not take.
pub fn settings(name: &str, steps: Option<usize>) -> Result<Settings> {
    let mut parts = name.split('+');
    let tilted = parts.next() == Some(NAMES[0]);
    let mut settings = Settings::parse(if tilted { TILTED } else { GAUSSIAN }, name)?;
    if tilted {
        settings.solve.iterations = steps.or(settings.solve.iterations);
    }
    for part in parts {
        match part {
            "small" if tilted => {
                (settings.grid.steps, settings.solve.paths) = (None, Some(SMALL.0));
                settings.solve.iterations = steps.or(Some(SMALL.1));
            }
            "grid" if tilted => {
                settings.model.values.set("alpha", None);
                settings.paper.alpha_grid = Some(GRID.to_vec());
            }
            _ => {
                let known = if tilted { "small, grid" } else { "none" };
                return Err(bad(format!("--models {name}: cannot be made \"{part}\"; what may be added: {known}")));
            }
        }
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_settings_of_every_name_are_taken() {
        for name in ["paper", "paper+small", "paper+grid", "paper+small+grid", "paper-gaussian"] {
            assert!(is_paper(name) && settings(name, None).is_ok(), "{name}: {:?}", settings(name, None).err());
        }
        let small = settings("paper+small", Some(7)).unwrap();
        assert_eq!((small.solve.iterations, small.solve.paths, small.grid.steps), (Some(7), Some(100), None));
        assert_eq!(settings("paper", None).unwrap().solve.iterations, Some(3000));
        assert!(!is_paper("papers") && settings("paper-gaussian+small", None).is_err());
    }
}
