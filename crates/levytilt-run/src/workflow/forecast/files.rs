//! Read a forecast back from the directory `levytilt forecast --out` wrote.

use anyhow::Result;
use levytilt::internals::forecast::Target;
use std::path::Path;

use crate::directory::npz_read;
use crate::failure::{bad, quoted};
use crate::table::bytes::{open_result, read_text};
use crate::table::rows::split;
use crate::table::time::{self, Written};
use crate::workflow::forecast::OF_OBSERVATIONS;

/// Forecast paths with the names of what they forecast.
pub struct Ahead {
    /// Where it was read from.
    pub source: String,
    /// Times as written.
    pub texts: Vec<String>,
    /// The same times.
    pub times: Vec<Written>,
    /// Names of the dimensions.
    pub dimensions: Vec<String>,
    /// Number of paths.
    pub paths: usize,
    /// What the paths are of; nothing if the file does not say.
    pub target: Option<Target>,
    /// Paths, (path, time, dimension).
    states: Vec<f64>,
}

impl Ahead {
    /// Read forecast.csv (times and names) and paths.npz (paths, and what they are of).
    pub fn read(dir: &Path) -> Result<Self> {
        let source = dir.display().to_string();
        let (table, archive) = (dir.join("forecast.csv"), dir.join("paths.npz"));
        let expected = "expected a directory of `levytilt forecast --out`";
        let missing =
            [&table, &archive].into_iter().find(|path| !path.is_file()).map(|path| path.display().to_string());
        if let Some(missing) = missing {
            return Err(bad(format!("{missing}: is not there; {expected}")));
        }
        let name = table.display().to_string();
        let (texts, dimensions) = labels(&read_text(&name)?, &name)?;
        let parse = |text: &String| time::parse(text).map_err(|problem| bad(format!("{name}: {problem}")));
        let times = texts.iter().map(parse).collect::<Result<Vec<Written>>>()?;
        let name = archive.display().to_string();
        let file = open_result(&archive).map_err(|error| bad(format!("{name}: cannot be read: {error}")))?;
        let expected = [texts.len(), dimensions.len()];
        let check = |shape: &[usize]| match shape {
            [_, rest @ ..] if rest == expected => Ok(()),
            _ => Err(format!(
                "has shape {shape:?}, expected (paths, {}, {}) for the times and dimensions of forecast.csv",
                expected[0], expected[1]
            )),
        };
        let damaged = |why: String| bad(format!("{name}: {why}"));
        let found = npz_read::array(&file, "paths", check).map_err(damaged)?;
        let one =
            |shape: &[usize]| if shape == [1] { Ok(()) } else { Err(format!("has shape {shape:?}, expected [1]")) };
        let mark = npz_read::optional(&file, OF_OBSERVATIONS, one).map_err(damaged)?;
        let target = match mark.map(|mark| mark.values[0]) {
            None => None,
            Some(1.0) => Some(Target::Observations),
            Some(0.0) => Some(Target::States),
            Some(other) => return Err(damaged(format!("array \"{OF_OBSERVATIONS}\": is {other}, expected 0 or 1"))),
        };
        let paths = found.shape[0];
        Ok(Self { source, texts, times, dimensions, paths, target, states: found.values })
    }

    /// The draws at time number `j` of dimension number `i`.
    pub fn draws(&self, j: usize, i: usize) -> Vec<f64> {
        let (dim, width) = (self.dimensions.len(), self.texts.len() * self.dimensions.len());
        self.states.chunks_exact(width).map(|path| path[j * dim + i]).collect()
    }

    /// The draws at time number `j`, all dimensions of a path together.
    pub fn cloud(&self, j: usize) -> Vec<f64> {
        let (dim, width) = (self.dimensions.len(), self.texts.len() * self.dimensions.len());
        self.states.chunks_exact(width).flat_map(|path| &path[j * dim..(j + 1) * dim]).copied().collect()
    }
}

/// Times and names of dimensions in a forecast table, in the order of their first row; all pairs must be there once.
fn labels(text: &str, name: &str) -> Result<(Vec<String>, Vec<String>)> {
    let (header, rows) = split(text, name)?;
    if header.iter().take(2).ne(["time", "dimension"]) {
        let found = quoted(&header.iter().collect::<Vec<_>>().join(","));
        return Err(bad(format!("{name}, line 1: expected the columns time,dimension,..., found {found}")));
    }
    let column = |k: usize| {
        let mut seen = std::collections::HashSet::new();
        rows.iter().map(|row| &row.fields[k]).filter(|field| seen.insert(*field)).map(String::from).collect::<Vec<_>>()
    };
    let (times, dimensions) = (column(0), column(1));
    let pairs: std::collections::HashSet<_> = rows.iter().map(|row| (&row.fields[0], &row.fields[1])).collect();
    if rows.is_empty() || pairs.len() != rows.len() || rows.len() != times.len() * dimensions.len() {
        return Err(bad(format!(
            "{name}: has {} rows for {} times and {} dimensions; expected one row for every pair",
            rows.len(),
            times.len(),
            dimensions.len()
        )));
    }
    Ok((times, dimensions))
}
