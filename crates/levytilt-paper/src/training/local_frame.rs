//! Convert the networks' output at one time into a component of the potential, and gradients in the component back.
//!
//! The networks give l − a'(x − c')² with a' = a/u² and c' = m + bu/2a, in the frame with centre m and unit u. The
//! observation adds −w(x − y)² and the frame may take s(x − n)² of it back. Together they are ln π − A(x − C)² and a
//! constant that all components share:
//!
//! ```text
//! A = a' + w − s,    A·C = a'c' + wy − sn,    ln π = l − a'(c' − m)² + A(C − m)²
//! ```

use crate::potential::Frame;
use levytilt::Result;
use levytilt::internals::Chain;
use levytilt::internals::potential::Quadratic;
use levytilt::internals::solve::from_natural;

/// One dimension at one time: the frame there, and (firmness, centre) of the observation and of what is taken back.
pub(super) struct LocalFrame {
    centre: f64,
    unit: f64,
    observation: (f64, f64),
    taken: (f64, f64),
}

impl LocalFrame {
    pub fn new(frame: &Frame, chain: &Chain, i: usize, j: usize) -> Self {
        let (centre, unit) = frame.at(i, chain.times()[j]);
        let observation = chain.observation(i, j).unwrap_or((0.0, 0.0));
        let [softer, around] = frame.taken(i, chain.times()[j]);
        // A less precise observation than the frame was built for cannot give all of it.
        Self { centre, unit, observation, taken: (softer.min(observation.0), around) }
    }

    /// (ln π, bump) from the networks' (l, a, b).
    pub fn bump(&self, [l, a, b]: [f64; 3]) -> Result<(f64, Quadratic)> {
        let (a, b) = (a / (self.unit * self.unit), b / self.unit);
        let ((firmness, y), (softer, around)) = (self.observation, self.taken);
        // −a(x − m)² + b(x − m) has the natural parameters a and a·m + b/2.
        let pull = a * self.centre + 0.5 * b;
        let bump = from_natural(a + firmness - softer, pull + firmness * y - softer * around)?;
        Ok((l - 0.25 * b * b / a - bump.log_value(self.centre), bump))
    }

    /// Gradients in (l, a, b), given those in (ln π, A, C) of the component.
    pub fn pull_back(&self, [_, a, b]: [f64; 3], bump: Quadratic, [by_weight, by_a, by_c]: [f64; 3]) -> [f64; 3] {
        // Distances of the networks' own centre, and of the component's, from the frame's.
        let (own, moved) = (0.5 * self.unit * b / a, bump.c() - self.centre);
        let by_firmness = by_a + by_c * (self.centre - bump.c()) / bump.a() + by_weight * (own * own - moved * moved);
        let by_pull = 0.5 * by_c / bump.a() + by_weight * (moved - own);
        [by_weight, by_firmness / (self.unit * self.unit), by_pull / self.unit]
    }
}
