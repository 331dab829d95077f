//! Lay a model out on a grid: the affine flow and the nodes of every step, and what is seen at every time.

use super::model::GeneralModel;
use crate::chain::only_exact;
use crate::noise::{Family, NodeCache, Nodes};
use crate::series::{TimeGrid, check_values, length_key};
use crate::{Error, Result};
use nalgebra::{DMatrix, DVector};
use std::collections::HashMap;
use std::sync::Arc;

/// Entries of a matrix that are not 0: row and column, and value.
type Entries = Vec<([usize; 2], f64)>;

/// The flow z ↦ slope·z + offset over one step, with its derivatives in the parameters of the drift.
#[derive(Debug)]
pub(super) struct Flow {
    pub slope: DMatrix<f64>,
    pub offset: DVector<f64>,
    /// Whether the slope is diagonal: states do not move each other.
    pub diagonal: bool,
    /// Per parameter, the derivatives of slope (entries that are not 0, as row and column) and offset.
    pub by_parameter: Vec<(Entries, DVector<f64>)>,
}

/// Refuse a drift whose flow is no matrix.
fn only_affine(model: &GeneralModel, remedy: &str) -> Result<()> {
    if model.drift.is_affine() {
        return Ok(());
    }
    let problem = format!("is not affine in the states, so its flow is not a matrix; {remedy}");
    Err(Error::Series { place: "drift".into(), problem })
}

/// A model on a grid with data.
#[derive(Debug)]
pub struct GeneralChain<'a> {
    pub(super) model: &'a GeneralModel,
    times: Vec<f64>,
    /// Per time but the first: the flow of the step that ends there.
    flows: Vec<Arc<Flow>>,
    /// Per source, and per time but the first.
    nodes: Vec<Vec<Arc<Nodes>>>,
    /// Per time, what is seen: number of the row and value.
    seen: Vec<Vec<(usize, f64)>>,
}

impl<'a> GeneralChain<'a> {
    /// The steps of `model` on `grid`, with one column of values per row of the model.
    ///
    /// # Errors
    /// A drift that is not affine; columns of the wrong number or length, or without values; a step over which the flow or
    /// the noise cannot be computed.
    pub fn new(model: &'a GeneralModel, grid: &TimeGrid, columns: &[&[f64]]) -> Result<Self> {
        only_affine(model, "use smooth_nonlinear")?;
        let chain = Self::without_flows(model, grid, columns)?;
        Ok(Self { flows: flows(model, grid)?, ..chain })
    }

    /// The same for any drift, without flows.
    pub(super) fn without_flows(model: &'a GeneralModel, grid: &TimeGrid, columns: &[&[f64]]) -> Result<Self> {
        if columns.len() != model.rows.len() {
            let (got, expected) = (columns.len().to_string(), format!("{}, one per row", model.rows.len()));
            return Err(Error::Shape { what: "observed columns", got, expected });
        }
        let mut seen = vec![Vec::new(); grid.len()];
        for (i, (row, column)) in model.rows.iter().zip(columns).enumerate() {
            check_values(&row.name, column)?;
            for (seen, value) in seen.iter_mut().zip(grid.spread(column)?) {
                seen.extend((!value.is_nan()).then_some((i, value)));
            }
        }
        Self::seeing(model, grid, seen)
    }

    /// The steps over a gap at whose end `values` are seen, one per row, NaN where missing.
    pub(super) fn gap(model: &'a GeneralModel, grid: &TimeGrid, values: &[f64]) -> Result<Self> {
        let mut seen = vec![Vec::new(); grid.len()];
        let there = values.iter().copied().enumerate().filter(|(_, value)| !value.is_nan());
        seen[grid.len() - 1].extend(there);
        only_affine(model, "fit the longer record instead")?;
        let chain = Self::seeing(model, grid, seen)?;
        Ok(Self { flows: flows(model, grid)?, ..chain })
    }

    fn seeing(model: &'a GeneralModel, grid: &TimeGrid, seen: Vec<Vec<(usize, f64)>>) -> Result<Self> {
        let lengths: Vec<f64> = (0..grid.steps()).map(|j| grid.step(j)).collect();
        let mut nodes = Vec::new();
        for source in &model.sources {
            let family = source.noise.family();
            if Family::named(family).is_some_and(Family::is_skewed) {
                return Err(only_exact(family, ""));
            }
            let mut cache = NodeCache::of_lengths(source.noise.as_ref(), &lengths);
            let named = |error: Error| Error::Numerical { what: "noise", why: format!("{}: {error}", source.name) };
            let own = lengths.iter().map(|&dt| cache.nodes(dt).map_err(named)).collect::<Result<Vec<_>>>()?;
            if own.iter().any(|nodes| nodes.means().is_some()) {
                let problem = "is skewed; noise along a direction must be symmetric".into();
                return Err(Error::Series { place: format!("noise {}", source.name), problem });
            }
            nodes.push(own);
        }
        Ok(Self { model, times: grid.times().to_vec(), flows: Vec::new(), nodes, seen })
    }

    /// The same with the flow of every step replaced by its tangent at the point of `path` where the step starts.
    ///
    /// # Errors
    /// A point from which the flow cannot be computed.
    pub(super) fn along(&self, path: &[DVector<f64>]) -> Result<Self> {
        let tangent = |j: usize| {
            let (t, dt) = (self.times[j], self.times[j + 1] - self.times[j]);
            tangent(self.model, t, dt, &path[j]).map(Arc::new)
        };
        let flows = (0..self.times.len() - 1).map(tangent).collect::<Result<_>>()?;
        let (times, nodes, seen) = (self.times.clone(), self.nodes.clone(), self.seen.clone());
        Ok(Self { model: self.model, times, flows, nodes, seen })
    }

