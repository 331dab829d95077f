//! Fit one kind of model to several series that share parameters.

use super::start::{Beginning, begin};
use super::{Fit, FitOptions, Spec, check_columns, fit};
use crate::error::check;
use crate::series::TimeGrid;
use crate::solve::{LearnedBefore, Member, Share, Shared, learn_panel};
use crate::{Context, Error, Result};
use rayon::prelude::*;
use std::str::FromStr;

/// A series of a panel: its latent times, and one value per observation row, NaN where missing.
#[derive(Debug, Clone)]
pub struct Record {
    /// Latent times.
    pub grid: TimeGrid,
    /// Values observed.
    pub values: Vec<f64>,
}

/// What several series were found to share.
#[derive(Debug)]
pub struct SharedFit {
    /// The shared parameters, in the order asked for.
    pub shared: Vec<Shared>,
    /// Per series, its own parameters given these; nothing for one that took no part.
    pub own: Vec<Option<LearnedBefore>>,
    /// Sum over series of the log evidence at the shared values, with the other parameters integrated out by Laplace's
    /// method.
    pub log_evidence: f64,
    /// Series that took no part, and why.
    pub failures: Vec<(usize, Error)>,
    /// Steps taken.
    pub iterations: usize,
    /// What a careful reader should know, in sentences.
    pub warnings: Vec<String>,
}

/// A model fitted to every series of a panel.
#[derive(Debug)]
pub struct Panel {
    /// What they share.
    pub shared: SharedFit,
    /// The fit of each series given that, or why there is none.
    pub fits: Vec<Result<Fit>>,
}

impl FromStr for Share {
    type Err = Error;

    /// `alpha`: the same for all; `alpha~`: alike.
    fn from_str(text: &str) -> Result<Self> {
        let (name, pooled) = match text.trim().strip_suffix('~') {
            Some(name) => (name, true),
            None => (text.trim(), false),
        };
        check(
            "share",
            name.len() as f64,
            !name.is_empty(),
            "must be the name of a parameter, with ~ after it if pooled",
        )?;
        Ok(Self { name: name.into(), pooled })
    }
}

impl SharedFit {
    /// The model of one series, given what all share: a shared value is held, a pooled one has its law as prior.
    pub fn apply(&self, spec: &Spec) -> Spec {
        let one = |spec: Spec, shared: &Shared| match shared.law {
            None => spec.fix(&shared.name, shared.value),
            Some(law) => spec.with_prior(&shared.name, law),
        };
        self.shared.iter().fold(spec.clone(), one)
    }
}

/// Learn what `records` share under models of the kind `spec`, of one dimension, on the exact evidence: log evidences,
/// slopes and informations add up over series, and each series' other parameters are integrated out.
///
/// # Errors
/// A parameter that cannot be shared; no series that can be used. A single series that cannot is among
/// [`SharedFit::failures`].
pub fn learn_shared(spec: &Spec, records: &[Record], shares: &[Share], options: &FitOptions) -> Result<SharedFit> {
    learn_shared_with(spec, records, shares, options, &Context::silent())
}

