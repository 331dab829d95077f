//! Truncated stable noise, without jumps below a threshold: S is compound Poisson with Pareto distributed variances.

use super::compound_poisson::sample_poisson;
use super::condense::{FineLaw, Layout, STANDARD, gauss_rules};
use super::convolution::PointLaw;
use super::family::{Family, boxed};
use super::gauss::{MOST_POINTS, Rule};
use super::log_law::Range;
use super::quadrature::even_points;
use super::stable::{self, ALPHA_BELOW_2};
use super::{NodeDerivative, Nodes, Noise, NoisePart, wrong_count};
use crate::error::{check, positive};
use crate::parameter::{Domain, Effect, ParameterEntry};
use crate::series::FIRST_ALPHA;
use crate::{Error, Result, StreamRng};
use rand_distr::{Distribution, Exp1};
use spec_math::cephes64::{gamma, igamc};

/// Jumps scale·σ_G·r·g, g ~ N(0, 1), with r Pareto of index α on [τ, ∞), at rate λ = 2/(α·τ^α) per time.
///
/// This is the stable noise whose jumps have mixing variable r ≥ τ only; what is smaller is left out. So the nodes have
/// an atom at S = 0 of weight e^{−λΔ}. α lies in (0, 2). Only the product scale·σ_G matters: do not learn both.
#[derive(Debug, Clone)]
pub struct TruncatedStable {
    alpha: f64,
    scale: f64,
    tau: f64,
    sigma_g: f64,
}

/// The smallest mixing radius; radii are in units of `scale`.
const TAU: ParameterEntry =
    ParameterEntry::new("tau", "smallest mixing radius", "", Domain::POSITIVE, 0.1, |scales, given| {
        0.1 * scales.lag.powf(1.0 / given(ALPHA_BELOW_2.name).unwrap_or(FIRST_ALPHA))
    });

/// The size of the marks. Only its product with `scale` matters, so it is not learned.
const SIGMA_G: ParameterEntry =
    ParameterEntry::new("sigma_g", "standard deviation of the Gaussian marks", "", Domain::POSITIVE, 1.0, |_, _| 1.0)
        .held()
        .with_effect(Effect::JumpScale);

/// The scale of the noise.
const SCALE: ParameterEntry = ParameterEntry { about: "scale of the noise", ..stable::SCALE };

/// The entry of the family. It does not compete by default: it differs from stable by jumps too small to see and costs a
/// convolution per step length.
pub(super) const FAMILY: Family = Family {
    name: "truncated-stable",
    about: "Stable with its smallest jumps removed",
    parameters: &[ALPHA_BELOW_2, SCALE, TAU, SIGMA_G],
    rival: false,
    build: |p| boxed(TruncatedStable::new(p[0], p[1], p[2], p[3])),
};

/// Largest expected number of jumps in a step.
const MOST_JUMPS: f64 = 1e9;

/// Logarithm of the largest sum of jumps, in units of the smallest variance, with some room.
const LN_LARGEST: f64 = 690.0;

/// Between two convolutions.
const BETWEEN: Layout =
    Layout { most: 128, bulk_width: 1.2, tail_width: 2.4, tail_mass: 1e-7, reach: f64::INFINITY, fall: f64::INFINITY };

/// Derivatives lean on interpolation over panels, which asks for narrower ones than the law itself.
const FINAL: Layout = Layout { most: 95, bulk_width: 1.2, tail_width: 2.2, tail_mass: 1e-6, fall: 0.7, ..STANDARD };

impl TruncatedStable {
    /// This noise with every parameter learned.
    pub fn learned() -> NoisePart {
        NoisePart::learned(const { &FAMILY })
    }

    /// Truncated stable noise; an error names α outside (0, 2), or another parameter that is not a positive number.
    pub fn new(alpha: f64, scale: f64, tau: f64, sigma_g: f64) -> Result<Self> {
        ALPHA_BELOW_2.check(alpha)?;
        SCALE.check(scale)?;
        TAU.check(tau)?;
        SIGMA_G.check(sigma_g)?;
        Ok(Self { alpha, scale, tau, sigma_g })
    }

    /// Expected number of jumps λΔ in a step.
    fn jumps(&self, dt: f64) -> f64 {
        2.0 * dt / (self.alpha * self.tau.powf(self.alpha))
    }

    /// Index α, least mixing variable τ, and size scale·σ_G of a jump with r = 1.
    pub fn jump_law(&self) -> (f64, f64, f64) {
        (self.alpha, self.tau, self.scale * self.sigma_g)
    }

    /// Variance of the smallest jump, (scale·σ_G·τ)².
    fn smallest(&self) -> f64 {
        (self.scale * self.sigma_g * self.tau).powi(2)
    }
}

