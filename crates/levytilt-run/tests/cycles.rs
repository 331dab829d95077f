//! Hold every crate to its order of modules: none uses, directly or through others, a module that uses it.
//!
//! How it is counted: for the root of every crate, and for every module that has modules of its own, the graph of its
//! children, with an edge where any file of one names anything of another (`use` and plain paths, through `crate`, `self` and
//! `super`, re-exports followed). Modules that lie on a common cycle are one cycle. Tests, what a parent holds beside its
//! children, and calls of methods, which name no module, are not counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

type Name = Vec<String>;

/// The modules of a crate: their text, and what they re-export.
struct Crate {
    texts: BTreeMap<Name, String>,
    exports: BTreeMap<(Name, String), Name>,
}

impl Crate {
    fn read(src: &Path) -> Self {
        let mut texts = BTreeMap::new();
        collect(src, &mut vec![], &mut texts);
        let mut found = Self { texts, exports: BTreeMap::new() };
        for (module, text) in &found.texts {
            for tree in statements(text, "pub use ") {
                for path in expanded(&tree) {
                    let (path, name) = match path.split_once(" as ") {
                        Some((path, name)) => (path.to_string(), name.to_string()),
                        None => (path.clone(), path.rsplit("::").next().unwrap_or(&path).to_string()),
                    };
                    if let Some(target) = absolute(&path, module, &found.texts) {
                        found.exports.insert((module.clone(), name), target);
                    }
                }
            }
        }
        found
    }

    /// The module that holds what `path` names.
    fn module_of(&self, path: &[String]) -> Name {
        let mut path = path.to_vec();
        for _ in 0..10 {
            let length = (0..=path.len()).rev().find(|&n| self.texts.contains_key(&path[..n])).unwrap_or(0);
            let (module, rest) = path.split_at(length);
            match rest.first().and_then(|name| self.exports.get(&(module.to_vec(), name.clone()))) {
                Some(target) => path = target.iter().chain(&rest[1..]).cloned().collect(),
                None => return module.to_vec(),
            }
        }
        path
    }

    /// Pairs of modules of which the first names something of the second.
    fn edges(&self) -> BTreeSet<(Name, Name)> {
        let mut edges = BTreeSet::new();
        for (module, text) in &self.texts {
            let mut paths: Vec<String> = statements(text, "use ").iter().flat_map(|tree| expanded(tree)).collect();
            paths.extend(inline(text));
            for path in paths {
                let path = path.split(" as ").next().unwrap_or(&path).to_string();
                if let Some(target) = absolute(&path, module, &self.texts) {
                    edges.insert((module.clone(), self.module_of(&target)));
                }
            }
        }
        edges
    }

    /// The cycles among the children of every module.
    fn cycles(&self) -> Vec<String> {
        let edges = self.edges();
        let parents: BTreeSet<Name> = self.texts.keys().filter_map(|m| Some(m.split_last()?.1.to_vec())).collect();
        parents.iter().flat_map(|parent| tangled(parent, &edges)).collect()
    }
}

/// Groups of children of `parent` that can reach each other.
fn tangled(parent: &Name, edges: &BTreeSet<(Name, Name)>) -> Vec<String> {
    let child = |module: &Name| module.strip_prefix(&parent[..])?.first().cloned();
    let mut reach: BTreeSet<(String, String)> =
        edges.iter().filter_map(|(a, b)| Some((child(a)?, child(b)?))).filter(|(a, b)| a != b).collect();
    let nodes: BTreeSet<String> = reach.iter().flat_map(|(a, b)| [a.clone(), b.clone()]).collect();
    for middle in &nodes {
        for from in &nodes {
            for to in &nodes {
                let both =
                    reach.contains(&(from.clone(), middle.clone())) && reach.contains(&(middle.clone(), to.clone()));
                if both {
                    reach.insert((from.clone(), to.clone()));
                }
            }
        }
    }
    let group = |node: &String| -> BTreeSet<String> {
        let mutual = |other: &&String| {
            reach.contains(&(node.clone(), (*other).clone())) && reach.contains(&((*other).clone(), node.clone()))
        };
        nodes.iter().filter(mutual).cloned().collect()
    };
    let groups: BTreeSet<BTreeSet<String>> = nodes.iter().map(group).filter(|group| group.len() > 1).collect();
    let inside = if parent.is_empty() { "the crate".to_string() } else { parent.join("::") };
    groups.iter().map(|g| format!("in {inside}: {}", g.iter().cloned().collect::<Vec<_>>().join(", "))).collect()
}

/// Read the modules below `dir`, which is that of the module `name`, without their tests.
fn collect(dir: &Path, name: &mut Name, texts: &mut BTreeMap<Name, String>) {
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let (path, file) = (entry.path(), entry.file_name().into_string().unwrap());
        if path.is_dir() {
            name.push(file);
            collect(&path, name, texts);
            name.pop();
        } else if let Some(stem) = file.strip_suffix(".rs").filter(|stem| !["main", "tests"].contains(stem)) {
            let text = fs::read_to_string(&path).unwrap();
            let own = !["lib", "mod"].contains(&stem);
            let module = name.iter().cloned().chain(own.then(|| stem.to_string())).collect();
            texts.insert(module, bare(&text));
        }
    }
}

