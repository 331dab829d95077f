//! Paint a picture as a PNG file, two pixels for each of its own, so that it is sharp in print.

use anyhow::{Context, Result};
use tiny_skia::{Color, FillRule, LineCap, LineJoin, Mask, Paint, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};

use super::font::Font;
use super::picture::{Mark, Picture, Point, Shape};
use crate::failure::bad;

/// Pixels of the file per pixel of the picture.
const DENSITY: f32 = 2.0;
/// Most pixels of a file; figures have one or two million. A label that somebody else wrote may be of any length.
const MOST_PIXELS: u64 = 12_000_000;
/// A bold letter is one drawn with a pen as well: the width of that per size of the letter.
const BOLD: f32 = 0.06;

/// The file.
pub fn write(picture: &Picture) -> Result<Vec<u8>> {
    painted(picture)?.encode_png().context("cannot write a PNG file")
}

/// Its pixels.
pub fn painted(picture: &Picture) -> Result<Pixmap> {
    let [width, height] = [picture.size.0, picture.size.1].map(|side| (side as f32 * DENSITY).round() as u32);
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        return Err(bad(format!(
            "{width} by {height} pixels are too many for a figure; expected at most {MOST_PIXELS}"
        )));
    }
    let font = Font::new()?;
    let mut sheet = Pixmap::new(width, height).with_context(|| format!("a picture of {width} by {height} pixels"))?;
    sheet.fill(Color::WHITE);
    let frame = frame(picture, width, height)?;
    for mark in &picture.marks {
        paint(&mut sheet, mark, mark.clipped.then_some(&frame), &font)?;
    }
    Ok(sheet)
}

/// The inside of the frame.
fn frame(picture: &Picture, width: u32, height: u32) -> Result<Mask> {
    let mut mask = Mask::new(width, height).context("an empty picture")?;
    let [left, top, right, bottom] = picture.frame;
    if let Some(path) = outline(&[vec![(left, top), (right, top), (right, bottom), (left, bottom)]], true).finish() {
        mask.fill_path(&path, FillRule::Winding, true, scale());
    }
    Ok(mask)
}

fn scale() -> Transform {
    Transform::from_scale(DENSITY, DENSITY)
}

fn paint(sheet: &mut Pixmap, mark: &Mark, inside: Option<&Mask>, font: &Font) -> Result<()> {
    let mut paint = Paint::default();
    paint.set_color(color(mark.colour, mark.opacity));
    let pen = |width: f32| Stroke { width, line_join: LineJoin::Round, line_cap: LineCap::Butt, ..Stroke::default() };
    let (path, stroke, fill) = match &mark.shape {
        Shape::Lines { lines, width, dash } => {
            let dash = if *dash { StrokeDash::new(vec![6.0, 4.0], 0.0) } else { None };
            (outline(lines, false), Some(Stroke { dash, ..pen(*width as f32) }), false)
        }
        Shape::Areas(areas) => (outline(areas, true), None, true),
        Shape::Dots { at, size } => (discs(at, *size), None, true),
        Shape::Text(text) => (font.outlines(text)?, text.bold.then(|| pen(BOLD * text.size as f32)), true),
    };
    // A mark of nothing, such as a line of which no value exists, has no path.
    let Some(path) = path.finish() else { return Ok(()) };
    if matches!(&mark.shape, Shape::Text(text) if text.rim) {
        let mut white = Paint::default();
        white.set_color(Color::WHITE);
        sheet.stroke_path(&path, &white, &pen(3.0), scale(), inside);
    }
    if fill {
        sheet.fill_path(&path, &paint, FillRule::Winding, scale(), inside);
    }
    if let Some(stroke) = stroke {
        sheet.stroke_path(&path, &paint, &stroke, scale(), inside);
    }
    Ok(())
}

