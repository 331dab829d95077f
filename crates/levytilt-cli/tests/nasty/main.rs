//! Input that is wrong, damaged or hostile: every file a clear error, soon, in little memory.
//!
//! `cargo test -p levytilt-cli --test nasty -- --nocapture` prints every file with what was said about it.

#[path = "../common/mod.rs"]
mod common;
mod formulas;
mod make;
mod results;
mod tables;

use common::Sandbox;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Run the program with at most 100 MB for data; beyond that it gets no memory, and dies.
const WITHIN_100_MB: &str = "ulimit -d 102400; exec \"$0\" \"$@\"";
/// The goal for the time is a second; a test allows for a machine that is busy.
const MOST_SECONDS: f64 = 20.0;

/// What writes a file's content piece by piece, as long as somebody reads.
type Feed<'a> = &'a (dyn Fn(&mut dyn Write) -> std::io::Result<()> + Sync);

/// Run with a standard input; expect the exit code 2 and a short message with all of `parts`.
fn refused(at: &Sandbox, what: &str, arguments: &str, feed: Feed, parts: &[&str]) {
    let started = Instant::now();
    let mut child = Command::new("sh")
        .args(["-c", WITHIN_100_MB, env!("CARGO_BIN_EXE_levytilt")])
        .args(arguments.split_whitespace())
        .current_dir(at.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        // The program leaves when it has seen enough; then writing fails, as it should.
        scope.spawn(move || drop(feed(&mut stdin)));
        child.wait_with_output().unwrap()
    });
    let seconds = started.elapsed().as_secs_f64();
    let said = String::from_utf8(output.stderr).unwrap();
    println!("{what:44} {seconds:5.2} s  {}", said.lines().next().unwrap_or_default());
    assert_eq!(output.status.code(), Some(2), "{what}: levytilt {arguments}\n{said}");
    for part in parts {
        assert!(said.contains(part), "{what}: expected {part:?} in: {said}");
    }
    assert!(said.len() < 2000, "{what}: too long a message: {said}");
    assert!(!said.contains("panicked"), "{what}: {said}");
    assert!(seconds < MOST_SECONDS, "{what}: {seconds} s");
}

/// The same without standard input.
fn file_refused(at: &Sandbox, what: &str, arguments: &str, parts: &[&str]) {
    refused(at, what, arguments, &|_| Ok(()), parts);
}
