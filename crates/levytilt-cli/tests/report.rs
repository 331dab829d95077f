//! report.html in a real browser: nothing missing, nothing broken, the same numbers as summary.json.

use crate::common::browser::Browser;
use crate::common::pages::check_page;
use crate::common::{OU_STABLE, Sandbox};
use serde_json::Value;

/// The ends of what a figure shows.
fn view(browser: &Browser, figure: &str) -> [f64; 2] {
    let script = format!("return document.querySelector('figure[data-figure={figure}] .plot svg').dataset.view;");
    let text = browser.run(&script).as_str().unwrap().to_string();
    let ends: Vec<f64> = text.split(' ').map(|end| end.parse().unwrap()).collect();
    [ends[0], ends[1]]
}

#[test]
fn the_report_of_a_fit_shows_what_was_found() {
    let Some(browser) = Browser::start() else { return };
    let at = Sandbox::new();
    at.ok(&format!("simulate {OU_STABLE} --steps 400 --span 4 --seed 3 --out sim"));
    at.ok("fit sim/data.csv --paths 100 --steps 400 --out run");
    let file = at.path("run/report.html");
    check_page(&browser, &file, "fit");
    browser.open(&file, 1280, false);
    let titles = browser.run("return [...document.querySelectorAll('h2')].map((h) => h.id);");
    let sections = ["finding", "path", "parameters", "quality", "residuals", "drift", "noise", "trace"];
    assert_eq!(titles, serde_json::json!(sections));
    // Every check with its verdict, as in summary.json.
    let checks = browser.run(
        "return [...document.querySelectorAll('section[aria-labelledby=residuals] tbody tr')]
             .map((row) => [Number(row.cells[2].dataset.value), row.cells[3].textContent === 'fails']);",
    );
    let mut shown: Vec<(f64, bool)> =
        checks.as_array().unwrap().iter().map(|row| (row[0].as_f64().unwrap(), row[1] == true)).collect();
    let summary = at.json("run/summary.json");
    let known = summary["residuals"]["checks"].as_array().unwrap();
    let mut known: Vec<(f64, bool)> =
        known.iter().map(|check| (check["p_value"].as_f64().unwrap(), check["failed"] == true)).collect();
    shown.sort_by(|a, b| a.0.total_cmp(&b.0));
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert_eq!(shown, known);
    check_numbers(&browser, &at.json("run/summary.json"));
    check_zoom(&browser);
    check_finding(&browser);
    check_saving(&browser);
    let made = browser.run("return document.querySelector('footer').textContent;").as_str().unwrap().to_string();
    assert!(made.contains("levytilt fit sim/data.csv --paths 100 --steps 400 --out run"), "{made}");
    assert!(made.contains(" UTC") && made.contains("[model]"), "{made}");
    // Rendered again, it is the same page.
    let page = at.read("run/report.html");
    std::fs::remove_file(&file).unwrap();
    at.ok("report run");
    assert!(at.read("run/report.html") == page, "another page");
    at.refused("report sim", &["report.json", "fit"]);
}

/// The page leads with the equation, the law with its certainty, and the checks.
fn check_finding(browser: &Browser) {
    let text = browser.run("return document.querySelector('section[aria-labelledby=finding]').textContent;");
    let text = text.as_str().unwrap();
    for part in
        ["d", "x", "dL", "(stable)", "The moves follow stable noise", "tail index", "one-step residuals", "1/theta ="]
    {
        assert!(text.replace(['\n', '\u{a0}'], "").contains(part), "{part} is not in {text}");
    }
}

/// A figure is saved as a picture that needs no style sheet of the page.
fn check_saving(browser: &Browser) {
    let saved = browser.run(
        "let saved = null; const before = HTMLAnchorElement.prototype.click;
         HTMLAnchorElement.prototype.click = function () { saved = [this.download, decodeURIComponent(this.href)]; };
         document.querySelector('figure[data-figure=path] button[title=\"Save as SVG\"]').click();
         HTMLAnchorElement.prototype.click = before; return saved;",
    );
    assert_eq!(saved[0], "path.svg");
    let svg = saved[1].as_str().unwrap();
    for part in ["<svg", "Data and posterior", "90% of the posterior", "stroke: rgb("] {
        assert!(svg.contains(part), "{part} is not in the picture");
    }
}

