//! Show the parameters with their intervals, and say what each of them means.

use levytilt::fit::{Estimate, Fit};
use levytilt::solve::Transform;

use super::page::{Cell, Table};
use crate::number::readable;

/// Half the width of a 90% interval, in standard errors.
pub const NINETY: f64 = 1.645;

/// The table of parameters.
pub fn table(fit: &Fit) -> Table {
    let mut shifts = fit.shift.iter().copied();
    // One shift for each that is not fixed, or none at all.
    let mut shift = |p: &Estimate| if p.fixed { 0.0 } else { shifts.next().unwrap_or(0.0) };
    let rows = fit.parameters.iter().zip(fit.transforms()).map(|(p, transform)| row(p, transform, shift(p))).collect();
    let head = ["parameter", "estimate", "standard error", "90% interval", "from", "what it is"];
    Table {
        caption:
            "Estimates are where the posterior is highest. Intervals are Gaussian on the scale on which a parameter is free \
             (logarithm or logit), so none leaves its domain; those of the drift lie around the mean of the posterior."
                .into(),
        head: head.map(String::from).into(),
        rows,
        ..Table::default()
    }
}

fn row(p: &Estimate, transform: Transform, shift: f64) -> Vec<Cell> {
    let interval = p.std_error.map(|error| interval(p.value, error, transform, shift));
    let from = match p.std_error {
        _ if p.fixed => "given",
        _ if p.held_by_prior => "mostly its prior",
        Some(_) => "data",
        None => "data, without an error",
    };
    vec![
        Cell::text(&p.name),
        Cell::number(p.value),
        p.std_error.map_or_else(|| Cell::text("–"), Cell::number),
        Cell::text(interval.map_or("–".into(), |[low, high]| format!("{} to {}", readable(low), readable(high)))),
        Cell::text(from),
        Cell::text(meaning(&p.name)),
    ]
}

/// The 90% interval of an estimate with a standard error, from the scale on which it is free, where the mean lies beside
/// the estimate by `shift`.
fn interval(value: f64, error: f64, transform: Transform, shift: f64) -> [f64; 2] {
    let (middle, half) = (transform.forward(value) + shift, NINETY * error / transform.slope(value));
    [middle - half, middle + half].map(|end| transform.backward(end))
}

/// What a parameter is, in words.
fn meaning(name: &str) -> &'static str {
    match name.split('[').next().unwrap_or(name) {
        "theta" => "rate of return to mu, per time",
        "mu" => "level of return",
        "theta1" => "push away from zero, per time",
        "theta2" => "pull back from far out",
        "slope" => "rate of growth, or of return if negative",
        "offset" => "constant push, per time",
        "alpha" => "tail index of the jumps: 2 is Gaussian, smaller is wilder",
        "scale" => "size of the noise",
        "tempering" => "damping of large jumps",
        "nu" => "length of a burst in time",
        "dof" => "degrees of freedom: many are Gaussian",
        "rate" => "jumps per time",
        "jump_std" => "size of a jump",
        "tau" => "smallest radius",
        "sigma_g" => "size of the marks",
        "brownian" => "diffusion beside the jumps",
        "observation_std" => "error of an observation",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_intervals_stay_in_their_domain() {
        assert_eq!(interval(2.0, 1.0, Transform::Identity, 0.5), [2.5 - NINETY, 2.5 + NINETY]);
        let [low, high] = interval(0.5, 0.6, Transform::Log, 0.0);
        assert!((low * high - 0.25).abs() < 1e-12 && low > 0.0);
        let [low, high] = interval(1.9, 0.5, Transform::Logit(2.0), 0.0);
        assert!(0.0 < low && low < 1.9 && 1.9 < high && high < 2.0);
    }
}
