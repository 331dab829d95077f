//! Mixtures of t laws, and those that fit weighted points best.

use super::law::SplitT;
use crate::StreamRng;
use crate::posterior::{normalise, systematic};
use nalgebra::{DMatrix, DVector};
use rand::RngExt;

/// Most parts, and weighted points per part and dimension that equal weights would be worth.
const MOST: usize = 12;
const WORTH: f64 = 4.0;
/// Most points that a mixture is fitted to, and rounds of the fit.
const POINTS: usize = 1000;
const ROUNDS: usize = 15;
/// Share and width, in standard deviations of all points, of a part that looks farther than the points reach.
const WIDE: (f64, f64) = (0.1, 2.0);

/// Laws with shares that add up to 1.
#[derive(Debug, Clone)]
pub(super) struct Mixture {
    parts: Vec<(f64, SplitT)>,
}

impl Mixture {
    /// `share` of `wide`, the rest from `law`.
    pub fn with_wide(law: SplitT, (share, wide): (f64, SplitT)) -> Self {
        Self { parts: vec![(1.0 - share, law), (share, wide)] }
    }

    pub fn draw(&self, rng: &mut StreamRng) -> DVector<f64> {
        let mut left: f64 = rng.random();
        let chosen = self.parts.iter().find(|(share, _)| {
            left -= share;
            left < 0.0
        });
        let (_, law) = chosen.unwrap_or(&self.parts[self.parts.len() - 1]);
        law.draw(rng)
    }

    pub fn log_density(&self, at: &DVector<f64>) -> f64 {
        normalise(&self.logs(at)).0
    }

    /// Logarithms of share times density of each part.
    fn logs(&self, at: &DVector<f64>) -> Vec<f64> {
        self.parts.iter().map(|(share, law)| share.ln() + law.log_density(at)).collect()
    }

    /// The mixture of t laws with the largest likelihood of points with these weights, which have sum 1, and a wide part; as many parts
    /// as the weights are worth. None if the points do not span the space.
    pub fn fitted(points: &[&DVector<f64>], weights: &[f64], rng: &mut StreamRng) -> Option<Self> {
        let n = points[0].len();
        let mut mean = DVector::zeros(n);
        points.iter().zip(weights).for_each(|(point, w)| mean += *point * *w);
        let mut covariance = DMatrix::zeros(n, n);
        for (point, w) in points.iter().zip(weights) {
            let away = *point - &mean;
            covariance += &away * away.transpose() * *w;
        }
        let root = covariance.cholesky()?.l();
        let inverse = root.clone().try_inverse()?;
        let worth = 1.0 / weights.iter().map(|w| w * w).sum::<f64>();
        let unit: Vec<(DVector<f64>, f64)> =
            fewer(weights, rng).into_iter().map(|(i, w)| (&inverse * (points[i] - &mean), w)).collect();
        let count = ((worth / (WORTH * (n + 1) as f64)) as usize).clamp(1, MOST);
        let mut parts = first_parts(&unit, count, rng)?;
        for _ in 0..ROUNDS {
            parts = Self { parts }.improved(&unit, worth)?;
        }
        let back = |(share, law): &(f64, SplitT)| {
            let law = SplitT::symmetric_root(&mean + &root * law.middle(), &root * law.axes())?;
            Some((share * (1.0 - WIDE.0), law))
        };
        let mut parts: Vec<(f64, SplitT)> = parts.iter().map(back).collect::<Option<_>>()?;
        parts.push((WIDE.0, SplitT::symmetric_root(mean, root * WIDE.1)?));
        Some(Self { parts })
    }

    /// One round of expectation and maximisation; parts too light to have a width of their own are left out.
    fn improved(&self, points: &[(DVector<f64>, f64)], worth: f64) -> Option<Vec<(f64, SplitT)>> {
        let n = points[0].0.len();
        let mut sums = vec![Sum::new(n); self.parts.len()];
        for (point, w) in points {
            let shares = normalise(&self.logs(point)).1;
            for ((sum, (_, law)), share) in sums.iter_mut().zip(&self.parts).zip(shares) {
                sum.add(point, w * share, law.precision(point));
            }
        }
        let enough = (n + 1) as f64 / worth;
        let kept: Vec<&Sum> = sums.iter().filter(|sum| sum.share > enough || sums.len() == 1).collect();
        let total: f64 = kept.iter().map(|sum| sum.share).sum();
        let parts = kept.iter().map(|sum| Some((sum.share / total, sum.law(enough)?)));
        parts.collect::<Option<Vec<_>>>().filter(|parts| !parts.is_empty())
    }
}

