//! Keep numbers in the safetensors format: a length, a JSON header, then the numbers as they are.

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};
use std::io::{Read, Write};

use crate::finite;

/// Longest header.
const MOST_HEADER: u64 = 1 << 20;
/// Most bytes of numbers: some hundred times the largest networks there are.
const MOST_NUMBERS: u64 = 32 << 20;

/// Named lists of numbers, and words about them.
#[derive(Debug, Default, PartialEq)]
pub struct Tensors {
    words: Map<String, Value>,
    lists: Vec<(String, List)>,
}

/// Numbers of 32 or 64 bits.
#[derive(Debug, Clone, PartialEq)]
pub enum List {
    /// 32 bits.
    F32(Vec<f32>),
    /// 64 bits.
    F64(Vec<f64>),
}

impl List {
    fn kind(&self) -> (&'static str, usize, usize) {
        match self {
            Self::F32(values) => ("F32", values.len(), 4),
            Self::F64(values) => ("F64", values.len(), 8),
        }
    }

    fn is_finite(&self) -> bool {
        match self {
            Self::F32(values) => values.iter().all(|v| v.is_finite()),
            Self::F64(values) => values.iter().all(|v| v.is_finite()),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::F32(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Self::F64(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        }
    }

    fn read(kind: &str, bytes: &[u8]) -> Option<Self> {
        match kind {
            "F32" if bytes.len().is_multiple_of(4) => {
                Some(Self::F32(bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()))
            }
            "F64" if bytes.len().is_multiple_of(8) => {
                Some(Self::F64(bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect()))
            }
            _ => None,
        }
    }
}

impl Tensors {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Add a word.
    pub fn say(&mut self, key: &str, word: String) {
        self.words.insert(key.into(), word.into());
    }

    /// Add a list.
    pub fn put(&mut self, name: &str, list: List) {
        self.lists.push((name.into(), list));
    }

    /// A word.
    pub fn word(&self, key: &str) -> Result<&str> {
        self.words.get(key).and_then(Value::as_str).with_context(|| format!("has no entry {key}"))
    }

    /// A list of 64-bit numbers.
    pub fn doubles(&self, name: &str) -> Result<&[f64]> {
        match self.lists.iter().find(|(found, _)| found == name) {
            Some((_, List::F64(values))) => Ok(values),
            _ => bail!("expected a tensor of 64-bit numbers, {name}"),
        }
    }

    /// A list of 32-bit numbers.
    pub fn singles(&self, name: &str) -> Result<&[f32]> {
        match self.lists.iter().find(|(found, _)| found == name) {
            Some((_, List::F32(values))) => Ok(values),
            _ => bail!("expected a tensor of 32-bit numbers, {name}"),
        }
    }

    /// Write them all. Lists of 64-bit numbers should come first, so that all lie at multiples of their size.
    pub fn write(&self, out: &mut dyn Write) -> Result<()> {
        let mut header = Map::new();
        header.insert("__metadata__".into(), self.words.clone().into());
        let mut end = 0;
        for (name, list) in &self.lists {
            if !list.is_finite() {
                bail!(finite::complaint(&format!("a number of {name}")));
            }
            let (kind, count, size) = list.kind();
            let start = end;
            end += count * size;
            header.insert(name.clone(), json!({"dtype": kind, "shape": [count], "data_offsets": [start, end]}));
        }
        let mut header = Value::from(header).to_string();
        // The numbers begin at a multiple of eight bytes.
        header.push_str(&" ".repeat((8 - header.len() % 8) % 8));
        if header.len() as u64 > MOST_HEADER || end as u64 > MOST_NUMBERS {
            bail!("networks of {end} bytes are too large for a file that can be read back; use smaller ones");
        }
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(header.as_bytes())?;
        for (_, list) in &self.lists {
            out.write_all(&list.bytes())?;
        }
        Ok(())
    }

    /// Read them all.
    pub fn read(mut from: impl Read) -> Result<Self> {
        let mut length = [0; 8];
        from.read_exact(&mut length).context("is shorter than a safetensors file")?;
        let length = u64::from_le_bytes(length);
        if length > MOST_HEADER {
            bail!("declares a header of {length} bytes; expected at most {MOST_HEADER}");
        }
        let mut header = Vec::new();
        from.by_ref().take(length).read_to_end(&mut header)?;
        if header.len() as u64 != length {
            bail!("is cut short");
        }
        let mut header: Map<String, Value> = serde_json::from_slice(&header).context("has no safetensors header")?;
        let mut numbers = Vec::new();
        from.take(MOST_NUMBERS + 1).read_to_end(&mut numbers)?;
        if numbers.len() as u64 > MOST_NUMBERS {
            bail!("holds more than {} MB of numbers", MOST_NUMBERS >> 20);
        }
        let words = match header.remove("__metadata__") {
            Some(Value::Object(words)) => words,
            _ => Map::new(),
        };
        // Tensors do not overlap; thousands that did would be of any size.
        let mut left = numbers.len();
        let list = |(name, about): (String, Value)| {
            let place = |k: usize| usize::try_from(about["data_offsets"][k].as_u64()?).ok();
            let found = place(0).zip(place(1)).and_then(|(start, end)| numbers.get(start..end));
            let found = found.filter(|bytes| left.checked_sub(bytes.len()).map(|rest| left = rest).is_some());
            let kind = about["dtype"].as_str().unwrap_or_default();
            let list = found.and_then(|bytes| List::read(kind, bytes)).filter(List::is_finite);
            list.map(|list| (name.clone(), list))
                .with_context(|| format!("tensor {name} is damaged or cut short, or holds a NaN or infinite number"))
        };
        Ok(Self { words, lists: header.into_iter().map(list).collect::<Result<_>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_read_back_bit_for_bit() {
        let mut tensors = Tensors::default();
        tensors.say("spec", "{\"width\": 3}".into());
        tensors.put("a", List::F64(vec![0.1, 1.0 / 3.0, -0.0]));
        tensors.put("b", List::F32(vec![0.1, f32::MIN_POSITIVE]));
        let mut bytes = Vec::new();
        tensors.write(&mut bytes).unwrap();
        assert_eq!(Tensors::read(&bytes[..]).unwrap(), tensors);
        assert!((bytes.len() - 3 * 8 - 2 * 4).is_multiple_of(8));
        for damaged in [&bytes[..5], &bytes[..40], &bytes[..bytes.len() - 8]] {
            assert!(Tensors::read(damaged).is_err());
        }
        // Tensors that overlap.
        let twice = r#"{"a":{"dtype":"F64","data_offsets":[0,16]},"b":{"dtype":"F64","data_offsets":[8,24]}}"#;
        let overlapping = [&(twice.len() as u64).to_le_bytes(), twice.as_bytes(), &[0; 24]].concat();
        assert!(Tensors::read(&overlapping[..]).is_err());
        // A header that claims more than there is.
        let mut huge = bytes.clone();
        huge[..8].copy_from_slice(&(1u64 << 60).to_le_bytes());
        assert!(Tensors::read(&huge[..]).unwrap_err().to_string().contains("1152921504606846976"));
    }
}
