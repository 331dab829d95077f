//! Lay out the latent times: fine enough for the motion, with every observation time among them.

use super::check_times;
use crate::{Error, Result};

/// Most latent steps: beyond this the arrays of one path alone would not fit into ordinary memory.
const MOST_STEPS: usize = 100_000_000;

/// Steps over the span that are enough for the motion where nothing is asked for.
const FEWEST_STEPS: f64 = 200.0;

/// Latent times, strictly increasing, from the first to the last observation time.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeGrid {
    times: Vec<f64>,
    lengths: Vec<f64>,
    observations: Vec<Option<usize>>,
    rows: usize,
}

impl TimeGrid {
    /// The grid for observations at `times`.
    ///
    /// With `steps` = `Some(n)`: the union of n + 1 evenly spaced times over the span and the observation times. With
    /// `None`: the observation times, every gap longer than a two-hundredth of the span split evenly into the fewest parts
    /// that are not longer. So even observations, if there are some hundred, are not split.
    ///
    /// An evenly spaced time within 1e-9 of the spacing (or within the rounding of times of this magnitude) of an
    /// observation time gives way to it. Step lengths that differ by no more than the rounding of the times are made
    /// equal, so that work per step length can be shared.
    pub fn new(times: &[f64], steps: Option<usize>) -> Result<Self> {
        check_times(times)?;
        let (first, last) = (times[0], times[times.len() - 1]);
        let rounding = 4.0 * f64::EPSILON * first.abs().max(last.abs());
        let latent = match steps {
            Some(n) if n == 0 || n > MOST_STEPS => {
                return Err(Error::Parameter {
                    name: "steps".into(),
                    value: n as f64,
                    expected: "must be between 1 and 100 million",
                });
            }
            Some(n) => union(times, n, rounding),
            None => split(times, (last - first) / FEWEST_STEPS),
        };
        let lengths = equalise(latent.iter().zip(&latent[1..]).map(|(a, b)| b.0 - a.0).collect(), rounding);
        let (times_out, observations) = latent.into_iter().unzip();
        Ok(Self { times: times_out, lengths, observations, rows: times.len() })
    }

    /// The grid of the observation times alone: no gap is split. For noises whose steps do not add up, such as Student's, so
    /// that the law of an increment does not depend on how many observations there are.
    pub fn unsplit(times: &[f64]) -> Result<Self> {
        Self::new(times, Some(1))
    }

    /// Latent times.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// Number of latent times, at least 2.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Never true: there are at least two times.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Number of steps: one less than times.
    pub fn steps(&self) -> usize {
        self.lengths.len()
    }

    /// Length of the step from latent time `j` to `j + 1`.
    ///
    /// # Panics
    /// If `j` ≥ [`TimeGrid::steps`].
    pub fn step(&self, j: usize) -> f64 {
        self.lengths[j]
    }

    /// Row of the observations at latent time `j`, if there is one.
    ///
    /// # Panics
    /// If `j` ≥ [`TimeGrid::len`].
    pub fn observation(&self, j: usize) -> Option<usize> {
        self.observations[j]
    }

    /// Number of observation rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The grid up to latent time number `count`, with the observation rows that lie there; `count` ≥ 2.
    pub(crate) fn head(&self, count: usize) -> Self {
        let observations = self.observations[..count].to_vec();
        Self {
            times: self.times[..count].to_vec(),
            lengths: self.lengths[..count - 1].to_vec(),
            rows: observations.iter().flatten().count(),
            observations,
        }
    }

    /// The grid of the latent times `kept` alone, at least two in increasing order, each with a row for an observation.
    pub(crate) fn only(&self, kept: &[usize]) -> Self {
        Self {
            times: kept.iter().map(|&j| self.times[j]).collect(),
            lengths: kept.windows(2).map(|pair| self.lengths[pair[0]..pair[1]].iter().sum()).collect(),
            observations: (0..kept.len()).map(Some).collect(),
            rows: kept.len(),
        }
    }

    /// One value per latent time from one value per observation row, NaN where there is no row.
    pub fn spread(&self, values: &[f64]) -> Result<Vec<f64>> {
        if values.len() != self.rows {
            return Err(Error::Shape {
                what: "values",
                got: values.len().to_string(),
                expected: format!("{} (one per observation time)", self.rows),
            });
        }
        Ok(self.observations.iter().map(|row| row.map_or(f64::NAN, |i| values[i])).collect())
    }
}

/// A latent time with the row of the observation there.
type Latent = (f64, Option<usize>);

/// Merge `n` + 1 even times with the observation times; an even time close to an observation time is dropped.
fn union(times: &[f64], n: usize, rounding: f64) -> Vec<Latent> {
    let (first, last) = (times[0], times[times.len() - 1]);
    let spacing = (last - first) / n as f64;
    let close = rounding.max(1e-9 * spacing);
    let mut latent: Vec<Latent> = Vec::with_capacity(n + times.len());
    let mut row = 0;
    // The ends are observation times themselves.
    for k in 1..n {
        let even = first + (last - first) * (k as f64 / n as f64);
        while row < times.len() && times[row] <= even + close {
            latent.push((times[row], Some(row)));
            row += 1;
        }
        if even - latent[latent.len() - 1].0 > close {
            latent.push((even, None));
        }
    }
    latent.extend((row..times.len()).map(|i| (times[i], Some(i))));
    latent
}

