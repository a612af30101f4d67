//! Settings by the names that people give them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::TableError;
use crate::fields::{ABSENT, Fields, differing, lies_in, same, text};

/// A setting as it was asked for, found in some runs: a value, or a map of settings such as `stragglers`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Name {
    /// As it was written.
    pub(crate) written: String,
    /// The paths that it stands for, at most one in each run.
    paths: Vec<String>,
    /// If it stands for maps, the settings in them by which the runs are told apart.
    parts: Option<Vec<Part>>,
    /// If it stands for choices with their settings, those by which the runs with each choice are told apart.
    of_choices: Option<BTreeMap<String, Vec<Part>>>,
}

/// A setting in a map.
#[derive(Clone, Debug, PartialEq)]
struct Part {
    /// Its path below the map.
    path: String,
    /// The end of the path by which texts call it.
    short: String,
}

impl Name {
    /// The setting that is called `written` in `runs`: a whole path, or the end of one, where `*` stands for any key. A choice is called
    /// `topology.*` with all its settings.
    /// An end may stand for several paths if no run has two of them, as `learning_rate` does where every run has one method; or two of which
    /// one is the same in all runs.
    ///
    /// # Errors
    /// [`TableError::UnknownField`] and [`TableError::AmbiguousField`].
    pub(crate) fn find(written: &str, runs: &[Fields]) -> Result<Self, TableError> {
        if let Some(choice) = written.strip_suffix(".*").filter(|name| !name.is_empty()) {
            let named = Self::find(choice, runs)?;
            let of_choices = of_choices(&named.paths, runs);
            return Ok(Self {
                written: written.to_owned(),
                of_choices: Some(of_choices).filter(|all| !all.is_empty()),
                ..named
            });
        }
        let paths = match runs.iter().any(|run| run.has(written)) {
            true => vec![written.to_owned()],
            false => paths_ending(written, runs)?,
        };
        if paths.is_empty() {
            return Err(TableError::UnknownField {
                written: written.to_owned(),
                varied: differing(runs, &[]),
                others: same(runs),
            });
        }
        Ok(Self {
            written: written.to_owned(),
            parts: parts(&paths, runs),
            of_choices: None,
            paths,
        })
    }

    /// The paths that it stands for, if these are of single values.
    pub(crate) fn paths_of_values(&self) -> Option<&[String]> {
        let is_of_values = self.parts.is_none() && self.of_choices.is_none();
        is_of_values.then_some(&self.paths)
    }

    /// Whether it stands for this path and no other.
    pub(crate) fn stands_for(&self, path: &str) -> bool {
        self.paths == [path]
    }

    /// Whether both stand for the same paths.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.paths == other.paths
    }

    /// Whether it stands for this path, or for a map around it.
    pub(crate) fn covers(&self, path: &str) -> bool {
        let has_content = self.parts.is_some() || self.of_choices.is_some();
        let is_around = |map: &String| has_content && lies_in(path, map);
        self.paths.iter().any(|own| own == path || is_around(own))
    }

    /// Whether `path` leads into what it stands for.
    pub(crate) fn surrounds(&self, path: &str) -> bool {
        self.paths.iter().any(|own| lies_in(path, own))
    }

    /// Whether each path that it stands for leads into what `other` stands for.
    pub(crate) fn lies_below(&self, other: &Self) -> bool {
        let is_below = |path: &String| other.paths.iter().any(|map| lies_in(path, map));
        self.paths.iter().all(is_below)
    }

    /// Whether each path that it stands for is one of `maps` or leads into one.
    pub(crate) fn is_within(&self, maps: &[&str]) -> bool {
        let is_in = |path: &String| maps.iter().any(|map| path == map || lies_in(path, map));
        self.paths.iter().all(is_in)
    }

    /// The value of `run`: that of a map is a text. Absent if the run has none.
    pub(crate) fn value(&self, run: &Fields) -> Option<Value> {
        let path = self.paths.iter().find(|path| run.has(path))?;
        if let Some((choice, parts)) = self.choice_of(path, run) {
            let map = run.below(&format!("{path}.{choice}"));
            let words = if parts.is_empty() {
                choice.to_owned()
            } else {
                format!("{choice} {}", assignments(&map, parts))
            };
            return Some(words.into());
        }
        match &self.parts {
            None => run.at(path).cloned(),
            Some(parts) => Some(assignments(&run.below(path), parts).into()),
        }
    }

    /// What `run` has chosen at `path`, and the settings of it that tell runs apart.
    fn choice_of<'a>(&'a self, path: &str, run: &'a Fields) -> Option<(&'a str, &'a [Part])> {
        let choice = run.at(path)?.as_str()?;
        let parts = self.of_choices.as_ref()?.get(choice)?;
        Some((choice, parts))
    }

    /// The value of `run` as tables show it: `ring`, `0.1`, `share=0.5 policy=receive`, `regular degree=4`, or a dash.
    pub(crate) fn text(&self, run: &Fields) -> String {
        text(self.value(run).as_ref())
    }
}

