//! Make a formula with parameter values a drift: choose the cheapest flow, and remember where one failed.

use super::super::FormulaParameter;
use super::Formula;
use super::affine::{AffineMotion, AffineStep};
use super::explicit::{PATIENCE, integrate};
use super::hyper::{first_unsound, run_at};
use super::inputs::Segment;
use super::lanes::{Bound, Lanes};
use super::stiff::Stop;
use super::table::StepTable;
use crate::drift::{Drift, add_scaled};
use crate::error::non_negative;
use crate::parameter::Domain;
use crate::series::length_key;
use crate::{Error, Result};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// A drift in formulas with values for its parameters.
///
/// The flow is exact where the formulas are affine in the states and depend on nothing else; otherwise it is integrated
/// to a local error of 1e-11 of the state and of every derivative, by an explicit method of order 8 and, where a step is
/// stiff, an implicit one. The flow of one autonomous state is tabulated per step length (to 1e-11 of the largest value
/// nearby; step lengths that differ by less than 1e-12 of themselves share a table).
///
/// A path that leaves the domain of its formula, or grows without bound within a step, becomes NaN, and
/// [`Drift::failure`] says which formula failed, where and when: the earliest time, whatever the number of threads.
#[derive(Debug)]
pub struct FormulaDrift {
    pub(super) formula: Formula,
    pub(super) bound: Bound,
    motion: Motion,
    failure: Mutex<Option<Failure>>,
}

/// How the flow is computed.
#[derive(Debug)]
enum Motion {
    /// A matrix per step length.
    Linear(AffineMotion, Store<u64, AffineStep>),
    /// A matrix per step.
    Affine(Store<(u64, u64), AffineStep>),
    /// Polynomials per step length.
    Table(Store<u64, StepTable>),
    /// Every state by itself.
    Direct,
}

/// The earliest failure so far.
#[derive(Debug, Clone)]
struct Failure {
    t: f64,
    x: Vec<f64>,
    error: Error,
}

/// What was computed for a step or a step length.
#[derive(Debug)]
struct Store<K, V>(RwLock<HashMap<K, Arc<V>>>);

/// Most parameters that a message shows.
const SHOWN: usize = 10;

/// Steps kept before the store is emptied.
const KEPT: usize = 1 << 14;

impl<K: Hash + Eq, V> Store<K, V> {
    fn new() -> Self {
        Self(RwLock::default())
    }

    /// What belongs to the key. Two threads may compute it at once; both get the same numbers.
    fn get(&self, key: K, compute: impl FnOnce() -> V) -> Arc<V> {
        if let Some(found) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return found.clone();
        }
        let new = Arc::new(compute());
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= KEPT {
            all.clear();
        }
        all.entry(key).or_insert(new).clone()
    }
}

impl FormulaDrift {
    /// The values must be as many as the formula's parameters, and within their bounds.
    pub(super) fn new(formula: Formula, values: Vec<f64>) -> Result<Self> {
        let program = formula.program.clone();
        let given = formula.inputs.names().count();
        if given < program.names.inputs.len() {
            let expected = format!("values for {}", program.names.inputs.join(", "));
            return Err(Error::Shape { what: "inputs of the formula", got: format!("{given} columns"), expected });
        }
        let bound = Bound::new(program.clone(), values);
        if let Some(o) = bound.unsound() {
            let (i, (start, _)) = program.origins[o];
            let given: Vec<String> = formula
                .parameters
                .iter()
                .zip(&bound.parameters)
                .take(SHOWN)
                .map(|(parameter, value)| format!("{} = {value}", parameter.name))
                .collect();
            let problem = format!("{} has no finite value at {}", program.piece(o), given.join(", "));
            return Err(program.sources[i].error(start, problem));
        }
        let motion = match (program.affine, program.autonomous, program.dim()) {
            (true, true, _) => Motion::Linear(AffineMotion::new(&bound)?, Store::new()),
            (true, false, _) => Motion::Affine(Store::new()),
            (false, true, 1) => Motion::Table(Store::new()),
            _ => Motion::Direct,
        };
        Ok(Self { formula, bound, motion, failure: Mutex::new(None) })
    }

    /// The formula.
    pub fn formula(&self) -> &Formula {
        &self.formula
    }

