//! The bytes of a result without those that say how long it took, and without the order in which pieces were finished.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Every file of a directory and those below, as text to compare.
pub fn content(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    collect(dir, "", &mut files);
    let times: Vec<(String, Vec<String>)> = (files.iter())
        .filter_map(|(name, bytes)| Some((name.strip_suffix("report.json")?.to_string(), times_shown(bytes))))
        .collect();
    for (name, bytes) in &mut files {
        let text = || String::from_utf8(bytes.clone()).unwrap();
        if name.ends_with(".json") {
            *bytes = timeless(&text()).into_bytes();
        } else if name.ends_with(".jsonl") {
            let mut lines: Vec<String> = text().lines().map(timeless).collect();
            lines.sort();
            *bytes = lines.join("\n").into_bytes();
        } else if name.ends_with(".html") {
            let place = name.strip_suffix("report.html");
            let shown = times.iter().filter(|(of, _)| Some(of.as_str()) == place).flat_map(|(_, times)| times);
            *bytes = shown.fold(unmade(text()), |text, time| text.replace(time.as_str(), "")).into_bytes();
        }
    }
    files
}

fn collect(dir: &Path, under: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let name = format!("{under}{}", entry.file_name().into_string().unwrap());
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{name}/"), files);
        } else {
            files.insert(name, fs::read(entry.path()).unwrap());
        }
    }
}

/// A page without the command and the date that made it.
fn unmade(page: String) -> String {
    let Some((before, rest)) = page.split_once("<p class=\"made\">") else { return page };
    format!("{before}{}", rest.split_once("</p>").unwrap().1)
}

/// A JSON text without its times, and without the command and the date that made it.
fn timeless(text: &str) -> String {
    let mut json: Value = serde_json::from_str(text).unwrap();
    json.as_object_mut().map(|map| map.remove("made"));
    each_time(&mut json, &mut |time| drop(time.take()));
    json.to_string()
}

/// The times that a report shows, as they stand in the tags of its page: the number, and the words for it. Digits alone may stand
/// anywhere else too.
fn times_shown(report: &[u8]) -> Vec<String> {
    let mut shown = Vec::new();
    each_time(&mut serde_json::from_slice(report).unwrap(), &mut |cell| {
        // A dash is no time.
        let Some(value) = cell["value"].as_f64() else { return };
        let text = cell["text"].as_str().unwrap();
        let tag = |name: &str| format!(" data-value=\"{value}\"{name}>{text}<");
        shown.extend([tag(""), tag(" data-name=\"computing time\"")]);
    });
    shown
}

/// Do something with every value that is a time of computation.
fn each_time(json: &mut Value, what: &mut dyn FnMut(&mut Value)) {
    match json {
        Value::Object(map) => {
            if map.get("name").is_some_and(|name| name == "computing time") {
                map.get_mut("cell").into_iter().for_each(&mut *what);
            }
            let head = map.get("head").and_then(Value::as_array);
            let is_time = |name: &Value| {
                let name = name.as_str().unwrap_or_default();
                matches!(name, "s/window" | "min/window") || name.starts_with("s per set")
            };
            let column = head.and_then(|head| head.iter().position(is_time));
            if let (Some(column), Some(Value::Array(rows))) = (column, map.get_mut("rows")) {
                rows.iter_mut().filter_map(|row| row.get_mut(column)).for_each(&mut *what);
            }
            for (key, value) in map {
                if key == "seconds" || key == "seconds_per_window" { what(value) } else { each_time(value, what) }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| each_time(value, what)),
        _ => {}
    }
}
