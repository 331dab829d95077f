//! Lead with what was found: the equation with its estimates, which law the moves follow, and what fails.

use levytilt::residuals::Aspect;

use super::equation::Equation;
use super::page::{Block, Cell, Fact};
use super::parameters::{about, unit};
use crate::number::brief;
use crate::settings::{DriftName, name_of};
use crate::workflow::exact;
use crate::workflow::fit::summary::{ParameterRow, Summary};

/// Standard errors from which an estimate counts as different.
const CLEAR: f64 = 3.0;

/// Equation, verdict, and the parameters in words; for several columns the verdict alone.
pub fn blocks(summary: &Summary, rival: Option<&exact::summary::Summary>, time_name: &str) -> Vec<Block> {
    let failing = failing(summary);
    let text = format!("{} {}", law(summary, rival), checks(summary, &failing));
    let verdict = if failing.is_empty() { Block::Good(text) } else { Block::Warning(text) };
    if summary.dimension.iter().count() > 1 {
        return vec![verdict];
    }
    let equation = formula(&summary.drift).map(|formula| {
        let noise = Some(summary.noise.to_string());
        Block::Equation(Equation { formula, estimates: Vec::new(), noise })
    });
    let time = if summary.time_unit == "as given" { time_name } else { "day" };
    let name = summary.dimension.iter().next().map_or("value", String::as_str);
    let season = |name: &str| name.starts_with("season");
    let rows = summary.parameters.iter().filter(|(parameter, _)| !season(parameter));
    let facts = rows.map(|(parameter, row)| fact(summary, parameter, row, (time, name)));
    equation.into_iter().chain([verdict, Block::Facts(facts.collect())]).collect()
}

/// The drift as a formula of state x; nothing where there is none, or a network.
fn formula(drift: &DriftName) -> Option<String> {
    match drift {
        DriftName::Formula(text) => Some(text.to_string()),
        DriftName::Listed(name) => match name.to_string().as_str() {
            "ou" => Some("theta*(mu - x)".into()),
            "double-well" => Some("theta1*x - theta2*x^3".into()),
            "linear" => Some("slope*x + offset".into()),
            _ => None,
        },
    }
}

/// Which law the moves follow, and how sure that is.
fn law(summary: &Summary, rival: Option<&exact::summary::Summary>) -> String {
    let jumps = match summary.jumps {
        _ if summary.noise == "gaussian" => String::new(),
        0 => ", without probable jumps".into(),
        1 => ", with one probable jump".into(),
        many => format!(", with {many} probable jumps"),
    };
    let head = format!("The moves follow {} noise{jumps}.", summary.noise);
    let gaussian = summary.noise_candidates.iter().find(|candidate| candidate.noise == "gaussian");
    let other = rival.map(|rival| (name_of(&rival.noise), rival.log_evidence));
    let other = other.or_else(|| Some(("gaussian".into(), gaussian?.rated.log_evidence?)));
    let sure = match other {
        Some((name, evidence)) if summary.noise != name => {
            let gain = summary.log_evidence - evidence;
            let more = if gain > 0.0 { "more" } else { "less" };
            format!(" The record is {more} probable than under {name} noise, by {:.1} nats.", gain.abs())
        }
        _ => heaviness(summary),
    };
    head + &sure
}

/// How heavy the tails are, where one parameter says it.
fn heaviness(summary: &Summary) -> String {
    let learned = |name: &str| {
        let row = summary.parameters.get(name)?;
        Some((row.estimate, row.std_error?))
    };
    match (learned("alpha"), summary.noise) {
        (Some((alpha, error)), "stable" | "skewed-stable") => {
            let far = if 2.0 - alpha > CLEAR * error { "clearly" } else { "not clearly" };
            format!(" Their tail index, {} ± {}, is {far} below 2, the Gaussian case.", brief(alpha), brief(error))
        }
        (_, "gaussian") => " A fit with --noise auto shows whether jumps explain the record better.".into(),
        _ => " A fit with --noise gaussian shows by its log evidence what the heavy tails are worth.".into(),
    }
}

/// The checks that failed, in words, each once.
fn failing(summary: &Summary) -> Vec<&'static str> {
    let mut found = Vec::new();
    let all = summary.residuals.iter().flat_map(|residuals| residuals.iter());
    for check in all.flat_map(|residuals| residuals.failures()) {
        let name = match check.aspect {
            Aspect::Dependence => "autocorrelation",
            Aspect::Volatility => "changing volatility",
            Aspect::Level => "dependence on the level",
            Aspect::Distribution => "the distribution",
            Aspect::Skewness => "skewness",
            Aspect::Outlier => "an outlier",
            Aspect::Season => "a season",
            Aspect::Clock => "a season of the volatility",
        };
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

fn checks(summary: &Summary, failing: &[&str]) -> String {
    let made: usize =
        summary.residuals.iter().flat_map(|residuals| residuals.iter()).map(|residuals| residuals.checks.len()).sum();
    match failing {
        _ if made == 0 => "One-step residuals were not checked.".into(),
        [] => format!("All {made} checks of the one-step residuals pass."),
        [one] => format!("The one-step residuals fail one kind of check: {one}."),
        [most @ .., last] => format!("The one-step residuals fail these checks: {} and {last}.", most.join(", ")),
    }
}

/// A parameter with its unit, and what it says.
fn fact(summary: &Summary, name: &str, row: &ParameterRow, units: (&str, &str)) -> Fact {
    let error = row.std_error.map_or(String::new(), |error| format!(" ± {}", brief(error)));
    let unit = unit(name, &summary.drift, summary.noise).replace("time", units.0).replace("value", units.1);
    let text = format!("{}{error} {unit}", brief(row.estimate));
    let remark = match (name, &summary.drift) {
        _ if row.fixed => "given".into(),
        ("theta", DriftName::Listed(_)) if row.estimate > 0.0 => {
            format!("shocks fade in 1/theta = {} {}", brief(1.0 / row.estimate), units.0)
        }
        _ => about(name, &summary.drift, summary.noise, None).to_string(),
    };
    Fact { name: name.into(), cell: Cell::written(row.estimate, text.trim_end().into()), remark }
}
