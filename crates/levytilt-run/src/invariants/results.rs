//! Results: what `fit`, `forecast` and `backtest` leave in a directory, after somebody else had it.

use levytilt_baselines::Record;
use serde_json::json;
use std::fs;
use std::io::Cursor;

use super::in_directory;
use crate::directory::journal::Journal;
use crate::directory::state::{MODEL, NETWORK, STATE, State};
use crate::directory::tensors::Tensors;
use crate::directory::{networks, npz, npz_read};
use crate::report::figure::Figure;
use crate::report::page::Page;
use crate::report::{self, PlotFormat};
use crate::workflow::backtest::score::Line;
use crate::workflow::backtest::summary::{Entry, Judged, summarise};
use crate::workflow::backtest::windows::Case;
use crate::workflow::forecast::files::Ahead;
use crate::workflow::forecast::{Look, Origin};

/// A safetensors file: reads back bit for bit, and a network has as many weights as were given.
pub fn networks(bytes: &[u8]) -> bool {
    let Ok(tensors) = Tensors::read(bytes) else { return false };
    if let Ok(network) = networks::drift(&tensors) {
        assert_eq!(network.values().len(), tensors.doubles("drift.parameters").expect("weights").len());
    }
    if let Ok(trained) = networks::potential(&tensors) {
        let weights = tensors.singles("potential.parameters").expect("weights");
        assert_eq!(trained.potential.parameters().len(), weights.len());
    }
    drop(networks::checkpoint(&tensors));
    let written = |tensors: &Tensors| {
        let mut bytes = Vec::new();
        tensors.write(&mut bytes).expect("a file");
        bytes
    };
    let once = written(&tensors);
    assert_eq!(written(&Tensors::read(&once[..]).expect("tensors")), once);
    true
}

/// An .npz archive: as many numbers as the shape says, which read back bit for bit.
pub fn archives(bytes: &[u8]) -> bool {
    let read = |bytes: &[u8]| npz_read::array(Cursor::new(bytes), "paths", |_| Ok(()));
    let Ok(found) = read(bytes) else { return false };
    assert_eq!(found.shape.iter().product::<usize>(), found.values.len());
    let mut written = Vec::new();
    let array = npz::Array { name: "paths", shape: found.shape.clone(), values: found.values.clone() };
    npz::write(&mut written, &[array]).expect("an archive");
    let again = read(&written).expect("the archive");
    let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!((&again.shape, bits(&again.values)), (&found.shape, bits(&found.values)));
    true
}

/// A run: `state.json`, and behind a NUL byte each `model.toml` and `model.safetensors`. A forecast from it is finite.
pub fn runs(bytes: &[u8]) -> bool {
    let mut parts = bytes.splitn(3, |byte| *byte == 0);
    let files = [STATE, MODEL, NETWORK].map(|name| (name, parts.next().unwrap_or_default()));
    in_directory("runs", &files, |dir| {
        let Ok((state, _)) = State::read(dir) else { return false };
        assert_eq!(state.states.len(), state.weights.len() * state.dimension.iter().count());
        assert!(state.step > 0.0);
        let Ok(origin) = Origin::read(dir) else { return false };
        drop(origin.calendar().write(state.time));
        let look = Look { paths: Some(2), seed: None, fixed_parameters: false, state: false };
        let Ok(view) = origin.look(&[state.time + 1.5 * state.step], look) else { return false };
        assert!(view.ahead.states.iter().all(|state| state.is_finite()), "{:?}", view.ahead.states);
        drop(view.summary_json().expect("a summary"));
        true
    })
}

/// A forecast: `forecast.csv`, and behind a NUL byte `paths.npz`. Every time and dimension has a state of every path.
pub fn forecasts(bytes: &[u8]) -> bool {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let files = ["forecast.csv", "paths.npz"].map(|name| (name, parts.next().unwrap_or_default()));
    in_directory("forecasts", &files, |dir| {
        let Ok(ahead) = Ahead::read(dir) else { return false };
        assert_eq!(ahead.times.len(), ahead.texts.len());
        for j in 0..ahead.times.len() {
            assert_eq!(ahead.cloud(j).len(), ahead.paths * ahead.dimensions.len());
            assert!((0..ahead.dimensions.len()).all(|i| ahead.draws(j, i).len() == ahead.paths));
        }
        true
    })
}

