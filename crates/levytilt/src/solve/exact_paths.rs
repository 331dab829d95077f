//! Solve one-dimensional models without a potential: posterior paths straight from the messages of the exact reference.

use crate::exact::backward::Backward;
use crate::exact::layout::Layout;
use crate::exact::problem::Problem;
use crate::exact::sample::sample;
use crate::exact::transition::Transition;
use crate::exact::{Options, solve};
use crate::posterior::Paths;
use crate::series::TimeGrid;
use crate::{Chain, Result, StateSpace};

/// Paths of the exact posterior.
#[derive(Debug)]
pub struct ExactPosterior {
    /// The paths. Their log-weights are computed path by path and differ from the log evidence by the errors of the grid
    /// alone, so paths may be counted equally.
    pub paths: Paths,
    /// ln p(values), every observation with its Gaussian constant.
    pub log_evidence: f64,
    /// Distance of the grid's states.
    pub spacing: f64,
    /// Range of states that the grid holds at times without an observation; paths may leave it.
    pub domain: (f64, f64),
    /// What a reader should know about the grid.
    pub notes: Vec<String>,
}

/// Draw `count` paths from the posterior of `model` on the times of `grid`, given one value per observation row (NaN =
/// missing), with streams (`seed`, 0), (`seed`, 1), …; the same for any number of threads.
///
/// Cost: that of [`log_evidence`](crate::exact::log_evidence), one more backward run, and about a microsecond per path and step. `options`
/// are those of the reference; its quantiles are not used.
///
/// # Errors
/// Those of [`smooth`](crate::exact::smooth); no path asked for; a path that heavy tails carry out of the range of numbers.
pub fn exact_paths(
    model: &StateSpace,
    grid: &TimeGrid,
    values: &[f64],
    options: &Options,
    count: usize,
    seed: u64,
) -> Result<ExactPosterior> {
    exact_paths_of(&Chain::new(model, grid, &[values])?, options, count, seed)
}

/// [`grid`] for a model that is laid out already.
pub(crate) fn exact_paths_of(chain: &Chain, options: &Options, count: usize, seed: u64) -> Result<ExactPosterior> {
    crate::error::positive("paths", count as f64)?;
    chain.model().only_dimension()?;
    let values = chain.rows(0);
    let problem = Problem::new(chain.model(), chain.grid(), &values)?;
    let solution = solve::solve(&problem, options, false)?;
    let layout = Layout::new(&problem, solution.spacing, solution.domain, options.max_cells)?;
    let backward = Backward::run(&mut Transition::new(&problem, &layout, options.max_cells, solution.rounding))?;
    let paths = sample((&problem, chain), (&layout, solution.rounding, &backward), options.max_cells, count, seed)?;
    Ok(ExactPosterior {
        paths,
        log_evidence: solution.run.log_evidence,
        spacing: solution.spacing,
        domain: solution.domain,
        notes: solution.notes,
    })
}
