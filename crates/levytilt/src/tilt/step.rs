//! Tilt one step by a quadratic potential, node by node: the plain version.

use crate::StreamRng;
use crate::noise::Nodes;
use crate::potential::Quadratic;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use std::borrow::Borrow;

/// A prior step tilted by a quadratic potential, for any state x̃ before the noise.
#[derive(Debug, Clone)]
pub struct TiltedStep {
    pub(super) potential: Quadratic,
    pub(super) nodes: Vec<StepNode>,
}

/// What a node contributes, independent of the state.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepNode {
    /// Variance S.
    pub variance: f64,
    /// Prior weight w.
    pub weight: f64,
    /// g = 1/(1 + 2aS): 1 for a node that cannot move, near 0 for one that can go anywhere.
    pub g: f64,
    /// ln g, from ln(1 + 2aS) so that it is accurate for g near 1.
    pub log_g: f64,
    /// ln w + ½ ln g.
    pub log_weight: f64,
    /// Gain 1 − g = 2aSg, without the subtraction.
    pub gain: f64,
    /// Standard deviation √(S g) of the next state given the node; finite and right for a = 0 too.
    pub std: f64,
}

/// A tilted step seen from one state.
#[derive(Debug, Clone, PartialEq)]
pub struct Tilted {
    /// ln Z.
    pub log_z: f64,
    /// q_k, the law of the node under the tilted step.
    pub weights: Vec<f64>,
    /// E_q(g); ∂ ln Z/∂κ = −E_q(g).
    pub mean_g: f64,
    /// KL(q ‖ p) of the step, never negative.
    pub kl: f64,
}

/// What a change of the potential or of the state does to the law of the node depends on these.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// ln Z.
    pub log_z: f64,
    /// E_q(g).
    pub mean_g: f64,
    /// E_q(g²).
    pub mean_square_g: f64,
}

/// Beyond this e^l is soon no number.
const LARGEST_EXPONENT: f64 = 700.0;

/// A draw from a tilted step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draw {
    /// The node drawn.
    pub node: usize,
    /// The next state.
    pub state: f64,
    /// ln Z(x̃), the step's share of the path's log-weight together with −φ(state).
    pub log_z: f64,
}

impl TiltedStep {
    /// Tilt the nodes of a step.
    pub fn new(nodes: &Nodes, potential: Quadratic) -> Self {
        let a = potential.a();
        let laws = nodes.weights().iter().zip(nodes.log_weights());
        let nodes = nodes.variances().iter().zip(laws).map(|(&s, (&w, &l))| StepNode::new(s, w, l, a)).collect();
        Self { potential, nodes }
    }

    /// The potential.
    pub fn potential(&self) -> Quadratic {
        self.potential
    }

    /// κ = a(c − x̃)², the energy of the state before the noise.
    pub fn kappa(&self, x: f64) -> f64 {
        -self.potential.log_value(x)
    }

    /// ln Z(x̃) = ln Σ w_k √g_k e^{−κ g_k}, relative to the largest term.
    pub fn log_z(&self, x: f64) -> f64 {
        self.node_law(self.kappa(x)).0
    }

    /// ln Z, node law, E_q(g) and divergence at x̃. All finite for every finite κ.
    pub fn evaluate(&self, x: f64) -> Tilted {
        let kappa = self.kappa(x);
        let (log_z, weights) = self.node_law(kappa);
        let mean_g = self.nodes.iter().zip(&weights).map(|(n, q)| q * n.g).sum();
        let kl = self.nodes.iter().zip(&weights).map(|(n, q)| n.divergence(kappa, log_z, *q)).sum();
        Tilted { log_z, weights, mean_g, kl }
    }

    /// E_q[(x' − target)²] from x̃.
    pub fn mean_square(&self, x: f64, target: f64) -> f64 {
        let (_, weights) = self.node_law(self.kappa(x));
        let square = |k: usize| (self.move_from(x, k, 0.0) - target).powi(2) + self.nodes[k].std.powi(2);
        weights.iter().enumerate().filter(|(_, q)| **q > 0.0).map(|(k, q)| q * square(k)).sum()
    }

