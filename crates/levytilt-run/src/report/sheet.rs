//! Lay a figure out as a picture of its own: axes, legend, and layers as on the page.

use anyhow::Result;

use super::figure::{Figure, Kind, Layer, Scale};
use super::font::Font;
use super::lines::{bounded, finite, pieces, thinned};
use super::picture::{Anchor, Mark, Picture, Point, Shape, Text, colour};

const WIDTH: f64 = 900.0;
const RIGHT: f64 = 885.0;
/// Size of labels, and of what is written into the figure.
const LETTER: f64 = 12.0;
const SMALL: f64 = 10.5;
const INK: &str = "#1d2430";
const SOFT: &str = "#5b6675";
/// Most sizes of jumps that are written out.
const SIZES: usize = 14;

/// A figure half laid out: what is drawn so far, and where values lie.
struct Sheet<'a> {
    figure: &'a Figure,
    font: Font,
    marks: Vec<Mark>,
    x: (f64, f64),
    y: (f64, f64),
    /// Left, top and bottom of the frame.
    left: f64,
    top: f64,
    bottom: f64,
}

/// The picture of a figure.
pub fn lay_out(figure: &Figure) -> Result<Picture> {
    let (x, y) = (extent(figure, true), extent(figure, false));
    let mut sheet = Sheet { figure, font: Font::new()?, marks: vec![], x, y, left: 70.0, top: 0.0, bottom: 0.0 };
    let below = sheet.legend();
    sheet.top = below + 8.0;
    sheet.bottom = sheet.top + f64::from(figure.height.unwrap_or(340)) - 46.0;
    let foot = sheet.axes();
    figure.layers.iter().filter(|layer| !layer.hidden).for_each(|layer| sheet.layer(layer));
    let frame = [sheet.left, sheet.top, RIGHT, sheet.bottom];
    let (title, caption) = (figure.title.clone(), figure.caption.clone());
    Ok(Picture { size: (WIDTH, foot), title, caption, frame, marks: sheet.marks })
}

/// Ends of an axis over all layers that are drawn, on the drawing scale, with some air.
fn extent(figure: &Figure, is_x: bool) -> (f64, f64) {
    let axis = if is_x { &figure.x } else { &figure.y };
    let names = |layer: &Layer| match is_x {
        true => vec![Some(layer.x.clone()), layer.to.clone()],
        false => vec![layer.y.clone(), layer.low.clone(), layer.high.clone()],
    };
    let drawn = figure.layers.iter().filter(|layer| !layer.hidden && (is_x || !layer.aside));
    let columns = drawn.flat_map(names).flatten().filter_map(|name| figure.columns.get(&name));
    let values = columns.flat_map(|column| column.values.iter().copied());
    let include = if is_x { &[][..] } else { &figure.y_include };
    let places = values.chain(include.iter().copied()).map(|v| axis.forward(v)).filter(|v| v.is_finite());
    let (low, high) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    // Sizes of jumps are written beyond their marks.
    let air = if figure.layers.iter().any(|layer| layer.size.is_some()) { 0.1 } else { 0.05 };
    // A figure that is to reach zero stands on it.
    let stands = !is_x && low >= 0.0 && !figure.y_include.is_empty() && axis.scale != Scale::Log;
    match (low < high, low.is_finite()) {
        (true, _) if is_x => (low - 0.015 * (high - low), high + 0.015 * (high - low)),
        (true, _) => (low - if stands { 0.0 } else { air * (high - low) }, high + air * (high - low)),
        (false, true) => (low - 0.5, low + 0.5),
        (false, false) => (0.0, 1.0),
    }
}