/// The law of r²/τ², Pareto of index ρ on [1, ∞), in few points; what is beyond ln s = `high` is one point.
fn jump_law(rho: f64, high: f64) -> PointLaw {
    let mut points: Vec<(f64, f64)> = even_points(0.0, high, 0.4)
        .into_iter()
        .map(|(u, weight)| (u, weight * rho * (-rho * u).exp()))
        .chain([(high + 1.0 / rho, (-rho * high).exp())])
        .collect();
    points.retain(|p| p.1 > 0.0);
    PointLaw { atom: 0.0, points }.condensed(BETWEEN)
}

/// The law of the sum of a Poisson number, mean Λ, of jumps; all pairs of the last addition are kept.
///
/// Σ Λ₀^n f^{∗n}/n! for a small Λ₀ by Horner's rule, then doubling until Λ₀·2^m = Λ.
fn compound(jump: &PointLaw, mean: f64) -> PointLaw {
    let doublings = (mean / 0.06).log2().ceil().max(0.0) as i32;
    let part = mean / 2f64.powi(doublings);
    let no_jump = (-part).exp();
    // e^{−Λ₀}(1 + Λ₀f(1 + Λ₀f/2(1 + …))): each bracket is a law once it is divided by its mass.
    let mut law = PointLaw::zero();
    let mut bracket = 1.0;
    for n in (1..=7).rev() {
        let more = part / n as f64 * bracket;
        bracket = 1.0 + more;
        law = jump.plus(&law.condensed(BETWEEN)).diluted(more / bracket);
    }
    law.atom = no_jump;
    for _ in 0..doublings {
        law = law.condensed(BETWEEN).doubled();
    }
    law
}

/// A change of the rate of jumps: ln of the variance of a jump, and by how much its expected number grows.
type RateChange = Vec<(f64, f64)>;

/// The law of a sum of jumps with everything needed to say how it changes.
struct Sum {
    few: PointLaw,
    rules: Vec<(f64, Rule)>,
}

impl Sum {
    /// The sum of a Poisson number, mean `mean`, of jumps.
    fn new(jump: &PointLaw, mean: f64, layout: Layout) -> Self {
        let law = compound(jump, mean);
        let (u, mass) = law.points.iter().copied().unzip();
        let rules = gauss_rules(&FineLaw { u, mass, ..FineLaw::default() }, layout);
        Self { few: law.condensed(BETWEEN), rules }
    }

    /// Variances and weights, the atom first.
    fn nodes(&self) -> (Vec<f64>, Vec<f64>) {
        let atom = (self.few.atom > 0.0).then_some((0.0, self.few.atom));
        let rules = self.rules.iter().flat_map(|(_, rule)| rule.points.iter().zip(&rule.weights));
        atom.into_iter().chain(rules.map(|(u, &w)| (u.exp(), w))).unzip()
    }

    /// Derivative of the nodes under a change g(p) of the rates: ∂E f(Y) = ∫ E[f(Y + p) − f(Y)] g(dp).
    ///
    /// A jump that is small against Y moves it a little, which is a slide of the node; what the slide leaves of
    /// f(Y + p) − f(Y), and all of it for a large jump, goes to the weights through the interpolation of f in each panel.
    fn derivative(&self, name: &'static str, change: &RateChange) -> NodeDerivative {
        // Smoothly one for small jumps, zero for large ones; `shift` is ln(1 + p/y).
        let sliding = |shift: f64| (-(shift / 0.3).powi(2)).exp();
        let slide = |u: f64| -> f64 {
            let shifts = change.iter().map(|&(p, g)| (g, (p - u).exp().ln_1p()));
            shifts.map(|(g, shift)| g * shift * sliding(shift)).sum()
        };
        let starts: Vec<usize> =
            self.rules.iter().scan(0, |n, (_, rule)| Some(std::mem::replace(n, *n + rule.points.len()))).collect();
        let panel = |u: f64| self.rules.partition_point(|(end, _)| *end < u).min(self.rules.len() - 1);
        let mut weights = vec![0.0; self.rules.iter().map(|(_, rule)| rule.points.len()).sum()];
        let mut add = |panel: usize, factor: f64, basis: [f64; MOST_POINTS]| {
            let target = &mut weights[starts[panel]..starts[panel] + self.rules[panel].1.points.len()];
            target.iter_mut().zip(basis).for_each(|(weight, basis)| *weight += factor * basis);
        };
        for &(u, mass) in &self.few.points {
            let from = panel(u);
            let rule = &self.rules[from].1;
            let (mut stay, mut slope) = (0.0, 0.0);
            for &(p, g) in change {
                let shift = (p - u).exp().ln_1p();
                // A small step over the edge of a panel is still best described by the rule it starts from.
                let to = if shift < 0.1 { from } else { panel(u + shift) };
                add(to, mass * g, self.rules[to].1.basis(u + shift));
                stay += g;
                slope += g * shift * sliding(shift);
            }
            add(from, -mass * stay, rule.basis(u));
            add(from, -mass * slope, rule.basis_slope(u));
        }
        for &(p, g) in change {
            add(panel(p), self.few.atom * g, self.rules[panel(p)].1.basis(p));
        }
        // From the atom mass can only leave.
        let out: f64 = change.iter().map(|(_, g)| -self.few.atom * g).sum();
        let slides = self.rules.iter().flat_map(|(_, rule)| rule.points.iter().map(|&u| u.exp() * slide(u)));
        let atom = (self.few.atom > 0.0).then_some((0.0, out));
        let (variances, weights) = atom.into_iter().chain(slides.zip(weights)).unzip();
        NodeDerivative { name, variances, weights }
    }
}

