//! Tests of arrays.

use super::*;
use crate::zip_member::tests::archive;

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
fn with<T>(json: &str, entries: &[(&str, &[u8])], of: impl Fn(&NpzTable, &DataFolder) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.npz"), archive(entries)).unwrap();
    let settings: NpzTable = serde_json::from_str(json).unwrap();
    of(&settings, &DataFolder::new(folder.path()))
}

fn load(json: &str, entries: &[(&str, &[u8])]) -> Result<Splits, DataError> {
    with(json, entries, NpzTable::load)
}

fn outline(json: &str, entries: &[(&str, &[u8])]) -> Result<Outline, DataError> {
    with(json, entries, NpzTable::outline)
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
        let outline = outline(settings, &entries).unwrap();
        assert_eq!(outline, Outline::of(&load(settings, &entries).unwrap()));
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
    assert!(
        nan.contains("x.npy: at byte") && nan.contains("NaN is no finite"),
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
        absent.to_string().contains("no entry t.npy among x.npy"),
        "{absent}"
    );
}
