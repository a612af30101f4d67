//! Datasets as their makers describe them, for plans that are made before the files are there.

use crate::DatasetSummary;

/// What is published of a dataset: enough to plan with, not to train on.
///
/// Sizes, numbers of classes and of owners are the published ones. Where the order of labels and owners is not published,
/// labels take turns and owners have equally many examples.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// The sizes.
    pub summary: DatasetSummary,
    /// Which figures these are and who published them, for messages.
    pub figures: String,
}

/// Labels of `count` examples that cycle through `classes` classes.
pub(crate) fn in_turn(count: usize, classes: usize) -> Vec<u16> {
    (0..count)
        .map(|example| (example % classes) as u16)
        .collect()
}

/// Owners of `count` examples: `owners` of them, numbered from `first`, each with about equally many consecutive
/// examples.
pub(crate) fn dealt_evenly(count: usize, owners: usize, first: usize) -> Vec<u32> {
    let owner = |example: usize| (first + example * owners / count) as u32;
    (0..count).map(owner).collect()
}

/// The owners of [`dealt_evenly`], each with its number of examples.
pub(crate) fn even_runs(count: usize, owners: usize, first: usize) -> Vec<(u32, u32)> {
    // The first example of which `example * owners / count` is `owner`.
    let start = |owner: usize| (owner * count).div_ceil(owners);
    let run = |owner: usize| {
        let examples = start(owner + 1) - start(owner);
        ((first + owner) as u32, examples as u32)
    };
    (0..owners).map(run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DatasetConfig, Owners};

    #[test]
    fn labels_take_turns_and_owners_have_equally_many() {
        assert_eq!(in_turn(5, 3), [0, 1, 2, 0, 1]);
        assert_eq!(dealt_evenly(7, 3, 2), [2, 2, 2, 3, 3, 4, 4]);
        for (count, owners) in [(7, 3), (12, 4), (3, 7), (1000, 999)] {
            let listed = dealt_evenly(count, owners, 2);
            let runs = even_runs(count, owners, 2).into_iter();
            let repeated = runs.flat_map(|(owner, run)| std::iter::repeat_n(owner, run as usize));
            assert_eq!(Vec::from_iter(repeated), listed);
        }
    }

    fn last(owners: Owners<'_>) -> Option<u32> {
        owners.runs().map(|(owner, _)| owner).max()
    }

    #[test]
    fn datasets_that_a_person_brings_are_as_published() {
        let published = |text: &str| {
            let dataset: DatasetConfig = serde_json::from_str(text).unwrap();
            dataset.published().unwrap()
        };
        let femnist = published(r#"{"femnist": {}}"#).unwrap().summary;
        assert_eq!(femnist.train() + femnist.test(), 805_263);
        let owners = femnist.labelled(false).owners.unwrap();
        assert_eq!(last(owners), Some(3549));
        let some = published(r#"{"femnist": {"writers": 100}}"#)
            .unwrap()
            .summary;
        assert_eq!(some.train() + some.test(), 22_683);
        let leukemia = published(r#"{"leukemia_a2": {}}"#).unwrap().summary;
        let labels = leukemia.labelled(true).labels;
        assert_eq!(crate::label_histogram(labels, 2), [2588, 2588]);
        assert_eq!((leukemia.train(), leukemia.test()), (4141, 1035));
        let reddit = published(r#"{"reddit": {"stride": 100}}"#).unwrap().summary;
        let owners = reddit.labelled(false).owners.unwrap();
        assert_eq!(last(owners), Some(83_292));
        // A user's table, and months that nobody has counted.
        assert_eq!(published(r#"{"npz": {"file": "a.npz"}}"#), None);
        assert_eq!(published(r#"{"reddit": {"min_posts": 20}}"#), None);
    }
}
