//! Fit a mixture of Gaussians to a skewed stable density: centres and widths from a dictionary, weights by non-negative
//! least squares on relative errors.

use super::nonnegative::{nonnegative, restricted};
use super::{Noise, Stable};
use crate::law::{Parametrization, StableLaw};
use crate::{Error, Result};
use nalgebra::{DMatrix, DVector};
use std::f64::consts::{FRAC_PI_2, PI};

/// Most nodes kept; those of least weight on the fit are dropped.
pub(super) const MOST_NODES: usize = 192;
/// Increments up to so many scales are fitted.
const FARTHEST: f64 = 3e6;
/// Probability beyond which a tail is fitted less closely, and below which a light one is not fitted.
const TAIL: f64 = 3e-4;
const LEAST: f64 = 1e-7;
/// Weight of a relative error in the tails, and of the total mass, next to 1 in the bulk.
const TAIL_CARE: f64 = 0.1;
const MASS_CARE: f64 = 10.0;
/// Weight below which a node is left out.
const LIGHTEST: f64 = 1e-20;
/// T = |β tan(πα/2)| up to which a law with α < 1 is fitted around the origin of S1, where it peaks.
const PEAKED: f64 = 3.0;

/// Nodes of the standard law, ordered by their distance from the bulk.
#[derive(Debug, Clone)]
pub(super) struct UnitNodes {
    /// Which x the centres are in; derivatives are at fixed x of it.
    pub parametrization: Parametrization,
    pub centres: Vec<f64>,
    pub variances: Vec<f64>,
    pub weights: Vec<f64>,
    /// ∂w/∂α and ∂w/∂β.
    pub by_alpha: Vec<f64>,
    pub by_beta: Vec<f64>,
    /// ∂S/∂α, and ∂(centre)/∂β; not 0 for a symmetric law only, whose nodes are those of [`Stable`].
    pub variances_by_alpha: Vec<f64>,
    pub centres_by_beta: Vec<f64>,
}

/// One point of the fit: density with its derivatives, and how much a relative error there counts.
struct Row {
    x: f64,
    density: f64,
    care: f64,
    by_alpha: f64,
    by_beta: f64,
}

/// Nodes for 1/2 ≤ `alpha` < 2 and −1 ≤ `beta` ≤ 1; for `beta` = 0, 0 < `alpha` < 2.
pub(super) fn unit_nodes(alpha: f64, beta: f64) -> Result<UnitNodes> {
    match beta {
        0.0 => symmetric(alpha),
        _ if beta < 0.0 => unit_nodes(alpha, -beta).map(UnitNodes::mirrored),
        _ => fitted(alpha, beta),
    }
}

impl UnitNodes {
    /// The nodes of the law with −β for β.
    fn mirrored(mut self) -> Self {
        for values in [&mut self.centres, &mut self.by_beta] {
            values.iter_mut().for_each(|value| *value = -*value);
        }
        self
    }

    /// Order by the square of the distance from `bulk`, variance included, so that the last nodes are the large jumps.
    fn ordered(mut self, bulk: f64) -> Self {
        let size = |k: &usize| (self.centres[*k] - bulk).powi(2) + self.variances[*k];
        let mut order: Vec<usize> = (0..self.weights.len()).collect();
        order.sort_by(|a, b| size(a).total_cmp(&size(b)));
        for values in [
            &mut self.centres,
            &mut self.variances,
            &mut self.weights,
            &mut self.by_alpha,
            &mut self.by_beta,
            &mut self.variances_by_alpha,
            &mut self.centres_by_beta,
        ] {
            *values = order.iter().map(|&k| values[k]).collect();
        }
        self
    }
}

