//! Compute whole laws to full accuracy, where the rest of the crate works with nodes.
//!
//! [`StableLaw`] is the symmetric α-stable law: density, distribution, quantiles, derivatives in the parameters and exact
//! draws. The standard law (scale 1) is computed in three ranges that overlap, and every range gives all quantities from
//! one pass:
//!
//! - near the centre, the power series in x² (`series.rs`),
//! - in the tail, the power series in |x|^{−α} (`series.rs`),
//! - between them, the Fourier integral along a ray in the complex plane (`contour.rs`).
//!
//! Nothing is special about α = 1; at α = 2 the heavy tail vanishes term by term and the Gaussian is left.

mod contour;
mod draw;
mod quantile;
mod series;
mod stable;
mod standard;

pub use stable::{LogPdfDerivatives, StableLaw};
