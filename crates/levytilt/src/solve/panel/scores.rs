//! Search for what many series share: the products of their slopes tell the information, and a few of them where to begin.
//!
//! The sum over many series is a parabola as far as a single one can see. So steps are judged by slopes, which are surer than
//! differences of large sums, and the terms of third derivatives are computed where the search ends; on the way there they are
//! as large as those of the few series that it began with.

use super::super::climb::{Climber, Point, definite, updated};
use super::Panel;
use super::series::Stand;
use crate::{Error, Result};
use nalgebra::{DMatrix, DVector};

/// Series per shared number from which products of their slopes tell the information well enough for steps, and for errors.
const MANY: usize = 10;
const SURE: usize = 100;
/// Series per shared number that the search begins with at least, their share of all, and how many times as many there must be.
const PILOT: usize = 20;
const PART: usize = 10;
const WORTH: usize = 4;
/// Way to go, in standard errors, at which the search ends; a last step follows.
const CLOSE: f64 = 0.5;
/// Cuts of a step before the search ends.
const CUTS: usize = 6;

/// A search that has ended, with its best point and the information there.
pub(super) type Ended<'a> = (Climber<Panel<'a>>, Point, DMatrix<f64>);

/// Sum over series of the products of their slopes, from which that of their mean is taken off; nothing if they are few.
pub(super) fn product(stands: &[Stand]) -> Option<DMatrix<f64>> {
    let n = stands.first()?.slope.len();
    if stands.len() < MANY * n {
        return None;
    }
    let mean = stands.iter().fold(DVector::zeros(n), |sum, stand| sum + &stand.slope) / stands.len() as f64;
    let product = |stand: &Stand| (&stand.slope - &mean) * (&stand.slope - &mean).transpose();
    Some(stands.iter().fold(DMatrix::zeros(n, n), |sum, stand| sum + product(stand)))
}

/// Whether there are so many series that products of their slopes give the standard errors, and simulated ones the lean.
pub(super) fn sure(stands: &[Stand]) -> bool {
    stands.first().is_some_and(|stand| stands.len() >= SURE * stand.slope.len())
}

impl<'a> Panel<'a> {
    /// Search from `free`; series that cannot be evaluated are added to `failures`.
    pub(super) fn search(mut self, free: DVector<f64>, failures: &mut Vec<(usize, Error)>) -> Result<Ended<'a>> {
        let (numbers, count, most) = (free.len(), self.series.len(), self.most);
        let few = (PILOT * numbers).max(count / PART);
        let mut rest = match count >= WORTH * few {
            true => self.set_apart(few),
            false => Vec::new(),
        };
        let mut stands = self.begin(failures, |_, one, common| one.begin(&free, common));
        let many = stands.len() >= MANY * numbers;
        if !many {
            self.series.append(&mut rest);
            stands = self.begin(failures, |k, one, common| match stands.get(k) {
                Some(stand) => Ok(stand.clone()),
                None => one.begin(&free, common),
            });
        }
        if let (true, false) = (stands.is_empty(), failures.is_empty()) {
            return Err(failures.swap_remove(0).1);
        }
        let mut search = Climber { memory: stands, ..Climber::new(self, most) };
        if !many {
            let (top, information) = search.climb(free, None)?;
            return Ok((search, top, information));
        }
        let (top, information) = search.settle(free, true)?;
        if rest.is_empty() || search.stopped {
            return Ok((search, top, information));
        }
        search.join(rest, &top.free, failures);
        let (top, information) = search.settle(top.free, false)?;
        Ok((search, top, information))
    }

    /// Keep `few` series, evenly spread over all, and return the others.
    fn set_apart(&mut self, few: usize) -> Vec<(usize, super::Series<'a>)> {
        let count = self.series.len();
        let chosen = |k: usize| (k * few) / count != ((k + 1) * few) / count;
        let all = self.series.drain(..).enumerate();
        let (kept, rest): (Vec<_>, Vec<_>) = all.partition(|(k, _)| chosen(*k));
        self.series = kept.into_iter().map(|(_, one)| one).collect();
        rest.into_iter().map(|(_, one)| one).collect()
    }
}

impl<'a> Climber<Panel<'a>> {
    /// Let the other series in where the first ones stand. Their slopes are plain, and what third derivatives add to them is the
    /// mean of what they add to the first ones'.
    fn join(&mut self, rest: Vec<(usize, super::Series<'a>)>, free: &DVector<f64>, failures: &mut Vec<(usize, Error)>) {
        let first = self.memory.len();
        let added = self.memory.iter().map(|stand| &stand.slope - &stand.plain);
        let added = added.fold(DVector::zeros(free.len()), |sum, one| sum + one) / first as f64;
        self.surface.series.extend(rest);
        let known = std::mem::take(&mut self.memory);
        self.memory = self.surface.begin(failures, |k, one, common| match known.get(k) {
            Some(stand) => Ok(stand.clone()),
            None => one.reach(free, common),
        });
        self.memory.iter_mut().skip(first).for_each(|stand| stand.slope += &added);
    }

    /// Newton steps from `free`, where all series stand, until little is to be gained; at least one unless they stand there with
    /// `exact` slopes.
    fn settle(&mut self, free: DVector<f64>, mut exact: bool) -> Result<(Point, DMatrix<f64>)> {
        let mut point = self.surface.sum(free, &self.memory)?;
        let mut information = self.known()?;
        self.tell(&point);
        while !self.stopped && self.iterations < self.most {
            let definite = definite(&information);
            let mut step = newton(&definite, &point);
            if exact && step.dot(&point.slope).sqrt() < CLOSE {
                break;
            }
            self.shorten(&mut step);
            let Some((next, stands)) = self.advance_by_slope(&point, step, &definite, exact)? else { break };
            self.memory = stands;
            information = match exact {
                true => updated(definite, &(&next.free - &point.free), &(&point.slope - &next.slope)),
                false => self.known()?,
            };
            (point, exact) = (next, true);
            self.iterations += 1;
            self.tell(&point);
        }
        Ok((point, information))
    }

    /// The information as products of slopes.
    fn known(&self) -> Result<DMatrix<f64>> {
        product(&self.memory).ok_or_else(|| Error::Numerical {
            what: "learning",
            why: "too few series of the panel can be evaluated together; leave out those that differ most".into(),
        })
    }

    /// The first of ever shorter steps after which less is left to go, or the sum is higher; the first that can be computed from
    /// slopes that are not exact.
    fn advance_by_slope(
        &self,
        point: &Point,
        step: DVector<f64>,
        information: &DMatrix<f64>,
        exact: bool,
    ) -> Result<Option<(Point, Vec<Stand>)>> {
        let left = |point: &Point| newton(information, point).dot(&point.slope);
        let mut share = 1.0;
        for cut in 1..=CUTS {
            let free = &point.free + share * &step;
            let found = self.surface.evaluate(&free, &self.memory);
            match found.and_then(|stands| Ok((self.surface.sum(free, &stands)?, stands))) {
                Ok((next, _)) if exact && left(&next) >= left(point) && next.value <= point.value => {}
                Ok(found) => return Ok(Some(found)),
                Err(error) if cut == CUTS && !exact => return Err(error),
                // A place where a series cannot be computed is too far away.
                Err(_) => {}
            }
            share *= 0.3;
        }
        Ok(None)
    }
}

/// The Newton step from a point.
fn newton(information: &DMatrix<f64>, point: &Point) -> DVector<f64> {
    information.clone().cholesky().map_or_else(|| point.slope.clone(), |root| root.solve(&point.slope))
}
