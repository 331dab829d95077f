//! Run a layer of long short-term memory over one sequence as one operation, and many sequences by one step.

use super::elementary::{logistic, tanh};
use super::product::{Order, add_product, add_row, add_transposed_product};
use super::{Back, Op, Tape, Var};
use pulp::{Arch, NullaryFnOnce};

/// Numbers kept per time and unit: i, f, g, o, c and tanh c.
const KEPT: usize = 6;

impl Tape {
    /// Outputs h of a layer from rest, (times, n), from x Wₓ + b, (times, 4n), and the recurrent weights Wₕ, (n, 4n):
    /// i, f, g, o = σ, σ, tanh, σ of (x Wₓ + b + h Wₕ); c ← f c + i g; h ← o tanh c.
    pub fn lstm(&mut self, before: Var, recurrent: Var) -> Var {
        let ((times, gates), (n, same)) = (self.shape(before), self.shape(recurrent));
        assert_eq!((4 * n, 4 * n), (gates, same), "shapes of a recurrent layer");
        let op = Op::Lstm { before, recurrent };
        self.record(op, &[before, recurrent], (times, n), times * KEPT * n, |past, out, kept| {
            let (before, weights) = (past.value(before), past.value(recurrent));
            let (rest, arch) = (vec![0.0; n], Arch::new());
            for t in 0..times {
                let (earlier, now) = kept.split_at_mut(t * KEPT * n);
                let (gates, now) = now[..KEPT * n].split_at_mut(4 * n);
                let (c, top) = now.split_at_mut(n);
                gates.copy_from_slice(&before[t * 4 * n..][..4 * n]);
                let (outputs, h) = out.split_at_mut(t * n);
                let mut last = &rest[..];
                if t > 0 {
                    add_row(&outputs[(t - 1) * n..], weights, gates, Order::of(t));
                    last = &earlier[(t - 1) * KEPT * n + 4 * n..][..n];
                }
                c.copy_from_slice(last);
                arch.dispatch(Cell { gates, c, top, h: &mut h[..n] });
            }
        })
    }

    /// Memory c after the last time of a layer.
    pub fn lstm_memory(&self, layer: Var) -> &[f32] {
        let node = &self.nodes[layer.0];
        let n = node.columns;
        &self.values[node.start + node.len() + node.kept - 2 * n..][..n]
    }
}

/// One time of one row, compiled for the vectors of this processor: from gates before their functions, (4n), and c before, to
/// gates, c, tanh c and h.
struct Cell<'a> {
    gates: &'a mut [f32],
    c: &'a mut [f32],
    top: &'a mut [f32],
    h: &'a mut [f32],
}

impl NullaryFnOnce for Cell<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { gates, c, top, h } = self;
        let n = c.len();
        let (first, rest) = gates.split_at_mut(2 * n);
        let (g, o) = rest.split_at_mut(n);
        for x in first.iter_mut() {
            *x = logistic(*x);
        }
        for x in o.iter_mut() {
            *x = logistic(*x);
        }
        for x in g.iter_mut() {
            *x = tanh(*x);
        }
        let (i, f) = first.split_at(n);
        for (((c, i), f), g) in c.iter_mut().zip(i).zip(f).zip(&*g) {
            *c = f * *c + i * g;
        }
        for (((h, top), c), o) in h.iter_mut().zip(top).zip(c).zip(&*o) {
            *top = tanh(*c);
            *h = o * *top;
        }
    }
}

/// Back in time, with G in h: dc = G o (1 − tanh² c) + dc₊ f₊, and in the gates D = (dc g i(1 − i), dc c₋ f(1 − f),
/// dc i (1 − g²), G tanh c · o(1 − o)); G₋ += D Wₕᵀ. D in x Wₓ + b, and h₋ᵀ D, summed over times, in Wₕ.
pub(super) fn pull_lstm(mut back: Back, before: Var, recurrent: Var, slope: &mut [f32], spare: &mut [f32]) {
    let (times, n) = (back.node.rows, back.node.columns);
    let (outputs, kept, weights) = (back.result(), back.kept(), back.value(recurrent));
    let transposed = back.transposes.get(recurrent, weights, 4 * n);
    let (by_gates, spare) = spare.split_at_mut(times * 4 * n);
    let by_c = &mut spare[..n];
    for t in (0..times).rev() {
        let now = &kept[t * KEPT * n..][..KEPT * n];
        let c_before = t.checked_sub(1).map(|t| &kept[t * KEPT * n + 4 * n..][..n]);
        let by_gates = &mut by_gates[t * 4 * n..][..4 * n];
        let (earlier, by_h) = slope.split_at_mut(t * n);
        pull_cell(now, c_before, &by_h[..n], by_c, by_gates);
        if t > 0 {
            add_row(by_gates, transposed, &mut earlier[(t - 1) * n..], Order::of(t));
        }
    }
    back.add(before, 1.0, by_gates);
    if let Some(by_weights) = back.slope(recurrent).filter(|_| times > 1) {
        add_transposed_product(&outputs[..(times - 1) * n], &by_gates[4 * n..], 4 * n, by_weights);
    }
}

/// One time of the way back; `by_c` goes from the slope in c after the step to that before it.
#[allow(clippy::needless_range_loop, reason = "one index into several slices")]
fn pull_cell(now: &[f32], c_before: Option<&[f32]>, by_h: &[f32], by_c: &mut [f32], by_gates: &mut [f32]) {
    let n = by_h.len();
    let [i, f, g, o, _, top]: [&[f32]; KEPT] = std::array::from_fn(|k| &now[k * n..][..n]);
    let (by_i, rest) = by_gates.split_at_mut(n);
    let (by_f, rest) = rest.split_at_mut(n);
    let (by_g, by_o) = rest.split_at_mut(n);
    let (by_c, by_o) = (&mut by_c[..n], &mut by_o[..n]);
    for k in 0..n {
        let from_c = by_c[k] + by_h[k] * o[k] * (1.0 - top[k] * top[k]);
        by_o[k] = by_h[k] * top[k] * o[k] * (1.0 - o[k]);
        by_i[k] = from_c * g[k] * i[k] * (1.0 - i[k]);
        by_g[k] = from_c * i[k] * (1.0 - g[k] * g[k]);
        by_f[k] = from_c * f[k] * (1.0 - f[k]);
        by_c[k] = from_c * f[k];
    }
    match c_before {
        Some(c) => by_f.iter_mut().zip(c).for_each(|(by_f, c)| *by_f *= c),
        None => by_f.fill(0.0),
    }
}

/// Wₓ, b and Wₕ of a layer.
pub(crate) struct LstmWeights<'a> {
    pub input: &'a [f32],
    pub bias: &'a [f32],
    pub recurrent: &'a [f32],
}

/// One time further, many rows at once: from inputs x and the states h and c to the next states.
pub(crate) fn lstm_step(weights: &LstmWeights, x: &[f32], h: &mut [f32], c: &mut [f32]) {
    let columns = weights.bias.len();
    let n = columns / 4;
    let mut gates = weights.bias.repeat(h.len() / n);
    add_product(x, weights.input, columns, &mut gates);
    add_product(h, weights.recurrent, columns, &mut gates);
    let mut top = vec![0.0; n];
    let states = h.chunks_exact_mut(n).zip(c.chunks_exact_mut(n));
    for (gates, (h, c)) in gates.chunks_exact_mut(columns).zip(states) {
        Arch::new().dispatch(Cell { gates, c, top: &mut top, h });
    }
}
