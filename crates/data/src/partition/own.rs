//! Partitions that a user's program adds.

use meshfold_own::{OwnKind, OwnPart};
use rand_chacha::ChaCha8Rng;

use super::{Labelled, PartitionError, Shard, Strategy};

/// A way of dealing examples that a user's program adds.
pub trait OwnPartition: Send + Sync {
    /// The examples of each client. Every client has one, and no example has two clients; some may be left out.
    ///
    /// # Errors
    /// [`PartitionError::Own`], or another one.
    fn deal(
        &self,
        examples: Labelled<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<Vec<u32>>, PartitionError>;

    /// Number of clients, where it does not depend on the examples.
    fn clients(&self) -> Option<usize> {
        None
    }

    /// Whether the examples have to come with their owners.
    fn reads_owners(&self) -> bool {
        false
    }

    /// A short name for tables and headings; the name in the configuration if there is none.
    fn label(&self) -> Option<String> {
        None
    }
}

impl OwnKind for dyn OwnPartition {
    const KIND: &'static str = "own partition";
}

impl Strategy for OwnPart<dyn OwnPartition> {
    fn clients(&self) -> Option<usize> {
        self.part().clients()
    }

    fn label(&self) -> String {
        let own = self.part().label();
        own.unwrap_or_else(|| self.name().to_owned())
    }

    fn reads_owners(&self) -> bool {
        self.part().reads_owners()
    }

    fn check(&self, _examples: usize, _classes: usize) -> Result<(), PartitionError> {
        Ok(())
    }

    fn deal(
        &self,
        examples: Labelled<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<Shard>, PartitionError> {
        if self.part().reads_owners() && examples.owners.is_none() {
            return Err(PartitionError::NoOwners { kind: "owner" });
        }
        self.part().deal(examples, rng).map(Shard::all)
    }
}
