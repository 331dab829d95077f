//! Keep the networks of a run in one file: that of the drift and those of the potential.

use anyhow::{Context, Result};
use levytilt::drift::{Neural, NeuralSpec};
use levytilt_paper::potential::{Frame, NeuralPotential, NeuralPotentialSpec};
use levytilt_paper::training::{Checkpoint, Trained};

use crate::directory::tensors::{List, Tensors};

/// The networks of a run as tensors; empty if there are none.
pub fn tensors(drift: Option<&Neural>, potential: Option<&Trained>) -> Result<Tensors> {
    let mut tensors = Tensors::default();
    if let Some(network) = drift {
        tensors.say("drift.spec", serde_json::to_string(network.spec())?);
        tensors.put("drift.parameters", List::F64(network.values().to_vec()));
    }
    if let Some(Trained { potential, frame, trace }) = potential {
        tensors.say("potential.spec", serde_json::to_string(potential.spec())?);
        tensors.say("potential.frame", serde_json::to_string(frame)?);
        tensors.put("potential.trace", List::F64(trace.clone()));
        tensors.put("potential.parameters", List::F32(potential.parameters().to_vec()));
    }
    Ok(tensors)
}

/// The drift network in a file.
pub fn drift(tensors: &Tensors) -> Result<Neural> {
    let spec: NeuralSpec =
        serde_json::from_str(tensors.word("drift.spec")?).context("does not say the size of its network")?;
    Ok(Neural::from_parameters(spec, tensors.doubles("drift.parameters")?)?)
}

/// The potential's networks in a file.
pub fn potential(tensors: &Tensors) -> Result<Trained> {
    let spec: NeuralPotentialSpec =
        serde_json::from_str(tensors.word("potential.spec")?).context("does not say the size of its networks")?;
    let frame: Frame = serde_json::from_str(tensors.word("potential.frame")?).context("has no frame")?;
    let parameters = tensors.singles("potential.parameters")?.to_vec();
    let trace = tensors.doubles("potential.trace")?.to_vec();
    Ok(Trained { potential: NeuralPotential::from_parameters(spec, parameters)?, frame, trace })
}

/// Training as it stands, as tensors.
pub fn training(checkpoint: &Checkpoint) -> Tensors {
    let mut tensors = Tensors::default();
    let Checkpoint { fingerprint, parameters, moments: [first, second], trace, rest } = checkpoint;
    tensors.say("training.of", format!("{fingerprint:016x}"));
    tensors.put("training.trace", List::F64(trace.clone()));
    if !rest.is_empty() {
        tensors.put("training.rest", List::F64(rest.clone()));
    }
    for (name, list) in [("parameters", parameters), ("first", first), ("second", second)] {
        tensors.put(&format!("training.{name}"), List::F32(list.clone()));
    }
    tensors
}

/// The training in a file.
pub fn checkpoint(tensors: &Tensors) -> Result<Checkpoint> {
    let singles = |name: &str| tensors.singles(&format!("training.{name}")).map(<[f32]>::to_vec);
    Ok(Checkpoint {
        fingerprint: u64::from_str_radix(tensors.word("training.of")?, 16).context("training.of is not a number")?,
        parameters: singles("parameters")?,
        moments: [singles("first")?, singles("second")?],
        trace: tensors.doubles("training.trace")?.to_vec(),
        rest: tensors.doubles("training.rest").map_or(Vec::new(), <[f64]>::to_vec),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn training_reads_back_bit_for_bit() {
        for rest in [vec![], vec![7.0, 0.0, 1.0 / 7.0]] {
            let checkpoint = Checkpoint {
                fingerprint: u64::MAX - 7,
                parameters: vec![0.1, -3.0],
                moments: [vec![], vec![1e-30, 2.0]],
                trace: vec![-1.0 / 3.0],
                rest,
            };
            let mut bytes = Vec::new();
            training(&checkpoint).write(&mut bytes).unwrap();
            assert_eq!(super::checkpoint(&Tensors::read(&bytes[..]).unwrap()).unwrap(), checkpoint);
        }
    }

    #[test]
    fn networks_read_back_bit_for_bit() {
        let spec = NeuralSpec { dim: 2, width: 3, centre: vec![0.1, 1.0 / 3.0], ..NeuralSpec::default() };
        let network = Neural::new(spec, 1).unwrap();
        let sizes = NeuralPotentialSpec { references: 4, features: 3, width: 5, depth: 1, ..Default::default() };
        let frame = Frame::new(vec![0.0, 1.0], vec![vec![0.1, 1.0 / 3.0]], vec![vec![0.3, 0.7]]).unwrap();
        let trained = Trained { potential: NeuralPotential::new(sizes, 1).unwrap(), frame, trace: vec![-1.5, -0.1] };
        let mut bytes = Vec::new();
        tensors(Some(&network), Some(&trained)).unwrap().write(&mut bytes).unwrap();
        let read = Tensors::read(&bytes[..]).unwrap();
        assert_eq!((drift(&read).unwrap(), potential(&read).unwrap()), (network, trained));
        assert!(tensors(None, None).unwrap().is_empty());
    }
}
