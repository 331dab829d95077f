//! Say how probable it is that nothing jumped in a window of a fitted record.

use anyhow::Result;
use std::path::Path;

use crate::directory::npz_read::array;
use crate::failure::bad;
use crate::table::bytes::open_result;
use crate::table::time::Calendar;
use crate::workflow::forecast::Origin;
use crate::workflow::general::forecast as general;

/// Per column, or noise source where states are written out: its name, and the probability that it did not jump in the latent
/// steps that end after time `from` and not after time `to`, by the definition of a jump that the fit used.
///
/// # Errors
/// No such run, a text that is no time of its record, a window without steps.
pub fn no_jump(run: &Path, [from, to]: [&str; 2]) -> Result<Vec<(String, f64)>> {
    let (names, calendar) = match general::Origin::read(run)? {
        Some(origin) => {
            let (_, model, calendar) = origin.parts();
            (model.sources.into_iter().map(|source| source.name).collect(), calendar)
        }
        None => {
            let origin = Origin::read(run)?;
            (origin.names().to_vec(), origin.calendar().clone())
        }
    };
    let read = |text: &str| Calendar::read(&calendar, "no-jump", text);
    let (start, end) = (read(from)?, read(to)?);
    let archive = run.join("paths.npz");
    let name = archive.display().to_string();
    let file = open_result(&archive).map_err(|error| bad(format!("{name}: cannot be read: {error}")))?;
    let find = |what: &str, width: Option<usize>| {
        let check = |shape: &[usize]| match shape.get(1).copied() == width {
            true => Ok(()),
            false => Err(format!("has shape {shape:?}")),
        };
        let found = array(&file, what, check);
        found.map_err(|why| bad(format!("{name}: {why}; fit again with this version")))
    };
    let (times, weights, jumps) = (find("times", None)?, find("weights", None)?, find("jumps", Some(3))?);
    let within = |time: f64| time > start && time <= end;
    if !times.values.iter().skip(1).any(|&time| within(time)) {
        let [first, last] = [0, times.values.len() - 1].map(|j| calendar.write(times.values[j]));
        return Err(bad(format!(
            "no step of the record ends after {from} and not after {to}; it has {first} to {last}"
        )));
    }
    let mut calm = vec![vec![true; weights.values.len()]; names.len()];
    for row in jumps.values.chunks_exact(3) {
        let [path, j, i] = [row[0], row[1], row[2]].map(|number| number as usize);
        let (Some(time), Some(calm)) = (times.values.get(j), calm.get_mut(i).and_then(|calm| calm.get_mut(path)))
        else {
            return Err(bad(format!("{name}: array \"jumps\" names a path, time or column that is not there")));
        };
        *calm &= !within(*time);
    }
    let share = |calm: Vec<bool>| -> f64 {
        // Not `sum`, which is −0 of nothing.
        calm.iter().zip(&weights.values).filter(|(calm, _)| **calm).fold(0.0, |sum, (_, weight)| sum + weight)
    };
    // A sum of weights may exceed 1 by rounding.
    Ok(names.into_iter().zip(calm).map(|(name, calm)| (name, share(calm).min(1.0))).collect())
}
