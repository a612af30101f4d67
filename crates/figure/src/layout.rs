//! From a figure to shapes on a page.

use crate::axis::{Axis, Range, Scale, Tick, Unit};
use crate::dots;
use crate::drawing::{Anchor, Area, Colour, Drawing, Frame, Line, Place, Shape, Size, Text};
use crate::figure::{Curve, Figure, Panel, Point};
use crate::font;
use crate::legend::{CURVE, Rows};
use crate::panels::{BELOW_TITLE, Cell, LEAST_HEIGHT, LINE, Sharing, columns, width_of_one};

/// The colour of axes, words and error bars.
pub(crate) const INK: Colour = Colour([38; 3]);
const GRID: Colour = Colour([226; 3]);
/// Widths of lines in points.
const FRAME: f64 = 0.6;
const TICK: f64 = 2.5;
/// The fewest ticks of the vertical axis, where its height has room for them.
const FEWEST_TICKS: usize = 4;
/// The fewest ticks of the horizontal axis, where its width has room for their labels.
const FEWEST_X_TICKS: usize = 3;
/// How much a band covers what lies below it.
const BAND: f64 = 0.18;
/// Space beside the first and the last of the values of an axis, as a share of what lies between them.
pub(crate) const BESIDE_VALUES: f64 = 0.05;
/// Space at the edge of the page, in points.
pub(crate) const EDGE: f64 = 2.0;

impl Figure {
    /// The page with the figure on it.
    pub fn drawing(&self) -> Drawing {
        let ranges = self.ranges();
        let legend = Rows::of(&self.legend, self.size.width - 2.0 * EDGE, self.font_size);
        let size = self.page(&ranges, &legend);
        let area = self.area(&ranges, &legend, size);
        let mut shapes = vec![ground(size)];
        for (panel, cell) in self.panels.iter().zip(self.cells(&ranges, area)) {
            shapes.extend(self.panel(panel, &cell, &ranges));
        }
        shapes.extend(self.headings(&ranges, area));
        let corner = Place {
            x: EDGE,
            y: size.height - EDGE - legend.height(),
        };
        shapes.extend(legend.shapes(corner, INK));
        Drawing { size, shapes }
    }

    /// A panel with its title, its curves and its axes.
    fn panel(&self, panel: &Panel, cell: &Cell, ranges: &Ranges) -> Vec<Shape> {
        let frame = cell.frame;
        let place = |point: Point, value: f64| frame_place(ranges, frame, point.x, value);
        let curves = panel.curves.iter();
        let bands = curves
            .clone()
            .filter(|curve| !curve.is_marked)
            .flat_map(|curve| self.band(curve, ranges.y.low, &place));
        let shifts = self.shifts(panel, ranges, frame);
        let lines = curves.zip(shifts).flat_map(|(curve, shift)| {
            let place = |point: Point, value: f64| {
                let Place { x, y } = place(point, value);
                Place { x: x + shift, y }
            };
            let marks = self.marks(curve, ranges.y.low, &place);
            self.lines(curve, &place).into_iter().chain(marks)
        });
        let bars = panel.bars.iter();
        let bars = bars.flat_map(|bar| self.bar(bar, ranges, frame));
        let dots = dots::shapes(&panel.dots, ranges, frame);
        let inside = Shape::Clipped {
            frame,
            shapes: bars.chain(dots).chain(bands).chain(lines).collect(),
        };
        let mut shapes = self.title(cell);
        shapes.extend(self.grid(ranges, frame));
        shapes.push(inside);
        shapes.extend(self.axes(ranges, cell));
        shapes
    }

