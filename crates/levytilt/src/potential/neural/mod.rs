//! A potential from networks: time is encoded, one network says how firm the message is, another where it pulls.
//!
//! φ_t(x) = −a_t (x − m_t)² + b_t (x − m_t) with a_t = (a_min + softplus(A(e(t))))/u² and b_t = B(e(t))/u, e the
//! encoding of time, A and B ReLU networks. The unit u and the centre m, a [`Frame`], make the networks' task one of numbers
//! near 1; m = 0 and u = 1 is the form of the paper.

mod dense;
mod encoder;
mod frame;

pub use frame::{Frame, FrameKind};

use crate::error::{expect_length, finite, positive};
use crate::{Result, StreamRng, stream};
use dense::{Dense, Tape};
use encoder::{Encoder, EncoderTape};
use nalgebra::{DMatrix, RealField, convert, try_convert};
use rand::RngExt;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Sizes of a neural potential; the defaults are the paper's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NeuralPotentialSpec {
    /// Dimensions of the state.
    pub dim: usize,
    /// Reference times, evenly spaced over the span at first.
    pub references: usize,
    /// Numbers per embedding.
    pub features: usize,
    /// Units per hidden layer.
    pub width: usize,
    /// Hidden layers.
    pub depth: usize,
    /// Least firmness in units of u.
    pub least: f64,
    /// First and last time.
    pub span: (f64, f64),
    /// Sharpness of the encoder at first, per span of time. At the default, neighbours among 100 references differ by
    /// 2 in the exponent, so that the encoding moves at every time. (Much sharper, and it is level around each reference:
    /// all times there get the same message, and no training can tell them apart.)
    pub sharpness: f64,
}

impl Default for NeuralPotentialSpec {
    fn default() -> Self {
        Self {
            dim: 1,
            references: 100,
            features: 64,
            width: 256,
            depth: 5,
            least: 0.001,
            span: (0.0, 1.0),
            sharpness: 200.0,
        }
    }
}

/// Networks with their parameters. Times are scaled to the span: 0 at its start, 1 at its end.
#[derive(Debug, Clone, PartialEq)]
pub struct NeuralPotential<T = f32> {
    spec: NeuralPotentialSpec,
    parameters: Vec<T>,
}

/// Firmness a and pull b in units of u, per time: rows are dimensions, columns times. And what the way back needs.
#[derive(Debug)]
pub struct Evaluation<T> {
    /// (a_t, b_t): per time, all dimensions.
    pub coefficients: Vec<Vec<[f64; 2]>>,
    encoder: EncoderTape<T>,
    firmness: Tape<T>,
    pull: Tape<T>,
}

/// A group of parameters that learns at its own rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Reference times.
    References,
    /// Logarithm of the sharpness.
    Sharpness,
    /// Embeddings.
    Embeddings,
    /// The network of the firmness.
    Firmness,
    /// The network of the pull.
    Pull,
}

impl<T: RealField + Copy> NeuralPotential<T> {
    /// Networks with random weights.
    ///
    /// Hidden weights are normal with variance 2/inputs, which keeps the size of a signal through ReLU layers; the output
    /// layers start at a hundredth of that, so that at first the message says the same at all times.
    pub fn new(spec: NeuralPotentialSpec, seed: u64) -> Result<Self> {
        positive("references", spec.references as f64)?;
        positive("features", spec.features as f64)?;
        positive("width", spec.width as f64)?;
        positive("depth", spec.depth as f64)?;
        positive("dim", spec.dim as f64)?;
        positive("least", spec.least)?;
        positive("sharpness", spec.sharpness)?;
        finite("span start", spec.span.0)?;
        positive("span", spec.span.1 - spec.span.0)?;
        let mut rng = stream(seed, u64::MAX - 2);
        let mut potential = Self { parameters: Vec::new(), spec };
        let spec = &potential.spec;
        let last = (spec.references.max(2) - 1) as f64;
        let mut parameters: Vec<f64> = (0..spec.references).map(|i| i as f64 / last).collect();
        parameters.push(spec.sharpness.ln());
        let std = 1.0 / (spec.features as f64).sqrt();
        parameters.extend((0..spec.references * spec.features).map(|_| std * normal(&mut rng)));
        for _ in 0..2 {
            let net = potential.network();
            let layers = net.layers().len();
            for (l, layer) in net.layers().enumerate() {
                let gain = if l + 1 == layers { 0.01 } else { 1.0 };
                // The encoding has a length of about 1, not √features.
                let inputs = if l == 0 { 1.0 } else { layer.columns as f64 };
                let std = gain * (2.0 / inputs).sqrt();
                parameters.extend(layer.weights.clone().map(|_| std * normal(&mut rng)));
                parameters.extend(layer.biases.clone().map(|_| 0.0));
            }
        }
        potential.parameters = parameters.into_iter().map(convert).collect();
        Ok(potential)
    }

