//! Tests of arrays.

use super::*;
use crate::Owners;
use crate::formats::zip_member::tests::archive;

fn array(descr: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
    let dictionary =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((dictionary.len() as u16).to_le_bytes());
    bytes.extend(dictionary.as_bytes());
    bytes.extend(elements);
    bytes
}

/// What `of` makes of an archive of `entries` with the settings `json`.
fn with<T>(
    json: &str,
    entries: &[(&str, &[u8])],
    of: impl FnOnce(&NpzTable, &DataFolder) -> T,
) -> T {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.npz"), archive(entries)).unwrap();
    let settings: NpzTable = serde_json::from_str(json).unwrap();
    of(&settings, &DataFolder::new(folder.path()))
}

fn load(json: &str, entries: &[(&str, &[u8])]) -> Result<Splits, DataError> {
    with(json, entries, NpzTable::load)
}

fn summary(json: &str, entries: &[(&str, &[u8])]) -> Result<DatasetSummary, DataError> {
    with(json, entries, NpzTable::summary)
}

#[test]
fn pixels_labels_and_clients_are_read() {
    let pixels = array("|u1", "(4, 2, 3)", &(0..24).collect::<Vec<u8>>());
    let labels: Vec<u8> = [3_i64, 0, 1, 1]
        .iter()
        .flat_map(|l| l.to_le_bytes())
        .collect();
    let labels = array("<i8", "(4,)", &labels);
    let clients = array("|u1", "(4,)", &[9, 9, 4, 4]);
    let entries = [
        ("x.npy", &pixels[..]),
        ("y.npy", &labels),
        ("who.npy", &clients),
    ];
    let json = r#"{"file": "a.npz", "client": "who",
        "test": {"arrays": {"x": "x", "y": "y", "client": "who"}}}"#;
    let splits = load(json, &entries).unwrap();
    let train = &splits.train;
    assert_eq!((train.classes(), train.width(), train.len()), (4, 6, 4));
    assert_eq!(train.labels(), [3, 0, 1, 1]);
    assert_eq!(train.owners(), Some([9, 9, 4, 4].as_slice()));
    assert_eq!(train.row(3)[5], 23.0 / 255.0);
    assert_eq!(splits.test, splits.train);
    let share = r#"{"file": "a.npz", "test": {"share": 0.25}, "standardise": true}"#;
    let splits = load(share, &entries).unwrap();
    assert_eq!((splits.train.len(), splits.test.len()), (3, 1));
    assert!(splits.train.bytes().is_none());
    for settings in [json, share] {
        let summary = summary(settings, &entries).unwrap();
        assert_eq!(
            summary,
            DatasetSummary::of(&load(settings, &entries).unwrap())
        );
    }
}

#[test]
fn booleans_are_zero_and_one_and_no_pixels() {
    let x = array("|b1", "(3, 1)", &[1, 0, 1]);
    let [_, y] = labelled(&[0, 1, 1]);
    let entries = [("x.npy", &x[..]), ("y.npy", &y)];
    let json = r#"{"file": "a.npz", "test": {"arrays": {"x": "x", "y": "y"}}}"#;
    let splits = load(json, &entries).unwrap();
    let values = [0, 1, 2].map(|row| splits.train.row(row)[0]);
    assert_eq!(values, [1.0, 0.0, 1.0]);
    assert_eq!(
        summary(json, &entries).unwrap(),
        DatasetSummary::of(&splits)
    );
}

#[test]
fn features_are_standardised_before_they_are_rounded() {
    let times = [0, 60, 120, 180].map(|seconds| 1.7e9 + f64::from(seconds));
    let x = array("<f8", "(4, 1)", &times.map(f64::to_le_bytes).concat());
    let [_, y] = labelled(&[0, 1, 0, 1]);
    let entries = [("x.npy", &x[..]), ("y.npy", &y)];
    let json =
        r#"{"file": "a.npz", "standardise": true, "test": {"arrays": {"x": "x", "y": "y"}}}"#;
    let splits = load(json, &entries).unwrap();
    let values = [0, 1, 2, 3].map(|row| splits.train.row(row)[0]);
    let expected = [-1.5, -0.5, 0.5, 1.5].map(|value: f64| (value / 1.25_f64.sqrt()) as f32);
    assert_eq!(values, expected);
    assert_eq!(splits.test, splits.train);
    let mut pieces = Vec::new();
    let see =
        &mut |piece: &Examples| pieces.extend((0..piece.len()).flat_map(|row| piece.row(row)));
    with(json, &entries, |table, folder| {
        table.load_in_pieces(folder, 1, see).map(drop)
    })
    .unwrap();
    assert_eq!(pieces, expected);
}

