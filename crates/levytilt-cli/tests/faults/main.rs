//! Kill the program at random moments, fill the disk under it, take its rights away: nothing is lost, and the next call
//! ends where an undisturbed one does.
//!
//! `LEVYTILT_KILLS` says how many kills per command (`scripts/faults` asks for many); a few otherwise.

#[path = "../common/mod.rs"]
mod common;
mod disk;
mod kill;
mod timeless;

use common::{OU_STABLE, Sandbox};

/// A sandbox with data for every command.
fn data() -> Sandbox {
    let at = Sandbox::new();
    at.ok(&format!("simulate {OU_STABLE} --steps 100 --span 1 --out sim"));
    let mut prices = String::from("time,NVDA,GOOGL\n");
    for k in 0..110 {
        let (month, day, t) = (4 + k / 30, 1 + k % 30, f64::from(k));
        let (a, b) = (100.0 * (0.05 * (1.7 * t).sin()).exp(), 50.0 * (0.03 * (1.3 * t).cos()).exp());
        prices += &format!("2024-{month:02}-{day:02}T20:00:00Z,{a},{b}\n");
    }
    at.write("prices.csv", prices);
    at
}

const FIT: &str = "fit sim/data.csv --theta 3 --mu 1 --paths 50 --quiet --out";
const BACKTEST: &str = "backtest prices.csv --column NVDA --train 30d --horizon 2d --paths 100 --quiet \
                        --models random-walk,student-walk,garch-t --out";
const REPRODUCE: &str =
    "reproduce univariate --quick --data prices.csv --models random-walk,student-walk,bootstrap-walk --quiet --out";
const SYNTHETIC: &str = "reproduce synthetic --quick --quiet --out";
const UPDATE: &str = "update DIR new.csv --lag 2 --quiet";
const FOLLOW: &str = "update DIR --follow --lag 2 < new.csv";
const PANEL: &str = "fit long.csv --panel unique_id --time-column ds --theta 3 --mu 1 --observation-std 0.1 --paths 20 \
                     --share alpha --quiet --out";
