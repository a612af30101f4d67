//! How many classes the labels of arrays make, and whether that can be meant.

use std::collections::BTreeSet;
use std::path::Path;

use super::{NAME, NpzTable, Source};
use crate::DataError;
use crate::datasets::table_rows::Tagged;
use crate::files::excerpt::listed;

impl NpzTable {
    /// How many classes the `labels` of `sources` have.
    ///
    /// # Errors
    /// [`DataError::Table`] naming the largest label, if it is not below `classes`. Without that setting, if there
    /// would be more classes than examples: then the label is probably a mistake.
    pub(super) fn class_count(
        &self,
        sources: &[Source],
        labels: &[u16],
    ) -> Result<usize, DataError> {
        let examples = labels.len();
        let label = labels.iter().max().copied().unwrap_or_default();
        let needed = usize::from(label) + 1;
        let reason = match self.classes {
            Some(classes) if needed <= classes => return Ok(classes),
            None if needed <= examples => return Ok(needed),
            Some(classes) => format!("`classes: {classes}` needs labels below {classes}"),
            None => format!(
                "which would make {needed} classes of {examples} examples: number the labels from 0 without gaps, or \
                 say `classes: {needed}` if there are as many"
            ),
        };
        let first = labels.iter().position(|found| *found == label);
        let (mut element, mut source) = (first.unwrap_or_default(), &sources[0]);
        if let Some(index) = element.checked_sub(source.examples) {
            (element, source) = (index, &sources[1]);
        }
        Err(DataError::Table {
            dataset: NAME,
            path: source.entry(&source.names.y),
            reason: format!("element {element} is the label {label}, {reason}"),
        })
    }
}

/// The `names` of the first classes, then the numbers of those without a name.
pub(super) fn all_names(mut names: Vec<String>, classes: usize) -> Vec<String> {
    names.extend((names.len()..classes).map(|class| class.to_string()));
    names
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
