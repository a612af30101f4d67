//! Settings as text. They are written without their types: a writer for each type would take 2 kB of the program.

use erased_serde::Serialize;

const PLAIN: &str = "settings hold text, finite numbers, lists and maps with text keys alone";

/// `settings` as YAML.
pub(crate) fn yaml(settings: &dyn Serialize) -> String {
    serde_yaml::to_string(&settings).expect(PLAIN)
}

/// `settings` as JSON. A number of single precision has the digits that it has in [`yaml`], 0.9 and not 0.8999999761581421.
pub(crate) fn json(settings: &dyn Serialize) -> serde_json::Value {
    let text = serde_json::to_string(settings).expect(PLAIN);
    serde_json::from_str(&text).expect(PLAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_single_precision_have_the_digits_that_were_written() {
        let settings = [0.9_f32, 1e-4, 0.0];
        assert_eq!(json(&settings), serde_json::json!([0.9, 1e-4, 0.0]));
        assert_eq!(yaml(&settings), "- 0.9\n- 0.0001\n- 0.0\n");
    }
}
