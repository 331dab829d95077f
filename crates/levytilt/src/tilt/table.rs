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
//! Intervals are pure functions of the step, so it does not matter which thread builds them.

use super::fast_exp::exp_slice;
use super::step::{Draw, TiltedStep, pick};
use crate::StreamRng;
use crate::noise::Nodes;
use crate::potential::Quadratic;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use std::sync::{Arc, OnceLock};

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
/// Largest number of groups of four Taylor coefficients.
const MOST_GROUPS: usize = 4;
/// Relative accuracy of Z.
const TOLERANCE: f64 = 1e-10;

/// A tilted step with tables.
#[derive(Debug)]
pub struct TiltTable {
    nodes: Arc<Nodes>,
    potential: Quadratic,
    /// The plain step, made when it is first needed.
    step: OnceLock<TiltedStep>,
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
    intervals: Vec<OnceLock<Box<Interval>>>,
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
    series: Option<Series>,
    /// The alias table; empty where its proposals would seldom be accepted.
    slots: Vec<Slot>,
}

/// A Taylor polynomial of degree 8, 12 or 16.
#[derive(Debug)]
struct Series {
    groups: usize,
    coefficients: [f64; 4 * MOST_GROUPS + 1],
}

/// One column of an alias table: keep the column's own node with some probability, else take another one.
///
/// One word: the probability in units of 2⁻⁶⁴ without its last eight bits, which hold the other node. So a table of 40
/// nodes is five cache lines.
#[derive(Debug, Clone, Copy)]
struct Slot(u64);

/// Most nodes that a slot can name.
const MOST_NODES: usize = 256;

impl Slot {
    fn new(keep: f64, other: usize) -> Self {
        // 2⁶³ and a shift, because the conversion of a signed number is a single instruction.
        let units = ((keep * 9_223_372_036_854_775_808.0) as i64 as u64) << 1;
        Self(units & !0xff | other as u64)
    }

    #[inline]
    fn choose(self, own: usize, uniform: u64) -> usize {
        if uniform < self.0 & !0xff { own } else { (self.0 & 0xff) as usize }
    }
}

/// A sum of logarithms that multiplies first and takes the logarithm seldom.
#[derive(Debug, Clone, Copy)]
pub struct LogSum {
    sum: f64,
    product: f64,
}

impl Default for LogSum {
    fn default() -> Self {
        Self { sum: 0.0, product: 1.0 }
    }
}

impl LogSum {
    /// Add `term` + ln `factor`.
    #[inline]
    pub fn add(&mut self, term: f64, factor: f64) {
        self.sum += term;
        self.product *= factor;
        if !(1e-100..1e100).contains(&self.product) {
            self.sum += self.product.ln();
            self.product = 1.0;
        }
    }

