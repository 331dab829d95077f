//! Invert the distribution of a skewed stable law.

use super::skewed::{Abscissa, Skewed};

/// Tangent beyond which the origin of S1 is far from the law, so that x of S0 is searched.
const FAR: f64 = 1e3;
/// Step of Newton's method, in the coordinate searched, after which the next one is below rounding.
const SETTLED: f64 = 1e-9;
/// Newton's method takes about 6 steps; after so many every other step halves the bracket.
const PATIENCE: usize = 20;

/// Coordinate y in which the quantile is searched.
#[derive(Debug, Clone, Copy)]
enum Search {
    /// x of S0 = sinh y.
    Around,
    /// x of S1 = ± e^y.
    Side(f64),
}

impl Search {
    fn abscissa(self, law: &Skewed, y: f64) -> Abscissa {
        match self {
            Self::Around => law.at_s0(y.sinh()),
            Self::Side(sign) => law.at_s1(sign * y.exp()),
        }
    }

    /// |dx/dy|.
    fn rate(self, y: f64) -> f64 {
        match self {
            Self::Around => y.cosh(),
            Self::Side(_) => y.exp(),
        }
    }
}

/// The abscissa with P(X ≤ x) = `p` and P(X > x) = `q`, where p + q = 1 and the smaller one is exact.
///
/// Newton's method on the logarithm of the smaller probability, inside a bracket that starts as the range of f64.
pub(super) fn quantile(law: &Skewed, p: f64, q: f64) -> Abscissa {
    let shift = law.shift().abs();
    let search = if law.alpha() == 1.0 || shift > FAR {
        Search::Around
    } else if p > law.below_zero() {
        Search::Side(1.0)
    } else {
        Search::Side(-1.0)
    };
    // P(X ≤ x) rises with y, except left of the origin.
    let rising = !matches!(search, Search::Side(sign) if sign < 0.0);
    let (mut low, mut high) = match search {
        Search::Around => (-700.0, 700.0),
        Search::Side(_) => (-744.0, 709.0),
    };
    let mut y = 0.0;
    for count in 0..200 {
        let abscissa = search.abscissa(law, y);
        let point = law.at(abscissa, false);
        let mass = point.ln_density.exp() * search.rate(y);
        // Positive: P(X ≤ x) is too small.
        let (residual, slope) = if p <= q {
            ((p / point.lower).ln(), mass / point.lower)
        } else {
            ((point.upper / q).ln(), mass / point.upper)
        };
        if (residual > 0.0) == rising {
            low = y
        } else {
            high = y
        }
        let step = if rising { residual / slope } else { -residual / slope };
        let next = y + step;
        if step.abs() <= SETTLED {
            return search.abscissa(law, next);
        }
        // Written so that a step that is not a number bisects.
        let newton = next > low && next < high && (count < PATIENCE || count % 2 == 0);
        y = if newton { next } else { 0.5 * (low + high) };
        if high - low <= SETTLED {
            break;
        }
    }
    search.abscissa(law, y)
}
