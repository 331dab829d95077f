//! Leave the state where it is: dx = 0.

use super::family::DriftFamily;
use super::{Drift, at_least_one, expect_length};
use crate::Result;

/// No motion between jumps, in any dimension: flow_Δ(x) = x, exactly, for every state and every Δ. No parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoDrift {
    dim: usize,
}

/// The entry of the family.
pub(super) const FAMILY: DriftFamily = DriftFamily {
    name: "none",
    about: "No drift",
    parameters: &[],
    formula: Some("0"),
    coupled: false,
    build: |dim, _| Ok(Box::new(NoDrift::new(dim)?)),
};

impl NoDrift {
    /// No drift in `dim` ≥ 1 dimensions.
    pub fn new(dim: usize) -> Result<Self> {
        Ok(Self { dim: at_least_one("dim", dim)? })
    }
}

impl Drift for NoDrift {
    fn kind(&self) -> &'static str {
        FAMILY.name
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn is_affine(&self) -> bool {
        true
    }

    fn is_still(&self) -> bool {
        true
    }

    fn parameters(&self) -> Vec<(String, f64)> {
        Vec::new()
    }

    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Drift>> {
        expect_length("parameters of no drift", values.len(), 0)?;
        Ok(Box::new(*self))
    }

    fn flow(&self, _t: f64, _dt: f64, x: &[f64], out: &mut [f64]) {
        out.copy_from_slice(x);
    }

    fn flow_jacobian(
        &self,
        _t: f64,
        _dt: f64,
        x: &[f64],
        out: &mut [f64],
        by_state: &mut [f64],
        _by_parameter: &mut [f64],
    ) {
        out.copy_from_slice(x);
        by_state.fill(0.0);
        by_state.iter_mut().step_by(self.dim + 1).for_each(|diagonal| *diagonal = 1.0);
    }

    fn flow_many(&self, _t: f64, _dt: f64, states: &[f64], out: &mut [f64]) {
        out.copy_from_slice(states);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn identities_flow_is_the_state_bit_for_bit() {
        let drift = NoDrift::new(2).unwrap();
        let mut out = [0.0; 2];
        drift.flow(0.0, 1e300, &[f64::MAX, -5e-324], &mut out);
        assert_eq!(out, [f64::MAX, -5e-324]);
    }

    #[test]
    fn errors_name_the_parameter() {
        assert!(matches!(NoDrift::new(0), Err(Error::Parameter { name, .. }) if name == "dim"));
        assert!(matches!(NoDrift::new(1).unwrap().with_parameters(&[1.0]), Err(Error::Shape { .. })));
    }
}
