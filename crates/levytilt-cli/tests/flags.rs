//! A tour of every help page: each flag that it names does something, and each example that it gives is understood.

use crate::common::{OU_STABLE, Sandbox};
use std::collections::BTreeSet;

/// Flags of a command, from its help.
fn flags(at: &Sandbox, command: &str) -> BTreeSet<String> {
    let help = at.ok(&format!("{command} --help")).out;
    // Below the options come words in which flags are only spoken of.
    let options = help.split_once("\nOptions:\n").unwrap().1;
    let lines = options.lines().filter(|line| line.trim_start().starts_with('-') && line.starts_with("  "));
    let names = lines.filter_map(|line| line.split_whitespace().find(|word| word.starts_with("--")));
    let own = names.map(|name| name.to_string()).filter(|name| name != "--help");
    own.collect()
}

/// What a run says and writes, but for the time it took.
fn outcome(at: &Sandbox, line: &str) -> String {
    let said = at.ok(line);
    let data = if line.starts_with("simulate") { at.read("out/data.csv") } else { String::new() };
    let timeless = said.out.lines().filter(|line| !line.contains("\"seconds") && !line.starts_with("time "));
    timeless.collect::<Vec<_>>().join("\n") + &data
}

/// Try flags, separated by `|`, each beside what is needed for it, and see that each changes the outcome; flags that were
/// tried in other ways are `others`. All flags of the help must be among them.
fn tour(at: &Sandbox, command: &str, tried: &[(&str, &str)], others: &[&str]) {
    let mut known: BTreeSet<String> = others.iter().map(|flag| flag.to_string()).collect();
    for (base, flags) in tried {
        let base = format!("{command} {base}");
        let plain = outcome(at, &base);
        for flag in flags.split('|').map(str::trim) {
            assert_ne!(outcome(at, &format!("{base} {flag}")), plain, "{flag} changes nothing in {base}");
            known.extend(flag.split_whitespace().next().map(String::from));
        }
        // What is always given would be missed if it were not there.
        known.extend(base.split_whitespace().filter(|word| word.starts_with("--")).map(String::from));
    }
    // The flag of the example family, which new_family.rs tries.
    known.extend(cfg!(feature = "two-speed").then(|| "--calm".to_string()));
    let missed: Vec<String> = flags(at, command).difference(&known).cloned().collect();
    assert!(missed.is_empty(), "{command} --help has flags that no test tries: {missed:?}");
}

/// Flags that say how a table is written; the next test tries them for all commands that read one.
const TABLE: [&str; 4] = ["--time-column", "--date-format", "--separator", "--decimal"];

#[test]
fn identity_flags_of_tables_do_something() {
    let at = Sandbox::new();
    let rows: String = (1..=9).map(|k| format!("{k};0{k}/02/2024;{k},234\n")).collect();
    at.write("t.csv", format!("id;date;price\n{rows}"));
    let said = |flags: &str| at.run(&format!("doctor t.csv --json {flags}")).err;
    assert!(said("").contains("--time-column date"));
    assert!(said("--time-column date").contains("--decimal"));
    assert!(said("--time-column date --decimal comma").contains("--date-format %d/%m/%Y"));
    let first = |flags: &str| {
        let found = at.ok(&format!("doctor t.csv --json --time-column date {flags}")).json();
        (found["data"]["last"].to_string(), found["data"]["columns"][1]["mean"].as_f64().unwrap())
    };
    let (last, mean) = first("--decimal comma --date-format %d/%m/%Y");
    assert!(last == "\"2024-02-09\"" && (mean - 5.234).abs() < 1e-12, "{last} {mean}");
    let (last, mean) = first("--decimal point --date-format %m/%d/%Y");
    assert!(last == "\"2024-09-02\"" && (mean - 5234.0).abs() < 1e-9, "{last} {mean}");
    assert!(said("--separator comma").contains("t.csv, line"), "{}", said("--separator comma"));
    // The same flags go before a fit, and stand in its settings.
    let flags = "--time-column date --decimal comma --date-format %d/%m/%Y --separator semicolon --column price";
    let model = "--drift none --noise gaussian --scale 1 --observation-std 0.1";
    at.ok(&format!("exact t.csv {flags} {model} --out out --quiet"));
    for key in ["time_column = \"date\"", "decimal = \"comma\"", "date_format = \"%d/%m/%Y\"", "\"semicolon\""] {
        assert!(at.read("out/settings.toml").contains(key), "{key}");
    }
    at.refused("doctor t.csv --separator x", &["--separator", "comma, semicolon, tab"]);
    at.refused("doctor t.csv --decimal x", &["--decimal", "point or comma"]);
}

