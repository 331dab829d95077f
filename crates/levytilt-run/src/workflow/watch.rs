//! Watch a fit: note its steps for the report, show them on a terminal, stop it when asked.

use levytilt::Context;
use levytilt::context::Progress;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::interrupt;
use crate::progress::Line;

/// The steps of one search.
#[derive(Debug, Clone, Default)]
pub struct Segment {
    /// Names of the parameters that were free.
    pub names: Vec<String>,
    /// Number, ELBO, its standard error and values of every step.
    pub steps: Vec<Step>,
}

/// Where a search stood.
#[derive(Debug, Clone)]
pub struct Step {
    /// Its number.
    pub iteration: usize,
    /// The ELBO.
    pub elbo: f64,
    /// Its standard error.
    pub elbo_std_error: f64,
    /// Values of the parameters that are free.
    pub values: Vec<f64>,
}

impl Segment {
    /// Note a step; a search begins with step 0.
    pub fn note(segments: &mut Vec<Segment>, progress: &Progress) {
        let free = || progress.parameters.iter().zip(progress.values).filter(|(p, _)| !p.fixed);
        if progress.iteration == 0 || segments.is_empty() {
            segments.push(Self { names: free().map(|(p, _)| p.name.clone()).collect(), steps: vec![] });
        }
        let step = Step {
            iteration: progress.iteration,
            elbo: progress.elbo,
            elbo_std_error: progress.elbo_std_error,
            values: free().map(|(_, value)| *value).collect(),
        };
        segments.iter_mut().last().into_iter().for_each(|segment| segment.steps.push(step.clone()));
    }
}

/// Compute, note every step of learning, and tell `context` of it, which may ask for an end.
pub fn noted<T>(context: &Context, compute: impl FnOnce(&Context) -> T) -> (T, Vec<Segment>) {
    let trace = Arc::new(Mutex::new(Vec::new()));
    let notes = trace.clone();
    let noting = context.noted_by(move |step| {
        if !step.part {
            Segment::note(&mut notes.lock().unwrap_or_else(PoisonError::into_inner), step);
        }
    });
    let result = compute(&noting);
    let steps = std::mem::take(&mut *trace.lock().unwrap_or_else(PoisonError::into_inner));
    (result, steps)
}

/// Stop at Ctrl-C; `show` tells the user of every step on standard error, in a line that is wiped when the context goes.
pub fn terminal(show: bool) -> Context {
    interrupt::listen();
    let (mut line, started) = (show.then(Line::new), Instant::now());
    Context::watched(move |step| {
        line.iter_mut().for_each(|line| line.tell(|| text(step, started.elapsed())));
        if interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .ended_by(interrupt::asked)
}

/// Where a fit stands, its rate, and how long it may take at most.
fn text(step: &Progress, passed: Duration) -> String {
    let seconds = passed.as_secs_f64();
    let each = seconds / (step.iteration + 1) as f64;
    let most = each * (step.most.saturating_sub(step.iteration)) as f64;
    let what = if step.part { "learning from a first part" } else { "learning" };
    let what = step.subject.map_or(what.to_string(), |name| format!("{name}: {what}"));
    let parts = step.parts.map_or(String::new(), |[seen, cost]| format!(" (log-likelihood {seen:.2}, KL {cost:.2})"));
    format!(
        "{what}: step {} of at most {}, ELBO {:.2} ± {:.2}{parts}, {seconds:.1} s, {each:.1} s per step, {most:.0} s more \
         at most",
        step.iteration, step.most, step.elbo, step.elbo_std_error
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_line() {
        let step = Progress {
            subject: None,
            iteration: 3,
            most: 30,
            part: false,
            elbo: -12.0,
            elbo_std_error: 0.5,
            parts: None,
            parameters: &[],
            values: &[],
        };
        let said = text(&step, Duration::from_secs(8));
        let expected = "learning: step 3 of at most 30, ELBO -12.00 ± 0.50, 8.0 s, 2.0 s per step, 54 s more at most";
        assert_eq!(said, expected);
        let parts = text(&Progress { parts: Some([3.0, 15.0]), ..step }, Duration::from_secs(8));
        assert!(parts.contains("ELBO -12.00 ± 0.50 (log-likelihood 3.00, KL 15.00), 8.0 s"), "{parts}");
    }
}
