//! Settings as text. They are written without their types: a writer for each type would take 2 kB of the program.

use erased_serde::Serialize;

const PLAIN: &str = "settings hold text, finite numbers, lists and maps with text keys alone";

/// `settings` as YAML.
pub(crate) fn yaml(settings: &dyn Serialize) -> String {
    serde_yaml::to_string(&settings).expect(PLAIN)
}

/// `settings` as JSON.
pub(crate) fn json(settings: &dyn Serialize) -> serde_json::Value {
    serde_json::to_value(settings).expect(PLAIN)
}
