//! `levytilt score`: what it finds, what it writes, and what it refuses to compare.

use crate::common::{OU_STABLE, Sandbox};

/// A record cut in two at time 1.5: the first part fitted, the second forecast into `ahead`.
fn forecast() -> Sandbox {
    let at = Sandbox::new();
    at.ok(&format!("simulate {OU_STABLE} --steps 200 --span 2 --x0 0 --seed 3 --out sim"));
    at.cut_record(151);
    let fixed = "--theta 3 --mu 1 --alpha 1.5 --scale 2 --observation-std 0.1";
    at.ok(&format!("fit early.csv {fixed} --steps 149 --paths 100 --out run"));
    at.ok("forecast run --at late.csv --paths 400 --out ahead");
    at
}

fn number(value: &serde_json::Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

#[test]
fn a_forecast_is_scored_against_what_came() {
    let at = forecast();
    let said = at.ok("score ahead late.csv --out scored");
    for word in ["crps", "jump crps", "not a proper score", "coverage 50 / 90 / 99%", "value", "scores.json"] {
        assert!(said.out.contains(word), "{word}: {}", said.out);
    }
    assert_eq!(at.list("scored"), ["report.html", "report.json", "scores.json"]);
    let scores = at.json("scored/scores.json");
    assert_eq!(scores, at.ok("score ahead late.csv --json").json());
    let value = &scores["dimensions"][0];
    assert_eq!((value["name"].as_str(), value["targets"].as_u64()), (Some("value"), Some(51)));
    assert_eq!((scores["times"].as_array().unwrap().len(), scores["paths"].as_u64()), (51, Some(400)));
    assert!((number(&scores["crps"]) - number(&value["crps"])).abs() < 1e-12);
    assert!(scores["energy_score"].is_null() && scores["warnings"].as_array().unwrap().is_empty());
    // The model is the true one: nine tenths of the truths within the 90% interval, give or take their dependence.
    let cover = |k: usize| number(&value["coverage"][k]["observed"]);
    assert!(cover(1) > 0.6 && cover(0) <= cover(1) && cover(1) <= cover(2), "{value}");
    let pit: u64 = value["pit_histogram"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(pit, 51);
    let counts: Vec<u64> =
        scores["jump_crps"].as_array().unwrap().iter().map(|row| row["count"].as_u64().unwrap()).collect();
    assert_eq!(counts, [5, 3, 2, 1]);
    // The whole record is as good as its late part, and a tail that is everything is the CRPS. Its 151st row is the first
    // forecast time.
    let whole = at.ok("score ahead sim/data.csv --above -1e9 --json").json();
    assert_eq!(whole["crps"], scores["crps"]);
    assert_eq!(whole["dimensions"][0]["above"]["crps"], scores["dimensions"][0]["crps"]);
}

#[test]
fn golden_two_dimensions_by_hand() {
    // Two paths, two times, dimensions a and b, written by NumPy: paths [[[0, 0], [1, 4]], [[1, 0], [3, 0]]].
    let at = Sandbox::new();
    std::fs::create_dir(at.path("ahead")).unwrap();
    at.write("ahead/paths.npz", include_bytes!("data/two_dimensions.npz"));
    at.write("ahead/forecast.csv", "time,dimension,mean\n1,a,0.5\n1,b,0\n2,a,2\n2,b,2\n");
    at.write("truth.csv", "time,b,a\n0,7,7\n1,1,2\n2,,2\n");
    let scores = at.ok("score ahead truth.csv --json").json();
    // Fair CRPS: a at 1: 1.5 − 0.5 = 1; b at 1: 1 − 0; a at 2: 1 − 1 = 0; b at 2 missing.
    let times = scores["times"].as_array().unwrap();
    assert_eq!((number(&times[0]["crps"]), number(&times[1]["crps"])), (1.0, 0.0));
    assert_eq!((number(&scores["crps"]), number(&scores["dimensions"][0]["crps"])), (0.5, 0.5));
    // Energy at 1: ((2,1) and (1,1) away) (√5 + √2)/2 − 1/2.
    let energy = (5f64.sqrt() + 2f64.sqrt()) / 2.0 - 0.5;
    assert!((number(&scores["energy_score"]) - energy).abs() < 1e-12);
    // Variogram at 1: |2 − 1|^½ = 1 against (0 + 1)/2, in both orders. The mean of both columns, 1.5, is above 0 and 0.5.
    assert_eq!((number(&scores["variogram_score"]), number(&times[0]["variogram_score"])), (0.5, 0.5));
    let shares = scores["portfolio"].as_array().unwrap();
    let levels: Vec<f64> = shares.iter().map(|row| number(&row["level"])).collect();
    assert_eq!(levels, [0.05, 0.01]);
    assert!(shares.iter().all(|row| number(&row["observed"]) == 0.0 && row["times"] == 1));
    assert!(times[1]["energy_score"].is_null() && scores["jump_crps"].as_array().unwrap().is_empty());
    assert_eq!((number(&scores["dimensions"][0]["mse"]), number(&scores["dimensions"][0]["mae"])), (1.125, 0.75));
}

#[test]
fn what_does_not_align_is_refused() {
    let at = forecast();
    at.write("elsewhen.csv", "time,value\n7,1\n8,1\n");
    at.refused("score ahead elsewhen.csv", &["no row between 1.5 and 2", "from 7 (line 2) to 8"]);
    at.write("between.csv", "time,value\n1.51,1\n1.5149,1\n");
    at.refused("score ahead between.csv", &["1.5149", "line 3", "--at between.csv"]);
    at.write("other.csv", "time,price\n1.51,1\n1.52,1\n");
    at.refused("score ahead other.csv", &["no column \"value\"", "price"]);
    at.write("stamps.csv", "time,value\n2024-01-01,1\n2024-01-02,1\n");
    at.refused("score ahead stamps.csv", &["timestamps", "numbers"]);
    at.write("missing.csv", "time,value\n1.51,\n1.52,NaN\n");
    at.refused("score ahead missing.csv", &["missing"]);
    at.refused("score run late.csv", &["forecast.csv", "levytilt forecast --out"]);
    at.refused("score nowhere late.csv", &["nowhere"]);
    at.refused("score ahead late.csv --above nan", &["threshold"]);
    at.refused("score ahead late.csv --out late.csv", &["not a directory"]);
    at.write("one.csv", "time,value\n1.51,1\n");
    let scores = at.ok("score ahead one.csv --json").json();
    assert!(scores["warnings"][0].as_str().unwrap().contains("50 of 51"), "{scores}");
    // Damage is seen, not scored.
    let table = at.read("ahead/forecast.csv");
    let bytes = std::fs::read(at.path("ahead/paths.npz")).unwrap();
    at.write("ahead/paths.npz", &bytes[..bytes.len() / 2]);
    at.refused("score ahead late.csv", &["paths.npz", "cut short"]);
    at.write("ahead/paths.npz", bytes);
    at.write("ahead/forecast.csv", table.lines().take(9).collect::<Vec<_>>().join("\n"));
    at.refused("score ahead late.csv", &["shape", "(paths, 8, 1)"]);
}

#[test]
fn timestamps_are_aligned_by_instant() {
    let at = Sandbox::new();
    let rows: String = (1..29).map(|day| format!("2024-02-{day:02},{}\n", (f64::from(day) * 1.7).sin())).collect();
    at.write("d.csv", format!("date,level\n{rows}"));
    at.ok("fit d.csv --noise gaussian --observation-std 0.1 --steps 27 --paths 50 --out run");
    at.ok("forecast run --horizon 2d --out ahead");
    at.write("later.csv", "date,level\n2024-02-29T01:00+01:00,0.4\n2024-03-01T02:00:00+02:00,0.1\n");
    let scores = at.ok("score ahead later.csv --json").json();
    assert_eq!(scores["times"].as_array().unwrap().len(), 2);
}

/// Observations scatter around the state by 0.5: nine tenths of 200 of them lie in the 90% interval of their forecast, and
/// hardly half in that of the state. Five standard errors of a share of 200 are 0.11, doubled for their dependence.
#[test]
fn statistics_a_forecast_of_observations_covers_them_and_one_of_states_covers_states() {
    let at = Sandbox::new();
    let model = "--drift ou --theta 3 --mu 1 --noise gaussian --scale 0.5 --observation-std 0.5";
    at.ok(&format!("simulate {model} --steps 400 --span 40 --x0 1 --seed 5 --out sim"));
    at.cut_record(201);
    at.ok(&format!("fit early.csv {model} --steps 199 --paths 100 --out run"));
    at.ok("forecast run --at late.csv --paths 1000 --out seen");
    let said = at.ok("forecast run --at late.csv --paths 1000 --state --out state");
    assert!(said.out.contains("paths of states"), "{}", said.out);
    let of = |dir: &str| at.json(&format!("{dir}/summary.json"))["of"].clone();
    assert_eq!((of("seen"), of("state")), ("observations".into(), "states".into()));
    let coverage = |call: &str| {
        let scores = at.ok(&format!("{call} --json")).json();
        (scores["of"].clone(), number(&scores["dimensions"][0]["coverage"][1]["observed"]))
    };
    let (of, share) = coverage("score seen late.csv");
    assert!(of == "observations" && (share - 0.9).abs() < 0.11, "{of}: {share}");
    at.write("truth.csv", at.read("sim/truth.csv"));
    let (of, share) = coverage("score state truth.csv --state");
    assert!(of == "states" && (share - 0.9).abs() < 0.22, "{of}: {share}");
    assert!(at.ok("score state truth.csv --state").out.contains("scores of     states"));
    at.refused("score state late.csv", &["forecasts states", "taken as observations", "without --state"]);
    at.refused("score seen truth.csv --state", &["forecasts observations", "taken as states"]);
}