/// The nodes of the symmetric law; β moves their centres so that the density changes as it does to first order.
fn symmetric(alpha: f64) -> Result<UnitNodes> {
    let nodes = Stable::new(alpha, 1.0)?.nodes(1.0)?;
    let law = StableLaw::new(alpha, 1.0)?;
    let (variances, weights) = (nodes.variances().to_vec(), nodes.weights().to_vec());
    let places: Vec<f64> = (0..70).map(|i| 0.02 * 1.3f64.powi(i)).collect();
    // ∂ ln p/∂β = Σ_k r_k(x) (x/S_k) ∂c_k/∂β with the responsibilities r_k; in units of √S_k.
    let mut matrix = DMatrix::from_fn(places.len(), weights.len(), |i, k| {
        let (x, s) = (places[i], variances[k]);
        weights[k] * (-0.5 * x * x / s - nodes.log_density_value(x)).exp() / (2.0 * PI * s).sqrt() * x / s.sqrt()
    });
    let norms: Vec<f64> = matrix.column_iter().map(|column| column.norm().max(1e-12)).collect();
    norms.iter().enumerate().for_each(|(k, norm)| matrix.column_mut(k).scale_mut(1.0 / norm));
    let target = DVector::from_iterator(places.len(), places.iter().map(|&x| law.log_pdf_by_beta(x)));
    let gram = matrix.tr_mul(&matrix);
    let all: Vec<usize> = (0..weights.len()).collect();
    let moves = restricted(&gram, &matrix.tr_mul(&target), &all).ok_or_else(|| no_fit(alpha, 0.0))?;
    let none = vec![0.0; weights.len()];
    Ok(UnitNodes {
        parametrization: Parametrization::S0,
        centres: none.clone(),
        centres_by_beta: (0..weights.len()).map(|k| moves[k] / norms[k] * variances[k].sqrt()).collect(),
        by_alpha: nodes.derivatives()[0].weights.clone(),
        variances_by_alpha: nodes.derivatives()[0].variances.clone(),
        by_beta: none,
        variances,
        weights,
    })
}

fn no_fit(alpha: f64, beta: f64) -> Error {
    Error::Numerical {
        what: "nodes of a skewed stable law",
        why: format!("the fit at alpha = {alpha}, skew = {beta} did not converge; move a parameter slightly"),
    }
}

fn fitted(alpha: f64, beta: f64) -> Result<UnitNodes> {
    let one_sided = alpha > 0.65 && beta > 0.9;
    let peaked = alpha < 1.0 && !one_sided && beta * (FRAC_PI_2 * alpha).tan() < PEAKED;
    let parametrization = if peaked { Parametrization::S1 } else { Parametrization::S0 };
    let law = StableLaw::skewed(alpha, beta, 1.0, 0.0, parametrization)?;
    let heavy = 1.0 - beta > 1e-9;
    let ends = (if heavy { -FARTHEST } else { law.quantile(LEAST)? }, FARTHEST);
    let bulk = (law.quantile(TAIL)?, law.upper_quantile(TAIL)?);
    let rows: Vec<Row> = places(peaked, ends)
        .into_iter()
        .map(|x| row(&law, x, bulk, heavy))
        .filter(|row| row.density > 0.0 && row.by_alpha.is_finite() && row.by_beta.is_finite())
        .collect();
    let columns = dictionary(peaked, if heavy { -1e3 * FARTHEST } else { ends.0 });
    let nodes = solve(parametrization, &rows, &columns).ok_or_else(|| no_fit(alpha, beta))?;
    Ok(nodes.ordered(law.quantile(0.5)?))
}

/// Points from the anchor outward: evenly in the bulk, then in equal ratios.
fn places(peaked: bool, (low, high): (f64, f64)) -> Vec<f64> {
    let mut distances = Vec::new();
    let (mut d, fine): (f64, f64) = if peaked { (2e-3, 1.06) } else { (0.05, 1.07) };
    while d < FARTHEST {
        distances.push(d);
        d = if !peaked && d < 8.0 { d + 0.1 } else { d * if d < 200.0 { fine } else { 1.2 } };
    }
    let both = distances.iter().rev().map(|d| -d).chain([0.0]).chain(distances.iter().copied());
    both.filter(|x| (low..=high).contains(x)).collect()
}

fn row(law: &StableLaw, x: f64, bulk: (f64, f64), heavy: bool) -> Row {
    let log = law.log_pdf_derivatives(x);
    let care = match (bulk.0 <= x && x <= bulk.1, x > bulk.1 || heavy) {
        (true, _) => 1.0,
        (false, true) => TAIL_CARE,
        // In a light tail the error counts next to the density where the tail begins.
        (false, false) => TAIL_CARE * (log.value - law.log_pdf(bulk.0)).exp(),
    };
    Row { x, density: log.value.exp(), care, by_alpha: log.dalpha, by_beta: law.log_pdf_by_beta(x) }
}

