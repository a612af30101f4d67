//! The rows of a table, one held at a time.

use std::io::Read;

use csv::{ByteRecord, Reader, ReaderBuilder};

use super::{Column, CsvTable};
use crate::fault::Fault;

/// Columns that a table may have.
const MOST_COLUMNS: usize = 1 << 20;
/// Bytes that a record may have.
const MOST_RECORD: usize = 1 << 26;

/// The rows of a table, one held at a time.
pub(super) struct Records<R> {
    reader: Reader<RecordCap<R>>,
    /// The first row.
    record: ByteRecord,
    pub(super) names: Option<Vec<String>>,
    chosen: Chosen,
}

impl<R: Read> Records<R> {
    /// Reads the names, if there are any, and the first row.
    pub(super) fn begin(content: R, settings: &CsvTable) -> Result<Self, Fault> {
        let mut reader = ReaderBuilder::new()
            .delimiter(settings.delimiter as u8)
            .has_headers(false)
            .from_reader(RecordCap::new(content));
        let mut record = ByteRecord::new();
        let mut some = next(&mut reader, &mut record)?;
        let mut names = None;
        if settings.header && some {
            let header = |column| text(&record, column).map(str::to_owned);
            let read = (0..record.len()).map(header).collect::<Result<_, _>>();
            names = Some(read.map_err(|reason| Fault::at(0_u64, reason))?);
            some = next(&mut reader, &mut record)?;
        }
        if !some {
            return Err(Fault::at(0_u64, "a table without rows"));
        }
        let chosen = Chosen::of(settings, record.len(), names.as_deref())?;
        Ok(Self {
            reader,
            record,
            names,
            chosen,
        })
    }

    /// Numbers of a row.
    pub(super) fn width(&self) -> usize {
        self.chosen.width(self.record.len())
    }

    /// Calls `see` with one row after another; what it says is wrong lies at the row's first byte.
    pub(super) fn each(
        mut self,
        mut see: impl FnMut(&ByteRecord, &Chosen) -> Result<(), String>,
    ) -> Result<(), Fault> {
        loop {
            let start = self.record.position().map_or(0, csv::Position::byte);
            see(&self.record, &self.chosen).map_err(|reason| Fault::at(start, reason))?;
            if !next(&mut self.reader, &mut self.record)? {
                return Ok(());
            }
        }
    }
}

/// Reads the next row; whether there is one.
fn next(reader: &mut Reader<RecordCap<impl Read>>, record: &mut ByteRecord) -> Result<bool, Fault> {
    let more = reader.read_byte_record(record);
    let end = reader.position().byte();
    reader.get_mut().record_ends();
    more.map_err(|error| Fault::at(end, error.to_string()))
}

/// The text in a column, without the space around it.
pub(super) fn text(record: &ByteRecord, column: usize) -> Result<&str, String> {
    let text = str::from_utf8(&record[column]).map_err(|_| {
        let line = record.position().map_or(1, csv::Position::line);
        format!("line {line}, column {column}: text that is not UTF-8; save the file as UTF-8")
    })?;
    Ok(text.trim())
}

/// The columns that are no features.
pub(super) struct Chosen {
    pub(super) label: usize,
    pub(super) client: Option<usize>,
}

impl Chosen {
    fn of(settings: &CsvTable, columns: usize, names: Option<&[String]>) -> Result<Self, Fault> {
        if columns > MOST_COLUMNS {
            let reason = format!("{columns} columns found, at most {MOST_COLUMNS} needed");
            return Err(Fault::at(0_u64, reason));
        }
        let place = |column: &Column| match column {
            Column::Place(place) if *place < columns => Ok(*place),
            Column::Place(place) => {
                let reason = format!("no column {place} among {columns} counted from 0");
                Err(Fault::at(0_u64, reason))
            }
            Column::Name(name) => {
                called(name, names.unwrap_or_default()).map_err(|reason| Fault::at(0_u64, reason))
            }
        };
        let label = place(&settings.label)?;
        let client = settings.client.as_ref().map(place).transpose()?;
        let chosen = Self { label, client };
        if client == Some(label) {
            return Err(Fault::at(0_u64, "the label's column is the client's"));
        }
        match columns > 1 + usize::from(client.is_some()) {
            true => Ok(chosen),
            false => Err(Fault::at(
                0_u64,
                format!("{columns} columns leave no feature"),
            )),
        }
    }

    fn width(&self, columns: usize) -> usize {
        columns - 1 - usize::from(self.client.is_some())
    }
}

/// The place of the one column called `name`.
fn called(name: &str, names: &[String]) -> Result<usize, String> {
    let mut found = (0..names.len()).filter(|place| names[*place] == name);
    match (found.next(), found.next()) {
        (Some(place), None) => Ok(place),
        (Some(first), Some(second)) => Err(format!(
            "columns {first} and {second} are both called `{name}`: give the column by its place, counted from 0"
        )),
        _ => Err(format!("no column is called `{name}`")),
    }
}

/// Fails a record that goes on without end, such as one with an open quotation mark.
struct RecordCap<R> {
    inner: R,
    since: usize,
}

impl<R> RecordCap<R> {
    fn new(inner: R) -> Self {
        Self { inner, since: 0 }
    }

    fn record_ends(&mut self) {
        self.since = 0;
    }
}

impl<R: Read> Read for RecordCap<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.since > MOST_RECORD {
            let reason = format!("a row of more than {MOST_RECORD} bytes");
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, reason));
        }
        let count = self.inner.read(buffer)?;
        self.since += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_quotation_mark_does_not_gather_the_whole_file() {
        let text = "1,2\n\""
            .bytes()
            .chain(std::iter::repeat_n(b'7', MOST_RECORD + (1 << 20)));
        let text: Vec<u8> = text.collect();
        let settings =
            serde_json::from_str(r#"{"file": "t", "label": 0, "header": false}"#).unwrap();
        let fault = super::super::table(text.as_slice(), &settings, None)
            .err()
            .expect("refused");
        assert!(
            fault.reason.contains("a row of more than"),
            "{}",
            fault.reason
        );
    }
}
