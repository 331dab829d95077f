//! Write a small scientific picture as SVG, on a background of its own so that it reads on light and dark pages.

use std::fmt::Write;

const INK: &str = "#1f2937";
const FAINT: &str = "#6b7280";
const RULE: &str = "#e5e7eb";

/// The picture so far.
pub struct Canvas {
    body: String,
}

/// A place with its axes.
pub struct Panel {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
    pub x: (f64, f64),
    pub y: (f64, f64),
}

/// A line with a band around it.
pub struct Band<'a> {
    pub low: &'a [f64],
    pub middle: &'a [f64],
    pub high: &'a [f64],
}

impl Panel {
    fn x(&self, value: f64) -> f64 {
        self.left + self.width * (value - self.x.0) / (self.x.1 - self.x.0)
    }

    /// Clamped to the frame, for bands that leave it.
    fn y(&self, value: f64) -> f64 {
        let share = (value - self.y.0) / (self.y.1 - self.y.0);
        self.top + self.height * (1.0 - share.clamp(0.0, 1.0))
    }

    fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

/// Round values inside a range, four to eight of them.
pub fn ticks((low, high): (f64, f64)) -> Vec<f64> {
    let raw = (high - low) / 5.0;
    let unit = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].iter().map(|m| m * unit).find(|step| *step >= raw).unwrap_or(unit);
    let first = (low / step).ceil() as i64;
    (first..).map(|i| i as f64 * step).take_while(|value| *value <= high).collect()
}

