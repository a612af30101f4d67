//! However long a text is, the error shows the part of it that matters, in a few lines.

use std::fmt::Write;

use meshfold_data::DataFolder;
use meshfold_experiment::{ConfigError, ExperimentSource, plan};

use crate::{YAML, drawn, with};

/// What a person sees of the experiment, which is not planned, and the error.
fn seen(source: &ExperimentSource) -> (String, ConfigError) {
    let error = plan(source, &DataFolder::new("nowhere")).unwrap_err();
    let drawn = drawn(&error);
    let longest = drawn.lines().map(|line| line.chars().count()).max();
    assert!(drawn.len() < 8000 && longest < Some(2500), "{drawn}");
    (drawn, error)
}

#[test]
fn a_mistake_far_to_the_right_is_shown_with_what_stands_around_it() {
    // Column 65,536 is the first at which miette panics.
    for blanks in [60_000, 65_520, 65_527, 65_540, 200_000] {
        let (drawn, error) = seen(&with("rounds", &format!("rounds:{}x", " ".repeat(blanks))));
        assert_eq!((error.line(), error.marked()), (Some(11), Some("x")));
        let place = format!("tiny.yaml:11:{}]", blanks + 8);
        assert!(drawn.contains(&place), "{drawn}");
        assert!(
            drawn.contains("11 │ … ") && drawn.contains("this value"),
            "{drawn}"
        );
    }
}

#[test]
fn a_misspelt_key_in_a_file_of_one_line_is_found() {
    let counts = vec!["[5, 5, 5, 5, 5, 5, 5, 5, 5, 5]"; 3000].join(", ");
    let json = format!(
        "{{\"name\": \"t\", \"partition\": {{\"explicit\": {{\"counts\": [{counts}]}}}}, \"ruonds\": 5, \"model\": \"logistic\", \"dataset\": \"glyphs\", \"algorithm\": {{\"dsgd\": {{\"batch_size\": 5, \"learning_rate\": 0.1}}}}}}"
    );
    assert!(json.len() > 90_000);
    let (drawn, error) = seen(&ExperimentSource::new("one.json", json.clone()));
    assert_eq!(error.to_string(), "unknown key `ruonds`");
    let column = json.find("\"ruonds").unwrap() + 1;
    assert!(drawn.contains(&format!("one.json:1:{column}]")), "{drawn}");
    assert!(drawn.contains("5]]}}, \"ruonds\": 5, \"model\""), "{drawn}");
}

#[test]
fn long_overrides_are_shown_in_part() {
    let wide = format!("evaluate.targets=[{}ten]", "0.5, ".repeat(20_000));
    let (drawn, error) = seen(&ExperimentSource::new("tiny.yaml", YAML).with_overrides([wide]));
    assert_eq!((error.file(), error.marked()), (Some("--set"), Some("ten")));
    assert!(
        drawn.contains("--set:1:100019]") && drawn.contains("…0.5, "),
        "{drawn}"
    );
    let path = format!("{}=3", "seed".repeat(50_000));
    let (drawn, _) = seen(&ExperimentSource::new("tiny.yaml", YAML).with_overrides([path]));
    assert!(drawn.contains("unknown key `seedseed"), "{drawn}");
    assert!(drawn.contains("(200000 characters)"), "{drawn}");
    let nothing = "x".repeat(1_000_000);
    let (drawn, _) = seen(&ExperimentSource::new("tiny.yaml", YAML).with_overrides([nothing]));
    assert!(drawn.contains("found the override `xxx"), "{drawn}");
}

#[test]
fn columns_are_counted_in_characters() {
    let tabs = format!("rounds:\t{}x", "\t".repeat(300));
    let (drawn, error) = seen(&with("rounds", &tabs));
    assert_eq!(error.line(), Some(11), "{drawn}");
    assert!(drawn.contains("tiny.yaml:11:309]"), "{drawn}");
    let emoji = format!("rounds: \"{}\"", "😀".repeat(70_000));
    let (drawn, error) = seen(&with("rounds", &emoji));
    assert_eq!(error.marked().map(str::len), Some(4 * 70_000 + 2));
    assert!(
        drawn.contains("tiny.yaml:11:9]") && drawn.contains("😀…"),
        "{drawn}"
    );
    let behind = format!(
        "model: {{mlp: {{hidden: [20], \"{}\": 1}}}}",
        "ü".repeat(500)
    );
    let (drawn, _) = seen(&with("model", &behind));
    assert!(drawn.contains("tiny.yaml:5:29]"), "{drawn}");
}

#[test]
fn what_the_user_wrote_is_never_repeated_whole() {
    let long = "a".repeat(10_000_000);
    for source in [
        with("name", &format!("name: {long}")),
        with("topology", &format!("topology: {long}")),
        with("topology", &format!("topology: {{ring: {{hops: {long}}}}}")),
        with("rounds", &format!("rounds: \"{long}\"")),
        with("model", &format!("model: {{own: {long}}}")),
        with(
            "dataset",
            &format!("dataset: {{csv: {{file: {long}, label: 0}}}}"),
        ),
        with("dataset", &format!("dataset: {{npz: {{file: {long}}}}}")),
        with(
            "topology",
            &format!("topology: {{edges: {{file: {long}}}}}"),
        ),
        with("batch_size", &format!("    batch_size: {long}")),
        ExperimentSource::new("tiny.yaml", YAML).with_overrides([format!("seed=[{long}]")]),
        ExperimentSource::new("tiny.yaml", YAML).with_overrides([
            format!("sweep.grid.name=[a, \"{long}\"]"),
            "evaluate.every=0".to_owned(),
        ]),
    ] {
        let (drawn, _) = seen(&source);
        let shown = drawn.matches('a').count();
        assert!(shown < 3000, "{drawn}");
    }
}

#[test]
fn many_keys_are_counted() {
    let mut choices = String::new();
    for index in 0..100_000 {
        write!(choices, "c{index}: 1, ").unwrap();
    }
    let (drawn, _) = seen(&with("topology", &format!("topology: {{{choices}}}")));
    assert!(drawn.contains("found 100000 (`c0`, `c1`"), "{drawn}");
    assert!(drawn.contains("and 99990 more"), "{drawn}");
}

#[test]
fn hidden_characters_do_not_reach_the_terminal() {
    for value in ["\"\\e[2J\\0\"", "\"a\\u202Eb\"", "\"a\\nb\\rc\""] {
        let (drawn, _) = seen(&with("topology", &format!("topology: {value}")));
        let hidden = drawn
            .chars()
            .find(|found| found.is_control() && *found != '\n' || *found == '\u{202e}');
        assert_eq!(hidden, None, "{drawn:?}");
    }
    let raw = ExperimentSource::new("tiny.yaml", format!("{YAML}ruonds: 3 # \u{202e}\u{7f}\r\n"));
    let (drawn, _) = seen(&raw);
    assert!(!drawn.contains(['\u{202e}', '\u{7f}', '\r']), "{drawn:?}");
}
