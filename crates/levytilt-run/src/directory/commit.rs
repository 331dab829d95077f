//! Replace a result as a whole: after a kill at any moment a directory holds all of the old result or all of the new.
//!
//! Files are written into a directory of their own, which is then renamed. With that one step the new result counts;
//! moving its files to their places is only tidying, which whoever comes next finishes.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::directory::entry::{Content, Entry};

/// Where files are written: not yet a result.
const NEW: &str = ".levytilt-new";
/// Where they are once all are whole: the result, not yet in its place.
const DONE: &str = ".levytilt-done";
/// Before the name of a file that the new result does not have.
const GONE: &str = "gone-";
/// Before the name of a file that it has.
const HERE: &str = "here-";

/// Write all files into `dir`, which nobody else may do at the same time.
pub fn write(dir: &Path, entries: &[Entry]) -> Result<()> {
    // The one thing that would stop a move halfway through.
    if let Some(entry) = entries.iter().find(|entry| dir.join(&*entry.name).is_dir()) {
        bail!("{} is a directory there", entry.name);
    }
    let new = dir.join(NEW);
    let written = fs::create_dir(&new).map_err(Into::into).and_then(|()| write_new(&new, entries));
    let whole = written.and_then(|()| Ok(fs::rename(&new, dir.join(DONE))?));
    if whole.is_err() {
        drop(fs::remove_dir_all(&new));
    }
    whole?;
    sync(dir)?;
    finish(dir)
}

fn write_new(new: &Path, entries: &[Entry]) -> Result<()> {
    for Entry { name, content } in entries {
        match content {
            Content::Gone => File::create(new.join(format!("{GONE}{name}")))?.sync_all()?,
            Content::Write(write) => {
                let mut out = BufWriter::new(File::create(new.join(format!("{HERE}{name}")))?);
                write(&mut out).with_context(|| name.to_string())?;
                out.into_inner().map_err(|error| error.into_error())?.sync_all()?;
            }
        }
    }
    sync(new)
}

/// Move a whole result to its place, if one waits for that. Readers call this too; several at a time do no harm.
pub fn finish(dir: &Path) -> Result<()> {
    let done = dir.join(DONE);
    // A link could point to anything.
    if !fs::symlink_metadata(&done).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    let moved = move_all(dir, &done);
    moved.with_context(|| format!("cannot move the files of {} to their place above it", done.display()))
}

