//! Sweeps: one experiment, many runs.
//!
//! `grid` is the product of the values listed for each dotted path, in the order written, the last path fastest;
//! `cases` are runs given one by one, each a map from dotted paths to values; both together are their product, the
//! cases slowest. Every run is the experiment with its values set, and is checked by itself.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::error::ConfigError;
use crate::config::fault::ConfigFault;
use crate::config::label::value_label;
use crate::config::overrides::{ANY_CHOICE, parts, set};
use crate::config::place::Place;
use crate::config::source::ExperimentSource;
use crate::config::tree::{Entry, Node, Value};

/// The most runs of a sweep.
pub(crate) const MOST_RUNS: usize = 100_000;

/// The values that set one run of a sweep apart: entries whose key is a dotted path.
pub(crate) type Variation = Vec<Entry>;

/// Many runs of one experiment: one for each combination of values.
///
/// `grid` and `cases` together are their product, the cases slowest. Methods with and without an overlay may stand in one sweep:
/// those without leave `topology` and `weights` out, and are run once and not once for each overlay. No path of a run may equal or
/// contain one that is set before it, whose value would be lost.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "grid, cases or both")]
#[schemars(rename = "Sweep")]
pub(crate) struct Keys {
    /// The values of dotted paths, such as `algorithm.dsgd.momentum: [0.0, 0.9]`: a run for each combination, the last path
    /// changing fastest. In a path, `*` stands for the choice that a run has at that place: `algorithm.*.learning_rate: [0.03, 0.1]`
    /// gives these rates to whatever method a run has. A path that sets the choice itself comes before it.
    #[serde(default, rename = "grid")]
    #[schemars(with = "Option<BTreeMap<String, Vec<serde_json::Value>>>")]
    _grid: Option<serde::de::IgnoredAny>,
    /// Runs one by one, each a map from dotted paths to values; `*` in a path as in `grid`.
    #[serde(default, rename = "cases")]
    #[schemars(with = "Option<Vec<BTreeMap<String, serde_json::Value>>>")]
    _cases: Option<serde::de::IgnoredAny>,
}

/// The runs that the `sweep` entry asks for, in their order; a single run without variation if there is none.
pub(crate) fn variations(
    sweep: Option<&Entry>,
    source: &ExperimentSource,
) -> Result<Vec<Variation>, ConfigError> {
    let is_given = |sweep: &&Entry| !matches!(sweep.value.value, Value::Null | Value::Told);
    let Some(sweep) = sweep.filter(is_given) else {
        return Ok(vec![Vec::new()]);
    };
    crate::config::reader::read_below::<Keys>(sweep, source)?;
    let given = |key| sweep.value.entry_left(key).filter(is_given);
    let cases =
        given("cases").map_or_else(|| Ok(vec![Vec::new()]), |cases| cases_of(cases, source))?;
    let grid = given("grid").map_or_else(|| Ok(Vec::new()), |grid| grid_of(grid, source))?;
    overwritten(&cases, &grid, source)?;
    let lengths = grid
        .iter()
        .map(|(_, values)| values.len())
        .chain([cases.len()]);
    let runs = lengths.fold(1_u128, |product, length| {
        product.saturating_mul(length as u128)
    });
    if runs > MOST_RUNS as u128 {
        let fault = ConfigFault::TooManyRuns {
            runs,
            most: MOST_RUNS,
        };
        return Err(fault.at(source, Some(sweep.key_place), "sweep"));
    }
    let mut variations = cases;
    for (path, values) in grid {
        let with = |variation: &Variation, value: &Node| {
            let entry = Entry {
                key: path.key.clone(),
                key_place: path.key_place,
                value: value.clone(),
            };
            variation
                .iter()
                .cloned()
                .chain([entry])
                .collect::<Variation>()
        };
        variations = variations
            .iter()
            .flat_map(|variation| values.iter().map(move |value| with(variation, value)))
            .collect();
    }
    Ok(variations)
}

/// The tree of one run.
pub(crate) fn run_of(
    tree: &Node,
    variation: &[Entry],
    source: &ExperimentSource,
) -> Result<Node, ConfigError> {
    let mut run = tree.clone();
    for entry in variation {
        set(
            &mut run,
            &parts(&entry.key, entry.key_place),
            entry.value.clone(),
            source,
        )?;
    }
    Ok(run)
}

