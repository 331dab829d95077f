//! Further kinds of fits in a real browser: a size that depends on the state, wrong values, draws of parameters.

use crate::common::browser::Browser;
use crate::common::pages::check_page;
use crate::common::{OU_STABLE, Sandbox};

/// The text of an element.
fn text(browser: &Browser, selector: &str) -> String {
    let found = browser.run(&format!("return document.querySelector({selector:?}).textContent;"));
    found.as_str().unwrap().replace(['\n', '\u{a0}'], "")
}

#[test]
fn a_size_that_depends_on_the_state_stands_in_the_equation() {
    let Some(browser) = Browser::start() else { return };
    let at = Sandbox::new();
    at.ok(&format!("simulate {OU_STABLE} --steps 150 --span 3 --seed 3 --out sim"));
    let given = "--theta 3 --mu 1 --alpha 1.5 --scale 2 --observation-std 0.1";
    at.ok(&format!("fit sim/data.csv {given} --size exp(s*x) --set s=0.1 --paths 50 --steps 150 --out run"));
    browser.open(&at.path("run/report.html"), 1280, false);
    let found = text(&browser, "section[aria-labelledby=finding]");
    assert!(found.contains("dt+e"), "{found}");
    assert!(found.contains("given"), "{found}");
    // Learned, it is described.
    at.ok(&format!("fit sim/data.csv {given} --size exp(s*x) --paths 50 --steps 150 --out learned"));
    browser.open(&at.path("learned/report.html"), 1280, false);
    let found = text(&browser, "section[aria-labelledby=finding] .facts");
    assert!(found.contains("parameter of the size of the noise"), "{found}");
}

#[test]
fn wrong_values_and_draws_of_parameters_are_shown() {
    let Some(browser) = Browser::start() else { return };
    let at = Sandbox::new();
    let day = |k: usize| format!("2024-{:02}-{:02}", 1 + k / 28, 1 + k % 28);
    let value = |k: usize| (0.9 * k as f64).sin() + if k == 70 { 40.0 } else { 0.0 };
    let rows: String = (0..140).map(|k| format!("{},{:.4}\n", day(k), value(k))).collect();
    at.write("sensor.csv", format!("date,level\n{rows}"));
    at.ok("fit sensor.csv --noise nig --errors outliers --bayes --paths 50 --out run");
    check_page(&browser, &at.path("run/report.html"), "outliers");
    browser.open(&at.path("run/report.html"), 1280, false);
    let found = text(&browser, "section[aria-labelledby=finding]");
    assert!(found.contains(" per day") && found.contains("times in days"), "{found}");
    assert!(!found.contains("1/day") && !found.contains("level/"), "{found}");
    let axis = browser.run("return document.querySelector('figure[data-figure=density] .plot').textContent;");
    assert!(axis.as_str().unwrap().contains("step of 12 h"), "{axis}");
}
