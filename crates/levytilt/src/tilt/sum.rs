//! Tilt one step by a Gaussian-sum potential: first draw which bump calls, then step as for a quadratic.

use super::step::{Draw, TiltedStep, pick};
use crate::StreamRng;
use crate::noise::{Nodes, panel_points};
use crate::potential::GaussianSum;
use rand::RngExt;

/// A prior step tilted by e^{φ(x)} = Σ_m π_m exp(−a_m(x − c_m)²); Z = Σ_m π_m Z_m.
#[derive(Debug, Clone)]
pub struct SumStep {
    potential: GaussianSum,
    /// ln π_m and the step tilted by component m alone.
    parts: Vec<(f64, TiltedStep)>,
}

/// Derivatives of ln Z of a Gaussian-sum step: in the state, and per component in (ln π_m, a_m, c_m).
#[derive(Debug, Clone, PartialEq)]
pub struct SumDerivatives {
    /// In the state x̃.
    pub state: f64,
    /// In (ln π_m, a_m, c_m) of each component.
    pub components: Vec<[f64; 3]>,
    /// In each variance S_k.
    pub variances: Vec<f64>,
    /// In each weight w_k, the others fixed.
    pub weights: Vec<f64>,
}

impl SumStep {
    /// Tilt the nodes of a step.
    pub fn new(nodes: &Nodes, potential: GaussianSum) -> Self {
        let parts = potential.components().iter().map(|&(l, q)| (l, TiltedStep::new(nodes, q))).collect();
        Self { potential, parts }
    }

    /// The potential.
    pub fn potential(&self) -> &GaussianSum {
        &self.potential
    }

    /// ln Z(x̃).
    pub fn log_z(&self, x: f64) -> f64 {
        self.calls(x).0
    }

    /// ln Z(x̃) and the probability that each component calls, π_m Z_m/Z.
    pub fn calls(&self, x: f64) -> (f64, Vec<f64>) {
        let terms: Vec<f64> = self.parts.iter().map(|(l, step)| l + step.log_z(x)).collect();
        let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let log_z = top + terms.iter().map(|t| (t - top).exp()).sum::<f64>().ln();
        (log_z, terms.iter().map(|t| (t - log_z).exp()).collect())
    }

    /// Draw component, node and next state from x̃.
    pub fn draw(&self, x: f64, rng: &mut StreamRng) -> Draw {
        let (log_z, calls) = self.calls(x);
        let component = pick(&calls, rng.random());
        Draw { log_z, ..self.parts[component].1.draw(x, rng) }
    }

    /// q_k, the law of the node, summed over components.
    pub fn node_weights(&self, x: f64) -> Vec<f64> {
        let (_, calls) = self.calls(x);
        let mut total = vec![0.0; self.parts[0].1.nodes.len()];
        for ((_, step), call) in self.parts.iter().zip(calls) {
            for (sum, q) in total.iter_mut().zip(step.evaluate(x).weights) {
                *sum += call * q;
            }
        }
        total
    }

    /// Derivatives of ln Z: each component's own, weighted by how often it calls.
    pub fn log_z_derivatives(&self, x: f64) -> SumDerivatives {
        let (_, calls) = self.calls(x);
        let nodes = self.parts[0].1.nodes.len();
        let mut out = SumDerivatives {
            state: 0.0,
            components: Vec::new(),
            variances: vec![0.0; nodes],
            weights: vec![0.0; nodes],
        };
        for ((_, step), call) in self.parts.iter().zip(calls) {
            let part = step.log_z_derivatives(x);
            out.state += call * part.state;
            out.components.push([call, call * part.a, call * part.c]);
            for k in 0..nodes {
                out.variances[k] += call * part.variances[k];
                out.weights[k] += call * part.weights[k];
            }
        }
        out
    }

    /// KL(q ‖ p) = E_q[φ(x')] − ln Z.
    ///
    /// φ is the logarithm of a sum, so its mean has no closed form: it is integrated against every Gaussian of q with
    /// Gauss–Legendre panels that end at each bump's centre and at multiples of its width, which resolves every bend of
    /// φ (about 1e-9; a reference, not for the hot path).
    pub fn kl(&self, x: f64) -> f64 {
        let (log_z, calls) = self.calls(x);
        let mut mean = 0.0;
        for ((_, step), call) in self.parts.iter().zip(calls) {
            for (k, q) in step.evaluate(x).weights.iter().enumerate() {
                if call * q > 0.0 {
                    mean += call * q * self.mean_potential(step.move_from(x, k, 0.0), step.nodes[k].std);
                }
            }
        }
        mean - log_z
    }

    /// E φ(X) for X ~ N(mean, std²).
    fn mean_potential(&self, mean: f64, std: f64) -> f64 {
        if std == 0.0 {
            return self.potential.log_value(mean);
        }
        let reach = 9.0;
        let mut edges: Vec<f64> = (-9..=9).map(f64::from).collect();
        for (_, bump) in self.potential.components() {
            let width = 1.0 / (2.0 * bump.a()).sqrt();
            edges.extend((-16..=16).map(|i| (bump.c() + 0.5 * f64::from(i) * width - mean) / std));
        }
        edges.retain(|e| e.abs() <= reach);
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        let norm = 1.0 / (2.0 * std::f64::consts::PI).sqrt();
        let points = panel_points(&edges);
        points.iter().map(|(z, w)| w * norm * (-0.5 * z * z).exp() * self.potential.log_value(mean + std * z)).sum()
    }
}
