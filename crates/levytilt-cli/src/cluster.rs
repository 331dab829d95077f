//! Hand a backtest over to the Python package, which speaks with clusters.

use anyhow::{Context, Result};
use std::process::Command;

use levytilt_run::failure::bad;

/// The interpreter to ask, unless the environment names another.
const PYTHON: (&str, &str) = ("LEVYTILT_PYTHON", "python3");

/// Run this very command line by the Python package, on the cluster at `address`.
pub fn hand_over(address: &str) -> Result<()> {
    let python = std::env::var_os(PYTHON.0).unwrap_or(PYTHON.1.into());
    let name = python.to_string_lossy();
    let check = Command::new(&python).args(["-c", "import levytilt, distributed"]).output();
    let problem = match check {
        Ok(found) if found.status.success() => None,
        Ok(found) => String::from_utf8_lossy(&found.stderr).trim().lines().last().map(str::to_string),
        Err(error) => Some(error.to_string()),
    };
    if let Some(problem) = problem {
        return Err(bad(format!(
            "--cluster {address}: needs the Python package, which {name} does not have ({problem}); build it with \
             scripts/wheel, install it with {name} -m pip install 'WHEEL[dask]', or name another interpreter with {}",
            PYTHON.0
        )));
    }
    let status = Command::new(&python).args(["-m", "levytilt"]).args(std::env::args_os().skip(1)).status();
    let status = status.with_context(|| format!("cannot run {name}"))?;
    // The package has said what went wrong, in the same words.
    if status.success() { Ok(()) } else { std::process::exit(status.code().unwrap_or(1)) }
}
