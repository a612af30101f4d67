//! Every experiment that cannot be run is refused with its line and with what would be right.

use std::fs;
use std::path::Path;

use meshfold_data::DataFolder;
use meshfold_experiment::{ConfigError, Source, plan};
use miette::Diagnostic;

const YAML: &str = "\
name: tiny
dataset: {glyphs: {train: 600, test: 100}}
partition: {shards: {clients: 10}}
topology: ring
model: {mlp: {hidden: [20]}}
algorithm:
  dfedavgm:
    local: {epochs: 1}
    batch_size: 20
    learning_rate: 0.05
rounds: 5
evaluate: {every: 1, targets: [0.5]}
";

/// What a person sees of an error.
#[derive(Debug, PartialEq)]
struct Seen {
    message: String,
    file: String,
    line: usize,
    marked: String,
    help: String,
}

fn seen(error: &ConfigError) -> Seen {
    Seen {
        message: error.to_string(),
        file: error.file().unwrap_or_default().to_owned(),
        line: error.line().unwrap_or_default(),
        marked: error.marked().unwrap_or_default().to_owned(),
        help: error
            .help()
            .map(|help| help.to_string())
            .unwrap_or_default(),
    }
}

fn refused(source: &Source) -> Seen {
    match plan(source, &DataFolder::new("nowhere")) {
        Err(error) => seen(&error),
        Ok(plans) => panic!("{} runs were planned of\n{}", plans.len(), source.text()),
    }
}

/// Plans the experiment with the line that starts with `key` replaced, and `more` at its end.
fn with(key: &str, line: &str) -> Source {
    assert!(
        YAML.lines()
            .any(|found| found.trim_start().starts_with(key)),
        "{key}"
    );
    let replaced = |found: &str| {
        if found.trim_start().starts_with(key) {
            line.to_owned()
        } else {
            found.to_owned()
        }
    };
    let lines: Vec<String> = YAML.lines().map(replaced).collect();
    Source::new("tiny.yaml", lines.join("\n"))
}

/// Asserts message, line, marked text and the beginning of the help.
fn expect(source: &Source, message: &str, line: usize, marked: &str, help: &str) {
    let seen = refused(source);
    assert_eq!(
        (seen.message.as_str(), seen.line, seen.marked.as_str()),
        (message, line, marked)
    );
    assert!(
        seen.help.starts_with(help) && (help.is_empty() == seen.help.is_empty()),
        "{seen:?}"
    );
}

