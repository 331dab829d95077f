//! What the validation programs share; each program in `src/bin` prints one page of `docs/validation`.

pub mod memory;
pub mod plain_filter;
pub mod prices;
pub mod recovered;
pub mod svg;