    /// Networks with given parameters, in the order of [`NeuralPotential::groups`].
    pub fn from_parameters(spec: NeuralPotentialSpec, parameters: Vec<T>) -> Result<Self> {
        let potential = Self { parameters, spec };
        let expected = potential.groups().last().map_or(0, |(_, range)| range.end);
        expect_length("parameters of a neural potential", potential.parameters.len(), expected)?;
        if let Some(bad) = potential.parameters.iter().position(|p| !real(*p).is_finite()) {
            finite(&format!("parameter {bad}"), real(potential.parameters[bad]))?;
        }
        Ok(potential)
    }

    /// Sizes.
    pub fn spec(&self) -> &NeuralPotentialSpec {
        &self.spec
    }

    /// All parameters, group by group.
    pub fn parameters(&self) -> &[T] {
        &self.parameters
    }

    /// All parameters, to be changed.
    pub fn parameters_mut(&mut self) -> &mut [T] {
        &mut self.parameters
    }

    /// Where the groups lie.
    pub fn groups(&self) -> Vec<(Group, Range<usize>)> {
        let (n, network) = (self.spec.references, self.network().count());
        let encoder = self.encoder().count();
        vec![
            (Group::References, 0..n),
            (Group::Sharpness, n..n + 1),
            (Group::Embeddings, n + 1..encoder),
            (Group::Firmness, encoder..encoder + network),
            (Group::Pull, encoder + network..encoder + 2 * network),
        ]
    }

    /// Where the layers lie, for work that is done layer by layer: τ, ln s, E, then weights and biases of each layer.
    pub fn layers(&self) -> Vec<Range<usize>> {
        let groups = self.groups();
        let mut layers: Vec<Range<usize>> = groups[..3].iter().map(|g| g.1.clone()).collect();
        for group in &groups[3..] {
            let shift = |r: Range<usize>| r.start + group.1.start..r.end + group.1.start;
            layers.extend(self.network().layers().flat_map(|l| [shift(l.weights), shift(l.biases)]));
        }
        layers
    }

    /// Reference times on the scale of the data.
    pub fn reference_times(&self) -> Vec<f64> {
        let (start, end) = self.spec.span;
        self.parameters[..self.spec.references].iter().map(|&t| start + (end - start) * real(t)).collect()
    }

    /// Sharpness of the encoder, per span of time.
    pub fn sharpness(&self) -> f64 {
        real(self.parameters[self.spec.references]).exp()
    }

    fn encoder(&self) -> Encoder {
        Encoder { references: self.spec.references, features: self.spec.features }
    }

    fn network(&self) -> Dense {
        Dense::new(self.spec.features, self.spec.width, self.spec.depth, self.spec.dim)
    }

