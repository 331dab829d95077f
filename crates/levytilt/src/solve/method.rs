//! Name the ways to find a posterior.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A way to get posterior paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The cheapest one that serves the data: sweeps, unless a Gaussian sum raises the ELBO by more than two nats
    /// per thousand observations.
    #[default]
    Auto,
    /// Exact paths from the messages of the grid reference; one dimension.
    Grid,
    /// One quadratic potential per time, improved by guarded sweeps: dense data.
    Sweep,
    /// A sum of Gaussians per time from one backward pass: sparse data.
    GaussianSum,
    /// Potentials from networks of time, trained on the ELBO by the crate levytilt-paper.
    Neural,
    /// The published method, from end to end, by the crate levytilt-paper.
    Paper,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 6] = [Self::Auto, Self::Grid, Self::Sweep, Self::GaussianSum, Self::Neural, Self::Paper];

    /// Name as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Grid => "grid",
            Self::Sweep => "sweep",
            Self::GaussianSum => "gaussian-sum",
            Self::Neural => "neural",
            Self::Paper => "paper",
        }
    }

    /// What it does, in a line.
    pub fn about(self) -> &'static str {
        match self {
            Self::Auto => "The exact grid for independent columns, where affordable; else sweeps or a Gaussian sum",
            Self::Grid => "Exact paths from a grid of states: one dimension, slower",
            Self::Sweep => "One quadratic potential per time, improved by sweeps: dense data",
            Self::GaussianSum => "A sum of Gaussians per time from one backward pass: sparse data",
            Self::Neural => "One quadratic potential per time from networks trained on the ELBO: minutes",
            Self::Paper => {
                "The published method: networks, Algorithm 2, continuous-time ELBO: hours at its full budget"
            }
        }
    }

    /// The method with this name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The method that was used, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Never [`Method::Auto`].
    pub method: Method,
    /// The reason, as the end of a sentence.
    pub why: String,
}
