//! `levytilt demo`: runs without arguments and compares two models of a real record.

use crate::common::Sandbox;

#[test]
fn the_demo_needs_no_arguments() {
    let at = Sandbox::new();
    let said = at.ok("demo");
    assert!(said.out.contains("nats"), "{}", said.out);
    let files = [
        "data.csv",
        "jumps.csv",
        "model.toml",
        "paths.npz",
        "posterior.csv",
        "report.html",
        "report.json",
        "residuals.csv",
        "settings.toml",
        "state.json",
        "summary.json",
    ];
    assert_eq!(at.list("levytilt-demo"), files);
    let summary = at.json("levytilt-demo/summary.json");
    assert_eq!((summary["noise"].as_str(), summary["rival"]["noise"].as_str()), (Some("stable"), Some("gaussian")));
    assert_eq!(summary["observations"], 4830);
    // The exact evidence of the model found: as the particles say, and as good as the best that a search finds (469.9).
    let exact = at.ok("exact levytilt-demo/data.csv --config levytilt-demo/model.toml --json").json();
    let figure = |json: &serde_json::Value, key: &str| json[key].as_f64().unwrap();
    let exact = figure(&exact, "log_evidence");
    let error = figure(&summary, "log_evidence_std_error");
    assert!((figure(&summary, "log_evidence") - exact).abs() < 4.0 * error, "{exact}");
    assert!(exact > 469.0, "{exact}");
    at.ok("forecast levytilt-demo --horizon 0.1");
}
