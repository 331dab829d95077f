//! Simulate a tilted process forwards, jump by jump: no cap on jumps or tries.
//!
//! Between jumps the state moves along the drift, so the rate of jumps changes with it. Over a window of time the
//! states passed lie between the ends of the motion (one dimension, a drift without time), which bounds κ and u, and
//! [`Envelope`] turns the bound into candidates (time, r): each is kept with C(r) at the state where it happens over
//! the height at which it was drawn. This thinning is exact. A Brownian part makes the states between jumps random:
//! then a step is cut into `substeps`, and in each the jumps, the drift and the tilted Brownian motion, all three exact,
//! act one after the other, with an error of the order of a substep's length.

use super::envelope::{Corner, Envelope};
use super::measure::{JumpMeasure, Kernel};
use super::{Brownian, JumpSize, TiltedMeasure};
use levytilt::drift::Drift;
use levytilt::internals::error::finite;
use levytilt::internals::potential::Quadratic;
use levytilt::internals::series::check_times;
use levytilt::{Error, Result, StreamRng};
use rand::RngExt;
use rand_distr::{Distribution, Exp1, StandardNormal};

/// dX = f(X)dt + σdB + γ(X)dL, with L of truncated stable jumps, to be tilted by potentials.
#[derive(Debug)]
pub struct TiltedProcess<'a> {
    drift: &'a dyn Drift,
    measure: JumpMeasure,
    size: JumpSize,
    brownian: Brownian,
    substeps: usize,
}

/// A jump of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JumpTime {
    /// When.
    pub time: f64,
    /// How far.
    pub jump: f64,
}

/// A path at the times asked for, and its jumps.
#[derive(Debug, Clone, PartialEq)]
pub struct TiltedPath {
    /// State at every time.
    pub states: Vec<f64>,
    /// All jumps, in order of time.
    pub jumps: Vec<JumpTime>,
    /// Candidates that thinning looked at, the jumps included.
    pub candidates: u64,
}

/// κ may change by this much along a window before the window is halved, and u by this factor.
const KAPPA_CHANGE: f64 = 0.5;
const U_CHANGE: f64 = 1.3;
/// Most halvings of a window; a shorter one only loses efficiency.
const MOST_HALVINGS: u32 = 20;

impl<'a> TiltedProcess<'a> {
    /// A process without Brownian part and with γ = 1; an error for a drift of several dimensions or with time as input.
    pub fn new(drift: &'a dyn Drift, measure: JumpMeasure) -> Result<Self> {
        if drift.dim() != 1 || !drift.is_autonomous() {
            let got = format!("{} dimensions, {}", drift.dim(), if drift.is_autonomous() { "no time" } else { "time" });
            return Err(Error::Shape {
                what: "drift of a tilted process",
                got,
                expected: "1 dimension, no time".into(),
            });
        }
        if measure.kernel() == Kernel::Sign {
            let why = "jumps ±s·r are for comparing rates; use JumpMeasure::mixture".to_string();
            return Err(Error::Numerical { what: "simulation of the power law", why });
        }
        Ok(Self { drift, measure, size: JumpSize::default(), brownian: Brownian::new(0.0)?, substeps: 1 })
    }

    /// The same process with jumps of size γ(x).
    pub fn with_size(self, size: JumpSize) -> Self {
        Self { size, ..self }
    }

    /// The same process with a Brownian part, each step cut into `substeps` ≥ 1.
    pub fn with_brownian(self, brownian: Brownian, substeps: usize) -> Result<Self> {
        if substeps == 0 {
            let expected = "must be at least 1";
            return Err(Error::Parameter { name: "substeps".into(), value: 0.0, expected });
        }
        Ok(Self { brownian, substeps, ..self })
    }

    /// A path from `start` at `times`; `potentials[j]` tilts it between `times[j]` and `times[j + 1]`.
    pub fn path(&self, start: f64, times: &[f64], potentials: &[Quadratic], rng: &mut StreamRng) -> Result<TiltedPath> {
        check_times(times)?;
        finite("x0", start)?;
        if potentials.len() + 1 != times.len() {
            let (got, expected) = (format!("{}", potentials.len()), format!("{}, one per step", times.len() - 1));
            return Err(Error::Shape { what: "potentials", got, expected });
        }
        let mut walk = Walk { process: self, path: TiltedPath { states: vec![start], jumps: vec![], candidates: 0 } };
        let mut x = start;
        for (pair, &potential) in times.windows(2).zip(potentials) {
            x = walk.step(potential, pair[0], pair[1] - pair[0], x, rng)?;
            if !x.is_finite() {
                let why = format!("the state at time {} is too large for a floating-point number", pair[1]);
                return Err(Error::Numerical { what: "simulation", why });
            }
            walk.path.states.push(x);
        }
        Ok(walk.path)
    }

