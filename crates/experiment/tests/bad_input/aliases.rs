//! A mistake in what an alias stands for is marked where it is written, and the help names the alias.

use meshfold_experiment::ExperimentSource;

use crate::{YAML, refused};

/// Line, marked text and help of the error, with `changes` of the experiment.
fn told(changes: &[(&str, &str)]) -> (usize, String, String) {
    let mut text = YAML.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let seen = refused(&ExperimentSource::new("tiny.yaml", text));
    (seen.line, seen.marked, seen.help)
}

#[test]
fn the_alias_of_a_mistake_is_named() {
    let value = told(&[
        ("clients: 10", "clients: &many 10"),
        ("topology: ring", "topology: {regular: {degree: *many}}"),
    ]);
    assert_eq!((value.0, value.1.as_str()), (3, "10"));
    assert!(
        value.2.ends_with("`*many` in line 4 stands for it"),
        "{value:?}"
    );
    // A key inside of what the alias stands for.
    let key = told(&[
        ("{train: 600, test: 100}", "&sizes {train: 600, test: 100}"),
        ("{shards: {clients: 10}}", "{shards: *sizes}"),
    ]);
    assert_eq!((key.0, key.1.as_str()), (2, "train"));
    assert!(
        key.2.ends_with("`*sizes` in line 3 stands for it"),
        "{key:?}"
    );
}

#[test]
fn a_mistake_beside_an_alias_or_at_the_anchor_itself_names_none() {
    let anchor = told(&[
        ("train: 600", "train: &none 0"),
        ("rounds: 5", "rounds: 5\nseed: *none"),
    ]);
    assert_eq!((anchor.0, anchor.1.as_str()), (2, "0"));
    assert!(!anchor.2.contains("stands for"), "{anchor:?}");
}
