//! Tilt one step for many paths at once: what depends on the step alone is tabulated, what depends on the path is cheap.
//!
//! Seen from a path, a step depends on κ alone. The κ axis is cut into intervals, and an interval is built when the first
//! path falls into it:
//! - **draw**: an alias table of the node law at an anchor κ₁ proposes a node, which is accepted with probability
//!   e^{−(κ−κ₁)g_k} relative to its largest value. That is exact for every κ.
//! - **weigh**: Z(κ) = Z(κ₀) e^{−hḡ} P(h) with κ₀ the middle of the interval, h = κ − κ₀, ḡ = E_q(g) at κ₀ and
//!   P(h) = E_q(e^{−h(g−ḡ)}) by its Taylor
//!   polynomial. The remainder is bounded when the interval is built; an interval where it exceeds 1e-10 at degree 16 (two far-apart
//!   groups of nodes in balance at a large κ) is evaluated by the plain sum instead.
//!
//! A table belongs to one thread; its intervals are pure functions of the step, so every thread builds the same ones.

use super::alias::{self, AliasTable};
use super::expansion::{Expansion, Space, lane_sum};
use super::log_sum::LogSum;
use super::step::{Draw, Moments, TiltedStep, pick};
use crate::StreamRng;
use crate::noise::Nodes;
use crate::noise::fast_exp::exp_slice;
use crate::potential::Quadratic;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use std::cell::OnceCell;
use std::sync::Arc;

/// Intervals have width 1 up to κ = 4, width 2 up to 12, 4 up to 28 and so on: κ + 4 keeps two bits of its mantissa.
const OFFSET: f64 = 4.0;
const MANTISSA_BITS: u32 = 2;
const SHIFT: u32 = 52 - MANTISSA_BITS;
const FIRST: u64 = OFFSET.to_bits() >> SHIFT;
/// Octaves covered; a κ beyond 10⁶ is rare enough for the plain sum.
const OCTAVES: usize = 18;
const INTERVALS: usize = OCTAVES << MANTISSA_BITS;
/// κ below which the far nodes stand together; the end of an interval.
const NEAR: f64 = 28.0;
/// Width up to which an interval's alias table is made for its middle.
const NARROW: f64 = 2.0;
/// Acceptance below which drawing by the plain sum is cheaper.
const LEAST_ACCEPTANCE: f64 = 0.1;
/// A tilted step with tables.
#[derive(Debug)]
pub struct TiltTable {
    nodes: Arc<Nodes>,
    potential: Quadratic,
    /// The plain step, made when it is first needed.
    step: OnceCell<TiltedStep>,
    /// What a draw needs of each node.
    moves: Vec<Move>,
    /// All nodes, for intervals at large κ.
    all: Columns,
    /// The nodes before `far`, and one more that stands for the rest, for intervals at small κ.
    near: Columns,
    /// First node so wide that κg < 1e-3 for every κ below [`NEAR`]: from here on nodes are told apart only when drawn.
    far: usize,
    /// Σ w_k √g_k g_k^m/m! over the far nodes, m = 0, 1, 2, 3.
    far_moments: [f64; 4],
    least_g: f64,
    most_g: f64,
    intervals: Vec<OnceCell<Box<Interval>>>,
}

