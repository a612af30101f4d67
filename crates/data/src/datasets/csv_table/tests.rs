//! Tests of tables.

mod features;

use super::*;
use crate::files::packing::Packing;

fn settings(json: &str) -> CsvTable {
    serde_json::from_str(json).unwrap()
}

/// Loads `table.csv`, and `test.csv` if given, with the settings `json`.
fn load(json: &str, table: impl AsRef<[u8]>, test: &str) -> Result<Splits, DataError> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("table.csv"), table).unwrap();
    std::fs::write(folder.path().join("test.csv"), test).unwrap();
    settings(json).load(&DataFolder::new(folder.path()))
}

const FLOWERS: &str = "length,kind,width,site\n1.5,b,2,south\n2.5,a,4,north\n3.5,b,6,north\n";

#[test]
fn features_labels_and_clients_are_told_apart() {
    let json =
        r#"{"file": "table.csv", "label": "kind", "client": 3, "test": {"file": "test.csv"}}"#;
    let test = "length,kind,width,site\n9,c,8,east\n";
    let splits = load(json, FLOWERS, test).unwrap();
    let train = &splits.train;
    assert_eq!(train.labels(), [1, 0, 1]);
    assert_eq!((train.classes(), train.width()), (3, 2));
    assert_eq!(train.row(2), [3.5, 6.0]);
    assert_eq!(train.owners(), Some([2, 1, 1].as_slice()));
    assert_eq!(splits.test.labels(), [2]);
    assert_eq!(splits.test.owners(), Some([0].as_slice()));
}

#[test]
fn standardising_takes_the_training_rows_alone() {
    let json = r#"{"file": "table.csv", "label": 0, "header": false, "delimiter": ";", "standardise": true,
        "test": {"file": "test.csv"}}"#;
    let splits = load(json, "0;1\n1;3\n", "0;7\n").unwrap();
    assert_eq!(splits.train.row(1), [1.0]);
    assert_eq!(splits.test.row(0), [5.0]);
}

#[test]
fn features_with_a_large_offset_keep_their_differences() {
    let table: String = (0..20)
        .map(|row| format!("{},{}\n", row % 2, 100_000_000 + row))
        .collect();
    let json = r#"{"file": "table.csv", "label": 0, "header": false, "standardise": true}"#;
    let splits = load(json, &table, "").unwrap();
    let values = |examples: &Examples| -> Vec<f32> {
        let rows = 0..examples.len();
        rows.map(|row| examples.row(row)[0]).collect()
    };
    let mut all = [values(&splits.train), values(&splits.test)].concat();
    all.sort_by(f32::total_cmp);
    all.dedup();
    assert_eq!(all.len(), 20, "{all:?}");
}

#[test]
fn spellings_of_one_number_are_one_class_and_one_client() {
    let json =
        r#"{"file": "table.csv", "label": "kind", "client": "who", "test": {"file": "test.csv"}}"#;
    let train = "a,kind,who\n1,0,7\n2,1,8\n";
    let splits = load(json, train, "a,kind,who\n1,0.0,7.0\n2,1.0,8.0\n").unwrap();
    assert_eq!(
        (splits.train.classes(), splits.test.labels()),
        (2, &[0, 1][..])
    );
    assert_eq!(splits.test.owners(), splits.train.owners());
}

#[test]
fn a_share_is_held_out() {
    let table: String = (0..50).map(|i| format!("{i},{}\n", i % 2)).collect();
    let json = r#"{"file": "table.csv", "label": 1, "header": false, "seed": 3}"#;
    let splits = load(json, &table, "").unwrap();
    assert_eq!((splits.train.len(), splits.test.len()), (40, 10));
}

