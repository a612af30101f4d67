//! `checkpoint.safetensors`: what an interrupted run resumes from.

mod sealed_tensors;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use meshfold_engine::{Block, Layout, LearnerState, Stack};
use meshfold_theory::IterateWeights;
use serde::{Deserialize, Serialize};

use crate::files::whole_file::{persist, temporary};
use crate::results::checkpoint::sealed_tensors::SealedTensors;
use crate::results::data_digests::DataDigests;
use crate::results::run_error::RunError;
use crate::results::run_folder::Done;

/// The name of the models in a checkpoint; a method's own stacks have the names that it gives them.
pub(crate) const MODELS: &str = "models";

/// The state of a run after some round, without its stacks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Saved {
    /// The run that it belongs to.
    pub(crate) origin: Origin,
    /// Rounds done.
    pub(crate) round: usize,
    /// Records written so far.
    pub(crate) records: usize,
    /// SHA-256 of those records, then of the scores of the clients.
    pub(crate) written: [String; 2],
    /// What has been counted so far.
    pub(crate) totals: Totals,
    /// When each node has done the last round on the simulated network, where that differs from node to node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) node_seconds: Vec<f64>,
    /// The position of each row in its examples, and its losses since the last record.
    pub(crate) learner: LearnerState,
    /// Numbers that the method keeps, by name.
    #[serde(with = "all_bits")]
    pub(crate) numbers: BTreeMap<String, Vec<f64>>,
    /// Weights of the averaged iterates.
    pub(crate) iterates: IterateWeights,
    /// Squared gradient norms of the clients before the round, `[N]`, where its models are still to be compared with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) gradients: Vec<f64>,
    /// The parameters of a model in the order in which they lie in a row. Nothing resumes from them: they are for readers of the models.
    #[serde(default)]
    pub(crate) parameters: Vec<SavedParameter>,
    /// Whether each row of the models is alive, `[R]`; empty if all are. Nothing resumes from it: it is for readers of the models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) alive: Vec<bool>,
}

/// The name and the shape of a matrix of parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedParameter {
    pub(crate) name: String,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
}

impl SavedParameter {
    /// Those of `layout`.
    pub(crate) fn all(layout: &Layout) -> Vec<Self> {
        let blocks = layout.blocks().iter();
        let parameter = |block: &Block| Self {
            name: block.name.clone(),
            inputs: block.inputs,
            outputs: block.outputs,
        };
        blocks.map(parameter).collect()
    }
}

/// The run that a checkpoint belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Origin {
    /// The run's id.
    pub(crate) run: String,
    /// Who wrote it: only the same version on the same device kind continues with the same bits.
    pub(crate) by: Done,
    /// The data that it was trained on.
    pub(crate) data: DataDigests,
}

/// What is counted over a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Totals {
    /// Local steps of all rows.
    pub(crate) local_steps: u64,
    /// Bytes sent.
    pub(crate) bytes: u64,
    /// Sum over rounds of the most bytes that a node sent and received.
    pub(crate) bytes_busiest_node: u64,
    /// Messages sent.
    pub(crate) messages: u64,
    /// Messages that the paper counts, where they are others.
    pub(crate) messages_as_printed: Option<u64>,
    /// Seconds worked.
    pub(crate) wall_seconds: f64,
    /// Those of all threads of the processor; absent where runs shared a program.
    pub(crate) processor_seconds: Option<f64>,
    /// Those of the rounds: local steps, exchanges and what methods do between them.
    pub(crate) round_seconds: f64,
    /// Those of judging.
    pub(crate) judging_seconds: f64,
    /// Seconds that the rounds would have taken on the network described.
    pub(crate) simulated_seconds: f64,
}

/// The file that holds the checkpoint of a run.
#[derive(Debug)]
pub(crate) struct CheckpointFile {
    path: PathBuf,
}

/// A checkpoint whose checksum matches.
#[derive(Debug)]
pub(crate) struct VerifiedCheckpoint {
    /// Everything but the stacks.
    pub(crate) saved: Saved,
    stacks: Vec<(String, [usize; 2])>,
    tensors: SealedTensors,
    path: PathBuf,
}

