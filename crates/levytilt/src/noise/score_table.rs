//! Tabulate first and second derivatives of the log-density of a step, because learning asks for them millions of times.
//!
//! Second derivatives in the parameters take ln S_k and ln w_k as linear in each parameter (weights kept normalised).
//! Along a scale that is exact on the logarithmic axis; elsewhere the part left out has mean zero under the model.

use super::Nodes;

/// Spacing of the table in y = ½ ln(1 + (r/unit)²): derivatives of a scale mixture are smooth on the scale of one in y.
const SPACING: f64 = 0.04;

/// Derivatives of ln p of the increment r of one step, interpolated to 1e-3 or better, which is the accuracy of the nodes
/// themselves.
#[derive(Debug)]
pub struct ScoreTable {
    unit: f64,
    /// Rows as in [`row`].
    rows: Vec<f64>,
    width: usize,
    parameters: usize,
    /// The row of the atom at r = 0, if there is one.
    atom: Option<Vec<f64>>,
}

impl ScoreTable {
    /// The table of a step's nodes.
    pub fn new(nodes: &Nodes) -> Self {
        let parameters = nodes.derivatives().len();
        let width = 2 + parameters + pairs(parameters).count();
        let live = nodes.variances().iter().copied().filter(|s| *s > 0.0);
        let least = live.clone().next().unwrap_or(1.0);
        let most = live.max_by(f64::total_cmp).unwrap_or(1.0);
        let unit = least.sqrt();
        // Beyond ten times the largest node's deviation the last row is held.
        let reach = 0.5 * (100.0 * most / least).ln_1p();
        let count = (reach / SPACING).ceil() as usize + 4;
        let mut rows = Vec::with_capacity(count * width);
        for i in 0..count {
            // The first row is at r = 0, where some quotients are limits: a thousandth of the unit is close enough.
            let r = unit * (2.0 * SPACING * i as f64).exp_m1().sqrt().max(1e-3);
            row(nodes, r, &mut rows);
        }
        let atom = (nodes.variances()[0] == 0.0).then(|| atom_row(nodes));
        Self { unit, rows, width, parameters, atom }
    }

    /// ∂ ln p/∂r at `r`; the parameter derivatives go into `out`.
    pub fn evaluate(&self, r: f64, out: &mut [f64]) -> f64 {
        if let (Some(atom), true) = (&self.atom, r == 0.0) {
            out.copy_from_slice(&atom[1..=self.parameters]);
            return 0.0;
        }
        let place = self.place(r);
        for (column, out) in out.iter_mut().enumerate() {
            *out = self.value(&place, column + 1);
        }
        -r * self.value(&place, 0)
    }

    /// −∂² ln p/∂r² at `r`; −∂² ln p/∂p∂q goes into `out` for each pair p ≥ q, row by row of the lower triangle.
    pub fn curvature(&self, r: f64, out: &mut [f64]) -> f64 {
        let first = self.parameters + 2;
        if let (Some(atom), true) = (&self.atom, r == 0.0) {
            out.copy_from_slice(&atom[first..]);
            return 0.0;
        }
        let place = self.place(r);
        for (column, out) in out.iter_mut().enumerate() {
            *out = self.value(&place, column + first);
        }
        self.value(&place, first - 1)
    }

    /// First of four rows, and the weights of a cubic through them.
    fn place(&self, r: f64) -> (usize, [f64; 4]) {
        let z = r / self.unit;
        let y = 0.5 * (1.0 + z * z).ln() / SPACING;
        let last = self.rows.len() / self.width - 3;
        let cell = (y as usize).clamp(1, last);
        let t = (y - cell as f64).min(1.0);
        let weights = [
            -t * (t - 1.0) * (t - 2.0) / 6.0,
            (t * t - 1.0) * (t - 2.0) / 2.0,
            -t * (t + 1.0) * (t - 2.0) / 2.0,
            t * (t * t - 1.0) / 6.0,
        ];
        (cell - 1, weights)
    }

    fn value(&self, (first, weights): &(usize, [f64; 4]), column: usize) -> f64 {
        let at = first * self.width + column;
        let [a, b, c, d] = weights;
        a * self.rows[at]
            + b * self.rows[at + self.width]
            + c * self.rows[at + 2 * self.width]
            + d * self.rows[at + 3 * self.width]
    }
}

/// Pairs (p, q) with p ≥ q, in the order of a lower triangle.
pub(crate) fn pairs(parameters: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..parameters).flat_map(|p| (0..=p).map(move |q| (p, q)))
}

