//! Drawings as PDF, with the font in the file, so that texts can be searched and edited.

use std::collections::BTreeMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{CidFontType, FontFlags, LineJoinStyle, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str};

use crate::drawing::{Area, Colour, Drawing, Line, Shape, Text};
use crate::font;

const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const CONTENT: Ref = Ref::new(4);
const FONT: Ref = Ref::new(5);
const LETTERS: Ref = Ref::new(6);
const DESCRIPTOR: Ref = Ref::new(7);
const FONT_FILE: Ref = Ref::new(8);
const UNICODE: Ref = Ref::new(9);

const FONT_NAME: Name<'static> = Name(b"F");
/// The six letters before the name say that the font is a subset of Roboto.
const BASE_FONT: Name<'static> = Name(b"MSHFLD+Roboto");
const ORDERING: SystemInfo<'static> = SystemInfo {
    registry: Str(b"Adobe"),
    ordering: Str(b"Identity"),
    supplement: 0,
};

impl Drawing {
    /// A PDF of one page.
    pub fn pdf(&self) -> Vec<u8> {
        let page = page(self);
        let mut pdf = Pdf::new();
        pdf.catalog(CATALOG).pages(PAGES);
        pdf.pages(PAGES).kids([PAGE]).count(1);
        write_page(&mut pdf, self, &page);
        let content = compressed(&page.content.finish());
        pdf.stream(CONTENT, &content).filter(Filter::FlateDecode);
        write_font(&mut pdf, &page.letters);
        pdf.finish()
    }
}

/// A page in progress.
struct Page {
    content: Content,
    height: f32,
    /// The opacities of areas in thousandths.
    opacities: Vec<u16>,
    /// The letters that were written, by their glyphs.
    letters: BTreeMap<u16, char>,
}

fn page(drawing: &Drawing) -> Page {
    let mut page = Page {
        content: Content::new(),
        height: drawing.size.height as f32,
        opacities: Vec::new(),
        letters: BTreeMap::new(),
    };
    page.content.set_line_join(LineJoinStyle::RoundJoin);
    drawing.shapes.iter().for_each(|shape| page.draw(shape));
    page
}

impl Page {
    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Line(line) => self.line(line),
            Shape::Area(area) => self.area(area),
            Shape::Text(text) => self.text(text),
            Shape::Clipped { frame, shapes } => {
                let bottom = self.up(frame.bottom);
                let (width, height) = (frame.width() as f32, frame.height() as f32);
                self.content.save_state();
                self.content.rect(frame.left as f32, bottom, width, height);
                self.content.clip_nonzero().end_path();
                shapes.iter().for_each(|shape| self.draw(shape));
                self.content.restore_state();
            }
        }
    }

    /// A PDF counts from the lower edge.
    fn up(&self, y: f64) -> f32 {
        self.height - y as f32
    }

    fn path(&mut self, places: &[crate::drawing::Place]) {
        for (index, place) in places.iter().enumerate() {
            let (x, y) = (place.x as f32, self.up(place.y));
            match index {
                0 => self.content.move_to(x, y),
                _ => self.content.line_to(x, y),
            };
        }
    }

    fn line(&mut self, line: &Line) {
        let [red, green, blue] = parts(line.colour);
        let dash = line.dash.iter().map(|length| *length as f32);
        self.content.set_stroke_rgb(red, green, blue);
        self.content.set_line_width(line.width as f32);
        self.content.set_dash_pattern(dash, 0.0);
        self.path(&line.places);
        self.content.stroke();
    }

    fn area(&mut self, area: &Area) {
        let [red, green, blue] = parts(area.colour);
        let opacity = (1000.0 * area.opacity).round() as u16;
        if !self.opacities.contains(&opacity) {
            self.opacities.push(opacity);
        }
        let name = opacity_name(opacity);
        self.content.set_parameters(Name(name.as_bytes()));
        self.content.set_fill_rgb(red, green, blue);
        self.path(&area.corners);
        self.content.close_path().fill_nonzero();
    }

    fn text(&mut self, text: &Text) {
        let [red, green, blue] = parts(text.colour);
        let before = (text.anchor.share_before() * font::width(&text.text) * text.size) as f32;
        let (x, y) = (text.at.x as f32, self.up(text.at.y));
        let place = match text.is_turned {
            true => [0.0, 1.0, -1.0, 0.0, x, y - before],
            false => [1.0, 0.0, 0.0, 1.0, x - before, y],
        };
        let glyphs = text
            .text
            .chars()
            .map(|letter| (font::glyph(letter).0, letter));
        let glyphs: Vec<(u16, char)> = glyphs.collect();
        self.letters.extend(glyphs.iter().copied());
        let bytes = glyphs.iter().flat_map(|(glyph, _)| glyph.to_be_bytes());
        let bytes: Vec<u8> = bytes.collect();
        let opaque = opacity_name(1000);
        self.content.set_parameters(Name(opaque.as_bytes()));
        self.content.set_fill_rgb(red, green, blue);
        self.content.begin_text();
        self.content.set_font(FONT_NAME, text.size as f32);
        self.content.set_text_matrix(place);
        self.content.show(Str(&bytes));
        self.content.end_text();
    }
}

