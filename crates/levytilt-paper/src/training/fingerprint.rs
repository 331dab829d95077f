//! Identify a training by a number that is the same in every build: FNV-1a over serialised settings and the bits of numbers.

use levytilt::internals::Chain;
use levytilt::{Error, Result, Start, StateSpace};
use serde::Serialize;

/// A number that grows with what it is given, in order.
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    /// The number of nothing.
    pub fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Add settings, as JSON.
    ///
    /// # Errors
    /// Settings that cannot be serialised.
    pub fn settings(self, settings: &impl Serialize) -> Result<Self> {
        let json = serde_json::to_vec(settings);
        let json =
            json.map_err(|error| Error::Numerical { what: "fingerprint of a training", why: error.to_string() })?;
        Ok(self.bytes(&json))
    }

    /// Add numbers by their bits.
    pub fn numbers(self, numbers: impl IntoIterator<Item = f64>) -> Self {
        numbers.into_iter().fold(self, |print, number| print.bytes(&number.to_bits().to_le_bytes()))
    }

    /// Add times, values and model of a chain.
    ///
    /// # Errors
    /// Never in practice, see [`Fingerprint::settings`].
    pub fn chain(self, chain: &Chain) -> Result<Self> {
        let values = (0..chain.dim()).flat_map(|i| chain.values(i)).copied();
        self.numbers(values.chain(chain.times().iter().copied())).model(chain.model())
    }

    /// Add a model: its parts by name, with their parameters. Two formulas with the same parameters differ in where they lead.
    fn model(self, model: &StateSpace) -> Result<Self> {
        let drift = &model.drift;
        let from: Vec<f64> = (0..drift.dim()).map(|i| 0.3 + 0.1 * i as f64).collect();
        let mut to = vec![0.0; drift.dim()];
        drift.flow(0.0, 0.01, &from, &mut to);
        let mut print = self.settings(&(drift.kind(), drift.parameters()))?.numbers(to);
        for dimension in &model.dimensions {
            let (mean, std) = match dimension.start {
                Start::Fixed(x0) => (x0, 0.0),
                Start::Gaussian { mean, std } => (mean, std),
            };
            print = print.settings(&(dimension.noise.family(), dimension.noise.parameters()))?.numbers([
                dimension.observation_std,
                mean,
                std,
            ]);
        }
        Ok(print)
    }

    /// The number.
    pub fn finish(self) -> u64 {
        self.0
    }

    fn bytes(self, bytes: &[u8]) -> Self {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Self(bytes.iter().fold(self.0, step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Golden values of FNV-1a (64 bits), from its reference tables: of nothing, of "a" and of "foobar".
    #[test]
    fn golden_fnv() {
        let of = |text: &str| Fingerprint::new().bytes(text.as_bytes()).finish();
        assert_eq!(of(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(of("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(of("foobar"), 0x8594_4171_f739_67e8);
        assert_ne!(Fingerprint::new().numbers([0.0]).finish(), Fingerprint::new().numbers([-0.0]).finish());
    }
}
