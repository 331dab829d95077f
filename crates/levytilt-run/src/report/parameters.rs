//! Show the parameters with their intervals, and say what each of them means.

use levytilt::internals::fit::{BrownianEvidence, Estimate, Fit, IntervalSource};
use levytilt::internals::parameter::ParameterEntry;
use levytilt::internals::registry;
use levytilt::noise::Family;

use super::page::{Cell, Table};
use crate::number::readable;
use crate::settings::{DriftName, SizeFormula};
use crate::workflow::fit::bayes::{PosteriorSummary, Spread};

/// The table of parameters.
pub fn table(fit: &Fit, drift: &DriftName, noise: &str, size: Option<&SizeFormula>) -> Table {
    let partners = partners(fit);
    let mut rows: Vec<Vec<Cell>> = fit.parameters.iter().map(|p| row(p, about(&p.name, drift, noise, size))).collect();
    let mut head = vec!["parameter", "estimate", "standard error", "90% interval", "source", "meaning"];
    if !partners.is_empty() {
        head.insert(4, "most correlated with");
        rows.iter_mut().zip(partners).for_each(|(row, partner)| row.insert(4, Cell::text(partner)));
    }
    Table {
        caption: format!("Estimates are posterior modes. {}{}", intervals(&fit.parameters), brownian(fit)),
        head: head.into_iter().map(String::from).collect(),
        rows,
        ..Table::default()
    }
}

/// Where the intervals come from.
fn intervals(parameters: &[Estimate]) -> String {
    let from = |source: IntervalSource| -> Vec<&str> {
        let has = |p: &&Estimate| p.interval.is_some_and(|interval| interval.source == source);
        parameters.iter().filter(has).map(|p| p.name.as_str()).collect()
    };
    let most = match from(IntervalSource::Draws).is_empty() {
        true => {
            "Intervals are Gaussian on the unconstrained scale (logarithm or logit), so that they stay within the domain."
        }
        false => {
            "Intervals are the 5% and 95% quantiles of parameter draws weighted by evidence and prior, so that \
             they need not be centred at the estimate."
        }
    };
    match from(IntervalSource::Profile).join(", ") {
        none if none.is_empty() => most.into(),
        profiled => {
            format!("{most} The interval of {profiled} is by profile likelihood, open where the data set no limit.")
        }
    }
}

/// For every parameter the one that its estimate is most correlated with; none where there are fewer than two, or the
/// covariance is not known.
fn partners(fit: &Fit) -> Vec<String> {
    let free: Vec<usize> = (0..fit.parameters.len()).filter(|&k| !fit.parameters[k].fixed).collect();
    let count = free.len();
    if count < 2 || fit.covariance.len() != count * count {
        return Vec::new();
    }
    let entry = |i: usize, j: usize| fit.covariance[i * count + j];
    let correlation = |i: usize, j: usize| entry(i, j) / (entry(i, i) * entry(j, j)).sqrt();
    let of = |i: usize| {
        let others = (0..count).filter(|&j| j != i).map(|j| (j, correlation(i, j))).filter(|(_, r)| r.is_finite());
        let (j, r) = others.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
        Some(format!("{}, {r:+.2}", fit.parameters[free[j]].name).replace('-', "−"))
    };
    let place = |k: usize| free.iter().position(|&known| known == k);
    (0..fit.parameters.len()).map(|k| place(k).and_then(of).unwrap_or_else(|| "–".into())).collect()
}

/// What the evidence says of learned diffusions, as further sentences.
fn brownian(fit: &Fit) -> String {
    let sentence = |(name, evidence): &(String, BrownianEvidence)| {
        let verdict = if evidence.is_told_apart() { "distinguishable from 0" } else { "not distinguishable from 0" };
        let (with, without) = (evidence.with, evidence.without);
        format!(" {name} is {verdict}: log evidence {with:.2} with it, {without:.2} without.")
    };
    fit.brownian.iter().map(sentence).collect()
}

/// The table of weighted draws.
pub fn posterior_table(found: &PosteriorSummary) -> Table {
    let row = |(name, p): (&String, &Spread)| {
        let mut cells = vec![Cell::text(name)];
        cells.extend([p.mean, p.sd, p.q05, p.q25, p.q50, p.q75, p.q95].map(Cell::number));
        cells
    };
    let k_hat = found.k_hat.map_or(String::new(), |k| format!(", k\u{302} {k:.2}"));
    let caption = format!(
        "Posterior of the parameters: {} draws weighted by evidence and prior, effective sample size \
         {:.0}{k_hat}.",
        found.draws, found.effective_sample_size
    );
    let head = ["parameter", "mean", "sd", "5%", "25%", "median", "75%", "95%"];
    Table {
        caption,
        head: head.map(String::from).into(),
        rows: found.parameters.iter().map(row).collect(),
        ..Table::default()
    }
}

fn row(p: &Estimate, about: &str) -> Vec<Cell> {
    let from = match p.std_error {
        _ if p.fixed => "given",
        _ if p.held_by_prior => "mostly the prior",
        Some(_) => "data",
        None => "data, no standard error",
    };
    vec![
        Cell::text(&p.name),
        Cell::number(p.value),
        p.std_error.map_or_else(|| Cell::text("–"), Cell::number),
        Cell::text(p.interval.map_or("–".into(), |i| format!("{} to {}", end(i.low), end(i.high)))),
        Cell::text(from),
        Cell::text(about),
    ]
}

/// An end of an interval, which may be open.
fn end(value: f64) -> String {
    match value.is_infinite() {
        true => if value < 0.0 { "−∞" } else { "∞" }.into(),
        false => readable(value),
    }
}

/// What a parameter is, from the entry of its family.
pub fn about(name: &str, drift: &DriftName, noise: &str, size: Option<&SizeFormula>) -> &'static str {
    let plain = name.split('[').next().unwrap_or(name);
    if drift.formula_names().iter().any(|known| known == plain) {
        return "parameter of the formula";
    }
    if size.is_some_and(|size| size.names(&[]).iter().any(|known| known == plain)) {
        return "parameter of the size of the noise";
    }
    if plain == "gain" && name.contains('[') {
        return "gain of an input: drift per unit of it";
    }
    if plain.starts_with("season") && plain.contains('_') {
        return "coefficient of a Fourier term of the drift";
    }
    entry(plain, drift, noise).map_or("", |entry| entry.about)
}

/// The unit of a parameter, in units of the values and of time; empty for a pure number or a parameter of a formula.
pub fn unit(name: &str, drift: &DriftName, noise: &str) -> &'static str {
    let plain = name.split('[').next().unwrap_or(name);
    if drift.formula_names().iter().any(|known| known == plain) {
        return "";
    }
    entry(plain, drift, noise).map_or("", |entry| entry.unit)
}

fn entry(plain: &str, drift: &DriftName, noise: &str) -> Option<&'static ParameterEntry> {
    let of_drift = drift.family().and_then(|family| family.parameter(plain));
    let of_noise = || Family::named(noise).and_then(|family| family.parameter(plain));
    let of_none = || registry::find(plain).map(|listed| listed.entry());
    of_drift.or_else(of_noise).or_else(of_none)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_every_parameter_has_a_meaning() {
        for listed in registry::all() {
            let (family, entry) = listed.owners[0];
            let drift = DriftName::read(family).unwrap_or(DriftName::NONE);
            assert_eq!(about(&format!("{}[A]", listed.name), &drift, family, None), entry.about);
        }
    }
}
