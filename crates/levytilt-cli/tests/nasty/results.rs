//! Result directories that were damaged, or made by somebody else.

use crate::common::{OU_STABLE, Sandbox};
use crate::file_refused;
use crate::make::{npz_bomb, npz_of, sparse};
use std::fs;
use std::path::Path;

/// A sandbox with a fit in `run` and a forecast in `ahead`.
fn results() -> Sandbox {
    let at = Sandbox::new();
    at.ok(&format!("simulate {OU_STABLE} --steps 60 --span 1 --out sim"));
    at.ok(&format!("fit sim/data.csv {OU_STABLE} --paths 20 --out run --quiet"));
    at.ok("forecast run --horizon 0.1 --out ahead --quiet");
    at
}

/// Take a file's place, whatever it is.
fn replace(path: &Path, content: &[u8]) {
    drop(fs::remove_file(path));
    drop(fs::remove_dir(path));
    fs::write(path, content).unwrap();
}

/// The page of a forecast shows the record as the state has it; the page of the fit may be lost, or hold nothing.
#[test]
fn a_forecast_does_not_read_the_page_of_the_fit() {
    let at = results();
    // Without the command and the date that made the page.
    let shown = |page: &str| {
        let mut json: serde_json::Value = serde_json::from_str(&at.read(page)).unwrap();
        json.as_object_mut().unwrap().remove("made");
        json
    };
    let expected = shown("ahead/report.json");
    assert!(expected.to_string().contains("history_time"), "{expected}");
    let page = at.read("run/report.json");
    let emptied = page.replace("\"observed_time\"", "\"elsewhere\"").replace("\"observed\"", "\"nothing\"");
    assert_ne!(page, emptied);
    for content in [emptied.as_str(), "", "{}", "[[[["] {
        at.write("run/report.json", content);
        at.ok("forecast run --horizon 0.1 --out again --quiet");
        assert_eq!(shown("again/report.json"), expected);
    }
    // A run of before the state held the record has no history to show.
    let mut old: serde_json::Value = serde_json::from_str(&at.read("run/state.json")).unwrap();
    old.as_object_mut().unwrap().remove("history");
    at.write("run/state.json", old.to_string());
    at.ok("forecast run --horizon 0.1 --out again --quiet");
    assert!(!at.read("again/report.json").contains("history_time"));
}

