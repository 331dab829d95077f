//! Run `levytilt init`: write a settings file that explains itself.

use anyhow::Result;
use std::fs;
use std::path::Path;

use crate::args::InitArgs;
use crate::failure::bad;
use crate::output::say;

/// Settings with comments; every line that begins with `#` and has a key can be put in force by removing the `#`.
const TEMPLATE: &str = include_str!("init.toml");

/// Write the file, or print it; a file that exists is left alone unless --force is given.
pub fn run(args: &InitArgs) -> Result<()> {
    if args.file.as_os_str() == "-" {
        say(TEMPLATE.trim_end());
        return Ok(());
    }
    let name = args.file.display();
    match write(&args.file, args.force) {
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(bad(format!("{name}: is there already; give --force to replace it, or another name")))
        }
        Err(e) => Err(bad(format!("{name}: cannot be written: {e}"))),
        Ok(()) => {
            say(&format!("written: {name}\nnext:    levytilt fit DATA --config {name} --out run"));
            Ok(())
        }
    }
}

/// Write the whole file under another name first, so that a failure leaves what was there.
fn write(file: &Path, replace: bool) -> std::io::Result<()> {
    if !replace && file.exists() {
        return Err(std::io::ErrorKind::AlreadyExists.into());
    }
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = Path::new(&name);
    let written = fs::write(temporary, TEMPLATE).and_then(|()| fs::rename(temporary, file));
    if written.is_err() {
        drop(fs::remove_file(temporary));
    }
    written
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
}
