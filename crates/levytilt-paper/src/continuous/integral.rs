//! Integrate smooth functions on a line to nearly full accuracy, halving panels until it is reached.

use levytilt::noise::panel_points;

/// Change on halving, relative to the whole, at which a panel is good: the error of the halves is far smaller still.
const TOLERANCE: f64 = 1e-11;
/// Most rounds of halving; below 2^−40 of its width rounding is all there is to see in a panel.
const MOST_ROUNDS: usize = 40;

/// ∫ f over the panels between increasing `edges`, which should show every scale of f.
///
/// All open panels are halved together, so that "the whole" is known as well as possible when they are judged: a narrow
/// peak that the first points miss must not make its flat surroundings look important.
pub(super) fn integrate(f: &dyn Fn(f64) -> f64, edges: &[f64]) -> f64 {
    let panel = |low: f64, high: f64| -> f64 { panel_points(&[low, high]).iter().map(|&(x, w)| w * f(x)).sum() };
    let mut open: Vec<(f64, f64, f64)> = edges.windows(2).map(|e| (e[0], e[1], panel(e[0], e[1]))).collect();
    let (mut total, mut size) = (0.0, 0.0);
    for round in 1..=MOST_ROUNDS {
        let halves: Vec<_> = open
            .iter()
            .map(|&(low, high, whole)| {
                let middle = 0.5 * (low + high);
                ((low, middle, panel(low, middle)), (middle, high, panel(middle, high)), whole)
            })
            .collect();
        let seen = size + halves.iter().map(|(left, right, _)| left.2.abs() + right.2.abs()).sum::<f64>();
        open.clear();
        for (left, right, whole) in halves {
            if (left.2 + right.2 - whole).abs() > TOLERANCE * seen && round < MOST_ROUNDS {
                open.extend([left, right]);
            } else {
                total += left.2 + right.2;
                size += left.2.abs() + right.2.abs();
            }
        }
    }
    total
}

/// ln ∫ e^{log_f}, whatever the size of f.
pub(super) fn log_integral(log_f: &dyn Fn(f64) -> f64, edges: &[f64]) -> f64 {
    let top = panel_points(edges).iter().map(|&(x, _)| log_f(x)).fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + integrate(&|x| (log_f(x) - top).exp(), edges).ln()
}

/// Edges at most `width` apart from `low` to `high`, with `extra` ones where they fall between.
pub(super) fn edges(low: f64, high: f64, width: f64, extra: impl Iterator<Item = f64>) -> Vec<f64> {
    let parts = ((high - low) / width).ceil().max(1.0);
    let even = (0..=parts as usize).map(|i| low + (high - low) * i as f64 / parts);
    let mut all: Vec<f64> = even.chain(extra.filter(|&e| e > low && e < high)).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_known_integrals() {
        let narrow = integrate(&|x| (-0.5 * (x / 1e-3).powi(2)).exp(), &edges(-10.0, 10.0, 2.0, [0.0].into_iter()));
        assert!((narrow / (1e-3 * (2.0 * std::f64::consts::PI).sqrt()) - 1.0).abs() < 1e-13, "{narrow}");
        let log = log_integral(&|x| 1e5 - x, &edges(0.0, 50.0, 4.0, std::iter::empty()));
        assert!((log - 1e5).abs() < 1e-10, "{log}");
    }
}