/// Rows that do not say how they are written are read as the run's record, or as the flags say.
#[test]
fn identity_rows_after_a_fit_are_read_as_they_are_written() {
    let at = Sandbox::new();
    let row = |k: u32| format!("{k};{:02}.01.2024;{},{:03}\n", k + 1, 1 + k % 3, 100 + 7 * k % 50);
    let rows = |range: std::ops::Range<u32>| "id;date;v\n".to_string() + &range.map(row).collect::<String>();
    at.write("t.csv", rows(0..20));
    at.write("later.csv", rows(20..25));
    let written = "--time-column date --decimal comma --separator semicolon";
    let model = "--drift none --noise gaussian --scale 1 --observation-std 0.1";
    at.ok(&format!("fit t.csv {written} --column v {model} --paths 20 --out run --quiet"));
    at.ok("forecast run --at later.csv --out ahead --quiet");
    at.refused("score ahead later.csv", &["--time-column date"]);
    at.refused("score ahead later.csv --time-column date", &["--decimal comma"]);
    let scored = |flags: &str| {
        at.ok(&format!("score ahead later.csv --json {flags}")).json()["dimensions"][0]["mae"].as_f64().unwrap()
    };
    assert!(
        scored("--time-column date --decimal comma") < 10.0 && scored("--time-column date --decimal point") > 100.0
    );
    at.refused("score ahead later.csv --time-column date --decimal comma --date-format %d/%m/%Y", &["%d/%m/%Y"]);
    at.refused("score ahead later.csv --separator comma", &["later.csv, line"]);
    at.refused("update run later.csv --date-format %d/%m/%Y", &["%d/%m/%Y"]);
    at.refused("update run later.csv --separator comma", &["later.csv, line"]);
    at.refused("update run later.csv --time-column when", &["no such column"]);
    let as_fitted = at.ok("update run later.csv --json").out;
    assert!(as_fitted.contains("\"value\":3.14,"), "{as_fitted}");
}

/// A record of 41 rows in made/data.csv.
fn prepared() -> Sandbox {
    let at = Sandbox::new();
    at.ok(&format!("simulate {OU_STABLE} --steps 40 --span 2 --seed 3 --out made"));
    at
}

#[test]
fn identity_every_flag_of_simulate_does_something() {
    let at = Sandbox::new();
    let rest = "--observation-std 0.1 --steps 20 --span 1 --out out";
    let noise = |noise: &str| format!("--drift none --noise {noise} {rest}");
    let ou = format!("{OU_STABLE} --steps 20 --span 1 --out out");
    let well = format!("--drift double-well --theta1 1 --theta2 1 --noise gaussian --scale 1 {rest}");
    let linear = format!("--drift linear --slope 1 --offset 1 --noise gaussian --scale 1 {rest}");
    let truncated = noise("truncated-stable --alpha 1.5 --scale 1 --tau 0.1 --sigma-g 1");
    let (nig, gamma) = (noise("nig --scale 1 --tempering 1"), noise("variance-gamma --scale 1 --nu 1"));
    let (student, poisson) = (noise("student --dof 3 --scale 1"), noise("compound-poisson --rate 5 --jump-std 1"));
    let skewed = noise("skewed-stable --alpha 1.5 --scale 1 --skew 0.5");
    let upward = noise("skewed-compound-poisson --rate 5 --jump-std 1 --jump-mean 1");
    // Flags that are given twice are refused, so each is tried by leaving its first value out.
    let without = |line: &str, flag: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let place = words.iter().position(|word| *word == flag).unwrap();
        [&words[..place], &words[place + 2..]].concat().join(" ")
    };
    for (line, changes) in [
        (&ou, "--theta 2|--mu 0|--alpha 1.2|--scale 3|--observation-std 0.3|--steps 21|--span 2"),
        (&well, "--theta1 2|--theta2 2"),
        (&linear, "--slope 2|--offset 2"),
        (&truncated, "--tau 0.2|--sigma-g 2"),
        (&nig, "--tempering 2"),
        (&gamma, "--nu 2"),
        (&student, "--dof 4"),
        (&poisson, "--rate 9|--jump-std 2"),
        (&skewed, "--skew -0.5"),
        (&upward, "--jump-mean 2"),
    ] {
        let plain = outcome(&at, &format!("simulate {line}"));
        for change in changes.split('|') {
            let flag = change.split_whitespace().next().unwrap();
            let changed = outcome(&at, &format!("simulate {} {change}", without(line, flag)));
            assert_ne!(changed, plain, "{change} changes nothing in {line}");
        }
    }
    let all = [&ou, &well, &linear, &truncated, &nig, &gamma, &student, &poisson, &skewed, &upward];
    let given: BTreeSet<&str> = all.iter().flat_map(|l| l.split_whitespace()).filter(|w| w.starts_with("--")).collect();
    let others: Vec<&str> = given.into_iter().chain(["--config", "--quiet"]).chain(FORMULA).chain(ERRORS).collect();
    tour(&at, "simulate", &[(&ou, "--x0 1|--x0-std 1|--brownian 1|--every 2|--seed 2|--json")], &others);
    assert_eq!(at.ok(&format!("simulate {ou} --quiet")).out, "");
    let again = outcome(&at, "simulate --config out/settings.toml --out out");
    assert_eq!(again, outcome(&at, &format!("simulate {ou}")));
    at.refused(&format!("simulate {ou} --width 3"), &["--width", "levytilt fit"]);
}

