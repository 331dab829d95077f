//! Draw a jump of the tilted measure, in two ways that have exactly the same law.

use super::envelope::{Corner, Envelope};
use super::measure::Kernel;
use super::tilted::{TiltedMeasure, gain};
use levytilt::{Error, Result, StreamRng};
use rand::RngExt;
use rand_distr::{Distribution, Exp1, StandardNormal};

/// A jump with what it took to draw it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TiltedJump {
    /// Size r of the mixing variable.
    pub r: f64,
    /// The jump.
    pub jump: f64,
    /// Number of proposals, the accepted one included.
    pub tries: u64,
}

/// Draws of jumps that accept at least two proposals in three, for every κ and a.
#[derive(Debug, Clone)]
pub struct JumpSampler {
    tilted: TiltedMeasure,
    envelope: Envelope,
}

impl JumpSampler {
    /// Draw a jump.
    pub fn draw(&self, rng: &mut StreamRng) -> TiltedJump {
        let (theta, tries) = self.theta(rng);
        self.tilted.jump_at(theta, tries, rng)
    }

    /// Draw the mixing variable r of a jump alone.
    pub fn mixing(&self, rng: &mut StreamRng) -> f64 {
        self.tilted.r(self.theta(rng).0)
    }

    /// ϑ = 2 ln(r/τ), and the number of proposals that it took.
    fn theta(&self, rng: &mut StreamRng) -> (f64, u64) {
        let mut tries = 0;
        loop {
            tries += 1;
            let proposal = self.envelope.propose(rng);
            let log_accept = self.tilted.log_factor(proposal.theta) - proposal.log_height;
            if rng.random::<f64>() < log_accept.exp() {
                return (proposal.theta, tries);
            }
        }
    }

    /// The probability that a proposal is accepted, from the rate by quadrature.
    pub fn acceptance(&self) -> f64 {
        let area = self.envelope.log_area() + self.tilted.kappa() + self.tilted.prior().rate().ln();
        (self.tilted.log_rate() - area).exp()
    }
}

impl TiltedMeasure {
    /// A sampler for many jumps from this state; an error for the power law, whose jumps are no mixtures.
    pub fn sampler(&self) -> Result<JumpSampler> {
        self.expect_mixture()?;
        let corner = Corner { rho: self.rho(), kappa: self.kappa, u_pull: self.least_u, u_width: self.least_u };
        Ok(JumpSampler { tilted: *self, envelope: Envelope::new(corner) })
    }

    /// Draw a jump by the published rejection: propose r from the prior, accept with C(r)e^{−κ}.
    ///
    /// Exact, but few proposals are accepted when κ is large ([`TiltedMeasure::prior_acceptance`]); after
    /// `most_tries` in vain this is an error, never another jump in place of the right one.
    pub fn draw_by_prior(&self, most_tries: u64, rng: &mut StreamRng) -> Result<TiltedJump> {
        self.expect_mixture()?;
        for tries in 1..=most_tries {
            let exponential: f64 = Exp1.sample(rng);
            let theta = exponential / self.rho();
            if rng.random::<f64>() < self.log_factor(theta).exp() {
                return Ok(self.jump_at(theta, tries, rng));
            }
        }
        let why = format!(
            "no proposal in {most_tries} was accepted; the acceptance is {:.1e} at κ = {}: use sampler()",
            self.prior_acceptance(),
            self.kappa
        );
        Err(Error::Numerical { what: "rejection from the prior", why })
    }

    /// The probability Λ/(λe^κ) that the published rejection accepts a proposal.
    pub fn prior_acceptance(&self) -> f64 {
        (self.log_rate() - self.measure.rate().ln() - self.kappa).exp()
    }

    /// A jump given ϑ: N(vδ, s²r²/(1 + u)), which is N(vδ, v/(2a)) and right for a = 0 too.
    pub(super) fn jump_at(&self, theta: f64, tries: u64, rng: &mut StreamRng) -> TiltedJump {
        let (r, u) = (self.r(theta), self.u(theta));
        let normal: f64 = StandardNormal.sample(rng);
        let std = self.measure.unit() * r / (1.0 + u).sqrt();
        TiltedJump { r, jump: gain(u) * self.pull + std * normal, tries }
    }

    fn expect_mixture(&self) -> Result<()> {
        if self.measure.kernel() == Kernel::Gaussian {
            return Ok(());
        }
        let why = "jumps ±s·r are for comparing rates; draw from JumpMeasure::mixture".to_string();
        Err(Error::Numerical { what: "draws of the power law", why })
    }
}
