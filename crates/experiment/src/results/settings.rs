//! The resolved configuration of a run, read as plain values.

use meshfold_topology::{Topology, Weights};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::config::budget::Budget;
use crate::config::evaluate::Evaluate;
use crate::config::excerpt::line_number;
use crate::config::tree::Node;

/// A `config.yaml`.
///
/// The report reads it as a tree of values rather than as the program's own types, so that a run of another version can
/// still be reported.
#[derive(Clone, Debug)]
pub struct Settings {
    tree: Value,
    text: String,
}

/// Keys that do not tell one kind of run from another: what a run is called, its draws, and how it is kept.
const INCIDENTAL: [&str; 3] = ["name", "seed", "checkpoint"];

impl Settings {
    /// Reads the file's text.
    ///
    /// # Errors
    /// What the reader says of text that is not a YAML mapping.
    pub fn parse(text: &str) -> Result<Self, String> {
        let tree = Node::read(text, 0, 0).map_err(|unread| match unread.place {
            Some(place) => format!(
                "line {}: {}",
                line_number(text, place.start),
                unread.message
            ),
            None => unread.message,
        })?;
        let tree = tree.to_json();
        if !tree.is_object() {
            return Err("found no mapping, needed the resolved configuration of a run".to_owned());
        }
        Ok(Self {
            tree,
            text: text.to_owned(),
        })
    }

    /// The file as it stands.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// All of it, a mapping.
    pub fn all(&self) -> &Value {
        &self.tree
    }

    /// The value of a top-level key.
    pub fn get(&self, key: &str) -> &Value {
        self.tree.get(key).unwrap_or(&Value::Null)
    }

    /// The top-level keys that tell runs apart, in the file's order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        let keys = self.tree.as_object().into_iter().flat_map(|map| map.keys());
        keys.map(String::as_str)
            .filter(|key| !INCIDENTAL.contains(key))
    }

    /// What the experiment is called.
    pub fn name(&self) -> &str {
        self.get("name").as_str().unwrap_or("unnamed")
    }

    /// The run's seed.
    pub fn seed(&self) -> Option<u64> {
        self.get("seed").as_u64()
    }

    /// How many rounds were asked for.
    pub fn rounds(&self) -> Option<usize> {
        self.get("rounds")
            .as_u64()
            .and_then(|rounds| usize::try_from(rounds).ok())
    }

    /// What the run may spend before it ends, if that is limited.
    pub fn budget(&self) -> Option<Budget> {
        typed(self.get("budget"))
    }

    /// When and on what models are judged.
    pub(crate) fn evaluate(&self) -> Evaluate {
        typed(self.get("evaluate")).unwrap_or_default()
    }

    /// How many clients there are: as many as the partition names, and one with all data under the method `centralised`.
    pub fn clients(&self) -> Option<usize> {
        let method = choice(self.get("algorithm"));
        if method.is_some_and(|(name, _)| name == "centralised") {
            return Some(1);
        }
        let (_, partition) = variant(self.get("partition"))?;
        partition
            .get("clients")?
            .as_u64()
            .and_then(|clients| usize::try_from(clients).ok())
    }

    /// The accuracies whose first round is to be told, fractions.
    pub fn targets(&self) -> Vec<f64> {
        let targets = self
            .get("evaluate")
            .get("targets")
            .and_then(Value::as_array);
        targets
            .into_iter()
            .flatten()
            .filter_map(Value::as_f64)
            .collect()
    }

    /// The overlay, if there is one and this version knows it.
    pub fn topology(&self) -> Option<Topology> {
        typed(self.get("topology"))
    }

    /// The mixing weights, if this version knows them.
    pub fn weights(&self) -> Option<Weights> {
        match self.get("weights") {
            Value::Null => Some(Weights::default()),
            value => typed(value),
        }
    }

    /// Bits of a parameter, if the method's messages are quantised.
    pub fn quantised_bits(&self) -> Option<u64> {
        let (_, method) = variant(self.get("algorithm"))?;
        method.get("quantise")?.get("bits")?.as_u64()
    }

    /// The configuration without what is incidental, the same text for runs that differ in their seed only.
    pub fn kind(&self) -> String {
        Self::kind_of(self.tree.clone())
    }

    /// The [`kind`](Self::kind) of the same run without quantised messages; `None` if its messages are not.
    pub fn kind_in_full(&self) -> Option<String> {
        let mut tree = self.tree.clone();
        let (name, _) = variant(self.get("algorithm"))?;
        let method = tree.get_mut("algorithm")?.get_mut(name)?.as_object_mut()?;
        method
            .remove("quantise")
            .filter(|quantise| !quantise.is_null())?;
        Some(Self::kind_of(tree))
    }

    fn kind_of(mut tree: Value) -> String {
        if let Some(map) = tree.as_object_mut() {
            INCIDENTAL.iter().for_each(|key| drop(map.remove(*key)));
        }
        tree.sort_all_objects();
        tree.to_string()
    }
}

