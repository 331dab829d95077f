//! What drives a model besides its own motion: a learned diffusion, input columns, and noise whose size depends on the state.

use crate::common;
use crate::common::{OU_STABLE, Sandbox};

#[test]
fn a_diffusion_beside_the_jumps_is_learned() {
    let at = Sandbox::new();
    let truth = "--theta 1 --mu 0 --alpha 1.2 --scale 0.3 --observation-std 0.05";
    at.ok(&format!("simulate {truth} --brownian 0.8 --steps 400 --span 40 --seed 3 --out sim --quiet"));
    let given = "--theta 1 --mu 0 --alpha 1.2 --observation-std 0.05 --paths 20";
    let said = at.ok(&format!("fit sim/data.csv {given} --brownian learn --out run")).out;
    assert!(said.contains("brownian      log evidence ") && said.contains("without: distinguishable from 0"), "{said}");
    let summary = at.json("run/summary.json");
    let found = &summary["parameters"]["brownian"];
    let [estimate, error] = ["estimate", "std_error"].map(|key| found[key].as_f64().unwrap());
    assert!((estimate - 0.8).abs() < 4.0 * error && error < 0.2 && found["fixed"] == false, "{found}");
    let evidence = &summary["brownian_evidence"]["brownian"];
    assert_eq!((&evidence["with"], &evidence["told_apart"]), (&summary["log_evidence"], &true.into()));
    let plain = at.ok(&format!("fit sim/data.csv {given} --json")).json();
    let without = evidence["without"].as_f64().unwrap();
    assert!((without - plain["log_evidence"].as_f64().unwrap()).abs() < 0.02, "{evidence}");
    assert!(plain.get("brownian_evidence").is_none());
    // What is saved is what was asked for, and what was found.
    assert!(at.read("run/settings.toml").contains("brownian = \"learn\""));
    let model = at.read("run/model.toml");
    assert!(model.contains("\nbrownian = 0.") && !model.contains("learn"), "{model}");
    let exact = at.ok("exact sim/data.csv --config run/model.toml --json").json();
    let away = exact["log_evidence"].as_f64().unwrap() - summary["log_evidence"].as_f64().unwrap();
    assert!(away.abs() < 1e-2, "{away}");
    assert!(at.read("run/report.html").contains("brownian is distinguishable from 0: log evidence"));
    let said = at.ok("forecast run --horizon 1").out;
    assert!(said.contains("drawn from their posterior") && said.contains("brownian"), "{said}");
    // A number given as a flag wins over the file, and the other way round.
    let held = at.ok(&format!("fit sim/data.csv --config run/settings.toml {given} --brownian 0.5 --json")).json();
    assert_eq!(held["parameters"]["brownian"]["fixed"], true);
}

#[test]
fn a_diffusion_that_cannot_be_learned_is_refused() {
    let at = Sandbox::new();
    at.ok(&format!("simulate {OU_STABLE} --steps 40 --span 2 --seed 3 --out sim --quiet"));
    at.refused("fit sim/data.csv --brownian learn --noise gaussian", &["brownian", "Brownian motion itself"]);
    at.refused("fit sim/data.csv --brownian much", &["--brownian", "expected a number, or learn"]);
    at.refused(&format!("simulate {OU_STABLE} --brownian learn --out a"), &["--brownian learn", "levytilt fit"]);
    at.refused(
        "exact sim/data.csv --theta 1 --mu 0 --alpha 1.5 --scale 1 --observation-std 0.1 --brownian learn",
        &["--brownian learn", "levytilt fit"],
    );
    at.write("bad.toml", "[model]\nbrownian = \"much\"\n");
    at.refused("fit sim/data.csv --config bad.toml", &["bad.toml", "a number, or \"learn\""]);
}

/// Hourly wind that comes and goes, and the flags of a model that it drives.
const DRIVEN: &str = "--theta 1 --mu 0 --alpha 1.7 --scale 0.2 --observation-std 0.05";

