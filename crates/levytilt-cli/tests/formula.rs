//! A drift written as a formula: `--drift "theta*(mu - x)"` in every command that takes a drift.

use crate::common::{OU_STABLE, Sandbox};
use std::process::Command;

const FORMULA: [&str; 2] = ["--drift", "theta*(mu - x)"];

fn sandbox() -> Sandbox {
    let at = Sandbox::new();
    at.ok(&format!("simulate {OU_STABLE} --steps 120 --span 6 --seed 3 --out sim --quiet"));
    at
}

/// Run a command whose arguments have spaces.
fn run(at: &Sandbox, line: &str, more: &[&str]) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_levytilt"));
    command.args(line.split_whitespace()).args(more).current_dir(at.path("")).output().expect("the program runs")
}

fn ok(at: &Sandbox, line: &str, more: &[&str]) -> String {
    let output = run(at, line, more);
    assert!(output.status.success(), "{line} {more:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn refused(at: &Sandbox, line: &str, more: &[&str]) -> String {
    let output = run(at, line, more);
    assert_eq!(output.status.code(), Some(2), "{line} {more:?}");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn identity_the_evidence_is_that_of_the_drift_by_name() {
    let at = sandbox();
    let given = "--theta 3 --mu 1 --alpha 1.5 --scale 2 --observation-std 0.1 --x0 0 --json";
    let evidence = |text: &str| {
        let summary: serde_json::Value = serde_json::from_str(text).unwrap();
        summary["log_evidence"].as_f64().unwrap()
    };
    let named = evidence(&ok(&at, &format!("exact sim/data.csv --drift ou {given}"), &[]));
    let formula = evidence(&ok(&at, &format!("exact sim/data.csv {given}"), &FORMULA));
    assert!((named - formula).abs() < 1e-6, "{named} {formula}");
    let wells = "--theta1 1 --theta2 0.5 --alpha 1.5 --scale 2 --observation-std 0.1 --x0 0 --json";
    let named = evidence(&ok(&at, &format!("exact sim/data.csv --drift double-well {wells}"), &[]));
    let formula = evidence(&ok(&at, &format!("exact sim/data.csv {wells}"), &["--drift", "theta1*x - theta2*x^3"]));
    assert!((named - formula).abs() < 1e-6, "{named} {formula}");
}

#[test]
fn a_formula_is_simulated_fitted_and_forecast() {
    let at = sandbox();
    let noise = "--alpha 1.5 --scale 2 --observation-std 0.1";
    ok(&at, &format!("simulate {noise} --steps 50 --set k=3 --set m=1 --out made"), &["--drift", "k*(m - x)"]);
    assert_eq!(at.json("made/truth.json")["parameters"]["k"], 3.0);
    assert_eq!(at.json("made/truth.json")["drift"], "k*(m - x)");
    // The settings file holds the formula and its parameters.
    ok(&at, "exact made/data.csv --config made/settings.toml --json", &[]);
    let said = ok(&at, &format!("fit sim/data.csv {noise} --out run --set c=0.1"), &["--drift", "k*(m - x) - c*x"]);
    assert!(said.contains("drift k*(m - x) - c*x"), "{said}");
    let summary = at.json("run/summary.json");
    let parameters = &summary["parameters"];
    assert_eq!((&parameters["c"]["fixed"], &parameters["k"]["fixed"]), (&true.into(), &false.into()));
    assert!(parameters["k"]["std_error"].as_f64().unwrap() > 0.0);
    let model = at.read("run/model.toml");
    assert!(model.contains("drift = \"k*(m - x) - c*x\"") && model.contains("[parameters]\nc = 0.1\nk = "), "{model}");
    let page = at.read("run/report.html");
    assert!(page.contains("<math display=\"block\">") && page.contains("parameter of the formula"));
    let said = at.ok("forecast run --horizon 1 --out ahead").out;
    assert!(said.contains("drawn from their posterior (Gaussian approximation): k, m"), "{said}");
}

#[test]
fn bounds_and_guesses_come_from_the_file() {
    let at = sandbox();
    at.write(
        "model.toml",
        "[model]\ndrift = \"k*(m - x)\"\nalpha = 1.5\nscale = 2.0\nobservation_std = 0.1\n\n\
         [parameters]\nm = 1.0\nk = { guess = 2.0, low = 0.0 }\n",
    );
    ok(&at, "fit sim/data.csv --config model.toml --out run", &[]);
    let model = at.read("run/model.toml");
    assert!(model.contains("[parameters.k]\nvalue = ") && model.contains("low = 0.0"), "{model}");
    at.ok("forecast run --horizon 1");
    at.write("bad.toml", "[model]\ndrift = \"k*(m - x)\"\n\n[parameters]\nk = { guess = -2.0, low = 0.0 }\n");
    let said = refused(&at, "fit sim/data.csv --config bad.toml", &[]);
    assert!(said.contains("[parameters] k: k = -2"), "{said}");
    at.write("bad.toml", "[model]\ndrift = \"ou\"\n\n[parameters]\ntheta = { guess = 2.0 }\n");
    let said = refused(&at, "fit sim/data.csv --config bad.toml", &[]);
    assert!(said.contains("[parameters] theta: guess, low and high are for parameters of a formula"), "{said}");
    at.write("bad.toml", "[model]\ndrift = \"k*(m - x\"\n");
    let said = refused(&at, "fit sim/data.csv --config bad.toml", &[]);
    assert!(said.contains("bad.toml") && said.contains("column 3") && said.contains('^'), "{said}");
}

#[test]
fn seasons_are_terms_of_the_drift() {
    let at = Sandbox::new();
    let noise = "--alpha 1.7 --scale 0.3 --observation-std 0.05";
    let given = "--theta 1 --mu 2 --set season1_sin1=3 --set season1_cos1=0";
    at.ok(&format!("simulate {noise} {given} --season 4 --steps 160 --span 40 --seed 2 --out sim --quiet"));
    assert_eq!(at.json("sim/truth.json")["parameters"]["season1_sin1"], 3.0);
    let evidence = |line: &str, more: &[&str]| {
        let summary: serde_json::Value = serde_json::from_str(&ok(&at, line, more)).unwrap();
        summary["log_evidence"].as_f64().unwrap()
    };
    let line = format!("exact sim/data.csv {noise} --theta 1 --mu 2 --x0 0 --json");
    let season = evidence(&format!("{line} --season 4 --set season1_sin1=3 --set season1_cos1=0"), &[]);
    let written = evidence(&line, &["--drift", "theta*(mu - x) + 3*sin(2*pi*t/4)"]);
    assert!((season - written).abs() < 1e-6, "{season} {written}");
    assert!(season > evidence(&line, &[]) + 10.0);
    let first = "--season 4 --harmonics 2 --set season1_sin1=3 --set season1_cos1=0";
    let season = evidence(&format!("{line} {first} --set season1_sin2=1 --set season1_cos2=0"), &[]);
    let written = evidence(&line, &["--drift", "theta*(mu - x) + 3*sin(2*pi*t/4) + sin(pi*t)"]);
    assert!((season - written).abs() < 1e-6, "{season} {written}");
    ok(&at, &format!("fit sim/data.csv {noise} --season 4 --paths 50 --out run"), &[]);
    let found = &at.json("run/summary.json")["parameters"]["season1_sin1"];
    let [estimate, error] = ["estimate", "std_error"].map(|key| found[key].as_f64().unwrap());
    assert!((estimate - 3.0).abs() < 4.0 * error && error < 1.0, "{estimate} {error}");
    assert!(at.read("run/report.html").contains("coefficient of a Fourier term"));
    at.ok("forecast run --horizon 4 --out ahead");
    at.refused("fit sim/data.csv --season 24h", &["season", "24h"]);
    at.refused("fit sim/data.csv --harmonics 2", &["--harmonics belongs to --season"]);
    at.refused("fit sim/data.csv --season 4 --drift neural", &["--season does not go with drift neural"]);
}

#[test]
fn mistakes_are_named() {
    let at = sandbox();
    let drift = |formula| ["--drift", formula];
    let said = refused(&at, "fit sim/data.csv", &drift("theta*(mu - x"));
    assert!(said.contains("column 7") && said.contains("\n  theta*(mu - x\n        ^"), "{said}");
    let said = refused(&at, "fit sim/data.csv", &drift("double-wel"));
    assert!(said.contains("'double-well'"), "{said}");
    let said = refused(&at, "fit sim/data.csv", &drift("-alpha*x"));
    assert!(said.contains("alpha is already the name of a parameter of the noise"), "{said}");
    let said = refused(&at, "fit sim/data.csv --theta 3", &drift("-k*x"));
    assert!(said.contains("does not belong to drift -k*x, which takes k"), "{said}");
    let said = refused(&at, "exact sim/data.csv --mu 1 --alpha 1.5 --scale 2", &drift("k*(mu - x)"));
    assert!(said.contains("--set k=VALUE or [parameters] k"), "{said}");
    let said = refused(&at, "fit sim/data.csv --set q=1", &drift("-k*x"));
    assert!(said.contains("q = 1"), "{said}");
}

/// Columns follow the same formula with parameters of their own, as each would alone; so do seasons.
#[test]
fn identity_several_columns_are_fitted_like_each_alone() {
    let at = sandbox();
    let wave = |k: f64, phase: f64| (0.8 * k + phase).sin() + 0.3 * (2.9 * k * k + phase).cos() + f64::from(k > 30.0);
    let row = |k: usize| format!("{k},{},{}\n", wave(k as f64, 0.0), 2.0 * wave(k as f64, 1.0));
    at.write("two.csv", "time,x1,x2\n".to_string() + &(0..60).map(row).collect::<String>());
    let more = ["--drift", "k*(m - x)", "--season", "4", "--noise", "nig"];
    let fits = ["--columns x1,x2 --out both", "--column x1 --out first", "--column x2 --out second"];
    fits.iter().for_each(|fit| drop(ok(&at, &format!("fit two.csv --observation-std 0.1 {fit}"), &more)));
    let [both, first, second] = ["both", "first", "second"].map(|run| at.json(&format!("{run}/summary.json")));
    let evidence = |of: &serde_json::Value| of["log_evidence"].as_f64().unwrap();
    assert!((evidence(&both) - evidence(&first) - evidence(&second)).abs() < 1e-6);
    for (alone, name) in [(&first, "x1"), (&second, "x2")] {
        for parameter in ["k", "m", "season1_sin1"] {
            let [a, b] = [(alone, parameter.to_string()), (&both, format!("{parameter}[{name}]"))]
                .map(|(of, name)| of["parameters"][name]["estimate"].as_f64().unwrap());
            assert!((a - b).abs() < 1e-9 * (1.0 + a.abs()), "{parameter} of {name}: {a} {b}");
        }
    }
    ok(&at, "forecast both --horizon 4 --out ahead", &[]);
    assert!(at.read("both/report.html").contains("Every column follows this equation"));
}
