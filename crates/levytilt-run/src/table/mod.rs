//! Read tables of observations and the times in them.

pub mod bytes;
pub mod columns;
pub mod dates;
pub mod decimal;
pub mod format;
pub mod inflate;
pub mod input;
pub mod layout;
pub mod panel;
mod read;
pub mod rows;
pub mod separator;
pub mod time;

pub use format::Format;
pub use input::Table;
pub use read::{read, read_columns, read_sparse};
