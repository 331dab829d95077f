//! Write times and rates in the unit of the record: days for dates, else what the head of the time column names.

use crate::number::brief;
use crate::table::time::Calendar;

/// Names of units in heads of columns, and how one and several of them are written.
const NAMED: [(&[&str], &str, &str); 12] = [
    (&["ms", "millisecond", "milliseconds"], "ms", "ms"),
    (&["s", "sec", "secs", "second", "seconds"], "second", "seconds"),
    (&["min", "mins", "minute", "minutes"], "minute", "minutes"),
    (&["h", "hr", "hrs", "hour", "hours"], "hour", "hours"),
    (&["d", "day", "days"], "day", "days"),
    (&["week", "weeks"], "week", "weeks"),
    (&["month", "months"], "month", "months"),
    (&["a", "yr", "yrs", "year", "years"], "year", "years"),
    (&["ka", "kyr"], "kyr", "kyr"),
    (&["thousand years"], "thousand years", "thousand years"),
    (&["ma", "myr"], "Myr", "Myr"),
    (&["million years"], "million years", "million years"),
];
/// Words after which a head says from when times are counted.
const SINCE: [&str; 5] = [" relative to", " since", " before", " after", " bp"];

/// The unit of time of a record.
#[derive(Debug)]
pub struct TimeUnit {
    one: &'static str,
    many: &'static str,
    /// Days of a calendar, which have hours and years.
    calendar: bool,
}

impl TimeUnit {
    /// The unit of the times of `calendar`, or for plain numbers the one that the head `name` of their column says.
    pub fn new(calendar: &Calendar, name: &str) -> Self {
        if matches!(calendar, Calendar::Days(_)) {
            return Self { one: "day", many: "days", calendar: true };
        }
        let lower = name.trim().to_lowercase();
        let bracket = lower.split_once(['(', '[']).and_then(|(_, rest)| rest.split_once([')', ']']));
        let plain = bracket.map_or(lower.as_str(), |(inside, _)| inside.trim());
        let plain = SINCE.iter().fold(plain, |text, since| text.split_once(since).map_or(text, |(unit, _)| unit));
        let known = NAMED.iter().find(|(names, _, _)| names.contains(&plain.trim()));
        let (one, many) = known.map_or(("unit of time", "units of time"), |(_, one, many)| (*one, *many));
        Self { one, many, calendar: false }
    }

    /// A length of time in words: `1 h` rather than 0.04167 days.
    pub fn length(&self, value: f64) -> String {
        // A step of an hour between dates is an hour but for rounding.
        let least = |unit: f64| value >= unit * (1.0 - 1e-6);
        let (unit, one, many) = match () {
            () if !self.calendar => (1.0, self.one, self.many),
            () if least(730.5) => (365.25, "year", "years"),
            () if least(1.0) => (1.0, "day", "days"),
            () if least(1.0 / 24.0) => (1.0 / 24.0, "h", "h"),
            () if least(1.0 / 1440.0) => (1.0 / 1440.0, "min", "min"),
            () => (1.0 / 86_400.0, "s", "s"),
        };
        let text = three(value / unit);
        format!("{text} {}", if text == "1" { one } else { many })
    }

    /// What follows a number whose unit the registry writes in `value` and `time`. The unit of values is not known and left out.
    pub fn of(&self, unit: &str) -> String {
        let time = if self.one.contains(' ') { format!("({})", self.one) } else { self.one.into() };
        match unit {
            "1/time" | "value/time" | "1/(time value²)" => format!("per {}", self.one),
            "value/√time" => format!("per √{time}"),
            "value/time^(1/alpha)" => format!("per {time}^(1/α)"),
            "time" => self.many.into(),
            _ => String::new(),
        }
    }

    /// One unit, as in `per day`.
    pub fn one(&self) -> &str {
        self.one
    }

    /// Several of them.
    pub fn many(&self) -> &str {
        self.many
    }
}

/// Three digits, without zeros at the end.
fn three(value: f64) -> String {
    let size = value.abs();
    if !(1e-3..1e6).contains(&size) {
        return brief(value);
    }
    let decimals = (2 - size.log10().floor() as i32).max(0) as usize;
    brief(format!("{value:.decimals$}").parse().unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::time::{Written, parse};

    fn days() -> TimeUnit {
        let Ok(Written::Stamp(stamp)) = parse("2024-01-01") else { panic!("no date") };
        TimeUnit::new(&Calendar::Days(vec![stamp]), "date")
    }

    #[test]
    fn golden_lengths_of_time() {
        let lengths = [1.0 / 24.0, 0.041_666_666_7, 1.0 / 288.0, 1.0, 21.1, 2.0 / 86_400.0, 1000.0];
        let texts = lengths.map(|length| days().length(length));
        assert_eq!(texts, ["1 h", "1 h", "5 min", "1 day", "21.1 days", "2 s", "2.74 years"]);
        let plain = |name: &str, length: f64| TimeUnit::new(&Calendar::Numbers, name).length(length);
        assert_eq!(plain("thousand years relative to 1950", 0.01), "0.01 thousand years");
        assert_eq!(plain("seconds", 1.0), "1 second");
        assert_eq!(plain("time [h]", 2.387), "2.39 hours");
        assert_eq!(plain("time", 2.387), "2.39 units of time");
    }

    #[test]
    fn golden_rates() {
        assert_eq!(days().of("1/time"), "per day");
        assert_eq!(days().of("value"), "");
        let plain = TimeUnit::new(&Calendar::Numbers, "t");
        assert_eq!(plain.of("value/time^(1/alpha)"), "per (unit of time)^(1/α)");
    }

    #[test]
    fn identity_every_unit_of_time_in_the_registry_is_written() {
        for listed in levytilt::internals::registry::all() {
            for (_, entry) in &listed.owners {
                let written = days().of(entry.unit);
                assert_eq!(entry.unit.contains("time"), written.contains("day"), "{}: {}", listed.name, entry.unit);
            }
        }
    }
}
