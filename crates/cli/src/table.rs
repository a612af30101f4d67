//! Tables as commands print them: texts left, figures right.

use std::io::{self, Write};

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{Cell, CellAlignment};

/// A table that grows by rows.
pub(crate) struct Table(comfy_table::Table);

/// How a column is set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column<'a> {
    /// Words, left.
    Text(&'a str),
    /// Numbers, right.
    Figure(&'a str),
}

impl Table {
    /// An empty table with these columns.
    pub(crate) fn new(columns: &[Column<'_>]) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(UTF8_BORDERS_ONLY);
        let title = |column: &Column<'_>| match column {
            Column::Text(title) => Cell::new(title),
            Column::Figure(title) => Cell::new(title).set_alignment(CellAlignment::Right),
        };
        table.set_header(columns.iter().map(title));
        for (place, column) in columns.iter().enumerate() {
            if let (Column::Figure(_), Some(column)) = (column, table.column_mut(place)) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        Self(table)
    }

    /// Adds a row, one text for each column.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.0.add_row(cells.into_iter().map(Cell::new));
    }

    /// The table as text, without a line break at its end.
    pub(crate) fn text(&self) -> String {
        self.0.to_string()
    }

    /// Prints it to standard output.
    ///
    /// # Errors
    /// What standard output answers.
    pub(crate) fn print(&self) -> io::Result<()> {
        let mut output = io::stdout().lock();
        writeln!(output, "{}", self.0)?;
        output.flush()
    }
}
