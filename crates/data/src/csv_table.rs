//! `csv`: any table of numbers with a label in every row.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use csv::{ByteRecord, ReaderBuilder};
use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::table::{self, MOST_NUMBERS, Standard};
use crate::{DataError, DataFolder, Examples, Outline, Shape, Splits, payload};

const NAME: &str = "csv";
/// Bytes that one unpacked file may have.
const MOST_BYTES: u64 = 1 << 36;
/// Columns that a table may have.
const MOST_COLUMNS: usize = 1 << 20;
/// Bytes that a record may have.
const MOST_RECORD: usize = 1 << 26;

/// Settings of a table: every column but the label and the client is a feature.
///
/// Files are named inside the data folder and may be packed (`.gz`, `.bz2`, `.xz`, `.zst`). The classes are the different
/// labels of all files in their order, as numbers if all of them are numbers, else as words; the owners are the different
/// values of the client's column in the same way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CsvTable {
    /// Name of the file inside the data folder.
    pub file: String,
    /// The column that holds the class: its name, or its place counted from 0.
    pub label: Column,
    /// The column that says whose an example is, if one does.
    #[serde(default)]
    pub client: Option<Column>,
    /// Whether the first row holds names.
    #[serde(default = "yes")]
    pub header: bool,
    /// The character between columns.
    #[serde(default = "comma")]
    pub delimiter: char,
    /// Whether every feature gets mean 0 and deviation 1 over the training examples.
    #[serde(default)]
    pub standardise: bool,
    /// What tests.
    #[serde(default)]
    pub test: CsvTest,
    /// Seed of the share that is held out.
    #[serde(default)]
    pub seed: u64,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Column {
    /// Counted from 0.
    Place(usize),
    /// As the header calls it.
    Name(String),
}

/// Where the test examples of a table are from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CsvTest {
    /// Another file of the same columns.
    File(String),
    /// This share of the rows, drawn at random.
    Share(f64),
}

impl Default for CsvTest {
    fn default() -> Self {
        Self::Share(0.2)
    }
}

fn yes() -> bool {
    true
}

fn comma() -> char {
    ','
}

impl CsvTable {
    pub(crate) fn validate(&self) -> Result<(), DataError> {
        let setting = |setting, found, needed: &str| {
            Err(DataError::Setting {
                dataset: NAME,
                setting,
                found,
                needed: needed.into(),
            })
        };
        if !self.delimiter.is_ascii() || matches!(self.delimiter, '\n' | '\r' | '"') {
            return setting(
                "delimiter",
                format!("`{}`", self.delimiter),
                "one ASCII character",
            );
        }
        if self.client.as_ref() == Some(&self.label) {
            return setting("client", "the label's column".into(), "another column");
        }
        match &self.test {
            CsvTest::Share(share) => table::check_share(NAME, *share),
            CsvTest::File(_) => Ok(()),
        }
    }

    pub(crate) fn load(&self, folder: &DataFolder) -> Result<Splits, DataError> {
        self.validate()?;
        let mut rows = self.read(&table::inside(NAME, "file", &self.file, folder)?, None)?;
        let count = rows.labels.len();
        let (train, test) = match &self.test {
            CsvTest::Share(share) => table::drawn(NAME, count, *share, self.seed)?,
            CsvTest::File(file) => {
                let path = table::inside(NAME, "test.file", file, folder)?;
                rows = self.read(&path, Some(rows))?;
                let all = rows.labels.len() as u32;
                ((0..count as u32).collect(), (count as u32..all).collect())
            }
        };
        let (test, train) = self.examples(rows, &train)?.parted(&test);
        Ok(Splits {
            train: Arc::new(train),
            test: Arc::new(test),
        })
    }

    pub(crate) fn outline(&self, folder: &DataFolder) -> Result<Outline, DataError> {
        Ok(Outline::of(&self.load(folder)?))
    }

    /// The numbers before they last grew, at least half of them, and the words of the label and the client of each row,
    /// a text of some 40 bytes each.
    pub(crate) fn reading_bytes(&self, outline: &Outline) -> usize {
        let words = 1 + usize::from(self.client.is_some());
        outline.feature_bytes() / 2 + 40 * words * (outline.train() + outline.test())
    }

    /// The rows of the file at `path`, after those of `before`.
    fn read(&self, path: &Path, before: Option<Rows>) -> Result<Rows, DataError> {
        let content = payload::open(path, MOST_BYTES);
        let content = content.map_err(|error| payload::fault(NAME, path, 0, error))?;
        rows(content, self, before).map_err(|fault| fault.of(NAME, path))
    }