fn move_all(dir: &Path, done: &Path) -> Result<()> {
    let mut names = match fs::read_dir(done) {
        Ok(found) => found.map(|entry| Ok(entry?.file_name())).collect::<Result<Vec<OsString>>>()?,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    // The same order every time, so that a test can stop after any number of steps.
    names.sort();
    for name in &names {
        let text = name.to_string_lossy();
        if let Some(place) = text.strip_prefix(HERE) {
            gone_is_fine(fs::rename(done.join(name), dir.join(place)))?;
        } else if let Some(place) = text.strip_prefix(GONE) {
            gone_is_fine(fs::remove_file(dir.join(place)))?;
            gone_is_fine(fs::remove_file(done.join(name)))?;
        } else {
            bail!("{text} is not a file of a result; remove it");
        }
    }
    sync(dir)?;
    Ok(gone_is_fine(fs::remove_dir(done))?)
}

/// What `read` finds in the result in `dir`, all of it from the same result: if another process replaced that meanwhile,
/// it is read again.
pub fn steady<T>(dir: &Path, read: impl Fn() -> Result<T>) -> Result<T> {
    for _ in 0..100 {
        finish(dir)?;
        let before = look(dir);
        let found = read();
        if before == look(dir) && !dir.join(DONE).exists() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    bail!("{}: keeps changing; another process is writing there", dir.display())
}

/// Files of a directory with length and time of writing: enough to see that one was replaced.
fn look(dir: &Path) -> BTreeMap<OsString, (u64, Option<SystemTime>)> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let file = |entry: fs::DirEntry| {
        let about = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some((entry.file_name(), (about.len(), about.modified().ok())))
    };
    entries.filter_map(file).collect()
}

/// Another process may have been faster.
fn gone_is_fine(result: std::io::Result<()>) -> std::io::Result<()> {
    result.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Remove what a process that was killed had begun to write; only for who holds the lock.
pub fn discard(dir: &Path) -> Result<()> {
    let new = dir.join(NEW);
    gone_is_fine(fs::remove_dir_all(&new)).with_context(|| format!("cannot remove {}", new.display()))
}

/// Make names in a directory survive a loss of power.
fn sync(dir: &Path) -> Result<()> {
    // Elsewhere directories cannot be opened, and renames are kept by the system.
    #[cfg(unix)]
    File::open(dir)?.sync_all()?;
    let _ = dir;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files of a directory and what they hold.
    fn content(dir: &Path) -> BTreeMap<String, String> {
        let name = |entry: &fs::DirEntry| entry.file_name().into_string().unwrap();
        let files = fs::read_dir(dir).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file());
        files.map(|entry| (name(&entry), fs::read_to_string(entry.path()).unwrap())).collect()
    }

    fn texts(list: &[(&'static str, &str)]) -> Vec<Entry<'static>> {
        list.iter().map(|(name, text)| Entry::text(*name, text.to_string())).collect()
    }

    #[test]
    fn identity_after_a_kill_anywhere_all_is_old_or_all_is_new() {
        let old = texts(&[("a.txt", "old a"), ("b.txt", "old b"), ("network", "old")]);
        let mut new = texts(&[("a.txt", "new a"), ("b.txt", "new b"), ("c.txt", "new c")]);
        new.push(Entry::gone("network"));
        let root = tempfile::tempdir().unwrap();
        let expected = root.path().join("expected");
        fs::create_dir(&expected).unwrap();
        write(&expected, &texts(&[("a.txt", "new a"), ("b.txt", "new b"), ("c.txt", "new c")])).unwrap();
        // Killed after `moves` of the four moves, before the directory is removed.
        for moves in 0..=4 {
            let dir = root.path().join(format!("killed {moves}"));
            fs::create_dir(&dir).unwrap();
            write(&dir, &old).unwrap();
            let before = content(&dir);
            fs::create_dir(dir.join(NEW)).unwrap();
            write_new(&dir.join(NEW), &new).unwrap();
            // Until here nothing counts.
            finish(&dir).unwrap();
            assert_eq!(content(&dir), before);
            fs::rename(dir.join(NEW), dir.join(DONE)).unwrap();
            let mut names: Vec<String> = content(&dir.join(DONE)).into_keys().collect();
            names.sort();
            for name in &names[..moves] {
                match name.strip_prefix(HERE) {
                    Some(place) => fs::rename(dir.join(DONE).join(name), dir.join(place)).unwrap(),
                    None => fs::remove_file(dir.join(&name[GONE.len()..])).unwrap(),
                }
            }
            finish(&dir).unwrap();
            assert_eq!(content(&dir), content(&expected), "after {moves} moves");
            assert!(!dir.join(DONE).exists());
        }
    }

    #[test]
    fn an_existing_file_survives_a_failure() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), &texts(&[("x.txt", "old")])).unwrap();
        let mut failing = texts(&[("x.txt", "new")]);
        failing.push(Entry::new("y.txt", |out| {
            out.write_all(b"half")?;
            bail!("disk full")
        }));
        assert!(write(root.path(), &failing).is_err());
        assert_eq!(content(root.path()), BTreeMap::from([("x.txt".into(), "old".into())]));
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[test]
    fn identity_a_reader_never_sees_two_results() {
        // One thread replaces a result of two files again and again, another reads them.
        let root = tempfile::tempdir().unwrap();
        let dir = root.path();
        let save = |k: usize| write(dir, &texts(&[("a.txt", &"x".repeat(k)), ("b.txt", &"x".repeat(k))])).unwrap();
        save(0);
        let length = |name: &str| Ok(fs::metadata(dir.join(name))?.len());
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| (1..40).for_each(save));
            while !writer.is_finished() {
                // Too busy a writer is an error, never a mixture.
                if let Ok((a, b)) = steady(dir, || Ok((length("a.txt")?, length("b.txt")?))) {
                    assert_eq!(a, b);
                }
            }
        });
        assert_eq!(steady(dir, || length("b.txt")).unwrap(), 39);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_place_of_the_result_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let (dir, outside) = (root.path().join("run"), root.path().join("outside"));
        for path in [&dir, &outside] {
            fs::create_dir(path).unwrap();
        }
        fs::write(outside.join("here-x.txt"), "x").unwrap();
        std::os::unix::fs::symlink(&outside, dir.join(DONE)).unwrap();
        finish(&dir).unwrap();
        assert!(outside.join("here-x.txt").exists() && !dir.join("x.txt").exists());
    }
}
