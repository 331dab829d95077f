//! Lay out an axis: where a value lies, and which values to name.

use super::figure::{Axis, Scale};

impl Axis {
    /// A value on the scale on which it is drawn; NaN where it has no place.
    pub fn forward(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Log if value > 0.0 => value.log10(),
            Scale::Log => f64::NAN,
            _ => value,
        }
    }

    /// Places, on the drawing scale, and texts of about `count` ticks.
    pub fn ticks(&self, low: f64, high: f64, count: f64) -> Vec<(f64, String)> {
        if !self.names.is_empty() {
            let named = self.names.iter().enumerate().map(|(k, name)| ((k + 1) as f64, name.clone()));
            return named.filter(|(at, _)| (low..=high).contains(at)).collect();
        }
        if self.scale == Scale::Log {
            let every = ((high - low) / count).ceil().max(1.0);
            let powers = (low / every).ceil() as i32..=(high / every).floor() as i32;
            return powers.map(|k| (f64::from(k) * every, power(k * every as i32))).collect();
        }
        let step = nice_step(high - low, count);
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let places = ((low / step).ceil() as i64..=(high / step).floor() as i64).map(|k| k as f64 * step);
        places.map(|at| (at, self.write(at, decimals))).collect()
    }

    fn write(&self, at: f64, decimals: usize) -> String {
        let instant = self
            .origin
            .filter(|_| self.scale == Scale::Time)
            .and_then(|origin| jiff::Timestamp::from_millisecond(origin + (at * 86_400e3) as i64).ok());
        match instant {
            Some(instant) if decimals == 0 => instant.to_string().chars().take(10).collect(),
            Some(instant) => instant.to_string().chars().skip(5).take(11).collect::<String>().replace('T', " "),
            None => format!("{at:.decimals$}").replace('-', "−"),
        }
    }
}

/// A power of ten as it is printed.
fn power(exponent: i32) -> String {
    let raised = |digit: char| digit.to_digit(10).and_then(|d| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(d as usize)).unwrap_or('⁻');
    format!("10{}", exponent.to_string().chars().map(raised).collect::<String>())
}

/// One, two or five times a power of ten, so that `span` has about `count` of them.
fn nice_step(span: f64, count: f64) -> f64 {
    let rough = span / count;
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0].iter().map(|m| m * power).find(|step| *step >= rough).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_ticks() {
        let texts = |axis: &Axis, low, high, count| -> Vec<String> {
            axis.ticks(low, high, count).into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(texts(&Axis::linear(""), -1.2, 1.1, 4.0), ["−1", "0", "1"]);
        assert_eq!(texts(&Axis::log(""), -2.5, 1.0, 4.0), ["10⁻²", "10⁻¹", "10⁰", "10¹"]);
        let time = Axis { scale: Scale::Time, origin: Some(1_704_067_200_000), ..Axis::linear("") };
        assert_eq!(texts(&time, 0.0, 20.0, 2.0), ["2024-01-01", "2024-01-11", "2024-01-21"]);
    }
}
