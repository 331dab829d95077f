//! List the jumps of a path: when, how large and how probable, with one entry for one jump.
//!
//! A jump between two observations is one event, however many latent steps split that gap. A jump that the data place in
//! either of two neighbouring gaps is one event too: the paths then have it in one gap or the other, almost never in both.
//! Two jumps in neighbouring gaps that the same paths make stay two.

use super::jump::increments;
use super::summary::weighted_marginal;
use super::walk::Paths;
use crate::Chain;

/// Least probability of a jump that is listed.
const LISTED: f64 = 0.1;
/// Neighbouring gaps hold one jump if the paths that jump in both have less than this share of what chance would give.
const EXCLUSIVE: f64 = 0.25;
/// Paths that chance must expect in both gaps for their absence to mean something.
const EXPECTED: f64 = 10.0;

/// One jump of one dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Jump {
    /// End of its most probable latent step.
    pub time: f64,
    /// Number of that time.
    pub place: usize,
    /// Posterior probability that there was a jump.
    pub probability: f64,
    /// Median of its size beyond the drift, given that there was one.
    pub size: f64,
    /// 5% quantile of the size.
    pub size_q05: f64,
    /// 95% quantile of the size.
    pub size_q95: f64,
}

/// The jumps of dimension `i` with a probability of at least 10%, in order of time, from paths of `chain` with normalised
/// `weights`.
///
/// Without `above` a step is a jump if its variance is in the upper 1% under the noise model, and the size is the sum of
/// these steps. With `above`, a gap between observations holds a jump if the increments beyond the drift add up to more
/// than `above` in magnitude; the size is that sum.
pub fn jump_table(paths: &Paths, chain: &Chain, i: usize, weights: &[f64], above: Option<f64>) -> Vec<Jump> {
    jumps(paths, chain, i, weights, above).0
}

/// [`jump_table`], and every jump of every path: the number of the path and that of the time at which its step ends.
pub fn jumps(
    paths: &Paths,
    chain: &Chain,
    i: usize,
    weights: &[f64],
    above: Option<f64>,
) -> (Vec<Jump>, Vec<(usize, usize)>) {
    let (mut table, mut steps) = (Vec::new(), Vec::new());
    let mut group: Option<Event> = None;
    let mut from = 1;
    while from < chain.len() {
        let observed = (from..chain.len()).find(|&j| !chain.value(i, j).is_nan());
        let to = observed.unwrap_or(chain.len() - 1);
        let event = match above {
            None => own(paths, chain, i, weights, from..=to),
            Some(above) => larger(paths, chain, i, weights, (from..=to, above)),
        };
        steps.extend(&event.steps);
        group = match group {
            Some(before) if before.is_one_with(&event, weights) => Some(before.merged(event)),
            before => {
                table.extend(before.and_then(|event| event.listed(chain, weights)));
                Some(event)
            }
        };
        from = to + 1;
    }
    table.extend(group.and_then(|event| event.listed(chain, weights)));
    (table, steps)
}

/// What the paths say about a jump in one stretch of steps.
struct Event {
    /// Per path: the size of its jump, if it has one.
    sizes: Vec<Option<f64>>,
    /// Weight of the paths that jump at each step, by the number of the time at which it ends.
    places: Vec<(usize, f64)>,
    /// The paths that jump and their steps; of a sum over several steps the largest.
    steps: Vec<(usize, usize)>,
}

impl Event {
    fn probability(&self, weights: &[f64]) -> f64 {
        let jumped = self.sizes.iter().zip(weights).filter(|(size, _)| size.is_some());
        jumped.map(|(_, weight)| weight).sum()
    }

    fn is_one_with(&self, next: &Self, weights: &[f64]) -> bool {
        let chance = self.probability(weights) * next.probability(weights);
        let in_both = self.sizes.iter().zip(&next.sizes).zip(weights).filter(|((a, b), _)| a.is_some() && b.is_some());
        let both: f64 = in_both.map(|(_, weight)| weight).sum();
        chance * weights.len() as f64 >= EXPECTED && both < EXCLUSIVE * chance
    }

