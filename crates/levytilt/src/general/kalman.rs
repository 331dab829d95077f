//! Fit exactly where every noise is Gaussian: evidence, gradient and marginals of a Kalman filter and smoother.

use super::chain::GeneralChain;
use super::disturbance::Trace;
use super::form::dot;
use super::gradient::{Gradient, path_gradients};
use super::pass::Variances;
use crate::Result;
use crate::law::StableLaw;
use crate::posterior::{Evidence, Marginal};

impl GeneralChain<'_> {
    /// Whether no source leaves a choice of variance, so that a Kalman filter is exact.
    pub(super) fn is_gaussian(&self) -> bool {
        (1..self.len()).all(|j| (0..self.model.sources.len()).all(|r| self.nodes(r, j).len() == 1))
    }
}

/// Evidence and its gradient, where all noise is Gaussian.
pub(super) fn evidence_and_gradient(chain: &GeneralChain) -> (Evidence, Vec<Gradient>) {
    let only = vec![0; (chain.len() - 1) * chain.model.sources.len()];
    let (log_evidence, gradients) = path_gradients(chain, &only, 1);
    (Evidence { log_evidence, std_error: 0.0, resamplings: 0.0 }, gradients)
}

/// Per state and time the posterior law, where all noise is Gaussian: mean m + Pr and variance of P − PNP.
///
/// # Errors
/// A level outside of (0, 1).
pub(super) fn marginals(chain: &GeneralChain, levels: &[f64]) -> Result<Vec<Vec<Marginal>>> {
    let normal = StableLaw::new(2.0, 0.5f64.sqrt())?;
    let places: Vec<f64> = levels.iter().map(|&level| normal.quantile(level)).collect::<Result<_>>()?;
    let (sources, dim) = (chain.model.sources.len(), chain.dim());
    let variance = |(j, r)| chain.nodes(r, j).variances()[0];
    let values: Vec<f64> = (1..chain.len()).flat_map(|j| (0..sources).map(move |r| (j, r))).map(variance).collect();
    let trace = Trace::new(chain, &Variances { sources, values: &values });
    let mut all = vec![Vec::with_capacity(chain.len()); dim];
    let mut pressed = vec![0.0; dim];
    trace.back(chain, |j, influence| {
        let (mean, covariance) = trace.predicted(j, dim);
        for (i, marginals) in all.iter_mut().enumerate() {
            let column = &covariance[i * dim..(i + 1) * dim];
            for (pressed, stiff) in pressed.iter_mut().zip(influence.stiffness.chunks_exact(dim)) {
                *pressed = dot(stiff, column);
            }
            let mean = mean[i] + dot(column, influence.force);
            // Where the data say all, rounding may leave less than nothing.
            let sd = (column[i] - dot(column, &pressed)).max(0.0).sqrt();
            let quantiles = places.iter().map(|place| mean + sd * place).collect();
            marginals.push(Marginal { mean, sd, quantiles, jump_probability: 0.0 });
        }
    });
    all.iter_mut().for_each(|marginals| marginals.reverse());
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::super::spec::{GeneralSpec, Loading, RowSpec, SourceSpec, StartSpec};
    use super::super::tests::{record, times};
    use super::super::{GeneralOptions, fit_general};
    use super::*;
    use crate::drift::Formula;
    use crate::noise::Family;
    use crate::series::TimeGrid;
    use nalgebra::{DMatrix, DVector};

    fn spec() -> GeneralSpec {
        let drift = Formula::system(&[("x", "v"), ("v", "-c*v - k*x")], &[]).unwrap();
        let drift = drift.with_bounds("c", Some(0.0), None).unwrap().with_bounds("k", Some(0.0), None).unwrap();
        let family = Family::named("gaussian").unwrap();
        GeneralSpec {
            drift,
            sources: vec![SourceSpec { name: "kick".into(), family, on: vec![(1, Loading::Fixed(1.0))] }],
            rows: vec![RowSpec { name: "position".into(), of: vec![(0, 1.0)] }],
            starts: vec![StartSpec::Gaussian { mean: 0.5, std: 0.5 }; 2],
            held: Vec::new(),
        }
    }

    fn truth() -> Vec<(String, f64)> {
        let noise = spec().sources[0].family.parameters[0].name;
        let values = [("c", 0.5), ("k", 2.0), ("observation_std[position]", 0.05)];
        let mut all: Vec<(String, f64)> = values.map(|(name, value)| (name.into(), value)).into();
        all.push((format!("{noise}[kick]"), 0.7));
        all
    }

    /// Bands of a short record against those of the joint Gaussian law of all states and values.
    #[test]
    fn identity_bands_are_those_of_the_joint_law() {
        let model = GeneralSpec { held: truth(), ..spec() }.closed().unwrap();
        let times = times(6, 0.3);
        let column = record(&model, &times, 2).remove(0);
        let chain = GeneralChain::new(&model, &TimeGrid::unsplit(&times).unwrap(), &[&column]).unwrap();
        let found = marginals(&chain, &[0.05, 0.5]).unwrap();
        // All states in a row: mean and covariance, from time to time.
        let size = 2 * times.len();
        let (mut mean, mut covariance) = (DVector::zeros(size), DMatrix::zeros(size, size));
        mean.rows_mut(0, 2).copy_from(&model.start_mean);
        covariance.view_mut((0, 0), (2, 2)).copy_from(&model.start_covariance);
        for j in 1..times.len() {
            let flow = chain.flow(j);
            let moved = &flow.slope * mean.rows(2 * j - 2, 2) + &flow.offset;
            mean.rows_mut(2 * j, 2).copy_from(&moved);
            let cross = &flow.slope * covariance.view((2 * j - 2, 0), (2, 2 * j));
            covariance.view_mut((2 * j, 0), (2, 2 * j)).copy_from(&cross);
            covariance.view_mut((0, 2 * j), (2 * j, 2)).copy_from(&cross.transpose());
            let own = cross.columns(2 * j - 2, 2) * flow.slope.transpose();
            covariance.view_mut((2 * j, 2 * j), (2, 2)).copy_from(&own);
            covariance[(2 * j + 1, 2 * j + 1)] += chain.nodes(0, j).variances()[0];
        }
        let rows = DMatrix::from_fn(times.len(), size, |j, k| f64::from(u8::from(k == 2 * j)));
        let total =
            &rows * &covariance * rows.transpose() + DMatrix::identity(times.len(), times.len()) * 0.05f64.powi(2);
        let gain = &covariance * rows.transpose() * total.try_inverse().unwrap();
        let values = DVector::from_vec(column);
        let want_mean = &mean + &gain * (values - &rows * &mean);
        let want_covariance = &covariance - &gain * &rows * &covariance;
        for (i, marginals) in found.iter().enumerate() {
            for (j, marginal) in marginals.iter().enumerate() {
                let (mean, sd) = (want_mean[2 * j + i], want_covariance[(2 * j + i, 2 * j + i)].sqrt());
                assert!((marginal.mean - mean).abs() < 1e-8 && (marginal.sd - sd).abs() < 1e-8, "{i} {j}");
                let low = mean - 1.644_853_626_951_472_2 * sd;
                assert!((marginal.quantiles[0] - low).abs() < 1e-8 && (marginal.quantiles[1] - mean).abs() < 1e-8);
            }
        }
    }

    /// A fit without particles: no Monte Carlo error, and no parameter moved by a tenth of its error has more evidence.
    #[test]
    fn identity_a_fit_of_gaussian_noise_is_at_the_maximum() {
        let model = GeneralSpec { held: truth(), ..spec() }.closed().unwrap();
        let times = times(150, 0.1);
        let column = record(&model, &times, 5).remove(0);
        let grid = TimeGrid::unsplit(&times).unwrap();
        let options = GeneralOptions { paths: 4, ..GeneralOptions::default() };
        let fit = fit_general(&spec(), &grid, &[&column], &options).unwrap();
        assert!(fit.exact && fit.smoothed.evidence.std_error < 1e-9 && fit.warnings.is_empty(), "{:?}", fit.warnings);
        let evidence = |values: &[(String, f64)]| {
            let model = GeneralSpec { held: values.to_vec(), ..spec() }.closed().unwrap();
            evidence_and_gradient(&GeneralChain::new(&model, &grid, &[&column]).unwrap()).0.log_evidence
        };
        let learned: Vec<(String, f64)> = fit.parameters.iter().map(|p| (p.name.clone(), p.value)).collect();
        let top = evidence(&learned);
        assert!((top - fit.smoothed.evidence.log_evidence).abs() < 1e-9 * top.abs());
        for (k, p) in fit.parameters.iter().enumerate() {
            let error = p.std_error.unwrap();
            let fall = |by: f64| {
                let mut moved = learned.clone();
                moved[k].1 += by * error;
                top - evidence(&moved)
            };
            assert!(fall(0.1) > 0.0 && fall(-0.1) > 0.0, "{} {} {}", p.name, fall(0.1), fall(-0.1));
            let interval = p.interval.unwrap();
            assert!(interval.low < p.value && p.value < interval.high);
        }
    }
}
