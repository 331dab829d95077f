//! Recognise what this program wrote, so that a file of another origin is never replaced.
//!
//! Every result has a JSON file that names the version that made it. That file vouches for the others beside it; data.csv and
//! truth.csv, names that a user's own files have too, need the one that is written together with them.

use anyhow::Result;
use serde_json::Value;
use std::path::Path;

use crate::directory::training::TRAINING;
use crate::failure::bad;
use crate::table::bytes::read_json;

/// Files that say which version made them.
pub const SIGNED: [&str; 4] = ["summary.json", "scores.json", "table.json", "truth.json"];

/// Refuse if a file called one of `names` is in `dir` and was not written by this program.
pub fn refuse_foreign<'a>(dir: &Path, names: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let there = |name: &&str| dir.join(name).symlink_metadata().is_ok();
    match names.into_iter().filter(there).find(|name| !is_ours(dir, name)) {
        None => Ok(()),
        Some(name) => Err(bad(format!(
            "{}: is not a file that this program wrote, and is not replaced; move it away, or use another --out",
            dir.join(name).display()
        ))),
    }
}

fn is_ours(dir: &Path, name: &str) -> bool {
    match name {
        // Written before there is a result, and checked when it is read.
        TRAINING => true,
        "truth.csv" => is_signed(dir, "truth.json"),
        "data.csv" => is_signed(dir, "truth.json") || is_demo(dir),
        _ if SIGNED.contains(&name) => is_signed(dir, name),
        _ => SIGNED.iter().any(|signed| is_signed(dir, signed)),
    }
}

fn content(dir: &Path, name: &str) -> Option<Value> {
    read_json::<Value>(&dir.join(name)).ok()?.ok()
}

/// Whether a file names the version that made it: itself, or in the first of its tables.
fn is_signed(dir: &Path, name: &str) -> bool {
    let places = ["/version", "/0/version", "/0/scores/version"];
    content(dir, name)
        .is_some_and(|found| places.iter().any(|place| found.pointer(place).is_some_and(Value::is_string)))
}

/// Whether the result is that of the demo, which has its data beside it.
fn is_demo(dir: &Path) -> bool {
    is_signed(dir, "summary.json") && content(dir, "summary.json").is_some_and(|found| found.get("rival").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn identity_only_what_is_vouched_for_is_ours() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path();
        let refused = |name: &str| refuse_foreign(dir, [name]).is_err();
        assert!(!refused("report.html") && !refused("data.csv"));
        for name in ["report.html", "data.csv", "truth.csv"] {
            fs::write(dir.join(name), "mine").unwrap();
            assert!(refused(name), "{name}");
        }
        fs::write(dir.join("summary.json"), r#"{"total": 3}"#).unwrap();
        assert!(refused("summary.json") && refused("report.html"));
        fs::write(dir.join("summary.json"), r#"{"version": "0.1.0"}"#).unwrap();
        assert!(!refused("summary.json") && !refused("report.html") && refused("data.csv"));
        fs::write(dir.join("summary.json"), r#"{"version": "0.1.0", "rival": {}}"#).unwrap();
        assert!(!refused("data.csv") && refused("truth.csv"));
        fs::write(dir.join("truth.json"), r#"{"version": "0.1.0"}"#).unwrap();
        assert!(!refused("truth.csv"));
        fs::write(dir.join("table.json"), r#"[{"scores": {"version": "0.1.0"}}]"#).unwrap();
        assert!(!refused("table.json"));
    }
}
