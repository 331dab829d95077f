//! Move a state along the drift's own motion: x̃ = flow_Δ(x) solves dx = f(x) dt over a step without noise.
//!
//! A drift is one file that gives the flow and its derivatives; a flow that is known exactly is used exactly.

use crate::Result;

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

    /// `out` = flow of the state `x` from time `t` to `t + dt`. Finite for every finite state and `dt` ≥ 0.
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
}
