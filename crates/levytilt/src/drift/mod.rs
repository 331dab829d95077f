//! Move a state along the drift's own motion: x̃ = flow_Δ(x) solves dx = f(x) dt over a step without noise.
//!
//! A drift is one file that gives the flow and its derivatives; a flow that is known exactly is used exactly.

use crate::error::{expect_length, non_negative};
use crate::parameter::Domain;
use crate::{Error, Result};

mod diagonal;
mod double_well;
mod each;
mod families;
mod family;
mod formula;
mod integral;
mod known;
mod linear;
mod mlp;
mod neural;
mod none;
mod ou;
mod part;
#[cfg(test)]
mod tests;

pub use double_well::DoubleWell;
pub use each::Each;
pub use families::DRIFT_FAMILIES;
pub use family::{DriftFamily, Slot};
pub use formula::{Between, Formula, FormulaDrift, Inputs};
pub use known::{FormulaParameter, Known};
pub use linear::Linear;
pub use neural::{Neural, NeuralSpec};
pub use none::NoDrift;
pub use ou::Ou;
pub use part::DriftPart;

/// A law of motion without noise, of any dimension.
pub trait Drift: std::fmt::Debug + Send + Sync {
    /// Name of the drift as users write it, e.g. `ou`.
    fn kind(&self) -> &'static str;

    /// Dimension d of the state.
    fn dim(&self) -> usize;

    /// Names and values of the parameters that can be learned.
    fn parameters(&self) -> Vec<(String, f64)>;

    /// The same drift with other parameter values, in the order of [`Drift::parameters`].
    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Drift>>;

    /// `out` = flow of the state `x` from time `t` to `t + dt`. Finite for every finite state and every `dt` ≥ 0 that
    /// passes [`Drift::check_step`]; or NaN, and then [`Drift::failure`] says why.
    fn flow(&self, t: f64, dt: f64, x: &[f64], out: &mut [f64]);

    /// The flow with its derivatives: `by_state[i·d + j]` = ∂out_i/∂x_j, `by_parameter[i·p + l]` = ∂out_i/∂parameter_l.
    fn flow_jacobian(
        &self,
        t: f64,
        dt: f64,
        x: &[f64],
        out: &mut [f64],
        by_state: &mut [f64],
        by_parameter: &mut [f64],
    );

    /// Number p of parameters.
    fn parameter_count(&self) -> usize {
        self.parameters().len()
    }

    /// Values allowed for each parameter, in the order of [`Drift::parameters`]: those of the family's entry, and any number
    /// for a drift that is not listed.
    fn domains(&self) -> Vec<Domain> {
        match DriftFamily::named(self.kind()) {
            Some(family) => family.slots(self.dim()).iter().map(|slot| slot.entry.domain()).collect(),
            None => vec![Domain::REAL; self.parameter_count()],
        }
    }

    /// Whether the flow and its derivatives in the parameters are linear functions of the state, up to a constant.
    fn is_affine(&self) -> bool {
        false
    }

    /// Whether the flow leaves every state where it is.
    fn is_still(&self) -> bool {
        false
    }

    /// Whether the motion depends on the state alone, not on time.
    fn is_autonomous(&self) -> bool {
        true
    }

    /// Check, once per step length, that the flow over `dt` can be computed; the error says why not.
    fn check_step(&self, dt: f64) -> Result<()> {
        non_negative("step length", dt).map(|_| ())
    }

    /// Why the earliest flow so far that could not be computed failed: a state outside of the drift's domain, say. Flows
    /// are too many to be checked one by one; who meets a state that is not finite asks here.
    fn failure(&self) -> Option<Error> {
        None
    }

    /// [`Drift::flow`] of many states that lie one after the other in `states`, as in `out`. What depends on `dt` alone
    /// is computed once, so a loop over states should call this.
    fn flow_many(&self, t: f64, dt: f64, states: &[f64], out: &mut [f64]) {
        let dim = self.dim();
        for (x, out) in states.chunks_exact(dim).zip(out.chunks_exact_mut(dim)) {
            self.flow(t, dt, x, out);
        }
    }

    /// The flow with λᵀ times its derivatives: `by_state[j]` = Σ_i λ_i ∂out_i/∂x_j is set, and
    /// Σ_i λ_i ∂out_i/∂parameter_l is **added** to `by_parameter[l]`, so that a sum over steps needs no copies.
    #[expect(clippy::too_many_arguments, reason = "three inputs of the step, one covector, three outputs")]
    fn pullback(
        &self,
        t: f64,
        dt: f64,
        x: &[f64],
        lambda: &[f64],
        out: &mut [f64],
        by_state: &mut [f64],
        by_parameter: &mut [f64],
    ) {
        let (d, p) = (self.dim(), by_parameter.len());
        JACOBIAN.with_borrow_mut(|space| {
            space.resize(d * (d + p), 0.0);
            let (state, parameter) = space.split_at_mut(d * d);
            self.flow_jacobian(t, dt, x, out, state, parameter);
            by_state.fill(0.0);
            for (i, &weight) in lambda.iter().enumerate() {
                add_scaled(weight, &state[i * d..(i + 1) * d], by_state);
                add_scaled(weight, &parameter[i * p..(i + 1) * p], by_parameter);
            }
        });
    }

    /// [`Drift::pullback`] of many states that lie one after the other in `states`, each with its own covector: given all
    /// flows, `lambda` writes all covectors. A row of derivatives in the parameters per state is **added** to
    /// `by_parameter`; if that is empty they are left out. What depends on `dt` alone is computed once.
    #[expect(clippy::too_many_arguments, reason = "three inputs of the step, one covector, three outputs")]
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
        pullback_each(self, (t, dt), states, lambda, out, by_state, by_parameter);
    }
}

/// [`Drift::pullback_many`], one state after the other.
fn pullback_each<D: Drift + ?Sized>(
    drift: &D,
    (t, dt): (f64, f64),
    states: &[f64],
    lambda: &mut dyn FnMut(&[f64], &mut [f64]),
    out: &mut [f64],
    by_state: &mut [f64],
    by_parameter: &mut [f64],
) {
    let (d, p) = (drift.dim(), drift.parameter_count());
    drift.flow_many(t, dt, states, out);
    let mut covectors = vec![0.0; states.len()];
    lambda(out, &mut covectors);
    let mut unused = vec![0.0; p];
    for k in 0..states.len() / d {
        let at = k * d..(k + 1) * d;
        let row = if by_parameter.is_empty() { &mut unused } else { &mut by_parameter[k * p..(k + 1) * p] };
        let (x, lambda) = (&states[at.clone()], &covectors[at.clone()]);
        drift.pullback(t, dt, x, lambda, &mut out[at.clone()], &mut by_state[at], row);
    }
}

thread_local! {
    /// Working space of [`Drift::pullback`]: it is called for every step of every path, which must not allocate.
    static JACOBIAN: std::cell::RefCell<Vec<f64>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// `sum` += `factor` · `terms`.
fn add_scaled(factor: f64, terms: &[f64], sum: &mut [f64]) {
    for (sum, term) in sum.iter_mut().zip(terms) {
        *sum += factor * term;
    }
}

/// Name of component `i` of a parameter: plain in one dimension, `theta[i]` in several.
fn component(name: &str, i: usize, dim: usize) -> String {
    if dim == 1 { name.to_string() } else { format!("{name}[{i}]") }
}

/// Check a count that must not be zero.
fn at_least_one(name: &str, count: usize) -> Result<usize> {
    if count > 0 {
        return Ok(count);
    }
    Err(Error::Parameter { name: name.to_string(), value: 0.0, expected: "must be at least 1" })
}
