//! What can be wrong with an experiment, and what would be right.

use std::io;
use std::path::PathBuf;

use meshfold_algorithms::AlgorithmError;
use meshfold_data::{DataError, PartitionError, nearest};
use meshfold_engine::EngineError;
use meshfold_topology::protocol::ChurnError;
use meshfold_topology::{OverlaySize, TopologyError};
use thiserror::Error;

use crate::config::brief::{brief, listed};
use crate::config::correction::{asks_for_pairs, beside_outside, correction};
use crate::network::NetworkError;

/// What is wrong with an experiment.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigFault {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file has more bytes than are read.
    #[error("cannot read {}: it has {}, at most {} are read", path.display(), count_of_bytes(*bytes, *most), bytes_of(*most))]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its bytes, if it says how many they are.
        bytes: Option<u64>,
        /// The most that are read.
        most: u64,
    },
    /// The file is not the UTF-8 text that YAML is written in.
    #[error("found the byte 0x{byte:02X} at offset {offset} of the file, needed UTF-8 text")]
    NotUtf8 {
        /// The first byte that is no part of such a text.
        byte: u8,
        /// Bytes before it.
        offset: usize,
        /// Whether the file begins as UTF-16 does.
        utf16: bool,
    },
    /// The text is no YAML.
    #[error("{0}")]
    Syntax(String),
    /// The text holds no keys.
    #[error("found {found}, needed the keys of an experiment")]
    NoExperiment {
        /// What it holds instead.
        found: String,
    },
    /// A key that nothing reads.
    #[error("unknown key `{}`", brief(key))]
    UnknownKey {
        /// The key.
        key: String,
        /// The keys that are read here.
        known: Vec<String>,
        /// The dotted path of such a key elsewhere in the experiment.
        elsewhere: Option<String>,
    },
    /// A variant that does not exist.
    #[error("unknown choice `{}`", brief(found))]
    UnknownChoice {
        /// The name found.
        found: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// Several variants where one is needed, or none.
    #[error("found {}, needed one choice", count(found))]
    OneChoice {
        /// The names found.
        found: Vec<String>,
        /// The names there are.
        known: Vec<String>,
    },
    /// A key that has no default is not there.
    #[error("missing key `{key}`")]
    MissingKey {
        /// The key.
        key: String,
    },
    /// A value of another type or out of the range of its type.
    #[error("found {found}, needed {needed}")]
    WrongType {
        /// The value found.
        found: String,
        /// What is needed.
        needed: String,
    },
    /// A value that cannot work.
    #[error("found {found}, needed {needed}")]
    Value {
        /// The value found.
        found: String,
        /// What is needed.
        needed: String,
    },
    /// What a value's own reader said of it.
    #[error("{0}")]
    Refused(String),
    /// An override without a path or a value.
    #[error(
        "found the override `{}`, needed a dotted path, `=` and a value",
        brief(_0)
    )]
    OverrideForm(String),
    /// A path leads into a value that has no keys.
    #[error("found {found}, which has no key `{}`", brief(key))]
    NoKeysHere {
        /// The value that stands there.
        found: String,
        /// The next part of the path.
        key: String,
        /// What sets the whole value instead, as it is written in the file or as an override, if it is known.
        instead: Option<String>,
    },
    /// A path has `*` for the key of a choice where there is none.
    #[error("found {found}, needed a choice, whose key `*` stands for")]
    NoChoiceHere {
        /// The value that stands there.
        found: String,
    },
    /// A path leads past the end of a list.
    #[error("found a list of {length}, which has no entry `{}`", brief(index))]
    NoEntryHere {
        /// Entries of the list.
        length: usize,
        /// The next part of the path.
        index: String,
    },
    /// A path of too many parts.
    #[error("found a path of {parts} parts, at most {most} are possible")]
    LongPath {
        /// Its parts.
        parts: usize,
        /// The most there may be.
        most: usize,
    },
    /// An override of what the sweep sets anyway.
    #[error(
        "the sweep sets `{}` in every run, so this override would change nothing",
        brief(swept)
    )]
    Swept {
        /// The path in the sweep.
        swept: String,
    },
    /// A path of a sweep that replaces what another has set in the same run.
    #[error(
        "`{}` is set after `{}`, whose value is lost by it",
        brief(by),
        brief(lost)
    )]
    Overwritten {
        /// The path that is set first.
        lost: String,
        /// The one that is set after it.
        by: String,
    },
    /// A sweep of too many runs.
    #[error("the sweep asks for {runs} runs, at most {most} are possible")]
    TooManyRuns {
        /// Runs asked for.
        runs: u128,
        /// The most there may be.
        most: usize,
    },
    /// A topology for a method that exchanges over none.
    #[error("{method} does not exchange over an overlay, but one is given")]
    OverlayRefused {
        /// The method.
        method: String,
    },
    /// No topology for a method that needs one.
    #[error("{method} exchanges over an overlay, but none is given")]
    OverlayNeeded {
        /// The method.
        method: String,
    },
    /// Mixing weights without an overlay.
    #[error("weights are given for an overlay that is not there")]
    WeightsWithoutOverlay,
    /// The dataset cannot be had.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The examples cannot be dealt.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// The overlay or its weights cannot be made.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// The network described cannot be, or does not fit the run.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The protocol of an overlay cannot be simulated as asked.
    #[error(transparent)]
    Churn(#[from] ChurnError),
    /// An edge list cannot be used.
    #[error("{}: {message}", brief(&file.display().to_string()))]
    EdgeList {
        /// The file of the edges.
        file: PathBuf,
        /// What is wrong with it, beginning with the line where there is one.
        message: String,
    },
    /// A file of models cannot be started from.
    #[error("{}: {message}", brief(&file.display().to_string()))]
    StartFile {
        /// The file of the models.
        file: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The method's settings cannot work.
    #[error(transparent)]
    Algorithm(#[from] AlgorithmError),
    /// A method and an overlay that do not go together, which a sweep combines among others.
    #[error(transparent)]
    UnsuitedPair(AlgorithmError),
    /// The model cannot be built.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A part of a program's own that this program does not have.
    #[error("this program has no {kind} of its own named `{}`", brief(name))]
    NoOwn {
        /// What it is a name of: `method`.
        kind: &'static str,
        /// The name found.
        name: String,
        /// The names that the program knows.
        known: Vec<String>,
    },
    /// The run is larger than the machine.
    #[error(
        "a run of {rows} rows with {parameters} parameters needs about {}{}, {} are available",
        bytes(*needed), over.map_or_else(String::new, |ranks| format!(" on one of {ranks} ranks")), bytes(*available)
    )]
    Memory {
        /// Rows of the stack.
        rows: usize,
        /// Parameters of a model.
        parameters: usize,
        /// The ranks that it is dealt over.
        over: Option<usize>,
        /// Estimate in bytes, of this process.
        needed: u64,
        /// Bytes that the machine has left for this process.
        available: u64,
        /// Ranks that would be enough, each on a machine like this one.
        enough: Option<usize>,
    },
    /// The overlay is larger than the machine.
    #[error(
        "an overlay of {nodes} nodes with {edges:.0} edges needs about {}, {} are available",
        bytes(*needed), bytes(*available)
    )]
    OverlayMemory {
        /// Nodes of the overlay.
        nodes: usize,
        /// Its edges, or about as many where they are drawn.
        edges: f64,
        /// Estimate in bytes.
        needed: u64,
        /// Bytes that the machine has left.
        available: u64,
    },
    /// The simulation is larger than the machine.
    #[error(
        "a simulation of {nodes} nodes on {spaces} rings needs about {}, {} are available",
        bytes(*needed), bytes(*available)
    )]
    ChurnMemory {
        /// Nodes that the simulation meets.
        nodes: usize,
        /// Rings.
        spaces: usize,
        /// Estimate in bytes.
        needed: u64,
        /// Bytes that the machine has left.
        available: u64,
    },
}

