//! The published figures of datasets, and those in the papers, against the files.

use std::collections::BTreeSet;

use meshfold_data::{
    DataFolder, DatasetConfig, DatasetSummary, Input, Mnist, Owners, Partitioner, TwoLabelPowerLaw,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use meshfold_test_needs::Test;

/// The tests of this file and the datasets that they read.
pub(crate) fn tests() -> Vec<Test> {
    vec![
        real_data!(published_sizes_are_those_of_the_files_at_hand: "mnist", "fashion-mnist", "cifar10", "qmnist-writers", "cwru"),
        real_data!(texts_at_hand_have_about_as_many_windows_as_is_said_of_them: "shakespeare"),
        real_data!(a_thousand_clients_hold_as_many_mnist_images_as_in_p_fedavg: "mnist"),
    ]
}

/// Training examples, test examples and bytes of their features.
fn sizes(summary: &DatasetSummary) -> [usize; 3] {
    [summary.train(), summary.test(), summary.feature_bytes()]
}

/// Input, classes and number of owners.
fn kind(summary: &DatasetSummary) -> (Input, usize, Option<usize>) {
    let different = |owners: Owners<'_>| {
        let owners: BTreeSet<u32> = owners.runs().map(|(owner, _)| owner).collect();
        owners.len()
    };
    let owners = summary.labelled(true).owners.map(different);
    (summary.input(), summary.classes(), owners)
}

fn published_sizes_are_those_of_the_files_at_hand(folder: &DataFolder) {
    for text in [
        r#"{"mnist": {"validation": 10000}}"#,
        r#"{"fashion_mnist": {"balanced_test": 5000}}"#,
        r#"{"cifar10": {}}"#,
        r#"{"qmnist": {}}"#,
        r#"{"cwru": {"normal": "halves"}}"#,
    ] {
        let dataset: DatasetConfig = serde_json::from_str(text).unwrap();
        let published = dataset.published().unwrap().expect(text);
        let read = dataset.summary(folder).unwrap();
        assert_eq!(sizes(&published.summary), sizes(&read), "{text}");
        assert_eq!(kind(&published.summary), kind(&read), "{text}");
    }
}

fn texts_at_hand_have_about_as_many_windows_as_is_said_of_them(folder: &DataFolder) {
    for source in ["complete", "tiny"] {
        let text = format!(r#"{{"shakespeare": {{"source": "{source}"}}}}"#);
        let dataset: DatasetConfig = serde_json::from_str(&text).unwrap();
        let published = dataset.published().unwrap().unwrap().summary;
        let read = dataset.summary(folder).unwrap();
        assert_eq!(kind(&published), kind(&read), "{source}");
        let ratio = published.train() as f64 / read.train() as f64;
        // Every role is a window short or long of the mean.
        assert!((0.98..1.02).contains(&ratio), "{source}: {ratio}");
    }
}

fn a_thousand_clients_hold_as_many_mnist_images_as_in_p_fedavg(folder: &DataFolder) {
    let summary = DatasetConfig::Mnist(Mnist::default()).summary(folder);
    let summary = summary.unwrap();
    let examples = summary.labelled(true);
    assert_eq!(examples.labels.len(), 70_000);
    let (mut small, mut total) = (0, 0);
    for seed in 0..10 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let way = Partitioner::TwoLabelPowerLaw(TwoLabelPowerLaw { clients: 1000 });
        let partition = way.split(examples, &mut rng).unwrap();
        // The paper has 69,035. What 2,000 shares lose by rounding down has mean 1,000 at most and a deviation of
        // sqrt(2000 / 12) = 13; tiny shares lose less, which leaves 69,060 on average.
        let dealt: usize = partition.sizes().iter().sum();
        let held = dealt + partition.held_out().unwrap().len();
        assert!((69_010..69_110).contains(&held), "{held}");
        total += held;
        small += partition.sizes().iter().filter(|&&size| size < 32).count();
    }
    assert!((69_050..69_070).contains(&(total / 10)), "{total}");
    // 62 %; a draw has a deviation of 2 %, the mean of ten of less than 1 %.
    assert!((5_900..6_600).contains(&small), "{small}");
}
