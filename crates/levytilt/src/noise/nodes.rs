//! Hold the variances and weights of one step and answer questions about its mixture density.

use crate::{Error, Result};
use nalgebra::Complex;
use std::f64::consts::PI;

/// Derivative of the nodes in one parameter p: of each variance at fixed weight, and of each weight at fixed variance.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeDerivative {
    /// Name of the parameter.
    pub name: &'static str,
    /// ∂S_k/∂p.
    pub variances: Vec<f64>,
    /// ∂w_k/∂p; sums to zero.
    pub weights: Vec<f64>,
}

impl NodeDerivative {
    /// Derivative in a parameter that multiplies the increment: S_k ∝ p², weights fixed.
    pub(crate) fn scaling(name: &'static str, value: f64, variances: &[f64]) -> Self {
        let variances: Vec<f64> = variances.iter().map(|s| 2.0 * s / value).collect();
        Self { name, weights: vec![0.0; variances.len()], variances }
    }
}

/// Nodes of one step: the increment has density Σ_k w_k N(·; m_k, S_k), with all m_k = 0 for symmetric noise.
///
/// Weights are positive and sum to one. Without means, variances increase strictly and are ≥ 0 (zero is an atom: no
/// movement).
#[derive(Debug, Clone, PartialEq)]
pub struct Nodes {
    variances: Vec<f64>,
    weights: Vec<f64>,
    log_weights: Vec<f64>,
    derivatives: Vec<NodeDerivative>,
    means: Option<Means>,
}

/// Means m_k of skewed nodes and their derivatives, one row per parameter.
#[derive(Debug, Clone, PartialEq)]
struct Means {
    values: Vec<f64>,
    derivatives: Vec<Vec<f64>>,
}

/// Log-density of an increment with its derivatives.
#[derive(Debug, Clone, PartialEq)]
pub struct LogDensity {
    /// ln p(x).
    pub value: f64,
    /// ∂ ln p/∂x.
    pub dx: f64,
    /// ∂ ln p/∂p for each parameter, in the order of [`Nodes::derivatives`].
    pub parameters: Vec<f64>,
}

/// Largest variance of a node: any sensible firmness times it is still a number.
const LARGEST: f64 = 1e290;

impl Nodes {
    /// Nodes from variances and weights; weights are normalised to sum to one.
    pub fn new(variances: Vec<f64>, weights: Vec<f64>, derivatives: Vec<NodeDerivative>) -> Result<Self> {
        check_count("node weights", weights.len(), variances.len())?;
        let increasing = variances.windows(2).all(|pair| pair[0] < pair[1]);
        let bounded = variances[0] >= 0.0 && variances[variances.len() - 1] <= LARGEST;
        let positive = weights.iter().all(|&w| w > 0.0 && w.is_finite());
        if !(increasing && bounded && positive) {
            return Err(Error::Numerical {
                what: "nodes of a step",
                why: format!(
                    "need variances that increase from 0 or more to {LARGEST:e} at most and positive weights, got variances \
                     {:?} … {:?}; the step or a parameter is too extreme for this noise",
                    variances[0],
                    variances[variances.len() - 1]
                ),
            });
        }
        Ok(Self::normalised(variances, weights, derivatives, None))
    }

    /// Nodes of a skewed law: means, variances and weights, with ∂m_k/∂p in one row of `mean_derivatives` per entry of
    /// `derivatives`. Variances need not be in order; weights are normalised to sum to one.
    pub fn with_means(
        means: Vec<f64>,
        variances: Vec<f64>,
        weights: Vec<f64>,
        derivatives: Vec<NodeDerivative>,
        mean_derivatives: Vec<Vec<f64>>,
    ) -> Result<Self> {
        check_count("node weights", weights.len(), variances.len())?;
        check_count("node means", means.len(), variances.len())?;
        check_count("rows of derivatives of node means", mean_derivatives.len() + 1, derivatives.len() + 1)?;
        for row in &mean_derivatives {
            check_count("derivatives of node means", row.len(), variances.len())?;
        }
        let sound = variances.iter().all(|s| (0.0..=LARGEST).contains(s))
            && means.iter().all(|m| m.abs() <= LARGEST)
            && weights.iter().all(|&w| w > 0.0 && w.is_finite());
        if !sound {
            return Err(Error::Numerical {
                what: "nodes of a step",
                why: format!(
                    "need variances from 0 to {LARGEST:e}, means of that size at most and positive weights; the step or a \
                     parameter is too extreme for this noise"
                ),
            });
        }
        let means = Means { values: means, derivatives: mean_derivatives };
        Ok(Self::normalised(variances, weights, derivatives, Some(means)))
    }

