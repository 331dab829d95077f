//! Read numbers with a decimal point or a decimal comma, and tell from a table which of them it has.

use serde::{Deserialize, Serialize};
use std::str::FromStr;

use crate::failure::quoted;
use crate::table::separator::Separator;

/// What stands before the decimals of a number; the other one may group thousands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Decimal {
    /// 1234.5 or 1,234.5
    Point,
    /// 1234,5 or 1.234,5
    Comma,
}

impl FromStr for Decimal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "." | "point" => Ok(Self::Point),
            "," | "comma" => Ok(Self::Comma),
            _ => Err("expected point or comma".into()),
        }
    }
}

impl TryFrom<String> for Decimal {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Decimal> for String {
    fn from(decimal: Decimal) -> Self {
        match decimal {
            Decimal::Point => "point".into(),
            Decimal::Comma => "comma".into(),
        }
    }
}

impl Decimal {
    /// The number that `field` is; thousands may be grouped, in threes.
    pub fn parse(self, field: &str) -> Option<f64> {
        let (group, point) = match self {
            Self::Point => (',', '.'),
            Self::Comma => ('.', ','),
        };
        match (field.contains(group), self) {
            (false, Self::Point) => field.parse().ok(),
            (false, Self::Comma) => field.replacen(point, ".", 1).parse().ok(),
            (true, _) => grouped(field, group, point)?.parse().ok(),
        }
    }

    /// The decimal mark of a table, from its numbers.
    ///
    /// # Errors
    /// Numbers that mean one thing with a point and another with a comma, and none that decides.
    pub fn of<'a>(fields: impl Iterator<Item = &'a str>, separator: Separator) -> Result<Self, String> {
        let (mut point, mut comma, mut either) = (false, false, None);
        for field in fields.filter(|field| field.contains(['.', ','])) {
            match (Self::Point.parse(field), Self::Comma.parse(field)) {
                (Some(a), Some(b)) if a != b => either = either.or(Some((field, a, b))),
                (Some(_), None) => point = true,
                (None, Some(_)) => comma = true,
                _ => {}
            }
        }
        match (point, comma, either) {
            (false, true, _) => Ok(Self::Comma),
            (false, false, Some((field, a, b))) if field.contains(',') || separator == Separator::Character(b';') => {
                Err(format!("{} may be {a} or {b}; give --decimal point or --decimal comma", quoted(field)))
            }
            _ => Ok(Self::Point),
        }
    }
}

/// A number whose thousands are grouped, without the groups and with a point; nothing if they are not groups of three.
fn grouped(field: &str, group: char, point: char) -> Option<String> {
    let (whole, rest) = field.split_once(point).unwrap_or((field, ""));
    let digits = whole.strip_prefix(['-', '+']).unwrap_or(whole);
    let mut groups = digits.split(group);
    let first = groups.next()?;
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = (1..=3).contains(&first.len()) && !first.starts_with('0') && all_digits(first);
    let fits = fits && groups.all(|group| group.len() == 3 && all_digits(group)) && !rest.contains(group);
    fits.then(|| format!("{}.{rest}", whole.replace(group, "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_numbers_with_points_and_commas() {
        for (field, point, comma) in [
            ("1234", Some(1234.0), Some(1234.0)),
            ("1.5", Some(1.5), None),
            ("1,5", None, Some(1.5)),
            ("0,123", None, Some(0.123)),
            ("0.123", Some(0.123), None),
            ("1,234", Some(1234.0), Some(1.234)),
            ("-1.234.567,89", None, Some(-1_234_567.89)),
            ("1,234,567.5", Some(1_234_567.5), None),
            ("1,5e3", None, Some(1500.0)),
            ("1,23,456", None, None),
            ("31.12.2024", None, None),
            ("1.2,3.4", None, None),
        ] {
            assert_eq!((Decimal::Point.parse(field), Decimal::Comma.parse(field)), (point, comma), "{field}");
        }
    }

    #[test]
    fn a_table_decides_or_is_asked() {
        let of = |fields: &str, separator: u8| Decimal::of(fields.split(' '), Separator::Character(separator));
        assert_eq!(of("1.234 5,6 7", b';'), Ok(Decimal::Comma));
        assert_eq!(of("1,234 5.6", b';'), Ok(Decimal::Point));
        assert_eq!(of("1.234 5.678", b','), Ok(Decimal::Point));
        assert!(of("1.234 5.678", b';').unwrap_err().contains("may be 1.234 or 1234; give --decimal"));
        assert!(of("1,234 5,678", b',').unwrap_err().contains("give --decimal"));
    }
}