#[test]
fn faults_say_where_they_lie() {
    let refusal = |json: &str, table: &str| load(json, table, "").unwrap_err().to_string();
    let kind = r#"{"file": "table.csv", "label": "kind"}"#;
    let words = refusal(kind, FLOWERS);
    let told =
        "table.csv: line 2, column `site`: `south` is no number: name the column in `categories`";
    assert!(words.contains(told), "{words}");
    let ragged = refusal(kind, "a,kind\n1,2\n1,2,3\n");
    let told = "table.csv: line 3: 3 columns found, the 2 of the rows before needed";
    assert!(ragged.ends_with(told), "{ragged}");
    let place = refusal(r#"{"file": "table.csv", "label": 2}"#, "a,b\n1,2\n");
    assert!(place.contains("no column 2 among 2"), "{place}");
    assert!(refusal(kind, "").contains("without rows"));
    assert!(refusal(kind, "a,kind\ninf,2\n1,3\n").contains("no finite number"));
    let row = refusal(kind, "a,kind\n1,2\n");
    let told = "table.csv: examples found: 1, at least 2 needed";
    assert!(row.contains(told), "{row}");
    let one = refusal(kind, "a,kind\n1,2\n1,2\n");
    assert!(
        one.contains("label is a column of 1 different values"),
        "{one}"
    );
    let share = r#"{"file": "table.csv", "label": 0, "test": {"share": 1.5}}"#;
    assert!(refusal(share, FLOWERS).contains("test.share is 1.5"));
    assert!(
        !refusal(kind, FLOWERS).contains("data fetch"),
        "nothing to fetch"
    );
}

#[test]
fn cells_that_are_no_numbers_are_shown_with_line_and_column() {
    let refusal = |cell: &str| {
        let table = format!("a,\"b\nc\",kind\n1,2,x\n\n1,{cell},y\n");
        let json = r#"{"file": "table.csv", "label": "kind"}"#;
        let words = load(json, table, "").unwrap_err().to_string();
        let (_, words) = words
            .split_once("table.csv: line 5, column `b\\nc`: ")
            .unwrap_or_else(|| panic!("{words}"));
        words.to_owned()
    };
    assert!(refusal(" ").starts_with("found an empty cell, a number is needed"));
    assert!(refusal("NaN").starts_with("`NaN` is no number: fill it in"));
    assert_eq!(refusal("-inf"), "`-inf` is no finite number");
    let large = "`1e300` is too large, at most 3.4028235e38 is needed";
    assert_eq!(refusal("1e300"), large);
    let long = refusal(&"x".repeat(1 << 20));
    assert!(
        long.len() < 300 && long.contains("xxx…` is no number"),
        "{long}"
    );
    let places = load(
        r#"{"file": "table.csv", "label": 0, "header": false}"#,
        "1,2\n2,\n",
        "",
    );
    let words = places.unwrap_err().to_string();
    let told = "line 2, column 1 (counted from 0): found an empty cell";
    assert!(words.contains(told), "{words}");
    let empty = load(
        r#"{"file": "table.csv", "label": "b"}"#,
        "a,b\n1,2\n1,\n",
        "",
    );
    let words = empty.unwrap_err().to_string();
    let told = "line 3, column `b`: found an empty cell, a label is needed";
    assert!(words.ends_with(told), "{words}");
}

#[test]
fn a_column_that_is_not_there_is_answered_with_those_that_are() {
    let refusal = |label: &str, rest: &str, header: &str| {
        let json = format!("{{\"file\": \"table.csv\", \"label\": \"{label}\"{rest}}}");
        let table = format!("{header}\n1,2\n2,1\n");
        load(&json, table, "").unwrap_err().to_string()
    };
    let near = refusal("kinds", "", "age,kind");
    let told = "no column is called `kinds`, there are `age`, `kind`; did you mean `kind`?";
    assert!(near.ends_with(told), "{near}");
    let names: Vec<String> = (0..5000).map(|name| format!("gene{name}")).collect();
    let many = refusal("kind", "", &names.join(","));
    assert!(
        many.contains("`gene9` and 4990 more") && many.len() < 400,
        "{many}"
    );
    let long = refusal(&"k".repeat(1 << 20), "", &"n".repeat(1 << 20));
    assert!(long.len() < 400, "{long}");
    let unnamed = refusal("kind", ", \"header\": false", "1,2");
    assert!(unnamed.contains("give `kind` by its place"), "{unnamed}");
    let json = r#"{"file": "table.csv", "label": "kind"}"#;
    let other = load(json, "age\tkind\n1\t2\n", "").unwrap_err().to_string();
    assert!(other.ends_with(r#"try `delimiter: "\t"`"#), "{other}");
}

#[test]
fn more_labels_than_classes_can_be_are_refused_at_the_first_that_is_too_many() {
    let rows: String = (0..70_000).map(|row| format!("{row},1\n")).collect();
    let json = r#"{"file": "table.csv", "label": 0, "header": false}"#;
    let words = load(json, rows, "").unwrap_err().to_string();
    let told = "line 65536, column 0 (counted from 0): more than 65535 different labels";
    assert!(words.contains(told), "{words}");
}

#[test]
fn text_that_is_not_utf_8_is_refused_rather_than_merged() {
    let refusal = |table: &[u8]| {
        let json = r#"{"file": "table.csv", "label": "kind"}"#;
        load(json, table, "").unwrap_err().to_string()
    };
    let label = refusal(b"a,kind\n1,tea\n2,caf\xe9\n3,caf\xe8\n");
    let told = "csv: line 3, column `kind`: text that is not UTF-8; save the file as UTF-8";
    assert!(label.contains(told), "{label}");
    let header = refusal(b"\xe9,kind\n1,2\n2,3\n");
    assert!(
        header.contains("line 1, column 0 (counted from 0): text that is not"),
        "{header}"
    );
    let number = refusal(b"a,kind\n1,2\n\xe9,3\n");
    assert!(
        number.contains("line 3, column `a`: text that is not"),
        "{number}"
    );
}

#[test]
fn columns_are_called_by_one_name_in_all_files() {
    let twice = load(
        r#"{"file": "table.csv", "label": "b"}"#,
        "b,a,b\n1,2,3\n",
        "",
    );
    let twice = twice.unwrap_err().to_string();
    assert!(
        twice.contains("columns 0 and 2 are both called `b`"),
        "{twice}"
    );
    let by_place = load(
        r#"{"file": "table.csv", "label": 0}"#,
        "b,a,b\n1,2,3\n2,2,3\n",
        "",
    );
    by_place.unwrap();
    let json = r#"{"file": "table.csv", "label": "kind", "test": {"file": "test.csv"}}"#;
    let other = load(json, "a,kind\n1,2\n2,3\n", "b,kind\n1,2\n").unwrap_err();
    let told = "test.csv: column 0 is called `b`, `a` as in the first file needed";
    assert!(other.to_string().contains(told), "{other}");
}

#[test]
fn damage_of_a_packed_table_is_called_that() {
    use crate::files::packing::tests::stream;
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(r#"{"file": "t.csv.gz", "label": 0, "header": false}"#);
    let packed = stream(Packing::Gzip, &b"1,2\n0,2\n".repeat(99));
    std::fs::write(folder.path().join("t.csv.gz"), &packed[..packed.len() - 4]).unwrap();
    let refusal = settings.load(&DataFolder::new(folder.path())).unwrap_err();
    assert!(
        refusal.to_string().contains("damaged gzip data: "),
        "{refusal}"
    );
}

#[test]
fn the_outline_is_that_of_the_examples_and_finds_what_is_no_number() {
    let folder = tempfile::tempdir().unwrap();
    let place = DataFolder::new(folder.path());
    let table = |width: &str| {
        let rows = (0..20).map(|i| format!("{i},{},{width},{}\n", i % 3, i % 4));
        std::fs::write(folder.path().join("t.csv"), rows.collect::<String>()).unwrap();
    };
    let settings = settings(r#"{"file": "t.csv", "label": 1, "client": 3, "header": false}"#);
    table("2.5");
    let summary = settings.summary(&place).unwrap();
    assert_eq!(summary, DatasetSummary::of(&settings.load(&place).unwrap()));
    table("none");
    let refusal = settings.summary(&place).unwrap_err().to_string();
    let told = "t.csv: line 1, column 2 (counted from 0): `none` is no number";
    assert!(refusal.contains(told), "{refusal}");
}

#[test]
fn a_file_that_changes_while_it_is_read_is_refused() {
    let settings = settings(r#"{"file": "t", "label": 0, "header": false}"#);
    let tagged = Tagged {
        labels: vec![0, 1],
        classes: 2,
        clients: None,
        label_names: None,
        client_names: None,
        train: vec![0],
        test: vec![1],
        validation: Vec::new(),
    };
    let refusal = |text: &str| {
        let before = table("0,5\n1,6\n".as_bytes(), &settings, None).unwrap();
        let layout = Layout::of(before, &tagged.train).unwrap();
        let mut dealt = RowsBySplit::<f32>::of(NAME, &tagged, 1).unwrap();
        let read = numbers(text.as_bytes(), &settings, &layout, 0, &mut dealt);
        read.err().map(|fault| match fault {
            TableFault::Table(reason) => reason,
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(refusal("0,5\n1,6\n"), None);
    for changed in ["0,5\n", "0,5\n1,6\n1,7\n", "0,5,5\n1,6,6\n"] {
        assert!(refusal(changed).unwrap().contains("the file changed"));
    }
}
