//! The examples of a run and who owns which, made once for all runs that have them in common.

use std::collections::HashMap;
use std::sync::Arc;

use meshfold_data::{
    DataError, DataFolder, DatasetConfig, DatasetSummary, Input, OwnFiles, Partition, Published,
};
use meshfold_engine::{Key, Purpose, Ranks, stream};
use serde::Serialize;

use crate::config::error::ConfigError;
use crate::config::experiment::Resolved;
use crate::config::fault_path;
use crate::config::local_test::LocalTest;
use crate::config::run_config::RunConfig;
use crate::plan::{evaluation_checks, read_once, untrained_labels};

/// The datasets and partitions met so far.
pub(super) struct PlannedData<'a> {
    folder: &'a DataFolder,
    /// The ranks that plan, if there are several.
    ranks: Option<&'a Ranks>,
    /// Whether a dataset whose files are missing is known by what is published of it.
    pub(super) published: bool,
    /// By dataset.
    outlines: HashMap<String, KnownDataset>,
    /// By dataset and partition, and by the seed where it matters. None is let go of while others are planned.
    partitions: HashMap<String, DealtExamples>,
}

/// Who owns which examples.
#[derive(Clone)]
pub(super) struct DealtExamples {
    pub(super) partition: Arc<Partition>,
    /// Of labels that are tested and that nobody can learn.
    pub(super) warning: Option<String>,
}

/// A dataset as far as it is known.
#[derive(Clone)]
pub(super) struct KnownDataset {
    pub(super) outline: Arc<DatasetSummary>,
    /// Its files, if they are the user's own.
    pub(super) files: Arc<OwnFiles>,
    /// Where its files are missing: which, and the figures that stand for them.
    pub(super) warning: Option<String>,
}

impl<'a> PlannedData<'a> {
    /// None yet, of datasets in `folder`; all `ranks` plan at the same time, if there are several.
    pub(super) fn new(folder: &'a DataFolder, ranks: Option<&'a Ranks>) -> Self {
        Self {
            folder,
            ranks,
            published: false,
            outlines: HashMap::new(),
            partitions: HashMap::new(),
        }
    }

    /// The partition of `dataset` that `run` asks for.
    pub(super) fn partition(
        &mut self,
        run: &Resolved<'_>,
        dataset: &str,
        outline: &DatasetSummary,
    ) -> Result<DealtExamples, ConfigError> {
        let partition = &run.config.partition;
        let seed = run.config.seed_of(Purpose::Partition);
        let merges = run.config.algorithm.profile().merges_clients;
        let local_test = run.config.evaluate.local_test;
        let setting = format!("{dataset} {} {merges} {local_test:?}", json(partition));
        let seeded = format!("{setting} {seed}");
        let known = self
            .partitions
            .get(&setting)
            .or_else(|| self.partitions.get(&seeded));
        if let Some(known) = known {
            return Ok(known.clone());
        }
        let blame = |error| {
            let path = fault_path::of_partition(&error, run.choice("partition"));
            run.error(error, &path)
        };
        let examples = outline.labelled(partition.pools());
        let mut rng = stream(seed, Purpose::Partition, Key::default());
        let mut split = partition.split(examples, &mut rng).map_err(blame)?;
        split = match local_test {
            None => split,
            Some(LocalTest::Owners) => {
                evaluation_checks::with_tests_of_owners(run, outline, split)?
            }
            Some(LocalTest::Share(share)) => {
                let of_client = |row| Key {
                    row,
                    step: 1,
                    ..Key::default()
                };
                split.with_local_tests(share, |client| {
                    stream(seed, Purpose::Partition, of_client(client))
                })
            }
        };
        if merges {
            split = split.merged();
        }
        let dealt = DealtExamples {
            warning: untrained_labels::warning(outline, &split, partition.pools()),
            partition: Arc::new(split),
        };
        // A partition that drew nothing is the same for every seed.
        let draws_tests = local_test.and_then(LocalTest::share).is_some();
        let key = if rng.get_word_pos() == 0 && !draws_tests {
            setting
        } else {
            seeded
        };
        self.partitions.insert(key, dealt.clone());
        Ok(dealt)
    }

