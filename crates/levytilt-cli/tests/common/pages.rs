//! What every page must keep, in a real browser.
#![allow(dead_code)]

use super::browser::Browser;
use std::path::Path;

/// What is wrong with every page, if anything: console, figures without a drawing, references to other files.
pub fn check_page(browser: &Browser, file: &Path, name: &str) {
    let html = std::fs::read_to_string(file).unwrap();
    for outside in ["src=\"", "href=\"http", "@import", "url(http"] {
        assert!(!html.contains(outside), "{name} refers to something outside: {outside}");
    }
    for (width, dark, kind) in [(1280, false, "light"), (1280, true, "dark"), (390, false, "phone")] {
        browser.open(file, width, dark);
        let empty = browser.run(
            "return [...document.querySelectorAll('figure')].filter((f) => f.offsetParent !== null)
                 .filter((f) => !f.querySelector('.plot g[clip-path]')?.children.length).map((f) => f.dataset.figure);",
        );
        assert_eq!(empty, serde_json::json!([]), "{name}, {kind}: figures with nothing drawn");
        let wide = browser.run("return document.documentElement.scrollWidth - innerWidth;").as_f64().unwrap();
        assert!(wide <= 0.0, "{name}, {kind}: {wide} pixels too wide");
        let cut = browser.run(
            "const inside = (a, b) => a.left > b.left - 1 && a.right < b.right + 1 && a.top > b.top - 1 && a.bottom < b.bottom + 1;
             return [...document.querySelectorAll('.plot text.label')].filter((t) => t.getClientRects().length
                 && !inside(t.getBoundingClientRect(), t.closest('svg').getBoundingClientRect())).map((t) => t.textContent);",
        );
        assert_eq!(cut, serde_json::json!([]), "{name}, {kind}: labels that are cut");
        browser.picture(&format!("{name}-{kind}.png"), width);
        assert_eq!(browser.console(), Vec::<String>::new(), "{name}, {kind}");
    }
    check_paper(browser, file, name);
    check_tables(browser, name);
    let text = browser.run("return document.body.innerText;").as_str().unwrap().to_string();
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    let found = words.find(|word| ["NaN", "undefined", "null", "Infinity"].contains(word));
    assert!(found.is_none(), "{name}: {found:?} on the page");
}

/// On paper: dark ink on white whatever the screen, no buttons, no figure or table wider or a figure higher than a sheet.
fn check_paper(browser: &Browser, file: &Path, name: &str) {
    // A4 without margins, in pixels.
    let (width, height) = (703, 1009);
    for dark in [false, true] {
        browser.open(file, width, dark);
        browser.on_paper(dark);
        browser.run("document.documentElement.dataset.theme = 'dark'; dispatchEvent(new Event('beforeprint'));");
        let found = browser.run(
            "const seen = (e) => e.getClientRects().length > 0, all = (s) => [...document.querySelectorAll(s)].filter(seen);
             const light = (c) => c.match(/[\\d.]+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0) / 3;
             const style = getComputedStyle(document.body), figures = all('figure');
             return {controls: all('nav, .tools, .zoom, .hint, details, .tip, .select').length,
                     paper: light(style.backgroundColor), ink: light(style.color), figures: figures.length,
                     line: light(getComputedStyle(document.querySelector('.frame') || document.body).stroke || 'rgb(0,0,0)'),
                     broken: figures.filter((f) => getComputedStyle(f).breakInside !== 'avoid').length,
                     high: Math.max(0, ...figures.map((f) => f.getBoundingClientRect().height)),
                     letters: Math.min(99, ...figures.map((f) => { const s = f.querySelector('.plot svg');
                         return 12 * s.getBoundingClientRect().width / s.viewBox.baseVal.width; })),
                     wide: document.documentElement.scrollWidth};",
        );
        let of = |key: &str| found[key].as_f64().unwrap();
        assert_eq!((of("controls"), of("broken")), (0.0, 0.0), "{name}: {found}");
        assert!(of("paper") > 250.0 && of("ink") < 60.0 && of("line") < 170.0, "{name}: {found}");
        assert!(of("figures") > 0.0 && of("high") < f64::from(height), "{name}: {found}");
        assert!(of("wide") <= f64::from(width), "{name}: {found}");
        // Letters of 12 pixels on the screen stay readable.
        assert!(of("letters") > 9.0, "{name}: {found}");
        browser.picture(&format!("{name}-paper{}.png", if dark { "-dark" } else { "" }), width);
    }
    browser.open(file, 1280, false);
    browser.printed(&format!("{name}.pdf"));
    browser.open(file, 1280, false);
}

/// Every figure has a table that opens and holds numbers.
fn check_tables(browser: &Browser, name: &str) {
    let empty = browser.run(
        "const all = [...document.querySelectorAll('figure details')];
         all.forEach((d) => { d.open = true; d.dispatchEvent(new Event('toggle')); });
         return [all.length - document.querySelectorAll('figure').length,
                 all.filter((d) => d.querySelectorAll('tbody td').length === 0).length];",
    );
    assert_eq!(empty, serde_json::json!([0, 0]), "{name}: figures without a table, tables without numbers");
}
