//! Learn what several series have in common on the sum of their evidences.
//!
//! A series has parameters o of its own and shared ones s. With o integrated out by Laplace's method its log evidence is
//!
//! m(s) = ℓ(s, ô) + ln π(ô) + (n/2) ln 2π − ½ ln det I,  ô the maximum over o and I the information there;
//!
//! these add up over series. The term with I is what keeps many short series from pulling s away (Neyman and Scott 1948). The
//! slope is ∂ℓ/∂s + ½ Σ T_sab C_ab − cross·shift, with C = I⁻¹, the third derivatives T, cross = −∂²ℓ/∂s∂o and the shift of
//! the mean of o from its maximum: all of it from the slopes that give the information.
//!
//! A pooled parameter is each series' own on its free scale, u ~ N(m, τ²), and m and ln τ are learned in place of s, with
//! slopes E[u − m]/τ² and E[(u − m)²]/τ² − 1. The spread has the prior τ e^{−τ/A}, A the standard deviation of the parameter's
//! usual prior, which keeps τ from 0 (Chung and others 2013).

mod share;

pub use share::{Share, Shared};

use super::climb::{Climber, Point, Surface, definite};
use super::exact_learn::{LONGEST, Posterior, ascend, information_at, unfinished};
use super::parameters::{Parameter, Transform};
use crate::context::{Context, Progress, SILENT};
use crate::exact::follow::Memory;
use crate::series::TimeGrid;
use crate::{Error, Result, StateSpace};
use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;
use share::{SharedParameter, first, shared_parameters, watched};
use std::f64::consts::TAU;

/// Way to go of a series' own parameters, in standard errors; what is left is corrected for.
const OWN_CLOSE: f64 = 0.03;
/// Most steps of a series' own parameters at one place.
const OWN_STEPS: usize = 30;
/// Series per shared number from which products of their slopes tell the information.
const MANY: usize = 10;
/// One of several series, with a model to start from.
#[derive(Debug)]
pub(crate) struct Member<'a> {
    pub model: StateSpace,
    pub parameters: Vec<Parameter>,
    pub grid: &'a TimeGrid,
    pub values: &'a [f64],
}

/// What was learned from all series together.
#[derive(Debug)]
pub(crate) struct PanelLearned {
    pub shared: Vec<Shared>,
    /// Sum over series of the log evidence, own parameters integrated out.
    pub log_evidence: f64,
    /// Series that could not be used, and why.
    pub failures: Vec<(usize, Error)>,
    pub iterations: usize,
    pub warnings: Vec<String>,
}

/// The sum over series as a function of what they share.
struct Panel<'a> {
    series: Vec<Series<'a>>,
    common: Vec<SharedParameter>,
    /// As watchers see them.
    parameters: Vec<Parameter>,
    most: usize,
    context: &'a Context,
}

struct Series<'a> {
    posterior: Posterior<'a>,
    data: (&'a TimeGrid, &'a [f64]),
    /// Index of each shared parameter among those of the series.
    shared: Vec<usize>,
}

/// Where a series stood at the last evaluation.
#[derive(Clone)]
struct Stand {
    windows: Memory,
    own: DVector<f64>,
    information: DMatrix<f64>,
    /// ∂ô/∂shared.
    drag: DMatrix<f64>,
    shared: DVector<f64>,
    value: f64,
    slope: DVector<f64>,
}

/// Learn what `members` share, in at most `most` steps.
///
/// # Errors
/// A shared parameter that a series does not have or that is given a value; no series that can be used.
pub(crate) fn learn_panel(
    members: &[Member],
    shares: &[Share],
    most: usize,
    context: &Context,
) -> Result<PanelLearned> {
    let common = shared_parameters(members, shares)?;
    let first = first(members, &common);
    let mut failures = Vec::new();
    let tried: Vec<Result<(Series, Stand)>> =
        members.par_iter().map(|member| Series::new(member, &common).and_then(|s| s.begin(&first, &common))).collect();
    let (mut series, mut stands) = (Vec::new(), Vec::new());
    for (i, tried) in tried.into_iter().enumerate() {
        match tried {
            Ok((one, stand)) => {
                series.push(one);
                stands.push(stand);
            }
            Err(error) => failures.push((i, error)),
        }
    }
    if series.is_empty() {
        return Err(failures.swap_remove(0).1);
    }
    let panel = Panel { series, parameters: watched(&common, &first), common, most, context };
    let mut search = Climber { memory: stands, ..Climber::new(panel, most) };
    let (mut top, rough) = search.climb(first, None)?;
    let mut warnings: Vec<String> = unfinished(&search).into_iter().collect();
    let (information, _) = information_at(&search, &top, rough, &mut warnings)?;
    let n = top.free.len();
    let covariance = definite(&information).try_inverse().unwrap_or_else(|| DMatrix::zeros(n, n));
    let last = &covariance * &top.slope;
    if last.dot(&top.slope) < 0.25 {
        top.free += last;
    }
    let shared = search.surface.common.iter().map(|shared| shared.shared(&top.free, &covariance)).collect();
    let log_evidence = top.log_evidence;
    Ok(PanelLearned { shared, log_evidence, failures, iterations: search.iterations, warnings })
}