    /// The sum so far.
    pub fn value(&self) -> f64 {
        self.sum + self.product.ln()
    }
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
        let intervals = (0..INTERVALS).map(|_| OnceLock::new()).collect();
        Self {
            nodes,
            potential,
            step: OnceLock::new(),
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

    /// ∂ ln Z/∂x̃ = 2a(c − x̃) E_q(g), the pull of the potential on the state before the noise.
    pub fn pull(&self, x: f64) -> f64 {
        let kappa = -self.potential.log_value(x);
        let tabulated = self.interval(kappa).and_then(|interval| {
            let series = interval.series.as_ref()?;
            // E_q[g] at κ = ḡ − P'(h)/P(h)
            let h = kappa - interval.middle;
            Some(interval.mean_g - series.slope(h) / series.value(h))
        });
        let mean_g = tabulated.unwrap_or_else(|| self.step().evaluate(x).mean_g);
        2.0 * self.potential.a() * (self.potential.c() - x) * mean_g
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
        let Some(interval) = self.interval(kappa).filter(|interval| !interval.slots.is_empty()) else {
            return self.advance_plainly(x, rng, log_weight);
        };
        self.weigh_within(interval, kappa - interval.middle, x, log_weight);
        let node = self.draw_node(interval, kappa, rng);
        let chosen = &self.moves[node];
        let normal: f64 = StandardNormal.sample(rng);
        (node, x + chosen.gain * delta + chosen.std * normal)
    }

    fn weigh(&self, x: f64, log_weight: &mut LogSum) {
        let kappa = -self.potential.log_value(x);
        match self.interval(kappa) {
            Some(interval) => self.weigh_within(interval, kappa - interval.middle, x, log_weight),
            None => log_weight.add(self.step().log_z(x), 1.0),
        }
    }

    #[inline]
    fn weigh_within(&self, interval: &Interval, h: f64, x: f64, log_weight: &mut LogSum) {
        match &interval.series {
            Some(p) => log_weight.add(interval.log_z - h * interval.mean_g, p.value(h)),
            None => log_weight.add(self.step().log_z(x), 1.0),
        }
    }

    #[inline]
    fn draw_node(&self, interval: &Interval, kappa: f64, rng: &mut StreamRng) -> usize {
        let h = kappa - interval.anchor;
        // Relative to the largest value of e^{−hg}, which is at one end of the nodes or the other.
        let best = if h > 0.0 { self.least_g } else { self.most_g };
        let columns = interval.slots.len() as u64;
        loop {
            // High word of the product: the column. Low word: a fresh uniform inside it.
            let product = u128::from(rng.next_u64()) * u128::from(columns);
            let mut node = interval.slots[(product >> 64) as usize].choose((product >> 64) as usize, product as u64);
            if node == self.far && kappa < NEAR {
                node = self.draw_far(interval.anchor, rng);
            }
            let energy = h * (self.moves[node].g - best);
            let uniform: f64 = rng.random();
            // 1 − energy ≤ e^{−energy} settles most cases without the exponential.
            if uniform < 1.0 - energy || uniform < (-energy).exp() {
                return node;
            }
        }
    }

    #[cold]
    fn advance_plainly(&self, x: f64, rng: &mut StreamRng, log_weight: &mut LogSum) -> (usize, f64) {
        let drawn = self.step().draw(x, rng);
        log_weight.add(drawn.log_z, 1.0);
        (drawn.node, drawn.state)
    }

    #[inline]
    fn interval(&self, kappa: f64) -> Option<&Interval> {
        if self.moves.len() > MOST_NODES {
            return None;
        }
        let index = ((kappa + OFFSET).to_bits() >> SHIFT).wrapping_sub(FIRST) as usize;
        let place = self.intervals.get(index)?;
        if let Some(interval) = place.get() {
            return Some(interval);
        }
        // Build first and offer it then: two threads may build the same interval, but none sleeps for the other.
        let built = Box::new(self.build(index));
        Some(place.get_or_init(|| built))
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
            let series = self.series(columns, mean_g, 0.5 * (high - low), scratch);
            if high - low <= NARROW {
                return Interval { anchor: middle, middle, log_z, mean_g, series, slots: alias_table(scratch) };
            }
            // Proposals of the lower end are accepted at the upper end with this probability.
            let log_z_high = self.node_law(columns, high, &mut scratch.weights);
            let log_z_low = self.node_law(columns, low, &mut scratch.weights);
            let acceptance = (log_z_high - log_z_low + (high - low) * self.least_g).exp();
            let slots = if acceptance < LEAST_ACCEPTANCE { Vec::new() } else { alias_table(scratch) };
            Interval { anchor: low, middle, log_z, mean_g, series, slots }
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

    /// P(h) for |h| ≤ `reach`: coefficients (−1)^m E[(g − ḡ)^m]/m!, as many as its remainder needs.
    fn series(&self, columns: &Columns, mean_g: f64, reach: f64, scratch: &mut Scratch) -> Option<Series> {
        let mut series = Series { groups: 0, coefficients: [1.0; 4 * MOST_GROUPS + 1] };
        let Scratch { weights, powers, deviations, .. } = scratch;
        powers.clone_from(weights);
        deviations.clear();
        deviations.extend(columns.g.iter().map(|g| mean_g - g));
        // Lagrange's remainder: e^{|h(g − ḡ)|} is bounded over the nodes; P ≥ 1, so the bound is relative.
        let mut remainder = (reach * (self.most_g - self.least_g)).exp();
        let mut factorial = 1.0;
        for m in (2..=4 * MOST_GROUPS).step_by(2) {
            let (odd, even) = next_moments(powers, deviations);
            factorial *= (m - 1) as f64;
            series.coefficients[m - 1] = odd / factorial;
            factorial *= m as f64;
            series.coefficients[m] = even / factorial;
            remainder *= reach * reach;
            if m >= 8 && m % 4 == 0 {
                let next: f64 = powers.iter().zip(deviations.iter()).map(|(p, d)| (p * d).abs()).sum();
                if next * remainder * reach < TOLERANCE * factorial * (m + 1) as f64 {
                    series.groups = m / 4;
                    return Some(series);
                }
            }
        }
        None
    }
}

/// Multiply `powers` by the deviations twice; the sums after each time.
fn next_moments(powers: &mut [f64], deviations: &[f64]) -> (f64, f64) {
    let (mut odd, mut even) = ([0.0; 4], [0.0; 4]);
    let whole = powers.len() / 4 * 4;
    for (p, d) in powers[..whole].chunks_exact_mut(4).zip(deviations.chunks_exact(4)) {
        for lane in 0..4 {
            let once = p[lane] * d[lane];
            p[lane] = once * d[lane];
            odd[lane] += once;
            even[lane] += p[lane];
        }
    }
    for (p, d) in powers[whole..].iter_mut().zip(&deviations[whole..]) {
        odd[0] += *p * d;
        *p *= d * d;
        even[0] += *p;
    }
    (four_sum(odd), four_sum(even))
}

impl Series {
    /// P'(h).
    fn slope(&self, h: f64) -> f64 {
        let used = &self.coefficients[1..=4 * self.groups];
        used.iter().enumerate().rev().fold(0.0, |sum, (m, p)| sum * h + (m + 1) as f64 * p)
    }

    /// Σ p_m h^m, four coefficients at a time so that a processor can work on them in parallel.
    #[inline]
    fn value(&self, h: f64) -> f64 {
        let p = &self.coefficients;
        let h2 = h * h;
        let h4 = h2 * h2;
        let group = |i: usize| (p[i] + p[i + 1] * h) + (p[i + 2] + p[i + 3] * h) * h2;
        match self.groups {
            2 => group(0) + (group(4) + p[8] * h4) * h4,
            3 => group(0) + (group(4) + (group(8) + p[12] * h4) * h4) * h4,
            _ => group(0) + (group(4) + (group(8) + (group(12) + p[16] * h4) * h4) * h4) * h4,
        }
    }
}

/// Sum in four lanes: not the order of a plain loop, but the same order everywhere.
fn lane_sum(values: &[f64]) -> f64 {
    let mut lanes = [0.0; 4];
    let chunks = values.chunks_exact(4);
    let rest: f64 = chunks.remainder().iter().sum();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += value;
        }
    }
    four_sum(lanes) + rest
}