/// Flags of observation errors, which errors.rs tries.
const ERRORS: [&str; 5] = ["--errors", "--error-column", "--error-dof", "--outlier-probability", "--outlier-size"];

/// Flags of formulas, seasons and trading time, which formula.rs and trading.rs try, and of inputs and sizes, which inputs.rs
/// tries.
const FORMULA: [&str; 9] =
    ["--set", "--season", "--harmonics", "--clock", "--volatility", "--inputs", "--between", "--inputs-file", "--size"];

/// Parameters that `exact` and `fit` take, each with the noise or drift that has it.
const PARAMETERS: [(&str, &str); 9] = [
    ("--drift none --noise truncated-stable --alpha 1.5 --scale 2 --sigma-g 0.3", "--tau 0.3|--tau 0.6"),
    ("--drift none --noise tempered-stable --alpha 1.5 --scale 2", "--tempering 1|--tempering 3"),
    ("--drift none --noise variance-gamma --scale 2", "--nu 0.3|--nu 1"),
    ("--drift none --noise student --scale 2", "--dof 2|--dof 5"),
    ("--drift none --noise compound-poisson --jump-std 1", "--rate 20|--rate 40"),
    ("--drift none --noise skewed-nig --scale 2 --tempering 1", "--skew 0.3|--skew -1"),
    ("--drift none --noise skewed-compound-poisson --rate 20 --jump-std 1", "--jump-mean 0.5|--jump-mean -1"),
    ("--drift double-well --theta2 0.3 --noise gaussian --scale 3", "--theta1 1|--theta1 2"),
    ("--drift linear --offset 1 --noise gaussian --scale 3", "--slope -1|--slope -2"),
];

/// Two values of a parameter give two outcomes.
fn values_matter(at: &Sandbox, command: &str) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    for (base, values) in PARAMETERS {
        let runs: BTreeSet<String> =
            values.split('|').map(|value| outcome(at, &format!("{command} {base} {value}"))).collect();
        assert_eq!(runs.len(), 2, "{values} makes no difference in {base}");
        known.extend(format!("{base} {values}").split([' ', '|']).filter(|w| w.starts_with("--")).map(String::from));
    }
    known
}