impl<'a> Series<'a> {
    fn new(member: &'a Member<'a>, common: &[SharedParameter]) -> Result<Self> {
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
    fn parameters(&self, free: &DVector<f64>, common: &[SharedParameter]) -> Vec<Parameter> {
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
    fn begin(self, free: &DVector<f64>, common: &[SharedParameter]) -> Result<(Self, Stand)> {
        let posterior = self.posterior.with(self.parameters(free, common));
        let stand = if posterior.moving().is_empty() {
            self.given(posterior, free, common, Memory::default())?
        } else {
            let (search, top, rough) = ascend(posterior, self.data)?;
            self.stand(&search, (top, rough), free, common)?
        };
        Ok((self, stand))
    }

    /// An evaluation near an earlier one.
    fn evaluate(&self, free: &DVector<f64>, common: &[SharedParameter], stand: &Stand) -> Result<Stand> {
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
        let (own, information) = (DVector::zeros(0), DMatrix::zeros(0, 0));
        let drag = DMatrix::zeros(0, free.len());
        Ok(Stand { windows, own, information, drag, shared: free.clone(), value: point.value, slope })
    }

    /// Laplace's method at the maximum over the series' own parameters.
    fn stand(
        &self,
        search: &Climber<Posterior>,
        (top, rough): (Point, DMatrix<f64>),
        free: &DVector<f64>,
        common: &[SharedParameter],
    ) -> Result<Stand> {
        let posterior = &search.surface;
        let n = top.free.len();
        let singular = || Error::Numerical {
            what: "learning",
            why: "the information of the series' own parameters is singular; fix some of them".into(),
        };
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
        let mut slope = DVector::zeros(free.len());
        let mut drag = DMatrix::zeros(n, free.len());
        for (j, (shared, &i)) in common.iter().zip(&self.shared).enumerate() {
            match shared.law(free) {
                None => {
                    let cross = cross.row(j).transpose();
                    slope[shared.first] = top.by_all[i] + 0.5 * bend_shared[j] - cross.dot(&(&last + &shift));
                    drag.set_column(shared.first, &(-(&covariance * cross)));
                }
                Some(law) => {
                    let k = own_index(posterior, i);
                    let (away, precision) = (own[k] - law.mean, law.std.powi(-2));
                    slope[shared.first] = (away + shift[k]) * precision;
                    let square = away * away + 2.0 * shift[k] * away + covariance[(k, k)];
                    slope[shared.first + 1] = square * precision - 1.0;
                    drag.set_column(shared.first, &(covariance.column(k) * precision));
                    drag.set_column(shared.first + 1, &(covariance.column(k) * (2.0 * away * precision)));
                }
            }
        }
        Ok(Stand { windows: search.memory.clone(), own, information, drag, shared: free.clone(), value, slope })
    }
}

/// Index of parameter `i`, which moves, among the parameters that move.
fn own_index(posterior: &Posterior, i: usize) -> usize {
    posterior.moving().iter().filter(|&&k| k < i).count()
}

impl Surface for Panel<'_> {
    type Memory = Vec<Stand>;

    fn at(&self, free: DVector<f64>, stands: &mut Vec<Stand>) -> Result<Point> {
        let same = |stand: &Stand| stand.shared == free;
        let one = |(series, stand): (&Series, &Stand)| match same(stand) {
            true => Ok(stand.clone()),
            false => series.evaluate(&free, &self.common, stand),
        };
        let next = self.series.par_iter().zip(stands.par_iter()).map(one).collect::<Result<Vec<_>>>()?;
        let (mut log_evidence, mut slope) = (0.0, DVector::zeros(free.len()));
        for stand in &next {
            log_evidence += stand.value;
            slope += &stand.slope;
        }
        let mut value = log_evidence;
        self.common.iter().for_each(|shared| shared.add_prior(&free, &mut value, &mut slope));
        if !(value.is_finite() && slope.iter().all(|s| s.is_finite())) {
            return Err(Error::Numerical {
                what: "learning",
                why: "the sum of log evidences or its gradient is not finite at these shared parameters".into(),
            });
        }
        *stands = next;
        Ok(Point { free, log_evidence, value, slope, by_all: Vec::new() })
    }

    fn small(&self, k: usize) -> f64 {
        match self.common.iter().find(|shared| shared.first == k) {
            Some(SharedParameter { transform: Transform::Identity, wide, .. }) => 1e-2 * wide,
            _ => 0.03,
        }
    }

    fn longest(&self, k: usize) -> f64 {
        match self.common.iter().find(|shared| shared.first == k) {
            Some(SharedParameter { transform: Transform::Identity, wide, .. }) => *wide,
            _ => LONGEST,
        }
    }

    /// Sum over series of the products of their slopes, from which that of their mean is taken off.
    fn known_information(&self, stands: &Vec<Stand>) -> Option<DMatrix<f64>> {
        let n = stands.first()?.slope.len();
        if stands.len() < MANY * n {
            return None;
        }
        let mean = stands.iter().fold(DVector::zeros(n), |sum, stand| sum + &stand.slope) / stands.len() as f64;
        let product = |stand: &Stand| (&stand.slope - &mean) * (&stand.slope - &mean).transpose();
        Some(stands.iter().fold(DMatrix::zeros(n, n), |sum, stand| sum + product(stand)))
    }

    fn tell(&self, point: &Point, iteration: usize) -> bool {
        let values: Vec<f64> =
            self.parameters.iter().zip(point.free.iter()).map(|(p, &u)| p.transform.backward(u)).collect();
        self.context.tell(&Progress {
            subject: self.context.subject(),
            iteration,
            most: self.most,
            part: false,
            elbo: point.log_evidence,
            elbo_std_error: 0.0,
            parts: None,
            parameters: &self.parameters,
            values: &values,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::Ou;
    use crate::noise::Stable;
    use crate::solve::Prior;
    use crate::solve::parameters;
    use crate::{Start, simulate};

    /// The slope of the sum is that of its value, for a shared parameter and for a pooled one.
    #[test]
    fn identity_slopes_are_those_of_the_sum() {
        let times: Vec<f64> = (0..40).map(|j| 0.1 * f64::from(j)).collect();
        let grid = TimeGrid::new(&times, None).unwrap();
        let model = || {
            let noise = Box::new(Stable::new(1.6, 1.0).unwrap());
            StateSpace::new(Box::new(Ou::new(2.0, 0.0).unwrap()), noise, 0.1, Start::Fixed(0.0)).unwrap()
        };
        let seen: Vec<Vec<f64>> = (1..3).map(|seed| simulate(&model(), &times, seed).unwrap().observations).collect();
        let member = |values: &'static [f64], grid: &'static TimeGrid| {
            let mut all = parameters(&model());
            for p in &mut all {
                p.fixed = ["theta", "observation_std"].contains(&p.name.as_str());
                p.prior = Some(Prior { mean: p.transform.forward(p.value), std: 1.0 });
            }
            Member { model: model(), parameters: all, grid, values }
        };
        let grid: &'static TimeGrid = Box::leak(Box::new(grid));
        let members: Vec<Member> = seen.into_iter().map(|values| member(values.leak(), grid)).collect();
        for (pooled, free) in [(false, vec![1.2]), (true, vec![1.2, -0.7])] {
            let common = shared_parameters(&members, &[Share { name: "alpha".into(), pooled }]).unwrap();
            let begin = |m| Series::new(m, &common).unwrap().begin(&DVector::from_vec(free.clone()), &common).unwrap();
            let (series, stands): (Vec<_>, Vec<_>) = members.iter().map(begin).unzip();
            let panel = Panel { series, parameters: Vec::new(), common, most: 30, context: &SILENT };
            for k in 0..free.len() {
                let at = |step: f64| {
                    let mut free = DVector::from_vec(free.clone());
                    free[k] += step;
                    panel.at(free, &mut stands.clone()).unwrap()
                };
                let step = 0.1;
                let expected = (at(step).value - at(-step).value) / (2.0 * step);
                let slope = at(1e-9).slope[k];
                assert!((slope - expected).abs() < 0.02, "pooled {pooled}, number {k}: {slope} {expected}");
            }
        }
    }
}
