//! Short texts for settings, and for what distinguishes one configuration from others.

use std::collections::BTreeSet;

use super::determined::without_determined;
use meshfold_experiment::results::{Settings, choice, variant};
use meshfold_topology::{Topology, Weights};
use serde_json::{Map, Value};

/// What each configuration has that others have not, such as `ring` or `3-regular · momentum 0.5`.
///
/// Texts are in the order of the configurations and empty where nothing differs. What follows from the settings that a sweep
/// sets, `swept`, is left out.
pub(crate) fn differences(all: &[&Settings], swept: &BTreeSet<&str>) -> Vec<String> {
    let mut parts = vec![Vec::new(); all.len()];
    for (_, texts) in without_determined(varying(all), swept) {
        for (part, text) in parts.iter_mut().zip(texts) {
            if !text.is_empty() {
                part.push(text);
            }
        }
    }
    parts.into_iter().map(|part| part.join(" · ")).collect()
}

/// Every key whose values can be told apart, with the value of each configuration in words.
fn varying<'a>(all: &[&'a Settings]) -> Vec<(&'a str, Vec<String>)> {
    let texts_of = |key: &'a str| {
        let values: Vec<&Value> = all.iter().map(|settings| settings.get(key)).collect();
        let differ = values.iter().any(|value| *value != values[0]);
        let texts = differ.then(|| texts(key, all, &values))?;
        texts
            .iter()
            .any(|text| *text != texts[0])
            .then_some((key, texts))
    };
    keys_of(all).into_iter().filter_map(texts_of).collect()
}

/// Every innermost key whose values can be told apart, with the value of each configuration in words. Overlays and
/// weights stay whole, and so does what has another variant in another configuration. What follows from the settings that a
/// sweep sets, `swept`, is left out.
pub(crate) fn innermost<'a>(
    all: &[&'a Settings],
    swept: &BTreeSet<&str>,
) -> Vec<(&'a str, Vec<String>)> {
    let leaves = |(key, texts): (&'a str, Vec<String>)| {
        let values: Vec<&'a Value> = all.iter().map(|settings| settings.get(key)).collect();
        match key {
            "topology" | "weights" => vec![(key, texts)],
            _ => leaves(key, &values),
        }
    };
    let told_apart = without_determined(varying(all), swept);
    told_apart.into_iter().flat_map(leaves).collect()
}

fn leaves<'a>(key: &'a str, values: &[&'a Value]) -> Vec<(&'a str, Vec<String>)> {
    if values.iter().all(|value| *value == values[0]) {
        return Vec::new();
    }
    let variants: Option<Vec<(&'a str, &'a Value)>> =
        values.iter().map(|value| choice(value)).collect();
    if let Some(variants) = variants {
        let (name, _) = variants[0];
        if variants.iter().any(|(other, _)| *other != name) {
            return vec![(key, contrast(key, values))];
        }
        let contents: Vec<&'a Value> = variants.iter().map(|(_, content)| *content).collect();
        return leaves(name, &contents);
    }
    let maps: Option<Vec<&'a Map<String, Value>>> =
        values.iter().map(|value| value.as_object()).collect();
    let Some(maps) = maps else {
        return vec![(key, contrast(key, values))];
    };
    let of_key = |key: &'a str| {
        let values: Vec<&'a Value> = maps
            .iter()
            .map(|map| map.get(key).unwrap_or(&Value::Null))
            .collect();
        leaves(key, &values)
    };
    keys_in(&maps).into_iter().flat_map(of_key).collect()
}

/// Every key that one of the maps has, in the order of the first that has it.
fn keys_in<'a>(maps: &[&'a Map<String, Value>]) -> Vec<&'a str> {
    distinct(maps.iter().flat_map(|map| map.keys()).map(String::as_str))
}

/// Every top-level key that one of the configurations has, in the order of the first that has it.
pub(crate) fn keys_of<'a>(all: &[&'a Settings]) -> Vec<&'a str> {
    distinct(all.iter().flat_map(|settings| settings.keys()))
}

