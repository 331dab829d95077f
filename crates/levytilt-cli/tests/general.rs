//! `levytilt fit` and `forecast` with a model that the settings file writes out: hidden states, directions, rows.

use crate::common::Sandbox;

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
    assert!(at.read("run/report.html").contains("inferred from the observed columns"));
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
    bad("-c*v", "-c*v^", &["column", "^"]);
    bad("on = \"v\"", "on = \"w\"", &["[noise.kick]", "w is not a state"]);
    bad("family = \"stable\"", "family = \"skewed-stable\"", &["[noise.kick]", "symmetric"]);
    bad("c = {", "k = {", &["parameter k", "not a parameter"]);
}

#[test]
fn a_written_model_is_simulated() {
    let at = sandbox();
    let said = at.ok("simulate --config model.toml --steps 40 --span 4 --every 2 --seed 5 --out drawn");
    assert!(said.out.contains("21 observations of position over 40 steps"), "{}", said.out);
    let data = at.read("drawn/data.csv");
    assert!(data.starts_with("time,position\n0,") && data.lines().count() == 22, "{data}");
    let truth = at.read("drawn/truth.csv");
    assert!(truth.starts_with("time,v,x\n") && truth.lines().count() == 42, "{truth}");
    assert_eq!(at.json("drawn/truth.json")["parameters"]["alpha[kick]"], 1.5);
    // The position is the integral of the velocity: x' = x + v (1 - e^-0.1), seen with errors of 0.05.
    let rows: Vec<Vec<f64>> =
        truth.lines().skip(1).map(|row| row.split(',').map(|field| field.parse().unwrap()).collect()).collect();
    for pair in rows.windows(2) {
        let moved = pair[0][2] + pair[0][1] * (1.0 - (-0.1f64).exp());
        assert!((pair[1][2] - moved).abs() < 1e-8 * (1.0 + moved.abs() + pair[0][1].abs()), "{pair:?}");
    }
    for (row, seen) in rows.iter().step_by(2).zip(data.lines().skip(1)) {
        let seen: f64 = seen.split(',').nth(1).unwrap().parse().unwrap();
        assert!((seen - row[2]).abs() < 0.3, "{seen} {row:?}");
    }
    at.write("open.toml", MODEL.replace("scale = 0.5\n", ""));
    at.refused("simulate --config open.toml --out other", &["scale[kick]", "needs a value"]);
    at.refused("simulate --config model.toml --every 2000 --out other", &["every = 2000"]);
    let unused = ["parameter spring", "is not a parameter of this model; expected one of c, alpha[kick]"];
    at.refused("simulate --config model.toml --set spring=1 --out other", &unused);
}

/// The worked example of docs/states.md with a nonlinear drift: its file and its commands, with fewer paths.
#[test]
fn a_nonlinear_drift_is_fitted_and_forecast() {
    let at = Sandbox::new();
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/states.md")).unwrap();
    let section = page.split("## A nonlinear drift").nth(1).unwrap();
    let block = |kind: &str| section.split(&format!("```{kind}\n")).nth(1).unwrap().split("```").next().unwrap();
    at.write("oscillator.toml", block("toml"));
    let commands: Vec<&str> = block("sh").lines().collect();
    assert_eq!(commands.len(), 3, "{commands:?}");
    at.ok("simulate --config oscillator.toml --set m=1 --set scale[kick]=0.5 --steps 80 --span 8 --out drawn");
    let said = at.ok("fit drawn/data.csv --config oscillator.toml --paths 100 --out run");
    assert!(said.out.contains("particle filter, ancestral paths"), "{}", said.out);
    let summary = at.json("run/summary.json");
    assert_eq!(summary["posterior"], "smoothed");
    assert!(summary["log_evidence_std_error"].as_f64().unwrap() < 0.5, "{summary}");
    let (m, paths) = (&summary["parameters"]["m"], summary["effective_sample_size"].as_f64().unwrap());
    let away = (m["estimate"].as_f64().unwrap() - 1.0).abs();
    assert!(away < 4.0 * m["std_error"].as_f64().unwrap() && (1.0..=100.0).contains(&paths), "{summary}");
    assert!(at.read("run/report.html").contains("distinct paths at every time"));
    at.ok("forecast run --horizon 2 --out ahead");
    assert_eq!(at.json("ahead/summary.json")["dimension"], "position");
    at.refused("update run drawn/data.csv", &["[states] with a nonlinear drift", "fit the longer record"]);
}