#[test]
fn damaged_states_are_named() {
    let at = results();
    let good = at.read("run/state.json");
    let path = at.path("run/state.json");
    let forecast = |what: &str, parts: &[&str]| {
        file_refused(&at, what, "forecast run --horizon 0.1", &[&["state.json"], parts].concat());
    };
    let swap = |key: &str, value: &str| {
        let mut json: serde_json::Value = serde_json::from_str(&good).unwrap();
        json[key] = "SWAP".into();
        json.to_string().replace("\"SWAP\"", value)
    };
    let covariance = |entries: usize| format!("[{}1.0]", "1.0,".repeat(entries - 1));
    let learned = |names: &[&str], covariance: &str| {
        swap("learned", &format!("{{\"names\":{names:?},\"covariance\":{covariance}}}"))
    };
    for (what, content, parts) in [
        ("state: empty", String::new(), &[][..]),
        ("state: cut short", good[..good.len() / 2].into(), &[]),
        ("state: 10⁶ open brackets", "[".repeat(1_000_000), &["line 1"]),
        ("state: 10⁶ open braces", "{\"a\":".repeat(1_000_000), &[]),
        ("state: nested within", swap("states", &"[".repeat(1_000_000)), &[]),
        ("state: a number", "1".into(), &[]),
        ("state: 1e999", swap("time", "1e999"), &["out of range"]),
        ("state: a state of null", swap("states", "[null]"), &[]),
        ("state: no states", swap("states", "[]"), &["0 states"]),
        ("state: one state", swap("states", "[1.0]"), &["1 states for 1 dimensions and 20 weights"]),
        ("state: no dimension", swap("dimension", "[]"), &["0 dimensions"]),
        ("state: a step of 0", swap("step", "0.0"), &["step 0"]),
        ("state: a step of -1", swap("step", "-1.0"), &["step -1"]),
        ("state: weights of 0", swap("weights", &format!("[{}0.0]", "0.0,".repeat(19))), &["weights"]),
        ("state: weights below 0", swap("weights", &format!("[{}-1.0]", "1.0,".repeat(19))), &["weights"]),
        ("state: weights beyond all bounds", swap("weights", &format!("[{}1e308]", "1e308,".repeat(19))), &["weights"]),
        ("state: a timestamp that is none", swap("stamps", "[\"x\", \"y\"]"), &["not a timestamp"]),
        ("state: a seed below 0", swap("seed", "-1"), &[]),
        ("state: a covariance that is none", learned(&["scale"], "[-1.0]"), &["covariance", "1 rows"]),
        ("state: a covariance too small", learned(&["scale", "theta"], "[1.0]"), &["covariance", "2 rows"]),
        ("state: a covariance of a thousand rows", learned(&["scale"; 1000], &covariance(1_000_000)), &["1000 rows"]),
        ("state: a covariance of nothing", learned(&["scale"], "[null]"), &[]),
        (
            "state: a shift too many",
            swap("learned", r#"{"names":["scale"],"covariance":[1.0],"shift":[0.0,0.0]}"#),
            &["as many shifts"],
        ),
        ("state: a stranger learned", learned(&["rate"], "[1.0]"), &["\"rate\"", "model.toml"]),
        ("state: parameters without errors", swap("learned", "{\"names\":[\"scale\"]}"), &["covariance"]),
        ("state: not text", "\u{0}".repeat(10), &[]),
        (
            "state: a history of no dimension",
            swap("history", r#"{"time_name":"t","times":[0.0],"values":[]}"#),
            &["history", "1 lists of 1 values"],
        ),
        (
            "state: a history without values",
            swap("history", r#"{"time_name":"t","times":[0.0],"values":[[]]}"#),
            &["history", "one value per time"],
        ),
        (
            "state: a history that runs backwards",
            swap("history", r#"{"time_name":"t","times":[1.0,0.0],"values":[[1.0,null]]}"#),
            &["history", "increasing"],
        ),
        ("state: a history of text", swap("history", "\"long ago\""), &[]),
    ] {
        replace(&path, content.as_bytes());
        forecast(what, parts);
    }
    replace(&path, b"");
    sparse(&path, 1 << 30);
    forecast("state: a gigabyte of nothing", &["longer than 256 MB"]);
    sparse(&path, 1 << 27);
    forecast("state: 128 MB of nothing", &["line 1"]);
    fs::remove_file(&path).unwrap();
    forecast("state: missing", &["cannot be read", "levytilt fit"]);
    fs::create_dir(&path).unwrap();
    forecast("state: a directory", &["is not a file"]);
    fs::remove_dir(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    forecast("state: a pipe that nobody writes to", &["is not a file"]);
    replace(&path, good.as_bytes());
    at.ok("forecast run --horizon 0.1");
}

#[test]
fn damaged_models_are_named() {
    let at = results();
    let good = at.read("run/model.toml");
    let forecast = |what: &str, parts: &[&str]| file_refused(&at, what, "forecast run --horizon 0.1", parts);
    for (what, content) in [
        ("model: 10⁵ open brackets", format!("a = {}", "[".repeat(100_000))),
        ("model: alpha = 3", good.replace("alpha = 1.5", "alpha = 3.0")),
        ("model: scale = inf", good.replace("scale = 2.0", "scale = inf")),
        ("model: nothing in it", String::new()),
    ] {
        assert_ne!(content, good, "{what}");
        at.write("run/model.toml", content);
        forecast(what, &[]);
    }
    // A network where the settings speak of one.
    at.write("run/model.toml", good.replace("\"ou\"", "\"neural\"").replace("theta = ", "#").replace("mu = ", "#"));
    let network = at.path("run/model.safetensors");
    forecast("network: missing", &["model.safetensors", "cannot be read"]);
    let file = |header: &str| [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
    let huge = |claim: u64| [&claim.to_le_bytes()[..], b"{}"].concat();
    let spec = r#"{"dim":1,"width":W,"depth":2,"time_input":false,"centre":[],"scale":[]}"#;
    let with_spec = |width: &str, offsets: &str| {
        let spec = serde_json::json!(spec.replace('W', width));
        file(&format!(
            r#"{{"__metadata__":{{"drift.spec":{spec}}},"drift.parameters":{{"dtype":"F64","shape":[1],"data_offsets":{offsets}}}}}"#
        ))
    };
    for (what, content, parts) in [
        ("network: empty", Vec::new(), &["shorter"][..]),
        ("network: header of 2⁶⁰ bytes", huge(1 << 60), &["1152921504606846976"]),
        ("network: header of 2⁶⁴ - 1 bytes", huge(u64::MAX), &["18446744073709551615"]),
        ("network: header cut short", huge(100), &["cut short"]),
        ("network: 10⁵ open braces", file(&"{\"a\":".repeat(100_000)), &["header"]),
        ("network: no tensor", file("{}"), &["drift.spec"]),
        ("network: offsets beyond the end", with_spec("1", "[0, 4611686018427387904]"), &["drift.parameters"]),
        ("network: offsets the wrong way", with_spec("1", "[8, 0]"), &["drift.parameters"]),
        ("network: offsets below 0", with_spec("1", "[-8, 0]"), &["drift.parameters"]),
        ("network: width 2⁴⁰", with_spec("1099511627776", "[0, 0]"), &[]),
        ("network: width 2⁶⁴ - 1", with_spec("18446744073709551615", "[0, 0]"), &[]),
        ("network: width 0", with_spec("0", "[0, 0]"), &[]),
        ("network: too few numbers", with_spec("1", "[0, 0]"), &[]),
        ("network: no number", [with_spec("1", "[0, 8]"), vec![255; 8]].concat(), &["NaN or infinite"]),
    ] {
        replace(&network, &content);
        forecast(what, &[&["model.safetensors"], parts].concat());
    }
    replace(&network, &file("{}"));
    fs::OpenOptions::new().append(true).open(&network).unwrap().set_len(1 << 30).unwrap();
    forecast("network: a gigabyte of numbers", &["model.safetensors", "more than 32 MB"]);
}

#[test]
fn damaged_forecasts_are_named() {
    let at = results();
    let good = fs::read(at.path("ahead/paths.npz")).unwrap();
    let rows = at.read("ahead/forecast.csv").lines().count() - 1;
    at.write("truth.csv", "time,value\n1.05,1\n1.1,2\n");
    let score = |what: &str, parts: &[&str]| file_refused(&at, what, "score ahead truth.csv", parts);
    let fitting = |paths: usize| format!("({paths}, {rows}, 1)");
    // Two and a half gigabytes of zeros, and a header that says so.
    let bomb = npz_bomb(&fitting((5 << 26) / rows), 5 << 29);
    for (what, content, parts) in [
        ("paths: empty", Vec::new(), &["not a .npz"][..]),
        ("paths: text", b"time,value\n".to_vec(), &["not a .npz"]),
        ("paths: cut short", good[..good.len() / 2].to_vec(), &["not a .npz"]),
        ("paths: a bomb of 2.5 GB", bomb, &["no table compresses"]),
        ("paths: a bomb of another shape", npz_bomb("(1000, 1000, 1000)", 1 << 26), &["has shape", "expected (paths"]),
        ("paths: a shape of 2⁶⁶ bytes", npz_bomb(&fitting(1 << 63), 1 << 20), &["shape"]),
        ("paths: a shape without numbers", npz_bomb(&fitting(0), 1 << 20), &["does not fit"]),
        ("paths: more numbers than its shape", npz_bomb(&fitting(3), 1 << 20), &["does not fit"]),
        ("paths: no numbers", npz_of(&fitting(1 << 13), 255, rows << 16), &["number 0 is NaN"]),
    ] {
        replace(&at.path("ahead/paths.npz"), &content);
        score(what, &[&["paths.npz"], parts].concat());
    }
    sparse(&at.path("ahead/paths.npz"), 1 << 30);
    score("paths: a gigabyte of nothing", &["paths.npz", "not a .npz"]);
    replace(&at.path("ahead/paths.npz"), &good);
    for (what, content, parts) in [
        ("forecast table: another header", "a,b\n1,2\n", &["time,dimension"][..]),
        ("forecast table: a row twice", "time,dimension\n1,v\n1,v\n", &["every pair"]),
        ("forecast table: a time that is none", "time,dimension\nsoon,v\n", &["soon"]),
        ("forecast table: empty", "", &["is empty"]),
    ] {
        at.write("ahead/forecast.csv", content);
        score(what, &[&["forecast.csv"], parts].concat());
    }
}

#[test]
fn identity_nothing_is_written_outside_a_result() {
    let at = results();
    let good = at.read("run/report.json");
    for id in ["../escaped", "/tmp/escaped", "..", "a/b", "", "a\\u0000b", "..\\\\escaped"] {
        let content = good.replacen("{\"figure\":{\"id\":\"path\"", &format!("{{\"figure\":{{\"id\":\"{id}\""), 1);
        assert_ne!(content, good);
        at.write("run/report.json", content);
        file_refused(
            &at,
            &format!("a figure called {id:?}"),
            "report run --plots svg",
            &["report.json", "name of a figure"],
        );
    }
    assert!(!at.path("run/escaped.svg").exists() && !at.path("escaped.svg").exists() && !at.path("run/plots").exists());
    at.write("run/report.json", &good);
    // Links in a result's place are replaced, not followed; one that stands for the summary is no summary of this program.
    at.write("victim", "untouched");
    let link = |name: &str| {
        fs::rename(at.path("run").join(name), at.path(name)).unwrap();
        std::os::unix::fs::symlink(at.path("victim"), at.path("run").join(name)).unwrap();
    };
    ["report.html", "posterior.csv", "summary.json"].into_iter().for_each(link);
    let again = format!("fit sim/data.csv {OU_STABLE} --paths 20 --out run --quiet");
    file_refused(&at, "a summary that is a link", &again, &["summary.json", "not a file that this program wrote"]);
    fs::rename(at.path("summary.json"), at.path("run/summary.json")).unwrap();
    at.ok(&format!("fit sim/data.csv {OU_STABLE} --paths 20 --out run --quiet"));
    assert!(at.path("run/summary.json").symlink_metadata().unwrap().is_file());
    std::os::unix::fs::symlink(at.path("victim"), at.path("run/.levytilt-lock")).unwrap();
    file_refused(&at, "a lock that is a link", &format!("fit sim/data.csv {OU_STABLE} --out run"), &["is a link"]);
    assert_eq!(at.read("victim"), "untouched");
}

#[test]
fn damaged_reports_and_journals_are_named() {
    let at = results();
    for (what, content) in [
        ("report: empty", String::new()),
        ("report: 10⁶ open brackets", "[".repeat(1_000_000)),
        ("report: of another kind", "{\"figures\": 1}".into()),
    ] {
        at.write("run/report.json", content);
        file_refused(&at, what, "report run", &["report.json"]);
    }
    let rows: String = (0..60).map(|k| format!("{k},{}\n", k % 7)).collect();
    at.write("t.csv", format!("time,value\n{rows}"));
    let backtest = "backtest t.csv --train 30 --horizon 5 --models random-walk --paths 10 --quiet --out b";
    at.ok(backtest);
    let good = at.read("b/windows.jsonl");
    let settings = good.lines().next().unwrap();
    let line = good.lines().nth(1).unwrap();
    let mut fewer: serde_json::Value = serde_json::from_str(line).unwrap();
    fewer["scores"]["crps"].as_array_mut().unwrap().pop();
    for (what, content, part) in [
        ("journal: nested", "[".repeat(1_000_000) + "\n", "line 1"),
        ("journal: a line of nonsense", format!("{settings}\n{{\"window\": -1}}\n"), "line 2"),
        (
            "journal: another version",
            good.replacen(env!("CARGO_PKG_VERSION"), "0.0.9", 1),
            "another version: \"0.0.9\" there",
        ),
        ("journal: a score too few", good.replacen(line, &fewer.to_string(), 1), "not all"),
        ("journal: not text", format!("{settings}\n\u{0}\n"), "line 2"),
    ] {
        at.write("b/windows.jsonl", &content);
        file_refused(&at, what, backtest, &["windows.jsonl", part]);
        assert_eq!(at.read("b/windows.jsonl"), content, "left as it was");
    }
}
