//! Every other kind of page in a real browser: written-out states, wrong values, draws of parameters, comparisons, panels.

mod common;

use common::browser::Browser;
use common::pages::check_page;
use common::{OU_STABLE, Sandbox};

/// The text of an element.
fn text(browser: &Browser, selector: &str) -> String {
    let found = browser.run(&format!("return document.querySelector({selector:?}).textContent;"));
    found.as_str().unwrap().replace(['\n', '\u{a0}'], "")
}

#[test]
fn written_out_states_lead_with_their_equations() {
    let Some(browser) = Browser::start() else { return };
    let at = Sandbox::new();
    let place = |k: i32| if k < 20 { 0.0 } else { 1.0 - (-0.1 * f64::from(k - 20)).exp() };
    let rows: String = (0..60).map(|k| format!("{},{:.4}\n", 0.1 * f64::from(k), place(k))).collect();
    at.write("track.csv", format!("seconds,position\n{rows}"));
    at.write(
        "velocity.toml",
        "[states]\nx = \"v\"\nv = \"-c*v\"\n[noise.kick]\nfamily = \"stable\"\non = \"v\"\nalpha = 1.5\nscale = 1.0\n\
         [observe.position]\nof = \"x\"\nstd = 0.05\n[parameters]\nc = { guess = 1.0, low = 0.0 }\n",
    );
    at.ok("fit track.csv --config velocity.toml --paths 30 --out run");
    check_page(&browser, &at.path("run/report.html"), "states");
    browser.open(&at.path("run/report.html"), 1280, false);
    let found = text(&browser, "section[aria-labelledby=finding]");
    // dx/dt has no noise of its own; dv has.
    assert!(found.contains("dxdt=v") && found.contains("dv=") && found.contains("dL(kick)"), "{found}");
    assert_eq!(text(&browser, "section[aria-labelledby=path] h3"), "x: posterior");
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

#[test]
fn comparisons_and_panels_have_pages() {
    let Some(browser) = Browser::start() else { return };
    let at = Sandbox::new();
    at.ok(&format!("simulate {OU_STABLE} --steps 120 --span 3 --seed 3 --out sim"));
    at.ok("compare sim/data.csv --noise stable,gaussian --paths 50 --out which");
    check_page(&browser, &at.path("which/report.html"), "comparison");
    let data = at.read("sim/data.csv");
    let long = |id: &str| data.lines().skip(1).map(|line| format!("{id},{line}\n")).collect::<String>();
    at.write("long.csv", format!("pump,time,level\n{}{}", long("north"), long("south")));
    at.ok("fit long.csv --panel pump --time-column time --theta 3 --mu 1 --noise nig --paths 30 --out panel");
    check_page(&browser, &at.path("panel/index.html"), "panel");
    browser.open(&at.path("panel/index.html"), 1280, false);
    let row = text(&browser, "section[aria-labelledby=series] tbody tr");
    assert!(row.starts_with("north121") && row.contains('±'), "{row}");
}
