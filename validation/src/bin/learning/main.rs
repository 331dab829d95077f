//! Print how far learned parameters can be trusted: `scripts/validate learning TABLE [ARGUMENTS]`.
//!
//! | table | arguments | says |
//! |---|---|---|
//! | `agreement` | data sets, and drift and α of one row | learned parameters against the maximum of the exact evidence |
//! | `recovery` | data sets | bias and coverage against the truth |
//! | `gaussian` | data sets | Gaussian noise: learned parameters against the Kalman likelihood |
//! | `speed` | data sets | seconds of a whole fit |
//! | `growth` | steps paths | seconds and memory of one fit, to be run in a process of its own |

mod agreement;
mod data;
mod gaussian;
mod maximum;
mod recovery;
mod speed;

use levytilt::Result;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: usize| words.get(i).and_then(|w| w.parse().ok()).unwrap_or(default);
    match words.first().map(String::as_str) {
        Some("agreement") => {
            let only =
                words.get(2).map(|drift| (drift.as_str(), words.get(3).and_then(|w| w.parse().ok()).unwrap_or(1.5)));
            agreement::agreement(number(1, 5) as u64, only)
        }
        Some("recovery") => recovery::recovery(number(1, 20) as u64),
        Some("gaussian") => gaussian::gaussian(number(1, 5) as u64),
        Some("speed") => speed::whole_fit(number(1, 5) as u64),
        Some("growth") => speed::growth(number(1, 1000), number(2, 100)),
        _ => {
            eprintln!("say which table: agreement, recovery, gaussian, speed or growth");
            std::process::exit(2)
        }
    }
}
