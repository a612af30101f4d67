//! A choice whose keys all have defaults may be written by its name alone, and a choice without keys like one with keys.

use schemars::Schema;
use schemars::transform::transform_subschemas;
use serde_json::{Map, Value, json};

/// Lets every such choice of `schema` be a name: `ring` for `{ring: {}}`, and `{ring: null}`. Where some choices have keys, the others may
/// be maps as well: `{logistic: {}}` for `logistic`.
pub(super) fn allow(schema: &mut Schema) {
    let definitions = schema.get("$defs").and_then(Value::as_object);
    let definitions = definitions.cloned().unwrap_or_default();
    allow_in(schema, &definitions);
}

fn allow_in(schema: &mut Schema, definitions: &Map<String, Value>) {
    if let Some(Value::Array(choices)) = schema.get_mut("oneOf") {
        let mut all = Vec::with_capacity(2 * choices.len());
        let some_have_keys = choices
            .iter()
            .any(|choice| choice.get("properties").is_some());
        for mut choice in std::mem::take(choices) {
            all.extend(name_alone(&mut choice, definitions));
            let without_keys = some_have_keys.then(|| without_keys(&choice)).flatten();
            all.push(choice);
            all.extend(without_keys);
        }
        *choices = all;
    }
    transform_subschemas(&mut |part: &mut Schema| allow_in(part, definitions), schema);
}

/// The name alone, if `choice` needs no more; then its content may be null as well.
fn name_alone(choice: &mut Value, definitions: &Map<String, Value>) -> Option<Value> {
    let description = choice.get("description").cloned();
    let properties = choice.get_mut("properties")?.as_object_mut()?;
    let (name, content) = properties.iter_mut().next()?;
    if !has_no_required_key(content, definitions) {
        return None;
    }
    *content = json!({"anyOf": [content.take(), {"type": "null"}]});
    Some(json!({"const": name, "description": description}))
}

/// The map without keys that `choice` may be instead, if it is a name.
fn without_keys(choice: &Value) -> Option<Value> {
    let name = choice.get("const")?.as_str()?;
    let content = json!({"anyOf": [{"type": "object", "maxProperties": 0}, {"type": "null"}]});
    Some(json!({
        "type": "object",
        "properties": {name: content},
        "required": [name],
        "additionalProperties": false,
        "description": choice.get("description"),
    }))
}

/// Whether `content` is a map that may be empty.
fn has_no_required_key(content: &Value, definitions: &Map<String, Value>) -> bool {
    let name = content["$ref"].as_str();
    let name = name.and_then(|path| path.strip_prefix("#/$defs/"));
    let content = name.map_or(content, |name| &definitions[name]);
    content["type"] == "object" && content.get("required").is_none()
}
