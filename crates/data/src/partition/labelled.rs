//! The examples as a partition sees them.

use super::Owners;

/// The labels of the examples to be dealt, and whose they are.
#[derive(Clone, Copy, Debug)]
pub struct Labelled<'a> {
    /// Number of examples `M`.
    pub examples: usize,
    /// The label of each example, `[M]`, each below `classes`. None are listed of a text that is known by its size alone.
    pub labels: &'a [u16],
    /// Number of classes `C`.
    pub classes: usize,
    /// Whose the examples are, where the dataset knows.
    pub owners: Option<Owners<'a>>,
    /// Whether the label of an example is the token that follows it in a text, no class to deal by.
    pub text: bool,
}

impl<'a> Labelled<'a> {
    /// Examples of which the labels alone are known.
    pub fn new(labels: &'a [u16], classes: usize) -> Self {
        Self {
            examples: labels.len(),
            labels,
            classes,
            owners: None,
            text: false,
        }
    }

    /// Says whose each example is, `[M]`.
    pub fn with_owners(self, owners: &'a [u32]) -> Self {
        Self {
            owners: Some(Owners::Listed(owners)),
            ..self
        }
    }

    /// Whether the examples are known by their number alone, so that one is like another.
    pub(super) fn are_unseen(&self) -> bool {
        self.labels.len() < self.examples
    }

    /// # Panics
    /// If labels are missing that can be dealt by, if one is not below the number of classes, if there is not one owner
    /// per example, or if an index of an example needs more than 32 bits.
    pub(super) fn expect_sound(&self) {
        assert!(
            u32::try_from(self.examples).is_ok(),
            "example indices are 32 bit"
        );
        assert!(
            !self.are_unseen() || (self.text && self.labels.is_empty()),
            "one label per example"
        );
        assert!(
            self.labels
                .iter()
                .all(|&label| usize::from(label) < self.classes),
            "labels are below the number of classes"
        );
        assert!(
            self.owners
                .is_none_or(|owners| owners.examples() == self.examples),
            "one owner per example"
        );
    }
}
