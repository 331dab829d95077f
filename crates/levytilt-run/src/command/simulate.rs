//! Draw a data set and write it beside its truth.

use anyhow::Result;
use std::path::PathBuf;

use crate::directory::lock::Lock;
use crate::settings::Settings;
use crate::table::read_columns;
use crate::workflow::simulate::{Drawn, draw_driven};

/// What to draw, and where to write it.
#[derive(Debug, Clone)]
pub struct Request {
    /// What was given.
    pub settings: Settings,
    /// Settings file, for what was not given.
    pub config: Option<PathBuf>,
    /// File with the values of inputs, for a model that has inputs.
    pub inputs: Option<String>,
    /// Directory for the results.
    pub out: PathBuf,
}

/// Draw and write.
pub fn run(request: Request) -> Result<Drawn> {
    let Request { settings, config, inputs, out } = request;
    settings.drift.without_network("simulate")?;
    let lock = Lock::new(&out)?;
    let settings = settings.with_config(config.as_deref())?;
    let read = |file: String| read_columns(&file, &settings.input_columns(), &settings.data.format());
    let table = inputs.map(read).transpose()?;
    let drawn = draw_driven(settings, table)?;
    drawn.save(lock)?;
    Ok(drawn)
}
