//! The tilt in continuous time: what a step of length Δ becomes as Δ → 0.
//!
//! A process with jumps y of rate ν(dy), tilted by a potential φ, jumps at rate e^{φ(x+y)−φ(x)} ν(dy) when it is at x.
//! For truncated stable noise y = γ(x)·s·r·Z with r of rate π(dr) = 2r^{−1−α}dr on r ≥ τ, Z standard normal, s =
//! scale·σ_G, and γ the size of jumps at x (1 unless said otherwise). With φ(x) = −a(x − c)², δ = c − x, κ = aδ²,
//! u = 2aγ²s²r², v = u/(1 + u) and C(r) = e^{κv}/√(1+u):
//!
//! | quantity | closed form in r | file |
//! |---|---|---|
//! | rate of jumps Λ | ∫ C(r) π(dr) | `rates` |
//! | divergence per time from the prior | ∫ \[C(κ(2v − v²) − v/2 − 1) + 1\] π(dr) | `rates` |
//! | law of r for a jump | C(r) π(dr)/Λ | `sampler` |
//! | jump given r | N(vδ, v/(2a)) | `sampler` |
//! | drift added to a Brownian part of variance σ² per time | σ²φ'(x) = 2aσ²δ | `diffusion` |
//! | divergence per time of that part | ½σ²φ'(x)² = 2aσ²κ | `diffusion` |
//!
//! It is the limit of [`TiltedStep`](levytilt::internals::tilt::TiltedStep): without drift (e^{−φ(x)} Z(x) − 1)/Δ → Λ − λ, with λ =
//! 2/(ατ^α) the rate of the prior, and divergence/Δ → divergence per time, both with an error of order Δ.
//!
//! A far message makes Λ enormous, e^κ in order of magnitude: this is why [`TiltedMeasure::log_rate`] exists, and why
//! inference in this crate takes finite steps, where all terms lie between 0 and 1. The published rejection sampler
//! ([`TiltedMeasure::draw_by_prior`]) proposes r from the prior under the envelope e^κ. It accepts e^{−κ} of its
//! proposals while small jumps make up Λ, and as κ grows further about ρΓ(ρ+½) u_τ^ρ κ^{−ρ−½}, ρ = α/2, u_τ = u at r =
//! τ: the chance that the prior offers a jump that is large enough. [`JumpSampler`] accepts two in three or more. The
//! continuous view is a check, and a simulator for times between grid points ([`TiltedProcess`]).
//!
//! There are two measures with the same λ and the same tail index: [`JumpMeasure::mixture`], above, which is the one
//! that noise in this crate has, and [`JumpMeasure::power_law`], with jumps ±s·r, the one in which published rates are
//! estimated. Rates of both are computed in three ways, which must agree: quadrature, Monte Carlo and a power series.

mod diffusion;
mod envelope;
mod expansion;
mod generator;
mod integral;
mod measure;
mod monte_carlo;
mod rates;
mod sampler;
mod simulate;
mod size;
mod tilted;

pub use diffusion::Brownian;
pub use expansion::ExpansionRates;
pub use generator::Generator;
pub use measure::{JumpMeasure, Kernel};
pub use monte_carlo::{Estimate, RateEstimates};
pub use sampler::{JumpSampler, TiltedJump};
pub use simulate::{JumpTime, TiltedPath, TiltedProcess};
pub use size::JumpSize;
pub use tilted::TiltedMeasure;
