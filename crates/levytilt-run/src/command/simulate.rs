//! Draw a data set and write it beside its truth.

use anyhow::Result;
use std::path::PathBuf;

use crate::directory::lock::Lock;
use crate::settings::Settings;
use crate::workflow::simulate::{Drawn, draw};

/// What to draw, and where to write it.
#[derive(Debug, Clone)]
pub struct Request {
    /// What was given.
    pub settings: Settings,
    /// Settings file, for what was not given.
    pub config: Option<PathBuf>,
    /// Directory for the results.
    pub out: PathBuf,
}

/// Draw and write.
pub fn run(request: Request) -> Result<Drawn> {
    let Request { settings, config, out } = request;
    settings.drift.without_network("simulate")?;
    let lock = Lock::new(&out)?;
    let drawn = draw(settings.with_config(config.as_deref())?)?;
    drawn.save(lock)?;
    Ok(drawn)
}