/// Numbers in the page are those of summary.json, to the last digit.
fn check_numbers(browser: &Browser, summary: &Value) {
    let facts = browser.run(
        "return Object.fromEntries([...document.querySelectorAll('dd')].map((d) => [d.dataset.name, Number(d.dataset.value)]));",
    );
    let names = [
        ("log evidence", "log_evidence"),
        ("ELBO", "elbo"),
        ("effective sample size", "effective_sample_size"),
        ("k̂", "k_hat"),
    ];
    for (name, key) in names {
        assert_eq!(facts[name].as_f64(), summary[key].as_f64(), "{key}");
    }
    let rows = browser.run(
        "return [...document.querySelectorAll('section[aria-labelledby=parameters] tbody tr')]
             .map((row) => [row.cells[0].textContent, Number(row.cells[1].dataset.value), Number(row.cells[2].dataset.value)]);",
    );
    let parameters = summary["parameters"].as_object().unwrap();
    assert_eq!(rows.as_array().unwrap().len(), parameters.len());
    for row in rows.as_array().unwrap() {
        let known = &parameters[row[0].as_str().unwrap()];
        assert_eq!((row[1].as_f64(), row[2].as_f64()), (known["estimate"].as_f64(), known["std_error"].as_f64()));
    }
}

/// Drag, keys and buttons zoom; linked figures follow; hover tells values.
fn check_zoom(browser: &Browser) {
    let whole = view(browser, "path");
    browser.drag("figure[data-figure=path] .plot svg", 0.4, 0.6);
    let near = view(browser, "path");
    assert!(near[1] - near[0] < 0.3 * (whole[1] - whole[0]) && near[0] > whole[0], "{whole:?} {near:?}");
    assert_eq!(view(browser, "jumps"), near, "the figure below did not follow");
    assert!(view(browser, "density")[1] > 0.0);
    browser.press("+");
    let nearer = view(browser, "path");
    assert!(nearer[1] - nearer[0] < 0.7 * (near[1] - near[0]), "{near:?} {nearer:?}");
    // Arrow right, by its code in the protocol.
    browser.press("\u{E014}");
    assert!(view(browser, "path")[0] > nearer[0]);
    let tip = browser.run("return document.querySelector('figure[data-figure=path] .tip').hidden;");
    browser.drag("figure[data-figure=path] .plot svg", 0.5, 0.501);
    let told = browser.run("return document.querySelector('figure[data-figure=path] .tip').textContent;");
    assert!(told.as_str().unwrap().contains("median:"), "{tip} {told}");
    browser.press("0");
    assert_eq!(view(browser, "path"), whole);
    browser.run("document.querySelector('figure[data-figure=density] .zoom button').click();");
    let density = view(browser, "density");
    assert!(density[1] < 100.0 * density[0].abs().max(1e-9) || density[1] > density[0]);
}

#[test]
fn several_dimensions_are_chosen_from() {
    let Some(browser) = Browser::start() else { return };
    let at = Sandbox::new();
    let day = |k: usize| format!("2024-{:02}-{:02}", 1 + k / 28, 1 + k % 28);
    let value = |k: usize, a: f64| (a * k as f64).sin() + if k % 37 == 5 { 3.0 } else { 0.0 };
    let rows: String = (0..150).map(|k| format!("{},{},{}\n", day(k), value(k, 1.3), value(k, 0.7))).collect();
    at.write("two.csv", format!("date,<A&B>,second\n{rows}"));
    at.ok("fit two.csv --noise student --dof 3 --steps 149 --paths 50 --out run");
    let file = at.path("run/report.html");
    check_page(&browser, &file, "dimensions");
    browser.open(&file, 1280, false);
    let shown =
        "return [...document.querySelectorAll('figure')].filter((f) => !f.hidden).map((f) => f.dataset.dimension);";
    let all_are = |name: &str| browser.run(shown).as_array().unwrap().iter().all(|found| found == name);
    assert!(all_are("<A&B>"));
    browser.run(
        "const d = document.getElementById('dimension'); d.value = 'second'; d.dispatchEvent(new Event('change'));",
    );
    assert!(all_are("second"));
    let label = browser.run("return document.querySelector('figure:not([hidden]) .plot').textContent;");
    assert!(label.as_str().unwrap().contains("2024-0"), "{label}");
}

