//! Tabulate the density of one step's increments: bounds that cost one look-up, values that cost a cubic.
//!
//! Lengths are in cells of the grid. The density p(r) falls with |r|, so its value at the near end of a bin in r² bounds
//! it on the bin. Bins are sixteenths of a doubling of r² + (smallest variance). ln p is a cubic in r² on each bin, with
//! the exact values and slopes at its ends; a bin whose middle is missed by more than [`TOLERANCE`] is summed over nodes
//! whenever it is asked for. Nodes far narrower than a cell, an atom among them, have no place in a density and are kept
//! apart.
//!
//! Skewed noise has a table for either side of its mode, in bins of r itself. Its bounds are sums of bounds of nodes, made to
//! fall.

use super::knot::{self, Knot};
use super::node::Node;
use crate::StreamRng;
use crate::noise::Nodes;
use crate::tilt::AliasTable;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

/// Bits of an `f64` below the bin number: the exponent and four digits of the fraction remain.
const SHIFT: u32 = 48;
/// Largest error of ln p in the middle of a bin.
const TOLERANCE: f64 = 3e-7;
/// Standard deviation, in cells, below which a node is kept apart. Its increments then end in the same or the next cell.
const NARROW: f64 = 0.01;
/// Largest exponent r²/(2S) of the widest node that is tabulated; beyond it the density counts as zero, as on the grid.
const DEEPEST: f64 = 700.0;
/// Fall of ln p along a bin above which the near end is too far above the rest to serve as a bound.
const STEEPEST: f64 = 0.35;
/// Stands for the bound of a bin that has to be computed where it is needed.
const STEEP: f64 = -1.0;

/// The law of the increments of one step length on a grid of one spacing.
#[derive(Debug)]
pub(super) struct Increment {
    /// Nodes narrower than [`NARROW`], and their weight together.
    pub narrow: Vec<Node>,
    pub narrow_weight: f64,
    broad: Vec<Node>,
    /// Draws a node, counted in the order of [`Increment::nodes`].
    alias: AliasTable,
    /// What distances are counted from: the mode of skewed noise, 0 of symmetric noise.
    pub centre: f64,
    /// The law above the centre and, if the noise is skewed, below it.
    sides: Vec<Table>,
}

/// The density on one side of the centre.
#[derive(Debug)]
struct Table {
    /// −1 below the centre of skewed noise, 1 above it, 0 for symmetric noise, whose bins are in r².
    sign: f64,
    /// Added to r² or r before its bin is looked up.
    offset: f64,
    first: u64,
    /// Bound of the density from each bin on, or [`STEEP`]; 0 beyond the last.
    ceilings: Vec<f64>,
    /// Σ ceiling·width over this and all later bins, one side.
    tails: Vec<f64>,
    bins: Vec<Bin>,
}

/// ln p as a cubic in s ∈ [0, 1] along one bin of r² or r, and the probability of a jump at its ends.
#[derive(Debug)]
struct Bin {
    start: f64,
    width: f64,
    cubic: [f64; 4],
    jump: [f64; 2],
    rough: bool,
}

impl Increment {
    /// The increments of `nodes` in cells of size `spacing`; the nodes from number `threshold` on are jumps.
    pub fn new(nodes: &Nodes, spacing: f64, threshold: usize) -> Self {
        let mean = |k: usize| nodes.means().map_or(0.0, |means| means[k] / spacing);
        let all = nodes
            .variances()
            .iter()
            .zip(nodes.weights())
            .enumerate()
            .map(|(k, (s, &weight))| Node::new(mean(k), s / (spacing * spacing), weight, k >= threshold));
        let (narrow, broad): (Vec<Node>, Vec<Node>) = all.partition(|node| node.variance < NARROW * NARROW);
        let narrow_weight = narrow.iter().map(|node| node.weight).sum();
        let (alias, skewed) = (AliasTable::default(), nodes.means().is_some());
        let mut out = Self { narrow, narrow_weight, broad, alias, centre: 0.0, sides: Vec::new() };
        if skewed {
            out.centre = out.mode();
        }
        let signs: &[f64] = if skewed { &[1.0, -1.0] } else { &[0.0] };
        out.sides = signs.iter().map(|&sign| out.table(sign)).collect();
        let mut weights: Vec<f64> = out.nodes().map(|node| node.weight).collect();
        out.alias = AliasTable::new(&mut weights, &mut Vec::new());
        out
    }

