//! How many classes the labels of arrays make, and whether that can be meant.

use std::collections::BTreeSet;
use std::path::Path;

use super::{NAME, NpzTable, Source};
use crate::DataError;
use crate::datasets::table_rows::Tagged;
use crate::files::excerpt::listed;

impl NpzTable {
    /// How many classes the labels of `sources` have, which are of so many examples.
    ///
    /// # Errors
    /// [`DataError::Table`] naming the largest label, if it is not below `classes`, or if nobody said that there are more
    /// classes than examples: such a label is more likely a mistake.
    pub(super) fn class_count(
        &self,
        sources: &[Source],
        examples: usize,
    ) -> Result<usize, DataError> {
        let largest = |source: &Source| source.labels.iter().max().copied().unwrap_or_default();
        let first = &sources[0];
        let of = sources[1..].iter().fold(first, |of, next| {
            if largest(next) > largest(of) {
                next
            } else {
                of
            }
        });
        let (label, needed) = (largest(of), usize::from(largest(of)) + 1);
        let reason = match self.classes {
            Some(classes) if needed <= classes => return Ok(classes),
            None if needed <= examples => return Ok(needed),
            Some(classes) => format!("`classes: {classes}` needs labels below {classes}"),
            None => format!(
                "which would make {needed} classes of {examples} examples: number the labels from 0 without gaps, or \
                 say `classes: {needed}` if there are as many"
            ),
        };
        let element = of.labels.iter().position(|found| *found == label);
        Err(DataError::Table {
            dataset: NAME,
            path: of.entry(&of.y),
            reason: format!(
                "element {} is the label {label}, {reason}",
                element.unwrap_or_default()
            ),
        })
    }
}

/// Warns of classes that no example has, which may be missing in a small sample or be a mistake.
pub(super) fn warn_of_gaps(tagged: &Tagged, labels: &Path) {
    let present: BTreeSet<u16> = tagged.labels.iter().copied().collect();
    let absent: Vec<String> = (0..tagged.classes)
        .filter(|class| !u16::try_from(*class).is_ok_and(|class| present.contains(&class)))
        .map(|class| class.to_string())
        .collect();
    if !absent.is_empty() {
        tracing::warn!(
            "{NAME}: {}: {} of the {} classes have no example: {}; labels count from 0, and `classes` says how many there are",
            labels.display(),
            absent.len(),
            tagged.classes,
            listed(absent.iter().map(String::as_str)),
        );
    }
}
