//! Keep a drift network in the safetensors format: a length, a JSON header, then the numbers as they are.

use anyhow::{Context, Result, bail};
use levytilt::drift::{Neural, NeuralSpec};
use serde_json::{Value, json};
use std::io::Write;

/// Name of the one tensor: all parameters, layer by layer.
const TENSOR: &str = "drift.parameters";
/// Key of the size and the inputs of the network among the metadata.
const SPEC: &str = "drift.spec";

/// Write a network.
pub fn write(out: &mut dyn Write, network: &Neural) -> Result<()> {
    let (values, spec) = (network.values(), serde_json::to_string(network.spec())?);
    let tensor = json!({"dtype": "F64", "shape": [values.len()], "data_offsets": [0, 8 * values.len()]});
    let mut header = json!({"__metadata__": {SPEC: spec}, TENSOR: tensor}).to_string();
    // The numbers begin at a multiple of eight bytes.
    header.push_str(&" ".repeat((8 - header.len() % 8) % 8));
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    for value in values {
        out.write_all(&value.to_le_bytes())?;
    }
    Ok(())
}

/// Read a network.
pub fn read(bytes: &[u8]) -> Result<Neural> {
    let (length, rest) = bytes.split_first_chunk::<8>().context("is shorter than a safetensors file")?;
    let length = usize::try_from(u64::from_le_bytes(*length))?;
    let Some((header, numbers)) = rest.split_at_checked(length) else { bail!("is cut short") };
    let header: Value = serde_json::from_slice(header).context("has no safetensors header")?;
    let spec = header["__metadata__"][SPEC].as_str().context("does not say the size of its network")?;
    let spec: NeuralSpec = serde_json::from_str(spec).context("does not say the size of its network")?;
    if header[TENSOR]["dtype"] != "F64" || header[TENSOR]["data_offsets"] != json!([0, numbers.len()]) {
        bail!("expected one tensor of 64-bit numbers, {TENSOR}, of {} bytes", numbers.len());
    }
    let values: Vec<f64> = numbers.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    Ok(Neural::from_parameters(spec, &values)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_reads_back_bit_for_bit() {
        let spec = NeuralSpec { dim: 2, width: 3, centre: vec![0.1, 1.0 / 3.0], ..NeuralSpec::default() };
        let network = Neural::new(spec, 1).unwrap();
        let mut bytes = Vec::new();
        write(&mut bytes, &network).unwrap();
        assert_eq!(read(&bytes).unwrap(), network);
        assert!((bytes.len() - 8 * network.values().len()).is_multiple_of(8));
        for damaged in [&bytes[..5], &bytes[..40], &bytes[..bytes.len() - 8]] {
            assert!(read(damaged).is_err());
        }
    }
}
