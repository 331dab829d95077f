//! Add Brownian motion to any noise (a jump-diffusion): every variance grows by σ²Δ.

use super::{Lengths, NodeDerivative, Nodes, Noise, wrong_count};
use crate::error::positive;
use crate::parameter::{Domain, ParameterEntry};
use crate::{Result, StreamRng};

/// A noise plus an independent Brownian motion with standard deviation `brownian` per √time.
///
/// The parameters are those of the inner noise and `brownian`, last. There is no atom: every step moves.
#[derive(Debug)]
pub struct PlusBrownian {
    inner: Box<dyn Noise>,
    sigma: f64,
}

/// The diffusion beside the jumps. Left out there is none; it is learned where that is asked for.
pub(crate) const BROWNIAN: ParameterEntry = ParameterEntry::new(
    "brownian",
    "additional Brownian motion, standard deviation per square root of time",
    "value/√time",
    Domain::NON_NEGATIVE,
    0.0,
    |scales, _| 0.3 * scales.motion / scales.lag.sqrt(),
);

impl PlusBrownian {
    /// `inner` plus Brownian motion; an error names a `brownian` that is not a positive number (for none at all, use
    /// the inner noise as it is).
    pub fn new(inner: Box<dyn Noise>, sigma: f64) -> Result<Self> {
        positive(BROWNIAN.name, sigma)?;
        Ok(Self { inner, sigma })
    }

    /// The noise to which Brownian motion is added.
    pub fn inner(&self) -> &dyn Noise {
        self.inner.as_ref()
    }
}

/// Nodes that end up closer than this share of their variance are one node: they act alike to 1e-14.
const SAME: f64 = 1e-7;

/// Ranges of neighbouring variances that are the same.
fn groups(variances: &[f64]) -> Vec<std::ops::Range<usize>> {
    let mut groups: Vec<std::ops::Range<usize>> = Vec::new();
    for (k, &s) in variances.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if s - variances[group.start] <= SAME * s => group.end = k + 1,
            _ => groups.push(k..k + 1),
        }
    }
    groups
}

impl PlusBrownian {
    /// Skewed nodes, every variance larger by σ²Δ.
    fn widened(&self, inner: &Nodes, means: &[f64], dt: f64) -> Result<Nodes> {
        let extra = self.sigma * self.sigma * dt;
        let mut derivatives = inner.derivatives().to_vec();
        derivatives.push(NodeDerivative {
            name: "brownian",
            variances: vec![2.0 * self.sigma * dt; means.len()],
            weights: vec![0.0; means.len()],
        });
        let mut mean_derivatives = inner.mean_derivatives().to_vec();
        mean_derivatives.push(vec![0.0; means.len()]);
        let variances = inner.variances().iter().map(|s| s + extra).collect();
        Nodes::with_means(means.to_vec(), variances, inner.weights().to_vec(), derivatives, mean_derivatives)
    }
}

impl Noise for PlusBrownian {
    /// Name of the inner family: Brownian motion is an addition, not a family.
    fn family(&self) -> &'static str {
        self.inner.family()
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        let mut parameters = self.inner.parameters();
        parameters.push((BROWNIAN.name, self.sigma));
        parameters
    }

    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Noise>> {
        match values.split_last() {
            Some((&sigma, inner)) if inner.len() == self.inner.parameters().len() => {
                Ok(Box::new(Self::new(self.inner.with_parameters(inner)?, sigma)?))
            }
            _ => Err(wrong_count(values.len(), self.inner.parameters().len() + 1)),
        }
    }

    fn nodes(&self, dt: f64) -> Result<Nodes> {
        let inner = self.inner.nodes(dt)?;
        if let Some(means) = inner.means() {
            return self.widened(&inner, means, dt);
        }
        let (s, w) = (inner.variances(), inner.weights());
        let extra = self.sigma * self.sigma * dt;
        let groups = groups(&s.iter().map(|s| s + extra).collect::<Vec<_>>());
        let sum = |group: &std::ops::Range<usize>, f: &dyn Fn(usize) -> f64| -> f64 { group.clone().map(f).sum() };
        let weights: Vec<f64> = groups.iter().map(|g| sum(g, &|k| w[k])).collect();
        // Mean variance of a group, before the Brownian one is added.
        let means: Vec<f64> = groups.iter().zip(&weights).map(|(g, total)| sum(g, &|k| w[k] * s[k]) / total).collect();
        let mut derivatives: Vec<NodeDerivative> = inner
            .derivatives()
            .iter()
            .map(|d| NodeDerivative {
                name: d.name,
                // ∂(Σ w s/Σ w) = Σ [w ∂s + ∂w (s − mean)]/Σ w
                variances: (0..groups.len())
                    .map(|i| {
                        sum(&groups[i], &|k| w[k] * d.variances[k] + d.weights[k] * (s[k] - means[i])) / weights[i]
                    })
                    .collect(),
                weights: groups.iter().map(|g| sum(g, &|k| d.weights[k])).collect(),
            })
            .collect();
        derivatives.push(NodeDerivative {
            name: BROWNIAN.name,
            variances: vec![2.0 * self.sigma * dt; groups.len()],
            weights: vec![0.0; groups.len()],
        });
        Nodes::new(means.iter().map(|s| s + extra).collect(), weights, derivatives)
    }

    fn sample_variance(&self, dt: f64, rng: &mut StreamRng) -> f64 {
        self.inner.sample_variance(dt, rng) + self.sigma * self.sigma * dt
    }

    fn sample_mean_and_variance(&self, dt: f64, rng: &mut StreamRng) -> (f64, f64) {
        let (mean, variance) = self.inner.sample_mean_and_variance(dt, rng);
        (mean, variance + self.sigma * self.sigma * dt)
    }

    fn characteristic_phase(&self, dt: f64, u: f64) -> f64 {
        self.inner.characteristic_phase(dt, u)
    }

    fn log_characteristic(&self, dt: f64, u: f64) -> f64 {
        self.inner.log_characteristic(dt, u) - 0.5 * dt * (self.sigma * u).powi(2)
    }

    fn lengthening(&self) -> Option<Vec<f64>> {
        let mut change = self.inner.lengthening()?;
        change.push(0.5 * self.sigma);
        Some(change)
    }

    fn lengths(&self) -> Lengths {
        self.inner.lengths().plus_brownian()
    }

    fn has_variance(&self) -> bool {
        self.inner.has_variance()
    }
}
