//! A panel per setting: distribution of the ranks minus the uniform one, a line per quantity, each in units of its band.

use super::Scores;
use super::replicate::Setting;
use super::verdict::{band, differences};
use levytilt_validation::svg::{Canvas, Panel};

const COLOURS: [&str; 7] = ["#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2", "#374151"];

/// Most points of a line.
const POINTS: usize = 500;

/// The picture as SVG.
pub fn draw(all: &[(Setting, Scores)]) -> String {
    let rows = all.len().div_ceil(2) as f64;
    let mut canvas = Canvas::new(900.0, 40.0 + 340.0 * rows);
    for (k, (setting, scores)) in all.iter().enumerate() {
        let (column, row) = ((k % 2) as f64, (k / 2) as f64);
        let (left, top) = (70.0 + 430.0 * column, 70.0 + 340.0 * row);
        let panel = Panel { left, top, width: 360.0, height: 220.0, x: (0.0, 1.0), y: (-2.0, 2.0) };
        canvas.heading(
            &panel,
            &format!("{}, {}", setting.drift, setting.noise),
            "within ±1: uniform at 99%",
            "#1f2937",
        );
        canvas.frame(&panel, &[0.0, 0.5, 1.0], &[-1.0, 0.0, 1.0], |x| format!("{x}"));
        for (scores, colour) in scores.values().zip(COLOURS) {
            let unit = band(scores.len());
            let all = differences(scores);
            // More points than pixels show nothing more.
            let points = all.iter().step_by(all.len().div_ceil(POINTS));
            let (xs, ys): (Vec<f64>, Vec<f64>) = points.map(|(u, d)| (*u, d / unit)).unzip();
            canvas.line(&panel, &xs, &ys, colour);
        }
        let entries: Vec<(&str, &str)> = scores.keys().map(String::as_str).zip(COLOURS).collect();
        canvas.names(&panel, &entries);
    }
    canvas.finish()
}