impl Sheet<'_> {
    fn column(&self, name: &Option<String>) -> &[f64] {
        name.as_ref().and_then(|name| self.figure.columns.get(name)).map_or(&[], |column| &column.values)
    }

    /// Where a place on the drawing scale of an axis lies.
    fn across(&self, at: f64) -> f64 {
        self.left + (RIGHT - self.left) * (at - self.x.0) / (self.x.1 - self.x.0)
    }

    fn down(&self, at: f64) -> f64 {
        self.top + (self.bottom - self.top) * (1.0 - (at - self.y.0) / (self.y.1 - self.y.0))
    }

    fn place(&self, x: f64, y: f64) -> Point {
        (self.across(self.figure.x.forward(x)), self.down(self.figure.y.forward(y)))
    }

    fn put(&mut self, shape: Shape, colour: &'static str) {
        self.marks.push(Mark { shape, colour, opacity: 1.0, clipped: false });
    }

    fn write(&mut self, text: &str, at: Point, anchor: Anchor, colour: &'static str) {
        let text = Text { text: text.into(), at, size: LETTER, anchor, bold: false, upward: false, rim: false };
        self.put(Shape::Text(text), colour);
    }

    /// Grid, numbers, labels, title, frame; the height of the picture.
    fn axes(&mut self) -> f64 {
        let (figure, bottom) = (self.figure, self.bottom);
        let heights = figure.y.ticks(self.y.0, self.y.1, (bottom - self.top) / 42.0);
        let widest = heights.iter().map(|(_, text)| self.font.width(text, LETTER)).fold(0.0, f64::max);
        self.left = (widest + 40.0).max(60.0);
        for (at, text) in heights {
            let y = self.down(at);
            self.grid(vec![(self.left, y), (RIGHT, y)]);
            self.write(&text, (self.left - 6.0, y + 4.0), Anchor::End, SOFT);
        }
        let rows = self.feet();
        let (left, top) = (self.left, self.top);
        let frame = vec![(left, top), (RIGHT, top), (RIGHT, bottom), (left, bottom), (left, top)];
        self.put(Shape::Lines { lines: vec![frame], width: 1.0, dash: false }, "#9aa3ae");
        let under = bottom + 36.0 + 15.0 * (rows - 1) as f64;
        self.write(&figure.x.label, (0.5 * (left + RIGHT), under), Anchor::Middle, INK);
        // A label longer than its axis is written smaller rather than cut.
        let size = LETTER * ((bottom - top + 30.0) / self.font.width(&figure.y.label, LETTER)).min(1.0);
        let (text, at) = (figure.y.label.clone(), (16.0, 0.5 * (top + bottom)));
        let label = Text { text, at, size, anchor: Anchor::Middle, bold: false, upward: true, rim: false };
        self.put(Shape::Text(label), INK);
        under + 10.0
    }

    /// What is written below the frame, in as many rows as it needs, and the lines above it.
    fn feet(&mut self) -> usize {
        let ticks = self.figure.x.ticks(self.x.0, self.x.1, 9.0);
        let room = (RIGHT - self.left) / ticks.len().max(1) as f64;
        let widest = ticks.iter().map(|(_, text)| self.font.width(text, LETTER)).fold(0.0, f64::max);
        // Names at the ends come inward by at most half of what they are wide.
        let inward = (0.5 * widest - 15.0).max(0.0);
        let rows = if self.figure.x.names.is_empty() { 1 } else { ((widest + inward + 10.0) / room).ceil() as usize };
        for (k, (at, text)) in ticks.into_iter().enumerate() {
            let x = self.across(at);
            self.grid(vec![(x, self.top), (x, self.bottom)]);
            // A long name at an end is moved inward rather than cut.
            let half = 0.5 * self.font.width(&text, LETTER) + 4.0;
            let middle = x.min(WIDTH - half).max(half);
            self.write(&text, (middle, self.bottom + 16.0 + 15.0 * (k % rows) as f64), Anchor::Middle, SOFT);
        }
        rows
    }

    fn grid(&mut self, line: Vec<Point>) {
        self.put(Shape::Lines { lines: vec![line], width: 1.0, dash: false }, "#e3e7ec");
    }

    /// Title, and names beside samples of what is drawn; returns where it ends.
    fn legend(&mut self) -> f64 {
        const LINE: f64 = 18.0;
        let title = Text {
            text: self.figure.title.clone(),
            at: (16.0, 24.0),
            size: 15.0,
            anchor: Anchor::Start,
            bold: true,
            upward: false,
            rim: false,
        };
        self.put(Shape::Text(title), INK);
        let (mut x, mut y) = (16.0, 46.0);
        let figure = self.figure;
        for layer in figure.layers.iter().filter(|layer| !layer.hidden && !layer.name.is_empty()) {
            let width = 28.0 + self.font.width(&layer.name, LETTER);
            if x + width > RIGHT && x > 16.0 {
                (x, y) = (16.0, y + LINE);
            }
            self.sample(layer, x, y - 4.0);
            self.write(&layer.name, (x + 28.0, y), Anchor::Start, INK);
            x += width + 18.0;
        }
        if figure.layers.iter().any(|layer| !layer.hidden && !layer.name.is_empty()) { y } else { 30.0 }
    }

    /// A small picture of a layer, 22 wide, around the height `y`.
    fn sample(&mut self, layer: &Layer, x: f64, y: f64) {
        let block = |from: f64, to: f64| {
            Shape::Areas(vec![vec![(x + from, y - 5.0), (x + to, y - 5.0), (x + to, y + 5.0), (x + from, y + 5.0)]])
        };
        let stroke =
            |from: Point, to: Point, width: f64, dash: bool| Shape::Lines { lines: vec![vec![from, to]], width, dash };
        let middle = x + 11.0;
        let dot = || Shape::Dots { at: vec![(middle, y)], size: 6.0 };
        let (shapes, opacity) = match layer.kind {
            Kind::Band => (vec![block(0.0, 22.0)], if layer.strong { 0.45 } else { 0.22 }),
            Kind::Bars => (vec![block(4.0, 18.0)], 0.55),
            Kind::Points => (vec![dot()], 0.9),
            Kind::Whiskers => (vec![stroke((middle, y - 6.0), (middle, y + 6.0), 1.2, false), dot()], 1.0),
            Kind::Marks => (vec![Shape::Areas(vec![triangle((middle, y), true)])], 1.0),
            Kind::Line => {
                let width = if layer.thin { 1.0 } else { 2.0 };
                (vec![stroke((x, y), (x + 22.0, y), width, layer.dash)], 1.0)
            }
        };
        let colour = colour(&layer.tone);
        self.marks.extend(shapes.into_iter().map(|shape| Mark { shape, colour, opacity, clipped: false }));
    }

    fn layer(&mut self, layer: &Layer) {
        let points = |of: &Option<String>| -> Vec<Point> {
            let xs = self.column(&Some(layer.x.clone()));
            let places = xs.iter().zip(self.column(of)).map(|(x, y)| self.place(*x, *y)).collect();
            bounded(&thinned(places, WIDTH))
        };
        let shapes = match layer.kind {
            Kind::Line => {
                let dense = self.column(&layer.y).len() > WIDTH as usize;
                let width = match (layer.thin, dense) {
                    (true, true) => 0.5,
                    (true, false) => 0.8,
                    (false, true) => 1.0,
                    (false, false) => 1.6,
                };
                vec![(Shape::Lines { lines: pieces(&points(&layer.y)), width, dash: layer.dash }, 1.0)]
            }
            Kind::Band => {
                let mut outline = finite(points(&layer.high));
                outline.extend(finite(points(&layer.low)).into_iter().rev());
                vec![(Shape::Areas(vec![outline]), if layer.strong { 0.34 } else { 0.17 })]
            }
            Kind::Points => {
                let at = finite(points(&layer.y));
                let size = match at.len() {
                    _ if layer.large => 6.0,
                    many if many > 1000 => 1.8,
                    _ => 3.6,
                };
                vec![(Shape::Dots { at, size }, 0.75)]
            }
            Kind::Whiskers => {
                let ends = points(&layer.low).into_iter().zip(points(&layer.high));
                let known = ends.filter(|(low, high)| low.1.is_finite() && high.1.is_finite());
                let lines = known.map(|(low, high)| vec![low, high]).collect();
                let dots = Shape::Dots { at: finite(points(&layer.y)), size: 5.0 };
                vec![(Shape::Lines { lines, width: 1.0, dash: false }, 0.6), (dots, 1.0)]
            }
            Kind::Bars => vec![(Shape::Areas(self.boxes(layer)), 0.55)],
            Kind::Marks => {
                let sizes = self.column(&layer.size);
                let at = points(&layer.y);
                let known = at.iter().zip(sizes).filter(|(at, size)| at.1.is_finite() && size.is_finite());
                let areas = known.map(|(at, size)| triangle(*at, *size > 0.0)).collect();
                let mut shapes = vec![(Shape::Areas(areas), 1.0)];
                shapes.extend(self.sizes(&at, sizes).into_iter().map(|text| (Shape::Text(text), 1.0)));
                shapes
            }
        };
        let colour = colour(&layer.tone);
        self.marks.extend(shapes.into_iter().map(|(shape, opacity)| Mark { shape, colour, opacity, clipped: true }));
    }

    /// The corners of bars.
    fn boxes(&self, layer: &Layer) -> Vec<Vec<Point>> {
        let (from, to) = (self.column(&Some(layer.x.clone())), self.column(&layer.to));
        // On a scale of logarithms, which has no zero, they stand on the frame.
        let zero = Some(self.down(self.figure.y.forward(0.0))).filter(|y| y.is_finite()).unwrap_or(self.bottom);
        let corners = |((from, to), height): ((&f64, &f64), &f64)| {
            let ((a, top), (b, _)) = (self.place(*from, *height), self.place(*to, *height));
            vec![(a + 0.5, zero), (a + 0.5, top), (b - 0.5, top), (b - 0.5, zero)]
        };
        let known = |((from, to), height): &((&f64, &f64), &f64)| [from, to, height].iter().all(|v| v.is_finite());
        let seen = from.iter().zip(to).zip(self.column(&layer.y)).filter(known);
        seen.map(corners).collect()
    }

    /// The largest jumps by name, where they do not cover each other.
    fn sizes(&self, at: &[Point], sizes: &[f64]) -> Vec<Text> {
        let mut order: Vec<(Point, f64)> = at.iter().copied().zip(sizes.iter().copied()).collect();
        order.retain(|((x, y), size)| x.is_finite() && y.is_finite() && size.is_finite());
        order.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        let mut texts: Vec<Text> = Vec::new();
        for ((x, y), size) in order.into_iter().take(60) {
            let at = (x, if size > 0.0 { y - 14.0 } else { y + 22.0 });
            let free = |other: &Text| (other.at.0 - at.0).abs() >= 34.0 || (other.at.1 - at.1).abs() >= 13.0;
            if texts.len() < SIZES && texts.iter().all(free) && x > self.left + 16.0 && x < RIGHT - 16.0 {
                let text = format!("{}{}", if size > 0.0 { "+" } else { "−" }, two_digits(size.abs()));
                texts.push(Text {
                    text,
                    at,
                    size: SMALL,
                    anchor: Anchor::Middle,
                    bold: false,
                    upward: false,
                    rim: true,
                });
            }
        }
        texts
    }
}

