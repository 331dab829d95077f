//! Coverage of the 90% intervals of all five parameters of OU with stable noise, by default and with `--bayes`.
//!
//! scripts/validate coverage RECORDS ROWS [DRAWS]
//!
//! The records are those of the paper's synthetic study (steps of 0.01, each observed with standard deviation 0.1, noise of
//! scale 2, θ = 3, μ = 1), with α = 1.2, 1.5 and 1.8 in turn. DRAWS parameter draws each; none if it is left out.

use anyhow::{Result, anyhow};
use levytilt::internals::fit::{Fit, FitOptions, Interval, fit, parameter_posterior};
use levytilt_validation::cpu::cpu_seconds;
use levytilt_validation::short_record::{ALPHAS, NAMES, Record, spec};

/// Per parameter: intervals with the truth in them, below it and above it.
type Count = [[usize; 3]; 5];

fn main() -> Result<()> {
    let words: Vec<usize> = std::env::args().skip(1).map(|word| word.parse()).collect::<std::result::Result<_, _>>()?;
    let (&records, &rows) = words.first().zip(words.get(1)).ok_or_else(|| anyhow!("expected RECORDS ROWS [DRAWS]"))?;
    let draws = words.get(2).copied().unwrap_or(0);
    let ways = ["default", "Gaussian", "bayes"];
    let mut counts = [[Count::default(); 3]; 3];
    let (mut seconds, mut worst_k, mut least) = ([0.0; 2], f64::NEG_INFINITY, f64::INFINITY);
    let mut made = 0;
    for record in 0..records {
        let which = record % ALPHAS.len();
        let Record { truth, grid, values } = Record::new(record, rows)?;
        let spec = spec()?;
        let started = cpu_seconds();
        let found = fit(&spec, &grid, &[&values], &FitOptions { paths: 2, ..FitOptions::default() })?;
        seconds[0] += cpu_seconds() - started;
        for k in 0..5 {
            for (way, interval) in intervals(&found, k)?.into_iter().enumerate() {
                note(&mut counts[way][which][k], [interval.low, interval.high], truth[k]);
            }
        }
        if draws > 0 {
            let started = cpu_seconds();
            let drawn = parameter_posterior(&found, &spec, (&grid, &[&values]), true, (draws, 1))?;
            seconds[1] += cpu_seconds() - started;
            worst_k = worst_k.max(drawn.k_hat);
            least = least.min(drawn.effective_sample_size);
            made += drawn.draws.len();
            if std::env::var_os("VERBOSE").is_some() {
                let (k_hat, worth) = (drawn.k_hat, drawn.effective_sample_size);
                eprintln!("{record}: k̂ {k_hat:.2}, effective {worth:.0} of {}", drawn.draws.len());
            }
            for k in 0..5 {
                let q = drawn.quantiles(k, &[0.05, 0.95]);
                note(&mut counts[2][which][k], [q[0], q[1]], truth[k]);
            }
        }
    }
    println!("| interval | parameter | covered | below | above | by α = 1.2, 1.5, 1.8 |\n|---|---|---|---|---|---|");
    for (way, counts) in ways.iter().zip(&counts).take(if draws > 0 { 3 } else { 2 }) {
        for (k, name) in NAMES.iter().enumerate() {
            let all = |i: usize| counts.iter().map(|count| count[k][i]).sum::<usize>();
            let share = |count: &[usize; 3]| 100.0 * count[0] as f64 / count.iter().sum::<usize>().max(1) as f64;
            let each: Vec<String> = counts.iter().map(|count| format!("{:.0}%", share(&count[k]))).collect();
            let total = [all(0), all(1), all(2)];
            println!("| {way} | {name} | {:.1}% | {} | {} | {} |", share(&total), all(1), all(2), each.join(", "));
        }
    }
    let per = |seconds: f64| seconds / records as f64;
    println!(
        "\n{records} records of {rows} rows; fit {:.2} CPU s, draws {:.2} CPU s each",
        per(seconds[0]),
        per(seconds[1])
    );
    println!("largest k̂ {worst_k:.2}, least effective draws {least:.0}, {} draws on average", made / records.max(1));
    Ok(())
}

/// The interval that a fit gives, and the Gaussian one.
fn intervals(found: &Fit, k: usize) -> Result<[Interval; 2]> {
    let p = &found.parameters[k];
    let given = p.interval.ok_or_else(|| anyhow!("{} has no interval", p.name))?;
    let error = p.std_error.ok_or_else(|| anyhow!("{} has no standard error", p.name))?;
    Ok([given, Interval::gaussian(p.value, error, found.transforms()[k])])
}

/// Count a truth as within, or on which side the interval lies.
fn note(count: &mut [usize; 3], [low, high]: [f64; 2], truth: f64) {
    let place = if high < truth {
        1
    } else if low > truth {
        2
    } else {
        0
    };
    count[place] += 1;
}
