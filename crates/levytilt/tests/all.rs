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

/// A file of tests that is not listed above would never run.
#[test]
fn identity_every_file_of_tests_is_listed() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let listed = [include_str!("all.rs"), include_str!("../Cargo.toml")].concat();
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if let Some(stem) = name.strip_suffix(".rs").filter(|stem| *stem != "all") {
            let known = [format!("mod {stem};"), format!("name = \"{stem}\"")];
            assert!(known.iter().any(|line| listed.contains(line)), "tests/{name} is listed nowhere");
        }
    }
}
