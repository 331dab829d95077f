//! Tests of the published method, in one program.

mod continuous_generator;
mod continuous_jumps;
mod continuous_rates;
mod neural_gradient;
mod neural_training;
mod published;
mod published_noise;
mod published_whole;

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
