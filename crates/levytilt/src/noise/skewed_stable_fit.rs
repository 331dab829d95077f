//! Fit a mixture of Gaussians to a skewed stable density: centres and widths from a dictionary, weights by non-negative
//! least squares on relative errors.

use super::nonnegative::{nonnegative, restricted};
use super::{Noise, Stable};
use crate::law::{LogPdfDerivatives, Parametrization, StableLaw};
use crate::{Error, Result};
use nalgebra::{DMatrix, DVector};
use std::f64::consts::{FRAC_PI_2, PI};

/// Most nodes; a fit that needs more is made coarser.
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
/// Distance of neighbouring centres, as a share of the length over which the density changes: next to the mode, at most, and the way,
/// in such lengths, after which the first has doubled.
const FINEST: f64 = 0.085;
const WIDEST: f64 = 0.57;
const GROWING: f64 = 2.4;
/// The same in standard deviations of the Gaussians, and places of the fit for each centre.
const APART: f64 = 1.0;
const PER_CENTRE: i32 = 3;
/// β from which the lower tail is much lighter than the upper one.
const LOPSIDED: f64 = 0.93;
/// Factor of all distances at which the fit is given up.
const COARSEST: f64 = 3.0;
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

/// A point and the logarithm of the density there.
type Place = (f64, LogPdfDerivatives);

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

/// The finest fit that needs few enough nodes.
fn fitted(alpha: f64, beta: f64) -> Result<UnitNodes> {
    let peaked = alpha < 1.0 && beta * (FRAC_PI_2 * alpha).tan() < PEAKED;
    let parametrization = if peaked { Parametrization::S1 } else { Parametrization::S0 };
    let law = StableLaw::skewed(alpha, beta, 1.0, 0.0, parametrization)?;
    let heavy = 1.0 - beta > 1e-9;
    let low = if heavy { -FARTHEST } else { law.quantile(LEAST)? };
    let bulk = (law.quantile(TAIL)?, law.upper_quantile(TAIL)?);
    let mode = mode(&law)?;
    let light = (!heavy).then(|| (bulk.0, law.log_pdf(bulk.0)));
    let mut coarse = 1.0;
    while coarse < COARSEST {
        let (mut places, mut columns) = (Vec::new(), Vec::new());
        for (side, edge, end) in [(1.0, bulk.1, FARTHEST), (-1.0, bulk.0, low)] {
            walk(&law, (mode, side), (edge, end), coarse, (&mut places, &mut columns));
        }
        let rows: Vec<Row> = places
            .into_iter()
            .map(|(x, log)| row(&law, (x, log), bulk, light))
            .filter(|row| row.density > 0.0 && row.by_alpha.is_finite() && row.by_beta.is_finite())
            .collect();
        match solve(parametrization, &rows, &columns) {
            Some(nodes) if nodes.weights.len() <= MOST_NODES => return Ok(nodes.ordered(mode)),
            _ => coarse *= 1.12,
        }
    }
    Err(no_fit(alpha, beta))
}

/// The mode, between two quantiles, by halving.
fn mode(law: &StableLaw) -> Result<f64> {
    let (mut low, mut high) = (law.quantile(0.01)?, law.quantile(0.99)?);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if law.log_pdf_derivatives(middle).dx > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(0.5 * (low + high))
}

/// Walk from the mode to one side: in shares of the length over which the density changes, up to `edge` and on to where the tail falls
/// like a power, or to the `end` of a light one; then in equal ratios. Notes the places where the density is to be met, and centres with standard deviations to choose from.
///
/// Shares grow with the way gone: only next to the mode the mixture has no freedom to be wider. `coarse` multiplies all of them.
fn walk(
    law: &StableLaw,
    (mode, side): (f64, f64),
    (edge, end): (f64, f64),
    coarse: f64,
    (places, columns): (&mut Vec<Place>, &mut Vec<(f64, f64)>),
) {
    let inside = |x: f64, end: f64| side * (end - x) > 0.0;
    let at = |x: f64| (x, law.log_pdf_derivatives(x));
    // 1/√(s² + |s'|) with the slope s of the logarithm.
    let length = |(x, log): &Place, (other, there): &Place| {
        1.0 / there.dx.hypot(((there.dx - log.dx) / (other - x)).abs().sqrt())
    };
    let mut here = at(mode);
    let mut scale = length(&at(mode + 1e-4 * (1.0 + mode.abs())), &here);
    let (mut gone, mut count) = (0.0, 0);
    // A heavy tail falls like a power of the distance.
    let is_power = |(x, log): &Place| (log.dx * (x - mode)).abs() < 1.5 * (1.0 + law.alpha());
    while inside(here.0, end) && (inside(here.0, edge) || !is_power(&here)) {
        let share = coarse * (FINEST * (1.0 + gone / GROWING)).min(WIDEST);
        places.push(here);
        if count % PER_CENTRE == 0 {
            columns.push((here.0, share * scale / APART));
        }
        let step = share / f64::from(PER_CENTRE);
        let ahead = at(here.0 + side * step * scale);
        scale = length(&here, &ahead);
        (here, gone, count) = (ahead, gone + step, count + 1);
    }
    if end.abs() < FARTHEST {
        return;
    }
    let x = here.0;
    // The Gaussians of a tail must not reach over to one that is much lighter.
    let (width, ratio) = if law.beta() > LOPSIDED && side > 0.0 { (0.3, 1.4) } else { (0.5, 1.6) };
    let mut distance = ((x - mode).abs() / 30.0).max(1.0);
    while distance < 1e3 * FARTHEST {
        columns.push((side * distance, width * distance));
        distance *= ratio;
    }
    let mut distance = x.abs();
    while distance < FARTHEST {
        places.push(at(side * distance));
        distance *= 1.2;
    }
}

fn row(law: &StableLaw, (x, log): Place, bulk: (f64, f64), light: Option<(f64, f64)>) -> Row {
    let care = match light {
        _ if bulk.0 <= x && x <= bulk.1 => 1.0,
        // In a light tail the error counts next to the density where the tail begins.
        Some((edge, at_edge)) if x < edge => TAIL_CARE * (log.value - at_edge).exp(),
        _ => TAIL_CARE,
    };
    Row { x, density: log.value.exp(), care, by_alpha: log.dalpha, by_beta: law.log_pdf_by_beta(x) }
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
    let active: Vec<usize> = (0..n).filter(|&j| scaled[j] / norms[j] > LIGHTEST).collect();
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