    fn examples(&self, rows: Rows, train: &[u32]) -> Result<Examples, DataError> {
        let (labels, classes) = table::numbered(&rows.labels);
        if !(2..=usize::from(u16::MAX)).contains(&classes) {
            return Err(DataError::Setting {
                dataset: NAME,
                setting: "label",
                found: format!("a column of {classes} different values"),
                needed: "from 2 to 65535 classes".into(),
            });
        }
        let labels = labels.into_iter().map(|label| label as u16).collect();
        let mut features = rows.features;
        if self.standardise {
            Standard::of(&features, rows.width, train).apply(&mut features);
        }
        let shape = Shape::flat(rows.width);
        let examples = Examples::numbers(features, labels, shape, classes)?;
        Ok(match self.client {
            Some(_) => examples.with_owners(table::numbered(&rows.clients).0),
            None => examples,
        })
    }
}

/// What the tables hold.
pub(crate) struct Rows {
    names: Option<Vec<String>>,
    width: usize,
    features: Vec<f32>,
    labels: Vec<String>,
    clients: Vec<String>,
}

/// Reads the table `content`, whose rows follow those of `before`, if there are any: its columns are then the same.
///
/// # Errors
/// A [`Fault`] at the row that cannot be read.
pub(crate) fn rows(
    content: impl Read,
    settings: &CsvTable,
    before: Option<Rows>,
) -> Result<Rows, Fault> {
    let mut reader = ReaderBuilder::new()
        .delimiter(settings.delimiter as u8)
        .has_headers(false)
        .from_reader(RecordCap::new(content));
    let mut record = ByteRecord::new();
    let mut next = |record: &mut ByteRecord| {
        let more = reader.read_byte_record(record);
        let end = reader.position().byte();
        reader.get_mut().record_ends();
        more.map_err(|error| Fault::at(end, error.to_string()))
    };
    let mut some = next(&mut record)?;
    let mut names = None;
    if settings.header && some {
        let text = |field: &[u8]| String::from_utf8_lossy(field).trim().to_owned();
        names = Some(record.iter().map(text).collect::<Vec<_>>());
        some = next(&mut record)?;
    }
    if !some {
        return Err(Fault::at(0_u64, "a table without rows"));
    }
    let columns = record.len();
    let chosen = Chosen::of(settings, columns, names.as_deref())?;
    let mut rows = match before {
        Some(rows) if rows.width != chosen.width(columns) || rows.names != names => {
            let (found, needed) = (chosen.width(columns), rows.width);
            let reason = format!("{found} features found, the {needed} of the first file needed");
            return Err(Fault::at(0_u64, reason));
        }
        Some(rows) => rows,
        None => Rows {
            names,
            width: chosen.width(columns),
            features: Vec::new(),
            labels: Vec::new(),
            clients: Vec::new(),
        },
    };
    while some {
        rows.push(&record, &chosen)?;
        some = next(&mut record)?;
    }
    Ok(rows)
}

/// The columns that are no features.
struct Chosen {
    label: usize,
    client: Option<usize>,
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
                let mut found = names.unwrap_or_default().iter();
                let found = found.position(|known| known == name);
                let reason = format!("no column is called `{name}`");
                found.ok_or_else(|| Fault::at(0_u64, reason))
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

impl Rows {
    fn push(&mut self, record: &ByteRecord, chosen: &Chosen) -> Result<(), Fault> {
        let row = self.labels.len();
        let start = record.position().map_or(0, csv::Position::byte);
        let fault = |reason| Err(Fault::at(start, reason));
        if self.features.len() + self.width > MOST_NUMBERS || row >= u32::MAX as usize {
            return fault(format!("more than {MOST_NUMBERS} numbers"));
        }
        for (column, field) in record.iter().enumerate() {
            let text = String::from_utf8_lossy(field);
            let text = text.trim();
            if column == chosen.label || Some(column) == chosen.client {
                if text.is_empty() {
                    return fault(format!("column {column} is empty, a value needed"));
                }
                let values = if column == chosen.label {
                    &mut self.labels
                } else {
                    &mut self.clients
                };
                values.push(text.to_owned());
                continue;
            }
            match text.parse::<f32>() {
                Ok(value) if value.is_finite() => self.features.push(value),
                _ => {
                    let shown: String = text.chars().take(40).collect();
                    let reason = format!("column {column}: `{shown}` is no finite number");
                    return fault(reason);
                }
            }
        }
        Ok(())
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

    fn settings(json: &str) -> CsvTable {
        serde_json::from_str(json).unwrap()
    }

    /// Loads `table.csv`, and `test.csv` if given, with the settings `json`.
    fn load(json: &str, table: &str, test: &str) -> Result<Splits, DataError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("table.csv"), table).unwrap();
        std::fs::write(folder.path().join("test.csv"), test).unwrap();
        settings(json).load(&DataFolder::new(folder.path()))
    }

