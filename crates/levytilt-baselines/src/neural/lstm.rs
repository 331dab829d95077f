//! A layer of long short-term memory over one sequence, as one operation of the library.
//!
//! Left to itself the library would add up one gradient of the whole weight matrix per time. Here it meets the layer
//! once, and the weights' gradient is one matrix product.

use super::dense::{add_product, dot, flat, slice};
use super::layers::{Linear, Parameters, sigmoid};
use candle_core::{CpuStorage, CustomOp2, Device, Layout, Result, Shape, Tensor};

/// i, f, g, o = σ, σ, tanh, σ of (x Wₓ + b + h Wₕ); c ← f c + i g; h ← o tanh c.
pub(crate) struct Lstm {
    input: Linear,
    recurrent: Tensor,
    width: usize,
}

/// Output and memory, (rows, width) each.
#[derive(Clone)]
pub(crate) struct State {
    pub h: Tensor,
    pub c: Tensor,
}

impl State {
    /// Without the graph of what led to it, which would hold all past states in memory.
    pub fn detached(&self) -> Self {
        Self { h: self.h.detach(), c: self.c.detach() }
    }
}

impl Lstm {
    /// Uniform in ±1/√width, as is usual.
    pub fn new(parameters: &mut Parameters, inputs: usize, width: usize) -> Result<Self> {
        let bound = 1.0 / (width as f64).sqrt();
        let weight = parameters.uniform((inputs, 4 * width), bound)?;
        let input = Linear { weight, bias: parameters.uniform((1, 4 * width), bound)? };
        Ok(Self { input, recurrent: parameters.uniform((width, 4 * width), bound)?, width })
    }

    /// From rest over a sequence, (times, inputs): outputs at all times, and the state after the last.
    pub fn run(&self, sequence: &Tensor) -> Result<(Tensor, State)> {
        let before = self.input.apply(sequence)?;
        let all = before.apply_op2(&self.recurrent, Layer { width: self.width })?;
        let outputs = all.narrow(1, 0, self.width)?.contiguous()?;
        let last = all.narrow(0, all.dim(0)? - 1, 1)?.detach();
        let part = |k: usize| last.narrow(1, k * self.width, self.width)?.contiguous();
        Ok((outputs, State { h: part(0)?, c: part(1)? }))
    }

    /// One time further, many rows at once.
    pub fn step(&self, x: &Tensor, state: &State) -> Result<State> {
        let gates = self.input.apply(x)?.add(&state.h.matmul(&self.recurrent)?)?;
        let part = |k: usize| gates.narrow(1, k * self.width, self.width);
        let kept = sigmoid(&part(1)?)?.mul(&state.c)?;
        let c = kept.add(&sigmoid(&part(0)?)?.mul(&part(2)?.tanh()?)?)?;
        let h = sigmoid(&part(3)?)?.mul(&c.tanh()?)?;
        Ok(State { h, c })
    }
}

/// From x Wₓ + b, (times, 4 width), and Wₕ, (width, 4 width), to h, c, i, f, g, o, (times, 6 width).
///
/// The gradient flows from h alone: the others are kept for the way back.
struct Layer {
    width: usize,
}