/// Centres, none below `low`, and standard deviations to choose from.
fn dictionary(peaked: bool, low: f64) -> Vec<(f64, f64)> {
    let mut columns: Vec<(f64, f64)> = Vec::new();
    // (standard deviation, up to which distance): evenly spaced in the bulk.
    let even: &[(f64, f64)] = if peaked { &[] } else { &[(0.15, 3.5), (0.3, 10.0), (0.8, 10.0)] };
    for &(sd, until) in even {
        let count = (until / (0.8 * sd)) as i32;
        columns.extend((-count..=count).map(|i| (0.8 * sd * f64::from(i), sd)));
    }
    // (relative width, ratio, from, to): in equal ratios.
    let far = 1e3 * FARTHEST;
    let ratios: &[(f64, f64, f64, f64)] = if peaked {
        columns.extend((0..16).map(|i| (0.0, 0.004 * 1.5f64.powi(i))));
        &[(0.12, 1.12, 0.01, 10.0), (0.3, 1.25, 0.01, 40.0), (0.5, 1.4, 1.0, 1e4), (0.55, 1.6, 1e4, far)]
    } else {
        &[(0.25, 1.2, 3.0, 60.0), (0.5, 1.4, 4.0, 1e4), (0.55, 1.6, 1e4, far)]
    };
    for &(width, ratio, from, to) in ratios {
        let mut c = from;
        while c < to {
            columns.extend([(-c, width * c), (c, width * c)]);
            c *= ratio;
        }
    }
    columns.retain(|c| c.0 >= low);
    columns
}

/// Non-negative least squares on the rows and on the total mass, with the derivatives of the weights.
fn solve(parametrization: Parametrization, rows: &[Row], columns: &[(f64, f64)]) -> Option<UnitNodes> {
    let (m, n) = (rows.len(), columns.len());
    let gaussian = |x: f64, (c, sd): (f64, f64)| {
        let z = (x - c) / sd;
        (-0.5 * z * z).exp() / (sd * (2.0 * PI).sqrt())
    };
    let mut matrix = DMatrix::from_fn(m + 1, n, |i, j| match rows.get(i) {
        Some(row) => row.care * gaussian(row.x, columns[j]) / row.density,
        None => MASS_CARE,
    });
    // Columns of equal norm, so that none is preferred for its units.
    let norms: Vec<f64> = matrix.column_iter().map(|column| column.norm()).collect();
    for (j, norm) in norms.iter().enumerate() {
        matrix.column_mut(j).scale_mut(1.0 / norm);
    }
    let care = DVector::from_fn(m + 1, |i, _| rows.get(i).map_or(MASS_CARE, |row| row.care));
    let gram = matrix.tr_mul(&matrix);
    let scaled = nonnegative(&gram, &matrix.tr_mul(&care))?;
    let mut active: Vec<usize> = (0..n).filter(|&j| scaled[j] / norms[j] > LIGHTEST).collect();
    if active.len() > MOST_NODES {
        active.sort_by(|&a, &b| scaled[b].total_cmp(&scaled[a]));
        active.truncate(MOST_NODES);
        active.sort_unstable();
    }
    let mut weights: Vec<f64> = active.iter().map(|&j| scaled[j] / norms[j]).collect();
    let total: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w /= total);
    let change = |by: &dyn Fn(&Row) -> f64| -> Option<Vec<f64>> {
        let target = DVector::from_fn(m + 1, |i, _| rows.get(i).map_or(0.0, |row| row.care * by(row)));
        let solution = restricted(&gram, &matrix.tr_mul(&target), &active)?;
        let mut change: Vec<f64> = active.iter().zip(&solution).map(|(&j, v)| v / norms[j]).collect();
        let excess: f64 = change.iter().sum();
        change.iter_mut().zip(&weights).for_each(|(d, w)| *d -= excess * w);
        Some(change)
    };
    let (by_alpha, by_beta) = (change(&|row| row.by_alpha)?, change(&|row| row.by_beta)?);
    let none = vec![0.0; active.len()];
    Some(UnitNodes {
        parametrization,
        centres: active.iter().map(|&j| columns[j].0).collect(),
        variances: active.iter().map(|&j| columns[j].1 * columns[j].1).collect(),
        weights,
        by_alpha,
        by_beta,
        variances_by_alpha: none.clone(),
        centres_by_beta: none,
    })
}
