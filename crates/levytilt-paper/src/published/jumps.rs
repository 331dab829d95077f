//! Draw all jumps of a tilted measure in some time at once.
//!
//! Tilted jumps are a Poisson process in ϑ of density λρe^{−ρϑ}C. On a bin of v = u/(1 + u) and a cell κ₁ ≤ κ ≤ κ₂,
//! C = e^{κv}/√(1 + u) is at most e^{κ₂v₂}/√(1 + u₁) and at least e^{κ₁v₁}/√(1 + u₂); so a Poisson number of proposals from
//! the upper bounds, each kept with C over its bound, is that process, and most proposals are kept without computing C.
//! The bounds of a cell serve all paths that pass it. Where κ is too large for these bins the number is drawn first and the
//! jumps by [`crate::continuous::JumpSampler`]: the same law.
//!
//! Given their mixing variables jumps are independent, N(vδ, v/(2a)), and a path needs their sum only. The one with the
//! largest mixing variable gets a normal number of its own, all others share one.
//!
//! The rate holds at one state, and a large jump changes the state. So the time may end at the first large jump, one with
//! r² from the power of two nearest to 1/(6as²) on, about v ≥ ¼: jumps get times, and those after it are dropped. That limit
//! stays the same when a or s changes a little, so the law of the numbers, sizes and times keeps the gradient Σ ∂ln C − h ∂Λ.

use super::poisson::poisson;
use super::power::Power;
use crate::continuous::{JumpMeasure, TiltedMeasure};
use levytilt::{Result, StreamRng};
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use std::sync::{Arc, OnceLock};

/// Edges of v between 0 and 1.
const EDGES: [f64; 17] =
    [0.01, 0.02, 0.04, 0.07, 0.11, 0.16, 0.22, 0.29, 0.37, 0.46, 0.55, 0.64, 0.73, 0.81, 0.88, 0.94, 0.975];
/// Width and number of the cells of κ.
const WIDTH: f64 = 0.25;
const CELLS: usize = 40;
/// Entries of the guide to the bins, and the bits of a random word that choose one.
const GUIDE: usize = 32;
const GUIDE_BITS: u32 = 5;
/// Bits of a random word that are left for the decision about a proposal.
const LEVEL_BITS: u32 = 11;

/// The bins at one precision.
#[derive(Debug)]
pub(super) struct Jumps {
    a: f64,
    prior: f64,
    /// 1/u at r = τ.
    most_inverse: f64,
    /// The power 1/ρ.
    power: Arc<Power>,
    edges: Vec<Edge>,
    cells: Box<[OnceLock<Cell>]>,
    /// The least v of a large jump.
    large: f64,
    /// Whether Σϑ is wanted.
    thetas: bool,
}

/// An end of a bin.
#[derive(Debug, Clone, Copy)]
struct Edge {
    v: f64,
    /// 1/√(1 + u).
    g: f64,
    /// e^{−ρϑ}: the share of the prior's jumps beyond.
    beyond: f64,
}

/// Bounds of C for all κ of a cell.
#[derive(Debug)]
struct Cell {
    /// Rate of proposals in units of λ.
    total: f64,
    bins: Vec<Bin>,
    /// The first bin that a uniform number from i/32 on can mean.
    guide: [u8; GUIDE],
}

/// A bin of a cell.
#[derive(Debug, Clone, Copy)]
struct Bin {
    /// Running sum of the proposals' rates, this bin included.
    sum: f64,
    /// Share of the prior's jumps beyond the bin.
    beyond: f64,
    /// One over the upper bound of C.
    inverse: f64,
    /// Decisions, of 2¹¹, that keep a proposal whatever its v: the lower bound over the upper.
    sure: u64,
}

/// What a path and its gradient need of the jumps in some time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Drawn {
    pub count: u32,
    /// Σ v and Σ v².
    pub v: f64,
    pub v_squared: f64,
    /// Σ ϑ, if it is wanted.
    pub theta: f64,
    /// The largest v.
    most: f64,
    /// Σ of the jumps.
    pub moved: f64,
    /// Minus the derivative in a of the jumps' Gaussian part.
    pub noise: f64,
    /// Size of the jump with the largest mixing variable.
    pub largest: f64,
    /// The time that they took.
    pub time: f64,
}