    /// An increment, and whether it is a jump.
    #[inline]
    pub fn draw(&self, rng: &mut StreamRng) -> (f64, bool) {
        let k = self.alias.draw(rng.next_u64());
        let node = if k < self.narrow.len() { &self.narrow[k] } else { &self.broad[k - self.narrow.len()] };
        let normal: f64 = StandardNormal.sample(rng);
        (node.mean + node.sd * normal, node.jump)
    }

    /// Where the density is largest, about: the best of the nodes' means, moved uphill.
    fn mode(&self) -> f64 {
        let density = |x: f64| knot::of_move(&self.broad, x).value;
        let better = |best: f64, x: f64| if density(x) > density(best) { x } else { best };
        let Some(start) = self.broad.iter().map(|node| node.mean).reduce(better) else { return 0.0 };
        let mut step = self.broad.iter().map(|node| node.sd).fold(f64::INFINITY, f64::min);
        let mut best = start;
        for _ in 0..60 {
            let next = better(better(best, best - step), best + step);
            step *= if next == best { 0.5 } else { 1.5 };
            best = next;
        }
        best
    }

    /// The table of one side, or of both if `sign` is 0.
    fn table(&self, sign: f64) -> Table {
        let mut out = Table { sign, offset: 1.0, first: 0, ceilings: vec![0.0], tails: vec![0.0], bins: Vec::new() };
        let (Some(least), Some(most)) = (self.broad.first(), self.broad.last()) else { return out };
        let (offset, farthest) = match sign {
            0.0 => (least.variance, 2.0 * DEEPEST * most.variance),
            _ => {
                let reach = |node: &Node| (sign * (node.mean - self.centre)) + node.sd * (2.0 * DEEPEST).sqrt();
                let narrowest = self.broad.iter().map(|node| node.sd).fold(f64::INFINITY, f64::min);
                (narrowest, self.broad.iter().map(reach).fold(narrowest, f64::max))
            }
        };
        out.offset = offset;
        out.first = offset.to_bits() >> SHIFT;
        let last = (farthest + offset).to_bits() >> SHIFT;
        // The first bin starts at r = 0, inside the range of its number.
        let edges: Vec<f64> =
            (out.first..=last + 1).map(|number| (f64::from_bits(number << SHIFT) - offset).max(0.0)).collect();
        let (knots, middles) = match sign {
            0.0 => knot::at_edges(&self.broad, out.first, &edges),
            _ => (
                edges.iter().map(|&v| self.knot(sign, v)).collect(),
                edges.windows(2).map(|v| self.knot(sign, 0.5 * (v[0] + v[1])).value).collect(),
            ),
        };
        let ends = || edges.windows(2).zip(knots.windows(2));
        out.bins = ends().zip(&middles).map(|((v, ends), middle)| bin([v[0], v[1]], ends, *middle)).collect();
        let ceilings = ends().map(|(v, ends)| match ends[0].value - ends[1].value > STEEPEST {
            _ if sign != 0.0 => self.bound(sign, [v[0], v[1]]),
            true => STEEP,
            false => ends[0].value.exp(),
        });
        out.ceilings = ceilings.chain([0.0]).collect();
        if sign != 0.0 {
            for i in (1..out.ceilings.len()).rev() {
                out.ceilings[i - 1] = out.ceilings[i - 1].max(out.ceilings[i]);
            }
        }
        out.tails = vec![0.0; knots.len()];
        for (i, bin) in out.bins.iter().enumerate().rev() {
            out.tails[i] = out.tails[i + 1] + out.top(i) * (bin.far(sign) - bin.near(sign));
        }
        out
    }

    /// A bound of the density on a bin of one side: the sum of the largest value of every node.
    fn bound(&self, sign: f64, [from, to]: [f64; 2]) -> f64 {
        let largest = |node: &Node| {
            let mean = sign * (node.mean - self.centre);
            let distance = mean.clamp(from, to) - mean;
            (node.log_height - 0.5 * distance * distance / node.variance).exp()
        };
        self.broad.iter().map(largest).sum()
    }

    /// ln p at distance v on one side, or at r² = v if `sign` is 0.
    fn knot(&self, sign: f64, v: f64) -> Knot {
        if sign == 0.0 {
            return knot::of_square(&self.broad, v);
        }
        let mut knot = knot::of_move(&self.broad, self.centre + sign * v);
        knot.slope *= sign;
        knot
    }

    /// Whether the noise is skewed: moves up and down have different laws.
    #[inline]
    pub fn is_skewed(&self) -> bool {
        self.sides.len() > 1
    }

    /// The table of the side that a distance from the centre points to, 0 being above.
    #[inline]
    fn side(&self, distance: f64) -> &Table {
        &self.sides[if distance < 0.0 { self.sides.len() - 1 } else { 0 }]
    }

