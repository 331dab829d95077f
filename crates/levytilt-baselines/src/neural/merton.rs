//! Neural MJD (Gao et al. 2025): a network gives the drift, diffusion, jump rate and jump law of each step ahead.

use super::layers::{Mlp, Parameters, dropout};
use super::special::{log_sum_exp, softplus};
use super::tape::{Activation, Tape, Var};
use super::train::train;
use super::windows::Standard;
use super::{Request, Training, check_sizes};
use crate::forecaster::{Forecaster, Paths, Record};
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

/// Numbers of the network per step ahead: μ, and before softplus σ, λ; ν, and before softplus γ.
const PARTS: usize = 5;

/// Law of a move: given n jumps, of probability wₙ, it is N(μ + nν, σ² + nγ²).
struct Law {
    weights: Vec<f64>,
    log_weights: Vec<f64>,
    mu: f64,
    nu: f64,
    sigma: f64,
    gamma: f64,
    /// Slopes of σ, ln λ and γ in the numbers of the network.
    by_raw: [f64; 3],
}

impl Law {
    /// From μ, σ, λ, ν, γ of the network, with at most `truncation` jumps.
    fn new(out: &[f32], truncation: usize) -> Self {
        let [mu, sigma, lambda, nu, gamma]: [f64; PARTS] = std::array::from_fn(|k| f64::from(out[k]));
        let ((sigma, by_sigma), (rate, by_rate), (gamma, by_gamma)) =
            (softplus(sigma), softplus(lambda), softplus(gamma));
        // The smallest rate is far below one jump per record, and keeps the logarithm finite.
        let rate = rate + 1e-6;
        let raw: Vec<f64> = (0..=truncation).map(|n| n as f64 * rate.ln() - libm::lgamma(n as f64 + 1.0)).collect();
        let mut weights = raw.clone();
        let total = log_sum_exp(&mut weights);
        let log_weights = raw.iter().map(|x| x - total).collect();
        let (sigma, gamma) = (sigma + SMALLEST_SCALE, gamma + SMALLEST_SCALE);
        Self { weights, log_weights, mu, nu, sigma, gamma, by_raw: [by_sigma, by_rate / rate, by_gamma] }
    }

    fn mean_of(&self, n: usize) -> f64 {
        self.mu + n as f64 * self.nu
    }

    fn variance_of(&self, n: usize) -> f64 {
        self.sigma.powi(2) + n as f64 * self.gamma.powi(2)
    }

    /// Mean number of jumps and its variance.
    fn jumps(&self) -> (f64, f64) {
        let moment = |power| self.weights.iter().enumerate().map(|(n, w)| w * (n as f64).powi(power)).sum::<f64>();
        (moment(1), moment(2) - moment(1).powi(2))
    }

    /// Σ wₙ (μ + nν) = μ + ν E n, and its slopes: 1 in μ, E n in ν, ν Var n in ln λ.
    fn mean(&self) -> (f64, [f64; PARTS]) {
        let (mean, variance) = self.jumps();
        (self.mu + self.nu * mean, [1.0, 0.0, self.nu * variance * self.by_raw[1], mean, 0.0])
    }

    /// −ln density without its constant, −ln Σ wₙ exp(−½((x − mₙ)²/vₙ + ln vₙ)), and its slopes.
    ///
    /// With the posterior pₙ of the number of jumps: pₙ (mₙ − x)/vₙ in mₙ, ½pₙ (1 − (x − mₙ)²/vₙ)/vₙ in vₙ, and
    /// Σ n (wₙ − pₙ) in ln λ.
    fn loss(&self, x: f64) -> (f64, [f64; PARTS]) {
        let exponent = |n: usize| {
            let variance = self.variance_of(n);
            self.log_weights[n] - 0.5 * ((x - self.mean_of(n)).powi(2) / variance + variance.ln())
        };
        let mut posterior: Vec<f64> = (0..self.weights.len()).map(exponent).collect();
        let log_density = log_sum_exp(&mut posterior);
        let mut by = [0.0; PARTS];
        for (n, (p, w)) in posterior.iter().zip(&self.weights).enumerate() {
            let (count, variance, off) = (n as f64, self.variance_of(n), self.mean_of(n) - x);
            let by_mean = p * off / variance;
            let by_variance = 0.5 * p * (1.0 - off * off / variance) / variance;
            by[0] += by_mean;
            by[1] += by_variance * 2.0 * self.sigma * self.by_raw[0];
            by[2] += count * (w - p) * self.by_raw[1];
            by[3] += count * by_mean;
            by[4] += count * by_variance * 2.0 * self.gamma * self.by_raw[2];
        }
        (-log_density, by)
    }

    fn draw(&self, rng: &mut StreamRng) -> f64 {
        let n = pick(&self.weights, rng.random());
        let z: f64 = StandardNormal.sample(rng);
        self.mean_of(n) + self.variance_of(n).sqrt() * z
    }
}

/// What a network learns from: moves ahead, (rows, horizon), and per row the deviation of moves over that of values.
pub(super) struct Targets {
    moves: Vec<f32>,
    ratios: Vec<f64>,
    horizon: usize,
}

impl NeuralMjd {
    fn check(&self) -> Result<()> {
        check_sizes("Neural MJD", &[("width", self.width)])?;
        if !(0.0..1.0).contains(&self.dropout) {
            let expected = "must be at least 0 and below 1";
            return Err(Error::Parameter { name: "dropout".into(), value: self.dropout, expected });
        }
        Ok(())
    }