    /// The right-hand side f(t, x); NaN or infinite outside of its domain, NaN at times for which an input is not known.
    pub fn rate(&self, t: f64, x: &[f64]) -> Vec<f64> {
        let Ok(segments) = self.formula.inputs.segments(t, 0.0) else { return vec![f64::NAN; self.dim()] };
        let mut lanes = Lanes::<1>::new(&self.bound);
        run_at(&self.bound, &mut lanes, x, t, &segments[0]);
        self.bound.program.outputs.iter().map(|&o| lanes.values[o][0]).collect()
    }

    /// The pieces of a step over which inputs are straight; a step beyond their times is a failure.
    fn segments(&self, t: f64, dt: f64) -> Option<Vec<Segment>> {
        match self.formula.inputs.segments(t, dt) {
            Ok(segments) => Some(segments),
            Err(error) => {
                self.fail(Failure { t, x: Vec::new(), error });
                None
            }
        }
    }

    /// Keep a failure if it is the earliest so far; of several at one time, that of the least state.
    fn fail(&self, new: Failure) {
        let mut kept = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        let earlier = kept.as_ref().is_none_or(|old| {
            let states = new.x.iter().zip(&old.x).map(|(new, old)| new.total_cmp(old)).find(|order| order.is_ne());
            new.t.total_cmp(&old.t).then(states.unwrap_or(std::cmp::Ordering::Equal)).is_lt()
        });
        if earlier {
            *kept = Some(new);
        }
    }

    /// Record that a path stopped.
    fn stopped(&self, stop: Stop, segment: &Segment) {
        // A state that was lost before is not this formula's fault.
        if stop.x.iter().all(|x| x.is_finite()) {
            let error = self.explain(&stop, segment);
            self.fail(Failure { t: stop.t, x: stop.x, error });
        }
    }

    /// Say what a path that stopped ran into.
    fn explain(&self, stop: &Stop, segment: &Segment) -> Error {
        let program = &self.bound.program;
        let mut lanes = Lanes::<1>::new(&self.bound);
        run_at(&self.bound, &mut lanes, &stop.x, stop.t, segment);
        let rates: Vec<f64> = program.outputs.iter().map(|&o| lanes.values[o][0]).collect();
        let mut culprit = first_unsound(&self.bound, &lanes);
        // Fine here, so look a little ahead along the motion.
        for reach in [1.0, 1e2, 1e4] {
            if culprit.is_none() {
                let ahead: Vec<f64> = stop.x.iter().zip(&rates).map(|(x, f)| x + reach * stop.ahead * f).collect();
                run_at(&self.bound, &mut lanes, &ahead, stop.t + reach * stop.ahead, segment);
                culprit = first_unsound(&self.bound, &lanes);
            }
        }
        let named = program.names.states.iter().zip(&stop.x).map(|(name, x)| format!("{name} = {x}"));
        let place = format!("{}, t = {}", named.collect::<Vec<_>>().join(", "), stop.t);
        let equation = |i: usize| format!("d{}/dt = {}", program.names.states[i], self.formula.brief(i));
        let why = match culprit {
            Some(o) => format!(
                "{}: {} has no finite value at or just after {place}; keep the states where the formula is defined, \
                 e.g. with max or abs",
                equation(program.origins[o].0),
                program.piece(o)
            ),
            None => {
                let all: Vec<String> = (0..program.dim()).map(equation).collect();
                format!(
                    "{}: the solution cannot be continued beyond {place}, where it blows up or changes too fast; use \
                     shorter steps or other parameters",
                    all.join(", ")
                )
            }
        };
        Error::Numerical { what: "drift formula", why }
    }

    /// Integrate paths over the step, each a state or a state and its derivatives.
    fn integrate(&self, t: f64, dt: f64, derivatives: bool, paths: &mut [f64]) {
        let Some(segments) = self.segments(t, dt) else { return paths.fill(f64::NAN) };
        for segment in &segments {
            integrate(&self.bound, segment, (derivatives, PATIENCE), paths, &mut |_, stop| self.stopped(stop, segment));
        }
    }

