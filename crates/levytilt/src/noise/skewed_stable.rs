//! Skewed α-stable noise: J is stable of S1 with skewness `skew` and scale Δ^{1/α}·scale; Gaussians are fitted to its density.

use super::family::{Family, boxed};
use super::skewed_stable_fit::{UnitNodes, unit_nodes};
use super::stable::{ALPHA_BELOW_2, SCALE};
use super::{Lengths, NodeDerivative, Nodes, Noise, wrong_count};
use crate::error::{check, positive};
use crate::law::{Parametrization, StableLaw};
use crate::parameter::{Domain, Effect, ParameterEntry};
use crate::{Result, StreamRng};
use std::f64::consts::FRAC_PI_2;
use std::sync::{Arc, OnceLock};

/// α-stable noise with 1/2 ≤ α < 2, `skew` = β of S1 in [−1, 1] and scale η:
/// ln E e^{iuJ} = −Δ η^α |u|^α (1 − iβ sign(u) tan(πα/2)), at α = 1 −Δη|u| (1 + iβ(2/π) sign(u) ln |u|).
///
/// The tails have shares (1 ± β)/2. For α > 1 the mean is 0; for α < 1 and β = ±1 the noise only jumps one way. As α → 1
/// the bulk of S1 moves off like β tan(πα/2), so a drift must be able to take that up.
///
/// Nodes: up to 192 Gaussians. The density is right to about 1e-3 between the quantiles 0.0005 and 0.9995, and to 2% up to
/// 10⁶ scales where a tail is heavy (but for a lower tail a thousand times lighter than the upper one and α ≤ 0.6). Below
/// α = 1/2 the peak is too sharp for them, and the noise is an error.
#[derive(Debug, Clone)]
pub struct SkewedStable {
    alpha: f64,
    scale: f64,
    skew: f64,
    /// Fitted when nodes are first asked for; draws need none.
    unit: Arc<OnceLock<UnitNodes>>,
}

/// The skewness β.
const SKEW: ParameterEntry = ParameterEntry::new(
    "skew",
    "skewness beta; the upper and lower tail have shares (1 + skew)/2 and (1 - skew)/2",
    "",
    Domain { low: -1.0, high: 1.0, closed: [true, true], expected: "must lie in [-1, 1]" },
    0.0,
    |_, _| 0.0,
)
.with_effect(Effect::Skew);

/// The entry of the family.
pub(super) const FAMILY: Family = Family {
    name: "skewed-stable",
    about: "Skewed stable",
    parameters: &[ALPHA_BELOW_2, SCALE, SKEW],
    // Every step of the optimiser fits nodes anew, which takes some tenths of a second.
    rival: false,
    build: |p| boxed(SkewedStable::new(p[0], p[1], p[2])),
};

/// Smallest α whose skewed density 192 Gaussians can follow.
const LEAST_ALPHA: f64 = 0.5;

impl SkewedStable {
    /// The noise; an error names α outside (0, 2), a scale that is not positive or a skew outside [−1, 1].
    pub fn new(alpha: f64, scale: f64, skew: f64) -> Result<Self> {
        ALPHA_BELOW_2.check(alpha)?;
        SCALE.check(scale)?;
        SKEW.check(skew)?;
        Ok(Self { alpha, scale, skew, unit: Arc::default() })
    }

    fn unit(&self) -> Result<&UnitNodes> {
        if let Some(known) = self.unit.get() {
            return Ok(known);
        }
        check(
            "alpha",
            self.alpha,
            self.skew == 0.0 || self.alpha >= LEAST_ALPHA,
            "must be at least 0.5 for skewed stable noise, whose density is too sharp below; use noise stable",
        )?;
        let fitted = unit_nodes(self.alpha, self.skew)?;
        Ok(self.unit.get_or_init(|| fitted))
    }

    /// Scale of the increment over `dt`.
    fn step_scale(&self, dt: f64) -> f64 {
        self.scale * dt.powf(1.0 / self.alpha)
    }

    /// What S1 adds to the centres of nodes in `parametrization`, in units of the step's scale γ, and its derivatives in α
    /// and β; α = 1 adds β(2/π) ln γ, whose derivative in α does not exist and is taken as 0.
    fn shift(&self, parametrization: Parametrization, gamma: f64) -> [f64; 3] {
        let Self { alpha, skew, .. } = *self;
        if parametrization == Parametrization::S1 {
            return [0.0; 3];
        }
        if alpha == 1.0 {
            let unit = gamma.ln() / FRAC_PI_2;
            return [skew * unit, 0.0, unit];
        }
        let (tangent, cosine) = ((FRAC_PI_2 * alpha).tan(), (FRAC_PI_2 * alpha).cos());
        [skew * tangent, skew * FRAC_PI_2 / (cosine * cosine), tangent]
    }
}

