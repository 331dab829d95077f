//! Run `levytilt update`.

use anyhow::Result;
use levytilt_run::command::update::{Request, follow, read, refit, update};
use levytilt_run::threads::with_threads;
use levytilt_run::workflow::update::{Answer, Summary, Watch};
use levytilt_run::workflow::watch::terminal;

use crate::args::UpdateArgs;
use crate::print::say;

/// Take in rows, tell of each, fit again if that is asked for.
pub fn run(args: &UpdateArgs) -> Result<()> {
    let watch = Watch { alarm: args.alarm, lag: args.lag, jump_above: args.jump_above };
    let request = Request { run: args.run.clone(), watch };
    let mut failed = None;
    let mut tell = |answer: &Answer| {
        if args.report.json || args.follow {
            match answer.line() {
                Ok(line) => say(&line),
                Err(error) => failed = Some(error),
            }
        } else if answer.alarm && !args.report.quiet {
            say(&alarm(answer));
        }
    };
    let summary = match &args.source {
        _ if args.follow => Some(follow(&request, std::io::stdin().lock(), &mut tell)?),
        Some(source) => Some(update(&request, &read(&args.run, source, args.table.format())?, &mut tell)?),
        None => None,
    };
    failed.map_or(Ok(()), Err)?;
    if let Some(summary) = summary.filter(|_| !args.report.wordless() && !args.follow) {
        say(&total(&summary, args));
    }
    if args.refit {
        let show = !args.report.wordless();
        let outcome = with_threads(args.threads, || refit(&args.run, &terminal(show)))??;
        if show {
            say(&outcome.summary.to_text());
        }
    }
    Ok(())
}

fn alarm(answer: &Answer) -> String {
    let shown = |values: &mut dyn Iterator<Item = &Option<f64>>| -> String {
        values.map(|value| value.map_or("–".into(), |value| format!("{value:.4}"))).collect::<Vec<_>>().join(", ")
    };
    let time = answer.time.as_str().map_or(answer.time.to_string(), String::from);
    let smallest = answer.p_value.iter().flatten().copied().fold(1.0, f64::min);
    format!(
        "alarm at {time}: value {}, p-value {smallest:.1e}, jump probability {}",
        shown(&mut answer.value.iter()),
        shown(&mut answer.jump_probability.iter())
    )
}

fn total(summary: &Summary, args: &UpdateArgs) -> String {
    let Summary { rows, known, alarms, log_evidence, to } = summary;
    let run = args.run.display();
    let before = if *known == 0 { String::new() } else { format!(", {known} were there before") };
    format!(
        "taken in      {rows} rows up to {to}{before}: log evidence {log_evidence:.2}, {alarms} alarms at p < {}\nnext          \
         levytilt forecast {run} --horizon H",
        args.alarm
    )
}
