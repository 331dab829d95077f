//! Draw a figure as an SVG file of its own, for papers and slides.

use std::fmt::Write;

use super::figure::{Figure, Kind, Layer};
use super::page::escape;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 885.0;
const TOP: f64 = 60.0;

/// The colours of the page, on white.
fn colour(tone: &str) -> &'static str {
    match tone {
        "red" => "#c8371f",
        "teal" => "#16877a",
        "brown" => "#b5651d",
        "violet" => "#8a5bb5",
        "olive" => "#5d7a1f",
        "pink" => "#b8477f",
        "grey" => "#7d8795",
        "dots" => "#3d4654",
        _ => "#2563a8",
    }
}

/// A figure laid out: its text so far, and where values lie.
struct Sheet<'a> {
    figure: &'a Figure,
    text: String,
    x: (f64, f64),
    y: (f64, f64),
    bottom: f64,
}

/// The file.
pub fn draw(figure: &Figure) -> String {
    let height = f64::from(figure.height.unwrap_or(340)) + 60.0;
    let mut sheet =
        Sheet { figure, text: String::new(), x: extent(figure, true), y: extent(figure, false), bottom: height - 46.0 };
    sheet.axes(height);
    sheet.put(format!(
        "<clipPath id=\"c\"><rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\"/></clipPath><g clip-path=\"url(#c)\">",
        RIGHT - LEFT,
        sheet.bottom - TOP
    ));
    figure.layers.iter().filter(|layer| !layer.hidden).for_each(|layer| sheet.layer(layer));
    sheet.put("</g>".into());
    sheet.legend();
    let (title, caption) = (escape(&figure.title), escape(&figure.caption));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"system-ui, Helvetica, Arial, sans-serif\" font-size=\"12\"><title>{title}</title><desc>{caption}</desc>\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>{}</svg>\n",
        sheet.text
    )
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
    match (low < high, low.is_finite()) {
        (true, _) if is_x => (low - 0.015 * (high - low), high + 0.015 * (high - low)),
        (true, _) => (low - air * (high - low), high + air * (high - low)),
        (false, true) => (low - 0.5, low + 0.5),
        (false, false) => (0.0, 1.0),
    }
}

