//! The reference of all settings as one page of Markdown, made of their schema.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::value::{choices, content, definition, heading, is_described, words, yaml};

const BEGINNING: &str = "\
# Settings

This page is written by `meshfold settings --markdown`, from the types that read a file. [Experiments by
example](../../experiments/README.md) has a line for each choice, and says how settings play together.

A file is a map of the keys below. Where a choice takes further keys, it is a map of its name and these, such as
`topology: {ring: {hops: 2}}`; if all of them have defaults, the name alone will do: `topology: ring`. A key without a default must be
given, unless its default is *none*: then it may be left out, or be `null`. `meshfold plan FILE` prints what a file comes to.

`meshfold settings > settings.json` writes the same as a JSON Schema. An editor that knows the YAML language server completes and checks
files that begin with `# yaml-language-server: $schema=settings.json`.
";

/// Keys whose choices have a part of the page each.
const LARGE: &[&str] = &[
    "dataset",
    "partition",
    "topology",
    "weights",
    "model",
    "algorithm",
];

/// The page of `schema`, that of an experiment's file.
pub(super) fn page(schema: &Value) -> String {
    let empty = Map::new();
    let mut page = Page {
        definitions: schema["$defs"].as_object().unwrap_or(&empty),
        text: BEGINNING.to_owned(),
        told: Vec::new(),
        left: Vec::new(),
    };
    page.heading(2, "The file");
    page.keys(schema, &[]);
    for key in LARGE {
        let property = &schema["properties"][key];
        let choices = page.resolved(property);
        page.large(key, choices);
    }
    page.heading(2, "Values of several settings");
    while let Some(name) = page.next() {
        page.definition(&name);
    }
    page.text
}

struct Page<'a> {
    definitions: &'a Map<String, Value>,
    text: String,
    /// Definitions that the page has.
    told: Vec<String>,
    /// Definitions that it refers to, in the order in which it does.
    left: Vec<String>,
}

impl<'a> Page<'a> {
    fn heading(&mut self, level: usize, text: &str) {
        self.line(&format!("\n{} {text}", "#".repeat(level)));
    }

    fn line(&mut self, text: &str) {
        writeln!(self.text, "{text}").expect("a String takes any text");
    }

    fn next(&mut self) -> Option<String> {
        let told = &self.told;
        let at = self.left.iter().position(|name| !told.contains(name))?;
        Some(self.left.remove(at))
    }

