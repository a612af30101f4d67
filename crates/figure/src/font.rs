//! The font of figures: widths, outlines and glyphs of its letters.

use std::sync::LazyLock;

use ttf_parser::{Face, GlyphId};

/// The file of the font.
pub(crate) const FILE: &[u8] = include_bytes!("../font/Roboto-Regular.ttf");

/// What an SVG asks for: the font, and those that look alike where it is not installed.
pub(crate) const FAMILY: &str = "Roboto, Arial, Helvetica, sans-serif";

#[expect(clippy::expect_used, reason = "the file is a part of the program")]
static FACE: LazyLock<Face<'static>> =
    LazyLock::new(|| Face::parse(FILE, 0).expect("the font is whole"));

/// The font.
pub(crate) fn face() -> &'static Face<'static> {
    &FACE
}

/// The glyph of a letter; that of unknown letters, an empty box, if the font has none.
pub(crate) fn glyph(letter: char) -> GlyphId {
    face().glyph_index(letter).unwrap_or(GlyphId(0))
}

/// The width of a letter of size 1.
fn advance(letter: char) -> f64 {
    let units = face().glyph_hor_advance(glyph(letter)).unwrap_or(0);
    f64::from(units) / f64::from(face().units_per_em())
}

/// The width of `text` in letters of size 1.
pub(crate) fn width(text: &str) -> f64 {
    text.chars().map(advance).sum()
}

/// The glyph of each letter of `text`, and where it starts in letters of size 1.
pub(crate) fn glyphs(text: &str) -> impl Iterator<Item = (GlyphId, f64)> {
    let mut start = 0.0;
    text.chars().map(move |letter| {
        let place = (glyph(letter), start);
        start += advance(letter);
        place
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_font() {
        // Advances of Roboto in 1/2048: A 1336, space 508.
        assert_eq!(width("A"), 1336.0 / 2048.0);
        assert_eq!(width("A A"), (2.0 * 1336.0 + 508.0) / 2048.0);
        assert_eq!(width(""), 0.0);
    }

    #[test]
    fn every_sign_that_figures_write_is_there() {
        for letter in "0123456789−.,%()⁰¹²³⁴⁵⁶⁷⁸⁹⁻×½λε–".chars() {
            assert_ne!(glyph(letter), GlyphId(0), "{letter}");
        }
        assert_eq!(glyph('本'), GlyphId(0));
    }
}
