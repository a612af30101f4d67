//! `golden.txt`: the numbers that were recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use meshfold_test_needs::{Test, test};

use crate::experiments::HOME;
use crate::numbers::Numbers;

/// The file, as somebody at the root of the repository finds it.
pub(crate) const FILE: &str = "crates/cli/tests/numbers/golden.txt";

const HEAD: &str = "\
# The numbers of the experiments in this folder. This command writes the file:
#
#   MESHFOLD_RECORD=1 cargo test --release --workspace --test numbers
#
# A line has
#   run       the YAML file and the name of the run; #2 marks the second run of a name
#   id        the id of the run
#   accuracy  the mean test accuracy of the last record
# and the first eight digits of the SHA-256 of
#   config    config.yaml
#   table     the rows of clients.parquet
#   parquet   the bytes of clients.parquet
#   records   each line of metrics.jsonl without `wall_seconds`, from the start to the last round
";

/// What the names of runs begin with whose files may be missing.
const REAL: &str = "real/";
/// The most runs of which it is told what they give now.
const MOST_TOLD: usize = 3;

/// The lines of `golden.txt`, by their names.
pub(crate) struct Golden(BTreeMap<String, Numbers>);

/// How a run differs from what is recorded of it.
pub(crate) struct Difference {
    name: String,
    /// The files that differ, and how.
    files: Vec<String>,
    /// What the first record that differs, or the configuration, is now.
    now: String,
}

impl Golden {
    /// Reads the file; nothing is recorded if there is none.
    pub(crate) fn read() -> Self {
        let text = fs::read_to_string(path()).unwrap_or_default();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let numbers = lines.map(parse);
        Self(numbers.map(|line| (line.name.clone(), line)).collect())
    }

    /// Writes `found` in place of what is recorded. Runs on real files that are not here stay as they were.
    pub(crate) fn record(mut self, found: &[Numbers]) -> Self {
        self.0.retain(|name, _| !is_expected_in(found, name));
        let lines = found.iter().map(|run| (run.name.clone(), run.clone()));
        self.0.extend(lines);
        fs::write(path(), self.text()).unwrap();
        self
    }

    /// All lines, in the order of their names.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &Numbers> {
        self.0.values()
    }

    /// The runs whose records or tables are others.
    pub(crate) fn other_numbers(&self, found: &[Numbers]) -> Vec<Difference> {
        let differences = found.iter().filter_map(|run| {
            let recorded = self.0.get(&run.name)?;
            other_numbers(run, recorded)
        });
        differences.collect()
    }

    /// The runs whose configurations or ids are others.
    pub(crate) fn other_configurations(&self, found: &[Numbers]) -> Vec<Difference> {
        let differences = found.iter().filter_map(|run| {
            let recorded = self.0.get(&run.name)?;
            let mut files = Vec::new();
            if run.config != recorded.config {
                files.push("config.yaml".to_owned());
            }
            if run.id != recorded.id {
                files.push(format!("id {} in place of {}", run.id, recorded.id));
            }
            let now = format!("config.yaml is now\n{}", run.configuration);
            Difference::of(run, files, now)
        });
        differences.collect()
    }

    /// Runs that are not recorded, and lines whose runs are gone.
    pub(crate) fn names_unknown_to(&self, found: &[Numbers]) -> Vec<String> {
        let run: BTreeSet<&String> = found.iter().map(|run| &run.name).collect();
        let recorded = self.0.keys().filter(|name| is_expected_in(found, name));
        let recorded: BTreeSet<&String> = recorded.collect();
        let unknown = run.symmetric_difference(&recorded);
        unknown.map(|name| (*name).clone()).collect()
    }

    fn text(&self) -> String {
        let width = self.0.keys().map(String::len).max().unwrap_or(0);
        let mut text = HEAD.to_owned();
        for run in self.0.values() {
            let Numbers {
                name,
                id,
                accuracy,
                config,
                table,
                parquet,
                ..
            } = run;
            let records = run.records.join(" ");
            let beginning = format!("{name:width$}  {id}  {accuracy}");
            writeln!(text, "{beginning}  {config} {table} {parquet}  {records}").unwrap();
        }
        text
    }
}

impl Difference {
    /// That of `run`, unless nothing differs.
    fn of(run: &Numbers, files: Vec<String>, now: String) -> Option<Self> {
        let name = run.name.clone();
        (!files.is_empty()).then_some(Self { name, files, now })
    }
}

/// In what the records and tables of `run` differ from the `recorded` ones.
fn other_numbers(run: &Numbers, recorded: &Numbers) -> Option<Difference> {
    let mut files = Vec::new();
    let pairs = run.records.iter().zip(&recorded.records);
    let same = pairs.take_while(|(found, recorded)| found == recorded);
    let same = same.count();
    let (found, needed) = (run.records.len(), recorded.records.len());
    if same < found.max(needed) {
        let mut file = format!("metrics.jsonl from record {same} on");
        if found != needed {
            file += &format!(", {found} records in place of {needed}");
        }
        if run.accuracy != recorded.accuracy {
            let accuracies = (&run.accuracy, &recorded.accuracy);
            file += &format!(", accuracy {} in place of {}", accuracies.0, accuracies.1);
        }
        files.push(file);
    }
    if run.table != recorded.table {
        files.push("clients.parquet".to_owned());
    } else if run.parquet != recorded.parquet {
        files.push("clients.parquet, with the same rows in other bytes".to_owned());
    }
    let now = run
        .lines
        .get(same)
        .map_or_else(String::new, |line| format!("record {same} is now {line}"));
    Difference::of(run, files, now)
}