    /// The page: as high as was asked for, or higher where a long legend leaves no room for the title of the y-axis, or several
    /// rows of panels have none for curves.
    fn page(&self, ranges: &Ranges, legend: &Rows) -> Size {
        let area = self.area(ranges, legend, self.size);
        let title = self.font_size * font::width(&self.y.heading(&ranges.y));
        let cells = self.cells(ranges, area);
        let rows = cells.iter().filter(|cell| cell.is_leftmost).count();
        let of_panels = match cells.first().filter(|_| cells.len() > 1) {
            Some(cell) => rows as f64 * (LEAST_HEIGHT * self.font_size - cell.frame.height()),
            None => 0.0,
        };
        Size {
            height: self.size.height + (title - area.height()).max(of_panels).max(0.0),
            ..self.size
        }
    }

    /// How many panels stand side by side, and how many of these rows there are.
    fn columns_and_rows(&self) -> [usize; 2] {
        let columns = columns(self.panels.len(), self.size.width, self.font_size);
        [columns, self.panels.len().div_ceil(columns).max(1)]
    }

    /// Where the panels lie in `area`.
    fn cells(&self, ranges: &Ranges, area: Frame) -> Vec<Cell> {
        let [columns, _] = self.columns_and_rows();
        let one = Frame {
            right: area.left + area.width() / columns as f64,
            ..area
        };
        let sharing = Sharing {
            columns,
            font_size: self.font_size,
            label_width: self.x_label_width(&self.x_ticks(&ranges.x, one)),
        };
        sharing.cells(&self.panels, area)
    }

    /// How far labels of the horizontal axis may reach out of their panels, to both sides together. Names do not.
    fn x_label_width(&self, ticks: &[Tick]) -> f64 {
        match self.x.names.is_empty() {
            true => self.width_of(ticks),
            false => 0.0,
        }
    }

    /// The width of the widest label, in points.
    fn width_of(&self, ticks: &[Tick]) -> f64 {
        let widths = ticks.iter().map(|tick| font::width(&tick.label));
        self.font_size * widths.fold(0.0, f64::max)
    }

    /// Whether both axes have a place for a point.
    pub(crate) fn holds(&self, point: &Point) -> bool {
        self.x.scale.holds(point.x) && self.y.scale.holds(point.y)
    }

    fn ranges(&self) -> Ranges {
        let curves = self.panels.iter().flat_map(|panel| &panel.curves);
        let ends = self.panels.iter().flat_map(|panel| &panel.bars);
        let ends = ends.map(|bar| &bar.end);
        let points = curves.flat_map(|curve| &curve.points).chain(ends);
        let points: Vec<&Point> = points.filter(|point| self.holds(point)).collect();
        let from_0 = self.panels.iter().any(|panel| !panel.bars.is_empty());
        // Marks and error bars reach beyond their places.
        let mut curves = self.panels.iter().flat_map(|panel| &panel.curves);
        let has_marks = curves.any(|curve| curve.is_marked);
        let margin = match self.x.values.is_empty() && !has_marks {
            true => 0.0,
            false => BESIDE_VALUES,
        };
        Ranges {
            x: self
                .named_range()
                .unwrap_or_else(|| range(&self.x, points.iter().map(|point| point.x), margin)),
            y: match self.y.limits {
                Some([low, high]) => Range {
                    scale: self.y.scale,
                    low,
                    high,
                },
                None if from_0 && self.y.scale == Scale::Linear => {
                    self.within_shares(from_zero(&points), &points)
                }
                None => self.within_shares(with_bands(self.y.scale, &points), &points),
            },
        }
    }

    /// `range` without what lies below 0 or above 100 %, where no share can be, unless one of the `points` is there.
    fn within_shares(&self, range: Range, points: &[&Point]) -> Range {
        let are_shares = points.iter().all(|point| (0.0..=1.0).contains(&point.y));
        if self.y.unit != Unit::Share || self.y.scale != Scale::Linear || !are_shares {
            return range;
        }
        Range {
            low: range.low.max(0.0),
            high: range.high.min(1.0),
            ..range
        }
    }

