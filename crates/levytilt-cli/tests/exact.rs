//! `levytilt exact`: from files and standard input to evidence and posterior, and what it refuses.

use crate::common::{OU_STABLE, Sandbox};
use std::io::Write;

/// A small record that every model explains.
const DATA: &str = "time,value\n0,1.0\n0.1,1.2\n0.25,0.9\n0.3,\n0.5,1.1\n";

fn with_data(content: impl AsRef<[u8]>) -> Sandbox {
    let at = Sandbox::new();
    at.write("d.csv", content);
    at
}

/// The log evidence that `exact` prints for these arguments.
fn evidence(at: &Sandbox, arguments: &str) -> f64 {
    at.ok(&format!("exact {arguments} --json")).json()["log_evidence"].as_f64().unwrap()
}

#[test]
fn a_simulated_record_is_explained() {
    let at = Sandbox::new();
    at.ok(&format!("simulate {OU_STABLE} --steps 200 --span 2 --x0 0 --seed 3 --out sim"));
    at.ok("exact sim/data.csv --config sim/settings.toml --out run");
    assert_eq!(at.list("run"), ["posterior.csv", "settings.toml", "summary.json"]);
    let summary = at.json("run/summary.json");
    assert_eq!((summary["steps"].as_u64(), summary["observations"].as_u64()), (Some(200), Some(201)));
    assert_eq!(summary["parameters"]["alpha"]["estimate"], 1.5);
    assert_eq!(summary["parameters"]["alpha"]["fixed"], true);
    assert_eq!(summary["x0_mean"], 0.0);
    for key in ["log_evidence", "spacing", "cells", "seconds"] {
        assert!(summary[key].is_number(), "{key}");
    }
    let (truth, posterior) = (at.read("sim/truth.csv"), at.read("run/posterior.csv"));
    assert_eq!(posterior.lines().next().unwrap(), "time,dimension,mean,sd,q05,q25,q50,q75,q95");
    // The state lies between the 5% and 95% quantiles 90% of the time; 201 correlated draws stay well above 70%.
    let inside = truth.lines().zip(posterior.lines()).skip(2).filter(|(truth, posterior)| {
        let state: f64 = truth.split(',').nth(1).unwrap().parse().unwrap();
        let fields: Vec<&str> = posterior.split(',').collect();
        (fields[4].parse().unwrap()..=fields[8].parse().unwrap()).contains(&state)
    });
    assert!(inside.count() > 140);
    // The truth explains the record better than a far model does.
    let far = evidence(&at, "sim/data.csv --config sim/settings.toml --mu 30");
    assert!(summary["log_evidence"].as_f64().unwrap() > far);
}

#[test]
fn saved_settings_give_the_same_result() {
    let at = with_data(DATA);
    at.ok(&format!("exact d.csv {OU_STABLE} --out a"));
    at.ok("exact d.csv --config a/settings.toml --out b");
    assert_eq!(at.read("a/posterior.csv"), at.read("b/posterior.csv"));
    assert_eq!(at.read("a/settings.toml"), at.read("b/settings.toml"));
    let start = at.json("a/summary.json");
    assert_eq!((start["x0_mean"].as_f64(), start["x0_std"].as_f64()), (Some(1.0), Some(1.0)));
}

#[test]
fn one_model_gives_one_evidence_however_it_is_fed() {
    let at = with_data(DATA);
    let expected = evidence(&at, &format!("d.csv {OU_STABLE}"));
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(DATA.as_bytes()).unwrap();
    let gz = gz.finish().unwrap();
    at.write("d.csv.gz", &gz);
    at.write("crlf.csv", format!("\u{feff}{}", DATA.replace('\n', "\r\n")));
    at.write("mixed.csv", "time,value\n0.5,1.1\n0.3,NA\n0.1,1.2\n\n0,1.0\n0.25,0.9\n");
    at.write("wide.csv", "time,a,value\n0,x,1.0\n0.1,x,1.2\n0.25,x,0.9\n0.3,x,nan\n0.5,x,1.1\n");
    for source in ["d.csv.gz", "crlf.csv", "mixed.csv", "wide.csv --column value"] {
        assert_eq!(evidence(&at, &format!("{source} {OU_STABLE}")), expected, "{source}");
    }
    for bytes in [DATA.as_bytes(), &gz] {
        let said = at.run_with_input(&format!("exact - {OU_STABLE} --json"), bytes);
        assert_eq!(said.json()["log_evidence"].as_f64(), Some(expected));
    }
}