fn four_sum(lanes: [f64; 4]) -> f64 {
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
}

/// Working space of [`TiltTable::build`], kept per thread because an interval is built every microsecond or so.
#[derive(Default)]
struct Scratch {
    weights: Vec<f64>,
    powers: Vec<f64>,
    deviations: Vec<f64>,
    order: Vec<u8>,
}

thread_local! {
    static SCRATCH: std::cell::RefCell<Scratch> = std::cell::RefCell::default();
}

/// Alias table (Walker 1977, Vose 1991) of the scratch weights, which sum to one and are used up.
fn alias_table(scratch: &mut Scratch) -> Vec<Slot> {
    let Scratch { weights: share, order, .. } = scratch;
    let n = share.len();
    share.iter_mut().for_each(|w| *w *= n as f64);
    // A column that is left alone at the end keeps itself, whichever way the draw falls.
    let mut slots: Vec<Slot> = (0..n).map(|k| Slot(k as u64)).collect();
    order.clear();
    order.resize(n, 0);
    // Poor columns grow from the left of `order`, rich ones from the right.
    let (mut poor, mut rich) = (0, n);
    for (k, &s) in share.iter().enumerate() {
        if s < 1.0 {
            order[poor] = k as u8;
            poor += 1;
        } else {
            rich -= 1;
            order[rich] = k as u8;
        }
    }
    while poor > 0 && rich < n {
        poor -= 1;
        let (low, high) = (order[poor] as usize, order[rich] as usize);
        slots[low] = Slot::new(share[low], high);
        share[high] -= 1.0 - share[low];
        if share[high] < 1.0 {
            rich += 1;
            order[poor] = high as u8;
            poor += 1;
        }
    }
    slots
}

/// Σ scale·g^m/m! for m = 0 … 3.
fn far_moments(g: &[f64], scales: &[f64]) -> [f64; 4] {
    g.iter().zip(scales).fold([0.0; 4], |sum, (g, scale)| {
        let (first, second) = (scale * g, scale * g * g / 2.0);
        [sum[0] + scale, sum[1] + first, sum[2] + second, sum[3] + second * g / 3.0]
    })
}
