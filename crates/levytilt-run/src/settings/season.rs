//! Add seasons to a drift: Fourier terms of given periods, whose coefficients are parameters.

use anyhow::Result;
use clap::Args;
use std::convert::Infallible;
use std::fmt::Write;

use super::DriftSettings;
use crate::failure::bad;
use crate::table::time::{Calendar, Length};

/// Most harmonics of a period.
const MOST: usize = 20;

/// Flags of seasons.
#[derive(Debug, Clone, Default, Args)]
pub struct SeasonArgs {
    /// Seasons in the drift: periods separated by commas, such as 24h,7d
    #[arg(long, value_name = "PERIODS", help_heading = "Drift", value_delimiter = ',', value_parser = length)]
    pub season: Option<Vec<Length>>,
    /// Fourier terms per period of --season [default: 1]
    #[arg(long, value_name = "N", help_heading = "Drift")]
    pub harmonics: Option<usize>,
}

fn length(text: &str) -> Result<Length, Infallible> {
    Ok(text.into())
}

/// Say all periods in the record's unit of time, as `calendar` measures them; what is saved is then what was computed.
///
/// # Errors
/// A period that is not a length greater than 0, or has a unit where times are numbers; too many harmonics.
pub fn resolve(drift: &mut DriftSettings, calendar: &Calendar) -> Result<()> {
    let Some(periods) = &mut drift.season else {
        return match drift.harmonics {
            Some(_) => Err(bad("--harmonics belongs to --season: give the periods too, such as --season 24h,7d")),
            None => Ok(()),
        };
    };
    for period in periods.iter_mut() {
        *period = Length::Number(period.measure("season", calendar)?);
    }
    match drift.harmonics.get_or_insert(1) {
        1..=MOST => Ok(()),
        count => Err(bad(format!("--harmonics {count}: must lie between 1 and {MOST}"))),
    }
}

/// The terms of a formula that the seasons add, if there are any: for period P number s and harmonic h,
/// `season<s>_sin<h>` sin(2πht/P) + `season<s>_cos<h>` cos(2πht/P), with `index` behind each name.
pub fn terms(drift: &DriftSettings, index: &str) -> Result<Option<String>> {
    let Some(periods) = &drift.season else { return Ok(None) };
    let mut terms = String::new();
    for (s, period) in periods.iter().enumerate() {
        let period = period.measure("season", &Calendar::Numbers)?;
        for (h, wave) in (1..=drift.harmonics.unwrap_or(1)).flat_map(|h| [(h, "sin"), (h, "cos")]) {
            let _ = write!(terms, " + season{}_{wave}{h}{index}*{wave}({}*pi*t/{period})", s + 1, 2 * h);
        }
    }
    Ok(Some(terms).filter(|terms| !terms.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_terms() {
        let mut drift =
            DriftSettings { season: Some(vec!["24".into()]), harmonics: Some(2), ..DriftSettings::default() };
        resolve(&mut drift, &Calendar::Numbers).unwrap();
        let first = " + season1_sin1*sin(2*pi*t/24) + season1_cos1*cos(2*pi*t/24)";
        let second = " + season1_sin2*sin(4*pi*t/24) + season1_cos2*cos(4*pi*t/24)";
        assert_eq!(terms(&drift, "").unwrap().unwrap(), format!("{first}{second}"));
        assert!(terms(&drift, "[wind]").unwrap().unwrap().starts_with(" + season1_sin1[wind]*sin(2*pi*t/24)"));
        let said = |season: &str| {
            let mut drift = DriftSettings { season: Some(vec![season.into()]), ..DriftSettings::default() };
            resolve(&mut drift, &Calendar::Numbers).unwrap_err().to_string()
        };
        assert!(said("24h").contains("season") && said("-1").contains("season"));
        let mut alone = DriftSettings { harmonics: Some(2), ..DriftSettings::default() };
        assert!(resolve(&mut alone, &Calendar::Numbers).unwrap_err().to_string().contains("--season 24h,7d"));
    }
}
