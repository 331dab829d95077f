//! Keep what a forecast needs of a fit: where it ended, with which states, and how its times are written.

use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::path::Path;

use levytilt::drift::Neural;

use crate::failure::bad;
use crate::networks;
use crate::one_or_many::OneOrMany;
use crate::settings::{DriftKind, Settings};
use crate::tensors::Tensors;
use crate::time::{Calendar, Stamp, Written, parse};

/// Name of the file.
pub const STATE: &str = "state.json";
/// Name of the settings with every estimate filled in.
pub const MODEL: &str = "model.toml";

/// Name of the file with the weights of networks.
pub const NETWORK: &str = "model.safetensors";

/// The content of state.json.
#[derive(Debug, Serialize, Deserialize)]
pub struct State {
    /// Names of the observed columns.
    pub dimension: OneOrMany<String>,
    /// Last latent time.
    pub time: f64,
    /// Typical latent step.
    pub step: f64,
    /// First and last timestamp; nothing if times are numbers.
    pub stamps: Vec<String>,
    /// Posterior states at the last time, dimension fastest.
    pub states: Vec<f64>,
    /// Their weights.
    pub weights: Vec<f64>,
    /// Seed of the fit.
    pub seed: u64,
}

impl State {
    /// Read the state and the model of the run in `dir`.
    pub fn read(dir: &Path) -> Result<(Self, Settings)> {
        let text = |name: &str| {
            let path = dir.join(name);
            std::fs::read_to_string(&path).map_err(|e| {
                bad(format!("{}: cannot be read ({e}); expected a directory of `levytilt fit --out`", path.display()))
            })
        };
        let damaged = |name: &str, why: String| bad(format!("{}: {why}", dir.join(name).display()));
        let state = serde_json::from_str(&text(STATE)?).map_err(|e| damaged(STATE, e.to_string()))?;
        let settings = toml::from_str(&text(MODEL)?).map_err(|e| damaged(MODEL, e.to_string()))?;
        Ok((state, settings))
    }

    /// Read the drift network of the run in `dir`, if `settings` say that there is one.
    pub fn read_network(dir: &Path, settings: &Settings) -> Result<Option<Neural>> {
        if settings.drift() != DriftKind::Neural {
            return Ok(None);
        }
        let path = dir.join(NETWORK);
        let bytes = std::fs::read(&path).map_err(|e| bad(format!("{}: cannot be read ({e})", path.display())))?;
        Tensors::read(&bytes)
            .and_then(|t| networks::drift(&t))
            .map(Some)
            .map_err(|e| bad(format!("{}: {e:#}", path.display())))
    }

    /// How times are written.
    pub fn calendar(&self) -> Result<Calendar> {
        let stamp = |text: &String| match parse(text) {
            Ok(Written::Stamp(stamp)) => Ok(stamp),
            _ => Err(bad(format!("{STATE}: {text} is not a timestamp"))),
        };
        let stamps = self.stamps.iter().map(stamp).collect::<Result<Vec<Stamp>>>()?;
        Ok(if stamps.is_empty() { Calendar::Numbers } else { Calendar::Days(stamps) })
    }
}
