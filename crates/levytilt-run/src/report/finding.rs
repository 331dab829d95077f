//! Lead with what was found: the equation with its estimates, which law the moves follow, and what fails.

use levytilt::internals::fit::Estimate;
use levytilt::internals::parameter::Effect;
use levytilt::internals::residuals::Aspect;
use levytilt::noise::Family;

use super::equation::Equation;
use super::motion;
use super::page::{Block, Cell, Fact};
use super::parameters::{about, unit};
use super::scene::Scene;
use crate::number::{brief, with_error};
use crate::settings::{DriftName, SizeFormula, name_of};
use crate::table::time::{Calendar, Length};
use crate::units::TimeUnit;
use crate::workflow::exact;
use crate::workflow::fit::summary::Summary;

/// Standard errors from which an estimate counts as different.
const CLEAR: f64 = 3.0;

/// Equation, verdict, and the parameters in words; for several columns the verdict alone.
pub fn blocks(scene: &Scene, rival: Option<&exact::summary::Summary>) -> Vec<Block> {
    let summary = &scene.outcome.summary;
    let failing = failing(summary);
    let wells =
        if motion::wells(scene).is_some_and(|wells| wells.doubtful()) { " Two wells are not established." } else { "" };
    let text = format!("{} {}{wells}", law(summary, rival), checks(summary, &failing));
    let verdict = match (checks_made(summary), failing.is_empty() && wells.is_empty()) {
        (_, false) => Block::Warning(text),
        (0, true) => Block::Text(text),
        (_, true) => Block::Good(text),
    };
    if scene.dim() > 1 {
        return vec![verdict];
    }
    let size = scene.outcome.settings.model.size.as_ref();
    let time = TimeUnit::new(&scene.table.calendar, &scene.table.time_name);
    let season = |p: &&Estimate| !p.name.starts_with("season");
    let shown: Vec<&Estimate> = scene.outcome.fit.parameters.iter().filter(season).collect();
    let drift = &scene.outcome.settings.drift;
    let facts = shown.iter().map(|p| fact(summary, p, size, &time)).collect();
    let units = format!("Values are in the unit of {}, times in {}", scene.table.names[0], plural(&time));
    let units = units + &season_in_words(drift.season.as_deref().unwrap_or_default(), &scene.table.calendar, &time);
    let motion = equation(summary, size, &shown, drift.season.is_some());
    motion.into_iter().chain([verdict, Block::Facts(facts), Block::Text(units)]).collect()
}

/// What `season` stands for in the equation, as the end of a sentence.
fn season_in_words(periods: &[Length], calendar: &Calendar, time: &TimeUnit) -> String {
    let lengths =
        periods.iter().flat_map(|period| period.measure("--season", calendar)).map(|length| time.length(length));
    let lengths: Vec<String> = lengths.collect();
    match lengths.as_slice() {
        [] => ".".into(),
        [one] => format!("; season is a wave with a period of {one}."),
        [most @ .., last] => {
            format!("; season is a sum of waves with periods of {} and {last}.", most.join(", "))
        }
    }
}

fn plural(time: &TimeUnit) -> &str {
    if time.one() == "unit of time" { "the unit of the record" } else { time.many() }
}

/// The whole motion, with the estimates of what stands in it; nothing for a network.
fn equation(summary: &Summary, size: Option<&SizeFormula>, shown: &[&Estimate], season: bool) -> Option<Block> {
    let drift = formula(&summary.drift)?;
    // Inputs of a listed drift are not in its formula: each adds its gain times itself.
    let gains = shown.iter().filter_map(|p| Some((p, p.name.strip_prefix("gain[")?.strip_suffix(']')?)));
    let inputs = gains.clone().map(|(_, input)| format!("gain_{input}*{input}"));
    let parts: Vec<String> = std::iter::once(drift)
        .filter(|drift| drift != "0")
        .chain(inputs)
        .chain(season.then(|| "season".into()))
        .collect();
    let formula = parts.join(" + ");
    let named = gains.map(|(p, input)| (format!("gain_{input}"), p.value, p.std_error));
    let estimates = shown.iter().map(|p| (p.name.clone(), p.value, p.std_error)).chain(named).collect();
    let (noise, size) = (Some(noise_name(summary.noise)), size.map(|size| size.as_str().to_string()));
    Some(Block::Equation(Equation { formula, estimates, noise, size, ..Equation::default() }))
}

