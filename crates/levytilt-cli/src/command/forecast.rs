//! Run `levytilt forecast`.

use anyhow::Result;
use levytilt_run::command::forecast::{Ahead, Request, run as forecast};
use levytilt_run::failure::bad;
use levytilt_run::table::time::Length;
use levytilt_run::workflow::forecast::{Look, Summary};

use crate::args::ForecastArgs;
use crate::print::{draw_figures, say};

/// Look ahead, tell, draw.
pub fn run(args: &ForecastArgs) -> Result<()> {
    args.plots.with_place(args.out.as_deref())?;
    let view = forecast(&request(args)?)?;
    if args.report.json {
        say(&view.summary_json()?);
    } else if !args.report.quiet {
        tell(&view.summary);
        if let Some(dir) = &args.out {
            say(&format!("written: {}: report.html, forecast.csv, paths.npz, summary.json", dir.display()));
        }
    }
    args.out.as_deref().map_or(Ok(()), |dir| draw_figures(dir, &args.plots, args.report.wordless()))
}

fn request(args: &ForecastArgs) -> Result<Request> {
    let ahead = match (&args.horizon, &args.at) {
        (Some(horizon), _) => Ahead::Horizon(Length::Text(horizon.clone())),
        (None, Some(file)) => Ahead::File(file.clone()),
        (None, None) => return Err(bad("forecast needs --horizon or --at")),
    };
    let look =
        Look { paths: args.effort.paths, seed: args.seed, fixed_parameters: args.fixed_parameters, state: args.state };
    Ok(Request {
        run: args.run.clone(),
        ahead,
        inputs: args.inputs_file.clone(),
        look,
        threads: args.effort.threads,
        out: args.out.clone(),
    })
}

fn tell(Summary { of, dimension, to, median, q05, q95, paths, drawn_parameters, drawn_from, warnings, .. }: &Summary) {
    for (((name, median), q05), q95) in dimension.iter().zip(median.iter()).zip(q05.iter()).zip(q95.iter()) {
        say(&format!("{name} at {to}: median {median:.4}, 90% between {q05:.4} and {q95:.4} ({paths} paths of {of})"));
    }
    if let Some(from) = drawn_from {
        say(&format!("parameters drawn from their posterior ({from}): {}", drawn_parameters.join(", ")));
    }
    warnings.iter().for_each(|warning| say(&format!("note: {warning}")));
}