fn write_page(pdf: &mut Pdf, drawing: &Drawing, content: &Page) {
    let mut page = pdf.page(PAGE);
    let (width, height) = (drawing.size.width as f32, drawing.size.height as f32);
    page.media_box(Rect::new(0.0, 0.0, width, height));
    page.parent(PAGES);
    page.contents(CONTENT);
    let mut resources = page.resources();
    resources.fonts().pair(FONT_NAME, FONT);
    let mut states = resources.ext_g_states();
    for &opacity in &content.opacities {
        let share = f32::from(opacity) / 1000.0;
        let name = opacity_name(opacity);
        let mut state = states
            .insert(Name(name.as_bytes()))
            .start::<pdf_writer::writers::ExtGraphicsState<'_>>();
        state.non_stroking_alpha(share);
    }
}

/// The font with the letters that were written.
fn write_font(pdf: &mut Pdf, letters: &BTreeMap<u16, char>) {
    let face = font::face();
    let size = 1000.0 / f32::from(face.units_per_em());
    let scaled = |units: i16| f32::from(units) * size;
    let mut whole = pdf.type0_font(FONT);
    whole.base_font(BASE_FONT);
    whole.encoding_predefined(Name(b"Identity-H"));
    whole.descendant_font(LETTERS).to_unicode(UNICODE);
    whole.finish();
    let mut part = pdf.cid_font(LETTERS);
    part.subtype(CidFontType::Type2).base_font(BASE_FONT);
    part.system_info(ORDERING).font_descriptor(DESCRIPTOR);
    part.cid_to_gid_map_predefined(Name(b"Identity"));
    let mut widths = part.widths();
    for &glyph in letters.keys() {
        let width = face.glyph_hor_advance(ttf_parser::GlyphId(glyph));
        widths.consecutive(glyph, [f32::from(width.unwrap_or(0)) * size]);
    }
    widths.finish();
    part.finish();
    let bounds = face.global_bounding_box();
    let mut descriptor = pdf.font_descriptor(DESCRIPTOR);
    descriptor.name(BASE_FONT).flags(FontFlags::SYMBOLIC);
    descriptor.bbox(Rect::new(
        scaled(bounds.x_min),
        scaled(bounds.y_min),
        scaled(bounds.x_max),
        scaled(bounds.y_max),
    ));
    descriptor.italic_angle(0.0).ascent(scaled(face.ascender()));
    descriptor.descent(scaled(face.descender()));
    descriptor.cap_height(scaled(face.capital_height().unwrap_or(face.ascender())));
    descriptor.stem_v(80.0).font_file2(FONT_FILE);
    descriptor.finish();
    let mut file = pdf.stream(FONT_FILE, font::FILE);
    file.pair(Name(b"Length1"), font::FILE.len() as i32);
    file.finish();
    let mut map = UnicodeCmap::new(Name(b"Letters"), ORDERING);
    for (&glyph, &letter) in letters {
        map.pair(glyph, letter);
    }
    pdf.cmap(UNICODE, &map.finish());
}

fn opacity_name(opacity: u16) -> String {
    format!("O{opacity}")
}

fn parts(Colour(parts): Colour) -> [f32; 3] {
    parts.map(|part| f32::from(part) / 255.0)
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Memory takes what it is given.
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.unwrap_or_default()
}