impl Sheet<'_> {
    fn put(&mut self, part: String) {
        self.text += &part;
    }

    fn column(&self, name: &Option<String>) -> &[f64] {
        name.as_ref().and_then(|name| self.figure.columns.get(name)).map_or(&[], |column| &column.values)
    }

    fn place_x(&self, value: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * (self.figure.x.forward(value) - self.x.0) / (self.x.1 - self.x.0)
    }

    fn place_y(&self, value: f64) -> f64 {
        TOP + (self.bottom - TOP) * (1.0 - (self.figure.y.forward(value) - self.y.0) / (self.y.1 - self.y.0))
    }

    fn axes(&mut self, height: f64) {
        let (bottom, figure) = (self.bottom, self.figure);
        for (at, text) in figure.x.ticks(self.x.0, self.x.1, 9.0) {
            let x = LEFT + (RIGHT - LEFT) * (at - self.x.0) / (self.x.1 - self.x.0);
            self.put(format!("<path d=\"M{x:.1} {TOP}V{bottom}\" stroke=\"#e3e7ec\"/>"));
            self.put(format!(
                "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"#5b6675\">{}</text>",
                bottom + 16.0,
                escape(&text)
            ));
        }
        for (at, text) in figure.y.ticks(self.y.0, self.y.1, (bottom - TOP) / 55.0) {
            let y = TOP + (bottom - TOP) * (1.0 - (at - self.y.0) / (self.y.1 - self.y.0));
            self.put(format!("<path d=\"M{LEFT} {y:.1}H{RIGHT}\" stroke=\"#e3e7ec\"/>"));
            self.put(format!(
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#5b6675\">{}</text>",
                LEFT - 6.0,
                y + 4.0,
                escape(&text)
            ));
        }
        let (middle, centre) = (0.5 * (TOP + bottom), 0.5 * (LEFT + RIGHT));
        self.put(format!(
            "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#9aa3ae\"/>",
            RIGHT - LEFT,
            bottom - TOP
        ));
        self.put(format!(
            "<text x=\"{LEFT}\" y=\"22\" font-size=\"15\" font-weight=\"600\" fill=\"#1d2430\">{}</text>",
            escape(&figure.title)
        ));
        self.put(format!(
            "<text x=\"{centre}\" y=\"{}\" text-anchor=\"middle\" fill=\"#1d2430\">{}</text>",
            height - 8.0,
            escape(&figure.x.label)
        ));
        self.put(format!("<text transform=\"rotate(-90 16 {middle})\" x=\"16\" y=\"{middle}\" text-anchor=\"middle\" fill=\"#1d2430\">{}</text>", escape(&figure.y.label)));
    }

    /// Names beside small squares of their colours.
    fn legend(&mut self) {
        let mut x = LEFT;
        for layer in self.figure.layers.iter().filter(|layer| !layer.hidden && !layer.name.is_empty()) {
            let opacity = match (layer.kind, layer.strong) {
                (Kind::Band, false) => 0.3,
                (Kind::Band, true) => 0.55,
                _ => 0.9,
            };
            let paint = colour(&layer.tone);
            self.put(format!(
                "<rect x=\"{x:.0}\" y=\"38\" width=\"12\" height=\"10\" fill=\"{paint}\" opacity=\"{opacity}\"/>"
            ));
            self.put(format!("<text x=\"{:.0}\" y=\"47\" fill=\"#1d2430\">{}</text>", x + 17.0, escape(&layer.name)));
            x += 34.0 + 6.6 * layer.name.chars().count() as f64;
        }
    }

    fn layer(&mut self, layer: &Layer) {
        let paint = colour(&layer.tone);
        let points = |of: &Option<String>| -> Vec<(f64, f64)> {
            let xs = self.column(&Some(layer.x.clone()));
            let places = xs.iter().zip(self.column(of)).map(|(x, y)| (self.place_x(*x), self.place_y(*y)));
            thinned(places.collect())
        };
        let part = match layer.kind {
            Kind::Line => {
                let dash = if layer.dash { " stroke-dasharray=\"6 4\"" } else { "" };
                let width = if layer.thin { 0.8 } else { 1.6 };
                let d = line(&points(&layer.y));
                format!(
                    "<path d=\"{d}\" fill=\"none\" stroke=\"{paint}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dash}/>"
                )
            }
            Kind::Band => {
                let mut outline = finite(points(&layer.high));
                outline.extend(finite(points(&layer.low)).into_iter().rev());
                let opacity = if layer.strong { 0.34 } else { 0.17 };
                format!("<path d=\"{}Z\" fill=\"{paint}\" opacity=\"{opacity}\"/>", line(&outline))
            }
            Kind::Points => {
                let all = finite(points(&layer.y));
                let size = if layer.large {
                    6.0
                } else if all.len() > 1000 {
                    1.8
                } else {
                    3.6
                };
                format!(
                    "<path d=\"{}\" stroke=\"{paint}\" stroke-width=\"{size}\" stroke-linecap=\"round\" opacity=\"0.75\"/>",
                    dots(&all)
                )
            }
            Kind::Whiskers => {
                let (low, high) = (points(&layer.low), points(&layer.high));
                let ends = low.iter().zip(&high).filter(|(a, b)| a.1.is_finite() && b.1.is_finite());
                let strokes: String = ends.map(|(a, b)| format!("M{:.1} {:.1}V{:.1}", a.0, a.1, b.1)).collect();
                let dots = dots(&finite(points(&layer.y)));
                format!(
                    "<path d=\"{strokes}\" stroke=\"{paint}\" opacity=\"0.6\"/><path d=\"{dots}\" stroke=\"{paint}\" stroke-width=\"5\" stroke-linecap=\"round\"/>"
                )
            }
            Kind::Bars => {
                let (from, to) = (self.column(&Some(layer.x.clone())), self.column(&layer.to));
                let zero = self.place_y(0.0);
                let bar = |((from, to), height): ((&f64, &f64), &f64)| {
                    let (a, b, top) = (self.place_x(*from), self.place_x(*to), self.place_y(*height));
                    format!("M{:.1} {zero:.1}V{top:.1}H{:.1}V{zero:.1}Z", a + 0.5, b - 0.5)
                };
                let d: String = from.iter().zip(to).zip(self.column(&layer.y)).map(bar).collect();
                format!("<path d=\"{d}\" fill=\"{paint}\" opacity=\"0.55\"/>")
            }
            Kind::Marks => {
                let mark = |((x, y), size): (&(f64, f64), &f64)| {
                    let s = if *size > 0.0 { -1.0 } else { 1.0 };
                    format!("M{:.1} {:.1}l-4.5 {:.1}h9Z", x, y + 4.0 * s, -8.0 * s)
                };
                let d: String = points(&layer.y).iter().zip(self.column(&layer.size)).map(mark).collect();
                format!("<path d=\"{d}\" fill=\"{paint}\"/>")
            }
        };
        self.put(part);
    }
}

