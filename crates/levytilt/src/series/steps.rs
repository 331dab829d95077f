//! Classify the steps of a record: within a session, overnight, over a weekend.

/// A gap this many times longer than the median step means a closed market.
const CLOSED: f64 = 3.0;
/// A closed gap this many times longer than the median one is a weekend or a holiday.
const LONG: f64 = 1.5;

/// What kind of time a step crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// Step number k of a session (0 is the first after the opening), or hour of the day k where nothing ever closes.
    Open(usize),
    /// From one session to the next.
    Overnight,
    /// Over a weekend or a holiday.
    Weekend,
}

/// Gap lengths of a record, so that later steps can be classified by the same rule.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Sessions {
    step: f64,
    closed: Option<f64>,
}

impl Sessions {
    /// Median step and median closed gap of strictly increasing `times`, in days.
    pub fn of(times: &[f64]) -> Self {
        let mut gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_unstable_by(f64::total_cmp);
        let median = |sorted: &[f64]| sorted.get(sorted.len() / 2).copied();
        let step = median(&gaps).unwrap_or(f64::INFINITY);
        // Half the gaps are not longer than the median, so the closed ones are at the end.
        let closed = median(&gaps[gaps.partition_point(|gap| *gap <= CLOSED * step)..]);
        Self { step, closed }
    }

    /// The median step.
    pub(super) fn open_step(&self) -> f64 {
        self.step
    }

    /// Whether the market ever closes.
    pub fn close(&self) -> bool {
        self.closed.is_some()
    }

    /// Kind of every step between neighbouring `times`, the first of which is taken as an opening.
    ///
    /// Sessions are counted from their opening and not by the clock, so that daylight saving does not matter.
    pub fn kinds(&self, times: &[f64]) -> Vec<StepKind> {
        let mut since_opening = 0;
        let kind = |pair: &[f64]| match (pair[1] - pair[0], self.closed) {
            (gap, Some(closed)) if gap > CLOSED * self.step => {
                since_opening = 0;
                if gap > LONG * closed { StepKind::Weekend } else { StepKind::Overnight }
            }
            (_, Some(_)) => {
                since_opening += 1;
                StepKind::Open(since_opening - 1)
            }
            // A little is added so that 13:59:59.999 is 14:00.
            (_, None) => StepKind::Open(((pair[0].rem_euclid(1.0) + 1e-6) * 24.0) as usize % 24),
        };
        times.windows(2).map(kind).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_sessions_nights_and_weekends() {
        // Four prices a day from 13:30, Monday to Friday, for two weeks; clocks go back an hour in the second.
        let open = |day: &i32| day % 7 < 5;
        let shift = |day: i32| if day < 7 { 0.0 } else { 1.0 };
        let times: Vec<f64> = (0..14)
            .filter(open)
            .flat_map(|day| (0..4).map(move |h| f64::from(day) + (13.5 + shift(day) + f64::from(h)) / 24.0))
            .collect();
        let sessions = Sessions::of(&times);
        let kinds = sessions.kinds(&times);
        for (i, kind) in kinds.iter().enumerate() {
            let expected = match i % 4 {
                3 if i == 19 => StepKind::Weekend,
                3 => StepKind::Overnight,
                slot => StepKind::Open(slot),
            };
            assert_eq!(*kind, expected, "step {i}");
        }
        assert!(sessions.close());
    }

    #[test]
    fn identity_what_never_closes_has_hours() {
        let times: Vec<f64> = (0..49).map(|h| f64::from(h) / 24.0).collect();
        let sessions = Sessions::of(&times);
        assert!(!sessions.close());
        let kinds = sessions.kinds(&times);
        assert!(kinds.iter().enumerate().all(|(i, kind)| *kind == StepKind::Open(i % 24)), "{kinds:?}");
    }
}
