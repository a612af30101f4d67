//! Overrides and sweeps, whose values are written elsewhere than those of the file.

use meshfold_data::DataFolder;
use meshfold_experiment::{ExperimentSource, plan};

use crate::{YAML, expect, refused, with};

#[test]
fn overrides_are_checked_like_the_file_and_marked_in_their_own_text() {
    let source = |text: &str| ExperimentSource::new("tiny.yaml", YAML).with_overrides([text]);
    for (text, message, marked, help) in [
        (
            "rouns=3",
            "unknown key `rouns`",
            "rouns",
            "did you mean `rounds`?",
        ),
        (
            "topology=rnig",
            "topology: unknown choice `rnig`",
            "rnig",
            "did you mean `ring`?",
        ),
        (
            "algorithm.dfedavgm.momentun=0.5",
            "algorithm.dfedavgm: unknown key `momentun`",
            "momentun",
            "did you mean `momentum`?",
        ),
        (
            "algorithm.dsgd.momentum=0.5",
            "algorithm: found 2 (`dfedavgm`, `dsgd`), needed one choice",
            "dsgd",
            "choices: alone, dsgd",
        ),
        (
            "topology={regular: {degree: 10}}",
            "regular.degree: found 10, needed 2 to 9",
            "10",
            "",
        ),
        (
            "partition.shards.clients=700",
            "partition: 700 clients",
            "700",
            "",
        ),
        (
            "rounds=",
            "rounds: found nothing, needed a whole number, 0 or more",
            "rounds",
            "",
        ),
        (
            "seed",
            "found the override `seed`, needed a dotted path, `=` and a value",
            "seed",
            "such as --set seed=2",
        ),
    ] {
        let seen = refused(&source(text));
        assert!(seen.message.starts_with(message), "{seen:?}");
        assert_eq!(
            (seen.file.as_str(), seen.marked.as_str()),
            ("--set", marked),
            "{text}"
        );
        assert!(seen.help.starts_with(help), "{seen:?}");
    }
    let plans = plan(
        &source("algorithm.dfedavgm.momentum=0.5"),
        &DataFolder::new("nowhere"),
    )
    .unwrap();
    assert!((plans[0].config.algorithm.training().sgd.momentum - 0.5).abs() < 1e-7);
}

#[test]
fn a_sweep_of_a_key_without_its_path_is_told_the_path() {
    let unknown = with(
        "rounds",
        "rounds: 5\nsweep: {grid: {learning_rate: [0.1, 0.2]}}",
    );
    expect(
        &unknown,
        "unknown key `learning_rate`",
        12,
        "learning_rate",
        "did you mean `algorithm.dfedavgm.learning_rate`? keys here: name, seed",
    );
}

#[test]
fn a_sweep_points_at_the_value_and_names_the_run() {
    let sweep = "rounds: 5\nsweep:\n  grid:\n    seed: [1, 2]\n    topology:\n      - ring\n      - {regular: {degree: 11}}";
    let seen = refused(&with("rounds", sweep));
    assert_eq!((seen.line, seen.marked.as_str()), (17, "11"), "{seen:?}");
    assert_eq!(seen.help, "met in the run seed=1, topology=11-regular");
    let overridden = with("rounds", sweep).with_overrides(["topology=star"]);
    let seen = refused(&overridden);
    assert_eq!(
        seen.message,
        "the sweep sets `topology` in every run, so this override would change nothing"
    );
    assert!(
        seen.help.contains("--set 'sweep.grid.topology=[..]'"),
        "{seen:?}"
    );
    let unknown = with("rounds", "rounds: 5\nsweep: {grid: {sed: [1, 2]}}");
    expect(
        &unknown,
        "unknown key `sed`",
        12,
        "sed",
        "did you mean `seed`?",
    );
}