impl CheckpointFile {
    /// The file at `path`, which need not exist.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Replaces the checkpoint in one step. The old one stays until the new one is complete.
    pub(crate) fn save(&self, saved: &Saved, stacks: &[(&str, &Stack)]) -> Result<(), RunError> {
        self.write(saved, stacks)
            .map_err(|source| RunError::write(&self.path, source))
    }

    fn write(&self, saved: &Saved, stacks: &[(&str, &Stack)]) -> io::Result<()> {
        let state = serde_json::to_vec(saved)?;
        let folder = self.path.parent();
        let mut file = temporary(folder.expect("the checkpoint lies in the run's folder"))?;
        sealed_tensors::write(file.as_file_mut(), stacks, &state)?;
        persist(file, &self.path)
    }

    /// The checkpoint, if there is one of the run and version in `origin`. Any other is reported and ignored. The caller
    /// compares the device kind and the data.
    pub(crate) fn open(&self, origin: &Origin) -> Option<VerifiedCheckpoint> {
        let opened = self.read().and_then(|checkpoint| {
            let found = &checkpoint.saved.origin;
            if found.run != origin.run {
                return Err(io::Error::other(format!("it belongs to run {}", found.run)));
            }
            let version = &found.by.meshfold;
            if *version != origin.by.meshfold {
                return Err(io::Error::other(format!("meshfold {version} wrote it")));
            }
            Ok(checkpoint)
        });
        match opened {
            Ok(checkpoint) => Some(checkpoint),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                report(&self.path, &error.to_string());
                None
            }
        }
    }

    /// The checkpoint of the run `id`, whoever wrote it.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn of_run(&self, id: &str) -> io::Result<VerifiedCheckpoint> {
        let checkpoint = self.read()?;
        match checkpoint.saved.origin.run == id {
            true => Ok(checkpoint),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn read(&self) -> io::Result<VerifiedCheckpoint> {
        let mut tensors = SealedTensors::open(&self.path)?;
        Ok(VerifiedCheckpoint {
            saved: serde_json::from_slice(&tensors.state()?)?,
            stacks: tensors.stacks()?,
            tensors,
            path: self.path.clone(),
        })
    }
}

/// Warns that the checkpoint at `path` is ignored, and why.
fn report(path: &Path, reason: &str) {
    let path = path.display();
    tracing::warn!("{path} is ignored ({reason}); the run starts again from round 0");
}

impl VerifiedCheckpoint {
    /// Warns that it is ignored, and why.
    pub(crate) fn report(&self, reason: &str) {
        report(&self.path, reason);
    }

    /// The name and the shape `[R, P_pad]` of each stack.
    pub(crate) fn stacks(&self) -> &[(String, [usize; 2])] {
        &self.stacks
    }

    /// Reads the stack `name` into `stack`, which has the same shape.
    ///
    /// # Errors
    /// [`RunError::Read`] if the file can no longer be read.
    pub(crate) fn read(&mut self, name: &str, stack: &mut Stack) -> Result<(), RunError> {
        let read = self.read_tensor(name, stack);
        read.map_err(|source| RunError::read(&self.path, source))
    }

    /// [`read`](Self::read), with the error of the system.
    pub(crate) fn read_tensor(&mut self, name: &str, stack: &mut Stack) -> io::Result<()> {
        self.tensors.read(name, stack)
    }
}

/// Numbers in JSON, which has no infinities: these, and what is no number, stand as their bits.
mod all_bits {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Number {
        Finite(f64),
        Other { bits: u64 },
    }

