//! Backtests: the same figures however they were come by, nothing seen of the future, bad input named.

use crate::common::Sandbox;
use serde_json::Value;

/// Hourly prices of 40 days: seven a day from 13:30, five days of seven, moved by sines.
fn prices(bump: f64) -> String {
    let mut csv = String::from("time,A,B\n");
    let mut k = 0.0f64;
    for day in (0..40).filter(|day| day % 7 < 5) {
        for hour in 13..20 {
            k += 1.0;
            // What comes after day 32 is for no one to know.
            let later = if day >= 32 { bump } else { 0.0 };
            let a = 100.0 * (0.02 * (1.7 * k).sin() + 0.03 * (0.11 * k).cos() + later).exp();
            let b = 50.0 * (0.02 * (1.3 * k).sin() + 0.01 * (1.7 * k).sin()).exp();
            let (month, date) = if day < 31 { (1, day + 1) } else { (2, day - 30) };
            csv += &format!("2024-{month:02}-{date:02}T{hour}:30:00Z,{a},{b}\n");
        }
    }
    csv
}

const QUICK: &str = "--log-returns --train 20d --horizon 2d --models random-walk,student-walk+clock --paths 50";

/// The scores without the times that the computation took.
fn scores(sandbox: &Sandbox, dir: &str) -> Value {
    let mut json = sandbox.json(&format!("{dir}/scores.json"));
    json["models"].as_array_mut().unwrap().iter_mut().for_each(|model| {
        model.as_object_mut().unwrap().remove("seconds_per_window");
    });
    json
}

#[test]
fn identity_a_run_that_was_killed_goes_on_to_the_same_scores() {
    let sandbox = Sandbox::new();
    sandbox.write("prices.csv", prices(0.0));
    sandbox.ok(&format!("backtest prices.csv --column A {QUICK} --out whole --threads 3"));
    assert_eq!(sandbox.list("whole"), ["report.html", "report.json", "scores.json", "scores.md", "windows.jsonl"]);
    let whole = scores(&sandbox, "whole");
    assert!(whole["windows"].as_array().unwrap().len() >= 6);
    assert_eq!(whole["models"][1]["name"], "student-walk+clock");
    assert!(whole["models"][1]["difference"]["mean"].is_f64());
    // Half of the journal, cut within a line, as a kill leaves it.
    let journal = sandbox.read("whole/windows.jsonl");
    std::fs::create_dir(sandbox.path("half")).unwrap();
    sandbox.write("half/windows.jsonl", &journal[..journal.len() / 2]);
    let said = sandbox.ok(&format!("backtest prices.csv --column A {QUICK} --out half --threads 1"));
    assert_eq!(scores(&sandbox, "half"), whole);
    assert!(said.err.contains("forecasts"), "{}", said.err);
    // Nothing left to do; and a model that is added later leaves the others as they are.
    sandbox.ok(&format!("backtest prices.csv --column A {QUICK} --out half"));
    assert_eq!(scores(&sandbox, "half"), whole);
    let more = QUICK.replace("student-walk+clock", "student-walk+clock,bootstrap-walk");
    sandbox.ok(&format!("backtest prices.csv --column A {more} --out half"));
    let more = scores(&sandbox, "half");
    assert_eq!(more["models"][0], whole["models"][0]);
    assert_eq!(more["models"][2]["name"], "bootstrap-walk");
    assert!(sandbox.read("half/scores.md").contains("| bootstrap-walk | "));
}

#[test]
fn identity_a_model_on_some_windows_is_compared_on_those() {
    let sandbox = Sandbox::new();
    sandbox.write("prices.csv", prices(0.0));
    let run = |more: &str, out: &str| {
        sandbox.ok(&format!("backtest prices.csv --column A {QUICK} {more} --out {out}"));
        scores(&sandbox, out)
    };
    let (whole, some) = (run("", "whole"), run("--windows student-walk+clock=3", "some"));
    let count = |scores: &Value| scores["models"][1]["windows"].as_u64().unwrap() as usize;
    assert_eq!((count(&whole), count(&some)), (whole["windows"].as_array().unwrap().len(), 3));
    assert_eq!(some["models"][0], whole["models"][0]);
    // The scores of its windows are those of the whole run, and the difference is that over them.
    let list = |scores: &Value, model: usize| scores["models"][model]["crps_by_window"].as_array().unwrap().clone();
    let (all, few, walk) = (list(&whole, 1), list(&some, 1), list(&whole, 0));
    let mut differences = vec![];
    for ((all, few), walk) in all.iter().zip(&few).zip(&walk).filter(|((_, few), _)| !few.is_null()) {
        assert_eq!(all, few);
        differences.push(few.as_f64().unwrap() - walk.as_f64().unwrap());
    }
    let mean = differences.iter().sum::<f64>() / 3.0;
    assert!((some["models"][1]["difference"]["mean"].as_f64().unwrap() - mean).abs() < 1e-12, "{differences:?}");
    let table = sandbox.read("some/scores.md");
    assert!(table.contains("| student-walk+clock | 3 |") && table.contains("the windows that both"), "{table}");
    // More windows keep those that there are; a journal without quantiles is taken as it is.
    let journal: Vec<Value> =
        sandbox.read("some/windows.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let plain = journal.into_iter().map(|mut line| {
        if let Some(scores) = line.get_mut("scores").and_then(Value::as_object_mut) {
            scores.remove("quantiles");
        }
        line.to_string() + "\n"
    });
    sandbox.write("some/windows.jsonl", plain.collect::<String>());
    let more = run("--windows student-walk+clock=5", "some");
    assert_eq!(count(&more), 5);
    assert!(list(&more, 1).iter().zip(&few).all(|(more, few)| few.is_null() || more == few));
    assert_eq!(sandbox.read("some/windows.jsonl").lines().count(), 1 + walk.len() + 5);
    let bad = |windows: &str, parts: &[&str]| {
        sandbox.refused(&format!("backtest prices.csv --column A {QUICK} --windows {windows} --out no"), parts);
    };
    bad("tilt=3", &["--windows tilt=3", "not among the models"]);
    bad("random-walk=0", &["--windows random-walk=0", "at least 1"]);
    bad("random-walk", &["--windows", "such as deepar=60"]);
}

