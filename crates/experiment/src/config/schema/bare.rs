//! A choice whose keys all have defaults may be written by its name alone.

use schemars::Schema;
use schemars::transform::transform_subschemas;
use serde_json::{Map, Value, json};

/// Lets every such choice of `schema` be a name: `ring` for `{ring: {}}`, and `{ring: null}`.
pub(super) fn allow(schema: &mut Schema) {
    let definitions = schema.get("$defs").and_then(Value::as_object);
    let definitions = definitions.cloned().unwrap_or_default();
    allow_in(schema, &definitions);
}

fn allow_in(schema: &mut Schema, definitions: &Map<String, Value>) {
    if let Some(Value::Array(choices)) = schema.get_mut("oneOf") {
        let mut all = Vec::with_capacity(2 * choices.len());
        for mut choice in std::mem::take(choices) {
            all.extend(name_alone(&mut choice, definitions));
            all.push(choice);
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

/// Whether `content` is a map that may be empty.
fn has_no_required_key(content: &Value, definitions: &Map<String, Value>) -> bool {
    let name = content["$ref"].as_str();
    let name = name.and_then(|path| path.strip_prefix("#/$defs/"));
    let content = name.map_or(content, |name| &definitions[name]);
    content["type"] == "object" && content.get("required").is_none()
}
