//! Move every dimension by a drift of its own: dx_i = f_i(x_i) dt.

use super::{Drift, add_scaled, at_least_one, component, expect_length};
use crate::parameter::Domain;
use crate::{Error, Result};

/// One-dimensional drifts side by side, which do not act on each other. Parameters are those of the first dimension, then
/// those of the second, and so on.
#[derive(Debug)]
pub struct Each {
    parts: Vec<Box<dyn Drift>>,
}

impl Each {
    /// A drift of one dimension for each, at least one.
    pub fn new(parts: Vec<Box<dyn Drift>>) -> Result<Self> {
        at_least_one("dim", parts.len())?;
        match parts.iter().find(|part| part.dim() != 1) {
            None => Ok(Self { parts }),
            Some(wide) => Err(Error::Shape {
                what: "drift of one dimension",
                got: format!("a {} of {} dimensions", wide.kind(), wide.dim()),
                expected: "one dimension".into(),
            }),
        }
    }

    /// For every dimension its drift and where its parameters begin.
    fn parts(&self) -> impl Iterator<Item = (usize, &dyn Drift, usize)> {
        let mut first = 0;
        self.parts.iter().enumerate().map(move |(i, part)| {
            let own = first;
            first += part.parameter_count();
            (i, part.as_ref(), own)
        })
    }

    fn column(&self, states: &[f64], i: usize) -> Vec<f64> {
        states.iter().skip(i).step_by(self.dim()).copied().collect()
    }

    fn set_column(&self, states: &mut [f64], i: usize, column: &[f64]) {
        let dim = self.dim();
        states.iter_mut().skip(i).step_by(dim).zip(column).for_each(|(state, value)| *state = *value);
    }
}

