//! Leave out latent times where longer steps are nearly as good: between observations, as long as the drift hardly changes over
//! them. What is searched for on the rest is found on all times after a step or two.

use super::gather::index;
use super::problem::Problem;
use super::windows::flow;
use crate::series::TimeGrid;
use crate::{Result, StateSpace};

/// Most that the drift shrinks or stretches a distance over one step, as a logarithm, at the middle one of the values.
const BEND: f64 = 0.02;
/// Most steps that one stands for.
const MOST: usize = 8;

/// A series on some of its latent times, all that are observed among them.
#[derive(Debug)]
pub(crate) struct Thinned {
    grid: TimeGrid,
    values: Vec<f64>,
    kept: Vec<usize>,
}

impl Thinned {
    /// The series of `values` for models like `model`; none where at least half of the times are needed, or where times without
    /// an observation are left out anyway.
    pub fn new(model: &StateSpace, (grid, values): (&TimeGrid, &[f64])) -> Result<Option<Self>> {
        let dimension = model.only_dimension()?;
        if index(model).is_some() || dimension.size.is_some() || dimension.errors.known.is_some() {
            return Ok(None);
        }
        let problem = Problem::new(model, grid, values)?;
        let observed = problem.observed().count();
        if 2 * observed > grid.len() {
            return Ok(None);
        }
        let longest = BEND / typical_bend(&problem);
        let ends: Vec<usize> =
            (0..grid.len()).filter(|&j| j == 0 || j + 1 == grid.len() || !problem.values[j].is_nan()).collect();
        let mut kept = vec![0];
        for gap in ends.windows(2) {
            let (from, steps) = (gap[0], gap[1] - gap[0]);
            let length = grid.times()[gap[1]] - grid.times()[from];
            let parts = ((length / longest).ceil() as usize).max(steps.div_ceil(MOST)).min(steps);
            kept.extend((1..=parts).map(|k| from + k * steps / parts));
        }
        let values = kept.iter().map(|&j| problem.values[j]).collect();
        Ok((2 * kept.len() <= grid.len()).then(|| Self { grid: grid.only(&kept), values, kept }))
    }

    /// Its times and values.
    pub fn data(&self) -> (&TimeGrid, &[f64]) {
        (&self.grid, &self.values)
    }

    /// The places of its times in the series.
    pub fn kept(&self) -> &[usize] {
        &self.kept
    }
}

/// |ln slope of the flow| per unit of time at the values observed: the middle one.
fn typical_bend(problem: &Problem) -> f64 {
    let bend = |(j, y): (usize, f64)| flow(problem, j, y).1.abs().ln().abs() / problem.grid.step(j);
    let steps = problem.grid.steps();
    let mut bends: Vec<f64> = problem.observed().filter(|(j, _)| *j < steps).map(bend).collect();
    bends.sort_by(f64::total_cmp);
    bends.get(bends.len() / 2).copied().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Start;
    use crate::drift::DoubleWell;
    use crate::noise::Stable;

    #[test]
    fn identity_observations_stay_and_steps_are_short() {
        let times: Vec<f64> = (0..=1000).map(|i| 1e-3 * f64::from(i)).collect();
        let values: Vec<f64> = (0..=1000).map(|i| if i % 20 == 0 { 0.9 } else { f64::NAN }).collect();
        let model = |depth: f64| {
            let noise = Box::new(Stable::new(1.5, 0.5).unwrap());
            StateSpace::new(Box::new(DoubleWell::new(depth, 1.0).unwrap()), noise, 0.1, Start::Fixed(0.9)).unwrap()
        };
        let grid = TimeGrid::new(&times, None).unwrap();
        let thinned = Thinned::new(&model(1.0), (&grid, &values)).unwrap().expect("times to leave out");
        assert!((0..=1000).step_by(20).all(|j| thinned.kept().contains(&j)));
        let (rest, seen) = thinned.data();
        assert_eq!((rest.len(), seen.iter().filter(|y| !y.is_nan()).count()), (thinned.kept().len(), 51));
        assert!((0..rest.steps()).all(|j| rest.step(j) < 8.001e-3));
        // A drift that changes much over every step leaves nothing out.
        assert!(Thinned::new(&model(1e3), (&grid, &values)).unwrap().is_none());
    }
}
