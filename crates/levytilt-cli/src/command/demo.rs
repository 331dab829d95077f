//! Run `levytilt demo`.

use anyhow::Result;
use levytilt_run::command::demo::Demo;
use levytilt_run::finite;
use levytilt_run::workflow::demo::verdict;
use levytilt_run::workflow::watch::terminal;

use crate::args::DemoArgs;
use crate::print::{draw_figures, say};

/// Introduce, fit, compare, tell, draw.
pub fn run(args: &DemoArgs) -> Result<()> {
    let demo = Demo::new(&args.out)?;
    let show = !args.report.wordless();
    if show {
        say(&demo.introduction());
    }
    let summary = demo.run(&terminal(show))?;
    if args.report.json {
        say(&finite::json(&summary)?);
    } else if !args.report.quiet {
        say(&verdict(&summary));
        let dir = args.out.display();
        say(&format!(
            "\nWritten to {dir}: data.csv, summary.json, posterior.csv (the climate state), paths.npz, model.toml"
        ));
        say(&format!("Open:          {dir}/report.html"));
        say(&format!("Forecast:      levytilt forecast {dir} --horizon 1"));
        say(&format!("Check exactly: levytilt exact {dir}/data.csv --config {dir}/model.toml"));
        say(&format!("Fit another:   levytilt fit {dir}/data.csv --drift double-well --noise student"));
    }
    draw_figures(&args.out, &args.plots, !show)
}
