//! Forecast with GARCH(1,1) and Student's t: volatility that remembers the last moves, the workhorse of the trade.

use crate::forecaster::{Forecaster, Paths, Record};
use crate::increments::{deviation, student_log_pdf};
use crate::minimise::minimise;
use levytilt::{Error, Result};
use rand_distr::{Distribution, StudentT};

/// Weight of one move further back in the variance before the record.
const BACKCAST: f64 = 0.94;
/// Moves in that variance.
const BACKCAST_MOVES: usize = 75;

/// GARCH(1,1)-t per dimension, fitted by maximum likelihood; dimensions are independent. Every step is alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Garch;

/// A fitted GARCH(1,1)-t: move r = σ·z, σ'² = omega + arch·r² + garch·σ², z Student's t with `dof` and variance 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GarchFit {
    /// Constant ω > 0.
    pub omega: f64,
    /// Weight of the last move.
    pub arch: f64,
    /// Weight of the last variance.
    pub garch: f64,
    /// Degrees of freedom, above 2.
    pub dof: f64,
    /// Log-likelihood of the moves.
    pub log_likelihood: f64,
    /// Variance of the next move.
    pub next_variance: f64,
}

impl GarchFit {
    /// Fit to `moves`, at least 10, not all zero. The variance before the first is a weighted mean of the first squares.
    pub fn new(moves: &[f64]) -> Result<Self> {
        let unit = if moves.is_empty() { 0.0 } else { deviation(moves) };
        if moves.len() < 10 || unit == 0.0 || !unit.is_finite() {
            let why = format!("{} moves with a deviation of {unit}; needs at least 10 that differ", moves.len());
            return Err(Error::Numerical { what: "GARCH", why });
        }
        let scaled: Vec<f64> = moves.iter().map(|x| x / unit).collect();
        let cost = |x: &[f64]| -Self::evaluate(&scaled, parameters(x)).0;
        // Persistent with slow and fast reaction, and hardly any memory: the likelihood may have several peaks.
        let starts = [[-2.5, 3.0, -2.5, 0.0], [-1.5, 2.0, -1.0, 0.0], [-0.2, -1.5, 0.0, 0.0]];
        let fits = starts.iter().map(|start| minimise(cost, start, 0.5, 1e-10));
        let Some((best, _)) = fits.min_by(|a, b| a.1.total_cmp(&b.1)) else {
            return Err(Error::Numerical { what: "GARCH", why: "there is no start".into() });
        };
        let [omega, arch, garch, dof] = parameters(&best);
        let (fit, next_variance) = Self::evaluate(&scaled, [omega, arch, garch, dof]);
        let square = unit * unit;
        Ok(Self {
            omega: omega * square,
            arch,
            garch,
            dof,
            log_likelihood: fit - moves.len() as f64 * unit.ln(),
            next_variance: next_variance * square,
        })
    }

    /// Log-likelihood and the variance after the last move.
    fn evaluate(moves: &[f64], [omega, arch, garch, dof]: [f64; 4]) -> (f64, f64) {
        let mut variance = omega + (arch + garch) * backcast(moves);
        let mut sum = 0.0;
        for x in moves {
            let scale = (variance * (dof - 2.0) / dof).sqrt();
            sum += student_log_pdf(x / scale, dof) - scale.ln();
            variance = omega + arch * x * x + garch * variance;
        }
        (sum, variance)
    }
}

/// Parameters from free numbers: ω > 0; persistence p = arch + garch and the share of arch in (0, 1); dof in (2.05, 400).
fn parameters(x: &[f64]) -> [f64; 4] {
    let share = |x: f64| 1.0 / (1.0 + (-x).exp());
    let (persistence, reaction) = (share(x[1]), share(x[2]));
    [x[0].exp(), persistence * reaction, persistence * (1.0 - reaction), 2.05 + (6.0 * share(x[3]) - 1.0).exp()]
}

/// Exponentially weighted mean of the first squares.
fn backcast(moves: &[f64]) -> f64 {
    let (mut sum, mut total, mut weight) = (0.0, 0.0, 1.0);
    for x in moves.iter().take(BACKCAST_MOVES) {
        sum += weight * x * x;
        total += weight;
        weight *= BACKCAST;
    }
    sum / total
}

impl Forecaster for Garch {
    fn name(&self) -> String {
        "garch(1,1)-t".into()
    }

    fn forecast(&self, record: &Record, ahead: &[f64], paths: usize, seed: u64) -> Result<Paths> {
        record.check_ahead(ahead)?;
        let fits = (0..record.dim()).map(|i| GarchFit::new(&record.moves(i))).collect::<Result<Vec<_>>>()?;
        let laws: Vec<StudentT<f64>> = fits
            .iter()
            .map(|fit| StudentT::new(fit.dof).map_err(|why| Error::Numerical { what: "GARCH", why: why.to_string() }))
            .collect::<Result<_>>()?;
        let last = record.last();
        Paths::sample((paths, seed), (ahead.len(), record.dim()), |rng| {
            let mut x = last.clone();
            let mut variances: Vec<f64> = fits.iter().map(|fit| fit.next_variance).collect();
            let mut path = Vec::with_capacity(ahead.len() * x.len());
            for _ in ahead {
                for (i, fit) in fits.iter().enumerate() {
                    let z: f64 = laws[i].sample(rng);
                    let step = (variances[i] * (fit.dof - 2.0) / fit.dof).sqrt() * z;
                    variances[i] = fit.omega + fit.arch * step * step + fit.garch * variances[i];
                    x[i] += step;
                }
                path.extend(&x);
            }
            path
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GARCH with logistic moves from the congruential generator of Numerical Recipes: the same on every machine.
    fn moves(count: usize) -> Vec<f64> {
        let (mut state, mut variance) = (1u32, 1.0f64);
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let u = (f64::from(state) + 0.5) / 4_294_967_296.0;
            let x = variance.sqrt() * (u / (1.0 - u)).ln() / 1.813_799_364_234_217_8;
            variance = 0.1 + 0.1 * x * x + 0.8 * variance;
            x
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn golden_agreement_with_arch() {
        // arch 8.0.0: arch_model(r, mean="Zero", vol="GARCH", p=1, q=1, dist="t", rescale=False).fit() on these moves.
        let fit = GarchFit::new(&moves(1500)).unwrap();
        assert!((fit.log_likelihood + 2182.3751716825373).abs() < 1e-5, "{fit:?}");
        let found = [fit.omega, fit.arch, fit.garch, fit.dof, fit.next_variance];
        let golden = [0.15084730559131967, 0.14367070801525475, 0.7411307976133231, 5.831684269151794, 0.962717];
        assert!(found.iter().zip(golden).all(|(a, b)| (a / b - 1.0).abs() < 2e-3), "{fit:?}");
    }

    #[test]
    fn identity_scale_of_the_moves_is_scale_of_the_fit() {
        let small = GarchFit::new(&moves(300)).unwrap();
        let large = GarchFit::new(&moves(300).iter().map(|x| 1000.0 * x).collect::<Vec<_>>()).unwrap();
        assert!((large.omega / small.omega / 1e6 - 1.0).abs() < 1e-6 && (large.arch - small.arch).abs() < 1e-6);
    }

    #[test]
    fn too_little_is_an_error() {
        assert!(GarchFit::new(&[]).is_err() && GarchFit::new(&[1.0; 9]).is_err() && GarchFit::new(&[0.0; 50]).is_err());
        assert!(GarchFit::new(&[f64::NAN; 50]).is_err());
    }
}
