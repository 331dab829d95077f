//! Pages of the paper's studies and of a fit by networks, in a real browser.

use crate::common::browser::Browser;
use crate::common::pages::check_page;
use crate::common::{OU_STABLE, Sandbox, two_prices};
use serde_json::{Value, json};

/// What `sets.jsonl` holds of a quick study with networks: made figures, so that nothing is left to compute.
fn synthetic_journal() -> String {
    let settings = json!({"study": "synthetic", "seed": 1, "version": env!("CARGO_PKG_VERSION")});
    let mut lines = vec![settings.to_string()];
    for (k, alpha) in [1.2, 1.5, 1.8].into_iter().enumerate() {
        for (system, shift) in [("ou", 0.2), ("double-well", 0.1)] {
            let way = |name: &str, crps: f64, error: f64| {
                json!({"name": name, "found": [1.0 + error, 2.0 - error], "seconds": 2.5, "error": null,
                       "scores": {"crps": crps, "jump_crps": [crps, 1.1 * crps, 1.2 * crps, 1.5 * crps]}})
            };
            let floor = shift + 0.05 * k as f64;
            let rows = [way("tilt", 1.01 * floor, 0.3), way("gaussian", 2.0 * floor, 1.5), way("exact", floor, 0.0)];
            let set = json!({"system": system, "alpha": alpha, "observation_std": 0.1, "realisation": 0});
            // The OU returns fast, the double well slowly (its rate is twice its first parameter).
            let truth = if system == "ou" { [1.0, 2.0] } else { [0.4, 2.0] };
            lines.push(json!({"set": set, "truth": truth, "rows": rows}).to_string());
            let trained = [way("neural", 1.05 * floor, 0.3)];
            lines.push(json!({"set": set, "truth": truth, "rows": trained}).to_string());
        }
    }
    lines.join("\n") + "\n"
}

