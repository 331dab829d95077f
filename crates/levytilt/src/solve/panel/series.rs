//! One series of a panel: its log evidence at given shared numbers, with its own parameters integrated out by Laplace's method.

use super::super::climb::{Climber, Point, Surface, definite};
use super::super::exact_learn::{Posterior, ascend};
use super::super::parameters::{Parameter, Prior};
use super::Member;
use super::before::LearnedBefore;
use super::share::SharedParameter;
use crate::context::SILENT;
use crate::exact::follow::Memory;
use crate::series::TimeGrid;
use crate::{Error, Result};
use nalgebra::{DMatrix, DVector};
use std::f64::consts::TAU;

/// Way to go of a series' own parameters, in standard errors; what is left is corrected for.
pub(super) const OWN_CLOSE: f64 = 0.03;
/// Most steps of a series' own parameters at one place.
pub(super) const OWN_STEPS: usize = 30;

/// A series and what is learned of it.
pub(super) struct Series<'a> {
    pub posterior: Posterior<'a>,
    pub data: (&'a TimeGrid, &'a [f64]),
    /// SharedParameter of each shared parameter among those of the series.
    pub shared: Vec<usize>,
}

/// Where a series stood at the last evaluation.
#[derive(Clone)]
pub(super) struct Stand {
    windows: Memory,
    pub own: DVector<f64>,
    pub information: DMatrix<f64>,
    /// ∂ô/∂shared.
    pub drag: DMatrix<f64>,
    /// From the maximum over the own parameters to the mean of their law.
    shift: DVector<f64>,
    shared: DVector<f64>,
    pub value: f64,
    pub slope: DVector<f64>,
    /// The slope without what third derivatives add to it.
    pub plain: DVector<f64>,
}

impl Stand {
    /// Whether it is at these shared numbers.
    pub fn is_at(&self, free: &DVector<f64>) -> bool {
        self.shared == *free
    }
}

impl<'a> Series<'a> {
    pub fn new(member: &'a Member<'a>, common: &[SharedParameter]) -> Result<Self> {
        let data = (member.grid, member.values);
        let posterior = Posterior::new(&member.model, &member.parameters, data, OWN_STEPS, &SILENT)?;
        let find = |shared: &SharedParameter| member.parameters.iter().position(|p| p.name == shared.name && !p.fixed);
        let missing = |shared: &SharedParameter| Error::Series {
            place: format!("shared parameter {}", shared.name),
            problem: "this series does not learn it".into(),
        };
        let shared = common.iter().map(|p| find(p).ok_or_else(|| missing(p))).collect::<Result<_>>()?;
        Ok(Self { posterior, data, shared })
    }

    /// The parameters of the series if the shared numbers are `free`.
    pub fn parameters(&self, free: &DVector<f64>, common: &[SharedParameter]) -> Vec<Parameter> {
        let mut parameters = self.posterior.parameters().to_vec();
        for (shared, &i) in common.iter().zip(&self.shared) {
            match shared.law(free) {
                Some(law) => parameters[i].prior = Some(law),
                None => {
                    (parameters[i].value, parameters[i].fixed) = (shared.transform.backward(free[shared.first]), true)
                }
            }
        }
        parameters
    }

    /// The first evaluation.
    pub fn begin(&self, free: &DVector<f64>, common: &[SharedParameter]) -> Result<Stand> {
        let posterior = self.posterior.with(self.parameters(free, common));
        if posterior.moving().is_empty() {
            return self.given(posterior, free, common, Memory::default());
        }
        let (search, top, rough) = ascend(posterior, self.data)?;
        self.stand(&search, (top, rough), free, common)
    }

    /// The first evaluation with plain slopes only, and an information that is that of the search: to begin from.
    pub fn reach(&self, free: &DVector<f64>, common: &[SharedParameter]) -> Result<Stand> {
        let posterior = self.posterior.with(self.parameters(free, common));
        if posterior.moving().is_empty() {
            return self.given(posterior, free, common, Memory::default());
        }
        let (search, top, rough) = ascend(posterior, self.data)?;
        let (n, information) = (top.free.len(), definite(&rough));
        let covariance = information.clone().try_inverse().ok_or_else(singular)?;
        let mut slope = DVector::zeros(free.len());
        for (shared, &i) in common.iter().zip(&self.shared) {
            match shared.law(free) {
                None => slope[shared.first] = top.by_all[i],
                Some(law) => {
                    let k = own_index(&search.surface, i);
                    let slopes = by_law(law, top.free[k] - law.mean, 0.0, covariance[(k, k)]);
                    slope.rows_mut(shared.first, 2).copy_from_slice(&slopes);
                }
            }
        }
        Ok(Stand {
            windows: search.memory,
            own: top.free,
            information,
            drag: DMatrix::zeros(n, free.len()),
            shift: DVector::zeros(n),
            shared: free.clone(),
            value: top.value,
            plain: slope.clone(),
            slope,
        })
    }

    /// An evaluation near an earlier one.
    pub fn evaluate(&self, free: &DVector<f64>, common: &[SharedParameter], stand: &Stand) -> Result<Stand> {
        let posterior = self.posterior.with(self.parameters(free, common));
        if posterior.moving().is_empty() {
            return self.given(posterior, free, common, stand.windows.clone());
        }
        let begin = &stand.own + &stand.drag * (free - &stand.shared);
        let mut information = stand.information.clone();
        for (shared, &i) in common.iter().zip(&self.shared) {
            if let (Some(now), Some(before)) = (shared.law(free), shared.law(&stand.shared)) {
                let k = own_index(&posterior, i);
                information[(k, k)] += now.std.powi(-2) - before.std.powi(-2);
            }
        }
        let mut search = Climber::new(posterior, OWN_STEPS);
        search.memory = stand.windows.clone();
        search.close = OWN_CLOSE;
        let found = search.climb(begin, Some(information))?;
        self.stand(&search, found, free, common)
    }