impl Drift for Each {
    fn kind(&self) -> &'static str {
        self.parts[0].kind()
    }

    fn dim(&self) -> usize {
        self.parts.len()
    }

    fn parameters(&self) -> Vec<(String, f64)> {
        let dim = self.dim();
        let named = |(i, part, _): (usize, &dyn Drift, usize)| {
            part.parameters().into_iter().map(move |(name, value)| (component(&name, i, dim), value))
        };
        self.parts().flat_map(named).collect()
    }

    fn parameter_count(&self) -> usize {
        self.parts.iter().map(|part| part.parameter_count()).sum()
    }

    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Drift>> {
        expect_length("drift parameter values", values.len(), self.parameter_count())?;
        let parts =
            self.parts().map(|(_, part, first)| part.with_parameters(&values[first..][..part.parameter_count()]));
        Ok(Box::new(Self { parts: parts.collect::<Result<_>>()? }))
    }

    fn domains(&self) -> Vec<Domain> {
        self.parts.iter().flat_map(|part| part.domains()).collect()
    }

    fn is_affine(&self) -> bool {
        self.parts.iter().all(|part| part.is_affine())
    }

    fn is_still(&self) -> bool {
        self.parts.iter().all(|part| part.is_still())
    }

    fn is_autonomous(&self) -> bool {
        self.parts.iter().all(|part| part.is_autonomous())
    }

    fn check_step(&self, dt: f64) -> Result<()> {
        self.parts.iter().try_for_each(|part| part.check_step(dt))
    }

    fn failure(&self) -> Option<Error> {
        self.parts.iter().find_map(|part| part.failure())
    }

    fn flow(&self, t: f64, dt: f64, x: &[f64], out: &mut [f64]) {
        for (i, part) in self.parts.iter().enumerate() {
            part.flow(t, dt, &x[i..=i], &mut out[i..=i]);
        }
    }

    fn flow_jacobian(
        &self,
        t: f64,
        dt: f64,
        x: &[f64],
        out: &mut [f64],
        by_state: &mut [f64],
        by_parameter: &mut [f64],
    ) {
        let (dim, count) = (self.dim(), self.parameter_count());
        by_state.fill(0.0);
        by_parameter.fill(0.0);
        for (i, part, first) in self.parts() {
            let own = &mut by_parameter[i * count + first..][..part.parameter_count()];
            let slope = &mut by_state[i * (dim + 1)..][..1];
            part.flow_jacobian(t, dt, &x[i..=i], &mut out[i..=i], slope, own);
        }
    }

    fn flow_many(&self, t: f64, dt: f64, states: &[f64], out: &mut [f64]) {
        let mut moved = vec![0.0; states.len() / self.dim()];
        for (i, part) in self.parts.iter().enumerate() {
            part.flow_many(t, dt, &self.column(states, i), &mut moved);
            self.set_column(out, i, &moved);
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
        self.flow_many(t, dt, states, out);
        let mut covectors = vec![0.0; states.len()];
        lambda(out, &mut covectors);
        let (rows, count) = (states.len() / self.dim(), self.parameter_count());
        let (mut moved, mut slopes) = (vec![0.0; rows], vec![0.0; rows]);
        for (i, part, first) in self.parts() {
            let own = part.parameter_count();
            let mut slopes_of_own = vec![0.0; if by_parameter.is_empty() { 0 } else { rows * own }];
            let weights = self.column(&covectors, i);
            let mut given = |_: &[f64], out: &mut [f64]| out.copy_from_slice(&weights);
            let column = self.column(states, i);
            part.pullback_many(t, dt, &column, &mut given, &mut moved, &mut slopes, &mut slopes_of_own);
            self.set_column(by_state, i, &slopes);
            for (row, own) in by_parameter.chunks_exact_mut(count.max(1)).zip(slopes_of_own.chunks_exact(own.max(1))) {
                add_scaled(1.0, own, &mut row[first..]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::{Formula, Ou};

    fn reverting(theta: f64, mu: f64) -> Box<dyn Drift> {
        Box::new(Formula::parse("theta*(mu - x)").unwrap().drift(&[theta, mu]).unwrap())
    }

    #[test]
    fn identity_of_mean_reversion_in_two_dimensions() {
        let each = Each::new(vec![reverting(3.0, 1.0), reverting(0.5, -2.0)]).unwrap();
        let ou = Ou::diagonal(vec![3.0, 0.5], vec![1.0, -2.0]).unwrap();
        let states = [0.3, 4.0, -1.0, 7.0, 2.0, -3.0];
        let (mut lambda, mut results) = (|out: &[f64], to: &mut [f64]| to.copy_from_slice(out), Vec::new());
        for drift in [&each as &dyn Drift, &ou] {
            let (mut out, mut by_state, mut by_parameter) = ([0.0; 6], [0.0; 6], [0.0; 12]);
            drift.pullback_many(0.0, 0.1, &states, &mut lambda, &mut out, &mut by_state, &mut by_parameter);
            results.push((out, by_state, by_parameter));
        }
        let [(out, by_state, mine), (expected, slopes, of_ou)] = &results[..] else { unreachable!() };
        for (a, b) in out.iter().zip(expected).chain(by_state.iter().zip(slopes)) {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
        // theta and mu of each dimension against both thetas, then both mus.
        for (mine, of_ou) in mine.chunks(4).zip(of_ou.chunks(4)) {
            for (k, l) in [0, 2, 1, 3].into_iter().enumerate() {
                assert!((mine[l] - of_ou[k]).abs() < 1e-12);
            }
        }
        assert_eq!(each.parameters()[2], ("theta[1]".into(), 0.5));
        assert_eq!(each.with_parameters(&[1.0, 2.0, 3.0, 4.0]).unwrap().parameters()[3].1, 4.0);
    }

    #[test]
    fn identity_one_state_gives_the_same_as_many() {
        let bent: Box<dyn Drift> = Box::new(Formula::parse("a*x - x^3 + sin(t)").unwrap().drift(&[1.5]).unwrap());
        let each = Each::new(vec![bent, reverting(3.0, 1.0)]).unwrap();
        let (x, lambda) = ([0.4, -0.8], [0.7, -1.3]);
        let (mut out, mut by_state, mut by_parameter) = ([0.0; 2], [0.0; 2], [0.0; 3]);
        each.pullback(0.3, 0.2, &x, &lambda, &mut out, &mut by_state, &mut by_parameter);
        let (mut outs, mut states, mut parameters) = ([0.0; 2], [0.0; 2], [0.0; 3]);
        let mut given = |_: &[f64], to: &mut [f64]| to.copy_from_slice(&lambda);
        each.pullback_many(0.3, 0.2, &x, &mut given, &mut outs, &mut states, &mut parameters);
        for (a, b) in
            out.iter().chain(&by_state).chain(&by_parameter).zip(outs.iter().chain(&states).chain(&parameters))
        {
            assert!((a - b).abs() < 1e-9 * (1.0 + a.abs()), "{a} {b}");
        }
        assert!(!each.is_affine() && !each.is_autonomous());
    }

    #[test]
    fn errors_name_what_is_wrong() {
        assert!(matches!(Each::new(Vec::new()), Err(Error::Parameter { .. })));
        let wide: Box<dyn Drift> = Box::new(Ou::diagonal(vec![1.0, 1.0], vec![0.0, 0.0]).unwrap());
        assert!(matches!(Each::new(vec![wide]), Err(Error::Shape { .. })));
    }
}
