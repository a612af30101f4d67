//! The splits that single papers describe, against the figures that they give.

use meshfold_data::{
    ByWriter, DataFolder, DatasetConfig, ExampleOrder, Explicit, Glyphs, LabelQuota, Labelled,
    Partition, Partitioner, Similarity, TwoLabelPowerLaw,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

const CLASSES: usize = 10;

fn deal(way: &Partitioner, examples: Labelled<'_>, seed: u64) -> Partition {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    way.split(examples, &mut rng).unwrap()
}

fn power_law(clients: usize) -> Partitioner {
    Partitioner::TwoLabelPowerLaw(TwoLabelPowerLaw { clients })
}

#[test]
fn a_tenth_of_every_client_is_the_test_set() {
    let labels: Vec<u16> = (0..7000).map(|i| (i * 31 / 7) as u16 % 7).collect();
    let examples = Labelled::new(&labels, 7);
    for clients in [1, 5, 40, 140] {
        let partition = deal(&power_law(clients), examples, 3);
        assert_eq!(partition, deal(&power_law(clients), examples, 3));
        assert_ne!(partition, deal(&power_law(clients), examples, 4));
        assert!(partition.is_disjoint());
        let held_out = partition.held_out().unwrap();
        assert!(held_out.is_sorted());
        // Of n examples n / 10 are held out, rounded up.
        let least = partition.sizes().iter().sum::<usize>() / 9;
        assert!((least..=least + clients).contains(&held_out.len()));
    }
}

#[test]
fn splits_are_value_stable() {
    let labels: Vec<u16> = (0..1000).map(|i| i % 10).collect();
    let writers: Vec<u32> = (0..1000).map(|i| i * i % 77).collect();
    let examples = Labelled::new(&labels, CLASSES).with_owners(&writers);
    let partition = deal(&power_law(20), examples, 42);
    assert_eq!(partition.shard(0)[..4], [201, 230, 280, 220]);
    assert_eq!(partition.held_out().unwrap()[..4], [1, 4, 13, 26]);
    let clients = Some(9);
    let partition = deal(&Partitioner::ByWriter(ByWriter { clients }), examples, 42);
    assert_eq!(partition.shard(0)[..4], [4, 18, 59, 73]);
}

#[test]
fn splits_are_dealt_as_the_partition_counts_them() {
    let dataset = DatasetConfig::Glyphs(Glyphs {
        train: 600,
        test: 100,
        ..Glyphs::default()
    });
    let folder = DataFolder::new("unused");
    let summary = dataset.summary(&folder).unwrap();
    let labels = summary.labelled(true).labels;
    let partition = deal(&power_law(20), summary.labelled(true), 1);
    let splits = dataset.load(&folder).unwrap();
    let dealt = splits.clone().apply_partition(&partition);
    assert_eq!(dealt.train.labels(), labels);
    assert_eq!(dealt.train.row(650), splits.test.row(50));
    let held_out = partition.held_out().unwrap();
    assert_eq!(dealt.test.len(), held_out.len());
    let (first, last) = (held_out[0], held_out[held_out.len() - 1]);
    assert_eq!(dealt.test.row(0), dealt.train.row(first as usize));
    assert_eq!(
        dealt.test.labels()[held_out.len() - 1],
        labels[last as usize]
    );
}

/// DFedRW's 20 clients: who has how many of which label of 6,000 each.
fn quota_counts(seed: u64) -> Vec<Vec<u64>> {
    let labels: Vec<u16> = (0..60_000).map(|i| (i % 10) as u16).collect();
    let way = Partitioner::LabelQuota(LabelQuota {
        clients: 20,
        max_per_label: 1500,
    });
    let partition = deal(&way, Labelled::new(&labels, CLASSES), seed);
    assert_eq!(partition.sizes(), [3000; 20]);
    partition.label_counts(&labels, CLASSES)
}

#[test]
fn a_quota_is_exceeded_only_when_no_label_is_left_below_it() {
    for seed in 0..20 {
        let mut left = [6000; CLASSES];
        for row in quota_counts(seed) {
            let before = left;
            left.iter_mut()
                .zip(&row)
                .for_each(|(left, taken)| *left -= taken);
            if row.iter().any(|&taken| taken > 1500) {
                let fully_used = |label: usize| row[label] >= 1500 || left[label] == 0;
                assert!((0..CLASSES).all(fully_used), "{row:?} of {before:?}");
            }
        }
    }
}

#[test]
fn clients_of_a_quota_begin_at_random_and_go_on_with_the_next_label() {
    let mut first = [0; CLASSES];
    for seed in 0..1000 {
        let row = &quota_counts(seed)[0];
        let start = (0..CLASSES)
            .find(|&label| row[label] == 1500 && row[(label + 1) % CLASSES] == 1500)
            .unwrap();
        first[start] += 1;
    }
    let term = |count: u32| (f64::from(count) - 100.0).powi(2) / 100.0;
    let statistic: f64 = first.into_iter().map(term).sum();
    assert!(
        statistic < 27.88,
        "χ² = {statistic} with 9 degrees, 0.1 % point 27.88"
    );
}

#[test]
fn dfedrw_without_similarity_gives_each_of_twenty_clients_two_of_forty_shards() {
    let labels: Vec<u16> = (0..60_000).map(|i| (i % 10) as u16).collect();
    let counts = |percent| {
        let way = Partitioner::Similarity(Similarity {
            clients: 20,
            percent,
            shards_per_client: 2,
        });
        deal(&way, Labelled::new(&labels, CLASSES), 1).label_counts(&labels, CLASSES)
    };
    for row in counts(0.0) {
        assert_eq!(row.iter().sum::<u64>(), 3000);
        assert!(row.iter().all(|taken| taken.is_multiple_of(1500)));
    }
    // u = 50: half of each client is from the pool; a shard is a quarter of what is left of a label, about 750.
    for row in counts(50.0) {
        let shards = row.iter().map(|&taken| taken.saturating_sub(150) as f64);
        let rounded: f64 = shards.map(|taken| (taken / 750.0).round()).sum();
        assert_eq!(rounded, 2.0, "{row:?}");
    }
}

#[test]
fn explicit_counts_are_met_in_file_order() {
    let labels = [0, 1, 0, 1, 0, 1, 0];
    let way = |order| {
        Partitioner::Explicit(Explicit {
            counts: Some(vec![vec![1, 2], vec![2, 0]]),
            order,
            ..Explicit::default()
        })
    };
    let split = |order| deal(&way(order), Labelled::new(&labels, 2), 1);
    let in_order = split(ExampleOrder::File);
    assert_eq!(in_order.shard(0), [0, 1, 3]);
    assert_eq!(in_order.shard(1), [2, 4]);
    assert_eq!(
        split(ExampleOrder::Shuffled).label_counts(&labels, 2),
        [[1, 2], [2, 0]]
    );
}

/// A row of DeceFL's Table 3 as it is printed: size in per cent and ratio of positives to negatives, node by node.
type Table3 = [(usize, [(f64, [f64; 2]); 4])];

#[test]
fn sizes_and_ratios_give_table_3_of_decefl() {
    let table: &Table3 = &[
        (
            1,
            [
                (10.0, [1.0, 99.0]),
                (10.0, [99.0, 1.0]),
                (20.0, [3.0, 7.0]),
                (40.0, [6.0, 4.0]),
            ],
        ),
        (
            2,
            [
                (4.0, [1.0, 1.0]),
                (6.0, [1.0, 99.0]),
                (10.0, [4.0, 6.0]),
                (20.0, [7.0, 3.0]),
            ],
        ),
        (
            4,
            [
                (2.0, [1.0, 1.0]),
                (3.0, [1.0, 99.0]),
                (5.0, [4.0, 6.0]),
                (10.0, [7.0, 3.0]),
            ],
        ),
    ];
    // The training examples of the balanced dataset A2: 2,070 of each label.
    let labels: Vec<u16> = (0..4140).map(|i| i % 2).collect();
    for (nodes_each, rows) in table {
        let clients = || rows.iter().flat_map(|row| vec![*row; *nodes_each]);
        let way = Partitioner::Explicit(Explicit {
            sizes: Some(clients().map(|(percent, _)| percent / 100.0).collect()),
            ratios: Some(clients().map(|(_, ratio)| ratio.to_vec()).collect()),
            ..Explicit::default()
        });
        assert_eq!(way.clients(), Some(4 * nodes_each));
        let partition = deal(&way, Labelled::new(&labels, 2), 1);
        assert!(partition.is_disjoint());
        let given = partition.label_counts(&labels, 2);
        for ((percent, [positive, negative]), found) in clients().zip(&given) {
            let size = (41.4 * percent).round();
            assert_eq!(found.iter().sum::<u64>() as f64, size);
            let needed = size * positive / (positive + negative);
            assert!((found[0] as f64 - needed).abs() <= 0.5, "{found:?}");
        }
        // Four fifths of the training examples are given out in each of the three graphs.
        let total: u64 = given.iter().flatten().sum();
        assert!(total.abs_diff(3312) <= 4, "{total}");
    }
}

#[test]
fn given_counts_take_the_windows_of_decefl_in_file_order() {
    // Fig. 14, four nodes and four classes of 1,200 training windows.
    let counts = vec![
        vec![348, 228, 233, 138],
        vec![600, 144, 317, 592],
        vec![0, 290, 247, 18],
        vec![252, 538, 403, 452],
    ];
    let labels: Vec<u16> = (0..4800).map(|i| i / 1200).collect();
    let way = Partitioner::Explicit(Explicit {
        counts: Some(counts),
        order: ExampleOrder::File,
        ..Explicit::default()
    });
    let partition = deal(&way, Labelled::new(&labels, 4), 1);
    assert_eq!(partition.sizes(), [947, 1653, 555, 1645]);
    assert_eq!(partition.shard(0)[..348], (0..348).collect::<Vec<u32>>());
    assert_eq!(partition.shard(1)[..600], (348..948).collect::<Vec<u32>>());
    assert_eq!(partition.shard(2)[0], 1200 + 228 + 144);
}

#[test]
fn who_writes_owns() {
    let dataset = DatasetConfig::Glyphs(Glyphs {
        train: 3000,
        test: 10,
        ..Glyphs::default()
    });
    let train = dataset.load(&DataFolder::new("unused")).unwrap().train;
    let writers = train.owners().unwrap();
    let way = |clients| Partitioner::ByWriter(ByWriter { clients });
    assert!(way(None).reads_owners());

    let alone = deal(&way(None), train.labelled(), 1);
    assert_eq!(alone, deal(&way(None), train.labelled(), 2));
    let writer_of = |client| writers[alone.shard(client)[0] as usize];
    assert!((1..alone.clients()).all(|client| writer_of(client - 1) < writer_of(client)));

    let dealt = deal(&way(Some(60)), train.labelled(), 1);
    assert_eq!(dealt.clients(), 60);
    assert_ne!(dealt, deal(&way(Some(60)), train.labelled(), 2));
    for partition in [&alone, &dealt] {
        assert!(partition.is_disjoint());
        assert_eq!(partition.sizes().iter().sum::<usize>(), 3000);
        let mut owner = vec![None; 500];
        for client in 0..partition.clients() {
            for &example in partition.shard(client) {
                let owner = &mut owner[writers[example as usize] as usize];
                assert_eq!(*owner.get_or_insert(client), client);
            }
        }
        let owners = owner.iter().flatten().count();
        assert_eq!(owners, alone.clients());
    }
}