/// A number with two digits, such as 0.37, 4.1 or 120.
fn two_digits(value: f64) -> String {
    let power = value.log10().floor() as i32 - 1;
    let unit = 10f64.powi(power);
    format!("{:.*}", (-power).max(0) as usize, (value / unit).round() * unit)
}

/// A triangle at a state that points the way of the jump to it.
fn triangle((x, y): Point, up: bool) -> Vec<Point> {
    let s = if up { -1.0 } else { 1.0 };
    vec![(x, y + 4.0 * s), (x - 4.5, y - 4.0 * s), (x + 4.5, y - 4.0 * s)]
}

#[cfg(test)]
mod tests {
    use super::super::figure::Axis;
    use super::super::svg;
    use super::*;

    /// A figure with a layer of every kind.
    fn every_kind() -> Figure {
        Figure::new("f", "A & B", Axis::linear("x"), Axis::linear("y"))
            .column("x", "x", vec![0.0, 1.0, 2.0])
            .column("y", "y", vec![1.0, f64::NAN, 3.0])
            .column("z", "z", vec![0.0, 1.0, 2.0])
            .layer(Layer::band("b", "blue", "x", ["z", "y"]))
            .layer(Layer::line("l", "red", "x", "y"))
            .layer(Layer::points("p", "dots", "x", "y"))
            .layer(Layer::whiskers("w", "teal", "x", ["z", "z", "y"]))
            .layer(Layer::bars("r", "brown", ["x", "y"], "z"))
            .layer(Layer::marks("m", "violet", ["x", "z"], "y"))
            .layer(Layer { hidden: true, ..Layer::line("hidden", "olive", "x", "y") })
    }

