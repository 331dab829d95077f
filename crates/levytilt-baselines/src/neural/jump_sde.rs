//! Neural Jump SDE (Jia and Benson 2019): a hidden state that flows between events and jumps with each of them.

use super::layers::{Mlp, Parameters};
use super::merton::pick;
use super::special::{log_sum_exp, softplus};
use super::tape::{Activation, Tape, Var};
use super::train::train;
use super::windows::Standard;
use super::{Request, Training, check_sizes};
use crate::forecaster::{Forecaster, Paths, Record};
use levytilt::{Result, StreamRng, stream};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

/// Moves are marks of events, of all dimensions together; between events an inner state c and a memory h flow.
///
/// c lives on the unit sphere and dc/dt = f(c, h) without its part along c; dh/dt = −γ(c, h) h with γ > 0; an event with
/// mark k adds w(c, k) to h. The mark has a mixture of Gaussians, independent over dimensions within each component, given
/// (c, h) just before it. The loss is −ln likelihood of the marks; there is no intensity, because the times ahead are
/// known.
///
/// Unlike the code of the paper, every gap has its own length (there the first one stands for all), in units of the mean
/// gap. Runge–Kutta steps are taken in c and ln h, c is put back on the sphere after each and at its stages, and w is
/// bounded by a tanh: so nothing diverges, whatever the gap and the dimension. Training is on pieces of the record, half
/// overlapping, side by side, and a forecast starts `lookback` events before the end. The paper reads the record in one
/// go, which is three times as many operations one after the other for 150 events; a long `lookback` does the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JumpSde {
    /// Events per piece; all of the record if it has fewer.
    pub lookback: usize,
    /// Dimension of c, and of h.
    pub state: usize,
    /// Components of the mixture.
    pub components: usize,
    /// Width of the two hidden layers of each network.
    pub width: usize,
    /// Runge–Kutta steps from one event to the next.
    pub substeps: usize,
    /// How it is trained.
    pub training: Training,
}

impl Default for JumpSde {
    /// Pieces of 48, c and h of 32, 5 components, width 64, 4 substeps, 3000 steps of AdamW at 3·10⁻⁴, decay 10⁻⁵.
    fn default() -> Self {
        let training = Training { weight_decay: 1e-5, ..Training::adam(3000, 3e-4) };
        Self { lookback: 48, state: 32, components: 5, width: 64, substeps: 4, training }
    }
}

/// Keeps likelihoods bounded, in deviations of the moves.
const SMALLEST_SCALE: f64 = 1e-3;

pub(super) struct Network {
    start: Var,
    flow: Mlp,
    jump: Mlp,
    mark: Mlp,
    options: JumpSde,
    dim: usize,
}

/// Gaps, (rows, 1), and marks, (rows, dimensions), by event: what a network reads.
pub(super) struct Pieces {
    gaps: Vec<Vec<f32>>,
    marks: Vec<Vec<f32>>,
}

impl Network {
    fn new(parameters: &mut Parameters, options: JumpSde, dim: usize) -> Self {
        let JumpSde { state: n, width, components, .. } = options;
        let mut mlp = |inputs, outputs| Mlp::new(parameters, &[inputs, width, width, outputs], Activation::Celu);
        let (flow, jump) = (mlp(2 * n, 2 * n), mlp(n + dim, n).ending(Activation::Tanh));
        let mark = mlp(2 * n, components * (1 + 2 * dim));
        Self { start: parameters.uniform((1, n), 1.0), flow, jump, mark, options, dim }
    }

    /// dc/dt and −γ at a state with c on the sphere.
    fn speed(&self, tape: &mut Tape, state: Var) -> Var {
        let out = self.flow.apply(tape, state);
        tape.speed(state, out)
    }

    /// Over gaps, one per row: classical Runge–Kutta steps of (c, s), where h = h₀ eˢ.
    fn flow(&self, tape: &mut Tape, state: Var, gaps: &[f32]) -> Var {
        let part = |share: f32| gaps.iter().map(|gap| share * gap / self.options.substeps as f32).collect::<Vec<f32>>();
        let (full, half) = (tape.constant(1, &part(1.0)), tape.constant(1, &part(0.5)));
        let mut state = state;
        for _ in 0..self.options.substeps {
            let k1 = self.speed(tape, state);
            let mut stage = |speed, step| {
                let there = tape.advance(state, speed, step);
                self.speed(tape, there)
            };
            let k2 = stage(k1, half);
            let k3 = stage(k2, half);
            let k4 = stage(k3, full);
            let speed = tape.mix([k1, k2, k3, k4]);
            state = tape.advance(state, speed, full);
        }
        state
    }

