//! DeepAR (Salinas et al. 2020): a recurrent network that gives the law of the next value, and feeds on its own draws.

use super::layers::{Activation, Mlp, Parameters, ln_gamma, matrix, numbers, softplus};
use super::lstm::{Lstm, State};
use super::train::train;
use super::windows::Standard;
use super::{Outcome, Request, Training, check_sizes};
use crate::forecaster::{Forecaster, Paths, Record};
use candle_core::Tensor;
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

struct Network {
    layers: Vec<Lstm>,
    decoder: Mlp,
    output: Output,
    dim: usize,
}

/// Parameters of the law of the next value, (rows, dimensions) each; infinitely many degrees of freedom if none.
struct NextLaw {
    location: Tensor,
    scale: Tensor,
    dof: Option<Tensor>,
}

impl Network {
    fn new(parameters: &mut Parameters, options: &DeepAr, dim: usize) -> candle_core::Result<Self> {
        let width = options.width;
        let layer = |k: usize| Lstm::new(parameters, if k == 0 { dim } else { width }, width);
        let layers = (0..options.layers).map(layer).collect::<candle_core::Result<_>>()?;
        let decoder = Mlp::new(parameters, &[width, width, options.output.parts() * dim], Activation::Relu)?;
        Ok(Self { layers, decoder, output: options.output, dim })
    }

    fn decode(&self, hidden: &Tensor) -> candle_core::Result<NextLaw> {
        let out = self.decoder.apply(hidden)?;
        let part = |k: usize| out.narrow(1, k * self.dim, self.dim);
        let scale = (softplus(&part(1)?)? + SMALLEST_SCALE)?;
        let dof = match self.output {
            Output::Gaussian => None,
            Output::Student => Some((softplus(&part(2)?)? + 2.0)?),
        };
        Ok(NextLaw { location: part(0)?, scale, dof })
    }

    /// Laws after each row of the sequence, and the layers' states after the last.
    fn run(&self, sequence: &Tensor) -> candle_core::Result<(NextLaw, Vec<State>)> {
        let mut hidden = sequence.clone();
        let mut states = Vec::new();
        for layer in &self.layers {
            let (outputs, state) = layer.run(&hidden)?;
            hidden = outputs;
            states.push(state);
        }
        Ok((self.decode(&hidden)?, states))
    }

    fn step(&self, x: &Tensor, states: &mut [State]) -> candle_core::Result<NextLaw> {
        let mut hidden = x.clone();
        for (layer, state) in self.layers.iter().zip(states) {
            *state = layer.step(&hidden, state)?;
            hidden = state.h.clone();
        }
        self.decode(&hidden)
    }
}

impl NextLaw {
    /// −ln density, without constants for the Gaussian, mean over all entries.
    fn loss(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        let square = x.sub(&self.location)?.div(&self.scale)?.sqr()?;
        let shape = match &self.dof {
            None => square.affine(0.5, 0.0)?,
            Some(dof) => {
                let half = dof.affine(0.5, 0.5)?;
                let stretch = half.mul(&(square.div(dof)? + 1.0)?.log()?)?;
                let constant = ln_gamma(&half)?.sub(&ln_gamma(&dof.affine(0.5, 0.0)?)?)?;
                stretch.sub(&constant)?.add(&dof.log()?.affine(0.5, 0.0)?)?
            }
        };
        shape.add(&self.scale.log()?)?.mean_all()
    }

    /// One draw per row, by the generator of its path.
    fn draw(&self, rngs: &mut [StreamRng]) -> candle_core::Result<Vec<f64>> {
        let (location, scale) = (numbers(&self.location)?, numbers(&self.scale)?);
        let dof = self.dof.as_ref().map(numbers).transpose()?;
        let dim = location.len() / rngs.len();
        let one = |k: usize, rng: &mut StreamRng| {
            let z: f64 = StandardNormal.sample(rng);
            // Degrees of freedom are more than 2; NaN would be caught as a state that is not finite.
            let stretch = dof
                .as_ref()
                .map_or(1.0, |dof| ChiSquared::new(dof[k]).map_or(f64::NAN, |chi| (dof[k] / chi.sample(rng)).sqrt()));
            location[k] + scale[k] * stretch * z
        };
        let row = |(p, rng): (usize, &mut StreamRng)| (0..dim).map(|i| one(p * dim + i, rng)).collect::<Vec<f64>>();
        Ok(rngs.iter_mut().enumerate().flat_map(row).collect())
    }
}

impl DeepAr {
    fn draw(&self, request: Request) -> Outcome<Vec<f64>> {
        check_sizes("DeepAR", &[("width", self.width), ("layers", self.layers)])?;
        let standard = Standard::values(request.record)?;
        let (dim, length, horizon) = (standard.dim(), standard.len(), request.ahead.len());
        let mut parameters = Parameters::new(request.seed);
        let network = Network::new(&mut parameters, self, dim)?;
        let (seen, next) = (standard.rows(0, length - 1)?, standard.rows(1, length)?);
        train(&parameters.vars, &self.training, || network.run(&seen)?.0.loss(&next))?;

        let (law, states) = network.run(&standard.rows(0, length)?)?;
        let copies = |x: &Tensor| {
            let row = x.narrow(0, x.dim(0)? - 1, 1)?.detach();
            row.broadcast_as((request.paths, row.dim(1)?))?.contiguous()
        };
        let copied = |state: &State| Ok(State { h: copies(&state.h)?, c: copies(&state.c)? });
        let mut states = states.iter().map(copied).collect::<candle_core::Result<Vec<State>>>()?;
        let dof = law.dof.as_ref().map(copies).transpose()?;
        let mut law = NextLaw { location: copies(&law.location)?, scale: copies(&law.scale)?, dof };
        let mut rngs: Vec<StreamRng> = (0..request.paths).map(|path| stream(request.seed, path as u64)).collect();
        let mut out = vec![0.0; request.paths * horizon * dim];
        for j in 0..horizon {
            let values = law.draw(&mut rngs)?;
            for (k, value) in values.iter().enumerate() {
                let (path, i) = (k / dim, k % dim);
                out[(path * horizon + j) * dim + i] = standard.restore(*value, i);
            }
            if j + 1 < horizon {
                let row = matrix(values.iter().map(|x| *x as f32).collect(), (request.paths, dim))?;
                law = network.step(&row, &mut states)?;
                states.iter_mut().for_each(|state| *state = state.detached());
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
