//! Throw random input at everything that reads: no panic, and what is accepted keeps the invariants.
//!
//! A few hundred cases each by default; `PROPTEST_CASES` asks for more, as `scripts/fuzz` does.

#[path = "../../../../fuzz/replay.rs"]
mod replay;

use proptest::prelude::*;
use proptest::sample::select;
use std::io::Write;

use crate::directory::npz;
use crate::directory::tensors::{List, Tensors};
use crate::invariants;

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

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(content).unwrap();
    packed.finish().unwrap()
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

/// Files that are small and right.
const GOOD_TABLE: &[u8] = b"time,value\n0,1\n1,2\n2,1.5\n";
const GOOD_STATE: &str = r#"{"dimension":"v","time":1.0,"step":0.1,"stamps":[],"states":[0.5,1.5],"weights":[0.5,0.5],"seed":1,
    "learned":{"names":["theta","scale"],"covariance":[1.0,0.5,0.5,1.0],"shift":[0.1,-0.1]}}"#;
const GOOD_STAMPED: &str = r#"{"dimension":["a","b"],"time":2.0,"step":0.1,"stamps":["2024-03-01","2024-03-03"],
    "states":[0.5,1.5],"weights":[1.0],"seed":1}"#;
const GOOD_MODEL: &[u8] =
    b"[model]\ndrift = \"ou\"\nnoise = \"stable\"\nalpha = 1.5\nscale = 2.0\nobservation_std = 0.1\n\
                          x0 = 0.0\n[drift]\ntheta = 3.0\nmu = 1.0\n";
const GOOD_PAGE: &str =
    r#"{"kind":"fit","title":"t","lead":"l","dimensions":["v"],"sections":[],"version":"0.1.0","warnings":[]}"#;

const GOOD_FIGURE: &str = r#"{"id":"f","title":"t","caption":"c","x":{"label":"x","scale":"linear"},
    "y":{"label":"y","scale":"log"},"columns":{"x":{"label":"x","values":[0.0,1.0,2.0]},"y":{"label":"y","values":[1.0,null,3.0]}},
    "layers":[{"kind":"line","tone":"red","x":"x","y":"y","name":"n"},{"kind":"marks","tone":"red","x":"x","y":"y","size":"x"}]}"#;
/// Three times of one dimension, as `good_archive` has them.
const GOOD_FORECAST: &[u8] = b"time,dimension\n1,v\n2,v\n3,v\n";
/// A window of two models, and one cut short.
const GOOD_JOURNAL: &str = r#"{"seed":1}
{"window":0,"start":"0","model":"a","seconds":0.1,"scores":{"crps":[1.0,2.0],"tail_crps":[0.5,0.5],"energy":[],"pits":[0.1,0.9],"squared":[1.0,1.0],"absolute":[1.0,1.0],"quantiles":[[0,1,2,3,4],[0,1,2,3,4]]}}
{"window":0,"start":"0","model":"b","seconds":0.1,"scores":null,"error":"none"}
{"window":1,"start""#;

fn good_tensors() -> Vec<u8> {
    let mut tensors = Tensors::default();
    tensors.say("drift.spec", r#"{"dim":1,"width":2,"depth":1,"time_input":false,"centre":[],"scale":[]}"#.into());
    tensors.put("drift.parameters", List::F64(vec![0.1; 7]));
    tensors.put("other", List::F32(vec![0.5; 3]));
    let mut bytes = Vec::new();
    tensors.write(&mut bytes).unwrap();
    bytes
}

fn good_archive() -> Vec<u8> {
    let values = (0..6).map(f64::from).collect();
    let mut bytes = Vec::new();
    npz::write(&mut bytes, &[npz::Array { name: "paths", shape: vec![2, 3, 1], values }]).unwrap();
    bytes
}

/// Files one behind the other, with a NUL byte between.
fn joined(parts: &[&[u8]]) -> Vec<u8> {
    parts.join(&0)
}

proptest! {
    #[test]
    fn identity_tables(text in soup(CSV, 40)) {
        invariants::tables(text.as_bytes());
    }

    #[test]
    fn identity_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300), packed in any::<bool>()) {
        invariants::tables(&if packed { gz(&bytes) } else { bytes });
    }

    #[test]
    fn identity_packed_tables(bytes in damaged(gz(GOOD_TABLE)), deflated in damaged(deflated(GOOD_TABLE))) {
        invariants::tables(&bytes);
        invariants::packed(&deflated);
    }

    #[test]
    fn identity_times(text in prop_oneof![soup(TIME, 12), stamp()]) {
        invariants::times(text.as_bytes());
    }

    #[test]
    fn identity_lengths(text in soup(&["1", "2.5", "e308", "e-320", "s", "m", "h", "d", "w", "-", ".", " ", "inf", "nan"], 5)) {
        invariants::lengths(text.as_bytes());
    }

    #[test]
    fn identity_settings(text in soup(TOML, 30)) {
        invariants::settings(text.as_bytes());
    }

    #[test]
    fn identity_parameters(text in soup(&["theta", "[", "]", "A", "=", "1", "e", "-", ".", "inf", " "], 10)) {
        invariants::parameters(text.as_bytes());
    }

    #[test]
    fn identity_networks(bytes in damaged(good_tensors())) {
        invariants::networks(&bytes);
    }

    #[test]
    fn identity_archives(bytes in damaged(good_archive())) {
        invariants::archives(&bytes);
        invariants::forecasts(&joined(&[GOOD_FORECAST, &bytes]));
    }

    #[test]
    fn identity_runs(
        state in damaged(GOOD_STATE.into()),
        stamped in damaged(GOOD_STAMPED.into()),
        model in damaged(GOOD_MODEL.into()),
    ) {
        for (state, model) in [(&state, GOOD_MODEL), (&stamped, GOOD_MODEL), (&state, &model)] {
            invariants::runs(&joined(&[state, model]));
        }
    }

    #[test]
    fn identity_pages(page in damaged(GOOD_PAGE.into()), soup in soup(&["{", "}", "[", "]", ":", ",", "\"", "1", "null", "kind"], 30)) {
        for text in [page, soup.into_bytes()] {
            invariants::pages(&text);
            invariants::scores(&text);
        }
    }

    #[test]
    fn identity_plots(figure in damaged(GOOD_FIGURE.into())) {
        invariants::plots(&figure);
    }

    #[test]
    fn identity_journals(journal in damaged(GOOD_JOURNAL.into())) {
        invariants::journals(&journal);
    }
}

#[test]
fn identity_undamaged_files_are_accepted() {
    for state in [GOOD_STATE, GOOD_STAMPED] {
        assert!(invariants::runs(&joined(&[state.as_bytes(), GOOD_MODEL])));
    }
    assert!(invariants::tables(&gz(GOOD_TABLE)) && invariants::packed(&deflated(GOOD_TABLE)));
    assert!(invariants::pages(GOOD_PAGE.as_bytes()));
    assert!(invariants::plots(GOOD_FIGURE.as_bytes()) && invariants::paintings(GOOD_FIGURE.as_bytes()));
    assert!(invariants::networks(&good_tensors()));
    assert!(invariants::archives(&good_archive()) && invariants::forecasts(&joined(&[GOOD_FORECAST, &good_archive()])));
    assert!(invariants::journals(GOOD_JOURNAL.as_bytes()));
}

#[test]
fn identity_the_corpus_keeps_the_invariants() {
    replay::replay(invariants::ALL);
}