/// g_k and w_k √g_k, each in one piece for the vector unit.
#[derive(Debug)]
struct Columns {
    g: Vec<f64>,
    scales: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Move {
    g: f64,
    gain: f64,
    std: f64,
}

#[derive(Debug)]
struct Interval {
    /// κ at which the alias table is made. Narrow intervals have it in the middle, where either sign of κ − κ₁
    /// costs little; wide ones at their lower end, because a proposal far above κ would hardly ever be accepted.
    anchor: f64,
    middle: f64,
    log_z: f64,
    mean_g: f64,
    /// P(h), or nothing where its remainder would be too large.
    expansion: Option<Expansion>,
    /// The alias table; empty where its proposals would seldom be accepted.
    proposals: AliasTable,
}

impl TiltTable {
    /// Tables of the nodes of a step tilted by a potential, empty until paths come.
    pub fn new(nodes: Arc<Nodes>, potential: Quadratic) -> Self {
        let a = potential.a();
        let g: Vec<f64> = nodes.variances().iter().map(|s| 1.0 / (1.0 + 2.0 * a * s)).collect();
        let scales: Vec<f64> = nodes.weights().iter().zip(&g).map(|(w, g)| w * g.sqrt()).collect();
        let moves: Vec<Move> = nodes
            .variances()
            .iter()
            .zip(&g)
            .map(|(s, &g)| Move { g, gain: 2.0 * a * s * g, std: (s * g).sqrt() })
            .collect();
        // Variances increase, so g decreases.
        let (most_g, least_g) = (g[0], g[g.len() - 1]);
        let far = g.partition_point(|&g| g * NEAR >= 1e-3);
        let far_moments = far_moments(&g[far..], &scales[far..]);
        let mut near = Columns { g: g[..far].to_vec(), scales: scales[..far].to_vec() };
        if far < g.len() {
            near.g.push(far_moments[1] / far_moments[0]);
            near.scales.push(far_moments[0]);
        }
        let intervals = (0..INTERVALS).map(|_| OnceCell::new()).collect();
        Self {
            nodes,
            potential,
            step: OnceCell::new(),
            moves,
            all: Columns { g, scales },
            near,
            far,
            far_moments,
            least_g,
            most_g,
            intervals,
        }
    }

    /// The plain step behind the tables.
    pub fn step(&self) -> &TiltedStep {
        self.step.get_or_init(|| TiltedStep::new(&self.nodes, self.potential))
    }

    /// The potential.
    pub fn potential(&self) -> Quadratic {
        self.potential
    }

    /// ln Z(x̃) within 1e-9.
    pub fn log_z(&self, x: f64) -> f64 {
        let mut sum = LogSum::default();
        self.weigh(x, &mut sum);
        sum.value()
    }

    /// ln Z at the centre, its largest value.
    pub(super) fn most_log_z(&self) -> f64 {
        lane_sum(&self.all.scales).ln()
    }

    /// (l, p) with Z(x̃) = e^l·p and p ≥ 1: spares the logarithm of p where Z itself is wanted.
    #[inline]
    pub(super) fn log_z_and_factor(&self, x: f64) -> (f64, f64) {
        let kappa = -self.potential.log_value(x);
        let tabulated = self.interval(kappa).and_then(|interval| {
            let h = kappa - interval.middle;
            Some((interval.log_z - h * interval.mean_g, interval.expansion.as_ref()?.value(h)))
        });
        tabulated.unwrap_or_else(|| (self.step().log_z(x), 1.0))
    }

    /// ∂ ln Z/∂x̃ = 2a(c − x̃) E_q(g), the pull of the potential on the state before the noise.
    pub fn pull(&self, x: f64) -> f64 {
        let kappa = -self.potential.log_value(x);
        let tabulated = self.interval(kappa).and_then(|interval| {
            let expansion = interval.expansion.as_ref()?;
            // E_q[g] at κ = ḡ − P'(h)/P(h)
            let h = kappa - interval.middle;
            Some(interval.mean_g - expansion.slope(h) / expansion.value(h))
        });
        let mean_g = tabulated.unwrap_or_else(|| self.step().evaluate(x).mean_g);
        2.0 * self.potential.a() * (self.potential.c() - x) * mean_g
    }

    /// ln Z(x̃) within 1e-9 and the first two moments of g under the law of the node, within 1e-6.
    pub fn moments(&self, x: f64) -> Moments {
        let kappa = -self.potential.log_value(x);
        let tabulated = self.interval(kappa).and_then(|interval| {
            let h = kappa - interval.middle;
            let [p, p1, p2] = interval.expansion.as_ref()?.derivatives(h);
            // Z = Z₀ e^{−hḡ} P(h), so Z'/Z = −ḡ + P'/P and Z''/Z = ḡ² − 2ḡP'/P + P''/P.
            let (first, second, mean) = (p1 / p, p2 / p, interval.mean_g);
            Some(Moments {
                log_z: interval.log_z - h * mean + p.ln(),
                mean_g: mean - first,
                mean_square_g: mean * (mean - 2.0 * first) + second,
            })
        });
        tabulated.unwrap_or_else(|| self.step().moments(x))
    }

