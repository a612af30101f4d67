//! Where the panels of a figure lie on its page.

use crate::drawing::Frame;
use crate::figure::Panel;
use crate::legend::lines;

/// The least width of a panel in heights of letters, with the space around it.
const LEAST_WIDTH: f64 = 14.0;
/// The least height of the frame of one of several panels, in heights of letters.
pub(crate) const LEAST_HEIGHT: f64 = 6.0;
/// Height of a line of a title, and the space below the last, in heights of letters.
pub(crate) const LINE: f64 = 1.2;
pub(crate) const BELOW_TITLE: f64 = 0.5;
/// Space between two rows of panels, in heights of letters.
const BETWEEN_ROWS: f64 = 0.7;
/// Space between labels of neighbouring panels, in heights of letters.
const BETWEEN_LABELS: f64 = 0.5;

/// How many of so many panels stand side by side on a page of `width`, with letters of `font_size`, both in points: as many as have
/// room, or fewer where no row would be added.
pub fn columns(panels: usize, width: f64, font_size: f64) -> usize {
    let panels = panels.max(1);
    let most = ((width / (LEAST_WIDTH * font_size)) as usize).clamp(1, panels);
    panels.div_ceil(panels.div_ceil(most))
}

/// The width of each of `columns` panels, and the space between their labels, on `width` points.
pub(crate) fn width_of_one(width: f64, columns: usize, label_width: f64, font_size: f64) -> f64 {
    part(width, columns, label_width + BETWEEN_LABELS * font_size)
}

/// The length of each of `count` parts of `whole`, with `between` between two.
pub(crate) fn part(whole: f64, count: usize, between: f64) -> f64 {
    (whole - between * count.saturating_sub(1) as f64) / count.max(1) as f64
}

/// The lines of the title of each panel of `width`, and the height that all panels need for them, both in points.
pub(crate) fn titles_in_lines<'t>(
    titles: impl Iterator<Item = &'t str>,
    width: f64,
    font_size: f64,
) -> (Vec<Vec<String>>, f64) {
    let in_lines = |title: &str| match title.is_empty() {
        true => Vec::new(),
        false => lines(title, width / font_size),
    };
    let titles: Vec<Vec<String>> = titles.map(in_lines).collect();
    let above = match titles.iter().map(Vec::len).max() {
        None | Some(0) => 0.0,
        Some(most) => (most as f64 * LINE + BELOW_TITLE) * font_size,
    };
    (titles, above)
}

/// A panel on the page.
pub(crate) struct Cell {
    /// Where its curves are drawn.
    pub(crate) frame: Frame,
    /// The lines of its title, above the frame.
    pub(crate) title: Vec<String>,
    /// Whether no panel is to the left of it.
    pub(crate) is_leftmost: bool,
    /// Whether no panel is below it.
    pub(crate) is_lowest: bool,
}

/// How `panels` share a part of the page.
pub(crate) struct Sharing {
    pub(crate) columns: usize,
    pub(crate) font_size: f64,
    /// The width of the widest number of the horizontal axis, in points.
    pub(crate) label_width: f64,
}

impl Sharing {
    /// The place of each of `panels` in `area`. All frames are of one size.
    pub(crate) fn cells(&self, panels: &[Panel], area: Frame) -> Vec<Cell> {
        let size = self.font_size;
        let rows = panels.len().div_ceil(self.columns);
        let between = [
            self.label_width + BETWEEN_LABELS * size,
            BETWEEN_ROWS * size,
        ];
        let width = width_of_one(area.width(), self.columns, self.label_width, size);
        let titles = panels.iter().map(|panel| panel.title.as_str());
        let (titles, above) = titles_in_lines(titles, width, size);
        let height = part(area.height(), rows, between[1]) - above;
        let cell = |(place, title): (usize, Vec<String>)| {
            let (row, column) = (place / self.columns, place % self.columns);
            let left = area.left + column as f64 * (width + between[0]);
            let top = area.top + row as f64 * (height + above + between[1]) + above;
            Cell {
                frame: Frame {
                    left,
                    top,
                    right: left + width,
                    bottom: top + height,
                },
                title,
                is_leftmost: column == 0,
                is_lowest: place + self.columns >= panels.len(),
            }
        };
        titles.into_iter().enumerate().map(cell).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_panels_stand_side_by_side_as_have_room_and_rows_are_even() {
        let beside = |panels: usize, letters: f64| columns(panels, 8.0 * letters, 8.0);
        assert_eq!(beside(3, 60.0), 3);
        assert_eq!(beside(3, 30.0), 2);
        assert_eq!(beside(5, 60.0), 3, "three and two, not four and one");
        assert_eq!(beside(12, 60.0), 4);
        assert_eq!(
            [beside(1, 60.0), beside(4, 5.0), beside(0, 60.0)],
            [1, 1, 1]
        );
    }

    #[test]
    fn frames_share_the_area_and_do_not_overlap() {
        let area = Frame {
            left: 10.0,
            top: 5.0,
            right: 210.0,
            bottom: 155.0,
        };
        let panel = |title: &str| Panel {
            title: title.to_owned(),
            ..Panel::default()
        };
        let panels = [
            "ring",
            "star",
            "a title that needs more than one line of words",
        ]
        .map(panel);
        let sharing = Sharing {
            columns: 2,
            font_size: 8.0,
            label_width: 12.0,
        };
        let cells = sharing.cells(&panels, area);
        assert!(cells[2].title.len() > 1 && cells[0].title == ["ring"]);
        let frames: Vec<Frame> = cells.iter().map(|cell| cell.frame).collect();
        assert!((frames[1].right - area.right).abs() < 1e-9);
        assert!((frames[2].bottom - area.bottom).abs() < 1e-9);
        assert!(frames[0].right + 12.0 < frames[1].left);
        let above = (cells[2].title.len() as f64 * LINE + BELOW_TITLE) * 8.0;
        assert!(frames[0].bottom < frames[2].top - above);
        let ends = |of: fn(&Cell) -> bool| cells.iter().map(of).collect::<Vec<bool>>();
        assert_eq!(ends(|cell| cell.is_leftmost), [true, false, true]);
        assert_eq!(ends(|cell| cell.is_lowest), [false, true, true]);
        let alone = Sharing {
            columns: 1,
            ..sharing
        };
        let whole = alone.cells(&[Panel::default()], area);
        assert_eq!(whole[0].frame, area);
    }
}
