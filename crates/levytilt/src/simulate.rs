//! Draw a path of a model and what is seen of it: x' = flow_Δ(x) + J_Δ with exact draws of J_Δ.

use rand_distr::{Distribution, StandardNormal};

use crate::model::{Start, StateSpace};
use crate::rng::{StreamRng, stream};
use crate::series::check_times;
use crate::{Error, Result};

/// A path and its noisy observations, one state of each per time, dimension fastest.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// Dimension of the states.
    pub dim: usize,
    /// State at every time.
    pub path: Vec<f64>,
    /// State plus observation error at every time.
    pub observations: Vec<f64>,
}

impl Simulated {
    /// Observations of dimension `i`, one per time.
    pub fn column(&self, i: usize) -> Vec<f64> {
        self.observations.iter().skip(i).step_by(self.dim).copied().collect()
    }
}

/// A path of the `model` at `times`, at least two, finite and strictly increasing; the start is the state at `times[0]`.
///
/// The path of dimension i comes from stream 2i of `seed` and its observation errors from stream 2i + 1, so that the
/// same seed gives the same path whatever the observation error is. A state too large for an `f64` (possible for α far
/// below 1) is an [`Error::Numerical`] that names its time.
pub fn simulate(model: &StateSpace, times: &[f64], seed: u64) -> Result<Simulated> {
    check_times(times)?;
    let dim = model.dim();
    let mut rngs: Vec<StreamRng> = (0..dim).map(|i| stream(seed, 2 * i as u64)).collect();
    let mut path = Vec::with_capacity(times.len() * dim);
    path.extend(model.dimensions.iter().zip(&mut rngs).map(|(dimension, rng)| draw_start(dimension.start, rng)));
    let mut ahead = vec![0.0; dim];
    for pair in times.windows(2) {
        step(model, pair[0], pair[1] - pair[0], &path[path.len() - dim..], &mut ahead, &mut rngs)?;
        path.extend_from_slice(&ahead);
    }
    let observations = observe(model, &path, seed);
    Ok(Simulated { dim, path, observations })
}

fn draw_start(start: Start, rng: &mut StreamRng) -> f64 {
    match start {
        Start::Fixed(x0) => x0,
        Start::Gaussian { mean, std } => mean + std * normal(rng),
    }
}

/// One step of length `dt` from the state `from` at `time`.
fn step(model: &StateSpace, time: f64, dt: f64, from: &[f64], to: &mut [f64], rngs: &mut [StreamRng]) -> Result<()> {
    model.drift.check_step(dt)?;
    model.drift.flow(time, dt, from, to);
    for (((to, from), dimension), rng) in to.iter_mut().zip(from).zip(&model.dimensions).zip(rngs) {
        *to += dimension.size_at(time, *from)? * dimension.noise.sample(dt, rng);
    }
    if to.iter().all(|to| to.is_finite()) {
        return Ok(());
    }
    if let Some(error) = model.drift.failure() {
        return Err(error);
    }
    let why = format!("the state after time {time} is too large for a floating-point number; use a smaller scale");
    Err(Error::Numerical { what: "simulation", why })
}

fn observe(model: &StateSpace, path: &[f64], seed: u64) -> Vec<f64> {
    let mut rngs: Vec<StreamRng> = (0..model.dim()).map(|i| stream(seed, 2 * i as u64 + 1)).collect();
    let error = |k: usize| {
        let (dimension, rng) = (&model.dimensions[k % model.dim()], &mut rngs[k % model.dim()]);
        dimension.draw_error(Some(k / model.dim()), rng)
    };
    let errors: Vec<f64> = (0..path.len()).map(error).collect();
    path.iter().zip(errors).map(|(state, error)| state + error).collect()
}

fn normal(rng: &mut StreamRng) -> f64 {
    StandardNormal.sample(rng)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::{NoDrift, Ou};
    use crate::noise::Stable;
    use crate::{Dimension, Errors};

    fn ou_stable(start: Start) -> StateSpace {
        let (drift, noise) = (Ou::new(3.0, 1.0).unwrap(), Stable::new(1.5, 2.0).unwrap());
        StateSpace::new(Box::new(drift), Box::new(noise), 0.1, start).unwrap()
    }

    #[test]
    fn seeds_repeat_and_differ() {
        let model = ou_stable(Start::Gaussian { mean: 0.0, std: 1.0 });
        let times = [0.0, 0.1, 0.4, 0.5];
        let first = simulate(&model, &times, 1).unwrap();
        assert_eq!(first, simulate(&model, &times, 1).unwrap());
        assert_ne!(first.path, simulate(&model, &times, 2).unwrap().path);
        assert_eq!(first.path.len(), 4);
        assert!(first.path.iter().zip(&first.observations).all(|(x, y)| x != y && (x - y).abs() < 1.0));
    }

    #[test]
    fn identity_dimensions_that_do_not_meet_are_paths_of_their_own() {
        let one = ou_stable(Start::Fixed(0.0));
        let drift = Ou::diagonal(vec![3.0, 0.5], vec![1.0, 2.0]).unwrap();
        let dimension = |observation_std| Dimension {
            noise: Box::new(Stable::new(1.5, 2.0).unwrap()),
            size: None,
            observation_std,
            errors: Errors::default(),
            start: Start::Fixed(0.0),
        };
        let two = StateSpace::multivariate(Box::new(drift), vec![dimension(0.1), dimension(0.3)]).unwrap();
        let times = [0.0, 0.1, 0.4, 0.5];
        let both = simulate(&two, &times, 1).unwrap();
        assert_eq!(both.column(0), simulate(&one, &times, 1).unwrap().observations);
        assert_eq!((both.dim, both.path.len()), (2, 8));
        assert_ne!(both.column(1), both.column(0));
    }

    #[test]
    fn bad_times_are_named() {
        let model = ou_stable(Start::Fixed(0.0));
        for times in [&[][..], &[0.0], &[0.0, 0.0], &[1.0, 0.0], &[0.0, f64::NAN]] {
            let error = simulate(&model, times, 1).unwrap_err();
            assert!(matches!(error, Error::Series { .. } | Error::Observation { .. }), "{times:?}");
        }
    }

    #[test]
    fn a_state_beyond_floating_point_is_an_error() {
        // At index 0.04 a step in a thousand is larger than 10^75 scales; a scale of 1e250 takes it beyond an f64.
        let model = StateSpace::new(
            Box::new(NoDrift::new(1).unwrap()),
            Box::new(Stable::new(0.04, 1e250).unwrap()),
            0.1,
            Start::Fixed(0.0),
        )
        .unwrap();
        let times: Vec<f64> = (0..1000).map(f64::from).collect();
        assert!(matches!(simulate(&model, &times, 1), Err(Error::Numerical { .. })));
    }
}
