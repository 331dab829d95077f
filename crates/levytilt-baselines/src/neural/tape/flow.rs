//! Put steps of a state (c, h) on the tape, in which c lives on the unit sphere and h decays.
//!
//! A state is (rows, 2n): c on the left, h on the right. A speed has the same shape.

use super::elementary::exp;
use super::product::dot;
use super::{Back, Op, Tape, Var};

impl Tape {
    /// Rows of (d/|d|, 0), for a direction d of (1, n).
    pub fn start(&mut self, direction: Var, rows: usize) -> Var {
        let n = self.shape(direction).1;
        self.record(Op::Start { direction }, &[direction], (rows, 2 * n), 0, |past, out, _| {
            let d = past.value(direction);
            let length = dot(d, d).sqrt();
            for row in out.chunks_exact_mut(2 * n) {
                row.iter_mut().zip(d).for_each(|(c, d)| *c = d / length);
            }
        })
    }

    /// Speeds (f − c (f·c), −γ) at a state, from the numbers (f, r) of a network: γ = r + 1 for r > 0 and eʳ below.
    pub fn speed(&mut self, state: Var, out: Var) -> Var {
        let shape = self.shape(state);
        assert_eq!(shape, self.shape(out), "shapes of state and speed");
        self.record(Op::Speed { state, out }, &[state, out], shape, 0, |past, speed, _| {
            let n = shape.1 / 2;
            let rows = past.value(state).chunks_exact(2 * n).zip(past.value(out).chunks_exact(2 * n));
            for (speed, (state, out)) in speed.chunks_exact_mut(2 * n).zip(rows) {
                let ((f, r), c) = (out.split_at(n), &state[..n]);
                let (by_c, by_h) = speed.split_at_mut(n);
                let along = dot(f, c);
                by_c.iter_mut().zip(f.iter().zip(c)).for_each(|(speed, (f, c))| *speed = f - c * along);
                by_h.iter_mut().zip(r).for_each(|(speed, r)| {
                    let below = -exp(*r);
                    *speed = if *r > 0.0 { -1.0 - r } else { below };
                });
            }
        })
    }

    /// The state (u/|u|, h e^{τ k_h}) with u = c + τ k_c, for the speed (k_c, k_h) and steps τ of (rows, 1).
    pub fn advance(&mut self, state: Var, speed: Var, step: Var) -> Var {
        let (rows, columns) = self.shape(state);
        let n = columns / 2;
        assert_eq!(((rows, columns), (rows, 1)), (self.shape(speed), self.shape(step)), "shapes of a step");
        assert!(!self.nodes[step.0].learned, "steps are data");
        let op = Op::Advance { state, speed, step };
        self.record(op, &[state, speed], (rows, columns), rows * (n + 1), |past, next, kept| {
            let rows = past.value(state).chunks_exact(columns).zip(past.value(speed).chunks_exact(columns));
            let next = next.chunks_exact_mut(columns).zip(kept.chunks_exact_mut(n + 1));
            for (((state, speed), tau), (next, kept)) in rows.zip(past.value(step)).zip(next) {
                let (u, h) = next.split_at_mut(n);
                let (factor, length) = kept.split_at_mut(n);
                u.iter_mut().zip(state.iter().zip(speed)).for_each(|(u, (c, k))| *u = c + tau * k);
                length[0] = dot(u, u).sqrt();
                u.iter_mut().for_each(|u| *u /= length[0]);
                factor.iter_mut().zip(&speed[n..]).for_each(|(factor, k)| *factor = exp(tau * k));
                h.iter_mut().zip(state[n..].iter().zip(factor)).for_each(|(next, (h, factor))| *next = h * *factor);
            }
        })
    }

    /// (k₁ + 2 (k₂ + k₃) + k₄)/6, the speed of a Runge–Kutta step.
    pub fn mix(&mut self, speeds: [Var; 4]) -> Var {
        let shape = self.shape(speeds[0]);
        assert!(speeds.iter().all(|k| self.shape(*k) == shape), "shapes of speeds");
        self.record(Op::Mix { speeds }, &speeds, shape, 0, |past, out, _| {
            let [k1, k2, k3, k4] = speeds.map(|k| past.value(k));
            for ((((out, k1), k2), k3), k4) in out.iter_mut().zip(k1).zip(k2).zip(k3).zip(k4) {
                *out = (2.0 * (k2 + k3) + k1 + k4) * (1.0 / 6.0);
            }
        })
    }
}

