//! Expand P(h) = E_q(e^{−h(g−ḡ)}) in h: the ratio of normalisers at two values of κ, less its leading exponential.

/// Largest number of groups of four coefficients.
const MOST_GROUPS: usize = 4;
/// Relative accuracy.
const TOLERANCE: f64 = 1e-10;

/// A Taylor polynomial of degree 8, 12 or 16.
#[derive(Debug)]
pub(super) struct Expansion {
    groups: usize,
    coefficients: [f64; 4 * MOST_GROUPS + 1],
}

/// Working space of [`Expansion::new`].
#[derive(Debug, Default)]
pub(super) struct Space {
    powers: Vec<f64>,
    deviations: Vec<f64>,
}

impl Expansion {
    /// P(h) for |h| ≤ `reach`: coefficients (−1)^m E[(g − ḡ)^m]/m!, as many as its remainder needs. Nothing if degree 16
    /// is not enough for a relative accuracy of 1e-10.
    pub(super) fn new(g: &[f64], weights: &[f64], mean_g: f64, reach: f64, space: &mut Space) -> Option<Self> {
        let mut expansion = Self { groups: 0, coefficients: [1.0; 4 * MOST_GROUPS + 1] };
        let Space { powers, deviations } = space;
        powers.clear();
        powers.extend_from_slice(weights);
        deviations.clear();
        deviations.extend(g.iter().map(|g| mean_g - g));
        // Lagrange's remainder: e^{|h(g − ḡ)|} is bounded over the nodes; P ≥ 1, so the bound is relative.
        let mut remainder = (reach * (g[0] - g[g.len() - 1])).exp();
        let mut factorial = 1.0;
        for m in (2..=4 * MOST_GROUPS).step_by(2) {
            let (odd, even) = next_moments(powers, deviations);
            factorial *= (m - 1) as f64;
            expansion.coefficients[m - 1] = odd / factorial;
            factorial *= m as f64;
            expansion.coefficients[m] = even / factorial;
            remainder *= reach * reach;
            if m >= 8 && m % 4 == 0 {
                let next: f64 = powers.iter().zip(deviations.iter()).map(|(p, d)| (p * d).abs()).sum();
                if next * remainder * reach < TOLERANCE * factorial * (m + 1) as f64 {
                    expansion.groups = m / 4;
                    return Some(expansion);
                }
            }
        }
        None
    }

    /// P(h) = Σ p_m h^m, four coefficients at a time so that a processor can work on them in parallel.
    #[inline]
    pub(super) fn value(&self, h: f64) -> f64 {
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

    /// P(h), P'(h) and P''(h).
    pub(super) fn derivatives(&self, h: f64) -> [f64; 3] {
        let used = &self.coefficients[..=4 * self.groups];
        used.iter().rev().fold([0.0; 3], |[p, p1, p2], c| [p * h + c, p1 * h + p, p2 * h + 2.0 * p1])
    }

    /// P'(h).
    pub(super) fn slope(&self, h: f64) -> f64 {
        let used = &self.coefficients[1..=4 * self.groups];
        used.iter().enumerate().rev().fold(0.0, |sum, (m, p)| sum * h + (m + 1) as f64 * p)
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

/// Sum in four lanes: not the order of a plain loop, but the same order everywhere.
pub(super) fn lane_sum(values: &[f64]) -> f64 {
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
