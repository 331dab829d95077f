//! Move a state along dx = (Ax + b) dt with the exponential of the matrix, shared by all states of a step length.

use super::family::DriftFamily;
use super::integral::{Integral, integrate, norm};
use super::{Drift, DriftPart, add_scaled, at_least_one, expect_length};
use crate::error::{finite, non_negative};
use crate::parameter::{Domain, ParameterEntry};
use crate::{Error, Result};
use nalgebra::{DMatrix, DVector};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// Linear motion in any dimension.
///
/// flow_Δ(x) = e^{AΔ}x + (∫₀^Δ e^{As} ds) b, exact for every A, singular ones too. Domain: A and b finite. A may let
/// states grow; a step over which e^{AΔ}, its integral or the shift by b exceeds 1e100 fails [`Drift::check_step`], and
/// its flow is NaN. Over every other step the flow is finite for states up to 1e200.
///
/// The matrices of a step length are computed once and kept; clones share them.
#[derive(Debug, Clone)]
pub struct Linear {
    matrix: DMatrix<f64>,
    offset: DVector<f64>,
    steps: Arc<RwLock<HashMap<u64, Arc<Step>>>>,
}

/// The slope; by default a return within a tenth of the span. Dimensions start without acting on each other.
const SLOPE: ParameterEntry = ParameterEntry::new(
    "slope",
    "growth rate, mean-reverting if negative, dx = (slope x + offset) dt",
    "1/time",
    Domain::REAL,
    -1.0,
    |scales, _| -10.0 / scales.span,
)
.with_prior(|own, by| 100.0 / own.span * (own.spread / by.spread));

/// The offset; by default the median of the values is at rest.
const OFFSET: ParameterEntry =
    ParameterEntry::new("offset", "constant drift term", "value/time", Domain::REAL, 0.0, |scales, given| {
        -given(SLOPE.name).unwrap_or(-10.0 / scales.span) * scales.median
    })
    .with_prior(|own, _| 100.0 * own.spread.max(own.median.abs()) / own.span);

/// The entry of the family.
pub(super) const FAMILY: DriftFamily = DriftFamily {
    name: "linear",
    about: "Linear drift, including growth and trends",
    parameters: &[SLOPE, OFFSET],
    formula: Some("slope*x + offset"),
    coupled: true,
    build: |dim, values| {
        if let [slope, offset] = values {
            return Ok(Box::new(Linear::line(*slope, *offset)?));
        }
        let (matrix, offset) = values.split_at(dim * dim);
        Ok(Box::new(Linear::new(DMatrix::from_row_slice(dim, dim, matrix), DVector::from_column_slice(offset))?))
    },
};

/// What the flow over one step length needs.
#[derive(Debug)]
struct Step {
    exponential: DMatrix<f64>,
    integral: DMatrix<f64>,
    /// `integral` times b.
    shift: DVector<f64>,
    sound: bool,
    /// Times within the step at which the derivatives in A are summed; empty where that sum would not be exact.
    stages: OnceLock<Vec<Stage>>,
}

/// The flow from the start of a step to a time within it, and the weight of that time.
#[derive(Debug)]
struct Stage {
    weight: f64,
    exponential: DMatrix<f64>,
    shift: DVector<f64>,
}

/// Growth beyond which a step is refused.
const LARGEST: f64 = 1e100;

/// Numbers of all kept steps together: 128 MB.
const KEPT: usize = 1 << 24;

impl Linear {
    /// This drift with every parameter learned.
    pub fn learned() -> DriftPart {
        DriftPart::learned(const { &FAMILY })
    }

    /// The drift dx = (`matrix`·x + `offset`) dt: a square matrix and as many offsets.
    pub fn new(matrix: DMatrix<f64>, offset: DVector<f64>) -> Result<Self> {
        let dim = at_least_one("dim", matrix.nrows())?;
        if matrix.ncols() != dim {
            let got = format!("{dim} rows and {} columns", matrix.ncols());
            return Err(Error::Shape { what: "matrix", got, expected: "as many rows as columns".into() });
        }
        expect_length("offset", offset.len(), dim)?;
        let drift = Self { matrix, offset, steps: Arc::default() };
        drift.parameters().iter().try_for_each(|(name, value)| finite(name, *value).map(|_| ()))?;
        Ok(drift)
    }

