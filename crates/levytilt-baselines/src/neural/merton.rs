//! Neural MJD (Gao et al. 2025): a network gives the drift, diffusion, jump rate and jump law of each step ahead.

use super::layers::{Activation, Mlp, Parameters, dropout, log_sum_exp, matrix, numbers, softplus};
use super::train::train;
use super::windows::Standard;
use super::{Outcome, Request, Training, check_sizes};
use crate::forecaster::{Forecaster, Paths, Record};
use candle_core::Tensor;
use levytilt::{Error, Result, StreamRng, stream};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

/// Merton's jump diffusion with parameters that depend on the past moves and on the step ahead.
///
/// A move is N(μ + nν, σ² + nγ²) after n jumps, and n is Poisson(λ) given n ≤ the truncation, in likelihood and draws
/// alike. Values are taken as logarithms already, so that μ + λν is the mean move without Itô's correction. Steps count as
/// equally long; dimensions share the network and move independently. The loss is −ln likelihood of all moves ahead plus
/// the squared error of the conditional mean of the values.
///
/// The published sampler starts every step from the conditional mean, so that its spread does not grow with the horizon.
/// Here the moves of a path add up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NeuralMjd {
    /// Number of past moves that are seen; a record must hold at least this many and the horizon, and one value more.
    pub lookback: usize,
    /// Width of the three hidden layers.
    pub width: usize,
    /// Share of hidden numbers that are set to 0 in training.
    pub dropout: f64,
    /// Largest number of jumps in a step.
    pub truncation: usize,
    /// Weight of the squared error.
    pub mean_weight: f64,
    /// How it is trained.
    pub training: Training,
}

impl Default for NeuralMjd {
    /// Lookback 48, width 256, dropout 0.1, at most 5 jumps, weight 1, 3000 steps of Adam at 10⁻³ clipped at 1.
    fn default() -> Self {
        let training = Training { clip: Some(1.0), ..Training::adam(3000, 1e-3) };
        Self { lookback: 48, width: 256, dropout: 0.1, truncation: 5, mean_weight: 1.0, training }
    }
}

/// Keeps likelihoods bounded, in deviations of the moves.
const SMALLEST_SCALE: f64 = 1e-3;

/// Laws of moves, one row each: what depends on n has a column for each.
struct Laws {
    log_weights: Tensor,
    means: Tensor,
    variances: Tensor,
}

impl NeuralMjd {
    /// From (rows, horizon·5) numbers of the network, in the order μ, σ, λ, ν, γ.
    fn laws(&self, out: &Tensor) -> candle_core::Result<Laws> {
        let out = out.reshape((out.elem_count() / 5, 5))?;
        let part = |k: usize| out.narrow(1, k, 1);
        let scale = |k: usize| (softplus(&part(k)?)? + SMALLEST_SCALE)?.sqr();
        let jumps = self.truncation + 1;
        let n = matrix((0..jumps).map(|n| n as f32).collect(), (1, jumps))?;
        let factorial = matrix((0..jumps).map(|n| libm::lgamma(n as f64 + 1.0) as f32).collect(), (1, jumps))?;
        // The smallest rate is far below one jump per record, and keeps the logarithm finite.
        let log_rate = (softplus(&part(2)?)? + 1e-6)?.log()?;
        let raw = log_rate.broadcast_mul(&n)?.broadcast_sub(&factorial)?;
        let log_weights = raw.broadcast_sub(&log_sum_exp(&raw)?.unsqueeze(1)?)?;
        let means = part(3)?.broadcast_mul(&n)?.broadcast_add(&part(0)?)?;
        let variances = scale(4)?.broadcast_mul(&n)?.broadcast_add(&scale(1)?)?;
        Ok(Laws { log_weights, means, variances })
    }

