//! Truncated stable noise, without jumps below a threshold: S is compound Poisson with Pareto distributed variances.

use super::compound_poisson::sample_poisson;
use super::condense::{FineLaw, Layout, STANDARD, condense};
use super::convolution::{PointLaw, for_pairs};
use super::log_law::{Action, Range, SlidingNodes};
use super::quadrature::even_points;
use super::{Nodes, Noise, wrong_count};
use crate::error::{check, positive};
use crate::{Result, StreamRng};
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

/// Largest expected number of jumps in a step.
const MOST_JUMPS: f64 = 1e9;

/// Between two convolutions.
const BETWEEN: Layout =
    Layout { most: 160, bulk_width: 1.2, tail_width: 2.4, tail_mass: 1e-7, reach: f64::INFINITY, fall: f64::INFINITY };

/// Derivatives lean on interpolation over whole panels, which asks for narrower ones than the law itself.
const FINAL: Layout = Layout { most: 95, bulk_width: 1.2, tail_width: 2.2, tail_mass: 1e-6, fall: 0.7, ..STANDARD };

impl TruncatedStable {
    /// Truncated stable noise; an error names α outside (0, 2), or another parameter that is not a positive number.
    pub fn new(alpha: f64, scale: f64, tau: f64, sigma_g: f64) -> Result<Self> {
        check("alpha", alpha, alpha > 0.0 && alpha < 2.0, "must lie strictly between 0 and 2")?;
        positive("scale", scale)?;
        positive("tau", tau)?;
        positive("sigma_g", sigma_g)?;
        Ok(Self { alpha, scale, tau, sigma_g })
    }

    /// Expected number of jumps λΔ in a step.
    fn jumps(&self, dt: f64) -> f64 {
        2.0 * dt / (self.alpha * self.tau.powf(self.alpha))
    }

    /// Variance of the smallest jump, (scale·σ_G·τ)².
    fn smallest(&self) -> f64 {
        (self.scale * self.sigma_g * self.tau).powi(2)
    }
}

/// The law of r²/τ², Pareto of index ρ on [1, ∞), in few points up to about ln s = `high`, with its derivative in ρ.
struct Jump {
    law: PointLaw,
    by_rho: Vec<f64>,
}

impl Jump {
    fn new(rho: f64, high: f64) -> Self {
        // Density ρe^{−ρu} of u = ln s, and all that is beyond on one point.
        let mut rows: Vec<(f64, f64, f64)> = even_points(0.0, high, 0.4)
            .into_iter()
            .map(|(u, weight)| (u, weight * rho * (-rho * u).exp(), 1.0 / rho - u))
            .collect();
        rows.push((high + 1.0 / rho, (-rho * high).exp(), -high));
        let fine = FineLaw {
            u: rows.iter().map(|row| row.0).collect(),
            mass: rows.iter().map(|row| row.1).collect(),
            derivatives: vec![rows.iter().map(|row| row.1 * row.2).collect()],
            ..FineLaw::default()
        };
        let mut few = condense(&fine, BETWEEN);
        Self { law: PointLaw::from_condensed(&few), by_rho: few.derivatives.swap_remove(0) }
    }
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
        let next = 1.0 + part / n as f64 * bracket;
        law = jump.plus(&law.condensed(BETWEEN)).diluted((next - 1.0) / next);
        bracket = next;
    }
    law.atom = no_jump;
    for _ in 0..doublings {
        law = law.condensed(BETWEEN).doubled();
    }
    law
}

/// Nodes of the sum of a Poisson number of Pareto variables, with shape parameters Λ (mean number) and ρ (index).
fn unit_nodes(mean: f64, rho: f64) -> Result<SlidingNodes<2>> {
    // As far beyond a typical sum, Λ^{1/ρ}, as the stable noise reaches.
    let range = Range { low: 0.0, high: mean.ln().max(0.0) / rho + (11.5 / rho).max(31.0) }.checked()?;
    let jump = Jump::new(rho, range.high);
    let law = compound(&jump.law, mean);
    // (ln s, mass, ∂/∂Λ, ∂/∂ρ): ∂m/∂Λ = m∗f − m and ∂m/∂ρ = Λ·m∗ḟ have points of their own, without mass. Both m are
    // the condensed one: for many jumps the two terms nearly cancel and must not differ in anything else.
    let mut rows: Vec<(f64, [f64; 3])> = law.points.iter().map(|&(u, m)| (u, [m, 0.0, 0.0])).collect();
    let few = law.condensed(BETWEEN);
    rows.extend(few.points.iter().map(|&(u, m)| (u, [0.0, -m, 0.0])));
    for_pairs(&few, &jump.law, |u, m, f, j| {
        if let Some(j) = j {
            rows.push((u, [0.0, m * f, mean * m * jump.by_rho[j]]));
        }
    });
    rows.sort_unstable_by(|p, q| p.0.total_cmp(&q.0));
    let column = |c: usize| rows.iter().map(|row| row.1[c]).collect();
    let fine = FineLaw {
        atom: few.atom,
        atom_derivatives: vec![-few.atom, 0.0],
        u: rows.iter().map(|row| row.0).collect(),
        mass: column(0),
        derivatives: vec![column(1), column(2)],
    };
    // Very heavy tails need all the nodes for their length.
    let layout = if rho < 0.45 { Layout { most: 95, ..STANDARD } } else { FINAL };
    Ok(SlidingNodes { nodes: condense(&fine, layout), slides: [0.0, 0.0] })
}

impl Noise for TruncatedStable {
    fn family(&self) -> &'static str {
        "truncated-stable"
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
        let few = mean > 0.0 && mean <= MOST_JUMPS;
        check(
            "jumps per step 2·step/(alpha·tau^alpha)",
            mean,
            few,
            "must be over 0 and at most 1e9: raise or lower tau",
        )?;
        unit_nodes(mean, 0.5 * alpha)?.scaled(
            self.smallest(),
            &[
                Action { name: "alpha", stretch: 0.0, shape: [-mean * (1.0 / alpha + tau.ln()), 0.5] },
                Action { name: "scale", stretch: 2.0 / scale, shape: [0.0; 2] },
                Action { name: "tau", stretch: 2.0 / tau, shape: [-mean * alpha / tau, 0.0] },
                Action { name: "sigma_g", stretch: 2.0 / sigma_g, shape: [0.0; 2] },
            ],
        )
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
