//! Make long columns small without making them lie: keep the extremes, and no more digits than can be seen.

/// Places to keep of `count`, at most about `most`: the first, the last, those in `always`, and in every one of equal
/// stretches the lowest and the highest of each column.
pub fn thin(count: usize, most: usize, columns: &[&[f64]], always: &[usize]) -> Vec<usize> {
    if count <= most {
        return (0..count).collect();
    }
    let stretches = (most / (2 * columns.len().max(1))).max(1);
    let mut keep = vec![0, count - 1];
    keep.extend(always);
    for stretch in 0..stretches {
        let places = stretch * count / stretches..(stretch + 1) * count / stretches;
        for column in columns {
            let seen = || places.clone().filter(|&j| column[j].is_finite());
            keep.extend(seen().min_by(|&a, &b| column[a].total_cmp(&column[b])));
            keep.extend(seen().max_by(|&a, &b| column[a].total_cmp(&column[b])));
        }
    }
    keep.sort_unstable();
    keep.dedup();
    keep
}

/// The values at the places kept.
pub fn pick(values: &[f64], keep: &[usize]) -> Vec<f64> {
    keep.iter().map(|&j| values[j]).collect()
}

/// Values without the digits that no zoom would show: steps of a hundredth of the typical move between neighbours, or of
/// a ten-thousandth of the quartile range if that is less. Both are blind to single large jumps.
pub fn short(values: Vec<f64>) -> Vec<f64> {
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    let moves = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).filter(|d| *d > 0.0 && d.is_finite());
    let step = [
        0.01 * middle(moves.collect(), 0.5),
        1e-4 * (middle(finite().collect(), 0.75) - middle(finite().collect(), 0.25)),
    ];
    let step = step.into_iter().filter(|s| *s > 0.0 && s.is_finite()).fold(f64::INFINITY, f64::min);
    if !step.is_finite() {
        return values;
    }
    let decimals = (-step.log10().floor()).clamp(-12.0, 12.0) as i32;
    let unit = 10f64.powi(decimals.abs());
    let rounded = |v: f64| if decimals >= 0 { (v * unit).round() / unit } else { (v / unit).round() * unit };
    values.into_iter().map(rounded).collect()
}

/// A quantile by rank.
fn middle(mut values: Vec<f64>, level: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let place = ((values.len() - 1) as f64 * level).round() as usize;
    *values.select_nth_unstable_by(place, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_extremes_and_jumps_are_kept() {
        let values: Vec<f64> =
            (0..10_000).map(|j| (f64::from(j) * 0.1).sin() + if j == 7_777 { 50.0 } else { 0.0 }).collect();
        let keep = thin(values.len(), 400, &[&values], &[1234]);
        assert!(keep.len() <= 403 && [0, 1234, 7_777, 9_999].iter().all(|j| keep.binary_search(j).is_ok()));
        assert!(keep.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(thin(5, 400, &[&values], &[]), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn identity_rounding_cannot_be_seen() {
        // A level of a thousand with moves of a hundredth and one jump of a million.
        let values: Vec<f64> =
            (0..1000).map(|j| 1000.0 + 0.01 * (f64::from(j) * 1.7).sin() + if j == 500 { 1e6 } else { 0.0 }).collect();
        let rounded = short(values.clone());
        assert!(values.iter().zip(&rounded).all(|(a, b)| (a - b).abs() < 1e-4));
        assert!(serde_json::to_string(&rounded).unwrap().len() < 12 * rounded.len());
        assert_eq!(short(vec![2.0, 2.0]), [2.0, 2.0]);
        assert!(short(vec![1.0, f64::NAN, 3.0])[1].is_nan());
    }
}
