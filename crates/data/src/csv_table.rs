//! `csv`: any table of numbers with a label in every row.

mod records;

use std::io::Read;
use std::mem::take;
use std::path::{Path, PathBuf};

use csv::ByteRecord;
use serde::{Deserialize, Serialize};

use self::records::{Records, text};
use crate::dealt::{Dealt, Tagged};
use crate::fault::Fault;
use crate::table::{self, MOST_NUMBERS, Words};
use crate::{DataError, DataFolder, Examples, Input, Outline, Shape, Splits, payload};

const NAME: &str = "csv";
/// Bytes that one unpacked file may have.
const MOST_BYTES: u64 = 1 << 36;

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

    /// Reads every file twice: its labels, then its numbers.
    pub(crate) fn load(&self, folder: &DataFolder) -> Result<Splits, DataError> {
        let files = self.files(folder)?;
        let (table, tagged) = self.tagged(&files)?;
        let mut dealt = Dealt::of(NAME, &tagged, table.width)?;
        let mut first = 0;
        for (path, end) in files.iter().zip(&table.ends) {
            let known = (table.width, end - first);
            numbers(self.content(path)?, self, known, &mut dealt)
                .map_err(|fault| fault.of(NAME, path))?;
            first = *end;
        }
        if self.standardise {
            dealt.standardise(table.width);
        }
        let shape = Shape::flat(table.width);
        let of = |numbers, labels| Examples::numbers(numbers, labels, shape, tagged.classes);
        tagged.splits(dealt, of)
    }

    /// Reads labels and clients alone.
    pub(crate) fn outline(&self, folder: &DataFolder) -> Result<Outline, DataError> {
        let (table, tagged) = self.tagged(&self.files(folder)?)?;
        let input = Input::Numbers(Shape::flat(table.width));
        Ok(tagged.outline(input).of_numbers())
    }

    /// Labels and clients by their number, as the words that they were and as the splits have them.
    pub(crate) fn reading_bytes(&self, outline: &Outline) -> usize {
        let columns = 1 + usize::from(self.client.is_some());
        10 * columns * (outline.train() + outline.test())
    }

    /// The file of the table, then that of the test examples if there is one.
    fn files(&self, folder: &DataFolder) -> Result<Vec<PathBuf>, DataError> {
        self.validate()?;
        let mut files = vec![table::inside(NAME, "file", &self.file, folder)?];
        if let CsvTest::File(file) = &self.test {
            files.push(table::inside(NAME, "test.file", file, folder)?);
        }
        Ok(files)
    }

    fn content(&self, path: &Path) -> Result<impl Read + use<>, DataError> {
        payload::open(path, MOST_BYTES).map_err(|error| payload::fault(NAME, path, 0, error))
    }

    /// All but the numbers of the tables in `files`.
    fn tagged(&self, files: &[PathBuf]) -> Result<(Table, Tagged), DataError> {
        let mut read = None;
        for path in files {
            let next = table(self.content(path)?, self, read);
            read = Some(next.map_err(|fault| fault.of(NAME, path))?);
        }
        let mut table = read.expect("there is a file");
        let (labels, clients) = (take(&mut table.labels), take(&mut table.clients));
        let (count, classes) = (labels.len(), labels.different());
        let (train, test) = match &self.test {
            CsvTest::Share(share) => {
                table::drawn(count, *share, self.seed).map_err(|fault| fault.of(NAME, &files[0]))?
            }
            CsvTest::File(_) => {
                let first = table.ends[0] as u32;
                ((0..first).collect(), (first..count as u32).collect())
            }
        };
        if !(2..=usize::from(u16::MAX)).contains(&classes) {
            return Err(DataError::Setting {
                dataset: NAME,
                setting: "label",
                found: format!("a column of {classes} different values"),
                needed: "from 2 to 65535 classes".into(),
            });
        }
        let labels = labels.numbered().into_iter().map(|label| label as u16);
        let tagged = Tagged {
            labels: labels.collect(),
            classes,
            clients: self.client.as_ref().map(|_| clients.numbered()),
            train,
            test,
        };
        Ok((table, tagged))
    }
}

