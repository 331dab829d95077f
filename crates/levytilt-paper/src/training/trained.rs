//! Hold a trained potential: networks in their frame, and the gradient of the ELBO in their parameters.

use super::gradient::{BoundGradient, bound_gradient};
use super::local_frame::LocalFrame;
use crate::potential::{Evaluation, Frame, NeuralPotential};
use levytilt::Result;
use levytilt::internals::Chain;
use levytilt::internals::posterior::Potentials;
use levytilt::internals::potential::{GaussianSum, Potential};

/// A trained potential: networks, their frame, and the history of the ELBO.
#[derive(Debug, Clone, PartialEq)]
pub struct Trained {
    /// The networks.
    pub potential: NeuralPotential,
    /// Centre and unit of their message.
    pub frame: Frame,
    /// The ELBO before every iteration.
    pub trace: Vec<f64>,
}

/// Points that stand for the whole span.
const FINE: usize = 20_000;

impl Trained {
    /// The potentials at the times of a chain, which need not be those of the training.
    pub fn potentials(&self, chain: &Chain) -> Result<Potentials> {
        self.said(chain, &self.potential.evaluate(chain.times()).coefficients)
    }

    /// The message from the networks times the observation, per dimension and time.
    fn said(&self, chain: &Chain, coefficients: &[Vec<Vec<[f64; 3]>>]) -> Result<Potentials> {
        let one = |i: usize, j: usize| -> Result<Potential> {
            let local = LocalFrame::new(&self.frame, chain, i, j);
            let bumps: Vec<_> = coefficients[j][i].iter().map(|&said| local.bump(said)).collect::<Result<_>>()?;
            Ok(match bumps[..] {
                [(_, only)] => only.into(),
                _ => GaussianSum::new(bumps)?.into(),
            })
        };
        (0..chain.dim()).map(|i| (0..chain.len()).map(|j| one(i, j)).collect()).collect()
    }

    /// Relative density of the reference times within `reach` of some `times`: their share there over that of the span,
    /// so that evenly spaced references give 1.
    pub fn crowding(&self, times: &[f64], reach: f64) -> f64 {
        let (start, end) = self.potential.spec().span;
        let near = |t: f64| times.iter().any(|other| (t - other).abs() <= reach);
        let share = |all: &[f64]| all.iter().filter(|t| near(**t)).count() as f64 / all.len() as f64;
        let even: Vec<f64> = (0..FINE).map(|k| start + (end - start) * (k as f64 + 0.5) / FINE as f64).collect();
        share(&self.potential.reference_times()) / share(&even)
    }

    /// The ELBO of `paths` paths, and its gradient in all parameters of the networks.
    pub fn gradient(&self, chain: &Chain, paths: usize, seed: u64) -> Result<(BoundGradient, Vec<f32>)> {
        let evaluation = self.potential.evaluate(chain.times());
        let potentials = self.said(chain, &evaluation.coefficients)?;
        let found = bound_gradient(chain, &potentials, paths, seed)?;
        let slopes = self.pull_back(chain, &evaluation, &potentials, &found.potentials);
        Ok((found, slopes))
    }

    /// Gradient in all parameters of the networks, given that in ln π, a and c, by dimension, time and component.
    pub fn slopes(&self, chain: &Chain, by_potential: &[Vec<Vec<[f64; 3]>>]) -> Result<Vec<f32>> {
        let evaluation = self.potential.evaluate(chain.times());
        let potentials = self.said(chain, &evaluation.coefficients)?;
        Ok(self.pull_back(chain, &evaluation, &potentials, by_potential))
    }

    fn pull_back(
        &self,
        chain: &Chain,
        evaluation: &Evaluation<f32>,
        potentials: &Potentials,
        by_potential: &[Vec<Vec<[f64; 3]>>],
    ) -> Vec<f32> {
        let one = |i: usize, j: usize| -> Vec<[f64; 3]> {
            let local = LocalFrame::new(&self.frame, chain, i, j);
            let bumps = potentials[i][j].bumps().into_iter().zip(&by_potential[i][j]);
            let said = evaluation.coefficients[j][i].iter();
            said.zip(bumps).map(|(&said, ((_, bump), &slopes))| local.pull_back(said, bump, slopes)).collect()
        };
        let slopes: Vec<Vec<Vec<[f64; 3]>>> =
            (0..chain.len()).map(|j| (0..chain.dim()).map(|i| one(i, j)).collect()).collect();
        self.potential.gradient(evaluation, &slopes)
    }
}
