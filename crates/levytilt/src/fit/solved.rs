//! Hold the posterior of a fit before it is written out for users.

use super::BrownianEvidence;
use super::found::Found;
use super::judge::Judgement;
use crate::posterior::Marginal;

/// A posterior found: parameters, paths, and per dimension the marginals if they are known better than from the paths.
pub(super) struct Solved {
    pub found: Found,
    pub judgement: Judgement,
    pub marginals: Vec<Option<Vec<Marginal>>>,
    /// Probabilities that values are wrong, as in [`super::Fit`].
    pub wrong: Vec<Vec<f64>>,
    /// As in [`super::Fit`].
    pub brownian: Vec<(String, BrownianEvidence)>,
}

impl Solved {
    /// Say why it is not exact, if there is a reason worth saying.
    pub(super) fn instead_of_exact(mut self, why_not: Option<String>) -> Self {
        if let (Some(why_not), Some(choice)) = (why_not, self.found.choices.first_mut()) {
            choice.why = format!("{}; not exact on a grid, because {why_not}", choice.why);
        }
        self
    }
}
