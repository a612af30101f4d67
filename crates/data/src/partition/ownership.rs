//! The result of every way of dealing: example indices per client.

use std::fmt::Write;

use rand_chacha::ChaCha8Rng;

use super::shard::Taken;
use super::tests_of_owners::tests_of_owners;
use super::{Owners, PartitionError, Shard};
use crate::files::digest::{Digest, Kept};

/// Example indices of each client; no example has two owners and no client is without any.
///
/// The indices count the training examples or, where some are [held out](Self::held_out), these followed by the test
/// examples that the dataset came with. A client trains on those of its [shard](Self::shard). Where clients have
/// [local test sets](Self::local_test), nobody trains on those: they are parts of what was dealt to the clients, or
/// [test examples of the clients' owners](Self::has_tests_of_owners).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    shards: Vec<Shard>,
    /// Of each client; empty if clients have none.
    local_tests: Vec<Shard>,
    /// Whether the indices of local test sets count the test examples.
    tests_of_owners: bool,
    held_out: Option<Vec<u32>>,
    examples: usize,
    digest: Kept,
}

impl Partition {
    /// Takes `shards[client]`, indices into `examples` examples.
    ///
    /// # Errors
    /// [`PartitionError::NoClients`], [`PartitionError::EmptyClient`],
    /// [`PartitionError::OutOfRange`] or [`PartitionError::Shared`].
    pub fn new(shards: Vec<Vec<u32>>, examples: usize) -> Result<Self, PartitionError> {
        Self::of_shards(Shard::all(shards), examples)
    }

    /// As [`new`](Self::new).
    pub(super) fn of_shards(shards: Vec<Shard>, examples: usize) -> Result<Self, PartitionError> {
        if shards.is_empty() {
            return Err(PartitionError::NoClients { setting: "clients" });
        }
        let mut taken = Taken::none_of(examples);
        for (client, shard) in shards.iter().enumerate() {
            if shard.len() == 0 {
                return Err(PartitionError::EmptyClient { client });
            }
            for run in shard.runs() {
                // The run of the largest number there is would be empty, and starts beyond every example.
                let last = run.start.max(run.end - 1);
                if last as usize >= examples {
                    return Err(PartitionError::OutOfRange {
                        client,
                        example: last,
                        examples,
                    });
                }
                if let Some(example) = taken.take(run) {
                    return Err(PartitionError::Shared { client, example });
                }
            }
        }
        Ok(Self {
            shards,
            local_tests: Vec::new(),
            tests_of_owners: false,
            held_out: None,
            examples,
            digest: Kept::default(),
        })
    }

    /// Takes a test set of its own from each client: the share `share` of its examples, drawn at random, rounded, at least
    /// one, and so that at least one is left to train on. A client with a single example gets none. `rng` is the stream of
    /// a client.
    #[must_use]
    pub fn with_local_tests(self, share: f64, mut rng: impl FnMut(u32) -> ChaCha8Rng) -> Self {
        let shards = self.shards.into_iter().zip(0..);
        let (shards, local_tests) = shards
            .map(|(shard, client)| shard.parted(share, || rng(client)))
            .unzip();
        Self {
            shards,
            local_tests,
            tests_of_owners: false,
            digest: Kept::default(),
            ..self
        }
    }

    /// Makes the test examples of each client's owners its local test set: those whose owner, in `test`, has training examples with the
    /// client, in `train`. A client whose owners have no test examples gets none.
    ///
    /// # Errors
    /// [`PartitionError::OwnerOfTwoClients`].
    ///
    /// # Panics
    /// If the partition holds out a test set of its own: then there are no other test examples.
    pub fn with_tests_of_owners(
        self,
        train: Owners<'_>,
        test: Owners<'_>,
    ) -> Result<Self, PartitionError> {
        assert!(self.held_out.is_none(), "the test examples are dealt");
        Ok(Self {
            local_tests: tests_of_owners(&self.shards, train, test)?,
            tests_of_owners: true,
            digest: Kept::default(),
            ..self
        })
    }

