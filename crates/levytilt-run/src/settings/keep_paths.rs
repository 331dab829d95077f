//! How many of the posterior paths a run keeps on disk.

use levytilt::internals::fit::FitOptions;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// States of paths drawn unless asked for more, 9 bytes each, and the fewest paths that are drawn of a long record.
const DRAWN: usize = 20_000_000;
const FEWEST: usize = 100;
/// States written to paths.npz unless asked for more: 20 MB.
const MODERATE: usize = 2_500_000;

/// `all`, or the number of paths to keep.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum KeepPaths {
    /// This many, or as many as there are.
    Count(usize),
    /// All of them.
    All(All),
}

/// The word `all`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum All {
    /// All paths.
    All,
}

impl FromStr for KeepPaths {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("all", _) => Ok(Self::All(All::All)),
            (_, Ok(count)) if count > 0 => Ok(Self::Count(count)),
            _ => Err("give a number of paths greater than 0, or all".into()),
        }
    }
}

/// Paths to draw with `each` states unless a number is given: fewer of long records.
pub fn usual_paths(each: usize) -> usize {
    let usual = FitOptions::default().paths;
    // Whole hundreds, so that shares of paths are short numbers in files.
    (DRAWN / each.max(1) / 100 * 100).clamp(FEWEST.min(usual), usual)
}

/// How many of `count` paths with `each` states to keep; by default as many as take moderate space, and at least one. Paths
/// are independent draws, so that the first of them are as good as any.
pub fn kept(wish: Option<KeepPaths>, count: usize, each: usize) -> usize {
    match wish {
        None => count.min((MODERATE / each.max(1)).max(1)),
        Some(KeepPaths::Count(kept)) => count.min(kept),
        Some(KeepPaths::All(All::All)) => count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_records_keep_fewer_paths() {
        assert_eq!([1001, 40_000, 100_000, 1_000_000].map(usual_paths), [500, 500, 200, 100]);
        assert_eq!(kept(None, 500, 1001), 500);
        assert_eq!(kept(None, 500, 100_000), 25);
        assert_eq!(kept("all".parse().ok(), 500, 100_000), 500);
        assert_eq!(kept("20".parse().ok(), 500, 100_000), 20);
        assert!("0".parse::<KeepPaths>().is_err() && "some".parse::<KeepPaths>().is_err());
    }
}
