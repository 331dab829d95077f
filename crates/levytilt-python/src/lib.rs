//! The program's own code for Python: tables in, results as NumPy arrays and the program's files out.
//!
//! Options come as JSON of keywords, which fill the settings that files and flags fill too.

mod backtest;
mod compare;
mod errors;
mod given;
mod names;
mod once;
mod program;
mod results;
mod scores;
mod work;

use pyo3::prelude::*;

#[pymodule]
mod _levytilt {
    #[pymodule_export]
    use super::backtest::Backtest;
    #[pymodule_export]
    use super::compare::{Comparison, compare};
    #[pymodule_export]
    use super::errors::{ComputationError, InputError};
    #[pymodule_export]
    use super::given::keywords::{check, formula_parameters, known};
    #[pymodule_export]
    use super::given::table::Table;
    #[pymodule_export]
    use super::once::{exact, simulate};
    #[pymodule_export]
    use super::program::{main, on_cluster, tell};
    #[pymodule_export]
    use super::results::fit::{Run, fit};
    #[pymodule_export]
    use super::results::forecast::{Ahead, SavedRun};
    #[pymodule_export]
    use super::results::panel::share;
    #[pymodule_export]
    use super::results::written::{WrittenRun, check_written, fit_written, read_sections, simulate_written};
    #[pymodule_export]
    use super::scores::{crps, energy_score, k_hat, stable_law, tail_crps, variogram_score};

    /// The version of the program.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