    /// Makes `held_out`, indices into the same examples, the test set; with `None` the dataset's own test set stays.
    ///
    /// # Errors
    /// [`PartitionError::HeldOutRange`] or [`PartitionError::HeldOutShared`].
    pub fn holding_out(self, held_out: Option<Vec<u32>>) -> Result<Self, PartitionError> {
        let examples = self.examples;
        let mut taken = Taken::none_of(examples);
        for run in self.shards.iter().flat_map(Shard::runs) {
            taken.take(run);
        }
        for &example in held_out.iter().flatten() {
            if example as usize >= examples {
                return Err(PartitionError::HeldOutRange { example, examples });
            }
            if taken.take(example..example + 1).is_some() {
                return Err(PartitionError::HeldOutShared { example });
            }
        }
        Ok(Self {
            held_out,
            digest: Kept::default(),
            ..self
        })
    }

    /// Number of clients `N`.
    pub fn clients(&self) -> usize {
        self.shards.len()
    }

    /// Merges all clients into one, which holds their examples in order, and their local test sets.
    #[must_use]
    pub fn merged(self) -> Self {
        let local_tests = match self.has_local_tests() {
            true => vec![Shard::merged(&self.local_tests)],
            false => Vec::new(),
        };
        Self {
            shards: vec![Shard::merged(&self.shards)],
            local_tests,
            digest: Kept::default(),
            ..self
        }
    }

    /// The example indices of `client`.
    ///
    /// # Panics
    /// If `client` is not below [`clients`](Self::clients), as slices do.
    pub fn shard(&self, client: usize) -> &[u32] {
        self.shards[client].indices()
    }

    /// Whether clients have [local test sets](Self::local_test).
    pub fn has_local_tests(&self) -> bool {
        !self.local_tests.is_empty()
    }

    /// Whether local test sets are [test examples of the clients' owners](Self::with_tests_of_owners), so that their indices count the
    /// test examples.
    pub fn has_tests_of_owners(&self) -> bool {
        self.tests_of_owners
    }

    /// The examples of `client` that nobody trains on and that its own model is judged on, ascending by their places in
    /// what was dealt to it, or among the test examples if they are [of its owners](Self::has_tests_of_owners). None if clients have no
    /// local test sets, or this one has a single example, or its owners have no test examples.
    ///
    /// # Panics
    /// If clients have local test sets and `client` is not below [`clients`](Self::clients), as slices do.
    pub fn local_test(&self, client: usize) -> &[u32] {
        match self.has_local_tests() {
            true => self.local_tests[client].indices(),
            false => &[],
        }
    }

    /// Number of examples of each client's [local test set](Self::local_test), `[N]`; none if clients have no local test sets.
    pub fn local_test_sizes(&self) -> Vec<usize> {
        self.local_tests.iter().map(Shard::len).collect()
    }

    /// The first example of `client`, for plans that do not need the others.
    ///
    /// # Panics
    /// If `client` is not below [`clients`](Self::clients), as slices do.
    pub fn first(&self, client: usize) -> Option<u32> {
        self.shards[client].first()
    }

    /// How many examples the indices count, `M`, also those of no client.
    pub fn examples(&self) -> usize {
        self.examples
    }

    /// Examples in all local test sets.
    pub fn local_test_examples(&self) -> usize {
        self.local_tests.iter().map(Shard::len).sum()
    }

    /// `of(client)` for the client of each example, `[M]`, also of those of local test sets that were dealt; `nobody` for
    /// examples of no client.
    pub fn per_example<T: Copy>(&self, nobody: T, of: impl Fn(usize) -> T) -> Vec<T> {
        let mut all = vec![nobody; self.examples];
        for shards in [&self.shards[..], self.dealt_tests()] {
            for (client, shard) in shards.iter().enumerate() {
                for example in shard.runs().flatten() {
                    all[example as usize] = of(client);
                }
            }
        }
        all
    }

    /// Local test sets that are parts of what was dealt to the clients; none if there are others.
    fn dealt_tests(&self) -> &[Shard] {
        match self.tests_of_owners {
            true => &[],
            false => &self.local_tests,
        }
    }

    /// The indices of the examples that are the test set, if training and test examples were pooled.
    pub fn held_out(&self) -> Option<&[u32]> {
        self.held_out.as_deref()
    }

