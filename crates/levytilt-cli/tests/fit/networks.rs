//! Fits with networks: as drift, as potential, and by the published method.

use crate::{FIXED, no_nan, simulated, two_columns};

#[test]
fn a_network_is_saved_and_looks_ahead() {
    let at = two_columns();
    let flags = "--drift neural --width 8 --depth 1 --alpha 1.5 --steps 200 --paths 40";
    at.ok(&format!("fit two.csv {flags} --out run"));
    at.ok(&format!("fit two.csv {flags} --threads 1 --out same"));
    no_nan(&at, "run");
    let bytes = |name: &str| std::fs::read(at.path(name)).unwrap();
    assert_eq!(bytes("run/model.safetensors"), bytes("same/model.safetensors"));
    assert_eq!(bytes("run/paths.npz"), bytes("same/paths.npz"));
    let summary = at.json("run/summary.json");
    assert_eq!((&summary["network"]["width"], &summary["network"]["depth"]), (&8.into(), &1.into()));
    assert_eq!(summary["parameters"].as_object().unwrap().len(), 6);
    at.ok("forecast run --horizon 0.5 --out ahead");
    assert_eq!(at.read("ahead/forecast.csv").lines().count(), 1 + 2 * 50);
    at.ok("fit sim/data.csv --config run/settings.toml --out one");
    at.ok("forecast one --horizon 0.5");
    at.refused("fit two.csv --width 8", &["--drift neural"]);
    at.refused("exact sim/data.csv --drift neural", &["neural"]);
    std::fs::remove_file(at.path("run/model.safetensors")).unwrap();
    at.refused("forecast run --horizon 0.5", &["model.safetensors"]);
}

#[test]
fn a_neural_potential_is_trained_and_kept() {
    let at = simulated();
    let flags = format!("fit sim/data.csv {FIXED} --steps 200 --paths 40");
    at.ok(&format!("{flags} --method sweep --out sweep"));
    for init in ["cold", "sweep"] {
        at.ok(&format!("{flags} --method neural --iterations 3 --init {init} --out {init}-networks"));
        let summary = at.json(&format!("{init}-networks/summary.json"));
        assert_eq!(summary["method"], "neural");
        // The networks begin at a message that is nearly right: within ten nats of sweeps on 201 observations.
        let gap = at.json("sweep/summary.json")["elbo"].as_f64().unwrap() - summary["elbo"].as_f64().unwrap();
        assert!(gap.abs() < 10.0, "{init}: {gap}");
        assert!(at.path(&format!("{init}-networks/model.safetensors")).exists());
        assert!(at.read(&format!("{init}-networks/settings.toml")).contains("iterations = 3"));
        no_nan(&at, &format!("{init}-networks"));
    }
}

/// The published method from end to end: variational paths, a bound below the evidence, parameters of the drift learned.
#[test]
fn the_published_method_fits_a_record() {
    let at = simulated();
    let flags = "fit sim/data.csv --mu 1 --alpha 1.5 --scale 2 --observation-std 0.1 --tau 0.1 --x0 0 --method paper";
    at.ok(&format!("{flags} --paths 16 --iterations 2 --out run"));
    let summary = at.json("run/summary.json");
    assert_eq!((&summary["method"], &summary["posterior"]), (&"paper".into(), &"variational".into()));
    assert_eq!(summary["noise"], "truncated-stable");
    assert!(summary["elbo"].as_f64().unwrap() < summary["log_evidence"].as_f64().unwrap());
    assert!(summary["parameters"]["theta"]["estimate"].as_f64().unwrap() > 0.0);
    assert!(at.path("run/model.safetensors").exists());
    let free = flags.replace("--alpha 1.5 ", "").replace("--method paper", "--method paper --paths 8 --iterations 1");
    at.write("small.toml", "[paper]\nreferences = 5\nfeatures = 4\nunits = 8\nlayers = 1\noptimiser = \"adam\"\n");
    at.ok(&format!("{free} --config small.toml --alpha-grid 1.4,1.6 --out grid"));
    assert!(at.json("grid/summary.json")["method_reason"].as_str().unwrap().contains("among 1.4 "));
    assert!(!at.read("grid/model.toml").contains("alpha_grid"));
    at.refused(&format!("{free} --alpha 1.5 --alpha-grid 1.4,1.6"), &["--alpha", "leave one out"]);
    at.refused(&format!("{free} --alpha-grid 2.5"), &["--alpha-grid", "between 0 and 2"]);
    at.refused("fit sim/data.csv --alpha-grid 1.5", &["--alpha-grid", "--method paper"]);
    at.ok(&format!("{free} --config small.toml --size 1+0.1*abs(x) --out alpha"));
    let alpha = &at.json("alpha/summary.json")["parameters"]["alpha"];
    assert!(alpha["fixed"] != true && alpha["estimate"].as_f64().unwrap() < 2.0, "{alpha}");
    let network = free.replace("--mu 1 ", "--drift neural --width 3 --depth 1 --alpha 1.5 ");
    at.ok(&format!("{network} --config small.toml --alongside --brownian 0.5 --out network"));
    assert!(at.json("network/summary.json")["network"]["held_out_gain"].is_null());
    at.write("zero.toml", "[paper]\nlayers = 0\n");
    at.refused(&format!("{flags} --config zero.toml"), &["layers = 0", "at least 1"]);
    at.write("paper.toml", "[paper]\nlearning_rate = 2.0\n");
    at.refused(&format!("{flags} --config paper.toml"), &["learning_rate = 2", "0 to 1"]);
}

