//! Compute whole laws to full accuracy, where the rest of the crate works with nodes.
//!
//! [`StableLaw`] is the α-stable law, symmetric or skewed: density, distribution, quantiles, derivatives in the parameters
//! and exact draws. The symmetric standard law (scale 1) is computed in three ranges that overlap, and every range gives
//! all quantities from one pass:
//!
//! - near the centre, the power series in x² (`expansion.rs`),
//! - in the tail, the power series in |x|^{−α} (`expansion.rs`),
//! - between them, the Fourier integral along a ray in the complex plane (`contour.rs`).
//!
//! The skewed law is computed everywhere along the path of steepest descent (`path.rs`, `skewed.rs`), where all integrals
//! have positive terms, so that small probabilities are as accurate as large ones.
//!
//! Nothing is special about α = 1; at α = 2 the heavy tail vanishes term by term and the Gaussian is left.

mod contour;
mod draw;
mod expansion;
mod path;
mod quantile;
mod skewed;
mod skewed_draw;
mod skewed_quantile;
mod stable;
mod standard;

pub use stable::{LogPdfDerivatives, Parametrization, StableLaw};
