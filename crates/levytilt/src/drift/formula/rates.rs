//! Evaluate the right-hand side of one state at many points, with derivatives: what regressions and sizes of noise are made of.

use super::FormulaDrift;
use super::explicit::LANES;
use super::inputs::Segment;
use super::lanes::Lanes;
use crate::drift::Drift;
use std::array::from_fn;

impl FormulaDrift {
    /// The right-hand side of one state per point (t, x); NaN as in [`FormulaDrift::rate`].
    pub(crate) fn rates(&self, points: &[(f64, f64)]) -> Vec<f64> {
        points.iter().map(|&(t, x)| self.rate(t, &[x])[0]).collect()
    }

    /// The right-hand side of one state and its derivatives in the parameters, a row of 1 + p numbers per point (t, x); NaN
    /// as in [`FormulaDrift::rate`].
    pub(crate) fn rates_by_parameter(&self, points: &[(f64, f64)]) -> Vec<f64> {
        self.rates_from(points, self.dim())
    }

    /// The same with the derivative in the state before those in the parameters.
    pub(crate) fn rates_by_all(&self, points: &[(f64, f64)]) -> Vec<f64> {
        self.rates_from(points, 0)
    }

    /// The right-hand side and its derivatives from direction `first` on: the state, then the parameters.
    fn rates_from(&self, points: &[(f64, f64)], first: usize) -> Vec<f64> {
        let width = 1 + self.dim() + self.bound.parameters.len() - first;
        let (mut lone, mut many) = (Lanes::<1>::new(&self.bound), Lanes::<LANES>::new(&self.bound));
        let mut rows = vec![0.0; points.len() * width];
        let mut rest = &mut rows[..];
        // Inputs have one value per time.
        let by_time = self.formula.inputs.names().next().is_some();
        for group in points.chunk_by(|a, b| !by_time || a.0 == b.0) {
            let (own, others) = std::mem::take(&mut rest).split_at_mut(group.len() * width);
            rest = others;
            match self.formula.inputs.segments(group[0].0, 0.0) {
                Err(_) => own.fill(f64::NAN),
                Ok(segments) if group.len() == 1 => self.fill_rows(&mut lone, group, &segments[0], first, own),
                Ok(segments) => self.fill_rows(&mut many, group, &segments[0], first, own),
            }
        }
        rows
    }

    /// [`FormulaDrift::rates_from`] of points whose inputs are those of `segment`.
    fn fill_rows<const W: usize>(
        &self,
        lanes: &mut Lanes<W>,
        points: &[(f64, f64)],
        segment: &Segment,
        first: usize,
        rows: &mut [f64],
    ) {
        let (program, width) = (&self.bound.program, rows.len() / points.len());
        let output = program.outputs[0];
        for (points, rows) in points.chunks(W).zip(rows.chunks_mut(W * width)) {
            // Lanes without a point repeat the last one.
            let (t, x) =
                (from_fn(|w| points[w.min(points.len() - 1)].0), from_fn(|w| points[w.min(points.len() - 1)].1));
            lanes.run(&self.bound, &[x], &t, segment);
            lanes.differentiate(program);
            for (w, row) in rows.chunks_exact_mut(width).enumerate() {
                row[0] = lanes.values[output][w];
                for link in program.links[output].iter().filter(|link| link.direction >= first) {
                    row[1 + link.direction - first] = lanes.tangents[link.slot][w];
                }
            }
        }
    }
}
