//! The settings of a run, as TensorBoard's HParams page compares them.

use std::collections::BTreeMap;

use meshfold_experiment::results::variant;
use prost::{Message, Oneof};
use serde_json::{Map, Value};

use crate::event::Event;
use crate::leaves::leaves;

/// The plugin, with its name in `SummaryMetadata`.
const PLUGIN: &str = "hparams";

/// `HParamsPluginData` of `plugin_data.proto`.
#[derive(Clone, PartialEq, Message)]
struct PluginData {
    #[prost(oneof = "Told", tags = "3, 4")]
    told: Option<Told>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Told {
    #[prost(message, tag = "3")]
    Start(SessionStart),
    #[prost(message, tag = "4")]
    End(SessionEnd),
}

/// `SessionStartInfo`.
#[derive(Clone, PartialEq, Message)]
struct SessionStart {
    #[prost(btree_map = "string, message", tag = "1")]
    hyperparameters: BTreeMap<String, Setting>,
    #[prost(double, tag = "5")]
    start_seconds: f64,
}

/// `SessionEndInfo`.
#[derive(Clone, PartialEq, Message)]
struct SessionEnd {
    #[prost(int32, tag = "1")]
    status: i32,
    #[prost(double, tag = "2")]
    end_seconds: f64,
}

/// `google.protobuf.Value`.
#[derive(Clone, PartialEq, Message)]
struct Setting {
    #[prost(oneof = "Kind", tags = "2, 3, 4")]
    kind: Option<Kind>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Kind {
    #[prost(double, tag = "2")]
    Number(f64),
    #[prost(string, tag = "3")]
    Text(String),
    #[prost(bool, tag = "4")]
    Truth(bool),
}

/// The event that tells of the settings of a run: those that its sweep varies, and the rest of its configuration.
pub(crate) fn session_start(wall_time: f64, config: &Value, sweep: &Map<String, Value>) -> Event {
    let start = SessionStart {
        hyperparameters: settings(config, sweep),
        start_seconds: wall_time,
    };
    told(wall_time, "session_start_info", Told::Start(start))
}

/// The event that tells that the run has ended, whether `well` or failed.
pub(crate) fn session_end(wall_time: f64, well: bool) -> Event {
    let end = SessionEnd {
        status: if well { 1 } else { 2 },
        end_seconds: wall_time,
    };
    told(wall_time, "session_end_info", Told::End(end))
}

fn told(wall_time: f64, tag: &str, told: Told) -> Event {
    let message = PluginData { told: Some(told) }.encode_to_vec();
    Event::message(wall_time, &format!("_hparams_/{tag}"), (PLUGIN, message))
}

/// All settings by their dotted paths. One that the sweep varies is a single value, however much lies below its path, so that
/// runs can be compared by it.
fn settings(config: &Value, sweep: &Map<String, Value>) -> BTreeMap<String, Setting> {
    let leaves = leaves(config, '.').into_iter();
    let mut settings: BTreeMap<String, Setting> = leaves
        .filter_map(|(path, value)| Some((path, setting(value)?)))
        .collect();
    for (path, value) in sweep {
        let below = format!("{path}.");
        settings.retain(|leaf, _| leaf != path && !leaf.starts_with(&below));
        settings.extend(setting(value).map(|setting| (path.clone(), setting)));
    }
    settings
}

/// The setting of one `value`; none if it is not set.
fn setting(value: &Value) -> Option<Setting> {
    let kind = match value {
        Value::Null => return None,
        Value::Bool(truth) => Kind::Truth(*truth),
        Value::Number(number) => Kind::Number(number.as_f64()?),
        value => Kind::Text(setting_text(value)),
    };
    Some(Setting { kind: Some(kind) })
}

/// `regular degree=3` for `{regular: {degree: 3}}`; other values as JSON.
fn setting_text(value: &Value) -> String {
    match (value, variant(value)) {
        (Value::String(text), _) => text.clone(),
        (_, Some((name, Value::Object(fields)))) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            let fields = fields.map(|(key, value)| format!(" {key}={}", setting_text(value)));
            format!("{name}{}", fields.collect::<String>())
        }
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(config: &Value, sweep: &Value) -> Vec<String> {
        let found = settings(config, sweep.as_object().unwrap());
        let line = |(path, setting): (String, Setting)| match setting.kind.unwrap() {
            Kind::Number(number) => format!("{path}={number}"),
            Kind::Text(text) => format!("{path}='{text}'"),
            Kind::Truth(truth) => format!("{path}={truth}"),
        };
        found.into_iter().map(line).collect()
    }

    #[test]
    fn settings_go_by_their_paths() {
        let config = json!({"seed": 1, "model": {"mlp": {"hidden": [200]}}, "start": "same", "network": null});
        let expected = ["model.mlp.hidden='[200]'", "seed=1", "start='same'"];
        assert_eq!(shown(&config, &json!({})), expected);
    }

    #[test]
    fn what_the_sweep_varies_is_one_value() {
        let config = json!({"topology": {"regular": {"degree": 3}}, "topology_2": {"a": true}});
        let sweep = json!({"topology": {"regular": {"degree": 3}}});
        let expected = ["topology='regular degree=3'", "topology_2.a=true"];
        assert_eq!(shown(&config, &sweep), expected);
    }
}
