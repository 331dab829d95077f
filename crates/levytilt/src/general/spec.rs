//! Say which model with directions to fit: what is given, what is learned, and where learning starts.

use super::model::{GeneralModel, Row, Source};
use super::observe::{Sight, Weights, sights};
use crate::drift::{Formula, FormulaDrift};
use crate::error::{finite, positive};
use crate::model::OBSERVATION_STD;
use crate::noise::Family;
use crate::parameter::{Prior, Transform};
use crate::series::TimeGrid;
use crate::{Error, Result};
use nalgebra::{DMatrix, DVector};

/// What a jump of size 1 of a source adds to a state.
#[derive(Debug, Clone, PartialEq)]
pub enum Loading {
    /// This much.
    Fixed(f64),
    /// A parameter of this name, learned unless it is held.
    Named(String),
}

/// A noise source.
#[derive(Debug, Clone)]
pub struct SourceSpec {
    /// Name; parameters of its family carry it, as in `alpha[kick]`.
    pub name: String,
    /// Family of its jumps.
    pub family: &'static Family,
    /// The states it moves, by number.
    pub on: Vec<(usize, Loading)>,
}

impl SourceSpec {
    /// Whether a loading is a number other than 0, so that the size of the jumps is their own.
    fn is_tied(&self) -> bool {
        self.on.iter().any(|(_, loading)| matches!(loading, Loading::Fixed(by) if *by != 0.0))
    }
}

/// An observed column.
#[derive(Debug, Clone)]
pub struct RowSpec {
    /// Name of the column.
    pub name: String,
    /// The states it sees, by number, with their weights.
    pub of: Vec<(usize, f64)>,
}

/// The state at the first time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StartSpec {
    /// Known.
    Known(f64),
    /// Gaussian.
    Gaussian {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        std: f64,
    },
    /// Around the first value that sees it, or wide if none does.
    Open,
}

/// A model with directions whose parameters are partly open.
#[derive(Debug, Clone)]
pub struct GeneralSpec {
    /// Drift formulas, one per state.
    pub drift: Formula,
    /// Noise sources.
    pub sources: Vec<SourceSpec>,
    /// Observed columns.
    pub rows: Vec<RowSpec>,
    /// One start per state.
    pub starts: Vec<StartSpec>,
    /// Parameters held fixed, by name.
    pub held: Vec<(String, f64)>,
}

/// Where a parameter acts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Role {
    Drift(usize),
    Noise(usize, usize),
    Loading(usize, usize),
    Std(usize),
}

/// A parameter with all its roles.
#[derive(Debug, Clone)]
pub(super) struct Parameter {
    pub name: String,
    pub roles: Vec<Role>,
    pub transform: Transform,
    pub value: f64,
    pub fixed: bool,
    pub prior: Prior,
}

impl Parameter {
    /// As a watcher of the search sees it.
    pub fn shown(&self) -> crate::context::Parameter {
        let (name, prior) = (self.name.clone(), Some(self.prior));
        crate::context::Parameter { name, value: self.value, fixed: self.fixed, transform: self.transform, prior }
    }
}

/// Standard deviation of the default prior on the free scale of a positive parameter or one between bounds.
const WIDE: f64 = 3.0;
/// Standard deviation of the default prior of any other parameter, in units of its guess.
const VERY_WIDE: f64 = 100.0;