    fn draw(&self, request: Request) -> Outcome<Vec<f64>> {
        check_sizes("Neural MJD", &[("width", self.width)])?;
        if !(0.0..1.0).contains(&self.dropout) {
            let expected = "must be at least 0 and below 1";
            return Err(Error::Parameter { name: "dropout".into(), value: self.dropout, expected }.into());
        }
        let horizon = request.ahead.len();
        let moves = Standard::moves(request.record)?;
        let count = moves.count_pairs(self.lookback, horizon)?;
        let (contexts, targets) = moves.pairs(0..count, self.lookback, horizon)?;
        let values = Standard::values(request.record)?;
        let ratio: Vec<f32> =
            moves.unit.iter().zip(&values.unit).map(|(move_, value)| (move_ / value) as f32).collect();
        let rows = count * moves.dim();
        // Errors of moves to errors of values, in deviations of values.
        let ratio = matrix(ratio.repeat(count), (rows, 1))?;
        let sum = matrix(cumulation(horizon), (horizon, horizon))?;

        let mut parameters = Parameters::new(request.seed);
        let widths = [self.lookback, self.width, self.width, self.width, 5 * horizon];
        let network = Mlp::new(&mut parameters, &widths, Activation::Relu)?;
        let column = targets.reshape((rows * horizon, 1))?;
        let Parameters { vars, mut rng } = parameters;
        train(&vars, &self.training, || {
            let laws = self.laws(&network.apply_with(&contexts, |x| dropout(&x, self.dropout, &mut rng))?)?;
            let error = laws.mean()?.sub(&column)?.reshape((rows, horizon))?.matmul(&sum)?.broadcast_mul(&ratio)?;
            laws.loss(&column)? + error.sqr()?.mean_all()?.affine(self.mean_weight, 0.0)?
        })?;

        let laws = self.laws(&network.apply(&moves.last(self.lookback)?)?)?.numbers()?;
        let last = request.record.last();
        let one = |path: usize| {
            let mut rng = stream(request.seed, path as u64);
            let mut x = last.clone();
            let mut states = Vec::with_capacity(horizon * x.len());
            for j in 0..horizon {
                for (i, x) in x.iter_mut().enumerate() {
                    *x += moves.unit[i] * laws[i * horizon + j].draw(&mut rng);
                }
                states.extend(&x);
            }
            states
        };
        Ok((0..request.paths).flat_map(one).collect())
    }
}

impl Laws {
    /// Σ wₙ meanₙ, (rows, 1).
    fn mean(&self) -> candle_core::Result<Tensor> {
        self.log_weights.exp()?.mul(&self.means)?.sum_keepdim(1)
    }

    /// −ln density without its constant, mean over all rows.
    fn loss(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        let square = self.means.broadcast_sub(x)?.sqr()?.div(&self.variances)?;
        let exponent = self.log_weights.sub(&square.add(&self.variances.log()?)?.affine(0.5, 0.0)?)?;
        log_sum_exp(&exponent)?.mean_all()?.neg()
    }

    fn numbers(&self) -> candle_core::Result<Vec<Mixture>> {
        let jumps = self.means.dim(1)?;
        let (weights, means) = (numbers(&self.log_weights.exp()?)?, numbers(&self.means)?);
        let scales = numbers(&self.variances.sqrt()?)?;
        let row = |k: usize| {
            let part = |values: &[f64]| values[k * jumps..(k + 1) * jumps].to_vec();
            Mixture { weights: part(&weights), means: part(&means), scales: part(&scales) }
        };
        Ok((0..weights.len() / jumps).map(row).collect())
    }
}

/// A mixture of Gaussians; weights sum to 1 but for rounding.
struct Mixture {
    weights: Vec<f64>,
    means: Vec<f64>,
    scales: Vec<f64>,
}

impl Mixture {
    fn draw(&self, rng: &mut StreamRng) -> f64 {
        let k = pick(&self.weights, rng.random());
        let z: f64 = StandardNormal.sample(rng);
        self.means[k] + self.scales[k] * z
    }
}

/// The first entry at which the sum of weights passes `share`; the last one if rounding leaves none.
pub(crate) fn pick(weights: &[f64], share: f64) -> usize {
    let mut sum = 0.0;
    let passes = |weight: &f64| {
        sum += weight;
        sum > share
    };
    weights.iter().position(passes).unwrap_or(weights.len() - 1)
}

/// x ↦ x U adds up: U is 1 on and above the diagonal.
fn cumulation(size: usize) -> Vec<f32> {
    (0..size).flat_map(|i| (0..size).map(move |j| if i <= j { 1.0 } else { 0.0 })).collect()
}

impl Forecaster for NeuralMjd {
    fn name(&self) -> String {
        "Neural MJD".into()
    }

    fn forecast(&self, record: &Record, ahead: &[f64], paths: usize, seed: u64) -> Result<Paths> {
        Request { record, ahead, paths, seed }.answer(|request| self.draw(request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_density_integrates_to_one_and_has_its_mean() {
        let model = NeuralMjd::default();
        let out = matrix(vec![0.3, -0.5, 0.2, 1.5, -1.0], (1, 5)).unwrap();
        let laws = model.laws(&out).unwrap();
        let mean = numbers(&laws.mean().unwrap()).unwrap()[0];
        let (mut mass, mut first) = (0.0, 0.0);
        for k in -1000..2000 {
            let x = 0.01 * f64::from(k);
            let loss = numbers(&laws.loss(&matrix(vec![x as f32], (1, 1)).unwrap()).unwrap()).unwrap()[0];
            let density = (-loss).exp() / std::f64::consts::TAU.sqrt();
            mass += 0.01 * density;
            first += 0.01 * x * density;
        }
        assert!((mass - 1.0).abs() < 1e-4, "{mass}");
        assert!((first - mean).abs() < 1e-3, "{first} {mean}");
    }
}
