//! What a backward filter does to a sum of bumps: weigh by an observation, spread by the noise of a step.

use crate::noise::Nodes;
use crate::noise::fast_exp::exp_slice;

/// π exp(−a(x − c)²).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bump {
    /// ln π.
    pub log_weight: f64,
    /// Firmness a ≥ 0; zero says the same everywhere.
    pub a: f64,
    /// Centre c.
    pub c: f64,
}

impl Bump {
    /// The logarithm of its value at `x`.
    pub fn log_value(&self, x: f64) -> f64 {
        self.log_weight - self.a * (x - self.c) * (x - self.c)
    }

    /// Its product with exp(−p(x − y)²): a bump between the two, less by how far they are apart.
    pub fn times(&self, p: f64, y: f64) -> Self {
        let a = self.a + p;
        let share = self.a / a;
        let apart = self.c - y;
        Self { log_weight: self.log_weight - share * p * apart * apart, a, c: y + share * apart }
    }

    /// 1/√(2a).
    pub fn width(&self) -> f64 {
        1.0 / (2.0 * self.a).sqrt()
    }
}

/// The sum seen through the noise of a step: a node of variance S turns (π, a, c) into (π w √g, a g, c), g = 1/(1 + 2aS).
pub(super) fn spread(bumps: &[Bump], nodes: &Nodes) -> Vec<Bump> {
    let mut out = Vec::with_capacity(bumps.len() * nodes.len());
    for bump in bumps {
        if bump.a == 0.0 {
            out.push(*bump);
            continue;
        }
        for (s, log_w) in nodes.variances().iter().zip(nodes.log_weights()) {
            let stretch = 2.0 * bump.a * s;
            out.push(Bump {
                log_weight: bump.log_weight + log_w - 0.5 * stretch.ln_1p(),
                a: bump.a / (1.0 + stretch),
                c: bump.c,
            });
        }
    }
    out
}

/// ln Σ of the bumps at `x`; `space` is working space.
pub(super) fn log_sum(bumps: &[Bump], x: f64, space: &mut Vec<f64>) -> f64 {
    space.clear();
    space.extend(bumps.iter().map(|b| b.log_value(x)));
    let top = space.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    space.iter_mut().for_each(|s| *s -= top);
    exp_slice(space);
    top + space.iter().sum::<f64>().ln()
}
