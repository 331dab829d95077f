//! Read the diffusion beside the jumps: a number that is held, or `learn`.

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use std::fmt;
use std::str::FromStr;

/// What stands for a diffusion to be learned.
pub(super) const LEARN: &str = "learn";

/// A diffusion beside the jumps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Diffusion {
    /// Of this size.
    Held(f64),
    /// To be learned.
    Learned,
}

impl FromStr for Diffusion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            LEARN => Ok(Self::Learned),
            _ => text.parse().map(Self::Held).map_err(|_| format!("expected a number, or {LEARN}")),
        }
    }
}

impl<'de> Deserialize<'de> for Diffusion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl Visitor<'_> for Reader {
    type Value = Diffusion;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a number, or \"{LEARN}\"")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Diffusion, E> {
        Ok(Diffusion::Held(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Diffusion, E> {
        Ok(Diffusion::Held(value as f64))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Diffusion, E> {
        Ok(Diffusion::Held(value as f64))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Diffusion, E> {
        match text {
            LEARN => Ok(Diffusion::Learned),
            _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
        }
    }
}