impl GeneralSpec {
    /// The parameters with values to start from: those of the drift, loadings, those of noises, observation noises.
    ///
    /// # Errors
    /// A state that nothing observes; a value held for a name that is no parameter, or outside of its domain; columns from
    /// which nothing can be learned.
    pub(super) fn parameters(&self, grid: &TimeGrid, columns: &[&[f64]]) -> Result<Vec<Parameter>> {
        let times: Vec<f64> =
            (0..grid.len()).filter(|&j| grid.observation(j).is_some()).map(|j| grid.times()[j]).collect();
        let span = times[times.len() - 1] - times[0];
        self.rows(|_| 1.0).iter().try_for_each(|row| row.check(self.drift.states().len()))?;
        let mut all: Vec<Parameter> = Vec::new();
        for (l, entry) in self.drift.parameters().iter().enumerate() {
            // A tenth of the span is a time scale that a record can show.
            let usual = 10.0 / span;
            let low = entry.low.filter(|low| usual <= *low).map(|low| low + usual);
            let high = entry
                .high
                .filter(|high| usual >= *high)
                .map(|high| entry.low.map_or(high - usual, |low| 0.5 * (low + high)));
            let guess = entry.guess.or(low).or(high).unwrap_or(usual);
            let transform = entry.transform();
            let std = if transform == Transform::Identity { VERY_WIDE * guess.abs().max(usual) } else { WIDE };
            let prior = entry.prior.unwrap_or(Prior { mean: transform.forward(guess), std });
            self.add(&mut all, entry.name.clone(), Role::Drift(l), transform, guess, prior);
        }
        let drift_values: Vec<f64> =
            self.drift.parameters().iter().map(|entry| self.value_of(&all, &entry.name)).collect();
        let drift = self.drift.drift(&drift_values)?;
        let sights = self.sights(&drift, &times, columns)?;
        for (r, source) in self.sources.iter().enumerate() {
            let tied = source.is_tied();
            let mut first = !tied;
            for (i, loading) in &source.on {
                let Loading::Named(name) = loading else { continue };
                // The sign of a direction is free: the first loading is positive.
                let transform = if first { Transform::Log } else { Transform::Identity };
                let size = if tied { 1.0 } else { sights[*i].jump_size(source.family) };
                let prior = match first {
                    true => Prior { mean: size.ln(), std: WIDE },
                    false => Prior { mean: 0.0, std: 10.0 * size },
                };
                let guess = if first { size } else { 0.5 * size };
                self.add(&mut all, name.clone(), Role::Loading(r, *i), transform, guess, prior);
                first = false;
            }
            self.add_noise(&mut all, r, tied, &sights);
        }
        for (i, row) in self.rows.iter().enumerate() {
            let guess = sights_of_row(&sights, i).map_or(1.0, |sight| sight.error);
            let prior = Prior { mean: guess.ln(), std: WIDE };
            let name = format!("{}[{}]", OBSERVATION_STD.name, row.name);
            self.add(&mut all, name, Role::Std(i), Transform::Log, guess, prior);
        }
        self.check_names()?;
        Ok(all)
    }

    /// Parameters of the family of source `r`; where all its loadings are learned, its scale is 1.
    fn add_noise(&self, all: &mut Vec<Parameter>, r: usize, tied: bool, sights: &[Sight]) {
        let source = &self.sources[r];
        let state = source.on.iter().find(|(_, by)| *by != Loading::Fixed(0.0)).map_or(0, |(i, _)| *i);
        for (p, entry) in source.family.parameters.iter().enumerate() {
            let name = format!("{}[{}]", entry.name, source.name);
            let given = |other: &str| {
                let full = format!("{other}[{}]", source.name);
                self.held.iter().find(|(known, _)| *known == full).map(|(_, value)| *value)
            };
            let guess = entry.guess(&sights[state].scales, &given);
            let prior = Prior { mean: entry.transform().forward(guess), std: WIDE };
            self.add(all, name.clone(), Role::Noise(r, p), entry.transform(), guess, prior);
            // The size of the jumps is in the loadings.
            if !tied && entry.is_size() && given(entry.name).is_none() {
                let last = all.len() - 1;
                (all[last].value, all[last].fixed) = (1.0, true);
            }
        }
    }

    fn add(&self, all: &mut Vec<Parameter>, name: String, role: Role, transform: Transform, value: f64, prior: Prior) {
        match all.iter_mut().find(|known| known.name == name) {
            Some(known) => known.roles.push(role),
            None => {
                let held = self.held.iter().find(|(known, _)| *known == name);
                let (value, fixed) = held.map_or((value, false), |(_, held)| (*held, true));
                all.push(Parameter { name, roles: vec![role], transform, value, fixed, prior });
            }
        }
    }

