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
//! A fixed prior of o leaves a slope that leans by an amount per series that more series do not lessen; where nothing is pooled and
//! there are hundreds of series, [`lean()`] measures it on simulated records and the last step takes it off.
//!
//! A pooled parameter is each series' own on its free scale, u ~ N(m, τ²), and m and ln τ are learned in place of s, with
//! slopes E[u − m]/τ² and E[(u − m)²]/τ² − 1. The spread has the prior τ e^{−τ/A}, A the standard deviation of the parameter's
//! usual prior, which keeps τ from 0 (Chung and others 2013).

mod before;
mod lean;
mod scores;
mod series;
mod share;

pub use before::LearnedBefore;
pub use share::{Share, Shared};

use super::climb::{Point, Surface, definite};
use super::exact_learn::{LONGEST, information_at, unfinished};
use super::parameters::{Parameter, Transform};
use crate::context::{Context, Progress};
use crate::series::TimeGrid;
use crate::{Error, Result, StateSpace};
use lean::lean;
use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;
use scores::{product, sure};
use series::{Series, Stand};
use share::{SharedParameter, first, shared_parameters, watched};

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
    /// Per series, its own parameters given what is shared; nothing for one that could not be used.
    pub own: Vec<Option<LearnedBefore>>,
    /// Sum over series of the log evidence, own parameters integrated out.
    pub log_evidence: f64,
    /// Series that could not be used, and why.
    pub failures: Vec<(usize, Error)>,
    pub iterations: usize,
    pub warnings: Vec<String>,
}

/// The sum over series as a function of what they share.
struct Panel<'a> {
    /// With their numbers among all.
    series: Vec<(usize, Series<'a>)>,
    common: Vec<SharedParameter>,
    /// As watchers see them.
    parameters: Vec<Parameter>,
    most: usize,
    context: &'a Context,
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
    let series = members.iter().enumerate().filter_map(|(i, member)| match Series::new(member, &common) {
        Ok(one) => Some((i, one)),
        Err(error) => {
            failures.push((i, error));
            None
        }
    });
    let (series, parameters) = (series.collect(), watched(&common, &first));
    let panel = Panel { series, parameters, common, most, context };
    let (search, top, rough) = panel.search(first, &mut failures)?;
    failures.sort_by_key(|(i, _)| *i);
    let mut warnings: Vec<String> = unfinished(&search).into_iter().collect();
    let information = match sure(&search.memory) {
        true => rough,
        false => information_at(&search, &top, rough, &mut warnings)?.0,
    };
    let n = top.free.len();
    let mut covariance = definite(&information).try_inverse().unwrap_or_else(|| DMatrix::zeros(n, n));
    let (mut free, last) = (top.free.clone(), &covariance * &top.slope);
    if last.dot(&top.slope) < 0.25 {
        free += last;
    }
    let Panel { series, common, .. } = &search.surface;
    if sure(&search.memory) && !search.stopped && common.iter().all(|shared| !shared.pooled) {
        match lean(series, &search.memory, &top.free, common) {
            Some(lean) => {
                free -= &covariance * lean.sum;
                covariance += &covariance * lean.covariance * &covariance;
            }
            None => warnings.push(
                "too few series could be simulated at what was found: the bias of the shared parameters is not corrected".into(),
            ),
        }
    }
    let mut own: Vec<Option<LearnedBefore>> = members.iter().map(|_| None).collect();
    for ((i, one), stand) in series.iter().zip(&search.memory) {
        own[*i] = Some(one.learned(stand, &free, common));
    }
    let shared = common.iter().map(|shared| shared.shared(&free, &covariance)).collect();
    let (log_evidence, iterations) = (top.log_evidence, search.iterations);
    Ok(PanelLearned { shared, own, log_evidence, failures, iterations, warnings })
}

impl<'a> Panel<'a> {
    /// Evaluate all series, numbered from 0, for the first time with `begin`; those that cannot be are listed and left out.
    fn begin(
        &mut self,
        failures: &mut Vec<(usize, Error)>,
        begin: impl Fn(usize, &Series<'a>, &[SharedParameter]) -> Result<Stand> + Sync,
    ) -> Vec<Stand> {
        let one = |(k, (_, one)): (usize, &(usize, Series<'a>))| begin(k, one, &self.common);
        let tried: Vec<Result<Stand>> = self.series.par_iter().enumerate().map(one).collect();
        let (mut series, mut stands) = (Vec::new(), Vec::new());
        for (one, tried) in self.series.drain(..).zip(tried) {
            match tried {
                Ok(stand) => {
                    series.push(one);
                    stands.push(stand);
                }
                Err(error) => failures.push((one.0, error)),
            }
        }
        self.series = series;
        stands
    }

    /// All series at `free`, each from where it stood.
    fn evaluate(&self, free: &DVector<f64>, stands: &[Stand]) -> Result<Vec<Stand>> {
        let one = |((_, series), stand): (&(usize, Series), &Stand)| match stand.is_at(free) {
            true => Ok(stand.clone()),
            false => series.evaluate(free, &self.common, stand),
        };
        self.series.par_iter().zip(stands.par_iter()).map(one).collect()
    }

    /// The sum over `stands`, which are all at `free`, with the prior.
    fn sum(&self, free: DVector<f64>, stands: &[Stand]) -> Result<Point> {
        let (mut log_evidence, mut slope) = (0.0, DVector::zeros(free.len()));
        for stand in stands {
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
        Ok(Point { free, log_evidence, value, slope, by_all: Vec::new() })
    }
}

impl Surface for Panel<'_> {
    type Memory = Vec<Stand>;

    fn at(&self, free: DVector<f64>, stands: &mut Vec<Stand>) -> Result<Point> {
        let next = self.evaluate(&free, stands)?;
        let point = self.sum(free, &next)?;
        *stands = next;
        Ok(point)
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

    fn known_information(&self, stands: &Vec<Stand>) -> Option<DMatrix<f64>> {
        product(stands)
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
    use crate::context::SILENT;
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
            let series: Vec<_> = members.iter().map(|m| Series::new(m, &common).unwrap()).enumerate().collect();
            let begin = |one: &(usize, Series)| one.1.begin(&DVector::from_vec(free.clone()), &common).unwrap();
            let stands: Vec<_> = series.iter().map(begin).collect();
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
