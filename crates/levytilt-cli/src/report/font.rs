//! The letters of a picture: how wide a text is, and the outlines that paint it, the same on every machine.

use anyhow::{Context, Result};
use skrifa::instance::{LocationRef, Size};
use skrifa::metrics::GlyphMetrics;
use skrifa::outline::{DrawSettings, OutlinePen};
use skrifa::{FontRef, GlyphId, MetadataProvider};
use tiny_skia::PathBuilder;

use super::picture::{Anchor, Text};

/// DejaVu Sans, as far as labels need it; fonts/README.md says which part.
const FONT: &[u8] = include_bytes!("../../fonts/DejaVuSans-subset.ttf");

/// The font that pictures are lettered in.
pub struct Font(FontRef<'static>);

impl Font {
    /// The embedded one.
    pub fn new() -> Result<Self> {
        Ok(Self(FontRef::new(FONT).context("the embedded font")?))
    }

    /// Width of a text whose letters have this size.
    pub fn width(&self, text: &str, size: f64) -> f64 {
        let advances = self.advances();
        let units: f64 = text.chars().map(|letter| advance(&advances, self.glyph(letter))).sum();
        units * self.unit(size)
    }

    /// Outlines of a text at its place, in pixels; characters that the font lacks are empty boxes.
    pub fn outlines(&self, text: &Text) -> Result<PathBuilder> {
        let width = self.width(&text.text, text.size);
        let mut along = match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => -0.5 * width,
            Anchor::End => -width,
        };
        let (letters, advances, unit) = (self.0.outline_glyphs(), self.advances(), self.unit(text.size));
        let mut path = PathBuilder::new();
        for letter in text.text.chars() {
            let glyph = self.glyph(letter);
            let mut pen = Pen { path: &mut path, text, along, unit };
            if let Some(outline) = letters.get(glyph) {
                outline.draw(DrawSettings::unhinted(Size::unscaled(), LocationRef::default()), &mut pen)?;
            }
            along += advance(&advances, glyph) * unit;
        }
        Ok(path)
    }

    fn glyph(&self, letter: char) -> GlyphId {
        // Number 0 is the box for what a font does not have.
        self.0.charmap().map(letter).unwrap_or(GlyphId::NOTDEF)
    }

    fn advances(&self) -> GlyphMetrics<'static> {
        self.0.glyph_metrics(Size::unscaled(), LocationRef::default())
    }

    /// Pixels per unit of the font's design.
    fn unit(&self, size: f64) -> f64 {
        size / f64::from(self.0.metrics(Size::unscaled(), LocationRef::default()).units_per_em)
    }
}

/// How far the next letter stands from this one, in units of the font's design.
fn advance(advances: &GlyphMetrics, glyph: GlyphId) -> f64 {
    f64::from(advances.advance_width(glyph).unwrap_or(0.0))
}

/// Puts the outline of a letter where it belongs.
struct Pen<'a> {
    path: &'a mut PathBuilder,
    text: &'a Text,
    along: f64,
    unit: f64,
}

impl Pen<'_> {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        // The font counts upward, the picture downward.
        let (along, down) = (self.along + f64::from(x) * self.unit, -f64::from(y) * self.unit);
        let (x, y) = if self.text.upward { (down, -along) } else { (along, down) };
        ((self.text.at.0 + x) as f32, (self.text.at.1 + y) as f32)
    }
}

impl OutlinePen for Pen<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.place(x1, y1), self.place(x2, y2), self.place(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_widths() {
        // Advances of DejaVu Sans over 2048 units: A 1401, space 651, minus sign 1716, alpha 1350, superscript two 821.
        let font = Font::new().unwrap();
        assert!((font.width("A −α²", 2048.0) - (1401.0 + 651.0 + 1716.0 + 1350.0 + 821.0)).abs() < 1e-9);
        assert_eq!(font.width("", 12.0), 0.0);
    }

    #[test]
    fn identity_every_character_of_our_labels_is_there() {
        let font = Font::new().unwrap();
        for letter in "αβγδθθ₁₂μσηνℓτΔφφ−–…×±≤≥≈√∞⁰¹²³⁴⁵⁶⁷⁸⁹⁻äöüßéçøñŞıžЖя€%[](){}<>&\"'".chars()
        {
            // The script l is in none of our figures.
            assert!(letter == 'ℓ' || font.glyph(letter) != GlyphId::NOTDEF, "{letter}");
        }
    }
}
