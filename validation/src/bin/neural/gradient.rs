//! Hold the estimated slope of the bound in the networks' parameters to central differences of the bound itself.
//!
//! Differences of the bound are taken in a and c of every potential (of every bump, and in its weight, if there are
//! several), with the same random numbers on both sides; the change of a and c along a direction in the networks' parameters is a difference too, of networks in 64 bits. Their
//! product is the slope of the bound along the direction. (Moving the parameters so far that the bound's difference
//! stands out from its noise would cross corners of the networks.) Every layer, and every group of the encoder, is
//! compared along several directions: that of its own gradient (found with other random numbers) and random ones.

use levytilt::drift::Ou;
use levytilt::internals::posterior::{Potentials, walk};
use levytilt::internals::potential::{GaussianSum, Potential, Quadratic};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::{Chain, exact};
use levytilt::noise::Stable;
use levytilt::{Result, Start, StateSpace, simulate, stream};
use levytilt_paper::potential::{FrameKind, NeuralPotential, NeuralPotentialSpec};
use levytilt_paper::training::{TrainOptions, Trained, Trainer};
use rand::RngExt;
use std::ops::Range;

/// How much to compute.
pub struct Effort {
    /// Paths of every bound and of the estimate, a multiple of `BATCHES`.
    pub paths: usize,
    /// Directions per group (one suffices if it has but one parameter), the first its gradient.
    pub directions: usize,
    /// Iterations of training before each comparison.
    pub stages: Vec<usize>,
    /// Bumps per time.
    pub components: usize,
    /// Steps of the chain, of which there may be [`STEPS`] at most.
    pub steps: usize,
}

/// One group at one stage of training: slopes along its directions.
pub struct Row {
    /// Iterations of training.
    pub stage: usize,
    /// Exact evidence minus bound.
    pub gap: f64,
    pub group: String,
    pub estimates: Vec<f64>,
    pub differences: Vec<f64>,
    /// Standard errors of estimate minus difference.
    pub errors: Vec<f64>,
}

impl Row {
    /// Cosine between the slopes estimated and the differences.
    pub fn cosine(&self) -> f64 {
        let (e, d) = (&self.estimates, &self.differences);
        dot(e, d) / (dot(e, e) * dot(d, d)).sqrt()
    }

    /// Estimate minus difference in standard errors, direction by direction.
    pub fn deviations(&self) -> Vec<f64> {
        let pairs = self.estimates.iter().zip(&self.differences);
        pairs.zip(&self.errors).map(|((e, d), error)| (e - d) / error).collect()
    }
}

/// Parts of the paths: the spread over them is the noise of the estimate.
pub const BATCHES: usize = 20;
/// Steps of the whole chain.
pub const STEPS: usize = 16;
/// Times of the whole chain reach from 0 to this.
const END: f64 = 0.8;

/// Train small networks on a short series and compare at every stage; `tell` hears of every row as it is there.
pub fn compare(effort: &Effort, tell: impl Fn(&Row)) -> Result<Vec<Row>> {
    let model =
        StateSpace::new(Box::new(Ou::new(3.0, 1.0)?), Box::new(Stable::new(1.2, 2.0)?), 0.1, Start::Fixed(0.0))?;
    let times: Vec<f64> = (0..=effort.steps).map(|j| END * j as f64 / STEPS as f64).collect();
    let values = simulate(&model, &times, 1)?.observations;
    let grid = TimeGrid::new(&times, Some(effort.steps))?;
    let chain = Chain::new(&model, &grid, &[&values])?;
    let spec = NeuralPotentialSpec {
        references: 8,
        features: 8,
        width: 16,
        depth: 2,
        // Neighbouring references 4 apart in the exponent: all of them speak, none alone.
        sharpness: 30.0,
        components: effort.components,
        ..Default::default()
    };
    // With the data as frame there is much to learn.
    let options = TrainOptions { paths: 64, frame: FrameKind::Data, ..Default::default() };
    let exact = exact::log_evidence(&model, &grid, &values, &exact::Options::default())?;
    let mut rows = Vec::new();
    for &stage in &effort.stages {
        let mut trainer = Trainer::new(&chain, spec.clone(), options.clone())?;
        while trainer.iteration() < stage {
            trainer.step()?;
        }
        let found = compare_at(trainer.trained(), &chain, effort, stage, exact)?;
        found.iter().for_each(&tell);
        rows.extend(found);
    }
    Ok(rows)
}

