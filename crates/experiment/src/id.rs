//! The name that a run has by its content.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write;

use crate::config::RunConfig;

/// Hexadecimal digits of an id: 48 bits, so that a million runs collide with probability 2e-3.
const DIGITS: usize = 12;

/// The first 12 hexadecimal digits of the SHA-256 of `config` without its name.
///
/// The configuration is hashed as JSON with sorted keys, so neither the order of the file nor that of the fields
/// matters, and a value that equals its default gives the same id as none.
pub(crate) fn run_id(config: &RunConfig) -> String {
    let mut value =
        serde_json::to_value(config).expect("a configuration has text keys and finite numbers");
    if let Value::Object(map) = &mut value {
        map.shift_remove("name");
    }
    value.sort_all_objects();
    let mut id = sha256(value.to_string().as_bytes());
    id.truncate(DIGITS);
    id
}

/// SHA-256 in lower-case hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            write!(text, "{byte:02x}").expect("a String takes any text");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    const YAML: &str = "\
name: a
dataset: glyphs
partition: {shards: {clients: 100}}
topology: ring
weights: metropolis_hastings
model: {mlp: {hidden: [200]}}
algorithm: {dfedavgm: {batch_size: 20, learning_rate: 0.01}}
rounds: 50
";

    fn id(yaml: &str) -> String {
        run_id(&RunConfig::read(&Source::new("e.yaml", yaml)).unwrap())
    }

    #[test]
    fn ids_are_value_stable() {
        assert_eq!(id(YAML), "88d974706128");
    }

    #[test]
    fn ids_depend_on_values_alone() {
        let reordered: Vec<&str> = YAML.lines().rev().collect();
        let spelt_out = YAML.replace(
            "topology: ring",
            "topology: {ring: {hops: 1}}\nseed: 1\nstart: same",
        );
        for same in [
            YAML.replace("name: a", "name: b"),
            reordered.join("\n"),
            spelt_out,
        ] {
            assert_eq!(id(&same), id(YAML), "{same}");
        }
        let others = [
            ("rounds: 50", "rounds: 51"),
            ("0.01", "0.02"),
            ("topology: ring", "topology: path"),
        ];
        for (old, new) in others {
            assert_ne!(id(&YAML.replace(old, new)), id(YAML), "{new}");
        }
    }
}
