//! Turn times into numbers and back: plain numbers stay as they are, ISO 8601 timestamps become days since the first one.
use serde::{Deserialize, Serialize};

use crate::failure::{bad, quoted};
use crate::number::number;
use jiff::civil::{DateTime, Time};
use jiff::fmt::temporal::{DateTimeParser, Pieces, PiecesOffset};
use jiff::tz::{Disambiguation, Offset, TimeZone};
use jiff::{SignedDuration, Timestamp, Unit};

/// Nanoseconds of a day.
const DAY: f64 = 86_400e9;

/// A time as written in a file.
#[derive(Debug, Clone)]
pub enum Written {
    /// A finite number.
    Number(f64),
    /// An instant, with the way it was written.
    Stamp(Stamp),
}

/// An instant and how to write its neighbours.
#[derive(Debug, Clone)]
pub struct Stamp {
    instant: Timestamp,
    style: Style,
    text: String,
}

/// What a timestamp said about its zone.
#[derive(Debug, Clone, PartialEq)]
enum Style {
    /// A date alone.
    Date,
    /// Date and time without a zone, taken as UTC.
    Naive,
    /// With `Z` or an offset such as `+02:00`.
    Offset(Offset),
    /// With a named zone such as `[Europe/Berlin]`.
    Zone(TimeZone),
}

/// How the times of a series are written.
#[derive(Debug, Clone)]
pub enum Calendar {
    /// Numbers, in a unit that only the user knows.
    Numbers,
    /// Days since the first of these timestamps, which are sorted.
    Days(Vec<Stamp>),
}

/// Read one time; the error says what was expected.
pub fn parse(text: &str) -> Result<Written, String> {
    if let Ok(number) = text.parse::<f64>() {
        return if number.is_finite() {
            Ok(Written::Number(number))
        } else {
            Err(format!("expected a finite time, found {}", quoted(text)))
        };
    }
    if let Some(stamp) = parse_stamp(text) {
        return Ok(Written::Stamp(stamp));
    }
    // A local time that the clocks skip or show twice is no instant; a guess would be an hour off.
    Err(match text.parse::<jiff::Zoned>() {
        Ok(_) => format!(
            "{} does not exist or is ambiguous at a daylight-saving change; give the offset too, such as \
             2024-10-27T02:30+02:00[Europe/Berlin]",
            quoted(text)
        ),
        Err(_) => {
            format!(
                "expected a number or an ISO 8601 timestamp such as 2024-03-01T09:30:00Z, found {}; for dates written in \
                 another way give --date-format, such as %d.%m.%Y",
                quoted(text)
            )
        }
    })
}

fn parse_stamp(text: &str) -> Option<Stamp> {
    /// Takes no local time that is not one instant.
    static STRICT: DateTimeParser = DateTimeParser::new().disambiguation(Disambiguation::Reject);
    let pieces = Pieces::parse(text).ok()?;
    let civil = DateTime::from_parts(pieces.date(), pieces.time().unwrap_or(Time::midnight()));
    let (instant, style) = if pieces.time_zone_annotation().is_some() {
        // Checks that the offset, if there is one, is an offset of the named zone.
        let zoned = STRICT.parse_zoned(text).ok()?;
        (zoned.timestamp(), Style::Zone(zoned.time_zone().clone()))
    } else if let Some(offset) = pieces.offset() {
        let offset = match offset {
            PiecesOffset::Numeric(numeric) => numeric.offset(),
            _ => Offset::UTC,
        };
        // No standard writes the seconds of an offset; times beside such a one are written in UTC.
        let written = if offset.seconds() % 60 == 0 { offset } else { Offset::UTC };
        (offset.to_timestamp(civil).ok()?, Style::Offset(written))
    } else {
        let style = if pieces.time().is_some() { Style::Naive } else { Style::Date };
        (Offset::UTC.to_timestamp(civil).ok()?, style)
    };
    Some(Stamp { instant, style, text: text.to_string() })
}