    /// The coefficients at any times.
    pub fn evaluate(&self, times: &[f64]) -> Evaluation<T> {
        let (start, end) = self.spec.span;
        let scaled: Vec<f64> = times.iter().map(|t| (t - start) / (end - start)).collect();
        let groups = self.groups();
        let (encoded, encoder) = self.encoder().forward(&self.parameters, &scaled);
        let net = self.network();
        let run = |group: usize, input: DMatrix<T>| net.forward(&self.parameters[groups[group].1.clone()], input);
        let copy = encoded.clone();
        let (firmness, pull) = rayon::join(|| run(3, encoded), || run(4, copy));
        let coefficient = |i: usize, j: usize| {
            [self.spec.least + softplus(real(firmness.output()[(i, j)])), real(pull.output()[(i, j)])]
        };
        let coefficients = (0..times.len()).map(|j| (0..self.spec.dim).map(|i| coefficient(i, j)).collect()).collect();
        Evaluation { coefficients, encoder, firmness, pull }
    }

    /// Slopes in all parameters, given those in the coefficients (a, b) per time and dimension.
    pub fn gradient(&self, evaluation: &Evaluation<T>, slopes: &[Vec<[f64; 2]>]) -> Vec<T> {
        let Evaluation { encoder, firmness, pull, .. } = evaluation;
        let (dim, times) = (self.spec.dim, slopes.len());
        // softplus' = the logistic function
        let logistic = |u: f64| 1.0 / (1.0 + (-u).exp());
        let by_firmness =
            DMatrix::from_fn(dim, times, |i, j| convert(slopes[j][i][0] * logistic(real(firmness.output()[(i, j)]))));
        let by_pull = DMatrix::from_fn(dim, times, |i, j| convert(slopes[j][i][1]));
        let groups = self.groups();
        let mut gradient = vec![T::zero(); self.parameters.len()];
        let (head, tail) = gradient.split_at_mut(groups[3].1.start);
        let (first, second) = tail.split_at_mut(groups[3].1.len());
        let net = self.network();
        let (a, b) = rayon::join(
            || net.backward(&self.parameters[groups[3].1.clone()], firmness, by_firmness, first),
            || net.backward(&self.parameters[groups[4].1.clone()], pull, by_pull, second),
        );
        self.encoder().backward(&self.parameters, encoder, &(a + b), head);
        gradient
    }
}

fn real<T: RealField>(x: T) -> f64 {
    try_convert(x).unwrap_or(f64::NAN)
}

fn normal(rng: &mut StreamRng) -> f64 {
    rng.sample(StandardNormal)
}

/// ln(1 + eᵘ) without overflow.
fn softplus(u: f64) -> f64 {
    u.max(0.0) + (-u.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Central differences of Σ λ·(a, b), f64: 1e-6, in every group.
    #[test]
    fn identity_slopes_are_those_of_the_coefficients() {
        let spec = NeuralPotentialSpec {
            dim: 2,
            references: 5,
            features: 4,
            width: 6,
            depth: 2,
            span: (1.0, 3.0),
            sharpness: 5.0,
            ..Default::default()
        };
        let mut potential: NeuralPotential<f64> = NeuralPotential::new(spec, 1).unwrap();
        let times = [1.1, 1.7, 2.2, 2.9];
        let slopes: Vec<Vec<[f64; 2]>> =
            (0..4).map(|j| (0..2).map(|i| [0.3 * j as f64 - 0.4, 0.5 - 0.2 * i as f64]).collect()).collect();
        let value = |p: &NeuralPotential<f64>| -> f64 {
            let found = p.evaluate(&times).coefficients;
            found.iter().flatten().zip(slopes.iter().flatten()).map(|(x, l)| x[0] * l[0] + x[1] * l[1]).sum()
        };
        let gradient = potential.gradient(&potential.evaluate(&times), &slopes);
        for (i, &found) in gradient.iter().enumerate() {
            let at = potential.parameters[i];
            let mut moved = |h: f64| {
                potential.parameters[i] = at + h;
                value(&potential)
            };
            let want = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            potential.parameters[i] = at;
            assert!((found - want).abs() < 1e-6, "{i}: {found} {want}");
        }
        assert_eq!(potential.layers().last().unwrap().end, potential.parameters().len());
        assert!((potential.reference_times()[4] - 3.0).abs() < 1e-12);
    }
}