/// The name of a setting or a figure without the star by which a choice is named with all its settings.
pub(crate) fn without_star(written: &str) -> &str {
    written.strip_suffix(".*").unwrap_or(written)
}

/// Whether the dotted `path` ends with the keys of `end`, of which `*` stands for any.
fn ends_with(path: &str, end: &str) -> bool {
    let mut keys = path.rsplit('.');
    end.rsplit('.')
        .all(|part| keys.next().is_some_and(|key| part == "*" || part == key))
}

/// The paths that end with `.written`: those of values, or if there is none, those of maps.
fn paths_ending(written: &str, runs: &[Fields]) -> Result<Vec<String>, TableError> {
    let value = |path: &str| ends_with(path, written).then(|| path.to_owned());
    let found = each_once(written, runs, value)?;
    if !found.is_empty() {
        return Ok(found);
    }
    let inside = format!(".{written}.");
    let map = |path: &str| {
        let start = path.find(&inside)?;
        Some(path[..=start + written.len()].to_owned())
    };
    each_once(written, runs, map)
}

/// Whether runs differ in what they have at `path`.
fn varies(path: &str, runs: &[Fields]) -> bool {
    let mut values = runs.iter().map(|run| run.at(path));
    let first = values.next();
    values.any(|value| Some(value) != first)
}

/// What `of` makes of the paths of all runs, in the order of the alphabet.
fn each_once(
    written: &str,
    runs: &[Fields],
    of: impl Fn(&str) -> Option<String>,
) -> Result<Vec<String>, TableError> {
    let mut all = Vec::new();
    for run in runs {
        let mut own: Vec<String> = run.paths().filter_map(&of).collect();
        own.dedup();
        if own.len() > 1 {
            // One that all runs share tells nothing apart.
            let varied: Vec<String> = own
                .iter()
                .filter(|path| varies(path, runs))
                .cloned()
                .collect();
            if varied.len() == 1 {
                all.extend(varied);
                continue;
            }
            return Err(TableError::AmbiguousField {
                written: written.to_owned(),
                paths: own,
            });
        }
        all.extend(own);
    }
    all.sort();
    all.dedup();
    Ok(all)
}

/// The settings that tell the runs of each choice at one of `paths` apart.
fn of_choices(paths: &[String], runs: &[Fields]) -> BTreeMap<String, Vec<Part>> {
    let mut maps: BTreeMap<String, Vec<Fields>> = BTreeMap::new();
    for run in runs {
        let Some(path) = paths.iter().find(|path| run.has(path)) else {
            continue;
        };
        if let Some(choice) = run.at(path).and_then(Value::as_str) {
            let content = run.below(&format!("{path}.{choice}"));
            maps.entry(choice.to_owned()).or_default().push(content);
        }
    }
    let each = maps.into_iter();
    each.map(|(choice, maps)| (choice, shortened(&differing(&maps, &[]))))
        .collect()
}

/// If all that `paths` stand for are maps: the settings in them that differ, or all of them if none does.
fn parts(paths: &[String], runs: &[Fields]) -> Option<Vec<Part>> {
    let of_run = |run: &Fields| {
        let path = paths.iter().find(|path| run.has(path))?;
        Some(run.is_map(path).then(|| run.below(path)))
    };
    let maps: Vec<Fields> = runs.iter().filter_map(of_run).collect::<Option<_>>()?;
    let mut found = differing(&maps, &[]);
    if found.is_empty() {
        let is_whole = |path: &String| maps.iter().all(|map| map.below(path).is_empty());
        found = same(&maps).into_iter().filter(is_whole).collect();
    }
    Some(shortened(&found))
}

