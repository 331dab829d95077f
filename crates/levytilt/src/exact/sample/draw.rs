//! Draw the next state from p(x' − x̃) b(x') by rejection from a bound that is cut to fit x̃.
//!
//! The tree of the target is cut around x̃ into pieces until no piece wastes more than [`WASTE`] of all proposals by the
//! change of p along it: parts of an interval where p is narrow, hundreds of intervals at once where p is flat or b is
//! small. A piece is proposed by (bound of p) × (bound of b), a state within it by the bound of b, and accepted by what p
//! and b are of their bounds. So the law is exact wherever the cuts are, and the number of pieces grows with the logarithm
//! of the number of cells at most.

use super::node::Node;
use super::scaled::Scaled;
use super::target::Target;
use crate::StreamRng;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

/// Share of the whole that the bound of a piece may exceed its least value by.
const WASTE: f64 = 0.25;
/// Ratio of the density's bounds at the two ends of a piece below which it is never cut.
const FLAT: f64 = 1.1;
/// Share of the increments that must be accepted for it to be cheaper to try them than to cut the target, and how many are
/// tried.
const LIKELY: f64 = 0.04;
const INCREMENTS: usize = 100;
/// Proposals before the draw is given up as impossible: even one accepted in a hundred never needs a thousandth of them.
const TRIES: usize = 1_000_000;

/// Where a proposal comes from.
#[derive(Debug, Clone, Copy)]
enum Piece {
    /// The intervals below a node of the target's tree, `width` of them from position `from` on; below 1, a part of one.
    Tree { node: usize, from: f64, width: f64, ceiling: f64 },
    /// States beyond the lower (−1) or upper (+1) end of an open target, at `distance` from the centre of the increments
    /// (negative: that is beyond). Skewed noise goes `direction` from there, 0 leaves it to symmetry.
    Tail { side: f64, distance: f64, direction: f64 },
    /// The nodes far narrower than an interval; with the bound of b around x̃.
    Narrow { bound: f64 },
}

/// Pieces with their weights, kept from draw to draw to spare the allocator.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    list: Vec<(f64, Piece)>,
    total: f64,
    stack: Vec<(usize, f64, f64)>,
}

/// The next state: its position in intervals of the target, its distance from x̃, and whether a jump led there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawn {
    pub position: f64,
    pub move_by: f64,
    pub jump: bool,
}

impl Pieces {
    /// Draw from `target` times the density of `increment` around position `t`; `None` if nothing can be drawn.
    ///
    /// `z` is about the integral of the product, so that increments by themselves are accepted with probability z/top; it
    /// decides how to propose and where cuts pay, not what is drawn. If increments are refused too often the other way takes
    /// over, which draws from the same law.
    pub fn draw(
        &mut self,
        (target, increment): (&Target, Scaled),
        t: f64,
        z: f64,
        rng: &mut StreamRng,
    ) -> Option<Drawn> {
        if z > LIKELY * target.top
            && let Some(drawn) = (0..INCREMENTS).find_map(|_| from_increment(target, increment, t, rng))
        {
            return Some(drawn);
        }
        self.cut(target, increment, t, z);
        if !(self.total >= f64::MIN_POSITIVE && self.total.is_finite()) {
            return None;
        }
        (0..TRIES).find_map(|_| {
            let mut left = rng.random::<f64>() * self.total;
            let chosen = self.list.iter().find(|(weight, _)| {
                left -= weight;
                left < 0.0
            });
            // Rounding may leave a rest after the last piece.
            match chosen.unwrap_or(&self.list[self.list.len() - 1]).1 {
                Piece::Tree { node, from, width, ceiling } => {
                    let interval = if width > 1.0 { target.descend(node, rng.random()) } else { node - target.leaves };
                    let from = if width > 1.0 { interval as f64 } else { from };
                    let position = from + width.min(1.0) * rng.random::<f64>();
                    let bound = ceiling * target.mass(target.leaves + interval);
                    accept(target, increment, t, position - t, bound, rng)
                }
                Piece::Tail { side, distance, direction } => {
                    from_tail(target, increment, t, (side, distance, direction), rng)
                }
                Piece::Narrow { bound } => from_narrow(target, increment, t, bound, rng),
            }
        })
    }

    /// Cut the target around `t`.
    fn cut(&mut self, target: &Target, increment: Scaled, t: f64, z: f64) {
        self.list.clear();
        self.total = 0.0;
        if increment.narrow_weight() > 0.0 {
            let around = |here: f64| (-1..=1).map(|i| target.bound(here + f64::from(i))).fold(0.0, f64::max);
            let bound = match increment.is_skewed() {
                true => increment
                    .narrow()
                    .iter()
                    .map(|node| around((t + increment.factor() * node.mean).floor()))
                    .fold(0.0, f64::max),
                false => around(t.floor()),
            };
            self.push(increment.narrow_weight() * bound, Piece::Narrow { bound });
        }
        if target.open {
            let centre = t + increment.centre;
            for (side, distance) in [(-1.0, centre), (1.0, target.len() as f64 - centre)] {
                let beyond = target.bound(side * f64::INFINITY);
                if increment.is_skewed() {
                    // From beyond the end, both ways may lead to states beyond it.
                    let ways: &[f64] = if distance > 0.0 { &[1.0] } else { &[1.0, -1.0] };
                    for direction in ways.iter().map(|way| way * side) {
                        let weight = increment.tail_ceiling(towards(direction, distance.max(0.0))) * beyond;
                        self.push(weight, Piece::Tail { side, distance, direction });
                    }
                    continue;
                }
                let sides = if distance > 0.0 { 1.0 } else { 2.0 };
                let weight = sides * increment.tail_ceiling(distance.max(0.0)) * beyond;
                self.push(weight, Piece::Tail { side, distance, direction: 0.0 });
            }
        }
        self.cut_tree(target, increment, t + increment.centre, WASTE * z);
    }

