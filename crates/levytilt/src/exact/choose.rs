//! Choose spacing and domain from the model, and judge from a run whether they were enough.

use super::forward::Run;
use super::problem::Problem;
use crate::noise::Nodes;
use crate::{Result, Start};

/// Spacings per posterior standard deviation. With 12-point interpolation the error of one step is then about
/// 0.6·(√2/6)¹² ≈ 2e-8, and a fraction of that over many steps.
const PER_SD: f64 = 6.0;
/// Error of the log evidence by states outside the domain that is let pass.
const EVIDENCE: f64 = 5e-4;
/// Relative error of a variance by states outside the domain that is let pass; a standard deviation has half of it.
const VARIANCE: f64 = 2e-3;
/// Mass outside the domain after the last observation that is let pass: it moves quantiles by that much in level.
const OUTSIDE: f64 = 2e-4;

/// A spacing that resolves the posterior.
///
/// Observations with error σ of a state that moves by s between them leave a posterior sd of about √(σs), at most σ; a
/// state that rarely moves is averaged over all n observations at most, which leaves σ/√n.
pub(super) fn spacing(problem: &Problem) -> Result<f64> {
    let sigma = problem.narrowest_error();
    let observed: Vec<usize> = problem.observed().map(|(j, _)| j).collect();
    let fewest = observed.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(1);
    let (shortest, _) = step_lengths(problem);
    let moves = problem.size_range()?.0 * scale(&problem.dimension.noise.nodes(shortest)?) * (fewest as f64).sqrt();
    let posterior = sigma.min((sigma * moves).sqrt()).max(sigma / (observed.len() as f64).sqrt());
    Ok(posterior / PER_SD)
}

/// A first domain for the times without an observation: values and start, and how far the longest gap may lead.
pub(super) fn domain(problem: &Problem) -> Result<(f64, f64)> {
    let (_, sigma) = problem.std_range;
    let (mut lo, mut hi) = problem
        .observed()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), (_, value)| (lo.min(value), hi.max(value)));
    let (centre, std) = match problem.dimension.start {
        Start::Fixed(x0) => (x0, 0.0),
        Start::Gaussian { mean, std } => (mean, std),
    };
    if problem.values[0].is_nan() {
        (lo, hi) = (lo.min(centre - 6.0 * std), hi.max(centre + 6.0 * std));
    }
    let times = || [0].into_iter().chain(problem.observed().map(|(j, _)| j)).chain([problem.grid.steps()]);
    // A value that may be wrong does not end a gap.
    let ends = if problem.has_heavy_errors() { 2 } else { 1 };
    let longest_gap = times().zip(times().skip(ends)).map(|(a, b)| b - a).max().unwrap_or(1);
    let (_, longest) = step_lengths(problem);
    // Between n^{1/2} for light and n^{1/α} for heavy tails; the run tells if it was not enough.
    let largest = problem.size_range()?.1;
    let wander = largest * scale(&problem.dimension.noise.nodes(longest)?) * (longest_gap as f64).powf(2.0 / 3.0);
    let margin = 8.0 * wander + 10.0 * sigma;
    Ok((lo - margin, hi + margin))
}

/// How many times as far out the lower and the upper end of the domain should lie after a run; 1 where it is enough.
///
/// Errors fall with the third to fifth power of the distance, so the factor is guessed from how much too large they are.
/// With `moments` false only the evidence and the quantiles are at stake.
pub(super) fn widening(run: &Run, moments: bool) -> [f64; 2] {
    run.ends().map(|edge| {
        let variance = if moments { edge.variance / VARIANCE } else { 0.0 };
        let excess = variance.max(edge.evidence / EVIDENCE).max(edge.outside / OUTSIDE);
        if excess > 1.0 { excess.powf(0.22).clamp(1.5, 4.0) } else { 1.0 }
    })
}

/// Typical size of an increment: the root of the median variance, about 0.
fn scale(nodes: &Nodes) -> f64 {
    if let Some(means) = nodes.means() {
        let squares = means.iter().zip(nodes.variances()).map(|(m, s)| m * m + s);
        let mut sizes: Vec<(f64, f64)> = squares.zip(nodes.weights().iter().copied()).collect();
        sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut below = 0.0;
        let median = sizes.iter().find(|(_, w)| {
            below += w;
            below >= 0.5
        });
        return median.map_or(0.0, |(square, _)| square.sqrt());
    }
    let mut below = 0.0;
    let median = nodes.variances().iter().zip(nodes.weights()).find(|(_, w)| {
        below += **w;
        below >= 0.5
    });
    median.map_or(0.0, |(s, _)| s.sqrt())
}

/// Shortest and longest step.
fn step_lengths(problem: &Problem) -> (f64, f64) {
    (0..problem.grid.steps())
        .map(|j| problem.grid.step(j))
        .fold((f64::INFINITY, 0.0), |(shortest, longest), dt| (dt.min(shortest), dt.max(longest)))
}