/// Several bumps per time are kept with the networks, and go on with them.
#[test]
fn a_neural_potential_may_have_several_bumps() {
    let at = simulated();
    let flags = format!("fit sim/data.csv {FIXED} --steps 200 --paths 8 --method neural");
    at.ok(&format!("{flags} --components 2 --iterations 3 --out two"));
    assert!(at.read("two/settings.toml").contains("components = 2"));
    no_nan(&at, "two");
    at.ok(&format!("{flags} --init two --iterations 0 --out again"));
    let [two, again] = ["two", "again"].map(|run| at.json(&format!("{run}/summary.json"))["elbo"].clone());
    assert_eq!(two, again);
    at.refused(&format!("{flags} --init two --components 3"), &["--components 3", "--init two have 2"]);
    // A file with one bump per time is what it was before there were several.
    at.ok(&format!("{flags} --components 1 --iterations 1 --out one"));
    let bytes = std::fs::read(at.path("one/model.safetensors")).unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("components"));
}

/// The published way: parameters are learned with the paths of the networks, not by sweeps before.
#[test]
fn parameters_are_learned_along_with_the_networks() {
    let at = simulated();
    let flags =
        "fit sim/data.csv --alpha 1.5 --observation-std 0.1 --steps 200 --paths 40 --method neural --iterations 3";
    at.ok(&format!("{flags} --out before"));
    at.ok(&format!("{flags} --alongside --out along"));
    let values = ["before", "along"].map(|run| at.json(&format!("{run}/summary.json"))["parameters"].clone());
    for name in ["theta", "mu", "scale"] {
        let [(by_sweeps, error), (along, _)] = [0, 1]
            .map(|k| (values[k][name]["estimate"].as_f64().unwrap(), values[k][name]["std_error"].as_f64().unwrap()));
        assert!(
            by_sweeps != along && (by_sweeps - along).abs() < 2.0 * error,
            "{name}: {by_sweeps} ± {error}, {along}"
        );
    }
    assert!(at.read("along/settings.toml").contains("alongside = true"));
    no_nan(&at, "along");
}

/// Stopped by a kill, training goes on where it was kept; and a trained potential can be asked at other times.
#[test]
fn training_of_a_potential_goes_on_after_a_kill() {
    let at = simulated();
    let flags = format!("fit sim/data.csv {FIXED} --paths 8 --method neural");
    at.ok(&format!("{flags} --steps 200 --iterations 70 --out whole"));
    let mut child = at.spawn(&format!("{flags} --steps 200 --iterations 70 --out stopped"));
    let (kept, end) = (at.path("stopped/training.safetensors"), at.path("stopped/summary.json"));
    while !kept.exists() && !end.exists() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(kept.exists() && !end.exists(), "killed after the first checkpoint, at iteration 50 of 70");
    at.ok(&format!("{flags} --steps 200 --iterations 70 --out stopped"));
    assert_eq!(at.list("stopped"), at.list("whole"));
    for name in ["model.safetensors", "posterior.csv", "paths.npz", "state.json"] {
        let bytes = |dir: &str| std::fs::read(at.path(dir).join(name)).unwrap();
        assert!(bytes("stopped") == bytes("whole"), "{name}");
    }
    // The same networks on a grid twice as fine, with no training.
    at.ok(&format!("{flags} --steps 400 --iterations 0 --init whole --out fine"));
    assert_eq!(at.read("fine/posterior.csv").lines().count(), 402);
    at.refused(&format!("{flags} --init nowhere"), &["--init nowhere", "cold, sweep"]);
    no_nan(&at, "fine");
}