    /// The one-dimensional drift dx = (`slope`·x + `offset`) dt.
    pub fn line(slope: f64, offset: f64) -> Result<Self> {
        SLOPE.check(slope)?;
        Self::new(DMatrix::from_element(1, 1, slope), DVector::from_element(1, offset))
    }

    /// The step of length `dt`, from the store or new. The key is the exact length, so that what a thread gets does not
    /// depend on which thread came first.
    fn step(&self, dt: f64) -> Arc<Step> {
        let key = dt.to_bits();
        if let Some(step) = self.steps.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return step.clone();
        }
        let (exponential, shift, integral) = self.parts(dt);
        let mut entries = exponential.iter().chain(integral.iter()).chain(shift.iter());
        let sound = entries.all(|v| v.abs() <= LARGEST);
        let shift = if sound { shift } else { shift.map(|_| f64::NAN) };
        let step = Arc::new(Step { exponential, integral, shift, sound, stages: OnceLock::new() });
        let mut steps = self.steps.write().unwrap_or_else(PoisonError::into_inner);
        if steps.len() * 20 * self.matrix.len() > KEPT {
            steps.clear();
        }
        steps.entry(key).or_insert(step).clone()
    }

    /// e^{AΔ}, the shift by b, and the integral of e^{As}.
    fn parts(&self, dt: f64) -> (DMatrix<f64>, DVector<f64>, DMatrix<f64>) {
        let Integral { exponential, sum } = integrate(&self.matrix, dt);
        let shift = &sum * &self.offset;
        (exponential, shift, sum)
    }

    /// Gauss–Legendre times of a step: n of them integrate e^{A(Δ−s)} ⊗ e^{As} to rounding while
    /// (2‖A‖Δ)^{2n} (n!)⁴/((2n+1)(2n)!³) is below 1e-15.
    fn stages(&self, dt: f64) -> Vec<Stage> {
        let rule: &[(f64, f64)] = match norm(&self.matrix) * dt {
            size if size <= 0.09 => &GAUSS_4,
            size if size <= 1.5 => &GAUSS_8,
            size if size <= 8.0 => &GAUSS_16,
            _ => return Vec::new(),
        };
        let below = rule.iter().rev().map(|&(node, weight)| (-node, weight));
        let stage = |(node, weight): (f64, f64)| {
            let (exponential, shift, _) = self.parts(0.5 * dt * (1.0 + node));
            Stage { weight: 0.5 * dt * weight, exponential, shift }
        };
        below.chain(rule.iter().copied()).map(stage).collect()
    }

    /// Add λᵀ∂flow/∂(A, b) to `sum`.
    ///
    /// ∂/∂b is the integral of e^{As}; λᵀ∂/∂A_kl = ∫₀^Δ (e^{Aᵀ(Δ−s)}λ)_k x_l(s) ds, the Fréchet derivative of the
    /// exponential, with x(s) the flow up to s.
    fn add_parameter_pullback(&self, step: &Step, dt: f64, x: &[f64], lambda: &[f64], sum: &mut [f64]) {
        let dim = x.len();
        let (by_matrix, by_offset) = sum.split_at_mut(dim * dim);
        for (sum, column) in by_offset.iter_mut().zip(columns(&step.integral)) {
            *sum += dot(column, lambda);
        }
        let stages = step.stages.get_or_init(|| self.stages(dt));
        if stages.is_empty() {
            return self.add_matrix_pullback(dt, x, lambda, by_matrix);
        }
        let mut state = vec![0.0; dim];
        // The times are symmetric in the step: the rest of the step after stage q is as long as that stage counted from the end.
        for (stage, rest) in stages.iter().zip(stages.iter().rev()) {
            advance(&stage.exponential, &stage.shift, x, &mut state);
            for (row, column) in by_matrix.chunks_exact_mut(dim).zip(columns(&rest.exponential)) {
                add_scaled(stage.weight * dot(column, lambda), &state, row);
            }
        }
    }

    /// The same for A alone and any ‖A‖Δ, as a block of one exponential of twice the size:
    /// exp of Δ·((Aᵀ, λzᵀ), (0, Mᵀ)) holds ∫ e^{Aᵀ(Δ−s)} λzᵀ e^{Mᵀs} ds, where M = ((A, b/β), (0, 0)) moves z = (x, β).
    fn add_matrix_pullback(&self, dt: f64, x: &[f64], lambda: &[f64], sum: &mut [f64]) {
        let dim = x.len();
        let size = norm(&self.matrix);
        let largest = |values: &[f64]| values.iter().fold(0.0f64, |most, v| most.max(v.abs()));
        // All blocks get the size of A, so that none of them decides how often the exponential is halved.
        let unit = Some(largest(self.offset.as_slice()) / size).filter(|unit| *unit > 0.0).unwrap_or(1.0);
        let scale = largest(x).max(unit);
        let weight = largest(lambda);
        if weight == 0.0 {
            return;
        }
        let mut block = DMatrix::zeros(2 * dim + 1, 2 * dim + 1);
        for i in 0..dim {
            for j in 0..dim {
                block[(i, j)] = self.matrix[(j, i)];
                block[(dim + i, dim + j)] = self.matrix[(j, i)];
                block[(i, dim + j)] = size * (lambda[i] / weight) * (x[j] / scale);
            }
            block[(i, 2 * dim)] = size * (lambda[i] / weight) * (unit / scale);
            block[(2 * dim, dim + i)] = self.offset[i] / unit;
        }
        let exponential = integrate(&block, dt).exponential;
        for k in 0..dim {
            for l in 0..dim {
                sum[k * dim + l] += weight * (exponential[(k, dim + l)] / size * scale);
            }
        }
    }
}

