//! Show how learning converged: the ELBO and the parameters after every step.

use levytilt::internals::fit::{Estimate, Fit};

use super::calibration::tone;
use super::figure::{Axis, Figure, Layer};
use super::page::capital;
use crate::workflow::watch::Segment;

/// ELBO and parameters over the steps, per search; nothing if nothing was learned.
pub fn figures(segments: &[Segment], fit: &Fit, names: &[String]) -> Vec<Figure> {
    let dim = fit.choices.len().max(1);
    let free: Vec<&Estimate> = fit.parameters.iter().filter(|p| !p.fixed).collect();
    // One search for all dimensions, or one after the other; other families of noise come with other names.
    let groups: Vec<(Option<&String>, Vec<&Estimate>)> = match (dim, names) {
        (1, _) => vec![(None, free)],
        (_, names) => names.iter().map(|name| (Some(name), of_dimension(&free, name))).collect(),
    };
    let figure = |(k, (name, free)): (usize, &(Option<&String>, Vec<&Estimate>))| {
        let plain: Vec<&str> = free.iter().map(|p| plain(&p.name)).collect();
        let same = |s: &&Segment| s.names.iter().map(|name| self::plain(name)).eq(plain.iter().copied());
        let segments: Vec<&Segment> = segments.iter().filter(same).collect();
        let segment = segments.get((segments.len() + k).checked_sub(groups.len())?)?;
        // Where nothing was free only networks were trained, which have a figure of their own.
        (segment.steps.len() > 1 && !free.is_empty()).then(|| pair(segment, free, *name, k))
    };
    groups.iter().enumerate().filter_map(figure).flatten().collect()
}

fn of_dimension<'a>(free: &[&'a Estimate], name: &str) -> Vec<&'a Estimate> {
    free.iter().filter(|p| p.name.ends_with(&format!("[{name}]"))).copied().collect()
}

/// A name without its dimension.
fn plain(name: &str) -> &str {
    name.split('[').next().unwrap_or(name)
}

/// The ELBO and the parameters.
fn pair(segment: &Segment, free: &[&Estimate], name: Option<&String>, k: usize) -> [Figure; 2] {
    let title = |what: &str| name.map_or_else(|| capital(what), |name| format!("{name}: {what}"));
    let id = |base: &str| if name.is_some() { format!("{base}-{}", k + 1) } else { base.to_string() };
    let steps: Vec<f64> = segment.steps.iter().map(|s| s.iteration as f64).collect();
    let shifted = |by: f64| segment.steps.iter().map(|s| s.elbo + by * s.elbo_std_error).collect::<Vec<f64>>();
    let mut bound = Figure::new(&id("trace"), title("ELBO"), Axis::linear("Newton step"), Axis::linear("ELBO (nats)"))
        .column("step", "step", steps.clone())
        .column("low", "− 2 standard errors", shifted(-2.0))
        .column("bound", "ELBO", shifted(0.0))
        .column("high", "+ 2 standard errors", shifted(2.0))
        .layer(Layer { thin: true, ..Layer::line("", "blue", "step", "bound") })
        .layer(Layer::whiskers("ELBO ± 2 standard errors", "blue", "step", ["low", "bound", "high"]));
    bound.caption =
        "ELBO after every step, estimated with few paths at first and with all of them, freshly drawn, in the last \
         steps."
            .into();
    let y = Axis::linear("standard errors from the result");
    let mut values =
        Figure::new(&id("settling"), title("parameters"), Axis::linear("Newton step"), y).column("step", "step", steps);
    for (n, p) in free.iter().enumerate() {
        let error = p.std_error.unwrap_or(f64::NAN);
        let away = segment.steps.iter().map(|s| (s.values[n] - p.value) / error).collect();
        let column = format!("p{n}");
        values = values.column(&column, p.name.clone(), away).layer(Layer::line(&p.name, tone(n), "step", &column));
    }
    values.caption =
        "Distance of each parameter from its final value, in standard errors. Lines that end flat have converged."
            .into();
    for figure in [&mut bound, &mut values] {
        (figure.dimension, figure.height) = (name.cloned(), Some(280));
    }
    [bound, values]
}