    /// The tilted measure for a process at `x`.
    pub fn tilted(&self, potential: Quadratic, x: f64) -> Result<TiltedMeasure> {
        Ok(self.measure.stretched(self.size.at(x))?.tilted(potential, x))
    }

    fn flow(&self, time: f64, dt: f64, x: f64) -> f64 {
        let mut out = [0.0];
        self.drift.flow(time, dt, &[x], &mut out);
        out[0]
    }

    /// The states between `from` and `to`, as a corner for the envelope.
    fn corner(&self, potential: Quadratic, from: f64, to: f64) -> (Corner, f64) {
        let (first, second) = (-potential.log_value(from), -potential.log_value(to));
        let (small, large) = self.size.range(from, to);
        let u = |gamma: f64| 2.0 * potential.a() * (gamma * self.measure.unit() * self.measure.tau()).powi(2);
        let rho = 0.5 * self.measure.alpha();
        let corner = Corner { rho, kappa: first.max(second), u_pull: u(large), u_width: u(small) };
        (corner, (first - second).abs())
    }
}

/// A path on the way.
struct Walk<'a> {
    process: &'a TiltedProcess<'a>,
    path: TiltedPath,
}

impl Walk<'_> {
    /// One step of the grid.
    fn step(&mut self, potential: Quadratic, time: f64, dt: f64, x: f64, rng: &mut StreamRng) -> Result<f64> {
        let process = self.process;
        process.drift.check_step(dt)?;
        if process.brownian.sigma() == 0.0 {
            return self.jumps(potential, time, dt, x, &|t, dt, x| process.flow(t, dt, x), rng);
        }
        let part = dt / process.substeps as f64;
        let mut x = x;
        for i in 0..process.substeps {
            let start = time + part * i as f64;
            x = self.jumps(potential, start, part, x, &|_, _, x| x, rng)?;
            x = process.flow(start, part, x);
            x = process.brownian.step(potential, part, x, StandardNormal.sample(rng));
        }
        Ok(x)
    }

    /// Motion with jumps over `dt`; `flow(t, dt, x)` is the motion between them.
    fn jumps(
        &mut self,
        potential: Quadratic,
        start: f64,
        dt: f64,
        mut x: f64,
        flow: &dyn Fn(f64, f64, f64) -> f64,
        rng: &mut StreamRng,
    ) -> Result<f64> {
        let mut gone = 0.0;
        while gone < dt {
            let now = start + gone;
            let (window, ahead, corner) = self.window(potential, now, dt - gone, x, flow);
            let envelope = Envelope::new(corner);
            let log_rate = self.process.measure.rate().ln() + corner.kappa + envelope.log_area();
            let mut wait = 0.0;
            let jump = loop {
                let exponential: f64 = Exp1.sample(rng);
                wait += exponential * (-log_rate).exp();
                if wait >= window {
                    break None;
                }
                self.path.candidates += 1;
                let at = flow(now, wait, x);
                let proposal = envelope.propose(rng);
                let tilted = self.process.tilted(potential, at)?;
                let log_bound = proposal.log_height + corner.kappa;
                let log_accept = tilted.log_factor(proposal.theta) + tilted.kappa() - log_bound;
                if log_accept > 1e-6 {
                    let why =
                        format!("the drift turned back between times {now} and {}; use shorter steps", now + window);
                    return Err(Error::Numerical { what: "thinning", why });
                }
                if rng.random::<f64>() < log_accept.exp() {
                    break Some((at, tilted.jump_at(proposal.theta, 1, rng).jump));
                }
            };
            match jump {
                Some((at, jump)) => {
                    x = at + jump;
                    gone += wait;
                    self.path.jumps.push(JumpTime { time: start + gone, jump });
                }
                None => {
                    x = ahead;
                    // The last window ends the step exactly.
                    gone = if window == dt - gone { dt } else { gone + window };
                }
            }
        }
        Ok(x)
    }

    /// How far ahead one bound is good enough: length, state there, and bound.
    fn window(
        &self,
        potential: Quadratic,
        now: f64,
        left: f64,
        x: f64,
        flow: &dyn Fn(f64, f64, f64) -> f64,
    ) -> (f64, f64, Corner) {
        let mut window = left;
        for halvings in 0.. {
            let ahead = flow(now, window, x);
            let (corner, change) = self.process.corner(potential, x, ahead);
            let close = change <= KAPPA_CHANGE && corner.u_pull <= U_CHANGE * corner.u_width;
            if close || halvings == MOST_HALVINGS {
                return (window, ahead, corner);
            }
            window *= 0.5;
        }
        unreachable!("the loop above has no end but its return")
    }
}