/// Split every gap longer than `longest` evenly into the fewest parts not longer than it.
fn split(times: &[f64], longest: f64) -> Vec<Latent> {
    // A gap longer than the limit by rounding only stays whole.
    let longest = longest * 1.000_000_1;
    let mut latent = vec![(times[0], Some(0))];
    for (i, pair) in times.windows(2).enumerate() {
        let gap = pair[1] - pair[0];
        let parts = (gap / longest).ceil().max(1.0);
        latent.extend((1..parts as usize).map(|k| (pair[0] + gap * (k as f64 / parts), None)));
        latent.push((pair[1], Some(i + 1)));
    }
    latent
}

/// Replace lengths that differ by at most `rounding` by the smallest of them.
fn equalise(mut lengths: Vec<f64>, rounding: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by(|&a, &b| lengths[a].total_cmp(&lengths[b]));
    let mut smallest = 0.0;
    for i in order {
        if lengths[i] - smallest <= rounding && smallest > 0.0 {
            lengths[i] = smallest;
        } else {
            smallest = lengths[i];
        }
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn even_observations_are_the_grid_itself() {
        for offset in [0.0, 1e3, 1.7e9] {
            let times: Vec<f64> = (0..=100).map(|i| offset + 0.1 * i as f64).collect();
            for grid in [TimeGrid::new(&times, Some(100)).unwrap(), TimeGrid::new(&times, Some(300)).unwrap()] {
                let parts = grid.steps() / 100;
                assert_eq!(grid.len(), 100 * parts + 1, "offset {offset}");
                assert!((0..grid.len()).all(|j| grid.observation(j) == (j % parts == 0).then_some(j / parts)));
                let lengths: std::collections::HashSet<u64> =
                    (0..grid.steps()).map(|j| grid.step(j).to_bits()).collect();
                assert!(lengths.len() <= 3, "offset {offset}: {} lengths", lengths.len());
            }
        }
    }

    #[test]
    fn long_gaps_are_split_evenly() {
        let grid = TimeGrid::new(&[0.0, 0.5, 0.5125, 1.0], None).unwrap();
        assert_eq!(grid.observation(100), Some(1));
        assert_eq!(grid.observation(103), Some(2));
        assert!((grid.step(101) - 0.0125 / 3.0).abs() < 1e-15);
        assert!((0..grid.steps()).all(|j| grid.step(j) <= 0.005 * 1.000_001));
        assert_eq!(grid.len(), 103 + 98 + 1);
    }

    #[test]
    fn the_head_of_a_grid_is_the_grid_of_the_head() {
        let times = [0.0, 0.3, 1.0, 1.5];
        let grid = TimeGrid::new(&times, Some(6)).unwrap();
        let last = (0..grid.len()).find(|&j| grid.observation(j) == Some(2)).unwrap();
        assert_eq!(grid.head(last + 1), TimeGrid::new(&times[..3], Some(4)).unwrap());
    }

    #[test]
    fn many_even_observations_are_not_split() {
        let times: Vec<f64> = (0..500).map(|j| 0.1 * f64::from(j)).collect();
        assert_eq!(TimeGrid::new(&times, None).unwrap().len(), 500);
    }

    #[test]
    fn zero_steps_is_an_error() {
        assert!(TimeGrid::new(&[0.0, 1.0], Some(0)).unwrap_err().to_string().contains("steps = 0"));
        assert!(TimeGrid::new(&[0.0, 1.0], Some(usize::MAX)).is_err());
        assert!(TimeGrid::new(&[1.0], Some(3)).is_err());
    }

    #[test]
    fn spread_puts_values_at_their_times() {
        let grid = TimeGrid::new(&[0.0, 0.3, 1.0], Some(2)).unwrap();
        assert_eq!(grid.times(), [0.0, 0.3, 0.5, 1.0]);
        let spread = grid.spread(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!(spread[1], 2.0);
        assert!(spread[2].is_nan());
        assert!(grid.spread(&[1.0]).is_err());
    }

    proptest! {
        #[test]
        fn every_observation_is_a_latent_time(
            gaps in prop::collection::vec(1e-6..10.0f64, 1..40),
            steps in prop::option::of(1usize..200),
        ) {
            let times: Vec<f64> = std::iter::once(3.0)
                .chain(gaps.iter().scan(3.0, |t, g| { *t += g; Some(*t) }))
                .collect();
            let grid = TimeGrid::new(&times, steps).unwrap();
            let seen: Vec<f64> =
                (0..grid.len()).filter(|&j| grid.observation(j).is_some()).map(|j| grid.times()[j]).collect();
            prop_assert_eq!(&seen, &times);
            prop_assert!(grid.times().windows(2).all(|p| p[0] < p[1]));
            let span = times[times.len() - 1] - times[0];
            let longest = span / steps.map_or(FEWEST_STEPS, |n| n as f64);
            for j in 0..grid.steps() {
                prop_assert!(grid.step(j) <= longest * (1.0 + 1e-6));
                prop_assert!((grid.step(j) - (grid.times()[j + 1] - grid.times()[j])).abs() < 1e-12);
            }
        }
    }
}
