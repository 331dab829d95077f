//! Say in words and numbers how far a fit can be trusted.

use levytilt::internals::posterior::{Closeness, Diagnosis, Gap, Weighting};

use super::page::{Block, Cell, Fact, Table, sentence};
use super::ranking;
use crate::settings::name_of;
use crate::workflow::exact;
use crate::workflow::fit::summary::Summary;

/// How a reason begins that tells the gap expected before the fit.
const EXPECTED: &str = "its ELBO is within";

/// Verdict, figures, warnings, how it was computed.
pub fn blocks(summary: &Summary, diagnosis: &Diagnosis, rival: Option<&exact::summary::Summary>) -> Vec<Block> {
    let mut blocks = vec![verdict(summary, &diagnosis.gap), Block::Facts(facts(summary, diagnosis.weighting))];
    // A warning about one dimension begins with its name, which is not ours to write otherwise.
    let named = |warning: &str| summary.dimension.iter().any(|name| warning.starts_with(&format!("{name}: ")));
    let text = |warning: &String| if named(warning) { format!("{warning}.") } else { sentence(warning) };
    // What the residuals say stands under Noise.
    let checks = || summary.residuals.iter().flat_map(|residuals| residuals.iter()).flat_map(|found| found.failures());
    let said = |warning: &&String| checks().any(|check| warning.ends_with(&check.advice()));
    blocks
        .extend(summary.warnings.iter().filter(|warning| !said(warning)).map(|warning| Block::Warning(text(warning))));
    blocks.extend(rival.map(|rival| Block::Good(against(summary, rival))));
    blocks.extend(methods(summary));
    if !summary.noise_candidates.is_empty() {
        blocks.push(Block::Table(candidates(summary)));
    }
    blocks
}

/// Whether the posterior was computed without approximation.
fn is_exact(summary: &Summary) -> bool {
    summary.method.iter().all(|method| *method == "grid")
}

fn verdict(summary: &Summary, gap: &Gap) -> Block {
    if is_exact(summary) {
        return Block::Good(
            "The paths are exact draws: the posterior was computed on a grid of states; the only approximations are \
             the grid and the time steps."
                .into(),
        );
    }
    let text = format!(
        "The ELBO is {:.2} nats below the log evidence (± {:.2}). The gap is the KL divergence of the variational posterior \
         from the exact one, over all {} observations; it is zero for an exact posterior.",
        gap.nats, gap.std_error, summary.observations
    );
    match gap.verdict {
        Closeness::Wide => {
            Block::Warning(format!("{text} That is a wide gap: the posterior shown misses part of the true one."))
        }
        Closeness::Close => Block::Good(format!(
            "{text} That is small: the posterior is accurate for this model. Whether the model fits the record is shown under Noise."
        )),
        Closeness::Near => Block::Good(format!(
            "{text} That is accurate enough for means and credible bands; see the warnings, if any."
        )),
    }
}

fn facts(summary: &Summary, weighting: Weighting) -> Vec<Fact> {
    let fact = |name: &str, cell, remark: String| Fact { name: name.into(), cell, remark };
    let with_error = |value: f64, error: f64| {
        let text = if error > 0.0 { format!("{value:.2} ± {error:.2}") } else { format!("{value:.2}") };
        Cell::written(value, text.replace('-', "−"))
    };
    let share = 100.0 * summary.effective_sample_size / summary.paths as f64;
    let tail = match (summary.k_hat, weighting) {
        (None, _) => "all weights are equal",
        (_, Weighting::Used) => "importance weights: used",
        (_, Weighting::SetAside) => {
            "importance weights: not used, because they would add more variance than they remove bias"
        }
        (_, Weighting::Untrusted) => "importance weights: unreliable, not used",
    };
    vec![
        fact(
            "log evidence",
            with_error(summary.log_evidence, summary.log_evidence_std_error),
            "in nats; larger is better; use it to compare models".into(),
        ),
        fact("ELBO", with_error(summary.elbo, summary.elbo_std_error), "lower bound of the log evidence".into()),
        fact(
            "effective sample size",
            Cell::written(
                summary.effective_sample_size,
                format!("{:.0} of {}", summary.effective_sample_size, summary.paths),
            ),
            format!("{share:.0}% of the paths"),
        ),
        fact(
            "k̂",
            summary.k_hat.map_or_else(|| Cell::text("–"), |k| Cell::written(k, format!("{k:.2}").replace('-', "−"))),
            tail.into(),
        ),
        fact(
            "computing time",
            Cell::written(summary.seconds, format!("{:.1} s", summary.seconds)),
            format!("{} iterations, seed {}", summary.iterations, summary.seed),
        ),
    ]
}

fn against(summary: &Summary, rival: &exact::summary::Summary) -> String {
    let gain = summary.log_evidence - rival.log_evidence;
    let name = name_of(&rival.noise);
    format!(
        "Compared with {name} noise and the same drift at its maximum-evidence parameters (log evidence {:.1}), the record \
         is {} probable under {} noise, by {:.1} nats.",
        rival.log_evidence,
        if gain > 0.0 { "more" } else { "less" },
        summary.noise,
        gain.abs()
    )
}

/// How the posterior was found, each way once.
fn methods(summary: &Summary) -> Vec<Block> {
    let mut texts: Vec<String> = Vec::new();
    for (method, why) in summary.method.iter().zip(summary.method_reason.iter()) {
        // What was expected before the fit is not said beside the gap that it has.
        let text = match why.starts_with(EXPECTED) {
            true => format!("Method {method}."),
            false => format!("Method {method}. {}", sentence(why)),
        };
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts.into_iter().map(Block::Text).collect()
}

fn candidates(summary: &Summary) -> Table {
    let caption = format!("Noise families, each fitted separately. {}", ranking::CAPTION);
    let rows = summary.noise_candidates.iter().map(|row| (row.noise, &row.rated));
    ranking::table("noise", caption, rows)
}
