//! Write numbers: to be read back exactly, or to be read by people.

use anyhow::Result;

use crate::finite;

/// The shortest text that reads back as the same number; empty for a value that does not exist.
pub fn number(value: f64) -> String {
    let plain = value == 0.0 || (1e-5..1e16).contains(&value.abs());
    match value {
        _ if !value.is_finite() => String::new(),
        _ if plain => value.to_string(),
        _ => format!("{value:e}"),
    }
}

/// The text of a number that must exist.
pub fn figure(value: f64) -> Result<String> {
    finite::check(&value)?;
    Ok(number(value))
}

/// A number for people: four digits or so.
pub fn readable(value: f64) -> String {
    let size = value.abs();
    let text = match size {
        _ if !value.is_finite() => return "–".into(),
        _ if value == 0.0 => "0".into(),
        _ if !(1e-3..1e6).contains(&size) => format!("{value:.3e}"),
        _ if size >= 1000.0 => format!("{value:.1}"),
        _ if size >= 100.0 => format!("{value:.2}"),
        _ => format!("{value:.*}", (3 - size.log10().floor() as i32).max(0) as usize),
    };
    text.replace('-', "−")
}

/// A number with at most four digits and no zeros at its end.
pub fn brief(value: f64) -> String {
    let text = readable(value);
    let (number, power) = text.split_once('e').map_or((text.as_str(), String::new()), |(n, p)| (n, format!("e{p}")));
    let short = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    format!("{short}{power}")
}

/// An estimate with its standard error, both to the second digit of the error: −1.77 ± 0.44.
pub fn with_error(value: f64, error: f64) -> String {
    format!("{} ± {}", to_digits_of(value, error), to_digits_of(error, error))
}

/// A number to the second digit of its error, or of the width of its interval; at most four digits where that is not plain.
pub fn to_digits_of(value: f64, error: f64) -> String {
    if !value.is_finite() || !(1e-5..1e4).contains(&error) {
        return brief(value);
    }
    let decimals = (1 - error.log10().floor() as i32).max(0) as usize;
    format!("{value:.decimals$}").replace('-', "−")
}

/// About how long something takes: 0.05 s, 20 s, 10 min, 2.0 h.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s > 0.0 && s < 1.0 => format!("{s:.*} s", -s.log10().floor() as usize),
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back() {
        for value in [0.0, 0.1, -1.5, 1e300, 1e-300, 123456.789, 1.0 / 3.0, 1e16, 1e-5] {
            assert_eq!(number(value).parse::<f64>().unwrap(), value);
        }
        assert_eq!(number(f64::INFINITY), "");
        assert_eq!(number(2.0), "2");
    }

    #[test]
    fn golden_estimates_have_the_digits_of_their_errors() {
        let texts =
            [(-1.7734, 0.4428), (0.0474, 0.004_397), (335.68, 18.05), (1e-9, 2e-9), (0.5, 0.0), (52_000.0, 1234.0)]
                .map(|(value, error)| with_error(value, error));
        let right = ["−1.77 ± 0.44", "0.0474 ± 0.0044", "336 ± 18", "1e−9 ± 2e−9", "0.5 ± 0", "52000 ± 1234"];
        assert_eq!(texts, right);
    }

    #[test]
    fn golden_durations() {
        let texts = [0.050_44, 0.000_3, 0.0, 0.96, 20.4, 600.0, 7200.0].map(duration);
        assert_eq!(texts, ["0.05 s", "0.0003 s", "0 s", "1.0 s", "20 s", "10 min", "2.0 h"]);
    }

    #[test]
    fn golden_numbers_are_readable() {
        let texts = [0.0, 1.607_96, -0.015_234, 468.777, 12_345.67, 1e-7, f64::NAN].map(readable);
        assert_eq!([0.01, 250.0, 1e-7, 10.0].map(brief), ["0.01", "250", "1e−7", "10"]);
        assert_eq!(texts, ["0", "1.608", "−0.01523", "468.78", "12345.7", "1.000e−7", "–"]);
    }
}
