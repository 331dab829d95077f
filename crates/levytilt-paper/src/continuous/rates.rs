//! Rate of jumps and divergence per time of a tilted measure, by quadrature over ϑ.

use super::integral::{edges, log_integral};
use super::measure::Kernel;
use super::tilted::TiltedMeasure;

impl TiltedMeasure {
    /// ln Λ, finite for every finite κ.
    pub fn log_rate(&self) -> f64 {
        let log_rate = self.measure.rate().ln();
        if self.least_u == 0.0 {
            return log_rate;
        }
        log_rate + self.kappa + self.log_mean(&|theta| self.log_factor(theta))
    }

    /// Λ, the rate of jumps; infinite where it exceeds 1e308 (κ above 700 or so): see [`TiltedMeasure::log_rate`].
    pub fn rate(&self) -> f64 {
        self.log_rate().exp()
    }

    /// ln of the divergence per time; −∞ for a potential that says nothing.
    pub fn log_divergence_rate(&self) -> f64 {
        if self.least_u == 0.0 {
            return f64::NEG_INFINITY;
        }
        let body = self.log_mean(&|theta| self.log_divergence(theta));
        // Jumps beyond the panels are forbidden altogether, H = 0: each costs one.
        let beyond = -self.rho() * self.end() - self.kappa;
        let top = body.max(beyond);
        self.measure.rate().ln() + self.kappa + top + ((body - top).exp() + (beyond - top).exp()).ln()
    }

    /// Divergence per time of the tilted process from the prior.
    pub fn divergence_rate(&self) -> f64 {
        self.log_divergence_rate().exp()
    }

    /// ln E e^{log_f(ϑ)} under the prior, up to [`TiltedMeasure::end`].
    fn log_mean(&self, log_f: &dyn Fn(f64) -> f64) -> f64 {
        let rho = self.rho();
        log_integral(&|theta| log_f(theta) - rho * theta, &edges(0.0, self.end(), 4.0, self.landmarks())) + rho.ln()
    }

    /// ϑ beyond which H is below 1e-17 of its largest.
    fn end(&self) -> f64 {
        match self.measure.kernel() {
            // C falls like e^{−ϑ/2} from where u passes 1 and κ.
            Kernel::Gaussian => self.theta_of(self.kappa.max(1.0)).max(0.0) + 80.0,
            Kernel::Sign => self.theta_of(2.0 * (self.kappa.sqrt() + 8.0).powi(2)).max(1.0),
        }
    }

    /// Places on every scale of the integrands: around the jumps that the potential would like best.
    fn landmarks(&self) -> impl Iterator<Item = f64> {
        let kernel = self.measure.kernel();
        let offsets = (-6..=6).map(f64::from);
        let (bend, peak) = match kernel {
            Kernel::Gaussian => (1.0, self.kappa / (self.rho() + 0.5)),
            Kernel::Sign => (2.0, 2.0 * self.kappa),
        };
        let around_peak = offsets.clone().map(move |i| match kernel {
            Kernel::Gaussian => self.theta_of(peak) + i,
            // A jump of fixed size must hit the centre to within 1/√(2a).
            Kernel::Sign => self.theta_of(2.0 * (self.kappa.sqrt() + 1.5 * i).max(0.0).powi(2)),
        });
        offsets.map(move |i| self.theta_of(bend) + i).chain(around_peak)
    }

    /// ϑ at which u has the value given.
    fn theta_of(&self, u: f64) -> f64 {
        (u / self.least_u).ln()
    }
}
