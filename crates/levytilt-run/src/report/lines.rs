//! Make lines fit to be drawn: no more points than can be seen, none far outside, none that do not exist.

use super::picture::Point;

/// How far from the picture a line is followed. Beyond, numbers lose the digits that place what is seen.
const FAR: f64 = 5000.0;

/// Of more points than pixels of `width`, per pixel the first, lowest, highest and last.
pub fn thinned(points: Vec<Point>, width: f64) -> Vec<Point> {
    if points.len() < 3 * width as usize {
        return points;
    }
    let mut kept: Vec<Point> = Vec::new();
    for group in points.chunk_by(|a, b| a.0.floor() == b.0.floor()) {
        let by = |better: fn(&f64, &f64) -> bool| {
            (0..group.len()).reduce(|a, b| if better(&group[b].1, &group[a].1) { b } else { a }).unwrap_or(0)
        };
        let mut four = [0, by(|b, a| b < a), by(|b, a| b > a), group.len() - 1].to_vec();
        four.sort_unstable();
        four.dedup();
        kept.extend(four.into_iter().map(|k| group[k]));
    }
    kept
}

/// The same line as far as it can be seen: where it goes far above or below the picture it runs along the limit instead.
pub fn bounded(points: &[Point]) -> Vec<Point> {
    let held = |(x, y): Point| (x, y.clamp(-FAR, FAR));
    let mut made: Vec<Point> = points.first().copied().map(held).into_iter().collect();
    for pair in points.windows(2) {
        let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
        let mut crossings: Vec<Point> = [-FAR, FAR]
            .into_iter()
            .filter(|limit| (y0 < *limit) != (y1 < *limit) && y0.is_finite() && y1.is_finite())
            .map(|limit| (x0 + (x1 - x0) * (limit - y0) / (y1 - y0), limit))
            .collect();
        crossings.sort_by(|a, b| a.0.total_cmp(&b.0));
        made.extend(crossings);
        made.push(held(pair[1]));
    }
    made
}

/// Points that exist.
pub fn finite(points: Vec<Point>) -> Vec<Point> {
    points.into_iter().filter(|(x, y)| x.is_finite() && y.is_finite()).collect()
}

/// A line in pieces, broken where a value is missing.
pub fn pieces(points: &[Point]) -> Vec<Vec<Point>> {
    let broken = points.split(|(x, y)| !x.is_finite() || !y.is_finite());
    broken.filter(|piece| !piece.is_empty()).map(<[Point]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_thinning_keeps_the_extremes() {
        let points: Vec<Point> = (0..50_000).map(|k| (f64::from(k) * 0.01, if k == 7 { 9.0 } else { 0.0 })).collect();
        let kept = thinned(points, 900.0);
        assert!(kept.len() <= 4 * 501 && kept.iter().any(|p| p.1 == 9.0));
    }

    #[test]
    fn identity_a_line_beyond_the_picture_keeps_its_slope_within() {
        let far = bounded(&[(0.0, 0.0), (10.0, 1e9), (20.0, -1e9)]);
        assert!(far.iter().all(|(_, y)| y.abs() <= FAR), "{far:?}");
        // It leaves at the height and the time of the straight line, and comes back likewise.
        assert!((far[1].0 - 10.0 * FAR / 1e9).abs() < 1e-12 && far[1].1 == FAR);
        assert!(far.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        assert!((far[3].0 - (15.0 - 5.0 * FAR / 1e9)).abs() < 1e-9 && far[3].1 == FAR);
        assert_eq!(bounded(&[(0.0, 1.0), (1.0, 2.0)]), [(0.0, 1.0), (1.0, 2.0)]);
    }

    #[test]
    fn identity_missing_values_break_a_line() {
        let points = [(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0), (3.0, 4.0)];
        assert_eq!(pieces(&bounded(&points)), [vec![(0.0, 1.0)], vec![(2.0, 3.0), (3.0, 4.0)]]);
    }
}
