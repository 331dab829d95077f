//! `levytilt compare`: several models of one record in one table.

use crate::common;
use crate::common::Sandbox;

/// A record of 200 rows with stable jumps.
fn prepared() -> Sandbox {
    let at = Sandbox::new();
    at.ok(&format!("simulate {} --steps 199 --span 1.99 --seed 6 --out made", common::OU_STABLE));
    at
}

const HELD: &str = "--set theta=3 --set mu=1 --set observation_std=0.1 --paths 20";

#[test]
fn identity_the_table_says_what_single_fits_and_updates_say() {
    let at = prepared();
    let said = at.ok(&format!("compare made/data.csv --noise gaussian,stable {HELD} --out which")).out;
    assert!(said.contains("log evidence") && said.contains("penalty") && said.contains("held out"), "{said}");
    let found = at.json("which/summary.json");
    let rows = found["models"].as_array().unwrap();
    assert_eq!((&found["best"], &rows[0]["model"]), (&"ou with stable".into(), &"ou with stable".into()));
    for row in rows {
        let noise = row["noise"].as_str().unwrap();
        let flags = format!("--noise {noise} --theta 3 --mu 1 --observation-std 0.1 --paths 20");
        let fit = at.ok(&format!("fit made/data.csv {flags} --json")).json();
        assert_eq!(row["log_evidence"], fit["log_evidence"], "{noise}");
        assert_eq!(row["parameters"], fit["parameters"], "{noise}");
        let learned = row["learned"].as_f64().unwrap();
        let penalty = row["penalty"].as_f64().unwrap();
        assert!((penalty - 0.5 * learned * 200f64.ln()).abs() < 1e-9, "{penalty}");
        // The held-out score is that of `update` after a fit to the first rows.
        let record = at.read("made/data.csv");
        let lines: Vec<&str> = record.lines().collect();
        at.write("early.csv", lines[..161].join("\n") + "\n");
        at.ok(&format!("fit early.csv {flags} --out early-{noise} --quiet"));
        let updated = at.ok(&format!("update early-{noise} made/data.csv --json")).out;
        let updates: Vec<serde_json::Value> = updated.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let new: Vec<f64> = updates.iter().filter_map(|row| row["log_evidence"].as_f64()).collect();
        assert_eq!((new.len(), row["held_out"]["values"].as_u64()), (40, Some(40)));
        let mean = new.iter().sum::<f64>() / 40.0;
        let score = row["held_out"]["log_score"].as_f64().unwrap();
        assert!((score - mean).abs() < 1e-3 * mean.abs(), "{noise}: {score} {mean}");
    }
    assert!(rows[1]["held_out"]["difference"].as_f64().unwrap() < 0.0);
    assert!(rows[1]["behind"].as_f64().unwrap() > 3.0 && rows[1]["residuals"]["passed"] == false);
    let csv = at.read("which/compare.csv");
    assert!(csv.starts_with("model,drift,noise,log_evidence,") && csv.contains(",alpha,alpha_std_error"), "{csv}");
    let page = at.read("which/report.html");
    let table = page.find("held-out log score").unwrap();
    assert!(table < page.find("Residual checks").unwrap() && page.contains("ou with stable explains it best"));
    at.ok("report which");
}

#[test]
fn files_formulas_and_written_states_take_part() {
    let at = prepared();
    at.write("a.toml", "[model]\ndrift = \"ou\"\nnoise = \"gaussian\"\nobservation_std = 0.1\n");
    at.write(
        "b.toml",
        "[states]\nx = \"k*(m - x)\"\n[noise.kick]\nfamily = \"gaussian\"\non = \"x\"\n[observe.value]\nof = \"x\"\nstd = 0.1\n",
    );
    let found = at.ok("compare made/data.csv --models a.toml,b.toml --paths 20 --json").json();
    let row = |name: &str| {
        found["models"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["model"] == name)
            .unwrap_or_else(|| panic!("{name}"))
            .clone()
    };
    // The same model twice: evidence and scores agree up to the error of particle filters and of learning.
    let (a, b) = (row("a"), row("b"));
    assert_eq!(a["learned"], b["learned"]);
    let evidence = |row: &serde_json::Value| row["log_evidence"].as_f64().unwrap();
    assert!((evidence(&a) - evidence(&b)).abs() < 3.0, "{} {}", evidence(&a), evidence(&b));
    let score = |row: &serde_json::Value| row["held_out"]["log_score"].as_f64().unwrap();
    assert!((score(&a) - score(&b)).abs() < 0.1, "{} {}", score(&a), score(&b));
    assert!(a["residuals"].is_object() && b["residuals"].is_null());
    let both = at.ok("compare made/data.csv --drift ou,-k*x --noise gaussian --holdout 0 --paths 20 --json").json();
    let names: Vec<&str> =
        both["models"].as_array().unwrap().iter().map(|row| row["model"].as_str().unwrap()).collect();
    assert!(names.contains(&"-k*x with gaussian"), "{names:?}");
    assert!(both["models"][0]["held_out"].is_null());
}