impl CustomOp2 for Layer {
    fn name(&self) -> &'static str {
        "lstm"
    }

    fn cpu_fwd(&self, s1: &CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<(CpuStorage, Shape)> {
        let n = self.width;
        let (before, weights) = (slice(s1, l1)?, slice(s2, l2)?);
        let times = before.len() / (4 * n);
        let mut out = vec![0.0; times * 6 * n];
        let mut gates = vec![0.0; 4 * n];
        for t in 0..times {
            let (past, now) = out.split_at_mut(t * 6 * n);
            let last = past.len().checked_sub(6 * n).map(|start| &past[start..]);
            gates.copy_from_slice(&before[t * 4 * n..][..4 * n]);
            if let Some(last) = last {
                add_product(&last[..n], weights, &mut gates);
            }
            for k in 0..n {
                let (i, f) = (logistic(gates[k]), logistic(gates[n + k]));
                let (g, o) = (gates[2 * n + k].tanh(), logistic(gates[3 * n + k]));
                let c = i * g + last.map_or(0.0, |last| f * last[n + k]);
                for (part, value) in [o * c.tanh(), c, i, f, g, o].into_iter().enumerate() {
                    now[part * n + k] = value;
                }
            }
        }
        Ok((CpuStorage::F32(out), (times, 6 * n).into()))
    }

    fn bwd(
        &self,
        _: &Tensor,
        weights: &Tensor,
        all: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let n = self.width;
        let times = all.dim(0)?;
        let [w, out, grad]: [Vec<f32>; 3] = [flat(weights)?, flat(all)?, flat(grad)?];
        let mut by_before = vec![0.0; times * 4 * n];
        let (mut by_h, mut by_c) = (vec![0.0; n], vec![0.0; n]);
        for t in (0..times).rev() {
            let now = &out[t * 6 * n..][..6 * n];
            let by_gates = &mut by_before[t * 4 * n..][..4 * n];
            for k in 0..n {
                let [c, i, f, g, o] = std::array::from_fn(|part| now[(part + 1) * n + k]);
                let c_before = if t == 0 { 0.0 } else { out[(t - 1) * 6 * n + n + k] };
                let from_h = grad[t * 6 * n + k] + by_h[k];
                let top = c.tanh();
                let from_c = by_c[k] + from_h * o * (1.0 - top * top);
                by_gates[k] = from_c * g * i * (1.0 - i);
                by_gates[n + k] = from_c * c_before * f * (1.0 - f);
                by_gates[2 * n + k] = from_c * i * (1.0 - g * g);
                by_gates[3 * n + k] = from_h * top * o * (1.0 - o);
                by_c[k] = from_c * f;
            }
            by_h.iter_mut().zip(w.chunks_exact(4 * n)).for_each(|(by_h, row)| *by_h = dot(row, by_gates));
        }
        let by_before = Tensor::from_vec(by_before, (times, 4 * n), &Device::Cpu)?;
        let by_weights = if times == 1 {
            weights.zeros_like()?
        } else {
            let before = all.narrow(0, 0, times - 1)?.narrow(1, 0, n)?.contiguous()?;
            before.t()?.matmul(&by_before.narrow(0, 1, times - 1)?)?
        };
        Ok((Some(by_before), Some(by_weights)))
    }
}

fn logistic(x: f32) -> f32 {
    0.5 + 0.5 * (0.5 * x).tanh()
}

#[cfg(test)]
mod tests {
    use super::super::dense::close;
    use super::super::layers::{matrix, numbers};
    use super::*;

    #[test]
    fn identity_layer_agrees_with_single_steps_in_value_and_gradient() {
        // Width 7 leaves rests in both products.
        for (width, times) in [(7, 5), (8, 1), (20, 3)] {
            let mut parameters = Parameters::new(3);
            let lstm = Lstm::new(&mut parameters, 2, width).unwrap();
            let sequence = parameters.uniform((times, 2), 2.0).unwrap();
            let (outputs, last) = lstm.run(&sequence).unwrap();
            let rest = matrix(vec![0.0; width], (1, width)).unwrap();
            let mut state = State { h: rest.clone(), c: rest };
            let mut plain = Vec::new();
            for t in 0..times {
                state = lstm.step(&sequence.narrow(0, t, 1).unwrap(), &state).unwrap();
                plain.push(state.h.clone());
            }
            let plain = Tensor::cat(&plain, 0).unwrap();
            assert!(close(&outputs, &plain));
            assert!(close(&last.h, &state.h));
            assert!(close(&last.c, &state.c));
            let weigh = |x: &Tensor| (x.sqr().unwrap() + x).unwrap().sum_all().unwrap().backward().unwrap();
            let (fused, stepped) = (weigh(&outputs), weigh(&plain));
            for var in &parameters.vars {
                match (fused.get(var), stepped.get(var)) {
                    (Some(a), Some(b)) => assert!(close(a, b)),
                    (a, b) => {
                        assert!(times == 1 && a.or(b).is_none_or(|g| numbers(g).unwrap().iter().all(|x| *x == 0.0)))
                    }
                }
            }
        }
    }
}
