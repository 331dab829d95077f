//! Print how close tilted steps come to the exact evidence when the size of jumps depends on the state, γ(x) = 1 + 0.2|x|:
//! `scripts/validate jump_size [data sets]`.
//!
//! Dense data: OU drift, 1000 steps of 0.01, stable jumps of scale 2 times γ(x), seen at every step with standard deviation
//! 0.1. A step x' = flow(x) + γ(x)J is a step of the plain noise in units of γ(x), so nodes, normaliser and draws are those
//! of [`TiltedStep`]; the sweeps fit a quadratic message to slopes of ln Z that run through γ as well.

use levytilt::drift::{Drift, Ou};
use levytilt::internals::posterior::WeightSummary;
use levytilt::internals::potential::{Potential, Quadratic};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::robust_start;
use levytilt::internals::tilt::TiltedStep;
use levytilt::internals::{Chain, exact};
use levytilt::noise::{Nodes, Noise, Stable};
use levytilt::{Result, Start, StateSpace, stream};
use levytilt_paper::continuous::JumpSize;
use rand_distr::{Distribution, StandardNormal};
use std::f64::consts::PI;

const STEPS: usize = 1000;
const DT: f64 = 0.01;
const SIGHT: f64 = 0.1;
const PATHS: usize = 500;
const SWEEPS: usize = 5;

/// A chain whose jumps have size γ(x), with what was seen of it at times 0 to STEPS; it starts at 0.
struct Sized {
    drift: Ou,
    nodes: Nodes,
    size: JumpSize,
    values: Vec<f64>,
}

fn main() -> Result<()> {
    let seeds: u64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(3);
    println!("| γ(x) | α | exact − ELBO, mean | worst | ESS, mean | window − grid evidence, largest |");
    println!("|---|---|---|---|---|---|");
    for slope in [0.0, 0.2] {
        for alpha in [1.2, 1.5, 1.8] {
            let cases = (1..=seeds).map(|seed| case(alpha, slope, seed)).collect::<Result<Vec<_>>>()?;
            let average = |i: usize| mean(&cases.iter().map(|c| c[i]).collect::<Vec<_>>());
            let worst = |i: usize| cases.iter().map(|c| c[i]).fold(f64::NEG_INFINITY, f64::max);
            // The grid reference knows γ = 1 only.
            let check = if slope == 0.0 { format!("{:.0e}", worst(2)) } else { "–".into() };
            println!(
                "| 1 + {slope}·abs(x) | {alpha} | {:.2} | {:.2} | {:.0} | {check} |",
                average(0),
                worst(0),
                average(1)
            );
        }
    }
    Ok(())
}

/// Exact evidence less ELBO, effective sample size, and for γ = 1 the distance of the two exact evidences.
fn case(alpha: f64, slope: f64, seed: u64) -> Result<[f64; 3]> {
    let noise = Stable::new(alpha, 2.0)?;
    let mut chain =
        Sized { drift: Ou::new(3.0, 1.0)?, nodes: noise.nodes(DT)?, size: JumpSize::new(1.0, slope)?, values: vec![] };
    chain.values = chain.simulate(&noise, seed);
    let evidence = chain.log_evidence();
    // Start as if γ were 1: the robust smoother takes large steps for jumps, which they are.
    let model = StateSpace::new(Box::new(Ou::new(3.0, 1.0)?), Box::new(noise), SIGHT, Start::Fixed(0.0))?;
    let times: Vec<f64> = (0..=STEPS).map(|j| j as f64 * DT).collect();
    let grid = TimeGrid::new(&times, None)?;
    let start = robust_start(&Chain::new(&model, &grid, &[&chain.values])?)?;
    let mut potentials: Vec<Quadratic> = start[0].iter().filter_map(Potential::quadratic).collect();
    for sweep in 0..SWEEPS {
        let (paths, _) = chain.walk(&potentials, 200, seed + 1000 * sweep as u64)?;
        potentials = chain.refit(&paths)?;
    }
    let summary = WeightSummary::new(&chain.walk(&potentials, PATHS, seed + 1_000_000)?.1);
    let check = match slope == 0.0 {
        true => evidence - exact::log_evidence(&model, &grid, &chain.values, &exact::Options::default())?,
        false => 0.0,
    };
    Ok([evidence - summary.elbo, summary.effective_sample_size, check.abs()])
}

impl Sized {
    fn flow(&self, x: f64) -> f64 {
        let mut out = [0.0];
        self.drift.flow(0.0, DT, &[x], &mut out);
        out[0]
    }

    /// The step from `x` under a message, in units of γ(x), with the state before the noise in these units.
    fn step(&self, x: f64, message: Quadratic) -> Result<(TiltedStep, f64, f64)> {
        let gamma = self.size.at(x);
        let scaled = Quadratic::new(message.a() * gamma * gamma, message.c() / gamma)?;
        Ok((TiltedStep::new(&self.nodes, scaled), self.flow(x) / gamma, gamma))
    }

