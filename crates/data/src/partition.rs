//! Who owns which training example: the ways of dealing them to clients.

mod apportion;
mod at_random;
mod by_owner;
mod cut;
mod error;
mod label_groups;
mod labelled;
mod own;
mod owners;
mod ownership;
mod shard;
mod tests_of_owners;

// To add one: ARCHITECTURE.md, "Adding a partition".
mod by_role;
mod by_user;
mod by_writer;
mod classes;
mod dirichlet;
mod dirichlet_balanced;
mod explicit;
mod iid;
mod label_quota;
mod one_label;
mod quantity;
mod shards;
mod similarity;
mod two_label_power_law;

use meshfold_own::OwnPart;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::by_role::ByRole;
pub use self::by_user::ByUser;
pub use self::by_writer::ByWriter;
pub use self::classes::{ClassSizes, Classes};
pub use self::dirichlet::{Dirichlet, Shortfall};
pub use self::dirichlet_balanced::DirichletBalanced;
pub use self::error::PartitionError;
pub use self::explicit::{ExampleOrder, Explicit};
pub use self::iid::Iid;
pub use self::label_quota::LabelQuota;
pub use self::labelled::Labelled;
pub use self::one_label::OneLabel;
pub use self::own::OwnPartition;
pub use self::owners::Owners;
pub use self::ownership::{Partition, label_histogram};
pub use self::quantity::Quantity;
use self::shard::Shard;
pub use self::shards::Shards;
pub use self::similarity::Similarity;
pub use self::two_label_power_law::TwoLabelPowerLaw;

/// A way of dealing the training examples to clients: `{shards: {clients: 100}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Clients of one size, whose label shares are from a Dirichlet distribution.
    DirichletBalanced(DirichletBalanced),
    /// Partly from a common pool, partly shards of single labels.
    Similarity(Similarity),
    /// Equal numbers of examples, from one label after another up to a quota.
    LabelQuota(LabelQuota),
    /// Labels alike, numbers of examples log-normal.
    Quantity(Quantity),
    /// Given counts, or given sizes and label ratios.
    Explicit(Explicit),
    /// Two labels each, numbers of examples heavy-tailed, a test set of everybody's tenths.
    TwoLabelPowerLaw(TwoLabelPowerLaw),
    /// Who wrote an example owns it.
    ByWriter(ByWriter),
    /// The role that speaks a text owns it.
    ByRole(ByRole),
    /// Who posted a text owns it.
    ByUser(ByUser),
    /// A way of a program's own.
    Own(OwnPart<dyn OwnPartition>),
}

impl Partitioner {
    fn strategy(&self) -> &dyn Strategy {
        match self {
            Self::Iid(iid) => iid,
            Self::Shards(shards) => shards,
            Self::OneLabel(one_label) => one_label,
            Self::Classes(classes) => classes,
            Self::Dirichlet(dirichlet) => dirichlet,
            Self::DirichletBalanced(balanced) => balanced,
            Self::Similarity(similarity) => similarity,
            Self::LabelQuota(quota) => quota,
            Self::Quantity(quantity) => quantity,
            Self::Explicit(explicit) => explicit,
            Self::TwoLabelPowerLaw(power_law) => power_law,
            Self::ByWriter(by_writer) => by_writer,
            Self::ByRole(by_role) => by_role,
            Self::ByUser(by_user) => by_user,
            Self::Own(own) => own,
        }
    }

    /// Number of clients `N`, where the settings say it.
    pub fn clients(&self) -> Option<usize> {
        self.strategy().clients()
    }

    /// A short description for tables and headings, such as `shards (2 of 200 each)`.
    pub fn label(&self) -> String {
        self.strategy().label()
    }

    /// Whether training and test examples are dealt together, and part of them held out as the test set.
    pub fn pools(&self) -> bool {
        self.strategy().pools()
    }

    /// Whether [`split`](Self::split) needs to know whose each example is.
    pub fn reads_owners(&self) -> bool {
        self.strategy().reads_owners()
    }

    /// Checks what can be checked before the labels are known, against `examples` in `classes`: the training examples,
    /// and those of the test set if the partition [pools](Self::pools).
    ///
    /// # Errors
    /// As [`split`](Self::split), except those that depend on the labels, the owners or chance.
    pub fn check(&self, examples: usize, classes: usize) -> Result<(), PartitionError> {
        self.strategy().form()?;
        match self.clients() {
            Some(0) => Err(PartitionError::NoClients {
                setting: self.strategy().clients_setting(),
            }),
            Some(clients) if clients > examples && !self.strategy().limits_clients() => {
                Err(PartitionError::TooManyClients {
                    clients,
                    examples,
                    setting: self.strategy().clients_setting(),
                })
            }
            _ => self.strategy().check(examples, classes),
        }
    }

    /// Deals `examples` to the clients: the training examples, followed by those of the test set if the partition
    /// [pools](Self::pools).
    ///
    /// The same settings, examples and state of `rng` give the same partition everywhere.
    ///
    /// # Errors
    /// A [`PartitionError`] that says which setting cannot be met and which could.
    ///
    /// # Panics
    /// If a label is not below the number of classes, if there is not one writer per example, or if there are more than
    /// `u32::MAX` examples.
    pub fn split(
        &self,
        examples: Labelled<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Partition, PartitionError> {
        examples.expect_sound();
        if examples.text && self.strategy().reads_labels() {
            let partition = self.label();
            return Err(PartitionError::TextLabels { partition });
        }
        let count = examples.examples;
        self.check(count, examples.classes)?;
        let mut shards = self.strategy().deal(examples, rng)?;
        let held_out = self.strategy().hold_out(&mut shards, rng);
        Partition::of_shards(shards, count)?.holding_out(held_out)
    }
}

/// What each way of dealing provides.
trait Strategy {
    /// Number of clients `N`, if it does not depend on the examples.
    fn clients(&self) -> Option<usize>;

    /// The setting that says how many clients there are.
    fn clients_setting(&self) -> &'static str {
        "clients"
    }

    /// A short description.
    fn label(&self) -> String;

    /// Whether the test examples are dealt as well; then [`hold_out`](Self::hold_out) says what is the test set.
    fn pools(&self) -> bool {
        false
    }

    /// Whether the examples have to come with their owners.
    fn reads_owners(&self) -> bool {
        false
    }

    /// Whether [`check`](Self::check) or [`deal`](Self::deal) itself limits the number of clients, below the number of
    /// examples: partitions by owners cannot have more clients than owners.
    fn limits_clients(&self) -> bool {
        self.reads_owners()
    }

    /// Whether the examples are dealt by their labels.
    fn reads_labels(&self) -> bool {
        true
    }

    /// Checks that the settings say how many clients there are.
    fn form(&self) -> Result<(), PartitionError> {
        Ok(())
    }

    /// Checks the settings; the number of clients, if given, is already known to be in `1..=examples`, or not to be 0
    /// where the strategy [limits](Self::limits_clients) it.
    fn check(&self, examples: usize, classes: usize) -> Result<(), PartitionError>;

    /// The examples of each client; called after `check`.
    fn deal(
        &self,
        examples: Labelled<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<Shard>, PartitionError>;

    /// Takes the examples of the test set out of what was dealt, if the partition pools.
    fn hold_out(&self, _shards: &mut [Shard], _rng: &mut ChaCha8Rng) -> Option<Vec<u32>> {
        None
    }
}
