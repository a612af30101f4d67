//! The reference of settings agrees with the types that read them.

#![allow(clippy::unwrap_used)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use meshfold_experiment::{ExperimentSource, RunConfig, settings_schema};
use serde_json::{Map, Value, json};

/// The lines of the YAML in `experiments/README.md`, a choice each.
fn lines() -> Vec<&'static str> {
    let text = include_str!("../../../experiments/README.md");
    let blocks = text.split("```yaml\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap());
    let lines = blocks.flat_map(str::lines);
    lines.filter(|line| !line.starts_with("sweep")).collect()
}

/// What a run with `line` in place of its own says, and what the program reads.
fn given_and_read(line: &str) -> (Value, Value) {
    let key = line.split(':').next().unwrap();
    let others = [
        "name: reference",
        "dataset: glyphs",
        "partition: {iid: {clients: 12}}",
        "model: logistic",
        "algorithm: {dsgd: {batch_size: 20, learning_rate: 0.05}}",
        "rounds: 5",
    ];
    let others = others
        .iter()
        .filter(|other| !other.starts_with(&format!("{key}:")));
    let text: String = others
        .chain([&line])
        .map(|line| format!("{line}\n"))
        .collect();
    let read = RunConfig::read(&ExperimentSource::new("reference.yaml", text.clone())).unwrap();
    let given = serde_yaml::from_str(&text).unwrap();
    (given, serde_json::to_value(&read).unwrap())
}

/// A schema and what it refers to.
struct Settings(Value);

impl Settings {
    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let name = schema["$ref"].as_str();
        match name.and_then(|path| path.strip_prefix("#/$defs/")) {
            Some(name) => self.resolved(&self.0["$defs"][name]),
            None => schema,
        }
    }

    /// The parts of `schema` that may describe `value`: those of a choice that has its name, else all.
    fn parts<'a>(&'a self, schema: &'a Value, value: &Value) -> Vec<&'a Value> {
        let schema = self.resolved(schema);
        let several = ["oneOf", "anyOf"].map(|key| schema[key].as_array());
        let several: Vec<&Value> = several.into_iter().flatten().flatten().collect();
        if several.is_empty() || schema["properties"].is_object() {
            return vec![schema];
        }
        let name = value.as_object().and_then(|map| map.keys().next());
        let has_name =
            |part: &&&Value| name.is_some_and(|name| !part["properties"][name].is_null());
        match several.iter().find(has_name) {
            Some(part) => vec![part],
            None => several
                .iter()
                .flat_map(|part| self.parts(part, value))
                .collect(),
        }
    }

    /// Requires of every key that `given` leaves out that `read` has its default, and counts these keys.
    fn compare(&self, schema: &Value, given: &Value, read: &Value, path: &str) -> usize {
        let Some(read) = read.as_object() else {
            return 0;
        };
        let nothing = Value::Null;
        let mut compared = 0;
        for part in self.parts(schema, &Value::Object(read.clone())) {
            let Some(keys) = part["properties"].as_object() else {
                continue;
            };
            let empty = Map::new();
            for (name, key) in keys {
                let path = format!("{path}.{name}");
                let value = read.get(name).unwrap_or(&nothing);
                let unwritten = &unwritten()[name];
                if value.is_null() && !unwritten.is_null() && key["default"] == *unwritten {
                    continue;
                }
                match given.as_object().unwrap_or(&empty).get(name) {
                    Some(given) => compared += self.compare(key, given, value, &path),
                    None if part["required"]
                        .as_array()
                        .is_some_and(|all| all.contains(&json!(name))) => {}
                    None if is_choice(part) => {
                        compared += self.compare(key, &nothing, value, &path)
                    }
                    None => {
                        assert_eq!(rounded(&key["default"]), rounded(value), "{path}");
                        compared += 1;
                    }
                }
            }
        }
        compared
    }
}

/// Defaults that a configuration does not write, so that the ids of runs are those from before there was the key.
fn unwritten() -> Value {
    json!({
        "keep": false,
        "stop_at_targets": false,
        "head": "softmax",
        "steps_from": "mean",
        "nesterov": false,
        "loses": "everything",
        "classes": 10,
        "validation": 0,
        "values": [],
        "shortfall": "redraw",
        "hold": false,
        "warmup": 0,
        "ignore": [],
        "categories": [],
    })
}

/// Whether the only key is the name of a choice, which a file may write alone.
fn is_choice(part: &Value) -> bool {
    part["properties"].as_object().map(Map::len) == Some(1) && part["required"].is_array()
}

/// The value with all numbers in single precision, as some settings have them.
fn rounded(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64().unwrap() as f32),
        Value::Array(items) => items.iter().map(rounded).collect(),
        Value::Object(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| (key.clone(), rounded(value)));
            Value::Object(entries.collect())
        }
        other => other.clone(),
    }
}