    /// Flow and derivatives of one state by integration: (flow, ∂/∂x, ∂/∂θ), both row after row.
    fn direct_jacobian(&self, t: f64, dt: f64, x: &[f64]) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let (d, p) = (self.dim(), self.bound.parameters.len());
        let mut path = vec![0.0; d * (1 + d + p)];
        path[..d].copy_from_slice(x);
        for i in 0..d {
            path[d + i * d + i] = 1.0;
        }
        self.integrate(t, dt, true, &mut path);
        // The flow itself takes the steps that it takes without derivatives.
        let mut out = x.to_vec();
        self.integrate(t, dt, false, &mut out);
        let column = |z: usize, i: usize| path[d + z * d + i];
        let by_state = (0..d * d).map(|k| column(k % d, k / d)).collect();
        let by_parameter = (0..d * p).map(|k| column(d + k % p, k / p)).collect();
        (out, by_state, by_parameter)
    }

    /// The affine step from `t` to `t + dt`, if the formula has one.
    fn affine_step(&self, t: f64, dt: f64) -> Option<Arc<AffineStep>> {
        match &self.motion {
            Motion::Linear(motion, store) => Some(store.get(dt.to_bits(), || motion.step(dt))),
            Motion::Affine(store) => {
                let key = (t.to_bits(), dt.to_bits());
                Some(store.get(key, || AffineStep::new(self.dim(), |x| self.direct_jacobian(t, dt, x))))
            }
            Motion::Table(_) | Motion::Direct => None,
        }
    }

    /// The table of a step length, if the formula has one.
    fn table(&self, dt: f64) -> Option<Arc<StepTable>> {
        let Motion::Table(store) = &self.motion else { return None };
        let key = length_key(dt);
        // All lengths that share the table get that of the same one.
        Some(store.get(key, || StepTable::new(&self.bound, f64::from_bits(key << 12))))
    }
}

impl Drift for FormulaDrift {
    fn kind(&self) -> &'static str {
        "formula"
    }

    fn dim(&self) -> usize {
        self.bound.program.dim()
    }

    fn parameters(&self) -> Vec<(String, f64)> {
        let names = self.formula.parameters.iter().map(|parameter| parameter.name.clone());
        names.zip(self.bound.parameters.iter().copied()).collect()
    }

    fn parameter_count(&self) -> usize {
        self.bound.parameters.len()
    }

    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Drift>> {
        Ok(Box::new(self.formula.drift(values)?))
    }

    fn domains(&self) -> Vec<Domain> {
        self.formula.parameters.iter().map(FormulaParameter::domain).collect()
    }

    fn is_affine(&self) -> bool {
        self.formula.is_affine()
    }

    fn is_autonomous(&self) -> bool {
        self.formula.is_autonomous()
    }

    fn check_step(&self, dt: f64) -> Result<()> {
        match &self.motion {
            Motion::Linear(motion, _) => motion.linear.check_step(dt),
            _ => non_negative("step length", dt).map(|_| ()),
        }
    }

    fn failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|failure| failure.error.clone())
    }

    fn flow(&self, t: f64, dt: f64, x: &[f64], out: &mut [f64]) {
        self.flow_many(t, dt, x, out);
    }

    fn flow_many(&self, t: f64, dt: f64, states: &[f64], out: &mut [f64]) {
        out.copy_from_slice(states);
        if dt == 0.0 {
            return;
        }
        if let Some(step) = self.affine_step(t, dt) {
            let dim = self.dim();
            for (x, out) in states.chunks_exact(dim).zip(out.chunks_exact_mut(dim)) {
                step.flow(x, out);
            }
            return;
        }
        let Some(table) = self.table(dt) else { return self.integrate(t, dt, false, out) };
        let mut left = Vec::new();
        for (k, (x, out)) in states.iter().zip(out.iter_mut()).enumerate() {
            match table.spot(&self.bound, *x) {
                Some(spot) => *out = spot.value(0),
                None => left.push(k),
            }
        }
        if !left.is_empty() {
            let mut paths: Vec<f64> = left.iter().map(|&k| states[k]).collect();
            self.integrate(t, dt, false, &mut paths);
            left.iter().zip(paths).for_each(|(&k, moved)| out[k] = moved);
        }
    }

    fn flow_jacobian(
        &self,
        t: f64,
        dt: f64,
        x: &[f64],
        out: &mut [f64],
        by_state: &mut [f64],
        by_parameter: &mut [f64],
    ) {
        let d = self.dim();
        if dt == 0.0 {
            out.copy_from_slice(x);
            by_state.fill(0.0);
            by_state.iter_mut().step_by(d + 1).for_each(|entry| *entry = 1.0);
            return by_parameter.fill(0.0);
        }
        if let Some(step) = self.affine_step(t, dt) {
            step.flow(x, out);
            by_state.copy_from_slice(step.slope());
            return step.by_parameter(x, by_parameter);
        }
        if let Some(table) = self.table(dt)
            && let Some(spot) = table.spot(&self.bound, x[0])
        {
            (out[0], by_state[0]) = (spot.value(0), spot.value(1));
            by_parameter.iter_mut().enumerate().for_each(|(l, by)| *by = spot.value(2 + l));
            return;
        }
        let (flow, state, parameter) = self.direct_jacobian(t, dt, x);
        out.copy_from_slice(&flow);
        by_state.copy_from_slice(&state);
        by_parameter.copy_from_slice(&parameter);
    }

    fn pullback_many(
        &self,
        t: f64,
        dt: f64,
        states: &[f64],
        lambda: &mut dyn FnMut(&[f64], &mut [f64]),
        out: &mut [f64],
        by_state: &mut [f64],
        by_parameter: &mut [f64],
    ) {
        let (d, p) = (self.dim(), self.bound.parameters.len());
        self.flow_many(t, dt, states, out);
        let mut covectors = vec![0.0; states.len()];
        lambda(out, &mut covectors);
        // Derivatives of all states that have to be integrated, at once.
        let jacobians = Jacobians::new(self, t, dt, states);
        let (mut slope, mut parameter) = (vec![0.0; d * d], vec![0.0; d * p]);
        for (k, x) in states.chunks_exact(d).enumerate() {
            jacobians.of(k, x, &mut slope, if by_parameter.is_empty() { &mut [] } else { &mut parameter });
            let at = k * d..(k + 1) * d;
            let by_state = &mut by_state[at.clone()];
            by_state.fill(0.0);
            for (i, &weight) in covectors[at].iter().enumerate() {
                add_scaled(weight, &slope[i * d..(i + 1) * d], by_state);
                if !by_parameter.is_empty() {
                    let row = &mut by_parameter[k * p..(k + 1) * p];
                    add_scaled(weight, &parameter[i * p..(i + 1) * p], row);
                }
            }
        }
    }
}

