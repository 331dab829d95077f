//! Noise: the stable law against published tables, nodes against laws, samplers against both.

use crate::common::{ks_p_value, ks_statistic};
use crate::{raise, table};
use levytilt::internals::law::StableLaw;
use levytilt::noise::{Family, Nodes, Noise, PlusBrownian, Stable};
use levytilt::{Result, stream};

const PUBLISHED: &str = include_str!("../../../../crates/levytilt/tests/data/stable_law_beta0.csv");

/// Rows of the published table: quantity, α, x, value.
fn published() -> impl Iterator<Item = (&'static str, [f64; 3])> {
    PUBLISHED.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let (quantity, numbers) = line.split_once(',').expect("a row has fields");
        let mut fields = numbers.split(',').map(|field| field.parse().expect("a number"));
        (quantity, std::array::from_fn(|_| fields.next().expect("three numbers")))
    })
}

/// Largest relative errors against the published values, of the law and of the nodes.
pub fn stable_law() -> Result<()> {
    table("Stable law against published tables", &["quantity", "rows", "`StableLaw`", "nodes"]);
    for wanted in ["pdf", "cdf"] {
        let (mut rows, mut law_worst, mut nodes_worst) = (0, 0.0, 0.0);
        for (_, [alpha, x, expected]) in published().filter(|(quantity, _)| *quantity == wanted) {
            let law = StableLaw::new(alpha, 1.0)?;
            let nodes = Stable::new(alpha, 1.0)?.nodes(1.0)?;
            let (exact, mixed) = match wanted {
                "pdf" => (law.pdf(x), nodes.log_density(x).value.exp()),
                _ => (law.cdf(x), nodes.cdf(x)),
            };
            raise(&mut law_worst, exact / expected - 1.0);
            raise(&mut nodes_worst, mixed / expected - 1.0);
            rows += 1;
        }
        println!("| {wanted} | {rows} | {law_worst:.1e} | {nodes_worst:.1e} |");
    }
    Ok(())
}

/// Largest relative errors of density and distribution between the outer quantiles, and of the tail.
pub fn stable_nodes() -> Result<()> {
    table(
        "Nodes of stable noise against the law",
        &[
            "alpha",
            "nodes",
            "density, 0.0005 to 0.9995 quantile",
            "distribution function, same range",
            "density, 1 to 10⁶ scales",
        ],
    );
    for alpha in [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 1.95, 1.99] {
        let law = StableLaw::new(alpha, 1.0)?;
        let nodes = Stable::new(alpha, 1.0)?.nodes(1.0)?;
        let [mut density, mut share, mut tail] = [0.0; 3];
        for i in 0..=1000 {
            let x = law.quantile(0.5 + 0.4995 * f64::from(i) / 1000.0)?;
            raise(&mut density, (nodes.log_density(x).value - law.log_pdf(x)).exp_m1());
            raise(&mut share, nodes.cdf(x) / law.cdf(x) - 1.0);
            raise(&mut share, nodes.cdf(-x) / law.cdf(-x) - 1.0);
            let far = 10f64.powf(6.0 * f64::from(i) / 1000.0);
            raise(&mut tail, (nodes.log_density(far).value - law.log_pdf(far)).exp_m1());
        }
        println!("| {alpha} | {} | {density:.1e} | {share:.1e} | {tail:.1e} |", nodes.len());
    }
    Ok(())
}

/// One or more members of every family, and two of them with Brownian motion.
fn members() -> Result<Vec<Box<dyn Noise>>> {
    let chosen: [(&str, &[f64]); 12] = [
        ("stable", &[0.8, 1.0]),
        ("stable", &[1.5, 2.0]),
        ("stable", &[1.9, 0.5]),
        ("truncated-stable", &[1.5, 1.0, 0.1, 1.0]),
        ("tempered-stable", &[1.5, 1.0, 1.0]),
        ("tempered-stable", &[0.7, 2.0, 0.3]),
        ("variance-gamma", &[1.0, 0.5]),
        ("nig", &[1.0, 1.0]),
        ("student", &[3.0, 0.5]),
        ("compound-poisson", &[3.0, 1.0]),
        ("compound-poisson", &[800.0, 0.1]),
        ("gaussian", &[0.7]),
    ];
    let build = |name: &str, values: &[f64]| Family::named(name).expect("a family of the library").build(values);
    let mut members = chosen.iter().map(|(name, values)| build(name, values)).collect::<Result<Vec<_>>>()?;
    members.push(Box::new(PlusBrownian::new(build("nig", &[1.0, 1.0])?, 0.5)?));
    members.push(Box::new(PlusBrownian::new(build("compound-poisson", &[3.0, 1.0])?, 0.3)?));
    Ok(members)
}

/// Family and parameters as a table cell; Brownian motion shows as the parameter `brownian`.
pub fn title(noise: &dyn Noise) -> String {
    let values: Vec<String> = noise.parameters().iter().map(|(name, value)| format!("{name} {value}")).collect();
    format!("{} ({})", noise.family(), values.join(", "))
}

/// Smallest x with P(J ≤ x) ≥ p, for p > ½.
fn quantile(nodes: &Nodes, p: f64) -> f64 {
    let mut high = 1e-12;
    while nodes.cdf(high) < p {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if nodes.cdf(middle) < p { low = middle } else { high = middle }
    }
    high
}

/// Weight of "no movement".
fn atom(nodes: &Nodes) -> f64 {
    if nodes.variances()[0] == 0.0 { nodes.weights()[0] } else { 0.0 }
}

/// Largest error of E exp(iuJ) over steps from 1e-4 to 10 and frequencies from 1e-4 to 10 over the upper quartile.
pub fn characteristic_functions() -> Result<()> {
    table("Characteristic function of the nodes", &["noise", "most nodes", "largest absolute error"]);
    for noise in members()? {
        let (mut most, mut worst) = (0, 0.0);
        for dt in [1e-4, 1e-2, 0.1, 1.0, 3.7, 10.0] {
            let nodes = noise.nodes(dt)?;
            most = most.max(nodes.len());
            let unit = quantile(&nodes, 1.0 - 0.25 * (1.0 - atom(&nodes))).max(1e-4);
            for i in -32..=8 {
                let u = 10f64.powf(f64::from(i) / 8.0) / unit;
                raise(&mut worst, nodes.characteristic(u) - noise.log_characteristic(dt, u).exp());
            }
        }
        println!("| {} | {most} | {worst:.1e} |", title(noise.as_ref()));
    }
    Ok(())
}

/// Kolmogorov–Smirnov distance of 10⁶ exact draws over a step of 0.1 to the distribution of the nodes.
pub fn samplers() -> Result<()> {
    table("Samplers, 10⁶ draws over a step of 0.1", &["noise", "nonzero draws", "KS distance", "p-value"]);
    let count = 1_000_000;
    for (i, noise) in members()?.into_iter().enumerate() {
        let nodes = noise.nodes(0.1)?;
        let mut rng = stream(20_240_602, i as u64);
        let mut draws: Vec<f64> = (0..count).map(|_| noise.sample(0.1, &mut rng)).filter(|x| *x != 0.0).collect();
        draws.sort_by(f64::total_cmp);
        let still = atom(&nodes);
        let moved = |x: f64| (nodes.cdf(x) - if x >= 0.0 { still } else { 0.0 }) / (1.0 - still);
        let distance = ks_statistic(&draws, moved);
        let p = ks_p_value(distance, draws.len());
        println!("| {} | {} | {distance:.1e} | {p:.2} |", title(noise.as_ref()), draws.len());
    }
    Ok(())
}
