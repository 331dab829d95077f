//! The paper's tables: published figures beside ours, and what is missing named.

mod common;

use common::Sandbox;

/// Daily prices of two tickers from April to July 2024, moved by sines.
fn prices() -> String {
    let mut csv = String::from("time,NVDA,GOOGL\n");
    for k in 0..110 {
        let (month, day) = (4 + k / 30, 1 + k % 30);
        let t = f64::from(k);
        let (a, b) = (100.0 * (0.05 * (1.7 * t).sin()).exp(), 50.0 * (0.03 * (1.3 * t).cos()).exp());
        csv += &format!("2024-{month:02}-{day:02}T20:00:00Z,{a},{b}\n");
    }
    csv
}

#[test]
fn published_figures_stand_beside_ours() {
    let sandbox = Sandbox::new();
    sandbox.write("prices.csv", prices());
    let run = "reproduce univariate --quick --data prices.csv --models random-walk,student-walk --out two";
    let said = sandbox.ok(run);
    assert_eq!(sandbox.list("two"), ["GOOGL", "NVDA", "report.html", "report.json", "table.json", "table.md"]);
    let table = sandbox.read("two/table.md");
    for part in ["| – | tilted stable | 0.432 |", "| tilted stable | 0.435 |", "| random-walk | ", "# NVDA", "# GOOGL"]
    {
        assert!(table.contains(part) && said.out.contains(part), "{part}: {table}");
    }
    let json = sandbox.json("two/table.json");
    assert_eq!(json[0]["published"].as_array().unwrap().len(), 7);
    assert!(json[0]["scores"]["models"][0]["crps"].as_f64().unwrap() > 0.0);
}

#[test]
fn missing_and_bad_settings_are_named() {
    let sandbox = Sandbox::new();
    sandbox.refused("reproduce univariate --out x", &["--data is missing"]);
    sandbox.refused("reproduce synthetic --realisations 0 --out x", &["--realisations 0"]);
    sandbox.refused("reproduce synthetic --observation-std 0.1,-1 --out x", &["--observation-std -1"]);
    sandbox.write("prices.csv", prices().replace("GOOGL", "MSFT"));
    sandbox.refused(
        "reproduce univariate --quick --data prices.csv --models random-walk --out y",
        &["GOOGL", "no value column"],
    );
    assert!(!sandbox.path("x").exists());
}
