//! The name that a run has by its content.

use std::io;
use std::ops::Range;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter};

use crate::config::run_config::RunConfig;
use crate::files::sha256::sha256;

/// Hexadecimal digits of an id: 48 bits, so that a million runs collide with probability 2e-3.
const DIGITS: usize = 12;

/// The first 12 hexadecimal digits of the SHA-256 of `config`, without its name and its checkpoints, which change no figure.
///
/// The configuration is hashed as JSON with sorted keys, so neither the order of the file nor that of the fields
/// matters, and a value that equals its default gives the same id as none.
pub(crate) fn run_id(config: &RunConfig) -> String {
    let mut json = Vec::with_capacity(1024);
    let serializer = &mut Serializer::with_formatter(&mut json, Doubles);
    let written = match &config.checkpoint {
        Some(_) => {
            let mut config = config.clone();
            config.checkpoint = None;
            config.serialize(serializer)
        }
        None => config.serialize(serializer),
    };
    written.expect("a configuration has text keys and finite numbers");
    let mut rest = json.as_slice();
    let mut sorted = Vec::with_capacity(json.len());
    sort(&mut rest, &mut sorted, &[b"name"]);
    let mut id = sha256(&sorted);
    id.truncate(DIGITS);
    id
}

/// Numbers of single precision are written with all digits that they have in double precision.
struct Doubles;

impl Formatter for Doubles {
    fn write_f32<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f32) -> io::Result<()> {
        CompactFormatter.write_f64(writer, f64::from(value))
    }
}

/// Moves one value of compact JSON from `json` to `sorted`, the keys of its objects sorted; the outermost object is left
/// without the keys `but`.
fn sort(json: &mut &[u8], sorted: &mut Vec<u8>, but: &[&[u8]]) {
    match json[0] {
        b'{' => sort_object(json, sorted, but),
        b'[' => {
            take(json, sorted, 1);
            while json[0] != b']' {
                sort(json, sorted, &[]);
                if json[0] == b',' {
                    take(json, sorted, 1);
                }
            }
            take(json, sorted, 1);
        }
        b'"' => {
            let length = 2 + text(json).len();
            take(json, sorted, length);
        }
        _ => {
            let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}');
            let length = json.iter().position(ends).unwrap_or(json.len());
            take(json, sorted, length);
        }
    }
}

/// [`sort`] of an object.
fn sort_object(json: &mut &[u8], sorted: &mut Vec<u8>, but: &[&[u8]]) {
    *json = &json[1..];
    let begins = sorted.len();
    let mut entries: Vec<(&[u8], Range<usize>)> = Vec::with_capacity(16);
    while json[0] != b'}' {
        let key = text(json);
        *json = &json[key.len() + 3..];
        let value = sorted.len();
        sort(json, sorted, &[]);
        if !but.contains(&key) {
            entries.push((key, value..sorted.len()));
        }
        if json[0] == b',' {
            *json = &json[1..];
        }
    }
    *json = &json[1..];
    entries.sort_unstable_by_key(|(key, _)| *key);
    let values = sorted.split_off(begins);
    let value = |place: &Range<usize>| &values[place.start - begins..place.end - begins];
    sorted.push(b'{');
    for (index, (key, place)) in entries.iter().enumerate() {
        sorted.extend_from_slice(if index == 0 { b"\"" } else { b",\"" });
        sorted.extend_from_slice(key);
        sorted.extend_from_slice(b"\":");
        sorted.extend_from_slice(value(place));
    }
    sorted.push(b'}');
}

/// The text that `json` begins with, without its quotes and with its escapes.
fn text<'a>(json: &&'a [u8]) -> &'a [u8] {
    let mut end = 1;
    while json[end] != b'"' {
        end += if json[end] == b'\\' { 2 } else { 1 };
    }
    &json[1..end]
}

/// Moves `length` bytes from `json` to `sorted`.
fn take(json: &mut &[u8], sorted: &mut Vec<u8>, length: usize) {
    let (taken, rest) = json.split_at(length);
    sorted.extend_from_slice(taken);
    *json = rest;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::source::ExperimentSource;

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
        run_id(&RunConfig::read(&ExperimentSource::new("e.yaml", yaml)).unwrap())
    }

    #[test]
    fn ids_are_value_stable() {
        assert_eq!(id(YAML), "88d974706128");
    }

    /// What is hashed, by the objects of serde_json.
    fn by_objects(config: &RunConfig) -> String {
        let mut value = serde_json::to_value(config).unwrap();
        value.as_object_mut().unwrap().shift_remove("name");
        value.sort_all_objects();
        let mut id = sha256(value.to_string().as_bytes());
        id.truncate(DIGITS);
        id
    }

    #[test]
    fn ids_are_those_of_objects_with_sorted_keys() {
        let reference = include_str!("../../../../experiments/README.md");
        let keys = [
            "dataset",
            "partition",
            "topology",
            "model",
            "algorithm",
            "network",
            "failures",
        ];
        let mut compared = 0;
        for line in reference.lines() {
            let Some((key, _)) = line.split_once(": ").filter(|(key, _)| keys.contains(key)) else {
                continue;
            };
            let kept = YAML.lines().filter(|kept| !kept.starts_with(key));
            let yaml: Vec<&str> = kept.chain([line]).collect();
            let config =
                RunConfig::read(&ExperimentSource::new("e.yaml", yaml.join("\n"))).unwrap();
            assert_eq!(run_id(&config), by_objects(&config), "{line}");
            compared += 1;
        }
        assert!(compared > 70, "{compared} lines");
        let odd = YAML
            .replace(
                "dataset: glyphs",
                "dataset: {csv: {file: \"a\\\"b\\\\ü\\n{[,\", label: 0}}",
            )
            .replace("[200]", "[200, 30], dropout: 0.1")
            .replace("0.01", "1.0e-300");
        let config = RunConfig::read(&ExperimentSource::new("e.yaml", odd)).unwrap();
        assert_eq!(run_id(&config), by_objects(&config));
    }

    #[test]
    fn a_run_is_the_same_with_and_without_checkpoints() {
        for checkpoint in ["{}", "{every: 10}", "{every: 11, keep: true}", "null"] {
            let with = format!("{YAML}checkpoint: {checkpoint}\n");
            assert_eq!(id(&with), id(YAML), "{checkpoint}");
        }
    }

    #[test]
    fn a_run_has_another_id_for_each_way_to_augment_images() {
        let with = |augment: &str| id(&format!("{YAML}augment: {augment}\n"));
        assert_eq!(with("null"), id(YAML));
        let same = "{horizontal_flip: false, crop_padding: 4}";
        assert_eq!(with("{crop_padding: 4}"), with(same));
        let ids = ["null", "{crop_padding: 4}", "{horizontal_flip: true}"].map(with);
        assert!(ids[0] != ids[1] && ids[0] != ids[2] && ids[1] != ids[2]);
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