/// The settings at these `paths`, each called by the last key of its path if no other ends with that.
fn shortened(paths: &[String]) -> Vec<Part> {
    let part = |path: &String| {
        let last = path.rsplit('.').next().unwrap_or(path);
        let is_last = |other: &&String| other.rsplit('.').next() == Some(last);
        let short = match paths.iter().filter(is_last).count() {
            1 => last,
            _ => path,
        };
        Part {
            path: path.clone(),
            short: short.to_owned(),
        }
    };
    paths.iter().map(part).collect()
}

/// `share=0.5 policy=receive`.
fn assignments(map: &Fields, parts: &[Part]) -> String {
    let there = parts.iter().filter_map(|part| {
        let value = map.at(&part.path)?;
        Some(format!("{}={}", part.short, text(Some(value))))
    });
    let there: Vec<String> = there.collect();
    match (there.is_empty(), parts.first()) {
        (true, Some(first)) => format!("{}={ABSENT}", first.short),
        _ => there.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshfold_experiment::results::Settings;

    fn all(texts: &[&str]) -> Vec<Fields> {
        let fields = |text: &&str| Fields::of(&Settings::parse(text).unwrap());
        texts.iter().map(fields).collect()
    }

    fn found(written: &str, runs: &[Fields]) -> Vec<String> {
        let name = Name::find(written, runs).unwrap();
        runs.iter().map(|run| name.text(run)).collect()
    }

    fn runs() -> Vec<Fields> {
        all(&[
            "seed: 1\nrounds: 5\ntopology: {ring: {hops: 1}}\nalgorithm: {dsgd: {learning_rate: 0.1}}",
            "seed: 2\nrounds: 5\ntopology: null\nalgorithm: {fedavg: {learning_rate: 0.5, server: {rate: 1}}}",
        ])
    }

    #[test]
    fn settings_go_by_whole_paths_and_by_ends_that_no_run_has_twice() {
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
        let run = all(&["algorithm: {dsgd: {rate: 1}}\nstragglers: {rate: 2}"]);
        let error = Name::find("rate", &run).unwrap_err().to_string();
        assert!(
            error.contains("algorithm.dsgd.rate, stragglers.rate"),
            "{error}"
        );
        let runs = all(&[
            "algorithm: {dsgd: {rate: 1}}\nstragglers: {rate: 2}",
            "algorithm: {dsgd: {rate: 3}}\nstragglers: {rate: 2}",
        ]);
        assert_eq!(found("rate", &runs), ["1", "3"], "the other is the same");
        let run = all(&["a: {local: {x: 1, y: 2}}\nb: {local: {x: 1, y: 2}}"]);
        let error = Name::find("local", &run).unwrap_err().to_string();
        assert!(error.contains("a.local, b.local"), "{error}");
    }

    #[test]
    fn an_unknown_name_lists_those_that_there_are() {
        let error = Name::find("degree", &runs()).unwrap_err().to_string();
        assert!(error.contains("`degree`"), "{error}");
        assert!(error.contains("algorithm, seed, topology"), "{error}");
        assert!(error.contains("rounds"), "{error}");
    }

    #[test]
    fn a_map_goes_by_what_differs_in_it() {
        let runs = all(&[
            "stragglers: null",
            "stragglers: {share: 0.2, work: uniform, policy: isolate}",
            "stragglers: {share: 0.5, work: uniform, policy: isolate}",
        ]);
        let expected = ["–", "share=0.2", "share=0.5"];
        assert_eq!(found("stragglers", &runs), expected);
        let one = "policy=isolate share=0.2 work=uniform";
        assert_eq!(found("stragglers", &runs[..2]), ["–", one]);
    }

    #[test]
    fn choices_in_a_map_go_by_their_names_and_contents() {
        let network = |links: &str| {
            format!("network: {{links: {links}, compute: {{seconds_per_step: 1, slowdown: 2}}}}")
        };
        let [slow, fast] =
            [1, 9].map(|rate| network(&format!("{{fixed: {{rate: {rate}, latency: 0}}}}")));
        let other = network("{uniform: {low: 1, high: 3}}");
        let runs = all(&[&slow, &fast, &other]);
        assert_eq!(
            found("network", &runs),
            ["links=fixed rate=1", "links=fixed rate=9", "links=uniform"]
        );
        assert_eq!(
            found("network", &runs[1..]),
            ["links=fixed", "links=uniform"]
        );
        let links = found("links", &runs);
        assert_eq!(links, ["fixed", "fixed", "uniform"]);
        assert_eq!(found("fixed", &runs), ["rate=1", "rate=9", "–"]);
        let compute = found("compute", &runs[..1]);
        assert_eq!(compute, ["seconds_per_step=1 slowdown=2"]);
    }

    #[test]
    fn a_choice_may_be_named_with_all_its_settings() {
        let runs = all(&[
            "topology: ring\nseed: 1",
            "topology: {regular: {degree: 2}}",
            "topology: {regular: {degree: 4}}",
            "topology: {redraw: {every: 1, of: {regular: {degree: 4}}}}",
            "topology: null",
        ]);
        let texts = [
            "ring",
            "regular degree=2",
            "regular degree=4",
            "redraw",
            "–",
        ];
        assert_eq!(found("topology.*", &runs), texts);
        let name = Name::find("topology.*", &runs).unwrap();
        assert_eq!(without_star(&name.written), "topology");
        assert!(name.covers("topology.regular.degree") && name.covers("topology"));
        assert!(!name.covers("topology_of") && !name.covers("seed"));
        assert_eq!(differing(&runs[1..4], &[&name]), Vec::<String>::new());
        let walks = |radius: f64, of: &str| {
            format!("a: {{topology: {{walk: {{radius: {radius}, of: {of}}}}}}}")
        };
        let runs = all(&[
            &walks(0.1, "star"),
            &walks(0.2, "star"),
            &walks(0.2, "ring"),
        ]);
        let texts = [
            "walk of=star radius=0.1",
            "walk of=star radius=0.2",
            "walk of=ring radius=0.2",
        ];
        assert_eq!(found("topology.*", &runs), texts);
        let error = Name::find("degrees.*", &runs).unwrap_err().to_string();
        assert!(error.contains("`degrees`"), "{error}");
    }

    #[test]
    fn what_is_no_choice_goes_by_its_value_with_a_star_as_well() {
        let runs = all(&["rate: 0.1", "rate: 0.2"]);
        assert_eq!(found("rate.*", &runs), ["0.1", "0.2"]);
        let runs = all(&[
            "stragglers: {share: 0.2, policy: isolate}",
            "stragglers: null",
        ]);
        assert_eq!(found("stragglers.*", &runs)[1], "–");
    }

    #[test]
    fn a_choice_of_one_number_has_the_number() {
        let runs = all(&[
            "local: {steps: 4}",
            "local: {epochs: 2}",
            "local: {steps: 8}",
        ]);
        assert_eq!(found("local", &runs), ["steps=4", "epochs=2", "steps=8"]);
    }

    #[test]
    fn lists_of_maps_are_short() {
        let runs = all(&[
            "failures: []",
            "failures: [{clients: {share: 0.2}, from_round: 1, until_round: null}, {edges: {list: [1, 2]}}]",
            "failures: [{edges: {share: 0.5}, from_round: 3, redraw: each_round, repair: none}]",
        ]);
        assert_eq!(
            found("failures", &runs),
            [
                "[]",
                "[clients.share=0.2, edges list=[1, 2]]",
                "[edges.share=0.5 from_round=3 redraw=each_round]"
            ]
        );
    }

    #[test]
    fn a_map_covers_what_is_in_it_and_a_choice_does_not() {
        let runs = all(&[
            "stragglers: {share: 0.2, policy: isolate}\ntopology: {ring: {hops: 1}}",
            "stragglers: {share: 0.5, policy: isolate}\ntopology: complete",
        ]);
        let [map, choice] = ["stragglers", "topology"].map(|name| Name::find(name, &runs).unwrap());
        assert!(map.covers("stragglers.share") && !map.covers("stragglers_share"));
        assert!(choice.covers("topology") && !choice.covers("topology.ring.hops"));
        assert_eq!(differing(&runs, &[&map, &choice]), Vec::<String>::new());
    }
}
