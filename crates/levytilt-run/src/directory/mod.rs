//! Keep a run directory: locks, atomic writes, journals, checkpoints, archives, and what a forecast starts from.

pub mod commit;
pub mod entry;
pub mod foreign;
pub mod journal;
pub mod lock;
pub mod networks;
pub mod npz;
pub mod npz_read;
pub mod resume;
pub mod state;
pub mod tensors;
pub mod trading_record;
pub mod training;

pub use entry::Entry;
pub use lock::Lock;