    /// The partition as seen by a process that holds only the examples of the clients that `keeps` accepts. Examples
    /// are renumbered by their places among these, and all other clients are empty. Every process has all test examples:
    /// those of [owners](Self::has_tests_of_owners) keep their numbers. Also returns these examples, ascending.
    #[must_use]
    pub fn of_clients(&self, keeps: impl Fn(usize) -> bool) -> (Self, Vec<u32>) {
        let all = [&self.shards[..], self.dealt_tests()];
        let of_kept = |shards: &'_ [Shard]| -> Vec<u32> {
            let kept = shards
                .iter()
                .enumerate()
                .filter(|(client, _)| keeps(*client));
            kept.flat_map(|(_, shard)| shard.runs().flatten()).collect()
        };
        let mut examples: Vec<u32> = all.into_iter().flat_map(of_kept).collect();
        examples.sort_unstable();
        let place = |example: u32| {
            let found = examples.binary_search(&example);
            found.expect("it is an example of a client that is kept") as u32
        };
        let of_clients = |shards: &[Shard], of: &dyn Fn(&Shard) -> Shard| -> Vec<Shard> {
            let placed = shards
                .iter()
                .enumerate()
                .map(|(client, shard)| match keeps(client) {
                    true => of(shard),
                    false => Shard::default(),
                });
            placed.collect()
        };
        let placed =
            |shard: &Shard| Shard::from(shard.runs().flatten().map(place).collect::<Vec<u32>>());
        let local_tests = match self.tests_of_owners {
            true => of_clients(&self.local_tests, &Shard::clone),
            false => of_clients(&self.local_tests, &placed),
        };
        let left = Self {
            shards: of_clients(&self.shards, &placed),
            local_tests,
            tests_of_owners: self.tests_of_owners,
            held_out: None,
            examples: examples.len(),
            digest: Kept::default(),
        };
        (left, examples)
    }

    /// SHA-256 of the shards in their order, of the local test sets, and of what is held out. It is computed on first use.
    pub fn digest(&self) -> &str {
        self.digest.or(|| {
            let digest = Digest::of("partition").count(self.examples);
            let digest = digest.count(self.clients());
            let with_shard = |digest: Digest, shard: &Shard| digest.indices(shard.indices());
            let shards = self.shards.iter().chain(&self.local_tests);
            let digest = shards.fold(digest, with_shard).owners(self.held_out());
            match self.tests_of_owners {
                true => digest.count(1),
                false => digest,
            }
        })
    }

    /// Number of training examples of each client, `[N]`.
    pub fn sizes(&self) -> Vec<usize> {
        self.shards.iter().map(Shard::len).collect()
    }

    /// How many training examples of each label each client has, `[N][C]`.
    ///
    /// # Panics
    /// If `labels` are not those that were dealt.
    pub fn label_counts(&self, labels: &[u16], classes: usize) -> Vec<Vec<u64>> {
        let of = |shard: &Shard| {
            let labels = shard.runs().flatten().map(|e| labels[e as usize]);
            count(labels, classes)
        };
        self.shards.iter().map(of).collect()
    }

    /// How many training examples of each label all clients have together, `[C]`.
    ///
    /// # Panics
    /// If `labels` are not those that were dealt.
    pub fn label_totals(&self, labels: &[u16], classes: usize) -> Vec<u64> {
        let dealt = self.shards.iter().flat_map(Shard::runs).flatten();
        count(dealt.map(|example| labels[example as usize]), classes)
    }

    /// Whether no example has two owners, the test set being one; [`new`](Self::new) accepts nothing else. Test examples of
    /// [owners](Self::has_tests_of_owners) are no part of it.
    pub fn is_disjoint(&self) -> bool {
        let shards = self.shards.iter().chain(self.dealt_tests());
        let dealt = shards.flat_map(Shard::runs).flatten();
        let mut all: Vec<u32> = dealt
            .chain(self.held_out.iter().flatten().copied())
            .collect();
        all.sort_unstable();
        all.windows(2).all(|pair| pair[0] != pair[1])
    }

    /// A table `client,label,examples` with a line for every label that a client has.
    ///
    /// # Panics
    /// If `labels` are not those that were dealt.
    pub fn to_csv(&self, labels: &[u16], classes: usize) -> String {
        let mut csv = String::from("client,label,examples\n");
        for (client, counts) in self.label_counts(labels, classes).iter().enumerate() {
            for (label, examples) in counts.iter().enumerate().filter(|(_, n)| **n > 0) {
                writeln!(csv, "{client},{label},{examples}").expect("a String takes any text");
            }
        }
        csv
    }
}

/// How many of `labels` there are of each class, `[C]`.
///
/// # Panics
/// If a label is not below `classes`.
pub fn label_histogram(labels: &[u16], classes: usize) -> Vec<u64> {
    count(labels.iter().copied(), classes)
}

