//! The published texts and recordings.

use std::fs;

use meshfold_data::{
    ByRole, ByUser, Cwru, DataFolder, DatasetConfig, DatasetSummary, ExampleOrder, Explicit,
    Features, Manifest, NormalRecordings, Partitioner, Reddit, Shakespeare, ShakespeareSource,
    Splits, check, label_histogram,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use meshfold_test_needs::{Test, data_folder};

/// The tests of this file and the datasets that they read.
pub(crate) fn tests() -> Vec<Test> {
    let recording = data_folder().join("cwru/normal/NORMAL_1.mat");
    let complete = recording.exists().then_some("no recording is missing");
    vec![
        real_data!(the_complete_works_give_the_windows_and_roles_of_leaf: "shakespeare"),
        real_data!(shakespeares_characters_are_value_stable: "shakespeare"),
        real_data!(roles_are_dealt_to_as_many_clients_as_asked_for: "shakespeare"),
        real_data!(tiny_shakespeare_has_299_speakers_who_say_something: "shakespeare"),
        real_data!(a_damaged_text_is_refused: "shakespeare"),
        real_data!(reddits_authors_are_counted_by_their_posts: "reddit"),
        real_data!(reddits_words_are_value_stable: "reddit"),
        real_data!(reddits_settings_that_choose_nobody_say_what_there_is: "reddit"),
        real_data!(a_damaged_month_is_refused_with_its_offset: "reddit"),
        real_data!(bearings_have_400_windows_of_each_recording: "cwru"),
        real_data!(bearings_of_four_classes_are_told_apart_by_the_nearest_mean: "cwru"),
        real_data!(absent_recordings_are_named_with_the_way_around_them: "cwru").unless(complete),
        real_data!(counts_of_decefls_figure_14_take_windows_in_file_order: "cwru"),
        real_data!(the_files_match_their_manifests: "shakespeare", "cwru"),
    ]
}

/// A folder with a copy of `files` of `dataset`, to be damaged.
fn copy(from: &DataFolder, dataset: &str, files: &[&str]) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in files {
        let to = copy.path().join(dataset).join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from.path().join(dataset).join(file), to).unwrap();
    }
    copy
}

fn shakespeare(settings: Shakespeare, folder: &DataFolder) -> Splits {
    DatasetConfig::Shakespeare(settings).load(folder).unwrap()
}

/// How many owners there are in the training and in the test examples.
fn owners(splits: &Splits) -> (usize, usize) {
    let different = |owners: &[u32]| {
        let mut owners = owners.to_vec();
        owners.sort_unstable();
        owners.dedup();
        owners.len()
    };
    (
        different(splits.train.owners().unwrap()),
        different(splits.test.owners().unwrap()),
    )
}

fn the_complete_works_give_the_windows_and_roles_of_leaf(folder: &DataFolder) {
    // Counted by LEAF's own scripts (preprocess_shakespeare.py, shake_utils.py, split_data.py) on this file.
    for (train_percent, roles, train, test) in
        [(80, 799, 3_335_127, 771_051), (90, 660, 3_678_452, 356_922)]
    {
        let settings = Shakespeare {
            stride: Some(1),
            train_percent,
            ..Shakespeare::default()
        };
        let splits = shakespeare(settings, folder);
        assert_eq!(owners(&splits), (roles, roles));
        assert_eq!((splits.train.len(), splits.test.len()), (train, test));
    }
}

fn shakespeares_characters_are_value_stable(folder: &DataFolder) {
    let splits = shakespeare(Shakespeare::default(), folder);
    // LEAF's characters and its first, and then each 80th, window.
    assert_eq!(splits.train.classes(), 79);
    assert_eq!((splits.train.len(), splits.test.len()), (42_087, 10_033));
    let names = splits.train.owner_names().unwrap();
    assert_eq!(names.len(), 799);
    assert_eq!(names[0], "ALLS_WELL_THAT_ENDS_WELL_COUNTESS");
    let dataset = DatasetConfig::Shakespeare(Shakespeare::default());
    assert_eq!(
        dataset.summary(folder).unwrap(),
        DatasetSummary::of(&splits)
    );
}