    fn jump(&self, tape: &mut Tape, state: Var, marks: &[f32]) -> Var {
        let c = tape.columns(state, 0, self.options.state);
        let marks = tape.constant(self.dim, marks);
        let input = tape.concat(c, marks);
        let push = self.jump.apply(tape, input);
        tape.add_columns(state, push)
    }

    /// Read marks after gaps; the states just before the marks, and the state after the last event.
    fn read(&self, tape: &mut Tape, pieces: &Pieces) -> (Vec<Var>, Var) {
        let mut state = tape.start(self.start, pieces.gaps[0].len());
        let mut before = Vec::with_capacity(pieces.gaps.len());
        for (gaps, marks) in pieces.gaps.iter().zip(&pieces.marks) {
            state = self.flow(tape, state, gaps);
            before.push(state);
            state = self.jump(tape, state, marks);
        }
        (before, state)
    }

    /// The loss to train on: −ln density of the marks without its constant, per dimension, mean over events and rows.
    pub(super) fn loss_on(&self, pieces: &Pieces) -> impl FnMut(&mut Tape) -> Var {
        let marks = pieces.marks.concat();
        move |tape| {
            let (before, _) = self.read(tape, pieces);
            let states = tape.stack(&before);
            let out = self.mark.apply(tape, states);
            tape.loss(out, |out, slope| self.mean_loss(out, &marks, slope))
        }
    }

    fn mean_loss(&self, out: &[f32], marks: &[f32], slope: &mut [f32]) -> f64 {
        let columns = self.options.components * (1 + 2 * self.dim);
        let share = 1.0 / marks.len() as f64;
        let rows = out.chunks_exact(columns).zip(slope.chunks_exact_mut(columns));
        rows.zip(marks.chunks_exact(self.dim))
            .map(|((out, slope), x)| share * self.law(out).loss(x, share, slope))
            .sum()
    }

    /// Law of a mark from one row: raw weights, then means, then raw scales, both in the order (component, dimension).
    fn law(&self, row: &[f32]) -> Mark {
        let (n, size) = (self.options.components, self.options.components * self.dim);
        let mut weights: Vec<f64> = row[..n].iter().map(|x| f64::from(*x)).collect();
        let raw = weights.clone();
        let total = log_sum_exp(&mut weights);
        let scales: Vec<(f64, f64)> = row[n + size..].iter().map(|x| softplus(f64::from(*x))).collect();
        Mark {
            log_weights: raw.iter().map(|x| x - total).collect(),
            weights,
            means: row[n..n + size].iter().map(|x| f64::from(*x)).collect(),
            scales: scales.iter().map(|(scale, _)| scale + SMALLEST_SCALE).collect(),
            by_raw: scales.iter().map(|(_, slope)| *slope).collect(),
        }
    }
}

/// Law of the next mark: a mixture of Gaussians, independent over dimensions within each component.
struct Mark {
    weights: Vec<f64>,
    log_weights: Vec<f64>,
    means: Vec<f64>,
    scales: Vec<f64>,
    /// Slopes of the scales in the numbers of the network.
    by_raw: Vec<f64>,
}

impl Mark {
    /// −ln Σₖ wₖ exp(−Σᵢ (½zₖᵢ² + ln sₖᵢ)) with z = (x − m)/s; `slope` becomes `share` times its slopes.
    ///
    /// With the posterior pₖ of the components: wₖ − pₖ in raw weights, −pₖ z/s in means, pₖ (1 − z²)/s in scales.
    fn loss(&self, x: &[f32], share: f64, slope: &mut [f32]) -> f64 {
        let (n, dim) = (self.weights.len(), x.len());
        let z = |k: usize| (f64::from(x[k % dim]) - self.means[k]) / self.scales[k];
        let exponent = |c: usize| {
            let part = |k: usize| 0.5 * z(k) * z(k) + self.scales[k].ln();
            self.log_weights[c] - (c * dim..(c + 1) * dim).map(part).sum::<f64>()
        };
        let mut posterior: Vec<f64> = (0..n).map(exponent).collect();
        let log_density = log_sum_exp(&mut posterior);
        let (by_weights, rest) = slope.split_at_mut(n);
        let (by_means, by_scales) = rest.split_at_mut(n * dim);
        for c in 0..n {
            by_weights[c] = (share * (self.weights[c] - posterior[c])) as f32;
        }
        for k in 0..n * dim {
            let (p, z, scale) = (share * posterior[k / dim], z(k), self.scales[k]);
            by_means[k] = (-p * z / scale) as f32;
            by_scales[k] = (p * (1.0 - z * z) / scale * self.by_raw[k]) as f32;
        }
        -log_density
    }

    fn draw(&self, dim: usize, rng: &mut StreamRng) -> Vec<f64> {
        let first = pick(&self.weights, rng.random()) * dim;
        let one = |k: usize| self.means[k] + self.scales[k] * Distribution::<f64>::sample(&StandardNormal, rng);
        (first..first + dim).map(one).collect()
    }
}

