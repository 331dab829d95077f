//! What a user meets beside the computations: help, settings file, doctor, completions, manual, figures alone.

use crate::common::{OU_STABLE, Sandbox};

/// Names of the commands, from the help of the program itself.
fn commands(at: &Sandbox) -> Vec<String> {
    let help = at.ok("--help").out;
    let list = help.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.map(|line| line.split_whitespace().next().unwrap().to_string()).filter(|name| name != "help").collect()
}

#[test]
fn every_command_has_help_with_examples() {
    let at = Sandbox::new();
    let commands = commands(&at);
    assert!(commands.len() >= 11, "{commands:?}");
    for command in &commands {
        let help = at.ok(&format!("{command} --help")).out;
        assert!(help.contains("Examples:\n  levytilt "), "{command} --help has no example");
        assert!(help.contains(&format!("levytilt {command}")), "{command}");
    }
    for name in ["fit", "doctor", "init"] {
        assert!(at.ok("--help").out.contains(name));
    }
}

#[test]
fn a_settings_file_is_written_once_and_can_be_used() {
    let at = Sandbox::new();
    at.ok("init");
    at.refused("init", &["levytilt.toml", "--force"]);
    at.ok("init --force");
    assert_eq!(at.ok("init -").out, at.read("levytilt.toml"));
    at.ok(&format!("simulate {OU_STABLE} --steps 100 --span 1 --out sim"));
    at.ok("fit sim/data.csv --config levytilt.toml --paths 30 --steps 100 --quiet");
}

#[test]
fn the_doctor_examines_data_and_its_advice_works() {
    let at = Sandbox::new();
    assert!(at.ok("doctor").out.contains("cores"));
    at.ok(&format!("simulate {OU_STABLE} --steps 600 --span 6 --seed 2 --out sim"));
    let found = at.ok("doctor sim/data.csv --json").json();
    let data = &found["data"];
    assert_eq!((&data["rows"], &data["regular"], &data["gaps"]), (&601.into(), &true.into(), &0.into()));
    assert_eq!((&data["columns"][0]["noise"], &data["columns"][0]["missing"]), (&"stable".into(), &0.into()));
    let advice = data["suggestion"].as_str().unwrap().strip_prefix("levytilt ").unwrap();
    at.ok(&format!("{advice} --paths 30 --quiet"));
    // Calm moves, a gap, a missing value and one jump, each found where it is.
    let value = |k: u32| f64::from(k * k % 7) + f64::from(k * k % 11) + if k == 60 { 500.0 } else { 0.0 };
    let time = |k: u32| if k < 40 { k } else { k + 50 };
    let rows: String =
        (0..120).map(|k| if k == 5 { "5,\n".to_string() } else { format!("{},{}\n", time(k), value(k)) }).collect();
    at.write("d.csv", format!("t,v\n{rows}"));
    let found = at.ok("doctor d.csv --json").json();
    let (data, column) = (&found["data"], &found["data"]["columns"][0]);
    assert_eq!((&data["gaps"], &column["missing"]), (&1.into(), &1.into()));
    assert!(data["longest_gaps"][0].as_str().unwrap().contains("39 to 90 (line 42)"), "{data}");
    assert_eq!(column["outliers"], 2);
    assert!(
        column["largest_moves"].as_array().unwrap().iter().any(|m| m.as_str().unwrap().contains("line 62")),
        "{column}"
    );
    let said = at.ok("doctor d.csv").out;
    assert!(said.contains("outliers    2") && said.contains("levytilt fit d.csv"), "{said}");
    at.refused("doctor nothing.csv", &["nothing.csv"]);
    // The advice reads the table as the doctor did.
    let wide: String = (0..120).map(|k| format!("{k};{};0,1;{}\n", value(k), k % 5)).collect();
    at.write("wide.csv", format!("t;value;sigma;other\n{wide}"));
    let found = at.ok("doctor wide.csv --json --column value --error-column sigma").json();
    let advice = found["data"]["suggestion"].as_str().unwrap();
    assert!(advice.starts_with("levytilt fit wide.csv --column value --error-column sigma --drift"), "{advice}");
}

