//! Values that are of the right type and cannot work.

use std::path::Path;

use meshfold_data::DataFolder;
use meshfold_engine::Precision;
use meshfold_experiment::{ExperimentSource, plan};

use crate::{expect, refused, with};

#[test]
fn settings_of_the_method_are_checked() {
    for (key, line, message, number, marked) in [
        (
            "batch_size",
            "    batch_size: 0",
            "batch_size is 0, but ",
            9,
            "0",
        ),
        (
            "local",
            "    local: {steps: 0}",
            "local is {steps: 0}, but ",
            8,
            "local",
        ),
        (
            "learning_rate",
            "    learning_rate: -0.1",
            "learning_rate is -0.1, but ",
            10,
            "-0.1",
        ),
        (
            "learning_rate",
            "    learning_rate: 0.1\n    momentum: 1",
            "momentum is 1, but ",
            11,
            "1",
        ),
        (
            "learning_rate",
            "    learning_rate: 0.1\n    clip_norm: 0",
            "clip_norm is 0, but ",
            11,
            "0",
        ),
        (
            "learning_rate",
            "    learning_rate: 0.1\n    weight_decay: -1",
            "weight_decay is -1, but ",
            11,
            "-1",
        ),
    ] {
        let seen = refused(&with(key, line));
        assert!(seen.message.starts_with(message), "{seen:?}");
        assert_eq!(
            (seen.line, seen.marked.as_str()),
            (number, marked),
            "{line}"
        );
    }
}

#[test]
fn seeds_are_those_of_known_parts() {
    let keys = "did you mean `topology`? keys here: data, partition, topology, start, batches, failures, methods";
    let source = with("evaluate", "seeds: {topologi: 3}");
    expect(
        &source,
        "seeds: unknown key `topologi`",
        12,
        "topologi",
        keys,
    );
    let negative = "seeds.start: found the number -3, needed a whole number, 0 or more";
    expect(
        &with("evaluate", "seeds: {start: -3}"),
        negative,
        12,
        "-3",
        "",
    );
}

#[test]
fn runs_that_stop_at_targets_have_some() {
    for (evaluate, needed) in [
        (
            "{stop_at_targets: true}",
            "needed `evaluate.targets`, at which the run ends",
        ),
        (
            "{stop_at_targets: true, targets: [0.5], last: 10}",
            "needed no `evaluate.last`: whether an evaluation is the last one shows only in what it finds",
        ),
    ] {
        let line = format!("evaluate: {evaluate}");
        let message = "evaluate.stop_at_targets: found true, ";
        let source = with("evaluate", &line);
        expect(&source, &format!("{message}{needed}"), 12, "true", "");
    }
}

#[test]
fn budgets_are_checked() {
    for (budget, message, marked) in [
        (
            "{}",
            "budget: found nothing, needed `seconds`, `bytes` or both",
            "budget",
        ),
        (
            "{bytes: 0}",
            "budget.bytes: found 0, needed a number above 0",
            "0",
        ),
        (
            "{seconds: -1, bytes: 5}",
            "budget.seconds: found -1, needed a number above 0",
            "-1",
        ),
        (
            "{seconds: 60}",
            "budget.seconds: found 60, needed a `network`, as no time is simulated without one",
            "60",
        ),
    ] {
        let source = with("rounds", &format!("rounds: 5\nbudget: {budget}"));
        expect(&source, message, 12, marked, "");
    }
}

