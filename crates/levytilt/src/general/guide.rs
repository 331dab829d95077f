//! Prepare what steers particles: messages about what is seen later, at every time.
//!
//! Particles may look at what is seen at the end of the step, or at everything that follows. The latter comes from a robust
//! smoother. Particles must also visit what its messages find unlikely: a message of one width makes evidences that look steady
//! and are wrong. So each is a sum of itself and a copy of twice the width about its peak, and of what the next time would say
//! had the step to it brought a large jump: a particle that has not yet jumped where the robust smoother has is then charged
//! what a later jump costs, not what the smoother's path denies. What is seen at the time itself stays exact.

use super::chain::GeneralChain;
use super::form::Form;
use super::pass::{Variances, backward, miss};
use super::robust::{Robust, quantile, robust};
use crate::Result;
use nalgebra::{DMatrix, DVector};

/// Widths τ and weights of the copies, each with Λ/τ.
const COPIES: [(f64, f64); 2] = [(1.0, 0.8), (4.0, 0.2)];
/// Jumps of the next step: the share of the prior below their variance, and the share of the prior that each stands for.
const JUMPS: [(f64, f64); 2] = [(0.99, 0.009), (0.999, 0.001)];
/// Width τ of the message that a jump is followed by.
const AFTER_JUMP: f64 = 4.0;
/// Most sources that get copies of their own; more of them jump together in one.
const FEW: usize = 2;
/// Largest product of a guessed variance and the precision of what is seen: beyond it differences lose their digits.
const SHARPEST: f64 = 1e8;

/// How far particles look ahead when they draw variances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// To what is seen at the end of the step.
    Step,
    /// To all that follows.
    Record,
}

/// Messages that steer particles.
#[derive(Debug)]
pub struct Guide {
    pub(super) reach: Reach,
    /// Reference points, per time.
    pub(super) at: Vec<DVector<f64>>,
    /// Per time, the message of the robust smoother from its future: the measure in which particles are alike.
    pub(super) measure: Vec<Form>,
    /// At the first time, the copies of the message from its future.
    pub(super) first: Vec<Form>,
    /// Per time but the first, the copies of the message from its future together with what is seen there; none if they say
    /// nothing.
    pub(super) stages: Vec<Vec<Form>>,
    /// Per time but the first: the variances that a source takes the later ones to have, 0 for the first source, and Σ vbbᵀ.
    pub(super) guesses: Vec<(Vec<f64>, DMatrix<f64>)>,
}

impl Guide {
    /// With this reach.
    ///
    /// # Errors
    /// A law of the states that cannot be computed.
    pub fn reaching(chain: &GeneralChain, reach: Reach) -> Result<Self> {
        Ok(Self::from_robust(chain, reach, &robust(chain)?))
    }

    pub(super) fn from_robust(chain: &GeneralChain, reach: Reach, found: &Robust) -> Self {
        let variances = Variances { sources: chain.model.sources.len(), values: &found.variances };
        let measure = backward(chain, &variances, &found.means);
        let future: Vec<Vec<Form>> = match reach {
            Reach::Step => vec![Vec::new(); chain.len()],
            Reach::Record => (0..chain.len()).map(|j| ahead(chain, j, &measure, &variances, &found.means)).collect(),
        };
        let stages: Vec<Vec<Form>> = (1..chain.len()).map(|j| stage(chain, j, &future[j], &found.means[j])).collect();
        let guesses = stages.iter().enumerate().map(|(j, forms)| guesses(chain, j + 1, forms, &variances)).collect();
        let first = future.into_iter().next().unwrap_or_default();
        Self { reach, at: found.means.clone(), measure, first, stages, guesses }
    }
}

/// The copies of the message from the future of time `j`; none if it says nothing.
pub(super) fn ahead(
    chain: &GeneralChain,
    j: usize,
    messages: &[Form],
    variances: &Variances,
    at: &[DVector<f64>],
) -> Vec<Form> {
    let message = &messages[j];
    if message.precision.amax() == 0.0 {
        return Vec::new();
    }
    let peak = message.peak();
    let copy = |(tau, weight): (f64, f64)| {
        let mut copy = message.widened(tau, peak);
        copy.log += weight.ln();
        copy
    };
    let mut all: Vec<Form> = COPIES.into_iter().map(copy).collect();
    all.extend(jumps(chain, j + 1, &messages[j + 1], variances, at));
    all
}

/// The message at time `j` − 1 if the step to `j` brought a large jump of a source, one copy per source and size of the
/// jump; of many sources, one per size for all together. Its height is the prior of the jump times the loss of certainty,
/// the largest of any source.
fn jumps(chain: &GeneralChain, j: usize, after: &Form, usual: &Variances, at: &[DVector<f64>]) -> Vec<Form> {
    let sources = chain.model.sources.len();
    let mut wide = after.widened(AFTER_JUMP, 0.0);
    chain.seen(j).for_each(|seen| wide.see(seen, &at[j]));
    let groups: Vec<Vec<usize>> =
        if sources <= FEW { (0..sources).map(|r| vec![r]).collect() } else { vec![(0..sources).collect()] };
    let each = groups.iter().flat_map(|group| JUMPS.iter().map(move |jump| (group, jump)));
    each.map(|(group, &(below, mass))| {
        let mut form = wide.clone();
        let mut price = f64::NEG_INFINITY;
        for (r, source) in chain.model.sources.iter().enumerate() {
            let b = &source.direction;
            let variance = match group.contains(&r) {
                true => quantile(chain.nodes(r, j), below).max(usual.of(j)[r]),
                false => usual.of(j)[r],
            };
            if group.contains(&r) {
                price = price.max(-0.5 * (variance * b.dot(&(&wide.precision * b))).max(0.0).ln_1p());
            }
            form.pull_back(b, variance);
        }
        let mut copy = form.before(chain.flow(j), &miss(chain, j, at));
        copy.log = price + mass.ln() - copy.peak();
        copy
    })
    .collect()
}

/// The copies `future` of the message from the future of time `j`, together with what is seen there.
fn stage(chain: &GeneralChain, j: usize, future: &[Form], at: &DVector<f64>) -> Vec<Form> {
    let mut all = future.to_vec();
    if all.is_empty() && !chain.seen_rows(j).is_empty() {
        all.push(Form::flat(chain.dim()));
    }
    all.iter_mut().for_each(|form| chain.seen(j).for_each(|seen| form.see(seen, at)));
    all
}

/// Variances of the robust smoother for all sources but the first, and what they add to a covariance.
fn guesses(chain: &GeneralChain, j: usize, forms: &[Form], variances: &Variances) -> (Vec<f64>, DMatrix<f64>) {
    let mut all = vec![0.0];
    let mut sum = DMatrix::zeros(chain.dim(), chain.dim());
    for (source, v) in chain.model.sources.iter().zip(variances.of(j)).skip(1) {
        let b = &source.direction;
        let sharpest = forms.iter().map(|form| b.dot(&(&form.precision * b))).fold(0.0, f64::max);
        let v = v.min(SHARPEST / sharpest);
        sum.ger(v, b, b, 1.0);
        all.push(v);
    }
    (all, sum)
}
