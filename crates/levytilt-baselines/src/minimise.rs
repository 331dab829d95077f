//! Find the lowest point of a smooth function of a few variables without its derivatives.

/// Iterations after which the best point so far is returned.
const MOST: usize = 2000;

/// Nelder and Mead's simplex from `start` with first steps of size `step`, until its values differ by less than
/// `tolerance`; started again once from where it stopped, which frees a simplex that has collapsed. Values that are not
/// finite count as worst.
pub fn minimise(f: impl Fn(&[f64]) -> f64, start: &[f64], step: f64, tolerance: f64) -> (Vec<f64>, f64) {
    let value = |x: &[f64]| Some(f(x)).filter(|y| y.is_finite()).unwrap_or(f64::INFINITY);
    let (first, _) = descend(&value, start, step, tolerance);
    descend(&value, &first, 0.5 * step, tolerance)
}

fn descend(f: &impl Fn(&[f64]) -> f64, start: &[f64], step: f64, tolerance: f64) -> (Vec<f64>, f64) {
    let dim = start.len();
    let mut simplex: Vec<(Vec<f64>, f64)> = vec![(start.to_vec(), f(start))];
    for k in 0..dim {
        let mut x = start.to_vec();
        x[k] += step;
        let y = f(&x);
        simplex.push((x, y));
    }
    for _ in 0..MOST {
        simplex.sort_by(|a, b| a.1.total_cmp(&b.1));
        if simplex[dim].1 - simplex[0].1 < tolerance {
            break;
        }
        let centre: Vec<f64> =
            (0..dim).map(|k| simplex[..dim].iter().map(|p| p.0[k]).sum::<f64>() / dim as f64).collect();
        let worst = simplex[dim].clone();
        let along = |t: f64| {
            let x: Vec<f64> = centre.iter().zip(&worst.0).map(|(c, w)| c + t * (w - c)).collect();
            let y = f(&x);
            (x, y)
        };
        let reflected = along(-1.0);
        let next = if reflected.1 < simplex[0].1 {
            Some(along(-2.0)).filter(|far| far.1 < reflected.1).or(Some(reflected))
        } else if reflected.1 < simplex[dim - 1].1 {
            Some(reflected)
        } else {
            let inner = along(if reflected.1 < worst.1 { -0.5 } else { 0.5 });
            Some(inner).filter(|inner| inner.1 < worst.1.min(reflected.1))
        };
        match next {
            Some(point) => simplex[dim] = point,
            None => shrink(&mut simplex, f),
        }
    }
    simplex.sort_by(|a, b| a.1.total_cmp(&b.1));
    simplex.swap_remove(0)
}

/// Pull every point half way to the best.
fn shrink(simplex: &mut [(Vec<f64>, f64)], f: &impl Fn(&[f64]) -> f64) {
    let best = simplex[0].0.clone();
    for (x, y) in &mut simplex[1..] {
        x.iter_mut().zip(&best).for_each(|(x, b)| *x = 0.5 * (*x + b));
        *y = f(x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_rosenbrock() {
        let valley = |x: &[f64]| (1.0 - x[0]).powi(2) + 100.0 * (x[1] - x[0] * x[0]).powi(2);
        let (x, y) = minimise(valley, &[-1.2, 1.0], 0.5, 1e-14);
        assert!((x[0] - 1.0).abs() < 1e-5 && (x[1] - 1.0).abs() < 1e-5 && y < 1e-10, "{x:?}");
        let (x, _) = minimise(|x| if x[0] < 0.5 { f64::NAN } else { x[0] }, &[2.0], 0.5, 1e-12);
        assert!((x[0] - 0.5).abs() < 1e-6, "{x:?}");
    }
}
