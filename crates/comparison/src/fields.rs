//! The settings of a run as fields, each with the name that it has in YAML.

use std::collections::{BTreeMap, BTreeSet};

use meshfold_experiment::results::{Settings, choice};
use serde_json::{Map, Value};

use crate::name::Name;

/// What tables show where a run has no such setting.
pub(crate) const ABSENT: &str = "–";

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

    /// Those of several runs. Where lists of maps, such as `failures`, differ in values alone, each value is a field:
    /// `failures.0.clients.share`.
    pub(crate) fn of_each<'a>(all: impl IntoIterator<Item = &'a Settings>) -> Vec<Self> {
        let mut runs: Vec<Self> = all.into_iter().map(Self::of).collect();
        for path in paths(&runs) {
            if differ_in_values_alone(&path, &runs) {
                runs.iter_mut().for_each(|run| run.take_apart(&path));
            }
        }
        runs
    }

    /// [`of_each`](Self::of_each). Where parts of a program's own share their name, the beginning of the version is added to it.
    pub(crate) fn of_all<'a>(all: impl IntoIterator<Item = &'a Settings>) -> Vec<Self> {
        let mut runs = Self::of_each(all);
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

    /// Puts the fields of each map in the list at `path` in the place of the list, by their numbers from 0.
    fn take_apart(&mut self, path: &str) {
        if let Some(Value::Array(items)) = self.0.remove(path) {
            for (place, item) in items.iter().enumerate() {
                self.add(&format!("{path}.{place}"), item);
            }
        }
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

    /// The paths of all fields, in the order of the alphabet.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether there is a field at `path`, or a map of fields.
    pub(crate) fn has(&self, path: &str) -> bool {
        let inside = format!("{path}.");
        let mut after = self.0.range(inside.clone()..);
        self.0.contains_key(path)
            || after
                .next()
                .is_some_and(|(next, _)| next.starts_with(&inside))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields of the map at `path`, by their paths below it.
    pub(crate) fn below(&self, path: &str) -> Self {
        let fields = self.0.iter().filter(|(field, _)| lies_in(field, path));
        let fields =
            fields.map(|(field, value)| (field[path.len() + 1..].to_owned(), value.clone()));
        Self(fields.collect())
    }

    /// Whether there is a map of fields at `path`: one of several keys, or of one with a plain value, such as `{steps: 4}`.
    /// Other maps of one key are choices, which go by their names.
    pub(crate) fn is_map(&self, path: &str) -> bool {
        let content = self.at(path).and_then(Value::as_str);
        match (self.at(path), content) {
            (None, _) => self.has(path),
            (_, Some(choice)) => {
                let content = format!("{path}.{choice}");
                self.at(&content).is_some() && self.below(&content).is_empty()
            }
            _ => false,
        }
    }

    /// The fields of the dataset, as a text that tells them from others.
    pub(crate) fn of_dataset(&self) -> String {
        let is_below = |path: &str| path == "dataset" || path.starts_with("dataset.");
        let fields = self.0.iter().filter(|(path, _)| is_below(path));
        format!("{:?}", fields.collect::<Vec<_>>())
    }
}

/// Whether `runs` have lists of maps at `path` that differ, but not in what the maps have besides plain values.
fn differ_in_values_alone(path: &str, runs: &[Fields]) -> bool {
    let lists: Vec<Option<&Value>> = runs.iter().map(|run| run.0.get(path)).collect();
    let Some(Some(Value::Array(first))) = lists.first() else {
        return false;
    };
    let is_map = |item: &Value| item.is_object() && choice(item).is_none();
    if !first.iter().all(is_map) || lists.iter().all(|list| *list == lists[0]) {
        return false;
    }
    let shape = |list: &Option<&Value>| {
        let mut fields = Fields::default();
        fields.0.insert(path.to_owned(), (*list)?.clone());
        fields.take_apart(path);
        Some(fields.0.into_keys().collect::<Vec<String>>())
    };
    let of_first = shape(&lists[0]);
    lists.iter().all(|list| shape(list) == of_first)
}

/// Whether `path` leads into the map at `map`.
pub(crate) fn lies_in(path: &str, map: &str) -> bool {
    let rest = path.strip_prefix(map);
    rest.is_some_and(|rest| rest.starts_with('.'))
}

/// The paths at which `runs` differ. Paths that `named` stand for are left out. So are paths below one at which runs
/// differ, if that one is named or determines their values.
pub(crate) fn differing(runs: &[Fields], named: &[&Name]) -> Vec<String> {
    let is_named = |path: &String| named.iter().any(|name| name.covers(path));
    let mut found: Vec<String> = Vec::new();
    for path in paths(runs) {
        let first = runs.first().and_then(|run| run.0.get(&path));
        let differs = runs.iter().any(|run| run.0.get(&path) != first);
        let is_below = found
            .iter()
            .filter(|above| lies_in(&path, above))
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
pub(crate) fn same(runs: &[Fields]) -> Vec<String> {
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

/// A value in a table: `ring`, `0.1`, `[200, 100]`, `[ring hops=1, star]`, `clients.share=0.2 from_round=3`; a dash for what is
/// absent.
pub(crate) fn text(value: Option<&Value>) -> String {
    match value {
        None => ABSENT.to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => {
            let items: Vec<String> = items.iter().map(|item| text(Some(item))).collect();
            format!("[{}]", items.join(", "))
        }
        Some(Value::Object(map)) => {
            let mut words = Vec::new();
            match map.iter().next() {
                // A choice goes by its name.
                Some((name, Value::Object(settings))) if map.len() == 1 => {
                    words.push(name.clone());
                    add_pairs("", settings, &mut words);
                }
                _ => add_pairs("", map, &mut words),
            }
            words.join(" ")
        }
        Some(other) => other.to_string(),
    }
}

/// What a failure is unless it says otherwise.
const USUAL_FAILURE: [(&str, &str); 4] = [
    ("from_round", "1"),
    ("redraw", "never"),
    ("repair", "none"),
    ("loses", "everything"),
];

/// Adds `key=value` for each value in `map` that is not null, with the dotted path after `above` as its key; the key alone for a map
/// without any. A file stands for the digest beside it. What is usual of failures is left out.
fn add_pairs(above: &str, map: &Map<String, Value>, pairs: &mut Vec<String>) {
    let is_failure = map.contains_key("from_round");
    for (key, value) in map {
        match value {
            Value::Null => {}
            _ if is_failure && USUAL_FAILURE.contains(&(key, &text(Some(value)))) => {}
            Value::String(_) if key == "sha256" && map.contains_key("file") => {}
            Value::Object(inner) if inner.is_empty() => pairs.push(format!("{above}{key}")),
            Value::Object(inner) => add_pairs(&format!("{above}{key}."), inner, pairs),
            _ => pairs.push(format!("{above}{key}={}", text(Some(value)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Fields {
        Fields::of(&Settings::parse(text).unwrap())
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
    fn what_stands_in_a_list_goes_by_its_name() {
        for (written, expected) in [
            (
                r#"[{"ring": {"hops": 1}}, {"star": {}}]"#,
                "[ring hops=1, star]",
            ),
            (
                r#"[{"edges": {"file": "a.edges", "sha256": "f0"}}, {"redraw": {"of": {"star": {}}, "every": 2}}]"#,
                "[edges file=a.edges, redraw of.star every=2]",
            ),
            (
                r#"[{"clients": {"share": 0.2}, "from_round": 2, "until_round": null}]"#,
                "[clients.share=0.2 from_round=2]",
            ),
            ("[200, 100]", "[200, 100]"),
        ] {
            let value: Value = serde_json::from_str(written).unwrap();
            assert_eq!(text(Some(&value)), expected);
        }
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
    fn lists_of_maps_that_differ_in_values_alone_are_taken_apart() {
        let settings = |failures: &str| Settings::parse(&format!("failures: {failures}")).unwrap();
        let share = |share: &str| {
            settings(&format!(
                "[{{clients: {{share: {share}}}, from_round: 2}}, {{edges: {{count: 3}}, redraw: never}}]"
            ))
        };
        let runs = Fields::of_each(&[share("0.1"), share("0.3")]);
        assert_eq!(differing(&runs, &[]), ["failures.0.clients.share"]);
        let name = Name::find("share", &runs).unwrap();
        assert_eq!(name.text(&runs[1]), "0.3");
        for other in ["[]", "[{edges: {share: 0.1}, from_round: 2}]", "[3]"] {
            let runs = Fields::of_each(&[share("0.1"), settings(other)]);
            assert_eq!(differing(&runs, &[]), ["failures"], "{other}");
        }
        let runs = Fields::of_each(&[share("0.1"), share("0.1")]);
        assert!(runs[0].at("failures").is_some_and(Value::is_array));
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