    /// The evaluation of a series that has no parameters of its own.
    fn given(
        &self,
        posterior: Posterior,
        free: &DVector<f64>,
        common: &[SharedParameter],
        mut windows: Memory,
    ) -> Result<Stand> {
        let point = posterior.at(DVector::zeros(0), &mut windows)?;
        let mut slope = DVector::zeros(free.len());
        common.iter().zip(&self.shared).for_each(|(shared, &i)| slope[shared.first] = point.by_all[i]);
        let (own, shift, information) = (DVector::zeros(0), DVector::zeros(0), DMatrix::zeros(0, 0));
        let (drag, plain) = (DMatrix::zeros(0, free.len()), slope.clone());
        Ok(Stand { windows, own, information, drag, shift, shared: free.clone(), value: point.value, slope, plain })
    }

    /// Laplace's method at the maximum over the series' own parameters.
    pub fn stand(
        &self,
        search: &Climber<Posterior>,
        (top, rough): (Point, DMatrix<f64>),
        free: &DVector<f64>,
        common: &[SharedParameter],
    ) -> Result<Stand> {
        let posterior = &search.surface;
        let n = top.free.len();
        let sides = search.sides(&top, &rough)?.ok_or_else(singular)?;
        let information = definite(&sides.information());
        let factor = information.clone().cholesky().ok_or_else(singular)?;
        let covariance = factor.inverse();
        let bend = sides.bend(|point| point.slope.clone());
        let by_shared =
            |point: &Point| DVector::from_iterator(self.shared.len(), self.shared.iter().map(|&i| point.by_all[i]));
        let (cross, bend_shared) = (sides.falls(by_shared), sides.bend(by_shared));
        let last = &covariance * &top.slope;
        let shift = 0.5 * &covariance * &bend;
        let priors = posterior.moving().iter().filter_map(|&i| posterior.parameters()[i].prior);
        let constants: f64 = priors.map(|prior| -prior.std.ln() - 0.5 * TAU.ln()).sum();
        let half_determinant: f64 = factor.l().diagonal().iter().map(|d| d.ln()).sum();
        // The last Newton step is not taken but allowed for.
        let rest = 0.5 * last.dot(&top.slope) + 0.5 * bend.dot(&last);
        let value = top.value + constants + 0.5 * n as f64 * TAU.ln() - half_determinant + rest;
        let own = &top.free + &last;
        let (mut slope, mut plain) = (DVector::zeros(free.len()), DVector::zeros(free.len()));
        let mut drag = DMatrix::zeros(n, free.len());
        for (j, (shared, &i)) in common.iter().zip(&self.shared).enumerate() {
            match shared.law(free) {
                None => {
                    let cross = cross.row(j).transpose();
                    plain[shared.first] = top.by_all[i] - cross.dot(&last);
                    slope[shared.first] = plain[shared.first] + 0.5 * bend_shared[j] - cross.dot(&shift);
                    drag.set_column(shared.first, &(-(&covariance * cross)));
                }
                Some(law) => {
                    let k = own_index(posterior, i);
                    let (away, precision) = (own[k] - law.mean, law.std.powi(-2));
                    let slopes = |lean: f64| by_law(law, away, lean, covariance[(k, k)]);
                    plain.rows_mut(shared.first, 2).copy_from_slice(&slopes(0.0));
                    slope.rows_mut(shared.first, 2).copy_from_slice(&slopes(shift[k]));
                    drag.set_column(shared.first, &(covariance.column(k) * precision));
                    drag.set_column(shared.first + 1, &(covariance.column(k) * (2.0 * away * precision)));
                }
            }
        }
        let windows = search.memory.clone();
        Ok(Stand { windows, own, information, drag, shift, shared: free.clone(), value, slope, plain })
    }

    /// What is known of its own parameters where the shared numbers are `free`, close to where it stands.
    pub fn learned(&self, stand: &Stand, free: &DVector<f64>, common: &[SharedParameter]) -> LearnedBefore {
        let posterior = self.posterior.with(self.parameters(free, common));
        let own = &stand.own + &stand.drag * (free - &stand.shared);
        let n = own.len();
        let covariance = match n {
            0 => DMatrix::zeros(0, 0),
            _ => definite(&stand.information).try_inverse().unwrap_or_else(|| DMatrix::zeros(n, n)),
        };
        LearnedBefore {
            values: posterior.values(&own),
            covariance: covariance.iter().copied().collect(),
            shift: stand.shift.iter().copied().collect(),
        }
    }
}

/// SharedParameter among the parameters that move of parameter `i`, which does.
fn own_index(posterior: &Posterior, i: usize) -> usize {
    posterior.moving().iter().filter(|&&k| k < i).count()
}

/// Slopes in the mean and in the logarithm of the spread of the law of a pooled parameter, whose own law has its maximum `away`
/// from the mean, its mean by `lean` further, and this variance.
fn by_law(law: Prior, away: f64, lean: f64, variance: f64) -> [f64; 2] {
    let precision = law.std.powi(-2);
    [(away + lean) * precision, (away * away + 2.0 * lean * away + variance) * precision - 1.0]
}

fn singular() -> Error {
    Error::Numerical {
        what: "learning",
        why: "the information of the series' own parameters is singular; fix some of them".into(),
    }
}
