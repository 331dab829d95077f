//! Models that are wrong, or too much: every one a clear error with a caret or a key.

use crate::common::Sandbox;
use crate::file_refused;

/// A sandbox with a record of two columns.
fn sandbox() -> Sandbox {
    let at = Sandbox::new();
    let rows: String = (0..40).map(|k| format!("{k},{},{}\n", (0.7 * f64::from(k)).sin() - 0.2, k % 5)).collect();
    at.write("data.csv", format!("time,value,wind\n{rows}"));
    at
}

/// Refused as the drift of one column, as a state of several, and as the size of the noise.
fn everywhere(at: &Sandbox, what: &str, formula: &str, parts: &[&str]) {
    at.write("model.toml", format!("[model]\ndrift = \"{formula}\"\n"));
    file_refused(at, what, "fit data.csv --column value --config model.toml", &[&["model.toml"], parts].concat());
    at.write("model.toml", format!("[model]\nsize = \"{formula}\"\n"));
    file_refused(at, what, "fit data.csv --column value --config model.toml", &[&["model.toml"], parts].concat());
    let states = format!("[states]\nx = \"{formula}\"\n[noise.n]\nfamily = \"gaussian\"\non = \"x\"\n");
    at.write("model.toml", format!("{states}[observe.value]\nof = \"x\"\n"));
    file_refused(at, what, "fit data.csv --config model.toml", parts);
}

#[test]
fn formulas_that_are_too_much_are_refused() {
    let at = sandbox();
    let million = 1_000_000;
    let cases = [
        ("10⁶ nested parentheses", "(".repeat(million) + "x" + &")".repeat(million), "characters; at most 10000"),
        ("10⁶ open parentheses", "(".repeat(million), "characters; at most 10000"),
        ("10⁶ signs", "-".repeat(million) + "x", "characters; at most 10000"),
        ("10⁶ terms", "x".to_string() + &"+x".repeat(million), "characters; at most 10000"),
        ("10⁶ powers", "x".to_string() + &"^x".repeat(million), "characters; at most 10000"),
        ("10⁶ calls", "sin(".repeat(million), "characters; at most 10000"),
        ("a name of 10⁶ letters", "-x*".to_string() + &"k".repeat(million), "characters; at most 10000"),
        ("a name of 5000 letters", "-x*".to_string() + &"k".repeat(5000), "this name has 5000 characters"),
        ("a label of 5000 letters", format!("-x*k[{}]", "k".repeat(5000)), "this name has 5003 characters"),
        ("4999 nested parentheses", "(".repeat(4999) + "x" + &")".repeat(4999), "nested more than 200 levels"),
        ("9000 signs", "-".repeat(9000) + "x", "nested more than 200 levels"),
        ("4000 powers", "x".to_string() + &"^x".repeat(4000), "nested more than 200 levels"),
        ("2000 calls", "sin(".repeat(2000), "nested more than 200 levels"),
        ("1500 parameters", (0..1500).map(|k| format!("k{k}+")).collect::<String>() + "x", "one parameter too many"),
    ];
    for (what, formula, part) in &cases {
        everywhere(&at, what, formula, &["column", part, "^"]);
    }
}

#[test]
fn numbers_that_are_none_are_refused() {
    let at = sandbox();
    for (formula, part) in [
        ("1/0", "1/0 has no finite value"),
        ("x/0", "x/0 divides by 0"),
        ("-x/(2 - 2)", "divides by 0"),
        ("x*0^-1", "0^-1 has no finite value"),
        ("x^1e400", "1e400 is too large"),
        ("x + 2^1e300", "2^1e300 has no finite value"),
        ("x + 10^10^10", "has no finite value"),
        ("x + exp(exp(100))", "has no finite value"),
        ("x + log(0)", "log(0) has no finite value"),
        ("x + sqrt(-1)", "sqrt(-1) has no finite value"),
    ] {
        everywhere(&at, formula, formula, &["column", part, "^"]);
    }
}

/// A size must be positive wherever the state goes.
#[test]
fn sizes_that_are_negative_are_refused() {
    let at = sandbox();
    for size in ["-1", "0", "x", "0 - s^2", "0*x", "log(0.5)"] {
        at.write("model.toml", format!("[model]\nsize = \"{size}\"\n"));
        let place = format!("size {size}");
        file_refused(&at, size, "fit data.csv --column value --config model.toml", &[&place, "positive"]);
    }
    // Of what is given, the state at which it fails is named.
    at.write(
        "model.toml",
        "[model]\nsize = \"1 + s*x\"\nalpha = 1.5\nscale = 1\nobservation_std = 0.1\n[parameters]\ns = -3\n",
    );
    let given = "exact data.csv --column value --theta 1 --mu 0 --config model.toml";
    file_refused(&at, "negative at some states", given, &["size 1 + s*x", "at state x = ", "s = -3"]);
}

/// Nothing is defined by a name that could lead back to it: parameters are numbers, inputs are columns, and states appear in
/// each other's formulas as they should.
#[test]
fn definitions_in_a_circle_cannot_be_written() {
    let at = sandbox();
    let tail = "[noise.n]\nfamily = \"gaussian\"\non = \"x\"\n[observe.value]\nof = \"x\"\n";
    for (what, text, parts) in [
        (
            "parameters by parameters",
            "[model]\ndrift = \"a*x\"\n[parameters]\na = \"b\"\nb = \"a\"\n",
            &["a", "expected a number"][..],
        ),
        (
            "an input by an input",
            "[model]\ndrift = \"a*x + u + v\"\n[inputs]\nu = { column = \"v\" }\nv = { column = \"u\" }\n",
            &["no value column \"v\"", "it has: value, wind"],
        ),
        (
            "a state that nobody has",
            "[states]\nx = \"-x\"\n[noise.n]\nfamily = \"gaussian\"\non = \"y\"\n",
            &["[noise.n]", "y is not a state"],
        ),
        (
            "a column that sees itself",
            &format!("[states]\nx = \"-x\"\n{}", tail.replace("of = \"x\"", "of = \"value\"")),
            &["[observe.value]", "value is not a state"],
        ),
        (
            "a noise on a noise",
            &format!("[states]\nx = \"-x\"\n{}", tail.replace("on = \"x\"", "on = \"n\"")),
            &["[noise.n]", "n is not a state"],
        ),
    ] {
        at.write("model.toml", text);
        let column = if text.contains("[states]") { "" } else { "--column value" };
        file_refused(&at, what, &format!("fit data.csv {column} --config model.toml"), parts);
    }
    let long = "s".repeat(1_000_000);
    at.write(
        "model.toml",
        format!("[states]\n{long} = \"-{long}\"\n{}", tail.replace("\"x\"", &format!("\"{long}\""))),
    );
    file_refused(&at, "a state of 10⁶ letters", "fit data.csv --config model.toml", &["name \"sss", "too long"]);
}