/// Sums over points for one part.
#[derive(Clone)]
struct Sum {
    share: f64,
    precision: f64,
    first: DVector<f64>,
    second: DMatrix<f64>,
}

impl Sum {
    fn new(n: usize) -> Self {
        Self { share: 0.0, precision: 0.0, first: DVector::zeros(n), second: DMatrix::zeros(n, n) }
    }

    fn add(&mut self, point: &DVector<f64>, weight: f64, precision: f64) {
        self.share += weight;
        self.precision += weight * precision;
        self.first.axpy(weight * precision, point, 1.0);
        self.second.ger(weight * precision, point, point, 1.0);
    }

    /// The law with the largest likelihood, if beforehand so much weight told that its axes are those of the space: few points
    /// correlate by chance.
    fn law(&self, beforehand: f64) -> Option<SplitT> {
        let middle = &self.first / self.precision;
        let mut spread = (&self.second - &middle * middle.transpose() * self.precision) / self.share;
        let straight = beforehand / (self.share + beforehand);
        for i in 0..spread.nrows() {
            for j in 0..spread.ncols() {
                spread[(i, j)] *= if i == j { 1.0 + straight } else { 1.0 - straight };
            }
        }
        SplitT::symmetric(middle, spread)
    }
}

/// At most [`POINTS`] points by their number, with weights.
fn fewer(weights: &[f64], rng: &mut StreamRng) -> Vec<(usize, f64)> {
    if weights.len() <= POINTS {
        return weights.iter().copied().enumerate().filter(|(_, w)| *w > 0.0).collect();
    }
    let mut all: Vec<(usize, f64)> = Vec::new();
    for i in systematic(weights, POINTS, rng.random()) {
        match all.last_mut() {
            Some((last, w)) if *last == i => *w += 1.0 / POINTS as f64,
            _ => all.push((i, 1.0 / POINTS as f64)),
        }
    }
    all
}

/// Parts around points that lie far from each other (Arthur and Vassilvitskii 2007).
fn first_parts(points: &[(DVector<f64>, f64)], count: usize, rng: &mut StreamRng) -> Option<Vec<(f64, SplitT)>> {
    let n = points[0].0.len();
    let mut middles = vec![DVector::zeros(n)];
    while middles.len() < count {
        let nearest = |point: &DVector<f64>| {
            middles.iter().map(|middle| (point - middle).norm_squared()).fold(f64::INFINITY, f64::min)
        };
        let away: Vec<f64> = points.iter().map(|(point, w)| w * nearest(point)).collect();
        let mut left = rng.random::<f64>() * away.iter().sum::<f64>();
        let chosen = away.iter().position(|away| {
            left -= away;
            left < 0.0
        });
        middles.push(points[chosen.unwrap_or(0)].0.clone());
    }
    let width = (count as f64).powf(-1.0 / n as f64);
    let part = |middle| Some((1.0 / count as f64, SplitT::symmetric_root(middle, DMatrix::identity(n, n) * width)?));
    middles.into_iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;
    use rand_distr::{Distribution, StandardNormal};

    /// A bow: y = x² + noise. Weighted by the density of the mixture that was fitted to it, draws are worth more than half of
    /// their number; of one t law they are worth less than a third. With 2000 points either share is known to 3%.
    #[test]
    fn statistics_a_mixture_follows_a_bow() {
        let mut rng = stream(3, 1);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let points: Vec<DVector<f64>> = (0..2000)
            .map(|_| {
                let x = normal();
                DVector::from_vec(vec![x, x * x + 0.3 * normal()])
            })
            .collect();
        let points: Vec<&DVector<f64>> = points.iter().collect();
        let law = Mixture::fitted(&points, &vec![1.0 / 2000.0; 2000], &mut stream(3, 2)).unwrap();
        let one = Mixture { parts: vec![law.parts[law.parts.len() - 1].clone()] };
        let worth = |law: &Mixture| {
            let mut rng = stream(3, 3);
            let logs: Vec<f64> = (0..2000)
                .map(|_| {
                    let at = law.draw(&mut rng);
                    let bow = -0.5 * at[0] * at[0] - 0.5 * ((at[1] - at[0] * at[0]) / 0.3).powi(2);
                    bow - law.log_density(&at)
                })
                .collect();
            1.0 / normalise(&logs).1.iter().map(|w| w * w).sum::<f64>() / 2000.0
        };
        assert!(worth(&law) > 0.5 && worth(&one) < 0.33, "{} {}", worth(&law), worth(&one));
    }
}