/// Nothing in the content becomes part of the page's own script, and the content reads back.
fn check(page: &Page) {
    let html = page.to_html().expect("a page");
    assert_eq!(html.matches("<script").count(), 2, "{html}");
    let content = serde_json::to_string(page).expect("JSON");
    let again: Page = serde_json::from_str(&content).expect("a page");
    assert_eq!(serde_json::to_string(&again).expect("JSON"), content);
}

fn page_of(name: &str, file: &str, bytes: &[u8]) -> bool {
    let page = in_directory(name, &[(file, bytes)], report::read);
    page.is_ok_and(|page| {
        check(&page);
        true
    })
}

/// `report.json`: a page.
pub fn pages(bytes: &[u8]) -> bool {
    page_of("pages", "report.json", bytes)
}

/// `scores.json` of a backtest: a page.
pub fn scores(bytes: &[u8]) -> bool {
    page_of("scores", "scores.json", bytes)
}

/// A figure of a report, as an SVG file.
pub fn plots(bytes: &[u8]) -> bool {
    let figure = serde_json::from_slice::<Figure>(bytes);
    figure.is_ok_and(|figure| report::draw_plot(&figure, PlotFormat::Svg).is_ok())
}

/// A figure of a report, as the pixels of a PNG file.
pub fn paintings(bytes: &[u8]) -> bool {
    serde_json::from_slice::<Figure>(bytes).is_ok_and(|figure| report::can_be_painted(&figure))
}

/// Two windows of one dimension, two times each.
fn cases() -> Vec<Case> {
    let case = |number: usize| {
        let times = vec![0.0, 1.0, 2.0];
        let record = Record::new(times, vec![vec![0.0, 1.0, 0.5]]).expect("a record");
        Case { number, start: number.to_string(), record, ahead: vec![3.0, 4.0], targets: vec![1.0, 2.0] }
    };
    vec![case(0), case(1)]
}

/// `windows.jsonl` of a backtest: what is refused stays as it was, what is taken can be taken again, and its scores are
/// numbers.
pub fn journals(bytes: &[u8]) -> bool {
    in_directory("journals", &[("windows.jsonl", bytes)], |dir| {
        let path = dir.join("windows.jsonl");
        let settings = json!({"seed": 1});
        let Ok((journal, lines)) = Journal::open::<Line>(&path, &settings) else {
            assert_eq!(fs::read(&path).expect("the journal"), bytes);
            return false;
        };
        if let Some(line) = lines.last() {
            journal.append(line).expect("room");
        }
        let (_, again) = Journal::open::<Line>(&path, &settings).expect("the journal");
        assert_eq!(again.len(), lines.len() + usize::from(!lines.is_empty()));
        assert_eq!(again[..lines.len()], lines);
        assert_eq!(again.last(), lines.last());
        check_scores(&lines);
        true
    })
}

/// What is made of the lines of two models is numbers, or an error.
fn check_scores(lines: &[Line]) {
    let cases = cases();
    let entries = ["a", "b"].map(|name| Entry { name, cases: cases.iter().collect() }).into();
    let judged = Judged { cases: &cases, entries, lines, reference: "a", dim: 1 };
    let Ok((models, ..)) = summarise(&judged) else { return };
    let scores = lines.iter().filter_map(|line| line.scores.as_ref());
    let mut all = scores.flat_map(|s| [&s.crps, &s.tail_crps, &s.squared, &s.absolute]).flatten();
    // Sums of the largest numbers overflow.
    if all.any(|value| value.abs() > 1e150) {
        return;
    }
    for model in &models {
        let found = serde_json::to_value(model).expect("JSON");
        let known = ["crps", "tail_crps", "mse", "mae"].iter().all(|name| found[name].is_number());
        assert!(known && found["crps_by_step"].as_array().map(Vec::len) == Some(2), "{found}");
    }
}