    /// Where the panels are drawn: what the words around leave.
    fn area(&self, ranges: &Ranges, legend: &Rows, page: Size) -> Frame {
        let size = self.font_size;
        let [columns, rows] = self.columns_and_rows();
        let part = Frame {
            left: 0.0,
            top: 0.0,
            right: page.width / columns as f64,
            bottom: page.height / rows as f64,
        };
        let y_labels = self.width_of(&self.y_ticks(&ranges.y, part));
        let x_labels = self.x_label_width(&self.x_ticks(&ranges.x, part));
        let below = match legend.height() > 0.0 {
            true => legend.height() + 0.5 * size,
            false => 0.0,
        };
        let left = EDGE + 1.5 * size + y_labels + 2.0 * TICK;
        let right = page.width - EDGE - (0.5 * x_labels).max(2.0);
        let one = width_of_one(right - left, columns, x_labels, size);
        let more = self.more_than_a_line(one);
        Frame {
            left,
            top: EDGE + 0.5 * size,
            right,
            bottom: page.height - EDGE - below - (2.6 + more) * size - 2.0 * TICK,
        }
    }

    /// Ticks at the values of the axis if they have room. Else ticks with some space between them; with less if there are too few
    /// otherwise, and their labels do not touch.
    fn x_ticks(&self, range: &Range, frame: Frame) -> Vec<Tick> {
        if let Some(ticks) = self.value_ticks(range, frame) {
            return ticks;
        }
        let most = |spacing: f64| {
            let most = frame.width() / (spacing * self.font_size);
            (most as usize).max(2)
        };
        let [airy, dense] = [5.0, 2.5].map(most);
        let are_apart = |ticks: &Vec<Tick>| {
            let room = frame.width() / ticks.len() as f64;
            self.width_of(ticks) + self.font_size <= room
        };
        let mut found = (airy..=dense).map(|most| self.x.ticks(range, most));
        let enough = found.find(|ticks| ticks.len() >= FEWEST_X_TICKS && are_apart(ticks));
        enough.unwrap_or_else(|| self.x.ticks(range, airy))
    }

    /// Ticks at the values of the axis if they have room. Else ticks with some space between them; with less if there are too few
    /// otherwise.
    fn y_ticks(&self, range: &Range, frame: Frame) -> Vec<Tick> {
        if let Some(ticks) = self.y_value_ticks(range, frame) {
            return ticks;
        }
        let most = |spacing: f64| {
            let most = frame.height() / (spacing * self.font_size);
            (most as usize).max(2)
        };
        let [airy, dense] = [2.6, 1.5].map(most);
        let mut found = (airy..=dense).map(|most| self.y.ticks(range, most));
        let enough = found.find(|ticks| ticks.len() >= FEWEST_TICKS);
        enough.unwrap_or_else(|| self.y.ticks(range, dense))
    }

    /// Faint lines at the ticks.
    fn grid(&self, ranges: &Ranges, frame: Frame) -> Vec<Shape> {
        let line = |from, to| rule([from, to], GRID, 0.5);
        let across = self.y_ticks(&ranges.y, frame).into_iter().map(|tick| {
            let y = height(&ranges.y, frame, tick.value);
            line(Place { x: frame.left, y }, Place { x: frame.right, y })
        });
        across.collect()
    }

    /// The title of a panel.
    fn title(&self, cell: &Cell) -> Vec<Shape> {
        let (frame, size) = (cell.frame, self.font_size);
        let lines = cell.title.iter().rev().enumerate().map(|(above, line)| {
            let place = Place {
                x: 0.5 * (frame.left + frame.right),
                y: frame.top - (BELOW_TITLE + above as f64 * LINE) * size,
            };
            self.text(line.clone(), place, Anchor::Middle, false)
        });
        lines.collect()
    }