fn compare_at(trained: &Trained, chain: &Chain, effort: &Effort, stage: usize, exact: f64) -> Result<Vec<Row>> {
    let size = effort.paths / BATCHES;
    let batches = (0..BATCHES as u64).map(|batch| gradient(trained, chain, size, 100 + batch));
    let batches: Vec<Vec<f64>> = batches.collect::<Result<_>>()?;
    let differences = differences(chain, &coefficients(trained, chain, parameters(trained))?, effort.components, size)?;
    let pilot = gradient(trained, chain, size, 99)?;
    let gap = exact - trained.gradient(chain, size, 98)?.0.summary.elbo;
    let mut rng = stream(7, stage as u64);
    let mut rows = Vec::new();
    for (group, range) in groups(&trained.potential) {
        let mut row = Row { stage, gap, group, estimates: vec![], differences: vec![], errors: vec![] };
        for k in 0..effort.directions.min(range.len()) {
            let direction = match k {
                0 => unit(&pilot[range.clone()]),
                _ => unit(&range.clone().map(|_| rng.random::<f64>() - 0.5).collect::<Vec<_>>()),
            };
            let along: Vec<f64> = batches.iter().map(|g| dot(&g[range.clone()], &direction)).collect();
            let (estimate, error) = mean(&along);
            let changes = changes(trained, chain, &range, &direction)?;
            let (difference, noise) = mean(&differences.iter().map(|d| dot(d, &changes)).collect::<Vec<_>>());
            row.estimates.push(estimate);
            row.differences.push(difference);
            row.errors.push(error.hypot(noise));
        }
        rows.push(row);
    }
    Ok(rows)
}

fn gradient(trained: &Trained, chain: &Chain, paths: usize, seed: u64) -> Result<Vec<f64>> {
    Ok(trained.gradient(chain, paths, seed)?.1.into_iter().map(f64::from).collect())
}

/// Groups of parameters with their names: those of the encoder, and weights and biases of each layer.
fn groups(potential: &NeuralPotential) -> Vec<(String, Range<usize>)> {
    let layers = potential.layers();
    let per_network = (layers.len() - 3) / 2;
    let name = |i: usize| match i {
        0 => "reference times".to_owned(),
        1 => "sharpness".to_owned(),
        2 => "embeddings".to_owned(),
        _ => {
            let (network, layer) = ((i - 3) / per_network, (i - 3) % per_network);
            format!("{} {} {}", ["firmness", "pull"][network], ["weights", "biases"][layer % 2], layer / 2 + 1)
        }
    };
    layers.into_iter().enumerate().map(|(i, range)| (name(i), range)).collect()
}