    /// ln Z and the first two moments of g at x̃.
    pub fn moments(&self, x: f64) -> Moments {
        let (log_z, weights) = self.node_law(self.kappa(x));
        let mean = |f: &dyn Fn(f64) -> f64| self.nodes.iter().zip(&weights).map(|(n, q)| q * f(n.g)).sum();
        Moments { log_z, mean_g: mean(&|g| g), mean_square_g: mean(&|g| g * g) }
    }

    /// Draw the node and the next state from x̃.
    pub fn draw(&self, x: f64, rng: &mut StreamRng) -> Draw {
        let (log_z, weights) = self.node_law(self.kappa(x));
        let node = pick(&weights, rng.random());
        Draw { node, state: self.move_from(x, node, StandardNormal.sample(rng)), log_z }
    }

    /// ln Z and q_k at κ.
    fn node_law(&self, kappa: f64) -> (f64, Vec<f64>) {
        let mut weights: Vec<f64> = self.nodes.iter().map(|n| n.log_term(kappa)).collect();
        let top = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        weights.iter_mut().for_each(|w| *w = (*w - top).exp());
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= total);
        (top + total.ln(), weights)
    }

    /// x̃ + (1 − g_k)(c − x̃) + √(S_k g_k)·ε: the next state for a node and a standard normal number.
    pub fn move_from(&self, x: f64, node: usize, normal: f64) -> f64 {
        let n = &self.nodes[node];
        x + n.gain * (self.potential.c() - x) + n.std * normal
    }
}

impl StepNode {
    fn new(variance: f64, weight: f64, log_weight: f64, a: f64) -> Self {
        let spread = 2.0 * a * variance;
        let g = 1.0 / (1.0 + spread);
        let log_g = -spread.ln_1p();
        Self {
            variance,
            weight,
            g,
            log_g,
            log_weight: log_weight + 0.5 * log_g,
            gain: spread * g,
            std: (variance * g).sqrt(),
        }
    }

    /// ln(w √g e^{−κg}).
    pub(super) fn log_term(&self, kappa: f64) -> f64 {
        self.log_weight - kappa * self.g
    }

    /// This node's share of KL(q ‖ p), as a sum of terms that cannot be negative:
    /// w·h(ln q/w) with h(l) = l e^l − e^l + 1, and q times the divergence of two Gaussians,
    /// κ g(1 − g) + ½(g − 1 − ln g). (Written as Σ q_k φ̄_k − ln Z it would cancel for large κ.)
    fn divergence(&self, kappa: f64, log_z: f64, q: f64) -> f64 {
        let l = 0.5 * self.log_g - kappa * self.g - log_z;
        let entropy = match l {
            _ if l.abs() < 1e-4 => self.weight * l * l * (0.5 + l / 3.0),
            // e^l = q/w is no number where w has few digits left; w(e^l − 1) = q − w.
            _ if l > LARGEST_EXPONENT => q * l - (q - self.weight),
            _ => q * l - self.weight * l.exp_m1(),
        };
        let gaussian = kappa * self.g * self.gain + 0.5 * self.shrinkage();
        entropy + q * gaussian
    }

    /// g − 1 − ln g ≥ 0, by its series where the terms cancel.
    pub(super) fn shrinkage(&self) -> f64 {
        let spread = self.gain / self.g; // 2aS
        if spread < 1e-4 { spread * spread * (0.5 - 2.0 / 3.0 * spread) } else { -self.gain - self.log_g }
    }
}

/// The index at which the running sum of `weights` (total one) passes `uniform` in [0, 1).
pub fn pick(weights: impl IntoIterator<Item: Borrow<f64>>, uniform: f64) -> usize {
    let mut rest = uniform;
    let mut last = 0;
    for (k, w) in weights.into_iter().enumerate() {
        let w = *w.borrow();
        if w > 0.0 {
            last = k;
        }
        if rest < w {
            return k;
        }
        rest -= w;
    }
    // Rounding left a crumb beyond the last weight.
    last
}