#[test]
fn identity_every_flag_of_exact_does_something() {
    let at = prepared();
    at.write("two.csv", "time,a,b\n0,1,2\n1,2,2.5\n2,2,3\n3,1.5,2\n");
    let known = values_matter(&at, "exact made/data.csv --observation-std 0.2 --json");
    let others: Vec<&str> = known
        .iter()
        .map(String::as_str)
        .chain(["--config", "--quiet", "--out", "--column", "--columns"])
        .chain(TABLE)
        .chain(FORMULA)
        .chain(ERRORS)
        .collect();
    let most = "made/data.csv --drift ou --noise stable --alpha 1.5 --json";
    let free = "--theta 3 --mu 1 --scale 2 --observation-std 0.1";
    tour(&at, "exact", &[(&format!("{most} {free}"), "--x0 0|--x0-std 3|--brownian 1|--steps 80")], &others);
    for (flag, other) in [("--theta 3", "--theta 2"), ("--mu 1", "--mu 0"), ("--scale 2", "--scale 3")] {
        let changed = outcome(&at, &format!("exact {most} {}", free.replace(flag, other)));
        assert_ne!(changed, outcome(&at, &format!("exact {most} {free}")), "{other}");
    }
    let two = |flag: &str| {
        outcome(&at, &format!("exact two.csv {flag} --drift none --noise gaussian --scale 1 --observation-std 0.1"))
    };
    assert_ne!(two("--column a"), two("--column b"));
    assert_eq!(two("--column a"), two("--columns a"));
    let written = format!("exact {most} {free} --out out --quiet").replace("--json ", "");
    assert_eq!(at.ok(&written).out, "");
    assert_eq!(
        outcome(&at, "exact made/data.csv --config out/settings.toml --json"),
        outcome(&at, &format!("exact {most} {free}"))
    );
    at.refused(&format!("exact {most} {free} --depth 3"), &["--depth", "levytilt fit"]);
}

#[test]
fn identity_every_flag_of_fit_does_something() {
    let at = prepared();
    let quick = "made/data.csv --steps 40 --paths 20 --json";
    let known = values_matter(&at, &format!("fit {quick} --observation-std 0.2"));
    let elsewhere = [
        "--config",
        "--quiet",
        "--out",
        "--plots",
        "--column",
        "--columns",
        "--threads",
        "--iterations",
        "--init",
        "--draws",
        "--panel",
        "--share",
        "--noise-common",
        "--alpha-grid",
    ];
    let others: Vec<&str> =
        known.iter().map(String::as_str).chain(elsewhere).chain(TABLE).chain(FORMULA).chain(ERRORS).collect();
    let free = "--drift ou --noise stable";
    let tried = [
        (
            format!("{quick} {free}"),
            "--observation-std 0.3|--theta 3|--mu 1|--alpha 1.5|--scale 2|--x0 0|--x0-std 9|--brownian 0.5|--seed 2|--method grid|--set theta=2|--jump-above 0.01|--keep-paths 5|--bayes",
        ),
        (format!("{quick} --drift neural --noise gaussian --scale 3"), "--width 4|--depth 1"),
        (format!("{quick} {free} --method neural --iterations 2"), "--alongside|--components 2"),
        (
            format!("{quick} --method paper --iterations 2 --alpha 1.5 --scale 2 --observation-std 0.1 --tau 0.1"),
            "--kl monte-carlo|--gradient published|--motion euler",
        ),
    ];
    let tried: Vec<(&str, &str)> = tried.iter().map(|(base, flags)| (base.as_str(), *flags)).collect();
    tour(&at, "fit", &tried, &others);
    let plain = outcome(&at, &format!("fit {quick} {free}"));
    // Threads change nothing, by promise.
    assert_eq!(outcome(&at, &format!("fit {quick} {free} --threads 1")), plain);
    at.refused(&format!("fit {quick} {free} --iterations 3"), &["--iterations", "--method neural"]);
    at.refused(&format!("fit {quick} {free} --init sweep"), &["--init", "--method neural"]);
}

#[test]
fn identity_every_flag_of_forecast_and_score_does_something() {
    let at = prepared();
    at.ok("fit made/data.csv --theta 3 --alpha 1.5 --scale 2 --steps 40 --paths 20 --out run");
    at.write("later.csv", "time,value\n2.05,1\n2.1,1.5\n2.15,0.5\n");
    let elsewhere = ["--out", "--plots", "--quiet", "--threads", "--horizon", "--inputs-file"];
    tour(
        &at,
        "forecast",
        &[("run --at later.csv --json", "--seed 5|--paths 40|--fixed-parameters|--state")],
        &elsewhere,
    );
    assert_ne!(outcome(&at, "forecast run --horizon 1"), outcome(&at, "forecast run --horizon 2"));
    assert_eq!(outcome(&at, "forecast run --horizon 1"), outcome(&at, "forecast run --horizon 1 --threads 1"));
    assert_eq!(at.ok("forecast run --at later.csv --out ahead --quiet").out, "");
    tour(
        &at,
        "score",
        &[("ahead later.csv --json", "--above 0|--below 2|--seed 7")],
        &[&["--out", "--plots", "--quiet", "--state"], &TABLE[..]].concat(),
    );
    at.refused("score ahead later.csv --state", &["forecasts observations", "forecast with --state"]);
    assert_eq!(at.ok("score ahead later.csv --out scored --quiet").out, "");
}