/// What the tables hold besides their numbers.
pub(crate) struct Table {
    names: Option<Vec<String>>,
    /// Numbers of a row.
    pub(crate) width: usize,
    /// How many rows there are up to the end of each file.
    pub(crate) ends: Vec<usize>,
    labels: Words,
    clients: Words,
}

/// Reads labels and clients of the table `content`, whose rows follow those of `before`, if there are any: its columns are
/// then the same.
///
/// # Errors
/// A [`Fault`] at the row that cannot be read.
pub(crate) fn table(
    content: impl Read,
    settings: &CsvTable,
    before: Option<Table>,
) -> Result<Table, Fault> {
    let records = Records::begin(content, settings)?;
    let (names, width) = (&records.names, records.width());
    let mut table = match before {
        Some(table) if table.width != width => {
            let needed = table.width;
            let reason = format!("{width} features found, the {needed} of the first file needed");
            return Err(Fault::at(0_u64, reason));
        }
        Some(table) if table.names != *names => {
            return Err(Fault::at(0_u64, other_name(table.names, names)));
        }
        Some(table) => table,
        None => Table {
            names: names.clone(),
            width,
            ends: Vec::new(),
            labels: Words::default(),
            clients: Words::default(),
        },
    };
    records.each(|record, chosen| {
        let rows = table.labels.len();
        if (rows + 1).saturating_mul(width) > MOST_NUMBERS || rows >= u32::MAX as usize {
            return Err(format!("more than {MOST_NUMBERS} numbers"));
        }
        table.labels.push(&word(record, chosen.label)?);
        if let Some(client) = chosen.client {
            table.clients.push(&word(record, client)?);
        }
        Ok(())
    })?;
    table.ends.push(table.labels.len());
    Ok(table)
}

/// Says which of the columns of two files are the first that are called otherwise.
fn other_name(first: Option<Vec<String>>, second: &Option<Vec<String>>) -> String {
    let (first, second) = (first.iter().flatten(), second.iter().flatten());
    let mut pairs = first.zip(second).enumerate();
    match pairs.find(|(_, (needed, found))| needed != found) {
        Some((column, (needed, found))) => {
            format!("column {column} is called `{found}`, `{needed}` as in the first file needed")
        }
        None => "the names of the first file's columns needed".into(),
    }
}

/// The word in a column.
fn word(record: &ByteRecord, column: usize) -> Result<String, String> {
    match text(record, column)? {
        "" => Err(format!("column {column} is empty, a value needed")),
        text => Ok(text.to_owned()),
    }
}

/// Deals the numbers of the table `content`, which is known to have rows of so many numbers, and so many of them.
///
/// # Errors
/// A [`Fault`] at the row that cannot be read.
pub(crate) fn numbers(
    content: impl Read,
    settings: &CsvTable,
    (width, rows): (usize, usize),
    dealt: &mut Dealt<f32>,
) -> Result<(), Fault> {
    let changed = |found: String| format!("{found}: the file changed while it was read");
    let records = Records::begin(content, settings)?;
    if records.width() != width {
        let reason = changed(format!(
            "{} features found, {width} before",
            records.width()
        ));
        return Err(Fault::at(0_u64, reason));
    }
    let mut found = 0;
    records.each(|record, chosen| {
        if found == rows {
            return Err(changed(format!("more than {rows} rows found")));
        }
        found += 1;
        let row = dealt.next_row();
        for column in 0..record.len() {
            if column != chosen.label && Some(column) != chosen.client {
                row.push(number(record, column)?);
            }
        }
        Ok(())
    })?;
    match found == rows {
        true => Ok(()),
        false => Err(Fault::at(
            0_u64,
            changed(format!("{found} rows found, {rows} before")),
        )),
    }
}