    fn normalised(
        variances: Vec<f64>,
        weights: Vec<f64>,
        derivatives: Vec<NodeDerivative>,
        means: Option<Means>,
    ) -> Self {
        let total: f64 = weights.iter().sum();
        let weights: Vec<f64> = weights.iter().map(|w| w / total).collect();
        let log_weights = weights.iter().map(|w| w.ln()).collect();
        Self { variances, weights, log_weights, derivatives, means }
    }

    /// The nodes of the increment multiplied by `factor` > 0.
    pub(crate) fn scaled(&self, factor: f64) -> Self {
        let times = |by: f64| move |values: &Vec<f64>| values.iter().map(|value| by * value).collect::<Vec<f64>>();
        let (once, twice) = (times(factor), times(factor * factor));
        let derivative = |d: &NodeDerivative| NodeDerivative { variances: twice(&d.variances), ..d.clone() };
        let means = |means: &Means| Means {
            values: once(&means.values),
            derivatives: means.derivatives.iter().map(&once).collect(),
        };
        Self {
            variances: twice(&self.variances),
            weights: self.weights.clone(),
            log_weights: self.log_weights.clone(),
            derivatives: self.derivatives.iter().map(derivative).collect(),
            means: self.means.as_ref().map(means),
        }
    }

    /// Means m_k; none for symmetric noise.
    pub fn means(&self) -> Option<&[f64]> {
        self.means.as_ref().map(|means| means.values.as_slice())
    }

    /// ∂m_k/∂p, one row per entry of [`Nodes::derivatives`]; empty for symmetric noise.
    pub fn mean_derivatives(&self) -> &[Vec<f64>] {
        self.means.as_ref().map_or(&[], |means| means.derivatives.as_slice())
    }

    /// Mean of node `k`.
    fn mean(&self, k: usize) -> f64 {
        self.means.as_ref().map_or(0.0, |means| means.values[k])
    }

    /// Variances S_k, increasing for symmetric noise.
    pub fn variances(&self) -> &[f64] {
        &self.variances
    }

    /// Weights w_k.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// ln w_k.
    pub fn log_weights(&self) -> &[f64] {
        &self.log_weights
    }

    /// Derivatives of the nodes, one entry per parameter of the noise.
    pub fn derivatives(&self) -> &[NodeDerivative] {
        &self.derivatives
    }

    /// The nodes after a change of the parameters by `amount`·v, with ln S_k and ln w_k linear in it and the weights
    /// normalised again: right to first order, as are the derivatives to lowest.
    pub(super) fn moved(&self, v: &[f64], amount: f64) -> Result<Self> {
        let along = |of: &dyn Fn(&NodeDerivative) -> f64, value: f64| -> f64 {
            let slope: f64 = self.derivatives.iter().zip(v).map(|(d, v)| v * of(d)).sum();
            // An atom at S = 0 stays there.
            if value > 0.0 { value * (amount * slope / value).exp() } else { value }
        };
        let count = self.len();
        let variances: Vec<f64> = (0..count).map(|k| along(&|d| d.variances[k], self.variances[k])).collect();
        let weights: Vec<f64> = (0..count).map(|k| along(&|d| d.weights[k], self.weights[k])).collect();
        let mut moved = Self::new(variances, weights, Vec::new())?;
        moved.derivatives = self.derivatives.iter().map(|d| moved.carried(self, d)).collect();
        Ok(moved)
    }

    /// A derivative of `old` nodes, of which these are moved ones: ∂ ln S and ∂ ln w are the same.
    fn carried(&self, old: &Self, derivative: &NodeDerivative) -> NodeDerivative {
        let scaled = |new: &[f64], old: &[f64], by: &[f64]| -> Vec<f64> {
            new.iter()
                .zip(old)
                .zip(by)
                .map(|((new, old), by)| if *old > 0.0 { by * (new / old) } else { *by })
                .collect()
        };
        let mut weights = scaled(&self.weights, &old.weights, &derivative.weights);
        let excess: f64 = weights.iter().sum();
        weights.iter_mut().zip(&self.weights).for_each(|(by, w)| *by -= excess * w);
        NodeDerivative {
            name: derivative.name,
            variances: scaled(&self.variances, &old.variances, &derivative.variances),
            weights,
        }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.variances.len()
    }

    /// Never true: there is at least one node.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Real part of E exp(iuJ) = Σ w_k exp(ium_k − S_k u²/2); the whole of it for symmetric noise.
    pub fn characteristic(&self, u: f64) -> f64 {
        match self.means {
            None => self.sum(|_, s| (-0.5 * s * u * u).exp()),
            Some(_) => self.characteristic_complex(u).re,
        }
    }

