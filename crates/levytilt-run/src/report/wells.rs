//! Ask whether the record proves several wells: count the stable equilibria of the drift over draws of its parameters.

use levytilt::internals::fit::Fit;
use levytilt::internals::solve::rebuild;
use levytilt::{StateSpace, stream};
use rand_distr::{Distribution, StandardNormal};

use super::page::Block;
use crate::number::brief;

/// Draws of the parameters, and their seed.
const DRAWS: usize = 400;
const SEED: u64 = 1;
/// Share of the draws from which wells count as proven.
const PROVEN: f64 = 0.95;

/// Stable equilibria of a drift within the states that were visited.
#[derive(Debug, Clone, PartialEq)]
pub struct Wells {
    /// Where they are at the estimates.
    pub places: Vec<f64>,
    /// Share of draws of the parameters that have as many or more; none where errors are not known.
    pub share: Option<f64>,
}

impl Wells {
    /// Count them on the grid `xs`, where `rates` gives the drift of a model.
    pub fn new(fit: &Fit, xs: &[f64], rates: impl Fn(&StateSpace) -> Vec<f64>) -> Self {
        let places = stable(xs, &rates(&fit.model));
        let has = |model: &StateSpace| stable(xs, &rates(model)).len() >= places.len();
        let share = draws(fit).map(|models| models.iter().filter(|model| has(model)).count() as f64 / DRAWS as f64);
        Self { places, share }
    }

    /// Whether a drift that shows several wells may have fewer.
    pub fn doubtful(&self) -> bool {
        self.places.len() > 1 && self.share.is_none_or(|share| share < PROVEN)
    }

    /// What to say of them; nothing of a single one.
    pub fn verdict(&self) -> Option<Block> {
        let count = ["", "", "Two", "Three", "Four"].get(self.places.len()).copied().unwrap_or("Several");
        if self.places.len() < 2 {
            return None;
        }
        let places: Vec<String> = self.places.iter().map(|place| brief(*place)).collect();
        let found = format!("The estimated drift has stable states at {}.", places.join(" and "));
        Some(match self.share {
            None => Block::Warning(format!(
                "{found} {count} wells are not established: the uncertainty of this drift is not known."
            )),
            Some(share) if self.doubtful() => Block::Warning(format!(
                "{found} {count} wells are not established: only {:.0}% of {DRAWS} draws of the parameters have as \
                 many; {:.0}% would \
                 be needed.",
                100.0 * share,
                100.0 * PROVEN
            )),
            Some(share) => Block::Good(format!(
                "{found} {count} wells are supported: {:.0}% of {DRAWS} draws of the parameters have as many.",
                100.0 * share
            )),
        })
    }
}

/// Where a curve crosses zero from above.
fn stable(xs: &[f64], rates: &[f64]) -> Vec<f64> {
    let crossing = |k: usize| {
        let (before, after) = (rates[k - 1], rates[k]);
        (before > 0.0 && after <= 0.0).then(|| xs[k - 1] + (xs[k] - xs[k - 1]) * before / (before - after))
    };
    (1..xs.len()).filter_map(crossing).collect()
}

/// Models at draws from the Gaussian law of the parameters on their free scales; one that cannot be built has no wells.
fn draws(fit: &Fit) -> Option<Vec<StateSpace>> {
    let free: Vec<usize> = (0..fit.parameters.len()).filter(|&k| !fit.parameters[k].fixed).collect();
    if fit.network.is_some() || fit.covariance.is_empty() || fit.model.drift.parameter_count() == 0 {
        return None;
    }
    let (n, root) = (free.len(), root(&fit.covariance, free.len())?);
    let mut random = stream(SEED, 0);
    let mut draw = || {
        let z: Vec<f64> = (0..n).map(|_| StandardNormal.sample(&mut random)).collect();
        let mut values: Vec<f64> = fit.parameters.iter().map(|p| p.value).collect();
        for (i, &k) in free.iter().enumerate() {
            let transform = fit.transforms()[k];
            let away: f64 = (0..=i).map(|j| root[i * n + j] * z[j]).sum();
            let mean = transform.forward(values[k]) + fit.shift.get(i).copied().unwrap_or(0.0);
            values[k] = transform.backward(mean + away);
        }
        rebuild(&fit.model, &values).ok()
    };
    Some((0..DRAWS).filter_map(|_| draw()).collect())
}

/// The lower Cholesky factor of a covariance; none where it is not positive definite.
fn root(covariance: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut root = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| root[i * n + k] * root[j * n + k]).sum();
            let rest = covariance[i * n + j] - sum;
            root[i * n + j] = match i == j {
                true if rest > 0.0 => rest.sqrt(),
                // A parameter that the data do not move has no variance.
                true if rest == 0.0 => 0.0,
                true => return None,
                false if root[j * n + j] == 0.0 => 0.0,
                false => rest / root[j * n + j],
            };
        }
    }
    Some(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_equilibria_of_a_double_well() {
        let xs: Vec<f64> = (0..=400).map(|k| -2.0 + 0.01 * f64::from(k)).collect();
        let well = |a: f64| stable(&xs, &xs.iter().map(|x| a * x - x.powi(3)).collect::<Vec<_>>());
        let places = well(1.0);
        assert_eq!(places.len(), 2);
        assert!((places[0] + 1.0).abs() < 1e-3 && (places[1] - 1.0).abs() < 1e-3, "{places:?}");
        assert_eq!(well(-1.0).len(), 1);
    }

    #[test]
    fn golden_root_of_a_covariance() {
        let root = root(&[4.0, 2.0, 2.0, 10.0], 2).unwrap();
        assert_eq!(root, [2.0, 0.0, 1.0, 3.0]);
        assert!(super::root(&[1.0, 2.0, 2.0, 1.0], 2).is_none());
    }

    #[test]
    fn identity_wells_are_called_proven_only_if_most_draws_have_them() {
        let told = |share: Option<f64>| {
            let wells = Wells { places: vec![-1.0, 1.0], share };
            match wells.verdict() {
                Some(Block::Good(text)) => (true, text),
                Some(Block::Warning(text)) => (false, text),
                _ => panic!("nothing said"),
            }
        };
        assert!(told(Some(0.99)).0 && told(Some(0.99)).1.contains("99%"));
        assert!(!told(Some(0.91)).0 && told(Some(0.91)).1.contains("Two wells are not proven"));
        assert!(!told(None).0 && told(None).1.contains("not known"));
        assert!(Wells { places: vec![0.0], share: Some(0.2) }.verdict().is_none());
    }
}
