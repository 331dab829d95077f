//! `levytilt update`: new rows into a run, in pieces or as they come, with alarms.

use crate::common;
use crate::common::Sandbox;
use serde_json::Value;

/// A run on 300 rows, the 40 rows after it with a jump in row 20, and all rows together.
fn prepared() -> (Sandbox, Vec<String>) {
    let at = Sandbox::new();
    at.ok(&format!("simulate {} --steps 339 --span 3.39 --seed 6 --out made", common::OU_STABLE));
    let record = at.read("made/data.csv");
    let mut rows: Vec<String> = record.lines().skip(1).map(String::from).collect();
    for row in &mut rows[320..] {
        let (time, value) = row.split_once(',').unwrap();
        *row = format!("{time},{}", value.parse::<f64>().unwrap() + 60.0);
    }
    at.write("data.csv", table(&rows[..300]));
    at.ok("fit data.csv --theta 3 --mu 1 --alpha 1.5 --scale 2 --observation-std 0.1 --paths 100 --quiet --out run");
    (at, rows[300..].to_vec())
}

fn table(rows: &[String]) -> String {
    format!("time,value\n{}\n", rows.join("\n"))
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn identity_pieces_and_a_feed_say_what_one_table_says() {
    let (at, new) = prepared();
    for dir in ["whole", "pieces", "feed"] {
        at.ok(&format!("fit data.csv --config run/settings.toml --quiet --out {dir}"));
    }
    at.write("new.csv", table(&new));
    let whole = at.ok("update whole new.csv --json --lag 2").out;
    let mut pieces = String::new();
    for piece in new.chunks(7) {
        at.write("piece.csv", table(piece));
        pieces += &at.ok("update pieces piece.csv --json --lag 2").out;
    }
    assert_eq!(pieces, whole);
    assert_eq!(at.run_with_input("update feed --follow --lag 2", table(&new).as_bytes()).out, whole);
    for dir in ["pieces", "feed"] {
        assert_eq!(at.read(&format!("{dir}/state.json")), at.read("whole/state.json"), "{dir}");
    }
    // The log evidence adds up to that of a fit to all rows at the same parameters.
    let sum: f64 = lines(&whole).iter().map(|row| row["log_evidence"].as_f64().unwrap()).sum();
    let record = format!("{}{}\n", at.read("data.csv"), new.join("\n"));
    at.write("all.csv", record);
    let evidence = |name: &str| {
        at.ok(&format!("exact {name} --config run/model.toml --json")).json()["log_evidence"].as_f64().unwrap()
    };
    let expected = evidence("all.csv") - evidence("data.csv");
    assert!((sum - expected).abs() < 1e-9, "{sum} {expected}");
}

#[test]
fn hindsight_comes_with_the_row_that_completes_it() {
    let (at, mut new) = prepared();
    // A value that comes back ten rows before the level that stays.
    let (time, value) = new[10].split_once(',').unwrap();
    new[10] = format!("{time},{}", value.parse::<f64>().unwrap() + 60.0);
    at.write("new.csv", table(&new));
    let rows = lines(&at.ok("update run new.csv --json --lag 2 --jump-above 10").out);
    for (k, row) in rows.iter().enumerate() {
        assert_eq!(row.get("revised").is_some(), k > 1, "{row}");
        if k > 1 {
            assert_eq!(row["revised"]["time"], rows[k - 2]["time"]);
        }
    }
    let revised = |k: usize, what: &str| rows[k + 2]["revised"][what].as_f64().unwrap();
    // The value that came back is far from what all others say, the level that stays is not.
    assert!(revised(10, "p_value") < 0.01 && revised(20, "p_value") > 0.01);
    assert!(revised(20, "jump_probability") > 0.999 && revised(5, "jump_probability") < 0.01);
    at.refused("update run new.csv --lag 5000", &["--lag 5000", "at most 1000"]);
    at.refused("update run new.csv --jump-above=-1", &["--jump-above -1", "greater than 0"]);
}

/// Errors that are not Gaussian: on the same latent times, the log evidence of the rows is the difference of two exact ones.
#[test]
fn identity_models_with_gross_errors_are_updated_exactly() {
    let at = Sandbox::new();
    let base = "--drift ou --theta 3 --mu 1 --alpha 1.5 --scale 2 --observation-std 0.1";
    at.ok(&format!("simulate {} --steps 79 --span 0.79 --seed 6 --out made", common::OU_STABLE));
    let rows: Vec<String> = at.read("made/data.csv").lines().skip(1).map(String::from).collect();
    at.write("data.csv", table(&rows[..60]));
    at.write("new.csv", table(&rows[60..]));
    at.write("all.csv", table(&rows));
    for (name, model) in [
        ("student", "--noise stable --errors student --error-dof 4"),
        ("outliers", "--noise stable --errors outliers --outlier-probability 0.02 --outlier-size 20"),
    ] {
        at.ok(&format!("fit data.csv {base} {model} --steps 59 --paths 20 --quiet --out {name}"));
        let found = lines(&at.ok(&format!("update {name} new.csv --json --lag 1")).out);
        let sum: f64 = found.iter().map(|row| row["log_evidence"].as_f64().unwrap()).sum();
        let evidence = |file: &str, steps: usize| {
            let said = at.ok(&format!("exact {file} --config {name}/model.toml --steps {steps} --json")).json();
            said["log_evidence"].as_f64().unwrap()
        };
        let expected = evidence("all.csv", 79) - evidence("data.csv", 59);
        assert!((sum - expected).abs() < 1e-6, "{name}: {sum} {expected}");
        assert!(found[3]["outlier_probability"].is_number() && found[3]["revised"]["outlier_probability"].is_number());
    }
}

#[test]
fn a_jump_raises_an_alarm_and_forecasts_start_at_the_new_end() {
    let (at, new) = prepared();
    at.write("new.csv", table(&new));
    let rows = lines(&at.ok("update run new.csv --json --alarm 0.01").out);
    let alarms: Vec<usize> = (0..rows.len()).filter(|&k| rows[k]["alarm"] == true).collect();
    assert!(alarms.contains(&20), "{alarms:?}");
    assert!(rows[20]["jump_probability"].as_f64().unwrap() > 0.99 && rows[20]["p_value"].as_f64().unwrap() < 0.01);
    let quiet = rows[..20].iter().filter(|row| row["p_value"].as_f64().unwrap() > 0.01).count();
    assert!(quiet >= 18, "{quiet}");
    let ahead = at.ok("forecast run --horizon 0.01 --json").json();
    assert_eq!(ahead["from"], "3.39");
    assert!(ahead["median"].as_f64().unwrap() > 10.0, "{ahead}");
    // What is known already changes nothing.
    let before = at.read("run/state.json");
    let said = at.ok("update run new.csv").out;
    assert!(said.contains("taken in      0 rows") && said.contains("40 were there before"), "{said}");
    assert_eq!(at.read("run/state.json"), before);
    at.ok("update run --refit --quiet");
    assert_eq!(at.json("run/summary.json")["observations"], 340);
}

#[test]
fn what_cannot_be_taken_in_is_refused() {
    let (at, new) = prepared();
    at.write("other.csv", "time,level\n9,1\n");
    at.refused("update run other.csv", &["other.csv", "value", "level"]);
    at.write("stamps.csv", "time,value\n2024-01-01,1\n");
    at.refused("update run stamps.csv", &["stamps.csv, line 2", "numbers"]);
    at.write("new.csv", table(&new));
    at.refused("update run new.csv --alarm 2", &["--alarm 2", "probability"]);
    at.refused("update nowhere new.csv", &["state.json", "levytilt fit"]);
    let both: String = (0..60).map(|k| format!("{k},{},{}\n", k * k % 7, k * k % 11)).collect();
    at.write("two.csv", format!("time,a,b\n{both}"));
    at.ok("fit two.csv --drift linear --paths 20 --quiet --out two");
    at.refused("update two two.csv", &["linear", "one column at a time"]);
}

/// Three columns in 1, 7 and 100 pieces: the same bytes, and the log evidence of the exact grid to 1e-9 in every column.
#[test]
fn identity_three_columns_in_pieces() {
    let at = Sandbox::new();
    for k in 1..=3 {
        at.ok(&format!("simulate {} --steps 399 --span 3.99 --seed {k} --out made{k}", common::OU_STABLE));
    }
    let columns: Vec<Vec<(String, String)>> = (1..=3)
        .map(|k| {
            let text = at.read(&format!("made{k}/data.csv"));
            text.lines().skip(1).filter_map(|l| l.split_once(',')).map(|(t, v)| (t.into(), v.into())).collect()
        })
        .collect();
    let rows: Vec<String> = (0..400)
        .map(|j| format!("{},{},{},{}", columns[0][j].0, columns[0][j].1, columns[1][j].1, columns[2][j].1))
        .collect();
    let table = |rows: &[String]| format!("time,a,b,c\n{}\n", rows.join("\n"));
    at.write("data.csv", table(&rows[..300]));
    let mut answers = Vec::new();
    for (pieces, size) in [(1, 100), (7, 15), (100, 1)] {
        let dir = format!("run{pieces}");
        at.ok(&format!("fit data.csv {} --paths 50 --quiet --out {dir}", common::OU_STABLE));
        let mut said = String::new();
        for piece in rows[300..].chunks(size) {
            at.write("piece.csv", table(piece));
            said += &at.ok(&format!("update {dir} piece.csv --json")).out;
        }
        answers.push((said, at.read(&format!("{dir}/state.json"))));
    }
    assert!(answers[1] == answers[0] && answers[2] == answers[0], "pieces differ");
    for (i, name) in ["a", "b", "c"].iter().enumerate() {
        let sum: f64 = lines(&answers[0].0).iter().map(|row| row["log_evidence"][i].as_f64().unwrap()).sum();
        let evidence = |count: usize| {
            let one: Vec<String> = columns[i][..count].iter().map(|(t, v)| format!("{t},{v}")).collect();
            at.write("one.csv", format!("time,{name}\n{}\n", one.join("\n")));
            at.ok(&format!("exact one.csv {} --json", common::OU_STABLE)).json()["log_evidence"].as_f64().unwrap()
        };
        let expected = evidence(400) - evidence(300);
        assert!((sum - expected).abs() < 1e-9, "{name}: {sum} {expected}");
    }
}

/// A model with hidden states by particles: the same bytes in 1, 7 and 40 pieces and as a feed, log evidence within what
/// particles allow of that of two fits, and a forecast from the new end.
#[test]
fn statistics_hidden_states_in_pieces() {
    let at = Sandbox::new();
    at.write(
        "model.toml",
        "[states]\nx = \"v\"\nv = \"-c*v\"\n[noise.kick]\nfamily = \"stable\"\non = \"v\"\nalpha = 1.5\nscale = 1.0\n\
         [observe.position]\nof = \"x\"\nstd = 0.05\n[start]\nx = 0.0\nv = 0.0\n[parameters]\nc = 1.0\n",
    );
    at.ok("simulate --config model.toml --steps 100 --span 10 --seed 2 --quiet --out made");
    let text = at.read("made/data.csv");
    let rows: Vec<String> = text.lines().skip(1).map(String::from).collect();
    let table = |rows: &[String]| format!("time,position\n{}\n", rows.join("\n"));
    at.write("data.csv", table(&rows[..61]));
    at.write("new.csv", table(&rows[61..]));
    let mut answers = Vec::new();
    for (dir, size) in [("one", 40), ("seven", 6), ("forty", 1)] {
        at.ok(&format!("fit data.csv --config model.toml --paths 400 --quiet --out {dir}"));
        let mut said = String::new();
        for piece in rows[61..].chunks(size) {
            at.write("piece.csv", table(piece));
            said += &at.ok(&format!("update {dir} piece.csv --json")).out;
        }
        answers.push((said, at.read(&format!("{dir}/state.json"))));
    }
    assert!(answers[1] == answers[0] && answers[2] == answers[0], "pieces differ");
    at.ok("fit data.csv --config model.toml --paths 400 --quiet --out feed");
    let fed = at.run_with_input("update feed --follow", at.read("new.csv").as_bytes()).out;
    assert_eq!((fed, at.read("feed/state.json")), answers[0]);
    // Rows that are sent again change nothing.
    at.ok("update feed new.csv --quiet");
    assert_eq!(at.read("feed/state.json"), answers[0].1);
    let sum: f64 = lines(&answers[0].0).iter().map(|row| row["log_evidence"].as_f64().unwrap()).sum();
    let evidence = |data: &str| {
        at.ok(&format!("fit {data} --config model.toml --paths 2000 --json --out all")).json()["log_evidence"]
            .as_f64()
            .unwrap()
    };
    let expected = evidence("made/data.csv") - evidence("data.csv");
    assert!((sum - expected).abs() < 1.0, "{sum} {expected}");
    let row = &lines(&answers[0].0)[0];
    assert_eq!((row["mean"].as_array().unwrap().len(), row["jump_probability"].is_number()), (2, true), "{row}");
    at.ok("forecast one --horizon 1 --quiet --out ahead");
    assert!(at.read("ahead/forecast.csv").lines().nth(1).unwrap().starts_with("10."));
    at.refused("update one new.csv --lag 2", &["--lag", "[states]"]);
    at.refused("update one new.csv --refit", &["--refit", "--config"]);
}
