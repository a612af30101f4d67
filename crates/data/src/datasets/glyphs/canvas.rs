//! A small greyscale image that thick lines with soft edges are drawn on.

/// Pixels per side of a glyph.
pub(super) const SIDE: usize = 28;

/// `SIDE * SIDE` pixels of ink between 0 and 1, row-major, y downwards.
pub(super) struct Canvas {
    ink: [f32; SIDE * SIDE],
}

impl Canvas {
    /// A blank sheet.
    pub(super) fn new() -> Self {
        Self {
            ink: [0.0; SIDE * SIDE],
        }
    }

    /// Draws the straight line `from`-`to` (pixel coordinates) with a round pen of `radius` pixels.
    ///
    /// Ink falls off linearly over one pixel at the edge; crossing lines take the darker of the two.
    pub(super) fn line(&mut self, from: (f32, f32), to: (f32, f32), radius: f32) {
        let reach = radius + 0.5;
        let (left, right) = span(from.0, to.0, reach);
        let (top, bottom) = span(from.1, to.1, reach);
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let inverse = 1.0 / (dx * dx + dy * dy).max(1e-12);
        for y in top..bottom {
            for x in left..right {
                let (px, py) = (x as f32 - from.0, y as f32 - from.1);
                let along = ((px * dx + py * dy) * inverse).clamp(0.0, 1.0);
                let (ex, ey) = (px - along * dx, py - along * dy);
                let ink = (reach - (ex * ex + ey * ey).sqrt()).clamp(0.0, 1.0);
                let pixel = &mut self.ink[y * SIDE + x];
                *pixel = pixel.max(ink);
            }
        }
    }

    /// The ink of every pixel.
    pub(super) fn ink(&self) -> &[f32; SIDE * SIDE] {
        &self.ink
    }
}

/// The pixels within `reach` of the interval between `a` and `b`, as a half-open range on the sheet.
fn span(a: f32, b: f32, reach: f32) -> (usize, usize) {
    let first = (a.min(b) - reach).ceil().clamp(0.0, SIDE as f32);
    let past = (a.max(b) + reach).floor() + 1.0;
    (first as usize, past.clamp(0.0, SIDE as f32) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_dark_on_itself_and_blank_beyond_its_reach() {
        let mut canvas = Canvas::new();
        canvas.line((5.0, 10.0), (20.0, 10.0), 1.0);
        let at = |x: usize, y: usize| canvas.ink()[y * SIDE + x];
        assert_eq!(at(12, 10), 1.0);
        assert_eq!(at(12, 11), 0.5);
        assert_eq!(at(12, 12), 0.0);
        assert_eq!(at(22, 10), 0.0);
    }

    #[test]
    fn lines_off_the_sheet_are_clipped() {
        let mut canvas = Canvas::new();
        canvas.line((-40.0, -3.0), (60.0, -0.2), 1.0);
        canvas.line((-40.0, -30.0), (-35.0, 70.0), 2.0);
        assert!(canvas.ink()[SIDE..].iter().take(SIDE).all(|&i| i < 0.31));
        assert_eq!(canvas.ink()[5 * SIDE], 0.0);
    }
}
