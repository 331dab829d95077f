//! Write a settings file that explains itself.

use anyhow::Result;
use levytilt::ErrorKind;
use levytilt::internals::registry::Listed;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use crate::failure::bad;
use crate::settings::names::{Drifts, ErrorLaws, Listing, Noises};
use crate::settings::parameters::Section;
use crate::settings::{DriftName, NoiseName};

/// Settings with comments; every line that begins with `#` and has a key can be put in force by removing the `#`.
pub fn template() -> String {
    let drifts = choice("drift", DriftName::OU.as_str(), &Drifts::listed());
    let noises = choice("noise", NoiseName::STABLE.as_str(), &Noises::listed());
    let errors = choice("errors", ErrorKind::Gaussian.name(), &ErrorLaws::listed());
    let keys = |section: Section| section.listed().map(key).collect::<Vec<_>>().join("\n");
    let model = [drifts, noises, errors, keys(Section::Model)].join("\n");
    include_str!("init.toml").replace("{model}", &model).replace("{drift}", &keys(Section::Drift))
}

/// A key that chooses among names.
fn choice(key: &str, default: &str, names: &[(&str, String)]) -> String {
    let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    line(&format!("#{key} = \"{default}\""), &names.join(" | "))
}

/// The key of a parameter.
fn key(listed: &Listed) -> String {
    line(&format!("#{} = {:?}", listed.name, listed.entry().example), &listed.about())
}

/// A line with a comment, which goes on below where it is long.
fn line(text: &str, comment: &str) -> String {
    let mut lines = vec![format!("{text:<28} #")];
    for word in comment.split(' ') {
        if lines[lines.len() - 1].chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(format!("{:<28} #", ""));
        }
        let last = lines.len() - 1;
        lines[last] += " ";
        lines[last] += word;
    }
    lines.join("\n")
}

/// Longest line.
const WIDTH: usize = 118;

/// Write the file; one that exists is left alone unless it is to be replaced.
pub fn write_template(file: &Path, replace: bool) -> Result<()> {
    let name = file.display();
    match write(file, replace) {
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(bad(format!("{name}: already exists; give --force to overwrite it, or another name")))
        }
        Err(e) => Err(bad(format!("{name}: cannot be written: {e}"))),
        Ok(()) => Ok(()),
    }
}

/// Of several at once without `replace` one makes the file, and the others find it there. What is replaced is written under
/// another name first, so that a failure leaves what was there.
fn write(file: &Path, replace: bool) -> std::io::Result<()> {
    if !replace {
        let written = File::create_new(file)?.write_all(template().as_bytes());
        return written.inspect_err(|_| drop(fs::remove_file(file)));
    }
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = Path::new(&name);
    let written = fs::write(temporary, template()).and_then(|()| fs::rename(temporary, file));
    written.inspect_err(|_| drop(fs::remove_file(temporary)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn identity_every_line_is_a_setting() {
        let settings: Settings = toml::from_str(&template()).unwrap();
        assert_eq!(settings.to_toml().unwrap(), toml::from_str::<Settings>("").unwrap().to_toml().unwrap());
        // With every comment that holds a key put in force it is still a settings file, and none of it is unknown.
        let text = template();
        let lines: Vec<&str> = text
            .lines()
            .map(|l| if l.starts_with('#') && l.contains(" = ") { l.trim_start_matches('#') } else { l })
            .collect();
        let full: Settings = toml::from_str(&lines.join("\n")).unwrap();
        let table = toml::Table::try_from(full).unwrap();
        let sections: Vec<&String> = table.keys().collect();
        assert_eq!(sections, ["data", "drift", "grid", "inputs", "model", "paper", "parameters", "simulate", "solve"]);
        assert_eq!(table["model"].as_table().unwrap().len(), 6 + Section::Model.names().count());
        assert_eq!(table["drift"].as_table().unwrap().len(), 4 + Section::Drift.names().count());
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH + 2));
    }

    #[test]
    fn identity_of_many_at_once_one_makes_the_file() {
        let dir = tempfile::tempdir().unwrap();
        for trial in 0..20 {
            let file = dir.path().join(format!("{trial}.toml"));
            let made = std::thread::scope(|scope| {
                let all: Vec<_> = (0..4).map(|_| scope.spawn(|| write(&file, false).is_ok())).collect();
                all.into_iter().map(|one| one.join().unwrap()).filter(|made| *made).count()
            });
            assert_eq!((made, fs::read_to_string(&file).unwrap().as_str()), (1, template().as_str()));
            assert!(write(&file, true).is_ok());
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 20);
    }
}