fn driven() -> Sandbox {
    let at = Sandbox::new();
    let rows: String =
        (0..=60).map(|k| format!("{k},{}\n", if k % 14 < 7 { 0.0 } else { 2.0 + f64::from(k % 3) })).collect();
    at.write("wind.csv", format!("time,wind\n{rows}"));
    let flags = "--inputs wind --inputs-file wind.csv --set gain[wind]=0.7 --steps 200 --span 50 --seed 5";
    at.ok(&format!("simulate {DRIVEN} {flags} --out sim --quiet"));
    at
}

fn evidence(said: &common::Said) -> f64 {
    said.json()["log_evidence"].as_f64().unwrap()
}

#[test]
fn a_column_is_not_learned_as_a_parameter() {
    let at = driven();
    let column = "is a column, and a formula would learn it as a parameter";
    let fit = "fit sim/data.csv --column value --paths 2";
    at.refused(&format!("{fit} --drift theta*(mu-x)+0.7*wind"), &["\"wind\"", column, "give --inputs wind"]);
    at.refused("fit sim/data.csv --paths 2 --drift theta*(mu-x)+wind", &["\"wind\"", "give --inputs wind"]);
    at.refused(&format!("{fit} --size 1+wind*abs(x)"), &["\"wind\"", "give --inputs wind"]);
    at.refused(&format!("{fit} --drift theta*(mu-value)"), &["\"value\"", "write x for the state"]);
    at.refused(&format!("{fit} --drift theta*(mu-x)+time"), &["\"time\"", "write t for the time"]);
    at.write("model.toml", "[model]\ndrift = \"theta*(mu - x) + k*wind\"\n[data]\ncolumn = \"value\"\n");
    at.refused("fit sim/data.csv --config model.toml", &["\"wind\"", "give --inputs wind"]);
    at.refused("compare sim/data.csv --models model.toml --noise gaussian", &["\"wind\"", "give --inputs wind"]);
    at.refused(
        "backtest sim/data.csv --column value --models model.toml --train 40 --horizon 2 --out back",
        &["\"wind\"", "give --inputs wind"],
    );
    let states = "[states]\nx = \"-theta*x + k*wind\"\n[noise.n]\nfamily = \"gaussian\"\non = \"x\"\n[observe.value]\nof = \"x\"\n";
    at.write("states.toml", states);
    at.refused("fit sim/data.csv --config states.toml", &["\"wind\"", "write [inputs] wind = {}"]);
    at.write("states.toml", states.replace("wind", "value"));
    at.refused("fit sim/data.csv --config states.toml", &["\"value\"", "write x for the state"]);
    // A parameter that is declared is one, whatever columns are called; so is that of a drift by name.
    let declared = "[model]\ndrift = \"theta*(mu - x) + wind\"\n[parameters]\nwind = {}\n";
    at.write("model.toml", declared);
    let found = at.ok(&format!("{fit} --theta 1 --alpha 1.7 --config model.toml --set mu=0 --json")).json();
    assert_eq!(found["parameters"]["wind"]["fixed"], false, "{found}");
    at.write("data.csv", at.read("sim/data.csv").replacen("wind", "mu", 1));
    at.ok("fit data.csv --column value --paths 2 --noise gaussian");
}

