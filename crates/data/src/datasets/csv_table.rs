//! `csv`: any table of numbers with a label in every row.

mod columns;
mod fault;
mod records;

use std::io::Read;
use std::mem::take;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use csv::ByteRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::fault::Flaw;
pub(crate) use self::fault::TableFault;
use self::records::{Records, text};
use super::Dataset;
use crate::datasets::own_tables::{self, MOST_NUMBERS, Words};
use crate::datasets::published::Published;
use crate::datasets::table_rows::{RowsBySplit, Tagged, doubles_of};
use crate::files::excerpt::excerpt;
use crate::files::payload;
use crate::{DataError, DataFolder, DatasetSummary, Examples, Input, Shape, Splits};

const NAME: &str = "csv";
/// The most bytes of one unpacked file.
const MOST_BYTES: u64 = 1 << 36;
/// The most classes: labels have 16 bits.
const MOST_CLASSES: usize = u16::MAX as usize;

/// Settings of a table: every column but the label and the client is a feature.
///
/// Files lie beside the file of the experiment or in the data folder, and may be packed (`.gz`, `.bz2`, `.xz`, `.zst`). The classes are the different
/// labels of all files in their order, as numbers if all of them are numbers (`1` and `1.0` are one), else as words; the owners
/// are the different values of the client's column in the same way. A row may have 16 MiB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CsvTable {
    /// Name of the file, which lies beside the file of the experiment or in the data folder.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a column is given by its name in the header, or by its place counted from 0"
)]
pub enum Column {
    /// Counted from 0.
    Place(usize),
    /// As the header calls it.
    Name(String),
}

/// Where the test examples of a table are from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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

impl Dataset for CsvTable {
    fn name(&self) -> &'static str {
        NAME
    }

    fn validate(&self) -> Result<(), DataError> {
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
            CsvTest::Share(share) => own_tables::check_share(NAME, "test.share", *share),
            CsvTest::File(_) => Ok(()),
        }
    }

    /// Reads every file twice: its labels, then its numbers, which are read three times if they are standardised.
    fn load(&self, folder: &DataFolder) -> Result<Splits, DataError> {
        let files = self.own_files(folder)?;
        let (table, tagged) = self.tagged(&files)?;
        let shape = Shape::flat(table.width);
        let of = |numbers, labels| Examples::numbers(numbers, labels, shape, tagged.classes);
        if self.standardise {
            let read = |dealt: &mut RowsBySplit<'_, f64>| self.read(&files, &table, dealt);
            return tagged.standardised(NAME, table.width, read, of);
        }
        let mut dealt = RowsBySplit::<f32>::of(NAME, &tagged, table.width)?;
        self.read(&files, &table, &mut dealt)?;
        tagged.splits(dealt, of)
    }

    /// Reads every file once more for the means of columns, and once more for their deviations, if these are asked for.
    fn load_in_pieces(
        &self,
        folder: &DataFolder,
        most: usize,
        see: &mut dyn FnMut(&Examples),
    ) -> Result<Splits, DataError> {
        let files = self.own_files(folder)?;
        let (table, tagged) = self.tagged(&files)?;
        let sizes = [most, table.width];
        let shape = Shape::flat(table.width);
        let of = |numbers, labels| Examples::numbers(numbers, labels, shape, tagged.classes);
        if self.standardise {
            let read = |dealt: &mut RowsBySplit<'_, f64>| self.read(&files, &table, dealt);
            return tagged.standardised_in_pieces(sizes, read, of, see);
        }
        let read = |dealt: &mut RowsBySplit<'_, f32>| self.read(&files, &table, dealt);
        tagged.splits_in_pieces(sizes, read, of, see)
    }

    fn reads_in_pieces(&self, _folder: &DataFolder) -> bool {
        true
    }

    /// Reads labels and clients alone.
    fn summary(&self, folder: &DataFolder) -> Result<DatasetSummary, DataError> {
        let files = self.own_files(folder)?;
        let (table, tagged) = self.tagged(&files)?;
        tagged.warn_of_untrained(NAME, &files[0]);
        let input = Input::Numbers(Shape::flat(table.width));
        Ok(tagged.summary(input).of_numbers())
    }

    /// Labels and clients as words, as numbers, and as the splits hold them; if numbers are standardised, some of them
    /// in double precision.
    fn reading_bytes(&self, summary: &DatasetSummary, _threads: usize) -> usize {
        let columns = 1 + usize::from(self.client.is_some());
        let doubles = usize::from(self.standardise) * doubles_of(summary);
        10 * columns * (summary.train() + summary.test()) + doubles
    }

    /// The file of the table, then that of the test examples if there is one.
    fn own_files(&self, folder: &DataFolder) -> Result<Vec<PathBuf>, DataError> {
        self.validate()?;
        let test = match &self.test {
            CsvTest::File(file) => Some(file.as_str()),
            CsvTest::Share(_) => None,
        };
        own_tables::files(NAME, &self.file, test, folder)
    }

    /// Nothing: the table is the user's own.
    fn published(&self) -> Result<Option<Published>, DataError> {
        self.validate()?;
        Ok(None)
    }
}

