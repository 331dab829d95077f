//! Observation errors: `--errors`, `--error-column`, outliers.csv, and fill values.

use crate::common::{OU_STABLE, Sandbox};

/// A record with gross errors in `sim`.
fn contaminated() -> Sandbox {
    let at = Sandbox::new();
    let errors = "--errors outliers --outlier-probability 0.05 --outlier-size 20";
    at.ok(&format!("simulate {OU_STABLE} {errors} --steps 250 --span 2.5 --x0 0 --seed 4 --out sim"));
    at
}

/// Rows of outliers.csv: value and probability.
fn outliers(at: &Sandbox, run: &str) -> Vec<(f64, f64)> {
    let text = at.read(&format!("{run}/outliers.csv"));
    let mut rows = csv::Reader::from_reader(text.as_bytes());
    assert_eq!(rows.headers().unwrap(), vec!["time", "column", "value", "probability"]);
    let number = |row: &csv::StringRecord, k: usize| row[k].parse().unwrap();
    rows.records().map(Result::unwrap).map(|row| (number(&row, 2), number(&row, 3))).collect()
}

#[test]
fn gross_errors_are_found_and_listed() {
    let at = contaminated();
    at.ok("fit sim/data.csv --mu 1 --theta 3 --alpha 1.5 --errors outliers --paths 50 --out run");
    let found = outliers(&at, "run");
    assert_eq!(found.len(), 251);
    // The truth: values more than 7 standard deviations from the state are gross errors.
    let column = |file: &str| -> Vec<f64> {
        at.read(file).lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect()
    };
    let (data, truth) = (column("sim/data.csv"), column("sim/truth.csv"));
    let wrong: Vec<usize> = (0..251).filter(|&i| (data[i] - truth[i]).abs() > 0.7).collect();
    assert!(wrong.len() > 3);
    assert!(wrong.iter().all(|&i| found[i].1 > 0.5), "{:?}", wrong.iter().map(|&i| found[i]).collect::<Vec<_>>());
    assert!(found.iter().filter(|(_, p)| *p > 0.5).count() < 2 * wrong.len());
    // The law and its parameters come back from the files, and the page lists the values.
    let model = at.read("run/model.toml");
    assert!(model.contains("errors = \"outliers\"") && model.contains("outlier_probability = "), "{model}");
    assert!(at.read("run/report.html").contains("Probably wrong values"));
    at.ok("forecast run --horizon 0.1 --out ahead");
    at.ok("fit sim/data.csv --config run/model.toml --paths 20 --out again");
    assert_eq!(outliers(&at, "again").len(), 251);
    // Gaussian errors have no such file, also where one was before.
    at.ok("fit sim/data.csv --config run/model.toml --errors gaussian --paths 20 --out again");
    assert!(!at.list("again").contains(&"outliers.csv".to_string()));
}

#[test]
fn student_errors_are_learned_and_exact_takes_them() {
    let at = contaminated();
    at.ok("fit sim/data.csv --mu 1 --theta 3 --alpha 1.5 --scale 2 --errors student --paths 20 --out run");
    assert!(at.read("run/summary.json").contains("\"error_dof\""));
    let all = format!("{OU_STABLE} --errors student --error-dof 2");
    at.ok(&format!("exact sim/data.csv {all}"));
    at.refused("exact sim/data.csv --errors student", &["--error-dof"]);
    at.refused("fit sim/data.csv --error-dof 2", &["does not belong to errors gaussian"]);
    let said = at.run("fit sim/data.csv --errors student --method sweep");
    assert!(said.code == 1 && said.err.contains("method grid"), "{}", said.err);
}

/// Rows of a wave whose every tenth value has a large error: time, value and error.
fn known_errors() -> Vec<String> {
    let row = |i: i32| {
        let sigma = if i % 10 == 3 { 2.0 } else { 0.1 };
        let wiggle = f64::from(i * 7919 % 101) / 50.0 - 1.0;
        format!("{i},{},{sigma}", (0.2 * f64::from(i)).sin() + sigma * wiggle)
    };
    (0..80).map(row).collect()
}