/// A family of noise as it is written in a sentence.
pub fn noise_name(family: &str) -> String {
    let words = family.split('-').map(|word| match word {
        "gaussian" => "Gaussian",
        "nig" => "NIG",
        "student" => "Student t",
        "poisson" => "Poisson",
        other => other,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The drift as a formula of state x; nothing for what cannot be written as one, such as a network.
fn formula(drift: &DriftName) -> Option<String> {
    match drift {
        DriftName::Formula(text) => Some(text.to_string()),
        DriftName::Listed(name) => name.family()?.formula.map(String::from),
    }
}

/// Which law the moves follow, and how sure that is.
fn law(summary: &Summary, rival: Option<&exact::summary::Summary>) -> String {
    let jumps = match summary.jumps {
        _ if summary.noise == "gaussian" => String::new(),
        0 => ", and no single move stands out from it as a jump".into(),
        1 => ", with one probable jump".into(),
        many => format!(", with {many} probable jumps"),
    };
    let head = format!("The moves follow {} noise{jumps}.", noise_name(summary.noise));
    let gaussian = summary.noise_candidates.iter().find(|candidate| candidate.noise == "gaussian");
    let other = rival.map(|rival| (name_of(&rival.noise), rival.log_evidence));
    let other = other.or_else(|| Some(("gaussian".into(), gaussian?.rated.log_evidence?)));
    let sure = match other {
        Some((name, evidence)) if summary.noise != name => {
            let gain = summary.log_evidence - evidence;
            let more = if gain > 0.0 { "more" } else { "less" };
            format!(" The record is {more} probable than under {} noise, by {:.1} nats.", noise_name(&name), gain.abs())
        }
        _ => heaviness(summary),
    };
    head + &sure
}

/// How heavy the tails are, where one parameter says it.
fn heaviness(summary: &Summary) -> String {
    let family = Family::named(summary.noise);
    let index = family.and_then(|family| family.parameters.iter().find(|entry| entry.effect == Effect::TailIndex));
    let learned = index.and_then(|entry| {
        let row = summary.parameters.get(entry.name)?;
        Some((row.estimate, row.std_error?))
    });
    match (learned, summary.noise) {
        (Some((alpha, error)), _) => {
            let far = if 2.0 - alpha > CLEAR * error { "clearly" } else { "not clearly" };
            format!(" Their tail index, {}, is {far} below 2, the Gaussian case.", with_error(alpha, error))
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

fn checks_made(summary: &Summary) -> usize {
    summary.residuals.iter().flat_map(|residuals| residuals.iter()).map(|residuals| residuals.checks.len()).sum()
}

fn checks(summary: &Summary, failing: &[&str]) -> String {
    let made = checks_made(summary);
    match failing {
        _ if made == 0 => "One-step residuals were not checked.".into(),
        [] => format!("All {made} checks of the one-step residuals pass."),
        [one] => format!("The one-step residuals fail one kind of check: {one}."),
        [most @ .., last] => format!("The one-step residuals fail these checks: {} and {last}.", most.join(", ")),
    }
}

/// A parameter with its unit, and what it says.
fn fact(summary: &Summary, p: &Estimate, size: Option<&SizeFormula>, time: &TimeUnit) -> Fact {
    let text = p.std_error.map_or_else(|| brief(p.value), |error| with_error(p.value, error));
    let text = format!("{text} {}", time.of(unit(&p.name, &summary.drift, summary.noise)));
    let remark = match (p.name.as_str(), &summary.drift) {
        _ if p.fixed => "given".into(),
        ("theta", DriftName::Listed(_)) if p.value > 0.0 => {
            format!("mean-reversion rate; shocks fade in 1/theta = {}", time.length(1.0 / p.value))
        }
        (name, drift) => about(name, drift, summary.noise, size).to_string(),
    };
    Fact { name: p.name.clone(), cell: Cell::written(p.value, text.trim_end().into()), remark }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_noise_in_a_sentence() {
        let names = ["gaussian", "skewed-nig", "student", "compound-poisson", "tempered-stable"].map(noise_name);
        assert_eq!(names, ["Gaussian", "skewed NIG", "Student t", "compound Poisson", "tempered stable"]);
    }
}
