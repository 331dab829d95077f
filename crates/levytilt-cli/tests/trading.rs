//! Trading time: `--clock business` and `--volatility recent` in `fit` and `forecast`, and models of one's own in `backtest`.

use crate::common::Sandbox;

/// Hourly prices of seven hours a day on weekdays; a night moves them half as much as an hour.
fn market() -> Sandbox {
    let at = Sandbox::new();
    let mut csv = String::from("time,price\n");
    let (mut value, mut state) = (100.0, 5u64);
    for day in 0..42 {
        if day % 7 > 4 {
            continue;
        }
        for hour in 0..7 {
            let mut sum = -6.0;
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                sum += (state >> 11) as f64 / 2f64.powi(53);
            }
            value += sum * if hour == 0 { 0.5 } else { 1.0 };
            let (month, date) = (1 + day / 31, 1 + day % 31);
            csv += &format!("2024-{month:02}-{date:02}T{:02}:00:00Z,{value}\n", 10 + hour);
        }
    }
    at.write("prices.csv", csv);
    at
}

const MODEL: &str = "--drift none --noise gaussian --observation-std 0.05 --paths 200";

#[test]
fn identity_trading_time_is_learned_and_told_in_calendar_time() {
    let at = market();
    at.ok(&format!("fit prices.csv {MODEL} --out plain --quiet"));
    at.ok(&format!("fit prices.csv {MODEL} --clock business --out run --quiet"));
    let evidence = |dir: &str| at.json(&format!("{dir}/summary.json"))["log_evidence"].as_f64().unwrap();
    assert!(evidence("run") > evidence("plain") + 5.0, "{} {}", evidence("run"), evidence("plain"));
    assert!(at.read("run/settings.toml").contains("clock = \"business\""));
    // Times of observations come back letter for letter, in order.
    let record = at.read("prices.csv");
    let written = at.read("run/posterior.csv");
    let times: Vec<&str> = written.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert!(record.lines().skip(1).all(|line| times.contains(&line.split(',').next().unwrap())));
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
    let residuals = at.read("run/residuals.csv");
    assert!(residuals.contains("2024-01-02T10:00:00Z,"), "{residuals}");
    // The next closed gap counts for less than its eighteen hours: a narrower forecast.
    let spread = |dir: &str| {
        let found = at.ok(&format!("forecast {dir} --horizon 18h --json")).json();
        assert!(found["to"].as_str().unwrap().starts_with("2024-02-"), "{found}");
        found["q95"].as_f64().unwrap() - found["q05"].as_f64().unwrap()
    };
    assert!(spread("run") < 0.8 * spread("plain"), "{} {}", spread("run"), spread("plain"));
    // Ahead are hours of trading: none on Saturday and Sunday, seven on Monday.
    at.ok("forecast run --horizon 3d --out ahead --quiet");
    let ahead = at.read("ahead/forecast.csv");
    let days: Vec<&str> = ahead.lines().skip(1).map(|line| &line[..10]).collect();
    assert_eq!(days, ["2024-02-12"; 7], "{ahead}");
    at.ok("report run");
    // A new week in pieces or at once: Monday's first hour follows the weekend, told in the calendar.
    let last: f64 = record.trim_end().rsplit(',').next().unwrap().parse().unwrap();
    let hours =
        |day: u32| (10..17).map(move |hour| format!("2024-02-{day:02}T{hour}:00:00Z,{}", last + 0.1 * f64::from(hour)));
    let week: Vec<String> = (12..15).flat_map(hours).collect();
    let name = record.lines().next().unwrap();
    at.ok(&format!("fit prices.csv {MODEL} --clock business --out pieces --quiet"));
    at.write("week.csv", format!("{name}\n{}\n", week.join("\n")));
    let whole = at.ok("update run week.csv --json --lag 2").out;
    let mut pieces = String::new();
    for piece in week.chunks(4) {
        at.write("piece.csv", format!("{name}\n{}\n", piece.join("\n")));
        pieces += &at.ok("update pieces piece.csv --json --lag 2").out;
    }
    assert_eq!(pieces, whole);
    assert_eq!(at.read("pieces/state.json"), at.read("run/state.json"));
    assert!(whole.lines().nth(2).unwrap().contains("\"revised\":{\"time\":\"2024-02-12T10:00:00Z\""), "{whole}");
    assert_eq!(at.ok("forecast run --horizon 18h --json").json()["from"], "2024-02-14T16:00:00Z");
    at.refused(&format!("fit prices.csv {MODEL} --clock business --season 24h"), &["--season", "--clock business"]);
    at.refused("fit prices.csv --clock lunar", &["lunar", "business"]);
}

