//! Tabulate the flow of one autonomous state over a step length, so that moving a state is a look-up and a polynomial.
//!
//! The line is divided at powers of two: a core |x| < 2^k that one polynomial serves, and octaves 2^e ≤ |x| < 2^{e+1}
//! beyond it, each cut in halves until a polynomial of degree 9 serves each part. An octave is tabulated when a state
//! first comes there. All of that follows from the formula, its parameters and the step length alone, so that results do
//! not depend on who asked first. Parts that no polynomial serves (a kink, the edge of the domain) are integrated.

use super::explicit::integrate;
use super::inputs::Segment;
use super::lanes::Bound;
use std::f64::consts::PI;
use std::sync::OnceLock;

/// Coefficients of a polynomial.
const COUNT: usize = 10;
/// Errors of the flow and of its derivatives, relative to the largest value in a part.
const FLOW_ERROR: f64 = 1e-11;
const SLOPE_ERROR: f64 = 1e-10;
/// Halvings of an octave.
const DEEPEST: u32 = 7;
/// Octaves beyond the core; states further out are integrated.
const OCTAVES: usize = 64;
/// Sizes of the core that are tried, as powers of two.
const CORES: std::ops::Range<i32> = -40..60;
/// Attempts at steps for a node of a table; states that need more are integrated when they come.
const PATIENCE: usize = 200;
/// A part that is integrated.
const NONE: u32 = u32::MAX;

/// The flow over one step length.
#[derive(Debug)]
pub(super) struct StepTable {
    dt: f64,
    /// The core reaches to 2^this.
    exponent: i32,
    core: Option<Vec<f64>>,
    /// Octaves above 0 and below 0.
    octaves: [Vec<OnceLock<Octave>>; 2],
    outputs: usize,
}

/// An octave in 2^depth equal slots.
#[derive(Debug)]
struct Octave {
    depth: u32,
    /// The part in which each slot lies.
    slots: Vec<u32>,
    /// Centre and one over the half width of each part.
    frames: Vec<(f64, f64)>,
    /// Coefficients: part by part, output by output.
    coefficients: Vec<f64>,
}

/// Where a state is: its polynomials and the place in their part, from −1 to 1.
pub(super) struct Spot<'a> {
    coefficients: &'a [f64],
    u: f64,
}

impl Spot<'_> {
    /// Output number `k`: the flow, its derivative in the state, and those in the parameters.
    pub fn value(&self, k: usize) -> f64 {
        let c: &[f64; COUNT] = self.coefficients[k * COUNT..][..COUNT].try_into().expect("ten coefficients");
        let (u, s) = (self.u, self.u * self.u);
        // Even and odd powers apart: two short chains instead of a long one.
        let even = c[0] + s * (c[2] + s * (c[4] + s * (c[6] + s * c[8])));
        let odd = c[1] + s * (c[3] + s * (c[5] + s * (c[7] + s * c[9])));
        even + u * odd
    }
}

impl StepTable {
    /// The table of length `dt`, with its core.
    pub fn new(bound: &Bound, dt: f64) -> Self {
        let outputs = 2 + bound.parameters.len();
        let octaves = || (0..OCTAVES).map(|_| OnceLock::new()).collect();
        let (exponent, core) = find_core(bound, dt);
        Self { dt, exponent, core, octaves: [octaves(), octaves()], outputs }
    }

    /// The place of a state in the table; none if it is not served.
    pub fn spot(&self, bound: &Bound, x: f64) -> Option<Spot<'_>> {
        let size = x.abs();
        let bits = size.to_bits();
        let octave = (bits >> 52) as i64 - 1023 - i64::from(self.exponent);
        if octave < 0 {
            return self.core.as_ref().map(|coefficients| Spot { coefficients, u: x * power_of_two(-self.exponent) });
        }
        let cell = self.octaves[usize::from(x < 0.0)].get(octave as usize)?;
        let exponent = self.exponent + octave as i32;
        let cell = cell.get_or_init(|| Octave::new(bound, self.dt, exponent, x < 0.0));
        // The leading binary digits of the state say which slot it is in.
        let digits = bits & ((1 << 52) - 1);
        let part = cell.slots[(digits >> (52 - cell.depth)) as usize];
        if part == NONE {
            return None;
        }
        let (centre, inverse) = cell.frames[part as usize];
        let width = self.outputs * COUNT;
        let coefficients = &cell.coefficients[part as usize * width..][..width];
        Some(Spot { coefficients, u: (x - centre) * inverse })
    }
}

/// 2^e for |e| < 1000.
fn power_of_two(e: i32) -> f64 {
    f64::from_bits(((1023 + i64::from(e)) as u64) << 52)
}

/// The largest core that one polynomial serves, from 2^0 up or down; none below the smallest.
fn find_core(bound: &Bound, dt: f64) -> (i32, Option<Vec<f64>>) {
    let serve = |e: i32| match fit(bound, dt, -power_of_two(e), power_of_two(e)) {
        Served::Well(core) => Some(core),
        Served::Badly | Served::Nowhere => None,
    };
    let mut best = serve(0).map(|core| (0, core));
    if best.is_some() {
        for e in 1..CORES.end {
            match serve(e) {
                Some(core) => best = Some((e, core)),
                None => break,
            }
        }
    } else {
        best = (CORES.start..0).rev().find_map(|e| serve(e).map(|core| (e, core)));
    }
    best.map_or((CORES.start, None), |(e, core)| (e, Some(core)))
}