#[test]
fn shells_and_manuals_know_every_command() {
    let at = Sandbox::new();
    let commands = commands(&at);
    for shell in ["bash", "zsh", "fish"] {
        let script = at.ok(&format!("completions {shell}")).out;
        assert!(commands.iter().all(|command| script.contains(command.as_str())), "{shell}");
    }
    let page = at.ok("man").out;
    assert!(
        page.contains(".TH levytilt 1") && commands.iter().all(|c| page.contains(&c.replace('-', "\\-"))),
        "{page}"
    );
    at.ok("man --out man");
    for command in &commands {
        assert!(at.list("man").contains(&format!("levytilt-{command}.1")), "{command}");
    }
}

/// Every figure of the page in `dir`, and no other, is there in this format, and is what its name says.
fn check_plots(at: &Sandbox, dir: &str, format: &str) {
    let page = at.json(&format!("{dir}/report.json"));
    let blocks = page["sections"].as_array().unwrap().iter().flat_map(|section| section["blocks"].as_array().unwrap());
    let figures = blocks.flat_map(|block| match (&block["figure"], &block["pair"]) {
        (serde_json::Value::Null, pair) => pair.as_array().cloned().unwrap_or_default(),
        (figure, _) => vec![figure.clone()],
    });
    let mut names: Vec<String> = figures.map(|figure| format!("{}.{format}", figure["id"].as_str().unwrap())).collect();
    names.sort();
    assert!(names.len() >= 2, "{dir}: {names:?}");
    assert_eq!(at.list(&format!("{dir}/plots")), names, "{dir}");
    for name in names {
        let bytes = std::fs::read(at.path(&format!("{dir}/plots/{name}"))).unwrap();
        match format {
            "png" => {
                assert!(bytes.starts_with(b"\x89PNG"), "{dir}/{name}");
                let side = |k: usize| u32::from_be_bytes(bytes[k..k + 4].try_into().unwrap());
                assert!(side(16) == 1800 && (500..2000).contains(&side(20)), "{dir}/{name}: {} {}", side(16), side(20));
            }
            _ => {
                let text = String::from_utf8(bytes).unwrap();
                assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"), "{dir}/{name}");
                assert!(!text.contains("NaN") && !text.contains("inf"), "{dir}/{name}");
            }
        }
    }
}

#[test]
fn figures_of_every_page_can_be_had_alone() {
    let at = Sandbox::new();
    at.ok(&format!("simulate {OU_STABLE} --steps 250 --span 2.5 --seed 3 --out sim"));
    at.cut_record(202);
    at.ok("fit early.csv --paths 30 --steps 200 --mu 1 --theta 3 --out run --plots svg");
    check_plots(&at, "run", "svg");
    at.ok("forecast run --at late.csv --out ahead --plots png");
    check_plots(&at, "ahead", "png");
    at.ok("score ahead late.csv --out scored --plots png");
    check_plots(&at, "scored", "png");
    at.ok(
        "backtest sim/data.csv --train 1 --horizon 0.2 --models random-walk,garch-t --paths 20 --out back --plots png",
    );
    check_plots(&at, "back", "png");
    // Figures of both formats lie side by side, and those of an older result are called so.
    at.ok("report run --plots png --quiet");
    assert!(at.list("run/plots").contains(&"path.png".into()) && at.list("run/plots").contains(&"path.svg".into()));
    let said = at.ok("forecast run --at late.csv --out ahead");
    assert!(said.out.contains("ahead/plots is of an earlier result"), "{}", said.out);
    for command in ["fit early.csv", "forecast run --horizon 1", "score ahead late.csv"] {
        at.refused(&format!("{command} --plots svg"), &["--plots", "--out DIR"]);
    }
}
