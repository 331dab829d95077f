//! Run `levytilt reproduce`: the paper's tables, with the published figure beside ours.

use anyhow::Result;

use crate::output::check_directory;
use crate::reproduce_args::{ReproduceArgs, Study};
use crate::{reproduce_prices, synthetic};

/// Run the study asked for.
pub fn run(args: &ReproduceArgs) -> Result<()> {
    check_directory(&args.out)?;
    match args.study {
        Study::Synthetic => synthetic::run(args),
        Study::Univariate => reproduce_prices::univariate(args),
        Study::Multivariate => reproduce_prices::multivariate(args),
    }
}
