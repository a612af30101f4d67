//! What a broken run goes on from: `checkpoint/`, the stacks in safetensors and the rest in JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use meshfold_algorithms::theory::IterateWeights;
use meshfold_engine::{LearnerState, Stack};
use safetensors::tensor::{Dtype, SafeTensors, View, serialize_to_file};
use serde::{Deserialize, Serialize};

use crate::results::{Done, write_atomically};
use crate::run_error::RunError;

/// The file whose replacement makes a checkpoint the valid one.
const STATE: &str = "state.json";

/// A run after some round, its stacks left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Saved {
    /// Who wrote it: only the same version on the same device kind goes on with the same bits.
    pub(crate) by: Done,
    /// Rounds done.
    pub(crate) round: usize,
    /// Records written until then.
    pub(crate) records: usize,
    /// What has been counted until then.
    pub(crate) totals: Totals,
    /// How far each row has come through its data.
    pub(crate) learner: LearnerState,
    /// Numbers that the method keeps, by name.
    #[serde(default)]
    pub(crate) numbers: BTreeMap<String, Vec<f64>>,
    /// Weights of the averaged iterates.
    #[serde(default)]
    pub(crate) iterates: IterateWeights,
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
    /// Those of the rounds: local steps, exchanges and what methods do between them.
    #[serde(default)]
    pub(crate) round_seconds: f64,
    /// Those of judging.
    #[serde(default)]
    pub(crate) judging_seconds: f64,
    /// Seconds that the rounds would have taken on the network described.
    #[serde(default)]
    pub(crate) simulated_seconds: f64,
}

/// Rows of a stack in host memory, `[R, P_pad]` row-major, by the stack's name.
pub(crate) type Stacks = BTreeMap<String, Vec<f32>>;

/// The checkpoint's folder.
#[derive(Debug)]
pub(crate) struct CheckpointFolder {
    path: PathBuf,
}

impl CheckpointFolder {
    /// The folder at `path`, which need not exist.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Replaces the checkpoint. Until the new one is whole, the old one stays valid.
    pub(crate) fn save(&self, saved: &Saved, stacks: &[(&str, &Stack)]) -> Result<(), RunError> {
        let tensors = self.stacks_after(saved.round);
        self.write(saved, stacks, &tensors)
            .map_err(|source| RunError::write(&self.path, source))
    }

    fn write(&self, saved: &Saved, stacks: &[(&str, &Stack)], tensors: &Path) -> io::Result<()> {
        fs::create_dir_all(&self.path)?;
        let rows = stacks.iter().map(|(name, stack)| (*name, Rows::of(stack)));
        serialize_to_file(rows, None, tensors).map_err(io::Error::other)?;
        File::open(tensors)?.sync_all()?;
        write_atomically(&self.path.join(STATE), &serde_json::to_vec(saved)?)?;
        for entry in fs::read_dir(&self.path)? {
            let path = entry?.path();
            if path != *tensors && path.extension().is_some_and(|kind| kind == "safetensors") {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// The checkpoint, if there is a whole one that `by` can go on from bit for bit.
    pub(crate) fn load(&self, by: &Done) -> Option<(Saved, Stacks)> {
        let text = fs::read(self.path.join(STATE)).ok()?;
        let loaded = self.parse(&text);
        match loaded {
            Ok((saved, stacks)) if saved.by == *by => Some((saved, stacks)),
            Ok((saved, _)) => {
                let (version, device) = (saved.by.meshfold, saved.by.device);
                tracing::warn!(
                    "the checkpoint is of meshfold {version} on {device}: starting from round 0"
                );
                None
            }
            Err(error) => {
                let path = self.path.display();
                tracing::warn!("{path} cannot be used ({error}): starting from round 0");
                None
            }
        }
    }

    fn parse(&self, text: &[u8]) -> io::Result<(Saved, Stacks)> {
        let saved: Saved = serde_json::from_slice(text)?;
        let bytes = fs::read(self.stacks_after(saved.round))?;
        let tensors = SafeTensors::deserialize(&bytes).map_err(io::Error::other)?;
        let values = |bytes: &[u8]| {
            bytes
                .as_chunks::<4>()
                .0
                .iter()
                .map(|value| f32::from_le_bytes(*value))
                .collect()
        };
        let stacks = tensors
            .iter()
            .map(|(name, view)| (name.to_owned(), values(view.data())))
            .collect();
        Ok((saved, stacks))
    }

    /// The stacks lie in a file of their own round, so that writing them cannot spoil the checkpoint before.
    fn stacks_after(&self, round: usize) -> PathBuf {
        self.path.join(format!("round-{round}.safetensors"))
    }
}

/// A stack as a tensor `[R, P_pad]`, read back from its device when it is written.
struct Rows<'a> {
    stack: &'a Stack,
    shape: [usize; 2],
}

impl<'a> Rows<'a> {
    fn of(stack: &'a Stack) -> Self {
        Self {
            stack,
            shape: [stack.rows(), stack.layout().width()],
        }
    }
}

impl View for Rows<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        let values = self.stack.to_host();
        values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect::<Vec<u8>>()
            .into()
    }

