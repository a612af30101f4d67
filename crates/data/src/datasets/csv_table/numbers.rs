//! The features of a table, read row by row once it is known where each row belongs.

use std::io::Read;
use std::str::FromStr;

use csv::ByteRecord;

use super::columns::Use;
use super::fault::{Flaw, TableFault};
use super::records::{Records, text};
use super::{CsvMissing, CsvTable, Layout};
use crate::datasets::table_rows::RowsBySplit;
use crate::files::excerpt::excerpt;

/// A feature in single or in double precision.
pub(crate) trait Number: Copy + Into<f64> + FromStr {
    /// The nearest number.
    fn of(value: f64) -> Self;
}

impl Number for f32 {
    fn of(value: f64) -> Self {
        value as f32
    }
}

impl Number for f64 {
    fn of(value: f64) -> Self {
        value
    }
}

/// Reads the numbers of the table `content`, which is the one counted as `file` among those of `layout`.
///
/// # Errors
/// A [`TableFault`] at the row that cannot be read.
pub(crate) fn numbers<T: Number>(
    content: impl Read,
    settings: &CsvTable,
    layout: &Layout,
    file: usize,
    dealt: &mut RowsBySplit<'_, T>,
) -> Result<(), TableFault> {
    let first = file.checked_sub(1).map_or(0, |before| layout.ends[before]);
    let rows = layout.ends[file] - first;
    let records = Records::begin(content, settings)?;
    if records.chosen.uses != layout.uses {
        let (found, before) = (records.chosen.uses.len(), layout.uses.len());
        let reason = format!("{found} columns found, {before} before");
        return Err(changed(reason).into());
    }
    let mut found = 0;
    records.each(|record, _| {
        if found == rows {
            return Err(Flaw::row(changed(format!("more than {rows} rows found"))));
        }
        append(record, first + found, settings, layout, dealt.next_row())?;
        found += 1;
        Ok(())
    })?;
    match found == rows {
        true => Ok(()),
        false => Err(changed(format!("{found} rows found, {rows} before")).into()),
    }
}

/// That the file is another than before, as `found` shows.
fn changed(found: String) -> String {
    format!("{found}: the file changed while it was read")
}

/// Appends the features of `record`, which is row `row` of all files, to `features`.
fn append<T: Number>(
    record: &ByteRecord,
    row: usize,
    settings: &CsvTable,
    layout: &Layout,
    features: &mut Vec<T>,
) -> Result<(), Flaw> {
    let begins = features.len();
    for (column, used) in layout.uses.iter().enumerate() {
        let mut push = |value: Option<T>| {
            let fill = || layout.fill.get(features.len() - begins);
            let value = value.or_else(|| fill().map(|value| T::of(*value)));
            let needed = || Flaw::cell(column, changed("found an empty cell".into()));
            features.push(value.ok_or_else(needed)?);
            Ok::<_, Flaw>(())
        };
        match used {
            Use::Other => {}
            Use::Number => push(number(record, column, settings.missing)?)?,
            Use::Category(count) => {
                let category = &layout.one_hot[*count];
                (0..category.width).try_for_each(|feature| push(category.feature(row, feature)))?;
            }
        }
    }
    Ok(())
}

/// The number in a column, which is finite in single precision; none if the cell is empty and may be.
pub(super) fn number<T: Number>(
    record: &ByteRecord,
    column: usize,
    missing: Option<CsvMissing>,
) -> Result<Option<T>, Flaw> {
    let text = text(record, column)?;
    match text.parse::<T>() {
        Ok(value) if (value.into() as f32).is_finite() => Ok(Some(value)),
        _ if missing.is_some() && CsvMissing::is_no_number(text) => Ok(None),
        parsed => Err(Flaw::cell(column, no_number(text, parsed.is_ok()))),
    }
}

/// What is wrong with a feature that is not finite, though it may be a number.
fn no_number(text: &str, is_number: bool) -> String {
    if text.is_empty() {
        return CsvMissing::refused("a number");
    }
    let shown = excerpt(text);
    let is_finite = text.parse::<f64>().is_ok_and(f64::is_finite);
    match (is_number, is_finite) {
        (true, true) => format!("`{shown}` is too large, at most {:e} is needed", f32::MAX),
        _ if CsvMissing::is_no_number(text) => {
            format!("`{shown}` is no number: fill it in, leave the row out, or say `missing: mean`")
        }
        (true, false) => format!("`{shown}` is no finite number"),
        (false, _) => format!(
            "`{shown}` is no number: name the column in `categories` to make each of its words a feature, or in `ignore` to leave it out"
        ),
    }
}