/// E[1/S | r] = −(∂ ln p/∂r)/r, the parameter derivatives, −∂²/∂r², and −∂²/∂p∂q for each pair; all even in r.
fn row(nodes: &Nodes, r: f64, rows: &mut Vec<f64>) {
    let derivatives = nodes.derivatives();
    let square = r * r;
    let logs: Vec<f64> = nodes
        .variances()
        .iter()
        .zip(nodes.log_weights())
        .map(|(&s, l)| if s > 0.0 { l - 0.5 * (square / s + s.ln()) } else { f64::NEG_INFINITY })
        .collect();
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        rows.resize(rows.len() + 2 + derivatives.len() + pairs(derivatives.len()).count(), 0.0);
        return;
    }
    // Responsibility of each node for r, without the nodes that have none.
    let terms: Vec<f64> = logs.iter().map(|l| (l - top).exp()).collect();
    let total: f64 = terms.iter().sum();
    let live: Vec<(usize, f64)> =
        terms.iter().enumerate().filter(|(_, t)| **t > 0.0).map(|(k, t)| (k, t / total)).collect();
    let mean = |f: &dyn Fn(usize) -> f64| live.iter().map(|&(k, share)| share * f(k)).sum::<f64>();
    let precision = |k: usize| 1.0 / nodes.variances()[k];
    // u_p = ∂ ln(w N(r; 0, S))/∂p, with ∂ ln N/∂ ln S = (r²/S − 1)/2.
    let log_s = |p: usize, k: usize| derivatives[p].variances[k] * precision(k);
    let log_w = |p: usize, k: usize| derivatives[p].weights[k] / nodes.weights()[k];
    let u = |p: usize, k: usize| log_w(p, k) + 0.5 * log_s(p, k) * (square * precision(k) - 1.0);
    let first = mean(&precision);
    let scores: Vec<f64> = (0..derivatives.len()).map(|p| mean(&|k| u(p, k))).collect();
    rows.push(first);
    rows.extend_from_slice(&scores);
    rows.push(first - square * mean(&|k| (precision(k) - first).powi(2)));
    for (p, q) in pairs(derivatives.len()) {
        let spread = mean(&|k| (u(p, k) - scores[p]) * (u(q, k) - scores[q]));
        let bend = mean(&|k| 0.5 * log_s(p, k) * log_s(q, k) * square * precision(k));
        rows.push(bend - spread + weight_information(nodes, p, q));
    }
}

/// Σ_k ∂w_k/∂p ∂w_k/∂q / w_k: what keeping the weights normalised adds.
fn weight_information(nodes: &Nodes, p: usize, q: usize) -> f64 {
    let (p, q) = (&nodes.derivatives()[p].weights, &nodes.derivatives()[q].weights);
    nodes.weights().iter().zip(p.iter().zip(q)).map(|(w, (p, q))| p * q / w).sum()
}

/// The row of a path that did not move at all: its density is the weight of the atom.
fn atom_row(nodes: &Nodes) -> Vec<f64> {
    let count = nodes.derivatives().len();
    let mut row = vec![0.0];
    row.extend(nodes.derivatives().iter().map(|d| d.weights[0] / nodes.weights()[0]));
    row.push(0.0);
    row.extend(pairs(count).map(|(p, q)| weight_information(nodes, p, q)));
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Gaussian, Nig, Noise, Stable};

    #[test]
    fn identity_table_agrees_with_the_density() {
        let noises: [Box<dyn Noise>; 2] =
            [Box::new(Stable::new(1.6, 2.0).unwrap()), Box::new(Nig::new(1.0, 3.0).unwrap())];
        for noise in noises {
            let nodes = noise.nodes(0.05).unwrap();
            let table = ScoreTable::new(&nodes);
            let mut out = vec![0.0; nodes.derivatives().len()];
            let mut second = vec![0.0; 3];
            for i in 0..400 {
                let r = 1e-4 * 1.05f64.powi(i) * if i % 2 == 0 { 1.0 } else { -1.0 };
                let (density, dx) = (nodes.log_density(r), table.evaluate(r, &mut out));
                // Farther out the nodes themselves are no longer close enough together.
                if density.value < -30.0 {
                    break;
                }
                assert!((dx / density.dx - 1.0).abs() < 1e-3, "{r}: {dx} {}", density.dx);
                for (got, want) in out.iter().zip(&density.parameters) {
                    assert!((got - want).abs() < 1e-3 * want.abs().max(1.0), "{r}: {got} {want}");
                }
                let h = 1e-4 * r;
                let bend = (nodes.log_density(r - h).dx - nodes.log_density(r + h).dx) / (2.0 * h);
                let got = table.curvature(r, &mut second);
                let size = (density.dx / r).abs();
                assert!((got - bend).abs() < 3e-3 * size, "{r}: {got} {bend}");
            }
        }
    }

    /// On a logarithmic axis ln S is linear in the scale, so that its second derivative is exact.
    #[test]
    fn identity_curvature_in_the_scale_is_exact_on_the_log_axis() {
        let build: [&dyn Fn(f64) -> Box<dyn Noise>; 2] =
            [&|scale| Box::new(Gaussian::new(scale).unwrap()), &|scale| Box::new(Stable::new(1.5, scale).unwrap())];
        for noise in build {
            let scale = 2.0;
            let h = 1e-3;
            let value = |s: f64, r: f64| noise(s).nodes(0.05).unwrap().log_density(r).value;
            let nodes = noise(scale).nodes(0.05).unwrap();
            let count = nodes.derivatives().len();
            let mut out = vec![0.0; pairs(count).count()];
            for r in [0.01, 0.3, 1.0, 4.0] {
                let (up, down) = (value(scale * f64::exp(h), r), value(scale * f64::exp(-h), r));
                let bend = (2.0 * value(scale, r) - up - down) / (h * h);
                ScoreTable::new(&nodes).curvature(r, &mut out);
                let got = out[out.len() - 1] * scale * scale;
                assert!((got - bend).abs() < 2e-3 * bend.abs().max(1.0), "{r}: {got} {bend}");
            }
        }
    }
}
