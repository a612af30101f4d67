//! What a way of dealing sees of the examples.

/// The labels of the examples to be dealt, and whose they are.
#[derive(Clone, Copy, Debug)]
pub struct Labelled<'a> {
    /// The label of each example, `[M]`, each below `classes`.
    pub labels: &'a [u16],
    /// Number of classes `C`.
    pub classes: usize,
    /// Whose each example is, `[M]`, where the dataset knows.
    pub owners: Option<&'a [u32]>,
    /// Whether the label of an example is the token that follows it in a text, no class to deal by.
    pub text: bool,
}

impl<'a> Labelled<'a> {
    /// Examples of which the labels alone are known.
    pub fn new(labels: &'a [u16], classes: usize) -> Self {
        Self {
            labels,
            classes,
            owners: None,
            text: false,
        }
    }

    /// Says whose each example is, `[M]`.
    pub fn with_owners(self, owners: &'a [u32]) -> Self {
        Self {
            owners: Some(owners),
            ..self
        }
    }

    /// # Panics
    /// If a label is not below the number of classes, if there is not one owner per example, or if an index of an
    /// example needs more than 32 bits.
    pub(super) fn expect_sound(&self) {
        assert!(
            u32::try_from(self.labels.len()).is_ok(),
            "example indices are 32 bit"
        );
        assert!(
            self.labels
                .iter()
                .all(|&label| usize::from(label) < self.classes),
            "labels are below the number of classes"
        );
        assert!(
            self.owners
                .is_none_or(|owners| owners.len() == self.labels.len()),
            "one owner per example"
        );
    }
}
