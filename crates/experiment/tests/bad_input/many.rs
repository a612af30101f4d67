//! All mistakes of an experiment are told of at once, and nothing that only follows from one.

use meshfold_data::DataFolder;
use meshfold_experiment::{ConfigError, ExperimentSource, plan, plan_churn};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use Kind::{Needed, Range, Spare};

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

/// A right piece of a file, a wrong one to put in its place, and what is said of it then.
struct Slip {
    kind: Kind,
    right: &'static str,
    wrong: &'static str,
    said: &'static str,
    /// The wrong text that is marked.
    marked: &'static str,
}

/// What becomes of the run without the value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// It can be read.
    Spare,
    /// It cannot be read, so that values out of their range are not told of yet.
    Needed,
    /// The value can be read, but is out of its range.
    Range,
}

const fn slip(
    kind: Kind,
    right: &'static str,
    wrong: &'static str,
    said: &'static str,
    marked: &'static str,
) -> Slip {
    Slip {
        kind,
        right,
        wrong,
        said,
        marked,
    }
}

/// A file with a place for each of [`SLIPS`].
const WHOLE: &str = "\
name: whole
seed: 4
dataset: {glyphs: {train: 600, test: 100}}
partition: {dirichlet: {clients: 10, alpha: 0.5}}
topology: {regular: {degree: 3}}
weights: max_degree
model: {mlp: {hidden: [20, 30]}}
algorithm:
  dfedavgm:
    local: {epochs: 1}
    batch_size: 20
    learning_rate: {step: {initial: 0.1, factor: 0.5, every: 10}}
    momentum: 0.9
failures: [{clients: {share: 0.1}}, {edges: {share: 0.2}}]
rounds: 5
evaluate: {every: 1, targets: [0.5, 0.9]}
checkpoint: {every: 2}
sweep: {grid: {topology.regular.degree: [3, 4], seed: [1, 2]}}
";

const SLIPS: [Slip; 14] = [
    slip(Spare, "seed: 4\n", "sed: 4\n", "unknown key `sed`", "sed"),
    slip(
        Spare,
        "train: 600",
        "trian: 600",
        "dataset.glyphs: unknown key",
        "trian",
    ),
    slip(
        Needed,
        "alpha: 0.5",
        "alpha: much",
        "partition.dirichlet.alpha: found",
        "much",
    ),
    slip(
        Spare,
        "weights: max_degree",
        "weights: max_dgree",
        "weights: unknown choice",
        "max_dgree",
    ),
    slip(
        Spare,
        "[20, 30]",
        "[20, -30]",
        "model.mlp.hidden.1: found the number -30",
        "-30",
    ),
    slip(
        Spare,
        "epochs: 1",
        "epoch: 1",
        "algorithm.dfedavgm.local: unknown choice",
        "epoch",
    ),
    slip(
        Needed,
        "batch_size: 20",
        "batchsize: 20",
        "algorithm.dfedavgm: unknown key",
        "batchsize",
    ),
    slip(
        Needed,
        "factor: 0.5",
        "factor: half",
        "algorithm.dfedavgm.learning_rate.step.factor",
        "half",
    ),
    slip(
        Spare,
        "momentum: 0.9",
        "momentum: no",
        "algorithm.dfedavgm.momentum: found",
        "no",
    ),
    slip(
        Spare,
        "share: 0.2",
        "chance: 0.2",
        "failures.1.edges: unknown",
        "chance",
    ),
    slip(Range, "rounds: 5", "rounds: 0", "rounds: found 0", "0"),
    slip(
        Range,
        "every: 1,",
        "every: 0,",
        "evaluate.every: found 0",
        "0",
    ),
    slip(
        Spare,
        "checkpoint: {every: 2}",
        "chekpoint: {every: 2}",
        "unknown key",
        "chekpoint",
    ),
    slip(
        Spare,
        "seed: [1, 2]",
        "seed: [b]",
        "seed: found the text",
        "b",
    ),
];

#[test]
fn any_mistakes_together_are_told_as_each_alone() {
    let folder = DataFolder::new("nowhere");
    plan(&ExperimentSource::new("whole.yaml", WHOLE), &folder).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let some = (0..300).map(|_| rng.random_range(1..1_usize << SLIPS.len()));
    let one = (0..SLIPS.len()).map(|slip| 1 << slip);
    for chosen in one.chain(some).collect::<Vec<usize>>() {
        let is_chosen = |index: &usize| (chosen >> index) & 1 == 1;
        let mut slips: Vec<&Slip> = (0..SLIPS.len())
            .filter(is_chosen)
            .map(|index| &SLIPS[index])
            .collect();
        let mut yaml = WHOLE.to_owned();
        for slip in &slips {
            assert_eq!(yaml.matches(slip.right).count(), 1, "{}", slip.right);
            yaml = yaml.replace(slip.right, slip.wrong);
        }
        let error = plan(&ExperimentSource::new("whole.yaml", &*yaml), &folder).unwrap_err();
        let found = error.into_all();
        let told: Vec<String> = found.iter().map(ToString::to_string).collect();
        if slips.iter().any(|slip| slip.kind == Needed) {
            slips.retain(|slip| slip.kind != Range);
        }
        assert_eq!(told.len(), slips.len(), "{told:#?}\n{yaml}");
        for (slip, error) in slips.iter().zip(&found) {
            let (said, line) = (
                error.to_string(),
                1 + yaml[..yaml.find(slip.wrong).unwrap()].matches('\n').count(),
            );
            assert!(
                said.starts_with(slip.said),
                "{said} is not {}\n{yaml}",
                slip.said
            );
            assert_eq!(
                (error.marked(), error.line()),
                (Some(slip.marked), Some(line)),
                "{said}\n{yaml}"
            );
        }
    }
}
