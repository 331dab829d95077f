//! Compute a potential by networks of time: one gives the precision of the message, another its linear coefficient.
//!
//! φ_t(x) = −a_t (x − m_t)² + b_t (x − m_t) with a_t = (a_min + softplus(A(e(t))))/u² and b_t = B(e(t))/u, e the
//! encoding of time, A and B ReLU networks. The unit u and the centre m, a [`Frame`], make the networks' task one of numbers
//! near 1; m = 0 and u = 1 is the form of the paper.
//!
//! With several components per time, e^{φ_t(x)} = Σ_k e^{l_k − a_k(x − c_k)²} with c_k = m + b_k/2a_k: the networks
//! give all a_k, b_k and l_k.

mod dense;
mod encoder;
mod frame;
mod heads;

pub use frame::{Frame, FrameKind};

use dense::{Dense, Tape};
use encoder::{Encoder, EncoderTape};
use heads::Heads;
use levytilt::internals::error::{expect_length, finite, positive};
use levytilt::{Result, StreamRng, stream};
use nalgebra::{RealField, convert, try_convert};
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
    /// Reference times, initially evenly spaced over the span.
    pub references: usize,
    /// Numbers per embedding.
    pub features: usize,
    /// Units per hidden layer.
    pub width: usize,
    /// Hidden layers.
    pub depth: usize,
    /// Smallest precision in units of u.
    pub least: f64,
    /// First and last time.
    pub span: (f64, f64),
    /// Initial sharpness of the encoder, per span of time. At the default, neighbours among 100 references differ by 2
    /// in the exponent, so the encoding changes at every time. (If it is much sharper, the encoding is flat around each
    /// reference: all times there get the same message, whatever the training.)
    pub sharpness: f64,
    /// Components per time and dimension.
    #[serde(skip_serializing_if = "is_one")]
    pub components: usize,
}

/// Sizes with one component are saved as before mixtures were introduced.
fn is_one(components: &usize) -> bool {
    *components == 1
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
            components: 1,
        }
    }
}

/// Networks with their parameters. Times are scaled to the span: 0 at its start, 1 at its end.
#[derive(Debug, Clone, PartialEq)]
pub struct NeuralPotential<T = f32> {
    spec: NeuralPotentialSpec,
    parameters: Vec<T>,
}

/// The networks' output at some times, and what the backward pass needs.
#[derive(Debug)]
pub struct Evaluation<T> {
    /// (l, a, b) in units of u: per time, dimension and component. l is 0 if there is only one.
    pub coefficients: Vec<Vec<Vec<[f64; 3]>>>,
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
    /// The network of the precision.
    Firmness,
    /// The network of the linear coefficient, and of the weights of several components.
    Pull,
}

