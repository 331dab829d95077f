//! The paper's tables: published figures beside ours, and what is missing named.

use crate::common::{Sandbox, two_prices};

#[test]
fn published_figures_stand_beside_ours() {
    let sandbox = Sandbox::new();
    sandbox.write("prices.csv", two_prices());
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
fn trained_networks_join_with_few_steps() {
    let sandbox = Sandbox::new();
    sandbox.write("prices.csv", two_prices());
    let run = "reproduce univariate --quick --data prices.csv --training-steps 2 --models";
    sandbox.refused(&format!("{run} random-walk --out no"), &["--training-steps", "network"]);
    sandbox.ok(&format!("{run} random-walk,deepar,nj-sde --windows nj-sde=2 --out yes"));
    let table = sandbox.read("yes/table.md");
    assert!(["deepar", "nj-sde"].iter().all(|name| table.contains(name)), "{table}");
}

#[test]
fn missing_and_bad_settings_are_named() {
    let sandbox = Sandbox::new();
    sandbox.refused("reproduce univariate --out x", &["--data is missing"]);
    sandbox.refused("reproduce synthetic --realisations 0 --out x", &["--realisations 0"]);
    sandbox.refused("reproduce synthetic --observation-std 0.1,-1 --out x", &["--observation-std -1"]);
    sandbox.refused("reproduce synthetic --paper 0 --out x", &["--paper 0", "at least 1"]);
    sandbox.refused("reproduce synthetic --training-steps 5 --out x", &["--training-steps", "no forecasting networks"]);
    sandbox.write("prices.csv", two_prices().replace("GOOGL", "MSFT"));
    sandbox.refused(
        "reproduce univariate --quick --data prices.csv --models random-walk --out y",
        &["GOOGL", "no value column"],
    );
    assert!(!sandbox.path("x").exists());
}
