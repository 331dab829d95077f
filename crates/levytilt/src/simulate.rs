//! Draw a path of a model and what is seen of it: x' = flow_Δ(x) + J_Δ with exact draws of J_Δ.

use rand_distr::{Distribution, StandardNormal};

use crate::model::{Model, Start};
use crate::rng::{StreamRng, stream};
use crate::series::check_times;
use crate::{Error, Result};

/// A path and its noisy observations, one of each per time.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// State at every time.
    pub path: Vec<f64>,
    /// State plus N(0, observation_std²) at every time.
    pub observations: Vec<f64>,
}

/// A path of the one-dimensional `model` at `times`, at least two, finite and strictly increasing; the start is the state at `times[0]`.
///
/// The path comes from stream 0 of `seed` and the observation errors from stream 1, so that the same seed gives the
/// same path whatever the observation error is. A state too large for an `f64` (possible for α far below 1) is an
/// [`Error::Numerical`] that names its time.
pub fn simulate(model: &Model, times: &[f64], seed: u64) -> Result<Simulated> {
    check_times(times)?;
    let dimension = model.only_dimension()?;
    let mut rng = stream(seed, 0);
    let mut path = Vec::with_capacity(times.len());
    path.push(draw_start(dimension.start, &mut rng));
    for pair in times.windows(2) {
        let from = path[path.len() - 1];
        path.push(step(model, pair[0], pair[1] - pair[0], from, &mut rng)?);
    }
    let observations = observe(&path, dimension.observation_std, &mut stream(seed, 1));
    Ok(Simulated { path, observations })
}

fn draw_start(start: Start, rng: &mut StreamRng) -> f64 {
    match start {
        Start::Fixed(x0) => x0,
        Start::Gaussian { mean, std } => mean + std * normal(rng),
    }
}

/// One step of length `dt` from the state `from` at `time`.
fn step(model: &Model, time: f64, dt: f64, from: f64, rng: &mut StreamRng) -> Result<f64> {
    model.drift.check_step(dt)?;
    let mut moved = [0.0];
    model.drift.flow(time, dt, &[from], &mut moved);
    let to = moved[0] + model.dimensions[0].noise.sample(dt, rng);
    if to.is_finite() {
        return Ok(to);
    }
    let why = format!("the state after time {time} is too large for a floating-point number; use a smaller scale");
    Err(Error::Numerical { what: "simulation", why })
}

fn observe(path: &[f64], observation_std: f64, rng: &mut StreamRng) -> Vec<f64> {
    path.iter().map(|state| state + observation_std * normal(rng)).collect()
}

fn normal(rng: &mut StreamRng) -> f64 {
    StandardNormal.sample(rng)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::{NoDrift, Ou};
    use crate::noise::Stable;

    fn ou_stable(start: Start) -> Model {
        let (drift, noise) = (Ou::new(3.0, 1.0).unwrap(), Stable::new(1.5, 2.0).unwrap());
        Model::new(Box::new(drift), Box::new(noise), 0.1, start).unwrap()
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
    fn bad_times_are_named() {
        let model = ou_stable(Start::Fixed(0.0));
        for times in [&[][..], &[0.0], &[0.0, 0.0], &[1.0, 0.0], &[0.0, f64::NAN]] {
            assert!(matches!(simulate(&model, times, 1), Err(Error::Series { .. })), "{times:?}");
        }
    }

    #[test]
    fn a_state_beyond_floating_point_is_an_error() {
        // At index 0.01 one increment in ten exceeds 10^100 scales, and one in thirty is beyond an f64.
        let model = Model::new(
            Box::new(NoDrift::new(1).unwrap()),
            Box::new(Stable::new(0.01, 1.0).unwrap()),
            0.1,
            Start::Fixed(0.0),
        )
        .unwrap();
        let times: Vec<f64> = (0..1000).map(f64::from).collect();
        assert!(matches!(simulate(&model, &times, 1), Err(Error::Numerical { .. })));
    }
}