    /// Sizes, labels and owners of the examples of `run`, which are those of `dataset`.
    pub(super) fn outline(
        &mut self,
        run: &Resolved<'_>,
        dataset: &str,
    ) -> Result<KnownDataset, ConfigError> {
        if let Some(known) = self.outlines.get(dataset) {
            return Ok(known.clone());
        }
        let known = self.known(&run.config.dataset);
        let known = known.map_err(|error| {
            let path = self.path_at_fault(run, &error);
            run.error(error, &path)
        })?;
        self.outlines.insert(dataset.to_owned(), known.clone());
        Ok(known)
    }

    /// The dotted path of the setting of `run` that is to blame for what its dataset lacks: the one that names the file, if one does.
    fn path_at_fault(&self, run: &Resolved<'_>, error: &DataError) -> String {
        let choice = run.choice("dataset");
        let of_file = |file| run.config.dataset.setting_of_file(file, self.folder);
        match error.file().and_then(of_file) {
            Some(setting) => format!("dataset.{choice}.{setting}"),
            None => fault_path::of_dataset(error, choice),
        }
    }

    /// What the files of `dataset` say of it, or its makers where files are missing and that is enough.
    fn known(&self, dataset: &DatasetConfig) -> Result<KnownDataset, DataError> {
        let missing = match read_once::summary(dataset, self.folder, self.ranks) {
            Err(error) if self.published && error.is_missing() => error,
            outline => {
                return Ok(KnownDataset {
                    outline: Arc::new(outline?),
                    files: Arc::new(dataset.own_files(self.folder)),
                    warning: None,
                });
            }
        };
        let Some(Published {
            summary: outline,
            figures,
        }) = dataset.published()?
        else {
            return Err(missing);
        };
        let warning =
            format!("planned without the data, from published figures ({figures}): {missing}");
        Ok(KnownDataset {
            outline: Arc::new(outline),
            files: Arc::default(),
            warning: Some(warning),
        })
    }
}

impl PlannedData<'_> {
    /// What reading examples of `outline` takes on a rank that reads for its machine, besides what it keeps of them: a piece of the
    /// training examples as it was read, and its parts on their way to ranks; as much again of the piece before, whose memory the
    /// allocator may still have; test examples that a partition deals anew; and all training examples where they are measured.
    pub(super) fn piece_bytes(
        &self,
        config: &RunConfig,
        outline: &DatasetSummary,
        partition: &Partition,
    ) -> usize {
        let read = config
            .dataset
            .piece_bytes(self.folder, outline, Ranks::PIECE);
        let measured = match config.evaluate.measures_examples() {
            true => outline.train_bytes(),
            false => 0,
        };
        let handed_on = 3 * Ranks::PIECE.min(outline.train_bytes());
        let (dealt, _) = dealt_sizes(outline, partition);
        read + measured + handed_on + (dealt - outline.train()) * each(outline)
    }
}

/// A setting as a text that tells it from others.
pub(super) fn json(setting: &impl Serialize) -> String {
    serde_json::to_string(setting).expect("settings have text keys")
}

/// Training and test examples on the device once `partition` has dealt those of the dataset.
pub(super) fn dealt_sizes(outline: &DatasetSummary, partition: &Partition) -> (usize, usize) {
    let (train, test) = (outline.train(), outline.test());
    match partition.held_out() {
        None => (train, test),
        Some(held_out) => (train + test, held_out.len()),
    }
}

/// Bytes of the features that ranks deal among them: those of training examples, and of test examples that `partition` deals as
/// well, unless they are windows of a text.
pub(super) fn shared_bytes(outline: &DatasetSummary, partition: &Partition) -> usize {
    let (dealt, _) = dealt_sizes(outline, partition);
    match outline.input() {
        Input::Numbers(_) => each(outline) * dealt,
        Input::Tokens { .. } => 0,
    }
}

/// Bytes of the features of the test set that `partition` holds out.
pub(super) fn held_out_bytes(outline: &DatasetSummary, partition: &Partition) -> usize {
    partition.held_out().map_or(0, <[u32]>::len) * each(outline)
}

/// Bytes of the features of an example; of a window of a text, those of its place.
fn each(outline: &DatasetSummary) -> usize {
    outline.train_bytes() / outline.train().max(1)
}

/// Bytes of the features that `partition` copies to hold out a test set of its own, and of those that it holds out.
pub(super) fn dealt_bytes(outline: &DatasetSummary, partition: &Partition) -> usize {
    let examples = outline.train() + outline.test();
    partition.held_out().map_or(0, |held_out| {
        let each = outline.feature_bytes() / examples.max(1);
        outline.feature_bytes() + held_out.len() * each
    })
}
