//! `csv`: any table of numbers with a label in every row.

mod category;
mod columns;
mod fault;
mod layout;
mod missing;
mod numbers;
mod records;
mod tags;

use std::io::Read;
use std::mem::take;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use self::fault::TableFault;
pub(crate) use self::layout::Layout;
pub use self::missing::CsvMissing;
use self::missing::PresentMeans;
use self::numbers::Number;
pub(crate) use self::numbers::numbers;
pub(crate) use self::tags::{Table, table};
use super::Dataset;
use crate::datasets::own_tables;
use crate::datasets::published::Published;
use crate::datasets::table_rows::{PIECE, RowsBySplit, Tagged, doubles_of};
use crate::datasets::test_share;
use crate::files::payload;
use crate::{DataError, DataFolder, DatasetSummary, Examples, Input, Shape, Splits};

const NAME: &str = "csv";
/// The most bytes of one unpacked file.
const MOST_BYTES: u64 = 1 << 36;
/// The most classes: labels have 16 bits.
const MOST_CLASSES: usize = u16::MAX as usize;

/// Settings of a table: every column that has no other use is a feature.
///
/// Files lie beside the file of the experiment or in the data folder, and may be packed (`.gz`, `.bz2`, `.xz`, `.zst`). The classes are the different
/// labels of all files in their order, as numbers if all of them are numbers (`1` and `1.0` are one), else as words; the owners
/// are the different values of the client's column in the same way. A row may have 16 MiB.
///
/// Features are numbers, and words in the columns of `categories`: such a column becomes one feature for each word that training
/// rows have, in the order of classes, which is 1 in the rows with this word and else 0. A word that no training row has is 0 in
/// all of them, with a warning. `missing` says what becomes of empty cells; in columns of numbers `NA`, `N/A`, `NaN`, `null` and `?` are empty,
/// too. Empty cells are filled before features are standardised.
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
    /// The columns that are features; all that have no other use if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<Column>>,
    /// Columns that are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("default" = []))]
    pub ignore: Vec<Column>,
    /// Features that are words, at most 100 different ones in a column.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("default" = []))]
    pub categories: Vec<Column>,
    /// What empty cells of features become; they are refused if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<CsvMissing>,
    /// Whether the first row holds names.
    #[serde(default = "yes")]
    pub header: bool,
    /// The character between columns.
    #[serde(default = "comma")]
    pub delimiter: char,
    /// Whether every feature gets mean 0 and deviation 1 over the training examples. One that is the same in all of them becomes 0
    /// there and keeps its scale.
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
    /// The rows that this column calls `test`. Those that it calls `train` train, and those that it calls `validation` are kept apart.
    Column(Column),
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
        if !self.delimiter.is_ascii() || matches!(self.delimiter, '\n' | '\r' | '"') {
            let found = format!("`{}`", self.delimiter);
            let needed = "one ASCII character";
            return Err(DataError::setting(NAME, "delimiter", found, needed));
        }
        if self.client.as_ref() == Some(&self.label) {
            let found = "the label's column";
            return Err(DataError::setting(NAME, "client", found, "another column"));
        }
        match &self.test {
            CsvTest::Share(share) => test_share::check(NAME, "test.share", *share),
            CsvTest::File(_) | CsvTest::Column(_) => Ok(()),
        }
    }

    /// Reads every file twice: its labels, then its numbers, which are read three times if they are standardised, and once
    /// more if some are missing.
    fn load(&self, folder: &DataFolder) -> Result<Splits, DataError> {
        let files = self.own_files(folder)?;
        let (layout, tagged) = self.tagged(&files)?;
        let shape = Shape::flat(layout.width);
        let of = |numbers, labels| Examples::numbers(numbers, labels, shape, tagged.classes);
        if self.standardise {
            let read = |dealt: &mut RowsBySplit<'_, f64>| self.read(&files, &layout, dealt);
            return tagged.standardised(NAME, layout.width, read, of);
        }
        let mut dealt = RowsBySplit::<f32>::of(NAME, &tagged, layout.width)?;
        self.read(&files, &layout, &mut dealt)?;
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
        let (layout, tagged) = self.tagged(&files)?;
        let sizes = [most, layout.width];
        let shape = Shape::flat(layout.width);
        let of = |numbers, labels| Examples::numbers(numbers, labels, shape, tagged.classes);
        if self.standardise {
            let read = |dealt: &mut RowsBySplit<'_, f64>| self.read(&files, &layout, dealt);
            return tagged.standardised_in_pieces(sizes, read, of, see);
        }
        let read = |dealt: &mut RowsBySplit<'_, f32>| self.read(&files, &layout, dealt);
        tagged.splits_in_pieces(sizes, read, of, see)
    }

    fn reads_in_pieces(&self, _folder: &DataFolder) -> bool {
        true
    }

    /// Reads every file once, and once more if numbers are missing: a cell that cannot be used is told before a run begins.
    fn summary(&self, folder: &DataFolder) -> Result<DatasetSummary, DataError> {
        let files = self.own_files(folder)?;
        let (layout, tagged) = self.tagged(&files)?;
        if tagged.looks_like_regression() {
            tracing::warn!(
                "{NAME}: {}: {} different labels in {} rows, numbers with fractions: they look like targets of a regression, and each of \
                 them becomes a class; Meshfold trains classes, so cut them into ranges first",
                files[0].display(),
                tagged.classes,
                tagged.labels.len(),
            );
        }
        tagged.warn_of_untrained(NAME, &files[0]);
        if matches!(self.test, CsvTest::Share(_)) {
            tagged.warn_of_lost_owners(NAME, &files[0]);
        }
        layout.warn_of_untrained(&files[0]);
        layout.warn_of_unnamed(self, &files[0]);
        let input = Input::Numbers(Shape::flat(layout.width));
        let summary = tagged.summary(input).of_numbers();
        Ok(summary.with_validation(tagged.validation.len()))
    }

    /// Labels, clients and categories as words, as numbers, and as the splits hold them; if numbers are standardised or
    /// missing, some of them in double precision.
    fn reading_bytes(&self, summary: &DatasetSummary, _threads: usize) -> usize {
        let has_split = matches!(self.test, CsvTest::Column(_));
        let more = [self.client.is_some(), has_split].map(usize::from);
        let columns = 1 + more.iter().sum::<usize>() + self.categories.len();
        let in_doubles = self.standardise || self.missing.is_some();
        let doubles = usize::from(in_doubles) * doubles_of(summary);
        10 * columns * (summary.train() + summary.test() + summary.validation()) + doubles
    }

    /// The file of the table, then that of the test examples if there is one.
    fn own_files(&self, folder: &DataFolder) -> Result<Vec<PathBuf>, DataError> {
        self.validate()?;
        let test = match &self.test {
            CsvTest::File(file) => Some(file.as_str()),
            CsvTest::Share(_) | CsvTest::Column(_) => None,
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
    fn read<T: Number>(
        &self,
        files: &[PathBuf],
        layout: &Layout,
        dealt: &mut RowsBySplit<'_, T>,
    ) -> Result<(), DataError> {
        for (place, path) in files.iter().enumerate() {
            numbers(self.content(path)?, self, layout, place, dealt)
                .map_err(|fault| fault.of(path))?;
        }
        Ok(())
    }

    /// Everything but the numbers of the tables in `files`.
    fn tagged(&self, files: &[PathBuf]) -> Result<(Layout, Tagged), DataError> {
        let mut read = None;
        for path in files {
            let next = table(self.content(path)?, self, read);
            read = Some(next.map_err(|fault| fault.of(path))?);
        }
        let mut table = read.expect("there is a file");
        let of_first = |fault: TableFault| fault.of(&files[0]);
        let [train, test, validation] = self.by_split(&table).map_err(of_first)?;
        let (labels, clients) = (take(&mut table.labels), take(&mut table.clients));
        let (labels, clients) = (labels.numbered(), clients.numbered());
        let classes = labels.different;
        if classes < 2 {
            let found = format!("a column of {classes} different values");
            let needed = format!("from 2 to {MOST_CLASSES} classes");
            return Err(DataError::setting(NAME, "label", found, needed));
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
            validation,
        };
        let layout = Layout::of(table, &tagged.train).map_err(of_first)?;
        let layout = self.filled(files, layout, &tagged)?;
        Ok((layout, tagged))
    }

    /// The rows that train, those that test and those kept apart for validation, each ascending.
    fn by_split(&self, table: &Table) -> Result<[Vec<u32>; 3], TableFault> {
        let count = table.labels.len();
        let (train, test) = match &self.test {
            CsvTest::Column(_) => return table.splits.rows(),
            CsvTest::Share(share) => test_share::drawn(count, *share, self.seed)
                .map_err(|fault| TableFault::Table(fault.reason))?,
            CsvTest::File(_) => {
                let first = table.ends[0] as u32;
                ((0..first).collect(), (first..count as u32).collect())
            }
        };
        Ok([train, test, Vec::new()])
    }

    /// The `layout` with the means of features that some row lacks.
    ///
    /// # Errors
    /// [`DataError::Table`] if a column has no number in the training rows.
    fn filled(
        &self,
        files: &[PathBuf],
        layout: Layout,
        tagged: &Tagged,
    ) -> Result<Layout, DataError> {
        if !layout.has_missing {
            return Ok(layout);
        }
        let layout = layout.filled_with_gaps();
        let mut means = PresentMeans::of(layout.width);
        let read = |dealt: &mut RowsBySplit<'_, f64>| self.read(files, &layout, dealt);
        tagged.each_piece([PIECE, layout.width], read, &mut |piece| means.add(&piece))?;
        let filled = layout.filled_with(means.finish());
        filled.map_err(|fault| fault.of(&files[0]))
    }
}

#[cfg(test)]
mod tests;
