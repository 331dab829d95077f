//! Drift and tilt: flows against an integrator, the tilted step over its whole box, the fast kernel against the plain one.

use crate::{raise, table};
use levytilt::drift::{DoubleWell, Drift, Linear, Ou};
use levytilt::internals::potential::Quadratic;
use levytilt::internals::tilt::{TiltTable, TiltedStep};
use levytilt::noise::{Nodes, Noise, Stable};
use levytilt::{Result, StreamRng, stream};
use rand::RngExt;
use std::sync::Arc;

type Field = fn(f64) -> f64;

/// Classical Runge–Kutta over `span` in `steps` steps.
fn integrate(field: Field, mut x: f64, span: f64, steps: usize) -> f64 {
    let h = span / steps as f64;
    for _ in 0..steps {
        let k1 = field(x);
        let k2 = field(x + 0.5 * h * k1);
        let k3 = field(x + 0.5 * h * k2);
        let k4 = field(x + h * k3);
        x += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
    }
    x
}

fn flow(drift: &dyn Drift, dt: f64, x: f64) -> f64 {
    let mut out = [0.0];
    drift.flow(0.0, dt, &[x], &mut out);
    out[0]
}

/// Central difference of fourth order.
fn difference(f: impl Fn(f64) -> f64, h: f64) -> f64 {
    (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)
}

/// Flow against integration, two half steps against one, derivatives against differences; relative to 1 + size.
pub fn drifts() -> Result<()> {
    table(
        "Drifts, states from −5 to 5, steps of 0.02 and 0.5",
        &["drift", "flow against Runge–Kutta", "two half steps against one", "derivative in x", "in the parameters"],
    );
    let cases: [(Box<dyn Drift>, Field); 3] = [
        (Box::new(Ou::new(3.0, 1.0)?), |x| 3.0 * (1.0 - x)),
        (Box::new(DoubleWell::new(4.0, 1.0)?), |x| 4.0 * x - x * x * x),
        (Box::new(Linear::line(0.7, -0.4)?), |x| 0.7 * x - 0.4),
    ];
    for (drift, field) in cases {
        let [mut equation, mut halves, mut by_x, mut by_p] = [0.0; 4];
        let parameters: Vec<f64> = drift.parameters().iter().map(|(_, value)| *value).collect();
        for (i, dt) in (-20..=20).flat_map(|i| [(i, 0.02), (i, 0.5)]) {
            let x = 0.25 * f64::from(i);
            let there = flow(&*drift, dt, x);
            let relative = |error: f64, size: f64| error / (1.0 + size.abs());
            raise(&mut equation, relative(there - integrate(field, x, dt, 4000), there));
            raise(&mut halves, relative(there - flow(&*drift, 0.5 * dt, flow(&*drift, 0.5 * dt, x)), there));
            let (mut out, mut state, mut parameter) = ([0.0], [0.0], vec![0.0; parameters.len()]);
            drift.flow_jacobian(0.0, dt, &[x], &mut out, &mut state, &mut parameter);
            raise(&mut by_x, relative(state[0] - difference(|h| flow(&*drift, dt, x + h), 1e-3), state[0]));
            for (l, &derivative) in parameter.iter().enumerate() {
                let moved = |h: f64| {
                    let mut values = parameters.clone();
                    values[l] += h;
                    drift.with_parameters(&values).map_or(f64::NAN, |drift| flow(&*drift, dt, x))
                };
                raise(&mut by_p, relative(derivative - difference(moved, 1e-3), derivative));
            }
        }
        println!("| {} | {equation:.1e} | {halves:.1e} | {by_x:.1e} | {by_p:.1e} |", drift.kind());
    }
    Ok(())
}

/// A power of ten, uniform between the exponents.
fn power(rng: &mut StreamRng, low: f64, high: f64) -> f64 {
    10f64.powf(low + (high - low) * rng.random::<f64>())
}

