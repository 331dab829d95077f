//! Prepare what steers particles: every future message as a sum of widened copies, at every stage of every step.
//!
//! Particles must also visit what the messages find unlikely: a message of one width makes evidences that look steady
//! and are wrong. So each is replaced by copies about its own peak with Λ/τ, and by what the next time would say had the
//! step to it brought a large jump: a particle that has not yet jumped where the robust smoother has is then charged what a
//! later jump costs, not what the smoother's path denies. What is seen at the time itself stays exact.

use super::chain::GeneralChain;
use super::form::Form;
use super::pass::{Variances, backward, miss};
use super::robust::{quantile, robust};
use crate::Result;
use nalgebra::DVector;

/// Widths and weights of the copies.
const COPIES: [(f64, f64); 3] = [(1.0, 0.7), (4.0, 0.2), (30.0, 0.1)];
/// Jumps of the next step: the share of the prior below their variance, and the share of the prior that each stands for.
const JUMPS: [(f64, f64); 3] = [(0.9, 0.09), (0.99, 0.009), (0.999, 0.001)];
/// Width τ of the message that a jump is followed by.
const AFTER_JUMP: f64 = 4.0;
/// Most sources that get copies of their own; more of them jump together in one.
const FEW: usize = 2;

/// Messages that steer particles.
#[derive(Debug)]
pub struct Guide {
    /// Reference points, per time.
    pub(super) at: Vec<DVector<f64>>,
    /// Per time, the copies of the message from its future.
    pub(super) future: Vec<Vec<Form>>,
    /// Per time but the first, and per source: the copies right after its jump, with what is seen and all that follows.
    pub(super) stages: Vec<Vec<Vec<Form>>>,
}

impl Guide {
    /// From a robust smoother.
    ///
    /// # Errors
    /// A law of the states that cannot be computed.
    pub fn new(chain: &GeneralChain) -> Result<Self> {
        let found = robust(chain)?;
        let sources = chain.model.sources.len();
        let variances = Variances { sources, values: &found.variances };
        let messages = backward(chain, &variances, &found.means);
        let future: Vec<Vec<Form>> = (0..chain.len())
            .map(|j| {
                let mut all = copies(&messages[j]);
                if j + 1 < chain.len() && messages[j].precision.amax() > 0.0 {
                    all.extend(jumps(chain, j + 1, &messages[j + 1], &variances, &found.means));
                }
                all
            })
            .collect();
        let stages = (1..chain.len()).map(|j| stages(chain, j, &future[j], &variances, &found.means[j])).collect();
        Ok(Self { at: found.means, future, stages })
    }
}

/// The widened copies of a message; one that says nothing has no need of any.
fn copies(message: &Form) -> Vec<Form> {
    if message.precision.amax() == 0.0 {
        return vec![Form::flat(message.pull.len())];
    }
    let peak = message.peak();
    let copy = |(tau, weight): (f64, f64)| {
        let mut copy = message.widened(tau, peak);
        copy.log += weight.ln();
        copy
    };
    COPIES.into_iter().map(copy).collect()
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
        let mut copy = form.before(&chain.flow(j).slope, &miss(chain, j, at));
        copy.log = price + mass.ln() - copy.peak();
        copy
    })
    .collect()
}

/// Messages after each source's jump of the step that ends at time `j`. Those of a later source are integrated over its
/// jump as the robust smoother has it, and as a jump of a usual size: which source jumped is often in doubt.
fn stages(chain: &GeneralChain, j: usize, future: &[Form], variances: &Variances, at: &DVector<f64>) -> Vec<Vec<Form>> {
    let sources = &chain.model.sources;
    let mut last = future.to_vec();
    last.iter_mut().for_each(|form| chain.seen(j).for_each(|seen| form.see(seen, at)));
    let mut all = vec![last.clone()];
    let halved = |mut form: Form| {
        form.log -= std::f64::consts::LN_2;
        form
    };
    let mut found: Vec<Form> = last.iter().cloned().map(halved).collect();
    let mut usual = found.clone();
    for (r, source) in sources.iter().enumerate().skip(1).rev() {
        found.iter_mut().for_each(|form| form.pull_back(&source.direction, variances.of(j)[r]));
        let median = quantile(chain.nodes(r, j), 0.5);
        usual.iter_mut().for_each(|form| form.pull_back(&source.direction, median));
        all.push(found.iter().chain(&usual).cloned().collect());
    }
    all.reverse();
    all
}
