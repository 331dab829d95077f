//! Throw random input at everything that reads: no panic, and what is accepted keeps its promises.
//!
//! A few hundred cases each by default; `PROPTEST_CASES` asks for more, as `scripts/fuzz` does.

use proptest::prelude::*;
use proptest::sample::select;
use std::fs;
use std::io::{Cursor, Write};

use crate::build_model::{closed_model, open_model};
use crate::bytes::decode;
use crate::input;
use crate::journal::Journal;
use crate::npz;
use crate::npz_read;
use crate::report;
use crate::settings::{Settings, parse_parameter};
use crate::state::{MODEL, STATE, State};
use crate::tensors::{List, Tensors};
use crate::time::{self, Calendar, Written};

/// Pieces that files are made of, right and wrong ones, in any order.
fn soup(pieces: &'static [&'static str], most: usize) -> impl Strategy<Value = String> {
    let piece = prop_oneof![9 => select(pieces).prop_map(String::from), 1 => "\\PC{0,4}"];
    prop::collection::vec(piece, 0..most).prop_map(|pieces| pieces.concat())
}

const ZONES: &[&str] =
    &["", "Z", "+00:00", "-00:00", "+01:00", "-05:30", "+25:59", "[Europe/Berlin]", "[America/New_York]", "[UTC]"];

/// Timestamps, most of them right, many near the ends of days, months, years and the changes of clocks.
fn stamp() -> impl Strategy<Value = String> {
    let date = (prop_oneof![4 => 2015..2026, 1 => -9999..=9999], 1..=13u8, 1..=32u8);
    let clock = (0..=24u8, 0..=60u8, 0..=61u8, 0..10_000u32);
    (date, clock, select(ZONES), 0..4u8).prop_map(|((y, m, d), (h, min, s, f), zone, shape)| {
        let year = if (0..=9999).contains(&y) { format!("{y:04}") } else { format!("{y:+07}") };
        let date = format!("{year}-{m:02}-{d:02}");
        match shape {
            0 => date,
            1 => format!("{date}T{h:02}:{min:02}{zone}"),
            2 => format!("{date} {h:02}:{min:02}:{s:02}{zone}"),
            _ => format!("{date}T{h:02}:{min:02}:{s:02}.{f:04}{zone}"),
        }
    })
}

/// A good file with some bytes changed, taken out or put in, and perhaps cut.
pub fn damaged(good: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let edit = (any::<prop::sample::Index>(), 0..4u8, any::<u8>());
    (prop::collection::vec(edit, 0..6), prop::option::weighted(0.2, any::<prop::sample::Index>())).prop_map(
        move |(edits, cut)| {
            let mut bytes = good.clone();
            for (place, kind, byte) in edits.into_iter().filter(|_| !good.is_empty()) {
                let at = place.index(bytes.len().max(1)).min(bytes.len().saturating_sub(1));
                match kind {
                    0 if !bytes.is_empty() => bytes[at] = byte,
                    1 if !bytes.is_empty() => bytes[at] ^= 1 << (byte % 8),
                    2 if !bytes.is_empty() => drop(bytes.remove(at)),
                    _ => bytes.insert(at, byte),
                }
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len() + 1));
            }
            bytes
        },
    )
}

fn gz(content: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(content).unwrap();
    packed.finish().unwrap()
}

const CSV: &[&str] = &[
    "time,value\n",
    "time,a,b\n",
    "0,1\n",
    "1,2\n",
    "2,",
    "NaN",
    "NA",
    "inf",
    "-1e308",
    "1e308",
    "1e-320",
    "\n",
    "\r\n",
    ",",
    "\"",
    "\"\"",
    " ",
    "2024-03-01",
    "2024-03-01T00:00Z",
    "2024-03-02T00:00Z,1\n",
    "\u{feff}",
    "-0",
    "0.5,3\n",
];

const TIME: &[&str] = &[
    "2024",
    "-",
    "03",
    "01",
    "T",
    "00",
    ":",
    "30",
    "60",
    ".5",
    "Z",
    "+",
    "01",
    "[Europe/Berlin]",
    "[UTC]",
    "-00:00",
    " ",
    "9999-12-31",
    "-009999-01-01",
    "1",
    "e",
    "308",
    "2024-10-27T02:30",
    "2024-03-31T02:30",
    "T24",
    "W05",
    "12:00",
];

const TOML: &[&str] = &[
    "[model]\n",
    "[drift]\n",
    "[grid]\n",
    "[solve]\n",
    "[data]\n",
    "[simulate]\n",
    "[parameters]\n",
    "drift = ",
    "noise = ",
    "alpha = ",
    "scale = ",
    "theta = ",
    "mu = ",
    "steps = ",
    "paths = ",
    "seed = ",
    "x0 = ",
    "column = ",
    "columns = ",
    "observation_std = ",
    "\"theta[A]\" = ",
    "\"ou\"\n",
    "\"stable\"\n",
    "\"auto\"\n",
    "\"nig\"\n",
    "1.5\n",
    "-1\n",
    "0\n",
    "1e400\n",
    "inf\n",
    "nan\n",
    "[",
    "]",
    "{",
    "}",
    "\n",
    "\"A\"\n",
    "#",
    "=",
    ".",
    "99999999999999999999\n",
];