    /// A bound of the density at this signed distance from the centre and all larger ones of its sign.
    #[inline]
    pub fn ceiling(&self, distance: f64) -> f64 {
        let (side, r) = (self.side(distance), distance.abs());
        let ceiling = side.ceilings[side.place(r)];
        if ceiling == STEEP { self.density(distance) } else { ceiling }
    }

    /// The density at this signed distance from the centre.
    #[inline]
    pub fn density(&self, distance: f64) -> f64 {
        let (side, r) = (self.side(distance), distance.abs());
        let Some(bin) = side.bins.get(side.place(r)) else { return 0.0 };
        let v = side.argument(r);
        let value = if bin.rough { self.knot(side.sign, v).value } else { polynomial(&bin.cubic, bin.along(v)) };
        value.exp()
    }

    /// Probability that an increment at this signed distance from the centre, from the broad nodes, was a jump.
    pub fn jump_probability(&self, distance: f64) -> f64 {
        let (side, r) = (self.side(distance), distance.abs());
        let Some(bin) = side.bins.get(side.place(r)) else { return 1.0 };
        let v = side.argument(r);
        if bin.rough {
            return self.knot(side.sign, v).jump;
        }
        let s = bin.along(v);
        (1.0 - s) * bin.jump[0] + s * bin.jump[1]
    }

    /// A bound of the probability to move to this signed distance from the centre or farther.
    pub fn tail_ceiling(&self, distance: f64) -> f64 {
        let side = self.side(distance);
        side.tails[side.place(distance.abs())]
    }

    /// The size of a distance drawn from the ceilings of the bin of a signed distance and all later ones of its sign, with
    /// the ceiling there.
    pub fn draw_tail(&self, distance: f64, uniforms: [f64; 2]) -> (f64, f64) {
        let side = self.side(distance);
        let from = side.place(distance.abs());
        let mass = (1.0 - uniforms[0]) * side.tails[from];
        // Tails fall: the bin is the last whose tail is at least the mass.
        let bin = from + side.tails[from..].partition_point(|tail| *tail >= mass) - 1;
        let i = bin.min(side.bins.len() - 1);
        let bin = &side.bins[i];
        (bin.near(side.sign) + uniforms[1] * (bin.far(side.sign) - bin.near(side.sign)), side.top(i))
    }

    /// All nodes, the narrow ones first.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> + Clone {
        self.narrow.iter().chain(&self.broad)
    }
}

impl Table {
    /// What the bins are in.
    #[inline]
    fn argument(&self, r: f64) -> f64 {
        if self.sign == 0.0 { r * r } else { r }
    }

    /// Number of the bin of distance `r` ≥ 0; the number of bins if it is beyond them all.
    #[inline]
    fn place(&self, r: f64) -> usize {
        let number = (self.argument(r) + self.offset).to_bits() >> SHIFT;
        ((number - self.first.min(number)) as usize).min(self.bins.len())
    }

    /// Bound of the density on bin number `i`: symmetric noise has it at the near end.
    fn top(&self, i: usize) -> f64 {
        if self.sign == 0.0 { self.bins[i].cubic[0].exp() } else { self.ceilings[i] }
    }
}

impl Bin {
    fn near(&self, sign: f64) -> f64 {
        if sign == 0.0 { self.start.sqrt() } else { self.start }
    }

    fn far(&self, sign: f64) -> f64 {
        if sign == 0.0 { (self.start + self.width).sqrt() } else { self.start + self.width }
    }

    #[inline]
    fn along(&self, v: f64) -> f64 {
        (v - self.start) / self.width
    }
}

/// The bin between two knots, with ln p in its middle.
fn bin([from, to]: [f64; 2], ends: &[Knot], middle: f64) -> Bin {
    let (a, b, width) = (ends[0], ends[1], to - from);
    let (rise, left, right) = (b.value - a.value, width * a.slope, width * b.slope);
    let cubic = [a.value, left, 3.0 * rise - 2.0 * left - right, left + right - 2.0 * rise];
    let rough = (polynomial(&cubic, 0.5) - middle).abs() > TOLERANCE;
    Bin { start: from, width, cubic, jump: [a.jump, b.jump], rough }
}

