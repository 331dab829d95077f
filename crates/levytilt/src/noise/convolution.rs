//! Add independent variances: convolve discrete laws of S point by point and keep them small by condensing.

use super::condense::{Condensed, FineLaw, Layout, condense};

/// A discrete law of a variance: an atom at zero and points in ln s.
#[derive(Debug, Clone)]
pub(crate) struct PointLaw {
    pub atom: f64,
    /// ln s and mass, increasing in ln s.
    pub points: Vec<(f64, f64)>,
}

/// Points lighter than this share of all carry nothing, even all of them together.
const NOTHING: f64 = 1e-24;

impl PointLaw {
    /// The law that is zero for certain.
    pub(crate) fn zero() -> Self {
        Self { atom: 1.0, points: Vec::new() }
    }

    /// The law of a condensed one without an atom.
    pub(crate) fn from_condensed(law: &Condensed) -> Self {
        let points = law.variances.iter().zip(&law.weights).map(|(s, &w)| (s.ln(), w)).collect();
        Self { atom: 0.0, points }
    }

    /// Law of the sum of two independent variances, point by point.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let mut points = Vec::with_capacity((self.points.len() + 1) * (other.points.len() + 1));
        points.extend(self.points.iter().map(|&(u, a)| (u, a * other.atom)));
        points.extend(other.points.iter().map(|&(v, b)| (v, b * self.atom)));
        for &(u, a) in &self.points {
            points.extend(other.points.iter().map(|&(v, b)| (log_sum(u, v), a * b)));
        }
        Self { atom: self.atom * other.atom, points: sorted(points) }
    }

    /// Law of the sum of two independent variances of this law, point by point.
    pub(crate) fn doubled(&self) -> Self {
        let n = self.points.len();
        let mut points = Vec::with_capacity(n * (n + 3) / 2);
        for (i, &(u, a)) in self.points.iter().enumerate() {
            points.push((u, 2.0 * a * self.atom));
            points.push((u + std::f64::consts::LN_2, a * a));
            for &(v, b) in &self.points[i + 1..] {
                points.push((log_sum(u, v), 2.0 * a * b));
            }
        }
        Self { atom: self.atom * self.atom, points: sorted(points) }
    }

    /// Mix with zero: probability 1−`share` of zero.
    pub(crate) fn diluted(&self, share: f64) -> Self {
        Self {
            atom: 1.0 - share * (1.0 - self.atom),
            points: self.points.iter().map(|&(u, m)| (u, share * m)).collect(),
        }
    }

    /// The same law in few points.
    pub(crate) fn condensed(self, layout: Layout) -> Self {
        let atom = self.atom;
        let (u, mass) = self.points.into_iter().unzip();
        let few = condense(&FineLaw { u, mass, ..FineLaw::default() }, layout);
        Self { atom, ..Self::from_condensed(&few) }
    }
}

/// ln(e^u + e^v).
fn log_sum(u: f64, v: f64) -> f64 {
    u.max(v) + (-(u - v).abs()).exp().ln_1p()
}

/// The points that matter, in order.
fn sorted(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let total: f64 = points.iter().map(|p| p.1).sum();
    points.retain(|p| p.1 > NOTHING * total);
    points.sort_unstable_by(|p, q| p.0.total_cmp(&q.0));
    points
}