    /// Draw the node and the next state from x̃; the law is exactly that of [`TiltedStep::draw`].
    pub fn draw(&self, x: f64, rng: &mut StreamRng) -> Draw {
        let mut sum = LogSum::default();
        let (node, state) = self.advance(x, rng, &mut sum);
        Draw { node, state, log_z: sum.value() }
    }

    /// Draw the node and the next state from x̃ and add ln Z(x̃) to a path's log-weight: the hot kernel.
    #[inline]
    pub fn advance(&self, x: f64, rng: &mut StreamRng, log_weight: &mut LogSum) -> (usize, f64) {
        let delta = self.potential.c() - x;
        let kappa = self.potential.a() * delta * delta;
        let Some(interval) = self.interval(kappa).filter(|interval| !interval.proposals.is_empty()) else {
            return self.advance_plainly(x, rng, log_weight);
        };
        self.weigh_within(interval, kappa - interval.middle, x, log_weight);
        self.go_within(interval, kappa, x, delta, rng)
    }

    /// The draw of [`Self::advance`] for a path whose ln Z is known already.
    #[inline]
    pub fn go(&self, x: f64, rng: &mut StreamRng) -> (usize, f64) {
        let delta = self.potential.c() - x;
        let kappa = self.potential.a() * delta * delta;
        match self.interval(kappa).filter(|interval| !interval.proposals.is_empty()) {
            Some(interval) => self.go_within(interval, kappa, x, delta, rng),
            None => self.advance_plainly(x, rng, &mut LogSum::default()),
        }
    }

    #[inline]
    fn go_within(&self, interval: &Interval, kappa: f64, x: f64, delta: f64, rng: &mut StreamRng) -> (usize, f64) {
        let node = self.draw_node(interval, kappa, rng);
        let chosen = &self.moves[node];
        let normal: f64 = StandardNormal.sample(rng);
        (node, x + chosen.gain * delta + chosen.std * normal)
    }

    fn weigh(&self, x: f64, log_weight: &mut LogSum) {
        let kappa = -self.potential.log_value(x);
        match self.interval(kappa) {
            Some(interval) => self.weigh_within(interval, kappa - interval.middle, x, log_weight),
            None => log_weight.add(self.step().log_z(x)),
        }
    }

    #[inline]
    fn weigh_within(&self, interval: &Interval, h: f64, x: f64, log_weight: &mut LogSum) {
        match &interval.expansion {
            Some(p) => {
                log_weight.add(interval.log_z - h * interval.mean_g);
                log_weight.multiply(p.value(h));
            }
            None => log_weight.add(self.step().log_z(x)),
        }
    }

    #[inline]
    fn draw_node(&self, interval: &Interval, kappa: f64, rng: &mut StreamRng) -> usize {
        let h = kappa - interval.anchor;
        // Relative to the largest value of e^{−hg}, which is at one end of the nodes or the other.
        let best = if h > 0.0 { self.least_g } else { self.most_g };
        loop {
            let mut node = interval.proposals.draw(rng.next_u64());
            if node == self.far && kappa < NEAR {
                node = self.draw_far(interval.anchor, rng);
            }
            let energy = h * (self.moves[node].g - best);
            let uniform: f64 = rng.random();
            if accept(uniform, energy) {
                return node;
            }
        }
    }

    #[cold]
    fn advance_plainly(&self, x: f64, rng: &mut StreamRng, log_weight: &mut LogSum) -> (usize, f64) {
        let drawn = self.step().draw(x, rng);
        log_weight.add(drawn.log_z);
        (drawn.node, drawn.state)
    }

    #[inline]
    fn interval(&self, kappa: f64) -> Option<&Interval> {
        if self.moves.len() > alias::MOST {
            return None;
        }
        let index = ((kappa + OFFSET).to_bits() >> SHIFT).wrapping_sub(FIRST) as usize;
        let place = self.intervals.get(index)?;
        Some(place.get_or_init(|| Box::new(self.build(index))))
    }