/// Events of the record: standardised moves and gaps in units of their mean.
pub(super) struct Events {
    moves: Standard,
    gaps: Vec<f32>,
    mean_gap: f64,
}

impl Events {
    pub(super) fn new(record: &Record) -> Result<Self> {
        let times = record.times();
        let mean_gap = (times[times.len() - 1] - times[0]) / (times.len() - 1) as f64;
        let gaps = times.windows(2).map(|pair| ((pair[1] - pair[0]) / mean_gap) as f32).collect();
        Ok(Self { moves: Standard::moves(record)?, gaps, mean_gap })
    }

    /// `length` events from each start on; one row per start.
    fn pieces(&self, starts: &[usize], length: usize) -> Pieces {
        let gap = |k| starts.iter().map(|start| self.gaps[start + k]).collect();
        let mark = |k| {
            let row = |start: usize| self.moves.columns.iter().map(move |column| column[start + k]);
            starts.iter().copied().flat_map(row).collect()
        };
        Pieces { gaps: (0..length).map(gap).collect(), marks: (0..length).map(mark).collect() }
    }
}

impl JumpSde {
    fn check(&self) -> Result<()> {
        let sizes = [("lookback", self.lookback), ("state", self.state), ("components", self.components)];
        check_sizes("Neural Jump SDE", &sizes)?;
        check_sizes("Neural Jump SDE", &[("width", self.width), ("substeps", self.substeps)])
    }

    /// Half overlapping pieces from the end backwards, so that the newest events are in one.
    pub(super) fn pieces(&self, events: &Events) -> Pieces {
        let count = events.gaps.len();
        let length = self.lookback.min(count);
        let starts: Vec<usize> = (0..=count - length).rev().step_by(length.div_ceil(2)).collect();
        events.pieces(&starts, length)
    }

    /// An untrained network and its parameters.
    pub(super) fn network(&self, events: &Events, seed: u64) -> (Network, Tape) {
        let mut parameters = Parameters::new(seed);
        let network = Network::new(&mut parameters, *self, events.moves.dim());
        (network, parameters.into_tape().0)
    }

    fn draw(&self, request: Request) -> Result<Vec<f64>> {
        self.check()?;
        let events = Events::new(request.record)?;
        let pieces = self.pieces(&events);
        let (network, mut tape) = self.network(&events, request.seed);
        train(&mut tape, &self.training, network.loss_on(&pieces))?;

        let (count, dim, mark) = (events.gaps.len(), events.moves.dim(), tape.mark());
        let length = self.lookback.min(count);
        let (_, end) = network.read(&mut tape, &events.pieces(&[count - length], length));
        let mut state = tape.value(end).repeat(request.paths);
        let mut rngs: Vec<StreamRng> = (0..request.paths).map(|path| stream(request.seed, path as u64)).collect();
        let mut values = request.record.last().repeat(request.paths);
        let mut before = request.record.times()[request.record.times().len() - 1];
        let mut rows = Vec::with_capacity(request.ahead.len());
        for time in request.ahead {
            tape.rewind(mark);
            let gap = ((time - before) / events.mean_gap) as f32;
            before = *time;
            let now = tape.constant(2 * self.state, &state);
            let now = network.flow(&mut tape, now, &vec![gap; request.paths]);
            let out = network.mark.apply(&mut tape, now);
            let laws = tape.value(out).chunks_exact(tape.shape(out).1);
            let marks: Vec<f64> = laws.zip(&mut rngs).flat_map(|(row, rng)| network.law(row).draw(dim, rng)).collect();
            let moves = values.iter_mut().zip(&marks).enumerate();
            moves.for_each(|(k, (x, mark))| *x += events.moves.unit[k % dim] * mark);
            rows.push(values.clone());
            let marks: Vec<f32> = marks.iter().map(|x| *x as f32).collect();
            let after = network.jump(&mut tape, now, &marks);
            state.copy_from_slice(tape.value(after));
        }
        let path = |path: usize| rows.iter().flat_map(move |row| &row[path * dim..][..dim]);
        Ok((0..request.paths).flat_map(path).copied().collect())
    }
}

impl Forecaster for JumpSde {
    fn name(&self) -> String {
        "Neural Jump SDE".into()
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
    fn identity_slope_of_the_loss() {
        let model = JumpSde { components: 2, ..JumpSde::default() };
        let network = Network::new(&mut Parameters::new(1), model, 2);
        let out: Vec<f32> = (0..20).map(|k| (1.3 * f64::from(k)).sin() as f32).collect();
        assert_slope(&out, |out, slope| network.mean_loss(out, &[0.5, -1.0, 2.0, 0.1], slope));
    }
}
