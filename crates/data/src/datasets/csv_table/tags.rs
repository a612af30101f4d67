//! What a table holds besides its numbers, read first; the numbers are checked along the way.

use std::io::Read;

use csv::ByteRecord;

use super::category::Category;
use super::columns::{Use, spoken};
use super::fault::{Flaw, TableFault};
use super::numbers::number;
use super::records::{Records, text};
use super::{CsvTable, MOST_CLASSES};
use crate::datasets::own_tables::MOST_NUMBERS;
use crate::datasets::words::Words;
use crate::files::excerpt::excerpt;

/// What the tables hold besides their numbers.
pub(crate) struct Table {
    pub(super) names: Option<Vec<String>>,
    /// What each column is for.
    pub(super) uses: Vec<Use>,
    /// How many columns are features.
    pub(super) features: usize,
    /// How many rows there are up to the end of each file.
    pub(crate) ends: Vec<usize>,
    pub(super) labels: Words,
    pub(super) clients: Words,
    pub(super) splits: SplitColumn,
    pub(super) categories: Vec<Category>,
    /// Whether a feature of some row is an empty cell.
    pub(super) has_missing: bool,
}

impl Table {
    /// Before the first row.
    fn of<R: Read>(records: &Records<R>) -> Self {
        let (names, chosen) = (records.names.as_deref(), &records.chosen);
        let categories = chosen.categories.iter();
        Self {
            names: records.names.clone(),
            uses: chosen.uses.clone(),
            features: chosen.features(),
            ends: Vec::new(),
            labels: Words::default(),
            clients: Words::default(),
            splits: SplitColumn::of(chosen.split.map(|split| spoken(split, names))),
            categories: categories
                .map(|column| Category::of(*column, spoken(*column, names)))
                .collect(),
            has_missing: false,
        }
    }

    /// Requires that `records` have the same columns.
    fn expect_columns<R: Read>(&self, records: &Records<R>) -> Result<(), TableFault> {
        let (found, needed) = (records.chosen.features(), self.features);
        if records.chosen.uses.len() != self.uses.len() || found != needed {
            let reason = format!("{found} features found, the {needed} of the first file needed");
            return Err(reason.into());
        }
        match records.names == self.names {
            true => Ok(()),
            false => Err(other_name(&self.names, &records.names).into()),
        }
    }

    /// Takes what the feature columns of `record` hold besides numbers.
    fn take_features(
        &mut self,
        record: &ByteRecord,
        uses: &[Use],
        settings: &CsvTable,
    ) -> Result<(), Flaw> {
        for (column, used) in uses.iter().enumerate() {
            let is_missing = match used {
                Use::Other => false,
                Use::Number => number::<f64>(record, column, settings.missing)?.is_none(),
                Use::Category(count) => {
                    self.categories[*count].take(text(record, column)?, settings.missing)?
                }
            };
            self.has_missing |= is_missing;
        }
        Ok(())
    }
}

/// Reads labels, clients and categories of the table `content`. If there is a table `before`, the rows follow its rows,
/// and both must have the same columns.
///
/// # Errors
/// A [`TableFault`] at the row that cannot be read.
pub(crate) fn table(
    content: impl Read,
    settings: &CsvTable,
    before: Option<Table>,
) -> Result<Table, TableFault> {
    let records = Records::begin(content, settings)?;
    let mut table = match before {
        Some(table) => {
            table.expect_columns(&records)?;
            table
        }
        None => Table::of(&records),
    };
    records.each(|record, chosen| {
        let rows = table.labels.len();
        if (rows + 1).saturating_mul(table.features) > MOST_NUMBERS || rows >= u32::MAX as usize {
            return Err(Flaw::row(format!("more than {MOST_NUMBERS} numbers")));
        }
        take_word(record, chosen.label, "a label", &mut table.labels)?;
        if table.labels.different() > MOST_CLASSES {
            let reason =
                format!("more than {MOST_CLASSES} different labels; does it hold classes?");
            return Err(Flaw::cell(chosen.label, reason));
        }
        if let Some(client) = chosen.client {
            take_word(record, client, "a client", &mut table.clients)?;
        }
        if let Some(split) = chosen.split {
            table.splits.take(split, text(record, split)?)?;
        }
        table.take_features(record, &chosen.uses, settings)
    })?;
    table.ends.push(table.labels.len());
    Ok(table)
}

/// Names the first column that two files call differently.
fn other_name(first: &Option<Vec<String>>, second: &Option<Vec<String>>) -> String {
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

/// Words of the column that says which rows test, in the order of [`SplitColumn::rows`].
const SPLITS: [&str; 3] = ["train", "test", "validation"];

/// What the column says that tells which rows test.
pub(super) struct SplitColumn {
    /// What messages call the column.
    name: String,
    /// The place of each row's word among [`SPLITS`].
    words: Vec<u8>,
}

impl SplitColumn {
    fn of(name: Option<String>) -> Self {
        Self {
            name: name.unwrap_or_default(),
            words: Vec::new(),
        }
    }

    /// Takes the word of the next row.
    fn take(&mut self, column: usize, word: &str) -> Result<(), Flaw> {
        let place = SPLITS
            .iter()
            .position(|split| word.eq_ignore_ascii_case(split));
        let Some(place) = place else {
            let found = match word {
                "" => "an empty cell".into(),
                word => format!("`{}`", excerpt(word)),
            };
            let reason = format!("found {found}, `train`, `test` or `validation` is needed");
            return Err(Flaw::cell(column, reason));
        };
        self.words.push(place as u8);
        Ok(())
    }

    /// The rows that train, those that test and those kept apart for validation.
    ///
    /// # Errors
    /// If none trains, or none tests.
    pub(super) fn rows(&self) -> Result<[Vec<u32>; 3], TableFault> {
        let mut rows = [const { Vec::new() }; 3];
        for (row, place) in self.words.iter().enumerate() {
            rows[usize::from(*place)].push(row as u32);
        }
        match rows[..2].iter().position(Vec::is_empty) {
            Some(place) => {
                let (name, split) = (&self.name, SPLITS[place]);
                let reason = format!("{name} calls no row `{split}`, at least one is needed");
                Err(reason.into())
            }
            None => Ok(rows),
        }
    }
}
