//! Write defaults into the settings of a fit, and refuse what cannot be done, before anything is computed.

use anyhow::Result;
use levytilt_paper::published::NOISE;

use crate::failure::bad;
use crate::settings::{DriftName, Method, NoiseName, PaperSettings, Settings};
use crate::workflow::fit::bayes;

/// The smallest mixing radius of the paper.
const PUBLISHED_TAU: f64 = 0.01;
/// Its parameter.
const TAU: &str = "tau";
/// The index.
const ALPHA: &str = "alpha";

/// A long table has a command path of its own.
pub(super) fn refuse_panel(settings: &Settings) -> Result<()> {
    match (&settings.data.panel, &settings.data.share) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(bad("--share is for --panel COLUMN; give that too, or leave --share out")),
        (Some(column), _) => {
            Err(bad(format!("--panel {column} is for `levytilt fit` with --out DIR; in Python use fit_panel")))
        }
    }
}

/// Write defaults into the settings, so that what is saved is what was computed, and refuse what cannot be done.
pub(crate) fn resolve_defaults(settings: &mut Settings) -> Result<()> {
    settings.model.drift.get_or_insert(DriftName::OU);
    let method = *settings.solve.method.get_or_insert(Method::Auto);
    if method == Method::Paper {
        resolve_paper(settings)?;
    } else if settings.paper != PaperSettings::default() {
        return Err(bad(
            "--kl, --gradient, --motion, --alpha-grid and [paper] are for --method paper; give that, or leave them out",
        ));
    }
    settings.model.noise.get_or_insert(NoiseName::STABLE);
    let solve = &mut settings.solve;
    if solve.iterations.is_some() && ![Method::Neural, Method::Paper].contains(&method) {
        return Err(bad("--iterations is for --method neural and paper; give one too, or leave --iterations out"));
    }
    if solve.alongside == Some(false) && method == Method::Paper {
        return Err(bad(
            "alongside = false: method paper learns the drift jointly with its networks; leave alongside out",
        ));
    }
    if method != Method::Neural {
        let given = [
            (solve.init.is_some(), "--init"),
            (solve.components.is_some(), "--components"),
            (solve.alongside.is_some() && method != Method::Paper, "--alongside"),
        ];
        for (given, flag) in given {
            if given {
                return Err(bad(format!("{flag} is for --method neural; give that too, or leave {flag} out")));
            }
        }
    }
    if solve.components == Some(0) {
        return Err(bad("--components 0: a message has at least one component; give 1 or more, or leave it out"));
    }
    match (solve.bayes, solve.draws) {
        (Some(true), draws) => solve.draws = Some(draws.unwrap_or(bayes::DRAWS)),
        (_, Some(_)) => return Err(bad("--draws is for --bayes; give that too, or leave --draws out")),
        _ => {}
    }
    solve.seed.get_or_insert(1);
    // Results do not depend on threads, so they are no part of the record.
    solve.threads = None;
    Ok(())
}

/// The noise of method paper: truncated stable, at the published tau unless another is given.
fn resolve_paper(settings: &mut Settings) -> Result<()> {
    if settings.model.noise.is_none() {
        settings.model.noise = NoiseName::named(NOISE);
    }
    match settings.model.noise {
        Some(noise) if noise.as_str() != NOISE => Err(bad(format!(
            "--noise {noise}: method paper has {NOISE} noise; give --noise {NOISE}, leave --noise out, or use another \
             method"
        ))),
        _ => {
            if settings.model.values.get(TAU).is_none() {
                settings.model.values.set(TAU, Some(PUBLISHED_TAU));
            }
            check_grid(settings)
        }
    }
}

/// Refuse a grid of alpha beside alpha itself, or of impossible values.
fn check_grid(settings: &Settings) -> Result<()> {
    let Some(alphas) = settings.paper.alpha_grid.as_deref() else { return Ok(()) };
    if settings.model.values.get(ALPHA).is_some() {
        return Err(bad("--alpha and --alpha-grid both set alpha; leave one out"));
    }
    if alphas.is_empty() || alphas.iter().any(|&alpha| alpha.is_nan() || alpha <= 0.0 || alpha >= 2.0) {
        return Err(bad("--alpha-grid: give numbers between 0 and 2, separated by commas"));
    }
    Ok(())
}