#[test]
fn an_input_drives_the_drift() {
    let at = driven();
    assert!(at.read("sim/data.csv").starts_with("time,value,wind\n0,"), "{}", at.read("sim/data.csv"));
    assert_eq!(at.json("sim/truth.json")["parameters"]["gain[wind]"], 0.7);
    // A gain is a term of the drift; a formula says the same.
    let gain =
        evidence(&at.ok(&format!("exact sim/data.csv {DRIVEN} --x0 0 --inputs wind --set gain[wind]=0.7 --json")));
    let formula = "theta*(mu-x)+0.7*wind";
    let written =
        evidence(&at.ok(&format!("exact sim/data.csv {DRIVEN} --x0 0 --inputs wind --drift {formula} --json")));
    assert!((gain - written).abs() < 1e-6, "{gain} {written}");
    let still = evidence(&at.ok(&format!("exact sim/data.csv --column value {DRIVEN} --x0 0 --json")));
    assert!(gain > still + 20.0, "{gain} {still}");
    let line = format!("exact sim/data.csv {DRIVEN} --x0 0 --inputs wind --set gain[wind]=0.7 --json");
    assert_ne!(evidence(&at.ok(&format!("{line} --between linear"))), gain);
    // Learned, saved, and forecast.
    let given = "--alpha 1.7 --scale 0.2 --observation-std 0.05 --paths 50";
    at.ok(&format!("fit sim/data.csv --column value {given} --inputs wind --out run"));
    let found = &at.json("run/summary.json")["parameters"]["gain[wind]"];
    let [estimate, error] = ["estimate", "std_error"].map(|key| found[key].as_f64().unwrap());
    assert!((estimate - 0.7).abs() < 4.0 * error && error < 0.2, "{found}");
    assert!(at.read("run/report.html").contains("gain of an input"));
    let model = at.read("run/model.toml");
    assert!(model.contains("[inputs.wind]") && model.contains("\"gain[wind]\" = "), "{model}");
    at.ok("exact sim/data.csv --config run/model.toml --json");
    at.refused("forecast run --horizon 5", &["inputs", "--inputs-file FILE", "wind"]);
    at.refused(
        "forecast run --horizon 20 --inputs-file wind.csv",
        &["wind are needed up to 70", "the last row is at 60"],
    );
    at.ok("forecast run --horizon 5 --inputs-file wind.csv --out ahead --quiet");
    let strong = at.read("wind.csv").lines().map(|l| l.to_string() + "0").collect::<Vec<_>>().join("\n");
    at.write("storm.csv", strong.replacen("wind0", "wind", 1));
    let median = |file: &str| {
        at.ok(&format!("forecast run --horizon 8 --inputs-file {file} --json")).json()["median"].as_f64().unwrap()
    };
    assert!(median("storm.csv") > median("wind.csv") + 1.0, "{} {}", median("storm.csv"), median("wind.csv"));
}

#[test]
fn inputs_come_from_the_settings_file_under_another_name() {
    let at = driven();
    at.write("odd.csv", at.read("sim/data.csv").replacen("wind", "wind speed", 1));
    let model = "[model]\ndrift = \"theta*(mu - x) + k*blow\"\nalpha = 1.7\nscale = 0.2\nobservation_std = 0.05\n\n\
                 [inputs]\nblow = { column = \"wind speed\" }\n\n[parameters]\nk = { guess = 0.5, low = 0.0 }\n";
    at.write("model.toml", model);
    at.ok("fit odd.csv --config model.toml --paths 20 --out run --quiet");
    let found = at.json("run/summary.json")["parameters"]["k"]["estimate"].as_f64().unwrap();
    assert!((found - 0.7).abs() < 0.3, "{found}");
    at.write("later.csv", "time,wind speed\n51,1\n55,1\n");
    at.ok("forecast run --horizon 5 --inputs-file later.csv");
    at.write("later.csv", "time,wind speed\n51,1\n52,\n55,1\n");
    at.refused("forecast run --horizon 5 --inputs-file later.csv", &["later.csv, line 3", "\"wind speed\""]);
    at.write("later.csv", "time,value\n51,1\n52,1\n");
    at.refused("update run later.csv", &["later.csv", "has no column \"wind speed\", which the run has"]);
}

const COLUMNS: &str = "time,value,wind\n";

/// The rows of the record of `driven`; one value near row 150 is missing.
fn rows(at: &Sandbox) -> Vec<String> {
    let mut rows: Vec<String> = at.read("sim/data.csv").lines().skip(1).map(String::from).collect();
    for k in [148, 149, 150, 160] {
        let fields: Vec<&str> = rows[k].split(',').collect();
        rows[k] = format!("{},,{}", fields[0], fields[2]);
    }
    rows
}