    pub(super) fn serialize<S: Serializer>(
        numbers: &BTreeMap<String, Vec<f64>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let told = |number: &f64| match number.is_finite() {
            true => Number::Finite(*number),
            false => Number::Other {
                bits: number.to_bits(),
            },
        };
        let of_name = |numbers: &Vec<f64>| numbers.iter().map(told).collect::<Vec<Number>>();
        serializer.collect_map(numbers.iter().map(|(name, each)| (name, of_name(each))))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<String, Vec<f64>>, D::Error> {
        let found = BTreeMap::<String, Vec<Number>>::deserialize(deserializer)?;
        let number = |number| match number {
            Number::Finite(number) => number,
            Number::Other { bits } => f64::from_bits(bits),
        };
        let numbers = found.into_iter();
        Ok(numbers
            .map(|(name, each)| (name, each.into_iter().map(number).collect()))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshfold_engine::{Device, Layout};
    use std::fs;
    use std::sync::Arc;

    pub(super) fn stack(values: &[f32]) -> Stack {
        let mut layout = Layout::default();
        layout.push("weight", 3, 5);
        let rows = values.iter().flat_map(|value| [*value; 64]).collect();
        Stack::from_host(&Device::cpu().unwrap(), &Arc::new(layout), rows).unwrap()
    }

    fn origin() -> Origin {
        Origin {
            run: "0123456789ab".to_owned(),
            by: Done {
                meshfold: "1.2.3".to_owned(),
                device: "cpu/portable".to_owned(),
            },
            data: DataDigests::default(),
        }
    }

    fn saved(round: usize) -> Saved {
        // A row whose sum of losses is infinite: 0x7FF0000000000000.
        let learner = r#"{"positions":[],"local_steps":7,"examples_seen":9,"on_device":null,"losses":
            [{"recent":{"sum":9218868437227405312,"steps":3,"examples":60},"broken":4}]}"#;
        Saved {
            origin: origin(),
            round,
            records: round + 1,
            written: Default::default(),
            totals: Totals {
                wall_seconds: 0.1 + 0.2,
                bytes: 5,
                ..Totals::default()
            },
            node_seconds: vec![0.1 + 0.2, 3.0],
            learner: serde_json::from_str(learner).unwrap(),
            numbers: BTreeMap::new(),
            iterates: IterateWeights::default(),
            gradients: Vec::new(),
            parameters: Vec::new(),
            alive: Vec::new(),
        }
    }

    #[test]
    fn a_newer_checkpoint_replaces_the_older_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = CheckpointFile::new(folder.path().join("checkpoint"));
        assert!(file.open(&origin()).is_none());
        for round in [4, 8] {
            let models = stack(&[round as f32]);
            file.save(&saved(round), &[("models", &models)]).unwrap();
        }
        let mut found = file.open(&origin()).unwrap();
        assert_eq!(found.saved, saved(8));
        assert_eq!(found.stacks(), [("models".to_owned(), [1, 64])]);
        let mut models = stack(&[0.0]);
        found.read("models", &mut models).unwrap();
        assert_eq!(models.to_host(), [8.0; 64]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn all_bits_of_the_numbers_of_a_method_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let file = CheckpointFile::new(folder.path().join("checkpoint"));
        let nan = f64::from_bits(0xFFF8_0000_0000_0123);
        let numbers = [
            f64::INFINITY,
            f64::NEG_INFINITY,
            nan,
            -0.0,
            0.1,
            3.0,
            5e-324,
        ];
        let mut saved = saved(4);
        saved.numbers.insert("best".to_owned(), numbers.to_vec());
        file.save(&saved, &[("models", &stack(&[1.0]))]).unwrap();
        let found = file.open(&origin()).unwrap().saved.numbers;
        let bits = |numbers: &[f64]| {
            numbers
                .iter()
                .map(|each| each.to_bits())
                .collect::<Vec<_>>()
        };
        assert_eq!(bits(&found["best"]), bits(&numbers));
    }

    #[test]
    fn a_checkpoint_of_another_run_or_version_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let file = CheckpointFile::new(folder.path().join("checkpoint"));
        file.save(&saved(4), &[("models", &stack(&[1.0]))]).unwrap();
        assert!(file.open(&origin()).is_some());
        let mut others = [origin(), origin()];
        others[0].run = "ba9876543210".to_owned();
        others[1].by.meshfold = "1.2.4".to_owned();
        for other in others {
            assert!(file.open(&other).is_none(), "{other:?}");
        }
    }
}
