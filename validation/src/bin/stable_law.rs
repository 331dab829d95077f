//! Compare skewed stable laws with every row of published tables.
//!
//! `scripts/validate stable_law DIRECTORY`: the directory holds `stable-Z1-pdf-sample-data.csv`,
//! `stable-Z1-cdf-sample-data.csv` and `stable-loc-scale-sample-data.csv` of SciPy's test data.

use levytilt::internals::law::{Parametrization, StableLaw};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).ok_or("usage: scripts/validate stable_law DIRECTORY")?;
    tables(&directory)
}

/// Relative errors against every row of the tables.
fn tables(directory: &str) -> Result<(), Box<dyn Error>> {
    for (file, kind) in [("stable-Z1-pdf", 0), ("stable-Z1-cdf", 1), ("stable-loc-scale", 2)] {
        let text = std::fs::read_to_string(format!("{directory}/{file}-sample-data.csv"))?;
        let mut errors = Vec::new();
        for line in text.lines().skip(1) {
            let v = line.split(',').map(str::parse).collect::<Result<Vec<f64>, _>>()?;
            let pairs = match kind {
                2 => {
                    let parametrization = if v[0] == 0.0 { Parametrization::S0 } else { Parametrization::S1 };
                    let law = StableLaw::skewed(v[2], v[3], v[4], v[5], parametrization)?;
                    vec![(law.pdf(v[1]), v[7]), (law.cdf(v[1]), v[8])]
                }
                _ => {
                    let law = StableLaw::skewed(v[2], v[3], 1.0, 0.0, Parametrization::S1)?;
                    vec![(if kind == 0 { law.pdf(v[0]) } else { law.cdf(v[0]) }, v[1])]
                }
            };
            errors.extend(pairs.into_iter().map(|(got, want)| ((got / want - 1.0).abs(), line.to_string())));
        }
        errors.sort_by(|a, b| b.0.total_cmp(&a.0));
        let over = |limit: f64| errors.iter().filter(|error| error.0.is_nan() || error.0 > limit).count();
        println!("{file}: {} values, {} off by over 1e-8, {} by over 1e-11", errors.len(), over(1e-8), over(1e-11));
        for (error, line) in errors.iter().take(8) {
            println!("  {error:.1e}  {line}");
        }
    }
    Ok(())
}