/// Of more points than pixels, per pixel the first, lowest, highest and last.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if points.len() < 3 * WIDTH as usize {
        return points;
    }
    let mut kept: Vec<(f64, f64)> = Vec::new();
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

fn finite(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.into_iter().filter(|(x, y)| x.is_finite() && y.is_finite()).collect()
}

/// A line that breaks where a value is missing.
fn line(points: &[(f64, f64)]) -> String {
    let mut d = String::new();
    let mut pen = 'M';
    for (x, y) in points {
        if !x.is_finite() || !y.is_finite() {
            pen = 'M';
            continue;
        }
        // Writing to a string cannot fail.
        write!(d, "{pen}{x:.1} {y:.1}").unwrap_or_default();
        pen = 'L';
    }
    d
}

fn dots(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("M{x:.1} {y:.1}h0")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::figure::Axis;
    use super::*;

    #[test]
    fn identity_every_kind_of_layer_is_drawn() {
        let figure = Figure::new("f", "A & B", Axis::linear("x"), Axis::linear("y"))
            .column("x", "x", vec![0.0, 1.0, 2.0])
            .column("y", "y", vec![1.0, f64::NAN, 3.0])
            .column("z", "z", vec![0.0, 1.0, 2.0])
            .layer(Layer::band("b", "blue", "x", ["z", "y"]))
            .layer(Layer::line("l", "red", "x", "y"))
            .layer(Layer::points("p", "dots", "x", "y"))
            .layer(Layer::whiskers("w", "teal", "x", ["z", "z", "y"]))
            .layer(Layer::bars("r", "brown", ["x", "y"], "z"))
            .layer(Layer::marks("m", "violet", ["x", "z"], "y"))
            .layer(Layer { hidden: true, ..Layer::line("hidden", "olive", "x", "y") });
        let text = draw(&figure);
        assert!(text.contains("A &amp; B") && !text.contains("hidden") && !text.contains("#5d7a1f"));
        for tone in ["blue", "red", "dots", "teal", "brown", "violet"] {
            assert!(text.matches(colour(tone)).count() >= 2, "{tone}");
        }
        assert_eq!(text.matches("<svg").count(), text.matches("</svg>").count());
    }

    #[test]
    fn identity_thinning_keeps_the_extremes() {
        let points: Vec<(f64, f64)> =
            (0..50_000).map(|k| (f64::from(k) * 0.01, if k == 7 { 9.0 } else { 0.0 })).collect();
        let kept = thinned(points);
        assert!(kept.len() <= 4 * 501 && kept.iter().any(|p| p.1 == 9.0));
    }
}