/// `error` of the values `run`, with the name of the run if its `variation` has paths that mean other choices in other runs.
pub(crate) fn blame(error: ConfigError, variation: &[Entry], run: &Node) -> ConfigError {
    if !is_open(variation) {
        return error;
    }
    let named = with_choices(variation, run);
    let label = |entry: &Entry| (entry.key.clone(), value_label(&entry.value));
    error.in_run(&named.iter().map(label).collect::<Vec<_>>())
}

/// Checks that no path of a run equals or contains one that is set before it, whose value would be lost.
fn overwritten(
    cases: &[Variation],
    grid: &[(&Entry, &[Node])],
    source: &ExperimentSource,
) -> Result<(), ConfigError> {
    for case in cases {
        let paths = case.iter().chain(grid.iter().map(|(path, _)| *path));
        let mut before: Vec<&str> = Vec::new();
        for path in paths {
            if let Some(lost) = before.iter().find(|before| is_within(before, &path.key)) {
                let fault = ConfigFault::Overwritten {
                    lost: (*lost).to_owned(),
                    by: path.key.clone(),
                };
                return Err(fault.at(source, Some(path.key_place), "sweep"));
            }
            before.push(&path.key);
        }
    }
    Ok(())
}

/// Whether the dotted path `inner` equals `outer` or goes on from it; `*` in either may stand for any key.
fn is_within(inner: &str, outer: &str) -> bool {
    let mut inner = inner.split('.');
    outer.split('.').all(|part| {
        let is_met = |own: &str| own == part || [own, part].contains(&ANY_CHOICE);
        inner.next().is_some_and(is_met)
    })
}

/// Whether `variation` sets a value below a choice that may be another one in other runs.
pub(crate) fn is_open(variation: &[Entry]) -> bool {
    let mut parts = variation.iter().flat_map(|entry| entry.key.split('.'));
    parts.any(|part| part == ANY_CHOICE)
}

/// The `variation` with the choices of its run, whose values are `run`, in place of `*`.
pub(crate) fn with_choices(variation: &[Entry], run: &Node) -> Variation {
    let named = |entry: &Entry| Entry {
        key: named(&entry.key, run),
        ..entry.clone()
    };
    variation.iter().map(named).collect()
}

/// The dotted `path` with the choices of `run` in place of `*`.
fn named(path: &str, run: &Node) -> String {
    let mut node = Some(run);
    let mut names = Vec::new();
    for part in path.split('.') {
        let name = match part {
            ANY_CHOICE => node.and_then(Node::choice).unwrap_or(part),
            _ => part,
        };
        names.push(name);
        node = node.and_then(|node| Some(&node.entry(name)?.value));
    }
    names.join(".")
}

/// The first of the overridden `paths` whose value every run replaces.
pub(crate) fn replaced<'a>(
    paths: &'a [(String, Place)],
    variations: &'a [Variation],
) -> Option<(&'a str, Place)> {
    paths.iter().find_map(|(path, place)| {
        let sets =
            |variation: &'a Variation| variation.iter().find(|entry| is_within(path, &entry.key));
        let first = sets(variations.first()?)?;
        variations
            .iter()
            .all(|variation| sets(variation).is_some())
            .then_some((first.key.as_str(), *place))
    })
}

/// The paths of a grid, each with its values.
fn grid_of<'a>(
    grid: &'a Entry,
    source: &ExperimentSource,
) -> Result<Vec<(&'a Entry, &'a [Node])>, ConfigError> {
    let needed = "dotted paths with lists of values, such as seed: [1, 2, 3]";
    let entries = grid
        .value
        .entries()
        .ok_or_else(|| wrong(&grid.value, needed, grid.place(), "sweep.grid", source))?;
    let values = |entry: &'a Entry| match &entry.value.value {
        Value::List(values) if !values.is_empty() => Ok((entry, values.as_slice())),
        _ => {
            let path = format!("sweep.grid.{}", entry.key);
            Err(wrong(
                &entry.value,
                "a list of at least one value",
                entry.place(),
                &path,
                source,
            ))
        }
    };
    let left = entries.iter().filter(|entry| entry.value.is_left());
    left.map(values).collect()
}