/// The colour `#rrggbb`.
fn color(text: &str, opacity: f64) -> Color {
    let part = |k: usize| text.get(k..k + 2).and_then(|two| u8::from_str_radix(two, 16).ok()).unwrap_or(0);
    Color::from_rgba8(part(1), part(3), part(5), (opacity * 255.0).round() as u8)
}

fn outline(lines: &[Vec<Point>], closed: bool) -> PathBuilder {
    let mut path = PathBuilder::new();
    for line in lines {
        for (k, (x, y)) in line.iter().enumerate() {
            if k == 0 { path.move_to(*x as f32, *y as f32) } else { path.line_to(*x as f32, *y as f32) }
        }
        if closed && !line.is_empty() {
            path.close();
        }
    }
    path
}

fn discs(at: &[Point], size: f64) -> PathBuilder {
    let mut path = PathBuilder::new();
    at.iter().for_each(|(x, y)| path.push_circle(*x as f32, *y as f32, 0.5 * size as f32));
    path
}

#[cfg(test)]
mod tests {
    use super::super::picture::{Anchor, Text};
    use super::*;

    /// The colour of a place in a picture with this mark alone.
    fn seen(shape: Shape, clipped: bool, (x, y): (u32, u32)) -> [u8; 3] {
        let marks = vec![Mark { shape, colour: "#c8371f", opacity: 1.0, clipped }];
        let (title, caption) = (String::new(), String::new());
        let picture = Picture { size: (60.0, 40.0), title, caption, frame: [10.0, 10.0, 50.0, 30.0], marks };
        let sheet = Pixmap::decode_png(&write(&picture).unwrap()).unwrap();
        assert_eq!((sheet.width(), sheet.height()), (120, 80));
        let pixel = sheet.pixel(2 * x, 2 * y).unwrap();
        [pixel.red(), pixel.green(), pixel.blue()]
    }

    #[test]
    fn identity_marks_are_where_they_belong() {
        let (red, white) = ([0xc8, 0x37, 0x1f], [255; 3]);
        let square = || Shape::Areas(vec![vec![(2.0, 2.0), (20.0, 2.0), (20.0, 20.0), (2.0, 20.0)]]);
        assert_eq!([seen(square(), false, (5, 5)), seen(square(), false, (30, 25))], [red, white]);
        // Clipped, it begins at the frame.
        assert_eq!([seen(square(), true, (5, 5)), seen(square(), true, (15, 15))], [white, red]);
        let line = || Shape::Lines { lines: vec![vec![(10.0, 20.0), (50.0, 20.0)]], width: 4.0, dash: true };
        assert_eq!([seen(line(), false, (12, 20)), seen(line(), false, (18, 20))], [red, white]);
        let dots = || Shape::Dots { at: vec![(30.0, 20.0)], size: 8.0 };
        assert_eq!([seen(dots(), true, (32, 20)), seen(dots(), true, (36, 20))], [red, white]);
        assert_eq!(seen(Shape::Lines { lines: vec![], width: 1.0, dash: false }, true, (30, 20)), white);
    }

    #[test]
    fn identity_a_picture_of_any_length_is_refused() {
        let (title, caption) = (String::new(), String::new());
        let picture = Picture { size: (1e9, 400.0), title, caption, frame: [0.0; 4], marks: vec![] };
        assert!(painted(&picture).unwrap_err().to_string().contains("too many for a figure"));
    }

    #[test]
    fn identity_letters_are_painted_upright_and_upward() {
        let text = |upward| {
            let (text, at) = ("l".to_string(), (30.0, 30.0));
            Shape::Text(Text { text, at, size: 24.0, anchor: Anchor::Middle, bold: true, upward, rim: false })
        };
        // The stem of an l is above its foot, or to the left of it.
        assert_eq!(seen(text(false), false, (30, 20)), [0xc8, 0x37, 0x1f]);
        assert_eq!(seen(text(true), false, (20, 30)), [0xc8, 0x37, 0x1f]);
        assert_eq!(seen(text(true), false, (30, 14)), [255; 3]);
    }
}
