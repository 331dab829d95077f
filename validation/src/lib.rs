//! What the validation programs share; each program in `src/bin` prints one page of `docs/validation`.

pub mod cpu;
pub mod memory;
pub mod plain_filter;
pub mod prices;
pub mod recovered;
pub mod short_record;
pub mod svg;
pub mod truths;

/// ln of a mean of exponentials, and its standard error.
pub fn combine(logs: &[f64]) -> (f64, f64) {
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let shares: Vec<f64> = logs.iter().map(|log| (log - top).exp()).collect();
    let count = shares.len() as f64;
    let mean = shares.iter().sum::<f64>() / count;
    let spread: f64 = shares.iter().map(|share| (share / mean - 1.0).powi(2)).sum();
    (top + mean.ln(), (spread / (count * (count - 1.0))).sqrt())
}
