//! Run folders with plausible figures, for tests and for looking at the page.

use meshfold_experiment::results::Settings;
use meshfold_topology::{Overlay, OverlaySummary, Weights};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run to be made up.
pub(crate) struct Fixture {
    pub(crate) name: &'static str,
    pub(crate) clients: usize,
    pub(crate) rounds: usize,
    pub(crate) seed: u64,
    /// As a configuration has it, such as `{ring: {hops: 1}}`.
    pub(crate) topology: &'static str,
    pub(crate) learning_rate: f64,
    /// Bits of a parameter, if messages are quantised.
    pub(crate) bits: Option<u32>,
    /// Whether the run came to its end.
    pub(crate) finished: bool,
}

impl Default for Fixture {
    fn default() -> Self {
        Self {
            name: "quickstart",
            clients: 100,
            rounds: 30,
            seed: 1,
            topology: "{ring: {hops: 1}}",
            learning_rate: 0.01,
            bits: None,
            finished: true,
        }
    }
}

const PARAMETERS: u64 = 159_010;

impl Fixture {
    /// Writes the run's folder below `runs` and says where it is.
    pub(crate) fn write(&self, runs: &Path) -> PathBuf {
        let folder = runs.join(self.name).join(self.id());
        fs::create_dir_all(&folder).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let put = |file: &str, text: String| fs::write(folder.join(file), text).unwrap();
        put("config.yaml", self.config());
        let topology = Settings::parse(&self.config()).unwrap().topology().unwrap();
        let first = topology.epoch(1, self.clients);
        let overlay = first.build(self.clients, &mut rng).unwrap().overlay;
        let weights = Weights::default();
        let matrix = weights.matrix(&overlay).unwrap();
        let (summary, _) = OverlaySummary::new(&overlay, &weights, &matrix).unwrap();
        put(
            "overlay.json",
            serde_json::to_string_pretty(&summary).unwrap(),
        );
        put(
            "overlay.edges",
            overlay.edges().map(|(a, b)| format!("{a} {b}\n")).collect(),
        );
        put("partition.csv", self.partition());
        let run = self.run(&overlay, summary.lambda.unwrap(), &mut rng);
        put("metrics.jsonl", run.metrics);
        write_clients(&folder.join("clients.parquet"), &run.accuracies);
        put("environment.json", "{}".to_owned());
        let status = match self.finished {
            true => "finished",
            false => "interrupted",
        };
        let label = format!("made up with seed {}", self.seed);
        let summary = json!({
            "label": label, "status": status, "error": null, "clients": self.clients, "parameters": PARAMETERS,
        });
        put("summary.json", summary.to_string());
        if self.finished {
            put(
                "DONE",
                r#"{"meshfold": "0.1.0", "device": "cpu"}"#.to_owned(),
            );
        }
        folder
    }

    fn id(&self) -> String {
        let text = format!(
            "{}{}{}{}{:?}",
            self.topology, self.seed, self.clients, self.learning_rate, self.bits
        );
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        format!("{hash:016x}")
    }

    fn config(&self) -> String {
        let Self {
            name,
            clients,
            rounds,
            seed,
            topology,
            learning_rate,
            bits,
            ..
        } = self;
        let quantise = bits.map_or_else(String::new, |bits| {
            format!("    quantise:\n      bits: {bits}\n")
        });
        format!(
            "name: {}\nseed: {seed}\ndataset:\n  glyphs:\n    train: 60000\n    test: 10000\n\
             partition:\n  shards:\n    clients: {clients}\n    per_client: 2\nstart: same\n\
             topology: {topology}\nweights:\n  metropolis_hastings: {{}}\n\
             model:\n  mlp:\n    hidden:\n    - 200\n\
             algorithm:\n  dfedavgm:\n    local:\n      epochs: 3\n    batch_size: 20\n    draw: shuffled\n    \
             learning_rate: {learning_rate}\n    momentum: 0.9\n    weight_decay: 0\n    clip_norm: null\n{quantise}\
             rounds: {rounds}\n\
             evaluate:\n  every: 1\n  examples: all\n  train: false\n  targets: [0.65, 0.8]\n",
            json!(name)
        )
    }

    fn partition(&self) -> String {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut csv = String::from("client,label,examples\n");
        let examples = 60_000 / self.clients / 2;
        for client in 0..self.clients {
            let first = rng.random_range(0..10);
            let second = (first + rng.random_range(1..10)) % 10;
            let (low, high) = (first.min(second), first.max(second));
            writeln!(csv, "{client},{low},{examples}\n{client},{high},{examples}").unwrap();
        }
        csv
    }