fn roles_are_dealt_to_as_many_clients_as_asked_for(folder: &DataFolder) {
    let splits = shakespeare(Shakespeare::default(), folder);
    let deal = |clients| {
        let way = Partitioner::ByRole(ByRole { clients });
        way.split(splits.train.labelled(), &mut ChaCha8Rng::seed_from_u64(1))
            .unwrap()
    };
    assert_eq!(deal(None).clients(), 799);
    let partition = deal(Some(100));
    assert_eq!(partition.clients(), 100);
    assert_eq!(partition.sizes().iter().sum::<usize>(), splits.train.len());
    let Features::Tokens(windows) = splits.train.features() else {
        panic!("text")
    };
    let shares = partition.text_shares(windows, splits.train.classes());
    assert!(
        shares
            .iter()
            .all(|share| (20..=79).contains(&share.vocabulary))
    );
    // A window and what follows it; neighbouring windows share that one.
    assert!(
        shares
            .iter()
            .all(|share| share.tokens <= 81 * share.examples && share.tokens > 80 * share.examples)
    );
}

fn tiny_shakespeare_has_299_speakers_who_say_something(folder: &DataFolder) {
    let settings = Shakespeare {
        source: ShakespeareSource::Tiny,
        window: 1,
        train_percent: 50,
        ..Shakespeare::default()
    };
    let splits = shakespeare(settings, folder);
    // Of its 309 speakers ten ghosts have a name and nothing else.
    assert_eq!(owners(&splits), (299, 299));
    assert_eq!(splits.train.owner_names().unwrap()[0], "First Citizen");
    // 65 symbols of the file, without the line break.
    assert!(splits.train.classes() <= 64, "{}", splits.train.classes());
}

fn a_damaged_text_is_refused(folder: &DataFolder) {
    let name = "tinyshakespeare_input.txt";
    let copy = copy(folder, "shakespeare", &[name]);
    let path = copy.path().join("shakespeare").join(name);
    let text = fs::read(&path).unwrap();
    let refusal = |content: &[u8]| {
        fs::write(&path, content).unwrap();
        let settings = Shakespeare {
            source: ShakespeareSource::Tiny,
            ..Shakespeare::default()
        };
        let dataset = DatasetConfig::Shakespeare(settings);
        dataset
            .load(&DataFolder::new(copy.path()))
            .unwrap_err()
            .to_string()
    };
    let cut = refusal(&text[..1000]);
    assert!(
        cut.contains("at byte 1000: the file ends here, 1115394 bytes needed"),
        "{cut}"
    );
    let mut other = text.clone();
    other[5] = b'X';
    let other = refusal(&other);
    assert!(other.contains("content has SHA-256"), "{other}");
    assert!(
        other.ends_with("`meshfold data fetch shakespeare` replaces the file"),
        "{other}"
    );
}

fn months(train: &[&str], test: &str, min_posts: usize) -> Reddit {
    Reddit {
        train_months: train.iter().map(|month| (*month).into()).collect(),
        test_months: vec![test.into()],
        min_posts: Some(min_posts),
        max_posts: Some(100_000),
        ..Reddit::default()
    }
}

fn reddits_authors_are_counted_by_their_posts(folder: &DataFolder) {
    let users = |month: &str, min_posts| {
        let test = if month == "2006-03" {
            "2006-01"
        } else {
            "2006-03"
        };
        let settings = months(&[month], test, min_posts);
        let splits = DatasetConfig::Reddit(settings).load(folder).unwrap();
        owners(&splits).0
    };
    // Of 790, 1,463 and 1,957 named authors none, 6 and 10 wrote nothing in ASCII.
    let found = ["2006-01", "2006-02", "2006-03"].map(|month| users(month, 1));
    assert_eq!(found, [790, 1457, 1947]);
}

