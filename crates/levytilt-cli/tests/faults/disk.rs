//! Disks that are full or cannot be written, and rights that are missing.

use crate::common::{OU_STABLE, Said, Sandbox};
use crate::timeless::content;
use crate::{BACKTEST, FIT, data};
use std::process::Command;

/// Run a shell script within a name space of its own, where it may mount; `$P` is the program. Nothing if that is not
/// allowed here.
fn in_own_space(at: &Sandbox, script: &str) -> Option<Said> {
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-euc", script]).env("P", env!("CARGO_BIN_EXE_levytilt")).current_dir(at.path(""));
        command.output().ok()
    };
    let may = unshare("mkdir m && mount -t tmpfs -o size=1m none m").is_some_and(|output| output.status.success());
    if !may {
        println!("SKIPPED: a disk of its own cannot be mounted here");
        return None;
    }
    unshare(script).map(Said::from)
}

#[test]
fn identity_a_full_disk_leaves_the_old_fit() {
    let at = data();
    at.ok(&format!("{FIT} whole --seed 2"));
    let size = content(&at.path("whole")).values().map(|bytes| bytes.len().div_ceil(4096) * 4096).sum::<usize>();
    // From room for almost nothing to room for almost all.
    let room: String = (1..10).map(|tenths| format!("{} ", size / 40960 * tenths)).collect();
    let script = format!(
        "mount -t tmpfs -o size={}k none m
         $P {FIT} m/run
         (cd m/run && sha256sum * && ls -A) > before
         for pages in {room}; do
             head -c 100000000 /dev/zero > m/fill 2>&- || true
             truncate -s -$((pages * 4096)) m/fill
             code=0; $P {FIT} m/run --seed 2 2> said || code=$?
             cat said; grep -q 'No space left' said; test $code -eq 1
             (cd m/run && sha256sum * && ls -A) > after
             cmp before after
             rm m/fill
         done
         $P {FIT} m/run --seed 2
         cp -r m/run afterwards",
        2 * size / 1024 + 2048
    );
    let Some(said) = in_own_space(&at, &script) else { return };
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert_eq!(content(&at.path("afterwards")), content(&at.path("whole")));
}

#[test]
fn identity_a_full_disk_stops_a_backtest_which_then_goes_on() {
    let at = data();
    at.ok(&format!("{BACKTEST} whole"));
    let script = format!(
        "mount -t tmpfs -o size=4m none m
         mkdir m/b
         for pages in 2 4 8 12; do
             head -c 100000000 /dev/zero > m/fill 2>&- || true
             truncate -s -$((pages * 4096)) m/fill
             code=0; $P {BACKTEST} m/b 2> said || code=$?
             cat said; grep -q 'No space left' said; test $code -eq 1
             rm m/fill
         done
         wc -l < m/b/windows.jsonl
         $P {BACKTEST} m/b
         cp -r m/b afterwards"
    );
    let Some(said) = in_own_space(&at, &script) else { return };
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    let lines: usize = said.out.lines().last().unwrap().trim().parse().unwrap();
    assert!(lines > 3, "nothing was finished before the disk was full: {lines} lines");
    assert_eq!(content(&at.path("afterwards")), content(&at.path("whole")));
}

#[test]
fn identity_a_disk_that_cannot_be_written_is_named_at_once() {
    let at = data();
    let script = format!(
        "mount -t tmpfs -o size=8m none m
         $P {FIT} m/run
         (cd m/run && sha256sum * && ls -A) > before
         mount -o remount,ro m
         code=0; $P {FIT} m/run --seed 2 2> said || code=$?
         cat said; grep -q 'cannot write into m/run: Read-only file system' said; test $code -eq 2
         code=0; $P {FIT} m/other 2> said || code=$?
         cat said; grep -q 'cannot make m/other: Read-only file system' said; test $code -eq 2
         (cd m/run && sha256sum * && ls -A) > after
         cmp before after
         $P forecast m/run --horizon 0.1 --quiet"
    );
    let Some(said) = in_own_space(&at, &script) else { return };
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
}

#[test]
fn identity_missing_rights_are_named_at_once() {
    let at = data();
    at.ok(&format!("{FIT} run"));
    let before = content(&at.path("run"));
    // Rights mean nothing to root, so be nobody; and nobody must be able to get at the program and the data.
    let script = "cp $P levytilt; chmod 755 . levytilt run; chmod -R a+rX sim run; chmod 555 run
                  if [ $(id -u) = 0 ]; then as='setpriv --reuid=65534 --regid=65534 --clear-groups'; else as=; fi
                  $as ./levytilt --version > /dev/null || exit 77
                  $as ./levytilt \"$@\"";
    let run = |arguments: &str| {
        let mut command = Command::new("sh");
        let command = command.args(["-c", script, "sh"]).args(arguments.split_whitespace());
        Said::from(command.env("P", env!("CARGO_BIN_EXE_levytilt")).current_dir(at.path("")).output().unwrap())
    };
    let said = run(&format!("{FIT} run --seed 2"));
    if said.code == 77 {
        println!("SKIPPED: nobody cannot run the program here: {}", said.err);
        return;
    }
    said.expect_refused("fit", &["cannot write into run: Permission denied"]);
    let said = run(&format!("exact sim/data.csv {OU_STABLE} --out run/below"));
    said.expect_refused("exact", &["cannot make run/below: Permission denied"]);
    assert_eq!(content(&at.path("run")), before);
    let said = run("forecast run --horizon 0.1 --quiet");
    assert_eq!(said.code, 0, "who only reads needs no rights to write: {}", said.err);
}

#[test]
fn a_full_standard_output_is_an_error() {
    let at = data();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let Ok(full) = full else { return println!("SKIPPED: no /dev/full here") };
    let mut command = Command::new(env!("CARGO_BIN_EXE_levytilt"));
    let command = command.args(format!("exact sim/data.csv {OU_STABLE} --json").split_whitespace());
    let said = Said::from(command.current_dir(at.path("")).stdout(full).output().unwrap());
    assert_eq!(said.code, 1);
    assert!(said.err.contains("standard output") && said.err.contains("No space left"), "{}", said.err);
}
