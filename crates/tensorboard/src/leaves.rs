//! What lies in nested objects, under paths.

use serde_json::Value;

/// Every value in `tree` that is no object with entries, under the keys that lead to it with `separator` between them.
pub(crate) fn leaves(tree: &Value, separator: char) -> Vec<(String, &Value)> {
    match tree {
        Value::Object(entries) if !entries.is_empty() => {
            let below = |(key, value)| {
                let inside = leaves(value, separator).into_iter();
                inside.map(move |(path, leaf): (String, _)| match path.as_str() {
                    "" => (String::clone(key), leaf),
                    path => (format!("{key}{separator}{path}"), leaf),
                })
            };
            entries.iter().flat_map(below).collect()
        }
        leaf => vec![(String::new(), leaf)],
    }
}