    fn value_of(&self, all: &[Parameter], name: &str) -> f64 {
        all.iter().find(|known| known.name == name).map_or(f64::NAN, |known| known.value)
    }

    /// The names of all parameters: of the drift, loadings, noises, observation noises.
    fn names(&self) -> Vec<String> {
        let mut all: Vec<String> = self.drift.parameters().iter().map(|entry| entry.name.clone()).collect();
        for source in &self.sources {
            let loading = |(_, loading): &(usize, Loading)| match loading {
                Loading::Named(name) => Some(name.clone()),
                Loading::Fixed(_) => None,
            };
            all.extend(source.on.iter().filter_map(loading));
            all.extend(source.family.parameters.iter().map(|entry| format!("{}[{}]", entry.name, source.name)));
        }
        all.extend(self.rows.iter().map(|row| format!("{}[{}]", OBSERVATION_STD.name, row.name)));
        all
    }

    /// Names held must be those of parameters, with finite values.
    ///
    /// # Errors
    /// A name that nothing uses, with those that could be meant; a value that is not finite.
    pub fn check_names(&self) -> Result<()> {
        let known = self.names();
        for (name, value) in &self.held {
            finite(name, *value)?;
            if !known.contains(name) {
                let problem = format!("is not a parameter of this model; expected one of {}", known.join(", "));
                return Err(Error::Series { place: format!("parameter {name}"), problem });
            }
        }
        Ok(())
    }

    /// The model with every parameter held: to look ahead from states that are known, or to draw a record. A start that is
    /// left open is 0.
    ///
    /// # Errors
    /// A parameter without a value; a value for a name that nothing uses, or outside of its domain; parts that do not fit
    /// together.
    pub fn closed(&self) -> Result<GeneralModel> {
        self.check_names()?;
        let name = |role: Role| match role {
            Role::Drift(l) => self.drift.parameters()[l].name.clone(),
            Role::Noise(r, p) => format!("{}[{}]", self.sources[r].family.parameters[p].name, self.sources[r].name),
            Role::Std(i) => format!("{}[{}]", OBSERVATION_STD.name, self.rows[i].name),
            Role::Loading(r, i) => {
                let named = self.sources[r].on.iter().find_map(|(state, loading)| match loading {
                    Loading::Named(name) if *state == i => Some(name.clone()),
                    _ => None,
                });
                named.unwrap_or_default()
            }
        };
        let missing = std::cell::RefCell::new(None);
        let value = |role: Role| {
            let name = name(role);
            let held = self.held.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            held.or_else(|| self.implied(role)).unwrap_or_else(|| {
                missing.borrow_mut().get_or_insert(name);
                f64::NAN
            })
        };
        let starts: Vec<(f64, f64)> = self
            .starts
            .iter()
            .map(|start| match *start {
                StartSpec::Known(value) => (value, 0.0),
                StartSpec::Gaussian { mean, std } => (mean, std),
                StartSpec::Open => (0.0, 0.0),
            })
            .collect();
        let built = self.build(value, &starts);
        match missing.take() {
            Some(name) => {
                let problem = "needs a value: nothing is learned here; give one in the section it belongs to, or under \
                               [parameters]";
                Err(Error::Series { place: format!("parameter {name}"), problem: problem.into() })
            }
            None => built,
        }
    }

    /// The size of the jumps of a source whose loadings all have names is 1: the loadings say how large they are.
    fn implied(&self, role: Role) -> Option<f64> {
        let Role::Noise(r, p) = role else { return None };
        (!self.sources[r].is_tied() && self.sources[r].family.parameters[p].is_size()).then_some(1.0)
    }

