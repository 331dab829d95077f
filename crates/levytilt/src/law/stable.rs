//! Give the α-stable law a public face: density, distribution, quantiles, derivatives, draws.

use super::draw;
use super::quantile::upper_quantile;
use super::skewed::{Abscissa, Skewed, SkewedPoint};
use super::skewed_draw;
use super::skewed_quantile::quantile as skewed_quantile;
use super::standard::{Point, Standard};
use crate::error::{check, finite, positive};
use crate::{Result, StreamRng};
use rand::Rng;
use rand_distr::Distribution;
use std::f64::consts::FRAC_PI_2;
use std::sync::OnceLock;

/// β at which the derivative in β of a symmetric law is taken.
const LEAST_BETA: f64 = 1e-6;

/// The α-stable law: symmetric with E exp(iuX) = exp(−scale^α |u|^α), or skewed ([`StableLaw::skewed`]).
///
/// α = 1 is Cauchy, α = 2 is Gaussian with variance 2·scale². For α < 2 the tails are P(X > x) ~ C (x/scale)^{−α} with
/// C = Γ(α) sin(πα/2)/π.
///
/// # Accuracy
///
/// Density, distribution and both tails have a relative error below 10⁻¹³ (mostly 10⁻¹⁵) at any finite x, also far out
/// and in the limits α → 1 and α → 2; measured against 40-digit references for 0.01 ≤ α ≤ 2. The sensitivity of the law
/// to its inputs is not part of that: near α = 2 the tail is proportional to 2 − α, so the rounding of α itself shows.
/// Skewed laws have a relative error below 10⁻¹¹ in density and both tails for 10⁻³ ≤ |β| ≤ 1 − 10⁻³ and for |β| = 1, below
/// 10⁻⁸ next to |β| = 1; next to β = 0 at α = 1 it grows like 10⁻¹⁶ |x|/|β|.
///
/// A quotient |x|/scale beyond the range of f64 counts as infinite (or zero). NaN in gives NaN out.
///
/// # Cost
///
/// A new law is free; its tables (about 20 µs) are built when first needed and shared by all calls. After that a density
/// takes 0.1–0.2 µs in the centre and the tail and 1 µs between them, with or without derivatives; for α < 1/2 the centre
/// takes 5 µs. A quantile takes about 2 µs, a draw 0.1 µs. A skewed density takes about 100 µs, a quantile ten times that.
///
/// # Example
///
/// ```
/// use levytilt::{internals::law::StableLaw, stream};
///
/// let law = StableLaw::new(1.5, 2.0)?;
/// let q = law.quantile(0.99)?;
/// assert!((q / 2.0 - 7.7364462064853).abs() < 1e-12);
/// assert!((law.sf(q) - 0.01).abs() < 1e-15);
/// let draw = law.sample(&mut stream(1, 0));
/// assert!(law.log_pdf(draw).is_finite());
/// # Ok::<(), levytilt::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct StableLaw {
    alpha: f64,
    beta: f64,
    scale: f64,
    location: f64,
    parametrization: Parametrization,
    standard: OnceLock<Standard>,
    /// None for a symmetric law.
    skewed: Option<Skewed>,
}

/// Parametrisation of a skewed stable law (Nolan 2020): which point of the law is its location.
///
/// With t = tan(πα/2) and Z of scale 1 and location 0, X = scale·Z + location (S1 at α = 1: plus β(2/π)·scale·ln scale).
/// For symmetric laws both are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parametrization {
    /// E exp(iuZ) = exp(−|u|^α (1 + iβt·sign(u)(|u|^{1−α} − 1))): continuous through α = 1, near the mode.
    S0,
    /// E exp(iuZ) = exp(−|u|^α (1 − iβt·sign(u))): sums of steps add up; the location is the mean for α > 1 and the end of
    /// the law for α < 1 and β = ±1. At α = 1, E exp(iuZ) = exp(−|u|(1 + iβ(2/π) sign(u) ln |u|)), as in S0.
    S1,
}

