//! DeepAR (Salinas et al. 2020): a recurrent network that gives the law of the next value, and feeds on its own draws.

use super::layers::{Lstm, LstmState, Mlp, Parameters};
use super::special::{digamma, softplus};
use super::tape::{Activation, Tape, Var};
use super::train::train;
use super::windows::Standard;
use super::{Request, Training, check_sizes};
use crate::forecaster::{Forecaster, Paths, Record};
use levytilt::{Result, StreamRng, stream};
use rand_distr::{ChiSquared, Distribution, StandardNormal};

/// Law of the next value, of each dimension by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Normal(location, scale).
    Gaussian,
    /// Student's t with location, scale and more than 2 degrees of freedom, all given by the network.
    Student,
}

impl Output {
    /// Numbers per dimension.
    fn parts(self) -> usize {
        match self {
            Output::Gaussian => 2,
            Output::Student => 3,
        }
    }
}

/// Recurrent layers over all dimensions together, one pass over the whole record per training step.
///
/// As in the paper the network sees values, not times: all steps count as equally long, and there is no early stopping,
/// so that thousands of steps learn a short record by heart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeepAr {
    /// Law of the next value.
    pub output: Output,
    /// Width of the recurrent layers and of the hidden layer of the decoder.
    pub width: usize,
    /// Number of recurrent layers.
    pub layers: usize,
    /// How it is trained, on the likelihood.
    pub training: Training,
}

impl Default for DeepAr {
    /// Gaussian, two layers of 256, 3000 steps of Adam at 10⁻³.
    fn default() -> Self {
        Self { output: Output::Gaussian, width: 256, layers: 2, training: Training::adam(3000, 1e-3) }
    }
}

/// Keeps likelihoods bounded, in deviations of the record.
const SMALLEST_SCALE: f64 = 1e-4;

pub(super) struct Network {
    layers: Vec<Lstm>,
    width: usize,
    decoder: Mlp,
    output: Output,
    dim: usize,
}

/// Law of the next value of one dimension; infinitely many degrees of freedom if none.
struct NextLaw {
    location: f64,
    scale: f64,
    dof: Option<f64>,
    /// Slopes of scale and degrees of freedom in the numbers of the network.
    by_raw: (f64, f64),
}

impl Network {
    fn new(parameters: &mut Parameters, options: &DeepAr, dim: usize) -> Self {
        let width = options.width;
        let layer = |k: usize| Lstm::new(parameters, if k == 0 { dim } else { width }, width);
        let layers = (0..options.layers).map(layer).collect();
        let decoder = Mlp::new(parameters, &[width, width, options.output.parts() * dim], Activation::Relu);
        Self { layers, width, decoder, output: options.output, dim }
    }

    /// Outputs of every layer at all times of a sequence.
    fn run(&self, tape: &mut Tape, sequence: Var) -> Vec<Var> {
        let mut hidden = sequence;
        let run = |layer: &Lstm| {
            hidden = layer.run(tape, hidden);
            hidden
        };
        self.layers.iter().map(run).collect()
    }

