//! Print how the continuous-time view agrees with finite steps and with itself:
//! `scripts/validate continuous`.

use levytilt::drift::Ou;
use levytilt::internals::Chain;
use levytilt::internals::exact;
use levytilt::internals::posterior::{WeightSummary, walk};
use levytilt::internals::potential::Quadratic;
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{SweepOptions, robust_start, sweep};
use levytilt::internals::tilt::TiltedStep;
use levytilt::noise::{Noise, PlusBrownian, Stable, TruncatedStable};
use levytilt::{Result, Start, StateSpace, simulate, stream};
use levytilt_paper::continuous::{Brownian, Generator, JumpMeasure, JumpSize, TiltedMeasure};

fn main() -> Result<()> {
    limit()?;
    three_ways()?;
    series_range()?;
    acceptance()?;
    generators()?;
    jump_diffusion()
}

/// κ as seen from 0, for a potential of firmness `a`.
fn tilt(measure: JumpMeasure, a: f64, kappa: f64) -> Result<TiltedMeasure> {
    Ok(measure.tilted(Quadratic::new(a, (kappa / a).sqrt())?, 0.0))
}

fn limit() -> Result<()> {
    println!("## A step of length Δ tends to the rates\n");
    println!("α = 1.5, scale 1, τ = 0.1, a = 0.7, κ = 2.8, no drift.\n");
    println!("| λΔ | (e^−φ Z − 1)/Δ | error | ratio to previous | KL/Δ | error | ratio to previous |");
    println!("|---|---|---|---|---|---|---|");
    let noise = TruncatedStable::new(1.5, 1.0, 0.1, 1.0)?;
    let potential = Quadratic::new(0.7, 2.0)?;
    let tilted = JumpMeasure::from(&noise).tilted(potential, 0.0);
    let (change, divergence) = (tilted.rate() - tilted.prior().rate(), tilted.divergence_rate());
    let mut before = [f64::NAN; 2];
    for halvings in 0..8 {
        let jumps = 0.4 / f64::from(1 << halvings);
        let dt = jumps / tilted.prior().rate();
        let step = TiltedStep::new(&noise.nodes(dt)?, potential).evaluate(0.0);
        let rate = (step.log_z + tilted.kappa()).exp_m1() / dt;
        let errors = [rate - change, step.kl / dt - divergence];
        let ratio = |i: usize| match halvings {
            0 => "–".to_string(),
            _ => format!("{:.3}", before[i] / errors[i]),
        };
        println!(
            "| {jumps:.5} | {rate:.6} | {:.2e} | {} | {:.6} | {:.2e} | {} |",
            errors[0],
            ratio(0),
            step.kl / dt,
            errors[1],
            ratio(1)
        );
        before = errors;
    }
    println!("| limit | {change:.6} | | | {divergence:.6} | | |\n");
    Ok(())
}

fn three_ways() -> Result<()> {
    println!("## Quadrature, Monte Carlo and series, κ ≤ 5\n");
    println!(
        "τ = 0.1, a = 0.7, 10⁶ draws; Monte Carlo as its distance in its own standard errors, series as relative error.\n"
    );
    println!("| measure | α | κ | Λ | Monte Carlo | expansion | KL rate | Monte Carlo | expansion |");
    println!("|---|---|---|---|---|---|---|---|---|");
    let (mut inside, mut all, mut worst) = (0, 0, 0.0f64);
    for (name, power) in [("mixture", false), ("power law", true)] {
        for alpha in [1.2, 1.5, 1.8] {
            for kappa in [0.0, 1.0, 2.8, 5.0] {
                let measure = match power {
                    true => JumpMeasure::power_law(alpha, 1.0, 0.1)?,
                    false => JumpMeasure::mixture(alpha, 1.0, 0.1, 1.0)?,
                };
                let tilted = tilt(measure, 0.7, kappa)?;
                let drawn = tilted.monte_carlo(1_000_000, &mut stream(1, all as u64))?;
                let series = tilted.expansion()?;
                let (rate, divergence) = (tilted.rate(), tilted.divergence_rate());
                let scores =
                    [(drawn.rate, rate), (drawn.divergence_rate, divergence)].map(|(e, x)| (e.value - x) / e.std_error);
                let errors = [series.rate / rate - 1.0, series.divergence_rate / divergence - 1.0];
                println!(
                    "| {name} | {alpha} | {kappa} | {rate:.6} | {:+.1} se | {:.0e} | {divergence:.6} | {:+.1} se | {:.0e} |",
                    scores[0], errors[0], scores[1], errors[1]
                );
                all += 1;
                inside += scores.iter().filter(|s| s.abs() <= 2.0).count();
                worst = errors.iter().fold(worst, |w, e| w.max(e.abs()));
            }
        }
    }
    println!(
        "\n{inside} of {} Monte Carlo figures within 2 se; largest relative error of the series {worst:.0e}.\n",
        2 * all
    );
    Ok(())
}

