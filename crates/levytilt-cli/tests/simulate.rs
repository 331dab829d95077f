//! `levytilt simulate`: files, seeds, settings, bad input.

use crate::common::{OU_STABLE, Sandbox};

#[test]
fn writes_data_truth_and_settings() {
    let at = Sandbox::new();
    at.ok(&format!("simulate {OU_STABLE} --steps 20 --span 2 --every 5 --x0 -0.5 --seed 7 --out sim"));
    assert_eq!(at.list("sim"), ["data.csv", "settings.toml", "truth.csv", "truth.json"]);
    let truth = at.read("sim/truth.csv");
    let rows: Vec<&str> = truth.lines().collect();
    assert_eq!((rows.len(), rows[0], rows[1]), (22, "time,value", "0,-0.5"));
    assert!(rows[21].starts_with("2,"));
    let times: Vec<String> =
        at.read("sim/data.csv").lines().skip(1).map(|row| row.split(',').next().unwrap().to_string()).collect();
    assert_eq!(times, ["0", "0.5", "1", "1.5", "2"]);
    let json = at.json("sim/truth.json");
    assert_eq!(json["parameters"]["theta"], 3.0);
    assert_eq!((json["seed"].as_u64(), json["observations"].as_u64()), (Some(7), Some(5)));
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let at = Sandbox::new();
    for (seed, dir) in [(1, "a"), (1, "b"), (2, "c")] {
        at.ok(&format!("simulate {OU_STABLE} --steps 100 --seed {seed} --out {dir} --quiet"));
    }
    for file in ["data.csv", "truth.csv", "truth.json", "settings.toml"] {
        let read = |dir: &str| at.read(&format!("{dir}/{file}"));
        assert_eq!(read("a"), read("b"));
        assert_ne!(read("a"), read("c"));
    }
}

#[test]
fn every_family_can_be_simulated() {
    let at = Sandbox::new();
    for noise in [
        "stable --alpha 1.2 --scale 1",
        "truncated-stable --alpha 1.2 --scale 1 --tau 0.1 --sigma-g 1",
        "tempered-stable --alpha 1.2 --scale 1 --tempering 0.5",
        "variance-gamma --scale 1 --nu 0.5",
        "nig --scale 1 --tempering 1",
        "student --dof 4 --scale 1",
        "compound-poisson --rate 5 --jump-std 1",
        "gaussian --scale 1",
        "gaussian --scale 1 --brownian 0.5",
        "skewed-stable --alpha 1.5 --scale 1 --skew 0.7",
        "skewed-tempered-stable --alpha 1.2 --scale 1 --tempering 0.5 --skew 0.5",
        "skewed-variance-gamma --scale 1 --nu 0.5 --skew -0.5",
        "skewed-nig --scale 1 --tempering 1 --skew 0.5",
        "skewed-compound-poisson --rate 5 --jump-std 1 --jump-mean 0.5",
    ] {
        for drift in ["none", "double-well --theta1 4 --theta2 1", "linear --slope 0.5 --offset -1"] {
            at.ok(&format!(
                "simulate --drift {drift} --noise {noise} --steps 50 --span 1 --observation-std 0.1 --out run"
            ));
            at.ok("exact run/data.csv --config run/settings.toml --json");
        }
    }
}

