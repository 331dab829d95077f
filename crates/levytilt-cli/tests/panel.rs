//! `levytilt fit --panel`: every series of a long table, with parameters shared or not.

use crate::common;
use crate::common::Sandbox;

/// Four series of 40 points in a long table with the columns in an odd order, and one that cannot be fitted.
fn prepared() -> Sandbox {
    let at = Sandbox::new();
    let mut rows = vec!["y,unique_id,ds".to_string()];
    for seed in 1..=4 {
        at.ok(&format!("simulate {} --steps 39 --span 3.9 --seed {seed} --out made{seed}", common::OU_STABLE));
        let record = at.read(&format!("made{seed}/data.csv"));
        for row in record.lines().skip(1) {
            let (time, value) = row.split_once(',').unwrap();
            rows.push(format!("{value},pump {seed},{time}"));
        }
    }
    rows.extend(["1.5,flat,0", "1.5,flat,1", "1.5,flat,2"].map(String::from));
    at.write("long.csv", rows.join("\n") + "\n");
    at
}

const FIT: &str = "fit long.csv --panel unique_id --time-column ds --theta 3 --mu 1 --observation-std 0.1 --paths 20";

/// The lines of a journal without their order, which is that in which series were finished.
fn journal(at: &Sandbox, dir: &str) -> Vec<String> {
    let mut lines: Vec<String> = at.read(&format!("{dir}/panel.jsonl")).lines().map(String::from).collect();
    lines.sort();
    lines
}

#[test]
fn identity_a_series_of_a_panel_is_its_own_fit() {
    let at = prepared();
    let said = at.ok(&format!("{FIT} --out panel")).out;
    assert!(said.contains("5 series: 4 fitted, 1 failed") && said.contains("flat: "), "{said}");
    let table = at.read("panel/panel.csv");
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 6);
    assert!(lines[0].starts_with("id,directory,observations,status,log_evidence,jumps,theta,theta_se"), "{table}");
    assert!(lines[1].starts_with("pump 1,series/pump_1,40,fitted,"), "{table}");
    assert!(lines[5].starts_with("flat,series/flat,0,failed,,"), "{table}");
    let alone = FIT.replace("long.csv --panel unique_id --time-column ds", "made3/data.csv");
    at.ok(&format!("{alone} --out alone"));
    let values = |file: &str| -> Vec<String> {
        at.read(file).lines().skip(1).map(|line| line.splitn(3, ',').nth(2).unwrap().to_string()).collect()
    };
    assert_eq!(values("panel/series/pump_3/posterior.csv"), values("alone/posterior.csv"));
    let page = at.read("panel/index.html");
    assert!(page.contains("<a href=\"series/pump_1/report.html\">pump 1</a>") && page.contains("Failures"));
    assert!(at.read("panel/settings.toml").contains("panel = \"unique_id\""));
    at.ok("forecast panel/series/pump_2 --horizon 1");
}

#[test]
fn identity_what_is_shared_is_held_in_every_series_and_a_panel_resumes() {
    let at = prepared();
    let said = at.ok(&format!("{FIT} --share alpha,scale~ --json --out panel")).json();
    let shared = said["shared"]["shared"].as_array().unwrap();
    assert_eq!((shared[0]["name"].as_str(), shared[0]["pooled"].as_bool()), (Some("alpha"), Some(false)));
    assert!(shared[0]["std_error"].as_f64().unwrap() > 0.0 && shared[1]["spread"].as_f64().unwrap() > 0.0);
    let one = at.json("panel/series/pump_1/summary.json");
    assert_eq!(one["parameters"]["alpha"]["estimate"], shared[0]["estimate"]);
    assert!(one["parameters"]["alpha"]["fixed"] == true && one["parameters"]["scale"]["fixed"] == false);
    // The settings of a series repeat its fit, whose parameters were learned together with those of the others.
    at.ok("fit made1/data.csv --config panel/series/pump_1/settings.toml --time-column time --quiet --out again");
    let again = at.json("again/summary.json")["log_evidence"].as_f64().unwrap();
    assert!((again - one["log_evidence"].as_f64().unwrap()).abs() < 0.01, "{again}");
    // As if killed after two lines, the second of them cut off.
    let (whole, table) = (journal(&at, "panel"), at.read("panel/panel.csv"));
    let text = at.read("panel/panel.jsonl");
    let kept: usize = text.lines().take(4).map(|line| line.len() + 1).sum();
    at.write("panel/panel.jsonl", &text[..kept - 5]);
    at.ok(&format!("{FIT} --share alpha,scale~ --quiet --threads 1 --out panel"));
    assert_eq!((journal(&at, "panel"), at.read("panel/panel.csv")), (whole, table));
    at.refused(&format!("{FIT} --share alpha --out panel"), &["another settings", "use another --out"]);
}

#[test]
fn mistakes_are_named() {
    let at = prepared();
    at.refused(FIT, &["--panel", "give --out DIR"]);
    at.refused(
        &format!("{FIT} --panel series --out x").replacen("--panel unique_id", "", 1),
        &["--panel series", "it has: y, unique_id, ds"],
    );
    at.refused("fit made1/data.csv --share alpha", &["--share is for --panel"]);
    for (flags, expected) in [
        ("--share beta", "no parameter of the model has this name"),
        ("--share theta", "has a fixed value"),
        ("--share alpha,alpha~", "is listed twice"),
        ("--share alpha --noise auto", "--share cannot be combined with --noise auto"),
        ("--share alpha --method sweep", "use auto or grid"),
    ] {
        at.refused(&format!("{FIT} {flags} --out x"), &[expected]);
        assert!(!at.path("x/panel.csv").exists());
    }
}
