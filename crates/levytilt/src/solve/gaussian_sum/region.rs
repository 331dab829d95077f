//! Where the state may be: what the past says, roughly, or where paths went; and the states at which a message has to be
//! right.

use super::bumps::{Bump, log_sum};
use super::flow::OwnFlow;
use super::polish::{Target, turn_into_shares};
use crate::Chain;
use crate::posterior::Paths;
use crate::solve::robust::Robust;

/// A rough idea of one coordinate at every time.
pub(super) struct Regions<'a> {
    /// The last value seen (or the start), moved along the drift; at an observed time the value itself.
    pub ahead: Vec<f64>,
    observed: Vec<bool>,
    /// Mean and standard deviation of the robust smoother, or middle and spread of the scouts.
    pub means: Vec<f64>,
    pub sds: Vec<f64>,
    observation_std: f64,
    /// Paths that have been here before, and the coordinate that this is about.
    scouts: Option<(&'a Paths, usize)>,
}

/// States on either side of a centre; their distances in units of its scale are sinh of numbers up to 4.
const SIDE: i32 = 10;
/// Share of the weight that all states have alike, because the rough idea may be wrong.
const EVEN: f64 = 0.2;
/// States beyond either end, each twice as far as the last: they count by what past and future give them, and as places
/// where the message must not be exceeded.
const FAR: i32 = 10;
/// Weight of two neighbours above which a state is put between them, and how often.
const HEAVY: f64 = 0.08;
const REFINEMENTS: usize = 2;
/// Share of the weight of the rough idea where scouts went: few of them see the far tails, which still count.
const ROUGH: f64 = 0.02;
/// States taken from the scouts, at even shares of them.
const QUANTILES: usize = 40;

impl<'a> Regions<'a> {
    pub fn new(chain: &Chain, i: usize, robust: &Robust) -> Self {
        let dimension = &chain.model().dimensions[i];
        let mut ahead = Vec::with_capacity(chain.len());
        for j in 0..chain.len() {
            let y = chain.value(i, j);
            ahead.push(match j {
                _ if !y.is_nan() => y,
                0 => dimension.start.mean(),
                _ => OwnFlow::new(chain, i, j - 1, robust).value(ahead[j - 1]),
            });
        }
        let observation_std = dimension.observation_std;
        // A state known exactly still needs states around it to compare bumps at.
        let sds = robust.sds[i].iter().map(|sd| sd.max(0.1 * observation_std)).collect();
        let observed = chain.values(i).iter().map(|y| !y.is_nan()).collect();
        Self { ahead, observed, means: robust.means[i].clone(), sds, observation_std, scouts: None }
    }

    /// Where `scouts` went in coordinate `i`, in place of a rough idea.
    pub fn scouted(mut self, scouts: &'a Paths, i: usize) -> Self {
        for j in 0..self.means.len() {
            let here = sorted(scouts, i, j);
            let at = |share: f64| here[(share * (here.len() - 1) as f64) as usize];
            self.means[j] = at(0.5);
            self.sds[j] = (0.5 * (at(0.84) - at(0.16))).max(0.1 * self.observation_std);
        }
        self.scouts = Some((scouts, i));
        self
    }

    /// Firmness below which a bump is level over all states that matter at time `j`, if the future wants `centre`.
    pub fn level(&self, j: usize, centre: f64) -> f64 {
        let reach = (self.ahead[j] - centre).abs() + (self.ahead[j] - self.means[j]).abs() + 30.0 * self.sds[j];
        0.5 / (10.0 * reach).powi(2)
    }