    /// The loss to train on: −ln density of the next rows without constants for the Gaussian, mean over all entries.
    pub(super) fn loss_on(&self, tape: &mut Tape, data: &Standard) -> impl FnMut(&mut Tape) -> Var + use<'_> {
        let (seen, next) = (data.rows(0, data.len() - 1), data.rows(1, data.len()));
        let sequence = tape.constant(self.dim, &seen);
        move |tape| {
            let outputs = self.run(tape, sequence);
            let out = self.decoder.apply(tape, outputs[outputs.len() - 1]);
            tape.loss(out, |out, slope| self.mean_loss(out, &next, slope))
        }
    }

    fn mean_loss(&self, out: &[f32], next: &[f32], slope: &mut [f32]) -> f64 {
        let columns = self.output.parts() * self.dim;
        let share = 1.0 / next.len() as f64;
        let mut sum = 0.0;
        let rows = out.chunks_exact(columns).zip(slope.chunks_exact_mut(columns));
        for ((out, slope), next) in rows.zip(next.chunks_exact(self.dim)) {
            for (i, x) in next.iter().enumerate() {
                let (loss, by) = self.law(out, i).loss(f64::from(*x));
                sum += share * loss;
                let parts = slope[i..].iter_mut().step_by(self.dim).zip(by);
                parts.for_each(|(slope, by)| *slope = (share * by) as f32);
            }
        }
        sum
    }

    /// Law of dimension `i` from one row of the decoder: all locations, all scales, all degrees of freedom.
    fn law(&self, row: &[f32], i: usize) -> NextLaw {
        let part = |k: usize| f64::from(row[k * self.dim + i]);
        let (scale, by_scale) = softplus(part(1));
        let dof = (self.output == Output::Student).then(|| softplus(part(2)));
        NextLaw {
            location: part(0),
            scale: scale + SMALLEST_SCALE,
            dof: dof.map(|(dof, _)| dof + 2.0),
            by_raw: (by_scale, dof.map_or(0.0, |(_, slope)| slope)),
        }
    }

    /// Laws of all rows and dimensions after one step of many rows.
    fn step(&self, tape: &mut Tape, x: &[f32], states: &mut [LstmState]) -> Vec<NextLaw> {
        let mut hidden = x.to_vec();
        for (layer, state) in self.layers.iter().zip(states) {
            hidden = layer.step(tape, &hidden, state).to_vec();
        }
        self.decode(tape, &hidden)
    }

    /// Laws of all rows and dimensions, from outputs of the last layer.
    fn decode(&self, tape: &mut Tape, hidden: &[f32]) -> Vec<NextLaw> {
        let mark = tape.mark();
        let hidden = tape.constant(self.width, hidden);
        let out = self.decoder.apply(tape, hidden);
        let laws = tape.value(out).chunks_exact(self.output.parts() * self.dim);
        let laws = laws.flat_map(|row| (0..self.dim).map(|i| self.law(row, i))).collect();
        tape.rewind(mark);
        laws
    }
}

impl NextLaw {
    /// −ln density, and its slopes in the numbers of the network for location, scale and degrees of freedom.
    ///
    /// With z = (x − m)/s: ½z² + ln s, or with h = (ν + 1)/2: h ln(1 + z²/ν) − ln Γ(h) + ln Γ(ν/2) + ½ ln ν + ln s.
    fn loss(&self, x: f64) -> (f64, [f64; 3]) {
        let z = (x - self.location) / self.scale;
        let (shape, by_z, by_dof) = match self.dof {
            None => (0.5 * z * z, z, 0.0),
            Some(dof) => {
                let (half, ratio) = (0.5 * (dof + 1.0), z * z / dof);
                let constant = libm::lgamma(half) - libm::lgamma(0.5 * dof);
                let by_dof =
                    0.5 * ratio.ln_1p() - half * ratio / (dof + z * z) - 0.5 * (digamma(half) - digamma(0.5 * dof))
                        + 0.5 / dof;
                (half * ratio.ln_1p() - constant + 0.5 * dof.ln(), 2.0 * half * z / (dof + z * z), by_dof)
            }
        };
        let by_scale = (1.0 - by_z * z) / self.scale;
        let by = [-by_z / self.scale, by_scale * self.by_raw.0, by_dof * self.by_raw.1];
        (shape + self.scale.ln(), by)
    }

    fn draw(&self, rng: &mut StreamRng) -> f64 {
        let z: f64 = StandardNormal.sample(rng);
        // Degrees of freedom are more than 2; NaN would be caught as a state that is not finite.
        let stretch = |dof: f64| ChiSquared::new(dof).map_or(f64::NAN, |chi| (dof / chi.sample(rng)).sqrt());
        self.location + self.scale * self.dof.map_or(1.0, stretch) * z
    }
}