fn reddits_words_are_value_stable(folder: &DataFolder) {
    let settings = Reddit {
        vocabulary: 2000,
        test_comments: 300,
        ..months(&["2006-01", "2006-02"], "2006-03", 5)
    };
    let dataset = DatasetConfig::Reddit(settings.clone());
    let splits = dataset.load(folder).unwrap();
    let (train, test) = (&splits.train, &splits.test);
    assert_eq!(train.classes(), 2000);
    assert_eq!(
        dataset.summary(folder).unwrap(),
        DatasetSummary::of(&splits)
    );
    let by_user = Partitioner::ByUser(ByUser::default());
    let partition = by_user
        .split(train.labelled(), &mut ChaCha8Rng::seed_from_u64(1))
        .unwrap();
    assert_eq!(partition.clients(), owners(&splits).0);
    let Features::Tokens(windows) = train.features() else {
        panic!("text")
    };
    // The last token of a window is real, and no label is padding.
    for examples in [train, test] {
        assert!(
            examples
                .labels()
                .iter()
                .all(|label| *label != 0 && *label != 2)
        );
        let last = |index: usize| examples.row(index)[9];
        assert!(
            (0..examples.len())
                .step_by(97)
                .all(|index| last(index) > 0.0)
        );
    }
    let sum: u64 = windows
        .text()
        .iter()
        .enumerate()
        .map(|(i, t)| (i as u64 % 1009) * u64::from(*t))
        .sum();
    assert_eq!(
        (partition.clients(), train.len(), test.len()),
        (419, 423_856, 15_911)
    );
    assert_eq!((windows.text().len(), sum), (514_397, 42_135_338_768));
    let other = DatasetConfig::Reddit(Reddit {
        seed: 1,
        ..settings
    })
    .load(folder)
    .unwrap();
    assert_eq!(other.train.labels(), train.labels());
    assert_ne!(other.test.labels(), test.labels());
}

fn reddits_settings_that_choose_nobody_say_what_there_is(folder: &DataFolder) {
    let refusal = |settings| {
        DatasetConfig::Reddit(settings)
            .load(folder)
            .unwrap_err()
            .to_string()
    };
    let nobody = refusal(months(&["2006-01"], "2006-02", 5000));
    assert!(nobody.starts_with("reddit: none of the 7"), "{nobody}");
    assert!(
        nobody.contains("has 5000 to 100000 comments, the busiest has "),
        "{nobody}"
    );
    let missing = refusal(Reddit::default());
    assert!(
        missing.starts_with("reddit: RC_2017-11 not found"),
        "{missing}"
    );
    assert!(missing.contains("academictorrents"), "{missing}");
}

fn a_damaged_month_is_refused_with_its_offset(folder: &DataFolder) {
    let copy = copy(folder, "reddit", &["RC_2006-01.bz2", "RC_2006-02.bz2"]);
    let path = copy.path().join("reddit/RC_2006-01.bz2");
    let packed = fs::read(&path).unwrap();
    fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    let load = || {
        let dataset = DatasetConfig::Reddit(months(&["2006-01"], "2006-02", 1));
        dataset
            .load(&DataFolder::new(copy.path()))
            .unwrap_err()
            .to_string()
    };
    let cut = load();
    assert!(
        cut.contains("RC_2006-01.bz2: at byte ") && cut.contains("damaged bzip2 data"),
        "{cut}"
    );
    fs::remove_file(&path).unwrap();
    fs::write(
        path.with_extension(""),
        "{\"author\": \"a\", \"body\": \"b\"}\nhidden words",
    )
    .unwrap();
    let wrong = load();
    assert!(
        wrong.contains("RC_2006-01: at byte 29: column 1 of a comment: expected value"),
        "{wrong}"
    );
}

fn halves(task: usize) -> DatasetConfig {
    DatasetConfig::Cwru(Cwru {
        task,
        normal: NormalRecordings::Halves,
        ..Cwru::default()
    })
}