    /// Models that grow with rounds and disagree as λ says, neighbours on the overlay faring alike.
    fn run(&self, overlay: &Overlay, lambda: f64, rng: &mut ChaCha8Rng) -> Run {
        let talent = smoothed(
            overlay,
            (0..self.clients)
                .map(|_| rng.random_range(-1.0..1.0))
                .collect(),
        );
        let ceiling =
            0.955 - 0.16 * lambda.powi(6) - if self.learning_rate > 0.05 { 0.1 } else { 0.0 };
        let (mut metrics, mut accuracies) = (String::new(), Vec::new());
        let end = if self.finished {
            self.rounds
        } else {
            self.rounds / 2
        };
        for round in 0..=end {
            let grown = 1.0 - (-(round as f64) / (3.0 + 14.0 * lambda.powi(4))).exp();
            let width = 0.02 + 0.10 * lambda;
            let clients: Vec<f64> = talent
                .iter()
                .map(|talent| {
                    0.1 + grown * (ceiling - 0.1 + width * talent + rng.random_range(-0.012..0.012))
                })
                .map(|accuracy: f64| accuracy.clamp(0.05, 0.99))
                .collect();
            let spread = |figure: fn(f64) -> f64| {
                let values: Vec<f64> = clients.iter().map(|accuracy| figure(*accuracy)).collect();
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                let variance = values
                    .iter()
                    .map(|value| (value - mean).powi(2))
                    .sum::<f64>()
                    / values.len() as f64;
                let (min, max) = values
                    .iter()
                    .fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
                        (low.min(*value), high.max(*value))
                    });
                json!({ "mean": mean, "min": min, "max": max, "std": variance.sqrt() })
            };
            let disagreement = 4.0 * lambda * lambda / (1.0 - lambda * lambda).sqrt();
            let model_bytes = f64::from(self.bits.unwrap_or(32)) / 8.0 * PARAMETERS as f64;
            let messages = 2.0 * overlay.edge_count() as f64 * round as f64;
            let degree = 2.0 * overlay.edge_count() as f64 / self.clients as f64;
            let line = json!({
                "round": round, "local_steps": round * self.clients * 90, "examples_seen": round * 180_000,
                "train_loss": if round == 0 { None } else { Some(2.0 * (1.0 - grown) + 0.05) },
                "test_accuracy": spread(|accuracy| accuracy), "test_loss": spread(|accuracy| -accuracy.ln() * 1.3),
                "mean_model_accuracy": 0.1 + grown * (ceiling - 0.08),
                "consensus_distance": if round == 0 { 0.0 } else { disagreement * (0.1 + grown) },
                "bytes_total": messages * model_bytes,
                "bytes_busiest_node": 2.0 * degree * round as f64 * model_bytes,
                "simulated_seconds": null, "wall_seconds": (1.1 + 0.01 * degree) * round as f64, "alive": self.clients,
            });
            writeln!(metrics, "{line}").unwrap();
            accuracies.push(clients);
        }
        Run {
            metrics,
            accuracies,
        }
    }
}

struct Run {
    metrics: String,
    accuracies: Vec<Vec<f64>>,
}

/// Values averaged over neighbours a few times and brought back to -1..1.
fn smoothed(overlay: &Overlay, mut values: Vec<f64>) -> Vec<f64> {
    for _ in 0..3 {
        let near = |node: usize| {
            let neighbours = overlay.neighbours(node);
            let sum: f64 = neighbours
                .iter()
                .take(8)
                .map(|&other| values[other as usize])
                .sum();
            (values[node] + sum) / (1 + neighbours.len().min(8)) as f64
        };
        values = (0..values.len()).map(near).collect();
    }
    let largest = values
        .iter()
        .fold(1e-9_f64, |largest, value| largest.max(value.abs()));
    values.into_iter().map(|value| value / largest).collect()
}

fn write_clients(path: &Path, accuracies: &[Vec<f64>]) {
    let schema = "message clients { required int32 round; required int32 row; required binary kind (utf8); \
                  required double accuracy; required double loss; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut file =
        SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::default()).unwrap();
    for (round, clients) in accuracies.iter().enumerate() {
        let mut group = file.next_row_group().unwrap();
        let mut column_index = 0;
        while let Some(mut column) = group.next_column().unwrap() {
            match column.untyped() {
                ColumnWriter::Int32ColumnWriter(column) => {
                    let rows = |row| {
                        if column_index == 0 {
                            round as i32
                        } else {
                            row as i32
                        }
                    };
                    column
                        .write_batch(
                            &(0..clients.len()).map(rows).collect::<Vec<_>>(),
                            None,
                            None,
                        )
                        .unwrap();
                }
                ColumnWriter::ByteArrayColumnWriter(column) => {
                    column
                        .write_batch(&vec![ByteArray::from("client"); clients.len()], None, None)
                        .unwrap();
                }
                ColumnWriter::DoubleColumnWriter(column) => {
                    column.write_batch(clients, None, None).unwrap();
                }
                _ => unreachable!("the schema has no other columns"),
            };
            column.close().unwrap();
            column_index += 1;
        }
        group.close().unwrap();
    }
    file.close().unwrap();
}
