//! The order of runs that were found in one folder.

use std::cmp::Ordering;
use std::path::Path;

use serde_json::{Map, Value};

use meshfold_experiment::results::RecordedRun;
use meshfold_experiment::results::Settings;
use meshfold_experiment::results::sweep_order;

/// Brings runs that were found in `folder` into the order of their sweep. Runs of which no sweep is known come after, in
/// the order of their settings.
pub(crate) fn sort(folder: &Path, runs: &mut [RecordedRun]) {
    let places = sweep_order::places(folder);
    let place = |run: &RecordedRun| places.get(&run.id).copied().unwrap_or(usize::MAX);
    runs.sort_by(|a, b| {
        let by_settings = || compare(&a.settings, &b.settings).then_with(|| a.id.cmp(&b.id));
        place(a).cmp(&place(b)).then_with(by_settings)
    });
}

/// Compares settings one after the other as the file has them, the seed last.
fn compare(a: &Settings, b: &Settings) -> Ordering {
    let by_keys = |a: &Settings, b: &Settings| {
        let value = |settings: &Settings, key: &str| settings.get(key).clone();
        let pair = |settings: &Settings| -> Map<String, Value> {
            let keys = settings.keys();
            keys.map(|key| (key.to_owned(), value(settings, key)))
                .collect()
        };
        maps(&pair(a), &pair(b))
    };
    by_keys(a, b)
        .then_with(|| a.seed().cmp(&b.seed()))
        .then_with(|| a.name().cmp(b.name()))
}

/// Numbers by size, texts by their letters, lists and maps by the first entry that differs.
fn values(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Number(_), Value::Number(_)) => {
            let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
            number(a).total_cmp(&number(b))
        }
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let pairs = a.iter().zip(b);
            first_difference(pairs.map(|(a, b)| values(a, b))).then(a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => maps(a, b),
        _ => kind(a).cmp(&kind(b)),
    }
}

fn maps(a: &Map<String, Value>, b: &Map<String, Value>) -> Ordering {
    let pairs = a.iter().zip(b);
    let entries = pairs.map(|((key, value), (other_key, other))| {
        key.cmp(other_key).then_with(|| values(value, other))
    });
    first_difference(entries).then(a.len().cmp(&b.len()))
}

fn first_difference(mut orders: impl Iterator<Item = Ordering>) -> Ordering {
    let difference = orders.find(|order| order.is_ne());
    difference.unwrap_or(Ordering::Equal)
}

/// The place of values of another kind: what is absent comes first.
fn kind(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(mut texts: Vec<&str>) -> Vec<&str> {
        let settings = |text: &str| Settings::parse(text).unwrap();
        texts.sort_by(|a, b| compare(&settings(a), &settings(b)));
        texts
    }

    #[test]
    fn numbers_come_by_size_and_seeds_last() {
        let expected = vec![
            "seed: 2\nrounds: 9\nrate: 0.05",
            "seed: 10\nrounds: 9\nrate: 0.05",
            "seed: 1\nrounds: 9\nrate: 0.5",
            "seed: 1\nrounds: 10\nrate: 0.05",
        ];
        let mut shuffled = expected.clone();
        shuffled.reverse();
        shuffled.swap(0, 2);
        assert_eq!(ordered(shuffled), expected);
    }

    #[test]
    fn what_is_absent_comes_first_and_choices_by_name() {
        let expected = vec![
            "topology: null",
            "topology: ring",
            "topology: {regular: {degree: 3}}",
            "topology: {regular: {degree: 20}}",
            "topology: {torus: {}}",
        ];
        let mut shuffled = expected.clone();
        shuffled.rotate_left(2);
        assert_eq!(ordered(shuffled), expected);
    }
}