#[test]
fn features_that_never_vary_become_zero_and_keep_their_scale() {
    let x = array("<f8", "(50, 1)", &[3.3_f64.to_le_bytes(); 50].concat());
    let [_, y] = labelled(&(0..50).map(|row| row % 2).collect::<Vec<u16>>());
    let x_test = array("<f8", "(1, 1)", &3.4_f64.to_le_bytes());
    let [_, y_test] = labelled(&[1]);
    let entries = [
        ("x.npy", &x[..]),
        ("y.npy", &y),
        ("xt.npy", &x_test),
        ("yt.npy", &y_test),
    ];
    let json =
        r#"{"file": "a.npz", "standardise": true, "test": {"arrays": {"x": "xt", "y": "yt"}}}"#;
    let splits = load(json, &entries).unwrap();
    assert!((0..50).all(|row| splits.train.row(row) == [0.0]));
    assert_eq!(splits.test.row(0), [(3.4_f64 - 3.3) as f32]);
}

#[test]
fn test_examples_need_no_owners() {
    let [x, y] = labelled(&[0, 1, 1, 0]);
    let [more, other] = labelled(&[1, 0]);
    let who = array("|u1", "(4,)", &[9, 4, 4, 9]);
    let entries = [
        ("x.npy", &x[..]),
        ("y.npy", &y),
        ("who.npy", &who),
        ("x_test.npy", &more),
        ("y_test.npy", &other),
    ];
    let arrays =
        r#"{"file": "a.npz", "client": "who", "test": {"arrays": {"x": "x_test", "y": "y_test"}}}"#;
    let splits = load(arrays, &entries).unwrap();
    assert_eq!(splits.train.owners(), Some([9, 4, 4, 9].as_slice()));
    assert_eq!((splits.train.len(), splits.test.len()), (4, 2));
    let found = summary(arrays, &entries).unwrap();
    assert!(found.has_owners() && found.test_owners().is_none());
    let [named, by_share] = [
        r#"{"file": "a.npz", "client": "who", "test": {"arrays": {"x": "x", "y": "y", "client": "who"}}}"#,
        r#"{"file": "a.npz", "client": "who", "test": {"share": 0.5}}"#,
    ]
    .map(|settings| summary(settings, &entries).unwrap());
    assert_eq!(named.test_owners(), Some(Owners::Listed(&[9, 4, 4, 9])));
    assert_eq!(by_share.test_owners().unwrap().examples(), 2);
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, entries: &[(&str, &[u8])]| {
        std::fs::write(folder.path().join(name), archive(entries)).unwrap();
    };
    write("a.npz", &entries);
    write("b.npz", &[("x.npy", &more), ("y.npy", &other)]);
    let other_file = r#"{"file": "a.npz", "client": "who", "test": {"file": "b.npz"}}"#;
    let settings: NpzTable = serde_json::from_str(other_file).unwrap();
    let splits = settings.load(&DataFolder::new(folder.path())).unwrap();
    assert_eq!(splits.train.owners(), Some([9, 4, 4, 9].as_slice()));
    assert_eq!(splits.test.labels(), [1, 0]);
    let found = settings.summary(&DataFolder::new(folder.path())).unwrap();
    assert!(found.test_owners().is_none());
    let without =
        r#"{"file": "a.npz", "test": {"arrays": {"x": "x_test", "y": "y_test", "client": "who"}}}"#;
    let refused = load(without, &entries).unwrap_err().to_string();
    assert!(refused.contains("test.arrays.client"), "{refused}");
}