impl Stamp {
    /// Days from `origin` to this instant.
    pub fn days_since(&self, origin: &Stamp) -> f64 {
        // The difference is an exact integer; only its quotient is rounded.
        (self.instant.as_nanosecond() - origin.instant.as_nanosecond()) as f64 / DAY
    }

    /// A date, with or without a time of day, in UTC or at an offset; written as ISO 8601.
    pub fn civil(civil: DateTime, has_time: bool, offset: Option<Offset>) -> Option<Self> {
        let text = match (offset, has_time) {
            (Some(offset), _) => return Self::at_offset(civil, offset),
            (None, true) => civil.to_string(),
            (None, false) => civil.date().to_string(),
        };
        let style = if has_time { Style::Naive } else { Style::Date };
        Some(Self { instant: Offset::UTC.to_timestamp(civil).ok()?, style, text })
    }

    fn at_offset(civil: DateTime, offset: Offset) -> Option<Self> {
        let instant = offset.to_timestamp(civil).ok()?;
        let text = instant.display_with_offset(offset).to_string();
        Some(Self { instant, style: Style::Offset(offset), text })
    }

    /// An instant, written in UTC.
    pub fn universal(instant: Timestamp) -> Self {
        Self { instant, style: Style::Offset(Offset::UTC), text: instant.to_string() }
    }

    /// Whether it lies in the years from 1900 to 2100.
    pub fn is_recent(&self) -> bool {
        (1900..=2100).contains(&Offset::UTC.to_datetime(self.instant).year())
    }

    /// How it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The instant itself.
    pub fn instant(&self) -> Timestamp {
        self.instant
    }

    /// Whether the text named a zone or an offset.
    pub fn has_zone(&self) -> bool {
        matches!(self.style, Style::Offset(_) | Style::Zone(_))
    }

    /// The text of the instant `days` after `origin`, written in the style of this stamp.
    fn write_like(&self, origin: &Stamp, days: f64) -> String {
        let nanos = (days * DAY).round() as i64;
        let Ok(instant) = origin.instant.checked_add(SignedDuration::from_nanos(nanos)) else { return number(days) };
        // A day count has a resolution of some 100 ns after thirty years: print no more digits than are known.
        let instant = instant.round(Unit::Microsecond).unwrap_or(instant);
        let civil = Offset::UTC.to_datetime(instant);
        match &self.style {
            Style::Date if civil.time() == Time::midnight() => civil.date().to_string(),
            Style::Date | Style::Naive => civil.to_string(),
            Style::Offset(offset) if *offset == Offset::UTC => instant.to_string(),
            Style::Offset(offset) => instant.display_with_offset(*offset).to_string(),
            Style::Zone(zone) => instant.to_zoned(zone.clone()).to_string(),
        }
    }
}

/// A written time for a headline: a day that begins is a date.
pub fn without_midnight(text: &str) -> &str {
    text.strip_suffix('Z').unwrap_or(text).strip_suffix("T00:00:00").unwrap_or(text)
}

/// A length of time as it was given: in the record's unit, or as text such as 2.5, 90m, 2d.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Length {
    /// In the record's unit of time.
    Number(f64),
    /// With or without a unit.
    Text(String),
}

impl Length {
    /// The length in the record's unit; `flag` names it in messages.
    pub fn measure(&self, flag: &str, calendar: &Calendar) -> anyhow::Result<f64> {
        match self {
            Self::Text(text) => length(flag, text, calendar),
            Self::Number(value) if *value > 0.0 && value.is_finite() => Ok(*value),
            Self::Number(value) => length(flag, &value.to_string(), calendar),
        }
    }
}

/// A time as it was given: a number, or as text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Moment {
    /// Where times are numbers.
    Number(f64),
    /// As in a file.
    Text(String),
}