fn series_range() -> Result<()> {
    println!("## Where the series is refused\n");
    println!("Mixture, α = 1.5, scale 1, a = 0.5: digits lost of 14 (number of terms), or refused.\n");
    let kappas = [0.0, 1e-3, 1.0, 10.0, 100.0, 500.0, 1000.0];
    println!("| τ \\ κ |{}", kappas.map(|k| format!(" {k} |")).concat());
    println!("|---|{}", "---|".repeat(kappas.len()));
    for tau in [1e-6, 1e-4, 1e-2, 1.0, 10.0, 100.0] {
        let measure = JumpMeasure::mixture(1.5, 1.0, tau, 1.0)?;
        let cells = kappas.map(|kappa| match tilt(measure, 0.5, kappa).and_then(|t| t.expansion()) {
            Ok(series) => format!(" {:.1} ({}) |", series.digits_lost, series.terms),
            Err(_) => " refused |".to_string(),
        });
        println!("| {tau:e} |{}", cells.concat());
    }
    println!();
    Ok(())
}

fn acceptance() -> Result<()> {
    println!("## How often a proposed jump is accepted\n");
    println!(
        "α = 1.5, τ = 0.01; published: propose from the prior, accept with C(r)e^−κ; ours: worst over α in 0.3, 1.1, 1.5, 1.9,"
    );
    println!(
        "τ in 10⁻⁴, 0.01, 3, a in 10⁻⁶, 0.1, 0.7, 10, 10⁶; measured: 10⁵ draws (published, at most 2.5·10⁷ proposals: as many draws as fit).\n"
    );
    println!("| κ | e^−κ | published, a = 0.7 | measured | ours, a = 0.7 | measured | ours, worst |");
    println!("|---|---|---|---|---|---|---|");
    for kappa in [0.0, 0.5, 1.0, 2.0, 5.0, 11.0, 20.0, 50.0, 1e3, 1e6] {
        let tilted = tilt(JumpMeasure::mixture(1.5, 1.0, 0.01, 1.0)?, 0.7, kappa)?;
        let sampler = tilted.sampler()?;
        let mut worst = 1.0f64;
        for alpha in [0.3, 1.1, 1.5, 1.9] {
            for tau in [1e-4, 0.01, 3.0] {
                for a in [1e-6, 0.1, 0.7, 10.0, 1e6] {
                    worst =
                        worst.min(tilt(JumpMeasure::mixture(alpha, 1.0, tau, 1.0)?, a, kappa)?.sampler()?.acceptance());
                }
            }
        }
        let mut rng = stream(2, kappa as u64);
        let tries: u64 = (0..100_000).map(|_| sampler.draw(&mut rng).tries).sum();
        let published = tilted.prior_acceptance();
        println!(
            "| {kappa} | {:.1e} | {published:.2e} | {} | {:.3} | {:.3} | {worst:.3} |",
            (-kappa).exp(),
            measured_by_prior(&tilted)?,
            sampler.acceptance(),
            1e5 / tries as f64
        );
    }
    println!();
    Ok(())
}

/// Acceptance of the published sampler, measured if 25 draws fit into 2.5·10⁷ proposals.
fn measured_by_prior(tilted: &TiltedMeasure) -> Result<String> {
    let expected = tilted.prior_acceptance();
    if expected < 1e-6 {
        return Ok("–".into());
    }
    let draws = (2.5e7 * expected).min(1e5) as u64;
    let mut rng = stream(3, draws);
    let mut tries = 0;
    for _ in 0..draws {
        tries += tilted.draw_by_prior(u64::MAX, &mut rng)?.tries;
    }
    Ok(format!("{:.2e}", draws as f64 / tries as f64))
}