#[test]
fn what_users_save_otherwise_is_told_how_to_save() {
    let [x, y] = labelled(&[0, 1]);
    let json = r#"{"file": "a.npz"}"#;
    let told = |x: &[u8], y: &[u8]| {
        let entries = [("x.npy", x), ("y.npy", y)];
        load(json, &entries).unwrap_err().to_string()
    };
    let one_hot = told(&x, &array("|u1", "(2, 3)", &[0, 1, 0, 1, 0, 0]));
    assert!(one_hot.ends_with("save `y.argmax(axis=1)`"), "{one_hot}");
    let half = told(&array("<f2", "(2, 1)", &[0; 4]), &y);
    assert!(half.contains("`x.astype(numpy.float32)`"), "{half}");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.npz"), &x).unwrap();
    let settings: NpzTable = serde_json::from_str(json).unwrap();
    let alone = settings.load(&DataFolder::new(folder.path())).unwrap_err();
    let alone = alone.to_string();
    assert!(alone.contains("numpy.savez(FILE, x=x, y=y)"), "{alone}");
}

#[test]
fn channels_that_come_last_are_suspected() {
    let shape = |channels, height, width| Shape {
        channels,
        height,
        width,
    };
    for last in [shape(32, 32, 3), shape(28, 28, 1)] {
        assert!(has_channels_last(last), "{last:?}");
    }
    for first in [shape(3, 32, 32), shape(1, 28, 28), shape(64, 3, 3)] {
        assert!(!has_channels_last(first), "{first:?}");
    }
}