impl ConfigFault {
    /// The overlay of this size needs more than is available.
    pub(crate) fn overlay_memory(size: OverlaySize, needed: u64, available: u64) -> Self {
        Self::OverlayMemory {
            nodes: size.nodes,
            edges: size.edges,
            needed,
            available,
        }
    }

    /// What would be right, if more can be said than that the value should change.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::UnknownKey {
                known,
                elsewhere: Some(path),
                ..
            } => Some(format!(
                "did you mean `{}`? keys here: {}",
                brief(path),
                known.join(", ")
            )),
            Self::UnknownKey { known, .. } if known.is_empty() => {
                Some("it has no keys".to_owned())
            }
            Self::UnknownKey { key, known, .. } => Some(suggestion(key, known, "keys here")),
            Self::UnknownChoice { found, known } => {
                let is_method = known.iter().any(|known| known == "dsgd");
                let published = match is_method && nearest(found, known.iter().map(String::as_str)).is_none() {
                    true => "; a method that is published with the Python package is written `{own: {name: choco_sgd}}`: see docs/published.md",
                    false => "",
                };
                Some(format!("{}{published}", suggestion(found, known, "choices")))
            }
            Self::OneChoice { found, .. } if beside_outside(found).is_some() => {
                beside_outside(found).map(|schedule| {
                    format!("write `{{{schedule}: {{list: [..], outside: alone}}}}`: `outside` goes beside `list`")
                })
            }
            Self::OneChoice { found, known } if known.is_empty() => {
                (!found.is_empty()).then(|| "keep one of them".to_owned())
            }
            Self::OneChoice { known, .. } => Some(format!("choices: {}", known.join(", "))),
            Self::MissingKey { key } => Some(format!("add `{key}: ..`")),
            Self::WrongType { found, needed } => correction(found, needed),
            Self::OverrideForm(_) => {
                Some("such as --set seed=2 or --set topology.regular.degree=4".to_owned())
            }
            Self::NoKeysHere { instead, .. } => {
                let set = |whole: &String| format!("set the whole value: {whole}");
                instead.as_ref().map(set)
            }
            Self::NoChoiceHere { found } if found == "nothing" => Some(
                "where the sweep makes the choice, set the key in its grid: --set 'sweep.grid.algorithm.*.batch_size=[32]'".to_owned(),
            ),
            Self::Swept { swept } => Some(format!(
                "change the sweep's own values with --set 'sweep.grid.{}=[..]', or drop it with --set sweep=null",
                brief(swept)
            )),
            Self::Overwritten { lost, by } if lost == by => {
                Some(format!("keep one `{}`: in the cases or in the grid", brief(by)))
            }
            Self::Overwritten { lost, by } => {
                Some(format!("set `{}` first, then `{}`; or one of them alone", brief(by), brief(lost)))
            }
            Self::NotUtf8 { utf16: true, .. } => {
                Some("it looks like UTF-16: save the file as UTF-8".to_owned())
            }
            Self::NotUtf8 { .. } => Some("save the file as UTF-8".to_owned()),
            Self::OverlayRefused { .. } => Some(
                "leave `topology` out, or choose a method that uses it, such as dsgd or dfedavgm"
                    .to_owned(),
            ),
            Self::OverlayNeeded { .. } => {
                Some("add a topology, such as `topology: ring`".to_owned())
            }
            Self::WeightsWithoutOverlay => {
                Some("leave `weights` out, or add a topology".to_owned())
            }
            Self::NoOwn { kind, known, .. } if known.is_empty() && *kind != "method" => Some(
                "it is given as a value in the Python program or the Rust program that makes it: see docs/own.md".to_owned(),
            ),
            Self::NoOwn { kind, known, .. } if known.is_empty() => Some(format!(
                "{kind}s that are published with the Python package are run by its command, `python -m meshfold run FILE`, and those of your own by \
                 `python -m meshfold --import my_file.py run FILE` or a Rust program: see docs/published.md and docs/own.md"
            )),
            Self::NoOwn { kind, name, known } => {
                Some(suggestion(name, known, &format!("{kind}s")))
            }
            Self::Memory { enough: None, .. } => {
                Some("take fewer clients or a smaller model".to_owned())
            }
            Self::Memory {
                enough: Some(ranks),
                ..
            } => Some(format!(
                "take fewer clients or a smaller model, or deal the run with MPI over {ranks} ranks, each on a machine like this \
                 one: `mpirun -n {ranks} meshfold run FILE`"
            )),
            Self::OverlayMemory { .. } => {
                Some("take fewer nodes, or a topology with fewer edges".to_owned())
            }
            Self::ChurnMemory { .. } => Some("take fewer nodes or rings".to_owned()),
            Self::UnsuitedPair(_) => Some(
                "in `sweep.grid` every method meets every topology; pair them in `sweep.cases`: [{topology: .., algorithm: ..}, ..]"
                    .to_owned(),
            ),
            Self::Topology(error) if asks_for_pairs(error) => Some(
                "nodes that meet in pairs, drawn anew in each round, are `topology: random_matching`".to_owned(),
            ),
            Self::NoExperiment { .. } => Some(
                "an experiment has at least name, dataset, partition, model, algorithm and rounds"
                    .to_owned(),
            ),
            _ => None,
        }
    }

    /// The words beside the marked place.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::Syntax(_) | Self::NotUtf8 { .. } => "here",
            Self::UnknownKey { .. } | Self::UnknownChoice { .. } => "not known",
            Self::OneChoice { .. } => "one of these",
            Self::MissingKey { .. } => "in here",
            Self::WrongType { .. } | Self::Value { .. } | Self::Refused(_) => "this value",
            Self::NoKeysHere { .. } | Self::NoChoiceHere { .. } | Self::NoEntryHere { .. } => {
                "this part"
            }
            Self::LongPath { .. } => "this path",
            Self::Swept { .. } => "this override",
            Self::Memory { .. }
            | Self::OverlayMemory { .. }
            | Self::ChurnMemory { .. }
            | Self::Data(_) => "asked for here",
            _ => "set here",
        }
    }
}

