//! Turn dimensions that move together into components that do not, and back.

use levytilt::{Error, Result};
use nalgebra::{DMatrix, SymmetricEigen};

/// Directions in which moves are uncorrelated: x = unit · (Q u) for components u and an orthogonal Q, unit by dimension.
#[derive(Debug, Clone)]
pub(crate) struct Basis {
    units: Vec<f64>,
    /// Columns are directions.
    directions: DMatrix<f64>,
}

impl Basis {
    /// Principal directions of `columns` of moves, each in units of its root mean square.
    ///
    /// # Errors
    /// A dimension that never moves.
    pub fn learn(columns: &[Vec<f64>]) -> Result<Self> {
        let count = columns[0].len();
        let units: Vec<f64> =
            columns.iter().map(|column| (column.iter().map(|x| x * x).sum::<f64>() / count as f64).sqrt()).collect();
        if let Some(i) = units.iter().position(|unit| *unit == 0.0) {
            let problem = "all moves are 0; there is nothing to learn from".into();
            return Err(Error::Series { place: format!("dimension {}", i + 1), problem });
        }
        let dim = columns.len();
        let correlation = DMatrix::from_fn(dim, dim, |i, k| {
            let sum: f64 = columns[i].iter().zip(&columns[k]).map(|(x, y)| x * y).sum();
            sum / (count as f64 * units[i] * units[k])
        });
        // One dimension is its own direction; an eigenvector might point backwards.
        let directions = if dim == 1 { DMatrix::identity(1, 1) } else { SymmetricEigen::new(correlation).eigenvectors };
        Ok(Self { units, directions })
    }

    /// Components of a state.
    pub fn components(&self, state: &[f64]) -> Vec<f64> {
        let dim = self.units.len();
        (0..dim).map(|k| (0..dim).map(|i| self.directions[(i, k)] * state[i] / self.units[i]).sum()).collect()
    }

    /// The state with these components.
    pub fn state(&self, components: &[f64]) -> Vec<f64> {
        let dim = self.units.len();
        let one = |i: usize| (0..dim).map(|k| self.directions[(i, k)] * components[k]).sum::<f64>();
        (0..dim).map(|i| self.units[i] * one(i)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_there_and_back_and_uncorrelated() {
        let a: Vec<f64> = (0..50).map(|k| (1.3 * f64::from(k)).sin()).collect();
        let b: Vec<f64> = a.iter().enumerate().map(|(k, x)| 100.0 * (x + 0.3 * (0.4 * k as f64).cos())).collect();
        let basis = Basis::learn(&[a.clone(), b.clone()]).unwrap();
        let rows: Vec<Vec<f64>> = (0..50).map(|k| basis.components(&[a[k], b[k]])).collect();
        let product: f64 = rows.iter().map(|row| row[0] * row[1]).sum();
        let squares: f64 = rows.iter().map(|row| row[0] * row[0] + row[1] * row[1]).sum();
        assert!(product.abs() < 1e-12 * squares, "{product}");
        let back = basis.state(&rows[7]);
        assert!((back[0] - a[7]).abs() < 1e-12 && (back[1] - b[7]).abs() < 1e-10);
        assert!(Basis::learn(&[vec![0.0; 5]]).unwrap_err().to_string().contains("dimension 1"));
    }
}