impl Canvas {
    /// An empty picture.
    pub fn new(width: f64, height: f64) -> Self {
        let body = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"13\">\n\
             <rect width=\"{width}\" height=\"{height}\" rx=\"10\" fill=\"#ffffff\"/>\n"
        );
        Self { body }
    }

    /// The text of the file.
    pub fn finish(self) -> String {
        self.body + "</svg>\n"
    }

    fn add(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    fn text(&mut self, x: f64, y: f64, style: &str, text: &str) {
        self.add(&format!("<text x=\"{x:.1}\" y=\"{y:.1}\" {style}>{text}</text>"));
    }

    /// Axes with ticks.
    pub fn frame(&mut self, panel: &Panel, xs: &[f64], ys: &[f64], name: impl Fn(f64) -> String) {
        for &value in ys {
            let (y, left) = (panel.y(value), panel.left);
            let right = left + panel.width;
            self.add(&format!("<path d=\"M{left} {y:.1}H{right}\" stroke=\"{RULE}\"/>"));
            let style = format!("fill=\"{FAINT}\" text-anchor=\"end\"");
            self.text(left - 8.0, y + 4.5, &style, &format!("{value:.0}").replace('-', "−"));
        }
        let bottom = panel.bottom();
        self.add(&format!("<path d=\"M{} {bottom}h{}\" stroke=\"{FAINT}\"/>", panel.left, panel.width));
        for &value in xs {
            let x = panel.x(value);
            self.add(&format!("<path d=\"M{x:.1} {bottom}v5\" stroke=\"{FAINT}\"/>"));
            self.text(x, bottom + 19.0, &format!("fill=\"{FAINT}\" text-anchor=\"middle\""), &name(value));
        }
    }

    /// Title and what it found, above a panel.
    pub fn heading(&mut self, panel: &Panel, title: &str, detail: &str, colour: &str) {
        let bold = format!("fill=\"{colour}\" font-size=\"16\" font-weight=\"bold\"");
        self.text(panel.left, panel.top - 26.0, &bold, title);
        self.text(panel.left, panel.top - 8.0, &format!("fill=\"{INK}\""), &detail.replace('-', "−"));
    }

    /// Name of the horizontal axis.
    pub fn label_x(&mut self, panel: &Panel, name: &str) {
        let style = format!("fill=\"{INK}\" text-anchor=\"middle\"");
        self.text(panel.left + 0.5 * panel.width, panel.bottom() + 40.0, &style, name);
    }

    /// Name of the vertical axis.
    pub fn label_y(&mut self, panel: &Panel, name: &str) {
        let (x, y) = (panel.left - 42.0, panel.top + 0.5 * panel.height);
        let style = format!("fill=\"{INK}\" text-anchor=\"middle\" transform=\"rotate(-90 {x:.1} {y:.1})\"");
        self.text(x, y, &style, name);
    }

    /// Observations.
    pub fn dots(&mut self, panel: &Panel, xs: &[f64], ys: &[f64], radius: f64, colour: &str) {
        let mut path = String::new();
        for (x, y) in xs.iter().zip(ys).filter(|(_, y)| !y.is_nan()) {
            // A line of no length with round ends is a dot, and much shorter than a circle.
            let _ = write!(path, "M{:.1} {:.1}h0", panel.x(*x), panel.y(*y));
        }
        let width = 2.0 * radius;
        self.add(&format!(
            "<path d=\"{path}\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linecap=\"round\"/>"
        ));
    }

    /// A median line in its band.
    pub fn band(&mut self, panel: &Panel, xs: &[f64], band: &Band, colour: &str) {
        let mut points: Vec<(f64, f64)> = xs.iter().copied().zip(band.low.iter().copied()).collect();
        points.extend(xs.iter().copied().zip(band.high.iter().copied()).rev());
        self.add(&format!("<path d=\"{}Z\" fill=\"{colour}\" fill-opacity=\"0.28\"/>", line(panel, &points)));
        let style = format!("stroke=\"{colour}\" stroke-width=\"1.6\" stroke-linejoin=\"round\"");
        self.stroke(panel, xs, band.middle, &style);
    }

    /// A path that jumps.
    pub fn steps(&mut self, panel: &Panel, xs: &[f64], ys: &[f64], colour: &str) {
        self.stroke(panel, xs, ys, &format!("stroke=\"{colour}\" stroke-dasharray=\"4 2\""));
    }

    /// A line.
    #[allow(dead_code)] // Pictures differ in what they need.
    pub fn line(&mut self, panel: &Panel, xs: &[f64], ys: &[f64], colour: &str) {
        self.stroke(panel, xs, ys, &format!("stroke=\"{colour}\" stroke-width=\"1.3\""));
    }

    fn stroke(&mut self, panel: &Panel, xs: &[f64], ys: &[f64], style: &str) {
        let points: Vec<(f64, f64)> = xs.iter().copied().zip(ys.iter().copied()).collect();
        self.add(&format!("<path d=\"{}\" fill=\"none\" {style}/>", line(panel, &points)));
    }

    /// Names in the colours of their lines, below a panel, four to a row.
    #[allow(dead_code)] // Pictures differ in what they need.
    pub fn names(&mut self, panel: &Panel, entries: &[(&str, &str)]) {
        for (k, (name, colour)) in entries.iter().enumerate() {
            let x = panel.left + (k % 4) as f64 * panel.width / 4.0;
            let y = panel.bottom() + 42.0 + 18.0 * (k / 4) as f64;
            self.text(x, y, &format!("fill=\"{colour}\""), name);
        }
    }

    /// A stretch of the horizontal axis, tinted.
    pub fn shade(&mut self, panel: &Panel, (from, to): (f64, f64)) {
        let (x, width) = (panel.x(from), panel.x(to) - panel.x(from));
        self.add(&format!(
            "<rect x=\"{x:.1}\" y=\"{}\" width=\"{width:.1}\" height=\"{}\" fill=\"#fde68a\" fill-opacity=\"0.5\"/>",
            panel.top, panel.height
        ));
    }
}

/// The `d` of a path through points.
fn line(panel: &Panel, points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (i, &(x, y)) in points.iter().enumerate() {
        let _ = write!(path, "{}{:.1} {:.1}", if i == 0 { 'M' } else { 'L' }, panel.x(x), panel.y(y));
    }
    path
}

impl Canvas {
    /// What the signs mean, in one row.
    pub fn legend(&mut self, mut x: f64, y: f64, entries: &[(&str, &str)]) {
        for (name, sign) in entries {
            let middle = y - 4.5;
            match *sign {
                "dot" => self.add(&format!("<circle cx=\"{}\" cy=\"{middle}\" r=\"2\" fill=\"#8b929c\"/>", x + 12.0)),
                "line" => {
                    self.add(&format!("<path d=\"M{x} {middle}h24\" stroke=\"#111827\" stroke-dasharray=\"4 2\"/>"))
                }
                _ => {
                    let top = middle - 5.0;
                    self.add(&format!("<rect x=\"{x}\" y=\"{top}\" width=\"24\" height=\"10\" fill=\"{FAINT}\" fill-opacity=\"0.28\"/>"));
                    self.add(&format!("<path d=\"M{x} {middle}h24\" stroke=\"{FAINT}\" stroke-width=\"1.6\"/>"));
                }
            }
            self.text(x + 32.0, y, &format!("fill=\"{INK}\""), name);
            x += 66.0 + 7.0 * name.len() as f64;
        }
    }
}
