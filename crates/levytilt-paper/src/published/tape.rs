//! Keep what a path of Algorithm 2 did, for its ELBO and the gradient.

use levytilt::StreamRng;
use levytilt::internals::Chain;
use rand_distr::{Distribution, StandardNormal};

/// A part of a step, with what the gradient needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// c − x.
    pub delta: f64,
    /// Derivative of the motion in δ and in a.
    pub moved: [f64; 2],
    /// h·D and its derivatives in δ and in a.
    pub kl: [f64; 3],
    /// The share of the time meant for it by which it ended early.
    pub unused: f64,
    /// Gradient of the log density in δ and in a.
    pub log_density: [f64; 2],
}

/// What a part adds to the gradient in the noise: in ln u, half that in the logarithm of the jumps' size, and in α.
#[derive(Debug, Clone, Copy)]
pub(super) struct NoiseSlopes {
    /// Derivative of the motion in ln u.
    pub moved: f64,
    /// That of h·D in ln u and in α.
    pub kl: [f64; 2],
    /// Gradient of the log density in ln u and in α.
    pub log_density: [f64; 2],
}

/// A path with its record; by time and dimension, dimension fastest.
#[derive(Debug, Clone)]
pub(super) struct Tape {
    /// States at all times.
    pub states: Vec<f64>,
    /// Number of jumps of each step.
    pub counts: Vec<u32>,
    /// Size of the jump with the largest mixing variable of each step.
    pub largest: Vec<f64>,
    parts: Vec<Part>,
    /// By part, if the gradient in the noise is wanted.
    noise: Vec<NoiseSlopes>,
    /// γ of each step with its derivatives in the state and in its parameters, if the size of jumps depends on the state.
    pub sizes: Vec<f64>,
    /// Where the parts of each step and dimension end.
    ends: Vec<u32>,
    /// Σ log-likelihood from each time on less Σ KL of the steps after it.
    after: Vec<f64>,
    /// Log-likelihood and KL of the whole path.
    pub log_likelihood: f64,
    pub kl: f64,
}

/// The gradient of the ELBO of some paths.
#[derive(Debug, Clone)]
pub(super) struct PathGradient {
    /// In a and c, by time and dimension.
    pub tilts: Vec<[f64; 2]>,
    /// In the parameters of the drift.
    pub drift: Vec<f64>,
    /// In α and in the logarithm of the scale, by dimension.
    pub noise: Vec<[f64; 2]>,
    /// In the parameters of the size.
    pub size: Vec<f64>,
    /// In the standard deviation of the observation error, by dimension.
    pub errors: Vec<f64>,
}

impl PathGradient {
    /// No paths.
    pub fn zero(chain: &Chain) -> Self {
        let size = chain.model().dimensions.iter().filter_map(|dimension| dimension.size.as_ref());
        Self {
            tilts: vec![[0.0; 2]; chain.len() * chain.dim()],
            drift: vec![0.0; chain.drift().parameter_count()],
            noise: vec![[0.0; 2]; chain.dim()],
            size: vec![0.0; size.map(|size| size.parameters().len()).sum()],
            errors: vec![0.0; chain.dim()],
        }
    }

    /// Add a multiple of another.
    pub fn add(&mut self, other: &Self, factor: f64) {
        let add = |sum: &mut [f64], other: &[f64]| sum.iter_mut().zip(other).for_each(|(sum, g)| *sum += factor * g);
        add(self.tilts.as_flattened_mut(), other.tilts.as_flattened());
        add(&mut self.drift, &other.drift);
        add(self.noise.as_flattened_mut(), other.noise.as_flattened());
        add(&mut self.size, &other.size);
        add(&mut self.errors, &other.errors);
    }
}

impl Part {
    /// By how much an early end, which its density accounts for, raised the ELBO: what the unused time would have cost.
    pub fn spared(&self) -> f64 {
        match self.unused {
            0.0 => 0.0,
            unused => self.kl[0] * unused / (1.0 - unused),
        }
    }

    /// Add a Brownian motion of variance `s` with the drift sφ'(x) = 2asδ, which costs ½sφ'² = 2sa²δ².
    pub fn diffuse(&mut self, a: f64, s: f64, rng: &mut StreamRng, noise: Option<&mut NoiseSlopes>) -> f64 {
        let delta = self.delta;
        let normal: f64 = StandardNormal.sample(rng);
        let cost = [2.0 * a * a * delta * delta, 4.0 * a * a * delta, 4.0 * a * delta * delta];
        self.kl.iter_mut().zip(cost).for_each(|(kl, cost)| *kl += s * cost);
        self.moved[0] += 2.0 * a * s;
        self.moved[1] += 2.0 * s * delta;
        let moved = 2.0 * a * s * delta + s.sqrt() * normal;
        if let Some(noise) = noise {
            // s goes with u, as both are squares of the size.
            noise.kl[0] += s * cost[0];
            noise.moved += moved - 0.5 * s.sqrt() * normal;
        }
        moved
    }
}

impl Tape {
    /// Nothing yet, for `n` times and `dim` dimensions.
    pub fn new(n: usize, dim: usize) -> Self {
        Self {
            states: Vec::with_capacity(n * dim),
            counts: Vec::with_capacity(n * dim),
            largest: Vec::with_capacity(n * dim),
            parts: Vec::with_capacity(n * dim),
            noise: Vec::new(),
            sizes: Vec::new(),
            ends: Vec::with_capacity(n * dim),
            after: vec![0.0; n],
            log_likelihood: 0.0,
            kl: 0.0,
        }
    }

    /// Add a part of the step at hand.
    pub fn push(&mut self, part: Part, noise: Option<NoiseSlopes>) {
        self.parts.push(part);
        self.noise.extend(noise);
    }

    /// End a step of one dimension at time `j` in a state of this log-likelihood, after so many jumps.
    pub fn end(&mut self, j: usize, (state, log_likelihood): (f64, f64), (count, largest): (u32, f64)) {
        self.states.push(state);
        self.counts.push(count);
        self.largest.push(largest);
        self.ends.push(self.parts.len() as u32);
        self.after[j] += log_likelihood;
    }

    /// Add up from the end, once all steps are there.
    pub fn finish(&mut self, dim: usize) {
        self.log_likelihood = self.after.iter().sum();
        let mut later = 0.0;
        for j in (0..self.after.len()).rev() {
            self.after[j] += later;
            let own: f64 = (j * dim..(j + 1) * dim).flat_map(|place| self.parts_of(place)).map(|part| part.kl[0]).sum();
            self.kl += own;
            later = self.after[j] - own;
        }
    }

    /// Parts of a step and dimension.
    pub fn parts_of(&self, place: usize) -> &[Part] {
        let first = if place == 0 { 0 } else { self.ends[place - 1] };
        &self.parts[first as usize..self.ends[place] as usize]
    }

    /// Slopes in the noise of the parts of a step and dimension; none if they are not wanted.
    pub fn noise_of(&self, place: usize) -> &[NoiseSlopes] {
        let first = if place == 0 { 0 } else { self.ends[place - 1] };
        self.noise.get(first as usize..self.ends[place] as usize).unwrap_or_default()
    }

    /// What is still to come once the jumps of step `j` are over.
    pub fn after(&self, j: usize) -> f64 {
        self.after[j]
    }
}
