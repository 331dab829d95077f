//! What drives a model besides its own motion: a learned diffusion, input columns, and noise whose size depends on the state.

mod common;

use common::{OU_STABLE, Sandbox};

#[test]
fn a_diffusion_beside_the_jumps_is_learned() {
    let at = Sandbox::new();
    let truth = "--theta 1 --mu 0 --alpha 1.2 --scale 0.3 --observation-std 0.05";
    at.ok(&format!("simulate {truth} --brownian 0.8 --steps 400 --span 40 --seed 3 --out sim --quiet"));
    let given = "--theta 1 --mu 0 --observation-std 0.05 --paths 20";
    let said = at.ok(&format!("fit sim/data.csv {given} --brownian learn --out run")).out;
    assert!(said.contains("brownian      log evidence ") && said.contains("without: told from 0"), "{said}");
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
    assert!(at.read("run/report.html").contains("brownian is told from 0: log evidence"));
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