#[test]
fn the_experiment_itself_is_planned() {
    assert_eq!(
        plan(&Source::new("tiny.yaml", YAML), &DataFolder::new("nowhere"))
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn unknown_keys_and_choices_are_told_the_nearest() {
    expect(
        &with("rounds", "ruonds: 5"),
        "unknown key `ruonds`",
        11,
        "ruonds",
        "did you mean `rounds`? keys here: name, seed, dataset, partition, start, topology, weights, model, algorithm, \
         rounds, evaluate, checkpoint, sweep",
    );
    expect(
        &with("learning_rate", "    lerning_rate: 0.05"),
        "algorithm.dfedavgm: unknown key `lerning_rate`",
        10,
        "lerning_rate",
        "did you mean `learning_rate`? keys here: local, batch_size,",
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
        "choices: logistic, mlp",
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
    let rate = "algorithm.dfedavgm.learning_rate: found the text \"fast\", needed a number or a schedule: \
                {step: ..}, {inverse_time: ..}, {power: ..} or {harmonic: ..}";
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
        "",
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
        "",
    );
    expect(
        &with("model", "model: mlp"),
        "model.mlp: missing key `hidden`",
        5,
        "mlp",
        "",
    );
    expect(
        &with("topology", "topology: {ring: {}, path: {}}"),
        "topology: found 2 (`ring`, `path`), needed one choice",
        4,
        "path",
        "choices: path, ring",
    );
    let seen = refused(&Source::new("tiny.yaml", YAML.replace("rounds: 5\n", "")));
    assert_eq!(seen.message, "missing key `rounds`");
}

#[test]
fn text_that_is_no_experiment_is_refused() {
    let open = "while parsing a flow mapping, did not find expected ',' or '}'";
    expect(
        &with("model", "model: {mlp: {hidden: [20]}"),
        open,
        6,
        "",
        "",
    );
    expect(
        &with("rounds", "name: again"),
        "duplicate mapping key: name not allowed here",
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
        let seen = refused(&Source::new("tiny.yaml", text));
        assert_eq!(seen.message, message);
        assert!(
            seen.help
                .contains("name, dataset, partition, model, algorithm and rounds"),
            "{seen:?}"
        );
    }
    let missing = Source::read("no/such/experiment.yaml")
        .unwrap_err()
        .to_string();
    assert!(
        missing.starts_with("cannot read no/such/experiment.yaml: "),
        "{missing}"
    );
}

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
    let name = "name: found the text \"../up\", needed the name of a folder: without `/`, `\\` or control characters, \
                not starting with a dot";
    expect(&with("name", "name: ../up"), name, 1, "../up", "");
    let seen = refused(&with("model", "model: {mlp: {hidden: [20, 0]}}"));
    assert_eq!((seen.line, seen.marked.as_str()), (5, "hidden"), "{seen:?}");
    assert!(
        seen.message.contains("at least one unit in every layer"),
        "{seen:?}"
    );
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
    expect(
        &with("partition", "partition: {iid: {clients: 0}}"),
        none,
        3,
        "0",
        "",
    );
    let seen = refused(&with("dataset", "dataset: {glyphs: {train: 0}}"));
    assert_eq!((seen.line, seen.marked.as_str()), (2, "0"), "{seen:?}");
}

#[test]
fn overlays_that_cannot_be_built_point_at_their_setting() {
    let odd = YAML
        .replace("clients: 10", "clients: 9")
        .replace("topology: ring", "topology: {regular: {degree: 3}}");
    let seen = refused(&Source::new("tiny.yaml", odd));
    assert_eq!((seen.line, seen.marked.as_str()), (4, "3"), "{seen:?}");
    assert!(
        seen.message
            .starts_with("regular: degree 3 on 9 nodes gives half an edge"),
        "{seen:?}"
    );
    for (line, marked, message) in [
        (
            "topology: {ring: {hops: 6}}",
            "6",
            "ring: hops = 6 must lie in 1..=5 for 10 nodes",
        ),
        (
            "topology: {erdos_renyi: {p: 0.01}}",
            "0.01",
            "erdos_renyi: none of 1000 draws",
        ),
        (
            "topology: {erdos_renyi: {p: 2}}",
            "2",
            "erdos_renyi: p = 2 is not a probability",
        ),
        (
            "topology: {watts_strogatz: {neighbours: 3, rewire: 0.1}}",
            "3",
            "watts_strogatz: neighbours = 3 must be even",
        ),
        (
            "topology: {grid: {rows: 3}}",
            "3",
            "grid: 10 nodes do not fill 3 rows",
        ),
        (
            "topology: ring\nweights: {laplacian: {theta: 2}}",
            "2",
            "laplacian: theta = 2 must lie in 0..=1",
        ),
    ] {
        let seen = refused(&with("topology", line));
        assert_eq!(seen.marked, marked, "{seen:?}");
        assert!(seen.message.starts_with(message), "{seen:?}");
    }
}

#[test]
fn edge_lists_name_their_line_and_the_experiments_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.yaml");
    let text = YAML.replace("topology: ring", "topology: {edges: {file: w.edges}}");
    let source = Source::new(&path, text);
    let ring: String = (0..10)
        .map(|node| format!("{node} {}\n", (node + 1) % 10))
        .collect();
    let list = |text: &str| fs::write(folder.path().join("w.edges"), text).unwrap();

    let seen = refused(&source);
    assert!(seen.message.contains("w.edges: "), "{seen:?}");
    for (edges, message) in [
        (
            format!("{ring}3 10\n"),
            "w.edges: line 11: edge 3-10 leaves the overlay, whose 10 nodes are numbered from 0",
        ),
        (
            format!("# ring\n{ring}4 4\n"),
            "w.edges: line 12: edge 4-4 is a self-loop",
        ),
        (
            "0 1 2\n".to_owned(),
            "w.edges: line 1: expected two node numbers",
        ),
        (
            "0 1\n".to_owned(),
            "edges w.edges: 10 nodes fall into 9 components, an overlay must be connected",
        ),
        (
            "# none\n".to_owned(),
            "edges: nothing was read from w.edges",
        ),
    ] {
        list(&edges);
        let seen = refused(&source);
        assert!(seen.message.contains(message), "{seen:?}");
        assert_eq!(
            (seen.line, seen.marked.as_str()),
            (4, "w.edges"),
            "{seen:?}"
        );
    }
    list(&ring);
    let plans = plan(&source, &DataFolder::new("nowhere")).unwrap();
    assert_eq!(plans[0].overlay.as_ref().unwrap().overlay.edge_count(), 10);
    let yaml = plans[0].config.to_yaml();
    assert!(
        yaml.contains("sha256: ") && yaml.contains("file: w.edges"),
        "{yaml}"
    );
}

