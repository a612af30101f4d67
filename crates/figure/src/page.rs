//! The size of a page.

use crate::drawing::Size;
use crate::panels::columns;

/// The least and the largest height of letters, in points.
const LETTERS: [f64; 2] = [1.0, 200.0];
/// The least and the largest width and height of a page, in millimetres.
const LENGTHS: [f64; 2] = [5.0, 5000.0];

/// Why there is no page.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PageError {
    /// The letters leave no room for a figure.
    #[error(
        "a page of {width:.0} × {height:.0} mm has no room for letters of {font_size:.1} pt: give more width and height, or a \
         smaller font size"
    )]
    NoRoom {
        /// Width of the page in millimetres.
        width: f64,
        /// Its height.
        height: f64,
        /// Height of the letters in points.
        font_size: f64,
    },
    /// The page or its letters have no usual size.
    #[error("{what} of {found} {unit}: needed {least} to {most} {unit}")]
    Size {
        /// What has it: a width, a height or a font size.
        what: &'static str,
        /// What was asked for.
        found: f64,
        /// The least that can be drawn.
        least: f64,
        /// The most that can be drawn.
        most: f64,
        /// Their unit.
        unit: &'static str,
    },
}

/// The page that is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Page {
    /// Width in millimetres; a column of a paper has about 85.
    pub width: f64,
    /// Height in millimetres; if absent .72 of the width, at most 90, and with several panels .75 of the width of a panel for each row of
    /// them, with 14 for the words.
    pub height: Option<f64>,
    /// Height of the letters in points.
    pub font_size: f64,
}

impl Page {
    /// Width and height with so many panels.
    ///
    /// # Errors
    /// [`PageError`] if a length is out of all bounds, or the letters leave no room.
    pub fn size(&self, panels: usize) -> Result<Size, PageError> {
        let Self {
            width,
            height,
            font_size,
        } = *self;
        expect_size("a font size", font_size, LETTERS, "pt")?;
        for (what, length) in [("a width", Some(width)), ("a height", height)] {
            length.map_or(Ok(()), |length| expect_size(what, length, LENGTHS, "mm"))?;
        }
        let beside = columns(panels, Size::millimetres(width, width).width, font_size);
        let usual = match panels {
            0 | 1 => (0.72 * width).min(90.0),
            _ => 0.75 * width / beside as f64 * panels.div_ceil(beside) as f64 + 14.0,
        };
        let height = height.unwrap_or(usual);
        let size = Size::millimetres(width, height);
        match size.width >= 15.0 * font_size && size.height >= 10.0 * font_size {
            true => Ok(size),
            false => Err(PageError::NoRoom {
                width,
                height,
                font_size,
            }),
        }
    }
}

/// Requires a size in `[least, most]`.
fn expect_size(
    what: &'static str,
    found: f64,
    [least, most]: [f64; 2],
    unit: &'static str,
) -> Result<(), PageError> {
    match (least..=most).contains(&found) {
        true => Ok(()),
        false => Err(PageError::Size {
            what,
            found,
            least,
            most,
            unit,
        }),
    }
}
