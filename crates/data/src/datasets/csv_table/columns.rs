//! What the columns of a table are for, found by their places or names.

use std::collections::BTreeMap;

use super::{Column, CsvTable, CsvTest};
use crate::files::excerpt::{excerpt, listed};
use crate::files::suggestion::nearest;

/// The most columns of a table.
pub(super) const MOST_COLUMNS: usize = 1 << 20;
/// Characters that may separate columns.
const DELIMITERS: [char; 4] = [',', ';', '\t', '|'];

/// What becomes of the cells of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Use {
    /// A feature.
    Number,
    /// Several features: it is the column of `categories` counted so.
    Category(usize),
    /// No feature.
    Other,
}

/// What the columns of a table are for.
pub(super) struct RoleColumns {
    pub(super) label: usize,
    pub(super) client: Option<usize>,
    /// The column that says which rows test.
    pub(super) split: Option<usize>,
    /// The columns of `categories`, in their order there.
    pub(super) categories: Vec<usize>,
    /// What each column is for.
    pub(super) uses: Vec<Use>,
}

impl RoleColumns {
    /// The columns that `settings` choose among `columns` columns; `names` are those of the header, if the table has
    /// one.
    ///
    /// # Errors
    /// A reason if one is not there or has two roles, or if no feature is left.
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
        let chosen = Chosen { columns, names };
        let roles = chosen.roles(settings).map_err(|reason| {
            match other_delimiter(settings.delimiter, names) {
                Some(hint) => format!("{reason}; {hint}"),
                None => reason,
            }
        })?;
        match roles.features() {
            0 => Err(format!("{columns} columns leave no feature")),
            _ => Ok(roles),
        }
    }

    /// How many columns are features.
    pub(super) fn features(&self) -> usize {
        let features = self.uses.iter().filter(|used| **used != Use::Other);
        features.count()
    }
}

/// The setting that lists features.
const FEATURES: &str = "features";

/// The columns among which settings choose.
struct Chosen<'a> {
    columns: usize,
    names: Option<&'a [String]>,
}

impl Chosen<'_> {
    fn place(&self, column: &Column) -> Result<usize, String> {
        let columns = self.columns;
        match (column, self.names) {
            (Column::Place(place), _) if *place < columns => Ok(*place),
            (Column::Place(place), _) => {
                Err(format!("no column {place} among {columns} counted from 0"))
            }
            (Column::Name(name), Some(names)) => called(name, names),
            (Column::Name(name), None) => Err(format!(
                "the columns have no names, as `header: false` says: give `{}` by its place, counted from 0",
                excerpt(name)
            )),
        }
    }

    fn places(&self, columns: &[Column]) -> Result<Vec<usize>, String> {
        columns.iter().map(|column| self.place(column)).collect()
    }

    fn roles(&self, settings: &CsvTable) -> Result<RoleColumns, String> {
        let label = self.place(&settings.label)?;
        let client = settings.client.as_ref();
        let client = client.map(|column| self.place(column)).transpose()?;
        let split = match &settings.test {
            CsvTest::Column(column) => Some(self.place(column)?),
            CsvTest::Share(_) | CsvTest::File(_) => None,
        };
        let features = settings.features.as_ref();
        let features = features.map(|listed| self.places(listed)).transpose()?;
        let lists_features = features.is_some();
        let named = self.named([
            ("label", vec![label]),
            ("client", Vec::from_iter(client)),
            ("test.column", Vec::from_iter(split)),
            ("ignore", self.places(&settings.ignore)?),
            (FEATURES, features.unwrap_or_default()),
        ])?;
        let used = |place| match named.get(&place) {
            Some(role) if *role == FEATURES => Use::Number,
            None if !lists_features => Use::Number,
            _ => Use::Other,
        };
        let mut uses: Vec<Use> = (0..self.columns).map(used).collect();
        let categories = self.places(&settings.categories)?;
        for (count, place) in categories.iter().enumerate() {
            let reason = match (uses[*place], named.get(place)) {
                (Use::Number, _) => {
                    uses[*place] = Use::Category(count);
                    continue;
                }
                (Use::Category(_), _) => "is named twice in `categories`".into(),
                (Use::Other, Some(role)) => {
                    format!("is in `categories` but no feature, as it is in `{role}`")
                }
                (Use::Other, None) => {
                    "is in `categories` but no feature, as it is not in `features`".into()
                }
            };
            return Err(format!("{} {reason}", spoken(*place, self.names)));
        }
        Ok(RoleColumns {
            label,
            client,
            split,
            categories,
            uses,
        })
    }

    /// The role of each column that has one.
    ///
    /// # Errors
    /// If a column has two.
    fn named(
        &self,
        roles: [(&'static str, Vec<usize>); 5],
    ) -> Result<BTreeMap<usize, &'static str>, String> {
        let mut named = BTreeMap::new();
        for (role, places) in roles {
            for place in places {
                if let Some(before) = named.insert(place, role) {
                    let column = spoken(place, self.names);
                    return Err(format!(
                        "{column} is named twice, in `{before}` and in `{role}`"
                    ));
                }
            }
        }
        Ok(named)
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
