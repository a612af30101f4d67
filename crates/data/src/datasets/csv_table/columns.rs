//! Which columns of a table are no features, found by their places or names.

use super::{Column, CsvTable};
use crate::files::excerpt::{excerpt, listed};
use crate::files::suggestion::nearest;

/// The most columns of a table.
pub(super) const MOST_COLUMNS: usize = 1 << 20;
/// Characters that may separate columns.
const DELIMITERS: [char; 4] = [',', ';', '\t', '|'];

/// The columns that are no features.
pub(super) struct RoleColumns {
    pub(super) label: usize,
    pub(super) client: Option<usize>,
}

impl RoleColumns {
    /// The columns that `settings` choose among `columns` columns; `names` are those of the header, if the table has
    /// one.
    ///
    /// # Errors
    /// A reason if one is not there, or if no feature is left.
    pub(super) fn of(
        settings: &CsvTable,
        columns: usize,
        names: Option<&[String]>,
    ) -> Result<Self, String> {
        if columns > MOST_COLUMNS {
            return Err(format!(
                "{columns} columns found, at most {MOST_COLUMNS} needed"
            ));
        }
        let place = |column: &Column| match (column, names) {
            (Column::Place(place), _) if *place < columns => Ok(*place),
            (Column::Place(place), _) => {
                Err(format!("no column {place} among {columns} counted from 0"))
            }
            (Column::Name(name), Some(names)) => called(name, names),
            (Column::Name(name), None) => Err(format!(
                "the columns have no names, as `header: false` says: give `{}` by its place, counted from 0",
                excerpt(name)
            )),
        };
        let chosen = place(&settings.label)
            .and_then(|label| {
                let client = settings.client.as_ref().map(place).transpose()?;
                Ok(Self { label, client })
            })
            .map_err(|reason| match other_delimiter(settings.delimiter, names) {
                Some(hint) => format!("{reason}; {hint}"),
                None => reason,
            })?;
        if chosen.client == Some(chosen.label) {
            return Err("the label's column is the client's".into());
        }
        match columns > 1 + usize::from(chosen.client.is_some()) {
            true => Ok(chosen),
            false => Err(format!("{columns} columns leave no feature")),
        }
    }

    /// How many of `columns` columns are features.
    pub(super) fn width(&self, columns: usize) -> usize {
        columns - 1 - usize::from(self.client.is_some())
    }

    /// Whether `column` is a feature.
    pub(super) fn is_feature(&self, column: usize) -> bool {
        column != self.label && Some(column) != self.client
    }
}

/// What messages call `column`.
pub(super) fn spoken(column: usize, names: Option<&[String]>) -> String {
    let name = names.and_then(|names| names.get(column));
    match name.filter(|name| !name.is_empty()) {
        Some(name) => format!("column `{}`", excerpt(name)),
        None => format!("column {column} (counted from 0)"),
    }
}

/// The place of the one column called `name`.
fn called(name: &str, names: &[String]) -> Result<usize, String> {
    let mut found = (0..names.len()).filter(|place| names[*place] == name);
    match (found.next(), found.next()) {
        (Some(place), None) => return Ok(place),
        (Some(first), Some(second)) => {
            return Err(format!(
                "columns {first} and {second} are both called `{}`: give the column by its place, counted from 0",
                excerpt(name)
            ));
        }
        _ => {}
    }
    let known = || names.iter().map(String::as_str);
    let mut reason = format!(
        "no column is called `{}`, there are {}",
        excerpt(name),
        listed(known())
    );
    if let Some(near) = nearest(name, known()) {
        reason += &format!("; did you mean `{}`?", excerpt(near));
    }
    Err(reason)
}

/// A hint if the header has one name, which seems to be several names separated by another character than `delimiter`.
fn other_delimiter(delimiter: char, names: Option<&[String]>) -> Option<String> {
    let [only] = names? else {
        return None;
    };
    let mut others = DELIMITERS.into_iter().filter(|other| *other != delimiter);
    let other = others.find(|other| only.contains(*other))?;
    Some(format!(
        "the columns may be divided by another character: try `delimiter: \"{}\"`",
        other.escape_default()
    ))
}
