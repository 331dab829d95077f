//! Check the stable law in three tiers: identities, golden constants, statistics.

#[path = "../common/mod.rs"]
mod common;
mod golden;
mod identities;
mod skewed;
mod statistics;

use levytilt::internals::law::StableLaw;

fn law(alpha: f64) -> StableLaw {
    StableLaw::new(alpha, 1.0).unwrap()
}

/// |got − want| ≤ tolerance·max(|want|, floor); false for NaN.
fn close(got: f64, want: f64, tolerance: f64, floor: f64) -> bool {
    (got - want).abs() <= tolerance * want.abs().max(floor)
}

const ALPHAS: [f64; 18] =
    [0.05, 0.1, 0.2, 0.3, 0.45, 0.5, 0.7, 0.9, 0.9999, 1.0, 1.0001, 1.2, 1.5, 1.69, 1.7, 1.9, 1.99, 1.999999];
const POINTS: [f64; 14] = [1e-8, 1e-3, 0.1, 0.4, 0.9, 1.3, 2.0, 3.1, 4.7, 6.5, 9.0, 12.9, 30.0, 1e5];