/// Numbers of a column of the sortable table in a section, in their order on the page.
fn column(browser: &Browser, section: &str, table: usize, name: &str) -> Vec<f64> {
    let script = format!(
        "const t = document.querySelectorAll('section[aria-labelledby={section}] table.sortable')[{table}];
         const k = [...t.tHead.rows[0].cells].findIndex((c) => c.textContent === {name:?});
         return [...t.tBodies[0].rows].map((r) => Number(r.cells[k].dataset.value));"
    );
    browser.run(&script).as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

#[test]
fn the_synthetic_study_has_a_page() {
    let Some(browser) = Browser::start() else { return };
    let at = Sandbox::new();
    std::fs::create_dir(at.path("quick")).unwrap();
    at.write("quick/sets.jsonl", synthetic_journal());
    at.ok("reproduce synthetic --quick --networks 1 --out quick --plots png");
    let file = at.path("quick/report.html");
    check_page(&browser, &file, "synthetic");
    browser.open(&file, 1280, false);
    let cells = at.json("quick/table.json")["cells"].as_array().unwrap().clone();
    let ours = |cell: &Value, way: usize| cell["ways"][way]["crps"].as_f64().unwrap();
    let together: Vec<&Value> = cells.iter().filter(|cell| cell["alpha"].is_null()).collect();
    let expected: Vec<f64> = together.iter().map(|cell| ours(cell, 0)).collect();
    assert_eq!(column(&browser, "overview", 0, "CRPS, tilt"), expected);
    let papers: Vec<f64> = together.iter().map(|cell| cell["published"]["crps"][1].as_f64().unwrap()).collect();
    assert_eq!(column(&browser, "overview", 0, "CRPS, paper: tilted stable"), papers);
    assert_eq!(column(&browser, "study-1", 0, "α"), [1.2, 1.5, 1.8]);
    // The error of θ₁ of the double well: ours, and that of the paper's table.
    assert_eq!(column(&browser, "study-1", 1, "tilt").len(), 3);
    assert_eq!(column(&browser, "study-1", 1, "paper: tilted stable"), [0.79, 1.39, 1.19]);
    let near = |found: Vec<f64>, expected: f64| {
        assert!(!found.is_empty() && found.iter().all(|f| (f - expected).abs() < 1e-9), "{found:?}, not {expected}");
    };
    // Once per index and once for all, of both systems; tilt's error is that of the made figures.
    assert_eq!(column(&browser, "networks", 0, "neural").len(), 8);
    near(column(&browser, "networks", 0, "neural / exact"), 1.05);
    assert_eq!(at.json("quick/table.json")["returning"][0]["system"], "ou");
    assert_eq!(at.json("quick/table.json")["lingering"][0]["system"], "double-well");
    assert_eq!(column(&browser, "returns", 0, "first parameter, tilt").len(), 2);
    near(column(&browser, "returns", 0, "first parameter, tilt")[..1].to_vec(), 0.3);
    let table = std::fs::read_to_string(at.path("quick/table.md")).unwrap();
    assert!(table.contains("| Ornstein–Uhlenbeck | 0.1 | 1.2 | 1 | 0.2000 | 0.2020 | 0.2100 | 1.050 |"), "{table}");
    assert!(at.list("quick/plots").contains(&"crps-1.png".into()), "{:?}", at.list("quick/plots"));
}

#[test]
fn studies_on_prices_have_a_page() {
    let Some(browser) = Browser::start() else { return };
    let at = Sandbox::new();
    at.write("prices.csv", two_prices());
    let models = "random-walk,student-walk,student-walk+clock+adaptive";
    at.ok(&format!("reproduce univariate --quick --data prices.csv --models {models} --out two --plots svg"));
    let file = at.path("two/report.html");
    check_page(&browser, &file, "univariate");
    browser.open(&file, 1280, false);
    let table = at.json("two/table.json");
    let mut expected: Vec<f64> =
        table[0]["scores"]["models"].as_array().unwrap().iter().map(|m| m["crps"].as_f64().unwrap()).collect();
    expected.extend(table[0]["published"].as_array().unwrap().iter().map(|m| m["crps"].as_f64().unwrap()));
    assert_eq!(column(&browser, "part-NVDA", 0, "CRPS"), expected);
    browser.run("document.querySelectorAll('section[aria-labelledby=part-NVDA] table.sortable th button')[2].click();");
    expected.sort_by(f64::total_cmp);
    assert_eq!(column(&browser, "part-NVDA", 0, "CRPS"), expected);
    assert!(at.list("two/plots").contains(&"reliability-GOOGL.svg".into()));
    // Long names below a figure do not run into each other.
    let touching = browser.run(
        "const texts = [...document.querySelectorAll('figure[data-figure=models-NVDA] .plot text')]
             .filter((t) => t.textContent.includes('walk') || t.textContent.includes('paper')).map((t) => t.getBoundingClientRect());
         return texts.filter((a, i) => texts.some((b, j) => j < i && a.left < b.right && b.left < a.right && a.top < b.bottom - 3 && b.top < a.bottom - 3)).length;",
    );
    assert_eq!(touching, 0);
}

#[test]
fn trained_networks_are_shown() {
    let Some(browser) = Browser::start() else { return };
    let at = Sandbox::new();
    at.ok(&format!("simulate {OU_STABLE} --steps 100 --span 2 --seed 5 --out sim"));
    at.ok(
        "fit sim/data.csv --config sim/settings.toml --method neural --iterations 40 --paths 60 --steps 100 --out run",
    );
    let file = at.path("run/report.html");
    check_page(&browser, &file, "neural");
    browser.open(&file, 1280, false);
    let shown = browser.run(
        "return [...document.querySelectorAll('section[aria-labelledby=networks] figure')].map((f) => f.dataset.figure);",
    );
    assert_eq!(shown, json!(["training", "references", "firmness", "pull"]));
    // One iteration per point of the trace; all reference times are in the histogram; no colour that the page lacks.
    let numbers = browser.run(
        "const f = JSON.parse(document.getElementById('figures').textContent), r = f.references.columns;
         const area = r.density.values.reduce((s, d, k) => s + d * (r.to.values[k] - r.from.values[k]), 0);
         const style = getComputedStyle(document.documentElement);
         const odd = Object.values(f).flatMap((g) => g.layers).map((l) => l.tone).filter((t) => !style.getPropertyValue('--' + t));
         return [f.training.columns.bound.values.length, area, odd.length];",
    );
    assert!((40..=41).contains(&numbers[0].as_u64().unwrap()), "{numbers}");
    assert!((numbers[1].as_f64().unwrap() - 1.0).abs() < 0.02, "{numbers}");
    assert_eq!(numbers[2], 0, "colours that the page does not have");
    // Figures over time move together with the record.
    browser.drag("figure[data-figure=path] .plot svg", 0.4, 0.6);
    let views = browser.run(
        "return ['path', 'references', 'firmness', 'pull'].map((id) => document.querySelector(`figure[data-figure=${id}] .plot svg`).dataset.view);",
    );
    assert!(views.as_array().unwrap().iter().all(|view| view == &views[0]), "{views}");
}
