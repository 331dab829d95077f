//! Lock a result directory: one process at a time writes into it, and never over a result of another version.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::directory::commit;
use crate::directory::entry::Entry;
use crate::directory::foreign::{SIGNED, refuse_foreign};
use crate::failure::bad;
use crate::table::bytes::read_json;

/// Name of the file that is locked while a process works for the directory; it holds the number of that process.
const LOCK: &str = ".levytilt-lock";

/// A directory that no other process of this program writes into until this is dropped.
///
/// The system drops the lock with the process, however that ends: a lock left by a kill stops nobody.
#[derive(Debug)]
pub struct Lock {
    dir: PathBuf,
    lock: Option<File>,
    /// Whether files that this program did not write stay.
    sparing: bool,
    /// Directories made for it, innermost first; those that are still empty at the end go away again.
    made: Vec<PathBuf>,
}

impl Lock {
    /// Lock `dir` for a new result; made if it is missing.
    ///
    /// # Errors
    /// Not a directory, or not to be written; in use by another process, which is named; a result of another version.
    pub fn new(dir: &Path) -> Result<Self> {
        let mut locked = Self::of_any_version(dir)?;
        refuse_other_version(dir)?;
        locked.sparing = true;
        Ok(locked)
    }

    /// As [`Lock::new`], and refuse at once, before anything is computed, if a file called one of `names` is there that this
    /// program did not write.
    pub fn for_files(dir: &Path, names: &[&str]) -> Result<Self> {
        let locked = Self::new(dir)?;
        refuse_foreign(dir, names.iter().copied())?;
        Ok(locked)
    }

    /// Lock `dir` in order to add to what is there, whatever version it is of.
    pub fn of_any_version(dir: &Path) -> Result<Self> {
        if dir.exists() && !dir.is_dir() {
            return Err(bad(format!("--out {}: exists and is not a directory", dir.display())));
        }
        let mut locked = Self { dir: dir.into(), lock: None, sparing: false, made: missing_ancestors(dir) };
        let made = fs::create_dir_all(dir);
        made.map_err(|error| bad(format!("cannot make {}: {error}; choose another --out", dir.display())))?;
        locked.lock = Some(lock(dir)?);
        commit::finish(dir)?;
        commit::discard(dir)?;
        Ok(locked)
    }

    /// Write all of a result; after an error, or a kill at any moment, what was there before is there still. A file that this
    /// program did not write is an error.
    pub fn save(self, entries: &[Entry]) -> Result<()> {
        if self.sparing {
            refuse_foreign(&self.dir, entries.iter().map(|entry| &*entry.name))?;
        }
        commit::write(&self.dir, entries).with_context(|| format!("cannot write into {}", self.dir.display()))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.lock.is_some() {
            // While it is still locked: who opens it now finds, once it has the lock, that it is gone.
            drop(fs::remove_file(self.dir.join(LOCK)));
        }
        // Only while empty: `remove_dir` refuses any other.
        self.made.iter().for_each(|path| drop(fs::remove_dir(path)));
    }
}

/// The directories that `create_dir_all` will make, innermost first.
fn missing_ancestors(dir: &Path) -> Vec<PathBuf> {
    dir.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists()).map(Into::into).collect()
}

fn lock(dir: &Path) -> Result<File> {
    let path = dir.join(LOCK);
    if path.is_symlink() {
        return Err(bad(format!("{}: is a link, which this program never creates; remove it", path.display())));
    }
    let refused = |error| bad(format!("cannot write into {}: {error}; choose another --out", dir.display()));
    loop {
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = open.map_err(refused)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(dir, &mut file)),
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {
                let note = "this file system has no locks: make sure that no other process writes there";
                drop(writeln!(std::io::stderr(), "{}: {note}", dir.display()));
            }
            Err(TryLockError::Error(error)) => return Err(refused(error)),
        }
        if is_still(&file, &path) {
            let written = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
            return written.map(|()| file).map_err(|error| {
                drop(fs::remove_file(&path));
                refused(error)
            });
        }
    }
}

fn in_use(dir: &Path, file: &mut File) -> anyhow::Error {
    // Between the lock and the number there is a moment.
    for _ in 0..20 {
        let mut pid = String::new();
        drop(file.take(32).read_to_string(&mut pid));
        if let Ok(pid) = pid.trim().parse::<u32>() {
            return bad(format!("{}: in use by process {pid}; wait for it, or use another --out", dir.display()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    bad(format!("{}: in use by another process; wait for it, or use another --out", dir.display()))
}

/// Whether the file at `path` is the one that was opened: its last owner may have removed it in between.
#[cfg(unix)]
fn is_still(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |found: fs::Metadata| (found.dev(), found.ino());
    file.metadata().map(place).ok() == fs::symlink_metadata(path).map(place).ok()
}

/// Elsewhere a file that is open cannot be removed.
#[cfg(not(unix))]
fn is_still(_: &File, path: &Path) -> bool {
    path.exists()
}

/// The version that a result says it was made by.
fn version_of(dir: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Signed {
        version: String,
    }
    SIGNED.iter().find_map(|name| read_json::<Signed>(&dir.join(name)).ok()?.ok()).map(|signed| signed.version)
}

/// A remark for an error about a result: nothing if it is of this version.
pub fn made_by(dir: &Path) -> String {
    let own = env!("CARGO_PKG_VERSION");
    match version_of(dir) {
        Some(other) if other != own => {
            format!("; it was made by version {other}, and this is {own}: run the command again")
        }
        _ => String::new(),
    }
}

fn refuse_other_version(dir: &Path) -> Result<()> {
    let own = env!("CARGO_PKG_VERSION");
    match version_of(dir) {
        Some(other) if other != own => Err(bad(format!(
            "{}: holds a result of version {other}, and this is {own}; use another --out, or move the old result away",
            dir.display()
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(dir: &Path) -> String {
        Lock::new(dir).unwrap_err().to_string()
    }

    #[test]
    fn identity_a_lock_holds_until_it_is_dropped() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("a/b");
        let held = Lock::new(&dir).unwrap();
        let pid = std::process::id();
        assert!(message(&dir).contains(&format!("in use by process {pid};")), "{}", message(&dir));
        drop(held);
        // Nothing was written, so nothing is left, and the next may come.
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
        Lock::new(&dir).unwrap().save(&[Entry::text("x.txt", "new".into())]).unwrap();
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
    }

    #[test]
    fn identity_what_a_kill_leaves_stops_nobody() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(LOCK), "1\n").unwrap();
        fs::create_dir(root.path().join(".levytilt-new")).unwrap();
        fs::write(root.path().join(".levytilt-new/half.txt"), "ha").unwrap();
        drop(Lock::new(root.path()).unwrap());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn identity_only_one_of_many_threads_has_it() {
        // Locks come and go; two at a time would meet in the file "inside".
        let root = tempfile::tempdir().unwrap();
        let inside = root.path().join("inside");
        let work = || {
            for _ in 0..200 {
                if let Ok(_held) = Lock::new(root.path()) {
                    fs::create_dir(&inside).expect("somebody else is inside");
                    fs::remove_dir(&inside).unwrap();
                }
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn identity_a_result_of_another_version_stays() {
        let root = tempfile::tempdir().unwrap();
        let old = r#"{"elbo": -1.5, "version": "0.0.9", "warnings": []}"#;
        fs::write(root.path().join("summary.json"), old).unwrap();
        let said = message(root.path());
        assert!(said.contains("0.0.9") && said.contains(env!("CARGO_PKG_VERSION")), "{said}");
        assert_eq!(fs::read_to_string(root.path().join("summary.json")).unwrap(), old);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }
}