    fn log_likelihood(&self, j: usize, x: f64) -> f64 {
        -0.5 * ((self.values[j] - x) / SIGHT).powi(2) - (SIGHT * (2.0 * PI).sqrt()).ln()
    }

    /// What is seen of a path with exact draws of the noise.
    fn simulate(&self, noise: &Stable, seed: u64) -> Vec<f64> {
        let (mut moves, mut errors) = (stream(seed, 0), stream(seed, 1));
        let mut x = 0.0;
        let mut see = |x: f64| {
            let error: f64 = StandardNormal.sample(&mut errors);
            x + SIGHT * error
        };
        let mut values = vec![see(x)];
        for _ in 0..STEPS {
            x = self.flow(x) + self.size.at(x) * noise.sample(DT, &mut moves);
            values.push(see(x));
        }
        values
    }

    /// Forward sums over windows of 8 standard deviations of sight around each value, at spacing 0.02.
    fn log_evidence(&self) -> f64 {
        let (half, spacing) = (40, 0.02);
        // Rates and weights of Σ w N(z; 0, S), so that a pair of states costs one exponential per node.
        let nodes = self.nodes.variances().iter().zip(self.nodes.weights());
        let parts: Vec<(f64, f64)> = nodes.map(|(s, w)| (-0.5 / s, w / (2.0 * PI * s).sqrt())).collect();
        let density = |z: f64| -> f64 { parts.iter().map(|(rate, weight)| weight * (rate * z * z).exp()).sum() };
        let mut before = vec![(0.0, 1.0)];
        let mut log_evidence = self.log_likelihood(0, 0.0);
        for j in 1..=STEPS {
            let sources: Vec<[f64; 3]> = before.iter().map(|&(x, m)| [self.flow(x), self.size.at(x), m]).collect();
            let now: Vec<(f64, f64)> = (-half..=half)
                .map(|i| {
                    let x = self.values[j] + f64::from(i) * spacing;
                    let into: f64 =
                        sources.iter().map(|[from, gamma, m]| m / gamma * density((x - from) / gamma)).sum();
                    (x, into * spacing * self.log_likelihood(j, x).exp())
                })
                .collect();
            let total: f64 = now.iter().map(|p| p.1).sum();
            log_evidence += total.ln();
            before = now.into_iter().map(|(x, m)| (x, m / total)).collect();
        }
        log_evidence
    }

    /// Paths under the messages, time by time, and their log-weights ln p(x, y) − ln q(x).
    fn walk(&self, messages: &[Quadratic], count: usize, seed: u64) -> Result<(Vec<Vec<f64>>, Vec<f64>)> {
        let mut paths = vec![vec![0.0; count]; STEPS + 1];
        let mut logs = vec![self.log_likelihood(0, 0.0); count];
        for (path, log) in logs.iter_mut().enumerate() {
            let mut rng = stream(seed, path as u64);
            for j in 1..=STEPS {
                let (step, start, gamma) = self.step(paths[j - 1][path], messages[j])?;
                let draw = step.draw(start, &mut rng);
                let x = gamma * draw.state;
                *log += draw.log_z - messages[j].log_value(x) + self.log_likelihood(j, x);
                paths[j][path] = x;
            }
        }
        Ok((paths, logs))
    }

    /// One backward pass: a line through the slopes of ln Z at the states, plus what is seen.
    fn refit(&self, paths: &[Vec<f64>]) -> Result<Vec<Quadratic>> {
        let precision = 0.5 / (SIGHT * SIGHT);
        let mut messages = vec![Quadratic::new(precision, self.values[STEPS])?];
        for j in (0..STEPS).rev() {
            let next = messages[messages.len() - 1];
            let log_z = |x: f64| -> Result<f64> { self.step(x, next).map(|(step, start, _)| step.log_z(start)) };
            let h = 1e-4;
            let slopes = paths[j].iter().map(|&x| Ok((log_z(x + h)? - log_z(x - h)?) / (2.0 * h)));
            let (a, pull) = line(&paths[j], &slopes.collect::<Result<Vec<_>>>()?);
            // A future that would have the message bend upwards at the states is followed by its slope there.
            let kept = a.max(-0.5 * precision);
            let pull = pull + (kept - a) * mean(&paths[j]) + precision * self.values[j];
            messages.push(Quadratic::new(kept + precision, pull / (kept + precision))?);
        }
        messages.reverse();
        Ok(messages)
    }
}

/// Least squares V' ≈ 2(a·c) − 2a·x as (a, a·c); (0, 0) where all states are equal.
fn line(states: &[f64], slopes: &[f64]) -> (f64, f64) {
    let (x, v) = (mean(states), mean(slopes));
    let spread: f64 = states.iter().map(|s| (s - x).powi(2)).sum();
    if spread == 0.0 {
        return (0.0, 0.0);
    }
    let slope = states.iter().zip(slopes).map(|(s, w)| (s - x) * (w - v)).sum::<f64>() / spread;
    (-0.5 * slope, 0.5 * (v - slope * x))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