/// Positive nodes and weights of the Gauss–Legendre rules with 4, 8 and 16 points on (−1, 1).
const GAUSS_4: [(f64, f64); 2] = [(0.3399810435848563, 0.6521451548625461), (0.8611363115940526, 0.3478548451374538)];
const GAUSS_8: [(f64, f64); 4] = [
    (0.1834346424956498, 0.362683783378362),
    (0.525532409916329, 0.3137066458778873),
    (0.7966664774136267, 0.2223810344533745),
    (0.9602898564975363, 0.1012285362903763),
];
const GAUSS_16: [(f64, f64); 8] = [
    (0.09501250983763744, 0.1894506104550685),
    (0.2816035507792589, 0.18260341504492358),
    (0.45801677765722737, 0.16915651939500254),
    (0.6178762444026438, 0.14959598881657674),
    (0.755404408355003, 0.12462897125553388),
    (0.8656312023878318, 0.09515851168249279),
    (0.9445750230732326, 0.062253523938647894),
    (0.9894009349916499, 0.027152459411754096),
];

fn columns(matrix: &DMatrix<f64>) -> std::slice::ChunksExact<'_, f64> {
    matrix.as_slice().chunks_exact(matrix.nrows())
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `out` = `exponential`·`x` + `shift`.
fn advance(exponential: &DMatrix<f64>, shift: &DVector<f64>, x: &[f64], out: &mut [f64]) {
    out.copy_from_slice(shift.as_slice());
    for (x, column) in x.iter().zip(columns(exponential)) {
        add_scaled(*x, column, out);
    }
}