fn lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// New rows say what one filter over all rows says, in one piece, in several and as they come, with inputs in the drift and in
/// the size of the noise; the record ends with missing values, so that inputs of before its end are needed.
#[test]
fn identity_an_update_goes_on_with_inputs() {
    let at = driven();
    let rows = rows(&at);
    at.write("first.csv", format!("{COLUMNS}{}\n", rows[..150].join("\n")));
    at.write("next.csv", format!("{COLUMNS}{}\n", rows[150..].join("\n")));
    at.write("all.csv", format!("{COLUMNS}{}\n", rows.join("\n")));
    let given = "--column value --theta 1 --mu 0 --alpha 1.7 --scale 0.2 --observation-std 0.05 --paths 20 --quiet";
    let held = "--inputs wind --set gain[wind]=0.7";
    let sized = "--inputs wind --between linear --set gain[wind]=0.7 --size 1+s*wind+0.1*abs(x) --set s=0.2";
    for (run, more) in [("even", held), ("sized", sized)] {
        at.ok(&format!("fit all.csv {given} {more} --steps 200 --out {run}-all"));
        for name in ["one", "pieces", "feed"] {
            at.ok(&format!("fit first.csv {given} {more} --steps 149 --out {run}-{name}"));
        }
        let one = at.ok(&format!("update {run}-one next.csv --json --lag 2")).out;
        let mut pieces = String::new();
        for piece in rows[150..].chunks(7) {
            at.write("piece.csv", format!("{COLUMNS}{}\n", piece.join("\n")));
            pieces += &at.ok(&format!("update {run}-pieces piece.csv --json --lag 2")).out;
        }
        assert_eq!(pieces, one);
        assert_eq!(
            at.run_with_input(&format!("update {run}-feed --follow --lag 2"), at.read("next.csv").as_bytes()).out,
            one
        );
        for name in ["pieces", "feed"] {
            assert_eq!(at.read(&format!("{run}-{name}/state.json")), at.read(&format!("{run}-one/state.json")));
        }
        let found = lines(&one).iter().filter_map(|row| row["log_evidence"].as_f64()).sum::<f64>();
        let residuals = at.read(&format!("{run}-all/residuals.csv"));
        let later = residuals.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
        let later = later.filter(|fields| fields[0].parse::<f64>().unwrap() > 37.4);
        let expected: f64 = later.map(|fields| fields[3].parse::<f64>().unwrap()).sum();
        assert!((found - expected).abs() < 1e-9, "{run}: {found} {expected}");
        assert_eq!(at.json(&format!("{run}-one/state.json"))["inputs"]["wind"], last_wind(&rows));
        at.ok(&format!("forecast {run}-one --horizon 5 --inputs-file wind.csv --quiet"));
    }
    // What was taken in is learned from as if it had been there from the beginning.
    at.write("even-one/settings.toml", at.read("even-all/settings.toml"));
    at.ok("update even-one --refit --quiet");
    let [refitted, whole] =
        ["even-one", "even-all"].map(|run| at.json(&format!("{run}/summary.json"))["log_evidence"].clone());
    assert_eq!(refitted, whole);
}

fn last_wind(rows: &[String]) -> f64 {
    rows[rows.len() - 1].split(',').nth(2).unwrap().parse().unwrap()
}

#[test]
fn an_update_needs_every_input() {
    let at = driven();
    at.ok(&format!(
        "fit sim/data.csv --column value {DRIVEN} --inputs wind --set gain[wind]=0.7 --paths 20 --quiet --out run"
    ));
    let before = at.read("run/state.json");
    at.write("gap.csv", "time,value,wind\n51,1,2\n52,1,\n53,1,2\n");
    at.refused("update run gap.csv", &["gap.csv, line 3: column \"wind\"", "an input needs a value in every row"]);
    at.write("bare.csv", "time,value\n51,1\n");
    at.refused("update run bare.csv", &["bare.csv: has no column \"wind\", which the run has"]);
    assert_eq!(at.read("run/state.json"), before);
}

#[test]
fn an_input_of_the_size_alone_needs_no_place_in_the_drift() {
    let at = driven();
    let fixed = "exact sim/data.csv --column value --inputs wind --alpha 1.7 --scale 0.2 --observation-std 0.05 --x0 0 --drift -x";
    let sized = evidence(&at.ok(&format!("{fixed} --size 1+s*wind --set s=1 --json")));
    let even = evidence(&at.ok(&format!("{fixed} --size 1+0*wind --json")));
    assert!(sized > even, "{sized} {even}");
    at.refused(fixed, &["--inputs wind", "does not use it; name it there or in --size"]);
}

