//! A family that is one file and one line of the library appears everywhere: flag, help, init, files, report, keywords.

use crate::common::Sandbox;
use levytilt_run::settings::keywords::keywords;

const MODEL: &str = "--drift none --noise two-speed --calm 0.5 --rate 2 --observation-std 0.1";

#[test]
fn identity_a_new_family_appears_everywhere() {
    let at = Sandbox::new();
    // Flag and settings file.
    at.ok(&format!("simulate {MODEL} --steps 60 --span 6 --seed 1 --out sim"));
    assert!(at.read("sim/settings.toml").contains("calm = 0.5"));
    // Help and init.
    let help = at.ok("fit --help").out;
    assert!(help.contains("--calm") && help.contains("calm motion per square root of time"), "{help}");
    assert!(help.contains("- two-speed:") && help.contains("Calm steps, and now and then"), "{help}");
    assert!(at.ok("--help").out.contains(" calm "));
    let template = at.ok("init -").out;
    assert!(template.contains("#calm = 1.0") && template.contains("| two-speed"), "{template}");
    // Report row and model file, which reads back.
    at.ok("fit sim/data.csv --drift none --noise two-speed --rate 2 --paths 40 --out run");
    let summary = at.json("run/summary.json");
    let calm = summary["parameters"]["calm"]["estimate"].as_f64().unwrap();
    assert!(calm > 0.0 && summary["parameters"]["rate"]["fixed"] == true);
    let model: toml::Table = toml::from_str(&at.read("run/model.toml")).unwrap();
    assert_eq!(model["model"]["calm"].as_float(), Some(calm));
    assert!(at.read("run/report.json").contains("standard deviation of calm motion per square root of time"));
    let exact: serde_json::Value =
        serde_json::from_str(&at.ok("exact sim/data.csv --config run/model.toml --json").out).unwrap();
    assert_eq!(exact["parameters"]["calm"]["estimate"].as_f64(), Some(calm));
    // Keywords of Python.
    assert!(keywords(&["model"]).contains(&"calm".to_string()));
    // A value outside its domain, or for another family, is refused with its name.
    at.refused(&format!("simulate {} --out bad", MODEL.replace("0.5", "-1")), &["calm", "greater than 0"]);
    at.refused("simulate --drift none --noise gaussian --scale 1 --calm 1 --out bad", &["--calm", "noise gaussian"]);
}
