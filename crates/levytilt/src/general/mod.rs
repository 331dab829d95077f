//! Infer models whose noise arrives along directions: hidden states, common shocks, coupled states, observation rows.
//!
//! The state z follows dz = (A z + b) dt + Σ_r b_r dL_r, every source r a scalar Lévy noise along a direction b_r, and
//! what is seen is y_i = h_iᵀz + ε_i. Given the variance of every jump the model is linear and Gaussian, so particles
//! carry a Gaussian law of the state each, and only variances are sampled.
//!
//! | file | does |
//! |---|---|
//! | `model`, `chain` | the model, and its steps on a grid of latent times |
//! | `form`, `meet`, `pass` | quadratic messages with full matrices, their integrals against laws; steps of a Kalman filter and its backward messages |
//! | `disturbance` | the derivatives of a Kalman filter's log evidence in all its laws |
//! | `robust`, `guide` | variances of a robust smoother, and the widened messages that steer particles |
//! | `lattice`, `filter`, `smooth` | evenly spread draws, evidence by independent filters, and paths by backward simulation |
//! | `spec`, `observe` | which parameters are open, and where learning starts |
//! | `gradient`, `curvature`, `learn`, `fit` | the gradient of the log evidence, its curvature, the search, and all of it in one call |
//! | `kalman` | all of it exactly, where every noise is Gaussian |
//! | `nonlinear` | the same where the drift is nonlinear in the states: particles carry states |
//! | `online` | new rows taken in one by one, without those before them |
//! | `forecast`, `simulate` | predictive paths of the observed columns, and records with known truth |

mod chain;
mod curvature;
mod disturbance;
mod filter;
mod fit;
mod forecast;
mod form;
mod gradient;
mod guide;
mod kalman;
mod lattice;
mod learn;
mod meet;
mod model;
mod nonlinear;
mod observe;
mod online;
mod pass;
mod reach;
mod robust;
mod simulate;
mod smooth;
mod spec;
#[cfg(test)]
mod tests;

pub use chain::GeneralChain;
pub use filter::FilterOptions;
pub(crate) use filter::evidence;
pub use fit::{GeneralFit, GeneralOptions, fit_general, fit_general_with};
pub(crate) use fit::{final_filters, upper_nodes};
pub use forecast::forecast_general;
pub use guide::{Guide, Reach};
pub use model::{GeneralModel, Row, Source};
pub use nonlinear::smooth_nonlinear;
pub use online::{OnlineFilter, OnlineSeen, Particles};
pub use simulate::{GeneralSimulated, simulate_general};
pub use smooth::{DrawnPath, Smoothed, smooth};
pub use spec::{GeneralSpec, Loading, RowSpec, SourceSpec, StartSpec};