#[test]
fn every_default_is_what_the_program_takes() {
    let settings = Settings(settings_schema());
    let mut compared = 0;
    for line in lines() {
        let (given, read) = given_and_read(line);
        compared += settings.compare(&settings.0, &given, &read, line);
    }
    assert!(compared > 900, "{compared}");
}

#[test]
fn every_choice_of_the_examples_is_described() {
    let schema = settings_schema();
    let described = |key: &str| -> Vec<String> {
        let name = schema["properties"][key].to_string();
        let name = name
            .split("#/$defs/")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        let choices = schema["$defs"][name]["oneOf"].as_array().unwrap();
        let word = |choice: &Value| choice["const"].as_str().map(str::to_owned);
        let of_map = |choice: &Value| choice["properties"].as_object()?.keys().next().cloned();
        let names = choices
            .iter()
            .filter_map(|choice| word(choice).or_else(|| of_map(choice)));
        names.collect()
    };
    for (key, least) in [
        ("dataset", 14),
        ("partition", 13),
        ("topology", 20),
        ("model", 10),
        ("algorithm", 20),
    ] {
        let described = described(key);
        for line in lines()
            .iter()
            .filter(|line| line.starts_with(&format!("{key}: ")))
        {
            let value = line[key.len() + 2..].trim_start_matches('{');
            let name = value.split([':', ' ', '}']).next().unwrap().to_owned();
            assert!(described.contains(&name), "{line}");
        }
        assert!(described.len() > least, "{key}: {described:?}");
    }
}

/// The program reads all of these.
#[test]
fn choices_without_keys_may_be_maps_where_others_have_keys() {
    let schema = settings_schema();
    let has_map = |definition: &str, name: &str| {
        let choices = schema["$defs"][definition]["oneOf"].as_array().unwrap();
        let mut maps = choices
            .iter()
            .filter(|choice| choice["required"] == json!([name]));
        let content = maps.next().map(|choice| &choice["properties"][name]);
        content.map(|content| (content["anyOf"][0]["maxProperties"].clone(), maps.count()))
    };
    assert_eq!(has_map("Model", "logistic"), Some((json!(0), 0)));
    assert_eq!(has_map("Model", "lenet"), Some((json!(0), 0)));
    assert_eq!(has_map("Model", "gn_lenet"), Some((Value::Null, 0)));
    // Of words alone, none is a map.
    assert_eq!(has_map("ExampleOrder", "file"), None);
    let (_, read) = given_and_read("model: {logistic: {}}");
    assert_eq!(read["model"], "logistic");
}

#[test]
fn nothing_of_the_code_is_left_in_the_descriptions() {
    let text = settings_schema().to_string();
    for code in [
        "[`",
        "](crate",
        "# Source",
        "# Interpretation",
        "# Errors",
        "Parameters of",
    ] {
        assert!(
            !text.contains(code),
            "{code}: {}",
            text.split(code)
                .nth(1)
                .unwrap()
                .chars()
                .take(200)
                .collect::<String>()
        );
    }
}

/// The schema and the page that are kept in the project.
const SCHEMA: &str = "docs/reference/settings.json";
const PAGE: &str = "docs/reference/settings.md";

fn kept(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(file)
}

/// What the program prints.
fn said(arguments: &[&str]) -> String {
    let program = Command::new(env!("CARGO_BIN_EXE_meshfold"))
        .args(arguments)
        .output()
        .unwrap();
    assert!(program.status.success());
    String::from_utf8(program.stdout).unwrap()
}

#[test]
fn the_schema_of_the_program_is_that_of_the_types() {
    let made = format!("{:#}\n", settings_schema());
    if env::var_os("MESHFOLD_RECORD").is_some() {
        fs::write(kept(SCHEMA), &made).unwrap();
        return;
    }
    let printed = said(&["settings"]);
    let mut lines = made.lines().zip(printed.lines());
    let differs = lines.find(|(made, printed)| made != printed);
    assert!(
        made == printed,
        "{SCHEMA} is not what the types say ({differs:?}); write it anew: \
         MESHFOLD_RECORD=1 cargo test --release --workspace --test settings"
    );
}

#[test]
fn the_reference_of_settings_is_that_of_the_program() {
    let printed = said(&["settings", "--markdown"]);
    let kept = fs::read_to_string(kept(PAGE)).unwrap();
    let mut lines = printed.lines().zip(kept.lines());
    let differs = lines.find(|(printed, kept)| printed != kept);
    assert!(
        printed == kept,
        "{PAGE} is not what the program prints ({differs:?}); write it anew: cargo run --release -- settings --markdown > {PAGE}"
    );
}

#[test]
fn the_schema_names_the_keys_of_a_file() {
    let schema: Value = serde_json::from_str(&said(&["settings"])).unwrap();
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    for key in ["name", "dataset", "algorithm", "evaluate", "sweep"] {
        assert!(schema["properties"][key].is_object(), "{key}");
    }
    assert_eq!(schema["additionalProperties"], false);
}