/// When the time of some jumps ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// When it is over.
    End,
    /// At the first large jump, if there is one.
    LargeJump,
}

/// The power that [`Jumps`] of a measure need.
pub(super) fn power_of(measure: &JumpMeasure) -> Arc<Power> {
    Arc::new(Power::new(2.0 / measure.alpha()))
}

impl Jumps {
    /// The bins for a precision `a`; `power` is that of the measure ([`power_of`]).
    pub fn new(measure: &JumpMeasure, a: f64, power: Arc<Power>, thetas: bool) -> Self {
        let rho = 0.5 * measure.alpha();
        let least_u = 2.0 * a * (measure.unit() * measure.tau()).powi(2);
        let first = Edge { v: least_u / (1.0 + least_u), g: 1.0 / (1.0 + least_u).sqrt(), beyond: 1.0 };
        let edge = |v: f64| Edge { v, g: (1.0 - v).sqrt(), beyond: (v / (1.0 - v) / least_u).powf(-rho) };
        let inner = EDGES.into_iter().filter(|&v| v > first.v).map(edge);
        let edges = std::iter::once(first).chain(inner).chain([Edge { v: 1.0, g: 0.0, beyond: 0.0 }]).collect();
        let cells = (0..CELLS).map(|_| OnceLock::new()).collect();
        let squared = a * measure.unit().powi(2);
        let large_u = 2.0 * squared * (-(6.0 * squared).log2().round()).exp2();
        let large = large_u / (1.0 + large_u);
        Self { a, prior: measure.rate(), most_inverse: 1.0 / least_u, power, edges, cells, large, thetas }
    }

    /// The jumps within `h` at κ and δ = c − x, or until the first large one; `rate` is Λ.
    ///
    /// # Errors
    /// More jumps than a Poisson number can count.
    pub fn draw(
        &self,
        tilted: &TiltedMeasure,
        (delta, rate): (f64, f64),
        (h, until): (f64, Until),
        rng: &mut StreamRng,
    ) -> Result<Drawn> {
        let mut drawn = Drawn { time: h, ..Drawn::default() };
        match until {
            Until::End => self.each(tilted, rate, h, rng, |v, _| drawn.add(v, self.theta(v)))?,
            Until::LargeJump => {
                let mut timed = Vec::new();
                self.each(tilted, rate, h, rng, |v, rng| timed.push((h * (1.0 - rng.random::<f64>()), v)))?;
                let large = timed.iter().filter(|(_, v)| *v >= self.large);
                let end = large.fold(h, |end, (time, _)| end.min(*time));
                timed.iter().filter(|(time, _)| *time <= end).for_each(|(_, v)| drawn.add(*v, self.theta(*v)));
                drawn.time = end;
            }
        }
        drawn.finish(self.a, delta, rng);
        Ok(drawn)
    }

    /// ϑ = ln(u/u_τ) of a jump; 0 if it is not wanted.
    fn theta(&self, v: f64) -> f64 {
        // A v of 1 to rounding is that of the largest number below it.
        if self.thetas { (v / (1.0 - v).max(f64::EPSILON / 2.0) * self.most_inverse).ln() } else { 0.0 }
    }

