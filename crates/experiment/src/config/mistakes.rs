//! Finds all mistakes of an experiment.
//!
//! Reading stops at the first mistake. After that, this module reads the values again and again. It reports each
//! mistake and marks the value as [`Value::Told`], which readers skip, until no mistake is left. A mistake that only
//! follows from a skipped value, such as a missing key that was misspelt, is marked without a report.

use meshfold_data::nearest;
use serde::de::DeserializeOwned;

use crate::config::error::{ConfigError, MOST_MISTAKES};
use crate::config::experiment::values;
use crate::config::fault::ConfigFault;
use crate::config::overrides::{apply_one, parts};
use crate::config::place::Place;
use crate::config::reader;
use crate::config::source::ExperimentSource;
use crate::config::sweep::{self, Variation};
use crate::config::tree::{Entry, Node, Value};

/// All mistakes that keep the runs of `source` from being read as `T`; `first` is one of them. `check` finds mistakes in the
/// values of a run that could be read, given its tree with what was passed over.
pub(crate) fn all<T: DeserializeOwned>(
    source: &ExperimentSource,
    first: ConfigError,
    check: impl Fn(&Node) -> Vec<ConfigError>,
) -> ConfigError {
    let base = values(source).ok().filter(|base| base.entries().is_some());
    let Some(mut base) = base else {
        return first;
    };
    let mut found = Found::default();
    for (index, text) in (1..).zip(source.overrides()) {
        found.take(apply_one(&mut base, index, text, source));
    }
    let variations = found.variations(&mut base, source);
    for variation in &variations {
        if found.is_full() {
            break;
        }
        let Some(mut tree) = found.take(sweep::run_of(&base, variation, source)) else {
            continue;
        };
        let read = |tree: &Node| {
            let read = reader::read::<T>(tree, source);
            read.map_err(|error| sweep::blame(error.knowing(tree), variation, tree))
        };
        if found.read(&mut tree, read).is_some() {
            // Of a dataset whose values have not all been read, nobody can say whether they fit each other.
            let is_blind = tree.child("dataset").is_some_and(Node::has_told);
            let follows = |error: &ConfigError| match error.fault() {
                ConfigFault::Data(_) => is_blind,
                // What is not there may have been passed over.
                ConfigFault::Value { found, .. } if found == "nothing" => {
                    follows(&tree, &way_to(error), error.fault())
                }
                _ => false,
            };
            let errors = check(&tree).into_iter().filter(|error| !follows(error));
            errors.for_each(|error| found.tell(error));
        }
    }
    ConfigError::of_all(found.told).unwrap_or(first)
}

/// The mistakes that have been found.
#[derive(Default)]
struct Found {
    told: Vec<ConfigError>,
    /// Whether part of the sweep was passed over, which may have set whatever is missing.
    is_sweep_broken: bool,
}

impl Found {
    fn is_full(&self) -> bool {
        self.told.len() >= MOST_MISTAKES
    }

    /// Runs of a sweep share most of their mistakes, which are told once.
    fn tell(&mut self, error: ConfigError) {
        if !self.told.iter().any(|told| told.is_same(&error)) {
            self.told.push(error);
        }
    }

    /// The value of `read`, if it is one.
    fn take<T>(&mut self, read: Result<T, ConfigError>) -> Option<T> {
        read.map_err(|error| self.tell(error)).ok()
    }

    /// The runs of the sweep that `base` has, which is taken out of it: one run without variation where its form is beyond
    /// reading.
    fn variations(&mut self, base: &mut Node, source: &ExperimentSource) -> Vec<Variation> {
        let Some(sweep) = base.remove("sweep") else {
            return vec![Vec::new()];
        };
        let mut above = Node {
            place: base.place,
            value: Value::Map(vec![sweep]),
        };
        let read = |above: &Node| sweep::variations(above.entry_left("sweep"), source);
        let variations = self.read(&mut above, read);
        self.is_sweep_broken = above.has_told();
        variations.unwrap_or_else(|| vec![Vec::new()])
    }

    /// What `read` makes of `tree` once it passes over all that is wrong; nothing if too much is.
    fn read<T>(
        &mut self,
        tree: &mut Node,
        read: impl Fn(&Node) -> Result<T, ConfigError>,
    ) -> Option<T> {
        while !self.is_full() {
            let error = match read(tree) {
                Ok(value) => return Some(value),
                Err(error) => error,
            };
            let way = way_to(&error);
            let is_missing = matches!(error.fault(), ConfigFault::MissingKey { .. });
            let may_be_set = self.is_sweep_broken && is_missing;
            if !may_be_set && !follows(tree, &way, error.fault()) {
                self.tell(error);
            }
            if !mark(tree, &way) {
                return None;
            }
        }
        None
    }
}

/// The keys and places in lists that lead to the value at fault.
fn way_to(error: &ConfigError) -> Vec<String> {
    let nowhere = Place {
        text: 0,
        start: 0,
        length: 0,
        alias: None,
    };
    let mut way = match error.path() {
        "" => Vec::new(),
        path => parts(path, nowhere)
            .into_iter()
            .map(|part| part.name)
            .collect(),
    };
    if let ConfigFault::UnknownKey { key, .. } = error.fault() {
        way.push(key.clone());
    }
    way
}

/// Whether `fault`, of the value that `way` leads to, is there only because something in that value has been passed over.
fn follows(tree: &Node, way: &[String], fault: &ConfigFault) -> bool {
    let node = way.iter().try_fold(tree, |node, part| node.child(part));
    match (fault, node) {
        (ConfigFault::UnknownKey { .. }, _) | (_, None) => false,
        (ConfigFault::MissingKey { key }, Some(node)) => {
            let mut told = node.entries().unwrap_or_default().iter();
            told.any(|entry| !entry.value.is_left() && stands_for(entry, key))
        }
        (_, Some(node)) => node.has_told(),
    }
}

/// Whether the `entry` has the key `key`, perhaps misspelt.
fn stands_for(entry: &Entry, key: &str) -> bool {
    entry.key == key || nearest(&entry.key, [key]).is_some()
}

/// Marks the value that `way` leads to as told of, or the last one on the way to it; whether there was one to mark.
fn mark(tree: &mut Node, way: &[String]) -> bool {
    let Some((part, rest)) = way.split_first() else {
        return false;
    };
    let Some(child) = tree.child_mut(part).filter(|child| child.is_left()) else {
        return false;
    };
    if !mark(child, rest) {
        child.value = Value::Told;
    }
    true
}

impl Node {
    /// The value of the key, or at the place in a list, that `part` names.
    fn child(&self, part: &str) -> Option<&Self> {
        match &self.value {
            Value::Map(_) => self.entry(part).map(|entry| &entry.value),
            Value::List(items) => items.get(part.parse::<usize>().ok()?),
            _ => None,
        }
    }

    fn child_mut(&mut self, part: &str) -> Option<&mut Self> {
        match &mut self.value {
            Value::Map(entries) => {
                let mut entries = entries.iter_mut();
                let entry = entries.find(|entry| entry.key == part)?;
                Some(&mut entry.value)
            }
            Value::List(items) => items.get_mut(part.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// Whether something in the value has been told of.
    fn has_told(&self) -> bool {
        match &self.value {
            Value::Told => true,
            Value::Map(entries) => entries.iter().any(|entry| entry.value.has_told()),
            Value::List(items) => items.iter().any(Self::has_told),
            _ => false,
        }
    }
}
