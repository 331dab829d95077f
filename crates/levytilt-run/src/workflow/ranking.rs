//! Rank models by log evidence less a penalty: the columns that `compare` and `--noise auto` share.

use levytilt::internals::fit::Rating;
use serde::Serialize;

/// How well a model explains the record, or why that is not known. What was not finished is never ranked.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Rated {
    /// Log evidence; null if the model could not be fitted.
    pub log_evidence: Option<f64>,
    /// Its standard error.
    pub log_evidence_std_error: Option<f64>,
    /// Parameters learned.
    pub learned: Option<usize>,
    /// ½ ln(observations) per parameter learned.
    pub penalty: Option<f64>,
    /// Log evidence less the penalty; what decides.
    pub score: Option<f64>,
    /// How far that is behind the best.
    pub behind: Option<f64>,
    /// Whether its fit was stopped, or never begun; left out where it was finished.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// Why it could not be fitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl AsRef<Rated> for Rated {
    fn as_ref(&self) -> &Rated {
        self
    }
}

impl AsMut<Rated> for Rated {
    fn as_mut(&mut self) -> &mut Rated {
        self
    }
}

impl Rated {
    /// What a fit gave, or why it gave nothing.
    pub fn new(outcome: Result<Rating, String>, unfinished: bool) -> Self {
        match outcome {
            Err(error) => Self { unfinished, error: Some(error), ..Self::default() },
            Ok(rating) => Self {
                log_evidence: Some(rating.log_evidence),
                log_evidence_std_error: Some(rating.std_error),
                learned: Some(rating.learned),
                penalty: Some(rating.penalty()),
                score: Some(rating.score),
                behind: None,
                unfinished,
                error: None,
            },
        }
    }

    /// The figures as columns of a table; what was found instead, if there are none.
    fn columns(&self) -> String {
        let Self { log_evidence, learned, penalty, score, behind, .. } = self;
        match (log_evidence, learned, penalty, score, behind) {
            (Some(evidence), Some(learned), Some(penalty), Some(score), Some(behind)) => {
                let error = self.log_evidence_std_error.filter(|error| *error >= 0.005);
                let error = error.map_or(String::new(), |error| format!("± {error:.2}"));
                format!("{evidence:>12.2} {error:<7}  {learned:>7}  {penalty:>7.2}  {score:>11.2}  {behind:>8.2}")
            }
            _ => self.error.clone().unwrap_or_default(),
        }
    }
}

/// Order `rows` by their score, best first and what has none last, and say how far each is behind.
pub fn rank<T: AsRef<Rated> + AsMut<Rated>>(rows: &mut [T]) {
    let score = |row: &T| row.as_ref().score.unwrap_or(f64::NEG_INFINITY);
    rows.sort_by(|a, b| score(b).total_cmp(&score(a)));
    let best = rows.first().map_or(f64::NAN, score);
    for rated in rows.iter_mut().map(AsMut::as_mut) {
        rated.behind = rated.score.map(|score| best - score);
    }
}

/// The table for a terminal, with a head and one line per model; `what` is the head of the names.
pub fn lines<'a>(what: &str, rows: impl Iterator<Item = (&'a str, &'a Rated)>) -> Vec<String> {
    let rows: Vec<(&str, &Rated)> = rows.collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).chain([what.len()]).max().unwrap_or(0);
    let head = format!(
        "{what:width$}  {:>12} {:7}  {:>7}  {:>7}  {:>11}  {:>8}",
        "log evidence", "", "learned", "penalty", "result", "behind"
    );
    let line = |(name, rated): &(&str, &Rated)| format!("{name:width$}  {}", rated.columns());
    std::iter::once(head).chain(rows.iter().map(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_the_best_comes_first_and_what_failed_last() {
        let rated = |score: Option<f64>| {
            let outcome = score.map(|score| Rating::new(score, 0.0, 0, 10)).ok_or("unfinished".to_string());
            Rated::new(outcome, score.is_none())
        };
        let mut rows: Vec<Rated> = [Some(-7.0), None, Some(-3.0), Some(-5.0), None].into_iter().map(rated).collect();
        rank(&mut rows);
        let found: Vec<(Option<f64>, Option<f64>)> = rows.iter().map(|row| (row.score, row.behind)).collect();
        let ranked = [(-3.0, 0.0), (-5.0, 2.0), (-7.0, 4.0)].map(|(score, behind)| (Some(score), Some(behind)));
        assert_eq!((&found[..3], &found[3..]), (&ranked[..], &[(None, None); 2][..]));
        let text = lines("model", rows.iter().map(|rated| ("a", rated)));
        assert!(text[0].contains("penalty") && text[4].ends_with("unfinished") && !text[4].contains("0.0"), "{text:?}");
    }
}
