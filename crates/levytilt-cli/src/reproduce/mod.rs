//! Run `levytilt reproduce`: the paper's tables, with the published figure beside ours.

pub mod args;
pub mod beside;
pub mod prices;
pub mod published;
pub mod synthetic;

use anyhow::Result;

use crate::claim::Claim;
use crate::reproduce::args::{ReproduceArgs, Study};

/// Run the study asked for.
pub fn run(args: &ReproduceArgs) -> Result<()> {
    let claim = Claim::new(&args.out)?;
    match args.study {
        Study::Synthetic => synthetic::run(args, claim),
        Study::Univariate => prices::univariate(args, claim),
        Study::Multivariate => prices::multivariate(args, claim),
    }
}