/// [`learn_shared`], watched.
///
/// # Errors
/// As for [`learn_shared`].
pub fn learn_shared_with(
    spec: &Spec,
    records: &[Record],
    shares: &[Share],
    options: &FitOptions,
    context: &Context,
) -> Result<SharedFit> {
    spec.check_names()?;
    if spec.dim() != 1 || spec.network.is_some() {
        return Err(Error::Shape {
            what: "shared parameters",
            got: format!(
                "{} dimensions{}",
                spec.dim(),
                if spec.network.is_some() { " and a drift network" } else { "" }
            ),
            expected: "one dimension and a drift with named parameters".into(),
        });
    }
    let start = |record: &Record| {
        check_columns(spec, &record.grid, &[&record.values])?;
        begin(spec, &record.grid, &[&record.values], options.priors)
    };
    let (mut members, mut places, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    for (i, record) in records.iter().enumerate() {
        match start(record) {
            Ok(Beginning { model, parameters }) => {
                members.push(Member { model, parameters, grid: &record.grid, values: &record.values });
                places.push(i);
            }
            Err(error) => failures.push((i, error)),
        }
    }
    if members.is_empty() {
        let none = || Error::Series { place: "panel".into(), problem: "has no series".into() };
        return Err(failures.pop().map_or_else(none, |(_, error)| error));
    }
    let learned = learn_panel(&members, shares, options.learn.iterations, context)?;
    failures.extend(learned.failures.into_iter().map(|(i, error)| (places[i], error)));
    failures.sort_by_key(|(i, _)| *i);
    let mut own: Vec<Option<LearnedBefore>> = records.iter().map(|_| None).collect();
    places.iter().zip(learned.own).for_each(|(&i, found)| own[i] = found);
    Ok(SharedFit {
        shared: learned.shared,
        own,
        log_evidence: learned.log_evidence,
        failures,
        iterations: learned.iterations,
        warnings: learned.warnings,
    })
}

/// [`learn_shared`], and the fit of every series given what was learned.
///
/// # Errors
/// Those of [`learn_shared`].
pub fn fit_panel(spec: &Spec, records: &[Record], shares: &[Share], options: &FitOptions) -> Result<Panel> {
    let shared = learn_shared(spec, records, shares, options)?;
    let spec = shared.apply(spec);
    let one = |(record, learned): (&Record, &Option<LearnedBefore>)| {
        let options = FitOptions { learned: learned.clone(), ..options.clone() };
        fit(&spec, &record.grid, &[&record.values], &options)
    };
    let fits = records.par_iter().zip(&shared.own).map(one).collect();
    Ok(Panel { shared, fits })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::{DriftFamily, Ou};
    use crate::noise::{Family, Stable};
    use crate::{Start, StateSpace, simulate};

    fn spec() -> Spec {
        Spec::new(DriftFamily::named("ou").unwrap(), Family::named("stable").unwrap()).fix("observation_std", 0.1)
    }

    /// Series of an Ornstein–Uhlenbeck process with stable noise, one for each index.
    fn records(alphas: &[f64], points: u32) -> Vec<Record> {
        let times: Vec<f64> = (0..points).map(|j| 0.1 * f64::from(j)).collect();
        let one = |(i, &alpha): (usize, &f64)| {
            let noise = Box::new(Stable::new(alpha, 1.0 + 0.1 * i as f64).unwrap());
            let drift = Box::new(Ou::new(2.0, i as f64).unwrap());
            let model = StateSpace::new(drift, noise, 0.1, Start::Fixed(i as f64)).unwrap();
            let values = simulate(&model, &times, 7 + i as u64).unwrap().observations;
            Record { grid: TimeGrid::new(&times, None).unwrap(), values }
        };
        alphas.iter().enumerate().map(one).collect()
    }

    fn share(text: &str) -> Vec<Share> {
        text.split(',').map(|one| one.parse().unwrap()).collect()
    }

    fn options() -> FitOptions {
        FitOptions { paths: 20, ..FitOptions::default() }
    }

    #[test]
    fn identity_one_series_and_one_parameter_is_its_own_fit() {
        let spec = spec().fix("theta", 2.0).fix("mu", 0.0).fix("scale", 1.0);
        let records = records(&[1.6], 60);
        let shared = learn_shared(&spec, &records, &share("alpha"), &options()).unwrap();
        let alone = fit(&spec, &records[0].grid, &[&records[0].values], &options()).unwrap();
        let (one, alpha) = (&shared.shared[0], alone.parameter("alpha").unwrap());
        let error = alpha.std_error.unwrap();
        assert!((one.value - alpha.value).abs() < 0.02 * error, "{} {}", one.value, alpha.value);
        assert!((one.std_error / error - 1.0).abs() < 0.02, "{} {error}", one.std_error);
        assert!((shared.log_evidence - alone.evidence.log_evidence).abs() < 0.02);
    }

    /// A false alarm once in 16 000 seeds: four standard errors.
    #[test]
    fn statistics_what_is_shared_is_found_and_held() {
        let records = records(&[1.5; 12], 40);
        let panel = fit_panel(&spec(), &records, &share("alpha"), &options()).unwrap();
        let alpha = &panel.shared.shared[0];
        assert!((alpha.value - 1.5).abs() < 4.0 * alpha.std_error, "{} {}", alpha.value, alpha.std_error);
        // One series of 40 points alone has a standard error of at least 1.2/√40 = 0.19.
        assert!(alpha.std_error < 0.1 && panel.shared.failures.is_empty(), "{}", alpha.std_error);
        for fit in &panel.fits {
            let found = fit.as_ref().unwrap().parameter("alpha").unwrap();
            assert!(found.fixed && found.value == alpha.value);
        }
    }

    /// A false alarm is as rare as for four standard errors of the logarithm of the spread.
    #[test]
    fn statistics_a_spread_is_found_where_there_is_one() {
        let spec = spec().fix("theta", 2.0);
        let spread = |alphas: &[f64]| {
            let shared = learn_shared(&spec, &records(alphas, 60), &share("alpha~"), &options()).unwrap();
            shared.shared[0].law.unwrap().std
        };
        let (alike, apart) = (spread(&[1.5; 10]), spread(&[1.1, 1.95, 1.1, 1.95, 1.1, 1.95, 1.1, 1.95, 1.1, 1.95]));
        assert!(apart > 2.0 * alike && apart > 1.0, "{alike} {apart}");
    }

    #[test]
    fn identity_a_pooled_parameter_has_its_law_as_prior() {
        let prior = crate::parameter::Prior { mean: 0.8, std: 1e-3 };
        let record = &records(&[1.5], 40)[0];
        let found = fit(&spec().with_prior("alpha", prior), &record.grid, &[&record.values], &options()).unwrap();
        let alpha = found.parameter("alpha").unwrap();
        let expected = 2.0 / (1.0 + (-0.8f64).exp());
        assert!((alpha.value - expected).abs() < 1e-3 && alpha.held_by_prior, "{} {expected}", alpha.value);
        let unknown = spec().with_prior("alfa", prior);
        assert!(fit(&unknown, &record.grid, &[&record.values], &options()).is_err());
    }

    #[test]
    fn identity_the_result_does_not_depend_on_threads() {
        let records = records(&[1.5; 4], 30);
        let learn = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| learn_shared(&spec(), &records, &share("alpha,scale~"), &options()).unwrap().shared)
        };
        assert_eq!(learn(1), learn(3));
    }

    #[test]
    fn what_cannot_be_shared_is_named_and_a_bad_series_is_listed() {
        let mut some = records(&[1.5; 2], 30);
        let said =
            |names: &str, spec: &Spec| learn_shared(spec, &some, &share(names), &options()).unwrap_err().to_string();
        assert!(said("beta", &spec()).contains("expected one of theta, mu, alpha, scale"), "{}", said("beta", &spec()));
        assert!(said("alpha", &spec().fix("alpha", 1.5)).contains("has a fixed value"));
        assert!(said("alpha,alpha~", &spec()).contains("listed twice"));
        assert!("~".parse::<Share>().is_err());
        some[1].values.fill(1.0);
        let found = learn_shared(&spec(), &some, &share("alpha"), &options()).unwrap();
        assert_eq!(found.failures.iter().map(|(i, _)| *i).collect::<Vec<_>>(), [1]);
    }
}