impl CsvTable {
    fn content(&self, path: &Path) -> Result<impl Read + use<>, DataError> {
        payload::open(path, MOST_BYTES).map_err(|error| payload::fault(NAME, path, 0, error))
    }

    /// Reads the numbers of the tables in `files` into the rows of each split.
    fn read<T: Copy + Into<f64> + FromStr>(
        &self,
        files: &[PathBuf],
        table: &Table,
        dealt: &mut RowsBySplit<'_, T>,
    ) -> Result<(), DataError> {
        let mut first = 0;
        for (path, end) in files.iter().zip(&table.ends) {
            let rows = end - first;
            numbers(self.content(path)?, self, table.width, rows, dealt)
                .map_err(|fault| fault.of(path))?;
            first = *end;
        }
        Ok(())
    }

    /// Everything but the numbers of the tables in `files`.
    fn tagged(&self, files: &[PathBuf]) -> Result<(Table, Tagged), DataError> {
        let mut read = None;
        for path in files {
            let next = table(self.content(path)?, self, read);
            read = Some(next.map_err(|fault| fault.of(path))?);
        }
        let mut table = read.expect("there is a file");
        let (labels, clients) = (take(&mut table.labels), take(&mut table.clients));
        let count = labels.len();
        let (train, test) = match &self.test {
            CsvTest::Share(share) => own_tables::drawn(count, *share, self.seed)
                .map_err(|fault| TableFault::Table(fault.reason).of(&files[0]))?,
            CsvTest::File(_) => {
                let first = table.ends[0] as u32;
                ((0..first).collect(), (first..count as u32).collect())
            }
        };
        let (labels, clients) = (labels.numbered(), clients.numbered());
        let classes = labels.different;
        if classes < 2 {
            return Err(DataError::Setting {
                dataset: NAME,
                setting: "label",
                found: format!("a column of {classes} different values"),
                needed: format!("from 2 to {MOST_CLASSES} classes"),
            });
        }
        let numbers = labels.rows.into_iter().map(|label| label as u16);
        let tagged = Tagged {
            labels: numbers.collect(),
            classes,
            clients: self.client.as_ref().map(|_| clients.rows),
            label_names: labels.names,
            client_names: clients.names,
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

/// Reads labels and clients of the table `content`. If there is a table `before`, the rows follow its rows, and both
/// must have the same columns.
///
/// # Errors
/// A [`TableFault`] at the row that cannot be read.
pub(crate) fn table(
    content: impl Read,
    settings: &CsvTable,
    before: Option<Table>,
) -> Result<Table, TableFault> {
    let records = Records::begin(content, settings)?;
    let (names, width) = (&records.names, records.width());
    let mut table = match before {
        Some(table) if table.width != width => {
            let needed = table.width;
            let reason = format!("{width} features found, the {needed} of the first file needed");
            return Err(reason.into());
        }
        Some(table) if table.names != *names => {
            return Err(other_name(table.names, names).into());
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
            return Err(Flaw::row(format!("more than {MOST_NUMBERS} numbers")));
        }
        take_word(record, chosen.label, "a label", &mut table.labels)?;
        if table.labels.different() > MOST_CLASSES {
            let reason =
                format!("more than {MOST_CLASSES} different labels; does it hold classes?");
            return Err(Flaw::cell(chosen.label, reason));
        }
        match chosen.client {
            Some(client) => take_word(record, client, "a client", &mut table.clients),
            None => Ok(()),
        }
    })?;
    table.ends.push(table.labels.len());
    Ok(table)
}

/// Names the first column that two files call differently.
fn other_name(first: Option<Vec<String>>, second: &Option<Vec<String>>) -> String {
    let (first, second) = (first.iter().flatten(), second.iter().flatten());
    let mut pairs = first.zip(second).enumerate();
    match pairs.find(|(_, (needed, found))| needed != found) {
        Some((column, (needed, found))) => {
            let (found, needed) = (excerpt(found), excerpt(needed));
            format!("column {column} is called `{found}`, `{needed}` as in the first file needed")
        }
        None => "the names of the first file's columns needed".into(),
    }
}

/// Appends the word in a column to `words`; messages call it `what`.
fn take_word(
    record: &ByteRecord,
    column: usize,
    what: &str,
    words: &mut Words,
) -> Result<(), Flaw> {
    match text(record, column)? {
        "" => {
            let reason = format!("found an empty cell, {what} is needed");
            Err(Flaw::cell(column, reason))
        }
        text => words
            .push(text)
            .map_err(|reason| Flaw::cell(column, reason)),
    }
}

/// Reads the numbers of the table `content`, which is known to have `rows` rows of `width` numbers.
///
/// # Errors
/// A [`TableFault`] at the row that cannot be read.
pub(crate) fn numbers<T: Copy + Into<f64> + FromStr>(
    content: impl Read,
    settings: &CsvTable,
    width: usize,
    rows: usize,
    dealt: &mut RowsBySplit<'_, T>,
) -> Result<(), TableFault> {
    let changed = |found: String| format!("{found}: the file changed while it was read");
    let records = Records::begin(content, settings)?;
    if records.width() != width {
        let reason = changed(format!(
            "{} features found, {width} before",
            records.width()
        ));
        return Err(reason.into());
    }
    let mut found = 0;
    records.each(|record, chosen| {
        if found == rows {
            return Err(Flaw::row(changed(format!("more than {rows} rows found"))));
        }
        found += 1;
        let row = dealt.next_row();
        for column in 0..record.len() {
            if chosen.is_feature(column) {
                row.push(number(record, column)?);
            }
        }
        Ok(())
    })?;
    match found == rows {
        true => Ok(()),
        false => Err(changed(format!("{found} rows found, {rows} before")).into()),
    }
}

/// The number in a column, which is finite in single precision.
fn number<T: Copy + Into<f64> + FromStr>(record: &ByteRecord, column: usize) -> Result<T, Flaw> {
    let text = text(record, column)?;
    match text.parse::<T>() {
        Ok(value) if (value.into() as f32).is_finite() => Ok(value),
        parsed => Err(Flaw::cell(column, no_number(text, parsed.is_ok()))),
    }
}

/// What is wrong with a feature that is not finite, though it may be a number.
fn no_number(text: &str, is_number: bool) -> String {
    if text.is_empty() {
        return "found an empty cell, a number is needed: fill it in, or leave the row out".into();
    }
    let shown = excerpt(text);
    let is_finite = text.parse::<f64>().is_ok_and(f64::is_finite);
    match (is_number, is_finite) {
        (true, true) => format!("`{shown}` is too large, at most {:e} is needed", f32::MAX),
        (true, false) => format!("`{shown}` is no finite number"),
        (false, _) => {
            format!("`{shown}` is no number, but all columns besides label and client are features")
        }
    }
}

#[cfg(test)]
mod tests;
