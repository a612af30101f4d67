//! The published files of the image datasets.

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use meshfold_data::{
    ByWriter, Cifar10, DataFolder, DatasetConfig, DatasetSummary, ExamplesBuilder, FashionMnist,
    FileStatus, Manifest, Mnist, Partitioner, Qmnist, Scaling, check, label_histogram,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use meshfold_test_needs::Test;

/// The tests of this file and the datasets that they read.
pub(crate) fn tests() -> Vec<Test> {
    vec![
        real_data!(mnist_has_the_published_labels_and_statistics: "mnist"),
        real_data!(validation_images_are_the_last_of_the_training_images: "mnist"),
        real_data!(two_classes_are_the_digits_below_five_and_the_others: "mnist"),
        real_data!(balanced_test_sets_are_the_first_images_of_each_class: "mnist"),
        real_data!(fashion_mnist_is_balanced_and_names_its_classes: "fashion-mnist"),
        real_data!(the_files_match_their_manifests: "mnist", "fashion-mnist", "qmnist-writers"),
        real_data!(cifar10_is_balanced_and_standardised_by_channel: "cifar10"),
        real_data!(the_copy_of_cifar10_is_known: "cifar10"),
        real_data!(broken_batches_of_cifar10_are_refused_with_file_and_reason: "cifar10"),
        real_data!(qmnist_knows_who_wrote_which_digit_and_by_writer_deals_them: "mnist", "qmnist-writers"),
        real_data!(images_in_pieces_are_those_that_are_read_whole: "mnist", "fashion-mnist", "qmnist-writers", "cifar10"),
        real_data!(damaged_files_are_refused_with_file_offset_and_remedy: "mnist"),
        real_data!(a_gzip_bomb_in_place_of_the_images_is_not_unpacked: "mnist"),
    ]
}

fn images_in_pieces_are_those_that_are_read_whole(folder: &DataFolder) {
    for dataset in [
        r#"{"mnist": {"validation": 777, "balanced_test": 5000}}"#,
        r#"{"fashion_mnist": {}}"#,
        r#"{"qmnist": {"validation": 5000}}"#,
        r#"{"cifar10": {"validation": 10}}"#,
    ] {
        let settings: DatasetConfig = serde_json::from_str(dataset).unwrap();
        let whole = settings.load(folder).unwrap();
        let (mut builder, mut most) = (ExamplesBuilder::of(whole.train.len()), 0);
        let left = settings.load_in_pieces(folder, 1 << 20, &mut |piece| {
            most = most.max(piece.bytes().unwrap().len());
            builder.push(piece);
        });
        let left = left.unwrap();
        assert!(
            (1 << 19..=1 << 20).contains(&most),
            "{dataset}: {most} bytes"
        );
        assert_eq!(left.test, whole.test, "{dataset}");
        assert_eq!(left.validation, whole.validation, "{dataset}");
        assert_eq!(builder.finish(&left.train), *whole.train, "{dataset}");
    }
}

fn mnist_has_the_published_labels_and_statistics(folder: &DataFolder) {
    let mnist = DatasetConfig::Mnist(Mnist::default());
    let splits = mnist.load(folder).unwrap();
    assert_eq!(
        label_histogram(splits.train.labels(), 10),
        [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    );
    assert_eq!(
        label_histogram(splits.test.labels(), 10),
        [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    );
    assert_eq!(splits.train.labels()[..10], [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]);
    assert_eq!(mnist.summary(folder).unwrap(), DatasetSummary::of(&splits));
    assert_eq!((splits.train.len(), splits.test.len()), (60_000, 10_000));
    let pixels = splits.train.bytes().unwrap();
    let sum: f64 = pixels.iter().map(|&b| f64::from(b)).sum();
    let mean = sum / 255.0 / pixels.len() as f64;
    assert!((mean - 0.1307).abs() < 5e-5, "mean {mean}");
}

fn validation_images_are_the_last_of_the_training_images(folder: &DataFolder) {
    let load = |validation| {
        let scale = Scaling::Unit;
        let settings = Mnist {
            validation,
            scale,
            ..Mnist::default()
        };
        DatasetConfig::Mnist(settings).load(folder).unwrap()
    };
    let (all, most) = (load(0), load(10_000));
    assert_eq!(most.train.len(), 50_000);
    assert_eq!(most.train.labels(), &all.train.labels()[..50_000]);
    assert_eq!(most.train.row(49_999), all.train.row(49_999));
    assert_eq!(most.test, all.test);
    let validation = most.validation.unwrap();
    assert_eq!(validation.labels(), &all.train.labels()[50_000..]);
    for (kept, whole) in [(0, 50_000), (9_999, 59_999)] {
        assert_eq!(validation.row(kept), all.train.row(whole));
    }
    assert!(all.validation.is_none());
    let largest = most.train.row(0).into_iter().fold(0.0, f32::max);
    assert!((0.9..=1.0).contains(&largest));
}

fn two_classes_are_the_digits_below_five_and_the_others(folder: &DataFolder) {
    let with = |classes, balanced_test| {
        let settings = Mnist {
            classes,
            balanced_test,
            ..Mnist::default()
        };
        DatasetConfig::Mnist(settings)
    };
    let (ten, two) = (with(10, None), with(2, None));
    let (ten, two) = (ten.load(folder).unwrap(), two.load(folder).unwrap());
    for (digits, halves) in [(&ten.train, &two.train), (&ten.test, &two.test)] {
        let mut pairs = digits.labels().iter().zip(halves.labels());
        assert!(pairs.all(|(digit, half)| *half == u16::from(*digit >= 5)));
        assert_eq!((halves.classes(), digits.row(77)), (2, halves.row(77)));
    }
    let dataset = with(2, Some(8000));
    let balanced = dataset.load(folder).unwrap();
    assert_eq!(label_histogram(balanced.test.labels(), 2), [4000; 2]);
    let summary = dataset.summary(folder).unwrap();
    assert_eq!(summary, DatasetSummary::of(&balanced));
}

fn balanced_test_sets_are_the_first_images_of_each_class(folder: &DataFolder) {
    let with = |balanced_test| {
        DatasetConfig::Mnist(Mnist {
            balanced_test,
            ..Mnist::default()
        })
    };
    let all = with(None).load(folder).unwrap();
    let dataset = with(Some(5000));
    let half = dataset.load(folder).unwrap();
    assert_eq!(half.test.len(), 5000);
    assert_eq!(label_histogram(half.test.labels(), 10), [500; 10]);
    assert_eq!(half.train, all.train);
    let nines = |test: &meshfold_data::Examples| {
        let nine = |index: &usize| test.labels()[*index] == 9;
        let place = (0..test.len()).filter(nine).nth(499).unwrap();
        test.row(place)
    };
    assert_eq!(nines(&half.test), nines(&all.test));
    assert_eq!(dataset.summary(folder).unwrap(), DatasetSummary::of(&half));
    // 892 is the size of the smallest class.
    let most = with(Some(8920)).load(folder).unwrap();
    assert_eq!(label_histogram(most.test.labels(), 10), [892; 10]);
}

fn fashion_mnist_is_balanced_and_names_its_classes(folder: &DataFolder) {
    let splits = DatasetConfig::FashionMnist(FashionMnist::default())
        .load(folder)
        .unwrap();
    assert_eq!(label_histogram(splits.train.labels(), 10), [6000; 10]);
    assert_eq!(label_histogram(splits.test.labels(), 10), [1000; 10]);
    assert_eq!(splits.train.label_names().unwrap()[9], "Ankle boot");
}

fn the_files_match_their_manifests(folder: &DataFolder) {
    for name in ["mnist", "fashion_mnist", "qmnist"] {
        let report = check(Manifest::by_name(name).unwrap(), folder);
        assert!(report.is_ok(), "{report:?}");
    }
}

fn cifar10_is_balanced_and_standardised_by_channel(folder: &DataFolder) {
    let cifar = DatasetConfig::Cifar10(Cifar10::default());
    let splits = cifar.load(folder).unwrap();
    assert_eq!(label_histogram(splits.train.labels(), 10), [5000; 10]);
    assert_eq!(label_histogram(splits.test.labels(), 10), [1000; 10]);
    assert_eq!(splits.train.label_names().unwrap()[6], "frog");
    assert_eq!(splits.train.labels()[..5], [6, 9, 9, 4, 1]);
    assert_eq!(DatasetSummary::of(&splits).labelled(false).classes, 10);
    let pixels = splits.train.bytes().unwrap();
    let published = [(0.4914, 0.2470), (0.4822, 0.2435), (0.4465, 0.2616)];
    for (channel, (mean, deviation)) in published.into_iter().enumerate() {
        let planes = pixels.chunks_exact(1024).skip(channel).step_by(3).flatten();
        let (mut sum, mut square) = (0.0, 0.0);
        for byte in planes {
            let value = f64::from(*byte) / 255.0;
            sum += value;
            square += value * value;
        }
        let count = 50_000.0 * 1024.0;
        let found = sum / count;
        // The published figures have four digits; the degraded rows move them by less.
        assert!(
            (found - mean).abs() < 1e-4,
            "channel {channel}: mean {found}"
        );
        let found = (square / count - found * found).sqrt();
        assert!(
            (found - deviation).abs() < 1e-4,
            "channel {channel}: deviation {found}"
        );
    }
    let row = splits.train.row(7);
    let first = f32::from(pixels[7 * 3072 + 2048]) / 255.0;
    assert!((row[2048] - (first - 0.4465) / 0.2616).abs() < 1e-5);
}

fn the_copy_of_cifar10_is_known(folder: &DataFolder) {
    let manifest = Manifest::by_name("cifar10").unwrap();
    let report = check(manifest, folder);
    assert!(report.is_ok(), "{report:?}");
    let note =
        |status: &FileStatus| matches!(status, FileStatus::Copy { note } if note.contains("JPEG"));
    assert!(
        report
            .files
            .iter()
            .all(|file| note(&file.status) || file.status == FileStatus::Ok)
    );
}

fn broken_batches_of_cifar10_are_refused_with_file_and_reason(folder: &DataFolder) {
    let copy = tempfile::tempdir().unwrap();
    let home = copy.path().join("cifar10");
    fs::create_dir(&home).unwrap();
    let refusal = || {
        let cifar = DatasetConfig::Cifar10(Cifar10::default());
        let folder = DataFolder::new(copy.path());
        cifar.load(&folder).unwrap_err().to_string()
    };
    // Of several broken files the first is told of.
    for name in ["data_batch_2", "data_batch_3", "data_batch_4"] {
        fs::write(home.join(format!("{name}.bin")), b"").unwrap();
    }
    let plain = home.join("data_batch_1.bin");
    fs::write(&plain, vec![3; 30_730_000]).unwrap();
    let missing = refusal();
    assert!(missing.contains("data_batch_5.bin not found"), "{missing}");
    assert!(missing.contains("cifar-10-binary.tar.gz"), "{missing}");
    assert!(
        missing.ends_with("run `meshfold data fetch cifar10`"),
        "{missing}"
    );
    fs::write(home.join("data_batch_5.bin"), b"").unwrap();
    assert!(refusal().contains("data_batch_1.bin: at byte 0: content has SHA-256"));
    fs::write(&plain, vec![3; 30_730_001]).unwrap();
    assert!(refusal().contains("at byte 30730000: the file goes on after 30730000 bytes"));
    fs::write(&plain, vec![3; 3073]).unwrap();
    assert!(refusal().contains("at byte 3073: the file ends here"));
    fs::remove_file(&plain).unwrap();
    let packed = home.join("data_batch_1.bin.xz");
    let mut bytes = fs::read(folder.path().join("cifar10/data_batch_1.bin.xz")).unwrap();
    bytes[1 << 20] ^= 8;
    fs::write(&packed, &bytes).unwrap();
    assert!(refusal().contains("damaged xz data"));
    fs::write(&packed, &bytes[..1 << 19]).unwrap();
    assert!(refusal().contains("damaged xz data"));
}

fn qmnist_knows_who_wrote_which_digit_and_by_writer_deals_them(folder: &DataFolder) {
    let qmnist = DatasetConfig::Qmnist(Qmnist::default());
    let summary = qmnist.summary(folder).unwrap();
    let splits = qmnist.load(folder).unwrap();
    assert_eq!(summary, DatasetSummary::of(&splits));
    let of = |owners: Option<&[u32]>| owners.unwrap().to_vec();
    let (train, test) = (of(splits.train.owners()), of(splits.test.owners()));
    let distinct = |owners: &[u32]| {
        let mut owners = owners.to_vec();
        owners.sort_unstable();
        owners.dedup();
        owners
    };
    let (writers, others) = (distinct(&train), distinct(&test));
    assert_eq!((writers.len(), others.len()), (539, 297));
    assert!(!others.iter().any(|writer| writers.contains(writer)));
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let dealer = Partitioner::ByWriter(ByWriter::default());
    let partition = dealer.split(splits.train.labelled(), &mut rng).unwrap();
    let mut sizes = partition.sizes();
    assert_eq!(sizes.iter().sum::<usize>(), 60_000);
    for (client, writer) in writers.iter().enumerate() {
        let shard = partition.shard(client);
        assert!(
            shard
                .iter()
                .all(|example| train[*example as usize] == *writer)
        );
    }
    sizes.sort_unstable();
    assert_eq!((sizes[0], sizes[269], sizes[538]), (19, 116, 131));
    let fewer = DatasetConfig::Qmnist(Qmnist {
        validation: 10_000,
        ..Qmnist::default()
    });
    assert_eq!(
        of(fewer.load(folder).unwrap().train.owners()),
        train[..50_000]
    );
}

/// Copies the labels of MNIST's test split and writes `images` beside them; the load error.
fn load_with_images(folder: &DataFolder, name: &str, images: &[u8]) -> String {
    let copy = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("mnist"), copy.path().join("mnist"));
    fs::create_dir(&to).unwrap();
    for file in [
        "train-labels-idx1-ubyte.gz",
        "t10k-labels-idx1-ubyte.gz",
        "t10k-images-idx3-ubyte.gz",
    ] {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
    fs::write(to.join(name), images).unwrap();
    let mnist = DatasetConfig::Mnist(Mnist::default());
    mnist
        .load(&DataFolder::new(copy.path()))
        .unwrap_err()
        .to_string()
}

fn damaged_files_are_refused_with_file_offset_and_remedy(folder: &DataFolder) {
    let packed = "train-images-idx3-ubyte.gz";
    let whole = fs::read(folder.path().join("mnist").join(packed)).unwrap();
    let cut = load_with_images(folder, packed, &whole[..whole.len() / 2]);
    assert!(
        cut.contains("mnist/train-images-idx3-ubyte.gz: at byte 0: damaged gzip data"),
        "{cut}"
    );
    assert!(
        cut.ends_with("`meshfold data fetch mnist` replaces the file"),
        "{cut}"
    );

    let raw = "train-images-idx3-ubyte";
    let text = load_with_images(folder, raw, b"<html>not found</html>");
    assert!(
        text.contains("at byte 0: magic number 3c68746d found"),
        "{text}"
    );
    let mut header = vec![0, 0, 8, 3, 0, 0, 0xea, 0x60, 0, 0, 0, 28, 0, 0, 0, 28];
    let short = load_with_images(folder, raw, &header);
    assert!(short.contains("at byte 16: the file ends here"), "{short}");
    header.resize(16 + 60_000 * 28 * 28, 0);
    let blank = load_with_images(folder, raw, &header);
    assert!(blank.contains("content has SHA-256"), "{blank}");
    header.push(0);
    let long = load_with_images(folder, raw, &header);
    assert!(
        long.contains("at byte 47040016: the file goes on after 47040016 bytes"),
        "{long}"
    );
}

fn a_gzip_bomb_in_place_of_the_images_is_not_unpacked(folder: &DataFolder) {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder
        .write_all(&[0, 0, 8, 3, 0, 0, 0xea, 0x60, 0, 0, 0, 28, 0, 0, 0, 28])
        .unwrap();
    for _ in 0..100 {
        encoder.write_all(&vec![0; 1 << 20]).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    let error = load_with_images(folder, "train-images-idx3-ubyte.gz", &bomb);
    assert!(
        error.contains("at byte 47040016: the file unpacks to more than 47040016 bytes"),
        "{error}"
    );
}