/// The number in a column.
fn number(record: &ByteRecord, column: usize) -> Result<f32, String> {
    let text = text(record, column)?;
    match text.parse::<f32>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => {
            let shown: String = text.chars().take(40).collect();
            Err(format!("column {column}: `{shown}` is no finite number"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packing::Packing;

    fn settings(json: &str) -> CsvTable {
        serde_json::from_str(json).unwrap()
    }

    /// Loads `table.csv`, and `test.csv` if given, with the settings `json`.
    fn load(json: &str, table: impl AsRef<[u8]>, test: &str) -> Result<Splits, DataError> {
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
        assert!(refusal(kind, "a,kind\nnan,2\n1,3\n").contains("no finite number"));
        let row = refusal(kind, "a,kind\n1,2\n");
        let told = "table.csv: at byte 0: examples found: 1, at least 2 needed";
        assert!(row.contains(told), "{row}");
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
    fn text_that_is_not_utf_8_is_refused_rather_than_merged() {
        let refusal = |table: &[u8]| {
            let json = r#"{"file": "table.csv", "label": "kind"}"#;
            load(json, table, "").unwrap_err().to_string()
        };
        let label = refusal(b"a,kind\n1,tea\n2,caf\xe9\n3,caf\xe8\n");
        let told = "at byte 13: line 3, column 1: text that is not UTF-8; save the file as UTF-8";
        assert!(label.contains(told), "{label}");
        let header = refusal(b"\xe9,kind\n1,2\n2,3\n");
        assert!(
            header.contains("line 1, column 0: text that is not"),
            "{header}"
        );
        let number = refusal(b"a,kind\n1,2\n\xe9,3\n");
        assert!(
            number.contains("line 3, column 0: text that is not"),
            "{number}"
        );
    }

    #[test]
    fn columns_are_called_by_one_name_in_all_files() {
        let twice = load(
            r#"{"file": "table.csv", "label": "b"}"#,
            "b,a,b\n1,2,3\n",
            "",
        );
        let twice = twice.unwrap_err().to_string();
        assert!(
            twice.contains("columns 0 and 2 are both called `b`"),
            "{twice}"
        );
        let by_place = load(
            r#"{"file": "table.csv", "label": 0}"#,
            "b,a,b\n1,2,3\n2,2,3\n",
            "",
        );
        by_place.unwrap();
        let json = r#"{"file": "table.csv", "label": "kind", "test": {"file": "test.csv"}}"#;
        let other = load(json, "a,kind\n1,2\n2,3\n", "b,kind\n1,2\n").unwrap_err();
        let told = "test.csv: at byte 0: column 0 is called `b`, `a` as in the first file needed";
        assert!(other.to_string().contains(told), "{other}");
    }

    #[test]
    fn damage_of_a_packed_table_is_called_that() {
        use crate::packing::tests::stream;
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(r#"{"file": "t.csv.gz", "label": 0, "header": false}"#);
        let packed = stream(Packing::Gzip, &b"1,2\n0,2\n".repeat(99));
        std::fs::write(folder.path().join("t.csv.gz"), &packed[..packed.len() - 4]).unwrap();
        let refusal = settings.load(&DataFolder::new(folder.path())).unwrap_err();
        assert!(
            refusal.to_string().contains("damaged gzip data: "),
            "{refusal}"
        );
    }

    #[test]
    fn the_outline_is_that_of_the_examples_and_needs_no_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let place = DataFolder::new(folder.path());
        let table = |width: &str| {
            let rows = (0..20).map(|i| format!("{i},{},{width},{}\n", i % 3, i % 4));
            std::fs::write(folder.path().join("t.csv"), rows.collect::<String>()).unwrap();
        };
        let settings = settings(r#"{"file": "t.csv", "label": 1, "client": 3, "header": false}"#);
        table("2.5");
        let outline = settings.outline(&place).unwrap();
        assert_eq!(outline, Outline::of(&settings.load(&place).unwrap()));
        table("none");
        assert_eq!(settings.outline(&place).unwrap(), outline);
        assert!(settings.load(&place).is_err());
    }

    #[test]
    fn a_file_that_changes_while_it_is_read_is_refused() {
        let settings = settings(r#"{"file": "t", "label": 0, "header": false}"#);
        let tagged = Tagged {
            labels: vec![0, 1],
            classes: 2,
            clients: None,
            train: vec![0],
            test: vec![1],
        };
        let refusal = |text: &str| {
            let mut dealt = Dealt::of(NAME, &tagged, 1).unwrap();
            let read = numbers(text.as_bytes(), &settings, (1, 2), &mut dealt);
            read.err().map(|fault| fault.reason)
        };
        assert_eq!(refusal("0,5\n1,6\n"), None);
        for changed in ["0,5\n", "0,5\n1,6\n1,7\n", "0,5,5\n1,6,6\n"] {
            assert!(refusal(changed).unwrap().contains("the file changed"));
        }
    }
}
