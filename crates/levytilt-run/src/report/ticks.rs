//! Lay out an axis: where a value lies, and which values to name.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::figure::{Axis, Scale};
use crate::number::brief;

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
        if self.scale == Scale::Log && high - low < 2.2 {
            return within_a_power(low, high);
        }
        if self.scale == Scale::Log {
            let every = ((high - low) / count).ceil().max(1.0);
            let powers = (low / every).ceil() as i32..=(high / every).floor() as i32;
            return powers.map(|k| (f64::from(k) * every, power(k * every as i32))).collect();
        }
        if let (Scale::Time, Some(origin)) = (self.scale, self.origin) {
            return time_ticks(origin, (low, high), count);
        }
        let step = nice_step(high - low, count);
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let places = ((low / step).ceil() as i64..=(high / step).floor() as i64).map(|k| k as f64 * step);
        places.map(|at| (at, format!("{at:.decimals$}").replace('-', "−"))).collect()
    }
}

/// Steps between times, in days, below a month.
const STEPS: [f64; 15] = [
    15.0 / 86_400.0,
    1.0 / 1440.0,
    5.0 / 1440.0,
    15.0 / 1440.0,
    0.5 / 24.0,
    1.0 / 24.0,
    2.0 / 24.0,
    3.0 / 24.0,
    6.0 / 24.0,
    0.5,
    1.0,
    2.0,
    7.0,
    14.0,
    28.0,
];
/// Steps in months.
const MONTHS: [i64; 9] = [1, 3, 6, 12, 24, 60, 120, 240, 600];
const DAY: f64 = 86_400e3;

/// Ticks where clocks and calendars have theirs; times are days since `origin`, in milliseconds since 1970.
fn time_ticks(origin: i64, (low, high): (f64, f64), count: f64) -> Vec<(f64, String)> {
    let (rough, shift) = ((high - low) / count, origin as f64 / DAY);
    let Some(step) = STEPS.into_iter().find(|step| *step >= rough && rough < 20.0) else {
        return month_ticks(origin, (low, high), rough);
    };
    let first = ((low + shift) / step - 1e-9).ceil() as i64;
    let places = (first..).map(|k| k as f64 * step - shift).take_while(|at| *at <= high);
    let write = |at: f64| {
        let text = instant(origin, at)?.to_string();
        Some(if step >= 1.0 { text.get(..10)?.into() } else { text.get(5..16)?.replace('T', " ") })
    };
    places.map_while(|at| Some((at, write(at)?))).collect()
}

fn month_ticks(origin: i64, (low, high): (f64, f64), rough: f64) -> Vec<(f64, String)> {
    let every = MONTHS.into_iter().find(|months| *months as f64 * 30.44 >= rough).unwrap_or(1200);
    let start = instant(origin, low).map(|instant| instant.to_zoned(TimeZone::UTC).date());
    let Some(start) = start else { return Vec::new() };
    let month = (i64::from(start.year()) * 12 + i64::from(start.month()) - 1).div_euclid(every) * every;
    let at = |month: i64| {
        let (year, number) = (month.div_euclid(12) as i16, month.rem_euclid(12) as i8 + 1);
        let zoned = Date::new(year, number, 1).ok()?.to_zoned(TimeZone::UTC).ok()?;
        let place = (zoned.timestamp().as_millisecond() - origin) as f64 / DAY;
        let text = if every >= 12 { format!("{year:04}") } else { format!("{year:04}-{number:02}") };
        Some((place, text))
    };
    // Beyond the years of the calendar there is nothing to name.
    let ticks = (0..).map_while(|k| at(month + k * every)).take_while(|(place, _)| *place <= high);
    ticks.filter(|(place, _)| *place >= low).collect()
}

fn instant(origin: i64, days: f64) -> Option<Timestamp> {
    Timestamp::from_millisecond(origin.checked_add((days * DAY).round() as i64)?).ok()
}

/// Ticks of a scale of logarithms that shows two powers of ten or less, of which the powers alone would be too few.
fn within_a_power(low: f64, high: f64) -> Vec<(f64, String)> {
    let factors: &[f64] = match high - low {
        span if span < 0.5 => &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
        span if span < 1.2 => &[1.0, 2.0, 3.0, 5.0, 7.0],
        _ => &[1.0, 2.0, 5.0],
    };
    let powers = low.floor() as i32..=high.floor() as i32;
    let all = powers.flat_map(|power| factors.iter().map(move |factor| (power, *factor)));
    let ticks = all.map(|(power, factor)| (f64::from(power) + factor.log10(), brief(factor * 10f64.powi(power))));
    ticks.filter(|(at, _)| (low..=high).contains(at)).collect()
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
        assert_eq!(texts(&Axis::log(""), -1.05, -0.4, 4.0), ["0.1", "0.2", "0.3"]);
        assert_eq!(texts(&Axis::log(""), 1.0, 1.4, 4.0), ["10", "12", "15", "20", "25"]);
        assert_eq!(texts(&Axis::log(""), -0.9, 0.9, 4.0), ["0.2", "0.5", "1", "2", "5"]);
        let time = Axis { scale: Scale::Time, origin: Some(1_704_067_200_000), ..Axis::linear("") };
        // 2024-01-01 was day 19 723 since 1970-01-01, a Thursday, from which weeks are counted; 19 726 is 1409 fortnights.
        assert_eq!(texts(&time, 0.0, 20.0, 2.0), ["2024-01-04", "2024-01-18"]);
        assert_eq!(texts(&time, 0.0, 20.0, 4.0), ["2024-01-04", "2024-01-11", "2024-01-18"]);
        assert_eq!(texts(&time, 0.0, 100.0, 4.0), ["2024-01", "2024-02", "2024-03", "2024-04"]);
        assert_eq!(texts(&time, 10.0, 1500.0, 6.0), ["2025", "2026", "2027", "2028"]);
        assert_eq!(texts(&time, 0.1, 0.4, 3.0), ["01-01 03:00", "01-01 06:00", "01-01 09:00"]);
    }
}
