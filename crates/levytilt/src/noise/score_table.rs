//! Tabulate the derivatives of the log-density of a step, because learning asks for them millions of times.

use super::Nodes;

/// Spacing of the table in y = asinh(r/unit): derivatives of a scale mixture are smooth on the scale of one in y.
const SPACING: f64 = 0.04;

/// ∂ ln p/∂r and ∂ ln p/∂parameter of the increments of one step, interpolated to 1e-3 or better, which is the accuracy of the nodes themselves.
#[derive(Debug)]
pub struct ScoreTable {
    unit: f64,
    /// Rows of 1 + parameters: E[1/S | r] = −(∂ ln p/∂r)/r and the parameter derivatives, all even in r.
    rows: Vec<f64>,
    width: usize,
    /// Parameter derivatives of the atom at r = 0, if there is one.
    atom: Option<Vec<f64>>,
}

impl ScoreTable {
    /// The table of a step's nodes.
    pub fn new(nodes: &Nodes) -> Self {
        let width = 1 + nodes.derivatives().len();
        let live = nodes.variances().iter().copied().filter(|s| *s > 0.0);
        let least = live.clone().next().unwrap_or(1.0);
        let most = live.max_by(f64::total_cmp).unwrap_or(1.0);
        let unit = least.sqrt();
        // Beyond ten times the largest node's deviation the last row is held.
        let reach = (10.0 * (most / least).sqrt()).asinh();
        let count = (reach / SPACING).ceil() as usize + 4;
        let mut rows = Vec::with_capacity(count * width);
        for i in 0..count {
            // The first row is at r = 0, where the quotient is a limit: a thousandth of the unit is close enough.
            let r = unit * (SPACING * i as f64).sinh().max(1e-3);
            let density = nodes.log_density(r);
            rows.push(-density.dx / r);
            rows.extend(density.parameters);
        }
        let atom = (nodes.variances()[0] == 0.0)
            .then(|| nodes.derivatives().iter().map(|d| d.weights[0] / nodes.weights()[0]).collect());
        Self { unit, rows, width, atom }
    }

    /// ∂ ln p/∂r at `r`; the parameter derivatives go into `out`.
    pub fn evaluate(&self, r: f64, out: &mut [f64]) -> f64 {
        if let (Some(atom), true) = (&self.atom, r == 0.0) {
            out.copy_from_slice(atom);
            return 0.0;
        }
        let y = (r.abs() / self.unit).asinh() / SPACING;
        let last = self.rows.len() / self.width - 3;
        let cell = (y as usize).min(last);
        let t = (y - cell as f64).min(1.0);
        // Cubic through four rows; the table is even in r, so the row before the first is the second.
        let weights = [
            -t * (t - 1.0) * (t - 2.0) / 6.0,
            (t * t - 1.0) * (t - 2.0) / 2.0,
            -t * (t + 1.0) * (t - 2.0) / 2.0,
            t * (t * t - 1.0) / 6.0,
        ];
        let rows = [cell.abs_diff(1), cell, cell + 1, cell + 2];
        let value = |column: usize| -> f64 {
            rows.iter().zip(&weights).map(|(row, w)| w * self.rows[row * self.width + column]).sum()
        };
        for (column, out) in out.iter_mut().enumerate() {
            *out = value(column + 1);
        }
        -r * value(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Nig, Noise, Stable};

    #[test]
    fn identity_table_agrees_with_the_density() {
        let noises: [Box<dyn Noise>; 2] =
            [Box::new(Stable::new(1.6, 2.0).unwrap()), Box::new(Nig::new(1.0, 3.0).unwrap())];
        for noise in noises {
            let nodes = noise.nodes(0.05).unwrap();
            let table = ScoreTable::new(&nodes);
            let mut out = vec![0.0; nodes.derivatives().len()];
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
            }
        }
    }
}
