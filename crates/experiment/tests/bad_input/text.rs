//! Text that is no experiment: YAML, keys, choices and types.

use meshfold_experiment::ExperimentSource;

use crate::{YAML, expect, refused, with};

#[test]
fn unknown_keys_and_choices_are_told_the_nearest() {
    expect(
        &with("rounds", "ruonds: 5"),
        "unknown key `ruonds`",
        11,
        "ruonds",
        "did you mean `rounds`? keys here: name, seed, seeds, dataset, partition, start, topology, weights, model, precision, augment, algorithm, \
         rounds, budget, stragglers, failures, network, evaluate, checkpoint, sweep",
    );
    expect(
        &with("learning_rate", "    lerning_rate: 0.05"),
        "algorithm.dfedavgm: unknown key `lerning_rate`",
        10,
        "lerning_rate",
        "did you mean `learning_rate`? keys here: aggregation, quantise, local, batch_size,",
    );
    expect(
        &with("topology", "topology: rnig"),
        "topology: unknown choice `rnig`",
        4,
        "rnig",
        "did you mean `ring`? choices: path, ring,",
    );
    expect(
        &with("dfedavgm", "  dfedavgn:"),
        "algorithm: unknown choice `dfedavgn`",
        7,
        "dfedavgn",
        "did you mean `dfedavgm`? choices: alone, dsgd,",
    );
    expect(
        &with("model", "model: transformer"),
        "model: unknown choice `transformer`",
        5,
        "transformer",
        "choices: linear, logistic, binary_logistic, mlp, dnn8",
    );
    expect(
        &with("rounds", "rounds: 5\nswep: {grid: {seed: [1]}}"),
        "unknown key `swep`",
        12,
        "swep",
        "did you mean `sweep`?",
    );
}

#[test]
fn wrong_types_say_what_is_needed() {
    let number = "rounds: found the text \"many\", needed a whole number, 0 or more";
    expect(&with("rounds", "rounds: many"), number, 11, "many", "");
    let batch = "algorithm.dfedavgm.batch_size: found the text \"all\", needed a number of examples or `full`";
    expect(
        &with("batch_size", "    batch_size: all"),
        batch,
        9,
        "all",
        "",
    );
    let rate = "algorithm.dfedavgm.learning_rate: found the text \"fast\", needed a number or a schedule, such as \
                {step: ..}, {cosine: ..} or {milestones: ..}";
    expect(
        &with("learning_rate", "    learning_rate: fast"),
        rate,
        10,
        "fast",
        "",
    );
    let schedule = "algorithm.dfedavgm.learning_rate.power: missing key `q`";
    expect(
        &with("learning_rate", "    learning_rate: {power: {r: 1}}"),
        schedule,
        10,
        "power",
        "add `q: ..`",
    );
    let two = "algorithm.dfedavgm.learning_rate: found 2 (`power`, `step`), needed one choice";
    let source = with(
        "learning_rate",
        "    learning_rate: {power: {r: 1, q: 1}, step: {initial: 1}}",
    );
    expect(&source, two, 10, "step", "keep one of them");
    expect(
        &with("model", "model: {mlp: {hidden: 20}}"),
        "model.mlp.hidden: found the number 20, needed a list",
        5,
        "20",
        "write it in brackets, such as [20]",
    );
    expect(
        &with("model", "model: mlp"),
        "model.mlp: missing key `hidden`",
        5,
        "mlp",
        "add `hidden: ..`",
    );
    expect(
        &with("topology", "topology: {ring: {}, path: {}}"),
        "topology: found 2 (`ring`, `path`), needed one choice",
        4,
        "path",
        "choices: path, ring",
    );
    let seen = refused(&ExperimentSource::new(
        "tiny.yaml",
        YAML.replace("rounds: 5\n", ""),
    ));
    assert_eq!(
        (seen.message.as_str(), seen.line),
        ("missing key `rounds`", 1)
    );
    assert_eq!(
        (seen.file.as_str(), seen.help.as_str()),
        ("tiny.yaml", "add `rounds: ..`")
    );
    let number = "name: found the number 5, needed text";
    expect(
        &with("name", "name: 5"),
        number,
        1,
        "5",
        "write it in quotes",
    );
}

#[test]
fn text_that_is_no_experiment_is_refused() {
    let open = "needed `,` or `}` here: a bracket before is still open";
    expect(
        &with("model", "model: {mlp: {hidden: [20]}"),
        open,
        6,
        "",
        "",
    );
    expect(
        &with("rounds", "name: again"),
        "the key `name` is given twice",
        11,
        "name",
        "",
    );
    for (text, message) in [
        ("", "found an empty file, needed the keys of an experiment"),
        (
            "# nothing\n",
            "found an empty file, needed the keys of an experiment",
        ),
        (
            "- a\n- b\n",
            "found a list, needed the keys of an experiment",
        ),
    ] {
        let seen = refused(&ExperimentSource::new("tiny.yaml", text));
        assert_eq!(seen.message, message);
        assert!(
            seen.help
                .contains("name, dataset, partition, model, algorithm and rounds"),
            "{seen:?}"
        );
    }
    let missing = ExperimentSource::read("no/such/experiment.yaml")
        .unwrap_err()
        .to_string();
    assert!(
        missing.starts_with("cannot read no/such/experiment.yaml: "),
        "{missing}"
    );
}
