//! Tabulate first and second derivatives of the log-density of a step, because learning asks for them millions of times.
//!
//! Second derivatives in the parameters take ln S_k and ln w_k as linear in each parameter (weights kept normalised).
//! Along a scale that is exact on the logarithmic axis; elsewhere the part left out has mean zero under the model.

use super::Nodes;
use super::fast_exp::exp_slice;

/// Spacing of the table in y = ½ ln(1 + (r/unit)²): derivatives of a scale mixture are smooth on the scale of one in y.
const SPACING: f64 = 0.04;
/// Most parameters of a noise.
const MOST_PARAMETERS: usize = 8;

/// Derivatives of ln p of the increment r of one step, interpolated to 1e-3 or better, which is the accuracy of the nodes
/// themselves.
#[derive(Debug)]
pub struct GradientTable {
    unit: f64,
    /// Rows as in [`Live::row`].
    rows: Vec<f64>,
    width: usize,
    parameters: usize,
    /// The row of the atom at r = 0, if there is one.
    atom: Option<Vec<f64>>,
}

impl GradientTable {
    /// The table of a step's nodes.
    pub fn new(nodes: &Nodes) -> Self {
        let parameters = nodes.derivatives().len();
        assert!(parameters <= MOST_PARAMETERS, "no family has as many as {parameters} parameters");
        let width = row_width(parameters);
        let moving = nodes.variances().iter().copied().filter(|s| *s >= f64::MIN_POSITIVE);
        let least = moving.clone().next().unwrap_or(1.0);
        let most = moving.max_by(f64::total_cmp).unwrap_or(1.0);
        let unit = least.sqrt();
        // Beyond ten times the largest node's deviation the last row is held.
        let reach = 0.5 * (100.0 * most / least).ln_1p();
        let count = (reach / SPACING).ceil() as usize + 4;
        let mut rows = Vec::with_capacity(count * width);
        let mut live = Live::new(nodes);
        for i in 0..count {
            // The first row is at r = 0, where some quotients are limits: a thousandth of the unit is close enough.
            let r = unit * (2.0 * SPACING * i as f64).exp_m1().sqrt().max(1e-3);
            live.row(r, &mut rows);
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
            out.copy_from_slice(&atom[first..first + out.len()]);
            return 0.0;
        }
        let place = self.place(r);
        for (column, out) in out.iter_mut().enumerate() {
            *out = self.value(&place, column + first);
        }
        self.value(&place, first - 1)
    }