impl Moment {
    /// The time as the computation sees it; `flag` names it in messages.
    pub fn read(&self, flag: &str, calendar: &Calendar) -> anyhow::Result<f64> {
        match (self, calendar) {
            (Self::Number(time), Calendar::Numbers) if time.is_finite() => Ok(*time),
            (Self::Number(time), _) => calendar.read(flag, &time.to_string()),
            (Self::Text(text), _) => calendar.read(flag, text),
        }
    }
}

impl From<&str> for Length {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

/// A length of time given for a flag: a number, or with a unit where the record has timestamps.
pub fn length(flag: &str, text: &str, calendar: &Calendar) -> anyhow::Result<f64> {
    let units = [("s", 1.0 / 86_400.0), ("m", 1.0 / 1440.0), ("h", 1.0 / 24.0), ("d", 1.0), ("w", 7.0)];
    let unit = units.iter().find_map(|(unit, days)| Some((text.strip_suffix(unit)?, *days)));
    let (value, factor) = match (unit, calendar) {
        (None, _) => (text, 1.0),
        (Some(with_unit), Calendar::Days(_)) => with_unit,
        (Some(_), Calendar::Numbers) => {
            return Err(bad(format!("--{flag} {}: the record's times are numbers; give a number", quoted(text))));
        }
    };
    // In days: the largest number of weeks is no length any more.
    match value.trim().parse::<f64>().map(|value| value * factor) {
        Ok(length) if length > 0.0 && length.is_finite() => Ok(length),
        _ => Err(bad(format!("--{flag} {}: expected a length of time above 0, such as 2.5 or 2d", quoted(text)))),
    }
}

impl Calendar {
    /// A time in JSON: a number, or as it was written.
    pub fn told(&self, time: f64, written: &str) -> serde_json::Value {
        match self {
            Self::Numbers => time.into(),
            Self::Days(_) => written.into(),
        }
    }

    /// A time given for a flag, as the computation sees it.
    pub fn read(&self, flag: &str, text: &str) -> anyhow::Result<f64> {
        match (parse(text), self) {
            (Ok(Written::Number(time)), Calendar::Numbers) => Ok(time),
            (Ok(Written::Stamp(stamp)), Calendar::Days(stamps)) => Ok(stamp.days_since(&stamps[0])),
            (Ok(_), Calendar::Numbers) => {
                Err(bad(format!("--{flag} {}: the record's times are numbers", quoted(text))))
            }
            (Ok(_), Calendar::Days(_)) => {
                Err(bad(format!("--{flag} {}: the record's times are timestamps, such as 2024-03-01", quoted(text))))
            }
            (Err(problem), _) => Err(bad(format!("--{flag}: {problem}"))),
        }
    }

    /// Nanoseconds from 1970 to the first timestamp, from which days are counted; nothing where times are numbers.
    pub fn origin(&self) -> Option<i128> {
        match self {
            Calendar::Numbers => None,
            Calendar::Days(stamps) => stamps.first().map(|stamp| stamp.instant.as_nanosecond()),
        }
    }

    /// The midnight (UTC) before the first timestamp, or the first time where times are numbers.
    pub fn first_midnight(&self, first: f64) -> f64 {
        match self {
            Calendar::Numbers => first,
            Calendar::Days(stamps) => -(stamps[0].instant.as_nanosecond().rem_euclid(DAY as i128) as f64 / DAY),
        }
    }

    /// The unit of the numbers that the computation sees.
    pub fn unit(&self) -> &'static str {
        match self {
            Calendar::Numbers => "as given",
            Calendar::Days(_) => "days",
        }
    }

    /// A sentence for the reader when an assumption was made about the zone.
    pub fn warning(&self) -> Option<String> {
        match self {
            Calendar::Days(stamps) if stamps.iter().any(|stamp| stamp.style == Style::Naive) => Some(
                "timestamps have no time zone and were taken as UTC: a daylight-saving change would give a wrong step length"
                    .into(),
            ),
            _ => None,
        }
    }

