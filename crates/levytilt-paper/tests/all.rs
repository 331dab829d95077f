//! Tests of the published method, in one program.

mod continuous_generator;
mod continuous_jumps;
mod continuous_rates;
mod neural_gradient;
mod neural_training;
mod published;
mod published_noise;
mod published_whole;
