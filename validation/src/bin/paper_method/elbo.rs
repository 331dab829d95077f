//! The ELBO of the published method at true parameters beside the exact evidence, and what its family of potentials holds.

use anyhow::{Context as _, Result};
use levytilt::drift::Ou;
use levytilt::internals::potential::Potential;
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{Parameter, SweepOptions, parameters, robust_start, sweep};
use levytilt::internals::{Chain, exact};
use levytilt::noise::TruncatedStable;
use levytilt::score::{Estimator, Sample};
use levytilt::{Context, Start, StateSpace, simulate};
use levytilt_paper::published::{Bound, PaperOptions, PaperTrainer, draw_paths, published_gradient};
use levytilt_paper::training::{Optimiser, Rule};
use levytilt_run::directory::training::kept_in;
use std::path::PathBuf;
use std::time::Instant;

/// An OU record, θ = 3 and μ = 1, seen at every step with errors of 0.1.
pub struct Record {
    pub alpha: f64,
    pub tau: f64,
    pub steps: usize,
    pub span: f64,
}

/// A record with its model.
struct Data {
    model: StateSpace,
    grid: TimeGrid,
    values: Vec<f64>,
    states: Vec<f64>,
}

impl Record {
    fn data(&self) -> Result<Data> {
        let noise = TruncatedStable::new(self.alpha, 1.0, self.tau, 1.0)?;
        let model = StateSpace::new(Box::new(Ou::new(3.0, 1.0)?), Box::new(noise), 0.1, Start::Fixed(0.0))?;
        let times: Vec<f64> = (0..=self.steps).map(|j| self.span * j as f64 / self.steps as f64).collect();
        let drawn = simulate(&model, &times, 1)?;
        Ok(Data { model, grid: TimeGrid::new(&times, None)?, values: drawn.observations, states: drawn.path })
    }
}

impl Data {
    fn evidence(&self) -> Result<f64> {
        Ok(exact::log_evidence(&self.model, &self.grid, &self.values, &exact::Options::default())?)
    }

    /// Mean CRPS of paths by Algorithm 2 against the hidden states, which no fit has seen.
    fn crps(&self, chain: &Chain, potentials: &[[f64; 2]], options: &PaperOptions) -> Result<f64> {
        let paths = draw_paths(chain, potentials, options, 78)?;
        let mut sum = 0.0;
        for (j, &truth) in self.states.iter().enumerate().skip(1) {
            let draws: Vec<f64> = paths.iter().map(|path| path.states[j]).collect();
            sum += Sample::new(&draws)?.crps(truth, Estimator::Fair)?;
        }
        Ok(sum / (self.states.len() - 1) as f64)
    }

    fn print_end(
        &self,
        (what, chain): (&str, &Chain),
        potentials: &[[f64; 2]],
        options: &PaperOptions,
        evidence: f64,
    ) -> Result<()> {
        let fresh = PaperOptions { paths: 4 * options.paths, ..options.clone() };
        let Bound { elbo, std_error, log_likelihood, kl } = published_gradient(chain, potentials, &fresh, 77)?.bound;
        println!(
            "{what}: ELBO {elbo:.2} ± {std_error:.2} (log-likelihood {log_likelihood:.1}, KL {kl:.1}); evidence {evidence:.2}, \
             gap {:.2}; CRPS of the hidden states {:.4}",
            evidence - elbo,
            self.crps(chain, potentials, options)?
        );
        Ok(())
    }
}

/// Train at true parameters and print the ELBO beside the exact evidence, with seconds per iteration; with checkpoints
/// in `out`.
pub fn train(record: &Record, options: &PaperOptions, exact: bool, out: Option<PathBuf>) -> Result<()> {
    let data = record.data()?;
    let evidence = if exact { data.evidence()? } else { f64::NAN };
    println!("exact log evidence {evidence:.2}");
    if let Some(dir) = &out {
        std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    }
    let chain = Chain::new(&data.model, &data.grid, &[&data.values])?;
    let context = kept_in(&Context::silent(), out.as_deref());
    let trainer = iterate(&chain, (options, &context), evidence)?;
    let what = format!("after {} iterations, fresh paths", trainer.iterations);
    data.print_end((&what, &chain), &trainer.potentials(&chain), options, evidence)
}