#[test]
fn identity_the_future_does_not_reach_back() {
    // Prices after day 32 are all higher: forecasts of windows that train before are the same, their scores are not.
    let sandbox = Sandbox::new();
    let lines = |name: &str, bump: f64| -> Vec<Value> {
        sandbox.write("prices.csv", prices(bump));
        let models = QUICK.replace("student-walk+clock", "tilt");
        sandbox.ok(&format!("backtest prices.csv --column A {models} --from 2024-01-13 --to 2024-02-04 --out {name}"));
        let text = sandbox.read(&format!("{name}/windows.jsonl"));
        let mut lines: Vec<Value> = text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
        lines.sort_by_key(|line| line["model"].to_string());
        lines
    };
    let (plain, bumped) = (lines("plain", 0.0), lines("bumped", 0.1));
    assert_eq!(plain.len(), 2);
    for (a, b) in plain.iter().zip(&bumped) {
        assert_eq!(a["scores"]["quantiles"], b["scores"]["quantiles"]);
        assert_ne!(a["scores"]["crps"], b["scores"]["crps"]);
    }
}

#[test]
fn identity_several_dimensions_have_an_energy_score() {
    let sandbox = Sandbox::new();
    sandbox.write("prices.csv", prices(0.0));
    let said = sandbox.ok(&format!("backtest prices.csv {QUICK} --out both --json --quiet"));
    let scores = said.json();
    let model = &scores["models"][0];
    assert!(model["energy_score"].as_f64().unwrap() > model["crps"].as_f64().unwrap());
    assert!(model["variogram_score"].as_f64().unwrap() > 0.0);
    // The shares below the quantiles are those of the windows.
    let lines = sandbox.read("both/windows.jsonl");
    let lines: Vec<serde_json::Value> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let own = |line: &&serde_json::Value| line["model"] == model["name"] && line["scores"]["below"].is_array();
    let below: Vec<bool> = lines
        .iter()
        .filter(own)
        .flat_map(|line| line["scores"]["below"].as_array().unwrap())
        .map(|pair| pair[0].as_bool().unwrap())
        .collect();
    let share = below.iter().filter(|below| **below).count() as f64 / below.len() as f64;
    assert!((model["portfolio"][0]["observed"].as_f64().unwrap() - share).abs() < 1e-12 && !below.is_empty());
    let page = sandbox.read("both/scores.md");
    assert!(page.contains("| variogram |") && page.contains("equal shares below 5 / 1%"), "{page}");
    let by = model["crps_by_dimension"].as_array().unwrap();
    let mean = by.iter().map(|crps| crps.as_f64().unwrap()).sum::<f64>() / 2.0;
    assert!((mean - model["crps"].as_f64().unwrap()).abs() < 1e-12);
    assert_eq!(said.err, "");
}

#[test]
fn bad_input_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("prices.csv", prices(0.0));
    let run = |flags: &str, parts: &[&str]| sandbox.refused(&format!("backtest prices.csv {flags} --out x"), parts);
    run("--column A --train 60d", &["less than one window of 62"]);
    run("--column A --horizon 60d", &["less than one window"]);
    run("--column A --to 2024-05-01", &["--to 2024-05-01", "the data end at", "cannot be scored"]);
    run("--column A --train 20d --from yesterday", &["--from", "yesterday"]);
    run("--column A --train 1d --horizon 1d", &["none of", "training times, fewer than 20"]);
    run("--column A --models arima", &["arima", "random-walk"]);
    run("--column A --models random-walk,random-walk", &["named twice"]);
    run("--column A --models random-walk --reference tilt", &["--reference tilt"]);
    run("--column C", &["no value column \"C\""]);
    assert!(!sandbox.path("x").exists());
    for (name, find, put, parts) in [
        (
            "zero.csv",
            "\n2024-01-02T14:30:00Z,",
            "\n2024-01-02T14:30:00Z,0,1\n2024-01-02T14:45:00Z,",
            ["line 10", "no logarithm"],
        ),
        ("twice.csv", "2024-01-02T14:30:00Z", "2024-01-02T13:30:00Z", ["lines 9 and 10", "same time"]),
    ] {
        sandbox.write(name, prices(0.0).replacen(find, put, 1));
        sandbox.refused(&format!("backtest {name} --column A {QUICK} --out x"), &parts);
    }
    // Rows with gaps are left out and counted; other settings need another directory.
    sandbox.write(
        "gaps.csv",
        prices(0.0).replacen("2024-01-03T14:30:00Z,", "2024-01-03T14:30:00Z,,1\n2024-01-03T14:45:00Z,", 1),
    );
    let said = sandbox.ok(&format!("backtest gaps.csv --column A {QUICK} --out gaps"));
    assert!(said.out.contains("1 of"), "{}", said.out);
    let other = QUICK.replace("20d", "21d");
    sandbox
        .refused(&format!("backtest gaps.csv --column A {other} --out gaps"), &["another train: 20.0 there, 21.0 now"]);
}
