//! Reproduce the studies of the paper behind this program, with the published figures alongside.

pub mod beside;
pub mod prices;
pub mod published;
mod published_jumps;
pub mod request;
pub mod synthetic;
pub mod system;

pub use request::{Request, Study};
