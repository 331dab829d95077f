//! A trained potential: networks in their frame, and the slopes of the bound in their parameters.

use super::gradient::{BoundGradient, bound_gradient};
use crate::posterior::Potentials;
use crate::potential::Quadratic;
use crate::potential::neural::{Evaluation, Frame, NeuralPotential};
use crate::solve::robust::from_natural;
use crate::{Chain, Result};

/// A trained potential: networks, their frame, and how the bound climbed.
#[derive(Debug, Clone, PartialEq)]
pub struct Trained {
    /// The networks.
    pub potential: NeuralPotential,
    /// Centre and unit of their message.
    pub frame: Frame,
    /// The bound before every iteration.
    pub trace: Vec<f64>,
}

/// Points that stand for the whole span.
const FINE: usize = 20_000;

impl Trained {
    /// The potentials at the times of a chain, which need not be those of the training.
    pub fn potentials(&self, chain: &Chain) -> Result<Potentials> {
        let all = self.quadratics(chain, &self.potential.evaluate(chain.times()).coefficients)?;
        Ok(all.into_iter().map(|column| column.into_iter().map(Into::into).collect()).collect())
    }

    /// The message from the networks times the observation, per dimension and time.
    fn quadratics(&self, chain: &Chain, coefficients: &[Vec<[f64; 2]>]) -> Result<Vec<Vec<Quadratic>>> {
        let one = |i: usize, j: usize| {
            let [a, b] = coefficients[j][i];
            let (centre, unit) = self.frame.at(i, chain.times()[j]);
            let (a, b) = (a / (unit * unit), b / unit);
            // −a(x − m)² + b(x − m) has the natural parameters a and a·m + b/2.
            let pull = a * centre + 0.5 * b;
            let Some((firmness, y)) = chain.observation(i, j) else { return from_natural(a, pull) };
            // A softer observation than the frame was made for cannot give all of it.
            let [softer, around] = self.frame.taken(i, chain.times()[j]);
            let softer = softer.min(firmness);
            from_natural(a + firmness - softer, pull + firmness * y - softer * around)
        };
        (0..chain.dim()).map(|i| (0..chain.len()).map(|j| one(i, j)).collect()).collect()
    }

    /// How crowded the reference times are within `reach` of some `times`: their share there over that of the span, so
    /// that evenly spaced references give 1.
    pub fn crowding(&self, times: &[f64], reach: f64) -> f64 {
        let (start, end) = self.potential.spec().span;
        let near = |t: f64| times.iter().any(|other| (t - other).abs() <= reach);
        let share = |all: &[f64]| all.iter().filter(|t| near(**t)).count() as f64 / all.len() as f64;
        let even: Vec<f64> = (0..FINE).map(|k| start + (end - start) * (k as f64 + 0.5) / FINE as f64).collect();
        share(&self.potential.reference_times()) / share(&even)
    }

    /// The bound of `paths` paths, and its slopes in all parameters of the networks.
    pub fn gradient(&self, chain: &Chain, paths: usize, seed: u64) -> Result<(BoundGradient, Vec<f32>)> {
        let evaluation = self.potential.evaluate(chain.times());
        let potentials = self.quadratics(chain, &evaluation.coefficients)?;
        let found = bound_gradient(chain, &potentials, paths, seed)?;
        let slopes = self.pull_back(chain, &evaluation, &potentials, &found.potentials);
        Ok((found, slopes))
    }

    /// Slopes in all parameters of the networks, given those in a and c of every potential, by dimension and time.
    pub fn slopes(&self, chain: &Chain, by_potential: &[Vec<[f64; 2]>]) -> Result<Vec<f32>> {
        let evaluation = self.potential.evaluate(chain.times());
        let potentials = self.quadratics(chain, &evaluation.coefficients)?;
        Ok(self.pull_back(chain, &evaluation, &potentials, by_potential))
    }

    fn pull_back(
        &self,
        chain: &Chain,
        evaluation: &Evaluation<f32>,
        potentials: &[Vec<Quadratic>],
        by_potential: &[Vec<[f64; 2]>],
    ) -> Vec<f32> {
        let one = |i: usize, j: usize| {
            let (q, [by_a, by_c]) = (potentials[i][j], by_potential[i][j]);
            let (centre, unit) = self.frame.at(i, chain.times()[j]);
            // c = (a_net·m + b/2 + …)/a
            let by_firmness = by_a + by_c * (centre - q.c()) / q.a();
            [by_firmness / (unit * unit), 0.5 * by_c / q.a() / unit]
        };
        let slopes: Vec<Vec<[f64; 2]>> =
            (0..chain.len()).map(|j| (0..chain.dim()).map(|i| one(i, j)).collect()).collect();
        self.potential.gradient(evaluation, &slopes)
    }
}
