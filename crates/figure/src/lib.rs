//! Figures for print: curves with bands or marks, bars or dots over two axes, and graphs, in one panel or several, as SVG, PDF or PNG.
//!
//! [`Figure`] and [`GraphFigure`] say what is drawn. Their [`Drawing`] is written by [`svg`](Drawing::svg), [`pdf`](Drawing::pdf) and
//! [`png`](Drawing::png). The ground is white, colours can be
//! told apart by people who are colour-blind, and curves differ in their dashes where colours are not printed. The same figure gives
//! the same bytes.
//!
//! The drawing is this crate's own: plotting crates for Rust place shapes on whole pixels, which shows on a page of 85 mm. Files are
//! written by `svg`, `pdf-writer` and `tiny-skia`.

mod axis;
mod bars;
mod beside;
mod dots;
mod drawing;
mod error_bar;
mod figure;
mod font;
mod format;
mod graphs;
mod layout;
mod legend;
mod marks;
mod page;
mod panels;
mod pdf;
mod png;
mod style;
mod svg;
mod value_ticks;

pub use axis::{Axis, AxisValue, Scale, Unit, bytes_unit};
pub use drawing::{Drawing, Size};
pub use figure::{Bar, Curve, Dot, Figure, Panel, Point};
pub use format::Format;
pub use graphs::{Graph, GraphFigure};
pub use page::{Page, PageError};
pub use panels::columns;
pub use png::PngError;
pub use style::{COLOURS, DASHES, Key, Legend, Style, Swatch};