    #[cold]
    fn build(&self, index: usize) -> Interval {
        let edge = |i: usize| f64::from_bits((FIRST + i as u64) << SHIFT) - OFFSET;
        let (low, high) = (edge(index), edge(index + 1));
        let middle = 0.5 * (low + high);
        let columns = if high <= NEAR { &self.near } else { &self.all };
        SCRATCH.with_borrow_mut(|scratch| {
            let log_z = self.node_law(columns, middle, &mut scratch.weights);
            let mean_g = columns.g.iter().zip(&scratch.weights).map(|(g, q)| q * g).sum();
            let expansion =
                Expansion::new(&columns.g, &scratch.weights, mean_g, 0.5 * (high - low), &mut scratch.expansion);
            if high - low <= NARROW {
                let proposals = AliasTable::new(&mut scratch.weights, &mut scratch.order);
                return Interval { anchor: middle, middle, log_z, mean_g, expansion, proposals };
            }
            // Proposals of the lower end are accepted at the upper end with this probability.
            let log_z_high = self.node_law(columns, high, &mut scratch.weights);
            let log_z_low = self.node_law(columns, low, &mut scratch.weights);
            let acceptance = (log_z_high - log_z_low + (high - low) * self.least_g).exp();
            let proposals = match acceptance < LEAST_ACCEPTANCE {
                true => AliasTable::default(),
                false => AliasTable::new(&mut scratch.weights, &mut scratch.order),
            };
            Interval { anchor: low, middle, log_z, mean_g, expansion, proposals }
        })
    }

    /// Write q_k at κ into `weights` and return ln Z.
    fn node_law(&self, columns: &Columns, kappa: f64, weights: &mut Vec<f64>) -> f64 {
        // Relative to e^{−κ g} of the last node, which bounds all others; its own weight keeps the sum away from zero.
        weights.clear();
        weights.extend(columns.g.iter().map(|g| kappa * (self.least_g - g)));
        exp_slice(weights);
        weights.iter_mut().zip(&columns.scales).for_each(|(w, scale)| *w *= scale);
        if columns.g.len() < self.all.g.len() {
            // The far nodes together, Σ w√g e^{−κg}; the first term left out is below 1e-13 of them.
            let [m0, m1, m2, m3] = self.far_moments;
            weights[self.far] = (m0 - kappa * (m1 - kappa * (m2 - kappa * m3))) * (kappa * self.least_g).exp();
        }
        let total = lane_sum(weights);
        let scale = 1.0 / total;
        weights.iter_mut().for_each(|w| *w *= scale);
        total.ln() - kappa * self.least_g
    }

    /// One of the far nodes, by its weight at κ = `anchor`.
    #[cold]
    fn draw_far(&self, anchor: f64, rng: &mut StreamRng) -> usize {
        let nodes = self.all.g[self.far..].iter().zip(&self.all.scales[self.far..]);
        let mut weights: Vec<f64> = nodes.map(|(g, scale)| scale * (-anchor * g).exp()).collect();
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= total);
        self.far + pick(&weights, rng.random())
    }
}

/// Whether `uniform` < e^{−y}, y ≥ 0: between 1 − y + y²/2 − y³/6 and 1 − y + y²/2, which settle nearly all cases
/// without the exponential.
#[inline]
fn accept(uniform: f64, y: f64) -> bool {
    let above = 1.0 - y + 0.5 * y * y;
    let gap = y * y * y * (1.0 / 6.0);
    uniform < above - gap || (uniform < above && uniform < (-y).exp())
}

/// Working space of [`TiltTable::build`], kept per thread because an interval is built every microsecond or so.
#[derive(Default)]
struct Scratch {
    weights: Vec<f64>,
    expansion: Space,
    order: Vec<u8>,
}

thread_local! {
    static SCRATCH: std::cell::RefCell<Scratch> = std::cell::RefCell::default();
}

/// Σ scale·g^m/m! for m = 0 … 3.
fn far_moments(g: &[f64], scales: &[f64]) -> [f64; 4] {
    g.iter().zip(scales).fold([0.0; 4], |sum, (g, scale)| {
        let (first, second) = (scale * g, scale * g * g / 2.0);
        [sum[0] + scale, sum[1] + first, sum[2] + second, sum[3] + second * g / 3.0]
    })
}