#[test]
fn forecasts_and_scores_have_pages() {
    let Some(browser) = Browser::start() else { return };
    let at = Sandbox::new();
    at.ok(&format!("simulate {OU_STABLE} --steps 300 --span 3 --seed 3 --out sim"));
    at.cut_record(252);
    at.ok("fit early.csv --theta 3 --mu 1 --alpha 1.5 --scale 2 --observation-std 0.1 --paths 100 --out run");
    at.ok("forecast run --at late.csv --paths 400 --out ahead");
    check_page(&browser, &at.path("ahead/report.html"), "forecast");
    browser.open(&at.path("ahead/report.html"), 1280, false);
    let facts = browser.run("return [...document.querySelectorAll('dd')].map((d) => Number(d.dataset.value));");
    let summary = at.json("ahead/summary.json");
    for (k, key) in ["q05", "median", "q95"].iter().enumerate() {
        assert_eq!(facts[k], summary[key], "{key}");
    }
    let legend = browser.run("return document.querySelector('.legend').textContent;");
    assert!(legend.as_str().unwrap().contains("end of the record"), "{legend}");
    at.ok("score ahead late.csv --out scored");
    check_page(&browser, &at.path("scored/report.html"), "score");
    browser.open(&at.path("scored/report.html"), 1280, false);
    let crps = browser
        .run("return Number(document.querySelector('section[aria-labelledby=scores] td[data-value]').dataset.value);");
    assert_eq!(crps, at.json("scored/scores.json")["dimensions"][0]["crps"]);
}

#[test]
fn models_of_a_backtest_can_be_sorted() {
    let Some(browser) = Browser::start() else { return };
    let at = Sandbox::new();
    let model = |name: &str, crps: f64, difference: Value| {
        let levels: Vec<Value> = (1..20)
            .map(|k| serde_json::json!({"level": 0.05 * f64::from(k), "observed": 0.048 * f64::from(k)}))
            .collect();
        let steps: Vec<Value> =
            (1..9).map(|k| serde_json::json!({"step": k, "windows": 4, "crps": crps * f64::from(k).sqrt()})).collect();
        serde_json::json!({
            "name": name, "crps": crps, "energy_score": null, "tail_crps": 0.1 * crps, "jump_crps": [], "mse": crps * crps,
            "mae": 1.4 * crps, "coverage": [{"level": 0.9, "observed": 0.88}], "reliability": levels,
            "pit_histogram": [9, 11, 12, 8], "crps_by_step": steps, "crps_by_dimension": [crps],
            "crps_by_window": [crps, 2.0 * crps, 0.5 * crps, crps], "difference": difference, "energy_difference": null,
            "seconds_per_window": 0.5
        })
    };
    let better = serde_json::json!({"mean": -0.2, "low": -0.3, "high": -0.1, "p_value": 0.01, "better": 0.75});
    let scores = serde_json::json!({
        "data": "prices.csv", "dimensions": ["close"], "settings": {}, "unit": "log price", "reference": "random-walk",
        "windows": ["2024-01-01", "2024-01-03", "2024-01-05", "2024-01-07"], "skipped": [], "failed": [],
        "models": [model("random-walk", 1.0, Value::Null), model("tilt", 0.8, better.clone()), model("garch", 0.9, better)],
        "version": "0.1.0", "warnings": []
    });
    std::fs::create_dir(at.path("test")).unwrap();
    at.write("test/scores.json", scores.to_string());
    at.ok("report test");
    check_page(&browser, &at.path("test/report.html"), "backtest");
    browser.open(&at.path("test/report.html"), 1280, false);
    let order =
        "return [...document.querySelectorAll('table.sortable tbody tr')].map((r) => r.cells[0].textContent).join();";
    assert_eq!(browser.run(order), "random-walk,tilt,garch");
    browser.run("document.querySelectorAll('table.sortable th button')[1].click();");
    assert_eq!(browser.run(order), "tilt,garch,random-walk");
    browser.run("document.querySelectorAll('table.sortable th button')[1].click();");
    assert_eq!(browser.run(order), "random-walk,garch,tilt");
}
