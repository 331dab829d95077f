//! Summarise a density on a uniform grid: mean, standard deviation and quantiles.

/// Masses at evenly spaced states; rounding may leave some of them slightly negative.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marginal<'a> {
    /// State of the first cell.
    pub first: f64,
    /// Distance between cells; 0 if there is only one.
    pub spacing: f64,
    /// Mass of each cell.
    pub masses: &'a [f64],
    /// Mass below and above all cells.
    pub outside: (f64, f64),
}

impl<'a> Marginal<'a> {
    /// The same with the first and the last cell counted as lying outside.
    pub fn opened(&self) -> Marginal<'a> {
        match self.masses {
            [low, inner @ .., high] if !inner.is_empty() => Marginal {
                first: self.first + self.spacing,
                spacing: self.spacing,
                masses: inner,
                outside: (self.outside.0 + low.max(0.0), self.outside.1 + high.max(0.0)),
            },
            _ => *self,
        }
    }

    /// Mean and standard deviation of the mass in the cells.
    pub fn moments(&self) -> (f64, f64) {
        self.moments_of(0, self.masses.len())
    }

    /// Mean of the largest stretch of cells that is symmetric about the median.
    ///
    /// Where tails are equally heavy on both sides this is the right centre even if the tails beyond the cells matter:
    /// what is cut off on one side balances the other.
    pub fn balanced_mean(&self) -> f64 {
        let middle = ((self.quantiles(&[0.5])[0] - self.first) / self.spacing).round();
        let last = self.masses.len() as f64 - 1.0;
        if !(middle >= 0.0 && middle <= last) {
            return self.moments().0;
        }
        let radius = middle.min(last - middle);
        self.moments_of((middle - radius) as usize, (middle + radius) as usize + 1).0
    }

    fn moments_of(&self, from: usize, to: usize) -> (f64, f64) {
        let cells = || (from..to).map(|i| (i as f64, self.masses[i]));
        let total: f64 = cells().map(|(_, p)| p).sum();
        let mean = cells().map(|(i, p)| i * p).sum::<f64>() / total;
        let variance = cells().map(|(i, p)| (i - mean).powi(2) * p).sum::<f64>() / total;
        (self.first + self.spacing * mean, self.spacing * variance.max(0.0).sqrt())
    }

    /// Quantiles at `levels`, each in (0, 1).
    ///
    /// The distribution function is taken between cells, F(x_i + h/2) = Σ_{k≤i} p_k + (p_{i+1} − p_i)/24 + O(h⁴), and
    /// interpolated by monotone cubics. A level that falls into the mass outside gives an infinite quantile.
    pub fn quantiles(&self, levels: &[f64]) -> Vec<f64> {
        let n = self.masses.len();
        if n == 1 {
            return vec![self.first; levels.len()];
        }
        let mass = |i: i64| if (0..n as i64).contains(&i) { self.masses[i as usize] } else { 0.0 };
        // cumulative[i] = F at the lower edge of cell i; never decreasing, whatever rounding or interpolation left.
        let mut cumulative = Vec::with_capacity(n + 1);
        let (mut sum, mut highest) = (self.outside.0, self.outside.0);
        cumulative.push(sum);
        for i in 0..n as i64 {
            sum += mass(i);
            let next = if i + 1 < n as i64 { (mass(i + 1) - mass(i)) / 24.0 } else { 0.0 };
            highest = f64::max(highest, sum + next);
            cumulative.push(highest);
        }
        let total = highest + self.outside.1;
        // Density (per cell) at the lower edge of cell i.
        let slope = |i: i64| (9.0 * (mass(i - 1) + mass(i)) - mass(i - 2) - mass(i + 1)) / 16.0;
        levels
            .iter()
            .map(|level| {
                let goal = level * total;
                if goal < cumulative[0] {
                    return f64::NEG_INFINITY;
                }
                let above = cumulative.partition_point(|&f| f < goal);
                if above > n {
                    return f64::INFINITY;
                }
                let cell = above.max(1) - 1;
                let rise = cumulative[cell + 1] - cumulative[cell];
                // Slopes up to three times the mean keep a cubic monotone (Fritsch and Carlson 1980).
                let limit = |s: f64| s.clamp(0.0, 3.0 * rise);
                let part =
                    cubic_root(goal - cumulative[cell], rise, limit(slope(cell as i64)), limit(slope(cell as i64 + 1)));
                self.first + self.spacing * (cell as f64 - 0.5 + part)
            })
            .collect()
    }
}

/// Where the monotone cubic from 0 to `rise` over [0, 1] with the given end slopes reaches `goal`.
fn cubic_root(goal: f64, rise: f64, left: f64, right: f64) -> f64 {
    let value = |t: f64| t * (left + t * ((3.0 * rise - 2.0 * left - right) + t * (left + right - 2.0 * rise)));
    let (mut lo, mut hi) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = 0.5 * (lo + hi);
        if value(middle) < goal { lo = middle } else { hi = middle }
    }
    0.5 * (lo + hi)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaussian_quantiles_are_accurate() {
        // Spacing sd/4, coarser than the reference ever uses; expected values from tables.
        let masses: Vec<f64> = (0..120).map(|i| (-0.5 * (0.25 * (i as f64 - 60.3)).powi(2)).exp()).collect();
        let marginal = Marginal { first: -60.3 * 0.25, spacing: 0.25, masses: &masses, outside: (0.0, 0.0) };
        let (mean, sd) = marginal.moments();
        assert!(mean.abs() < 1e-12 && (sd - 1.0).abs() < 1e-12);
        let expected =
            [(0.05, -1.6448536269514722), (0.25, -0.6744897501960817), (0.5, 0.0), (0.999, 3.090232306167813)];
        for (level, z) in expected {
            let q = marginal.quantiles(&[level])[0];
            assert!((q - z).abs() < 1e-3, "{level}: {q}");
        }
    }

    #[test]
    fn mass_outside_counts() {
        let masses = vec![0.01; 80];
        let marginal = Marginal { first: 0.5, spacing: 1.0, masses: &masses, outside: (0.15, 0.05) };
        let q = marginal.quantiles(&[0.1, 0.15, 0.5, 0.97]);
        assert_eq!((q[0], q[3]), (f64::NEG_INFINITY, f64::INFINITY));
        assert!((q[2] - 35.0).abs() < 1e-9, "{}", q[2]);
    }

    #[test]
    fn balanced_mean_ignores_the_longer_side() {
        // A heavy-tailed law around 0 on cells that reach much farther to the right.
        let masses: Vec<f64> = (0..1001).map(|i| 1.0 / (1.0 + (i as f64 - 200.0).powi(2))).collect();
        let marginal = Marginal { first: -200.0, spacing: 1.0, masses: &masses, outside: (0.0, 0.0) };
        assert!(marginal.moments().0 > 0.4);
        assert!(marginal.balanced_mean().abs() < 1e-9);
    }
}