/// ln π, a and c of every bump, one after the other, from networks in 64 bits.
///
/// The networks' −a'(x − m)²/u² + b'(x − m)/u and an observation −w(x − y)² with w = 1/2σ² add up to −a(x − c)² and a number.
/// With l − b'²/4a', which makes l what the networks give at their own centre, that number is ln π. (With one bump it says
/// nothing.)
fn coefficients(trained: &Trained, chain: &Chain, parameters: Vec<f64>) -> Result<Vec<f64>> {
    let networks = NeuralPotential::from_parameters(trained.potential.spec().clone(), parameters)?;
    let said = networks.evaluate(chain.times()).coefficients;
    let w = 0.5 / chain.model().dimensions[0].observation_std.powi(2);
    let one = |j: usize, [l, a, b]: [f64; 3]| {
        let (m, u) = trained.frame.at(0, chain.times()[j]);
        let (firmness, pull) = (a / (u * u), b / u);
        let (whole, y) = (firmness + w, chain.value(0, j));
        let c = (firmness * m + 0.5 * pull + w * y) / whole;
        // At c: −a'(c − m)²/u² + b'(c − m)/u − w(c − y)².
        let height = -firmness * (c - m).powi(2) + pull * (c - m) - w * (c - y).powi(2);
        [l - 0.25 * b * b / a + height, whole, c]
    };
    let at =
        |(j, said): (usize, &Vec<Vec<[f64; 3]>>)| -> Vec<[f64; 3]> { said[0].iter().map(|&b| one(j, b)).collect() };
    Ok(said.iter().enumerate().flat_map(at).flatten().collect())
}

fn parameters(trained: &Trained) -> Vec<f64> {
    trained.potential.parameters().iter().map(|&p| p.into()).collect()
}

/// How fast ln π, a and c of every bump change along a direction in the parameters of a group.
fn changes(trained: &Trained, chain: &Chain, range: &Range<usize>, direction: &[f64]) -> Result<Vec<f64>> {
    let h = 1e-6;
    let moved = |h: f64| {
        let mut moved = parameters(trained);
        moved[range.clone()].iter_mut().zip(direction).for_each(|(p, d)| *p += h * d);
        coefficients(trained, chain, moved)
    };
    Ok(moved(h)?.iter().zip(&moved(-h)?).map(|(up, down)| (up - down) / (2.0 * h)).collect())
}

/// Slopes of the bound in every ln π, a and c, batch by batch: (4D(h) − D(2h))/3 of the central differences
/// D(h) = (bound(+h) − bound(−h))/2h, with the same random numbers.
fn differences(chain: &Chain, coefficients: &[f64], components: usize, paths: usize) -> Result<Vec<Vec<f64>>> {
    let mut slopes = vec![Vec::new(); BATCHES];
    for i in 0..coefficients.len() {
        if components == 1 && i % 3 == 0 {
            slopes.iter_mut().for_each(|slopes| slopes.push(0.0));
            continue;
        }
        // A fraction of π, of a, or of the message's width: the bound is nearly a cubic there.
        let a = coefficients[i - i % 3 + 1];
        let h = [0.2, 0.1 * a, 0.2 / (2.0 * a).sqrt()][i % 3];
        let moved = |h: f64| -> Result<Potentials> {
            let mut moved = coefficients.to_vec();
            moved[i] += h;
            let bump = |q: &[f64]| Ok((q[0], Quadratic::new(q[1], q[2])?));
            let potential = |bumps: &[f64]| -> Result<Potential> {
                let bumps: Vec<_> = bumps.chunks_exact(3).map(bump).collect::<Result<_>>()?;
                Ok(if let [(_, only)] = bumps[..] { only.into() } else { GaussianSum::new(bumps)?.into() })
            };
            Ok(vec![moved.chunks_exact(3 * components).map(potential).collect::<Result<_>>()?])
        };
        let sides = [moved(h)?, moved(-h)?, moved(2.0 * h)?, moved(-2.0 * h)?];
        for (batch, slopes) in slopes.iter_mut().enumerate() {
            let bound = |k: usize| mean(&walk(chain, &sides[k], paths, 1000 + batch as u64).log_weights()).0;
            let (near, far) = ((bound(0) - bound(1)) / (2.0 * h), (bound(2) - bound(3)) / (4.0 * h));
            slopes.push((4.0 * near - far) / 3.0);
        }
    }
    Ok(slopes)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn unit(vector: &[f64]) -> Vec<f64> {
    let length = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
    vector.iter().map(|v| v / length).collect()
}

/// Mean and its standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt())
}