/// ln of a stable density with its derivatives, from [`StableLaw::log_pdf_derivatives`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogPdfDerivatives {
    /// ln f(x).
    pub value: f64,
    /// ∂ ln f/∂x.
    pub dx: f64,
    /// ∂ ln f/∂α at fixed scale; from the left at α = 2.
    pub dalpha: f64,
    /// ∂ ln f/∂scale at fixed α.
    pub dscale: f64,
}

/// Laws are equal if their parameters are.
impl PartialEq for StableLaw {
    fn eq(&self, other: &Self) -> bool {
        (self.alpha, self.beta, self.scale, self.location, self.parametrization)
            == (other.alpha, other.beta, other.scale, other.location, other.parametrization)
    }
}

impl StableLaw {
    /// The law with index 0 < `alpha` ≤ 2 and `scale` > 0; other values are an error.
    pub fn new(alpha: f64, scale: f64) -> Result<Self> {
        Self::skewed(alpha, 0.0, scale, 0.0, Parametrization::S0)
    }

    /// The law with index 0 < `alpha` ≤ 2, skewness −1 ≤ `beta` ≤ 1, `scale` > 0 and `location`; other values are an error.
    ///
    /// The tails are P(X > x) ~ (1 + β) C (x/scale)^{−α} and P(X < −x) ~ (1 − β) C (x/scale)^{−α}, C as for the symmetric
    /// law. At α = 2 the skewness has no effect.
    pub fn skewed(alpha: f64, beta: f64, scale: f64, location: f64, parametrization: Parametrization) -> Result<Self> {
        let alpha = check("alpha", alpha, alpha > 0.0 && alpha <= 2.0, "must be greater than 0 and at most 2")?;
        let beta = check("beta", beta, (-1.0..=1.0).contains(&beta), "must lie between -1 and 1")?;
        let skewed = (beta != 0.0 && alpha < 2.0).then(|| Skewed::new(alpha, beta));
        let (scale, location) = (positive("scale", scale)?, finite("location", location)?);
        Ok(Self { alpha, beta, scale, location, parametrization, standard: OnceLock::new(), skewed })
    }

    /// The index α.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The scale.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The skewness β.
    pub fn beta(&self) -> f64 {
        self.beta
    }

    /// The location.
    pub fn location(&self) -> f64 {
        self.location
    }

    /// Density f(x) = (1/π) ∫₀^∞ cos(xu) exp(−scale^α u^α) du.
    ///
    /// 0 at ±∞ and where it underflows; infinite where it overflows (f(0) = Γ(1 + 1/α)/(π·scale) does for α < 0.006).
    pub fn pdf(&self, x: f64) -> f64 {
        if let Some(point) = self.skewed_at(x, false) {
            return point.ln_density.exp() / self.scale;
        }
        self.at(x - self.location).density / self.scale
    }

    /// ln f(x), also where [`StableLaw::pdf`] underflows or overflows. −∞ at ±∞.
    pub fn log_pdf(&self, x: f64) -> f64 {
        if let Some(point) = self.skewed_at(x, false) {
            return point.ln_density - self.scale.ln();
        }
        self.at(x - self.location).ln_density - self.scale.ln()
    }

    /// ln f(x) with its derivatives in x, α and scale, from one pass.
    ///
    /// For α ≥ 1/2 and x in units of the scale the error of each derivative is below 10⁻¹³ times the larger of 1 and the
    /// derivative. At α = 2 the derivative in α is one-sided and falls like −exp(z²/4)/z³, z = x/scale, because any
    /// α < 2 has heavy tails: it overflows to −∞ far out. At ±∞ all entries are their limits.
    ///
    /// Skewed laws: the derivative in α is at fixed location of the parametrisation, so it is NaN for S1 at α = 1, where
    /// S1 is not continuous. All derivatives are NaN where a one-sided law has no density.
    pub fn log_pdf_derivatives(&self, x: f64) -> LogPdfDerivatives {
        if let Some(point) = self.skewed_at(x, true) {
            return self.skewed_derivatives(x, point);
        }
        let x = x - self.location;
        let point = self.at(x);
        let z = x.abs() / self.scale;
        let elasticity = if z == f64::INFINITY {
            // ∂ ln f/∂ ln z → −(1 + α) for a power tail; the Gaussian falls faster than any power.
            if self.alpha < 2.0 { -(1.0 + self.alpha) } else { f64::NEG_INFINITY }
        } else {
            z * point.slope
        };
        LogPdfDerivatives {
            value: point.ln_density - self.scale.ln(),
            // f is even, so its logarithm is flat at 0.
            dx: if x == 0.0 { 0.0 } else { point.slope / self.scale * x.signum() },
            dalpha: point.dalpha,
            dscale: -(1.0 + elasticity) / self.scale,
        }
    }

