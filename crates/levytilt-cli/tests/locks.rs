//! One process at a time on a directory, never over a result of another version, and nothing blocked by a kill.

use crate::common::{OU_STABLE, Sandbox};
use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

const BACKTEST: &str = "backtest t.csv --train 30 --horizon 5 --models random-walk --paths 10 --quiet";
const REPRODUCE: &str = "reproduce synthetic --quick --quiet";

/// A sandbox with data, a fit in `run` and a forecast in `ahead`.
fn results() -> Sandbox {
    let at = Sandbox::new();
    at.ok(&format!("simulate {OU_STABLE} --steps 60 --span 1 --out sim"));
    at.ok(&format!("fit sim/data.csv {OU_STABLE} --paths 20 --out run --quiet"));
    at.ok("forecast run --horizon 0.1 --out ahead --quiet");
    at.write("truth.csv", "time,value\n1.1,2\n");
    let rows: String = (0..60).map(|k| format!("{k},{}\n", k % 7)).collect();
    at.write("t.csv", format!("time,value\n{rows}"));
    at
}

/// Every command that writes into a directory, without its `--out`.
fn writers() -> Vec<String> {
    let mut list: Vec<String> =
        ["forecast run --horizon 0.1", "score ahead truth.csv", BACKTEST, REPRODUCE, "demo", "man"]
            .map(String::from)
            .to_vec();
    list.push(format!("simulate {OU_STABLE}"));
    list.push(format!("fit sim/data.csv {OU_STABLE}"));
    list.push(format!("exact sim/data.csv {OU_STABLE}"));
    list
}

/// The files of a directory with what they hold.
fn content(at: &Sandbox, dir: &str) -> Vec<(String, Vec<u8>)> {
    at.list(dir)
        .into_iter()
        .map(|name| (name.clone(), fs::read(at.path(dir).join(&name)).unwrap_or_default()))
        .collect()
}

#[test]
fn identity_every_command_refuses_a_directory_in_use_and_names_the_process() {
    let at = results();
    fs::create_dir(at.path("out")).unwrap();
    let mut lock = File::create(at.path("out/.levytilt-lock")).unwrap();
    lock.lock().unwrap();
    let pid = std::process::id();
    writeln!(lock, "{pid}").unwrap();
    let named = format!("in use by process {pid};");
    for command in writers() {
        at.refused(&format!("{command} --out out"), &["out", &named]);
    }
    assert_eq!(at.list("out"), [".levytilt-lock"]);
    let mut lock = File::create(at.path("run/.levytilt-lock")).unwrap();
    lock.lock().unwrap();
    writeln!(lock, "{pid}").unwrap();
    at.refused("report run", &["run", &named]);
    // Who only reads is not held up.
    at.ok("forecast run --horizon 0.1 --quiet");
}

#[test]
fn identity_the_second_process_waits_for_no_one_and_a_kill_frees_the_directory() {
    let at = results();
    let spawn = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_levytilt"));
        let command = command.args(REPRODUCE.split(' ')).args(["--out", "r"]).current_dir(at.path(""));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut first = spawn();
    // The journal comes after the lock.
    while !at.path("r/sets.jsonl").exists() {
        assert!(first.try_wait().unwrap().is_none(), "the first process ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    at.refused(&format!("{REPRODUCE} --out r"), &[&format!("in use by process {};", first.id())]);
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(at.path("r/.levytilt-lock").exists(), "a kill leaves its lock behind");
    // Another command may have the directory now, and leaves only its own files beside the journal.
    at.ok("man --out r");
    assert!(!at.path("r/.levytilt-lock").exists());
}

#[test]
fn identity_a_result_of_another_version_is_left_alone() {
    let at = results();
    at.ok(&format!("{BACKTEST} --out b"));
    let own = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    for (dir, signed) in [("run", "summary.json"), ("b", "scores.json"), ("sim", "truth.json")] {
        let path = format!("{dir}/{signed}");
        let text = at.read(&path);
        assert!(text.contains(&own), "{path} does not say its version");
        at.write(&path, text.replace(&own, "\"version\": \"0.0.9\""));
        let before = content(&at, dir);
        for command in writers().iter().filter(|command| *command != "man" && !(command.contains(dir) && dir == "run"))
        {
            at.refused(&format!("{command} --out {dir}"), &[dir, "version 0.0.9", "another --out"]);
        }
        assert_eq!(content(&at, dir), before);
    }
    // What another version wrote may still be read; where it cannot be, that may be why.
    at.ok("forecast run --horizon 0.1 --quiet");
    at.write("run/state.json", "{}");
    at.refused("forecast run --horizon 0.1", &["state.json", "made by version 0.0.9"]);
}

#[test]
fn identity_a_forecast_does_not_replace_its_fit() {
    let at = results();
    let before = content(&at, "run");
    at.refused("forecast run --horizon 0.1 --out run", &["holds the fit itself"]);
    at.refused("forecast run --horizon 0.1 --out ./sim/../run", &["holds the fit itself"]);
    assert_eq!(content(&at, "run"), before);
}

#[test]
fn a_network_of_an_older_fit_goes_with_it() {
    let at = results();
    at.write("run/model.safetensors", "of an older fit");
    at.ok(&format!("fit sim/data.csv {OU_STABLE} --paths 20 --out run --quiet"));
    assert!(!at.path("run/model.safetensors").exists());
}

/// Whatever this program did not write stays, and is named before anything is computed; what it wrote it may replace.
#[test]
fn identity_nothing_foreign_is_replaced() {
    let at = results();
    let (simulate, fit) =
        (format!("simulate {OU_STABLE} --steps 20 --span 2"), "fit sim/data.csv --steps 60 --paths 10 --quiet");
    let calls = [
        (simulate.as_str(), "data.csv"),
        (simulate.as_str(), "truth.csv"),
        ("demo --quiet", "report.html"),
        ("demo --quiet", "data.csv"),
        (fit, "report.html"),
        (fit, "summary.json"),
        ("forecast run --horizon 0.1 --quiet", "forecast.csv"),
        ("score ahead truth.csv --quiet", "scores.json"),
    ];
    for (k, (call, name)) in calls.iter().enumerate() {
        let dir = format!("mine{k}");
        std::fs::create_dir(at.path(&dir)).unwrap();
        at.write(&format!("{dir}/{name}"), "mine");
        at.refused(
            &format!("{call} --out {dir}"),
            &[&format!("{name}: is not a file that this program wrote"), "--out"],
        );
        assert_eq!(
            (at.list(&dir), at.read(&format!("{dir}/{name}"))),
            (vec![name.to_string()], "mine".into()),
            "{call}"
        );
    }
    // A result may take the place of an older one, and stand beside a file that it does not have.
    at.write("run/data.csv", "mine");
    at.ok(&format!("fit sim/data.csv {OU_STABLE} --paths 20 --quiet --out run"));
    assert_eq!(at.read("run/data.csv"), "mine");
    at.refused(&format!("{simulate} --out run"), &["data.csv"]);
    at.ok("forecast run --horizon 0.1 --quiet --out ahead");
}
