//! `--set a.b=c`: overrides of single values of an experiment.

use crate::config::brief::brief;
use crate::config::error::ConfigError;
use crate::config::fault::ConfigFault;
use crate::config::place::Place;
use crate::config::source::ExperimentSource;
use crate::config::tree::{Entry, Node, Value};
use crate::config::yaml_error::MOST_LEVELS;

/// The part of a path that stands for the one key of a choice, whatever that is: `algorithm.*.learning_rate`.
pub(crate) const ANY_CHOICE: &str = "*";

/// The paths whose further parts are one key, as sweeps write them: `sweep.grid.algorithm.dsgd.learning_rate`.
const DOTTED_KEYS: &str = "sweep.grid.";

/// One part of a dotted path and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PathPart {
    pub(crate) name: String,
    pub(crate) place: Place,
}

/// Applies all overrides of `source` to `tree`, in their order.
///
/// Returns the paths that were set.
pub(crate) fn apply(
    tree: &mut Node,
    source: &ExperimentSource,
) -> Result<Vec<(String, Place)>, ConfigError> {
    let overrides = (1..).zip(source.overrides());
    overrides
        .map(|(index, text)| apply_one(tree, index, text, source))
        .collect()
}

/// Applies the override `text`, the one at place `index` of `source`, from 1, to `tree`.
///
/// Returns the path that was set.
pub(crate) fn apply_one(
    tree: &mut Node,
    index: usize,
    text: &str,
    source: &ExperimentSource,
) -> Result<(String, Place), ConfigError> {
    let whole = Place {
        text: index,
        start: 0,
        length: text.len(),
        alias: None,
    };
    let form = || ConfigFault::OverrideForm(text.to_owned()).at(source, Some(whole), "");
    let (path, yaml) = text.split_once('=').ok_or_else(form)?;
    if path.split('.').any(|part| part.trim().is_empty()) || path.trim() != path {
        return Err(form());
    }
    let start = path.len() + 1;
    let value = Node::read(yaml, index, start).map_err(|unread| {
        let place = unread.place.unwrap_or(Place {
            text: index,
            start,
            length: yaml.len(),
            alias: None,
        });
        ConfigFault::Syntax(unread.message).at(source, Some(place), path)
    })?;
    let path_place = Place {
        text: index,
        start: 0,
        length: path.len(),
        alias: None,
    };
    set(tree, &parts(path, path_place), value, source)?;
    Ok((path.to_owned(), path_place))
}

/// The parts of a dotted path that is written at `place`.
pub(crate) fn parts(path: &str, place: Place) -> Vec<PathPart> {
    let mut start = place.start;
    let mut rest = Some(path);
    let mut parts = Vec::new();
    while let Some(text) = rest {
        let joined = path.starts_with(DOTTED_KEYS) && parts.len() == 2;
        let (name, after) = match text.split_once('.') {
            Some((name, after)) if !joined => (name, Some(after)),
            _ => (text, None),
        };
        parts.push(PathPart {
            name: name.to_owned(),
            place: Place {
                start,
                length: name.len(),
                ..place
            },
        });
        start += name.len() + 1;
        rest = after;
    }
    parts
}

/// Sets the value at the path of `parts`, making the maps on the way that are not there.
///
/// A bare variant on the way becomes a map: with `topology: ring`, `topology.ring.hops` can be set.
pub(crate) fn set(
    tree: &mut Node,
    parts: &[PathPart],
    value: Node,
    source: &ExperimentSource,
) -> Result<(), ConfigError> {
    if let ([first, ..], true) = (parts, parts.len() > MOST_LEVELS) {
        let fault = ConfigFault::LongPath {
            parts: parts.len(),
            most: MOST_LEVELS,
        };
        return Err(fault.at(source, Some(first.place), ""));
    }
    let mut node = tree;
    for (depth, part) in parts.iter().enumerate() {
        let last = depth + 1 == parts.len();
        node = step(node, part, last).map_err(|fault| {
            let above: Vec<&str> = parts[..depth]
                .iter()
                .map(|part| part.name.as_str())
                .collect();
            let fault = match fault {
                // A choice that is written by its name alone, or a list that is not there.
                ConfigFault::NoKeysHere { found, key, .. }
                    if found == "nothing" || found.starts_with("the text") =>
                {
                    ConfigFault::NoKeysHere {
                        found,
                        key,
                        instead: whole(&parts[..depth], &parts[depth..], &value),
                    }
                }
                fault => fault,
            };
            fault.at(source, Some(part.place), above.join("."))
        })?;
    }
    *node = value;
    Ok(())
}

