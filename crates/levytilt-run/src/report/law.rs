//! Place values within the law of a noise, far into its tails.

use levytilt::noise::Nodes;

/// A law: distances from its centre, and the logarithm of the chance to go further down or up.
pub struct Law {
    nodes: Nodes,
    /// 0 of a symmetric law, else the median.
    centre: f64,
    /// The chance to move at all, and the distance that half of all moves exceed.
    moving: f64,
    half: f64,
    /// Distances, increasing.
    distances: Vec<f64>,
    /// ln P(J ≤ centre − distance), decreasing.
    log_tails: Vec<f64>,
    /// ln P(J > centre + distance) of a skewed law.
    log_tails_above: Option<Vec<f64>>,
}

/// Distances in the table.
const COUNT: usize = 600;
/// How far into the tail the table goes.
const SMALLEST: f64 = 1e-12;

impl Law {
    /// The law of these nodes; the table runs from a thousandth of what half of all moves exceed out to a chance of 1e-12.
    pub fn new(nodes: Nodes) -> Self {
        let pairs = || nodes.variances().iter().zip(nodes.weights());
        let moving: f64 = pairs().filter(|(variance, _)| **variance > 0.0).map(|(_, weight)| weight).sum();
        let centre = if nodes.means().is_some() { median(&nodes) } else { 0.0 };
        let far = SMALLEST.min(0.01 * moving);
        let (half, far) = (further(&nodes, centre, 0.25 * moving), further(&nodes, centre, far));
        let near = 1e-3 * half;
        let ratio = (far / near).powf(1.0 / (COUNT - 1) as f64);
        let distances: Vec<f64> = (0..COUNT).map(|k| near * ratio.powi(k as i32)).collect();
        let log_tails = distances.iter().map(|d| nodes.cdf(centre - d).ln()).collect();
        let above = || distances.iter().map(|d| nodes.sf(centre + d).ln()).collect();
        let log_tails_above = nodes.means().is_some().then(above);
        Self { nodes, centre, moving, half, distances, log_tails, log_tails_above }
    }

    /// The median of a skewed law, from which its distances are counted.
    pub fn skewed_centre(&self) -> Option<f64> {
        self.log_tails_above.as_ref().map(|_| self.centre)
    }

    /// Density at a distance above (1) or below (−1) the centre.
    pub fn side_density(&self, sign: f64, distance: f64) -> f64 {
        self.nodes.log_density(self.centre + sign * distance).value.exp()
    }

    /// The distance on one side beyond which lies this chance; the ends of the table for what is outside.
    pub fn side_distance(&self, sign: f64, log_tail: f64) -> f64 {
        match &self.log_tails_above {
            Some(above) if sign > 0.0 => self.look_up(above, log_tail),
            _ => self.distance(log_tail),
        }
    }

    /// The normal law.
    pub fn normal() -> levytilt::Result<Self> {
        Ok(Self::new(Nodes::new(vec![1.0], vec![1.0], Vec::new())?))
    }

    /// The probability of a move: below 1 only for jumps with rests between them.
    pub fn moving(&self) -> f64 {
        self.moving
    }

    /// The distance that half of all moves exceed; the upper quartile if there is no standing still.
    pub fn half(&self) -> f64 {
        self.half
    }

    /// The distance beyond which lies this chance on one side; the ends of the table for what is outside.
    pub fn distance(&self, log_tail: f64) -> f64 {
        self.look_up(&self.log_tails, log_tail)
    }

    fn look_up(&self, log_tails: &[f64], log_tail: f64) -> f64 {
        let right = log_tails.partition_point(|&t| t > log_tail).clamp(1, COUNT - 1);
        let (high, low) = (log_tails[right - 1], log_tails[right]);
        let share = if high > low { ((high - log_tail) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
        let [near, far] = [right - 1, right].map(|k| self.distances[k].ln());
        (near + share * (far - near)).exp()
    }

    /// Density of |J| at a distance.
    pub fn density(&self, x: f64) -> f64 {
        2.0 * self.nodes.log_density(x).value.exp()
    }
}

/// The median of skewed nodes, by halving.
fn median(nodes: &Nodes) -> f64 {
    let reach = 10.0 * largest(nodes);
    let (mut low, mut high) = (-reach, reach);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        *(if nodes.cdf(middle) < 0.5 { &mut low } else { &mut high }) = middle;
    }
    high
}

/// The size of the largest node.
fn largest(nodes: &Nodes) -> f64 {
    let deviation = nodes.variances().iter().copied().fold(0.0, f64::max).sqrt();
    nodes.means().unwrap_or_default().iter().fold(deviation, |largest, mean| largest.max(mean.abs()))
}

/// The distance from `centre` beyond which lies `chance` on one side, twice that on both of a skewed law, to within a
/// millionth: by doubling and halving.
fn further(nodes: &Nodes, centre: f64, chance: f64) -> f64 {
    let largest = largest(nodes);
    let beyond = |distance: f64| match nodes.means() {
        None => nodes.cdf(-distance),
        Some(_) => 0.5 * (nodes.cdf(centre - distance) + nodes.sf(centre + distance)),
    };
    let (mut low, mut high) = (1e-290f64, 10.0 * largest.max(1e-280));
    while high / low > 1.0 + 1e-6 {
        // The product of the two may be too small for a number.
        let middle = low.sqrt() * high.sqrt();
        *(if beyond(middle) > chance { &mut low } else { &mut high }) = middle;
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_normal_quantiles() {
        // Φ(−1.959963984540054) = 0.025, Φ(−0.6744897501960817) = 0.25, Φ(−6.361340902404) = 1e-10.
        let law = Law::normal().unwrap();
        for (chance, distance) in [(0.025, 1.959_964), (0.25, 0.674_49), (1e-10, 6.361_341)] {
            assert!((law.distance(f64::ln(chance)) - distance).abs() < 1e-3 * distance, "{chance}");
        }
        assert!((law.density(1.0) - 0.483_941).abs() < 1e-6);
        assert!((law.half() / 0.674_49 - 1.0).abs() < 0.01);
    }

    #[test]
    fn identity_laws_of_any_size_and_those_that_mostly_stand_still_have_a_table() {
        let law = |variances: &[f64], weights: &[f64]| {
            Law::new(Nodes::new(variances.to_vec(), weights.to_vec(), Vec::new()).unwrap())
        };
        for size in [1e-140, 1e-9, 1.0, 1e140] {
            let alone = law(&[size * size], &[1.0]);
            assert!((alone.half() / size / 0.674_49 - 1.0).abs() < 0.01, "{size}: {}", alone.half());
            // Nine steps in ten, or all but one in 10¹⁵, are no move at all.
            for rest in [0.1, 1e-15] {
                let rare = law(&[0.0, size * size], &[1.0 - rest, rest]);
                assert!((rare.half() / alone.half() - 1.0).abs() < 0.02, "{size} {rest}: {}", rare.half());
                let quartile = rare.distance(f64::ln(0.25 * rest));
                assert!((quartile / alone.half() - 1.0).abs() < 0.02, "{size} {rest}: {quartile}");
            }
        }
        assert!(law(&[0.0], &[1.0]).distance(-3.0) > 0.0);
    }
}