    /// Contexts, and what is to be forecast from each.
    pub(super) fn data(&self, record: &Record, horizon: usize) -> Result<(Vec<f32>, Targets)> {
        let (moves, values) = (Standard::moves(record)?, Standard::values(record)?);
        let count = moves.count_pairs(self.lookback, horizon)?;
        let (contexts, targets) = moves.pairs(0..count, self.lookback, horizon);
        // Errors of moves to errors of values, in deviations of values.
        let ratios: Vec<f64> = moves.unit.iter().zip(&values.unit).map(|(move_, value)| move_ / value).collect();
        Ok((contexts, Targets { moves: targets, ratios: ratios.repeat(count), horizon }))
    }

    /// An untrained network, its parameters and the generator of its dropout masks.
    pub(super) fn network(&self, horizon: usize, seed: u64) -> (Mlp, Tape, StreamRng) {
        let mut parameters = Parameters::new(seed);
        let widths = [self.lookback, self.width, self.width, self.width, PARTS * horizon];
        let network = Mlp::new(&mut parameters, &widths, Activation::Relu);
        let (tape, rng) = parameters.into_tape();
        (network, tape, rng)
    }

    /// The loss to train on.
    pub(super) fn loss_on(
        &self,
        network: &Mlp,
        contexts: Var,
        targets: &Targets,
        mut rng: StreamRng,
    ) -> impl FnMut(&mut Tape) -> Var {
        move |tape| {
            let out = network.apply_with(tape, contexts, |tape, x| dropout(tape, x, self.dropout, &mut rng));
            tape.loss(out, |out, slope| self.mean_loss(out, targets, slope))
        }
    }

    /// Mean −ln density of moves plus the weighted mean of squared errors e of values.
    ///
    /// eⱼ is the ratio of deviations times the sum, up to j, of conditional means less moves; the slope in the mean at i
    /// is therefore 2 × weight × ratio × Σ_{j ≥ i} eⱼ over the number of entries.
    fn mean_loss(&self, out: &[f32], targets: &Targets, slope: &mut [f32]) -> f64 {
        let (horizon, share) = (targets.horizon, 1.0 / targets.moves.len() as f64);
        let rows = out.chunks_exact(PARTS * horizon).zip(slope.chunks_exact_mut(PARTS * horizon));
        let mut sum = 0.0;
        for ((out, slope), (moves, ratio)) in rows.zip(targets.moves.chunks_exact(horizon).zip(&targets.ratios)) {
            let laws: Vec<Law> = out.chunks_exact(PARTS).map(|out| Law::new(out, self.truncation)).collect();
            let means: Vec<(f64, [f64; PARTS])> = laws.iter().map(Law::mean).collect();
            let mut error = 0.0;
            let next_error = |((mean, _), x): (&(f64, [f64; PARTS]), &f32)| {
                error += ratio * (mean - f64::from(*x));
                error
            };
            let errors: Vec<f64> = means.iter().zip(moves).map(next_error).collect();
            let mut later = 0.0;
            for j in (0..horizon).rev() {
                later += errors[j];
                let (loss, by_loss) = laws[j].loss(f64::from(moves[j]));
                sum += share * (loss + self.mean_weight * errors[j] * errors[j]);
                let by_mean = 2.0 * self.mean_weight * ratio * later;
                for (part, slope) in slope[j * PARTS..][..PARTS].iter_mut().enumerate() {
                    *slope = (share * (by_loss[part] + by_mean * means[j].1[part])) as f32;
                }
            }
        }
        sum
    }

    fn draw(&self, request: Request) -> Result<Vec<f64>> {
        self.check()?;
        let horizon = request.ahead.len();
        let (contexts, targets) = self.data(request.record, horizon)?;
        let (network, mut tape, rng) = self.network(horizon, request.seed);
        let contexts = tape.constant(self.lookback, &contexts);
        train(&mut tape, &self.training, self.loss_on(&network, contexts, &targets, rng))?;

        let moves = Standard::moves(request.record)?;
        let last = tape.constant(self.lookback, &moves.last(self.lookback));
        let out = network.apply(&mut tape, last);
        let laws: Vec<Law> = tape.value(out).chunks_exact(PARTS).map(|out| Law::new(out, self.truncation)).collect();
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

/// The first entry at which the sum of weights passes `share`; the last one if rounding leaves none.
pub(crate) fn pick(weights: &[f64], share: f64) -> usize {
    let mut sum = 0.0;
    let passes = |weight: &f64| {
        sum += weight;
        sum > share
    };
    weights.iter().position(passes).unwrap_or(weights.len() - 1)
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
    use super::super::special::assert_slope;
    use super::*;

    #[test]
    fn identity_density_integrates_to_one_and_has_its_mean() {
        let law = Law::new(&[0.3, -0.5, 0.2, 1.5, -1.0], NeuralMjd::default().truncation);
        let (mut mass, mut first) = (0.0, 0.0);
        for k in -1000..2000 {
            let x = 0.01 * f64::from(k);
            let density = (-law.loss(x).0).exp() / std::f64::consts::TAU.sqrt();
            mass += 0.01 * density;
            first += 0.01 * x * density;
        }
        let mean = law.mean().0;
        assert!((mass - 1.0).abs() < 1e-4, "{mass}");
        assert!((first - mean).abs() < 1e-3, "{first} {mean}");
    }

    #[test]
    fn identity_slope_of_the_loss() {
        let targets = Targets { moves: vec![0.5, -1.0, 2.0, 0.1], ratios: vec![0.7, 1.3], horizon: 2 };
        let out: Vec<f32> = (0..20).map(|k| (1.3 * f64::from(k)).sin() as f32).collect();
        assert_slope(&out, |out, slope| NeuralMjd::default().mean_loss(out, &targets, slope));
    }
}
