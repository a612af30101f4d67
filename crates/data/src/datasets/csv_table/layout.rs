//! How the columns of a table become features.

use std::path::Path;

use super::category::OneHot;
use super::columns::{Use, spoken};
use super::fault::TableFault;
use super::tags::Table;
use super::{CsvTable, NAME};
use crate::datasets::own_tables::MOST_NUMBERS;

/// How the columns of a table become features.
pub(crate) struct Layout {
    names: Option<Vec<String>>,
    /// What each column is for.
    pub(super) uses: Vec<Use>,
    pub(super) one_hot: Vec<OneHot>,
    /// Features of a row.
    pub(crate) width: usize,
    /// How many rows there are up to the end of each file.
    pub(super) ends: Vec<usize>,
    /// Whether a feature of some row is an empty cell.
    pub(super) has_missing: bool,
    /// What stands in place of each feature where a cell is empty; nothing if no cell is.
    pub(super) fill: Vec<f64>,
}

impl Layout {
    /// The features of `table`, of which the rows `train` train.
    ///
    /// # Errors
    /// If a category has no word in these rows, or if there are too many features.
    pub(crate) fn of(table: Table, train: &[u32]) -> Result<Self, TableFault> {
        let categories = table.categories.into_iter();
        let encoded = categories.map(|category| category.encoded(train));
        let one_hot: Vec<OneHot> = encoded.collect::<Result<_, _>>()?;
        let of_words: usize = one_hot.iter().map(|category| category.width).sum();
        let width = table.features - one_hot.len() + of_words;
        let rows = table.ends.last().copied().unwrap_or_default();
        if rows.saturating_mul(width) > MOST_NUMBERS {
            let reason =
                format!("more than {MOST_NUMBERS} numbers: {rows} rows of {width} features");
            return Err(reason.into());
        }
        Ok(Self {
            names: table.names,
            uses: table.uses,
            one_hot,
            width,
            ends: table.ends,
            has_missing: table.has_missing,
            fill: Vec::new(),
        })
    }

    /// With NaN in place of empty cells.
    pub(crate) fn filled_with_gaps(self) -> Self {
        let fill = vec![f64::NAN; self.width];
        Self { fill, ..self }
    }

    /// With `means` in place of empty cells.
    ///
    /// # Errors
    /// If one is not known.
    pub(super) fn filled_with(self, means: Vec<Option<f64>>) -> Result<Self, TableFault> {
        let unknown = means.iter().position(Option::is_none);
        if let Some(column) = unknown.and_then(|feature| self.column_of(feature)) {
            let column = spoken(column, self.names.as_deref());
            let reason = format!("{column} has no number in any row that trains");
            return Err(format!("{reason}: name it in `ignore` to leave it out").into());
        }
        let fill = means.into_iter().flatten().collect();
        Ok(Self { fill, ..self })
    }

    /// How many features a column becomes.
    fn features_of(&self, used: Use) -> usize {
        match used {
            Use::Number => 1,
            Use::Category(count) => self.one_hot[count].width,
            Use::Other => 0,
        }
    }

    /// The column that becomes `feature`.
    fn column_of(&self, feature: usize) -> Option<usize> {
        let mut features = 0;
        self.uses.iter().position(|used| {
            features += self.features_of(*used);
            features > feature
        })
    }

    /// The first column without a name in the header that is a feature, though no setting names it.
    pub(super) fn unnamed(&self, settings: &CsvTable) -> Option<usize> {
        let names = self
            .names
            .as_ref()
            .filter(|_| settings.features.is_none())?;
        let is_unnamed = |(name, used): (&String, &Use)| name.is_empty() && *used == Use::Number;
        names.iter().zip(&self.uses).position(is_unnamed)
    }

    /// Warns of a feature whose column has no name; `place` is where it is.
    pub(super) fn warn_of_unnamed(&self, settings: &CsvTable, place: &Path) {
        if let Some(column) = self.unnamed(settings) {
            tracing::warn!(
                "{NAME}: {}: {} has no name in the header and is a feature: if it numbers the rows, as an index that pandas wrote does, leave \
                 it out by `ignore: [{column}]`",
                place.display(),
                spoken(column, self.names.as_deref()),
            );
        }
    }

    /// Warns of words of categories that no training row has; `place` is where they are.
    pub(super) fn warn_of_untrained(&self, place: &Path) {
        for warning in self.one_hot.iter().filter_map(OneHot::warning) {
            tracing::warn!("{NAME}: {}: {warning}", place.display());
        }
    }
}