/// What sets the value at the path `above` whole, to what it is to hold at the path `below`, which is `value`: an override, or in the
/// file an entry of a sweep.
fn whole(above: &[PathPart], below: &[PathPart], value: &Node) -> Option<String> {
    let is_override = below.first().is_some_and(|part| part.place.text > 0);
    if above.is_empty() {
        return None;
    }
    let nest = |inner: String, part: &PathPart| match part.is_index() {
        true => format!("[{inner}]"),
        false => format!("{{{}: {inner}}}", part.name),
    };
    let names: Vec<&str> = above.iter().map(|part| part.name.as_str()).collect();
    let value = below.iter().rev().fold(value.to_string(), nest);
    let path = names.join(".");
    Some(match is_override {
        true => format!("--set '{}'", brief(&format!("{path}={value}"))),
        false => format!("`{}`", brief(&format!("{path}: {value}"))),
    })
}

impl PathPart {
    /// Whether it is a place in a list.
    fn is_index(&self) -> bool {
        self.name.parse::<usize>().is_ok()
    }
}

/// The value below `node` that `part` names, made if `node` can have it; its key is placed anew if the value will be.
fn step<'a>(node: &'a mut Node, part: &PathPart, last: bool) -> Result<&'a mut Node, ConfigFault> {
    if part.name == ANY_CHOICE {
        let name = node.choice().ok_or_else(|| ConfigFault::NoChoiceHere {
            found: match node.entries() {
                Some(entries) => format!("a map of {} keys", entries.len()),
                None => node.words(),
            },
        })?;
        let chosen = PathPart {
            name: name.to_owned(),
            place: part.place,
        };
        return step(node, &chosen, last);
    }
    if node.value == Value::Null && part.is_index() {
        return Err(no_keys(node, part));
    }
    let bare = matches!(&node.value, Value::Text(name) if *name == part.name);
    if bare || node.value == Value::Null {
        let made = Node {
            value: Value::Map(Vec::new()),
            place: node.place,
        };
        let entry = Entry {
            key: part.name.clone(),
            key_place: if bare { node.place } else { part.place },
            value: made,
        };
        node.value = Value::Map(if bare { vec![entry] } else { Vec::new() });
    }
    let none = no_keys(node, part);
    match &mut node.value {
        Value::Map(entries) => {
            let index = entries
                .iter()
                .position(|entry| entry.key == part.name)
                .unwrap_or_else(|| {
                    let value = Node {
                        value: Value::Null,
                        place: part.place,
                    };
                    entries.push(Entry {
                        key: part.name.clone(),
                        key_place: part.place,
                        value,
                    });
                    entries.len() - 1
                });
            let entry = &mut entries[index];
            if last {
                entry.key_place = part.place;
            }
            Ok(&mut entry.value)
        }
        Value::List(items) => {
            let length = items.len();
            let found = part
                .name
                .parse()
                .ok()
                .and_then(|index: usize| items.get_mut(index));
            found.ok_or(ConfigFault::NoEntryHere {
                length,
                index: part.name.clone(),
            })
        }
        _ => Err(none),
    }
}

