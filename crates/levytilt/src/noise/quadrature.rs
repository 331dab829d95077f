//! Spread quadrature points over panels.

/// Nodes (on [−1, 1]) and weights of the ten-point Gauss–Legendre rule, positive half.
const LEGENDRE: [(f64, f64); 5] = [
    (0.148_874_338_981_631_2, 0.295_524_224_714_752_9),
    (0.433_395_394_129_247_2, 0.269_266_719_309_996_35),
    (0.679_409_568_299_024_4, 0.219_086_362_515_982_04),
    (0.865_063_366_688_984_5, 0.149_451_349_150_580_6),
    (0.973_906_528_517_171_7, 0.066_671_344_308_688_14),
];

/// Ten Gauss–Legendre points per panel between increasing edges: (position, weight), increasing.
pub fn panel_points(edges: &[f64]) -> Vec<(f64, f64)> {
    let mut points = Vec::with_capacity(10 * edges.len());
    for pair in edges.windows(2) {
        let (middle, half) = (0.5 * (pair[0] + pair[1]), 0.5 * (pair[1] - pair[0]));
        points.extend(LEGENDRE.iter().rev().map(|&(x, w)| (middle - half * x, half * w)));
        points.extend(LEGENDRE.iter().map(|&(x, w)| (middle + half * x, half * w)));
    }
    points
}

/// Panels of even width no wider than `width` from `low` to `high`, as points.
pub(crate) fn even_points(low: f64, high: f64, width: f64) -> Vec<(f64, f64)> {
    let parts = ((high - low) / width).ceil().max(1.0);
    let edges: Vec<f64> = (0..=parts as usize).map(|i| low + (high - low) * i as f64 / parts).collect();
    panel_points(&edges)
}