impl<T: RealField + Copy> NeuralPotential<T> {
    /// Networks with random weights.
    ///
    /// Hidden weights are normal with variance 2/inputs, which keeps the size of a signal through ReLU layers; the
    /// output layers start at a hundredth of that, so that initially the message is the same at all times.
    pub fn new(spec: NeuralPotentialSpec, seed: u64) -> Result<Self> {
        positive("references", spec.references as f64)?;
        positive("features", spec.features as f64)?;
        positive("width", spec.width as f64)?;
        positive("depth", spec.depth as f64)?;
        positive("dim", spec.dim as f64)?;
        positive("components", spec.components as f64)?;
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
        for (net, biases) in potential.networks().iter().zip(potential.heads().biases()) {
            let layers = net.layers().len();
            for (l, layer) in net.layers().enumerate() {
                let gain = if l + 1 == layers { 0.01 } else { 1.0 };
                // The encoding has a length of about 1, not √features.
                let inputs = if l == 0 { 1.0 } else { layer.columns as f64 };
                let std = gain * (2.0 / inputs).sqrt();
                parameters.extend(layer.weights.clone().map(|_| std * normal(&mut rng)));
                match l + 1 == layers {
                    true => parameters.extend(&biases),
                    false => parameters.extend(layer.biases.clone().map(|_| 0.0)),
                }
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

    /// Ranges of the groups.
    pub fn groups(&self) -> Vec<(Group, Range<usize>)> {
        let (n, encoder) = (self.spec.references, self.encoder().count());
        let [firmness, pull] = self.networks().map(|network| encoder + network.count());
        vec![
            (Group::References, 0..n),
            (Group::Sharpness, n..n + 1),
            (Group::Embeddings, n + 1..encoder),
            (Group::Firmness, encoder..firmness),
            (Group::Pull, firmness..firmness + pull - encoder),
        ]
    }

    /// Ranges of the layers, for work done layer by layer: τ, ln s, E, then weights and biases of each layer.
    pub fn layers(&self) -> Vec<Range<usize>> {
        let groups = self.groups();
        let mut layers: Vec<Range<usize>> = groups[..3].iter().map(|g| g.1.clone()).collect();
        for (network, (_, group)) in self.networks().iter().zip(&groups[3..]) {
            let shift = |r: Range<usize>| r.start + group.start..r.end + group.start;
            layers.extend(network.layers().flat_map(|l| [shift(l.weights), shift(l.biases)]));
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

    fn heads(&self) -> Heads {
        Heads { dim: self.spec.dim, components: self.spec.components, least: self.spec.least }
    }

    /// The networks of the precision and of the linear coefficient.
    fn networks(&self) -> [Dense; 2] {
        let NeuralPotentialSpec { features, width, depth, .. } = self.spec;
        self.heads().outputs().map(|outputs| Dense::new(features, width, depth, outputs))
    }

    /// The coefficients at any times.
    pub fn evaluate(&self, times: &[f64]) -> Evaluation<T> {
        let (start, end) = self.spec.span;
        let scaled: Vec<f64> = times.iter().map(|t| (t - start) / (end - start)).collect();
        let groups = self.groups();
        let (encoded, encoder) = self.encoder().forward(&self.parameters, &scaled);
        let [first, second] = self.networks();
        let part = |group: usize| &self.parameters[groups[group].1.clone()];
        let copy = encoded.clone();
        let (firmness, pull) = rayon::join(|| first.forward(part(3), encoded), || second.forward(part(4), copy));
        let coefficients = self.heads().read(firmness.output(), pull.output());
        Evaluation { coefficients, encoder, firmness, pull }
    }

    /// Gradient in all parameters, given that in the coefficients.
    pub fn gradient(&self, evaluation: &Evaluation<T>, slopes: &[Vec<Vec<[f64; 3]>>]) -> Vec<T> {
        let Evaluation { encoder, firmness, pull, .. } = evaluation;
        let [by_firmness, by_pull] = self.heads().slopes(firmness.output(), slopes);
        let groups = self.groups();
        let mut gradient = vec![T::zero(); self.parameters.len()];
        let (head, tail) = gradient.split_at_mut(groups[3].1.start);
        let (by_first, by_second) = tail.split_at_mut(groups[3].1.len());
        let [first, second] = self.networks();
        let (a, b) = rayon::join(
            || first.backward(&self.parameters[groups[3].1.clone()], firmness, by_firmness, by_first),
            || second.backward(&self.parameters[groups[4].1.clone()], pull, by_pull, by_second),
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

    /// Central differences of Σ λ·(l, a, b), f64: 1e-6, in every group.
    #[test]
    fn identity_slopes_are_those_of_the_coefficients() {
        (1..4).for_each(slopes_are_those_of_the_coefficients);
    }

    fn slopes_are_those_of_the_coefficients(components: usize) {
        let spec = NeuralPotentialSpec {
            dim: 2,
            references: 5,
            features: 4,
            width: 6,
            depth: 2,
            span: (1.0, 3.0),
            sharpness: 5.0,
            components,
            ..Default::default()
        };
        let mut potential: NeuralPotential<f64> = NeuralPotential::new(spec, 1).unwrap();
        let times = [1.1, 1.7, 2.2, 2.9];
        let slope = |j: usize, i: usize, m: usize| {
            let [j, i, m] = [j, i, m].map(|k| k as f64);
            [0.1 + 0.2 * m - 0.1 * j, 0.3 * j - 0.4 + 0.1 * m, 0.5 - 0.2 * i]
        };
        let bumps = |j: usize, i: usize| (0..components).map(|m| slope(j, i, m)).collect();
        let slopes: Vec<Vec<Vec<[f64; 3]>>> = (0..4).map(|j| (0..2).map(|i| bumps(j, i)).collect()).collect();
        let value = |p: &NeuralPotential<f64>| -> f64 {
            let found = p.evaluate(&times).coefficients;
            let pairs = found.iter().flatten().flatten().zip(slopes.iter().flatten().flatten());
            pairs.flat_map(|(x, slope)| (0..3).map(move |k| x[k] * slope[k])).sum()
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
            assert!((found - want).abs() < 1e-6, "{components} {i}: {found} {want}");
        }
        assert_eq!(potential.layers().last().unwrap().end, potential.parameters().len());
        assert!((potential.reference_times()[4] - 3.0).abs() < 1e-12);
    }
}
