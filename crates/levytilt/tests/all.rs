//! Tests of the library, in one program.

mod auto;
mod calibration;
mod common;
mod equivariance;
mod exact_families;
mod far_start;
mod fit;
mod fit_brownian;
mod fit_dimensions;
mod fit_formula;
mod fit_size;
mod forecast;
mod gaussian_sum;
mod grid;
mod middle;
mod network;
mod noise_golden;
mod noise_identity;
mod noise_skewed;
mod noise_stable;
mod noise_statistics;
mod nonlinear;
mod posterior;
mod progress;
mod simulate_law;
mod tilt;
