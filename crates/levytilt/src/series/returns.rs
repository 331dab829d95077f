//! Turn prices into the cumulative log-returns of a window, in units of their standard deviation.

use super::windows::Window;
use crate::{Error, Result};

/// One dimension of a window: what the forecaster sees, and the values to forecast.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaled {
    /// Training values: cumulative log-returns since the price before the window, over `scale`.
    pub train: Vec<f64>,
    /// The values to forecast, cumulated further and over the same scale. Not for the forecaster.
    pub ahead: Vec<f64>,
    /// Standard deviation of the cumulative log-returns of the training part (over n), the unit of both.
    pub scale: f64,
}

/// Cumulative log-returns of `prices` in `window`: y_i = ln(p_i/p_base)/s, where p_base is the price just before the
/// window and s the standard deviation of the training values. The mean stays. If the window begins with the first
/// price, that one is the base and its return is left out: y_0 = 0.
///
/// # Errors
/// A price in the window that is missing, zero, negative or not finite; prices that do not move.
pub fn cumulative_log_returns(prices: &[f64], window: &Window) -> Result<Scaled> {
    let end = window.ahead.end;
    if end > prices.len() || window.train.is_empty() {
        let (got, expected) = (prices.len().to_string(), format!("at least {end}, and a training part"));
        return Err(Error::Shape { what: "prices of a window", got, expected });
    }
    let base = window.train.start.saturating_sub(1);
    if let Some(i) = (base..end).find(|&i| !(prices[i] > 0.0 && prices[i].is_finite())) {
        let problem = format!("price {} has no logarithm; expected a finite number above 0", prices[i]);
        return Err(Error::observation(i, problem));
    }
    let since = |i: usize| (prices[i] / prices[base]).ln();
    let train: Vec<f64> = window.train.clone().map(since).collect();
    let scale = standard_deviation(&train);
    if scale == 0.0 || !scale.is_finite() {
        let place = format!("observations {} to {}", window.train.start + 1, window.train.end);
        return Err(Error::Series { place, problem: format!("the returns have a scale of {scale}; prices must vary") });
    }
    let divided = |values: Vec<f64>| values.into_iter().map(|value| value / scale).collect();
    Ok(Scaled { train: divided(train), ahead: divided(window.ahead.clone().map(since).collect()), scale })
}

/// Standard deviation over n.
fn standard_deviation(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(train: std::ops::Range<usize>, end: usize) -> Window {
        Window { number: 0, ahead: train.end..end, train }
    }

    #[test]
    fn identity_by_hand() {
        let prices: Vec<f64> = [0.0, 1.0, 3.0, 5.0, 2.0].iter().map(|x: &f64| (0.1 * x).exp()).collect();
        let found = cumulative_log_returns(&prices, &window(1..3, 5)).unwrap();
        // Cumulative 0.1 and 0.3: mean 0.2, standard deviation 0.1.
        assert!((found.scale - 0.1).abs() < 1e-15);
        let expected = [1.0, 3.0, 5.0, 2.0];
        assert!(found.train.iter().chain(&found.ahead).zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        let first = cumulative_log_returns(&prices, &window(0..3, 5)).unwrap();
        assert_eq!(first.train[0], 0.0);
    }

    #[test]
    fn identity_the_future_does_not_reach_back() {
        let prices = [10.0, 11.0, 10.5, 12.0, 11.0, 10.0];
        let mut other = prices;
        other[4..].copy_from_slice(&[1000.0, 0.001]);
        let [a, b] = [prices, other].map(|p| cumulative_log_returns(&p, &window(1..4, 6)).unwrap());
        assert_eq!((a.train, a.scale), (b.train, b.scale));
        assert_ne!(a.ahead, b.ahead);
    }

    #[test]
    fn prices_without_logarithm_are_named() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let message = cumulative_log_returns(&[1.0, 2.0, bad, 3.0], &window(1..3, 4)).unwrap_err().to_string();
            assert!(message.contains("observation 3") && message.contains("logarithm"), "{message}");
        }
        let still = cumulative_log_returns(&[2.0; 5], &window(1..4, 5)).unwrap_err().to_string();
        assert!(still.contains("must vary"), "{still}");
        assert!(cumulative_log_returns(&[2.0; 3], &window(1..4, 5)).is_err());
        assert!(cumulative_log_returns(&[2.0; 5], &window(1..1, 5)).is_err());
    }
}