    /// What `wide`, seen through the flow, wants at states that matter at time `j`.
    pub fn target(&self, j: usize, wide: &[Bump], centre: f64, flow: &mut OwnFlow, space: &mut Vec<f64>) -> Target {
        let scale = self.sds[j];
        let mut states: Vec<f64> = Vec::new();
        for middle in [self.ahead[j], centre, self.means[j]] {
            states.extend((-SIDE..=SIDE).map(|u| middle + scale * (4.0 * f64::from(u) / f64::from(SIDE)).sinh()));
        }
        let visited = self.scouts.map(|(scouts, i)| sorted(scouts, i, j));
        if let Some(here) = &visited {
            states.extend((0..=QUANTILES).map(|k| here[k * (here.len() - 1) / QUANTILES]));
        }
        states.sort_by(f64::total_cmp);
        states.dedup_by(|x, y| (*x - *y).abs() < 0.02 * scale);
        let mut log_message = |x: f64| (x, log_sum(wide, flow.value(x), space));
        let mut points: Vec<(f64, f64)> = states.into_iter().map(&mut log_message).collect();
        for _ in 0..REFINEMENTS {
            let weights = self.weights(j, &points, visited.as_deref());
            let heavy = (1..points.len()).filter(|&k| weights[k - 1] + weights[k] > HEAVY);
            let between: Vec<f64> = heavy.map(|k| 0.5 * (points[k - 1].0 + points[k].0)).collect();
            insert(&mut points, between.into_iter().map(&mut log_message));
        }
        let even = EVEN / points.len() as f64;
        let (first, last) = (points[0].0, points[points.len() - 1].0);
        let beyond = |k: i32| (last - first) * 2f64.powi(k);
        insert(&mut points, (0..FAR).flat_map(|k| [first - beyond(k), last + beyond(k)]).map(log_message));
        let mut weights = self.weights(j, &points, visited.as_deref());
        weights.iter_mut().for_each(|w| *w *= 1.0 - EVEN);
        let mut ceilings = vec![even; points.len()];
        for k in (0..points.len()).filter(|&k| (first..=last).contains(&points[k].0)) {
            weights[k] += even;
            ceilings[k] = 0.0;
        }
        let (states, log_values) = points.into_iter().unzip();
        Target { states, log_values, weights, ceilings }
    }

    /// Posterior probability of the surroundings of each state, which is given with the logarithm of the message there: that
    /// of the `visited` ones, if any, and a rough one.
    fn weights(&self, j: usize, points: &[(f64, f64)], visited: Option<&[f64]>) -> Vec<f64> {
        let rough = self.rough_weights(j, points);
        match visited {
            Some(visited) => {
                shares(visited, points).iter().zip(rough).map(|(s, r)| (1.0 - ROUGH) * s + ROUGH * r).collect()
            }
            None => rough,
        }
    }

    /// The same by the message and a rough idea of the past alone.
    fn rough_weights(&self, j: usize, points: &[(f64, f64)]) -> Vec<f64> {
        let last = points.len() - 1;
        let mut weights: Vec<f64> = (0..points.len())
            .map(|k| {
                let gap = points[(k + 1).min(last)].0 - points[k.saturating_sub(1)].0;
                gap.ln() + points[k].1 + self.log_past(j, points[k].0)
            })
            .collect();
        turn_into_shares(&mut weights);
        weights
    }

    /// What the past and the present say about a state, roughly and up to a constant.
    fn log_past(&self, j: usize, x: f64) -> f64 {
        let miss = x - self.ahead[j];
        if self.observed[j] {
            return -0.5 * (miss / self.observation_std).powi(2);
        }
        let scale = 2.0 * self.sds[j] + self.observation_std;
        -(miss / scale).powi(2).ln_1p()
    }
}

/// Add points and keep their order.
fn insert(points: &mut Vec<(f64, f64)>, more: impl Iterator<Item = (f64, f64)>) {
    points.extend(more);
    points.sort_by(|x, y| x.0.total_cmp(&y.0));
}

/// States of all paths at time `j`, in order.
fn sorted(paths: &Paths, i: usize, j: usize) -> Vec<f64> {
    let mut states: Vec<f64> = paths.column(i, j).collect();
    states.sort_by(f64::total_cmp);
    states
}

/// Share of the `visited` states that belongs to each point: every one is split between the two points around it.
fn shares(visited: &[f64], points: &[(f64, f64)]) -> Vec<f64> {
    let mut shares = vec![0.0; points.len()];
    let each = 1.0 / visited.len() as f64;
    let mut k = 0;
    for &x in visited {
        while k + 2 < points.len() && points[k + 1].0 < x {
            k += 1;
        }
        let along = ((x - points[k].0) / (points[k + 1].0 - points[k].0)).clamp(0.0, 1.0);
        shares[k] += each * (1.0 - along);
        shares[k + 1] += each * along;
    }
    shares
}
