//! Whether a run has the settings that a value asks for.

use std::collections::BTreeMap;

use meshfold_experiment::RunPlan;
use serde_json::{Map, Value};

/// Whether the run has all of `settings`, given by their paths or by the ends of these.
pub(crate) fn has(plan: &RunPlan, config: &Value, settings: &BTreeMap<String, Value>) -> bool {
    let is_set = |(path, wanted): (&String, &Value)| {
        let found = found(plan, config, path);
        found.map_or(wanted.is_null(), |found| fits(wanted, found))
    };
    settings.iter().all(is_set)
}

/// The value at `path`, or at the only path of the sweep that ends with it.
fn found<'a>(plan: &RunPlan, config: &'a Value, path: &str) -> Option<&'a Value> {
    let pointer = |path: &str| format!("/{}", path.replace('.', "/"));
    let ending = format!(".{path}");
    let long = plan
        .variation
        .iter()
        .find(|(varied, _)| varied.ends_with(&ending));
    let long = long.and_then(|(varied, _)| config.pointer(&pointer(varied)));
    config.pointer(&pointer(path)).or(long)
}

/// Whether `found` is what is `wanted`. A word stands for a choice with any content, an object for its keys, `null` for nothing.
fn fits(wanted: &Value, found: &Value) -> bool {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => wanted.iter().all(|(key, wanted)| {
            let found = found.get(key);
            found.map_or(wanted.is_null(), |found| fits(wanted, found))
        }),
        (Value::String(word), Value::Object(found)) => found.len() == 1 && found.contains_key(word),
        (Value::Array(wanted), Value::Array(found)) => {
            wanted.len() == found.len()
                && wanted
                    .iter()
                    .zip(found)
                    .all(|(wanted, found)| fits(wanted, found))
        }
        // Some settings are kept in single precision.
        (Value::Number(wanted), Value::Number(found)) => match (wanted.as_f64(), found.as_f64()) {
            (Some(wanted), Some(found)) => wanted as f32 == found as f32,
            _ => wanted == found,
        },
        _ => wanted == found,
    }
}

/// The paths at which the configurations of runs differ, but for their seeds.
pub(crate) fn differing(configs: &[&Value]) -> Vec<String> {
    let mut found = Vec::new();
    let configs: Vec<Option<&Value>> = configs.iter().copied().map(Some).collect();
    add_differing("", &configs, &mut found);
    found.retain(|path| path != "seed");
    found
}

/// Adds the paths below `path` at which `values` differ; `path` itself where they are not all settings of the same names.
fn add_differing(path: &str, values: &[Option<&Value>], found: &mut Vec<String>) {
    if values.windows(2).all(|pair| pair[0] == pair[1]) {
        return;
    }
    let maps: Option<Vec<&Map<String, Value>>> = values
        .iter()
        .map(|value| value.and_then(Value::as_object))
        .collect();
    let names = |map: &Map<String, Value>| map.keys().cloned().collect::<Vec<_>>();
    let maps = maps.filter(|maps| maps.windows(2).all(|pair| names(pair[0]) == names(pair[1])));
    let Some(maps) = maps else {
        found.push(path.to_owned());
        return;
    };
    for name in names(maps[0]) {
        let below = match path {
            "" => name.clone(),
            path => format!("{path}.{name}"),
        };
        let values: Vec<Option<&Value>> = maps.iter().map(|map| map.get(&name)).collect();
        add_differing(&below, &values, found);
    }
}

/// The settings as a person reads them.
pub(crate) fn shown(settings: &BTreeMap<String, Value>) -> String {
    let pairs = settings
        .iter()
        .map(|(path, value)| format!("{path}: {value}"));
    pairs.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_stand_for_choices_and_objects_for_their_keys() {
        assert!(fits(&json!("ring"), &json!({"ring": {"hops": 1}})));
        assert!(fits(&json!("mnist"), &json!("mnist")));
        assert!(fits(
            &json!({"similarity": {"percent": 0}}),
            &json!({"similarity": {"clients": 20, "percent": 0.0}})
        ));
        assert!(!fits(
            &json!({"similarity": {"percent": 50}}),
            &json!({"similarity": {"clients": 20, "percent": 0.0}})
        ));
        assert!(!fits(&json!("ring"), &json!({"path": {}})));
        assert!(fits(&json!(0.9), &json!(f64::from(0.9f32))));
        assert!(fits(&json!(null), &json!(null)));
        assert!(fits(
            &json!({"dfedrw": {"quantise": null}}),
            &json!({"dfedrw": {"hops": 5}})
        ));
        assert!(!fits(&json!("none"), &json!(null)));
    }

    #[test]
    fn runs_of_one_value_differ_in_their_seeds_alone() {
        let config = |seed: u64, topology: Value, rate: f64| json!({"seed": seed, "topology": topology, "dsgd": {"rate": rate}});
        let ring = || json!({"ring": {"hops": 1}});
        let [one, other] = [1, 2].map(|seed| config(seed, ring(), 0.1));
        assert_eq!(differing(&[&one, &other]), Vec::<String>::new());
        assert_eq!(differing(&[]), Vec::<String>::new());
        let third = config(1, json!({"complete": {}}), 0.5);
        assert_eq!(
            differing(&[&one, &other, &third]),
            ["topology", "dsgd.rate"]
        );
    }
}