#[test]
fn a_failed_fit_is_listed_and_the_others_are_kept() {
    let at = prepared();
    // The record goes below 0, where the second drift has no value.
    let held = "--set observation_std=0.1 --paths 20 --holdout 0";
    let line = format!("compare made/data.csv --drift ou,-k*log(x) --noise gaussian {held} --out which");
    let said = at.ok(&line);
    let found = at.json("which/summary.json");
    let rows = found["models"].as_array().unwrap();
    assert_eq!((rows.len(), &found["best"]), (2, &"ou with gaussian".into()));
    assert!(rows[0]["log_evidence"].is_number() && rows[0].get("error").is_none(), "{found}");
    let (model, error) = (rows[1]["model"].as_str().unwrap(), rows[1]["error"].as_str().unwrap());
    assert!(model.starts_with("-k*log(x)") && rows[1]["log_evidence"].is_null(), "{found}");
    assert!(error.contains("failed") && error.contains("log(x)"), "{error}");
    assert!(said.out.contains("failed"), "{}", said.out);
    assert!(at.read("which/report.html").contains("failed"));
}

#[test]
fn identity_lists_of_errors_and_clocks_combine_and_a_season_is_in_every_model() {
    let at = Sandbox::new();
    // Hourly values of three days, with a season of a day.
    let row = |hour: u32| {
        let (day, clock) = (1 + hour / 24, hour % 24);
        let value = (f64::from(clock) * std::f64::consts::TAU / 24.0).sin() + 0.1 * f64::from(hour * hour % 7);
        format!("2024-01-{day:02}T{clock:02}:00:00,{value}\n")
    };
    at.write("hours.csv", "time,value\n".to_string() + &(0..72).map(row).collect::<String>());
    let names = |flags: &str| -> Vec<String> {
        let found = at.ok(&format!("compare hours.csv --paths 10 --holdout 0 --json {flags}")).json();
        let rows = found["models"].as_array().unwrap();
        assert!(rows.iter().all(|row| row["log_evidence"].is_number()), "{found}");
        let mut all: Vec<String> = rows.iter().map(|row| row["model"].as_str().unwrap().to_string()).collect();
        all.sort();
        all
    };
    let found = names("--noise gaussian,student --errors gaussian,outliers --season 24h");
    assert_eq!(found.len(), 4);
    assert_eq!(found[1], "ou with gaussian, outliers errors");
    assert_eq!(
        names("--noise student --clock calendar,business"),
        ["ou with student, business clock", "ou with student, calendar clock"]
    );
    let summary = |flags: &str| {
        let line = format!("compare hours.csv --paths 10 --holdout 0 --json --noise gaussian,student {flags}");
        at.ok(&line).json()["models"].as_array().unwrap().clone()
    };
    let learned = |rows: &[serde_json::Value]| rows.iter().map(|row| row["learned"].as_u64().unwrap()).max().unwrap();
    // A season has two terms; a clock one length for each hour of the day, and one of them is given by the others.
    let (plain, season, clock) = (summary(""), summary("--season 24h"), summary("--clock business"));
    assert_eq!(learned(&season), learned(&plain) + 2);
    assert!(learned(&clock) > learned(&plain), "{clock:?}");
    at.refused("compare hours.csv --errors gaussian,outliar", &["outliar", "'outliers'"]);
    at.refused(
        "compare hours.csv --noise nig,gaussian --season 24h --clock business",
        &["--season", "--clock business"],
    );
}

#[test]
fn wrong_lists_are_refused() {
    let at = prepared();
    at.refused("compare made/data.csv", &["nothing to compare", "--models a.toml,b.toml"]);
    at.refused("compare made/data.csv --noise nig", &["nothing to compare"]);
    at.refused("compare made/data.csv --noise nig,stabel", &["--noise", "did you mean stable?"]);
    at.refused("compare made/data.csv --drift ou,theta*(mu-x", &["--drift", "never closed"]);
    at.refused("compare made/data.csv --noise nig,gaussian --holdout 1", &["--holdout 1", "from 0"]);
    at.refused("compare made/data.csv --noise nig,gaussian --set kappa=1", &["kappa", "none of the models"]);
    at.refused("compare made/data.csv --models nowhere.toml,b.toml", &["nowhere.toml"]);
    at.write("a.toml", "[data]\ncolumn = \"value\"\n");
    at.write("b.toml", "[data]\ncolumn = \"other\"\n");
    at.refused("compare made/data.csv --models a.toml,b.toml", &["a and b ask for different [data]"]);
    at.refused("compare made/data.csv --noise nig,gaussian --plots svg", &["--out"]);
}