/// Derivatives of the flows of many states.
enum Jacobians<'a> {
    Still,
    Affine(Arc<AffineStep>),
    Table(Arc<StepTable>, &'a FormulaDrift, (f64, f64)),
    /// Paths of this many numbers each.
    Paths(Vec<f64>, usize),
}

impl<'a> Jacobians<'a> {
    fn new(drift: &'a FormulaDrift, t: f64, dt: f64, states: &[f64]) -> Self {
        if dt == 0.0 {
            return Self::Still;
        }
        if let Some(step) = drift.affine_step(t, dt) {
            return Self::Affine(step);
        }
        if let Some(table) = drift.table(dt) {
            return Self::Table(table, drift, (t, dt));
        }
        let (d, p) = (drift.dim(), drift.bound.parameters.len());
        let size = d * (1 + d + p);
        let mut paths = vec![0.0; states.len() / d * size];
        for (path, x) in paths.chunks_exact_mut(size).zip(states.chunks_exact(d)) {
            path[..d].copy_from_slice(x);
            (0..d).for_each(|i| path[d + i * d + i] = 1.0);
        }
        drift.integrate(t, dt, true, &mut paths);
        Self::Paths(paths, size)
    }

    /// ∂/∂x and, unless `parameter` is empty, ∂/∂θ of state number `k`, which is `x`.
    fn of(&self, k: usize, x: &[f64], slope: &mut [f64], parameter: &mut [f64]) {
        let d = x.len();
        match self {
            Self::Still => {
                slope.fill(0.0);
                slope.iter_mut().step_by(d + 1).for_each(|entry| *entry = 1.0);
                parameter.fill(0.0);
            }
            Self::Affine(step) => {
                slope.copy_from_slice(step.slope());
                step.by_parameter(x, parameter);
            }
            Self::Table(table, drift, (t, dt)) => match table.spot(&drift.bound, x[0]) {
                Some(spot) => {
                    slope[0] = spot.value(1);
                    parameter.iter_mut().enumerate().for_each(|(l, by)| *by = spot.value(2 + l));
                }
                None => {
                    let (_, state, all) = drift.direct_jacobian(*t, *dt, x);
                    slope.copy_from_slice(&state);
                    let count = parameter.len();
                    parameter.copy_from_slice(&all[..count]);
                }
            },
            Self::Paths(paths, size) => {
                let (p, path) = (parameter.len() / d, &paths[k * *size..(k + 1) * *size]);
                let column = |z: usize, i: usize| path[d + z * d + i];
                slope.iter_mut().enumerate().for_each(|(e, out)| *out = column(e % d, e / d));
                parameter.iter_mut().enumerate().for_each(|(e, out)| *out = column(d + e % p, e / p));
            }
        }
    }
}