    fn merged(mut self, next: Self) -> Self {
        for (size, other) in self.sizes.iter_mut().zip(next.sizes) {
            *size = match (*size, other) {
                (Some(a), Some(b)) => Some(a + b),
                (a, b) => a.or(b),
            };
        }
        self.places.extend(next.places);
        self
    }

    fn listed(self, chain: &Chain, weights: &[f64]) -> Option<Jump> {
        let probability = self.probability(weights);
        let (place, _) = *self.places.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        if probability < LISTED {
            return None;
        }
        let sized = self.sizes.iter().zip(weights).filter_map(|(size, weight)| Some(((*size)?, weight / probability)));
        let law = weighted_marginal(sized.collect(), &[0.05, 0.5, 0.95]);
        Some(Jump {
            time: chain.times()[place],
            place,
            // A sum of weights may exceed 1 by rounding.
            probability: probability.min(1.0),
            size: law.quantiles[1],
            size_q05: law.quantiles[0],
            size_q95: law.quantiles[2],
        })
    }
}

/// Jumps by the model's own definition.
fn own(paths: &Paths, chain: &Chain, i: usize, weights: &[f64], steps: impl Iterator<Item = usize> + Clone) -> Event {
    let mut event = Event { sizes: vec![None; weights.len()], places: Vec::new(), steps: Vec::new() };
    for j in steps {
        let jumps: Vec<bool> = paths.jumps(i, j).collect();
        if !jumps.contains(&true) {
            continue;
        }
        let moves = increments(paths, chain, i, j);
        let mut here = 0.0;
        for (path, _) in jumps.iter().enumerate().filter(|(_, jump)| **jump) {
            *event.sizes[path].get_or_insert(0.0) += moves[path];
            here += weights[path];
            event.steps.push((path, j));
        }
        event.places.push((j, here));
    }
    event
}

/// Moves over all `steps` together that exceed a size.
fn larger(
    paths: &Paths,
    chain: &Chain,
    i: usize,
    weights: &[f64],
    (steps, above): (impl Iterator<Item = usize> + Clone, f64),
) -> Event {
    let moves: Vec<(usize, Vec<f64>)> = steps.map(|j| (j, increments(paths, chain, i, j))).collect();
    let mut marked = Vec::new();
    let mut places: Vec<(usize, f64)> = moves.iter().map(|(j, _)| (*j, 0.0)).collect();
    let size = |(path, weight): (usize, &f64)| {
        let sum: f64 = moves.iter().map(|(_, moves)| moves[path]).sum();
        let largest = (0..moves.len()).max_by(|&a, &b| moves[a].1[path].abs().total_cmp(&moves[b].1[path].abs()))?;
        (sum.abs() > above).then(|| {
            places[largest].1 += weight;
            marked.push((path, places[largest].0));
            sum
        })
    };
    let sizes = weights.iter().enumerate().map(size).collect();
    Event { sizes, places, steps: marked }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(sizes: &[f64], place: usize) -> Event {
        let sizes: Vec<Option<f64>> = sizes.iter().map(|size| Some(*size).filter(|size| *size != 0.0)).collect();
        let jumped = sizes.iter().flatten().count() as f64 / sizes.len() as f64;
        Event { sizes, places: vec![(place, jumped)], steps: Vec::new() }
    }

    #[test]
    fn identity_one_jump_in_either_of_two_gaps_is_one_event() {
        let weights = vec![0.01; 100];
        let in_part = |low: usize, high: usize| -> Vec<f64> {
            (0..100).map(|path| if (low..high).contains(&path) { 3.0 } else { 0.0 }).collect()
        };
        let (early, late) = (event(&in_part(0, 60), 4), event(&in_part(60, 100), 5));
        assert!(early.is_one_with(&late, &weights));
        let both = early.merged(late);
        assert!((both.probability(&weights) - 1.0).abs() < 1e-12);
        assert!(both.sizes.iter().all(|size| *size == Some(3.0)));
        // There and back, by the same paths: two jumps. Rare ones of different paths: nothing to say.
        assert!(!event(&in_part(0, 90), 4).is_one_with(&event(&in_part(5, 95), 5), &weights));
        assert!(!event(&in_part(0, 10), 4).is_one_with(&event(&in_part(20, 30), 5), &weights));
    }
}
