//! Say how the increments of a noise over steps of different lengths are related.

/// How the increments of a noise over steps of different lengths are related.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lengths {
    /// Each step has a law of its own.
    Unrelated,
    /// Increments over adjoining steps add up to one over both.
    Additive,
    /// They add up, and an increment over Δ is Δ^{1/index} times one over 1, and any multiple of one is one of another scale.
    SelfSimilar {
        /// The index: 2 for Brownian motion, α for a stable process.
        index: f64,
        /// Place of the index among the parameters, if it is one.
        parameter: Option<usize>,
        /// Place of the scale among the parameters.
        scale: usize,
    },
}

impl Lengths {
    /// What is left of this relation when Brownian motion is added: sums stay, but two indices are not one.
    pub(super) fn plus_brownian(self) -> Self {
        match self {
            Self::Unrelated => Self::Unrelated,
            Self::Additive | Self::SelfSimilar { .. } => Self::Additive,
        }
    }
}