impl DeepAr {
    fn check(&self) -> Result<()> {
        check_sizes("DeepAR", &[("width", self.width), ("layers", self.layers)])
    }

    /// An untrained network and its parameters.
    pub(super) fn network(&self, dim: usize, seed: u64) -> (Network, Tape) {
        let mut parameters = Parameters::new(seed);
        let network = Network::new(&mut parameters, self, dim);
        (network, parameters.into_tape().0)
    }

    fn draw(&self, request: Request) -> Result<Vec<f64>> {
        self.check()?;
        let standard = Standard::values(request.record)?;
        let (dim, horizon) = (standard.dim(), request.ahead.len());
        let (network, mut tape) = self.network(dim, request.seed);
        let loss = network.loss_on(&mut tape, &standard);
        train(&mut tape, &self.training, loss)?;

        let all = tape.constant(dim, &standard.rows(0, standard.len()));
        let outputs = network.run(&mut tape, all);
        let states = network.layers.iter().zip(&outputs).map(|(layer, out)| layer.state(&tape, *out));
        let mut states: Vec<LstmState> = states.map(|state| state.repeated(request.paths)).collect();
        let mut laws = network.decode(&mut tape, states[states.len() - 1].outputs());
        let mut rngs: Vec<StreamRng> = (0..request.paths).map(|path| stream(request.seed, path as u64)).collect();
        let mut out = vec![0.0; request.paths * horizon * dim];
        for j in 0..horizon {
            let values: Vec<f64> = laws.iter().enumerate().map(|(k, law)| law.draw(&mut rngs[k / dim])).collect();
            for (k, value) in values.iter().enumerate() {
                let (path, i) = (k / dim, k % dim);
                out[(path * horizon + j) * dim + i] = standard.restore(*value, i);
            }
            if j + 1 < horizon {
                let row: Vec<f32> = values.iter().map(|x| *x as f32).collect();
                laws = network.step(&mut tape, &row, &mut states);
            }
        }
        Ok(out)
    }
}

impl Forecaster for DeepAr {
    fn name(&self) -> String {
        match self.output {
            Output::Gaussian => "DeepAR".into(),
            Output::Student => "DeepAR, Student-t".into(),
        }
    }

    fn forecast(&self, record: &Record, ahead: &[f64], paths: usize, seed: u64) -> Result<Paths> {
        Request { record, ahead, paths, seed }.answer(|request| self.draw(request))
    }
}

#[cfg(test)]
mod tests {
    use super::super::special::assert_slope;
    use super::*;

    #[test]
    fn identity_slopes_of_the_losses() {
        let out = [0.3, -1.0, 0.5, -0.7, 1.2, 0.1, -0.4, 2.0, 0.9, 0.2, -1.5, 3.0];
        for (output, count) in [(Output::Gaussian, 8), (Output::Student, 12)] {
            let (network, _) = DeepAr { output, width: 2, ..DeepAr::default() }.network(2, 1);
            assert_slope(&out[..count], |out, slope| network.mean_loss(out, &[0.5, -2.0, 1.0, 0.7], slope));
        }
    }

    #[test]
    fn identity_densities_integrate_to_one() {
        // Constants that the losses leave out: √2π and √π.
        let constants = [std::f64::consts::TAU.sqrt(), std::f64::consts::PI.sqrt()];
        for (output, constant) in [Output::Gaussian, Output::Student].into_iter().zip(constants) {
            let (network, _) = DeepAr { output, width: 2, ..DeepAr::default() }.network(1, 1);
            let law = network.law(&[0.4, 0.3, 0.8], 0);
            let mass: f64 = (-40_000..40_000).map(|k| 0.01 * (-law.loss(0.01 * f64::from(k)).0).exp()).sum();
            assert!((mass / constant - 1.0).abs() < 1e-4, "{mass}");
        }
    }
}
