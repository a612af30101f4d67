//! Local test sets that owners bring: the test examples of the owners whose training examples a client has.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Owners, PartitionError, Shard};

/// The test examples of each client, ascending, `[N]`: those whose owner, in `test`, has training examples in the client's shard of
/// `shards`. Of an owner who has none with any client, test examples go to nobody. `train` are the owners of what was dealt.
///
/// # Errors
/// [`PartitionError::OwnerOfTwoClients`].
pub(super) fn tests_of_owners(
    shards: &[Shard],
    train: Owners<'_>,
    test: Owners<'_>,
) -> Result<Vec<Shard>, PartitionError> {
    let client_of = clients_of_owners(shards, train)?;
    let mut tests: Vec<Vec<Range<u32>>> = vec![Vec::new(); shards.len()];
    for (owner, run) in test.runs() {
        if let Some(client) = client_of.get(&owner) {
            tests[*client as usize].push(run);
        }
    }
    Ok(tests.into_iter().map(Shard::of_runs).collect())
}

/// The client of each owner who has training examples with one.
fn clients_of_owners(
    shards: &[Shard],
    train: Owners<'_>,
) -> Result<BTreeMap<u32, u32>, PartitionError> {
    let of_client = |(client, shard): (u32, &Shard)| -> Vec<(Range<u32>, u32)> {
        shard.runs().map(|run| (run, client)).collect()
    };
    let mut dealt: Vec<(Range<u32>, u32)> = (0..).zip(shards).flat_map(of_client).collect();
    dealt.sort_unstable_by_key(|(run, _)| run.start);
    let mut dealt = dealt.into_iter().peekable();
    let mut client_of = BTreeMap::new();
    for (owner, run) in train.runs() {
        while let Some((part, second)) = dealt.peek().filter(|(part, _)| part.start < run.end) {
            let first = *client_of.entry(owner).or_insert(*second);
            if first != *second {
                return Err(PartitionError::OwnerOfTwoClients {
                    owner,
                    first,
                    second: *second,
                });
            }
            // What lies beyond this run is of the next owner.
            if part.end > run.end {
                break;
            }
            dealt.next();
        }
    }
    Ok(client_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(shards: &[&[u32]], train: &[u32], test: &[u32]) -> Result<Vec<Vec<u32>>, PartitionError> {
        let shards = Shard::all(shards.iter().map(|shard| shard.to_vec()).collect());
        let tests = tests_of_owners(&shards, Owners::Listed(train), Owners::Listed(test))?;
        Ok(tests.into_iter().map(Shard::into_indices).collect())
    }

    #[test]
    fn a_client_has_the_test_examples_of_all_its_owners() {
        let train = [5, 5, 3, 8, 5, 1];
        let test = [1, 5, 2, 5, 3, 8, 5];
        let two = of(&[&[4, 1, 0, 2], &[3]], &train, &test).unwrap();
        assert_eq!(two, [vec![1, 3, 4, 6], vec![5]], "1 and 2 are nobody's");
        let one = of(&[&[5], &[2]], &train, &[5, 5]).unwrap();
        assert_eq!(one, [[0; 0], [0; 0]]);
    }

    #[test]
    fn runs_and_lists_say_the_same() {
        let runs = [(4, 3), (2, 5), (4, 1), (9, 2)];
        let listed: Vec<u32> = runs
            .iter()
            .flat_map(|(owner, run)| std::iter::repeat_n(*owner, *run as usize))
            .collect();
        // The first shard lies over two owners, the second over one.
        let shards = [vec![0..4, 4..9], vec![9..10, 10..11]].map(Shard::of_runs);
        let test = [(9, 3), (1, 2), (2, 4), (4, 1)];
        let [test, train] = [&test, &runs].map(|runs| Owners::Runs(runs));
        let found = tests_of_owners(&shards, train, test).unwrap();
        assert_eq!(found[0].indices(), [5, 6, 7, 8, 9]);
        assert_eq!(found[1].indices(), [0, 1, 2]);
        let again = tests_of_owners(&shards, Owners::Listed(&listed), test);
        assert_eq!(again.unwrap(), found);
    }

    #[test]
    fn an_owner_of_two_clients_is_refused() {
        let refused = of(&[&[0], &[1, 2]], &[7, 4, 7], &[7]).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "partition: owner 7 has training examples with client 0 and with client 1, so that its test examples belong to neither"
        );
    }
}
