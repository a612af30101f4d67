//! All mistakes of an experiment are told of at once, and nothing that only follows from one.

use meshfold_data::DataFolder;
use meshfold_experiment::{ConfigError, ExperimentSource, plan, plan_churn};

use crate::YAML;

/// What is said of each mistake, with its file and line.
fn told(source: &ExperimentSource) -> Vec<(String, usize)> {
    let error = plan(source, &DataFolder::new("nowhere")).unwrap_err();
    lines(error)
}

fn lines(error: ConfigError) -> Vec<(String, usize)> {
    let line = |error: &ConfigError| (error.to_string(), error.line().unwrap_or_default());
    error.into_all().iter().map(line).collect()
}

fn expect(yaml: &str, overrides: &[&str], wanted: &[(&str, usize)]) {
    let source = ExperimentSource::new("many.yaml", yaml).with_overrides(overrides.iter().copied());
    let told = told(&source);
    let told: Vec<(&str, usize)> = told.iter().map(|(text, line)| (&**text, *line)).collect();
    assert_eq!(told, wanted, "{yaml}\n{overrides:?}");
}

#[test]
fn mistakes_of_several_places_are_told_in_their_order() {
    expect(
        "\
name: tiny
dataset: {glyphs: {trian: 600, test: 100}}
partition: {shards: {clients: 10}}
topology: rnig
model: {mlp: {hidden: [20, x, 30, y]}}
algorithm:
  dfedavgm:
    local: {epochs: 1}
    batch_size: ten
    learning_rate: 0.05
    mometum: 0.9
rounds: 5
evaluate: {every: [], targets: [0.5]}
chekpoint: {every: 2}
",
        &[],
        &[
            ("dataset.glyphs: unknown key `trian`", 2),
            ("topology: unknown choice `rnig`", 4),
            (
                "model.mlp.hidden.1: found the text \"x\", needed a whole number, 0 or more",
                5,
            ),
            (
                "model.mlp.hidden.3: found the text \"y\", needed a whole number, 0 or more",
                5,
            ),
            (
                "algorithm.dfedavgm.batch_size: found the text \"ten\", needed a number of examples or `full`",
                9,
            ),
            ("algorithm.dfedavgm: unknown key `mometum`", 11),
            (
                "evaluate.every: found a list, needed a whole number, 0 or more",
                13,
            ),
            ("unknown key `chekpoint`", 14),
        ],
    );
}

#[test]
fn values_and_keys_are_told_of_together() {
    let yaml = YAML
        .replace("rounds: 5", "rounds: 0")
        .replace("[0.5]", "[1.5], evry: 1")
        .replace("name: tiny", "name: a/b");
    let told = told(&ExperimentSource::new("many.yaml", yaml));
    let told: Vec<(&str, usize)> = told
        .iter()
        .map(|(text, line)| (text.split(": found").next().unwrap(), *line))
        .collect();
    assert_eq!(
        told.iter().map(|(_, line)| *line).collect::<Vec<_>>(),
        [1, 11, 12, 12],
        "{told:?}"
    );
}

#[test]
fn a_misspelt_key_that_is_needed_is_one_mistake() {
    expect(
        &YAML.replace("rounds: 5", "ronds: 5"),
        &[],
        &[("unknown key `ronds`", 11)],
    );
    expect(
        &YAML.replace("clients: 10", "cleints: 10"),
        &[],
        &[("partition.shards: unknown key `cleints`", 3)],
    );
    // What has nothing of the key's name does not stand for it.
    expect(
        &YAML.replace("clients: 10", "owners: 10"),
        &[],
        &[
            ("partition.shards: missing key `clients`", 3),
            ("partition.shards: unknown key `owners`", 3),
        ],
    );
}

#[test]
fn a_key_that_is_missing_hides_no_other_mistake() {
    expect(
        &YAML
            .replace("    batch_size: 20\n", "")
            .replace("rounds: 5", "rounds: many")
            .replace("name: tiny\n", ""),
        &[],
        &[
            ("missing key `name`", 1),
            ("algorithm.dfedavgm: missing key `batch_size`", 6),
            (
                "rounds: found the text \"many\", needed a whole number, 0 or more",
                9,
            ),
        ],
    );
}

#[test]
fn every_entry_of_a_sweep_is_read() {
    let sweep = "\
sweep:
  grid:
    topology: [rnig, ring, complet]
    algorithm.dfedavgm.momentum: [0.1, fast]
    seed: 3
";
    expect(
        &format!("{YAML}{sweep}"),
        &[],
        &[
            ("topology: unknown choice `rnig`", 15),
            ("topology: unknown choice `complet`", 15),
            (
                "algorithm.dfedavgm.momentum: found the text \"fast\", needed a number",
                16,
            ),
            (
                "sweep.grid.seed: found the number 3, needed a list of at least one value",
                17,
            ),
        ],
    );
}

#[test]
fn what_a_broken_sweep_would_have_set_is_not_missed() {
    let yaml = YAML.replace("rounds: 5\n", "");
    for (sweep, path) in [
        ("{grid: {rounds: 3}}", "sweep.grid.rounds"),
        ("[rounds, 3]", "sweep"),
    ] {
        let source = ExperimentSource::new("many.yaml", format!("{yaml}sweep: {sweep}\n"));
        let told = told(&source);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].0.starts_with(&format!("{path}: found ")),
            "{told:?}"
        );
    }
}

#[test]
fn a_mistake_that_all_runs_share_is_told_once() {
    let sweep = "sweep: {grid: {seed: [1, 2, 3], topology: [ring, complete]}}\n";
    let yaml = YAML
        .replace("epochs: 1", "epoks: 1")
        .replace("rounds: 5", "rounds: -5");
    expect(
        &format!("{yaml}{sweep}"),
        &[],
        &[
            ("algorithm.dfedavgm.local: unknown choice `epoks`", 8),
            (
                "rounds: found the number -5, needed a whole number, 0 or more",
                11,
            ),
        ],
    );
}

#[test]
fn overrides_are_told_of_after_the_file() {
    expect(
        &YAML.replace("ring", "rnig"),
        &["rounds=ten", "seed", "evaluate.evry=3", "name.first=a"],
        &[
            ("topology: unknown choice `rnig`", 4),
            (
                "rounds: found the text \"ten\", needed a whole number, 0 or more",
                1,
            ),
            (
                "found the override `seed`, needed a dotted path, `=` and a value",
                1,
            ),
            ("evaluate: unknown key `evry`", 1),
            ("name: found the text \"tiny\", which has no key `first`", 1),
        ],
    );
}

#[test]
fn the_first_twenty_are_told() {
    let keys: String = (0..30).map(|key| format!("wrong_{key}: 1\n")).collect();
    let told = told(&ExperimentSource::new("many.yaml", format!("{YAML}{keys}")));
    assert_eq!(told.len(), 20);
    assert_eq!(told[19], ("unknown key `wrong_19`".to_owned(), 32));
}

#[test]
fn a_simulation_of_churn_tells_all_as_well() {
    let yaml = "nodes: many\nspaces: 3\nevnts: []\nevents: [{at_seconds: 5, fail: {shre: 0.3}}]\nuntil_seconds: 30\n";
    let error = plan_churn(&ExperimentSource::new("churn.yaml", yaml)).unwrap_err();
    let lines: Vec<usize> = lines(error).into_iter().map(|(_, line)| line).collect();
    assert_eq!(lines, [1, 3, 4]);
}
