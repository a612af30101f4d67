//! The rows of a table, one held at a time.

use std::io::{self, Read};

use csv::{ByteRecord, Reader, ReaderBuilder};

use super::CsvTable;
use super::columns::{MOST_COLUMNS, RoleColumns, spoken};
use super::fault::{Flaw, TableFault};

/// Bytes that a row may have: those of a million columns of 15 characters.
const MOST_ROW: usize = 1 << 24;

/// The rows of a table, one held at a time.
pub(super) struct Records<R> {
    reader: Reader<Watched<R>>,
    /// The first row.
    record: ByteRecord,
    pub(super) names: Option<Vec<String>>,
    pub(super) chosen: RoleColumns,
}

impl<R: Read> Records<R> {
    /// Reads the names, if there are any, and the first row.
    pub(super) fn begin(content: R, settings: &CsvTable) -> Result<Self, TableFault> {
        let delimiter = settings.delimiter as u8;
        let mut reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .from_reader(Watched::new(content, delimiter));
        let mut record = ByteRecord::new();
        let mut some = next(&mut reader, &mut record)?;
        let mut names = None;
        // Columns are chosen before other rows are read: with a wrong delimiter, rows may have any number of columns.
        let mut chosen = None;
        if settings.header && some {
            let name = |column| text(&record, column).map(str::to_owned);
            let read = (0..record.len()).map(name).collect::<Result<_, _>>();
            names = Some(read.map_err(|flaw| at_line(&reader, &record, None, flaw))?);
            chosen = Some(RoleColumns::of(settings, record.len(), names.as_deref())?);
            some = next(&mut reader, &mut record)?;
        }
        if !some {
            return Err("a table without rows".into());
        }
        let chosen = match chosen {
            Some(chosen) => chosen,
            None => RoleColumns::of(settings, record.len(), None)?,
        };
        Ok(Self {
            reader,
            record,
            names,
            chosen,
        })
    }

    /// Calls `see` with one row after another.
    ///
    /// # Errors
    /// Those of `see`, with the line and the name of the column, and a [`TableFault`] where no further row can be read.
    pub(super) fn each(
        mut self,
        mut see: impl FnMut(&ByteRecord, &RoleColumns) -> Result<(), Flaw>,
    ) -> Result<(), TableFault> {
        let names = self.names.as_deref();
        loop {
            see(&self.record, &self.chosen)
                .map_err(|flaw| at_line(&self.reader, &self.record, names, flaw))?;
            if !next(&mut self.reader, &mut self.record)? {
                return Ok(());
            }
        }
    }
}

/// Reads the next row; whether there is one.
fn next<R: Read>(
    reader: &mut Reader<Watched<R>>,
    record: &mut ByteRecord,
) -> Result<bool, TableFault> {
    let first_line = reader.position().line() + u64::from(last_byte(reader) == b'\r');
    let more = reader.read_byte_record(record);
    reader.get_mut().row_ends();
    let offset = reader.position().byte();
    more.map_err(|error| match error.into_kind() {
        csv::ErrorKind::Io(error) if is_too_long(&error) => {
            TableFault::Table(format!("line {first_line}: {error}"))
        }
        csv::ErrorKind::Io(error) => TableFault::Unreadable { offset, error },
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => {
            let reason =
                format!("{len} columns found, the {expected_len} of the rows before needed");
            at_line(reader, record, None, Flaw::row(reason))
        }
        _ => TableFault::Table(format!("line {first_line}: a row that cannot be read")),
    })
}

/// The fault for `flaw` in `record`, the row read last.
fn at_line<R: Read>(
    reader: &Reader<Watched<R>>,
    record: &ByteRecord,
    names: Option<&[String]>,
    flaw: Flaw,
) -> TableFault {
    // The position of a record is where the one before ended: blank lines, or half of a line break, may follow there.
    let end = reader.position().line() - u64::from(last_byte(reader) == b'\n');
    let breaks = record.as_slice().iter().filter(|byte| **byte == b'\n');
    let line = end.saturating_sub(breaks.count() as u64);
    let reason = flaw.reason;
    TableFault::Table(match flaw.column {
        Some(column) => format!("line {line}, {}: {reason}", spoken(column, names)),
        None => format!("line {line}: {reason}"),
    })
}

/// The last byte of what was taken of the table; 0 at its beginning.
fn last_byte<R: Read>(reader: &Reader<Watched<R>>) -> u8 {
    reader.get_ref().byte_before(reader.position().byte())
}

/// The text in a column, without the space around it.
pub(super) fn text(record: &ByteRecord, column: usize) -> Result<&str, Flaw> {
    let text = str::from_utf8(&record[column])
        .map_err(|_| Flaw::cell(column, "text that is not UTF-8; save the file as UTF-8"))?;
    Ok(text.trim())
}