    /// −∂² ln p/∂p∂t at `r` for each parameter p and a stretch t of ln S; 0 at an atom, which cannot be stretched.
    pub(super) fn mixed(&self, r: f64, out: &mut [f64]) {
        if self.atom.is_some() && r == 0.0 {
            out.fill(0.0);
            return;
        }
        let place = self.place(r);
        let first = self.width - self.parameters;
        for (column, out) in out.iter_mut().enumerate() {
            *out = self.value(&place, column + first);
        }
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

/// What the rows of a table share: the nodes that have a density, and directions of change of ln S and ln w.
struct Live {
    /// ln w − ½ ln S and 1/S.
    log_scales: Vec<f64>,
    precisions: Vec<f64>,
    /// ∂ ln S and ∂ ln w per parameter; the last direction stretches S and leaves w alone.
    directions: Vec<(Vec<f64>, Vec<f64>)>,
    /// Σ_k ∂w_k/∂p ∂w_k/∂q / w_k for each pair of parameters.
    information: Vec<f64>,
    /// Working space: r²/S, shares of the nodes in the density, and centred u_p of each direction.
    squares: Vec<f64>,
    shares: Vec<f64>,
    centred: Vec<Vec<f64>>,
}

impl Live {
    fn new(nodes: &Nodes) -> Self {
        let live: Vec<usize> = (0..nodes.len()).filter(|&k| nodes.variances()[k] >= f64::MIN_POSITIVE).collect();
        let (s, w) = (nodes.variances(), nodes.weights());
        let pick = |f: &dyn Fn(usize) -> f64| live.iter().map(|&k| f(k)).collect::<Vec<f64>>();
        let mut directions: Vec<(Vec<f64>, Vec<f64>)> = nodes
            .derivatives()
            .iter()
            .map(|d| (pick(&|k| d.variances[k] / s[k]), pick(&|k| d.weights[k] / w[k])))
            .collect();
        directions.push((vec![1.0; live.len()], vec![0.0; live.len()]));
        Self {
            log_scales: pick(&|k| nodes.log_weights()[k] - 0.5 * s[k].ln()),
            precisions: pick(&|k| 1.0 / s[k]),
            information: pairs(nodes.derivatives().len()).map(|(p, q)| weight_information(nodes, p, q)).collect(),
            squares: Vec::with_capacity(live.len()),
            shares: Vec::with_capacity(live.len()),
            centred: vec![Vec::with_capacity(live.len()); directions.len()],
            directions,
        }
    }

    /// E[1/S | r] = −(∂ ln p/∂r)/r, the parameter derivatives, −∂²/∂r², −∂²/∂p∂q for each pair of parameters, and
    /// −∂²/∂p∂t for each of them with a stretch t of ln S; all even in r.
    fn row(&mut self, r: f64, rows: &mut Vec<f64>) {
        let Self { log_scales, precisions, directions, information, squares, shares, centred } = self;
        let parameters = directions.len() - 1;
        if log_scales.is_empty() {
            rows.resize(rows.len() + row_width(parameters), 0.0);
            return;
        }
        let square = r * r;
        // Beyond 10⁴ a node has no share in the density whatever its weight, and infinity times nothing is no number.
        squares.clear();
        squares.extend(precisions.iter().map(|p| (square * p).min(1e4)));
        shares.clear();
        shares.extend(log_scales.iter().zip(squares.iter()).map(|(l, z)| l - 0.5 * z));
        let top = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        shares.iter_mut().for_each(|l| *l -= top);
        exp_slice(shares);
        let scale = 1.0 / lane_sum(shares, |_| 1.0);
        shares.iter_mut().for_each(|share| *share *= scale);
        let first = lane_sum(shares, |k| precisions[k]);
        // u_p = ∂ ln(w N(r; 0, S))/∂p, with ∂ ln N/∂ ln S = (r²/S − 1)/2.
        let mut gradients = [0.0; MOST_PARAMETERS + 1];
        for ((u, (log_s, log_w)), gradient) in centred.iter_mut().zip(directions.iter()).zip(&mut gradients) {
            let terms = log_s.iter().zip(log_w).zip(squares.iter());
            u.clear();
            u.extend(terms.map(|((s, w), z)| w + 0.5 * s * (z - 1.0)));
            *gradient = lane_sum(shares, |k| u[k]);
            u.iter_mut().for_each(|u| *u -= *gradient);
        }
        // In units of the mean precision, whose square may overflow.
        let spread = lane_sum(shares, |k| (precisions[k] / first - 1.0).min(1e100).powi(2));
        rows.push(first);
        rows.extend_from_slice(&gradients[..parameters]);
        rows.push(first - square * first * first * spread);
        let curvature = |p: usize, q: usize| {
            let ((u, (a, _)), (v, (b, _))) = ((&centred[p], &directions[p]), (&centred[q], &directions[q]));
            lane_sum(shares, |k| 0.5 * a[k] * b[k] * squares[k] - u[k] * v[k])
        };
        rows.extend(pairs(parameters).zip(information.iter()).map(|((p, q), more)| curvature(p, q) + more));
        rows.extend((0..parameters).map(|p| curvature(p, parameters)));
    }
}

/// Numbers in a row.
fn row_width(parameters: usize) -> usize {
    2 + 2 * parameters + pairs(parameters).count()
}

/// Σ_k share_k·f(k) in four lanes.
fn lane_sum(shares: &[f64], f: impl Fn(usize) -> f64) -> f64 {
    let mut lanes = [0.0; 4];
    let whole = shares.len() / 4 * 4;
    for first in (0..whole).step_by(4) {
        for lane in 0..4 {
            lanes[lane] += shares[first + lane] * f(first + lane);
        }
    }
    let rest: f64 = (whole..shares.len()).map(|k| shares[k] * f(k)).sum();
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + rest
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
    row.extend(std::iter::repeat_n(0.0, count));
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
            let table = GradientTable::new(&nodes);
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
                GradientTable::new(&nodes).curvature(r, &mut out);
                let got = out[out.len() - 1] * scale * scale;
                assert!((got - bend).abs() < 2e-3 * bend.abs().max(1.0), "{r}: {got} {bend}");
            }
        }
    }
}
