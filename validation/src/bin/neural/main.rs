//! Check the slopes that train a neural potential: `scripts/validate neural
//! gradient [paths] [start|half|end|all] [components]` holds them to differences of a bound of 10⁶ paths, `-- variance` holds their noise to that of the score estimator.

mod gradient;
mod variance;

use gradient::Effort;
use levytilt::drift::Ou;
use levytilt::internals::series::TimeGrid;
use levytilt::internals::{Chain, exact};
use levytilt::noise::Stable;
use levytilt::{Context, Result, Start, StateSpace, simulate};
use levytilt_paper::potential::NeuralPotentialSpec;
use levytilt_paper::training::{TrainOptions, Trained, Trainer, train};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["gradient"] => gradients(1_000_000, "all", 1),
        ["gradient", paths] => gradients(number(paths), "all", 1),
        ["gradient", paths, stage] => gradients(number(paths), stage, 1),
        ["gradient", paths, stage, components] => gradients(number(paths), stage, number(components)),
        ["variance"] => variances(),
        _ => panic!("give one of: gradient [paths] [start|half|end|all] [components], variance"),
    }
}

fn number(text: &str) -> usize {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"))
}

fn gradients(paths: usize, stage: &str, components: usize) -> Result<()> {
    let stages = match stage {
        "start" => vec![0],
        "half" => vec![100],
        "end" => vec![200],
        "all" => vec![0, 200, 100],
        _ => panic!("{stage:?} is none of: start, half, end, all"),
    };
    println!(
        "{paths} paths, bumps per time: {components}; slopes along the group's gradient, and estimate − difference in standard errors"
    );
    println!("| iteration | log evidence − ELBO | group | estimate | difference | ± | cosine | deviations |");
    println!("|---|---|---|---|---|---|---|---|");
    let rows =
        gradient::compare(&Effort { paths, directions: 8, stages, components, steps: gradient::STEPS }, |row| {
            let deviations: Vec<String> = row.deviations().iter().map(|d| format!("{d:+.1}")).collect();
            println!(
                "| {} | {:.2} | {} | {:.4} | {:.4} | {:.4} | {:.5} | {} |",
                row.stage,
                row.gap,
                row.group,
                row.estimates[0],
                row.differences[0],
                row.errors[0],
                row.cosine(),
                deviations.join(" ")
            );
        })?;
    let worst = rows.iter().map(gradient::Row::cosine).fold(1.0, f64::min);
    let all: Vec<f64> = rows.iter().flat_map(gradient::Row::deviations).collect();
    let beyond = all.iter().filter(|d| d.abs() > 3.0).count();
    let square = all.iter().map(|d| d * d).sum::<f64>() / all.len() as f64;
    println!("\nleast cosine {worst:.5}; {beyond} of {} deviations beyond 3, mean square {square:.2}", all.len());
    Ok(())
}

/// Paths of one estimate, and estimates whose spread is compared.
const PATHS: usize = 64;
const REPEATS: u64 = 24;
/// Iterations of training that end near the optimum.
const ITERATIONS: usize = 300;

fn variances() -> Result<()> {
    println!("variance of the score estimate over that of ours, {PATHS} paths, summed over the parameters of a group");
    println!(
        "| alpha | iterations | log evidence − ELBO | reference times | sharpness | embeddings | precision | linear coefficient | all |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for alpha in [1.8, 1.5, 1.2] {
        let noise = Box::new(Stable::new(alpha, 2.0)?);
        let model = StateSpace::new(Box::new(Ou::new(3.0, 1.0)?), noise, 0.1, Start::Fixed(0.0))?;
        let times: Vec<f64> = (0..=1000).map(|j| f64::from(j) * 0.01).collect();
        let values = simulate(&model, &times, 1)?.observations;
        let grid = TimeGrid::new(&times, Some(1000))?;
        let chain = Chain::new(&model, &grid, &[&values])?;
        let exact = exact::log_evidence(&model, &grid, &values, &exact::Options::default())?;
        let options = TrainOptions { paths: 192, iterations: ITERATIONS, ..Default::default() };
        let trainer = Trainer::new(&chain, NeuralPotentialSpec::default(), options)?;
        print_ratios(alpha, 0, exact, &chain, trainer.trained())?;
        print_ratios(alpha, ITERATIONS, exact, &chain, &train(trainer, &Context::silent())?)?;
    }
    Ok(())
}

fn print_ratios(alpha: f64, iterations: usize, exact: f64, chain: &Chain, trained: &Trained) -> Result<()> {
    let potentials = trained.potentials(chain)?;
    let (mut ours, mut scores, mut bound) = (Vec::new(), Vec::new(), 0.0);
    for seed in 0..REPEATS {
        let (found, slopes) = trained.gradient(chain, PATHS, 500 + seed)?;
        bound += found.summary.elbo / REPEATS as f64;
        ours.push(slopes);
        let slopes = variance::score_gradient(chain, &potentials, PATHS, 900 + seed)?;
        scores.push(trained.slopes(chain, &[slopes.iter().map(|&[a, c]| vec![[0.0, a, c]]).collect()])?);
    }
    let (ours, scores) = (spread(&ours), spread(&scores));
    let ratio =
        |range: std::ops::Range<usize>| scores[range.clone()].iter().sum::<f64>() / ours[range].iter().sum::<f64>();
    let groups: Vec<String> = trained.potential.groups().into_iter().map(|g| format!("{:.0}", ratio(g.1))).collect();
    let all = ratio(0..ours.len());
    println!("| {alpha} | {iterations} | {:.2} | {} | {all:.0} |", exact - bound, groups.join(" | "));
    Ok(())
}

/// Variance of every parameter's slope over the repeats.
fn spread(repeats: &[Vec<f32>]) -> Vec<f64> {
    let n = repeats.len() as f64;
    let one = |p: usize| {
        let mean = repeats.iter().map(|r| f64::from(r[p])).sum::<f64>() / n;
        repeats.iter().map(|r| (f64::from(r[p]) - mean).powi(2)).sum::<f64>() / (n - 1.0)
    };
    (0..repeats[0].len()).map(one).collect()
}