#[test]
fn numbers_that_stand_for_themselves_are_checked() {
    expect(
        &with("rounds", "rounds: 0"),
        "rounds: found 0, needed at least 1",
        11,
        "0",
        "",
    );
    let every = "evaluate.every: found 0, needed at least 1 round from one evaluation to the next";
    expect(
        &with("evaluate", "evaluate: {every: 0}"),
        every,
        12,
        "0",
        "",
    );
    let examples = "evaluate.examples: found 101, needed 1 to 100, the test examples, or `all`";
    expect(
        &with("evaluate", "evaluate: {examples: 101}"),
        examples,
        12,
        "101",
        "",
    );
    let last = "evaluate.last: found 0, needed 1 to 100, the test examples, or `all`";
    expect(
        &with("evaluate", "evaluate: {examples: 50, last: 0}"),
        last,
        12,
        "0",
        "",
    );
    let target =
        "evaluate.targets.1: found 65, needed an accuracy as a fraction, above 0 and up to 1";
    expect(
        &with("evaluate", "evaluate: {targets: [0.5, 65]}"),
        target,
        12,
        "65",
        "",
    );
    let checkpoint =
        "checkpoint.every: found 0, needed at least 1 round from one checkpoint to the next";
    expect(
        &with("evaluate", "checkpoint: {every: 0}"),
        checkpoint,
        12,
        "0",
        "",
    );
    let name = "name: found the text \"../up\", needed the name of a folder: at most 200 bytes, without `/`, `\\` or control characters, \
                not starting with a dot, without blanks at its ends";
    expect(&with("name", "name: ../up"), name, 1, "../up", "");
    let wide = "units of a layer: 1000000000000000000, but it must be at most 16777216";
    let source = with("model", "model: {mlp: {hidden: [20, 1000000000000000000]}}");
    expect(&source, wide, 5, "1000000000000000000", "");
    let all = "dropout: 1, but it must be at least 0 and below 1";
    for model in ["{dnn8: {dropout: 1}}", "{mlp: {hidden: [20], dropout: 1}}"] {
        expect(&with("model", &format!("model: {model}")), all, 5, "1", "");
    }
    let none = "consensus: 0 train examples asked for, between 1 and 10000000 needed";
    let source = with("dataset", "dataset: {consensus: {examples: 0}}");
    expect(&source, none, 2, "0", "");
    let seen = refused(&with("model", "model: {mlp: {hidden: [20, 0]}}"));
    assert_eq!((seen.line, seen.marked.as_str()), (5, "0"), "{seen:?}");
    assert!(
        seen.message.contains("at least one unit in every layer"),
        "{seen:?}"
    );
}

#[test]
fn models_that_cannot_be_point_at_the_value_to_blame() {
    let depth = "resnet depth: 12, but it must be 10 or 18";
    let source = with("model", "model: {resnet: {depth: 12}}");
    expect(&source, depth, 5, "12", "");
    let padding = "pool_padding: 3, but it must be at most 1, half the side of the 3 x 3 places under a maximum";
    let source = with("model", "model: {gn_lenet: {pool_padding: 3}}");
    expect(&source, padding, 5, "3", "");
    let wide = "units of a layer: 4611686018427387904, but it must be at most 16777216";
    let source = with("model", "model: {resnet: {width: 4611686018427387904}}");
    expect(&source, wide, 5, "4611686018427387904", "");
    let groups = with(
        "model",
        "model: {resnet: {depth: 10, width: 12, groups: 8}}",
    );
    let tokens = with("model", "model: {char_lstm: {hidden: 64}}");
    for (source, marked) in [(groups, "8"), (tokens, "char_lstm")] {
        let seen = refused(&source);
        assert_eq!((seen.line, seen.marked.as_str()), (5, marked), "{seen:?}");
    }
}

