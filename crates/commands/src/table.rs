//! Tables as commands print them: texts left, figures right, no wider than the terminal.

use std::io::{self, Write};

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{Cell, CellAlignment};
use console::measure_text_width;

use crate::terminal;
use crate::wrapping::{longest_piece, wrap};

/// A table that grows by rows.
pub(crate) struct Table {
    titles: Vec<Title>,
    rows: Vec<Vec<String>>,
    /// How many columns, from the first, tell the rows apart.
    keys: usize,
}

/// How a column is set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column<'a> {
    /// Words, left.
    Text(&'a str),
    /// Numbers, right.
    Figure(&'a str),
}

struct Title {
    text: String,
    is_figure: bool,
}

impl Title {
    fn new(text: &str, is_figure: bool) -> Self {
        Self {
            text: text.to_owned(),
            is_figure,
        }
    }
}

/// Words longer than this may be broken where the terminal is narrow. Where columns follow below, a column of words has so
/// much room.
const LONG_WORD: usize = 24;

/// What the frame takes of a line, without the columns.
const FRAME: usize = 1;

/// What stands around the text of a column.
const PADDING: usize = 3;

impl Table {
    /// An empty table with these columns.
    pub(crate) fn new(columns: &[Column<'_>]) -> Self {
        let titles = columns.iter().map(|column| match *column {
            Column::Text(text) => Title::new(text, false),
            Column::Figure(text) => Title::new(text, true),
        });
        Self {
            titles: titles.collect(),
            rows: Vec::new(),
            keys: 1,
        }
    }

    /// The table, whose rows are told apart by so many columns from the first.
    pub(crate) fn keyed_by(self, keys: usize) -> Self {
        Self { keys, ..self }
    }

    /// Adds a row, one text for each column.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Prints it to standard output, no wider than the terminal.
    ///
    /// # Errors
    /// The error of standard output.
    pub(crate) fn print(&self) -> io::Result<()> {
        let mut output = io::stdout().lock();
        writeln!(output, "{}", self.text(terminal::width()))?;
        output.flush()
    }

    /// The table as text, without a line break at its end.
    ///
    /// Where it is wider than `most` columns of text, titles and words are wrapped in their cells; figures are not. Columns
    /// that have no room even so follow below, each part with those in front that tell the rows apart.
    pub(crate) fn text(&self, most: Option<usize>) -> String {
        let natural: Vec<usize> = (0..self.titles.len()).map(|at| self.natural(at)).collect();
        let all: Vec<usize> = (0..self.titles.len()).collect();
        let Some(most) = most.filter(|most| framed(&natural, &all) > *most) else {
            return self.part(&all, &natural);
        };
        let least: Vec<usize> = all.iter().map(|at| self.least(*at)).collect();
        let parts = match framed(&least, &all) <= most {
            true => vec![all],
            false => {
                let room = all
                    .iter()
                    .map(|at| least[*at].max(natural[*at].min(LONG_WORD)));
                self.parts(&room.collect::<Vec<_>>(), most)
            }
        };
        let parts = parts.iter().map(|part| {
            let widths = self.fitted(part, &natural, &least, most);
            self.part(part, &widths)
        });
        parts.collect::<Vec<_>>().join("\n")
    }

    /// The width of a column without breaks.
    fn natural(&self, at: usize) -> usize {
        let texts = self.texts(at);
        texts.map(measure_text_width).max().unwrap_or(0)
    }

    /// The width of a column in which every place that may be broken is broken.
    fn least(&self, at: usize) -> usize {
        let title = &self.titles[at];
        let word = |text: &str| longest_piece(text).min(LONG_WORD);
        let cell = |text: &str| match title.is_figure {
            true => measure_text_width(text),
            false => word(text),
        };
        let cells = self.rows.iter().filter_map(|row| row.get(at));
        let cells = cells.map(|text| cell(text)).max();
        cells.unwrap_or(0).max(word(&title.text))
    }

    /// The texts of a column, its title among them.
    fn texts(&self, at: usize) -> impl Iterator<Item = &str> {
        let cells = self.rows.iter().filter_map(move |row| row.get(at));
        let title = &self.titles[at].text;
        [title].into_iter().chain(cells).map(String::as_str)
    }

    /// The columns of each part of a table that is at most `most` wide: the keys, and as many others as there is `room` for,
    /// at least one.
    fn parts(&self, room: &[usize], most: usize) -> Vec<Vec<usize>> {
        let keys: Vec<usize> = (0..self.keys.min(room.len())).collect();
        let mut parts = vec![keys.clone()];
        for at in keys.len()..room.len() {
            let last = parts.len() - 1;
            let with_next = [parts[last].as_slice(), &[at]].concat();
            match framed(room, &with_next) <= most || parts[last] == keys {
                true => parts[last] = with_next,
                false => parts.push([keys.as_slice(), &[at]].concat()),
            }
        }
        parts
    }

    /// The widths of all columns so that those of `part` fit. The titles of figures are wrapped first, which costs one line;
    /// then always the widest column of words.
    fn fitted(
        &self,
        part: &[usize],
        natural: &[usize],
        least: &[usize],
        most: usize,
    ) -> Vec<usize> {
        let mut widths = natural.to_vec();
        if framed(&widths, part) <= most {
            return widths;
        }
        for at in part.iter().filter(|at| self.titles[**at].is_figure) {
            widths[*at] = least[*at];
        }
        while framed(&widths, part) > most {
            let can = part.iter().filter(|at| widths[**at] > least[**at]);
            let Some(&widest) = can.max_by_key(|at| widths[**at]) else {
                break;
            };
            widths[widest] -= 1;
        }
        widths
    }

    /// The columns at the places `part`, with texts that are wrapped to their `widths`.
    fn part(&self, part: &[usize], widths: &[usize]) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(UTF8_BORDERS_ONLY);
        let cell = |at: usize, text: &str| {
            let cell = Cell::new(wrap(text, widths[at]));
            match self.titles[at].is_figure {
                true => cell.set_alignment(CellAlignment::Right),
                false => cell,
            }
        };
        let titles = part.iter().map(|at| cell(*at, &self.titles[*at].text));
        table.set_header(titles);
        for row in &self.rows {
            let cells = part.iter().map(|at| (*at, row.get(*at)));
            table.add_row(cells.map(|(at, text)| cell(at, text.map_or("", String::as_str))));
        }
        table.to_string()
    }
}

/// The width of a table of the columns `part` with these `widths`.
fn framed(widths: &[usize], part: &[usize]) -> usize {
    let columns: usize = part.iter().map(|at| widths[*at] + PADDING).sum();
    FRAME + columns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[
            Column::Text("run"),
            Column::Figure("mean accuracy"),
            Column::Figure("bytes"),
        ]);
        for (label, bytes) in [("topology=ring, seed=1", "1.00 kB"), ("a", "12 B")] {
            table.row([label, "71.2 %", bytes].map(str::to_owned));
        }
        table
    }

    fn lines(text: &str) -> Vec<&str> {
        text.lines().collect()
    }

    #[test]
    fn a_table_with_enough_room_is_not_wrapped() {
        let (free, wide) = (table().text(None), table().text(Some(51)));
        assert_eq!(free, wide);
        assert_eq!(lines(&free).len(), 6);
        assert_eq!(measure_text_width(lines(&free)[0]), 51);
    }

    #[test]
    fn words_are_wrapped_and_figures_are_not() {
        assert_eq!(
            lines(&table().text(Some(40))),
            [
                "┌─────────────────────────────────────┐",
                "│ run                  mean     bytes │",
                "│                  accuracy           │",
                "╞═════════════════════════════════════╡",
                "│ topology=ring,     71.2 %   1.00 kB │",
                "│ seed=1                              │",
                "│ a                  71.2 %      12 B │",
                "└─────────────────────────────────────┘",
            ]
        );
    }

    #[test]
    fn columns_without_room_follow_below() {
        let text = table().text(Some(26));
        assert!(
            lines(&text)
                .iter()
                .all(|line| measure_text_width(line) <= 26),
            "{text}"
        );
        assert_eq!(text.matches("topology").count(), 2, "{text}");
        assert_eq!(text.matches("71.2 %").count(), 2, "{text}");
        assert_eq!(text.matches("1.00 kB").count(), 1, "{text}");
    }
}