#[test]
fn mistakes_with_inputs_are_named() {
    let at = driven();
    at.write("gap.csv", "time,value,wind\n0,1,2\n1,2,\n2,1,3\n3,,1\n");
    at.refused(
        "fit gap.csv --inputs wind",
        &["gap.csv, line 3, column \"wind\"", "an input needs a value in every row"],
    );
    at.refused("fit sim/data.csv --inputs rain", &["no column \"rain\" for input rain", "value, wind"]);
    at.refused("fit sim/data.csv --inputs wind --drift -k*x", &["--inputs wind", "does not use it"]);
    at.refused("fit sim/data.csv --inputs wind --drift neural", &["--inputs do not go with drift neural"]);
    at.refused("fit sim/data.csv --between linear", &["--inputs"]);
    at.refused(
        &format!("simulate {DRIVEN} --inputs wind --out a"),
        &["simulate does not take inputs", "--inputs-file"],
    );
    at.refused(&format!("simulate {DRIVEN} --inputs-file wind.csv --out a"), &["--inputs-file belongs to --inputs"]);
    let far = format!("simulate {DRIVEN} --inputs wind --inputs-file wind.csv --set gain[wind]=1 --span 99 --out a");
    at.refused(&far, &["wind.csv", "from time 0 to 60", "from 0 to 99"]);
    at.write("odd.csv", "time,value,mu\n0,1,2\n1,2,1\n2,1,3\n3,1,1\n");
    at.refused("fit odd.csv --inputs mu", &["mu is already the name of a parameter of drift ou", "[inputs]"]);
    at.ok(&format!("fit sim/data.csv --column value {DRIVEN} --paths 20 --out run --quiet"));
    at.refused("forecast run --horizon 1 --inputs-file wind.csv", &["the model has no inputs"]);
}

#[test]
fn noise_grows_with_the_state() {
    let at = Sandbox::new();
    let truth = "--theta 1 --mu 1 --alpha 1.7 --scale 0.4 --observation-std 0.05 --x0 1";
    at.ok(&format!("simulate {truth} --size 1+s*abs(x) --set s=1 --steps 200 --span 40 --seed 4 --out sim --quiet"));
    assert_eq!(at.json("sim/truth.json")["parameters"]["s"], 1.0);
    // The settings file holds the size; a size of 1 is none.
    let sized = evidence(&at.ok("exact sim/data.csv --config sim/settings.toml --json"));
    let plain = evidence(&at.ok(&format!("exact sim/data.csv {truth} --json")));
    let one = evidence(&at.ok(&format!("exact sim/data.csv {truth} --size 1+0*x --json")));
    assert!((plain - one).abs() < 1e-6 && sized > plain + 3.0, "{sized} {plain} {one}");
    let given = "--theta 1 --mu 1 --alpha 1.7 --observation-std 0.05 --paths 30";
    let said = at.ok(&format!("fit sim/data.csv {given} --size 1+s*abs(x) --out run")).out;
    assert!(said.contains("noise stable, size 1+s*abs(x)"), "{said}");
    let summary = at.json("run/summary.json");
    assert_eq!((&summary["size"], &summary["posterior"]), (&"1+s*abs(x)".into(), &"exact".into()));
    assert!(summary["parameters"]["s"]["std_error"].as_f64().unwrap() > 0.0, "{summary}");
    assert!(at.read("run/report.html").contains("parameter of the size of the noise"));
    let model = at.read("run/model.toml");
    assert!(model.contains("size = \"1+s*abs(x)\"") && model.contains("[parameters]\ns = "), "{model}");
    let again = evidence(&at.ok("exact sim/data.csv --config run/model.toml --json"));
    assert!((again - summary["log_evidence"].as_f64().unwrap()).abs() < 1e-2, "{again}");
    at.ok("forecast run --horizon 1");
    // Mistakes.
    at.refused(&format!("fit sim/data.csv {given} --size 1+s*("), &["--size", "column"]);
    at.refused(&format!("exact sim/data.csv {truth} --size 0.1-x^2"), &["size 0.1-x^2", "at state x = "]);
    at.refused(&format!("exact sim/data.csv {truth} --size 1+s*abs(x)"), &["--set s=VALUE or [parameters] s"]);
    at.refused("fit sim/data.csv --size 1+theta*abs(x)", &["size parameter theta", "choose another"]);
    at.refused("fit sim/data.csv --size 1+s*abs(x) --method sweep", &["size depends on the state", "method auto"]);
}
