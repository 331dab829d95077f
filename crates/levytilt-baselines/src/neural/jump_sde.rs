//! Neural Jump SDE (Jia and Benson 2019): a hidden state that flows between events and jumps with each of them.

use super::layers::{Activation, Mlp, Parameters, log_sum_exp, matrix, numbers, softplus};
use super::merton::pick;
use super::train::train;
use super::windows::Standard;
use super::{Outcome, Request, Training, check_sizes};
use crate::forecaster::{Forecaster, Paths, Record};
use candle_core::Tensor;
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

struct Network {
    start: Tensor,
    flow: Mlp,
    jump: Mlp,
    mark: Mlp,
    options: JumpSde,
    dim: usize,
}

/// c and h, one row per piece or path.
#[derive(Clone)]
struct State {
    c: Tensor,
    h: Tensor,
}

/// Law of the next mark: ln weights, (rows, components); means and scales, (rows, components, dimensions).
struct Mark {
    log_weights: Tensor,
    means: Tensor,
    scales: Tensor,
}

impl Network {
    fn new(parameters: &mut Parameters, options: JumpSde, dim: usize) -> candle_core::Result<Self> {
        let JumpSde { state: n, width, components, .. } = options;
        let mut mlp = |inputs, outputs| Mlp::new(parameters, &[inputs, width, width, outputs], Activation::Celu);
        let (flow, jump) = (mlp(2 * n, 2 * n)?, mlp(n + dim, n)?);
        let mark = mlp(2 * n, components * (1 + 2 * dim))?;
        Ok(Self { start: parameters.uniform((1, n), 1.0)?, flow, jump, mark, options, dim })
    }

    fn start(&self, rows: usize) -> candle_core::Result<State> {
        let c = unit(&self.start)?.broadcast_as((rows, self.options.state))?.contiguous()?;
        Ok(State { h: c.zeros_like()?, c })
    }

    /// dc/dt and −γ at h and c, which is on the sphere.
    fn speed(&self, c: &Tensor, h: &Tensor) -> candle_core::Result<(Tensor, Tensor)> {
        let out = self.flow.apply(&Tensor::cat(&[c, h], 1)?)?;
        let n = self.options.state;
        let f = out.narrow(1, 0, n)?;
        let along = f.mul(c)?.sum_keepdim(1)?;
        // elu(x) + 1 is positive and smooth.
        let decay = out.narrow(1, n, n)?.elu(1.0)?.affine(-1.0, -1.0)?;
        Ok((f.sub(&c.broadcast_mul(&along)?)?, decay))
    }

    /// Over gaps, (rows, 1): classical Runge–Kutta steps of (c, s), where h = h₀ eˢ.
    fn flow(&self, state: &State, gaps: &Tensor) -> candle_core::Result<State> {
        let dt = gaps.affine(1.0 / self.options.substeps as f64, 0.0)?;
        let half = dt.affine(0.5, 0.0)?;
        let mut state = state.clone();
        for _ in 0..self.options.substeps {
            let at = |step: &Tensor, speed: &(Tensor, Tensor)| {
                let c = unit(&state.c.add(&speed.0.broadcast_mul(step)?)?)?;
                self.speed(&c, &state.h.mul(&speed.1.broadcast_mul(step)?.exp()?)?)
            };
            let k1 = self.speed(&state.c, &state.h)?;
            let k2 = at(&half, &k1)?;
            let k3 = at(&half, &k2)?;
            let k4 = at(&dt, &k3)?;
            let sixth = dt.affine(1.0 / 6.0, 0.0)?;
            let mix = |k1: &Tensor, k2: &Tensor, k3: &Tensor, k4: &Tensor| {
                k2.add(k3)?.affine(2.0, 0.0)?.add(k1)?.add(k4)?.broadcast_mul(&sixth)
            };
            let c = unit(&state.c.add(&mix(&k1.0, &k2.0, &k3.0, &k4.0)?)?)?;
            let h = state.h.mul(&mix(&k1.1, &k2.1, &k3.1, &k4.1)?.exp()?)?;
            state = State { c, h };
        }
        Ok(state)
    }

    fn jump(&self, state: State, mark: &Tensor) -> candle_core::Result<State> {
        let push = self.jump.apply(&Tensor::cat(&[&state.c, mark], 1)?)?.tanh()?;
        Ok(State { h: state.h.add(&push)?, c: state.c })
    }

    fn mark(&self, state: &State) -> candle_core::Result<Mark> {
        let out = self.mark.apply(&Tensor::cat(&[&state.c, &state.h], 1)?)?;
        let (rows, n, d) = (out.dim(0)?, self.options.components, self.dim);
        let raw = out.narrow(1, 0, n)?;
        let part = |k: usize| out.narrow(1, n + k * n * d, n * d)?.contiguous()?.reshape((rows, n, d));
        let log_weights = raw.broadcast_sub(&log_sum_exp(&raw)?.unsqueeze(1)?)?;
        Ok(Mark { log_weights, means: part(0)?, scales: (softplus(&part(1)?)? + SMALLEST_SCALE)? })
    }

    /// Read marks after gaps, both by event; the sum of the losses, and the state after the last event.
    fn read(&self, gaps: &[Tensor], marks: &[Tensor]) -> candle_core::Result<(Vec<Tensor>, State)> {
        let mut state = self.start(gaps[0].dim(0)?)?;
        let mut losses = Vec::with_capacity(marks.len());
        for (gap, mark) in gaps.iter().zip(marks) {
            state = self.flow(&state, gap)?;
            losses.push(self.mark(&state)?.loss(mark)?);
            state = self.jump(state, mark)?;
        }
        Ok((losses, state))
    }
}