impl Drift for Linear {
    fn kind(&self) -> &'static str {
        FAMILY.name
    }

    fn dim(&self) -> usize {
        self.matrix.nrows()
    }

    fn is_affine(&self) -> bool {
        true
    }

    /// `a[0,0]`, `a[0,1]`, … row by row, then `b[0]`, ….
    fn parameters(&self) -> Vec<(String, f64)> {
        let dim = self.dim();
        let entries = (0..dim * dim).map(|k| (k / dim, k % dim));
        let a = entries.map(|(i, j)| (format!("a[{i},{j}]"), self.matrix[(i, j)]));
        a.chain((0..dim).map(|i| (format!("b[{i}]"), self.offset[i]))).collect()
    }

    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Drift>> {
        let dim = self.dim();
        expect_length("parameters of linear", values.len(), dim * (dim + 1))?;
        let (a, b) = values.split_at(dim * dim);
        Ok(Box::new(Self::new(DMatrix::from_row_slice(dim, dim, a), DVector::from_column_slice(b))?))
    }

    fn check_step(&self, dt: f64) -> Result<()> {
        non_negative("step length", dt)?;
        if self.step(dt).sound {
            return Ok(());
        }
        let why =
            format!("states grow by more than {LARGEST:e} over {dt}; use shorter steps or a matrix with less growth");
        Err(Error::Numerical { what: "flow of the linear drift", why })
    }

    fn flow(&self, t: f64, dt: f64, x: &[f64], out: &mut [f64]) {
        self.flow_many(t, dt, x, out);
    }

    fn flow_many(&self, _t: f64, dt: f64, states: &[f64], out: &mut [f64]) {
        let (step, dim) = (self.step(dt), self.dim());
        for (x, out) in states.chunks_exact(dim).zip(out.chunks_exact_mut(dim)) {
            advance(&step.exponential, &step.shift, x, out);
        }
    }

    fn flow_jacobian(
        &self,
        _t: f64,
        dt: f64,
        x: &[f64],
        out: &mut [f64],
        by_state: &mut [f64],
        by_parameter: &mut [f64],
    ) {
        let (step, dim) = (self.step(dt), self.dim());
        advance(&step.exponential, &step.shift, x, out);
        by_parameter.fill(0.0);
        let mut lambda = vec![0.0; dim];
        for (i, by_parameter) in by_parameter.chunks_exact_mut(dim * (dim + 1)).enumerate() {
            for j in 0..dim {
                by_state[i * dim + j] = step.exponential[(i, j)];
            }
            lambda.fill(0.0);
            lambda[i] = 1.0;
            self.add_parameter_pullback(&step, dt, x, &lambda, by_parameter);
        }
    }

    fn pullback(
        &self,
        _t: f64,
        dt: f64,
        x: &[f64],
        lambda: &[f64],
        out: &mut [f64],
        by_state: &mut [f64],
        by_parameter: &mut [f64],
    ) {
        let step = self.step(dt);
        advance(&step.exponential, &step.shift, x, out);
        for (out, column) in by_state.iter_mut().zip(columns(&step.exponential)) {
            *out = dot(column, lambda);
        }
        self.add_parameter_pullback(&step, dt, x, lambda, by_parameter);
    }

    fn pullback_many(
        &self,
        t: f64,
        dt: f64,
        states: &[f64],
        lambda: &mut dyn FnMut(&[f64], &mut [f64]),
        out: &mut [f64],
        by_state: &mut [f64],
        by_parameter: &mut [f64],
    ) {
        let (step, dim) = (self.step(dt), self.dim());
        self.flow_many(t, dt, states, out);
        let mut covectors = vec![0.0; states.len()];
        lambda(out, &mut covectors);
        for (lambda, by_state) in covectors.chunks_exact(dim).zip(by_state.chunks_exact_mut(dim)) {
            for (out, column) in by_state.iter_mut().zip(columns(&step.exponential)) {
                *out = dot(column, lambda);
            }
        }
        let rows = by_parameter.chunks_exact_mut(dim * (dim + 1));
        for ((x, lambda), row) in states.chunks_exact(dim).zip(covectors.chunks_exact(dim)).zip(rows) {
            self.add_parameter_pullback(&step, dt, x, lambda, row);
        }
    }
}

#[cfg(test)]
#[path = "linear_tests.rs"]
mod tests;
