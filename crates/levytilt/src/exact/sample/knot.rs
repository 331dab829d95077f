//! Sum the density of an increment over its nodes, at one place or at all edges of a table.

use super::node::Node;

/// Logarithm of a term, relative to the largest, below which it changes no digit of a sum.
const NEGLIGIBLE: f64 = -45.0;
/// Bins of an octave: the fraction of a bin's number has four digits.
const BINS: u64 = 16;
/// Terms below this, relative to the largest at the start of an octave, are left out of it.
const VANISHED: f64 = 1e-290;

/// ln p at one r² or move, its slope in that, and the probability that a jump made it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Knot {
    pub value: f64,
    pub slope: f64,
    pub jump: f64,
}

/// The knot of symmetric nodes at r² = `v`.
pub(super) fn of_square(nodes: &[Node], v: f64) -> Knot {
    sum(nodes, |node| (node.log_height - 0.5 * v / node.variance, -0.5 / node.variance))
}

/// The knot of nodes at move `x`.
pub(super) fn of_move(nodes: &[Node], x: f64) -> Knot {
    let term = |node: &Node| {
        let distance = x - node.mean;
        (node.log_height - 0.5 * distance * distance / node.variance, -distance / node.variance)
    };
    sum(nodes, term)
}

/// Sum over nodes, relative to the largest term: the logarithm of the term of each, and its slope.
fn sum(nodes: &[Node], term: impl Fn(&Node) -> (f64, f64)) -> Knot {
    let top = nodes.iter().map(|node| term(node).0).fold(f64::NEG_INFINITY, f64::max);
    let (mut total, mut slope, mut jump) = (0.0, 0.0, 0.0);
    for node in nodes {
        let (log_term, by) = term(node);
        if log_term - top < NEGLIGIBLE {
            continue;
        }
        let term = (log_term - top).exp();
        total += term;
        slope += term * by;
        jump += if node.jump { term } else { 0.0 };
    }
    Knot { value: top + total.ln(), slope: slope / total, jump: jump / total }
}

/// The knots of symmetric nodes at `edges` with the numbers from `first` on, and ln p in the middle of each bin.
///
/// Within an octave edges are evenly spaced in r², so that the term of a node shrinks by one factor from each to the next.
pub(super) fn at_edges(nodes: &[Node], first: u64, edges: &[f64]) -> (Vec<Knot>, Vec<f64>) {
    // Edges and middles in turns.
    let mut halves: Vec<Knot> = Vec::with_capacity(2 * edges.len());
    while halves.len() < 2 * edges.len() - 1 {
        let k = halves.len() / 2;
        // The first edge lies inside the range of its number.
        let bins = if k == 0 { 1 } else { (BINS - (first + k as u64) % BINS) as usize };
        let bins = bins.min(edges.len() - 1 - k);
        let apart = if bins > 0 { 0.5 * (edges[k + 1] - edges[k]) } else { 0.0 };
        add_evenly(nodes, edges[k], apart, (2 * bins).max(1), &mut halves);
    }
    let middles = halves.iter().skip(1).step_by(2).map(|knot| knot.value).collect();
    (halves.into_iter().step_by(2).collect(), middles)
}

/// Add the knots at r² = `from`, `from` + `apart`, …, `count` of them.
fn add_evenly(nodes: &[Node], from: f64, apart: f64, count: usize, knots: &mut Vec<Knot>) {
    let log_term = |node: &Node| node.log_height - 0.5 * from / node.variance;
    let top = nodes.iter().map(log_term).fold(f64::NEG_INFINITY, f64::max);
    let mut sums = vec![[0.0; 3]; count];
    for node in nodes {
        let rate = 0.5 / node.variance;
        let (mut term, ratio) = ((log_term(node) - top).exp(), (-rate * apart).exp());
        let jump = f64::from(u8::from(node.jump));
        for [total, slope, jumps] in &mut sums {
            if term < VANISHED {
                break;
            }
            *total += term;
            *slope -= term * rate;
            *jumps += term * jump;
            term *= ratio;
        }
    }
    for (i, [total, slope, jump]) in sums.into_iter().enumerate() {
        // Terms that vanished at the start matter only where all that did not have shrunk as much.
        knots.push(match total < f64::sqrt(VANISHED) {
            true => of_square(nodes, from + i as f64 * apart),
            false => Knot { value: top + total.ln(), slope: slope / total, jump: jump / total },
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Nig, Noise, Stable};

    #[test]
    fn identity_knots_along_an_octave_are_sums_over_nodes() {
        let noises: [Box<dyn Noise>; 2] =
            [Box::new(Stable::new(1.5, 2.0).unwrap()), Box::new(Nig::new(2.0, 1.0).unwrap())];
        for noise in noises {
            let laid = noise.nodes(0.01).unwrap();
            let each = laid.variances().iter().zip(laid.weights());
            let nodes: Vec<Node> = each.map(|(s, w)| Node::new(0.0, *s, *w, false)).collect();
            let least = nodes[0].variance;
            let first = least.to_bits() >> 48;
            let last = (1400.0 * nodes[nodes.len() - 1].variance).to_bits() >> 48;
            let edges: Vec<f64> =
                (first..=last).map(|number| (f64::from_bits(number << 48) - least).max(0.0)).collect();
            let (knots, middles) = at_edges(&nodes, first, &edges);
            assert_eq!((knots.len(), middles.len()), (edges.len(), edges.len() - 1));
            for (i, (edge, knot)) in edges.iter().zip(&knots).enumerate() {
                let own = of_square(&nodes, *edge);
                assert!((knot.value - own.value).abs() < 1e-12 * own.value.abs().max(1.0), "{i}");
                assert!((knot.slope - own.slope).abs() < 1e-12 * own.slope.abs(), "{i}");
                if let Some(middle) = middles.get(i) {
                    let own = of_square(&nodes, 0.5 * (edge + edges[i + 1])).value;
                    assert!((middle - own).abs() < 1e-12 * own.abs().max(1.0), "{i}");
                }
            }
        }
    }
}
