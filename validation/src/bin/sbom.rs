//! Print what the program is made of as a bill of materials (CycloneDX 1.5, JSON): every crate that is built into it, with
//! version, licence, checksum, and what needs what.
//!
//! `scripts/validate sbom > sbom.json`

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

fn main() -> Result<()> {
    let metadata = metadata()?;
    let lock = std::fs::read_to_string(text(&metadata["workspace_root"])?.to_string() + "/Cargo.lock")?;
    let sums = checksums(&lock)?;
    let needs = needs(&metadata)?;
    let root = id_of(&metadata, "levytilt-cli")?;
    let built = reachable(&root, &needs);
    let mut components = Vec::new();
    let mut program = Value::Null;
    for package in list(&metadata["packages"])? {
        let id = text(&package["id"])?;
        if id == root {
            program = component(package, "application", &sums)?;
        } else if built.contains(id) {
            components.push(component(package, "library", &sums)?);
        }
    }
    // Identities of cargo hold paths of this machine; names and versions are enough.
    let names = (list(&metadata["packages"])?.iter())
        .map(|package| Ok((text(&package["id"])?, reference(package)?)))
        .collect::<Result<BTreeMap<&str, String>>>()?;
    let name = |id: &String| names.get(id.as_str());
    let needed = |id: &String| needs.get(id).into_iter().flatten().filter_map(name).collect::<Vec<_>>();
    let dependencies: Vec<Value> = built.iter().map(|id| json!({"ref": name(id), "dependsOn": needed(id)})).collect();
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": program},
        "components": components,
        "dependencies": dependencies,
    });
    println!("{}", serde_json::to_string_pretty(&bill)?);
    Ok(())
}

fn metadata() -> Result<Value> {
    let output = Command::new("cargo").args(["metadata", "--format-version", "1", "--locked"]).output()?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn text(value: &Value) -> Result<&str> {
    value.as_str().context("cargo metadata: expected a text")
}

fn list(value: &Value) -> Result<&Vec<Value>> {
    value.as_array().context("cargo metadata: expected a list")
}

fn id_of(metadata: &Value, name: &str) -> Result<String> {
    let found = list(&metadata["packages"])?.iter().find(|package| package["name"] == name);
    Ok(text(&found.context("no such package")?["id"])?.into())
}

/// What every package needs in order to be built, without what only tests need.
fn needs(metadata: &Value) -> Result<BTreeMap<String, Vec<String>>> {
    let mut needs = BTreeMap::new();
    for node in list(&metadata["resolve"]["nodes"])? {
        let of_build = |dep: &&Value| {
            dep["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"] != "dev"))
        };
        let deps = list(&node["deps"])?.iter().filter(of_build);
        let deps = deps.map(|dep| Ok(text(&dep["pkg"])?.to_string())).collect::<Result<Vec<_>>>()?;
        needs.insert(text(&node["id"])?.to_string(), deps);
    }
    Ok(needs)
}

fn reachable(root: &str, needs: &BTreeMap<String, Vec<String>>) -> BTreeSet<String> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![root.to_string()]);
    while let Some(id) = open.pop() {
        if seen.insert(id.clone()) {
            open.extend(needs.get(&id).into_iter().flatten().cloned());
        }
    }
    seen
}

/// Checksums by name and version.
fn checksums(lock: &str) -> Result<BTreeMap<(String, String), String>> {
    let lock: toml::Table = toml::from_str(lock)?;
    let packages = lock.get("package").and_then(toml::Value::as_array).context("Cargo.lock: no packages")?;
    let field = |package: &toml::Value, key: &str| package.get(key)?.as_str().map(String::from);
    let entry = |package| Some(((field(package, "name")?, field(package, "version")?), field(package, "checksum")?));
    Ok(packages.iter().filter_map(entry).collect())
}

/// The name of a package in the language of bills.
fn reference(package: &Value) -> Result<String> {
    Ok(format!("pkg:cargo/{}@{}", text(&package["name"])?, text(&package["version"])?))
}

fn component(package: &Value, kind: &str, sums: &BTreeMap<(String, String), String>) -> Result<Value> {
    let (name, version) = (text(&package["name"])?, text(&package["version"])?);
    // Older crates write a stroke where the standard has OR.
    let licence = package["license"].as_str().unwrap_or("NOASSERTION").replace('/', " OR ");
    let mut component = json!({
        "type": kind,
        "bom-ref": reference(package)?,
        "name": name,
        "version": version,
        "purl": reference(package)?,
        "licenses": [{"expression": licence}],
    });
    if let Some(sum) = sums.get(&(name.into(), version.into())) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
    }
    Ok(component)
}