    /// The two axes with ticks. Panels that have one to the left or below have no numbers there.
    fn axes(&self, ranges: &Ranges, cell: &Cell) -> Vec<Shape> {
        let (frame, size) = (cell.frame, self.font_size);
        let corner = Place {
            x: frame.left,
            y: frame.bottom,
        };
        let mut shapes = vec![Shape::Line(Line {
            places: vec![
                Place {
                    x: frame.left,
                    y: frame.top,
                },
                corner,
                Place {
                    x: frame.right,
                    y: frame.bottom,
                },
            ],
            colour: INK,
            width: FRAME,
            dash: &[],
        })];
        for tick in self.x_ticks(&ranges.x, frame) {
            let x = across(&ranges.x, frame, tick.value);
            let [from, to, label] = [0.0, TICK, 2.0 * TICK + 0.75 * size].map(|down| Place {
                x,
                y: frame.bottom + down,
            });
            shapes.push(rule([from, to], INK, FRAME));
            if self.are_labels_turned(frame.width()) {
                let end = Place {
                    x: x + 0.35 * size,
                    y: frame.bottom + 2.0 * TICK,
                };
                if cell.is_lowest {
                    shapes.push(self.text(tick.label, end, Anchor::End, true));
                }
                continue;
            }
            let lines = self.label_lines(&tick.label, frame.width());
            for (below, line) in lines.into_iter().enumerate().filter(|_| cell.is_lowest) {
                let y = label.y + below as f64 * LINE * size;
                shapes.push(self.text(line, Place { x, y }, Anchor::Middle, false));
            }
        }
        for tick in self.y_ticks(&ranges.y, frame) {
            let y = height(&ranges.y, frame, tick.value);
            let [from, to] = [0.0, TICK].map(|out| Place {
                x: frame.left - out,
                y,
            });
            let label = Place {
                x: frame.left - 1.6 * TICK,
                y: y + 0.35 * size,
            };
            shapes.push(rule([from, to], INK, FRAME));
            if cell.is_leftmost {
                shapes.push(self.text(tick.label, label, Anchor::End, false));
            }
        }
        shapes
    }

    /// What is measured along the axes of the panels in `area`.
    fn headings(&self, ranges: &Ranges, area: Frame) -> [Shape; 2] {
        let size = self.font_size;
        let [columns, _] = self.columns_and_rows();
        let one = width_of_one(area.width(), columns, 0.0, size);
        let more = self.more_than_a_line(one);
        let below = Place {
            x: 0.5 * (area.left + area.right),
            y: area.bottom + 2.0 * TICK + (2.1 + more) * size,
        };
        let beside = Place {
            x: EDGE + 0.8 * size,
            y: 0.5 * (area.top + area.bottom),
        };
        [
            self.text(self.x.heading(&ranges.x), below, Anchor::Middle, false),
            self.text(self.y.heading(&ranges.y), beside, Anchor::Middle, true),
        ]
    }

    fn text(&self, text: String, at: Place, anchor: Anchor, is_turned: bool) -> Shape {
        Shape::Text(Text {
            at,
            anchor,
            is_turned,
            size: self.font_size,
            colour: INK,
            text,
        })
    }

    /// The band of a curve, if it has one, broken where points have no place. On a logarithmic axis a band that reaches 0 or less
    /// goes down to `lowest`, the lower end of the axis.
    fn band(&self, curve: &Curve, lowest: f64, place: &impl Fn(Point, f64) -> Place) -> Vec<Shape> {
        let scale = self.y.scale;
        let is_there =
            |point: &Point| self.holds(point) && point.low.is_finite() && scale.holds(point.high);
        let has_width = |part: &&[Point]| part.iter().any(|point| point.low != point.high);
        let low = |point: &Point| match scale.holds(point.low) {
            true => point.low,
            false => lowest,
        };
        let area = |part: &[Point]| {
            let upper = part.iter().map(|point| place(*point, point.high));
            let lower = part.iter().rev().map(|point| place(*point, low(point)));
            Shape::Area(Area {
                corners: upper.chain(lower).collect(),
                colour: curve.style.colour(),
                opacity: BAND,
            })
        };
        let parts = curve.points.split(|point| !is_there(point));
        parts.filter(has_width).map(area).collect()
    }

