//! What the file of an experiment has beside the settings of a run.

use schemars::Schema;
use serde_json::{Map, Value, json};

/// Makes of the schema of one run that of an experiment's file: with `sweep`, whose values may take the place of the
/// file's.
pub(super) fn describe(schema: &mut Schema, sweep: Schema) {
    let settings = schema.get("properties").and_then(Value::as_object);
    let settings = settings.expect("a run has settings").clone();
    let root = schema.ensure_object();
    root.insert("title".into(), "Experiment of Meshfold".into());
    root.insert(
        "description".into(),
        "One experiment: a run, or the runs of a sweep.".into(),
    );
    let required = root.remove("required").unwrap_or_default();
    let of_sweep = json!({"required": ["name", "sweep"]});
    root.insert("anyOf".into(), json!([{"required": required}, of_sweep]));
    root["properties"]["sweep"] = sweep.into();
    root["properties"]["sweep"]["description"] = "Many runs of one experiment.".into();
    describe_values(root, &settings);
}

/// The values of whole settings in a sweep are those that the settings have.
fn describe_values(root: &mut Map<String, Value>, settings: &Map<String, Value>) {
    let keys = &mut root["$defs"]["Sweep"]["properties"];
    let value = |name: &String| json!({"$ref": format!("#/properties/{name}")});
    let swept = settings.keys().filter(|name| *name != "name");
    let of_grid = |name: &String| (name.clone(), json!({"type": "array", "items": value(name)}));
    keys["grid"]["properties"] = Value::Object(swept.clone().map(of_grid).collect());
    let of_case = |name: &String| (name.clone(), value(name));
    keys["cases"]["items"]["properties"] = Value::Object(swept.map(of_case).collect());
}
