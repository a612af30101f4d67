//! Who owns which training example: the ways of dealing them to clients.

mod apportion;
mod cut;
mod error;
mod label_groups;
mod ownership;

// A further way is one file and three lines: here, in the enum, and in `Partitioner::strategy`.
mod classes;
mod dirichlet;
mod explicit;
mod iid;
mod one_label;
mod quantity;
mod shards;
mod similarity;

use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

pub use self::classes::{ClassSizes, Classes};
pub use self::dirichlet::Dirichlet;
pub use self::error::PartitionError;
pub use self::explicit::{ExampleOrder, Explicit};
pub use self::iid::Iid;
pub use self::one_label::OneLabel;
pub use self::ownership::{Partition, label_histogram};
pub use self::quantity::Quantity;
pub use self::shards::Shards;
pub use self::similarity::Similarity;

/// A way of dealing the training examples to clients: `{shards: {clients: 100}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Partitioner {
    /// Uniformly at random, in equal parts.
    Iid(Iid),
    /// Sorted by label, cut into shards, a few shards each.
    Shards(Shards),
    /// One label each.
    OneLabel(OneLabel),
    /// A few labels each.
    Classes(Classes),
    /// Shares of each label from a Dirichlet distribution.
    Dirichlet(Dirichlet),
    /// Partly from a common pool, partly shards of single labels.
    Similarity(Similarity),
    /// Labels alike, numbers of examples log-normal.
    Quantity(Quantity),
    /// Given counts, or given sizes and label ratios.
    Explicit(Explicit),
}

impl Partitioner {
    fn strategy(&self) -> &dyn Strategy {
        match self {
            Self::Iid(iid) => iid,
            Self::Shards(shards) => shards,
            Self::OneLabel(one_label) => one_label,
            Self::Classes(classes) => classes,
            Self::Dirichlet(dirichlet) => dirichlet,
            Self::Similarity(similarity) => similarity,
            Self::Quantity(quantity) => quantity,
            Self::Explicit(explicit) => explicit,
        }
    }

    /// Number of clients `N`.
    pub fn clients(&self) -> usize {
        self.strategy().clients()
    }

    /// A short description for tables and headings, such as `shards (2 of 200 each)`.
    pub fn label(&self) -> String {
        self.strategy().label()
    }

    /// Checks what can be checked before the labels are known, against `examples` in `classes`.
    ///
    /// # Errors
    /// As [`split`](Self::split), except those that depend on the labels or on chance.
    pub fn check(&self, examples: usize, classes: usize) -> Result<(), PartitionError> {
        self.strategy().form()?;
        let clients = self.clients();
        if clients == 0 {
            return Err(PartitionError::NoClients);
        }
        if clients > examples {
            return Err(PartitionError::TooManyClients { clients, examples });
        }
        self.strategy().check(examples, classes)
    }

    /// Deals the examples with these `labels` `[M]`, each below `classes`, to the clients.
    ///
    /// The same settings, labels and state of `rng` give the same partition everywhere.
    ///
    /// # Errors
    /// A [`PartitionError`] that says which setting cannot be met and which could.
    ///
    /// # Panics
    /// If a label is not below `classes`, or if there are more than `u32::MAX` examples.
    pub fn split(
        &self,
        labels: &[u16],
        classes: usize,
        rng: &mut ChaCha8Rng,
    ) -> Result<Partition, PartitionError> {
        assert!(
            u32::try_from(labels.len()).is_ok(),
            "example indices are 32 bit"
        );
        assert!(
            labels.iter().all(|&label| usize::from(label) < classes),
            "labels are below the number of classes"
        );
        self.check(labels.len(), classes)?;
        let shards = self.strategy().deal(labels, classes, rng)?;
        Partition::new(shards, labels.len())
    }
}

/// What each way of dealing provides.
trait Strategy {
    /// Number of clients `N`.
    fn clients(&self) -> usize;

    /// A short description.
    fn label(&self) -> String;

    /// Checks that the settings say how many clients there are.
    fn form(&self) -> Result<(), PartitionError> {
        Ok(())
    }

    /// Checks the settings; the number of clients is already known to be in `1..=examples`.
    fn check(&self, examples: usize, classes: usize) -> Result<(), PartitionError>;

    /// The examples of each client; called after `check`.
    fn deal(
        &self,
        labels: &[u16],
        classes: usize,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<Vec<u32>>, PartitionError>;
}
