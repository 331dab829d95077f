//! What the numeric kernels promise at any parameters: an error that names the parameter, or numbers of the right kind.
//!
//! Parameters come from proptest (`main.rs`) and, as bytes, from libFuzzer (`fuzz/`).

use levytilt::internals::law::StableLaw;
use levytilt::internals::potential::Quadratic;
use levytilt::internals::tilt::TiltedStep;
use levytilt::noise::FAMILIES;
use levytilt::score::{Estimator, Sample, Tail, weighted_crps};

/// Takes parameters from bytes; whether they were accepted.
pub type Invariant = fn(&[u8]) -> bool;

/// All that do, by the names of their fuzz targets.
pub const ALL: &[(&str, Invariant)] = &[("draws", scores_from), ("nodes", nodes_from), ("stable_law", stable_law_from)];

/// Nodes of family number `which` at parameters `values`: a law, or an error; tilted: finite, Σq = 1, KL ≥ 0.
pub fn nodes(which: usize, values: &[f64], dt: f64, [a, c, x]: [f64; 3]) -> bool {
    let family = &FAMILIES[which];
    let Ok(noise) = family.build(&values[..family.parameters.len()]) else { return false };
    let Ok(nodes) = noise.nodes(dt) else { return false };
    let what = format!("{} {:?}, step {dt:e}", family.name, noise.parameters());
    assert!(!nodes.is_empty(), "{what}");
    assert!(nodes.variances().iter().all(|s| *s >= 0.0 && s.is_finite()), "{what}: {:?}", nodes.variances());
    assert!(nodes.weights().iter().all(|w| *w >= 0.0), "{what}");
    let total: f64 = nodes.weights().iter().sum();
    assert!((total - 1.0).abs() < 1e-9, "{what}: weights sum to {total}");
    assert!((nodes.cdf(0.0) - 0.5).abs() <= 0.5 && nodes.cdf(f64::MAX) <= 1.0 + 1e-9, "{what}");
    if nodes.means().is_some() {
        // Only symmetric noise is tilted.
        return true;
    }
    let tilted = TiltedStep::new(&nodes, Quadratic::new(a, c).unwrap()).evaluate(x);
    assert!(!tilted.log_z.is_nan() && tilted.log_z <= 1e-9, "{what}: ln Z {}", tilted.log_z);
    assert!(tilted.kl >= 0.0 && tilted.kl.is_finite(), "{what}: KL {}", tilted.kl);
    let sum: f64 = tilted.weights.iter().sum();
    assert!((sum - 1.0).abs() < 1e-9, "{what}: tilted weights sum to {sum}");
    true
}

/// F + (1 − F) = 1, F rises, the density is no less than 0, and the quantile goes back.
pub fn stable_law(alpha: f64, scale: f64, [x, y]: [f64; 2], p: f64) -> bool {
    let Ok(law) = StableLaw::new(alpha, scale) else { return false };
    let what = format!("alpha {alpha:?}, scale {scale:?}");
    for point in [x, y, x * scale, y * scale] {
        let (below, above) = (law.cdf(point), law.sf(point));
        let is_law = (0.0..=1.0).contains(&below) && (below + above - 1.0).abs() < 1e-12;
        assert!(is_law, "{what}, {point:?}: {below} {above}");
        assert!(law.pdf(point) >= 0.0 && !law.log_pdf(point).is_nan(), "{what}, {point:?}");
        let d = law.log_pdf_derivatives(point);
        assert!(!d.dx.is_nan() && !d.dscale.is_nan() && !d.dalpha.is_nan(), "{what}, {point:?}");
    }
    let (low, high) = (x.min(y), x.max(y));
    assert!(law.cdf(low) <= law.cdf(high) * (1.0 + 1e-13), "{what}, {low:?} {high:?}");
    let quantile = law.quantile(p).unwrap();
    let back = quantile == 0.0 || !quantile.is_normal() || (law.cdf(quantile) / p - 1.0).abs() < 1e-9;
    assert!(back, "{what}, {p:?}: {quantile:?}");
    true
}

