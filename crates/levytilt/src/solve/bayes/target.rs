//! The posterior of the parameters as a function of those that are free, and the first law to draw from.

use super::law::SplitT;
use super::mixture::Mixture;
use crate::solve::parameters::{Parameter, rebuild};
use crate::{Error, Result, StateSpace};
use nalgebra::{DMatrix, DVector, SymmetricEigen};
use rayon::prelude::*;

/// Distance from the maximum, in standard errors of an axis, at which its width is first measured.
const APART: f64 = 1.5;
/// Fall of the log posterior at which a width is known well enough; a place that falls less is left for one twice as far.
const FALL: f64 = 0.5;
/// Doublings and halvings of the distance.
const DOUBLINGS: usize = 4;
/// Narrowest and widest side, in standard errors of the axis.
const SIDES: [f64; 2] = [0.2, 10.0];

/// The number under which places are tried before any is drawn.
const FIRST: u64 = u64::MAX;
/// Share of the draws of the first law that are from one this many times as wide.
const WIDER: (f64, f64) = (0.2, 2.0);

/// Log evidence of a model; the number is that of the draw, for random numbers of its own where the evidence is an unbiased
/// estimate.
pub type EvidenceOf<'a> = dyn Fn(&StateSpace, u64) -> Result<f64> + Sync + 'a;

/// A place with its log evidence, and with the log prior added; −∞ where the model cannot be computed.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub free: DVector<f64>,
    pub log_evidence: f64,
    pub log_posterior: f64,
}

/// Log evidence plus log prior.
pub(super) struct Target<'a> {
    model: &'a StateSpace,
    parameters: &'a [Parameter],
    /// Places of the parameters that move.
    pub free: Vec<usize>,
    evidence: &'a EvidenceOf<'a>,
}

impl<'a> Target<'a> {
    pub fn new(model: &'a StateSpace, parameters: &'a [Parameter], evidence: &'a EvidenceOf<'a>) -> Self {
        let free: Vec<usize> = (0..parameters.len()).filter(|&i| !parameters[i].fixed).collect();
        Self { model, parameters, free, evidence }
    }

    /// The place `free` as draw number `k`.
    pub fn at(&self, free: DVector<f64>, k: u64) -> Point {
        let log_evidence = rebuild(self.model, &self.values(&free)).and_then(|model| (self.evidence)(&model, k));
        let log_evidence = log_evidence.ok().filter(|l| l.is_finite()).unwrap_or(f64::NEG_INFINITY);
        Point { log_posterior: log_evidence + self.log_prior(&free), log_evidence, free }
    }

    /// A t law around the maximum with the given covariance, row after row, as wide on each side of its principal axes as the
    /// posterior is there, and some draws from farther out.
    pub fn first_law(&self, covariance: &[f64]) -> Result<Mixture> {
        let n = self.free.len();
        let shape = || Error::Shape {
            what: "covariance of the parameters",
            got: format!("{} entries, or not positive definite", covariance.len()),
            expected: format!("a positive definite {n} by {n} matrix and at least one free parameter"),
        };
        if n == 0 || covariance.len() != n * n || !covariance.iter().all(|entry| entry.is_finite()) {
            return Err(shape());
        }
        let eigen = SymmetricEigen::new(DMatrix::from_row_slice(n, n, covariance));
        if eigen.eigenvalues.min() <= 0.0 {
            return Err(shape());
        }
        let axes = &eigen.eigenvectors * DMatrix::from_diagonal(&eigen.eigenvalues.map(f64::sqrt));
        let start = |&i: &usize| self.parameters[i].transform.forward(self.parameters[i].value);
        let middle = DVector::from_iterator(n, self.free.iter().map(start));
        let top = self.at(middle.clone(), FIRST).log_posterior;
        let widths: Vec<f64> = (0..2 * n)
            .into_par_iter()
            .map(|k| {
                let towards = axes.column(k / 2) * if k % 2 == 0 { -1.0 } else { 1.0 };
                self.width(&middle, towards, top)
            })
            .collect();
        let sides = |times: f64| widths.chunks_exact(2).map(|pair| [times * pair[0], times * pair[1]]).collect();
        let law = SplitT::new(middle.clone(), axes.clone(), sides(1.0)).ok_or_else(shape)?;
        let wide = SplitT::new(middle, axes, sides(WIDER.1)).ok_or_else(shape)?;
        Ok(Mixture::with_wide(law, (WIDER.0, wide)))
    }

    /// Width of the posterior from `middle` along `axis`, in lengths of it: that of a Gaussian with the same fall.
    fn width(&self, middle: &DVector<f64>, axis: DVector<f64>, top: f64) -> f64 {
        let mut apart = APART;
        for _ in 0..DOUBLINGS {
            let fall = top - self.at(middle + &axis * apart, FIRST).log_posterior;
            if fall.is_finite() && fall >= FALL {
                return (apart / (2.0 * fall).sqrt()).clamp(SIDES[0], SIDES[1]);
            }
            // Nothing can be computed that far out, or it does not fall yet.
            apart *= if fall.is_finite() { 2.0 } else { 0.5 };
        }
        apart.clamp(SIDES[0], SIDES[1])
    }

    pub fn values(&self, free: &DVector<f64>) -> Vec<f64> {
        let mut values: Vec<f64> = self.parameters.iter().map(|p| p.value).collect();
        for (&i, &u) in self.free.iter().zip(free.iter()) {
            values[i] = self.parameters[i].transform.backward(u);
        }
        values
    }

    /// Log density of the priors on the free scale.
    fn log_prior(&self, free: &DVector<f64>) -> f64 {
        let one = |(&i, &u): (&usize, &f64)| {
            self.parameters[i].prior.map_or(0.0, |prior| {
                let z = (u - prior.mean) / prior.std;
                -0.5 * z * z - prior.std.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln()
            })
        };
        self.free.iter().zip(free.iter()).map(one).sum()
    }
}
