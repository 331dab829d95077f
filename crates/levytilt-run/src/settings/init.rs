//! Write a settings file that explains itself.

use anyhow::Result;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use crate::failure::bad;

/// Settings with comments; every line that begins with `#` and has a key can be put in force by removing the `#`.
pub const TEMPLATE: &str = include_str!("init.toml");

/// Write the file; one that exists is left alone unless it is to be replaced.
pub fn write_template(file: &Path, replace: bool) -> Result<()> {
    let name = file.display();
    match write(file, replace) {
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(bad(format!("{name}: is there already; give --force to replace it, or another name")))
        }
        Err(e) => Err(bad(format!("{name}: cannot be written: {e}"))),
        Ok(()) => Ok(()),
    }
}

/// Of several at once without `replace` one makes the file, and the others find it there. What is replaced is written under
/// another name first, so that a failure leaves what was there.
fn write(file: &Path, replace: bool) -> std::io::Result<()> {
    if !replace {
        let written = File::create_new(file)?.write_all(TEMPLATE.as_bytes());
        return written.inspect_err(|_| drop(fs::remove_file(file)));
    }
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = Path::new(&name);
    let written = fs::write(temporary, TEMPLATE).and_then(|()| fs::rename(temporary, file));
    written.inspect_err(|_| drop(fs::remove_file(temporary)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn identity_every_line_is_a_setting() {
        let settings: Settings = toml::from_str(TEMPLATE).unwrap();
        assert_eq!(settings.to_toml().unwrap(), toml::from_str::<Settings>("").unwrap().to_toml().unwrap());
        // With every comment that holds a key put in force it is still a settings file, and none of it is unknown.
        let lines: Vec<&str> =
            TEMPLATE.lines().map(|l| if l.contains(" = ") { l.trim_start_matches('#') } else { l }).collect();
        let full: Settings = toml::from_str(&lines.join("\n")).unwrap();
        let table = toml::Table::try_from(full).unwrap();
        let sections: Vec<&String> = table.keys().collect();
        assert_eq!(sections, ["data", "drift", "grid", "model", "parameters", "simulate", "solve"]);
        assert_eq!(table["model"].as_table().unwrap().len(), 16);
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
            assert_eq!((made, fs::read_to_string(&file).unwrap().as_str()), (1, TEMPLATE));
            assert!(write(&file, true).is_ok());
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 20);
    }
}