fn iterate(chain: &Chain, (options, context): (&PaperOptions, &Context), evidence: f64) -> Result<PaperTrainer> {
    let mut trainer = PaperTrainer::new(chain, options)?;
    let parameters: Vec<Parameter> =
        parameters(chain.model()).into_iter().map(|p| Parameter { fixed: true, ..p }).collect();
    let mut values: Vec<f64> = parameters.iter().map(|p| p.value).collect();
    trainer.resume_kept(&mut values, context)?;
    let (first, started, cpu) = (trainer.iterations, Instant::now(), cpu_seconds()?);
    // Every ELBO is that of fresh paths; how far the highest is above the evidence, in its standard errors.
    let mut highest = f64::NEG_INFINITY;
    let every = (options.iterations / 15).clamp(1, 100);
    println!(
        "| iteration | ELBO | log-likelihood | KL | highest ELBO − evidence, in se | wall s | CPU s per iteration |"
    );
    println!("|---|---|---|---|---|---|---|");
    while trainer.iterations < options.iterations {
        let iteration = trainer.iterations;
        let bound = trainer.step(chain, options, &parameters, &mut values)?;
        trainer.keep(&values, false, context);
        if let Some(bound) = bound {
            highest = highest.max((bound.elbo - evidence) / bound.std_error);
        }
        if iteration % every == 0 || iteration + 1 == options.iterations {
            let each = |seconds: f64| seconds / (iteration + 1 - first) as f64;
            let seconds = [started.elapsed().as_secs_f64(), cpu_seconds()? - cpu].map(each);
            let said = bound.map_or("the tilt was too strong for a path | |".to_string(), |bound| {
                format!("{:.1} ± {:.1} | {:.1} | {:.1}", bound.elbo, bound.std_error, bound.log_likelihood, bound.kl)
            });
            println!("| {iteration} | {said} | {highest:.1} | {:.2} | {:.2} |", seconds[0], seconds[1]);
        }
    }
    Ok(trainer)
}

/// Largest κ of a first potential at the centre of the step before.
const FIRST_KAPPA: f64 = 5.0;
/// Largest growth of their precisions from step to step: what a jump missed is to be mended by the next.
const FIRST_GROWTH: f64 = 2.0;

/// How much of the evidence quadratic potentials can reach at all: those of the library's sweeps on its chain, where a step has
/// its exact normaliser; and under Algorithm 2, by Adam on ln a and c of every time itself, without networks. In
/// continuous time a jump from x costs φ(x + y) − φ(x), so Adam starts from the sweeps' centres with precisions that make no step too
/// dear.
pub fn family(record: &Record, options: &PaperOptions) -> Result<()> {
    let data = record.data()?;
    let evidence = data.evidence()?;
    println!("exact log evidence {evidence:.2}");
    let chain = Chain::new(&data.model, &data.grid, &[&data.values])?;
    let swept =
        sweep(&chain, robust_start(&chain)?, &SweepOptions { paths: options.paths, ..SweepOptions::default() })?;
    println!("library's sweeps on the chain: ELBO {:.2} ± {:.2}", swept.summary.elbo, swept.summary.elbo_std_error);
    let own = |potential: &Potential| potential.bumps().first().map(|(_, bump)| [bump.a(), bump.c()]);
    let mut potentials: Vec<[f64; 2]> =
        swept.potentials[0].iter().map(own).collect::<Option<_>>().context("a potential without a bump")?;
    for j in 1..potentials.len() {
        let ([a, c], before) = (potentials[j], potentials[j - 1]);
        potentials[j][0] = a.min(FIRST_KAPPA / (c - before[1]).powi(2)).min(FIRST_GROWTH * before[0]);
    }
    data.print_end(("these with weaker precisions, under Algorithm 2", &chain), &potentials, options, evidence)?;
    let mut optimiser = Optimiser::new(Rule::Adam, 2 * potentials.len());
    let mut flat: Vec<f64> = potentials.iter().flat_map(|[a, c]| [a.ln(), *c]).collect();
    for iteration in 0..options.iterations {
        let found = published_gradient(&chain, &potentials, options, 1000 + iteration as u64)?;
        let gradient: Vec<f64> =
            potentials.iter().zip(&found.tilts).flat_map(|([a, _], [by_a, by_c])| [a * by_a, *by_c]).collect();
        // From the rate down to nothing, so that the noise of the gradient is averaged out.
        let rate = 100.0 * options.learning_rate * (1.0 - iteration as f64 / options.iterations as f64);
        optimiser.step(&mut flat, &gradient, &[(0..gradient.len(), rate)]);
        if iteration % (options.iterations / 10).max(1) == 0 {
            println!("iteration {iteration}: ELBO {:.2} ± {:.2}", found.bound.elbo, found.bound.std_error);
        }
        potentials = flat.chunks_exact(2).map(|both| [both[0].exp(), both[1]]).collect();
    }
    let what = format!("after {} iterations of Adam on them, without networks", options.iterations);
    data.print_end((&what, &chain), &potentials, options, evidence)
}

/// CPU seconds of this process, all threads together; Linux alone tells.
fn cpu_seconds() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").context("CPU time needs /proc/self/stat")?;
    // After the name in parentheses; ticks of 10 ms.
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |k: usize| fields.get(k).and_then(|field| field.parse::<f64>().ok()).unwrap_or(f64::NAN);
    Ok((ticks(11) + ticks(12)) / 100.0)
}