    /// The model with these values, and this start.
    ///
    /// # Errors
    /// A value outside of its domain; parts that do not fit together.
    pub(super) fn model(&self, parameters: &[Parameter], starts: &[(f64, f64)]) -> Result<GeneralModel> {
        let value = |role: Role| {
            parameters.iter().find(|known| known.roles.contains(&role)).map_or(f64::NAN, |known| known.value)
        };
        self.build(value, starts)
    }

    fn build(&self, value: impl Fn(Role) -> f64, starts: &[(f64, f64)]) -> Result<GeneralModel> {
        let dim = self.drift.states().len();
        let drift: Vec<f64> = (0..self.drift.parameters().len()).map(|l| value(Role::Drift(l))).collect();
        let mut sources = Vec::new();
        for (r, source) in self.sources.iter().enumerate() {
            let values: Vec<f64> = (0..source.family.parameters.len()).map(|p| value(Role::Noise(r, p))).collect();
            let mut direction = DVector::zeros(dim);
            for (i, loading) in &source.on {
                direction[*i] = match loading {
                    Loading::Fixed(by) => *by,
                    Loading::Named(_) => value(Role::Loading(r, *i)),
                };
            }
            sources.push(Source { name: source.name.clone(), noise: source.family.build(&values)?, direction });
        }
        let rows = self.rows(|i| value(Role::Std(i)));
        let variances = DVector::from_iterator(dim, starts.iter().map(|(_, std)| std * std));
        GeneralModel {
            states: self.drift.states().to_vec(),
            drift: Box::new(self.drift.drift(&drift)?),
            sources,
            rows,
            start_mean: DVector::from_iterator(dim, starts.iter().map(|(mean, _)| *mean)),
            start_covariance: DMatrix::from_diagonal(&variances),
        }
        .checked()
    }

    /// The rows, with these observation standard deviations.
    fn rows(&self, std: impl Fn(usize) -> f64) -> Vec<Row> {
        let row = |(i, row): (usize, &RowSpec)| {
            let mut weights = DVector::zeros(self.drift.states().len());
            row.of.iter().for_each(|(state, weight)| weights[*state] = *weight);
            Row { name: row.name.clone(), weights, std: std(i) }
        };
        self.rows.iter().enumerate().map(row).collect()
    }

    /// Mean and standard deviation of each state at the first time.
    ///
    /// # Errors
    /// A start that is not finite, or a standard deviation that is not positive.
    pub(super) fn starts(
        &self,
        parameters: &[Parameter],
        times: &[f64],
        columns: &[&[f64]],
    ) -> Result<Vec<(f64, f64)>> {
        let values: Vec<f64> =
            self.drift.parameters().iter().map(|entry| self.value_of(parameters, &entry.name)).collect();
        let sights = self.sights(&self.drift.drift(&values)?, times, columns)?;
        let each = self.starts.iter().zip(self.drift.states()).zip(&sights);
        each.map(|((start, state), sight)| match *start {
            StartSpec::Known(value) => Ok((finite(&format!("start of {state}"), value)?, 0.0)),
            StartSpec::Gaussian { mean, std } => Ok((
                finite(&format!("start of {state}"), mean)?,
                positive(&format!("std of the start of {state}"), std)?,
            )),
            StartSpec::Open => Ok(sight.start),
        })
        .collect()
    }
}

impl GeneralSpec {
    /// How every state shows in the columns.
    fn sights(&self, drift: &FormulaDrift, times: &[f64], columns: &[&[f64]]) -> Result<Vec<Sight>> {
        let rows: Vec<Weights> = self.rows.iter().map(|row| &row.of[..]).collect();
        let given = |start: &StartSpec| match *start {
            StartSpec::Known(value) => Some(value),
            StartSpec::Gaussian { mean, .. } => Some(mean),
            StartSpec::Open => None,
        };
        let starts: Vec<Option<f64>> = self.starts.iter().map(given).collect();
        sights((self.drift.states(), &rows), drift, &starts, times, columns)
    }
}

fn sights_of_row(sights: &[Sight], row: usize) -> Option<&Sight> {
    sights.iter().filter(|sight| sight.row == row).min_by_key(|sight| sight.order)
}
