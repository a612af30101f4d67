//! Drawings as PNG.

use tiny_skia::{
    Color, FillRule, LineJoin, Mask, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash,
    Transform,
};
use ttf_parser::OutlineBuilder;

use crate::drawing::{Area, Colour, Drawing, Frame, Line, Place, Shape, Text};
use crate::font;

/// Why an image cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// It has no pixels, or too many.
    #[error(
        "an image of {width} × {height} pixels cannot be made; needed 1 to {MOST_PIXELS} on each side"
    )]
    Size {
        /// From left to right.
        width: f64,
        /// From top to bottom.
        height: f64,
    },
    /// The pixels cannot be written as PNG.
    #[error("the image cannot be written as PNG: {0}")]
    Encoding(String),
}

/// The most pixels from edge to edge.
const MOST_PIXELS: f64 = 20_000.0;

impl Drawing {
    /// A PNG of so many pixels an inch.
    ///
    /// # Errors
    /// [`PngError::Size`] if there would be no pixels or too many.
    pub fn png(&self, pixels_per_inch: f64) -> Result<Vec<u8>, PngError> {
        let scale = pixels_per_inch / 72.0;
        let [width, height] =
            [self.size.width, self.size.height].map(|length| (length * scale).round());
        let is_possible = |length: f64| (1.0..=MOST_PIXELS).contains(&length);
        let pixmap = match is_possible(width) && is_possible(height) {
            true => Pixmap::new(width as u32, height as u32),
            false => None,
        };
        let mut pixmap = pixmap.ok_or(PngError::Size { width, height })?;
        // The page may end within the last pixels, which are white nevertheless.
        pixmap.fill(Color::WHITE);
        let mut canvas = Canvas {
            pixmap,
            scale: Transform::from_scale(scale as f32, scale as f32),
            mask: None,
        };
        for shape in &self.shapes {
            canvas.draw(shape);
        }
        let encoded = canvas.pixmap.encode_png();
        encoded.map_err(|error| PngError::Encoding(error.to_string()))
    }
}

/// An image in progress.
struct Canvas {
    pixmap: Pixmap,
    /// From points to pixels.
    scale: Transform,
    /// What is seen of the shapes; everything if absent.
    mask: Option<Mask>,
}

impl Canvas {
    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Line(line) => self.line(line),
            Shape::Area(area) => self.area(area),
            Shape::Text(text) => self.text(text),
            Shape::Clipped { frame, shapes } => {
                let mask = self.mask_of(*frame);
                let outer = std::mem::replace(&mut self.mask, mask);
                shapes.iter().for_each(|shape| self.draw(shape));
                self.mask = outer;
            }
        }
    }

    fn mask_of(&self, frame: Frame) -> Option<Mask> {
        let [left, top, right, bottom] =
            [frame.left, frame.top, frame.right, frame.bottom].map(|length| length as f32);
        let rectangle = Rect::from_ltrb(left, top, right, bottom)?;
        let mut mask = Mask::new(self.pixmap.width(), self.pixmap.height())?;
        let path = PathBuilder::from_rect(rectangle);
        mask.fill_path(&path, FillRule::Winding, true, self.scale);
        Some(mask)
    }

    fn line(&mut self, line: &Line) {
        let Some(path) = path(&line.places, false) else {
            return;
        };
        let dash = line.dash.iter().map(|length| *length as f32).collect();
        let stroke = Stroke {
            width: line.width as f32,
            line_join: LineJoin::Round,
            dash: StrokeDash::new(dash, 0.0),
            ..Stroke::default()
        };
        let paint = paint(line.colour, 1.0);
        let mask = self.mask.as_ref();
        self.pixmap
            .stroke_path(&path, &paint, &stroke, self.scale, mask);
    }

    fn area(&mut self, area: &Area) {
        if let Some(path) = path(&area.corners, true) {
            self.fill(&path, &paint(area.colour, area.opacity), self.scale);
        }
    }

    fn text(&mut self, text: &Text) {
        let mut builder = PathBuilder::new();
        let units = f32::from(font::face().units_per_em());
        for (glyph, start) in font::glyphs(&text.text) {
            let mut outline = GlyphOutline {
                builder: &mut builder,
                start: start as f32,
                unit: 1.0 / units,
            };
            // A blank has no outline.
            let _ = font::face().outline_glyph(glyph, &mut outline);
        }
        let Some(path) = builder.finish() else {
            return;
        };
        let before = -text.anchor.share_before() * font::width(&text.text);
        let turn = if text.is_turned { -90.0 } else { 0.0 };
        let place = self
            .scale
            .pre_translate(text.at.x as f32, text.at.y as f32)
            .pre_rotate(turn)
            .pre_scale(text.size as f32, text.size as f32)
            .pre_translate(before as f32, 0.0);
        self.fill(&path, &paint(text.colour, 1.0), place);
    }

    fn fill(&mut self, path: &Path, paint: &Paint<'_>, place: Transform) {
        let mask = self.mask.as_ref();
        self.pixmap
            .fill_path(path, paint, FillRule::Winding, place, mask);
    }
}

fn paint(Colour([red, green, blue]): Colour, opacity: f64) -> Paint<'static> {
    let mut paint = Paint::default();
    let mut colour = Color::from_rgba8(red, green, blue, 255);
    colour.apply_opacity(opacity as f32);
    paint.set_color(colour);
    paint
}

/// The path through `places`; `None` if there are fewer than two.
fn path(places: &[Place], is_closed: bool) -> Option<Path> {
    let mut builder = PathBuilder::new();
    let (first, others) = places.split_first()?;
    builder.move_to(first.x as f32, first.y as f32);
    for place in others {
        builder.line_to(place.x as f32, place.y as f32);
    }
    if is_closed {
        builder.close();
    }
    builder.finish()
}

/// The outline of a letter, upside down as images are.
struct GlyphOutline<'a> {
    builder: &'a mut PathBuilder,
    start: f32,
    unit: f32,
}

impl GlyphOutline<'_> {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        (self.start + x * self.unit, -y * self.unit)
    }
}

impl OutlineBuilder for GlyphOutline<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.builder.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.builder.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.builder.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2)) = (self.place(x1, y1), self.place(x2, y2));
        let (x, y) = self.place(x, y);
        self.builder.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.builder.close();
    }
}