/// The cases, each with its paths and values.
fn cases_of(cases: &Entry, source: &ExperimentSource) -> Result<Vec<Variation>, ConfigError> {
    let Value::List(items) = &cases.value.value else {
        return Err(wrong(
            &cases.value,
            "a list of cases",
            cases.place(),
            "sweep.cases",
            source,
        ));
    };
    if items.is_empty() {
        return Err(wrong(
            &cases.value,
            "at least one case",
            cases.key_place,
            "sweep.cases",
            source,
        ));
    }
    let case = |(index, item): (usize, &Node)| {
        let needed = "dotted paths with values, such as {seed: 2, rounds: 10}";
        let path = format!("sweep.cases.{index}");
        item.entries()
            .map(<[Entry]>::to_vec)
            .ok_or_else(|| wrong(item, needed, item.place, &path, source))
    };
    let items = items.iter().enumerate();
    items.filter(|(_, item)| item.is_left()).map(case).collect()
}

fn wrong(
    node: &Node,
    needed: &str,
    place: Place,
    path: &str,
    source: &ExperimentSource,
) -> ConfigError {
    let found = match &node.value {
        Value::List(items) if items.is_empty() => "an empty list".to_owned(),
        _ => node.words(),
    };
    ConfigFault::WrongType {
        found,
        needed: needed.to_owned(),
    }
    .at(source, Some(place), path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(yaml: &str) -> Result<Vec<String>, ConfigError> {
        let source = ExperimentSource::new("e.yaml", yaml);
        let mut tree = Node::read(yaml, 0, 0).expect("the test is YAML");
        let sweep = tree.remove("sweep");
        let variations = variations(sweep.as_ref(), &source)?;
        variations
            .iter()
            .map(|variation| Ok(run_of(&tree, variation, &source)?.to_string()))
            .collect()
    }

    #[test]
    fn a_grid_is_a_product_whose_last_path_is_fastest() {
        let yaml = "a: 0\nsweep: {grid: {a: [1, 2], b.c: [x, y, z]}}";
        let expected = [(1, 'x'), (1, 'y'), (1, 'z'), (2, 'x'), (2, 'y'), (2, 'z')];
        assert_eq!(
            runs(yaml).unwrap(),
            expected.map(|(a, c)| format!("{{a: {a}, b: {{c: {c}}}}}"))
        );
    }

    #[test]
    fn cases_come_one_by_one_and_the_grid_runs_within_each() {
        let yaml = "a: 0\nsweep:\n  cases: [{a: 1, b: 2}, {c: 3}]\n  grid: {d: [4, 5]}\n";
        let expected = [
            "{a: 1, b: 2, d: 4}",
            "{a: 1, b: 2, d: 5}",
            "{a: 0, c: 3, d: 4}",
            "{a: 0, c: 3, d: 5}",
        ];
        assert_eq!(runs(yaml).unwrap(), expected);
        assert_eq!(runs("a: 0").unwrap(), ["{a: 0}"]);
        for none in ["null", "{grid: null}", "{cases: null, grid: null}"] {
            let yaml = format!("a: 0\nsweep: {none}");
            assert_eq!(runs(&yaml).unwrap(), ["{a: 0}"], "{none}");
        }
        let within = runs("sweep: {cases: [{a: {b: 1}, a.c: 2}]}").unwrap();
        assert_eq!(within, ["{a: {b: 1, c: 2}}"]);
    }

    #[test]
    fn a_sweep_of_the_wrong_form_is_marked() {
        for (yaml, message, marked) in [
            (
                "sweep: {gird: {a: [1]}}",
                "sweep: unknown key `gird`",
                "gird",
            ),
            (
                "sweep: {grid: {a: 1}}",
                "sweep.grid.a: found the number 1, needed a list of at least one value",
                "1",
            ),
            (
                "sweep: {grid: {a: []}}",
                "sweep.grid.a: found an empty list, needed a list of at least one value",
                "a",
            ),
            (
                "sweep: {cases: [3]}",
                "sweep.cases.0: found the number 3, needed dotted paths with values, such as {seed: 2, rounds: 10}",
                "3",
            ),
            (
                "sweep: {cases: []}",
                "sweep.cases: found an empty list, needed at least one case",
                "cases",
            ),
            (
                "sweep: 3",
                "sweep: found the number 3, needed grid, cases or both",
                "3",
            ),
            (
                "sweep: {cases: [{a.b: 1, a: {b: 2}}]}",
                "sweep: `a` is set after `a.b`, whose value is lost by it",
                "a",
            ),
            (
                "sweep: {cases: [{a: 1}, {seed: 3}], grid: {seed: [1, 2]}}",
                "sweep: `seed` is set after `seed`, whose value is lost by it",
                "seed",
            ),
            (
                "a: 0\nsweep: {grid: {a.b: [1]}}",
                "a: found the number 0, which has no key `b`",
                "b",
            ),
        ] {
            let error = runs(yaml).unwrap_err();
            assert_eq!(
                (error.to_string().as_str(), error.marked()),
                (message, Some(marked)),
                "{yaml}"
            );
        }
        let list = format!("[{}1]", "1, ".repeat(999));
        let error = runs(&format!("sweep: {{grid: {{a: {list}, b: {list}}}}}")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "sweep: the sweep asks for 1000000 runs, at most 100000 are possible"
        );
    }

    #[test]
    fn a_star_stands_for_the_choice_of_each_run() {
        let yaml = "a: {x: {r: 0}}\nsweep: {grid: {a: [{y: {s: 2}}, z], a.*.r: [1, 3]}}";
        let expected = [
            "{a: {y: {s: 2, r: 1}}}",
            "{a: {y: {s: 2, r: 3}}}",
            "{a: {z: {r: 1}}}",
            "{a: {z: {r: 3}}}",
        ];
        assert_eq!(runs(yaml).unwrap(), expected);
        let cases = "a: {x: {r: 0}}\nsweep: {cases: [{a.*.r: 1}, {a: y, a.*.r: 2}]}";
        assert_eq!(
            runs(cases).unwrap(),
            ["{a: {x: {r: 1}}}", "{a: {y: {r: 2}}}"]
        );
    }

    #[test]
    fn a_path_with_a_star_replaces_what_the_same_path_sets() {
        for (yaml, message) in [
            (
                "sweep: {cases: [{a.x.r: 1}], grid: {a.*.r: [1, 2]}}",
                "sweep: `a.*.r` is set after `a.x.r`, whose value is lost by it",
            ),
            (
                "sweep: {grid: {a.*.r: [1, 2], a: [x, y]}}",
                "sweep: `a` is set after `a.*.r`, whose value is lost by it",
            ),
        ] {
            assert_eq!(runs(yaml).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn a_path_into_another_choice_is_told_what_would_do() {
        let yaml = "topology: ring\nsweep: {grid: {topology.regular.degree: [3, 5]}}";
        let error = runs(yaml).unwrap_err();
        assert_eq!(
            (error.to_string().as_str(), error.fault().help().as_deref()),
            (
                "topology: found the text \"ring\", which has no key `regular`",
                Some("set the whole value: `topology: {regular: {degree: 3}}`")
            )
        );
    }

    #[test]
    fn an_override_is_replaced_if_every_run_sets_it_or_what_it_is_part_of() {
        let place = Place {
            text: 1,
            start: 0,
            length: 1,
            alias: None,
        };
        let sweep = |yaml: &str| {
            let tree = Node::read(yaml, 0, 0).expect("the test is YAML");
            variations(tree.entry("sweep"), &ExperimentSource::new("e.yaml", yaml))
                .expect("the test is a sweep")
        };
        let grid = sweep("sweep: {grid: {topology: [ring, path]}}");
        let found = |path: &str, variations: &[Variation]| {
            let paths = [(path.to_owned(), place)];
            replaced(&paths, variations).map(|(swept, _)| swept.to_owned())
        };
        assert_eq!(found("topology", &grid).as_deref(), Some("topology"));
        assert_eq!(
            found("topology.ring.hops", &grid).as_deref(),
            Some("topology")
        );
        assert_eq!(found("topology_of", &grid), None);
        assert_eq!(
            found("seed", &sweep("sweep: {cases: [{seed: 1}, {rounds: 2}]}")),
            None
        );
    }
}