#[test]
fn timestamps_count_in_days_and_come_back() {
    let at = Sandbox::new();
    at.write("n.csv", "time,value\n0,1.0\n0.5,1.2\n2,0.9\n");
    at.write("z.csv", "t,value\n2024-03-01T00:00:00Z,1.0\n2024-03-01T13:00:00+01:00,1.2\n2024-03-03T00:00:00Z,0.9\n");
    at.write(
        "b.csv",
        "t,value\n2024-03-01T00:00[UTC],1.0\n2024-03-01T13:00[Europe/Berlin],1.2\n2024-03-03T00:00Z[UTC],0.9\n",
    );
    let steps = "--steps 8";
    let expected = evidence(&at, &format!("n.csv {OU_STABLE} {steps}"));
    assert_eq!(evidence(&at, &format!("z.csv {OU_STABLE} {steps}")), expected);
    assert_eq!(evidence(&at, &format!("b.csv {OU_STABLE} {steps}")), expected);
    at.ok(&format!("exact z.csv {OU_STABLE} {steps} --out run"));
    let posterior = at.read("run/posterior.csv");
    let times: Vec<&str> = posterior.lines().skip(1).map(|row| row.split(',').next().unwrap()).collect();
    assert_eq!(
        times[..4],
        ["2024-03-01T00:00:00Z", "2024-03-01T06:00:00Z", "2024-03-01T13:00:00+01:00", "2024-03-01T19:00:00+01:00"]
    );
    let summary = at.json("run/summary.json");
    assert_eq!(summary["time_unit"], "days");
    assert!(!summary["warnings"].to_string().contains("UTC"));
    at.write("naive.csv", "t,value\n2024-03-01 00:00,1.0\n2024-03-01 12:00,1.2\n2024-03-03 00:00,0.9\n");
    let naive = at.ok(&format!("exact naive.csv {OU_STABLE} {steps} --json")).json();
    assert_eq!(naive["log_evidence"].as_f64(), Some(expected));
    assert!(naive["warnings"].to_string().contains("taken as UTC"));
}

#[test]
fn bad_tables_are_named_by_file_line_and_column() {
    let cases: [(&str, &[&str]); 20] = [
        ("", &["d.csv", "is empty"]),
        ("\n\n", &["d.csv", "is empty"]),
        ("time,value\n", &["d.csv", "no rows"]),
        ("0,1\n1,2\n", &["d.csv, line 1", "header row"]),
        ("2024-01-01,1\n2024-01-02,2\n", &["d.csv, line 1", "header row"]),
        ("time\n1\n", &["d.csv, line 1", "one column"]),
        ("time;value\n1;2\n", &["column \"value\"", "single observation (line 2)"]),
        ("time,value\n0,1\n\n1,two\n", &["d.csv, line 4, column \"value\"", "finite number", "\"two\""]),
        ("time,value\r\n0,1\r\n1,two\r\n", &["d.csv, line 3, column \"value\""]),
        ("time,value\n0,1\nlater,2\n", &["d.csv, line 3, column \"time\"", "ISO 8601", "\"later\""]),
        ("time,value\n0,1\n,2\n", &["d.csv, line 3, column \"time\""]),
        ("time,value\n0,1\nNaN,2\n", &["d.csv, line 3, column \"time\"", "finite"]),
        ("time,value\n0,1\n2024-01-01,2\n", &["line 3, column \"time\"", "expected a number", "2024-01-01"]),
        ("time,value\n2024-01-01T00:00Z,1\n2024-01-02,2\n", &["line 3, column \"time\"", "with a time zone"]),
        ("time,value\n3,1\n1,1\n3,2\n", &["lines 2 and 4", "same time, 3"]),
        ("time,value\n0,1\n1,2,3\n", &["line 3", "has 3 fields", "expected 2"]),
        ("time,value\n0,1\n", &["d.csv", "column \"value\"", "single observation (line 2)"]),
        ("time,value\n0,\n1,NaN\n2,NA\n", &["column \"value\"", "all values are missing"]),
        ("time,value\n2,1\n1,1e300\n0,2\n", &["d.csv, line 3, column \"value\"", "1e300"]),
        ("time,value\n0,1\n1,-inf\n", &["d.csv, line 3, column \"value\"", "-inf"]),
    ];
    for (content, parts) in cases {
        let at = with_data(content);
        at.refused(&format!("exact d.csv {OU_STABLE} --out run"), parts);
        assert_eq!(at.list(""), ["d.csv"], "{content:?} left something behind");
    }
}