    /// The line of a curve, broken where points have no place.
    fn lines(&self, curve: &Curve, place: &impl Fn(Point, f64) -> Place) -> Vec<Shape> {
        let parts = curve.points.split(|point| !self.holds(point));
        let line = |part: &[Point]| {
            Shape::Line(Line {
                places: part.iter().map(|point| place(*point, point.y)).collect(),
                colour: curve.style.colour(),
                width: CURVE,
                dash: curve.style.dash(),
            })
        };
        parts.filter(|part| !part.is_empty()).map(line).collect()
    }
}

/// The ranges of both axes.
pub(crate) struct Ranges {
    pub(crate) x: Range,
    pub(crate) y: Range,
}

fn range(axis: &Axis, values: impl Iterator<Item = f64>, margin: f64) -> Range {
    if let Some([low, high]) = axis.limits {
        return Range {
            scale: axis.scale,
            low,
            high,
        };
    }
    match ends(values) {
        Some([low, high]) => Range::around(axis.scale, low, high, margin),
        None => Range::around(axis.scale, 1.0, 2.0, margin),
    }
}

/// The range of the curves and their bands. On either side, bands extend it by at most the height of the curves: the
/// interval of two seeds may be ten times as high.
fn with_bands(scale: Scale, points: &[&Point]) -> Range {
    let Some([low, high]) = ends(points.iter().map(|point| point.y)) else {
        return Range::around(scale, 1.0, 2.0, 0.0);
    };
    let limit = Range::around(scale, low, high, 1.0);
    let bands = points.iter().flat_map(|point| [point.low, point.high]);
    let bands = bands.filter(|value| scale.holds(*value));
    match ends(bands.map(|value| value.clamp(limit.low, limit.high))) {
        Some([from, to]) => Range::around(scale, from.min(low), to.max(high), 0.04),
        None => Range::around(scale, low, high, 0.04),
    }
}

/// The range of bars from 0 to their ends, with room for their error bars on the side of the ends.
fn from_zero(points: &[&Point]) -> Range {
    let zero = Point {
        x: 0.0,
        y: 0.0,
        low: 0.0,
        high: 0.0,
    };
    let with_zero: Vec<&Point> = points.iter().copied().chain([&zero]).collect();
    let whole = with_bands(Scale::Linear, &with_zero);
    let all = |is: fn(f64) -> bool| points.iter().all(|point| is(point.y));
    match (all(|y| y >= 0.0), all(|y| y <= 0.0)) {
        (true, _) => Range { low: 0.0, ..whole },
        (false, true) => Range { high: 0.0, ..whole },
        (false, false) => whole,
    }
}

/// The least and the largest.
fn ends(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    values.fold(None, |ends: Option<[f64; 2]>, value| {
        let [low, high] = ends.unwrap_or([value; 2]);
        Some([low.min(value), high.max(value)])
    })
}

pub(crate) fn across(range: &Range, frame: Frame, value: f64) -> f64 {
    frame.left + range.share(value) * frame.width()
}

pub(crate) fn height(range: &Range, frame: Frame, value: f64) -> f64 {
    frame.bottom - range.share(value) * frame.height()
}

/// A place of the axes on the page.
pub(crate) fn frame_place(ranges: &Ranges, frame: Frame, x: f64, y: f64) -> Place {
    Place {
        x: across(&ranges.x, frame, x),
        y: height(&ranges.y, frame, y),
    }
}

fn rule(ends: [Place; 2], colour: Colour, width: f64) -> Shape {
    Shape::Line(Line {
        places: ends.to_vec(),
        colour,
        width,
        dash: &[],
    })
}

/// The white page.
pub(crate) fn ground(Size { width, height }: Size) -> Shape {
    let corners = [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)];
    Shape::Area(Area {
        corners: corners.map(|(x, y)| Place { x, y }).to_vec(),
        colour: Colour::WHITE,
        opacity: 1.0,
    })
}
