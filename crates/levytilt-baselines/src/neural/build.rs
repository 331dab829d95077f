//! Build the networks that users name, with the number of training steps that they ask for.

use super::{DLinear, DeepAr, JumpSde, NHits, NeuralMjd, Output, Spread, Training};
use crate::forecaster::{Forecaster, ForecasterOptions};
use levytilt::Result;

/// What may be added to the name of a point forecast.
pub(crate) const SPREADS: &[&str] = &["residuals"];

type Built = Result<Box<dyn Forecaster>>;

pub(crate) fn deepar(_: &[&str], options: &ForecasterOptions) -> Built {
    let default = DeepAr::default();
    Ok(Box::new(DeepAr { training: training(default.training, options), ..default }))
}

pub(crate) fn deepar_t(_: &[&str], options: &ForecasterOptions) -> Built {
    let default = DeepAr::default();
    Ok(Box::new(DeepAr { output: Output::Student, training: training(default.training, options), ..default }))
}

pub(crate) fn nhits(with: &[&str], options: &ForecasterOptions) -> Built {
    let default = NHits::default();
    Ok(Box::new(NHits { spread: spread(with), training: training(default.training, options), ..default }))
}

pub(crate) fn dlinear(with: &[&str], options: &ForecasterOptions) -> Built {
    let default = DLinear::default();
    Ok(Box::new(DLinear { spread: spread(with), training: training(default.training, options), ..default }))
}

pub(crate) fn jump_sde(_: &[&str], options: &ForecasterOptions) -> Built {
    let default = JumpSde::default();
    Ok(Box::new(JumpSde { training: training(default.training, options), ..default }))
}

pub(crate) fn neural_mjd(_: &[&str], options: &ForecasterOptions) -> Built {
    let default = NeuralMjd::default();
    Ok(Box::new(NeuralMjd { training: training(default.training, options), ..default }))
}

fn spread(with: &[&str]) -> Spread {
    if with.contains(&SPREADS[0]) { Spread::HeldOut } else { Spread::Point }
}

fn training(default: Training, options: &ForecasterOptions) -> Training {
    Training { steps: options.steps.unwrap_or(default.steps), ..default }
}