/// Name and content of an enum as it stands in the file, `ring` or `{ring: {hops: 2}}`.
pub fn variant(value: &Value) -> Option<(&str, &Value)> {
    match value {
        Value::String(name) => Some((name, &Value::Null)),
        Value::Object(map) if map.len() == 1 => map
            .iter()
            .next()
            .map(|(name, content)| (name.as_str(), content)),
        _ => None,
    }
}

/// As [`variant`], but a part of a program's own, `{own: {name: choco, ..}}` or `{own: choco}`, goes by its own name.
pub fn choice(value: &Value) -> Option<(&str, &Value)> {
    let (name, content) = variant(value)?;
    let own = content.as_str().or_else(|| content.get("name")?.as_str());
    Some((own.filter(|_| name == "own").unwrap_or(name), content))
}

fn typed<T: DeserializeOwned>(value: &Value) -> Option<T> {
    let whole = match value {
        Value::String(name) => serde_json::json!({ name: {} }),
        _ => value.clone(),
    };
    serde_json::from_value(whole).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name: a\nseed: 3\npartition: {shards: {clients: 10, per_client: 2}}\ntopology: {regular: {degree: 3}}\n\
        weights: metropolis_hastings\nalgorithm: {dsgd: {momentum: 0.5, clip_norm: null}}\nrounds: 20\n\
        evaluate: {every: 1, targets: [0.5, 0.75]}\n";

    #[test]
    fn values_have_their_types() {
        let settings = Settings::parse(TEXT).unwrap();
        assert_eq!(settings.name(), "a");
        assert_eq!(settings.seed(), Some(3));
        assert_eq!(settings.clients(), Some(10));
        let together =
            "partition: {iid: {clients: 10}}\nalgorithm: {centralised: {batch_size: 7}}\n";
        assert_eq!(Settings::parse(together).unwrap().clients(), Some(1));
        assert_eq!(settings.rounds(), Some(20));
        assert_eq!(settings.targets(), [0.5, 0.75]);
        assert_eq!(settings.topology().unwrap().label(), "3-regular");
        assert_eq!(settings.weights(), Some(Weights::default()));
        assert_eq!(settings.get("algorithm")["dsgd"]["clip_norm"], Value::Null);
    }

    #[test]
    fn runs_are_of_one_kind_if_only_seed_and_name_differ() {
        let kind = |text: &str| Settings::parse(text).unwrap().kind();
        assert_eq!(
            kind(TEXT),
            kind(
                &TEXT
                    .replace("seed: 3", "seed: 4")
                    .replace("name: a", "name: b")
            )
        );
        assert_ne!(kind(TEXT), kind(&TEXT.replace("rounds: 20", "rounds: 21")));
        assert_eq!(
            kind("a: 1\nb: {c: 2, d: 3}\n"),
            kind("b: {d: 3, c: 2}\na: 1\n")
        );
    }

    #[test]
    fn a_quantised_run_knows_the_run_in_full() {
        let full = Settings::parse(TEXT).unwrap();
        let text = TEXT.replace("momentum: 0.5,", "momentum: 0.5, quantise: {bits: 8},");
        let quantised = Settings::parse(&text.replace("seed: 3", "seed: 5")).unwrap();
        assert_eq!(quantised.quantised_bits(), Some(8));
        assert_eq!(quantised.kind_in_full(), Some(full.kind()));
        assert_eq!((full.quantised_bits(), full.kind_in_full()), (None, None));
    }

    #[test]
    fn parts_of_ones_own_go_by_their_names() {
        let settings = Settings::parse(
            "topology: {own: {name: mine, version: a1}}\nmodel: {own: burnt}\nalgorithm: {dsgd: {name: x}}\n",
        );
        let settings = settings.unwrap();
        let called = |key| choice(settings.get(key)).unwrap().0;
        assert_eq!(
            [called("topology"), called("model"), called("algorithm")],
            ["mine", "burnt", "dsgd"]
        );
    }

    #[test]
    fn text_that_is_no_mapping_is_refused() {
        let error = |text| Settings::parse(text).unwrap_err();
        assert!(error("- 1\n").starts_with("found no mapping"));
        assert_eq!(error("b: 1\na: [\n"), "line 2: this `[` is never closed");
    }
}
