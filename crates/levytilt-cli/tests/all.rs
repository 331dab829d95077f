//! Tests of the program from outside, in one executable.

mod backtest;
mod common;
mod compare;
mod demo;
mod docs;
mod errors;
mod exact;
mod flags;
mod formula;
mod general;
mod inputs;
mod locks;
#[cfg(feature = "two-speed")]
mod new_family;
mod panel;
mod program;
mod report;
mod report_kinds;
mod reproduce;
mod score;
mod simulate;
mod studies;
mod supply;
mod trading;
mod update;

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