#[test]
fn partitions_that_cannot_be_dealt_point_at_their_setting() {
    let many = "partition: 601 clients but only 600 training examples; at most 600 clients";
    expect(
        &with("partition", "partition: {iid: {clients: 601}}"),
        many,
        3,
        "601",
        "",
    );
    let seen = refused(&with(
        "partition",
        "partition: {shards: {clients: 10, per_client: 61}}",
    ));
    assert_eq!((seen.line, seen.marked.as_str()), (3, "61"), "{seen:?}");
    let seen = refused(&with(
        "partition",
        "partition: {dirichlet: {clients: 100, alpha: 0.01}}",
    ));
    assert_eq!((seen.line, seen.marked.as_str()), (3, "0.01"), "{seen:?}");
    assert!(
        seen.message
            .contains("left a client with fewer than 1 examples"),
        "{seen:?}"
    );
    assert!(seen.message.contains("would do"), "{seen:?}");
    let seen = refused(&with(
        "partition",
        "partition: {dirichlet: {clients: 10, alpha: -1}}",
    ));
    assert_eq!((seen.line, seen.marked.as_str()), (3, "-1"), "{seen:?}");
    let seen = refused(&with(
        "partition",
        "partition:\n  explicit:\n    counts: [[1, 1]]",
    ));
    assert_eq!(
        (seen.line, seen.file.as_str()),
        (5, "tiny.yaml"),
        "{seen:?}"
    );
    let none = "partition: 0 clients, at least 1 needed";
    for (partition, marked) in [
        ("partition: {iid: {clients: 0}}", "0"),
        ("partition: {explicit: {counts: []}}", "counts"),
        ("partition: {explicit: {sizes: [], ratios: []}}", "sizes"),
    ] {
        expect(&with("partition", partition), none, 3, marked, "");
    }
    let (each, ratio) = (vec!["0.001"; 601].join(", "), vec!["[1]"; 601].join(", "));
    let many = format!("partition: {{explicit: {{ratios: [{ratio}], sizes: [{each}]}}}}");
    let clients = "partition: 601 clients but only 600 training examples; at most 600 clients";
    expect(&with("partition", &many), clients, 3, "sizes", "");
    let seen = refused(&with("dataset", "dataset: {glyphs: {train: 0}}"));
    assert_eq!((seen.line, seen.marked.as_str()), (2, "0"), "{seen:?}");
}

#[test]
fn partitions_and_test_sets_of_papers_point_at_their_setting() {
    // The 100 test examples are dealt as well.
    let many = "partition: two_label_power_law.clients is 71, at most 70 (700 examples, 10 for each client to begin \
                with) needed";
    let source = with(
        "partition",
        "partition: {two_label_power_law: {clients: 71}}",
    );
    expect(&source, many, 3, "71", "");
    let shares = "partition: {explicit: {sizes: [.9, .9], ratios: RATIOS}}";
    let equal = "[[1, 1, 1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]]";
    let source = with("partition", &shares.replace("RATIOS", equal));
    let sum = "partition: explicit.sizes is 1.8, a sum of at most 1 needed";
    expect(&source, sum, 3, "sizes", "");
    let none = "[[0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]";
    let shares = "partition: {explicit: {sizes: [.9], ratios: RATIOS}}";
    let seen = refused(&with("partition", &shares.replace("RATIOS", none)));
    assert!(seen.marked.starts_with('['), "{seen:?}");
    let zeros = "[[1, 0, 0, 0, 0, 0, 0, 0, 0, 0]]";
    let source = with("partition", &shares.replace("RATIOS", zeros));
    let few = "partition: the clients ask for 540 examples of label 0, but there are only 60";
    expect(&source, few, 3, "sizes", "");
    let seen = refused(&with("partition", "partition: {by_writer: {clients: 550}}"));
    assert_eq!((seen.line, seen.marked.as_str()), (3, "550"), "{seen:?}");
    assert!(
        seen.message.contains("writers of training examples"),
        "{seen:?}"
    );
    let quota = "partition: label_quota.max_per_label is 5, at least 6 (to have 60 examples of 10 labels) needed";
    let source = with(
        "partition",
        "partition: {label_quota: {clients: 10, max_per_label: 5}}",
    );
    expect(&source, quota, 3, "5", "");
    let unbalanced =
        "mnist: a balanced test set of 5005 images asked for, a multiple of 10 up to 8920 needed";
    let source = with("dataset", "dataset: {mnist: {balanced_test: 5005}}");
    expect(&source, unbalanced, 2, "5005", "");
}