/// The text without comments and without tests, which stand at its end.
fn bare(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    code.lines().map(|line| line.split("//").next().unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// The trees behind a keyword at the beginning of a line, up to the semicolon.
fn statements(text: &str, keyword: &str) -> Vec<String> {
    let starts = text.match_indices(keyword).filter(|(at, _)| {
        let line = text[..*at].rsplit('\n').next().unwrap_or("");
        line.trim().is_empty() || line.trim() == "pub" || line.trim().starts_with("pub(")
    });
    let tree = |(at, _): (usize, &str)| text[at + keyword.len()..].split(';').next().map(str::to_string);
    starts.filter_map(tree).collect()
}

/// The paths of a tree such as `a::{b, c::d}`.
fn expanded(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((head, rest)) = tree.split_once('{') else { return vec![tree.to_string()] };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let (mut parts, mut depth, mut part) = (vec![], 0, String::new());
    for letter in inner.chars() {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        if letter == ',' && depth == 0 {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push(letter);
        }
    }
    parts.push(part);
    let full = |part: &String| expanded(part).into_iter().map(|path| format!("{}{path}", head.trim()));
    parts.iter().filter(|part| !part.trim().is_empty()).flat_map(full).collect()
}

/// Paths within expressions and types.
fn inline(text: &str) -> Vec<String> {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = text.split(|c: char| !is_path(c));
    words.filter(|word| word.contains("::")).map(|word| word.trim_end_matches(':').to_string()).collect()
}

/// A path from the root of the crate; nothing for one that leads out of it.
fn absolute(path: &str, module: &Name, texts: &BTreeMap<Name, String>) -> Option<Name> {
    let mut parts = path.trim().split("::").map(|part| part.trim().to_string()).peekable();
    let mut base = match parts.peek()?.as_str() {
        "crate" => {
            parts.next();
            vec![]
        }
        "self" | "super" => module.clone(),
        child => {
            let known: Name = module.iter().cloned().chain([child.to_string()]).collect();
            texts.contains_key(&known).then(|| module.clone())?
        }
    };
    while let Some(part) = parts.next_if(|part| part == "self" || part == "super") {
        if part == "super" {
            base.pop()?;
        }
    }
    Some(base.into_iter().chain(parts.filter(|part| part != "self")).collect())
}

#[test]
fn identity_no_crate_has_a_cycle_of_modules() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut all: Vec<_> = fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    let mut found = Vec::new();
    for dir in all.iter().filter(|dir| dir.join("src").is_dir()) {
        let name = dir.file_name().unwrap().to_string_lossy().into_owned();
        let modules = Crate::read(&dir.join("src"));
        assert!(modules.texts.len() > 1 && !modules.edges().is_empty(), "{name}: nothing was counted");
        found.extend(modules.cycles().into_iter().map(|cycle| format!("{name}, {cycle}")));
    }
    assert!(found.is_empty(), "cycles of modules:\n{}", found.join("\n"));
}

#[test]
fn identity_a_cycle_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    write("lib.rs", "mod a;\nmod b;\nmod c;\npub use c::Thing;\n");
    write("a.rs", "use crate::{b::{self, X}, other};\n");
    write("b.rs", "fn f() { crate::Thing::new() }\n");
    write("c.rs", "// crate::a\nuse std::fmt;\n#[cfg(test)]\nmod tests {\n    use crate::a::X;\n}\n");
    assert_eq!(Crate::read(dir.path()).cycles(), Vec::<String>::new());
    write("c.rs", "fn g() -> super::a::Y {}\n");
    assert_eq!(Crate::read(dir.path()).cycles(), ["in the crate: a, b, c"]);
}

#[test]
fn identity_few_files_lie_directly_in_src() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for dir in fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path().join("src")).filter(|src| src.is_dir()) {
        let files = fs::read_dir(&dir).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_file()).count();
        assert!(files <= 12, "{}: {files} files", dir.display());
    }
}

/// A file of tests that its `all.rs` does not list would never run.
#[test]
fn identity_every_file_of_tests_is_listed() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut programs = 0;
    for dir in fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(all) = fs::read_to_string(dir.join("tests/all.rs")) else { continue };
        programs += 1;
        let listed = all + &fs::read_to_string(dir.join("Cargo.toml")).unwrap();
        for entry in fs::read_dir(dir.join("tests")).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if let Some(stem) = name.strip_suffix(".rs").filter(|stem| *stem != "all") {
                let known = [format!("mod {stem};"), format!("name = \"{stem}\"")];
                assert!(known.iter().any(|line| listed.contains(line)), "{}: {name} is listed nowhere", dir.display());
            }
        }
    }
    assert!(programs >= 3, "{programs} programs of tests");
}