impl Mark {
    /// −ln density without its constant, per dimension, mean over rows.
    fn loss(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        let dim = x.dim(1)? as f64;
        let square = self.means.broadcast_sub(&x.unsqueeze(1)?)?.div(&self.scales)?.sqr()?.affine(0.5, 0.0)?;
        let exponent = self.log_weights.sub(&square.add(&self.scales.log()?)?.sum(2)?)?;
        log_sum_exp(&exponent)?.mean_all()?.affine(-1.0 / dim, 0.0)
    }

    /// One mark per row, by the generator of its path.
    fn draw(&self, rngs: &mut [StreamRng]) -> candle_core::Result<Vec<f64>> {
        let (weights, means, scales) =
            (numbers(&self.log_weights.exp()?)?, numbers(&self.means)?, numbers(&self.scales)?);
        let (n, dim) = (weights.len() / rngs.len(), means.len() / weights.len());
        let row = |(path, rng): (usize, &mut StreamRng)| {
            let first = (path * n + pick(&weights[path * n..][..n], rng.random())) * dim;
            let one = |k: usize| means[k] + scales[k] * Distribution::<f64>::sample(&StandardNormal, rng);
            (first..first + dim).map(one).collect::<Vec<f64>>()
        };
        Ok(rngs.iter_mut().enumerate().flat_map(row).collect())
    }
}

/// x over its length.
fn unit(x: &Tensor) -> candle_core::Result<Tensor> {
    x.broadcast_div(&x.sqr()?.sum_keepdim(1)?.sqrt()?)
}

/// Events of the record: standardised moves and gaps in units of their mean.
struct Events {
    moves: Standard,
    gaps: Vec<f32>,
    mean_gap: f64,
}

impl Events {
    fn new(record: &Record) -> Result<Self> {
        let times = record.times();
        let mean_gap = (times[times.len() - 1] - times[0]) / (times.len() - 1) as f64;
        let gaps = times.windows(2).map(|pair| ((pair[1] - pair[0]) / mean_gap) as f32).collect();
        Ok(Self { moves: Standard::moves(record)?, gaps, mean_gap })
    }

    /// Gaps and marks of `length` events from each start on, by event; one row per start.
    fn pieces(&self, starts: &[usize], length: usize) -> candle_core::Result<(Vec<Tensor>, Vec<Tensor>)> {
        let gap = |k| matrix(starts.iter().map(|start| self.gaps[start + k]).collect(), (starts.len(), 1));
        let mark = |k| {
            let row = |start: usize| self.moves.columns.iter().map(move |column| column[start + k]);
            matrix(starts.iter().copied().flat_map(row).collect(), (starts.len(), self.moves.dim()))
        };
        Ok((
            (0..length).map(gap).collect::<candle_core::Result<_>>()?,
            (0..length).map(mark).collect::<candle_core::Result<_>>()?,
        ))
    }
}

impl JumpSde {
    fn draw(&self, request: Request) -> Outcome<Vec<f64>> {
        let sizes = [("lookback", self.lookback), ("state", self.state), ("components", self.components)];
        check_sizes("Neural Jump SDE", &sizes)?;
        check_sizes("Neural Jump SDE", &[("width", self.width), ("substeps", self.substeps)])?;
        let events = Events::new(request.record)?;
        let (count, dim) = (events.gaps.len(), events.moves.dim());
        let length = self.lookback.min(count);
        // From the end backwards, so that the newest events are in a piece.
        let starts: Vec<usize> = (0..=count - length).rev().step_by(length.div_ceil(2)).collect();
        let (gaps, marks) = events.pieces(&starts, length)?;
        let mut parameters = Parameters::new(request.seed);
        let network = Network::new(&mut parameters, *self, dim)?;
        train(&parameters.vars, &self.training, || Tensor::stack(&network.read(&gaps, &marks)?.0, 0)?.mean_all())?;

        let (gaps, marks) = events.pieces(&[count - length], length)?;
        let (_, end) = network.read(&gaps, &marks)?;
        let copies = |x: &Tensor| x.detach().broadcast_as((request.paths, self.state))?.contiguous();
        let mut state = State { c: copies(&end.c)?, h: copies(&end.h)? };
        let mut rngs: Vec<StreamRng> = (0..request.paths).map(|path| stream(request.seed, path as u64)).collect();
        let mut values = request.record.last().repeat(request.paths);
        let mut before = request.record.times()[request.record.times().len() - 1];
        let mut rows = Vec::with_capacity(request.ahead.len());
        for time in request.ahead {
            let gap = ((time - before) / events.mean_gap) as f32;
            before = *time;
            state = network.flow(&state, &matrix(vec![gap; request.paths], (request.paths, 1))?)?;
            let marks = network.mark(&state)?.draw(&mut rngs)?;
            values
                .iter_mut()
                .zip(&marks)
                .enumerate()
                .for_each(|(k, (x, mark))| *x += events.moves.unit[k % dim] * mark);
            rows.push(values.clone());
            let marks = matrix(marks.iter().map(|x| *x as f32).collect(), (request.paths, dim))?;
            state = network.jump(state, &marks)?;
            // No gradient is asked for any more, and the graph of what led here can go.
            state = State { c: state.c.detach(), h: state.h.detach() };
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
