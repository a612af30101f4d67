//! What can go wrong while a plan is run.

use std::io;
use std::path::{Path, PathBuf};

use meshfold_algorithms::AlgorithmError;
use meshfold_engine::EngineError;
use meshfold_topology::TopologyError;
use thiserror::Error;

use crate::files::write_error::plain_write_error;
use crate::results::claim::Process;

/// A failed run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The results folder cannot be made or written to.
    #[error(
        "results folder {} cannot be written to: {source}; make it writable or choose another with --results", path.display()
    )]
    Folder {
        /// The run's folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The name of an experiment is no name of a folder.
    #[error(
        "name: {name:?} cannot name a folder of results, which needs a name without `/`, `\\`, `.` or `..`"
    )]
    Name {
        /// The name found.
        name: String,
    },
    /// The data have changed since an interrupted run was begun.
    #[error(
        "the data of {dataset} have changed since {} was begun ({changed}): restore them to resume the run, or start it again with \
         --again", path.display()
    )]
    OtherData {
        /// The run's folder.
        path: PathBuf,
        /// The name of the dataset.
        dataset: String,
        /// What has changed, in words.
        changed: String,
    },
    /// An interrupted run was begun on another device kind, where the same seed gives other bits.
    #[error(
        "{} was begun on {begun_on} and has a checkpoint of round {round}, which {device} cannot resume with the same bits: resume it on \
         {begun_on}, or start it again with --again", path.display()
    )]
    OtherDevice {
        /// The run's folder.
        path: PathBuf,
        /// The device kind that wrote the checkpoint.
        begun_on: String,
        /// The device kind of this run.
        device: String,
        /// The round of the checkpoint.
        round: usize,
    },
    /// The data have changed since the run was planned.
    #[error(
        "the examples of {dataset} have changed since the run was planned: start the command again"
    )]
    Unplanned {
        /// The name of the dataset.
        dataset: String,
    },
    /// Another process works on the same run.
    #[error("{} says that {} has the run: let it finish or stop it", path.display(), named(by.as_ref()))]
    Busy {
        /// Its claim.
        path: PathBuf,
        /// The process, if its claim can be read.
        by: Option<Process>,
    },
    /// This process stood still for so long that another one took the run over.
    #[error(
        "the run in {} was taken over by {}, as this process gave no sign of life; it is left to that one", path.display(),
        named(by.as_ref())
    )]
    TakenOver {
        /// The run's folder.
        path: PathBuf,
        /// Who has the run, if anybody has.
        by: Option<Process>,
    },
    /// The folder of the run is gone.
    #[error(
        "{} was removed while the run was carried out: start the command again", path.display()
    )]
    Removed {
        /// The run's folder.
        path: PathBuf,
    },
    /// A file of the run cannot be written.
    #[error("{} cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file of the run cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said, or what is wrong with the content.
        source: io::Error,
    },
    /// The overlay of a round cannot be built.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// The network cannot carry the messages of a round.
    #[error(transparent)]
    Network(#[from] crate::network::NetworkError),
    /// A line of `metrics.jsonl` is no record.
    #[error("{} line {line} is no record: {source}; run it again with --again", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A theorem whose bound is asked for does not speak of the run.
    #[error(
        "evaluate.theory: `bound` asks for {theorem}, whose conditions the run does not meet: {source}; change that, or leave `bound` out"
    )]
    Theorem {
        /// Its name and source.
        theorem: &'static str,
        /// The condition that the run does not meet.
        source: meshfold_theory::BoundError,
    },
    /// Failures leave nobody whose model could be judged.
    #[error(
        "no client is alive after round {round}, so no model can be evaluated: let fewer clients fail"
    )]
    NobodyAlive {
        /// The round.
        round: usize,
    },
    /// The engine refused or failed; a model that is not finite among it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The method refused or failed.
    #[error(transparent)]
    Algorithm(#[from] AlgorithmError),
    /// A part of a program's own failed in the course of the run.
    #[error("{}: {error}", when(*round))]
    InRound {
        /// The round; 0 before the first.
        round: usize,
        /// What failed.
        error: Box<RunError>,
    },
}

/// The round in words.
fn when(round: usize) -> String {
    match round {
        0 => "before the first round".to_owned(),
        _ => format!("in round {round}"),
    }
}

/// What a process is called in a message.
fn named(process: Option<&Process>) -> String {
    match process {
        Some(Process { host, pid, .. }) => format!("process {pid} on {host}"),
        None => "another process".to_owned(),
    }
}

impl RunError {
    pub(crate) fn write(path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Write {
            path: path.to_owned(),
            source: plain_write_error(source.into()),
        }
    }

    pub(crate) fn read(path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Read {
            path: path.to_owned(),
            source: source.into(),
        }
    }

    /// Whether the models, their clients or the device failed, rather than the files: the run then ends with its records
    /// kept.
    pub(crate) fn is_of_the_models(&self) -> bool {
        match self {
            Self::Engine(_) | Self::Algorithm(_) | Self::NobodyAlive { .. } => true,
            Self::InRound { error, .. } => error.is_of_the_models(),
            _ => false,
        }
    }

    /// The error with the `round` that it is of, where a part of a program's own says what went wrong.
    pub(crate) fn in_round(self, round: usize) -> Self {
        let of_own_part = matches!(
            self,
            Self::Engine(EngineError::OwnModel { .. } | EngineError::OwnRate { .. })
                | Self::Algorithm(
                    AlgorithmError::Own { .. }
                        | AlgorithmError::Engine(
                            EngineError::OwnModel { .. } | EngineError::OwnRate { .. }
                        )
                )
                | Self::Topology(TopologyError::Own { .. })
        );
        match of_own_part {
            true => Self::InRound {
                round,
                error: Box::new(self),
            },
            false => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_part_of_ones_own_says_comes_with_its_round() {
        let method = || AlgorithmError::Own {
            method: "choco".to_owned(),
            reason: "no more".to_owned(),
        };
        let error = RunError::from(method()).in_round(3);
        assert_eq!(error.to_string(), "in round 3: choco failed: no more");
        assert!(error.is_of_the_models());
        let overlay = TopologyError::Own {
            setting: "topology",
            name: "matchings".to_owned(),
            reason: "no more".to_owned(),
        };
        let error = RunError::from(overlay).in_round(4);
        assert_eq!(error.to_string(), "in round 4: matchings: no more");
        let model = EngineError::OwnModel {
            reason: "no more".to_owned(),
        };
        let error = RunError::from(model).in_round(0).to_string();
        assert_eq!(error, "before the first round: own model: no more");
        let named = EngineError::NonFinite { round: 7, row: 2 };
        let error = RunError::from(named.clone()).in_round(7).to_string();
        assert_eq!(error, named.to_string());
    }
}
