//! Whose an example is owns it: what `by_writer`, `by_role` and `by_user` have in common.

use std::collections::BTreeMap;

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::{Labelled, PartitionError, cut};

/// Deals examples by their owners, each of whom is a `kind`: one client per owner, in ascending order of the owners'
/// numbers, or the owners dealt at random to `clients` clients, whose numbers of owners differ by at most one.
pub(super) fn deal(
    kind: &'static str,
    clients: Option<usize>,
    examples: Labelled<'_>,
    rng: &mut ChaCha8Rng,
) -> Result<Vec<Vec<u32>>, PartitionError> {
    let owners = examples.owners.ok_or(PartitionError::NoOwners { kind })?;
    let mut owned: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (example, &owner) in (0..).zip(owners) {
        owned.entry(owner).or_default().push(example);
    }
    let mut shards: Vec<Vec<u32>> = owned.into_values().collect();
    let Some(clients) = clients else {
        return Ok(shards);
    };
    if clients > shards.len() {
        return Err(PartitionError::TooFewOwners {
            kind,
            clients,
            owners: shards.len(),
        });
    }
    shards.shuffle(rng);
    let dealt = cut::pieces(&shards, clients).map(<[Vec<u32>]>::concat);
    Ok(dealt.collect())
}
