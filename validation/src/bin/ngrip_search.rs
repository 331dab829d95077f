//! Find the parameters of `levytilt demo`: maximise the exact evidence of the ice-core record over each model.
//!
//! `scripts/validate ngrip_search` prints the best parameters of a double well driven by stable
//! and by Gaussian noise. The search is Nelder–Mead on the logarithms of the parameters.

use levytilt::drift::DoubleWell;
use levytilt::internals::exact::{Options, log_evidence};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::{Gaussian, Noise, Stable};
use levytilt::{Result, Start, StateSpace};

/// Times in kyr relative to 1950 and 4.7 − ln Ca, glacial part, forward in time, as in the demo.
fn record() -> (Vec<f64>, Vec<f64>) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/levytilt-run/data/ngrip_10yr.csv");
    let text = std::fs::read_to_string(path).expect("the record lies beside the program");
    let rows = text.lines().skip(1).filter_map(|line| {
        let mut fields = line.split(',');
        let age: f64 = fields.next()?.parse().ok()?;
        let calcium: f64 = fields.next()?.parse().unwrap_or(f64::NAN);
        (age > 11_650.0).then_some((-age / 1000.0, 4.7 - calcium.ln()))
    });
    rows.unzip()
}

/// Log evidence of a double well; parameters are theta1, theta2, observation_std, then those of the noise.
fn evidence(p: &[f64], noise: Box<dyn Noise>, grid: &TimeGrid, values: &[f64]) -> Result<f64> {
    let start = Start::Gaussian { mean: values[0], std: 10.0 * p[2] };
    let model = StateSpace::new(Box::new(DoubleWell::new(p[0], p[1])?), noise, p[2], start)?;
    log_evidence(&model, grid, values, &Options::default())
}

/// Maximise `f` over positive parameters from `start`.
fn maximise(f: impl Fn(&[f64]) -> Option<f64>, start: &[f64]) -> (Vec<f64>, f64) {
    let value = |x: &[f64]| -f(&x.iter().map(|v| v.exp()).collect::<Vec<_>>()).unwrap_or(f64::NEG_INFINITY);
    let origin: Vec<f64> = start.iter().map(|v| v.ln()).collect();
    let mut simplex: Vec<(Vec<f64>, f64)> = (0..=origin.len())
        .map(|i| {
            let mut x = origin.clone();
            if i > 0 {
                x[i - 1] += 0.1;
            }
            (x.clone(), value(&x))
        })
        .collect();
    for _ in 0..200 {
        simplex.sort_by(|a, b| a.1.total_cmp(&b.1));
        let last = simplex.len() - 1;
        if simplex[last].1 - simplex[0].1 < 0.01 {
            break;
        }
        let centre: Vec<f64> =
            (0..last).map(|j| simplex[..last].iter().map(|(x, _)| x[j]).sum::<f64>() / last as f64).collect();
        let worst = simplex[last].clone();
        let try_at = |step: f64| {
            let x: Vec<f64> = centre.iter().zip(&worst.0).map(|(c, w)| c + step * (c - w)).collect();
            let y = value(&x);
            (x, y)
        };
        let reflected = try_at(1.0);
        let candidate = if reflected.1 < simplex[0].1 {
            let expanded = try_at(2.0);
            if expanded.1 < reflected.1 { expanded } else { reflected }
        } else if reflected.1 < simplex[last - 1].1 {
            reflected
        } else {
            try_at(if reflected.1 < worst.1 { 0.5 } else { -0.5 })
        };
        if candidate.1 < worst.1 {
            simplex[last] = candidate;
        } else {
            let best = simplex[0].0.clone();
            for (x, y) in &mut simplex[1..] {
                x.iter_mut().zip(&best).for_each(|(v, b)| *v = 0.5 * (*v + b));
                *y = value(x);
            }
        }
    }
    simplex.sort_by(|a, b| a.1.total_cmp(&b.1));
    (simplex[0].0.iter().map(|v| v.exp()).collect(), -simplex[0].1)
}

fn main() -> Result<()> {
    let (times, values) = record();
    let grid = TimeGrid::new(&times, None)?;
    let gaussian = |p: &[f64]| evidence(p, Box::new(Gaussian::new(p[3]).ok()?), &grid, &values).ok();
    let (best, log_evidence) = maximise(gaussian, &[5.0, 6.0, 0.13, 1.5]);
    println!("gaussian: theta1, theta2, observation_std, scale = {best:.4?}, log evidence {log_evidence:.2}");
    let stable = |p: &[f64]| evidence(p, Box::new(Stable::new(p[4], p[3]).ok()?), &grid, &values).ok();
    let (best, log_evidence) = maximise(stable, &[5.0, 6.0, 0.13, 1.0, 1.7]);
    println!("stable: theta1, theta2, observation_std, scale, alpha = {best:.4?}, log evidence {log_evidence:.2}");
    Ok(())
}