    /// A time of the computation, written as the input wrote its times.
    ///
    /// Times of observations come back letter for letter; those between are written like the observation before.
    pub fn write(&self, time: f64) -> String {
        let Calendar::Days(stamps) = self else { return number(time) };
        let Some(origin) = stamps.first() else { return number(time) };
        let after = stamps.partition_point(|stamp| stamp.days_since(origin) <= time);
        let before = &stamps[after.saturating_sub(1)];
        if before.days_since(origin) == time { before.text.clone() } else { before.write_like(origin, time) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(text: &str) -> Stamp {
        match parse(text) {
            Ok(Written::Stamp(stamp)) => stamp,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn golden_midnight_is_not_said() {
        for (written, said) in [
            ("2024-03-01T00:00:00", "2024-03-01"),
            ("2024-03-01T00:00:00Z", "2024-03-01"),
            ("2024-03-01T00:00:00+02:00", "2024-03-01T00:00:00+02:00"),
            ("2024-03-01T10:00:00Z", "2024-03-01T10:00:00Z"),
            ("12.5", "12.5"),
        ] {
            assert_eq!(without_midnight(written), said);
        }
    }

    #[test]
    fn zones_are_honoured() {
        let utc = stamp("2024-03-01T00:00:00Z");
        assert_eq!(stamp("2024-03-01T02:00:00+02:00").days_since(&utc), 0.0);
        assert_eq!(stamp("2024-03-01 12:00").days_since(&utc), 0.5);
        assert_eq!(stamp("2024-03-02").days_since(&utc), 1.0);
        // Clocks go forward on 31 March 2024 in Berlin: that day has 23 hours.
        let before = stamp("2024-03-31T00:00[Europe/Berlin]");
        assert_eq!(stamp("2024-04-01T00:00[Europe/Berlin]").days_since(&before), 23.0 / 24.0);
    }

    #[test]
    fn local_times_that_are_no_instant_are_refused() {
        for text in ["2024-10-27T02:30[Europe/Berlin]", "2024-03-31T02:30[Europe/Berlin]"] {
            assert!(parse(text).unwrap_err().contains("give the offset too"), "{text}");
        }
        let first = stamp("2024-10-27T02:30+02:00[Europe/Berlin]");
        assert_eq!(stamp("2024-10-27T02:30+01:00[Europe/Berlin]").days_since(&first), 1.0 / 24.0);
        // A leap second has no instant of its own: it is the second before.
        assert_eq!(stamp("2016-12-31T23:59:60Z").days_since(&stamp("2016-12-31T23:59:59Z")), 0.0);
    }

    #[test]
    fn times_come_back_as_they_were_written() {
        for (first, second, middle) in [
            ("2024-03-01", "2024-03-02", "2024-03-01T12:00:00"),
            ("2024-03-01", "2024-03-03", "2024-03-02"),
            ("2024-03-01 00:00", "2024-03-01 01:00", "2024-03-01T00:30:00"),
            ("2024-03-01T00:00:00Z", "2024-03-01T00:00:01Z", "2024-03-01T00:00:00.5Z"),
            ("2024-03-01T00:00:00+02:00", "2024-03-01T02:00:00+02:00", "2024-03-01T01:00:00+02:00"),
        ] {
            let stamps = vec![stamp(first), stamp(second)];
            let end = stamps[1].days_since(&stamps[0]);
            let calendar = Calendar::Days(stamps);
            assert_eq!(calendar.write(0.0), first);
            assert_eq!(calendar.write(end / 2.0), middle);
            assert_eq!(calendar.write(end), second);
        }
    }

    #[test]
    fn nonsense_is_refused_with_an_example() {
        for text in ["yesterday", "2024-13-01", "2024-01-01T25:00Z", "inf", "NaN", "1,5"] {
            assert!(parse(text).unwrap_err().contains(text), "{text}");
        }
    }
}