#[test]
fn overlay_and_method_must_fit_each_other() {
    let fedavg = |rest: &str| {
        let text = YAML
            .replace("dfedavgm", "fedavg")
            .replace("topology: ring\n", rest);
        Source::new("tiny.yaml", text)
    };
    let refused_overlay = "fedavg does not exchange over an overlay, but one is given";
    expect(
        &fedavg("topology: ring\n"),
        refused_overlay,
        4,
        "ring",
        "leave `topology` out",
    );
    let weights = "weights are given for an overlay that is not there";
    expect(
        &fedavg("weights: uniform\n"),
        weights,
        4,
        "uniform",
        "leave `weights` out",
    );
    assert_eq!(
        plan(&fedavg(""), &DataFolder::new("nowhere")).unwrap()[0]
            .rows
            .count,
        1
    );
    let source = Source::new("tiny.yaml", YAML.replace("topology: ring\n", ""));
    let needed = "dfedavgm exchanges over an overlay, but none is given";
    expect(&source, needed, 5, "algorithm", "add a topology");
}

#[test]
fn missing_dataset_files_say_where_they_were_looked_for_and_what_fetches_them() {
    let seen = refused(&with("dataset", "dataset: mnist"));
    assert_eq!((seen.line, seen.marked.as_str()), (2, "mnist"), "{seen:?}");
    let looked = Path::new("nowhere").join("mnist").display().to_string();
    assert!(
        seen.message.contains(&looked) && seen.message.contains("`meshfold data fetch mnist`"),
        "{seen:?}"
    );
}

#[test]
fn overrides_are_checked_like_the_file_and_marked_in_their_own_text() {
    let source = |text: &str| Source::new("tiny.yaml", YAML).with_overrides([text]);
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
            "regular: degree 10 is impossible",
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

#[test]
fn errors_are_drawn_with_their_line() {
    let error = plan(
        &with("topology", "topology: rnig"),
        &DataFolder::new("nowhere"),
    )
    .unwrap_err();
    let handler =
        miette::GraphicalReportHandler::new_themed(miette::GraphicalTheme::unicode_nocolor());
    let mut drawn = String::new();
    handler.render_report(&mut drawn, &error).unwrap();
    for part in [
        "tiny.yaml:4:11",
        "4 │ topology: rnig",
        "help: did you mean `ring`?",
    ] {
        assert!(drawn.contains(part), "{drawn}");
    }
}
