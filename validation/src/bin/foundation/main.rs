//! Measure what the foundation promises and print the tables of `docs/validation/foundation.md`.
//!
//! `scripts/validate foundation` takes about a minute. Everything is seeded, so the same
//! code prints the same figures.

mod grid;
mod motion;
mod noise;

#[path = "../../../../crates/levytilt/tests/common/mod.rs"]
mod common;

use levytilt::Result;

fn main() -> Result<()> {
    noise::stable_law()?;
    noise::stable_nodes()?;
    noise::characteristic_functions()?;
    noise::samplers()?;
    motion::drifts()?;
    motion::tilt_box()?;
    motion::fast_and_plain()?;
    grid::kalman()?;
    grid::halving()
}

/// Start a table: a title, the names of its columns.
fn table(title: &str, columns: &[&str]) {
    println!("\n### {title}\n");
    println!("| {} |", columns.join(" | "));
    println!("|{}", "---|".repeat(columns.len()));
}

/// Keep the larger; a NaN stays.
fn raise(worst: &mut f64, error: f64) {
    let error = error.abs();
    if error.is_nan() || error > *worst {
        *worst = error;
    }
}