#[test]
fn recent_moves_set_the_scale_of_a_forecast() {
    let at = Sandbox::new();
    let mut value = 0.0;
    let mut rows = String::from("time,x\n");
    for k in 0..120u32 {
        value += (f64::from(k * k % 13) - 6.0) * if k < 90 { 0.1 } else { 1.0 };
        rows += &format!("{k},{value}\n");
    }
    at.write("x.csv", rows);
    let spread = |flags: &str| {
        at.ok(&format!("fit x.csv {MODEL} {flags} --out run --quiet"));
        let found = at.ok("forecast run --horizon 1 --fixed-parameters --json").json();
        found["q95"].as_f64().unwrap() - found["q05"].as_f64().unwrap()
    };
    let (steady, recent) = (spread("--volatility steady"), spread("--volatility recent"));
    assert!(recent > 1.3 * steady, "{recent} {steady}");
    at.write("later.csv", "time,x\n120,1\n");
    at.refused("update run later.csv", &["--volatility recent", "fit again"]);
}

#[test]
fn any_model_of_fit_can_be_backtested() {
    let at = market();
    at.write(
        "mine.toml",
        "[model]\ndrift = \"none\"\nnoise = \"gaussian\"\nobservation_std = 0.05\nclock = \"business\"\n[solve]\npaths = 20\n",
    );
    let line =
        "backtest prices.csv --train 14d --horizon 1d --stride 7d --models random-walk,mine.toml --paths 50 --quiet";
    at.ok(&format!("{line} --out back"));
    let scores = at.json("back/scores.json");
    let models = scores["models"].as_array().unwrap();
    assert_eq!((models.len(), &models[1]["name"]), (2, &"mine.toml".into()));
    let crps: Vec<f64> = models.iter().map(|model| model["crps"].as_f64().unwrap()).collect();
    assert!(crps[1] < 1.3 * crps[0], "{crps:?}");
    assert_eq!(scores["failed"].as_array().unwrap().len(), 0, "{scores}");
    // Another model under the same name is not taken for this one.
    at.write("mine.toml", "[model]\ndrift = \"none\"\nnoise = \"gaussian\"\n");
    assert_ne!(at.run(&format!("{line} --out back")).code, 0);
    at.write("bad.toml", "[model]\ndrift = \"ou\"\nalpha = 1.5\nnoise = \"gaussian\"\n");
    at.refused("backtest prices.csv --models bad.toml --out other", &["bad.toml", "alpha"]);
    at.refused("backtest prices.csv --models nowhere.toml --out other", &["nowhere.toml"]);
}

/// Two columns, each with its own noise and a common one, in trading time; Gaussian, so that fits are exact.
const STATES: &str = "[model]\nclock = \"business\"\n[states]\nprice = \"0\"\nother = \"0\"\n\
                      [noise.common]\nfamily = \"gaussian\"\non = { price = \"a\", other = \"b\" }\n\
                      [noise.own]\nfamily = \"gaussian\"\non = \"other\"\n\
                      [observe.price]\nof = \"price\"\nstd = 0.05\n[observe.other]\nof = \"other\"\nstd = 0.05\n";

#[test]
fn states_move_in_trading_time() {
    let at = market();
    let mut record = String::from("time,price,other\n");
    for (k, line) in at.read("prices.csv").lines().skip(1).enumerate() {
        let price: f64 = line.rsplit(',').next().unwrap().parse().unwrap();
        record += &format!("{line},{}\n", 0.5 * price + (0.9 * k as f64).sin());
    }
    at.write("two.csv", &record);
    at.write("states.toml", STATES);
    at.write("calendar.toml", STATES.replace("business", "calendar"));
    for (model, dir) in [("states", "run"), ("calendar", "plain")] {
        at.ok(&format!("fit two.csv --config {model}.toml --paths 100 --out {dir} --quiet"));
    }
    let evidence = |dir: &str| at.json(&format!("{dir}/summary.json"))["log_evidence"].as_f64().unwrap();
    assert!(evidence("run") > evidence("plain") + 5.0, "{} {}", evidence("run"), evidence("plain"));
    // Times of observations come back letter for letter; ahead are hours of trading.
    let written = at.read("run/posterior.csv");
    let times: Vec<&str> = written.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert!(record.lines().skip(1).all(|line| times.contains(&line.split(',').next().unwrap())));
    at.ok("forecast run --horizon 3d --out ahead --quiet");
    let days: Vec<String> = at.read("ahead/forecast.csv").lines().skip(1).map(|line| line[..10].into()).collect();
    assert_eq!(days, ["2024-02-12"; 14]);
    at.refused("update run two.csv", &["update", "clock"]);
    at.write("moving.toml", STATES.replace("other = \"0\"", "other = \"sin(t)\""));
    at.refused("fit two.csv --config moving.toml --out moving", &["depends on t", "clock"]);
    // The same model forecasts windows, and its joint moves are scored.
    let line = "backtest two.csv --train 14d --horizon 1d --stride 7d --paths 50 --quiet";
    at.ok(&format!("{line} --models random-walk,states.toml --out back"));
    let scores = at.json("back/scores.json");
    assert_eq!(scores["failed"].as_array().unwrap().len(), 0, "{scores}");
    let energy: Vec<f64> = (0..2).map(|model| scores["models"][model]["energy_score"].as_f64().unwrap()).collect();
    assert!(energy[1] < 1.5 * energy[0] && scores["models"][1]["portfolio"][0]["observed"].is_f64(), "{scores}");
    at.refused(
        &format!("{line} --columns price --models states.toml --out one"),
        &["states.toml", "[observe.other]", "--columns"],
    );
}