#[test]
fn bad_input_is_named_and_leaves_nothing() {
    let at = Sandbox::new();
    let ou = "--drift ou --theta 3 --mu 1 --observation-std 0.1 --out sim";
    for (arguments, parts) in [
        (format!("{ou} --alpha 2.5 --scale 1"), ["alpha = 2.5", "(0, 2]"]),
        (format!("{ou} --alpha 0 --scale 1"), ["alpha = 0", "(0, 2]"]),
        (format!("{ou} --alpha nan --scale 1"), ["alpha = NaN", "(0, 2]"]),
        (format!("{ou} --alpha 1.5 --scale 0"), ["scale = 0", "greater than 0"]),
        (format!("{ou} --alpha 1.5 --scale -1"), ["scale = -1", "greater than 0"]),
        (format!("{ou} --alpha 1.5 --scale inf"), ["scale = inf", "greater than 0"]),
        (
            format!("{ou} --noise truncated-stable --alpha 1.5 --scale 1 --sigma-g 1 --tau 0"),
            ["tau = 0", "greater than 0"],
        ),
        (format!("{ou} --alpha 1.5 --scale 1 --brownian -1"), ["-1", "is not allowed"]),
        (format!("{ou} --alpha 1.5 --scale 1 --x0 nan"), ["x0 = NaN", "finite"]),
        (format!("{ou} --alpha 1.5 --scale 1 --steps 0"), ["steps = 0", "between 1"]),
        (format!("{ou} --alpha 1.5 --scale 1 --span 0"), ["span = 0", "greater than 0"]),
        (format!("{ou} --alpha 1.5 --scale 1 --span nan"), ["span = NaN", "greater than 0"]),
        (format!("{ou} --alpha 1.5 --scale 1 --steps 10 --every 11"), ["every = 11", "between 1"]),
        (format!("{ou} --alpha 1.5 --scale 1 --every 0"), ["every = 0", "between 1"]),
        (format!("{ou} --noise gaussian --alpha 1.5 --scale 1"), ["--alpha", "does not belong to noise gaussian"]),
        (format!("{ou} --alpha 1.5 --scale 1 --theta1 2"), ["--theta1", "does not belong to drift ou"]),
        ("--drift ou --theta nan --mu 0 --alpha 1 --scale 1 --observation-std 1 --out sim".into(), ["theta", "NaN"]),
        ("--theta 3 --mu 0 --alpha 1 --scale 1 --observation-std 0 --out sim".into(), ["observation_std = 0", "0"]),
        ("--theta 3 --out sim".into(), ["simulate needs mu, alpha, scale, observation_std", "--mu or [drift] mu"]),
        ("--drift neural --out sim".into(), ["neural", "simulate"]),
        (format!("{ou} --seed -1"), ["--seed", "-1"]),
    ] {
        at.refused(&format!("simulate {arguments}"), &parts);
    }
    assert!(at.list("").is_empty());
}

#[test]
fn an_output_that_is_a_file_is_refused() {
    let at = Sandbox::new();
    at.write("taken", "mine");
    at.refused(&format!("simulate {OU_STABLE} --out taken"), &["taken", "not a directory"]);
    assert_eq!(at.read("taken"), "mine");
}

#[test]
fn flags_win_over_the_file() {
    let at = Sandbox::new();
    at.write(
        "s.toml",
        "[model]\nalpha = 1.2\nscale = 2\nobservation_std = 0.1\n[drift]\ntheta = 3\nmu = 1\n[grid]\nsteps = 10\n",
    );
    at.ok("simulate --config s.toml --alpha 1.7 --steps 20 --out sim");
    let truth = at.json("sim/truth.json");
    assert_eq!(truth["parameters"]["alpha"], 1.7);
    assert_eq!(truth["parameters"]["scale"], 2.0);
    assert_eq!(truth["steps"], 20);
    // Another family brings its own parameters: the file's scale meant something else.
    at.refused("simulate --config s.toml --noise gaussian --out x", &["simulate needs scale:"]);
    at.ok("simulate --config s.toml --noise gaussian --scale 1 --out x");
}

#[test]
fn saved_settings_give_the_same_data() {
    let at = Sandbox::new();
    at.ok(&format!("simulate {OU_STABLE} --steps 30 --x0 0.1 --x0-std 2 --brownian 0.3 --seed 9 --out a"));
    at.ok("simulate --config a/settings.toml --out b");
    for file in ["data.csv", "truth.csv", "truth.json", "settings.toml"] {
        assert_eq!(at.read(&format!("a/{file}")), at.read(&format!("b/{file}")), "{file}");
    }
}

#[test]
fn settings_files_are_checked() {
    let at = Sandbox::new();
    for (content, parts) in [
        ("[model]\nalhpa = 1.5\n", ["s.toml", "alhpa"]),
        ("[modle]\nalpha = 1.5\n", ["s.toml", "modle"]),
        ("[model]\nalpha = \"big\"\n", ["s.toml", "line 2"]),
        ("[model]\nnoise = \"levy\"\n", ["s.toml", "levy"]),
        ("[model\n", ["s.toml", "line 1"]),
        ("[grid]\nsteps = -3\n", ["s.toml", "line 2"]),
    ] {
        at.write("s.toml", content);
        at.refused("simulate --config s.toml --out sim", &parts);
    }
    at.refused("simulate --config nowhere.toml --out sim", &["nowhere.toml", "cannot be read"]);
    assert_eq!(at.list(""), ["s.toml"]);
}