/// `did you mean ..`, if one name is near, and the names there are.
fn suggestion(found: &str, known: &[String], what: &str) -> String {
    let all = format!("{what}: {}", known.join(", "));
    match nearest(found, known.iter().map(String::as_str)) {
        Some(name) => format!("did you mean `{name}`? {all}"),
        None => all,
    }
}

fn count(found: &[String]) -> String {
    match found {
        [] => "none".to_owned(),
        _ => format!("{} ({})", found.len(), listed(found)),
    }
}

/// How many bytes a file has of which `most` are read.
fn count_of_bytes(count: Option<u64>, most: u64) -> String {
    match count {
        Some(count) => bytes_of(count),
        None => format!("more than {}", bytes_of(most)),
    }
}

/// `67108864 bytes (64.0 MiB)`.
fn bytes_of(count: u64) -> String {
    format!("{count} bytes ({})", bytes(count))
}

/// Bytes in the largest binary unit that leaves a number of at least 1.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && value < 100.0);
    format!("{value:.digits$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_the_nearest_and_the_rest() {
        let known = vec!["ring".to_owned(), "path".to_owned()];
        let near = ConfigFault::UnknownChoice {
            found: "rign".to_owned(),
            known: known.clone(),
        };
        assert_eq!(
            near.help().as_deref(),
            Some("did you mean `ring`? choices: ring, path")
        );
        let far = ConfigFault::UnknownKey {
            key: "weights".to_owned(),
            known: known.clone(),
            elsewhere: None,
        };
        assert_eq!(far.help().as_deref(), Some("keys here: ring, path"));
        let elsewhere = ConfigFault::UnknownKey {
            key: "degree".to_owned(),
            known,
            elsewhere: Some("topology.regular.degree".to_owned()),
        };
        assert_eq!(
            elsewhere.help().as_deref(),
            Some("did you mean `topology.regular.degree`? keys here: ring, path")
        );
    }

    #[test]
    fn bytes_are_rounded_to_a_readable_unit() {
        assert_eq!(
            [0, 1023, 1536, 200 << 20, 3 << 39].map(bytes),
            ["0 B", "1023 B", "1.5 KiB", "200 MiB", "1.5 TiB"]
        );
    }
}
