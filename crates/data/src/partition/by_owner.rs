//! The client of an example is its owner: the code that `by_writer`, `by_role` and `by_user` share.

use std::collections::BTreeMap;
use std::ops::Range;

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::{Labelled, PartitionError, Shard, cut};

/// Deals examples by their owners, each of whom is a `kind`: one client per owner, in ascending order of the owners'
/// numbers, or the owners dealt at random to `clients` clients, whose numbers of owners differ by at most one.
pub(super) fn deal(
    kind: &'static str,
    clients: Option<usize>,
    examples: Labelled<'_>,
    rng: &mut ChaCha8Rng,
) -> Result<Vec<Shard>, PartitionError> {
    let owners = examples.owners.ok_or(PartitionError::NoOwners { kind })?;
    let mut owned: BTreeMap<u32, Vec<Range<u32>>> = BTreeMap::new();
    for (owner, run) in owners.runs() {
        owned.entry(owner).or_default().push(run);
    }
    let mut shards: Vec<Vec<Range<u32>>> = owned.into_values().collect();
    let Some(clients) = clients else {
        return Ok(shards.into_iter().map(Shard::of_runs).collect());
    };
    if clients > shards.len() {
        return Err(PartitionError::TooFewOwners {
            kind,
            clients,
            owners: shards.len(),
        });
    }
    shards.shuffle(rng);
    let dealt = cut::pieces(&shards, clients).map(<[Vec<Range<u32>>]>::concat);
    Ok(dealt.map(Shard::of_runs).collect())
}

/// Implements [`Strategy`](super::Strategy) for a partition by owners, each of whom is an `$owner`.
macro_rules! deals_by_owner {
    ($partition:ident, $owner:literal) => {
        impl $crate::partition::Strategy for $partition {
            fn clients(&self) -> Option<usize> {
                self.clients
            }

            fn label(&self) -> String {
                concat!("by ", $owner).to_owned()
            }

            fn reads_owners(&self) -> bool {
                true
            }

            fn reads_labels(&self) -> bool {
                false
            }

            fn check(&self, _: usize, _: usize) -> Result<(), $crate::PartitionError> {
                Ok(())
            }

            fn deal(
                &self,
                examples: $crate::Labelled<'_>,
                rng: &mut rand_chacha::ChaCha8Rng,
            ) -> Result<Vec<$crate::partition::Shard>, $crate::PartitionError> {
                $crate::partition::by_owner::deal($owner, self.clients, examples, rng)
            }
        }
    };
}
pub(super) use deals_by_owner;