fn bearings_have_400_windows_of_each_recording(folder: &DataFolder) {
    let ten = halves(10);
    let splits = ten.load(folder).unwrap();
    let (train, test) = (&splits.train, &splits.test);
    let mut counts = [1200; 10];
    counts[0] = 400;
    assert_eq!(label_histogram(train.labels(), 10), counts);
    assert_eq!(label_histogram(test.labels(), 10), [400; 10]);
    assert!(train.labels().is_sorted());
    assert_eq!(train.label_names().unwrap()[9], "OR021");
    assert_eq!(ten.summary(folder).unwrap(), DatasetSummary::of(&splits));
    // Standardised with the training examples: their mean is 0 and their deviation 1 but for single precision.
    for feature in [0, 149, 150, 299] {
        let values: Vec<f64> = (0..train.len())
            .map(|index| f64::from(train.row(index)[feature]))
            .collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>()
            / values.len() as f64;
        assert!(
            mean.abs() < 1e-5 && (variance - 1.0).abs() < 1e-4,
            "{feature}: {mean} {variance}"
        );
    }
}

fn bearings_of_four_classes_are_told_apart_by_the_nearest_mean(folder: &DataFolder) {
    let splits = halves(4).load(folder).unwrap();
    let mut means = vec![vec![0.0_f32; 300]; 4];
    let counts = label_histogram(splits.train.labels(), 4);
    for (index, &label) in splits.train.labels().iter().enumerate() {
        for (mean, value) in means[usize::from(label)]
            .iter_mut()
            .zip(splits.train.row(index))
        {
            *mean += value / counts[usize::from(label)] as f32;
        }
    }
    let right = (0..splits.test.len()).filter(|&index| {
        let row = splits.test.row(index);
        let distance = |mean: &Vec<f32>| {
            mean.iter()
                .zip(&row)
                .map(|(a, b)| (a - b).powi(2))
                .sum::<f32>()
        };
        let nearest = (0..4).min_by(|a, b| distance(&means[*a]).total_cmp(&distance(&means[*b])));
        nearest == Some(usize::from(splits.test.labels()[index]))
    });
    let share = right.count() as f64 / splits.test.len() as f64;
    assert!(share > 0.9, "{share}");
}

fn absent_recordings_are_named_with_the_way_around_them(folder: &DataFolder) {
    let all = DatasetConfig::Cwru(Cwru::default());
    for error in [
        all.load(folder).unwrap_err(),
        all.summary(folder).unwrap_err(),
    ] {
        let error = error.to_string();
        assert!(
            error.contains("normal/NORMAL_1.mat not found") && error.contains("98.mat"),
            "{error}"
        );
        assert!(
            error.ends_with("`normal: halves` does without it"),
            "{error}"
        );
    }
}

fn counts_of_decefls_figure_14_take_windows_in_file_order(folder: &DataFolder) {
    // Its faults alone: the normal windows of loads 1 and 2 are not at hand everywhere.
    let splits = halves(4).load(folder).unwrap();
    let counts = vec![
        vec![0, 228, 233, 138],
        vec![0, 144, 317, 592],
        vec![0, 290, 247, 18],
        vec![0, 538, 403, 452],
    ];
    let way = Partitioner::Explicit(Explicit {
        counts: Some(counts),
        order: ExampleOrder::File,
        ..Explicit::default()
    });
    let partition = way
        .split(splits.train.labelled(), &mut ChaCha8Rng::seed_from_u64(1))
        .unwrap();
    assert_eq!(partition.sizes(), [599, 1053, 555, 1393]);
    assert_eq!(partition.shard(0)[..2], [400, 401]);
    assert_eq!(partition.shard(1)[0], 400 + 228);
}

fn the_files_match_their_manifests(folder: &DataFolder) {
    for name in ["shakespeare", "cwru"] {
        let report = check(Manifest::by_name(name).unwrap(), folder);
        assert!(report.is_ok(), "{report:?}");
    }
}
