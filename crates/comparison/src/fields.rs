//! The settings of a run as fields, each with the name that it has in YAML.

use std::collections::{BTreeMap, BTreeSet};

use meshfold_experiment::results::{Settings, choice};
use serde_json::Value;

use crate::error::TableError;

/// How much of the version of a part is shown.
const VERSION_SHOWN: usize = 6;

/// The settings of a run by dotted path, such as `algorithm.dsgd.learning_rate`.
///
/// A choice is a field as well: `algorithm` is `dsgd`, and `topology` is `ring`, whatever they contain; a part of a program's own is what
/// that program calls it. What is null is absent, and so are the name of the experiment and its checkpoints, which say nothing of what a run computes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fields(BTreeMap<String, Value>);

impl Fields {
    /// The fields of `settings`.
    pub(crate) fn of(settings: &Settings) -> Self {
        let mut fields = Self::default();
        for key in settings.keys().chain(["seed"]) {
            fields.add(key, settings.get(key));
        }
        fields
    }

    /// Those of several runs. Where parts of a program's own share their name, the beginning of the version is added to it.
    pub(crate) fn of_all<'a>(all: impl IntoIterator<Item = &'a Settings>) -> Vec<Self> {
        let mut runs: Vec<Self> = all.into_iter().map(Self::of).collect();
        let name_and_version = |run: &Self, path: &str| {
            let text = |key: &str| run.0.get(&format!("{path}.own.{key}"))?.as_str();
            Some((text("name")?.to_owned(), text("version")?.to_owned()))
        };
        for path in paths(&runs) {
            let parts: Vec<_> = runs
                .iter()
                .map(|run| name_and_version(run, &path))
                .collect();
            for (run, part) in runs.iter_mut().zip(&parts) {
                let Some((name, version)) = part else {
                    continue;
                };
                let mut others = parts.iter().flatten();
                if others.any(|(other, differs)| other == name && differs != version) {
                    let beginning: String = version.chars().take(VERSION_SHOWN).collect();
                    run.0
                        .insert(path.clone(), format!("{name} {beginning}").into());
                }
            }
        }
        runs
    }

    fn add(&mut self, path: &str, value: &Value) {
        match value {
            Value::Null => {}
            Value::Object(map) => {
                if let Some((name, _)) = choice(value) {
                    self.0.insert(path.to_owned(), name.into());
                }
                for (key, value) in map {
                    self.add(&format!("{path}.{key}"), value);
                }
            }
            _ => drop(self.0.insert(path.to_owned(), value.clone())),
        }
    }

    /// The value at a whole path.
    pub(crate) fn at(&self, path: &str) -> Option<&Value> {
        self.0.get(path)
    }

    /// The fields of the dataset, as a text that tells them from others.
    pub(crate) fn of_dataset(&self) -> String {
        let is_below = |path: &str| path == "dataset" || path.starts_with("dataset.");
        let fields = self.0.iter().filter(|(path, _)| is_below(path));
        format!("{:?}", fields.collect::<Vec<_>>())
    }

    /// The value of the field that `name` stands for.
    pub(crate) fn get(&self, name: &Name) -> Option<&Value> {
        name.paths.iter().find_map(|path| self.0.get(path))
    }
}

/// A field as it was asked for, found in some runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Name {
    /// As it was written.
    pub(crate) written: String,
    /// The paths that it stands for, at most one in each run.
    paths: Vec<String>,
}

impl Name {
    /// Whether it stands for this path and no other.
    pub(crate) fn stands_for(&self, path: &str) -> bool {
        self.paths == [path]
    }

    /// The field that is called `written` in `runs`: a whole path, or the end of one, `*` standing for any key. An end may stand for
    /// several paths if no run has two of them, as `learning_rate` does where every run has one method.
    ///
    /// # Errors
    /// [`TableError::UnknownField`] and [`TableError::AmbiguousField`].
    pub(crate) fn find(written: &str, runs: &[Fields]) -> Result<Self, TableError> {
        let name = |paths| Self {
            written: written.to_owned(),
            paths,
        };
        if runs.iter().any(|run| run.0.contains_key(written)) {
            return Ok(name(vec![written.to_owned()]));
        }
        let ends = |run: &Fields| -> Vec<String> {
            let paths = run.0.keys();
            paths
                .filter(|path| ends_with(path, written))
                .cloned()
                .collect()
        };
        let mut paths = Vec::new();
        for run in runs {
            let own = ends(run);
            if own.len() > 1 {
                return Err(TableError::AmbiguousField {
                    written: written.to_owned(),
                    paths: own,
                });
            }
            paths.extend(own);
        }
        paths.sort();
        paths.dedup();
        match paths.is_empty() {
            true => Err(TableError::UnknownField {
                written: written.to_owned(),
                varied: differing(runs, &[]),
                others: same(runs),
            }),
            false => Ok(name(paths)),
        }
    }
}

/// Whether the dotted `path` ends with the keys of `end`, of which `*` stands for any.
fn ends_with(path: &str, end: &str) -> bool {
    let mut keys = path.rsplit('.');
    end.rsplit('.')
        .all(|part| keys.next().is_some_and(|key| part == "*" || part == key))
}

/// The paths at which `runs` differ, without those that `named` stand for, and without those below one at which they differ if that one is
/// named or tells as much.
pub(crate) fn differing(runs: &[Fields], named: &[&Name]) -> Vec<String> {
    let is_named = |path: &String| named.iter().any(|name| name.paths.contains(path));
    let mut found: Vec<String> = Vec::new();
    for path in paths(runs) {
        let first = runs.first().and_then(|run| run.0.get(&path));
        let differs = runs.iter().any(|run| run.0.get(&path) != first);
        let is_below = found
            .iter()
            .filter(|above| path.starts_with(&format!("{above}.")))
            .any(|above| is_named(above) || decides(above, &path, runs));
        if differs && !is_below {
            found.push(path);
        }
    }
    found.retain(|path| !is_named(path));
    found
}

