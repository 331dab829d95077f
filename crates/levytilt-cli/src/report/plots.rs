//! Write the figures of a result as files of their own.

use anyhow::Result;
use std::path::Path;

use super::figure::Figure;
use super::{CONTENT, png, read, sheet, svg};
use crate::args::{PlotArgs, PlotFormat};
use crate::claim::Claim;
use crate::failure::{bad, quoted};
use crate::output::{Entry, say};

/// Draw the figures of the result in `dir` into `dir/plots`, if that is asked for.
pub fn draw(dir: &Path, wanted: &PlotArgs, quiet: bool) -> Result<()> {
    let plots = dir.join("plots");
    let Some(format) = wanted.plots else {
        if plots.exists() && !quiet {
            say(&format!("note: {} is of an earlier result; --plots draws it anew", plots.display()));
        }
        return Ok(());
    };
    let page = read(dir)?;
    let files = page.figures().into_iter().map(|figure| draw_one(figure, format)).collect::<Result<Vec<_>>>()?;
    Claim::of_any_version(&plots)?.save(&files)?;
    if !quiet {
        say(&format!("written: {}: {} figures", plots.display(), files.len()));
    }
    Ok(())
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
    Err(bad(format!("{CONTENT}: {} is no name of a figure; expected letters, digits, - and _", quoted(id))))
}
