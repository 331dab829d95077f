//! Write a picture as an SVG file, for papers and slides.

use std::fmt::Write;

use super::escape::escape;
use super::picture::{Anchor, Mark, Picture, Point, Shape, Text};

/// The file.
pub fn write(picture: &Picture) -> String {
    let Picture { size: (width, height), frame: [left, top, right, bottom], .. } = picture;
    let marks: String = picture.marks.iter().map(mark).collect();
    let (title, caption) = (escape(&picture.title), escape(&picture.caption));
    let (across, down) = (right - left, bottom - top);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"DejaVu Sans, Verdana, system-ui, Helvetica, Arial, sans-serif\"><title>{title}</title>\
         <desc>{caption}</desc><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/><clipPath id=\"c\"><rect x=\"{left}\" \
         y=\"{top}\" width=\"{across}\" height=\"{down}\"/></clipPath>\n{marks}</svg>\n"
    )
}

fn mark(mark: &Mark) -> String {
    let Mark { shape, colour, opacity, clipped } = mark;
    let clip = if *clipped { " clip-path=\"url(#c)\"" } else { "" };
    let faint = if *opacity < 1.0 { format!(" opacity=\"{opacity}\"") } else { String::new() };
    let shape = match shape {
        Shape::Lines { lines, width, dash } => {
            let dash = if *dash { " stroke-dasharray=\"6 4\"" } else { "" };
            let d = outline(lines, "");
            format!(
                "<path d=\"{d}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dash}"
            )
        }
        Shape::Areas(areas) => format!("<path d=\"{}\" fill=\"{colour}\"", outline(areas, "Z")),
        Shape::Dots { at, size } => {
            let dots: String = at.iter().map(|(x, y)| format!("M{x:.1} {y:.1}h0")).collect();
            format!("<path d=\"{dots}\" stroke=\"{colour}\" stroke-width=\"{size}\" stroke-linecap=\"round\"")
        }
        Shape::Text(text) => return format!("{}{faint}{clip}>{}</text>\n", letters(text, colour), escape(&text.text)),
    };
    format!("{shape}{faint}{clip}/>\n")
}

/// Lines through points, each with `end` behind it.
fn outline(lines: &[Vec<Point>], end: &str) -> String {
    let mut d = String::new();
    for line in lines {
        for (k, (x, y)) in line.iter().enumerate() {
            // Writing to a string cannot fail.
            write!(d, "{}{x:.1} {y:.1}", if k == 0 { 'M' } else { 'L' }).unwrap_or_default();
        }
        d += end;
    }
    d
}

/// The tag of a text, not yet closed.
fn letters(text: &Text, colour: &str) -> String {
    let (x, y) = text.at;
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let bold = if text.bold { " font-weight=\"600\"" } else { "" };
    let turn = if text.upward { format!(" transform=\"rotate(-90 {x:.1} {y:.1})\"") } else { String::new() };
    let rim = if text.rim { " stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\"" } else { "" };
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{}\" fill=\"{colour}\"{anchor}{bold}{turn}{rim}", text.size)
}