    /// Distribution function P(X ≤ x), with full relative accuracy in the lower tail. 0 at −∞, 1 at ∞.
    pub fn cdf(&self, x: f64) -> f64 {
        if let Some(point) = self.skewed_at(x, false) {
            return point.lower;
        }
        self.symmetric_sf(self.location - x)
    }

    /// Survival function P(X > x), with full relative accuracy in the upper tail. 1 at −∞, 0 at ∞.
    pub fn sf(&self, x: f64) -> f64 {
        if let Some(point) = self.skewed_at(x, false) {
            return point.upper;
        }
        self.symmetric_sf(x - self.location)
    }

    /// ∂ ln f/∂β at fixed location of the parametrisation; 0 at α = 2, where β has no effect.
    ///
    /// NaN where a one-sided law has no density, and at ±∞.
    pub fn log_pdf_by_beta(&self, x: f64) -> f64 {
        if self.alpha == 2.0 {
            return 0.0;
        }
        // The law is smooth in β: next to 0 it has the derivative at 0 to 1e-6.
        let nearly = |beta: f64| Skewed::new(self.alpha, beta);
        let skewed = self.skewed.clone().unwrap_or_else(|| nearly(LEAST_BETA));
        let abscissa = self.abscissa(&skewed, x);
        if !abscissa.s0.is_finite() {
            return f64::NAN;
        }
        let point = skewed.at(abscissa, true);
        match self.parametrization {
            Parametrization::S0 => point.dbeta,
            Parametrization::S1 if self.alpha == 1.0 => point.dbeta - point.slope / FRAC_PI_2 * self.scale.ln(),
            Parametrization::S1 => point.dbeta - point.slope * (FRAC_PI_2 * self.alpha).tan(),
        }
    }

    /// The x with P(X ≤ x) = `p`, for 0 < `p` < 1; other values are an error.
    ///
    /// Accurate also for tiny `p`; for the upper tail use [`StableLaw::upper_quantile`], because 1 − q is rounded. ±∞
    /// or 0 if x is beyond the range of f64, which happens for small α.
    pub fn quantile(&self, p: f64) -> Result<f64> {
        if let Some(skewed) = &self.skewed {
            let p = probability("p", p)?;
            return Ok(self.value(skewed_quantile(skewed, p, 1.0 - p)));
        }
        self.upper_quantile_named("p", p).map(|x| self.location - x)
    }

    /// The x with P(X > x) = `q`, for 0 < `q` < 1; other values are an error. Accurate also for tiny `q`.
    pub fn upper_quantile(&self, q: f64) -> Result<f64> {
        if let Some(skewed) = &self.skewed {
            let q = probability("q", q)?;
            return Ok(self.value(skewed_quantile(skewed, 1.0 - q, q)));
        }
        self.upper_quantile_named("q", q).map(|x| self.location + x)
    }

    /// An exact draw (Chambers, Mallows and Stuck 1976). Infinite if beyond the range of f64, which happens for small α.
    pub fn sample(&self, rng: &mut StreamRng) -> f64 {
        Distribution::sample(self, rng)
    }

