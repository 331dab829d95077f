//! The letters of a picture: how wide a text is, and the outlines that paint it, the same on every machine.

use anyhow::{Context, Result, bail};
use std::collections::HashMap;
use tiny_skia::PathBuilder;

use super::picture::{Anchor, Text};

/// DejaVu Sans, as far as labels need it; fonts/README.md says which part, fonts/outlines.py how it is written.
const FONT: &str = include_str!("../../fonts/DejaVuSans-outlines.txt");
/// Stands for characters that the font does not have.
const UNKNOWN: char = '\u{fffd}';

/// The font that pictures are lettered in.
pub struct Font {
    /// Units of its design that make the size of its letters.
    units: f64,
    letters: HashMap<char, Letter>,
    unknown: Letter,
}

/// A letter, in units of the font's design.
#[derive(Clone, Copy)]
struct Letter {
    /// How far the next letter stands from this one.
    advance: f64,
    /// Its curves, such as `M0 0L2 0Q2 2 0 2Z`.
    outline: &'static str,
}

impl Font {
    /// The embedded one.
    pub fn new() -> Result<Self> {
        let mut lines = FONT.lines();
        let units = lines.next().and_then(|line| line.parse().ok()).context("the embedded font has no size")?;
        let letters = lines.map(|line| letter(line).with_context(|| format!("the embedded font: {line}")));
        let letters = letters.collect::<Result<HashMap<char, Letter>>>()?;
        let unknown = *letters.get(&UNKNOWN).context("the embedded font has no glyph for unknown characters")?;
        Ok(Self { units, letters, unknown })
    }

    /// Width of a text whose letters have this size.
    pub fn width(&self, text: &str, size: f64) -> f64 {
        text.chars().map(|letter| self.letter(letter).advance).sum::<f64>() * size / self.units
    }

    /// Outlines of a text at its place, in pixels.
    pub fn outlines(&self, text: &Text) -> Result<PathBuilder> {
        let width = self.width(&text.text, text.size);
        let mut along = match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => -0.5 * width,
            Anchor::End => -width,
        };
        let unit = text.size / self.units;
        let mut path = PathBuilder::new();
        for letter in text.text.chars().map(|letter| self.letter(letter)) {
            draw(&mut path, letter.outline, |x, y| {
                // The font counts upward, the picture downward.
                let (along, down) = (along + x * unit, -y * unit);
                let (x, y) = if text.upward { (down, -along) } else { (along, down) };
                ((text.at.0 + x) as f32, (text.at.1 + y) as f32)
            })?;
            along += letter.advance * unit;
        }
        Ok(path)
    }

    fn letter(&self, letter: char) -> Letter {
        self.letters.get(&letter).copied().unwrap_or(self.unknown)
    }
}

/// The letter of a line: its number, its advance and its outline, if it has one.
fn letter(line: &'static str) -> Option<(char, Letter)> {
    let mut words = line.splitn(3, ' ');
    let which = char::from_u32(u32::from_str_radix(words.next()?, 16).ok()?)?;
    let advance = words.next()?.parse().ok()?;
    Some((which, Letter { advance, outline: words.next().unwrap_or_default() }))
}

/// Add the curves of a letter to `path`, each point where `place` puts it.
fn draw(path: &mut PathBuilder, outline: &str, place: impl Fn(f64, f64) -> (f32, f32)) -> Result<()> {
    for stroke in outline.split_ascii_whitespace() {
        let (command, numbers) = stroke.split_at(1);
        let numbers: Vec<f64> = numbers.split(',').filter_map(|number| number.parse().ok()).collect();
        match (command, numbers.as_slice()) {
            ("M", &[x, y]) => {
                let (x, y) = place(x, y);
                path.move_to(x, y);
            }
            ("L", &[x, y]) => {
                let (x, y) = place(x, y);
                path.line_to(x, y);
            }
            ("Q", &[x1, y1, x, y]) => {
                let ((x1, y1), (x, y)) = (place(x1, y1), place(x, y));
                path.quad_to(x1, y1, x, y);
            }
            ("Z", []) => path.close(),
            _ => bail!("the embedded font: {stroke} is not a valid stroke"),
        }
    }
    Ok(())
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
    fn identity_every_letter_can_be_drawn() {
        let font = Font::new().unwrap();
        for (which, letter) in &font.letters {
            let mut path = PathBuilder::new();
            draw(&mut path, letter.outline, |x, y| (x as f32, y as f32)).unwrap();
            // Some are spaces.
            assert_eq!(path.finish().is_some(), !letter.outline.is_empty(), "{which:?}");
        }
    }

    #[test]
    fn identity_every_character_of_our_labels_is_there() {
        let font = Font::new().unwrap();
        for letter in "αβγδθθ₁₂μσηνℓτΔφφ−–…×±≤≥≈√∞⁰¹²³⁴⁵⁶⁷⁸⁹⁻äöüßéçøñŞıžЖя€%[](){}<>&\"'".chars()
        {
            // The script l is in none of our figures.
            assert!(letter == 'ℓ' || font.letters.contains_key(&letter), "{letter}");
        }
    }
}