fn count(labels: impl Iterator<Item = u16>, classes: usize) -> Vec<u64> {
    let mut counts = vec![0; classes];
    for label in labels {
        counts[usize::from(label)] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn tables_count_labels_per_client() {
        let labels = [0, 1, 1, 2];
        let partition = Partition::new(vec![vec![1, 2], vec![3, 0]], 4).unwrap();
        assert_eq!(partition.label_counts(&labels, 3), [[0, 2, 0], [1, 0, 1]]);
        assert_eq!(partition.label_totals(&labels, 3), [1, 2, 1]);
        let csv = partition.to_csv(&labels, 3);
        assert_eq!(csv, "client,label,examples\n0,1,2\n1,0,1\n1,2,1\n");
        assert_eq!(label_histogram(&labels, 3), [1, 2, 1]);
        assert!(partition.is_disjoint());
    }

    #[test]
    fn some_clients_keep_their_examples_in_their_order() {
        let shards = vec![vec![9, 2], vec![3, 0], vec![7, 1]];
        let partition = Partition::new(shards, 10).unwrap();
        let (left, examples) = partition.of_clients(|client| client != 1);
        assert_eq!(examples, [1, 2, 7, 9]);
        assert_eq!((left.shard(0), left.shard(2)), (&[3, 1][..], &[2, 0][..]));
        assert_eq!(left.sizes(), [2, 0, 2]);
    }

    #[test]
    fn what_is_held_out_belongs_to_nobody_else() {
        let with = |held_out: &[u32]| {
            Partition::new(vec![vec![1, 2], vec![3]], 6)
                .unwrap()
                .holding_out(Some(held_out.to_vec()))
        };
        let partition = with(&[0, 5]).unwrap();
        assert_eq!(partition.held_out(), Some([0, 5].as_slice()));
        assert!(partition.is_disjoint());
        assert_eq!(partition.sizes(), [2, 1]);
        let refusal = |held_out: &[u32]| with(held_out).unwrap_err().to_string();
        assert_eq!(
            refusal(&[3]),
            "partition: example 3 is given twice, the second time to the test set"
        );
        assert_eq!(
            refusal(&[0, 0]),
            "partition: example 0 is given twice, the second time to the test set"
        );
        assert_eq!(
            refusal(&[6]),
            "partition: example 6 of 6 is held out for the test set"
        );
    }

    /// Two clients of five and ten examples, and one of a single example, with local test sets of two fifths.
    fn with_local_tests() -> Partition {
        let shards = vec![
            vec![9, 2, 4, 15, 0],
            vec![3],
            (5..9).chain(10..15).collect(),
        ];
        let partition = Partition::new(shards, 16).unwrap();
        partition.with_local_tests(0.4, |client| ChaCha8Rng::seed_from_u64(client.into()))
    }

    #[test]
    fn a_local_test_set_is_a_part_of_what_the_client_was_dealt() {
        let partition = with_local_tests();
        assert!(partition.has_local_tests() && partition.is_disjoint());
        assert_eq!(partition.sizes(), [3, 1, 5]);
        assert_eq!(partition.local_test(0).len(), 2);
        assert!(
            partition.local_test(1).is_empty(),
            "it has a single example"
        );
        assert_eq!(partition.local_test(2).len(), 4);
        assert_eq!(partition.local_test_sizes(), [2, 0, 4]);
        let dealt = [9, 2, 4, 15, 0];
        for part in [partition.shard(0), partition.local_test(0)] {
            let places = part
                .iter()
                .map(|e| dealt.iter().position(|d| d == e).unwrap());
            assert!(places.is_sorted(), "{part:?}");
        }
        let owners = partition.per_example(9, |client| client);
        assert_eq!(owners, [0, 9, 0, 1, 0, 2, 2, 2, 2, 0, 2, 2, 2, 2, 2, 0]);
    }

    #[test]
    fn local_test_sets_are_merged_and_kept_with_their_clients() {
        let partition = with_local_tests();
        let merged = partition.clone().merged();
        let together = [partition.local_test(0), partition.local_test(2)].concat();
        assert_eq!(merged.local_test(0), together);
        let (left, examples) = partition.of_clients(|client| client != 2);
        assert_eq!(examples, [0, 2, 3, 4, 9, 15]);
        let named = left
            .local_test(0)
            .iter()
            .map(|&place| examples[place as usize]);
        assert!(named.eq(partition.local_test(0).iter().copied()));
        assert_eq!((left.local_test(2), left.sizes()), (&[][..], vec![3, 1, 0]));
    }

    #[test]
    fn test_examples_of_owners_are_no_part_of_what_was_dealt() {
        let [train, test] = [&[7, 2, 7, 4, 4][..], &[4, 7, 9, 7, 2, 2, 7][..]];
        let dealt = Partition::new(vec![vec![3, 4], vec![0, 1, 2]], 5).unwrap();
        let dealt_alone = dealt.clone();
        let partition = dealt.with_tests_of_owners(Owners::Listed(train), Owners::Listed(test));
        let partition = partition.unwrap();
        assert!(partition.has_local_tests() && partition.has_tests_of_owners());
        assert_eq!(partition.local_test(0), [0]);
        assert_eq!(partition.local_test(1), [1, 3, 4, 5, 6]);
        assert_eq!(partition.local_test_examples(), 6);
        assert_eq!(partition.sizes(), dealt_alone.sizes());
        assert!(partition.is_disjoint());
        let clients = |partition: &Partition| partition.per_example(9, |client| client);
        assert_eq!(clients(&partition), clients(&dealt_alone));
        let (left, examples) = partition.of_clients(|client| client == 1);
        assert_eq!(examples, [0, 1, 2], "training examples alone");
        assert_eq!(left.local_test(1), [1, 3, 4, 5, 6], "by their numbers");
        assert!(left.has_tests_of_owners() && left.local_test(0).is_empty());
        let merged = partition.merged();
        assert_eq!(merged.local_test(0), [0, 1, 3, 4, 5, 6]);
    }

    #[test]
    fn a_local_test_set_leaves_something_to_train_on() {
        for (share, examples, expected) in [
            (0.01, 10, 1),
            (0.25, 10, 3),
            (0.99, 10, 9),
            (0.5, 2, 1),
            (0.9, 1, 0),
        ] {
            let partition = Partition::new(vec![(0..examples).collect()], 10).unwrap();
            let parted = partition.with_local_tests(share, |_| ChaCha8Rng::seed_from_u64(3));
            assert_eq!(
                parted.local_test(0).len(),
                expected,
                "{share} of {examples}"
            );
            assert_eq!(parted.sizes(), [examples as usize - expected]);
        }
    }

    #[test]
    fn the_digest_depends_on_who_owns_which_example() {
        let of = |shards: &[&[u32]]| {
            let shards = shards.iter().map(|shard| shard.to_vec()).collect();
            Partition::new(shards, 6).unwrap()
        };
        let first = of(&[&[1, 2], &[3]]);
        assert_eq!(first.digest(), of(&[&[1, 2], &[3]]).digest());
        let others = [
            of(&[&[2, 1], &[3]]),
            of(&[&[1], &[2, 3]]),
            of(&[&[3], &[1, 2]]),
            first.clone().merged(),
            first.clone().holding_out(Some(vec![])).unwrap(),
            first.clone().holding_out(Some(vec![0])).unwrap(),
            first
                .clone()
                .with_local_tests(0.5, |_| ChaCha8Rng::seed_from_u64(1)),
            first
                .clone()
                .with_tests_of_owners(Owners::Listed(&[9, 4, 4, 5, 9, 9]), Owners::Listed(&[4]))
                .unwrap(),
            Partition::new(vec![vec![1, 2], vec![3]], 7).unwrap(),
        ];
        let mut all: Vec<&str> = others.iter().map(Partition::digest).collect();
        all.push(first.digest());
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), others.len() + 1);
    }

    #[test]
    fn what_is_no_partition_is_refused() {
        let refusal = |shards: &[&[u32]]| {
            let shards = shards.iter().map(|shard| shard.to_vec()).collect();
            Partition::new(shards, 4).unwrap_err().to_string()
        };
        assert_eq!(refusal(&[]), "partition: 0 clients, at least 1 needed");
        assert_eq!(refusal(&[&[1], &[]]), "partition: client 1 has no example");
        assert_eq!(
            refusal(&[&[1], &[4]]),
            "partition: client 1 is given example 4 of 4"
        );
        assert_eq!(
            refusal(&[&[1, 0], &[3, 0]]),
            "partition: example 0 is given twice, the second time to client 1"
        );
    }
}