    /// E exp(iuJ) = Σ w_k exp(ium_k − S_k u²/2).
    pub fn characteristic_complex(&self, u: f64) -> Complex<f64> {
        let terms = (0..self.len())
            .map(|k| Complex::from_polar(self.weights[k] * (-0.5 * self.variances[k] * u * u).exp(), u * self.mean(k)));
        terms.sum()
    }

    /// P(J ≤ x) = Σ w_k Φ((x − m_k)/√S_k); an atom at S = 0 counts from x = m_k on.
    pub fn cdf(&self, x: f64) -> f64 {
        self.sum(|k, s| {
            let x = x - self.mean(k);
            if s > 0.0 {
                0.5 * libm::erfc(-x / (2.0 * s).sqrt())
            } else if x >= 0.0 {
                1.0
            } else {
                0.0
            }
        })
    }

    /// P(J > x) = Σ w_k Φ((m_k − x)/√S_k), accurate far up in the tail as well.
    pub fn sf(&self, x: f64) -> f64 {
        self.sum(|k, s| match (x - self.mean(k), s > 0.0) {
            (x, true) => 0.5 * libm::erfc(x / (2.0 * s).sqrt()),
            (x, false) => f64::from(x < 0.0),
        })
    }

    /// ln of the mixture density at `x`, with derivatives in x and in every parameter.
    ///
    /// Computed relative to the largest term, so it neither underflows nor overflows for finite `x`. An atom at S = 0
    /// has no density: it is left out, so that away from it this is the density of the continuous part.
    pub fn log_density(&self, x: f64) -> LogDensity {
        let (terms, top) = self.density_terms(x);
        let total: f64 = terms.iter().sum();
        if total == 0.0 {
            return LogDensity { value: top, dx: 0.0, parameters: vec![0.0; self.derivatives.len()] };
        }
        // Responsibility r_k of each node for x, without the nodes that have no density there (an atom, or a variance so
        // small that its term underflows, whose derivatives would be 0·∞).
        let live: Vec<(usize, f64)> =
            terms.iter().enumerate().filter(|(_, t)| **t > 0.0).map(|(k, t)| (k, t / total)).collect();
        let dx = live.iter().map(|&(k, r)| -r * (x - self.mean(k)) / self.variances[k]).sum();
        let parameters = self
            .derivatives
            .iter()
            .enumerate()
            .map(|(i, d)| {
                let by_mean = |k: usize| self.means.as_ref().map_or(0.0, |means| means.derivatives[i][k]);
                live.iter()
                    .map(|&(k, r)| {
                        let (s, x) = (self.variances[k], x - self.mean(k));
                        // ∂ ln N(x; 0, s)/∂s = (x²/s − 1)/(2s)
                        r * (d.weights[k] / self.weights[k]
                            + d.variances[k] * (x * x / s - 1.0) / (2.0 * s)
                            + by_mean(k) * x / s)
                    })
                    .sum()
            })
            .collect();
        LogDensity { value: top + total.ln(), dx, parameters }
    }

    /// The value of [`Nodes::log_density`] alone.
    pub fn log_density_value(&self, x: f64) -> f64 {
        let (terms, top) = self.density_terms(x);
        top + terms.iter().sum::<f64>().ln()
    }

    /// w_k N(x; m_k, S_k) of every node relative to the largest, and the logarithm of that; all 0 if there is no density.
    fn density_terms(&self, x: f64) -> (Vec<f64>, f64) {
        let nodes = self.variances.iter().zip(&self.log_weights).enumerate();
        let mut terms: Vec<f64> = nodes.map(|(k, (&s, l))| l + log_gaussian(x - self.mean(k), s)).collect();
        let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let relative = |t: f64| if top == f64::NEG_INFINITY { 0.0 } else { (t - top).exp() };
        terms.iter_mut().for_each(|t| *t = relative(*t));
        (terms, top)
    }

    fn sum(&self, f: impl Fn(usize, f64) -> f64) -> f64 {
        self.variances.iter().zip(&self.weights).enumerate().map(|(k, (&s, &w))| w * f(k, s)).sum()
    }
}

fn check_count(what: &'static str, got: usize, variances: usize) -> Result<()> {
    if variances > 0 && got == variances {
        return Ok(());
    }
    Err(Error::Shape { what, got: got.to_string(), expected: format!("{variances} (one per variance, at least one)") })
}

/// ln N(x; 0, s); minus infinity for s = 0.
fn log_gaussian(x: f64, s: f64) -> f64 {
    if s > 0.0 { -0.5 * (x * x / s + (2.0 * PI * s).ln()) } else { f64::NEG_INFINITY }
}
