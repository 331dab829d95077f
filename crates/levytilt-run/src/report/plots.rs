//! Write the figures of a result as files of their own.

use anyhow::Result;
use std::path::{Path, PathBuf};

use super::figure::Figure;
use super::files::{CONTENT, read};
use super::{png, sheet, svg};
use crate::directory::entry::Entry;
use crate::directory::lock::Lock;
use crate::failure::{bad, quoted};

/// Formats of single figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlotFormat {
    /// 1800 pixels wide, for slides and messages.
    Png,
    /// Scalable, for papers.
    Svg,
}

/// What became of the figures of a result.
#[derive(Debug)]
pub enum Drawn {
    /// They were not asked for, and there are none.
    None,
    /// They were not asked for, and those in this directory are of an earlier result.
    Stale(PathBuf),
    /// So many were written into this directory.
    Written(PathBuf, usize),
}

/// Draw the figures of the result in `dir` into `dir/plots`, if that is asked for.
pub fn draw(dir: &Path, wanted: Option<PlotFormat>) -> Result<Drawn> {
    let plots = dir.join("plots");
    let Some(format) = wanted else {
        return Ok(if plots.exists() { Drawn::Stale(plots) } else { Drawn::None });
    };
    let page = read(dir)?;
    let files = page.figures().into_iter().map(|figure| draw_one(figure, format)).collect::<Result<Vec<_>>>()?;
    Lock::of_any_version(&plots)?.save(&files)?;
    Ok(Drawn::Written(plots, files.len()))
}

/// The file of one figure.
pub fn draw_one(figure: &Figure, format: PlotFormat) -> Result<Entry<'static>> {
    let picture = sheet::lay_out(figure)?;
    let name = name(figure)?;
    Ok(match format {
        PlotFormat::Svg => Entry::text(format!("{name}.svg"), svg::write(&picture)),
        PlotFormat::Png => Entry::bytes(format!("{name}.png"), png::write(&picture)?),
    })
}

/// Whether a figure can be painted; all of a PNG file but its packing.
#[cfg(any(test, fuzzing))]
pub fn can_be_painted(figure: &Figure) -> bool {
    sheet::lay_out(figure).is_ok_and(|picture| png::painted(&picture).is_ok())
}

/// The name of a figure's file. The figure's own comes from a file that anybody may have written.
fn name(figure: &Figure) -> Result<&str> {
    let id = &figure.id;
    if !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
        return Ok(id);
    }
    Err(bad(format!("{CONTENT}: {} is not the name of a figure; expected letters, digits, - and _", quoted(id))))
}