    #[test]
    fn identity_every_kind_of_layer_is_drawn() {
        let picture = lay_out(&every_kind()).unwrap();
        for tone in ["blue", "red", "dots", "teal", "brown", "violet"] {
            // In the legend, and inside the frame.
            let found: Vec<bool> =
                picture.marks.iter().filter(|m| m.colour == colour(tone)).map(|m| m.clipped).collect();
            assert!(found.contains(&true) && found.contains(&false), "{tone}: {found:?}");
        }
        let text = svg::write(&picture);
        assert!(text.contains("A &amp; B") && !text.contains("hidden") && !text.contains(colour("olive")));
        assert!(!text.contains("NaN") && text.starts_with("<svg") && text.ends_with("</svg>\n"));
    }

    #[test]
    fn identity_names_below_a_figure_do_not_touch() {
        let names: Vec<String> = (0..8).map(|k| format!("student-walk+clock+adaptive-{k}")).collect();
        let x = Axis { names, ..Axis::linear("model") };
        let at: Vec<f64> = (1..=8).map(f64::from).collect();
        let figure = Figure::new("f", "t", x, Axis::linear("y")).column("x", "x", at.clone()).column("y", "y", at);
        let picture = lay_out(&figure.layer(Layer::points("p", "blue", "x", "y"))).unwrap();
        let font = Font::new().unwrap();
        let texts = picture.marks.iter().filter_map(|mark| match &mark.shape {
            Shape::Text(text) if text.text.starts_with("student") => Some(text),
            _ => None,
        });
        let texts: Vec<&Text> = texts.collect();
        assert_eq!(texts.len(), 8);
        for (k, a) in texts.iter().enumerate() {
            for b in &texts[..k] {
                let room = 0.5 * (font.width(&a.text, a.size) + font.width(&b.text, b.size));
                assert!(a.at.1 != b.at.1 || (a.at.0 - b.at.0).abs() > room, "{} {}", a.text, b.text);
            }
            let half = 0.5 * font.width(&a.text, a.size);
            assert!(a.at.0 - half > 0.0 && a.at.0 + half < WIDTH, "{} is cut", a.text);
        }
        assert!(texts.iter().all(|text| text.at.1 < picture.size.1 - 20.0));
    }

    #[test]
    fn golden_two_digits() {
        assert_eq!([0.3712, 4.06, 118.0, 9.96, 0.0052].map(two_digits), ["0.37", "4.1", "120", "10.0", "0.0052"]);
    }
}
