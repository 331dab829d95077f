//! `levytilt fit` and `forecast` with a model that the settings file writes out: hidden states, directions, rows.

mod common;

use common::Sandbox;

/// Positions of a body that is kicked once, at time 2, seen with errors of about 0.02.
fn kicked() -> String {
    let mut csv = String::from("time,position\n");
    for j in 0..60 {
        let t = 0.1 * f64::from(j);
        let moved = if t > 2.0 { 5.0 * (1.0 - (2.0 - t).exp()) } else { 0.0 };
        csv += &format!("{t},{}\n", moved + 0.02 * (37.0 * t).sin());
    }
    csv
}

const MODEL: &str = r#"
[states]
x = "v"
v = "-c*v"
[noise.kick]
family = "stable"
on = "v"
alpha = 1.5
scale = 0.5
[observe.position]
of = "x"
std = 0.05
[start]
x = 0.0
v = { mean = 0.0, std = 1.0 }
[parameters]
c = { value = 1.0 }
"#;

fn sandbox() -> Sandbox {
    let at = Sandbox::new();
    at.write("data.csv", kicked());
    at.write("model.toml", MODEL);
    at
}

/// Velocity per time, from posterior.csv.
fn velocities(at: &Sandbox) -> Vec<(f64, f64)> {
    let rows = at.read("run/posterior.csv");
    let rows = rows.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>());
    let number = |text: &str| text.parse::<f64>().unwrap();
    rows.filter(|row| row[1] == "v").map(|row| (number(row[0]), number(row[2]))).collect()
}

#[test]
fn a_hidden_velocity_is_found_and_forecast() {
    let at = sandbox();
    let said = at.ok("fit data.csv --config model.toml --paths 100 --seed 3 --out run");
    assert!(said.out.contains("states v, x; noise kick (stable)"), "{}", said.out);
    let summary = at.json("run/summary.json");
    assert_eq!(summary["posterior"], "smoothed");
    assert_eq!(summary["parameters"]["c"]["fixed"], true);
    assert!(summary["log_evidence_std_error"].as_f64().unwrap() < 0.5, "{summary}");
    let near =
        |t: f64| velocities(&at).into_iter().min_by(|a, b| (a.0 - t).abs().total_cmp(&(b.0 - t).abs())).unwrap().1;
    assert!(near(1.0).abs() < 1.0 && (near(2.5) - 5.0 * (-0.5f64).exp()).abs() < 1.0, "{} {}", near(1.0), near(2.5));
    let jumps = at.read("run/jumps.csv");
    assert!(jumps.starts_with("time,dimension,probability,size,size_q05,size_q95\n"), "{jumps}");
    let kicked = |row: &str| {
        row.contains("kick") && row.split(',').next().is_some_and(|t| (t.parse::<f64>().unwrap() - 2.0).abs() < 0.25)
    };
    assert!(jumps.lines().skip(1).any(kicked), "{jumps}");
    assert!(at.read("run/report.html").contains("no column sees by itself"));
    at.ok("forecast run --horizon 1 --paths 200 --out ahead");
    let ahead = at.json("ahead/summary.json");
    assert_eq!((ahead["dimension"].as_str(), ahead["paths"].as_u64()), (Some("position"), Some(200)));
    let last = 5.0 * (1.0 - (-3.9f64).exp());
    assert!((ahead["median"].as_f64().unwrap() - last).abs() < 1.0, "{ahead}");
    // The same seed gives the same files for any number of threads.
    let first = at.read("run/posterior.csv");
    at.ok("fit data.csv --config run/settings.toml --threads 1 --out run --quiet");
    assert_eq!(at.read("run/posterior.csv"), first);
}

#[test]
fn mistakes_are_named() {
    let at = sandbox();
    at.refused("fit data.csv --config model.toml --drift ou", &["[states]", "--set"]);
    let bad = |from: &str, to: &str, parts: &[&str]| {
        at.write("bad.toml", MODEL.replace(from, to));
        at.refused("fit data.csv --config bad.toml", parts);
    };
    bad("x = \"v\"", "x = \"-x\"", &["state v", "not observable"]);
    bad("on = \"v\"", "on = { v = 0.0 }", &["noise kick", "all entries are 0"]);
    bad("of = \"x\"", "of = { x = 0.0 }", &["column position", "all entries are 0"]);
    bad("-c*v", "-c*v^3", &["drift", "affine"]);
    bad("on = \"v\"", "on = \"w\"", &["[noise.kick]", "w is not a state"]);
    bad("family = \"stable\"", "family = \"skewed-stable\"", &["[noise.kick]", "symmetric"]);
    bad("c = {", "k = {", &["parameter k", "not a parameter"]);
}
