//! Defaults of single precision, as a person writes them.

use schemars::Schema;
use serde_json::Value;

/// Writes a default such as 0.9 of single precision as `0.9`, and not as the nearest number of double precision.
pub(super) fn tidy(schema: &mut Schema) {
    let is_single = schema.get("format").is_some_and(|format| format == "float");
    let Some(default) = schema.get_mut("default").filter(|_| is_single) else {
        return;
    };
    let single = default.as_f64().map(|value| value as f32);
    let written = single.and_then(|single| single.to_string().parse::<f64>().ok());
    if let Some(written) = written {
        *default = Value::from(written);
    }
}