#[test]
fn arrays_that_do_not_fit_are_refused_with_their_names() {
    let numbers: Vec<u8> = [1.0_f32, f32::NAN]
        .iter()
        .flat_map(|n| n.to_le_bytes())
        .collect();
    let x = array("<f4", "(2, 1)", &numbers);
    let y = array("|u1", "(2,)", &[0, 1]);
    let json = r#"{"file": "a.npz"}"#;
    let refusal = |x: &[u8], y: &[u8]| {
        load(json, &[("x.npy", x), ("y.npy", y)])
            .unwrap_err()
            .to_string()
    };
    let nan = refusal(&x, &y);
    let told = "element 1, at [1, 0] of shape [2, 1]: NaN is no finite number";
    assert!(
        nan.contains("x.npy: at byte") && nan.ends_with(told),
        "{nan}"
    );
    let x = array("|u1", "(2, 1)", &[0, 1]);
    let three = refusal(&x, &array("|u1", "(3,)", &[0; 3]));
    assert!(three.contains("shape [3] found, [2] needed"), "{three}");
    let half = array(
        "<f4",
        "(2,)",
        &[0.5_f32, 1.0].map(f32::to_le_bytes).concat(),
    );
    assert!(refusal(&x, &half).contains("0.5 found, a whole number"));
    let alike = refusal(&x, &array("|u1", "(2,)", &[3, 3]));
    let told = "y.npy: at byte 0: labels of one class alone, at least 2 needed";
    assert!(alike.contains(told), "{alike}");
    let one = refusal(&array("|u1", "(1, 1)", &[0]), &array("|u1", "(1,)", &[0]));
    let told = "a.npz: at byte 0: examples found: 1, at least 2 needed";
    assert!(one.contains(told), "{one}");
    let flat = array("|u1", "(2,)", &[0, 1]);
    assert!(refusal(&flat, &y).contains("2 to 4 dimensions"));
    let absent = load(r#"{"file": "a.npz", "y": "t"}"#, &[("x.npy", &x)]).unwrap_err();
    assert!(
        absent
            .to_string()
            .contains("no entry `t.npy` among `x.npy`"),
        "{absent}"
    );
}

/// Features of so many examples, one byte each, and their `labels` as bytes of two.
fn labelled(labels: &[u16]) -> [Vec<u8>; 2] {
    let count = labels.len();
    let features = array("|u1", &format!("({count}, 1)"), &vec![7; count]);
    let labels: Vec<u8> = labels.iter().flat_map(|l| l.to_le_bytes()).collect();
    [features, array("<u2", &format!("({count},)"), &labels)]
}

#[test]
fn test_features_of_another_shape_or_kind_are_told_with_both() {
    let [x, y] = labelled(&[0, 1]);
    let refusal = |test: &[u8]| {
        let entries = [("x.npy", &x[..]), ("y.npy", &y), ("xt.npy", test)];
        let json = r#"{"file": "a.npz", "test": {"arrays": {"x": "xt", "y": "y"}}}"#;
        load(json, &entries).unwrap_err().to_string()
    };
    let floats = refusal(&array("<f4", "(2, 1)", &[0; 8]));
    let told =
        "a.npz: test examples are [1] of float32 in `xt`, training examples [1] of uint8 in `x`: ";
    assert!(floats.contains(told), "{floats}");
    let images = refusal(&array("|u1", "(2, 1, 2, 3)", &[0; 12]));
    assert!(
        images.contains("are [1, 2, 3] of uint8 in `xt`, "),
        "{images}"
    );
}

#[test]
fn a_stray_label_does_not_make_classes_that_nobody_asked_for() {
    let mut labels: Vec<u16> = (0..40).map(|row| row % 4).collect();
    labels[17] = 65_534;
    let [x, y] = labelled(&labels);
    let entries = [("x.npy", &x[..]), ("y.npy", &y)];
    let words = load(r#"{"file": "a.npz"}"#, &entries)
        .unwrap_err()
        .to_string();
    let told =
        "a.npz/y.npy: element 17 is the label 65534, which would make 65535 classes of 40 examples";
    assert!(words.contains(told), "{words}");
    assert!(words.contains("say `classes: 65535`"), "{words}");
    let meant = load(r#"{"file": "a.npz", "classes": 65535}"#, &entries).unwrap();
    assert_eq!(meant.train.classes(), 65_535);
    let few = load(r#"{"file": "a.npz", "classes": 10}"#, &entries).unwrap_err();
    let told = "element 17 is the label 65534, `classes: 10` needs labels below 10";
    assert!(few.to_string().ends_with(told), "{few}");
    // Of two arrays of labels, the one at fault is named.
    let [more, other] = labelled(&[0, 1, 2]);
    let entries = [
        ("x.npy", &more[..]),
        ("y.npy", &other),
        ("u.npy", &x),
        ("v.npy", &y),
    ];
    let json = r#"{"file": "a.npz", "test": {"arrays": {"x": "u", "y": "v"}}}"#;
    let words = load(json, &entries).unwrap_err().to_string();
    assert!(words.contains("a.npz/v.npy: element 17"), "{words}");
}

#[test]
fn classes_that_a_small_sample_lacks_count() {
    let [x, y] = labelled(&[1, 3, 3, 1]);
    let entries = [("x.npy", &x[..]), ("y.npy", &y)];
    for (json, classes) in [
        (r#"{"file": "a.npz"}"#, 4),
        (r#"{"file": "a.npz", "classes": 10}"#, 10),
    ] {
        assert_eq!(load(json, &entries).unwrap().train.classes(), classes);
        assert_eq!(summary(json, &entries).unwrap().classes(), classes);
    }
    for classes in [0, 1, 65_536] {
        let json = format!("{{\"file\": \"a.npz\", \"classes\": {classes}}}");
        let refusal = load(&json, &entries).unwrap_err();
        assert!(
            refusal.to_string().contains("from 2 to 65535 needed"),
            "{refusal}"
        );
    }
}

#[test]
fn numbers_that_are_not_finite_are_told_with_their_index() {
    let [_, y] = labelled(&[0, 1]);
    let refusal = |value: f64| {
        let mut numbers = [1.0; 12];
        numbers[7] = value;
        let x = array("<f8", "(2, 2, 3)", &numbers.map(f64::to_le_bytes).concat());
        let entries = [("x.npy", &x[..]), ("y.npy", &y)];
        let words = load(r#"{"file": "a.npz"}"#, &entries)
            .unwrap_err()
            .to_string();
        let (_, words) = words
            .split_once("element 7, at [1, 0, 1] of shape [2, 2, 3]: ")
            .unwrap_or_else(|| panic!("{words}"));
        words.to_owned()
    };
    assert_eq!(refusal(f64::NAN), "NaN is no finite number");
    assert_eq!(refusal(f64::NEG_INFINITY), "-inf is no finite number");
    let large = "1e300 is too large, at most 3.4028235e38 is needed";
    assert_eq!(refusal(1e300), large);
}

#[test]
fn long_names_of_arrays_are_cut() {
    let [x, y] = labelled(&[0, 1]);
    let long = "n".repeat(1 << 20);
    let json = format!("{{\"file\": \"a.npz\", \"y\": \"{long}\"}}");
    let refusal = load(&json, &[("x.npy", &x[..]), ("y.npy", &y)]).unwrap_err();
    assert!(refusal.to_string().len() < 400, "{refusal}");
}

#[cfg(unix)]
#[test]
fn archives_that_are_no_files_or_have_no_end_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let refusal = || {
        let settings: NpzTable = serde_json::from_str(r#"{"file": "a.npz"}"#).unwrap();
        let place = DataFolder::new(folder.path());
        settings.load(&place).unwrap_err().to_string()
    };
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    assert!(
        refusal().ends_with("it is a device, not a file"),
        "{}",
        refusal()
    );
    std::fs::remove_file(&path).unwrap();
    crate::files::regular::tests::pipe(&path);
    assert!(
        refusal().ends_with("it is a named pipe, not a file"),
        "{}",
        refusal()
    );
    std::fs::remove_file(&path).unwrap();
    std::fs::File::create(&path)
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    assert!(refusal().contains("no zip archive"), "{}", refusal());
}

/// An array of texts of up to `width` characters.
fn texts(width: usize, texts: &[&str]) -> Vec<u8> {
    let padded = |text: &&str| {
        let zeros = std::iter::repeat_n('\0', width - text.chars().count());
        Vec::from_iter(text.chars().chain(zeros))
    };
    let characters = texts.iter().flat_map(padded);
    let bytes: Vec<u8> = characters
        .flat_map(|c| u32::from(c).to_le_bytes())
        .collect();
    array(
        &format!("<U{width}"),
        &format!("({},)", texts.len()),
        &bytes,
    )
}

#[test]
fn labels_and_owners_may_be_texts() {
    let x = array("|u1", "(4, 1)", &[0, 1, 2, 3]);
    let more = array("|u1", "(2, 1)", &[4, 5]);
    let y = texts(5, &["löwe", "ant", "löwe", "bee"]);
    let y_test = texts(3, &["bee", "ape"]);
    let who = array("|S2", "(4,)", b"10b\x009\x00b\x00");
    let who_test = array("|S1", "(2,)", b"9a");
    let entries = [
        ("x.npy", &x[..]),
        ("y.npy", &y),
        ("who.npy", &who),
        ("x_test.npy", &more),
        ("y_test.npy", &y_test),
        ("who_test.npy", &who_test),
    ];
    let json = r#"{"file": "a.npz", "client": "who",
        "test": {"arrays": {"x": "x_test", "y": "y_test", "client": "who_test"}}}"#;
    let splits = load(json, &entries).unwrap();
    // ant, ape, bee, löwe; 10, 9, a, b.
    assert_eq!(splits.train.labels(), [3, 0, 3, 2]);
    assert_eq!(splits.test.labels(), [2, 1]);
    assert_eq!(splits.train.classes(), 4);
    assert_eq!(splits.train.owners(), Some([0, 3, 1, 3].as_slice()));
    assert_eq!(splits.test.owners(), Some([1, 2].as_slice()));
    let found = summary(json, &entries).unwrap();
    assert!(found.has_ranked_labels());
    assert_eq!(found, DatasetSummary::of(&splits).with_ranked_labels(true));
    let json = json.replace(
        "\"client\": \"who\",",
        "\"client\": \"who\", \"classes\": 6,",
    );
    let more = load(&json, &entries).unwrap();
    let names = ["ant", "ape", "bee", "löwe", "4", "5"];
    assert_eq!(more.train.label_names().unwrap(), names);

    let refusal = |name: &str, other: &[u8]| {
        let entries =
            entries.map(|(entry, array)| (entry, if entry == name { other } else { array }));
        load(&json, &entries).unwrap_err().to_string()
    };
    let mixed = refusal("y_test.npy", &array("|u1", "(2,)", &[0, 1]));
    assert!(
        mixed.contains("y_test.npy")
            && mixed.ends_with("numbers found where a label of a training example is one of texts"),
        "{mixed}"
    );
    let empty = refusal("y.npy", &texts(4, &["a", "", "b", "c"]));
    assert!(
        empty.ends_with("element 1: found an empty text, a label is needed"),
        "{empty}"
    );
    let words = refusal("x.npy", &array("|S1", "(4, 1)", b"abcd"));
    assert!(words.ends_with("texts found, numbers needed"), "{words}");
}
