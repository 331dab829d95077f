//! Run `levytilt reproduce`: the paper's tables, with the published figure beside ours.

pub mod args;
pub mod prices;
pub mod published;
pub mod synthetic;

use anyhow::Result;

use crate::output::check_directory;
use crate::reproduce::args::{ReproduceArgs, Study};

/// Run the study asked for.
pub fn run(args: &ReproduceArgs) -> Result<()> {
    check_directory(&args.out)?;
    match args.study {
        Study::Synthetic => synthetic::run(args),
        Study::Univariate => prices::univariate(args),
        Study::Multivariate => prices::multivariate(args),
    }
}