#[test]
fn known_errors_are_read_from_their_column() {
    let at = Sandbox::new();
    at.write("data.csv", format!("time,value,sigma\n{}\n", known_errors().join("\n")));
    at.ok("fit data.csv --error-column sigma --drift none --noise gaussian --paths 20 --out run");
    let posterior = at.read("run/posterior.csv");
    assert!(posterior.lines().skip(1).all(|line| line.split(',').nth(1) == Some("value")));
    assert!(at.read("run/settings.toml").contains("error_column = \"sigma\""));
    // A forecast has no error column: the typical error stands in the model.
    assert!(!at.read("run/model.toml").contains("error_column"));
    at.ok("forecast run --horizon 2 --out ahead");
    at.ok("exact data.csv --error-column sigma --observation-std 1 --drift none --noise gaussian --scale 0.3");
    at.refused("fit data.csv --error-column nothing", &["has no column \"nothing\""]);
    at.write("bad.csv", "time,value,sigma\n0,1,0.1\n1,2,0\n2,1,0.1\n");
    at.refused("fit bad.csv --error-column sigma", &["line 3, column \"sigma\"", "greater than 0"]);
}

/// Known errors come with new rows: one piece, several, a feed and one filter over all rows say the same.
#[test]
fn identity_an_update_takes_known_errors() {
    let at = Sandbox::new();
    let rows = known_errors();
    let table = |rows: &[String]| format!("time,value,sigma\n{}\n", rows.join("\n"));
    at.write("all.csv", table(&rows));
    // The typical error of the first rows is that of all.
    at.write("first.csv", table(&rows[..60]));
    at.write("next.csv", table(&rows[60..]));
    let model =
        "--error-column sigma --drift none --noise gaussian --scale 0.3 --observation-std 1.2 --paths 20 --quiet";
    at.ok(&format!("fit all.csv {model} --steps 79 --out all"));
    for name in ["one", "pieces", "feed"] {
        at.ok(&format!("fit first.csv {model} --steps 59 --out {name}"));
    }
    let one = at.ok("update one next.csv --json").out;
    let mut pieces = String::new();
    for piece in rows[60..].chunks(7) {
        at.write("piece.csv", table(piece));
        pieces += &at.ok("update pieces piece.csv --json").out;
    }
    assert_eq!(pieces, one);
    assert_eq!(at.run_with_input("update feed --follow", at.read("next.csv").as_bytes()).out, one);
    let found: f64 = one
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["log_evidence"].as_f64().unwrap())
        .sum();
    let residuals = at.read("all/residuals.csv");
    let expected: f64 =
        residuals.lines().skip(60).map(|line| line.split(',').nth(3).unwrap().parse::<f64>().unwrap()).sum();
    assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    let exact = |file: &str, steps: usize| {
        let model = "--error-column sigma --drift none --noise gaussian --scale 0.3 --observation-std 1.2";
        let start = at.read("one/model.toml");
        let x0 = start.lines().find_map(|line| line.strip_prefix("x0 = ")).unwrap().to_string();
        let std = start.lines().find_map(|line| line.strip_prefix("x0_std = ")).unwrap().to_string();
        at.ok(&format!("exact {file} {model} --x0 {x0} --x0-std {std} --steps {steps} --json")).json()["log_evidence"]
            .as_f64()
            .unwrap()
    };
    let reference = exact("all.csv", 79) - exact("first.csv", 59);
    assert!((found - reference).abs() < 1e-3, "{found} {reference}");
    at.write("bad.csv", "time,value,sigma\n80,1,0.1\n81,2,\n82,1,0.1\n");
    at.refused(
        "update one bad.csv",
        &["bad.csv, line 3: column \"sigma\": a missing value is not a standard deviation"],
    );
    at.write("bare.csv", "time,value\n80,1\n");
    at.refused("update one bare.csv", &["bare.csv: has no column \"sigma\", which the run has"]);
    at.write("one/settings.toml", at.read("all/settings.toml"));
    at.ok("update one --refit --quiet");
    assert_eq!(at.json("one/summary.json")["log_evidence"], at.json("all/summary.json")["log_evidence"]);
}

#[test]
fn a_fill_value_is_refused_with_its_line() {
    let at = contaminated();
    let data = at.read("sim/data.csv");
    let broken: Vec<String> = data
        .lines()
        .enumerate()
        .map(|(i, line)| if i == 100 { format!("{},100000000", line.split(',').next().unwrap()) } else { line.into() })
        .collect();
    at.write("broken.csv", broken.join("\n"));
    at.refused("fit broken.csv", &["line 101", "fill value", "NaN"]);
}