/// Two columns with small motions of their own, and at time 2 a jump of both, of 3 and 6.
fn jumping_together() -> String {
    let mut csv = String::from("time,A,B\n");
    for j in 0..31 {
        let t = 0.1 * f64::from(j);
        let jump = if t > 2.0 { 3.0 } else { 0.0 };
        csv += &format!("{t},{},{}\n", jump + 0.1 * (5.0 * t).sin(), 2.0 * jump + 0.1 * (7.0 * t).cos());
    }
    csv
}

#[test]
fn a_common_noise_is_found_and_forecast() {
    let at = sandbox();
    at.write("two.csv", jumping_together());
    at.ok("fit two.csv --noise-common stable --noise gaussian --drift none --observation-std 0.05 --scale 0.2 \
           --set alpha[common]=1.2 --steps 30 --paths 100 --out run");
    let summary = at.json("run/summary.json");
    let load = |name: &str| summary["parameters"][format!("load[{name}]")]["estimate"].as_f64().unwrap();
    assert!(load("A") > 0.0 && (1.4..2.8).contains(&(load("B") / load("A"))), "{summary}");
    assert_eq!(summary["parameters"]["scale[common]"]["estimate"], 1.0);
    assert_eq!(summary["parameters"]["alpha[common]"]["fixed"], true);
    let jumps = at.read("run/jumps.csv");
    assert!(jumps.lines().any(|row| row.starts_with("2.1") && row.contains(",common,")), "{jumps}");
    let said = at.ok("report run --no-jump 2.05 2.15").out;
    let none = said.lines().find_map(|line| line.strip_prefix("common: no jump with probability "));
    assert!(none.is_some_and(|none| none.parse::<f64>().unwrap() < 0.5), "{said}");
    at.ok("forecast run --horizon 1 --paths 200 --out ahead");
    assert_eq!(at.json("ahead/summary.json")["dimension"][1], "B");
}

#[test]
fn mistakes_of_a_common_noise_are_named() {
    let at = sandbox();
    at.refused("fit data.csv --noise-common stable", &["--noise-common", "only one"]);
    at.refused("fit data.csv --config model.toml --noise-common stable", &["[states]", "[noise.NAME]"]);
    at.write("two.csv", jumping_together());
    at.refused("fit two.csv --noise-common stable --drift double-well", &["--noise-common", "ou or none"]);
    at.refused("fit two.csv --noise-common skewed-stable", &["--noise-common", "symmetric"]);
    at.refused("fit two.csv --noise-common stable --errors student", &["--errors", "--noise-common"]);
    at.write("odd.csv", jumping_together().replace(",B", ",B 2"));
    at.refused("fit odd.csv --noise-common stable", &["\"B 2\"", "rename"]);
}

/// A hidden force beside a known push: the push is an input of the velocity, and its gain is learned.
#[test]
fn inputs_and_time_drive_states() {
    let at = Sandbox::new();
    let (mut csv, mut x, mut v) = (String::from("time,position,push\n"), 0.0, 0.0);
    for j in 0..50 {
        let push = if j % 20 < 10 { 1.0 } else { -1.0 };
        csv += &format!("{},{x},{push}\n", f64::from(j) / 10.0);
        // dv = (−v + 2·push) dt and dx = v dt over 0.1.
        let decay = (-0.1f64).exp();
        let to = 2.0 * push;
        x += 0.1 * to + (v - to) * (1.0 - decay) + 0.01 * (f64::from(j) * 1.7).sin();
        v = to + (v - to) * decay;
    }
    at.write("data.csv", &csv);
    let model =
        MODEL.replace("\"-c*v\"", "\"-c*v + g*push + 0*sin(t)\"") + "g = { guess = 1.0 }\n[inputs]\npush = {}\n";
    at.write("model.toml", &model);
    at.ok("fit data.csv --config model.toml --paths 50 --out run");
    let gain = at.json("run/summary.json")["parameters"]["g"].clone();
    assert!((gain["estimate"].as_f64().unwrap() - 2.0).abs() < 0.5, "{gain}");
    at.refused("forecast run --horizon 1 --out ahead", &["push"]);
    at.write("ahead.csv", "time,push\n5,1\n5.5,-1\n6.5,-1\n");
    at.ok("forecast run --horizon 1 --inputs-file ahead.csv --out ahead");
    at.refused("update run data.csv", &["[states] with [inputs]", "fit the longer record"]);
    at.refused("simulate --config model.toml --out drawn", &["[inputs]"]);
    at.write("model.toml", model.replace("g*push", "g"));
    at.refused("fit data.csv --config model.toml", &["[inputs] push", "no formula uses it"]);
}
