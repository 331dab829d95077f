//! Every command in README and docs runs: blocks marked `sh` are given to a shell, page by page, as a reader would.
#![cfg(unix)]

use crate::common;
use crate::common::Sandbox;
use clap::Parser;
use clap::error::ErrorKind;
use levytilt_cli::args::Cli;
use std::path::{Path, PathBuf};
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

/// The files of the gallery, beside those of `prepared`; the tutorial uses one of them too.
fn with_gallery() -> Sandbox {
    let at = prepared();
    for file in std::fs::read_dir(repository().join("docs/gallery/data")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), at.path(file.file_name().to_str().unwrap())).unwrap();
    }
    at
}

/// Give a block to a shell that knows the program.
fn shell(at: &Sandbox, block: &str, name: &str) {
    let program = Path::new(env!("CARGO_BIN_EXE_levytilt")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("sh");
    let command = command.args(["-e", "-c", block]).current_dir(at.path("")).env("PATH", &path);
    let done = command.env("HOME", at.path("home")).output().unwrap();
    assert!(done.status.success(), "{name}:\n{block}\n{}", String::from_utf8_lossy(&done.stderr));
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn run_page(name: &str) {
    let blocks = blocks(&std::fs::read_to_string(repository().join(name)).unwrap());
    assert!(blocks.iter().any(|block| block.contains("levytilt ")), "{name} has no commands");
    let at = if name.contains("gallery") || name.contains("tutorial") { with_gallery() } else { prepared() };
    blocks.iter().for_each(|block| shell(&at, block, name));
}

/// Examples of a help page, lines that go on joined.
fn examples(at: &Sandbox, command: &str) -> Vec<String> {
    let help = at.ok(&format!("{command} --help")).out.replace("\\\n", " ");
    let Some((_, list)) = help.split_once("Examples:\n").or(help.split_once("Start here:\n")) else { return vec![] };
    list.lines().take_while(|line| line.starts_with("  ")).map(|line| line.trim().to_string()).collect()
}

/// Whether the parser takes a command line, with quotes and pipes as in a shell.
fn understood(line: &str) -> Result<(), clap::Error> {
    let own = line.split('|').find(|part| part.trim_start().starts_with("levytilt")).unwrap_or(line);
    let own = own.split(['>', '#']).next().unwrap_or(own).replace('\'', "");
    let words = own.split_whitespace().filter(|word| *word != "\\");
    Cli::try_parse_from(words).map(drop).or_else(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(()),
        _ => Err(error),
    })
}

/// Whether a sentence may name a command so: what is left out is no error, what does not exist is one.
fn may_be_named(line: &str) -> Result<(), String> {
    let left_out = |kind| match kind {
        ErrorKind::MissingRequiredArgument => true,
        // A flag whose value is left out.
        ErrorKind::InvalidValue => line.split_whitespace().next_back().is_some_and(|word| word.starts_with("--")),
        _ => false,
    };
    understood(line).or_else(|error| if left_out(error.kind()) { Ok(()) } else { Err(format!("{line}\n{error}")) })
}

const COMMANDS: [&str; 15] = [
    "demo",
    "simulate",
    "fit",
    "forecast",
    "update",
    "score",
    "backtest",
    "compare",
    "report",
    "reproduce",
    "exact",
    "doctor",
    "init",
    "completions",
    "man",
];

#[test]
fn examples_of_every_help_page_are_understood() {
    let at = Sandbox::new();
    for command in [""].iter().chain(&COMMANDS) {
        let examples = examples(&at, command);
        assert!(!examples.is_empty(), "{command} --help has no examples");
        for example in examples {
            understood(&example).unwrap();
        }
    }
}

#[test]
fn examples_of_the_help_pages_run() {
    let at = Sandbox::new();
    at.ok(&format!("simulate {} --steps 260 --span 2.6 --seed 4 --out made", common::OU_STABLE));
    let record = at.read("made/data.csv");
    let rows: Vec<&str> = record.lines().collect();
    at.write("data.csv", rows[..212].join("\n") + "\n");
    let rest = format!("{}\n{}\n", rows[0], rows[212..].join("\n"));
    at.write("later.csv", &rest);
    at.write("times.csv", rest);
    let long = |(k, row): (usize, &&str)| format!("pump {},{row}\n", 1 + k / 30);
    let long: String = rows[1..61].iter().enumerate().map(long).collect();
    at.write("long.csv", format!("unique_id,ds,y\n{long}"));
    let rain = |(k, row): (usize, &&str)| format!("{row},{}\n", k % 5);
    let rained: String = rows[1..101].iter().enumerate().map(rain).collect();
    at.write("river.csv", format!("time,level,rain\n{rained}"));
    let states = at.read("made/truth.csv");
    let states: Vec<&str> = states.lines().collect();
    at.write("truth.csv", format!("{}\n{}\n", states[0], states[212..].join("\n")));
    let hours = |k: u32| format!("2024-06-{:02}T{:02}:00:00Z", 1 + k / 24, k % 24);
    let price = |k: u32, n: u32| 100.0 + f64::from(k * k % n);
    let table: String =
        (0..210).map(|k| format!("{},{},{},{}\n", hours(k), price(k, 7), price(k, 11), price(k, 13))).collect();
    at.write("prices.csv", format!("time,NVDA,AMD,close\n{table}"));
    for dir in [".local/share/bash-completion/completions", ".zfunc", ".config/fish/completions"] {
        std::fs::create_dir_all(at.path("home").join(dir)).unwrap();
    }
    shell(&at, "gzip -k prices.csv; sed 's/value/price/' data.csv | gzip > data.csv.gz", "gzip");
    // Left out: demo, backtest and reproduce, which take long and have tests of their own, and the pager.
    let long = |line: &str| line.contains("--horizon 2d") || line.contains("| man");
    for command in
        ["simulate", "exact", "fit", "forecast", "score", "update", "report", "doctor", "init", "completions", "man"]
    {
        if command == "forecast" {
            shell(&at, "rm -r run; levytilt fit data.csv --out run --quiet", "fit");
        }
        for example in examples(&at, command).iter().filter(|line| !long(line)) {
            if command == "exact" {
                // Another example may have written into the directory that this one reads.
                at.ok(&format!("exact data.csv {} --out run --quiet", common::OU_STABLE));
            }
            shell(&at, example, command);
        }
    }
}

/// Commands in backticks, in `sh` blocks and in indented lines of a page.
fn named(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().filter(|line| line.starts_with("levytilt ") || line.starts_with("    levytilt "));
    // A command in backticks may go on in the next line.
    let flowing = joined.replace('\n', " ");
    let quoted = flowing.split('`').skip(1).step_by(2).filter(|part| part.starts_with("levytilt "));
    let all = lines.chain(quoted).map(|line| line.trim().to_string());
    // Names in capitals stand for one's own; ranges and dots for a choice; what a shell fills in is run with its block.
    all.filter(|line| !line.contains(['…', '$']) && !line.contains("COMMAND")).collect()
}

#[test]
fn commands_named_in_any_page_are_understood() {
    let mut pages = vec![repository().join("README.md"), repository().join("CONTRIBUTING.md")];
    for dir in ["docs", "docs/gallery", "docs/validation"] {
        let found = std::fs::read_dir(repository().join(dir)).unwrap().map(|entry| entry.unwrap().path());
        pages.extend(found.filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    let named = |page: &PathBuf| named(&std::fs::read_to_string(page).unwrap());
    let lines: Vec<(PathBuf, String)> =
        pages.iter().flat_map(|page| named(page).into_iter().map(|line| (page.clone(), line))).collect();
    assert!(lines.len() > 40, "only {} commands found", lines.len());
    let odd = |(page, line): &(PathBuf, String)| Some(format!("{}: {}", page.display(), may_be_named(line).err()?));
    let odd: Vec<String> = lines.iter().filter_map(odd).collect();
    assert!(odd.is_empty(), "{}", odd.join("\n"));
}

#[test]
fn commands_of_the_readme() {
    run_page("README.md");
}

#[test]
fn commands_of_the_tutorial() {
    run_page("docs/tutorial.md");
}

#[test]
fn commands_of_the_page_on_panels() {
    run_page("docs/panels.md");
}

#[test]
fn commands_of_the_guide() {
    ["install", "reading", "data", "forecasting", "live", "recipes"]
        .iter()
        .for_each(|page| run_page(&format!("docs/{page}.md")));
}

#[test]
fn commands_of_the_gallery_climate_and_water() {
    ["greenland", "proxies", "river"].iter().for_each(|page| run_page(&format!("docs/gallery/{page}.md")));
}

#[test]
fn commands_of_the_gallery_prices_and_wind() {
    ["power", "markets", "solar-wind", "dst"].iter().for_each(|page| run_page(&format!("docs/gallery/{page}.md")));
}

#[test]
fn commands_of_the_gallery_states_faults_and_alarms() {
    ["tracking", "outlier", "alarms"].iter().for_each(|page| run_page(&format!("docs/gallery/{page}.md")));
}

/// The tests above name pages; none may be forgotten.
#[test]
fn every_page_with_commands_is_run() {
    let run = [
        "install.md",
        "tutorial.md",
        "reading.md",
        "data.md",
        "forecasting.md",
        "recipes.md",
        "live.md",
        "panels.md",
        "greenland.md",
        "proxies.md",
        "river.md",
        "power.md",
        "markets.md",
        "solar-wind.md",
        "dst.md",
        "tracking.md",
        "outlier.md",
        "alarms.md",
    ];
    // Its blocks need files of one's own; crates/levytilt-cli/tests/general.rs has the same models with data.
    let other = ["states.md"];
    for dir in ["docs", "docs/gallery"] {
        for page in std::fs::read_dir(repository().join(dir)).unwrap() {
            let path = page.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let known = run.contains(&name) || other.contains(&name);
            if path.extension().is_some_and(|end| end == "md") && !known {
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(
                    blocks(&text).iter().all(|block| !block.contains("levytilt ")),
                    "{name} has commands that no test runs"
                );
            }
        }
    }
}
