//! Drifts that move every dimension by itself, with two parameters per dimension: one flow of a number makes the drift.

use super::family::DriftFamily;
use super::{Drift, component};
use crate::Result;
use crate::parameter::ParameterEntry;

/// A drift that moves every dimension by itself, with two parameters per dimension.
pub trait Diagonal: std::fmt::Debug + Send + Sync {
    /// The entry of the family.
    const FAMILY: &'static DriftFamily;

    /// Whether the flow of a dimension and its derivatives in the parameters are linear in the state, up to a constant.
    const AFFINE: bool;

    /// Values of the first and of the second parameter in every dimension.
    fn values(&self) -> [&[f64]; 2];

    /// The flow of dimension `i` over `dt`: what depends on the step alone is computed before a state is given.
    fn advance(&self, i: usize, dt: f64) -> impl Fn(f64) -> f64;

    /// This flow with its derivatives.
    fn local(&self, i: usize, dt: f64) -> impl Fn(f64) -> Local;
}

/// The flow of one dimension, and its derivatives in the state and in the two parameters of the dimension.
pub struct Local {
    pub out: f64,
    pub by_state: f64,
    pub by_parameters: [f64; 2],
}

impl<D: Diagonal> Drift for D {
    fn kind(&self) -> &'static str {
        D::FAMILY.name
    }

    fn dim(&self) -> usize {
        self.values()[0].len()
    }

    fn is_affine(&self) -> bool {
        D::AFFINE
    }

    /// The first parameter of all dimensions, then the second.
    fn parameters(&self) -> Vec<(String, f64)> {
        let dim = self.dim();
        let named = |(entry, values): (&ParameterEntry, &[f64])| -> Vec<_> {
            values.iter().enumerate().map(|(i, &value)| (component(entry.name, i, dim), value)).collect()
        };
        D::FAMILY.parameters.iter().zip(self.values()).flat_map(named).collect()
    }

    fn parameter_count(&self) -> usize {
        2 * self.dim()
    }

    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Drift>> {
        D::FAMILY.build_in(self.dim(), values)
    }

    fn flow(&self, t: f64, dt: f64, x: &[f64], out: &mut [f64]) {
        self.flow_many(t, dt, x, out);
    }

    fn flow_many(&self, _t: f64, dt: f64, states: &[f64], out: &mut [f64]) {
        let dim = self.dim();
        for i in 0..dim {
            let advance = self.advance(i, dt);
            for (out, x) in out[i..].iter_mut().step_by(dim).zip(states[i..].iter().step_by(dim)) {
                *out = advance(*x);
            }
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
        let dim = x.len();
        by_state.fill(0.0);
        by_parameter.fill(0.0);
        for i in 0..dim {
            let local = self.local(i, dt)(x[i]);
            out[i] = local.out;
            by_state[i * dim + i] = local.by_state;
            let row = &mut by_parameter[2 * dim * i..2 * dim * (i + 1)];
            [row[i], row[dim + i]] = local.by_parameters;
        }
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
        let dim = self.dim();
        self.flow_many(t, dt, states, out);
        let mut covectors = vec![0.0; states.len()];
        lambda(out, &mut covectors);
        for i in 0..dim {
            let local = self.local(i, dt);
            for (k, place) in (i..states.len()).step_by(dim).enumerate() {
                let (local, lambda) = (local(states[place]), covectors[place]);
                by_state[place] = lambda * local.by_state;
                if !by_parameter.is_empty() {
                    let row = &mut by_parameter[2 * dim * k..2 * dim * (k + 1)];
                    row[i] += lambda * local.by_parameters[0];
                    row[dim + i] += lambda * local.by_parameters[1];
                }
            }
        }
    }
}
