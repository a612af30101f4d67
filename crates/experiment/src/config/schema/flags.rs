//! Defaults of keys that are true or false.

use schemars::Schema;
use serde_json::{Value, json};

/// Writes down that keys of `schema` which are true or false, and may be left out, are false by default. Where `config.yaml` leaves such a
/// key out too, its type does not say so.
pub(super) fn complete(schema: &mut Schema) {
    let required = schema.get("required").and_then(Value::as_array).cloned();
    let required = required.unwrap_or_default();
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (key, property) in properties.into_iter().flatten() {
        let is_flag = property.get("type").is_some_and(|kind| kind == "boolean");
        let may_be_absent = !required.iter().any(|needed| needed == key);
        if let Some(property) = property
            .as_object_mut()
            .filter(|_| is_flag && may_be_absent)
        {
            property.entry("default").or_insert(json!(false));
        }
    }
}