#[test]
fn models_are_judged_on_no_more_examples_than_are_held_out() {
    let source = |examples: &str| -> ExperimentSource {
        with(
            "partition",
            "partition: {two_label_power_law: {clients: 10}}",
        )
        .with_overrides([format!("evaluate.examples={examples}").as_str()])
    };
    let seen = refused(&source("100"));
    assert!(
        seen.message
            .starts_with("evaluate.examples: found 100, needed 1 to "),
        "{seen:?}"
    );
    // At least a tenth of nearly 700.
    plan(&source("65"), &DataFolder::new("nowhere")).unwrap();
}

#[test]
fn missing_dataset_files_say_where_they_were_looked_for_and_what_fetches_them() {
    let sweep = "dataset: mnist\nsweep: {grid: {seed: [1, 2]}}";
    let seen = refused(&with("dataset", sweep));
    assert_eq!(seen.help, "", "it is missing for every run");
    assert_eq!((seen.line, seen.marked.as_str()), (2, "mnist"), "{seen:?}");
    let looked = Path::new("nowhere").join("mnist").display().to_string();
    assert!(
        seen.message.contains(&looked) && seen.message.contains("`meshfold data fetch mnist`"),
        "{seen:?}"
    );
}

#[test]
fn more_local_steps_than_can_be_counted_are_refused() {
    expect(
        &with("local", "    local: {epochs: 4000000000}"),
        "algorithm.dfedavgm.local.epochs: found 4000000000, needed at most 1431655765: there are 3 steps in an epoch of the \
         largest client",
        8,
        "4000000000",
        "",
    );
}

#[test]
fn a_precision_is_one_of_two() {
    expect(
        &with("evaluate", "precision: bf15"),
        "precision: unknown choice `bf15`",
        12,
        "bf15",
        "did you mean `bf16`?",
    );
}

#[test]
fn the_processor_alone_has_another_precision_than_the_usual() {
    let source = with("evaluate", "precision: bf16");
    let plans = plan(&source, &DataFolder::new(Path::new("nowhere"))).unwrap();
    assert_eq!(plans[0].config.precision, Precision::Bf16);
    let usual = plan(
        &with("evaluate", "precision: f32"),
        &DataFolder::new(Path::new("nowhere")),
    );
    let absent = plan(
        &with("evaluate", ""),
        &DataFolder::new(Path::new("nowhere")),
    );
    let (usual, absent) = (usual.unwrap(), absent.unwrap());
    assert_eq!(usual[0].id, absent[0].id);
    assert_ne!(plans[0].id, absent[0].id);
    assert!(!absent[0].config.to_yaml().contains("precision"));
}

#[test]
fn images_are_augmented_in_ways_that_change_them() {
    let augmented = |settings: &str| with("evaluate", &format!("augment: {settings}"));
    expect(
        &augmented("{crop_padding: 9}"),
        "augment.crop_padding: found 9, needed at most 8 pixels",
        12,
        "9",
        "",
    );
    for nothing in ["{}", "{crop_padding: 0, horizontal_flip: false}"] {
        expect(
            &augmented(nothing),
            "augment: found nothing that changes an image, needed a `crop_padding` of at least 1, `horizontal_flip: true` or both",
            12,
            "augment",
            "",
        );
    }
    let seen = refused(&augmented("{crop_padding: -1}"));
    assert_eq!((seen.line, seen.marked.as_str()), (12, "-1"), "{seen:?}");
    let seen = refused(&augmented("{padding: 4}"));
    assert!(seen.message.contains("unknown key `padding`"), "{seen:?}");
}

#[test]
fn examples_that_are_no_images_are_not_augmented() {
    let source = with(
        "dataset",
        "dataset: {consensus: {examples: 60}}\naugment: {crop_padding: 4}",
    );
    let source = ExperimentSource::new("tiny.yaml", source.text().replace("shards: ", "iid: "));
    let seen = refused(&source);
    assert_eq!(
        (seen.line, seen.marked.as_str()),
        (3, "augment"),
        "{seen:?}"
    );
    let needed = "needed a dataset of images, more than one pixel high and wide";
    assert!(seen.message.ends_with(needed), "{seen:?}");
}
