//! Read tables of observations and the times in them.

pub mod bytes;
pub mod inflate;
pub mod input;
#[cfg(feature = "parquet")]
mod parquet_file;
mod read;
pub mod rows;
pub mod time;

pub use input::Table;
pub use read::{read, read_sparse};