fn generators() -> Result<()> {
    println!("## The tilted generator in two ways\n");
    println!(
        "L^φ h from jumps N(vδ, v/(2a)) given r, and e^−φ[L(e^φ h) − h L e^φ] from the density of jumps; h = tanh(x − 0.3),"
    );
    println!("α = 1.5, scale 0.8, τ = 0.1, a = 0.7, c = 1, x = −0.5.\n");
    println!("| drift | σ | γ(x) | tilted | conjugate | difference |");
    println!("|---|---|---|---|---|---|");
    let (potential, x) = (Quadratic::new(0.7, 1.0)?, -0.5);
    let (h, phi) = (|y: f64| (y - 0.3).tanh(), |y: f64| potential.log_value(y) - potential.log_value(x));
    for (drift, sigma, slope) in [(0.0, 0.0, 0.0), (-1.3, 0.0, 0.0), (-1.3, 0.5, 0.0), (-1.3, 0.5, 0.2)] {
        let measure = JumpMeasure::mixture(1.5, 0.8, 0.1, 1.0)?;
        let generator = Generator { drift, brownian: Brownian::new(sigma)?, measure, size: JumpSize::new(1.0, slope)? };
        let direct = generator.tilted(potential, &h, x)?;
        let conjugate = generator.prior(&|y| phi(y).exp() * h(y), x)? - h(x) * generator.prior(&|y| phi(y).exp(), x)?;
        println!(
            "| {drift} | {sigma} | 1 + {slope}·abs(x) | {direct:.9} | {conjugate:.9} | {:.0e} |",
            direct - conjugate
        );
    }
    println!();
    Ok(())
}

fn jump_diffusion() -> Result<()> {
    println!("## Jump-diffusions against the exact evidence\n");
    println!(
        "OU (θ = 3, μ = 1), jumps plus Brownian motion with σ = 0.5, 1000 steps of 0.01, observed at each with standard"
    );
    println!("deviation 0.1; sweeps, then 500 fresh paths; three data sets each.\n");
    println!("| jumps | exact − ELBO, mean | worst | ESS, mean |");
    println!("|---|---|---|---|");
    for alpha in [1.2, 1.5, 1.8] {
        for truncated in [false, true] {
            let gaps = (1..=3).map(|seed| diffusion_gap(alpha, truncated, seed)).collect::<Result<Vec<_>>>()?;
            let mean = |i: usize| gaps.iter().map(|g| g[i]).sum::<f64>() / gaps.len() as f64;
            let worst = gaps.iter().map(|g| g[0]).fold(f64::NEG_INFINITY, f64::max);
            let name = if truncated { "truncated stable, scale 1, τ = 0.01" } else { "stable, scale 2" };
            println!("| {name}, α = {alpha} | {:.2} | {worst:.2} | {:.0} |", mean(0), mean(1));
        }
    }
    Ok(())
}

/// Exact evidence less ELBO on fresh paths, and effective sample size.
fn diffusion_gap(alpha: f64, truncated: bool, seed: u64) -> Result<[f64; 2]> {
    let jumps: Box<dyn Noise> = match truncated {
        true => Box::new(TruncatedStable::new(alpha, 1.0, 0.01, 1.0)?),
        false => Box::new(Stable::new(alpha, 2.0)?),
    };
    let noise = PlusBrownian::new(jumps, 0.5)?;
    let model = StateSpace::new(Box::new(Ou::new(3.0, 1.0)?), Box::new(noise), 0.1, Start::Fixed(0.0))?;
    let times: Vec<f64> = (0..=1000).map(|j| f64::from(j) * 0.01).collect();
    let values = simulate(&model, &times, seed)?.observations;
    let grid = TimeGrid::new(&times, Some(1000))?;
    let exact = exact::log_evidence(&model, &grid, &values, &exact::Options::default())?;
    let chain = Chain::new(&model, &grid, &[&values])?;
    let swept = sweep(&chain, robust_start(&chain)?, &SweepOptions { seed, ..Default::default() })?;
    let summary = WeightSummary::new(&walk(&chain, &swept.potentials, 500, seed + 1_000_000).log_weights());
    Ok([exact - summary.elbo, summary.effective_sample_size])
}
