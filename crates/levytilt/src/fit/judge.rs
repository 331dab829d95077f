//! Judge what was found with fresh random numbers: paths, their weights and the evidence.

use super::FitOptions;
use super::finder::OwnPaths;
use super::smoothed::{can_smooth, smoothed_paths};
use crate::posterior::{Evidence, Gap, Paths, Potentials, WeightSummary, Weighting, log_evidence, walk};
use crate::solve::{Choice, ExactPosterior, Method, exact_paths_of};
use crate::{Chain, Result, exact};

/// Fresh paths and what they say.
pub(super) struct Judgement {
    pub paths: Paths,
    pub summary: WeightSummary,
    pub evidence: Evidence,
    pub notes: Vec<String>,
    /// Whether the paths are draws of a particle smoother.
    pub smoothed: bool,
}

/// Latent times up to which a posterior that sweeps and Gaussian sums miss is drawn from the grid without being asked.
const SHORT: usize = 20_000;

/// Draw fresh paths with the method chosen. Where the choice was left open and the ELBO is far from the log evidence, the
/// grid takes over, if there is one dimension and not too many times; where the weights of paths of several dimensions cannot be
/// trusted, a particle smoother, if it can take the model. `choices` then says so.
pub(super) fn judge(
    (chain, columns): (&Chain, &[&[f64]]),
    choices: &mut Vec<Choice>,
    potentials: &Potentials,
    options: &FitOptions,
    [fresh, particles]: [u64; 2],
) -> Result<Judgement> {
    if choices.iter().any(|choice| choice.method == Method::Grid) {
        return by_grid(chain, options.paths, fresh);
    }
    let paths = walk(chain, potentials, options.paths, fresh);
    let evidence = log_evidence(chain, potentials, options.paths, particles);
    let summary = WeightSummary::new(&paths.log_weights());
    let gap = Gap::new(&summary, &evidence, chain.observations());
    let open = options.learn.method == Method::Auto;
    if gap.is_wide() && open && chain.dim() == 1 && chain.len() <= SHORT {
        drop(paths);
        let why = format!(
            "exact paths on a grid, because the ELBO of {} was {:.1} nats below the log evidence; the parameters \
             were learned with the approximation",
            choices[0].method, gap.nats
        );
        *choices = vec![Choice { method: Method::Grid, why }];
        return by_grid(chain, options.paths, fresh);
    }
    let untrusted = Weighting::new(&summary, options.paths) == Weighting::Untrusted;
    if untrusted && open && chain.dim() > 1 && can_smooth(chain) {
        drop(paths);
        let [effective, k_hat] = [summary.effective_sample_size, summary.k_hat];
        for choice in choices.iter_mut() {
            choice.why = format!(
                "for the parameters; paths and log evidence are those of a particle smoother, because weighted paths had an \
                 effective sample size of {effective:.0} and a k-hat of {k_hat:.2}"
            );
        }
        return by_smoother(chain, columns, options.paths, fresh);
    }
    Ok(Judgement { paths, summary, evidence, notes: Vec::new(), smoothed: false })
}

/// Take the paths of a finder as they are. Their weights are unknown, so there is nothing to say about these. The evidence is that of
/// particles along the potentials, or of the grid if the size of the noise depends on the state.
pub(super) fn judge_own(
    chain: &Chain,
    own: OwnPaths,
    potentials: &Potentials,
    options: &FitOptions,
    [fresh, particles]: [u64; 2],
) -> Result<Judgement> {
    let OwnPaths { paths, elbo: (elbo, elbo_std_error), .. } = own;
    let summary = WeightSummary {
        elbo,
        elbo_std_error,
        effective_sample_size: paths.len() as f64,
        k_hat: f64::NAN,
        ..WeightSummary::new(&paths.log_weights())
    };
    let sized = chain.model().dimensions.iter().any(|dimension| dimension.size.is_some());
    let (evidence, notes) = match sized {
        true => by_grid(chain, 2, fresh).map(|found| (found.evidence, found.notes))?,
        false => (log_evidence(chain, potentials, options.paths, particles), Vec::new()),
    };
    Ok(Judgement { paths, summary, evidence, notes, smoothed: false })
}

fn by_grid(chain: &Chain, count: usize, seed: u64) -> Result<Judgement> {
    let ExactPosterior { paths, log_evidence, notes, .. } =
        exact_paths_of(chain, &exact::Options::default(), count, seed)?;
    let summary = WeightSummary::new(&paths.log_weights());
    let evidence = Evidence { log_evidence, std_error: 0.0, resamplings: 0.0 };
    Ok(Judgement { paths, summary, evidence, notes, smoothed: false })
}

fn by_smoother(chain: &Chain, columns: &[&[f64]], count: usize, seed: u64) -> Result<Judgement> {
    let (evidence, paths) = smoothed_paths(chain, columns, count, seed)?;
    let summary = WeightSummary::new(&paths.log_weights());
    Ok(Judgement { paths, summary, evidence, notes: Vec::new(), smoothed: true })
}