    const FLOWERS: &str = "length,kind,width,site\n1.5,b,2,south\n2.5,a,4,north\n3.5,b,6,north\n";

    #[test]
    fn features_labels_and_clients_are_told_apart() {
        let json =
            r#"{"file": "table.csv", "label": "kind", "client": 3, "test": {"file": "test.csv"}}"#;
        let test = "length,kind,width,site\n9,c,8,east\n";
        let splits = load(json, FLOWERS, test).unwrap();
        let train = &splits.train;
        assert_eq!(train.labels(), [1, 0, 1]);
        assert_eq!((train.classes(), train.width()), (3, 2));
        assert_eq!(train.row(2), [3.5, 6.0]);
        assert_eq!(train.owners(), Some([2, 1, 1].as_slice()));
        assert_eq!(splits.test.labels(), [2]);
        assert_eq!(splits.test.owners(), Some([0].as_slice()));
    }

    #[test]
    fn standardising_takes_the_training_rows_alone() {
        let json = r#"{"file": "table.csv", "label": 0, "header": false, "delimiter": ";", "standardise": true,
            "test": {"file": "test.csv"}}"#;
        let splits = load(json, "0;1\n1;3\n", "0;7\n").unwrap();
        assert_eq!(splits.train.row(1), [1.0]);
        assert_eq!(splits.test.row(0), [5.0]);
    }

    #[test]
    fn a_share_is_held_out() {
        let table: String = (0..50).map(|i| format!("{i},{}\n", i % 2)).collect();
        let json = r#"{"file": "table.csv", "label": 1, "header": false, "seed": 3}"#;
        let splits = load(json, &table, "").unwrap();
        assert_eq!((splits.train.len(), splits.test.len()), (40, 10));
    }

    #[test]
    fn faults_say_where_they_lie() {
        let refusal = |json: &str, table: &str| load(json, table, "").unwrap_err().to_string();
        let kind = r#"{"file": "table.csv", "label": "kind"}"#;
        let words = refusal(kind, FLOWERS);
        assert!(
            words.contains("at byte 23: column 3: `south` is no finite number"),
            "{words}"
        );
        let ragged = refusal(kind, "a,kind\n1,2\n1,2,3\n");
        assert!(ragged.contains("at byte"), "{ragged}");
        let unnamed = refusal(kind, "a,b\n1,2\n");
        assert!(unnamed.contains("no column is called `kind`"), "{unnamed}");
        let place = refusal(r#"{"file": "table.csv", "label": 2}"#, "a,b\n1,2\n");
        assert!(place.contains("no column 2 among 2"), "{place}");
        assert!(refusal(kind, "").contains("without rows"));
        assert!(refusal(kind, "a,kind\nnan,2\n").contains("no finite number"));
        let one = refusal(kind, "a,kind\n1,2\n1,2\n");
        assert!(
            one.contains("label is a column of 1 different values"),
            "{one}"
        );
        let share = r#"{"file": "table.csv", "label": 0, "test": {"share": 1.5}}"#;
        assert!(refusal(share, FLOWERS).contains("test.share is 1.5"));
        assert!(
            !refusal(kind, FLOWERS).contains("data fetch"),
            "nothing to fetch"
        );
    }

    #[test]
    fn an_open_quotation_mark_does_not_gather_the_whole_file() {
        let text = "1,2\n\""
            .bytes()
            .chain(std::iter::repeat_n(b'7', MOST_RECORD + (1 << 20)));
        let text: Vec<u8> = text.collect();
        let settings = settings(r#"{"file": "t", "label": 0, "header": false}"#);
        let fault = rows(text.as_slice(), &settings, None)
            .err()
            .expect("refused");
        assert!(
            fault.reason.contains("a row of more than"),
            "{}",
            fault.reason
        );
    }
}
