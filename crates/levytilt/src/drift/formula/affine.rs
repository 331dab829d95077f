//! Move states by formulas that are affine in them: the flow over a step is one matrix and one shift for all states.

use super::hyper::{bends, run_at};
use super::inputs::Segment;
use super::lanes::{Bound, Lanes};
use crate::drift::{Drift, Linear};
use nalgebra::{DMatrix, DVector};

/// The flow x ↦ offset + slope·x over one step, and its derivatives in the parameters, affine in x as well.
#[derive(Debug)]
pub(super) struct AffineStep {
    dim: usize,
    /// flow(0).
    offset: Vec<f64>,
    /// ∂flow/∂x, row after row.
    slope: Vec<f64>,
    /// ∂flow/∂θ at x = 0 (first), and what each state adds to it per unit: d + 1 blocks of d rows.
    by_parameter: Vec<f64>,
}

impl AffineStep {
    /// The step whose flow and derivatives at the origin and at each unit vector `jacobian` gives as (flow, ∂/∂x, ∂/∂θ).
    pub fn new(dim: usize, mut jacobian: impl FnMut(&[f64]) -> (Vec<f64>, Vec<f64>, Vec<f64>)) -> Self {
        let (offset, slope, origin) = jacobian(&vec![0.0; dim]);
        let mut by_parameter = origin.clone();
        for j in 0..dim {
            let mut unit = vec![0.0; dim];
            unit[j] = 1.0;
            let (_, _, there) = jacobian(&unit);
            by_parameter.extend(there.iter().zip(&origin).map(|(there, origin)| there - origin));
        }
        Self { dim, offset, slope, by_parameter }
    }

    pub fn flow(&self, x: &[f64], out: &mut [f64]) {
        if let ([x], [out]) = (x, &mut *out) {
            *out = self.offset[0] + self.slope[0] * x;
            return;
        }
        for (i, out) in out.iter_mut().enumerate() {
            let row = &self.slope[i * self.dim..(i + 1) * self.dim];
            *out = self.offset[i] + row.iter().zip(x).map(|(slope, x)| slope * x).sum::<f64>();
        }
    }

    /// ∂flow/∂x, row after row.
    pub fn slope(&self) -> &[f64] {
        &self.slope
    }

    /// `out` = ∂flow/∂θ at `x`, row after row.
    pub fn by_parameter(&self, x: &[f64], out: &mut [f64]) {
        let size = out.len();
        if size == 0 {
            return;
        }
        let mut blocks = self.by_parameter.chunks_exact(size);
        out.copy_from_slice(blocks.next().expect("a block for the origin"));
        for (block, x) in blocks.zip(x) {
            crate::drift::add_scaled(*x, block, out);
        }
    }
}

/// An autonomous affine drift: dx = (A(θ)x + b(θ)) dt.
#[derive(Debug)]
pub(super) struct AffineMotion {
    pub linear: Linear,
    /// ∂(A, b)/∂θ: one row of d² + d numbers, A row by row, per parameter.
    by_parameter: Vec<Vec<f64>>,
}

impl AffineMotion {
    pub fn new(bound: &Bound) -> crate::Result<Self> {
        let program = &bound.program;
        let (dim, directions) = (program.dim(), program.directions());
        let mut lanes = Lanes::<1>::new(bound);
        run_at(bound, &mut lanes, &vec![0.0; dim], 0.0, &Segment::default());
        lanes.differentiate(program);
        let mut slopes = vec![0.0; dim * directions];
        for (i, &o) in program.outputs.iter().enumerate() {
            for link in &program.links[o] {
                slopes[i * directions + link.direction] = lanes.tangents[link.slot][0];
            }
        }
        let offset = DVector::from_fn(dim, |i, _| lanes.values[program.outputs[i]][0]);
        let linear = Linear::new(DMatrix::from_fn(dim, dim, |i, j| slopes[i * directions + j]), offset)?;
        let bends = bends(bound, &lanes);
        let row = |z: usize| {
            let matrix = bends[z * dim * dim..(z + 1) * dim * dim].iter().copied();
            matrix.chain((0..dim).map(|i| slopes[i * directions + z])).collect()
        };
        Ok(Self { linear, by_parameter: (dim..directions).map(row).collect() })
    }

    /// The step of length `dt`.
    pub fn step(&self, dt: f64) -> AffineStep {
        let dim = self.linear.dim();
        let count = self.by_parameter.len();
        AffineStep::new(dim, |x| {
            let width = dim * dim + dim;
            let (mut out, mut slope, mut inner) = (vec![0.0; dim], vec![0.0; dim * dim], vec![0.0; dim * width]);
            self.linear.flow_jacobian(0.0, dt, x, &mut out, &mut slope, &mut inner);
            let mut outer = vec![0.0; dim * count];
            for i in 0..dim {
                for (l, row) in self.by_parameter.iter().enumerate() {
                    let inner = &inner[i * width..(i + 1) * width];
                    outer[i * count + l] = inner.iter().zip(row).map(|(inner, row)| inner * row).sum();
                }
            }
            (out, slope, outer)
        })
    }
}
