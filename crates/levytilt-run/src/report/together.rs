//! Show where the paths of a forecast end in two columns at once.

use super::compact::short;
use super::fan::{quantile, sorted};
use super::figure::{Axis, Figure, Layer};
use super::page::{Block, Section};

/// Most columns that one is drawn against.
const PARTNERS: usize = 3;
/// Most paths drawn of two columns.
const DRAWN: usize = 500;

/// Every column of draws against those it moves most with; nothing for one column.
pub fn section(names: &[String], columns: Vec<Vec<f64>>) -> Option<Section> {
    let dim = names.len();
    if dim < 2 {
        return None;
    }
    let ranked: Vec<Vec<f64>> = columns.iter().map(|column| ranks(column)).collect();
    let text = "Where the paths end in two columns at once. Columns that jump together scatter along a line; the rank \
                correlation is that of all paths.";
    let pairs = (0..dim).map(|i| {
        let mut others: Vec<(usize, f64)> =
            (0..dim).filter(|&k| k != i).map(|k| (k, correlation(&ranked[i], &ranked[k]))).collect();
        others.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        others.truncate(PARTNERS);
        Block::Pair(others.into_iter().map(|(k, r)| scatter(names, &columns, (i, k), r)).collect())
    });
    let blocks = std::iter::once(Block::Text(text.into())).chain(pairs).collect();
    Some(Section::new("together", "Columns together", blocks))
}

/// Paths in columns `i` and `k`, between the 1% and 99% quantiles of both.
fn scatter(names: &[String], columns: &[Vec<f64>], (i, k): (usize, usize), r: f64) -> Figure {
    let ends = [i, k].map(|c| {
        let sorted = sorted(columns[c].clone());
        (quantile(&sorted, 0.01), quantile(&sorted, 0.99))
    });
    let within = |value: f64, (low, high): (f64, f64)| value >= low && value <= high;
    let all = columns[i].iter().copied().zip(columns[k].iter().copied());
    let mut points: Vec<(f64, f64)> =
        all.filter(|(a, b)| within(*a, ends[0]) && within(*b, ends[1])).take(DRAWN).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (a, b) = (&names[i], &names[k]);
    let mut figure = Figure::new(
        &format!("together-{}-{}", i + 1, k + 1),
        format!("{a} and {b}"),
        Axis::linear(a.clone()),
        Axis::linear(b.clone()),
    )
    .column("a", a.clone(), short(points.iter().map(|point| point.0).collect()))
    .column("b", b.clone(), short(points.iter().map(|point| point.1).collect()))
    .layer(Layer::points("paths", "blue", "a", "b"));
    figure.caption = format!("Rank correlation {r:+.2}.").replace('-', "−");
    figure.dimension = Some(a.clone());
    figure
}

/// The rank of every value.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    order.iter().enumerate().for_each(|(rank, &place)| ranks[place] = rank as f64);
    ranks
}

/// The correlation of two rankings of the same paths; 0 for a single path.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let middle = (a.len() as f64 - 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x - middle) * (y - middle)).sum::<f64>();
    let spread = product(a, a);
    if spread > 0.0 { product(a, b) / spread } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_rank_correlation() {
        let a = ranks(&[3.0, -1.0, 100.0, 7.0]);
        assert_eq!(a, [1.0, 0.0, 3.0, 2.0]);
        assert_eq!(correlation(&a, &a), 1.0);
        assert_eq!(correlation(&a, &ranks(&[-3.0, 1.0, -100.0, -7.0])), -1.0);
        assert_eq!(correlation(&[0.0], &[0.0]), 0.0);
    }
}