/// Fails on a row without end, such as one with an open quotation mark, before the row fills the memory.
struct Watched<R> {
    inner: R,
    delimiter: u8,
    /// Bytes and delimiters since the last row ended, without those that were read along with its end.
    bytes: usize,
    delimiters: usize,
    /// What was read last, and how many bytes before it.
    piece: Vec<u8>,
    before: u64,
}

impl<R> Watched<R> {
    fn new(inner: R, delimiter: u8) -> Self {
        Self {
            inner,
            delimiter,
            bytes: 0,
            delimiters: 0,
            piece: Vec::new(),
            before: 0,
        }
    }

    fn row_ends(&mut self) {
        (self.bytes, self.delimiters) = (0, 0);
    }

    /// The byte before the one at `end`, which is in the piece that was read last; 0 if there is none.
    fn byte_before(&self, end: u64) -> u8 {
        let place = end.checked_sub(self.before + 1);
        let byte = place.and_then(|place| self.piece.get(place as usize));
        byte.copied().unwrap_or_default()
    }

    fn check(&self) -> io::Result<()> {
        let too_long = if self.delimiters > MOST_COLUMNS {
            TooLong::Columns
        } else if self.bytes > MOST_ROW {
            TooLong::Bytes
        } else {
            return Ok(());
        };
        Err(io::Error::new(io::ErrorKind::InvalidData, too_long))
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.check()?;
        let count = self.inner.read(buffer)?;
        let piece = &buffer[..count];
        self.bytes += count;
        self.delimiters += piece.iter().filter(|byte| **byte == self.delimiter).count();
        if count > 0 {
            self.before += self.piece.len() as u64;
            self.piece.clear();
            self.piece.extend_from_slice(piece);
        }
        Ok(count)
    }
}

/// Why a row is too long.
#[derive(Debug, thiserror::Error)]
enum TooLong {
    #[error(
        "the row that begins here has more than {MOST_ROW} bytes; is a quotation mark left open, or a line break missing?"
    )]
    Bytes,
    #[error(
        "the row that begins here has more than {MOST_COLUMNS} columns; is a line break missing?"
    )]
    Columns,
}

fn is_too_long(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<TooLong>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> CsvTable {
        serde_json::from_str(r#"{"file": "t", "label": 0, "header": false}"#).unwrap()
    }

    fn reason(content: impl Read) -> String {
        match super::super::table(content, &settings(), None) {
            Err(TableFault::Table(reason)) => reason,
            Err(fault) => panic!("{fault:?}"),
            Ok(_) => panic!("accepted"),
        }
    }

    /// Gives a piece again and again, and counts what was taken.
    struct Endless<'a>(&'a [u8], u64);

    impl Read for Endless<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            for byte in buffer.iter_mut() {
                *byte = self.0[self.1 as usize % self.0.len()];
                self.1 += 1;
            }
            Ok(buffer.len())
        }
    }

    #[test]
    fn a_row_without_end_is_not_gathered() {
        let mut open = Endless(b"7", 0);
        let words = reason(b"1,2\n\n3,4\r\n\"\n\n".chain(&mut open));
        let told = "line 4: the row that begins here has more than 16777216 bytes";
        assert!(words.starts_with(told), "{words}");
        assert!(open.1 < (1 << 24) + (1 << 16), "{}", open.1);
        let mut wide = Endless(b",", 0);
        let words = reason(&mut wide);
        let told = "line 1: the row that begins here has more than 1048576 columns";
        assert!(words.starts_with(told), "{words}");
        assert!(wide.1 < (1 << 20) + (1 << 16), "{}", wide.1);
    }

    #[test]
    fn lines_are_those_of_an_editor() {
        let of = |table: &str| {
            let records = Records::begin(table.as_bytes(), &settings()).unwrap();
            let flawed = records.each(|record, _| match text(record, 1)? {
                "x" => Err(Flaw::row("here")),
                _ => Ok(()),
            });
            match flawed {
                Err(TableFault::Table(reason)) => reason,
                other => panic!("{other:?}"),
            }
        };
        let rows = "\"a\nb\",2\n".repeat(5000);
        for (table, line) in [
            ("1,x", 1),
            ("1,2\n1,x\n", 2),
            ("1,2\r\n1,x\r\n", 2),
            ("1,2\r\n1,x", 2),
            ("\u{feff}1,2\n\n\n1,x\n", 4),
            ("1,2\r\n\r\n\r\n1,x\r\n", 4),
            ("\"a\nb\nc\",2\n\"d\ne\",x\n", 4),
            (&(rows.clone() + "1,x\n1,2"), 10_001),
            (&(rows.replace('\n', "\r\n") + "1,x\r\n"), 10_001),
        ] {
            let end = table.len() - table.len().min(30);
            assert_eq!(
                of(table),
                format!("line {line}: here"),
                "{:?}",
                &table[end..]
            );
        }
    }
}
