//! The studies of the paper this grew out of, with the published figure beside ours.

pub mod beside;
pub mod prices;
pub mod published;
pub mod request;
pub mod synthetic;
pub mod system;

pub use request::{Request, Study};