#[inline]
fn polynomial([a, b, c, d]: &[f64; 4], s: f64) -> f64 {
    a + s * (b + s * (c + s * d))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{CompoundPoisson, Gaussian, Noise, PlusBrownian, Stable, VarianceGamma};
    use crate::noise::{SkewedCompoundPoisson, SkewedNig, SkewedVarianceGamma};

    fn noises() -> Vec<Box<dyn Noise>> {
        let poisson = Box::new(CompoundPoisson::new(3.0, 1.0).unwrap());
        vec![
            Box::new(Stable::new(1.5, 2.0).unwrap()),
            Box::new(Stable::new(1.95, 1.0).unwrap()),
            Box::new(Gaussian::new(0.7).unwrap()),
            Box::new(VarianceGamma::new(1.0, 0.5).unwrap()),
            Box::new(PlusBrownian::new(poisson, 0.1).unwrap()),
        ]
    }

    #[test]
    fn identity_density_is_the_sum_over_nodes_and_stays_below_its_ceiling() {
        for noise in noises() {
            let (nodes, spacing) = (noise.nodes(0.01).unwrap(), 0.013);
            let increment = Increment::new(&nodes, spacing, nodes.len() / 2);
            for i in 0..4000 {
                let r = 1e-3 * 1.005f64.powi(i);
                let exact = increment
                    .broad
                    .iter()
                    .map(|node| node.weight * (-0.5 * r * r / node.variance).exp() / (2.0 * PI * node.variance).sqrt());
                let (exact, got) = (exact.sum::<f64>(), increment.density(r));
                // A smallest normal number of slack where the density leaves the range of numbers.
                assert!((got - exact).abs() <= 1e-6 * exact + 1e-300, "{}: {r} {got:e} {exact:e}", noise.family());
                assert!(got <= increment.ceiling(r) * (1.0 + 1e-6) + 1e-300, "{}: {r}", noise.family());
            }
        }
    }

    #[test]
    fn identity_skewed_density_is_the_sum_over_nodes_and_stays_below_its_ceiling() {
        let noises: [Box<dyn Noise>; 3] = [
            Box::new(SkewedNig::new(1.0, 2.0, -1.5).unwrap()),
            Box::new(SkewedVarianceGamma::new(1.0, 0.5, 0.7).unwrap()),
            Box::new(SkewedCompoundPoisson::new(30.0, 0.02, 0.5).unwrap()),
        ];
        for noise in noises {
            let (nodes, spacing) = (noise.nodes(0.1).unwrap(), 0.013);
            let increment = Increment::new(&nodes, spacing, nodes.len() / 2);
            for i in 0..3000 {
                for distance in [1e-3 * 1.005f64.powi(i), -1e-3 * 1.005f64.powi(i)] {
                    let x = increment.centre + distance;
                    let exact = increment
                        .broad
                        .iter()
                        .map(|node| (node.log_height - 0.5 * (x - node.mean).powi(2) / node.variance).exp());
                    let (exact, got) = (exact.sum::<f64>(), increment.density(distance));
                    let name = noise.family();
                    assert!((got - exact).abs() <= 1e-6 * exact + 1e-300, "{name}: {x} {got:e} {exact:e}");
                    assert!(got <= increment.ceiling(distance) * (1.0 + 1e-6) + 1e-300, "{name}: {x}");
                    assert!(increment.ceiling(1.3 * distance) <= increment.ceiling(distance), "{name}: {x}");
                }
            }
        }
    }

    #[test]
    fn identity_jump_probability_averages_to_the_weight_of_the_jumps() {
        for noise in noises() {
            let nodes = noise.nodes(0.01).unwrap();
            let threshold = nodes.len() / 2;
            let increment = Increment::new(&nodes, 0.013, threshold);
            // In y = ln r: ∫ 2 p(r) P(jump | r) r dy.
            let step = 1e-3;
            let found: f64 = (-16_000..30_000)
                .map(|i| (step * f64::from(i)).exp())
                .map(|r| 2.0 * step * r * increment.density(r) * increment.jump_probability(r))
                .sum();
            let expected: f64 = increment.broad.iter().filter(|node| node.jump).map(|node| node.weight).sum();
            assert!((found - expected).abs() < 2e-4 * expected.max(1e-3), "{}: {found} {expected}", noise.family());
        }
    }

    #[test]
    fn identity_tail_bounds_the_law_closely() {
        let nodes = Stable::new(1.5, 2.0).unwrap().nodes(0.01).unwrap();
        let increment = Increment::new(&nodes, 0.013, nodes.len());
        for r in [0.0, 1.0, 30.0, 1e4] {
            let exact = 1.0 - nodes.cdf(r * 0.013);
            let bound = increment.tail_ceiling(r);
            assert!(bound >= exact && bound < 1.2 * exact, "{r}: {bound} {exact}");
        }
        let (r, ceiling) = increment.draw_tail(30.0, [0.3, 0.5]);
        assert!(r > 29.0 && ceiling >= increment.density(r));
    }
}