impl Noise for TruncatedStable {
    fn family(&self) -> &'static str {
        FAMILY.name
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("alpha", self.alpha), ("scale", self.scale), ("tau", self.tau), ("sigma_g", self.sigma_g)]
    }

    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Noise>> {
        match *values {
            [alpha, scale, tau, sigma_g] => Ok(Box::new(Self::new(alpha, scale, tau, sigma_g)?)),
            _ => Err(wrong_count(values.len(), 4)),
        }
    }

    fn nodes(&self, dt: f64) -> Result<Nodes> {
        positive("step length", dt)?;
        let Self { alpha, scale, tau, sigma_g } = *self;
        let mean = self.jumps(dt);
        // The lower bound keeps the masses of jumps clear of underflow.
        let known = (1e-200..=MOST_JUMPS).contains(&mean);
        let expected = "must lie between 1e-200 and 1e9: change tau or the step";
        check("jumps per step 2·step/(alpha·tau^alpha)", mean, known, expected)?;
        let rho = 0.5 * alpha;
        // As far beyond a typical sum, Λ^{1/ρ}, as the stable noise reaches.
        let range = Range { low: 0.0, high: mean.ln().max(0.0) / rho + (11.5 / rho).max(31.0) }.checked()?;
        // The farthest point stands for all beyond; so many of it must still be a number.
        let farthest = range.high + 1.0 / rho + mean.max(1.0).ln();
        if farthest > LN_LARGEST {
            return Err(Error::Numerical {
                what: "law of the step variance",
                why: format!(
                    "jumps reach e^{farthest:.0} times the smallest, beyond the range of floating-point numbers; use \
                     a larger alpha"
                ),
            });
        }
        let jump = jump_law(rho, range.high);
        // Very heavy tails need all the nodes for their length.
        let layout = if rho < 0.45 { Layout { most: 95, ..STANDARD } } else { FINAL };
        let sum = Sum::new(&jump, mean, layout);
        // The rate of jumps in dr is 2·r^{−1−α}dr on [τ, ∞): α changes it by −ln r of itself.
        let by_alpha = jump.points.iter().map(|&(u, f)| (u, -mean * f * (tau.ln() + 0.5 * u))).collect();
        // τ takes away the smallest jumps; or, the same, it stretches all jumps and lowers their rate. The first is the
        // gentler change if a step has many jumps, the second if it has few.
        let few = mean < 4.0;
        let lost = -mean * alpha / tau;
        let by_tau = if few { jump.points.iter().map(|&(u, f)| (u, lost * f)).collect() } else { vec![(0.0, lost)] };
        let unit = self.smallest();
        let (variances, weights) = sum.nodes();
        let variances: Vec<f64> = variances.iter().map(|s| unit * s).collect();
        let mut derivatives = vec![sum.derivative("alpha", &by_alpha), sum.derivative("tau", &by_tau)];
        for derivative in &mut derivatives {
            derivative.variances.iter_mut().for_each(|s| *s *= unit);
        }
        if few {
            derivatives[1].variances.iter_mut().zip(&variances).for_each(|(by_tau, s)| *by_tau += 2.0 * s / tau);
        }
        derivatives.insert(1, NodeDerivative::scaling("scale", scale, &variances));
        derivatives.push(NodeDerivative::scaling("sigma_g", sigma_g, &variances));
        Nodes::new(variances, weights, derivatives)
    }

    /// Exact, jump by jump: the cost is λΔ draws. NaN if more than 1e15 jumps are expected.
    fn sample_variance(&self, dt: f64, rng: &mut StreamRng) -> f64 {
        let jumps = sample_poisson(self.jumps(dt), rng);
        if jumps.is_nan() {
            return jumps;
        }
        let sum: f64 = (0..jumps as u64)
            .map(|_| {
                let exponential: f64 = Exp1.sample(rng);
                (2.0 * exponential / self.alpha).exp()
            })
            .sum();
        self.smallest() * sum
    }

    /// −λΔ·(1 − e^{−x} + x^ρ Γ(1−ρ, x)), x = u²(scale·σ_G·τ)²/2, ρ = α/2.
    fn log_characteristic(&self, dt: f64, u: f64) -> f64 {
        let (rho, x) = (0.5 * self.alpha, 0.5 * u * u * self.smallest());
        if x == 0.0 {
            return 0.0;
        }
        -self.jumps(dt) * (x.powf(rho) * igamc(1.0 - rho, x) * gamma(1.0 - rho) - (-x).exp_m1())
    }

    fn has_variance(&self) -> bool {
        false
    }
}
