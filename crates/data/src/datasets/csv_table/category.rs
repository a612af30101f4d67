//! A column of words, which becomes one feature for each of them.

use std::collections::{BTreeSet, HashMap};

use super::fault::{Flaw, TableFault};
use super::missing::CsvMissing;
use super::numbers::Number;
use crate::datasets::words::Words;
use crate::files::excerpt::listed;

/// The most words of a column.
const MOST_DIFFERENT: usize = 100;
/// In place of the word of a row that has none.
const MISSING: u8 = u8::MAX;
/// In place of a word that no training row has.
const UNTRAINED: u8 = u8::MAX - 1;

/// The words of a column, in the order in which they come.
pub(super) struct Category {
    column: usize,
    /// What messages call the column.
    name: String,
    numbers: HashMap<Box<str>, u8>,
    /// Each word once.
    different: Words,
    /// The number of each row's word.
    rows: Vec<u8>,
}

impl Category {
    pub(super) fn of(column: usize, name: String) -> Self {
        Self {
            column,
            name,
            numbers: HashMap::new(),
            different: Words::default(),
            rows: Vec::new(),
        }
    }

    /// Takes the word of the next row. Returns whether it has none.
    pub(super) fn take(&mut self, word: &str, missing: Option<CsvMissing>) -> Result<bool, Flaw> {
        let refused = |reason: String| Flaw::cell(self.column, reason);
        if word.is_empty() {
            if missing.is_none() {
                return Err(refused(CsvMissing::refused("a word")));
            }
            self.rows.push(MISSING);
            return Ok(true);
        }
        if let Some(number) = self.numbers.get(word) {
            self.rows.push(*number);
            return Ok(false);
        }
        let number = self.numbers.len();
        if number >= MOST_DIFFERENT {
            return Err(refused(format!(
                "more than {MOST_DIFFERENT} different words, too many for `categories`: name the column in `ignore` to leave it out, \
                 or join words that are alike"
            )));
        }
        self.different.push(word).map_err(refused)?;
        self.numbers.insert(word.into(), number as u8);
        self.rows.push(number as u8);
        Ok(false)
    }

    /// The features of each row, where the rows `train` train.
    ///
    /// # Errors
    /// If no training row has a word.
    pub(super) fn encoded(self, train: &[u32]) -> Result<OneHot, TableFault> {
        let numbered = self.different.numbered();
        let place = |number: u8| match number {
            MISSING => None,
            number => Some(numbered.rows[usize::from(number)]),
        };
        let words = train.iter().map(|row| self.rows[*row as usize]);
        let trained: BTreeSet<u32> = words.filter_map(place).collect();
        if trained.is_empty() {
            let reason = format!("{} has no word in any row that trains", self.name);
            return Err(format!("{reason}: name it in `ignore` to leave it out").into());
        }
        let feature = |place: u32| match trained.contains(&place) {
            true => trained.range(..place).count() as u8,
            false => UNTRAINED,
        };
        let features: Vec<u8> = numbered.rows.iter().map(|place| feature(*place)).collect();
        let encoded = |number: u8| match number {
            MISSING => MISSING,
            number => features[usize::from(number)],
        };
        let all = (0..numbered.different).map(|place| match &numbered.names {
            Some(names) => names[place].clone(),
            None => place.to_string(),
        });
        let names = all.enumerate();
        let untrained = names.filter(|(place, _)| !trained.contains(&(*place as u32)));
        Ok(OneHot {
            name: self.name,
            width: trained.len(),
            untrained: untrained.map(|(_, name)| name).collect(),
            rows: self.rows.into_iter().map(encoded).collect(),
        })
    }
}

/// A column of words as features: 1 for the word of a row, 0 for all others.
#[derive(Debug)]
pub(super) struct OneHot {
    /// What messages call the column.
    name: String,
    /// Words that training rows have, each a feature.
    pub(super) width: usize,
    /// Words that training rows do not have.
    untrained: Vec<String>,
    /// The feature that is 1 in each row.
    rows: Vec<u8>,
}

impl OneHot {
    /// The number of feature `feature` in row `row`; none if the cell is empty.
    pub(super) fn feature<T: Number>(&self, row: usize, feature: usize) -> Option<T> {
        match self.rows[row] {
            MISSING => None,
            number => Some(T::of(f64::from(u8::from(usize::from(number) == feature)))),
        }
    }

    /// What a warning says of words that training rows do not have, if there are any.
    pub(super) fn warning(&self) -> Option<String> {
        let words = self.untrained.iter().map(String::as_str);
        (!self.untrained.is_empty()).then(|| {
            format!(
                "{}: words that no training row has, 0 in all features: {}",
                self.name,
                listed(words)
            )
        })
    }
}