#[test]
fn identity_every_flag_of_backtest_does_something() {
    let at = prepared();
    at.write(
        "two.csv",
        "time,a,b\n".to_string()
            + &(0..60)
                .map(|k| format!("{k},{},{}\n", 3.0 + f64::from(k * k % 7), 5.0 + f64::from(k * k % 11)))
                .collect::<String>(),
    );
    // A directory of its own for every call: a backtest goes on where it stopped.
    let run = |k: usize, flags: &str| outcome(&at, &format!("backtest two.csv --json --quiet --out b{k} {flags}"));
    let base = "--train 20 --horizon 5 --models random-walk,student-walk --paths 20";
    let plain = run(0, base);
    let changed = [
        "--column a",
        "--columns a",
        "--log-returns",
        "--stride 7",
        "--from 3",
        "--to 50",
        "--reference student-walk",
        "--seed 2",
        "--windows student-walk=2",
    ];
    for (k, flag) in changed.iter().enumerate() {
        assert_ne!(run(k + 1, &format!("{base} {flag}")), plain, "{flag} changes nothing");
    }
    for (k, (old, new)) in
        [("20 ", "25 "), ("5 ", "6 "), ("random-walk,", ""), ("paths 20", "paths 30")].into_iter().enumerate()
    {
        assert_ne!(run(20 + k, &base.replacen(old, new, 1)), plain, "{new}");
    }
    at.refused(&format!("backtest two.csv {base} --least 21 --out e"), &["fewer than 21"]);
    assert_eq!(run(30, &format!("{base} --threads 1")), plain);
    at.refused(&format!("backtest two.csv {base} --error-column b --out f"), &["--error-column"]);
    at.refused(&format!("backtest two.csv {base} --training-steps 5 --out c"), &["--training-steps", "network"]);
    assert_ne!(at.run(&format!("backtest two.csv {base} --cluster tcp://nowhere:1 --out d")).code, 0);
    let tried: BTreeSet<String> = base
        .split_whitespace()
        .chain(changed.iter().flat_map(|f| f.split_whitespace()))
        .chain([
            "--error-column",
            "--least",
            "--threads",
            "--training-steps",
            "--cluster",
            "--out",
            "--plots",
            "--json",
            "--quiet",
        ])
        .chain(TABLE)
        .map(String::from)
        .collect();
    let missed: Vec<String> = flags(&at, "backtest").difference(&tried).cloned().collect();
    assert!(missed.is_empty(), "backtest --help has flags that no test tries: {missed:?}");
}

#[test]
fn identity_flags_of_the_other_commands_are_those_that_are_tested() {
    // Where: compare in compare.rs; demo in demo.rs and program.rs; report in program.rs; update in update.rs; reproduce in reproduce.rs and studies.rs; the rest in
    // program.rs. A flag that is new must find its way into a test, and then into this list.
    let at = Sandbox::new();
    for (command, expected) in [
        ("demo", "--json --out --plots --quiet"),
        ("report", "--no-jump --plots --quiet"),
        (
            "update",
            "--alarm --date-format --decimal --follow --json --jump-above --lag --quiet --refit --separator --threads \
             --time-column",
        ),
        (
            "reproduce",
            "--data --json --models --networks --observation-std --out --paper --plots --quick --quiet --realisations --seed --threads --training-steps --windows",
        ),
        (
            "compare",
            "--between --clock --column --columns --config --date-format --decimal --drift --error-column --errors --harmonics \
             --holdout --inputs --json --method --models --noise --out --paths --plots --quiet --season --seed --separator \
             --set --size --steps --threads --time-column --volatility",
        ),
        ("doctor", "--column --columns --date-format --decimal --error-column --json --separator --time-column"),
        ("init", "--force"),
        ("completions", ""),
        ("man", "--out"),
    ] {
        let found: Vec<String> = flags(&at, command).into_iter().collect();
        assert_eq!(found.join(" "), expected, "{command}");
    }
}
