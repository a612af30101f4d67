//! Every way of dealing: what holds always, what holds in distribution, and the exact values.

use meshfold_data::{
    ClassSizes, Classes, Dirichlet, DirichletBalanced, Iid, LabelQuota, Labelled, OneLabel,
    Partition, Partitioner, Quantity, Shards, Shortfall, Similarity, label_histogram,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

const CLASSES: usize = 10;

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Labels of slightly unequal classes in a mixed order, as MNIST's are.
fn labels(examples: usize) -> Vec<u16> {
    let label = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % CLASSES as u64;
    (0..examples as u64).map(|i| label(i) as u16).collect()
}

fn deal(partitioner: &Partitioner, labels: &[u16], seed: u64) -> Partition {
    let examples = Labelled::new(labels, CLASSES);
    partitioner.split(examples, &mut rng(seed)).unwrap()
}

fn every_way(clients: usize) -> Vec<Partitioner> {
    vec![
        Partitioner::Iid(Iid { clients }),
        Partitioner::Shards(Shards {
            clients,
            per_client: 2,
        }),
        Partitioner::OneLabel(OneLabel { clients }),
        Partitioner::Classes(Classes {
            clients,
            per_client: 3,
            sizes: ClassSizes::Equal,
        }),
        Partitioner::Classes(Classes {
            clients,
            per_client: 2,
            sizes: ClassSizes::PowerLaw,
        }),
        Partitioner::Dirichlet(Dirichlet {
            clients,
            alpha: 0.5,
            min_examples: 1,
            shortfall: Shortfall::Redraw,
        }),
        Partitioner::DirichletBalanced(DirichletBalanced {
            clients,
            alpha: 0.5,
        }),
        Partitioner::Similarity(Similarity {
            clients,
            percent: 30.0,
            shards_per_client: 2,
        }),
        Partitioner::Quantity(Quantity {
            clients,
            sigma: 1.0,
        }),
        Partitioner::LabelQuota(LabelQuota {
            clients,
            max_per_label: 100,
        }),
    ]
}

/// Σ (found − expected)² / expected.
fn chi_square(found: &[u64], expected: &[f64]) -> f64 {
    let term = |(&f, &e): (&u64, &f64)| (f as f64 - e).powi(2) / e;
    found.iter().zip(expected).map(term).sum()
}

#[test]
fn every_way_is_disjoint_covers_all_and_repeats_exactly() {
    let labels = labels(6007);
    for way in every_way(40) {
        let partition = deal(&way, &labels, 7);
        assert!(partition.is_disjoint(), "{way:?}");
        assert_eq!(partition.clients(), 40);
        assert_eq!(partition.sizes().iter().sum::<usize>(), 6007, "{way:?}");
        assert_eq!(partition, deal(&way, &labels, 7), "{way:?}");
        assert_ne!(partition, deal(&way, &labels, 8), "{way:?}");
        let mut columns = vec![0; CLASSES];
        for row in partition.label_counts(&labels, CLASSES) {
            columns.iter_mut().zip(row).for_each(|(sum, n)| *sum += n);
        }
        assert_eq!(columns, label_histogram(&labels, CLASSES), "{way:?}");
    }
}

#[test]
fn partitions_are_value_stable() {
    let labels = labels(1000);
    let found: Vec<(usize, Vec<u32>)> = every_way(20)
        .iter()
        .map(|way| deal(way, &labels, 42))
        .map(|partition| (partition.shard(0).len(), partition.shard(0)[..4].to_vec()))
        .collect();
    let expected = [
        (50, vec![79, 977, 64, 235]),
        (50, vec![519, 523, 545, 549]),
        (48, vec![834, 910, 687, 946]),
        (52, vec![906, 509, 62, 977]),
        (22, vec![906, 509, 62, 977]),
        (55, vec![950, 571, 67, 754]),
        (50, vec![892, 672, 406, 638]),
        (52, vec![79, 977, 64, 235]),
        (42, vec![881, 593, 949, 425]),
        (50, vec![853, 407, 594, 117]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn iid_parts_are_equal_and_have_the_labels_of_the_whole() {
    let labels = labels(60_000);
    let partition = deal(&Partitioner::Iid(Iid { clients: 100 }), &labels, 1);
    assert_eq!(partition.sizes(), [600; 100]);
    let all = label_histogram(&labels, CLASSES);
    let expected: Vec<f64> = all.iter().map(|&n| n as f64 / 100.0).collect();
    let rows = partition.label_counts(&labels, CLASSES);
    let total: f64 = rows.iter().map(|row| chi_square(row, &expected)).sum();
    // 99 * 9 = 891 degrees of freedom: mean 891, deviation 42; four deviations either way.
    assert!((722.0..1060.0).contains(&total), "χ² = {total}");
}

#[test]
fn shards_are_dealt_uniformly_and_most_clients_see_two_labels() {
    let labels = labels(60_000);
    let way = Partitioner::Shards(Shards {
        clients: 100,
        per_client: 2,
    });
    let partition = deal(&way, &labels, 1);
    assert_eq!(partition.sizes(), [600; 100]);
    let rows = partition.label_counts(&labels, CLASSES);
    let held = |row: &Vec<u64>| row.iter().filter(|&&n| n > 0).count();
    assert!(rows.iter().all(|row| held(row) <= 4));
    assert!(rows.iter().filter(|row| held(row) <= 2).count() > 70);
    // Which client gets the very first shard is uniform over the clients.
    let way = Partitioner::Shards(Shards {
        clients: 10,
        per_client: 2,
    });
    let small = &labels[..200];
    let first = small.iter().position(|&label| label == 0).unwrap() as u32;
    let mut owners = [0; 10];
    for seed in 0..2000 {
        let partition = deal(&way, small, seed);
        owners[(0..10)
            .find(|&c| partition.shard(c).contains(&first))
            .unwrap()] += 1;
    }
    let statistic = chi_square(&owners, &[200.0; 10]);
    assert!(
        statistic < 27.88,
        "χ² = {statistic} with 9 degrees, 0.1 % point 27.88"
    );
}

#[test]
fn one_label_gives_client_i_label_i_mod_c_in_equal_parts() {
    let labels = labels(6000);
    let all = label_histogram(&labels, CLASSES);
    let partition = deal(&Partitioner::OneLabel(OneLabel { clients: 25 }), &labels, 1);
    for (client, row) in partition.label_counts(&labels, CLASSES).iter().enumerate() {
        let label = client % CLASSES;
        let holders = if label < 5 { 3 } else { 2 };
        let part = all[label] / holders;
        assert!((part..=part + 1).contains(&row[label]), "client {client}");
        assert_eq!(
            row.iter().sum::<u64>(),
            row[label],
            "client {client} has a second label"
        );
    }
    let few = deal(&Partitioner::OneLabel(OneLabel { clients: 3 }), &labels, 1);
    assert_eq!(
        few.sizes(),
        [all[0] as usize, all[1] as usize, all[2] as usize]
    );
}

#[test]
fn classes_gives_each_client_its_number_of_labels_and_each_label_its_holders() {
    let labels = labels(60_000);
    for (per_client, sizes) in [
        (1, ClassSizes::Equal),
        (3, ClassSizes::PowerLaw),
        (10, ClassSizes::Equal),
    ] {
        let way = Partitioner::Classes(Classes {
            clients: 100,
            per_client,
            sizes,
        });
        let rows = deal(&way, &labels, 3).label_counts(&labels, CLASSES);
        assert!(
            rows.iter()
                .all(|row| row.iter().filter(|&&n| n > 0).count() == per_client)
        );
        for label in 0..CLASSES {
            let holders = rows.iter().filter(|row| row[label] > 0).count();
            assert!(
                holders.abs_diff(10 * per_client) <= 1,
                "label {label}: {holders} holders"
            );
        }
    }
}

#[test]
fn power_law_sizes_fall_as_one_over_rank() {
    let labels = labels(60_000);
    let sizes = ClassSizes::PowerLaw;
    let way = Partitioner::Classes(Classes {
        clients: 100,
        per_client: 10,
        sizes,
    });
    let mut found = deal(&way, &labels, 5).sizes();
    found.sort_unstable_by(|a, b| b.cmp(a));
    let slope = (found[49] as f64 / found[0] as f64).ln() / 50_f64.ln();
    // Each client's guaranteed example per label lifts the tail a little.
    assert!((slope + 1.0).abs() < 0.05, "slope {slope}");
}

#[test]
fn dirichlet_is_uneven_for_small_alpha_and_even_for_large() {
    let labels = labels(60_000);
    let spread = |alpha| {
        let way = Partitioner::Dirichlet(Dirichlet {
            clients: 20,
            alpha,
            min_examples: 1,
            shortfall: Shortfall::Redraw,
        });
        let rows = deal(&way, &labels, 2).label_counts(&labels, CLASSES);
        let share = |row: &Vec<u64>| {
            let most = row.iter().max().copied().unwrap_or(0);
            most as f64 / row.iter().sum::<u64>() as f64
        };
        rows.iter().map(share).sum::<f64>() / 20.0
    };
    let (uneven, even) = (spread(0.1), spread(1000.0));
    assert!(uneven > 0.4 && even < 0.13, "{uneven} {even}");
}

#[test]
fn similarity_mixes_a_common_pool_with_pure_shards() {
    let labels = labels(60_000);
    let rows = |percent| {
        let way = Partitioner::Similarity(Similarity {
            clients: 20,
            percent,
            shards_per_client: 2,
        });
        deal(&way, &labels, 9).label_counts(&labels, CLASSES)
    };
    let held = |row: &Vec<u64>| row.iter().filter(|&&n| n > 0).count();
    assert!(rows(0.0).iter().all(|row| held(row) <= 2));
    assert!(rows(100.0).iter().all(|row| held(row) == CLASSES));
    for row in rows(50.0) {
        // Half of 3000 is iid, 150 a label; each of the two shards holds about 750 of one label.
        let large = row.iter().filter(|&&n| n > 600).count();
        assert!((1..=2).contains(&large), "{row:?}");
        assert_eq!(held(&row), CLASSES);
    }
}

#[test]
fn quantity_sizes_are_log_normal_and_labels_alike() {
    let labels = labels(60_000);
    let way = Partitioner::Quantity(Quantity {
        clients: 1000,
        sigma: 0.5,
    });
    let partition = deal(&way, &labels, 4);
    let logs: Vec<f64> = partition.sizes().iter().map(|&n| (n as f64).ln()).collect();
    let mean = logs.iter().sum::<f64>() / 1000.0;
    let deviation = (logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / 1000.0).sqrt();
    // Five standard errors, sigma / sqrt(2 n), and the rounding of small sizes.
    assert!((deviation - 0.5).abs() < 0.06, "deviation {deviation}");
    let equal = deal(
        &Partitioner::Quantity(Quantity {
            clients: 8,
            sigma: 0.0,
        }),
        &labels,
        4,
    );
    assert_eq!(equal.sizes(), [7500; 8]);
}

#[test]
fn configurations_are_read_with_their_defaults() {
    let read = serde_json::from_str::<Partitioner>;
    assert_eq!(
        read(r#"{"shards": {"clients": 100}}"#).unwrap(),
        Partitioner::Shards(Shards {
            clients: 100,
            per_client: 2
        })
    );
    assert_eq!(
        read(r#"{"dirichlet": {"clients": 3, "alpha": 0.1}}"#).unwrap(),
        Partitioner::Dirichlet(Dirichlet {
            clients: 3,
            alpha: 0.1,
            min_examples: 1,
            shortfall: Shortfall::Redraw,
        })
    );
    assert_eq!(
        read(r#"{"label_quota": {"clients": 20}}"#).unwrap(),
        Partitioner::LabelQuota(LabelQuota {
            clients: 20,
            max_per_label: 1500
        })
    );
    assert_eq!(
        read(r#"{"two_label_power_law": {}}"#).unwrap().clients(),
        Some(1000)
    );
    assert_eq!(read(r#"{"by_writer": {}}"#).unwrap().clients(), None);
    assert!(
        read(r#"{"iid": {}}"#)
            .unwrap_err()
            .to_string()
            .contains("missing field `clients`")
    );
    let unknown = read(r#"{"iid": {"clients": 3, "client": 4}}"#).unwrap_err();
    assert!(unknown.to_string().starts_with("unknown field `client`"));
}

#[test]
fn ten_thousand_clients_are_dealt_in_no_time() {
    let labels = labels(60_000);
    let started = std::time::Instant::now();
    for way in every_way(10_000) {
        if !matches!(way, Partitioner::Dirichlet(_)) {
            assert_eq!(deal(&way, &labels, 1).clients(), 10_000);
        }
    }
    let dirichlet = Dirichlet {
        clients: 10_000,
        alpha: 10.0,
        min_examples: 1,
        shortfall: Shortfall::Redraw,
    };
    deal(&Partitioner::Dirichlet(dirichlet), &labels, 1);
    // About a hundred times what it takes; anything quadratic takes longer.
    assert!(
        started.elapsed().as_secs_f64() < 5.0,
        "{:?}",
        started.elapsed()
    );
}
