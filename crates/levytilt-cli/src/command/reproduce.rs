//! Run `levytilt reproduce`.

use anyhow::Result;
use levytilt_run::command::reproduce::{Found, run as reproduce};
use levytilt_run::finite;
use levytilt_run::workflow::reproduce::beside::Beside;

use crate::args::reproduce::ReproduceArgs;
use crate::print::{draw_figures, say};

/// Run the study, tell, draw.
pub fn run(args: &ReproduceArgs) -> Result<()> {
    let found = reproduce(&args.request())?;
    if args.report.json {
        say(&match &found {
            Found::Synthetic(table) => finite::json(table)?,
            Found::Prices(tables) => finite::json(tables)?,
        });
    } else if !args.report.quiet {
        let (texts, files) = match &found {
            Found::Synthetic(table) => (vec![table.to_markdown()], "report.html, sets.jsonl, table.json, table.md"),
            Found::Prices(tables) => {
                (tables.iter().map(Beside::to_markdown).collect(), "report.html, table.json, table.md")
            }
        };
        texts.iter().for_each(|text| say(text));
        say(&format!("written: {}: {files}", args.out.display()));
    }
    draw_figures(&args.out, &args.plots, args.report.wordless())
}
