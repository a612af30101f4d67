//! The formats of files.

use crate::drawing::Drawing;
use crate::png::PngError;
use std::path::Path;

/// How a figure is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Shapes, for browsers.
    Svg,
    /// Shapes, for print.
    Pdf,
    /// Pixels.
    Png,
}

impl Format {
    /// The format that the ending of a file's name says, `.svg`, `.pdf` or `.png`; `None` if it says none of these.
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?;
        match ending.to_lowercase().as_str() {
            "svg" => Some(Self::Svg),
            "pdf" => Some(Self::Pdf),
            "png" => Some(Self::Png),
            _ => None,
        }
    }
}

impl Drawing {
    /// The bytes of a file in `format`; a PNG has so many `pixels_per_inch`.
    ///
    /// # Errors
    /// [`PngError`] if a PNG would have no pixels or too many.
    pub fn file(&self, format: Format, pixels_per_inch: f64) -> Result<Vec<u8>, PngError> {
        match format {
            Format::Svg => Ok(self.svg().into_bytes()),
            Format::Pdf => Ok(self.pdf()),
            Format::Png => self.png(pixels_per_inch),
        }
    }
}