/// Whether `runs` with the same value at `above` have the same at `path`.
fn decides(above: &str, path: &str, runs: &[Fields]) -> bool {
    let mut known: Vec<(Option<&Value>, Option<&Value>)> = Vec::new();
    runs.iter().all(|run| {
        let (value, below) = (run.0.get(above), run.0.get(path));
        match known.iter().find(|(other, _)| *other == value) {
            Some((_, other)) => *other == below,
            None => {
                known.push((value, below));
                true
            }
        }
    })
}

/// The paths that have one value in all of `runs`.
fn same(runs: &[Fields]) -> Vec<String> {
    let first = runs.first();
    let is_same = |path: &String| {
        let first = first.and_then(|run| run.0.get(path));
        runs.iter().all(|run| run.0.get(path) == first)
    };
    paths(runs).into_iter().filter(is_same).collect()
}

/// Every path of one of `runs`, in the order of the alphabet.
pub(crate) fn paths(runs: &[Fields]) -> BTreeSet<String> {
    let all = runs.iter().flat_map(|run| run.0.keys());
    all.cloned().collect()
}

/// A value in a table: `ring`, `0.1`, `[200, 100]`; a dash for what is absent.
pub(crate) fn text(value: Option<&Value>) -> String {
    match value {
        None => "–".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => {
            let items: Vec<String> = items.iter().map(|item| text(Some(item))).collect();
            format!("[{}]", items.join(", "))
        }
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Fields {
        Fields::of(&Settings::parse(text).unwrap())
    }

    fn found(written: &str, runs: &[Fields]) -> Vec<String> {
        let name = Name::find(written, runs).unwrap();
        runs.iter().map(|run| text(run.get(&name))).collect()
    }

    fn runs() -> [Fields; 2] {
        [
            fields(
                "seed: 1\nrounds: 5\ntopology: {ring: {hops: 1}}\nalgorithm: {dsgd: {learning_rate: 0.1}}",
            ),
            fields(
                "seed: 2\nrounds: 5\ntopology: null\nalgorithm: {fedavg: {learning_rate: 0.5, server: {rate: 1}}}",
            ),
        ]
    }

    #[test]
    fn fields_go_by_whole_paths_and_by_ends_that_no_run_has_twice() {
        let runs = runs();
        assert_eq!(found("topology", &runs), ["ring", "–"]);
        assert_eq!(found("algorithm", &runs), ["dsgd", "fedavg"]);
        assert_eq!(found("algorithm.dsgd.learning_rate", &runs), ["0.1", "–"]);
        assert_eq!(found("learning_rate", &runs), ["0.1", "0.5"]);
        assert_eq!(found("algorithm.*.learning_rate", &runs), ["0.1", "0.5"]);
        assert_eq!(found("algorithm.*.server.rate", &runs), ["–", "1"]);
        assert_eq!(found("seed", &runs), ["1", "2"]);
    }

    #[test]
    fn an_end_that_a_run_has_twice_is_ambiguous() {
        let run = fields("algorithm: {dsgd: {rate: 1}}\nstragglers: {rate: 2}");
        let error = Name::find("rate", &[run]).unwrap_err().to_string();
        assert!(
            error.contains("algorithm.dsgd.rate, stragglers.rate"),
            "{error}"
        );
    }

    #[test]
    fn an_unknown_name_lists_those_that_there_are() {
        let error = Name::find("degree", &runs()).unwrap_err().to_string();
        assert!(error.contains("`degree`"), "{error}");
        assert!(error.contains("algorithm, seed, topology"), "{error}");
        assert!(error.contains("rounds"), "{error}");
    }

    #[test]
    fn what_differs_is_named_once() {
        let runs = runs();
        assert_eq!(differing(&runs, &[]), ["algorithm", "seed", "topology"]);
        let seed = Name::find("seed", &runs).unwrap();
        assert_eq!(differing(&runs, &[&seed]), ["algorithm", "topology"]);
        let [algorithm, topology] =
            ["algorithm", "topology"].map(|name| Name::find(name, &runs).unwrap());
        let named = [&algorithm, &seed, &topology];
        assert_eq!(differing(&runs, &named), Vec::<String>::new());
        assert_eq!(differing(&runs[..1], &[]), Vec::<String>::new());
    }

    #[test]
    fn what_lies_below_a_choice_is_named_where_the_choice_does_not_tell_it() {
        let run = |method: &str| fields(&format!("algorithm: {{{method}}}"));
        let slow = run("dsgd: {rate: 0.1, momentum: 0}");
        let fast = run("dsgd: {rate: 0.2, momentum: 0}");
        let runs = [slow, fast, run("fedavg: {rate: 0.1}")];
        assert_eq!(differing(&runs, &[]), ["algorithm", "algorithm.dsgd.rate"]);
    }

    #[test]
    fn parts_of_ones_own_go_by_name_and_by_version_where_they_share_it() {
        let settings = |part: &str| Settings::parse(&format!("topology: {part}")).unwrap();
        let own = |name: &str, version: &str| {
            settings(&format!("{{own: {{name: {name}, version: {version}}}}}"))
        };
        let all = [
            settings("star"),
            own("mine", "df0c473e65"),
            own("full", "fec333e79a"),
            own("full", "a0b1c2d3e4"),
        ];
        let runs = Fields::of_all(&all);
        let found: Vec<String> = runs.iter().map(|run| text(run.at("topology"))).collect();
        assert_eq!(found, ["star", "mine", "full fec333", "full a0b1c2"]);
        assert_eq!(differing(&runs, &[]), ["topology"]);
    }
}
