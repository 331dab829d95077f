//! Doctor: check the machine and a data file, and suggest a first fit.

pub mod cost;
pub mod data;
pub mod quick;
pub mod season;

use anyhow::Result;
use serde::Serialize;

use crate::table::Table;
use crate::workflow::doctor::data::{DataReport, examine};

/// What was found.
#[derive(Debug, Serialize)]
pub struct Findings {
    machine: Machine,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<DataReport>,
    version: &'static str,
}

/// What computes.
#[derive(Debug, Serialize)]
struct Machine {
    /// Threads that run at the same time.
    cores: usize,
    /// Vector instructions that the compiler could use if told to.
    simd: Vec<&'static str>,
    /// Free memory in megabytes; null where it is not known.
    free_memory_mb: Option<u64>,
    /// Whether this program was built with optimisation.
    optimised: bool,
}

impl Findings {
    /// Look at this machine, and at `table` if there is one, which was read with these flags.
    pub fn new(table: Option<&Table>, flags: &str) -> Result<Self> {
        let data = table.map(|table| examine(table, flags)).transpose()?;
        Ok(Self { machine: machine(), data, version: env!("CARGO_PKG_VERSION") })
    }

    /// What was found, for a terminal.
    pub fn to_text(&self) -> Vec<String> {
        [self.machine.to_text()].into_iter().chain(self.data.as_ref().map(DataReport::to_text)).collect()
    }
}

fn machine() -> Machine {
    Machine {
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        simd: simd(),
        free_memory_mb: free_memory(),
        optimised: !cfg!(debug_assertions),
    }
}

impl Machine {
    fn to_text(&self) -> String {
        let simd = if self.simd.is_empty() { "none known".into() } else { self.simd.join(", ") };
        let memory = self.free_memory_mb.map_or("unknown".into(), |mb| format!("{mb} MB free"));
        let mut text = format!("machine       {} cores, SIMD {simd}, memory {memory}", self.cores);
        if !self.optimised {
            text += "\nnote          this is a debug build; cargo build --release is several times faster";
        }
        text
    }
}

#[cfg(target_arch = "x86_64")]
fn simd() -> Vec<&'static str> {
    let known = [
        ("sse4.2", std::is_x86_feature_detected!("sse4.2")),
        ("avx2", std::is_x86_feature_detected!("avx2")),
        ("fma", std::is_x86_feature_detected!("fma")),
        ("avx512f", std::is_x86_feature_detected!("avx512f")),
    ];
    known.into_iter().filter(|(_, there)| *there).map(|(name, _)| name).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn simd() -> Vec<&'static str> {
    if cfg!(target_arch = "aarch64") { vec!["neon"] } else { vec![] }
}

/// As Linux says it; elsewhere nothing is known.
fn free_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kilobytes| kilobytes / 1024)
}
