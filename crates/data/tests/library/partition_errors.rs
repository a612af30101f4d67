//! Settings of a partition that cannot be met, and what the error says about them.

use meshfold_data::{
    ByRole, ByUser, ByWriter, ClassSizes, Classes, Dirichlet, Explicit, Iid, LabelQuota, Labelled,
    OneLabel, PartitionError, Partitioner, Quantity, Shards, Shortfall, Similarity,
    TwoLabelPowerLaw,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

const CLASSES: usize = 10;

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

#[test]
fn settings_that_cannot_be_met_are_named() {
    let labels: Vec<u16> = (0..60).map(|i| i * i % 10).collect();
    let refusal = |way: Partitioner| {
        way.split(Labelled::new(&labels, CLASSES), &mut rng(1))
            .unwrap_err()
            .to_string()
    };
    let clients = 100;
    assert_eq!(
        refusal(Partitioner::Iid(Iid { clients })),
        "partition: 100 clients but only 60 training examples; at most 60 clients"
    );
    assert_eq!(
        refusal(Partitioner::Iid(Iid { clients: 0 })),
        "partition: 0 clients, at least 1 needed"
    );
    assert_eq!(
        refusal(Partitioner::Shards(Shards {
            clients: 40,
            per_client: 2
        })),
        "partition: 40 clients with 2 shards each make 80 shards of only 60 training examples"
    );
    assert!(
        refusal(Partitioner::OneLabel(OneLabel { clients: 60 }))
            .contains("label 2 has 0 examples but 6 are needed")
    );
    let sizes = ClassSizes::Equal;
    assert_eq!(
        refusal(Partitioner::Classes(Classes {
            clients: 5,
            per_client: 11,
            sizes
        })),
        "partition: classes.per_client is 11, 1 to 10, the number of classes, needed"
    );
    assert_eq!(
        refusal(Partitioner::Dirichlet(Dirichlet {
            clients: 5,
            alpha: 0.0,
            min_examples: 1,
            shortfall: Shortfall::Redraw,
        })),
        "partition: dirichlet.alpha is 0, 0.000001 to 1000000 needed"
    );
    assert_eq!(
        refusal(Partitioner::Dirichlet(Dirichlet {
            clients: 5,
            alpha: 1.0,
            min_examples: 13,
            shortfall: Shortfall::Redraw,
        })),
        "partition: dirichlet.min_examples is 13, 1 to 12 (60 examples over 5 clients) needed"
    );
    assert_eq!(
        refusal(Partitioner::Similarity(Similarity {
            clients: 5,
            percent: 101.0,
            shards_per_client: 2
        })),
        "partition: similarity.percent is 101, 0 to 100 needed"
    );
    assert!(
        refusal(Partitioner::Similarity(Similarity {
            clients: 4,
            percent: 0.0,
            shards_per_client: 2
        }))
        .contains("shards_per_client is 2, at least 3")
    );
    assert!(
        refusal(Partitioner::Quantity(Quantity {
            clients: 5,
            sigma: -1.0
        }))
        .contains("0 to 20")
    );
}

#[test]
fn quotas_that_do_not_fill_the_budgets_are_named() {
    let labels: Vec<u16> = (0..60).map(|i| i % 10).collect();
    let refusal = |clients, max_per_label| {
        let quota = LabelQuota {
            clients,
            max_per_label,
        };
        Partitioner::LabelQuota(quota)
            .split(Labelled::new(&labels, CLASSES), &mut rng(1))
            .unwrap_err()
            .to_string()
    };
    for quota in [0, 1] {
        assert_eq!(
            refusal(3, quota),
            format!(
                "partition: label_quota.max_per_label is {quota}, at least 2 (to have 20 examples of 10 labels) needed"
            )
        );
    }
    assert_eq!(refusal(0, 1500), "partition: 0 clients, at least 1 needed");
    assert!(refusal(61, 1500).contains("at most 60 clients"));
}

#[test]
fn two_labels_that_are_not_there_are_named() {
    let refusal = |clients, labels: &[u16], classes| {
        Partitioner::TwoLabelPowerLaw(TwoLabelPowerLaw { clients })
            .split(Labelled::new(labels, classes), &mut rng(1))
            .unwrap_err()
            .to_string()
    };
    let labels: Vec<u16> = (0..60).map(|i| i % 3).collect();
    assert_eq!(
        refusal(2, &[0; 60], 1),
        "partition: 1 classes, at least 2 needed"
    );
    assert_eq!(
        refusal(7, &labels, 3),
        "partition: two_label_power_law.clients is 7, at most 6 (60 examples, 10 for each client to begin with) needed"
    );
    assert!(refusal(61, &labels, 3).contains("at most 6 (60 examples"));
    assert_eq!(
        refusal(0, &labels, 3),
        "partition: 0 clients, at least 1 needed"
    );
    let uneven: Vec<u16> = (0..60).map(|i| u16::from(i > 8)).collect();
    assert_eq!(
        refusal(2, &uneven, 2),
        "partition: the clients ask for 10 examples of label 0, but there are only 9"
    );
}

#[test]
fn writers_that_are_not_there_are_named() {
    let (labels, writers) = ([0, 1, 1, 0, 1], [4, 4, 9, 4, 9]);
    let refusal = |clients, examples| {
        Partitioner::ByWriter(ByWriter { clients })
            .split(examples, &mut rng(1))
            .unwrap_err()
            .to_string()
    };
    let unsigned = Labelled::new(&labels, 2);
    assert_eq!(
        refusal(None, unsigned),
        "partition: the dataset does not say which writer an example belongs to; choose another partition, such as iid"
    );
    let signed = unsigned.with_owners(&writers);
    assert_eq!(
        refusal(Some(3), signed),
        "partition: 3 clients but only 2 writers of training examples; at most 2 clients"
    );
    assert_eq!(
        refusal(Some(0), signed),
        "partition: 0 clients, at least 1 needed"
    );
}

#[test]
fn roles_and_users_are_called_so() {
    let refusal =
        |way: Partitioner, examples| way.split(examples, &mut rng(1)).unwrap_err().to_string();
    let labels = [0, 1, 1];
    let nobodys = Labelled::new(&labels, 2);
    assert_eq!(
        refusal(Partitioner::ByRole(ByRole::default()), nobodys),
        "partition: the dataset does not say which role an example belongs to; choose another partition, such as iid"
    );
    let owned = nobodys.with_owners(&[3, 3, 5]);
    assert_eq!(
        refusal(Partitioner::ByUser(ByUser { clients: Some(3) }), owned),
        "partition: 3 clients but only 2 users of training examples; at most 2 clients"
    );
}

#[test]
fn what_follows_in_a_text_is_no_label_to_deal_by() {
    let labels: Vec<u16> = (0..60).map(|i| i % 3).collect();
    let mut text = Labelled::new(&labels, 3).with_owners(&[7; 60]);
    text.text = true;
    let deal = |way: &str| {
        let way: Partitioner = serde_json::from_str(way).unwrap();
        way.split(text, &mut rng(1))
            .map_err(|error| error.to_string())
    };
    for way in [
        r#"{"iid": {"clients": 3}}"#,
        r#"{"quantity": {"clients": 3, "sigma": 1}}"#,
        r#"{"by_user": {}}"#,
    ] {
        deal(way).unwrap();
    }
    for way in [
        r#"{"shards": {"clients": 3}}"#,
        r#"{"one_label": {"clients": 3}}"#,
        r#"{"dirichlet": {"clients": 3, "alpha": 1}}"#,
        r#"{"label_quota": {"clients": 3}}"#,
    ] {
        let refusal = deal(way).unwrap_err();
        assert!(
            refusal.ends_with(
                "goes by labels, and the label of a text is the token that follows: use iid, quantity, by_role or by_user"
            ),
            "{refusal}"
        );
    }
}

#[test]
fn explicit_tables_that_do_not_fit_are_named() {
    let labels: Vec<u16> = (0..10).map(|i| i % 2).collect();
    let refusal = |explicit: Explicit| {
        Partitioner::Explicit(explicit)
            .split(Labelled::new(&labels, 2), &mut rng(1))
            .unwrap_err()
    };
    assert_eq!(refusal(Explicit::default()), PartitionError::ExplicitForm);
    let counts = |rows: &[&[u32]]| Explicit {
        counts: Some(rows.iter().map(|row| row.to_vec()).collect()),
        ..Explicit::default()
    };
    assert_eq!(
        refusal(counts(&[&[3, 1], &[3, 1]])).to_string(),
        "partition: the clients ask for 6 examples of label 0, but there are only 5"
    );
    assert_eq!(
        refusal(counts(&[&[3, 1], &[3]])).to_string(),
        "partition: explicit counts of client 1 has 1 entries, 2 needed, one per label"
    );
    assert_eq!(
        refusal(counts(&[&[1, 1], &[0, 0]])),
        PartitionError::EmptyClient { client: 1 }
    );
    let shares = |sizes: &[f64], ratios: &[&[f64]]| Explicit {
        sizes: Some(sizes.to_vec()),
        ratios: Some(ratios.iter().map(|row| row.to_vec()).collect()),
        ..Explicit::default()
    };
    let refused = [
        (shares(&[0.5], &[]), "explicit ratios has 0 rows, 1 needed"),
        (
            shares(&[0.5, 0.6], &[&[1.0, 1.0], &[1.0, 1.0]]),
            "explicit.sizes is 1.1, a sum of at most 1 needed",
        ),
        (
            shares(&[0.5], &[&[0.0, 0.0]]),
            "explicit ratios of client 0 have the sum 0, a number above 0 needed",
        ),
        (shares(&[0.5], &[&[-1.0, 2.0]]), "explicit.ratios is -1"),
    ];
    for (explicit, reason) in refused {
        let error = refusal(explicit).to_string();
        assert!(error.contains(reason), "{error}");
    }
}