    fn cut_tree(&mut self, target: &Target, increment: Scaled, t: f64, allowed: f64) {
        self.stack.clear();
        self.stack.push((1, 0.0, target.leaves as f64));
        while let Some((node, from, width)) = self.stack.pop() {
            let (low, high) = (from - t, from + width - t);
            let ceiling = near_ceiling(increment, low, high);
            let mass = target.mass(node) * width.min(1.0);
            if ceiling * mass > allowed {
                let least = far_ceiling(increment, low, high);
                if (ceiling - least) * mass > allowed && ceiling > FLAT * least {
                    let half = 0.5 * width;
                    let (left, right) = if width > 1.0 { (2 * node, 2 * node + 1) } else { (node, node) };
                    self.stack.extend([(left, from, half), (right, from + half, half)]);
                    continue;
                }
            }
            self.push(ceiling * mass, Piece::Tree { node, from, width, ceiling });
        }
    }

    fn push(&mut self, weight: f64, piece: Piece) {
        if weight > 0.0 {
            self.list.push((weight, piece));
            self.total += weight;
        }
    }
}

/// A distance of this size in a direction; no distance at all still points there.
#[inline]
fn towards(direction: f64, size: f64) -> f64 {
    direction * size.max(f64::MIN_POSITIVE)
}

/// A bound of the density at distances from `low` to `high` from the centre.
#[inline]
fn near_ceiling(increment: Scaled, low: f64, high: f64) -> f64 {
    match increment.is_skewed() {
        false => increment.ceiling(low.max(-high).max(0.0)),
        true if low >= 0.0 => increment.ceiling(low),
        true if high <= 0.0 => increment.ceiling(towards(-1.0, -high)),
        true => increment.ceiling(0.0).max(increment.ceiling(towards(-1.0, 0.0))),
    }
}

/// That bound at the far end, the lower of the two.
#[inline]
fn far_ceiling(increment: Scaled, low: f64, high: f64) -> f64 {
    match increment.is_skewed() {
        false => increment.ceiling(high.max(-low)),
        true if low >= 0.0 => increment.ceiling(high),
        true if high <= 0.0 => increment.ceiling(low),
        true => increment.ceiling(high).min(increment.ceiling(low)),
    }
}

/// Accept a move from `t` with density·b/bound.
#[inline]
fn accept(target: &Target, increment: Scaled, t: f64, move_by: f64, bound: f64, rng: &mut StreamRng) -> Option<Drawn> {
    let position = t + move_by;
    let density = increment.density(move_by - increment.centre);
    let level = rng.random::<f64>() * bound;
    // Most proposals that fail do so before b is needed.
    if level >= density * target.bound(position.floor()) || level >= density * target.value(position) {
        return None;
    }
    let jump = rng.random::<f64>() < increment.jump_probability(move_by - increment.centre);
    Some(Drawn { position, move_by, jump })
}

/// An increment, accepted with b/top.
#[inline]
fn from_increment(target: &Target, increment: Scaled, t: f64, rng: &mut StreamRng) -> Option<Drawn> {
    let (move_by, jump) = increment.draw(rng);
    let (position, level) = (t + move_by, rng.random::<f64>() * target.top);
    let accepted = level < target.bound(position.floor()) && level < target.value(position);
    accepted.then_some(Drawn { position, move_by, jump })
}

#[cold]
fn from_tail(
    target: &Target,
    increment: Scaled,
    t: f64,
    (side, distance, direction): (f64, f64, f64),
    rng: &mut StreamRng,
) -> Option<Drawn> {
    let bound = target.bound(side * f64::INFINITY);
    if direction != 0.0 {
        let far = towards(direction, distance.max(0.0));
        let (size, ceiling) = increment.draw_tail(far, [rng.random(), rng.random()]);
        let beyond = direction * side * size > distance;
        let move_by = increment.centre + direction * size;
        return if beyond { accept(target, increment, t, move_by, ceiling * bound, rng) } else { None };
    }
    let (size, ceiling) = increment.draw_tail(distance.max(0.0), [rng.random(), rng.random()]);
    // Seen from beyond the end, states on both sides of x̃ may be beyond it.
    let outward = if distance > 0.0 || rng.random() { size } else { -size };
    if outward <= distance {
        return None;
    }
    accept(target, increment, t, side * outward, ceiling * bound, rng)
}

/// A move by one of the narrow nodes, accepted with b/bound.
fn from_narrow(target: &Target, increment: Scaled, t: f64, bound: f64, rng: &mut StreamRng) -> Option<Drawn> {
    let node = pick(increment.narrow().iter(), rng);
    let normal: f64 = StandardNormal.sample(rng);
    let move_by = increment.factor() * (node.mean + node.variance.sqrt() * normal);
    let accepted = rng.random::<f64>() * bound < target.value(t + move_by);
    accepted.then_some(Drawn { position: t + move_by, move_by, jump: node.jump })
}

/// One of `nodes`, by its weight.
pub(super) fn pick<'a>(nodes: impl Iterator<Item = &'a Node> + Clone, rng: &mut StreamRng) -> Node {
    let total: f64 = nodes.clone().map(|node| node.weight).sum();
    let mut left = rng.random::<f64>() * total;
    let mut last = None;
    for node in nodes {
        last = Some(*node);
        left -= node.weight;
        if left < 0.0 {
            break;
        }
    }
    last.expect("at least one node")
}