    fn data_len(&self) -> usize {
        4 * self.shape[0] * self.shape[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshfold_engine::{Device, Layout};
    use std::sync::Arc;

    fn stack(values: &[f32]) -> Stack {
        let mut layout = Layout::default();
        layout.push("weight", 3, 5);
        let rows = values
            .iter()
            .flat_map(|value| [*value; 64])
            .collect::<Vec<_>>();
        Stack::from_host(&Device::cpu().unwrap(), &Arc::new(layout), rows).unwrap()
    }

    fn by() -> Done {
        Done {
            meshfold: "1.2.3".to_owned(),
            device: "cpu/portable".to_owned(),
        }
    }

    fn saved(round: usize) -> Saved {
        let learner = serde_json::from_str(r#"{"positions":[],"local_steps":7,"examples_seen":9}"#);
        Saved {
            by: by(),
            round,
            records: round + 1,
            totals: Totals {
                wall_seconds: 0.1 + 0.2,
                bytes: 5,
                ..Totals::default()
            },
            learner: learner.unwrap(),
            numbers: BTreeMap::new(),
            iterates: IterateWeights::default(),
        }
    }

    #[test]
    fn a_checkpoint_reads_back_bit_for_bit() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = CheckpointFolder::new(folder.path().join("checkpoint"));
        assert!(checkpoint.load(&by()).is_none());
        let models = stack(&[1.0 / 3.0, f32::MIN_POSITIVE, -0.0]);
        let velocity = stack(&[3.5]);
        checkpoint
            .save(&saved(4), &[("models", &models), ("velocity", &velocity)])
            .unwrap();
        let (read, stacks) = checkpoint.load(&by()).unwrap();
        assert_eq!(read, saved(4));
        let bits = |values: &[f32]| {
            values
                .iter()
                .map(|value| value.to_bits())
                .collect::<Vec<_>>()
        };
        assert_eq!(bits(&stacks["models"]), bits(&models.to_host()));
        assert_eq!(stacks["velocity"], velocity.to_host());
    }

    #[test]
    fn a_newer_checkpoint_takes_the_place_of_the_older() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = CheckpointFolder::new(folder.path().to_owned());
        for round in [4, 8] {
            checkpoint
                .save(&saved(round), &[("models", &stack(&[round as f32]))])
                .unwrap();
        }
        let (read, stacks) = checkpoint.load(&by()).unwrap();
        assert_eq!((read.round, stacks["models"][0]), (8, 8.0));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_checkpoint_torn_or_of_another_device_is_not_gone_on_from() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = CheckpointFolder::new(folder.path().to_owned());
        checkpoint
            .save(&saved(4), &[("models", &stack(&[1.0]))])
            .unwrap();
        let other = Done {
            device: "cpu/avx2".to_owned(),
            ..by()
        };
        assert!(checkpoint.load(&other).is_none());
        let tensors = checkpoint.stacks_after(4);
        let bytes = fs::read(&tensors).unwrap();
        fs::write(&tensors, &bytes[..bytes.len() - 1]).unwrap();
        assert!(checkpoint.load(&by()).is_none());
    }
}
