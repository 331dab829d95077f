//! Kills that cannot be caught, at moments drawn at random.

use crate::common::Sandbox;
use crate::timeless::content;
use crate::{BACKTEST, FIT, FOLLOW, PANEL, REPRODUCE, SYNTHETIC, UPDATE, data};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

type Files = BTreeMap<String, Vec<u8>>;

fn kills() -> usize {
    std::env::var("LEVYTILT_KILLS").ok().map_or(2, |text| text.parse().expect("LEVYTILT_KILLS: a number"))
}

/// Uniform numbers between 0 and 1 (splitmix64), so that a run can be repeated.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Start `command` on a directory, which stands for DIR in it or at its end; what follows `<` is its standard input.
fn start(at: &Sandbox, command: &str, out: &str) -> Child {
    let arguments = if command.contains("DIR") { command.replace("DIR", out) } else { format!("{command} {out}") };
    let (arguments, input) = arguments.split_once(" < ").unwrap_or((&arguments, ""));
    let stdin = match input {
        "" => Stdio::null(),
        name => fs::File::open(at.path(name)).unwrap().into(),
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_levytilt"));
    let command = command.args(arguments.split_whitespace()).current_dir(at.path(""));
    command.stdin(stdin).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Let `command` end.
fn complete(at: &Sandbox, command: &str, out: &str) {
    assert!(start(at, command, out).wait().unwrap().success(), "{command} {out}");
}

/// Kill at a random moment: half of the time anywhere; a quarter while results are being written and a quarter while they
/// are moved to their places, which takes little time and is where something could be lost. Whether it was still running.
fn start_and_kill(at: &Sandbox, command: &str, out: &str, takes: Duration, random: &mut Random) -> bool {
    let mut child = start(at, command, out);
    let (sign, within) = match random.next() {
        kind if kind < 0.5 => (None, takes),
        kind if kind < 0.75 => (Some(".levytilt-new"), Duration::from_millis(20)),
        _ => (Some(".levytilt-done"), Duration::from_millis(1)),
    };
    if let Some(sign) = sign.map(|name| at.path(out).join(name)) {
        while !sign.exists() && child.try_wait().unwrap().is_none() {
            std::hint::spin_loop();
        }
    }
    std::thread::sleep(within.mul_f64(random.next()));
    let running = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    running
}

/// Kill `command` again and again, each time in a new directory and there once or twice; then let it end.
fn survives(at: &Sandbox, command: &str, seed: u64) {
    survives_from(at, command, seed, |_| ());
}

/// The same in directories that `begin` fills first, once there is a whole result.
fn survives_from(at: &Sandbox, command: &str, seed: u64, begin: impl Fn(&Path)) {
    if command.contains("DIR") {
        begin(&at.path("whole"));
    }
    complete(at, command, "whole");
    let expected = content(&at.path("whole"));
    begin(&at.path("timed"));
    let started = Instant::now();
    complete(at, command, "timed");
    let takes = started.elapsed();
    let mut random = Random(seed);
    let (mut done, mut early, mut trial) = (0, 0, 0);
    while done < kills() {
        trial += 1;
        let out = format!("trial{trial}");
        begin(&at.path(&out));
        for _ in 0..1 + (2.0 * random.next()) as usize {
            let running = start_and_kill(at, command, &out, takes, &mut random);
            (done, early) = (done + 1, early + usize::from(running));
        }
        complete(at, command, &out);
        same(&content(&at.path(&out)), &expected, &out);
        fs::remove_dir_all(at.path(&out)).unwrap();
    }
    println!("{done} kills ({early} before the end) in {trial} trials, 0 lost: levytilt {command} DIR");
}

fn same(found: &Files, expected: &Files, what: &str) {
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{what}");
    for (name, bytes) in found {
        assert!(bytes == &expected[name], "{what}: {name} differs");
    }
}

#[test]
fn identity_fits_end_the_same_after_kills() {
    let at = data();
    survives(&at, FIT, 1);
}

#[test]
fn identity_a_fit_over_an_old_one_leaves_all_of_one_of_them() {
    // After every kill a reader finds all of the old result or all of the new; a forecast needs several of its files.
    let at = data();
    let old = format!("{FIT} old --seed 2");
    at.ok(&old);
    at.ok(&format!("{FIT} whole"));
    let started = Instant::now();
    at.ok(&format!("{FIT} new"));
    let takes = started.elapsed();
    let whole = [content(&at.path("old")), content(&at.path("new"))];
    let mut random = Random(2);
    let mut seen = [0, 0];
    for trial in 0..kills() {
        let out = format!("over{trial}");
        fs::create_dir(at.path(&out)).unwrap();
        for name in at.list("old") {
            fs::copy(at.path("old").join(&name), at.path(&out).join(&name)).unwrap();
        }
        start_and_kill(&at, FIT, &out, takes, &mut random);
        at.ok(&format!("report {out} --quiet"));
        let found = content(&at.path(&out));
        let which = whole.iter().position(|files| files == &found);
        seen[which.unwrap_or_else(|| panic!("trial {trial}: a mixture of two results"))] += 1;
        fs::remove_dir_all(at.path(&out)).unwrap();
    }
    println!("{} kills of a fit over an old one: {} left the old, {} the new, 0 a mixture", kills(), seen[0], seen[1]);
}

#[test]
fn identity_backtests_go_on_after_kills() {
    let at = data();
    survives(&at, BACKTEST, 3);
}

#[test]
fn identity_reproductions_go_on_after_kills() {
    let at = data();
    survives(&at, REPRODUCE, 4);
}

/// A sandbox with a run, and rows to come in new.csv.
fn with_run() -> Sandbox {
    let at = data();
    at.ok(&format!("{FIT} run"));
    let rows: Vec<String> =
        (1..=400).map(|k| format!("{},{}", 1.0 + 0.01 * f64::from(k), f64::from(k * k % 17) / 10.0)).collect();
    at.write("new.csv", format!("time,value\n{}\n", rows.join("\n")));
    at
}

/// Kills between the rows of a table, and of a feed that is saved as it goes: then all rows are sent again, and the state is
/// that of an undisturbed update, so that no row was lost and none taken twice.
#[test]
fn identity_updates_end_the_same_after_kills() {
    for (command, seed) in [(UPDATE, 6), (FOLLOW, 7)] {
        let at = with_run();
        survives_from(&at, command, seed, |dir| {
            fs::create_dir(dir).unwrap();
            for name in at.list("run") {
                fs::copy(at.path("run").join(&name), dir.join(&name)).unwrap();
            }
        });
        let state = at.json("whole/state.json");
        assert_eq!(state["filter"]["columns"][0]["observations"], 501);
    }
}

#[test]
fn identity_panels_go_on_after_kills() {
    let at = data();
    let mut long = String::from("unique_id,ds,y\n");
    for (series, shift) in [("a", 1), ("b", 3), ("c", 7), ("d", 9)] {
        (0..40).for_each(|k| long += &format!("{series},{k},{}\n", f64::from((k + shift) * (k + shift) % 13)));
    }
    at.write("long.csv", long);
    survives(&at, PANEL, 8);
}

/// Simulated systems take a minute, so that a trial begins with all of them finished but the last; only if it is asked for.
#[test]
fn identity_synthetic_reproductions_go_on_after_kills() {
    if std::env::var_os("LEVYTILT_KILLS").is_none() {
        println!("SKIPPED: kills of reproduce synthetic, which take minutes; run scripts/faults");
        return;
    }
    let at = data();
    survives_from(&at, SYNTHETIC, 5, |dir| {
        let journal = at.read("whole/sets.jsonl");
        let (all_but_one, _) = journal.trim_end().rsplit_once('\n').unwrap();
        fs::create_dir(dir).unwrap();
        fs::write(dir.join("sets.jsonl"), format!("{all_but_one}\n")).unwrap();
    });
}