/// Every key once, where it comes first.
fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut keys = Vec::new();
    for key in all {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// A setting in words: `shards (clients 100, per_client 2)`.
pub(crate) fn text(value: &Value) -> String {
    if let Some((name, content)) = variant(value) {
        return match (inner(content), content) {
            (text, _) if text.is_empty() => name.to_owned(),
            (text, Value::Object(_)) => format!("{name} ({text})"),
            (text, _) => format!("{name} {text}"),
        };
    }
    inner(value)
}

/// The overlay in words, as the program's tables have it.
pub(crate) fn topology(settings: &Settings) -> Option<String> {
    let known = settings.topology().as_ref().map(Topology::label);
    let value = settings.get("topology");
    known.or_else(|| (!value.is_null()).then(|| text(value)))
}

fn texts(key: &str, all: &[&Settings], values: &[&Value]) -> Vec<String> {
    match key {
        "topology" => all
            .iter()
            .map(|settings| topology(settings).unwrap_or_default())
            .collect(),
        "weights" => weights(all),
        _ => contrast(key, values),
    }
}

/// The mixing weights in words: none where there is no overlay, and none at all if every overlay has the same.
fn weights(all: &[&Settings]) -> Vec<String> {
    let label = |settings: &&Settings| {
        let known = settings.weights().as_ref().map(Weights::label);
        let exchanges = !settings.get("topology").is_null();
        exchanges.then(|| known.unwrap_or_else(|| text(settings.get("weights"))))
    };
    let labels: Vec<Option<String>> = all.iter().map(label).collect();
    let mut named = labels.iter().flatten();
    let first = named.next();
    if named.all(|label| Some(label) == first) {
        return vec![String::new(); all.len()];
    }
    labels.into_iter().map(Option::unwrap_or_default).collect()
}

/// What differs between values that are not all equal, each named by the innermost key that leads to it.
fn contrast(key: &str, values: &[&Value]) -> Vec<String> {
    let variants: Option<Vec<(&str, &Value)>> = values.iter().map(|value| choice(value)).collect();
    if let Some(variants) = variants {
        return contrast_variants(&variants);
    }
    match values
        .iter()
        .map(|value| value.as_object())
        .collect::<Option<Vec<_>>>()
    {
        Some(maps) => contrast_maps(&maps),
        None => values.iter().map(|value| named(key, value)).collect(),
    }
}

fn contrast_variants(variants: &[(&str, &Value)]) -> Vec<String> {
    let same_name = variants.iter().all(|(name, _)| *name == variants[0].0);
    let label = |(name, content): &(&str, &Value)| {
        let namesakes: Vec<&(&str, &Value)> =
            variants.iter().filter(|(other, _)| other == name).collect();
        let contents: Vec<&Value> = namesakes.iter().map(|(_, content)| *content).collect();
        let own = contents.iter().position(|other| other == content);
        let detail = match own {
            Some(own) if contents.iter().any(|other| other != content) => {
                contrast(name, &contents).swap_remove(own)
            }
            _ => String::new(),
        };
        match (same_name, detail.is_empty()) {
            (true, _) => detail,
            (false, true) => (*name).to_owned(),
            (false, false) => format!("{name} {detail}"),
        }
    };
    variants.iter().map(label).collect()
}

fn contrast_maps(maps: &[&Map<String, Value>]) -> Vec<String> {
    let mut parts = vec![Vec::new(); maps.len()];
    for key in keys_in(maps) {
        let values: Vec<&Value> = maps
            .iter()
            .map(|map| map.get(key).unwrap_or(&Value::Null))
            .collect();
        if values.iter().any(|value| *value != values[0]) {
            let texts = contrast(key, &values);
            parts
                .iter_mut()
                .zip(texts)
                .for_each(|(part, text)| part.push(text));
        }
    }
    let joined = |part: Vec<String>| {
        part.into_iter()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join(", ")
    };
    parts.into_iter().map(joined).collect()
}

fn named(key: &str, value: &Value) -> String {
    if value.is_null() {
        format!("no {key}")
    } else {
        format!("{key} {}", text(value))
    }
}

fn inner(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(content) => content.clone(),
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(text).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(map) => {
            let known = map.iter().filter(|(_, value)| !value.is_null());
            known
                .map(|(key, value)| format!("{key} {}", text(value)))
                .collect::<Vec<_>>()
                .join(", ")
        }
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Settings {
        Settings::parse(text).unwrap()
    }

    fn labels(texts: &[&str]) -> Vec<String> {
        let all: Vec<Settings> = texts.iter().map(|text| settings(text)).collect();
        differences(&all.iter().collect::<Vec<_>>(), &BTreeSet::new())
    }

    #[test]
    fn overlays_are_called_as_in_the_tables() {
        let found = labels(&[
            "topology: {ring: {hops: 1}}",
            "topology: {regular: {degree: 3}}",
            "topology: complete",
        ]);
        assert_eq!(found, ["ring", "3-regular", "complete"]);
    }

    #[test]
    fn only_what_differs_is_named() {
        let found = labels(&[
            "rounds: 5\nalgorithm: {dsgd: {momentum: 0.5, learning_rate: 0.1}}",
            "rounds: 5\nalgorithm: {dsgd: {momentum: 0.9, learning_rate: 0.1}}",
            "rounds: 5\nalgorithm: {fedavg: {learning_rate: 0.1}}",
        ]);
        assert_eq!(found, ["dsgd momentum 0.5", "dsgd momentum 0.9", "fedavg"]);
        let same_method = labels(&[
            "algorithm: {dsgd: {momentum: 0.5}}",
            "algorithm: {dsgd: {momentum: 0.9}}",
        ]);
        assert_eq!(same_method, ["momentum 0.5", "momentum 0.9"]);
        assert_eq!(labels(&["seed: 1\nname: a", "seed: 2\nname: b"]), ["", ""]);
    }

    #[test]
    fn settings_within_one_variant_vary_on_their_own() {
        let run = |rate, momentum, topology| {
            settings(&format!(
                "topology: {topology}\nalgorithm: {{dsgd: {{learning_rate: {rate}, momentum: {momentum}, local: {{epochs: 3}}}}}}"
            ))
        };
        let all = [
            run(0.1, 0.5, "ring"),
            run(0.2, 0.5, "complete"),
            run(0.1, 0.9, "ring"),
        ];
        let found = innermost(&all.iter().collect::<Vec<_>>(), &BTreeSet::new());
        let keys: Vec<&str> = found.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, ["topology", "learning_rate", "momentum"]);
        assert_eq!(
            found[1].1,
            [
                "learning_rate 0.1",
                "learning_rate 0.2",
                "learning_rate 0.1"
            ]
        );
        let other = settings("topology: ring\nalgorithm: {fedavg: {learning_rate: 0.1}}");
        let found = innermost(&[&all[0], &other], &BTreeSet::new());
        assert_eq!(
            found,
            [("algorithm", vec!["dsgd".to_owned(), "fedavg".to_owned()])]
        );
    }

    #[test]
    fn settings_that_one_run_lacks_are_named() {
        let found = labels(&["model: logistic\nclip: 10", "model: {mlp: {hidden: [200]}}"]);
        assert_eq!(found, ["logistic · clip 10", "mlp · no clip"]);
    }

    #[test]
    fn parts_of_ones_own_go_by_their_names() {
        let found = labels(&[
            "partition: {own: {name: halves, version: a1}}",
            "partition: {own: {name: thirds, version: b2}}",
            "partition: {own: {name: thirds, version: c3}}",
            "partition: {iid: {clients: 3}}",
        ]);
        assert_eq!(found, ["halves", "thirds b2", "thirds c3", "iid"]);
    }

    #[test]
    fn methods_without_an_overlay_have_no_weights_to_name() {
        let dsgd = "weights: uniform\ntopology: ring\nalgorithm: dsgd";
        let fedavg = "weights: metropolis_hastings\nalgorithm: fedavg";
        assert_eq!(labels(&[dsgd, fedavg]), ["ring · dsgd", "fedavg"]);
        let other = "weights: max_degree\ntopology: ring\nalgorithm: dsgd";
        assert_eq!(
            labels(&[dsgd, fedavg, other]),
            [
                "uniform · ring · dsgd",
                "fedavg",
                "max_degree · ring · dsgd"
            ]
        );
    }

    #[test]
    fn a_setting_reads_as_words() {
        let partition = settings("partition: {shards: {clients: 100, per_client: 2, note: null}}");
        assert_eq!(
            text(partition.get("partition")),
            "shards (clients 100, per_client 2)"
        );
        assert_eq!(text(partition.get("absent")), "");
        assert_eq!(
            text(settings("local: {epochs: 3}").get("local")),
            "epochs 3"
        );
    }
}