    fn upper_quantile_named(&self, name: &str, q: f64) -> Result<f64> {
        let q = probability(name, q)?;
        // 1 − q is exact for q ≥ 1/2, as is q − 1/2 for q ≥ 1/4, where it is used.
        let size = self.scale * upper_quantile(self.standard(), self.alpha, q.min(1.0 - q), (q - 0.5).abs());
        Ok(if q > 0.5 { -size } else { size })
    }

    fn symmetric_sf(&self, x: f64) -> f64 {
        let point = self.at(x);
        if x < 0.0 { 0.5 + point.central } else { point.upper }
    }

    /// The standard skewed law at `x`, with its limits at infinity; none for a symmetric law.
    fn skewed_at(&self, x: f64, derivatives: bool) -> Option<SkewedPoint> {
        let skewed = self.skewed.as_ref()?;
        let abscissa = self.abscissa(skewed, x);
        Some(if abscissa.s0.is_finite() {
            skewed.at(abscissa, derivatives)
        } else {
            SkewedPoint::at_infinity(abscissa.s0)
        })
    }

    /// What the law adds to scale·z beside the location: of S1 at α = 1.
    fn drift(&self) -> f64 {
        match self.parametrization {
            Parametrization::S1 if self.alpha == 1.0 => self.beta / FRAC_PI_2 * self.scale.ln(),
            _ => 0.0,
        }
    }

    fn abscissa(&self, skewed: &Skewed, x: f64) -> Abscissa {
        let z = (x - self.location) / self.scale - self.drift();
        match self.parametrization {
            Parametrization::S0 => skewed.at_s0(z),
            Parametrization::S1 => skewed.at_s1(z),
        }
    }

    fn value(&self, abscissa: Abscissa) -> f64 {
        let z = match self.parametrization {
            Parametrization::S0 => abscissa.s0,
            Parametrization::S1 => abscissa.s1,
        };
        self.scale * (z + self.drift()) + self.location
    }

    fn skewed_derivatives(&self, x: f64, point: SkewedPoint) -> LogPdfDerivatives {
        let z = (x - self.location) / self.scale;
        // ∂(z − drift)/∂ ln scale = −z − (2/π)β for S1 at α = 1.
        let (shrink, dalpha) = match self.parametrization {
            Parametrization::S0 => (z, point.dalpha),
            Parametrization::S1 if self.alpha == 1.0 => (z + self.beta / FRAC_PI_2, f64::NAN),
            Parametrization::S1 => {
                let by_alpha = self.beta * FRAC_PI_2 / (FRAC_PI_2 * self.alpha).cos().powi(2);
                (z, point.dalpha - point.slope * by_alpha)
            }
        };
        LogPdfDerivatives {
            value: point.ln_density - self.scale.ln(),
            dx: point.slope / self.scale,
            dalpha,
            dscale: -(1.0 + shrink * point.slope) / self.scale,
        }
    }

    fn standard(&self) -> &Standard {
        self.standard.get_or_init(|| Standard::new(self.alpha))
    }

    /// The standard law at |x|/scale, with its limits at infinity.
    fn at(&self, x: f64) -> Point {
        let z = x.abs() / self.scale;
        if z.is_nan() {
            return Point { density: z, ln_density: z, upper: z, central: z, slope: z, dalpha: z };
        }
        if z == f64::INFINITY {
            return Point {
                density: 0.0,
                ln_density: f64::NEG_INFINITY,
                upper: 0.0,
                central: 0.5,
                slope: if self.alpha < 2.0 { 0.0 } else { f64::NEG_INFINITY },
                dalpha: f64::NEG_INFINITY,
            };
        }
        self.standard().at(z)
    }
}

impl Distribution<f64> for StableLaw {
    /// An exact draw from any generator; see [`StableLaw::sample`].
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        if self.skewed.is_some() {
            let (s0, s1) = skewed_draw::standard(self.alpha, self.beta, rng);
            return self.value(Abscissa { s0, s1 });
        }
        self.scale * draw::standard(self.alpha, rng) + self.location
    }
}

fn probability(name: &str, p: f64) -> Result<f64> {
    check(name, p, p > 0.0 && p < 1.0, "a probability must be greater than 0 and less than 1")
}