impl Octave {
    fn new(bound: &Bound, dt: f64, exponent: i32, negative: bool) -> Self {
        let (low, sign) = (power_of_two(exponent), if negative { -1.0 } else { 1.0 });
        // Parts by depth-first halving: (first slot, depth, coefficients), with slots of the greatest depth.
        let mut parts = Vec::new();
        let mut open = vec![(0u32, 0u32)];
        while let Some((first, depth)) = open.pop() {
            let width = low * power_of_two(-(depth as i32));
            let start = low + low * f64::from(first) * power_of_two(-(DEEPEST as i32));
            let (a, b) = (sign * start, sign * (start + width));
            let found = fit(bound, dt, a.min(b), a.max(b));
            let frame = (0.5 * (a + b), 2.0 / width);
            match found {
                Served::Well(found) => parts.push((first, depth, frame, Some(found))),
                Served::Badly if depth < DEEPEST => {
                    let half = 1 << (DEEPEST - depth - 1);
                    open.extend([(first + half, depth + 1), (first, depth + 1)]);
                }
                Served::Badly | Served::Nowhere => parts.push((first, depth, frame, None)),
            }
        }
        let depth = parts.iter().map(|(_, depth, ..)| *depth).max().unwrap_or(0);
        let mut octave = Self { depth, slots: vec![NONE; 1 << depth], frames: Vec::new(), coefficients: Vec::new() };
        for (first, own, frame, found) in parts {
            let Some(found) = found else { continue };
            let start = (first >> (DEEPEST - depth)) as usize;
            octave.slots[start..start + (1 << (depth - own))].fill(octave.frames.len() as u32);
            octave.frames.push(frame);
            octave.coefficients.extend(found);
        }
        octave
    }
}

/// How well polynomials serve a part.
enum Served {
    /// Their coefficients, output after output.
    Well(Vec<f64>),
    Badly,
    /// No node has a flow: outside of the formula's domain.
    Nowhere,
}

/// Polynomials in u = (x − centre)/half width for the flow and its derivatives between two states.
fn fit(bound: &Bound, dt: f64, low: f64, high: f64) -> Served {
    let size = 2 + bound.parameters.len();
    let (centre, half) = (0.5 * (low + high), 0.5 * (high - low));
    let node = |m: usize| (PI * (m as f64 + 0.5) / COUNT as f64).cos();
    let mut paths = vec![0.0; COUNT * size];
    for (m, path) in paths.chunks_exact_mut(size).enumerate() {
        path[0] = centre + half * node(m);
        path[1] = 1.0;
    }
    let mut lost = 0;
    let segment = Segment::plain(0.0, dt);
    integrate(bound, &segment, (true, PATIENCE), &mut paths, &mut |_, _| lost += 1);
    if lost == COUNT {
        return Served::Nowhere;
    }
    if !paths.iter().all(|value| value.is_finite()) {
        return Served::Badly;
    }
    let mut all = Vec::with_capacity(size * COUNT);
    for k in 0..size {
        let values: [f64; COUNT] = std::array::from_fn(|m| paths[m * size + k]);
        let chebyshev: [f64; COUNT] = std::array::from_fn(|n| {
            let term = |(m, value): (usize, &f64)| value * (PI * n as f64 * (m as f64 + 0.5) / COUNT as f64).cos();
            let sum: f64 = values.iter().enumerate().map(term).sum();
            sum * if n == 0 { 1.0 } else { 2.0 } / COUNT as f64
        });
        let largest = values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let tail = chebyshev[COUNT - 1].abs().max(chebyshev[COUNT - 2].abs()).max(0.1 * chebyshev[COUNT - 3].abs());
        let tolerance = if k == 0 { FLOW_ERROR } else { SLOPE_ERROR };
        if tail > tolerance * largest {
            return Served::Badly;
        }
        all.extend(monomials(&chebyshev));
    }
    Served::Well(all)
}

/// Coefficients of powers from those of Chebyshev polynomials, T_{n+1} = 2uT_n − T_{n−1}.
fn monomials(chebyshev: &[f64; COUNT]) -> [f64; COUNT] {
    let (mut before, mut now) = ([0.0; COUNT], [0.0; COUNT]);
    before[0] = 1.0;
    now[1] = 1.0;
    let mut sum = [0.0; COUNT];
    for (n, coefficient) in chebyshev.iter().enumerate() {
        let own = if n == 0 { &before } else { &now };
        sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += coefficient * own);
        if n > 0 {
            let mut next = [0.0; COUNT];
            for p in 1..COUNT {
                next[p] = 2.0 * now[p - 1] - before[p];
            }
            next[0] = -before[0];
            (before, now) = (now, next);
        }
    }
    sum
}
