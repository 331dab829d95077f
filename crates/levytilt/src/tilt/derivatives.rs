//! Differentiate ln Z and the divergence of a tilted step in the state, the potential and the nodes.
//!
//! With t_k = ln w_k + ½ ln g_k − κ g_k and φ̄_k = E[φ(x')|k] = −κ g_k² − (1 − g_k)/2:
//! ∂ ln Z = E_q[∂t], and, from KL = E_q(φ̄) − ln Z, ∂KL = E_q[∂φ̄] + Cov_q(∂t, φ̄) − E_q[∂t].

use super::step::{StepNode, TiltedStep};

/// Derivatives of one quantity of a tilted step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepDerivatives {
    /// In the state x̃ before the noise.
    pub state: f64,
    /// In the firmness a.
    pub a: f64,
    /// In the centre c.
    pub c: f64,
    /// In each variance S_k.
    pub variances: Vec<f64>,
    /// In each weight w_k, the others fixed (not renormalised).
    pub weights: Vec<f64>,
}

/// ∂t_k or ∂φ̄_k in x̃, a and S_k (c is minus x̃).
struct Slopes {
    state: f64,
    a: f64,
    variance: f64,
}

impl TiltedStep {
    /// Derivatives of ln Z at x̃.
    pub fn log_z_derivatives(&self, x: f64) -> StepDerivatives {
        let q = self.evaluate(x).weights;
        let delta = self.potential.c() - x;
        let terms: Vec<Slopes> = self.nodes.iter().map(|n| n.log_term_slopes(self.potential.a(), delta)).collect();
        let mean = |f: &dyn Fn(&Slopes) -> f64| -> f64 { terms.iter().zip(&q).map(|(t, q)| q * f(t)).sum() };
        let state = mean(&|t| t.state);
        StepDerivatives {
            state,
            a: mean(&|t| t.a),
            c: -state,
            variances: terms.iter().zip(&q).map(|(t, q)| q * t.variance).collect(),
            weights: self.nodes.iter().zip(&q).map(|(n, q)| q / n.weight).collect(),
        }
    }

    /// Derivatives of KL(q ‖ p) at x̃. In the weights it is that of E_q(φ) − ln Z.
    pub fn kl_derivatives(&self, x: f64) -> StepDerivatives {
        let q = self.evaluate(x).weights;
        let (a, delta) = (self.potential.a(), self.potential.c() - x);
        let values: Vec<f64> = self.nodes.iter().map(|n| n.mean_potential(a, delta)).collect();
        let centre: f64 = values.iter().zip(&q).map(|(r, q)| r * q).sum();
        let slopes: Vec<(Slopes, Slopes)> =
            self.nodes.iter().map(|n| (n.log_term_slopes(a, delta), n.mean_potential_slopes(a, delta))).collect();
        let per_node = |f: &dyn Fn(&Slopes) -> f64| -> Vec<f64> {
            slopes
                .iter()
                .zip(q.iter().zip(&values))
                .map(|((t, r), (q, value))| q * (f(r) + (value - centre - 1.0) * f(t)))
                .collect()
        };
        let state = per_node(&|s| s.state).iter().sum::<f64>();
        StepDerivatives {
            state,
            a: per_node(&|s| s.a).iter().sum(),
            c: -state,
            variances: per_node(&|s| s.variance),
            weights: self
                .nodes
                .iter()
                .zip(q.iter().zip(&values))
                .map(|(n, (q, value))| q / n.weight * (value - centre - 1.0))
                .collect(),
        }
    }

    /// ∂ ln q_k/∂x̃ for each node: 2aδ(g_k − E_q(g)): how a change of the state moves the probability of the node drawn.
    pub fn node_gradient(&self, x: f64) -> Vec<f64> {
        let mean_g = self.evaluate(x).mean_g;
        let pull = 2.0 * self.potential.a() * (self.potential.c() - x);
        self.nodes.iter().map(|n| pull * (n.g - mean_g)).collect()
    }
}

impl StepNode {
    /// t = ln w + ½ ln g − κ g: ∂t/∂x̃ = 2aδg, ∂t/∂a = −(S g + δ²g²), ∂t/∂S = a g(2κ g − 1).
    fn log_term_slopes(&self, a: f64, delta: f64) -> Slopes {
        let g = self.g;
        let kappa = a * delta * delta;
        Slopes {
            state: 2.0 * a * delta * g,
            a: -(self.variance * g + (delta * g).powi(2)),
            variance: a * g * (2.0 * kappa * g - 1.0),
        }
    }

    /// φ̄ = −a(S g + δ²g²).
    fn mean_potential(&self, a: f64, delta: f64) -> f64 {
        -a * (delta * self.g).powi(2) - 0.5 * self.gain
    }

    /// ∂φ̄/∂x̃ = 2aδg², ∂φ̄/∂a = −(S g + δ²g²) + g·(1 − g)(S + 2δ²g), ∂φ̄/∂S = a g²(4κ g − 1).
    fn mean_potential_slopes(&self, a: f64, delta: f64) -> Slopes {
        let (g, s) = (self.g, self.variance);
        let kappa = a * delta * delta;
        Slopes {
            state: 2.0 * a * delta * g * g,
            a: -(s * g + (delta * g).powi(2)) + g * self.gain * (s + 2.0 * delta * delta * g),
            variance: a * g * g * (4.0 * kappa * g - 1.0),
        }
    }
}
