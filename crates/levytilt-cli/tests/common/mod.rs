//! Run the built program in a directory of its own.
#![allow(dead_code)]

pub mod browser;
pub mod pages;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Parameters of a model that every test can use.
pub const OU_STABLE: &str = "--drift ou --theta 3 --mu 1 --noise stable --alpha 1.5 --scale 2 --observation-std 0.1";

/// Daily prices of two tickers from April to July 2024, moved by sines.
pub fn two_prices() -> String {
    let mut csv = String::from("time,NVDA,GOOGL\n");
    for k in 0..110 {
        let (month, day) = (4 + k / 30, 1 + k % 30);
        let t = f64::from(k);
        let (a, b) = (100.0 * (0.05 * (1.7 * t).sin()).exp(), 50.0 * (0.03 * (1.3 * t).cos()).exp());
        csv += &format!("2024-{month:02}-{day:02}T20:00:00Z,{a},{b}\n");
    }
    csv
}

/// A directory that goes away with the test.
pub struct Sandbox(tempfile::TempDir);

/// What a run said.
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Sandbox {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Cut the record of `sim` in two, early.csv with so many lines (its head among them) and late.csv with the rest.
    pub fn cut_record(&self, lines: usize) {
        let record = self.read("sim/data.csv");
        let rows: Vec<&str> = record.lines().collect();
        self.write("early.csv", rows[..lines].join("\n"));
        self.write("late.csv", format!("time,value\n{}\n", rows[lines..].join("\n")));
    }

    pub fn json(&self, name: &str) -> serde_json::Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Run with arguments separated by spaces.
    pub fn run(&self, arguments: &str) -> Said {
        self.run_with_input(arguments, b"")
    }

    /// Run with arguments separated by spaces and a standard input.
    pub fn run_with_input(&self, arguments: &str, input: &[u8]) -> Said {
        let mut child = Command::new(env!("CARGO_BIN_EXE_levytilt"))
            .args(arguments.split_whitespace())
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The program may end without reading its input; that is its right.
        drop(child.stdin.take().unwrap().write_all(input));
        Said::from(child.wait_with_output().unwrap())
    }

    /// Start with arguments separated by spaces, and do not wait.
    pub fn spawn(&self, arguments: &str) -> Child {
        Command::new(env!("CARGO_BIN_EXE_levytilt"))
            .args(arguments.split_whitespace())
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Run and expect success.
    pub fn ok(&self, arguments: &str) -> Said {
        let said = self.run(arguments);
        assert_eq!(said.code, 0, "levytilt {arguments}\n{}", said.err);
        said
    }

    /// Run and expect the exit code 2 and a message with all of `parts`.
    pub fn refused(&self, arguments: &str, parts: &[&str]) {
        let said = self.run(arguments);
        said.expect_refused(arguments, parts);
    }

    /// Names of the files in a directory, sorted.
    pub fn list(&self, name: &str) -> Vec<String> {
        list(&self.path(name))
    }
}

impl Said {
    /// Expect the exit code 2 and a message with all of `parts`.
    pub fn expect_refused(&self, what: &str, parts: &[&str]) {
        assert_eq!(self.code, 2, "levytilt {what}\n{}", self.err);
        for part in parts {
            assert!(self.err.contains(part), "levytilt {what}\nexpected {part:?} in: {}", self.err);
        }
        assert!(!self.err.contains("panicked"), "levytilt {what}\n{}", self.err);
    }

    /// Standard output as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap()
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

fn list(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
