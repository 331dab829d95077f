//! The flow of one coordinate over one step, the others held at the robust means, and a bump pulled back through it.

use super::bumps::Bump;
use crate::Chain;
use crate::solve::robust::Robust;

/// x ↦ flow(x) in coordinate `i` from time `j` to `j` + 1.
pub(super) struct OwnFlow<'a> {
    chain: &'a Chain<'a>,
    i: usize,
    j: usize,
    x: Vec<f64>,
    pick: Vec<f64>,
    out: Vec<f64>,
    by_state: Vec<f64>,
    unused: Vec<f64>,
}

impl<'a> OwnFlow<'a> {
    pub fn new(chain: &'a Chain<'a>, i: usize, j: usize, robust: &Robust) -> Self {
        let dim = chain.dim();
        let mut pick = vec![0.0; dim];
        pick[i] = 1.0;
        Self {
            chain,
            i,
            j,
            x: robust.means.iter().map(|m| m[j]).collect(),
            pick,
            out: vec![0.0; dim],
            by_state: vec![0.0; dim],
            unused: vec![0.0; chain.drift().parameter_count()],
        }
    }

    /// flow(x).
    pub fn value(&mut self, x: f64) -> f64 {
        self.x[self.i] = x;
        self.chain.drift().flow(self.chain.times()[self.j], self.chain.length(self.j + 1), &self.x, &mut self.out);
        self.out[self.i]
    }

    /// flow(x) and flow'(x).
    pub fn line(&mut self, x: f64) -> (f64, f64) {
        self.x[self.i] = x;
        let (t, dt) = (self.chain.times()[self.j], self.chain.length(self.j + 1));
        let Self { chain, x, pick, out, by_state, unused, .. } = self;
        chain.drift().pullback(t, dt, x, pick, out, by_state, unused);
        (self.out[self.i], self.by_state[self.i])
    }

    /// The bump whose logarithm has the value, slope and curvature of h(x) = ln π − a(flow(x) − c)² where the bump times
    /// N(`mean`, `sd`²) is largest: at the preimage of the centre for a narrow bump, near `mean` for a wide one.
    pub fn pull_back(&mut self, bump: &Bump, mean: f64, sd: f64) -> Bump {
        let x = self.best_state(bump, mean, sd);
        let (flow, slope) = self.line(x);
        // The step of the difference is small against any bend of a flow and large against rounding.
        let h = 1e-4 * sd;
        let bend = (self.line(x + h).1 - self.line(x - h).1) / (2.0 * h);
        let miss = flow - bump.c;
        let firm = bump.a * slope * slope;
        // A message that would curve upwards keeps the part of its curvature that cannot.
        let curved = firm + bump.a * miss * bend;
        let a = if curved > 0.1 * firm { curved } else { firm };
        if a <= f64::MIN_POSITIVE {
            return Bump { log_weight: bump.log_value(flow), a: 0.0, c: x };
        }
        // −a(x − c)² has slope −2a(x − c) = −2·bump.a·miss·slope.
        let offset = bump.a * miss * slope / a;
        Bump { log_weight: bump.log_value(flow) + a * offset * offset, a, c: x - offset }
    }

    /// The minimum of a(flow(x) − c)² + (x − mean)²/(2 sd²), by Gauss–Newton steps.
    pub fn best_state(&mut self, bump: &Bump, mean: f64, sd: f64) -> f64 {
        let precision = 0.5 / (sd * sd);
        let mut x = mean;
        for _ in 0..20 {
            let (flow, slope) = self.line(x);
            let pull = bump.a * slope * (bump.c - flow) + precision * (mean - x);
            let step = pull / (bump.a * slope * slope + precision);
            x += step;
            if step.abs() < 1e-6 * sd.min(1.0 / bump.a.sqrt()) {
                break;
            }
        }
        x
    }
}