    /// Latent times.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// Number of latent times.
    pub(super) fn len(&self) -> usize {
        self.times.len()
    }

    pub(super) fn dim(&self) -> usize {
        self.model.dim()
    }

    /// The flow of the step that ends at time `j` ≥ 1.
    pub(super) fn flow(&self, j: usize) -> &Flow {
        &self.flows[j - 1]
    }

    /// The nodes of source `r` over the step that ends at time `j` ≥ 1.
    pub(super) fn nodes(&self, r: usize, j: usize) -> &Arc<Nodes> {
        &self.nodes[r][j - 1]
    }

    /// What is seen at time `j`: row, value and variance.
    pub(super) fn seen(&self, j: usize) -> impl Iterator<Item = (&DVector<f64>, f64, f64)> {
        self.seen[j].iter().map(|&(i, y)| (&self.model.rows[i].weights, y, self.model.rows[i].std.powi(2)))
    }

    /// Numbers of the rows seen at time `j`.
    pub(super) fn seen_rows(&self, j: usize) -> &[(usize, f64)] {
        &self.seen[j]
    }

    /// Number of values seen.
    pub fn observations(&self) -> usize {
        self.seen.iter().map(Vec::len).sum()
    }

    /// Mean and covariance of the state before anything is seen, at the first time.
    pub(super) fn start(&self) -> (DVector<f64>, DMatrix<f64>) {
        (self.model.start_mean.clone(), self.model.start_covariance.clone())
    }
}

/// The flows of all steps; an autonomous drift has one per step length.
fn flows(model: &GeneralModel, grid: &TimeGrid) -> Result<Vec<Arc<Flow>>> {
    let mut known: HashMap<u64, Arc<Flow>> = HashMap::new();
    let mut all = Vec::with_capacity(grid.steps());
    for j in 0..grid.steps() {
        let (t, dt) = (grid.times()[j], grid.step(j));
        let found = known.get(&length_key(dt)).filter(|_| model.drift.is_autonomous()).cloned();
        let flow = match found {
            Some(flow) => flow,
            None => {
                model.drift.check_step(dt)?;
                let new = Arc::new(flow(model, t, dt)?);
                known.insert(length_key(dt), new.clone());
                new
            }
        };
        all.push(flow);
    }
    Ok(all)
}

/// The tangent of the flow at a state, without derivatives in parameters.
fn tangent(model: &GeneralModel, t: f64, dt: f64, at: &DVector<f64>) -> Result<Flow> {
    let (dim, count) = (model.dim(), model.drift.parameter_count());
    let (mut out, mut slope, mut parameter) = (vec![0.0; dim], vec![0.0; dim * dim], vec![0.0; dim * count]);
    model.drift.flow_jacobian(t, dt, at.as_slice(), &mut out, &mut slope, &mut parameter);
    if !out.iter().chain(&slope).all(|entry| entry.is_finite()) {
        return Err(not_finite(model, t, dt));
    }
    let slope = DMatrix::from_row_slice(dim, dim, &slope);
    let offset = DVector::from_vec(out) - &slope * at;
    Ok(Flow { slope, offset, diagonal: false, by_parameter: Vec::new() })
}

fn not_finite(model: &GeneralModel, t: f64, dt: f64) -> Error {
    let why = format!("the flow from time {t} over {dt} is not finite");
    model.drift.failure().unwrap_or(Error::Numerical { what: "drift", why })
}

fn flow(model: &GeneralModel, t: f64, dt: f64) -> Result<Flow> {
    let (dim, count) = (model.dim(), model.drift.parameter_count());
    let jacobian = |x: &[f64]| {
        let (mut out, mut state, mut parameter) = (vec![0.0; dim], vec![0.0; dim * dim], vec![0.0; dim * count]);
        model.drift.flow_jacobian(t, dt, x, &mut out, &mut state, &mut parameter);
        (out, state, DMatrix::from_row_slice(dim, count, &parameter))
    };
    let (offset, slope, origin) = jacobian(&vec![0.0; dim]);
    if !offset.iter().chain(&slope).all(|entry| entry.is_finite()) {
        return Err(not_finite(model, t, dt));
    }
    let mut by_parameter: Vec<(Entries, DVector<f64>)> =
        (0..count).map(|l| (Vec::new(), origin.column(l).into_owned())).collect();
    for k in 0..dim {
        let mut unit = vec![0.0; dim];
        unit[k] = 1.0;
        let (_, _, there) = jacobian(&unit);
        for (l, (by_slope, by_offset)) in by_parameter.iter_mut().enumerate() {
            for i in 0..dim {
                let (here, origin) = (there[(i, l)], by_offset[i]);
                // The rest of a difference of equal numbers is not a derivative.
                if (here - origin).abs() > 4.0 * f64::EPSILON * (here.abs() + origin.abs()) {
                    by_slope.push(([i, k], here - origin));
                }
            }
        }
    }
    let slope = DMatrix::from_row_slice(dim, dim, &slope);
    let diagonal = (0..dim).all(|i| (0..dim).all(|k| i == k || slope[(i, k)] == 0.0));
    Ok(Flow { slope, offset: DVector::from_vec(offset), diagonal, by_parameter })
}
