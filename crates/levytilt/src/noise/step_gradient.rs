//! Share gradient tables between steps of different lengths.
//!
//! Where the nodes of one length are those of another times a factor (stable, Student, Gaussian noise), one table serves all
//! lengths, exact up to its interpolation. Other noises have a table per length.

use super::Nodes;
use super::gradient_table::{GradientTable, pairs};
use crate::series::length_key;
use std::collections::HashMap;
use std::sync::Arc;

/// Relative error up to which nodes count as those of another length times a factor.
const ROUNDING: f64 = 1e-12;

/// Derivatives of ln p of the increment of one step, see [`GradientTable`].
#[derive(Debug, Clone)]
pub struct StepGradient {
    table: Arc<GradientTable>,
    /// The increment of the table's step is that of this one times this.
    shrink: f64,
    /// Per parameter p: ∂ ln S/∂p here less that of the table; empty if there is none.
    slides: Vec<f64>,
}

impl StepGradient {
    /// The gradients of every step, given the length and nodes of each.
    pub(crate) fn of_steps<'a>(steps: impl Iterator<Item = (f64, &'a Arc<Nodes>)>) -> Vec<Arc<Self>> {
        let mut different: HashMap<u64, Arc<Self>> = HashMap::new();
        let mut shared: Option<(&Nodes, Arc<GradientTable>)> = None;
        let mut gradient = |(dt, nodes): (f64, &'a Arc<Nodes>)| {
            let known = different.entry(length_key(dt)).or_insert_with(|| {
                let rescaled = shared.as_ref().and_then(|(base, table)| Self::rescaled(base, table, nodes));
                Arc::new(rescaled.unwrap_or_else(|| {
                    let table = Arc::new(GradientTable::new(nodes));
                    shared = Some((nodes, table.clone()));
                    Self { table, shrink: 1.0, slides: Vec::new() }
                }))
            });
            known.clone()
        };
        steps.map(&mut gradient).collect()
    }

    /// The table of `base` for `nodes`, if these are the same with all variances times a factor.
    fn rescaled(base: &Nodes, table: &Arc<GradientTable>, nodes: &Nodes) -> Option<Self> {
        let close = |a: f64, b: f64| (a - b).abs() <= ROUNDING * a.abs().max(b.abs());
        let same = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(*a, *b));
        let factor = nodes.variances()[0] / base.variances()[0];
        let scaled: Vec<f64> = base.variances().iter().map(|s| factor * s).collect();
        if !factor.is_finite() || !same(base.weights(), nodes.weights()) || !same(&scaled, nodes.variances()) {
            return None;
        }
        let slide = |d: &[f64], s: &[f64]| {
            let first = d[0] / s[0];
            d.iter().zip(s).all(|(d, s)| close(d / s, first)).then_some(first)
        };
        let slides: Option<Vec<f64>> = base
            .derivatives()
            .iter()
            .zip(nodes.derivatives())
            .map(|(old, new)| {
                let (before, now) =
                    (slide(&old.variances, base.variances())?, slide(&new.variances, nodes.variances())?);
                same(&old.weights, &new.weights).then_some(now - before)
            })
            .collect();
        let mut slides = slides?;
        if slides.iter().all(|slide| *slide == 0.0) {
            slides.clear();
        }
        Some(Self { table: table.clone(), shrink: factor.sqrt().recip(), slides })
    }

    /// ∂ ln p/∂r at `r`; the parameter derivatives go into `out`, unless it is empty.
    pub fn evaluate(&self, r: f64, out: &mut [f64]) -> f64 {
        let r = r * self.shrink;
        let slope = self.table.evaluate(r, out);
        // A stretch of ln S has the gradient (r²E[1/S | r] − 1)/2.
        let stretch = -0.5 * (r * slope + 1.0);
        out.iter_mut().zip(&self.slides).for_each(|(out, slide)| *out += slide * stretch);
        slope * self.shrink
    }

    /// −∂² ln p/∂r² at `r`; −∂² ln p/∂p∂q goes into `out` for each pair p ≥ q, row by row of the lower triangle.
    ///
    /// Second derivatives are bilinear in the directions: a slide s_p along the stretch t adds s_q C_pt + s_p C_qt + s_p s_q C_tt.
    pub fn curvature(&self, r: f64, out: &mut [f64]) -> f64 {
        let r = r * self.shrink;
        let bend = self.table.curvature(r, out);
        if !self.slides.is_empty() {
            let mut mixed = vec![0.0; self.slides.len()];
            self.table.mixed(r, &mut mixed);
            // −∂²/∂r² = E[1/S] − r² Var(1/S), and C_tt = r² E[1/S]/2 − r⁴ Var(1/S)/4.
            let square = -r * self.table.evaluate(r, &mut []);
            let stretch = 0.25 * (square + r * r * bend);
            for ((p, q), out) in pairs(self.slides.len()).zip(out) {
                let (a, b) = (self.slides[p], self.slides[q]);
                *out += a * mixed[q] + b * mixed[p] + a * b * stretch;
            }
        }
        bend * self.shrink * self.shrink
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Nig, Noise, Stable, Student};

    /// Largest difference from a table of the step's own, relative to the size of each derivative.
    fn largest_difference(noise: &dyn Noise) -> f64 {
        let lengths: Vec<f64> = (0..40).map(|j| 0.01 * 1.07f64.powi(j)).collect();
        let nodes: Vec<Arc<Nodes>> = lengths.iter().map(|&dt| Arc::new(noise.nodes(dt).unwrap())).collect();
        let gradients = StepGradient::of_steps(lengths.iter().copied().zip(&nodes));
        let count = noise.parameters().len();
        let (mut got, mut want) = (vec![0.0; count], vec![0.0; count]);
        let (mut bends, mut own_bends) = (vec![0.0; pairs(count).count()], vec![0.0; pairs(count).count()]);
        let mut worst: f64 = 0.0;
        for (nodes, gradient) in nodes.iter().zip(&gradients) {
            let own = GradientTable::new(nodes);
            for i in -20..=20 {
                let r = 0.3 * nodes.variances()[nodes.len() / 2].sqrt() * f64::from(i);
                let (slope, own_slope) = (gradient.evaluate(r, &mut got), own.evaluate(r, &mut want));
                let (bend, own_bend) = (gradient.curvature(r, &mut bends), own.curvature(r, &mut own_bends));
                let size = own_bend.abs() + own_slope * own_slope;
                worst = worst.max((slope - own_slope).abs() / size.sqrt()).max((bend - own_bend).abs() / size);
                let pairs = got.iter().zip(&want).chain(bends.iter().zip(&own_bends));
                worst = pairs.fold(worst, |worst, (got, want)| worst.max((got - want).abs() / (1.0 + want.abs())));
            }
        }
        worst
    }

    #[test]
    fn identity_steps_of_a_self_similar_noise_share_one_table() {
        let noises: [Box<dyn Noise>; 2] =
            [Box::new(Stable::new(1.5, 2.0).unwrap()), Box::new(Student::new(3.0, 0.7).unwrap())];
        for noise in noises {
            let difference = largest_difference(noise.as_ref());
            // Products of interpolated values against interpolated products: 2e-6.
            assert!(difference < 1e-5, "{}: {difference}", noise.family());
        }
    }

    #[test]
    fn identity_other_noises_have_a_table_per_length() {
        let difference = largest_difference(&Nig::new(1.0, 3.0).unwrap());
        assert!(difference == 0.0, "{difference}");
    }
}
