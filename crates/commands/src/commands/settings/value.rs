//! What a value may be, in words of Markdown.

use serde_json::{Map, Value};

/// The most names of a choice that are listed in a cell.
const MOST_NAMES: usize = 6;

/// The definition that `schema` refers to, and its name.
pub(super) fn definition<'a>(
    schema: &'a Value,
    definitions: &'a Map<String, Value>,
) -> Option<(&'a str, &'a Value)> {
    let name = schema["$ref"].as_str()?.strip_prefix("#/$defs/")?;
    Some((name, &definitions[name]))
}

/// The heading of a definition: `LearningRate` is `Learning rate`.
pub(super) fn heading(name: &str) -> String {
    let mut words = String::new();
    for (at, letter) in name.chars().enumerate() {
        match letter {
            '_' => words.push(' '),
            '0'..='9' if at + 1 == name.len() => {
                words.push(' ');
                words.push(letter);
            }
            _ if at == 0 => words.extend(letter.to_uppercase()),
            _ if letter.is_uppercase() => {
                words.push(' ');
                words.extend(letter.to_lowercase());
            }
            _ => words.push(letter),
        }
    }
    words
}

/// The part of an address that leads to a heading, as code hosts and MkDocs make it.
pub(super) fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ if letter.is_alphanumeric() => Some(letter.to_ascii_lowercase()),
        _ => None,
    });
    kept.collect()
}

/// The choices of a definition, each with its name.
pub(super) fn choices(schema: &Value) -> Vec<(&str, &Value)> {
    let all = schema["oneOf"].as_array().into_iter().flatten();
    let named = all.filter_map(|choice| match choice["const"].as_str() {
        Some(name) => Some((name, choice)),
        None => Some((
            choice["properties"].as_object()?.keys().next()?.as_str(),
            choice,
        )),
    });
    named.collect()
}

/// What the choice `name` holds, without the `null` that stands for nothing; `None` if it has no keys.
pub(super) fn content<'a>(name: &str, choice: &'a Value) -> Option<&'a Value> {
    let content = choice["properties"].get(name)?;
    let content = content["anyOf"].get(0).unwrap_or(content);
    (content["maxProperties"] != 0).then_some(content)
}

/// What `schema` takes: `number`, `list of whole numbers`, or a link to what describes it.
pub(super) fn words(schema: &Value, definitions: &Map<String, Value>) -> String {
    if let Some((name, of)) = definition(schema, definitions) {
        return match is_described(of) {
            true => link(name, of),
            false => words(of, definitions),
        };
    }
    if let Some(constant) = schema.get("const") {
        return format!("`{}`", yaml(constant));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(several) = schema[key].as_array() {
            return any_of(several, definitions);
        }
    }
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds.as_slice(),
        Value::Null => return "anything".to_owned(),
        kind => std::slice::from_ref(kind),
    };
    let kinds = kinds.iter().filter_map(Value::as_str);
    let kinds: Vec<String> = kinds
        .filter(|kind| *kind != "null")
        .map(|kind| of_kind(kind, schema, definitions))
        .collect();
    kinds.join(" or ")
}

/// Whether a definition has a part of the page of its own.
pub(super) fn is_described(definition: &Value) -> bool {
    definition["properties"].is_object() || !choices(definition).is_empty()
}

fn link(name: &str, definition: &Value) -> String {
    let choices = choices(definition);
    let is_word = |(_, choice): &(&str, &Value)| choice.get("const").is_some();
    let text = match choices.len() {
        0 => "map".to_owned(),
        1..=MOST_NAMES if choices.iter().all(is_word) => listed(
            choices
                .iter()
                .map(|(name, _)| format!("`{name}`"))
                .collect(),
        ),
        _ => "choice".to_owned(),
    };
    format!("[{text}](#{})", anchor(&heading(name)))
}

fn any_of(several: &[Value], definitions: &Map<String, Value>) -> String {
    let mut all: Vec<String> = Vec::new();
    for part in several.iter().filter(|part| part["type"] != "null") {
        let part = words(part, definitions);
        if !all.contains(&part) {
            all.push(part);
        }
    }
    listed(all)
}

/// `a, b or c`.
fn listed(mut all: Vec<String>) -> String {
    let last = all.pop().unwrap_or_default();
    match all.is_empty() {
        true => last,
        false => format!("{} or {last}", all.join(", ")),
    }
}

fn of_kind(kind: &str, schema: &Value, definitions: &Map<String, Value>) -> String {
    let least = schema["minimum"].as_f64().unwrap_or(0.0);
    match kind {
        "integer" if least > 0.0 => format!("whole number from {least}"),
        "integer" => "whole number".to_owned(),
        "boolean" => "`true` or `false`".to_owned(),
        "string" if schema["maxLength"] == 1 => "one character".to_owned(),
        "string" => "text".to_owned(),
        "array" => list(schema, definitions),
        "object" if schema["additionalProperties"]["items"].is_object() => {
            "map of lists".to_owned()
        }
        "object" => "map".to_owned(),
        kind => kind.to_owned(),
    }
}

fn list(schema: &Value, definitions: &Map<String, Value>) -> String {
    let of = match schema["prefixItems"].as_array() {
        Some(items) => items.first().map(|item| words(item, definitions)),
        None => schema.get("items").map(|item| words(item, definitions)),
    };
    let count = schema["maxItems"]
        .as_u64()
        .map(|count| format!("{count} × "));
    let of = of.filter(|of| of != "anything").unwrap_or_default();
    match of.is_empty() {
        true => "list".to_owned(),
        false => format!("list of {}{}", count.unwrap_or_default(), plural(&of)),
    }
}

/// `numbers` for `number`; what is no plain word stays.
fn plural(of: &str) -> String {
    match of {
        "number" | "whole number" | "text" | "map" => format!("{of}s"),
        "whole number or text" => "whole numbers or texts".to_owned(),
        of => of.replace("[map]", "[maps]"),
    }
}

/// A default as a file would have it, in one line.
pub(super) fn yaml(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::String(text) if text.is_empty() || text.contains([',', ':', ' ']) => {
            format!("\"{text}\"")
        }
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", joined(items.iter().map(yaml).collect())),
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| format!("{key}: {}", yaml(value));
            format!("{{{}}}", joined(entries.iter().map(entry).collect()))
        }
        Value::Number(number) => number.to_string().trim_end_matches(".0").to_owned(),
        other => other.to_string(),
    }
}