impl Noise for SkewedStable {
    fn family(&self) -> &'static str {
        FAMILY.name
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("alpha", self.alpha), ("scale", self.scale), ("skew", self.skew)]
    }

    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Noise>> {
        match *values {
            [alpha, scale, skew] if alpha == self.alpha && skew == self.skew => {
                Ok(Box::new(Self { scale: SCALE.check(scale)?, ..self.clone() }))
            }
            [alpha, scale, skew] => Ok(Box::new(Self::new(alpha, scale, skew)?)),
            _ => Err(wrong_count(values.len(), 3)),
        }
    }

    fn nodes(&self, dt: f64) -> Result<Nodes> {
        positive("step length", dt)?;
        let gamma = self.step_scale(dt);
        let unit = self.unit()?;
        let [shift, shift_by_alpha, shift_by_beta] = self.shift(unit.parametrization, gamma);
        let means: Vec<f64> = unit.centres.iter().map(|c| gamma * (c + shift)).collect();
        let variances: Vec<f64> = unit.variances.iter().map(|s| gamma * gamma * s).collect();
        let none = vec![0.0; means.len()];
        // γ moves with α and scale: ∂ ln γ/∂α = −ln Δ/α², ∂ ln γ/∂scale = 1/scale; at α = 1 ln γ is in the shift too.
        let drift = if self.alpha == 1.0 { gamma * self.skew / FRAC_PI_2 } else { 0.0 };
        let row = |name, stretch: f64, by_shift: f64, own: [&[f64]; 3]| {
            let moved = means.iter().zip(own[0]).map(|(m, own)| stretch * (m + drift) + gamma * (by_shift + own));
            let grown = variances.iter().zip(own[1]).map(|(s, own)| 2.0 * stretch * s + gamma * gamma * own);
            (NodeDerivative { name, variances: grown.collect(), weights: own[2].to_vec() }, moved.collect())
        };
        let by_alpha = [&none[..], &unit.variances_by_alpha, &unit.by_alpha];
        let by_beta = [&unit.centres_by_beta[..], &none, &unit.by_beta];
        let (derivatives, mean_derivatives): (Vec<NodeDerivative>, Vec<Vec<f64>>) = [
            row(ALPHA_BELOW_2.name, -dt.ln() / (self.alpha * self.alpha), shift_by_alpha, by_alpha),
            row(SCALE.name, 1.0 / self.scale, 0.0, [&none; 3]),
            row(SKEW.name, 0.0, shift_by_beta, by_beta),
        ]
        .into_iter()
        .unzip();
        Nodes::with_means(means, variances, unit.weights.clone(), derivatives, mean_derivatives)
    }

    /// 0: the increment is drawn as a whole.
    fn sample_variance(&self, _dt: f64, _rng: &mut StreamRng) -> f64 {
        0.0
    }

    /// The exact increment (Chambers, Mallows and Stuck), with variance 0; NaN for a step whose scale is not a number.
    fn sample_mean_and_variance(&self, dt: f64, rng: &mut StreamRng) -> (f64, f64) {
        let law = StableLaw::skewed(self.alpha, self.skew, self.step_scale(dt), 0.0, Parametrization::S1);
        (law.map_or(f64::NAN, |law| law.sample(rng)), 0.0)
    }

    fn log_characteristic(&self, dt: f64, u: f64) -> f64 {
        -dt * (self.scale * u.abs()).powf(self.alpha)
    }

    fn characteristic_phase(&self, dt: f64, u: f64) -> f64 {
        let size = dt * (self.scale * u.abs()).powf(self.alpha) * u.signum();
        match self.alpha {
            1.0 if u == 0.0 => 0.0,
            1.0 => -size * self.skew * u.abs().ln() / FRAC_PI_2,
            alpha => size * self.skew * (FRAC_PI_2 * alpha).tan(),
        }
    }

    fn lengths(&self) -> Lengths {
        // At α = 1 a scaled law is also shifted.
        match self.alpha == 1.0 {
            true => Lengths::Additive,
            false => Lengths::SelfSimilar { index: self.alpha, parameter: Some(0), scale: 1 },
        }
    }

    fn has_variance(&self) -> bool {
        false
    }
}
