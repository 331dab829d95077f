//! Kills that cannot be caught, at moments drawn at random.

use crate::common::Sandbox;
use crate::timeless::content;
use crate::{BACKTEST, FIT, REPRODUCE, SYNTHETIC, data};
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

fn start(at: &Sandbox, arguments: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_levytilt"));
    let command = command.args(arguments.split_whitespace()).current_dir(at.path(""));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kill at a random moment: half of the time anywhere; a quarter while results are being written and a quarter while they
/// are moved to their places, which takes little time and is where something could be lost. Whether it was still running.
fn start_and_kill(at: &Sandbox, command: &str, out: &str, takes: Duration, random: &mut Random) -> bool {
    let mut child = start(at, &format!("{command} {out}"));
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
    at.ok(&format!("{command} whole"));
    let expected = content(&at.path("whole"));
    begin(&at.path("timed"));
    let started = Instant::now();
    at.ok(&format!("{command} timed"));
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
        at.ok(&format!("{command} {out}"));
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
