//! Every command in README and docs runs: blocks marked `sh` are given to a shell, page by page, as a reader would.
#![cfg(unix)]

mod common;

use common::Sandbox;
use std::path::Path;
use std::process::Command;

/// Blocks marked `sh`, without commands that build or test this repository.
fn blocks(text: &str) -> Vec<String> {
    let marked = text.split("```sh\n").skip(1).filter_map(|rest| rest.split_once("\n```"));
    let foreign = |line: &&str| !["cargo ", "scripts/", "git "].iter().any(|start| line.starts_with(start));
    marked.map(|(block, _)| block.lines().filter(foreign).collect::<Vec<_>>().join("\n")).collect()
}

/// A record of 1001 rows in data.csv, and what came after it in later.csv.
fn prepared() -> Sandbox {
    let at = Sandbox::new();
    at.ok(&format!("simulate {} --steps 1250 --span 12.5 --seed 4 --out made", common::OU_STABLE));
    let record = at.read("made/data.csv");
    let rows: Vec<&str> = record.lines().collect();
    at.write("data.csv", rows[..1002].join("\n") + "\n");
    at.write("later.csv", format!("{}\n{}\n", rows[0], rows[1002..].join("\n")));
    at
}

fn run_page(name: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let blocks = blocks(&std::fs::read_to_string(&page).unwrap());
    assert!(blocks.iter().any(|block| block.contains("levytilt ")), "{name} has no commands");
    let at = prepared();
    let program = Path::new(env!("CARGO_BIN_EXE_levytilt")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    for block in blocks {
        let done =
            Command::new("sh").args(["-e", "-c", &block]).current_dir(at.path("")).env("PATH", &path).output().unwrap();
        assert!(done.status.success(), "{name}:\n{block}\n{}", String::from_utf8_lossy(&done.stderr));
    }
}

#[test]
fn commands_of_the_readme() {
    run_page("README.md");
}

#[test]
fn commands_of_the_tutorial() {
    run_page("docs/tutorial.md");
}