/// Random corners and insides of κ ≤ 10⁸, 10⁻⁸ ≤ a ≤ 10⁸, 0 ≤ S ≤ 10¹⁶: what is not finite, Σq, KL, fast against plain.
pub fn tilt_box() -> Result<()> {
    table(
        "Tilted step over its whole domain, 20 000 random inputs",
        &[
            "not finite",
            "largest error of Σq",
            "smallest KL",
            "fast ln Z against reference, relative to 1 + \\|ln Z\\|",
        ],
    );
    let mut rng = stream(7, 0);
    let (mut broken, mut sum, mut least, mut fast) = (0, 0.0, f64::INFINITY, 0.0);
    for _ in 0..20_000 {
        let mut variances: Vec<f64> = (0..rng.random_range(1..40)).map(|_| power(&mut rng, -16.0, 16.0)).collect();
        if rng.random::<bool>() {
            variances.push(0.0);
        }
        variances.sort_by(f64::total_cmp);
        variances.dedup();
        let weights = variances.iter().map(|_| power(&mut rng, -16.0, 0.0)).collect();
        let nodes = Nodes::new(variances, weights, vec![])?;
        let a = power(&mut rng, -8.0, 8.0);
        let kappa = if rng.random::<f64>() < 0.05 { 0.0 } else { power(&mut rng, -9.0, 8.0) };
        let (c, x) = (0.0, (kappa / a).sqrt());
        let step = TiltedStep::new(&nodes, Quadratic::new(a, c)?);
        let tilted = step.evaluate(x);
        let table = TiltTable::new(Arc::new(nodes), Quadratic::new(a, c)?);
        let derivatives = [step.log_z_derivatives(x), step.kl_derivatives(x)];
        let sound = tilted.log_z.is_finite()
            && tilted.kl.is_finite()
            && table.draw(x, &mut rng).state.is_finite()
            && step.draw(x, &mut rng).state.is_finite()
            && derivatives.iter().all(|d| [d.state, d.a, d.c].iter().all(|v| v.is_finite()))
            && derivatives.iter().all(|d| d.variances.iter().chain(&d.weights).all(|v| v.is_finite()));
        broken += usize::from(!sound);
        raise(&mut sum, tilted.weights.iter().sum::<f64>() - 1.0);
        least = least.min(tilted.kl);
        raise(&mut fast, (table.log_z(x) - tilted.log_z) / (1.0 + tilted.log_z.abs()));
    }
    println!("| {broken} | {sum:.1e} | {least:.1e} | {fast:.1e} |");
    Ok(())
}

/// ln Z of the table against the plain sum, and draws of the node by χ² in units of its standard deviation.
pub fn fast_and_plain() -> Result<()> {
    table(
        "Fast kernel against reference loop, stable noise of scale 2, step 0.01, a = 90, 10⁶ draws per point",
        &["alpha", "ln Z, κ from 0 to 10⁸, absolute", "(χ² − f)/√(2f) at κ = 0.3", "at κ = 5.1", "at κ = 40"],
    );
    let (a, draws) = (90.0, 1_000_000);
    for alpha in [0.6, 1.2, 1.5, 1.8, 1.99] {
        let nodes = Stable::new(alpha, 2.0)?.nodes(0.01)?;
        let table = TiltTable::new(Arc::new(nodes), Quadratic::new(a, 0.0)?);
        let mut worst = 0.0;
        for i in 0..2550 {
            let x = ((1e-3 * 1.01f64.powi(i) - 1e-3) / a).sqrt();
            let plain = table.step().log_z(x);
            raise(&mut worst, table.log_z(x) - plain);
        }
        let scores: Vec<String> = [0.3, 5.1, 40.0]
            .iter()
            .map(|kappa: &f64| format!("{:+.1}", chi_square(&table, (kappa / a).sqrt(), draws)))
            .collect();
        println!("| {alpha} | {worst:.1e} | {} |", scores.join(" | "));
    }
    Ok(())
}

/// χ² of the drawn nodes, centred and scaled; cells that expect fewer than 10 draws are pooled.
fn chi_square(table: &TiltTable, x: f64, draws: usize) -> f64 {
    let expected: Vec<f64> = table.step().evaluate(x).weights.iter().map(|q| q * draws as f64).collect();
    let mut counts = vec![0.0; expected.len()];
    let mut rng = stream(11, 0);
    for _ in 0..draws {
        counts[table.draw(x, &mut rng).node] += 1.0;
    }
    let (mut statistic, mut cells, mut due, mut seen) = (0.0, 0.0, 0.0, 0.0);
    for (count, expected) in counts.iter().zip(&expected) {
        due += expected;
        seen += count;
        if due >= 10.0 {
            statistic += (seen - due) * (seen - due) / due;
            cells += 1.0;
            (due, seen) = (0.0, 0.0);
        }
    }
    let freedom: f64 = cells - 1.0;
    (statistic - freedom) / (2.0 * freedom).sqrt()
}