#[test]
fn files_that_are_no_tables_are_named() {
    let at = with_data([0x1f, 0x8b, 8, 0, 1, 2, 3]);
    at.refused(&format!("exact d.csv {OU_STABLE}"), &["d.csv", "gzip"]);
    at.write("d.csv", b"time,value\n0,\xff\n");
    at.refused(&format!("exact d.csv {OU_STABLE}"), &["d.csv, line 2", "UTF-8"]);
    at.refused(&format!("exact nowhere.csv {OU_STABLE}"), &["nowhere.csv", "cannot be read"]);
    at.run_with_input(&format!("exact - {OU_STABLE}"), b"time,value\n0,x\n")
        .expect_refused("-", &["standard input, line 2, column \"value\""]);
}

#[test]
fn columns_are_chosen_by_name() {
    let at = with_data("time,a,b\n0,1,2\n1,2,3\n");
    at.refused(&format!("exact d.csv {OU_STABLE}"), &["d.csv", "a, b", "--column"]);
    at.refused(&format!("exact d.csv {OU_STABLE} --column c"), &["no value column \"c\"", "a, b"]);
    let summary = at.ok(&format!("exact d.csv {OU_STABLE} --column b --steps 5 --json")).json();
    assert_eq!(summary["dimension"], "b");
    at.write("d.csv", "time,a,a\n0,1,2\n1,2,3\n");
    at.refused(&format!("exact d.csv {OU_STABLE} --column a"), &["two columns are called \"a\""]);
}

#[test]
fn missing_and_foreign_parameters_are_all_listed() {
    let at = with_data(DATA);
    at.refused("exact d.csv", &["exact needs theta, mu, alpha, scale, observation_std", "--theta or [drift] theta"]);
    at.refused(
        "exact d.csv --drift none --noise gaussian --scale 1 --alpha 2 --observation-std 1",
        &["--alpha", "does not belong to noise gaussian", "scale"],
    );
    at.refused(&format!("exact d.csv {OU_STABLE} --x0-std 0"), &["x0", "0"]);
    at.refused(&format!("exact d.csv {OU_STABLE} --steps 0"), &["steps = 0"]);
    at.write("s.toml", "[model]\nnoise = \"auto\"\n");
    at.refused("exact d.csv --config s.toml", &["auto", "--noise"]);
    at.write("s.toml", "[model]\nclock = \"business\"\n");
    at.refused("exact d.csv --config s.toml", &["business", "calendar"]);
}

#[test]
fn an_sd_that_does_not_exist_is_left_empty_and_explained() {
    // The last value is missing: the state there is predicted, and a stable law has no variance.
    let at = with_data("time,value\n0,1\n0.1,1.2\n0.2,\n");
    at.ok(&format!("exact d.csv {OU_STABLE} --steps 2 --out run"));
    let posterior = at.read("run/posterior.csv");
    let last: Vec<&str> = posterior.lines().last().unwrap().split(',').collect();
    assert_eq!((last[0], last[3]), ("0.2", ""));
    assert!(last[6].parse::<f64>().is_ok());
    assert!(at.read("run/summary.json").contains("has no finite variance"));
}

#[test]
fn quiet_says_nothing_and_help_says_enough() {
    let at = with_data(DATA);
    assert_eq!(at.ok(&format!("exact d.csv {OU_STABLE} --quiet")).out, "");
    assert!(at.ok(&format!("exact d.csv {OU_STABLE}")).out.starts_with("log evidence"));
    for command in ["", "exact", "simulate", "demo"] {
        assert!(at.ok(&format!("{command} --help")).out.contains("levytilt "));
    }
}
