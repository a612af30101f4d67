//! Tests of what columns are for: left out, words, empty cells, and the column of the split.

use super::*;

/// The table of a shop; the last row of training has no price.
const SHOP: &str = "\
id,colour,price,part,kind
a1,red,2,train,x
a2,blue,4,train,y
a3,red,,TRAIN,y
b1,green,8,test,x
b2,blue,NA,validation,y
";

fn refusal(json: &str, table: &str) -> String {
    load(json, table, "").unwrap_err().to_string()
}

/// Settings of [`SHOP`] with `rest`.
fn shop(rest: &str) -> String {
    format!(r#"{{"file": "table.csv", "label": "kind", "test": {{"column": "part"}}, {rest}}}"#)
}

#[test]
fn words_and_empty_cells_become_features_by_the_training_rows() {
    let json = shop(r#""ignore": ["id"], "categories": ["colour"], "missing": "mean""#);
    let splits = load(&json, SHOP, "").unwrap();
    let rows = |examples: &Examples| -> Vec<Vec<f32>> {
        let rows = 0..examples.len();
        rows.map(|row| examples.row(row).to_vec()).collect()
    };
    // The features are `blue`, `red` and the price; 3 is the mean of 2 and 4.
    let train = [[0.0, 1.0, 2.0], [1.0, 0.0, 4.0], [0.0, 1.0, 3.0]];
    assert_eq!(rows(&splits.train), train);
    assert_eq!(
        rows(&splits.test),
        [[0.0, 0.0, 8.0]],
        "`green` is untrained"
    );
    let validation = splits.validation.unwrap();
    assert_eq!(rows(&validation), [[1.0, 0.0, 3.0]]);
    assert_eq!(validation.labels(), [1]);
}

#[test]
fn filled_features_are_standardised() {
    let json = shop(r#""features": ["price"], "missing": "mean", "standardise": true"#);
    let splits = load(&json, SHOP, "").unwrap();
    // The prices 2, 4 and 3 have mean 3 and deviation sqrt(2/3).
    let deviation = (2.0_f64 / 3.0).sqrt();
    let expected = [-1.0, 1.0, 0.0].map(|price| (price / deviation) as f32);
    for (row, price) in expected.into_iter().enumerate() {
        assert_eq!(splits.train.row(row), [price]);
    }
    assert_eq!(splits.test.row(0), [(5.0 / deviation) as f32]);
    assert_eq!(splits.validation.unwrap().row(0), [0.0]);
}

#[test]
fn features_that_never_vary_become_zero_and_keep_their_scale() {
    // One feature is always 3.3, the other is 3.3 or empty.
    let table: String = (0..50)
        .map(|row| {
            let gap = if row % 2 == 0 { "3.3" } else { "" };
            format!("{},3.3,{gap}\n", row % 2)
        })
        .collect();
    let json = r#"{"file": "table.csv", "label": 0, "header": false, "standardise": true, "missing": "mean",
        "test": {"file": "test.csv"}}"#;
    let splits = load(json, table, "0,3.4,3.4\n1,3.3,\n").unwrap();
    for row in 0..50 {
        assert_eq!(splits.train.row(row), [0.0, 0.0], "row {row}");
    }
    assert_eq!(splits.test.row(0), [(3.4_f64 - 3.3) as f32; 2]);
    assert_eq!(splits.test.row(1), [0.0, 0.0]);
}

#[test]
fn an_empty_category_has_the_shares_of_its_words() {
    let table = "0,a\n1,b\n0,b\n1,b\n0,\n";
    let json = r#"{"file": "table.csv", "label": 0, "header": false, "categories": [1], "missing": "mean",
        "test": {"file": "test.csv"}}"#;
    let splits = load(json, table, "0,\n").unwrap();
    assert_eq!(splits.train.row(4), [0.25, 0.75]);
    assert_eq!(splits.test.row(0), [0.25, 0.75]);
    let strict = json.replace(r#""missing": "mean","#, "");
    let told = "line 5, column 1 (counted from 0): found an empty cell, a word is needed";
    assert!(refusal(&strict, table).contains(told));
}

#[test]
fn words_that_are_numbers_are_in_the_order_of_numbers() {
    let table = "0,10\n1,9\n0,9.0\n";
    let json = r#"{"file": "table.csv", "label": 0, "header": false, "categories": [1], "test": {"file": "test.csv"}}"#;
    let splits = load(json, table, "0,10.0\n").unwrap();
    assert_eq!(splits.train.row(0), [0.0, 1.0]);
    assert_eq!(splits.train.row(2), [1.0, 0.0]);
    assert_eq!(splits.test.row(0), [0.0, 1.0]);
}

#[test]
fn words_that_only_test_rows_have_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    std::fs::write(&path, SHOP).unwrap();
    let warnings = |json: &str| {
        let (layout, _) = settings(json).tagged(std::slice::from_ref(&path)).unwrap();
        let warnings = layout.one_hot.iter().filter_map(|words| words.warning());
        warnings.collect::<Vec<_>>()
    };
    let json = shop(r#""ignore": ["id", "price"], "categories": ["colour"]"#);
    let [warning] = &warnings(&json)[..] else {
        panic!("one column is warned of")
    };
    assert!(
        warning.starts_with("column `colour`: ") && warning.ends_with(": `green`"),
        "{warning}"
    );
    let none = shop(r#""features": ["price"], "missing": "mean""#);
    assert!(warnings(&none).is_empty());
}

#[test]
fn an_index_without_a_name_is_told_unless_a_setting_says_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    std::fs::write(&path, ",length,kind\n0,1.5,a\n1,2.5,b\n2,3.5,a\n").unwrap();
    let unnamed = |rest: &str| {
        let json = format!(r#"{{"file": "table.csv", "label": "kind"{rest}}}"#);
        let settings = settings(&json);
        let (layout, _) = settings.tagged(std::slice::from_ref(&path)).unwrap();
        layout.unnamed(&settings)
    };
    assert_eq!(unnamed(""), Some(0));
    assert_eq!(unnamed(r#", "ignore": [0]"#), None);
    assert_eq!(unnamed(r#", "features": [0, 1]"#), None);
}

#[test]
fn outlines_of_such_tables_are_those_of_their_examples() {
    let folder = tempfile::tempdir().unwrap();
    let place = DataFolder::new(folder.path());
    // Labels that are numbers from 0 have no names, which outlines know of alone.
    let table = SHOP.replace(",x\n", ",0\n").replace(",y\n", ",1\n");
    std::fs::write(folder.path().join("table.csv"), table).unwrap();
    let json = shop(r#""ignore": ["id"], "categories": ["colour"], "missing": "mean""#);
    let settings = settings(&json);
    let summary = settings.summary(&place).unwrap();
    assert_eq!(summary, DatasetSummary::of(&settings.load(&place).unwrap()));
    assert_eq!((summary.train(), summary.validation()), (3, 1));
}

#[test]
fn settings_that_ask_for_nothing_new_are_written_as_before() {
    let plain = settings(r#"{"file": "table.csv", "label": "kind"}"#);
    let written = serde_json::to_string(&plain).unwrap();
    for key in ["features", "ignore", "categories", "missing"] {
        assert!(!written.contains(key), "{written}");
    }
}

#[test]
fn a_column_has_one_use() {
    let of = |rest: &str| refusal(&shop(rest), SHOP);
    let twice = of(r#""ignore": ["id", "kind"]"#);
    let told = "table.csv: column `kind` is named twice, in `label` and in `ignore`";
    assert!(twice.ends_with(told), "{twice}");
    let split = of(r#""features": ["price", "part"]"#);
    assert!(
        split.contains("in `test.column` and in `features`"),
        "{split}"
    );
    let ignored = of(r#""ignore": ["id"], "categories": ["id"]"#);
    let told = "column `id` is in `categories` but no feature, as it is in `ignore`";
    assert!(ignored.ends_with(told), "{ignored}");
    let left_out = of(r#""features": ["price"], "categories": ["colour"]"#);
    assert!(
        left_out.ends_with("as it is not in `features`"),
        "{left_out}"
    );
    let again = of(r#""ignore": ["id"], "categories": ["colour", 1]"#);
    assert!(
        again.ends_with("column `colour` is named twice in `categories`"),
        "{again}"
    );
    let unknown = of(r#""ignore": ["idd"]"#);
    assert!(unknown.ends_with("did you mean `id`?"), "{unknown}");
    let nothing = of(r#""features": []"#);
    assert!(nothing.ends_with("5 columns leave no feature"), "{nothing}");
}

#[test]
fn splits_that_cannot_be_used_are_refused() {
    let of = |table: &str| refusal(&shop(r#""features": ["price"]"#), table);
    let word = of(&SHOP.replace("blue,4,train", "blue,4,dev"));
    let told = "line 3, column `part`: found `dev`, `train`, `test` or `validation` is needed";
    assert!(word.ends_with(told), "{word}");
    let empty = of(&SHOP.replace("blue,4,train", "blue,4,"));
    assert!(empty.contains("found an empty cell, `train`,"), "{empty}");
    let filled = SHOP.replace("red,,", "red,1,").replace("NA", "1");
    let untested = of(&filled.replace("test", "train"));
    let told = "column `part` calls no row `test`, at least one is needed";
    assert!(untested.ends_with(told), "{untested}");
}

#[test]
fn columns_without_a_value_to_train_on_are_named() {
    let all = r#""ignore": ["id"], "categories": ["colour"], "missing": "mean""#;
    let priceless = SHOP
        .replace("red,2,", "red,?,")
        .replace("blue,4,", "blue,,");
    let words = refusal(&shop(all), &priceless);
    let told = "column `price` has no number in any row that trains: name it in `ignore`";
    assert!(words.contains(told), "{words}");
    let colourless = SHOP.replace("red", "").replace("blue", "");
    let words = refusal(&shop(all), &colourless);
    let told = "column `colour` has no word in any row that trains: name it in `ignore`";
    assert!(words.contains(told), "{words}");
}

#[test]
fn more_words_than_a_category_may_have_are_refused_at_the_first_that_is_too_many() {
    let rows = |different: usize| -> String {
        let rows = 0..300;
        rows.map(|row| format!("{},w{}\n", row % 2, row % different))
            .collect()
    };
    let json = r#"{"file": "table.csv", "label": 0, "header": false, "categories": [1],
        "test": {"file": "test.csv"}}"#;
    assert_eq!(load(json, rows(100), "0,w0\n").unwrap().train.width(), 100);
    let words = refusal(json, &rows(101));
    let told = "line 101, column 1 (counted from 0): more than 100 different words";
    assert!(words.contains(told), "{words}");
}