fn no_keys(node: &Node, part: &PathPart) -> ConfigFault {
    ConfigFault::NoKeysHere {
        found: node.words(),
        key: part.name.clone(),
        instead: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YAML: &str = "topology: ring\nseed: 1\nmodel: {mlp: {hidden: [200, 50]}}\n";

    fn with(overrides: &[&str]) -> Result<Node, ConfigError> {
        let source =
            ExperimentSource::new("e.yaml", YAML).with_overrides(overrides.iter().copied());
        let mut tree = Node::read(YAML, 0, 0).expect("the test is YAML");
        apply(&mut tree, &source)?;
        Ok(tree)
    }

    #[test]
    fn values_are_set_made_and_replaced_and_the_last_goes_first() {
        let tree = with(&[
            "topology.ring.hops=2",
            "seed=5",
            "seed=6",
            "model.mlp.hidden.1=7",
            "evaluate.targets=[0.5, 0.9]",
            "name=a=b",
        ]);
        let text = "{topology: {ring: {hops: 2}}, seed: 6, model: {mlp: {hidden: [200, 7]}}, \
                    evaluate: {targets: [0.5, 0.9]}, name: a=b}";
        assert_eq!(tree.unwrap().to_string(), text);
        let tree = with(&[
            "topology={regular: {degree: 4}}",
            "topology.regular.degree=6",
            "model=null",
        ])
        .unwrap();
        assert_eq!(
            tree.to_string(),
            "{topology: {regular: {degree: 6}}, seed: 1, model: null}"
        );
    }

    #[test]
    fn a_star_stands_for_the_choice_that_is_there() {
        let tree = with(&["topology.*.hops=2", "model.*.hidden.0=7"]).unwrap();
        assert_eq!(
            tree.to_string(),
            "{topology: {ring: {hops: 2}}, seed: 1, model: {mlp: {hidden: [7, 50]}}}"
        );
        for (text, message) in [
            (
                "seed.*.more=3",
                "seed: found the number 1, needed a choice, whose key `*` stands for",
            ),
            (
                "*.a=3",
                "found a map of 3 keys, needed a choice, whose key `*` stands for",
            ),
            (
                "weights.*.theta=3",
                "weights: found nothing, needed a choice, whose key `*` stands for",
            ),
        ] {
            let error = with(&[text]).unwrap_err();
            assert_eq!(
                (error.to_string().as_str(), error.marked()),
                (message, Some("*"))
            );
        }
    }

    #[test]
    fn keys_of_a_sweep_hold_their_dots() {
        let tree = with(&["sweep.grid.algorithm.dsgd.learning_rate=[0.1]"]).unwrap();
        let key = "{grid: {algorithm.dsgd.learning_rate: [0.1]}}";
        assert_eq!(
            tree.entry("sweep")
                .map(|entry| entry.value.to_string())
                .as_deref(),
            Some(key)
        );
    }

    #[test]
    fn an_override_that_leads_nowhere_is_told_what_would_do() {
        for (text, help) in [
            (
                "topology.regular.degree=3",
                "set the whole value: --set 'topology={regular: {degree: 3}}'",
            ),
            (
                "failures.0.clients.count=1",
                "set the whole value: --set 'failures=[{clients: {count: 1}}]'",
            ),
        ] {
            let error = with(&[text]).unwrap_err();
            assert_eq!(error.fault().help().as_deref(), Some(help));
        }
    }

    #[test]
    fn an_override_that_leads_nowhere_is_marked_in_its_own_text() {
        for (text, message, marked) in [
            (
                "seed",
                "found the override `seed`, needed a dotted path, `=` and a value",
                "seed",
            ),
            (
                "=3",
                "found the override `=3`, needed a dotted path, `=` and a value",
                "=3",
            ),
            (
                "a..b=3",
                "found the override `a..b=3`, needed a dotted path, `=` and a value",
                "a..b=3",
            ),
            (
                "seed.more=3",
                "seed: found the number 1, which has no key `more`",
                "more",
            ),
            (
                "topology.regular.degree=3",
                "topology: found the text \"ring\", which has no key `regular`",
                "regular",
            ),
            (
                "failures.0.clients.count=1",
                "failures: found nothing, which has no key `0`",
                "0",
            ),
            (
                "model.mlp.hidden.2=3",
                "model.mlp.hidden: found a list of 2, which has no entry `2`",
                "2",
            ),
            ("seed={a: ]", "", ""),
            (
                &format!("topology.{}=3", ["a"; 100_000].join(".")),
                "found a path of 100001 parts, at most 64 are possible",
                "topology",
            ),
        ] {
            let error = with(&[text]).unwrap_err();
            assert_eq!(error.file(), Some("--set"), "{text}");
            if !message.is_empty() {
                assert_eq!(
                    (error.to_string().as_str(), error.marked()),
                    (message, Some(marked)),
                    "{text}"
                );
            }
        }
    }
}