/// With g the sum of the left halves of G and c = d/|d|: (g − c (g·c))/|d| in d.
pub(super) fn pull_start(mut back: Back, direction: Var, slope: &[f32]) {
    let (c, d) = (back.result(), back.value(direction));
    let n = d.len();
    let mut g = vec![0.0; n];
    for row in slope.chunks_exact(2 * n) {
        g.iter_mut().zip(row).for_each(|(g, row)| *g += row);
    }
    let (along, length) = (dot(&g, &c[..n]), dot(d, d).sqrt());
    g.iter_mut().zip(c).for_each(|(g, c)| *g = (*g - c * along) / length);
    back.add(direction, 1.0, &g);
}

/// With G = (g, q): g − c (g·c) in f and −g (f·c) − f (g·c) in c; in r, −q for r > 0 and −q eʳ below; 0 in h.
pub(super) fn pull_speed(mut back: Back, state: Var, out: Var, slope: &[f32]) {
    let (columns, speeds) = (back.node.columns, back.result());
    let (n, states, outs) = (columns / 2, back.value(state), back.value(out));
    if let Some(by_out) = back.slope(out) {
        let rows = slope.chunks_exact(columns).zip(states.chunks_exact(columns)).zip(speeds.chunks_exact(columns));
        for (((slope, state), speed), by) in rows.zip(by_out.chunks_exact_mut(columns)) {
            let ((g, q), c) = (slope.split_at(n), &state[..n]);
            let (by_f, by_r) = by.split_at_mut(n);
            let along = dot(g, c);
            by_f.iter_mut().zip(g.iter().zip(c)).for_each(|(by, (g, c))| *by += g - c * along);
            // −eʳ is the speed itself, and r > 0 where it is below −1.
            by_r.iter_mut()
                .zip(q.iter().zip(&speed[n..]))
                .for_each(|(by, (q, speed))| *by += q * if *speed < -1.0 { -1.0 } else { *speed });
        }
    }
    if let Some(by_state) = back.slope(state) {
        let rows = slope.chunks_exact(columns).zip(states.chunks_exact(columns)).zip(outs.chunks_exact(columns));
        for (((slope, state), out), by) in rows.zip(by_state.chunks_exact_mut(columns)) {
            let (g, c, f) = (&slope[..n], &state[..n], &out[..n]);
            let (by_g, by_f) = (dot(f, c), dot(g, c));
            by.iter_mut().zip(g.iter().zip(f)).for_each(|(by, (g, f))| *by -= g * by_g + f * by_f);
        }
    }
}

/// With G = (g, q), u' = u/|u|, v = (g − u' (g·u'))/|u|, and the factor e = e^{τ k_h}: (v, q e) in the state and
/// (τ v, τ q h e) in the speed.
pub(super) fn pull_advance(mut back: Back, state: Var, speed: Var, step: Var, slope: &mut [f32]) {
    let (columns, results, kept, steps) = (back.node.columns, back.result(), back.kept(), back.value(step));
    let n = columns / 2;
    let rows = || results.chunks_exact(columns).zip(kept.chunks_exact(n + 1));
    for (slope, (next, kept)) in slope.chunks_exact_mut(columns).zip(rows()) {
        let (g, c) = (&mut slope[..n], &next[..n]);
        let (along, length) = (dot(g, c), kept[n]);
        g.iter_mut().zip(c).for_each(|(g, c)| *g = (*g - c * along) / length);
    }
    if let Some(by_speed) = back.slope(speed) {
        let rows = slope.chunks_exact(columns).zip(results.chunks_exact(columns)).zip(steps);
        for (((slope, next), tau), by) in rows.zip(by_speed.chunks_exact_mut(columns)) {
            let (by_c, by_h) = by.split_at_mut(n);
            by_c.iter_mut().zip(slope).for_each(|(by, v)| *by += tau * v);
            by_h.iter_mut().zip(slope[n..].iter().zip(&next[n..])).for_each(|(by, (q, h))| *by += tau * q * h);
        }
    }
    if let Some(by_state) = back.slope(state) {
        let rows = slope.chunks_exact(columns).zip(kept.chunks_exact(n + 1));
        for ((slope, kept), by) in rows.zip(by_state.chunks_exact_mut(columns)) {
            let (by_c, by_h) = by.split_at_mut(n);
            by_c.iter_mut().zip(slope).for_each(|(by, v)| *by += v);
            by_h.iter_mut().zip(slope[n..].iter().zip(kept)).for_each(|(by, (q, factor))| *by += q * factor);
        }
    }
}

/// G/6, G/3, G/3 and G/6.
pub(super) fn pull_mix(mut back: Back, speeds: [Var; 4], slope: &[f32]) {
    for (speed, weight) in speeds.into_iter().zip([1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0]) {
        back.add(speed, weight, slope);
    }
}