/// What to say of `differences`, which are of some of `all` runs. `what` says in what they differ.
pub(crate) fn message(differences: &[Difference], what: &str, all: usize) -> String {
    let count = differences.len();
    let mut text = format!("{count} of {all} runs have {what} than {FILE} holds:\n\n");
    for difference in differences {
        writeln!(text, "{}: {}", difference.name, difference.files.join("; ")).unwrap();
    }
    let told = differences.iter().filter(|run| !run.now.is_empty());
    for Difference { name, now, .. } in told.take(MOST_TOLD) {
        write!(text, "\n{name}: {now}\n").unwrap();
    }
    text += "\nIf this is meant, record the runs anew and commit the difference:\n";
    text + "    MESHFOLD_RECORD=1 cargo test --release --workspace --test numbers\n"
}

/// Whether `found` must hold the run `name`: it holds runs that need no files as this one, or others of the same file in `real/`.
fn is_expected_in(found: &[Numbers], name: &str) -> bool {
    let needs_files = |name: &str| name.starts_with(REAL);
    found.iter().any(|run| {
        let is_alike = !needs_files(name) || group(&run.name) == group(name);
        is_alike && needs_files(&run.name) == needs_files(name)
    })
}

/// The YAML file that a run's name begins with.
fn group(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(group, _)| group)
}

fn path() -> PathBuf {
    PathBuf::from(HOME).join("golden.txt")
}

fn parse(line: &str) -> Numbers {
    let mut words = line.split_whitespace().map(str::to_owned);
    let mut next = || {
        words
            .next()
            .unwrap_or_else(|| panic!("{FILE}: too few columns in {line:?}"))
    };
    Numbers {
        name: next(),
        id: next(),
        accuracy: next(),
        config: next(),
        table: next(),
        parquet: next(),
        records: words.collect(),
        lines: Vec::new(),
        configuration: String::new(),
    }
}

/// A run of two records with digests made of `letter`.
fn example(letter: &str) -> Numbers {
    let digest = letter.repeat(8);
    Numbers {
        name: "methods/dsgd".to_owned(),
        id: "0123456789ab".to_owned(),
        accuracy: "0.5000".to_owned(),
        config: digest.clone(),
        table: digest.clone(),
        parquet: digest.clone(),
        records: vec![digest.clone(), digest],
        lines: vec!["{\"round\":0}".to_owned(), "{\"round\":1}".to_owned()],
        configuration: String::new(),
    }
}

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    vec![
        test!(a_difference_is_told_with_its_run_its_file_and_its_record),
        test!(tables_and_configurations_are_told_apart),
        test!(lines_come_back_as_they_were_written),
    ]
}

fn a_difference_is_told_with_its_run_its_file_and_its_record() {
    let golden = Golden(BTreeMap::from([("methods/dsgd".to_owned(), example("a"))]));
    assert!(golden.other_numbers(&[example("a")]).is_empty());
    let mut found = example("a");
    found.records[1] = "b".repeat(8);
    found.accuracy = "0.7500".to_owned();
    let text = message(&golden.other_numbers(&[found.clone()]), "other numbers", 1);
    for told in [
        "methods/dsgd: metrics.jsonl from record 1 on, accuracy 0.7500 in place of 0.5000\n",
        "methods/dsgd: record 1 is now {\"round\":1}\n",
    ] {
        assert!(text.contains(told), "{text}");
    }
    assert!(golden.other_configurations(&[found]).is_empty());
}

fn tables_and_configurations_are_told_apart() {
    let golden = Golden(BTreeMap::from([("methods/dsgd".to_owned(), example("a"))]));
    let files = |change: fn(&mut Numbers)| {
        let mut run = example("a");
        change(&mut run);
        let [numbers, configurations] = [
            golden.other_numbers(std::slice::from_ref(&run)),
            golden.other_configurations(&[run]),
        ]
        .map(|differences| differences.into_iter().flat_map(|run| run.files).collect());
        (numbers, configurations)
    };
    let (numbers, configurations): (Vec<String>, Vec<String>) =
        files(|run| run.config = "b".repeat(8));
    assert_eq!(
        (numbers.len(), configurations),
        (0, vec!["config.yaml".to_owned()])
    );
    let (numbers, _) = files(|run| run.table = "b".repeat(8));
    assert_eq!(numbers, ["clients.parquet"]);
    let (numbers, _) = files(|run| run.parquet = "b".repeat(8));
    assert_eq!(
        numbers,
        ["clients.parquet, with the same rows in other bytes"]
    );
    let (numbers, _) = files(|run| drop(run.records.pop()));
    assert_eq!(
        numbers,
        ["metrics.jsonl from record 1 on, 1 records in place of 2"]
    );
}

fn lines_come_back_as_they_were_written() {
    let golden = Golden(BTreeMap::from([("methods/dsgd".to_owned(), example("a"))]));
    let text = golden.text();
    let line = text.lines().last().unwrap();
    let read = Numbers {
        lines: example("a").lines,
        ..parse(line)
    };
    assert_eq!(read, example("a"));
}