/// A run directory's files, small and right.
const GOOD_STATE: &str = r#"{"dimension":"v","time":1.0,"step":0.1,"stamps":[],"states":[0.5,1.5],"weights":[0.5,0.5],"seed":1,
    "learned":{"names":["theta","scale"],"covariance":[1.0,0.5,0.5,1.0],"shift":[0.1,-0.1]}}"#;
const GOOD_STAMPED: &str = r#"{"dimension":["a","b"],"time":2.0,"step":0.1,"stamps":["2024-03-01","2024-03-03"],
    "states":[0.5,1.5],"weights":[1.0],"seed":1}"#;
const GOOD_MODEL: &str = "[model]\ndrift = \"ou\"\nnoise = \"stable\"\nalpha = 1.5\nscale = 2.0\nobservation_std = 0.1\n\
                          x0 = 0.0\n[drift]\ntheta = 3.0\nmu = 1.0\n";
const GOOD_PAGE: &str =
    r#"{"kind":"fit","title":"t","lead":"l","dimensions":["v"],"sections":[],"version":"0.1.0","warnings":[]}"#;

fn good_tensors() -> Vec<u8> {
    let mut tensors = Tensors::default();
    tensors.say("drift.spec", r#"{"dim":1,"width":2,"depth":1,"time_input":false,"centre":[],"scale":[]}"#.into());
    tensors.put("drift.parameters", List::F64(vec![0.1; 7]));
    tensors.put("other", List::F32(vec![0.5; 3]));
    let mut bytes = Vec::new();
    tensors.write(&mut bytes).unwrap();
    bytes
}

/// Parameters drawn as a forecast of the run would draw them.
fn law_draws(state: &State, settings: &Settings) -> anyhow::Result<usize> {
    let names = ["v".to_string()];
    let model = closed_model(settings, &names, None, "forecast")?;
    let all = open_model(settings, &names, "forecast")?.parameter_names();
    let drawn = state.learned.as_ref().map(|learned| Ok::<_, anyhow::Error>(learned.law(&model, &all)?.models(2, 1)?));
    Ok(drawn.transpose()?.map_or(0, |models| models.len()))
}

fn good_archive() -> Vec<u8> {
    let values = (0..6).map(f64::from).collect();
    let mut bytes = Vec::new();
    npz::write(&mut bytes, &[npz::Array { name: "paths", shape: vec![2, 3, 1], values }]).unwrap();
    bytes
}

proptest! {
    #[test]
    fn identity_tables(text in soup(CSV, 40)) {
        if let Ok(table) = input::parse(&text, "x", &[]) {
            prop_assert!(table.times.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(table.times.iter().all(|time| time.is_finite()));
            prop_assert!(table.columns.iter().all(|column| column.len() == table.times.len()));
            prop_assert!(table.columns.iter().flatten().all(|value| !value.is_infinite()));
            prop_assert_eq!(table.lines.len(), table.times.len());
        }
    }

    #[test]
    fn identity_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300), packed in any::<bool>()) {
        let given = if packed { gz(&bytes) } else { bytes.clone() };
        if let Ok(text) = decode(Cursor::new(&given), "x") {
            let plain = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
            prop_assert!(given.starts_with(&[0x1f, 0x8b]) || text.as_bytes() == plain);
        }
    }

    #[test]
    fn identity_packed_tables(bytes in damaged(gz(b"time,value\n0,1\n1,2\n2,1.5\n"))) {
        if let Ok(text) = decode(Cursor::new(&bytes), "x") {
            drop(input::parse(&text, "x", &[]));
        }
    }

    #[test]
    fn identity_times(text in prop_oneof![soup(TIME, 12), stamp()]) {
        match time::parse(&text) {
            Ok(Written::Number(number)) => prop_assert!(number.is_finite()),
            Ok(Written::Stamp(stamp)) => {
                let calendar = Calendar::Days(vec![stamp.clone()]);
                prop_assert_eq!(calendar.write(0.0), text);
                // A time between is written so that it can be read again.
                for days in [0.25, 1.0, 100.0 / 3.0] {
                    let written = calendar.write(days);
                    let Ok(Written::Stamp(back)) = time::parse(&written) else {
                        // The calendar ends with the year 9999; beyond it a number is written.
                        prop_assert!(written.parse::<f64>().is_ok(), "{written}");
                        continue;
                    };
                    prop_assert!((back.days_since(&stamp) - days).abs() < 1e-9, "{written}");
                }
            }
            Err(problem) => prop_assert!(!problem.is_empty()),
        }
    }

    #[test]
    fn identity_lengths(text in soup(&["1", "2.5", "e308", "e-320", "s", "m", "h", "d", "w", "-", ".", " ", "inf", "nan"], 5)) {
        let days = match time::parse("2024-03-01") {
            Ok(Written::Stamp(stamp)) => Calendar::Days(vec![stamp]),
            other => panic!("{other:?}"),
        };
        for calendar in [Calendar::Numbers, days] {
            if let Ok(length) = time::length("horizon", &text, &calendar) {
                prop_assert!(length > 0.0 && length.is_finite(), "{text}: {length}");
            }
        }
    }

    #[test]
    fn identity_settings(text in soup(TOML, 30)) {
        if let Ok(settings) = toml::from_str::<Settings>(&text) {
            let written = settings.to_toml().unwrap();
            let again: Settings = toml::from_str(&written).unwrap();
            prop_assert_eq!(again.to_toml().unwrap(), written);
            for names in [vec!["A".to_string()], vec!["A".to_string(), "B".to_string()]] {
                drop(open_model(&settings, &names, "fit"));
                drop(closed_model(&settings, &names, None, "forecast"));
            }
            drop(Settings::default().over(settings));
        }
    }

    #[test]
    fn identity_parameters(text in soup(&["theta", "[", "]", "A", "=", "1", "e", "-", ".", "inf", " "], 10)) {
        drop(parse_parameter(&text));
    }

    #[test]
    fn identity_tensors(bytes in damaged(good_tensors())) {
        if let Ok(tensors) = Tensors::read(&bytes[..]) {
            if let Ok(network) = crate::networks::drift(&tensors) {
                prop_assert_eq!(network.values().len(), tensors.doubles("drift.parameters").unwrap().len());
            }
            let mut again = Vec::new();
            tensors.write(&mut again).unwrap();
            prop_assert!(Tensors::read(&again[..]).is_ok());
        }
    }

    #[test]
    fn identity_archives(bytes in damaged(good_archive())) {
        if let Ok(found) = npz_read::array(Cursor::new(&bytes), "paths", |_| Ok(())) {
            prop_assert_eq!(found.shape.iter().product::<usize>(), found.values.len());
        }
    }

    #[test]
    fn identity_runs(
        state in damaged(GOOD_STATE.into()),
        stamped in damaged(GOOD_STAMPED.into()),
        model in damaged(GOOD_MODEL.into()),
    ) {
        let dir = tempfile::tempdir().unwrap();
        for (state, model) in [(&state, GOOD_MODEL.as_bytes()), (&stamped, GOOD_MODEL.as_bytes()), (&state, &model)] {
            fs::write(dir.path().join(STATE), state).unwrap();
            fs::write(dir.path().join(MODEL), model).unwrap();
            if let Ok((state, settings)) = State::read(dir.path()) {
                prop_assert_eq!(state.states.len(), state.weights.len() * state.dimension.iter().count());
                prop_assert!(state.step > 0.0);
                drop(state.calendar().map(|calendar| calendar.write(state.time)));
                drop(law_draws(&state, &settings));
            }
        }
    }

    #[test]
    fn identity_pages(page in damaged(GOOD_PAGE.into()), soup in soup(&["{", "}", "[", "]", ":", ",", "\"", "1", "null", "kind"], 30)) {
        let dir = tempfile::tempdir().unwrap();
        for text in [page, soup.into_bytes()] {
            fs::write(dir.path().join("report.json"), text).unwrap();
            if let Ok(page) = report::read(dir.path()) {
                drop(page.to_html());
            }
        }
    }

    #[test]
    fn identity_journals(journal in damaged(b"{\"seed\":1}\n[0.5]\n[1.0,2.0]\n".to_vec())) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lines.jsonl");
        fs::write(&path, &journal).unwrap();
        let settings = serde_json::json!({"seed": 1});
        match Journal::open::<Vec<f64>>(&path, &settings) {
            // What is refused stays as it was; what is taken can be taken again.
            Err(_) => prop_assert_eq!(fs::read(&path).unwrap(), journal),
            Ok((open, lines)) => {
                open.append(&[7.0]).unwrap();
                let (_, again) = Journal::open::<Vec<f64>>(&path, &settings).unwrap();
                prop_assert_eq!(again.len(), lines.len() + 1);
            }
        }
    }
}

#[test]
fn identity_undamaged_files_are_accepted() {
    let dir = tempfile::tempdir().unwrap();
    for state in [GOOD_STATE, GOOD_STAMPED] {
        fs::write(dir.path().join(STATE), state).unwrap();
        fs::write(dir.path().join(MODEL), GOOD_MODEL).unwrap();
        let (state, settings) = State::read(dir.path()).unwrap();
        state.calendar().unwrap();
        assert_eq!(law_draws(&state, &settings).unwrap(), if state.learned.is_some() { 2 } else { 0 });
    }
    fs::write(dir.path().join("report.json"), GOOD_PAGE).unwrap();
    report::read(dir.path()).unwrap().to_html().unwrap();
    crate::networks::drift(&Tensors::read(&good_tensors()[..]).unwrap()).unwrap();
    npz_read::array(Cursor::new(good_archive()), "paths", |_| Ok(())).unwrap();
}