    /// What `schema` refers to, if to a definition, also where it may be null.
    fn resolved(&mut self, schema: &'a Value) -> &'a Value {
        let schema = schema["anyOf"].get(0).unwrap_or(schema);
        match definition(schema, self.definitions) {
            Some((name, of)) => {
                self.told.push(name.to_owned());
                of
            }
            None => schema,
        }
    }

    /// A part for the key, and one for each of its choices.
    fn large(&mut self, key: &str, schema: &'a Value) {
        self.heading(2, key);
        self.description(schema);
        let shared = self.shared_keys(schema);
        if !shared.is_empty() {
            self.line("\nAll have these keys, and some have others:");
            shared.iter().for_each(|(_, key, _)| self.refer(key));
            let properties = shared
                .iter()
                .map(|(name, key, _)| ((*name).to_owned(), (*key).clone()));
            let required = shared.iter().filter(|(_, _, required)| *required);
            let required = required.map(|(name, _, _)| Value::from(*name));
            let table = serde_json::json!({
                "properties": Map::from_iter(properties),
                "required": Value::from_iter(required),
            });
            self.table(&table, &[]);
        }
        let shared: Vec<(&str, &Value)> =
            shared.iter().map(|(name, key, _)| (*name, *key)).collect();
        for (name, choice) in with_content(schema) {
            self.heading(3, &format!("`{key}: {name}`"));
            self.choice(name, choice, &shared);
        }
    }

    /// The keys that all choices of `schema` have, if these are many; whether they must be given.
    fn shared_keys(&self, schema: &'a Value) -> Vec<(&'a str, &'a Value, bool)> {
        let contents: Vec<&Value> = with_content(schema)
            .iter()
            .filter(|(name, _)| *name != "own")
            .filter_map(|(name, choice)| content(name, choice))
            .filter_map(|content| Some(definition(content, self.definitions)?.1))
            .collect();
        let [first, others @ ..] = contents.as_slice() else {
            return Vec::new();
        };
        let keys = first["properties"].as_object().into_iter().flatten();
        let everywhere = |name: &str| {
            others
                .iter()
                .all(|other| !other["properties"][name].is_null())
        };
        let shared: Vec<_> = keys
            .filter(|(name, _)| everywhere(name))
            .map(|(name, key)| (name.as_str(), key, is_required(first, name)))
            .collect();
        match others.len() > 5 && shared.len() > 2 {
            true => shared,
            false => Vec::new(),
        }
    }

    /// What a choice is, and its keys but those that are `shared` with all others.
    fn choice(&mut self, name: &str, choice: &'a Value, shared: &[(&str, &Value)]) {
        self.description(choice);
        let Some(content) = content(name, choice) else {
            return self.line("\nIt has no keys.");
        };
        if name == "own" {
            return self.line("\nSee [methods, overlays, data and models of your own](../own.md).");
        }
        let of = self.resolved(content);
        if of["additionalProperties"] == false && of["properties"].is_null() {
            self.description(of);
            return self.line("\nIt has no keys.");
        }
        if !of["properties"].is_object() {
            let value = words(of, self.definitions);
            self.refer(of);
            return self.line(&format!("\nIts value is {value}."));
        }
        self.description(of);
        self.other_defaults(of, shared);
        let known: Vec<&str> = shared.iter().map(|(name, _)| *name).collect();
        self.keys(of, &known);
    }

    /// The defaults of `shared` keys that are others than those of the table above.
    fn other_defaults(&mut self, of: &Value, shared: &[(&str, &Value)]) {
        let properties = &of["properties"];
        let others = shared
            .iter()
            .filter(|(name, key)| properties[name]["default"] != key["default"])
            .map(|(name, _)| format!("`{name}: {}`", yaml(&properties[name]["default"])));
        let others: Vec<String> = others.collect();
        if !others.is_empty() {
            self.line(&format!("\nDefaults of its own: {}.", others.join(", ")));
        }
    }

    /// The part of the page about the definition `name`.
    fn definition(&mut self, name: &str) {
        self.told.push(name.to_owned());
        let of = &self.definitions[name];
        self.heading(3, &heading(name));
        self.description(of);
        let choices = with_content(of);
        if choices.is_empty() {
            return self.keys(of, &[]);
        }
        self.line("\n| choice | |\n|---|---|");
        for (name, choice) in choices {
            let written = self.written(name, choice);
            let text = summary(&choice["description"]);
            self.line(&format!("| {written} | {text} |"));
        }
    }

    /// A choice as a file would have it.
    fn written(&mut self, name: &str, choice: &'a Value) -> String {
        let Some(content) = content(name, choice) else {
            return format!("`{name}`");
        };
        self.refer(content);
        format!("`{name}`: {}", words(content, self.definitions))
    }

    fn description(&mut self, schema: &Value) {
        let text = schema["description"].as_str().unwrap_or_default();
        for paragraph in text.split("\n\n").filter(|text| !text.is_empty()) {
            let paragraph = match paragraph.split_once(": ") {
                // A source has the titles of papers in italics.
                Some(("Source", rest)) => {
                    format!("*Source:* {}", escaped(rest).replace("\\*", "*"))
                }
                Some(("Interpretation", rest)) => format!("*Interpretation:* {}", escaped(rest)),
                _ => escaped(paragraph),
            };
            self.line(&format!("\n{paragraph}"));
        }
    }

    /// The keys of a map but those that are `known`, as a table.
    fn keys(&mut self, of: &'a Value, known: &[&str]) {
        for (name, key) in of["properties"].as_object().into_iter().flatten() {
            if !is_large(name, key) && !known.contains(&name.as_str()) {
                self.refer(key);
            }
        }
        self.table(of, known);
    }

    fn table(&mut self, of: &Value, known: &[&str]) {
        let keys = of["properties"].as_object().into_iter().flatten();
        let keys: Vec<_> = keys
            .filter(|(name, _)| !known.contains(&name.as_str()))
            .collect();
        if keys.is_empty() {
            if known.is_empty() {
                self.line("\nIt has no keys.");
            }
            return;
        }
        let has_units = keys.iter().any(|(_, key)| key["unit"].is_string());
        self.line(match has_units {
            true => "\n| key | value | unit | default | |\n|---|---|---|---|---|",
            false => "\n| key | value | default | |\n|---|---|---|---|",
        });
        for (name, key) in keys {
            let value = match is_large(name, key) {
                true => format!("[choice](#{name})"),
                false => words(key, self.definitions),
            };
            let unit = match has_units {
                true => format!(" {} |", key["unit"].as_str().unwrap_or_default()),
                false => String::new(),
            };
            let default = match (&key["default"], is_required(of, name)) {
                (_, true) => String::new(),
                (Value::Null, false) => "*none*".to_owned(),
                (default, false) => format!("`{}`", yaml(default)),
            };
            let text = summary(&key["description"]);
            self.line(&format!(
                "| `{name}` | {value} |{unit} {default} | {text} |"
            ));
        }
    }

    /// Notes what a value refers to, to be described further down.
    fn refer(&mut self, schema: &Value) {
        if let Some((name, of)) = definition(schema, self.definitions) {
            match is_described(of) {
                true => self.left.push(name.to_owned()),
                false => self.refer(of),
            }
        }
        for key in ["anyOf", "oneOf", "prefixItems"] {
            for part in schema[key].as_array().into_iter().flatten() {
                self.refer(part);
            }
        }
        if schema["items"].is_object() {
            self.refer(&schema["items"]);
        }
    }
}

/// The choices of `schema`, each once: a name alone is left out where the same choice has keys.
fn with_content(schema: &Value) -> Vec<(&str, &Value)> {
    let all = choices(schema);
    let has_keys = |name: &str| {
        let with =
            |(other, choice): &(&str, &Value)| *other == name && choice.get("const").is_none();
        all.iter().any(with)
    };
    let once = all
        .iter()
        .filter(|(name, choice)| choice.get("const").is_none() || !has_keys(name));
    once.copied().collect()
}

/// Whether the page has a part for the key, whose value is a choice.
fn is_large(name: &str, key: &Value) -> bool {
    LARGE.contains(&name) && key["type"].is_null()
}

fn is_required(of: &Value, name: &str) -> bool {
    let required = match of.get("required") {
        Some(required) => required,
        // The file itself: what a sweep may give.
        None => &of["anyOf"][0]["required"],
    };
    let mut names = required.as_array().into_iter().flatten();
    names.any(|required| required == name)
}

/// The first paragraph of a description, for a cell of a table.
fn summary(description: &Value) -> String {
    let text = description.as_str().unwrap_or_default();
    let first = text.split("\n\n").next().unwrap_or_default();
    escaped(first).replace('|', "\\|")
}

/// `text` without what Markdown would take for markup outside of code.
fn escaped(text: &str) -> String {
    let mut in_code = false;
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '`' => in_code = !in_code,
            '<' | '*' | '_' if !in_code => plain.push('\\'),
            _ => {}
        }
        plain.push(letter);
    }
    plain
}