    /// Call `add` with the v of each jump within `h`.
    fn each(
        &self,
        tilted: &TiltedMeasure,
        rate: f64,
        h: f64,
        rng: &mut StreamRng,
        mut add: impl FnMut(f64, &mut StreamRng),
    ) -> Result<()> {
        let kappa = tilted.kappa();
        let place = (kappa / WIDTH) as usize;
        if let Some(cell) = self.cells.get(place) {
            let cell = cell.get_or_init(|| Cell::new(&self.edges, WIDTH * place as f64));
            for _ in 0..poisson(self.prior * h * cell.total, rng)? {
                if let Some(v) = self.propose(cell, kappa, rng) {
                    add(v, rng);
                }
            }
        } else {
            let count = poisson(rate * h, rng)?;
            if count > 0 {
                let (sampler, unit) = (tilted.sampler()?, tilted.prior().unit());
                for _ in 0..count {
                    let u = 2.0 * self.a * (unit * sampler.mixing(rng)).powi(2);
                    add(1.0 / (1.0 + 1.0 / u), rng);
                }
            }
        }
        Ok(())
    }

    /// Propose a jump: its v if it is kept. One random word chooses it, and decides unless the bounds leave it open.
    fn propose(&self, cell: &Cell, kappa: f64, rng: &mut StreamRng) -> Option<f64> {
        let word = rng.next_u64();
        let mark = cell.total * ((word >> LEVEL_BITS) as f64 * 2f64.powi(LEVEL_BITS as i32 - 64));
        let mut k = usize::from(cell.guide[(word >> (u64::BITS - GUIDE_BITS)) as usize]);
        // The last sum is above every mark.
        while cell.bins[k].sum <= mark {
            k += 1;
        }
        let bin = &cell.bins[k];
        // What is left of the mark is uniform within the bin.
        let inverse_u = self.most_inverse * self.power.of(bin.beyond + (bin.sum - mark) * bin.inverse);
        let v = 1.0 / (1.0 + inverse_u);
        let level = word % (1 << LEVEL_BITS);
        (level < bin.sure || bin.keeps(level, kappa * v, inverse_u, rng)).then_some(v)
    }
}

impl Bin {
    /// Whether a uniform number that begins with `level` is below C over its bound; κv = `exponent`.
    #[cold]
    fn keeps(&self, level: u64, exponent: f64, inverse_u: f64, rng: &mut StreamRng) -> bool {
        let uniform = (level as f64 + rng.random::<f64>()) * 2f64.powi(-(LEVEL_BITS as i32));
        uniform < exponent.exp() * (inverse_u / (1.0 + inverse_u)).sqrt() * self.inverse
    }
}

impl Cell {
    /// The bounds for κ from `kappa` to `kappa` + [`WIDTH`].
    fn new(edges: &[Edge], kappa: f64) -> Self {
        let mut total = 0.0;
        let bin = |pair: &[Edge]| {
            let high = ((kappa + WIDTH) * pair[1].v).exp() * pair[0].g;
            let low = (kappa * pair[0].v).exp() * pair[1].g;
            total += high * (pair[0].beyond - pair[1].beyond);
            let sure = (low / high * (1 << LEVEL_BITS) as f64) as u64;
            Bin { sum: total, beyond: pair[1].beyond, inverse: 1.0 / high, sure }
        };
        let bins: Vec<Bin> = edges.windows(2).map(bin).collect();
        let guide = std::array::from_fn(|i| {
            let mark = total * (i as f64 / GUIDE as f64);
            bins.partition_point(|bin| bin.sum <= mark) as u8
        });
        Self { total, bins, guide }
    }
}

impl Drawn {
    /// A jump; one without end (v not a number because u is 0) cannot be, since a > 0.
    fn add(&mut self, v: f64, theta: f64) {
        self.theta += theta;
        self.count += 1;
        self.v += v;
        self.v_squared += v * v;
        self.most = self.most.max(v);
    }

