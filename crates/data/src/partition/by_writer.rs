//! `by_writer`: who wrote an example owns it.

use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::{Labelled, PartitionError, Shard, Strategy, by_owner};

/// One client per writer, or the writers dealt at random to `clients` clients, whose numbers of writers differ by at
/// most one.
///
/// # Source
/// P-FedAvg, section VII-A: FEMNIST "is split among 3,550 unbalanced clients based on character writers".
///
/// # Interpretation
/// One client per writer: the clients are in ascending order of the writers' numbers. Writers of test examples alone
/// are no clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ByWriter {
    /// Number of clients `N`; as many as there are writers if absent.
    pub clients: Option<usize>,
}

impl Strategy for ByWriter {
    fn clients(&self) -> Option<usize> {
        self.clients
    }

    fn label(&self) -> String {
        "by writer".into()
    }

    fn reads_owners(&self) -> bool {
        true
    }

    fn reads_labels(&self) -> bool {
        false
    }

    fn check(&self, _examples: usize, _classes: usize) -> Result<(), PartitionError> {
        Ok(())
    }

    fn deal(
        &self,
        examples: Labelled<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<Shard>, PartitionError> {
        by_owner::deal("writer", self.clients, examples, rng)
    }
}
