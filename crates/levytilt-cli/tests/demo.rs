//! `levytilt demo`: runs without arguments and compares two models of a real record.

mod common;

use common::Sandbox;

#[test]
fn the_demo_needs_no_arguments() {
    let at = Sandbox::new();
    let said = at.ok("demo");
    assert!(said.out.contains("nats"), "{}", said.out);
    assert_eq!(at.list("levytilt-demo"), ["data.csv", "posterior.csv", "settings.toml", "summary.json"]);
    let summary = at.json("levytilt-demo/summary.json");
    assert_eq!((summary["noise"].as_str(), summary["rival"]["noise"].as_str()), (Some("stable"), Some("gaussian")));
    assert_eq!(summary["observations"], 4830);
    // What the demo wrote can be taken up by the other commands, with the same result.
    let again = at.ok("exact levytilt-demo/data.csv --config levytilt-demo/settings.toml --json").json();
    assert_eq!(again["log_evidence"], summary["log_evidence"]);
}
