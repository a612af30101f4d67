//! The numbers that are kept of a run.

use std::fs::{self, File};
use std::path::Path;

use meshfold_test_needs::{Test, test};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Hexadecimal digits that are kept of a SHA-256.
const DIGITS: usize = 8;

/// The numbers of a run, as digests, but for the accuracy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// The YAML file and the run, such as `methods/dsgd`.
    pub(crate) name: String,
    pub(crate) id: String,
    /// The mean test accuracy of the last record.
    pub(crate) accuracy: String,
    /// Of `config.yaml`.
    pub(crate) config: String,
    /// Of the rows of `clients.parquet`.
    pub(crate) table: String,
    /// Of the bytes of `clients.parquet`.
    pub(crate) parquet: String,
    /// Of each line of `metrics.jsonl`, without the time that it took.
    pub(crate) records: Vec<String>,
    /// Those lines; none where the numbers come from `golden.txt`.
    pub(crate) lines: Vec<String>,
    /// The text of `config.yaml`; empty where the numbers come from `golden.txt`.
    pub(crate) configuration: String,
}

impl Numbers {
    /// The numbers of the run called `name`, whose results are in `folder`.
    pub(crate) fn of(name: String, folder: &Path) -> Self {
        let text = fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
        let lines: Vec<String> = text.lines().map(without_wall_seconds).collect();
        let last: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
        let accuracy = last["test_accuracy"]["mean"].as_f64().unwrap();
        let configuration = fs::read_to_string(folder.join("config.yaml")).unwrap();
        let table = folder.join("clients.parquet");
        Self {
            name,
            id: folder.file_name().unwrap().to_str().unwrap().to_owned(),
            accuracy: format!("{accuracy:.4}"),
            config: digest(configuration.as_bytes()),
            table: digest(rows(&table).as_bytes()),
            parquet: digest(&fs::read(&table).unwrap()),
            records: lines.iter().map(|line| digest(line.as_bytes())).collect(),
            lines,
            configuration,
        }
    }
}

/// A line of `metrics.jsonl` without `wall_seconds`, all else as it was written.
fn without_wall_seconds(line: &str) -> String {
    let start = line.find("\"wall_seconds\":").unwrap();
    let length = line[start..].find(',').unwrap() + 1;
    [&line[..start], &line[start + length..]].concat()
}

/// The table at `path`, a line for each row, numbers by their bits.
fn rows(path: &Path) -> String {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let line = |row: parquet::record::Row| {
        let bits = |column| row.get_double(column).unwrap().to_bits();
        let (round, number) = (row.get_int(0).unwrap(), row.get_int(1).unwrap());
        let kind = row.get_string(2).unwrap();
        format!("{round} {number} {kind} {:x} {:x}\n", bits(3), bits(4))
    };
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| line(row.unwrap())).collect()
}

fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let mut text: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    text.truncate(DIGITS);
    text
}

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    vec![test!(the_time_is_cut_out_of_a_record)]
}

fn the_time_is_cut_out_of_a_record() {
    let line = r#"{"round":1,"simulated_seconds":null,"wall_seconds":0.25,"alive":3}"#;
    let expected = r#"{"round":1,"simulated_seconds":null,"alive":3}"#;
    assert_eq!(without_wall_seconds(line), expected);
}
