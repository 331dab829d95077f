//! What this program is made of: permissive licences, one registry, few duplicates, nothing that speaks to a network.
//!
//! `cargo deny check` (deny.toml) looks at advisories too; this needs nothing but cargo.

use crate::common::{OU_STABLE, Sandbox};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Licences that ask for no more than their text.
const LICENCES: [&str; 11] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "Zlib",
    "Unlicense",
    "0BSD",
    "BSL-1.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "Unicode-3.0",
    "ISC",
];

/// Crates that are there in several versions, because others disagree on them; see deny.toml.
const TWICE: [&str; 3] = ["bitflags", "glam", "syn"];

/// Crates that open connections, or are made to.
const NETWORK: [&str; 22] = [
    "async-std",
    "attohttpc",
    "curl",
    "h2",
    "hickory-resolver",
    "hyper",
    "isahc",
    "libp2p",
    "mio",
    "native-tls",
    "openssl",
    "quinn",
    "reqwest",
    "rustls",
    "smol",
    "socket2",
    "surf",
    "tiny_http",
    "tokio",
    "tungstenite",
    "ureq",
    "zmq",
];

/// The packages that are built, from cargo itself.
fn packages() -> Vec<Value> {
    let mut cargo = Command::new(env!("CARGO"));
    let output = cargo.args(["metadata", "--format-version", "1", "--locked"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let nodes = found["resolve"]["nodes"].as_array().unwrap();
    let built: BTreeSet<String> = nodes.iter().map(|node| node["id"].to_string()).collect();
    let all = found["packages"].take();
    let packages = all.as_array().unwrap().iter().filter(|package| built.contains(&package["id"].to_string()));
    let packages: Vec<Value> = packages.cloned().collect();
    assert!(packages.len() > 50);
    packages
}

fn text<'a>(package: &'a Value, key: &str) -> &'a str {
    package[key].as_str().unwrap_or_default()
}

/// Whether an expression such as "(MIT OR Apache-2.0) AND Unicode-3.0" can be met with the licences of the list.
fn allowed(expression: &str) -> bool {
    let plain = expression.replace('/', " OR ").replace(['(', ')'], "");
    // In all expressions here brackets only stand around alternatives.
    plain.split(" AND ").all(|part| part.split(" OR ").any(|licence| LICENCES.contains(&licence.trim())))
}

#[test]
fn identity_licences_are_permissive() {
    assert!(allowed("MIT/Apache-2.0") && allowed("(MIT OR Apache-2.0) AND Unicode-3.0") && allowed("LGPL-2.1 OR MIT"));
    assert!(!allowed("GPL-3.0") && !allowed("MIT AND GPL-3.0") && !allowed(""));
    for package in packages() {
        let (name, licence) = (text(&package, "name"), text(&package, "license"));
        assert!(allowed(licence), "{name}: {licence}");
    }
}

#[test]
fn identity_everything_comes_from_one_registry_or_from_here() {
    let mut registries = BTreeSet::new();
    for package in packages() {
        let (name, source) = (text(&package, "name"), text(&package, "source"));
        assert!(
            source.starts_with("registry+") || (source.is_empty() && name.starts_with("levytilt")),
            "{name}: {source}"
        );
        registries.extend((!source.is_empty()).then(|| source.to_string()));
    }
    assert_eq!(registries.len(), 1, "{registries:?}");
}

/// What a registry shows of a crate; `levytilt-python` and the validation programs are not published.
#[test]
fn identity_published_crates_say_what_they_are() {
    let ours = packages().into_iter().filter(|package| package["source"].is_null());
    let published: Vec<Value> = ours.filter(|package| package["publish"].is_null()).collect();
    assert_eq!(published.len(), 5);
    for package in &published {
        let name = text(package, "name");
        for key in ["description", "license", "readme", "rust_version"] {
            assert!(!text(package, key).is_empty(), "{name} has no {key}");
        }
        for key in ["authors", "keywords", "categories"] {
            let count = package[key].as_array().map_or(0, Vec::len);
            assert!((1..=5).contains(&count), "{name} has {count} {key}");
        }
        let wanted = package["dependencies"].as_array().unwrap().iter().filter(|need| !need["path"].is_null());
        wanted.for_each(|need| assert_ne!(need["req"], "*", "{name}: {} has no version", need["name"]));
    }
}

#[test]
fn identity_versions_are_there_once() {
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages() {
        versions.entry(text(&package, "name").into()).or_default().push(text(&package, "version").into());
    }
    for (name, found) in versions {
        assert!(found.len() == 1 || TWICE.contains(&name.as_str()), "{name} is there as {}", found.join(", "));
    }
}

#[test]
fn identity_nothing_speaks_to_a_network() {
    for package in packages() {
        let name = text(&package, "name");
        assert!(!NETWORK.contains(&name), "{name} opens connections");
    }
    // Nor do we ourselves.
    let mut grep = Command::new("grep");
    let grep =
        grep.args(["-rlE", "std::net|TcpStream|UdpSocket", "../levytilt/src", "../levytilt-baselines/src", "src"]);
    let sources = grep.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&sources.stdout), "");
}

#[test]
fn identity_without_a_network_all_is_the_same() {
    let at = Sandbox::new();
    at.ok(&format!("simulate {OU_STABLE} --steps 60 --span 1 --out sim"));
    let command = format!("exact sim/data.csv {OU_STABLE} --json");
    let mut alone = Command::new("unshare");
    let alone = alone.args(["-rn", env!("CARGO_BIN_EXE_levytilt")]).args(command.split(' ')).current_dir(at.path(""));
    match alone.output() {
        Ok(output) if output.status.success() => {
            let alone: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(alone["log_evidence"], at.ok(&command).json()["log_evidence"]);
        }
        _ => println!("SKIPPED: the network cannot be taken away here"),
    }
}