/// Beside this, rounding of numbers below 1e-308, which have few digits, is nothing.
const TINY: f64 = 1e-300;

/// Scores of any draws: finite or an error; never below what the estimator allows; parts add up.
pub fn scores(draws: &[f64], weights: &[f64], [truth, threshold]: [f64; 2], [level, uniform]: [f64; 2]) -> bool {
    let sample = Sample::new(draws).unwrap();
    if let Ok(crps) = sample.crps(truth, Estimator::VStatistic) {
        let size = draws.iter().fold(truth.abs(), |most, x| most.max(x.abs()));
        // The smallest numbers have an error of their own.
        assert!(crps.is_finite() && crps >= -1e-12 * size - TINY, "{crps:e}");
        let parts = [Tail::Above(threshold), Tail::Below(threshold)];
        if let [Ok(above), Ok(below)] = parts.map(|tail| sample.tail_crps(truth, tail, Estimator::VStatistic)) {
            let room = 1e-10 * size.max(threshold.abs()) + TINY;
            assert!((above + below - crps).abs() <= room, "{above:e} + {below:e} = {crps:e}");
        }
    }
    assert!((0.0..=1.0).contains(&sample.pit(truth, uniform).unwrap()));
    let quantile = sample.quantile(level).unwrap();
    assert!(sample.sorted()[0] <= quantile && quantile <= sample.sorted()[draws.len() - 1]);
    if let Ok(score) = weighted_crps(draws, weights, truth) {
        assert!(score.is_finite(), "{score}");
    }
    true
}

/// Numbers from bytes; noughts when there are none left.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    /// From 0 to 1.
    fn unit(&mut self) -> f64 {
        let bytes: [u8; 4] = std::array::from_fn(|_| self.byte());
        f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
    }

    /// Over twelve powers of ten.
    fn size(&mut self) -> f64 {
        10f64.powf(12.0 * self.unit() - 6.0)
    }

    /// Over many sizes, and now and then one that is no parameter at all.
    fn wild(&mut self) -> f64 {
        const ODD: [f64; 9] = [0.0, -1.0, 2.0, 1.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, 1e300, 1e-300];
        match self.byte() {
            odd @ 0..16 => ODD[usize::from(odd) % ODD.len()],
            16..96 => 2.5 * self.unit(),
            _ => self.size(),
        }
    }

    /// Of either sign, and of any size below 1e150.
    fn finite(&mut self) -> f64 {
        match self.byte() {
            0..16 => 0.0,
            16..192 => 2e3 * self.unit() - 1e3,
            _ => {
                let number = f64::from_le_bytes(std::array::from_fn(|_| self.byte()));
                if number.is_finite() { number % 1e150 } else { 1.0 }
            }
        }
    }
}

/// [`nodes`] at parameters from bytes.
pub fn nodes_from(bytes: &[u8]) -> bool {
    let mut from = Numbers(bytes);
    let which = usize::from(from.byte()) % FAMILIES.len();
    let values: [f64; 4] = std::array::from_fn(|_| from.wild());
    let dt = from.wild();
    nodes(which, &values, dt, [from.size(), 2e3 * from.unit() - 1e3, 2e3 * from.unit() - 1e3])
}

/// [`stable_law`] at parameters from bytes.
pub fn stable_law_from(bytes: &[u8]) -> bool {
    let mut from = Numbers(bytes);
    let alpha = 0.3 + 1.7 * from.unit();
    stable_law(alpha, from.wild(), [from.finite(), from.finite()], (1e-12 + from.unit()).min(1.0 - 1e-12))
}

/// [`scores`] of draws from bytes.
pub fn scores_from(bytes: &[u8]) -> bool {
    let mut from = Numbers(bytes);
    let draws: Vec<f64> = (0..2 + from.byte() % 38).map(|_| from.finite()).collect();
    let weights: Vec<f64> = draws.iter().map(|_| from.unit()).collect();
    scores(&draws, &weights, [from.finite(), from.finite()], [0.01 + 0.98 * from.unit(), from.unit()])
}
