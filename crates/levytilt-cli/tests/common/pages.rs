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
    for (width, dark, kind) in
        [(1280, false, "light"), (1280, true, "dark"), (400, false, "phone"), (400, true, "phone-dark")]
    {
        browser.open(file, width, dark);
        let empty = browser.run(
            "return [...document.querySelectorAll('figure')].filter((f) => f.offsetParent !== null)
                 .filter((f) => !f.querySelector('.plot g[clip-path]')?.children.length).map((f) => f.dataset.figure);",
        );
        assert_eq!(empty, serde_json::json!([]), "{name}, {kind}: figures with nothing drawn");
        check_width(browser, name, kind, width);
        check_contrast(browser, name, kind);
        let cut = browser.run(
            "const inside = (a, b) => a.left > b.left - 1 && a.right < b.right + 1 && a.top > b.top - 1 && a.bottom < b.bottom + 1;
             return [...document.querySelectorAll('.plot text:not(.size)')].filter((t) => t.getClientRects().length
                 && !inside(t.getBoundingClientRect(), t.closest('svg').getBoundingClientRect())).map((t) => t.textContent);",
        );
        assert_eq!(cut, serde_json::json!([]), "{name}, {kind}: labels that are cut");
        let touching = browser.run(
            "const box = (t) => t.getBoundingClientRect(), hit = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom - 4 && b.top < a.bottom - 4;
             return [...document.querySelectorAll('.plot svg')].filter((s) => s.getClientRects().length).flatMap((s) => {
                 const texts = [...s.querySelectorAll('text:not(.label):not(.size)')];
                 return texts.filter((t, i) => texts.some((u, j) => j < i && hit(box(t), box(u)))).map((t) => t.textContent); });",
        );
        assert_eq!(touching, serde_json::json!([]), "{name}, {kind}: labels that run into each other");
        browser.picture(&format!("{name}-{kind}.png"), width);
        assert_eq!(browser.console(), Vec::<String>::new(), "{name}, {kind}");
    }
    check_paper(browser, file, name);
    check_rules(browser, name);
    check_tables(browser, name);
    let text = browser.run("return document.body.innerText;").as_str().unwrap().to_string();
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    let found = words.find(|word| ["NaN", "undefined", "null", "Infinity"].contains(word));
    assert!(found.is_none(), "{name}: {found:?} on the page");
    let made = browser.run("return document.querySelector('footer .made').textContent;");
    assert!(made.as_str().unwrap().contains("Made by levytilt"), "{name}: {made}");
}

/// Nothing lies beyond the edge; on a phone no table has to be scrolled sideways, but for the numbers of a figure.
fn check_width(browser: &Browser, name: &str, kind: &str, width: u32) {
    let wide = browser.run(
        "const room = document.documentElement.clientWidth;
         return [document.documentElement.scrollWidth - room,
                 [...document.querySelectorAll('main *')].filter((e) => e.getClientRects().length && !e.closest('.scroll table')
                     && !e.closest('svg') && e.getBoundingClientRect().right > room + 0.5).map((e) => e.outerHTML.slice(0, 80)),
                 [...document.querySelectorAll('section > .scroll')].filter((e) => e.scrollWidth > e.clientWidth)
                     .map((e) => e.getAttribute('aria-label').slice(0, 60))];",
    );
    assert!(wide[0].as_f64().unwrap() <= 0.0, "{name}, {kind}: {wide} too wide");
    assert_eq!(wide[1], serde_json::json!([]), "{name}, {kind}: beyond the edge");
    if width < 640 {
        assert_eq!(wide[2], serde_json::json!([]), "{name}, {kind}: tables with columns out of sight");
    }
}

/// Text has the contrast that WCAG 2 asks for at level AA, 4.5 to 1.
fn check_contrast(browser: &Browser, name: &str, kind: &str) {
    let weak = browser.run(
        "const parse = (c) => { const v = c.match(/[\\d.]+/g).map(Number); return c.startsWith('color(srgb') ? v.map((x, k) => k < 3 ? 255 * x : x) : v; };
         const light = (c) => { const [r, g, b] = c.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
             return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
         const behind = (e) => { for (let p = e; p; p = p.parentElement) { const c = parse(getComputedStyle(p).backgroundColor);
             if (c.length < 4 || c[3] === 1) return c; } return [255, 255, 255]; };
         const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
         const own = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
         return [...document.querySelectorAll('body *')].filter((e) => own(e) && e.getClientRects().length && !e.closest('script, noscript'))
             .filter((e) => { const s = getComputedStyle(e), ink = e.closest('svg') ? s.fill : s.color;
                 let seen = 1; for (let p = e; p; p = p.parentElement) seen *= Number(getComputedStyle(p).opacity);
                 return seen < 1 || ratio(parse(ink), behind(e)) < 4.5; })
             .map((e) => e.tagName + ' ' + e.className + ': ' + e.textContent.slice(0, 30)).slice(0, 5);",
    );
    assert_eq!(weak, serde_json::json!([]), "{name}, {kind}: text of little contrast");
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
             return {words: (document.body.innerText.match(/\\b(click|zoom|drag|hover|legend)\\w*/gi) || []).join(' '),
                     there: document.querySelectorAll('figure').length, controls: all('nav, .tools, .zoom, .hint, details, .tip, .select').length,
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
        assert_eq!(found["words"], "", "{name}: what cannot be done with paper");
        assert!((of("figures") > 0.0 || of("there") == 0.0) && of("high") < f64::from(height), "{name}: {found}");
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

/// What the rules of axe-core find, if its file is named by `LEVYTILT_AXE` (axe.min.js of the package axe-core): nothing.
fn check_rules(browser: &Browser, name: &str) {
    let Ok(rules) = std::env::var("LEVYTILT_AXE").map(|path| std::fs::read_to_string(path).unwrap()) else { return };
    let script = format!(
        "const done = arguments[0]; {rules};
         axe.run().then((found) => done(found.violations.map((v) => [v.id, v.impact, v.nodes[0].html.slice(0, 200)])));"
    );
    assert_eq!(browser.run_later(&script), serde_json::json!([]), "{name}: findings of axe-core");
}
