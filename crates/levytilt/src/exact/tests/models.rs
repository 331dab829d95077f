//! Provide small models and simulated data.

use crate::drift::Drift;
use crate::noise::{Nodes, Noise};
use crate::{Result, Start, StateSpace, StreamRng, stream};
use rand_distr::{Distribution, StandardNormal, StandardUniform};

/// Ornstein–Uhlenbeck motion.
#[derive(Debug)]
pub struct Ou(pub f64, pub f64);

/// Double well dx = (a x − b x³) dt.
#[derive(Debug)]
pub struct Well(pub f64, pub f64);

/// OU whose centre moves with time, to first order in the step.
#[derive(Debug)]
pub struct Tide;

macro_rules! drift {
    ($name:ty, |$drift:pat_param, $t:pat_param, $dt:ident, $x:ident| $flow:expr) => {
        impl Drift for $name {
            fn kind(&self) -> &'static str {
                "test"
            }
            fn dim(&self) -> usize {
                1
            }
            // Tide depends on time; for the others it costs time only.
            fn is_autonomous(&self) -> bool {
                false
            }
            fn parameters(&self) -> Vec<(String, f64)> {
                vec![]
            }
            fn with_parameters(&self, _: &[f64]) -> Result<Box<dyn Drift>> {
                unreachable!()
            }
            fn flow(&self, t: f64, dt: f64, x: &[f64], out: &mut [f64]) {
                let ($drift, $t, $dt, $x) = (self, t, dt, x[0]);
                out[0] = $flow;
            }
            fn flow_jacobian(&self, _: f64, _: f64, _: &[f64], _: &mut [f64], _: &mut [f64], _: &mut [f64]) {
                unreachable!()
            }
        }
    };
}

drift!(Ou, |ou, _, dt, x| ou.1 + (x - ou.1) * (-ou.0 * dt).exp());
drift!(Well, |well, _, dt, x| {
    x * (well.0 * dt).exp() / (1.0 + well.1 / well.0 * x * x * (2.0 * well.0 * dt).exp_m1()).sqrt()
});
drift!(Tide, |_, t, dt, x| x + dt * (2.0 * (3.0 * t).sin() - x));

/// Brownian motion with this standard deviation per √time.
#[derive(Debug)]
pub struct Brown(pub f64);

/// Student-t increments with this tail index and this scale per √time.
#[derive(Debug)]
pub struct Student(pub f64, pub f64);

/// Fixed nodes, whatever the step.
#[derive(Debug)]
pub struct Fixed(pub Vec<(f64, f64)>);

macro_rules! noise {
    ($name:ty, |$noise:ident, $dt:pat_param| $nodes:expr, |$self:pat_param| $variance:expr) => {
        impl Noise for $name {
            fn family(&self) -> &'static str {
                "test"
            }
            fn parameters(&self) -> Vec<(&'static str, f64)> {
                vec![]
            }
            fn with_parameters(&self, _: &[f64]) -> Result<Box<dyn Noise>> {
                unreachable!()
            }
            fn nodes(&self, dt: f64) -> Result<Nodes> {
                let ($noise, $dt) = (self, dt);
                let nodes: Vec<(f64, f64)> = $nodes;
                let (variances, weights) = nodes.into_iter().unzip();
                Nodes::new(variances, weights, vec![])
            }
            fn sample_variance(&self, dt: f64, rng: &mut StreamRng) -> f64 {
                let nodes = self.nodes(dt).unwrap();
                let mut left: f64 = StandardUniform.sample(rng);
                for (s, w) in nodes.variances().iter().zip(nodes.weights()) {
                    left -= w;
                    if left < 0.0 {
                        return *s;
                    }
                }
                nodes.variances()[nodes.len() - 1]
            }
            fn log_characteristic(&self, dt: f64, u: f64) -> f64 {
                self.nodes(dt).unwrap().characteristic(u).ln()
            }
            fn has_variance(&self) -> bool {
                let $self = self;
                $variance
            }
        }
    };
}

noise!(Brown, |brown, dt| vec![(brown.0 * brown.0 * dt, 1.0)], |_| true);
noise!(Fixed, |fixed, _| fixed.0.clone(), |_| true);
noise!(
    Student,
    // 1/S is gamma: the density of z = ln(S/c), c = scale² dt, is ∝ exp(−νz/2 − (ν/2) e^{−z}).
    |student, dt| {
        let half = 0.5 * student.0;
        let density = |z: f64| (-half * z - half * (-z).exp()).exp();
        (0..160)
            .map(|k| -3.5 + 0.3 * k as f64)
            .map(|z| (student.1 * student.1 * dt * z.exp(), density(z)))
            .filter(|(_, w)| *w > 1e-18)
            .collect()
    },
    |student| student.0 > 2.0
);

/// Observations of `model` on `times`, simulated: the state itself plus observation noise, all times observed.
pub fn simulate(model: &StateSpace, times: &[f64], seed: u64) -> Vec<f64> {
    let mut rng = stream(seed, 0);
    let normal = |rng: &mut StreamRng| -> f64 { StandardNormal.sample(rng) };
    let mut x = match model.dimensions[0].start {
        Start::Fixed(x0) => x0,
        Start::Gaussian { mean, std } => mean + std * normal(&mut rng),
    };
    let mut values = vec![x];
    for pair in times.windows(2) {
        let mut moved = [0.0];
        model.drift.flow(pair[0], pair[1] - pair[0], &[x], &mut moved);
        x = moved[0] + model.dimensions[0].noise.sample(pair[1] - pair[0], &mut rng);
        values.push(x);
    }
    values.iter().map(|x| x + model.dimensions[0].observation_std * normal(&mut rng)).collect()
}

/// `n` + 1 even times over `span`.
pub fn even(n: usize, span: f64) -> Vec<f64> {
    (0..=n).map(|i| span * i as f64 / n as f64).collect()
}

/// The same values with only every `every`-th kept.
pub fn thin(values: &[f64], every: usize) -> Vec<f64> {
    values.iter().enumerate().map(|(i, &y)| if i % every == 0 { y } else { f64::NAN }).collect()
}