    /// Draw the sum of the jumps given their mixing variables: N(vδ, v/(2a)) for the largest, and for the rest together.
    fn finish(&mut self, a: f64, delta: f64, rng: &mut StreamRng) {
        if self.count == 0 {
            return;
        }
        let mut part = |v: f64, v_squared: f64| {
            let normal: f64 = StandardNormal.sample(rng);
            let gaussian = (0.5 * v / a).sqrt() * normal;
            self.moved += v * delta + gaussian;
            // ∂√(Σv/2a)/∂a = −√(Σv/2a) Σv²/(2aΣv), since a ∂v/∂a = v − v².
            self.noise += gaussian * v_squared / (2.0 * a * v);
            v * delta + gaussian
        };
        self.largest = part(self.most, self.most * self.most).abs();
        let rest = [self.v - self.most, self.v_squared - self.most * self.most];
        if self.count > 1 && rest[0] > 0.0 {
            part(rest[0], rest[1].max(0.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::RateTable;
    use levytilt::internals::potential::Quadratic;
    use levytilt::stream;

    /// Mean number, Σv and Σ of jumps in 40 000 parts against Λh, ∂Λ/∂κ h and δ times that; κ on both sides of every change
    /// of method. Five standard errors: 18 figures, a false alarm in 10⁵ seeds.
    #[test]
    fn statistics_numbers_and_sums_have_the_means_of_the_tilted_measure() {
        let measure = JumpMeasure::mixture(1.5, 1.0, 0.01, 1.0).unwrap();
        let (n, h) = (40_000, 1e-3);
        for (a, kappa) in [(0.7, 0.3), (0.7, 0.99), (30.0, 1.01), (300.0, 3.0), (30.0, 9.9), (30.0, 10.1)] {
            let delta = f64::sqrt(kappa / a);
            let (jumps, rates) =
                (Jumps::new(&measure, a, power_of(&measure), false), RateTable::new(&measure, a).at(delta).unwrap());
            let tilted = measure.tilted(Quadratic::new(a, delta).unwrap(), 0.0);
            let mut rng = stream(3, (100.0 * kappa) as u64);
            let draws: Vec<Drawn> =
                (0..n).map(|_| jumps.draw(&tilted, (delta, rates.rate), (h, Until::End), &mut rng).unwrap()).collect();
            let check = |name: &str, want: f64, value: &dyn Fn(&Drawn) -> f64| {
                let mean = draws.iter().map(value).sum::<f64>() / n as f64;
                let variance = draws.iter().map(|d| (value(d) - mean).powi(2)).sum::<f64>() / (n * n) as f64;
                assert!((mean - want).abs() < 5.0 * variance.sqrt(), "{name} {a} {kappa}: {mean} {want}");
            };
            let v = h * rates.rate_by_delta / (2.0 * a * delta);
            check("number", rates.rate * h, &|d| f64::from(d.count));
            check("v", v, &|d| d.v);
            check("jumps", v * delta, &|d| d.moved);
        }
    }

    /// C lies between the bounds of its bin and cell, and a proposal at either end of a bin gets the v of that end.
    #[test]
    fn identity_bounds_hold() {
        let measure = JumpMeasure::mixture(1.2, 1.0, 0.01, 1.0).unwrap();
        let mut rng = stream(4, 0);
        for a in [0.1, 40.0, 3000.0] {
            let jumps = Jumps::new(&measure, a, power_of(&measure), false);
            for place in [0, 5, CELLS - 1] {
                let cell = Cell::new(&jumps.edges, WIDTH * place as f64);
                for (bin, edges) in cell.bins.iter().zip(jumps.edges.windows(2)) {
                    let inverse_u = |beyond: f64| jumps.most_inverse * jumps.power.of(beyond);
                    let ends = [edges[0].beyond, bin.beyond].map(|beyond| 1.0 / (1.0 + inverse_u(beyond)));
                    assert!((ends[0] - edges[0].v).abs() < 1e-12 && (ends[1] - edges[1].v).abs() < 1e-12);
                    for _ in 0..100 {
                        let kappa = WIDTH * (place as f64 + rng.random::<f64>());
                        let v = ends[0] + (ends[1] - ends[0]) * rng.random::<f64>();
                        let share = (kappa * v).exp() * (1.0 - v).sqrt() * bin.inverse;
                        assert!(share < 1.0 + 1e-12, "{a} {kappa} {v}: {share}");
                        assert!(share * (1.0 + 1e-12) >= bin.sure as f64 / 2048.0, "{a} {kappa} {v}: {share}");
                    }
                }
            }
        }
    }
}
