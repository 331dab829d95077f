//! Standardise the networks' task: per dimension and time a centre and a unit that are already roughly right.

use super::softplus;
use levytilt::Result;
use levytilt::internals::error::check;
use serde::{Deserialize, Serialize};

/// Centres m and units u at some times, per dimension; straight lines between them.
///
/// The networks' message is −a(x − m)²/u² + b(x − m)/u. With m = 0 and u = 1 it is that of the paper.
///
/// Before a jump the optimal message may have negative precision: it cancels part of the observation there. So where
/// there is an observation a frame may add s(x − n)², with s less than the observation's precision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    times: Vec<f64>,
    centres: Vec<Vec<f64>>,
    units: Vec<Vec<f64>>,
    /// (s, n) by dimension and time; empty if nothing is taken back anywhere.
    #[serde(default)]
    taken: Vec<Vec<[f64; 2]>>,
}

/// Where a frame comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FrameKind {
    /// The paper's: centre 0, unit 1.
    None,
    /// The data joined by straight lines, in units of the observation noise.
    Data,
    /// The message of the robust initialisation.
    Robust,
    /// The message that sweeps found.
    Sweep,
}

impl Frame {
    /// A frame; all lists have a value per time, units are positive.
    pub fn new(times: Vec<f64>, centres: Vec<Vec<f64>>, units: Vec<Vec<f64>>) -> Result<Self> {
        for unit in units.iter().flatten() {
            check("unit", *unit, *unit > 0.0 && unit.is_finite(), "must be positive and finite")?;
        }
        for centre in centres.iter().flatten() {
            check("centre", *centre, centre.is_finite(), "must be finite")?;
        }
        Ok(Self { times, centres, units, taken: Vec::new() })
    }

    /// The same frame with (s, n) taken back from the observations, by dimension and time.
    pub fn taking(self, taken: Vec<Vec<[f64; 2]>>) -> Self {
        Self { taken, ..self }
    }

    /// (s, n) of dimension `i` at time `t`; nothing is taken back where the frame has no time.
    pub fn taken(&self, i: usize, t: f64) -> [f64; 2] {
        let place = self.times.partition_point(|&s| s < t);
        let here = self.times.get(place) == Some(&t);
        self.taken.get(i).filter(|_| here).map_or([0.0; 2], |taken| taken[place])
    }

    /// The unit in which networks with zero output give the message −`a`(x − m)².
    pub fn unit_of(a: f64, least: f64) -> f64 {
        ((least + softplus(0.0)) / a).sqrt()
    }

    /// Centre and unit of dimension `i` at time `t`, level before the first time and after the last.
    pub fn at(&self, i: usize, t: f64) -> (f64, f64) {
        let next = self.times.partition_point(|&s| s < t);
        let (centres, units) = (&self.centres[i], &self.units[i]);
        if next == 0 || next == self.times.len() {
            let end = next.min(self.times.len() - 1);
            return (centres[end], units[end]);
        }
        let (before, after) = (self.times[next - 1], self.times[next]);
        let share = (t - before) / (after - before);
        let between = |v: &[f64]| if share == 1.0 { v[next] } else { (1.0 - share) * v[next - 1] + share * v[next] };
        (between(centres), between(units))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_a_frame_is_met_at_its_times_and_straight_between() {
        let frame = Frame::new(vec![0.0, 1.0, 3.0], vec![vec![1.0, 2.0, 6.0]], vec![vec![0.1, 0.2, 0.4]]).unwrap();
        assert_eq!([frame.at(0, 0.0), frame.at(0, 1.0), frame.at(0, 3.0)], [(1.0, 0.1), (2.0, 0.2), (6.0, 0.4)]);
        assert_eq!(frame.at(0, 2.0), (4.0, 0.5 * 0.2 + 0.5 * 0.4));
        assert_eq!([frame.at(0, -1.0), frame.at(0, 4.0)], [(1.0, 0.1), (6.0, 0.4)]);
        assert!(Frame::new(vec![0.0], vec![vec![0.0]], vec![vec![0.0]]).is_err());
        assert_eq!(frame.taken(0, 1.0), [0.0, 0.0]);
        let frame = frame.taking(vec![vec![[0.0; 2], [0.3, 5.0], [0.0; 2]]]);
        assert_eq!([frame.taken(0, 1.0), frame.taken(0, 1.5), frame.taken(0, 9.0)], [[0.3, 5.0], [0.0; 2], [0.0; 2]]);
    }
}
