//! The datasets by name, as a configuration file chooses them.

mod balanced;
mod image_pieces;
mod known_labels;
mod mnist_layout;
mod own_tables;
pub(crate) mod published;
mod standard;
pub(crate) mod table_rows;
mod test_share;
mod words;

// To add one: ARCHITECTURE.md, "Adding a dataset".
pub(crate) mod cifar;
pub(crate) mod consensus;
pub(crate) mod csv_table;
pub(crate) mod cwru;
pub(crate) mod fashion_mnist;
pub(crate) mod femnist;
pub(crate) mod glyphs;
pub(crate) mod leukemia_a2;
pub(crate) mod mnist;
pub(crate) mod npz_table;
pub(crate) mod own;
pub(crate) mod qmnist;
pub(crate) mod reddit;
pub(crate) mod shakespeare;

use std::path::{Path, PathBuf};

use meshfold_own::OwnPart;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::cifar::{Cifar10, Cifar100};
use self::consensus::Consensus;
use self::csv_table::CsvTable;
use self::cwru::Cwru;
use self::fashion_mnist::FashionMnist;
use self::femnist::Femnist;
use self::glyphs::Glyphs;
use self::leukemia_a2::LeukemiaA2;
use self::mnist::Mnist;
use self::npz_table::NpzTable;
use self::own::OwnDataset;
use self::published::Published;
use self::qmnist::Qmnist;
use self::reddit::Reddit;
use self::shakespeare::Shakespeare;
use crate::{DataError, DataFolder, DatasetSummary, Examples, OwnFiles, Splits};

/// A dataset and its settings: `{mnist: {validation: 10000}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DatasetConfig {
    /// Examples that are all the same.
    Consensus(Consensus),
    /// Digits drawn by the program.
    Glyphs(Glyphs),
    /// MNIST, from files.
    Mnist(Mnist),
    /// Fashion-MNIST, from files.
    FashionMnist(FashionMnist),
    /// CIFAR-10, from files.
    Cifar10(Cifar10),
    /// CIFAR-100, from files.
    Cifar100(Cifar100),
    /// MNIST with its writers, from files.
    Qmnist(Qmnist),
    /// LEAF's FEMNIST, from files.
    Femnist(Femnist),
    /// Leukaemia transcriptomes, from files.
    LeukemiaA2(LeukemiaA2),
    /// A user's table.
    Csv(CsvTable),
    /// A user's arrays.
    Npz(NpzTable),
    /// Characters of Shakespeare's roles, from files.
    Shakespeare(Shakespeare),
    /// Words of Reddit's comments, from files.
    Reddit(Reddit),
    /// Vibrations of bearings, from files.
    Cwru(Cwru),
    /// A dataset of a program's own.
    Own(OwnPart<dyn OwnDataset>),
}

impl DatasetConfig {
    fn dataset(&self) -> &dyn Dataset {
        match self {
            Self::Consensus(consensus) => consensus,
            Self::Glyphs(glyphs) => glyphs,
            Self::Mnist(mnist) => mnist,
            Self::FashionMnist(fashion) => fashion,
            Self::Cifar10(cifar) => cifar,
            Self::Cifar100(cifar) => cifar,
            Self::Qmnist(qmnist) => qmnist,
            Self::Femnist(femnist) => femnist,
            Self::LeukemiaA2(leukemia) => leukemia,
            Self::Csv(table) => table,
            Self::Npz(arrays) => arrays,
            Self::Shakespeare(shakespeare) => shakespeare,
            Self::Reddit(reddit) => reddit,
            Self::Cwru(cwru) => cwru,
            Self::Own(own) => own,
        }
    }

    /// The name in a configuration file.
    pub fn name(&self) -> &'static str {
        self.dataset().name()
    }

    /// Checks the settings without touching a file.
    ///
    /// # Errors
    /// [`DataError::ExampleCount`] or [`DataError::Validation`] if nothing is left to train on or to
    /// test with; [`DataError::BalancedTest`] if there cannot be such a test set; [`DataError::Setting`].
    pub fn validate(&self) -> Result<(), DataError> {
        self.dataset().validate()
    }

    /// Loads and verifies the dataset; files are looked for in `folder`.
    ///
    /// # Errors
    /// Those of [`validate`](Self::validate); [`DataError::Missing`] naming the command that
    /// fetches the files; [`DataError::Malformed`] if a file is not what it should be;
    /// [`DataError::Io`] if it cannot be read.
    pub fn load(&self, folder: &DataFolder) -> Result<Splits, DataError> {
        self.dataset().load(folder)
    }

    /// As [`load`](Self::load), but hands the training examples to `see`, in order, in pieces of at most `most` bytes
    /// of features. The result has no training examples. If the files allow it, only one piece is held at a time; other
    /// files are read whole first. What was seen counts only if this succeeds.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_in_pieces(
        &self,
        folder: &DataFolder,
        most: usize,
        see: &mut dyn FnMut(&Examples),
    ) -> Result<Splits, DataError> {
        self.dataset().load_in_pieces(folder, most, see)
    }

    /// Sizes, labels and owners of what [`load`](Self::load) would return. If these are known without the features,
    /// nothing is drawn, and only the files of labels are read.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn summary(&self, folder: &DataFolder) -> Result<DatasetSummary, DataError> {
        self.dataset().summary(folder)
    }

    /// The published figures of the dataset, for plans before its files are there. `None` for a user's own tables, for
    /// text that nobody has counted, and for what the program draws itself.
    ///
    /// # Errors
    /// Those of [`validate`](Self::validate).
    pub fn published(&self) -> Result<Option<Published>, DataError> {
        self.dataset().published()
    }

    /// Estimate of the most bytes that [`load`](Self::load) on `threads` threads holds at once besides the examples of
    /// `summary`.
    pub fn reading_bytes(&self, summary: &DatasetSummary, threads: usize) -> usize {
        self.dataset().reading_bytes(summary, threads)
    }

    /// Estimate of the most bytes that [`load_in_pieces`](Self::load_in_pieces) of pieces of `most` bytes holds at once, besides the
    /// test and validation examples of `summary` and what `see` keeps.
    pub fn piece_bytes(&self, folder: &DataFolder, summary: &DatasetSummary, most: usize) -> usize {
        let whole = self.reading_bytes(summary, 1);
        match self.dataset().reads_in_pieces(folder) {
            true => whole + most.min(summary.train_bytes()),
            false => whole + summary.train_bytes(),
        }
    }

    /// The setting that names the user's file at `path`, if one does: `file`, or `test.file` where it has the test examples.
    pub fn setting_of_file(&self, path: &Path, folder: &DataFolder) -> Option<&'static str> {
        let files = self.dataset().own_files(folder).ok()?;
        let mut named = files.iter().zip(own_tables::FILE_SETTINGS);
        named.find_map(|(file, setting)| (file == path).then_some(setting))
    }

    /// The files of `csv` and `npz`; none of other datasets.
    pub fn own_files(&self, folder: &DataFolder) -> OwnFiles {
        // Reading the dataset reports a missing file.
        OwnFiles::new(self.dataset().own_files(folder).unwrap_or_default())
    }
}

/// A dataset; [`DatasetConfig`] documents the methods further.
trait Dataset {
    /// The name in a configuration file, and of the manifest if it has one.
    fn name(&self) -> &'static str;

    /// Checks the settings without touching a file.
    fn validate(&self) -> Result<(), DataError>;

    /// Reads and verifies the examples, or makes them. The settings are checked first.
    fn load(&self, folder: &DataFolder) -> Result<Splits, DataError>;

    /// The same with the training examples in pieces, on one thread. The settings are checked first.
    fn load_in_pieces(
        &self,
        folder: &DataFolder,
        most: usize,
        see: &mut dyn FnMut(&Examples),
    ) -> Result<Splits, DataError> {
        Ok(self.load(folder)?.in_pieces(most, see))
    }

    /// Whether [`Dataset::load_in_pieces`] holds at most one piece of the training examples at a time. A dataset that
    /// returns true implements that function itself.
    fn reads_in_pieces(&self, _folder: &DataFolder) -> bool {
        false
    }

    /// What a plan needs to know of the examples, at the least cost.
    fn summary(&self, folder: &DataFolder) -> Result<DatasetSummary, DataError>;

    /// The figures that its makers publish, if they do.
    fn published(&self) -> Result<Option<Published>, DataError>;

    /// The most bytes held at once while it is read on `threads` threads, besides the examples of `summary`.
    fn reading_bytes(&self, summary: &DatasetSummary, threads: usize) -> usize;

    /// The files that are a user's own, without a manifest.
    fn own_files(&self, folder: &DataFolder) -> Result<Vec<PathBuf>, DataError>;
}

/// A dataset whose files have a layout shared with others. It only fills in that layout.
trait InLayout {
    /// The layout that it shares with others.
    type Layout: Dataset;

    /// The layout with this dataset's name, sizes and settings.
    fn layout(&self) -> Self::Layout;
}

impl<T: InLayout> Dataset for T {
    fn name(&self) -> &'static str {
        self.layout().name()
    }

    fn validate(&self) -> Result<(), DataError> {
        self.layout().validate()
    }

    fn load(&self, folder: &DataFolder) -> Result<Splits, DataError> {
        self.layout().load(folder)
    }

    fn load_in_pieces(
        &self,
        folder: &DataFolder,
        most: usize,
        see: &mut dyn FnMut(&Examples),
    ) -> Result<Splits, DataError> {
        self.layout().load_in_pieces(folder, most, see)
    }

    fn reads_in_pieces(&self, folder: &DataFolder) -> bool {
        self.layout().reads_in_pieces(folder)
    }

    fn summary(&self, folder: &DataFolder) -> Result<DatasetSummary, DataError> {
        self.layout().summary(folder)
    }

    fn published(&self) -> Result<Option<Published>, DataError> {
        self.layout().published()
    }

    fn reading_bytes(&self, summary: &DatasetSummary, threads: usize) -> usize {
        self.layout().reading_bytes(summary, threads)
    }

    fn own_files(&self, folder: &DataFolder) -> Result<Vec<PathBuf>, DataError> {
        self.layout().own_files(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scaling;

    #[test]
    fn settings_are_read_by_name_and_unknown_keys_refused() {
        let read = serde_json::from_str::<DatasetConfig>;
        let mnist = read(r#"{"mnist": {"validation": 10000, "scale": "unit"}}"#).unwrap();
        let same = Mnist {
            validation: 10_000,
            scale: Scaling::Unit,
            ..Mnist::default()
        };
        assert_eq!(mnist, DatasetConfig::Mnist(same));
        assert_eq!(
            read(r#"{"fashion_mnist": {}}"#).unwrap().name(),
            "fashion_mnist"
        );
        let unknown = read(r#"{"mnist": {"validations": 3}}"#).unwrap_err();
        assert!(
            unknown
                .to_string()
                .starts_with("unknown field `validations`")
        );
        let glyphs = read(r#"{"glyphs": {"train": 50}}"#).unwrap();
        let summary = glyphs.summary(&DataFolder::new("unused")).unwrap();
        assert_eq!((summary.train(), summary.test()), (50, 10_000));
    }

    #[test]
    fn settings_come_back_as_they_were_written() {
        for text in [
            r#"{"cifar10":{"validation":5000,"scale":"unit"}}"#,
            r#"{"cifar100":{"labels":"coarse","validation":0,"scale":"standard"}}"#,
            r#"{"qmnist":{"validation":10000,"scale":"standard"}}"#,
            r#"{"femnist":{"writers":100}}"#,
            r#"{"leukemia_a2":{"balanced":false,"test_share":0.2,"seed":3}}"#,
            r#"{"csv":{"file":"a/b.csv","label":"kind","client":2,"header":true,"delimiter":";","standardise":true,"test":{"file":"c.csv"},"seed":0}}"#,
            r#"{"npz":{"file":"a.npz","x":"x_train","y":"y_train","client":null,"standardise":false,"test":{"arrays":{"x":"x_test","y":"y_test","client":null}},"seed":0}}"#,
        ] {
            let settings: DatasetConfig = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&settings).unwrap(), text);
            assert!(text.contains(&format!("\"{}\"", settings.name())));
            settings.validate().unwrap();
        }
        let read = serde_json::from_str::<DatasetConfig>;
        let refusal = |text| read(text).unwrap_err().to_string();
        assert!(
            refusal(r#"{"cifar100": {"labels": "both"}}"#).starts_with("unknown variant `both`")
        );
        assert!(refusal(r#"{"csv": {"file": "a.csv"}}"#).starts_with("missing field `label`"));
        let share = read(r#"{"leukemia_a2": {"test_share": 1.0}}"#).unwrap();
        let refusal = share.validate().unwrap_err().to_string();
        assert!(refusal.contains("test_share"), "{refusal}");
    }

    #[test]
    fn the_outline_is_that_of_the_examples() {
        let glyphs = DatasetConfig::Glyphs(Glyphs {
            train: 300,
            test: 10,
            seed: 5,
            ..Glyphs::default()
        });
        let folder = DataFolder::new("unused");
        let summary = glyphs.summary(&folder).unwrap();
        let loaded = glyphs.load(&folder).unwrap();
        assert_eq!(summary, DatasetSummary::of(&loaded));
        assert_eq!(summary.labelled(false).labels, loaded.train.labels());
        assert_eq!(summary.labelled(true).labels.len(), 310);
    }

    #[test]
    fn test_sets_that_cannot_be_balanced_are_refused_without_files() {
        let refusal = |images| {
            let balanced_test = Some(images);
            let mnist = Mnist {
                balanced_test,
                ..Mnist::default()
            };
            DatasetConfig::Mnist(mnist)
                .validate()
                .unwrap_err()
                .to_string()
        };
        let needed = "images asked for, a multiple of 10 up to 8920 needed";
        for images in [0, 5005, 8930] {
            let text = format!("mnist: a balanced test set of {images} {needed}");
            assert_eq!(refusal(images), text);
        }
        let odd = r#"{"mnist": {"classes": 2, "balanced_test": 5001}}"#;
        let odd: DatasetConfig = serde_json::from_str(odd).unwrap();
        let needed = "images asked for, a multiple of 2 up to 8920 needed";
        let text = format!("mnist: a balanced test set of 5001 {needed}");
        assert_eq!(odd.validate().unwrap_err().to_string(), text);
        let fashion = r#"{"fashion_mnist": {"balanced_test": 10000}}"#;
        let fashion: DatasetConfig = serde_json::from_str(fashion).unwrap();
        fashion.validate().unwrap();
    }

    #[test]
    fn digits_make_ten_classes_or_two() {
        let of = |classes| {
            DatasetConfig::Mnist(Mnist {
                classes,
                ..Mnist::default()
            })
        };
        for classes in [2, 10] {
            let published = of(classes).published().unwrap().unwrap();
            assert_eq!(published.summary.classes(), classes);
        }
        let refusal = of(5).validate().unwrap_err().to_string();
        assert_eq!(refusal, "mnist: classes is 5, 10 or 2 needed");
        // Ten are not written down.
        let written = serde_json::to_string(&of(10)).unwrap();
        assert!(!written.contains("classes"), "{written}");
    }

    #[test]
    fn nothing_left_to_train_on_is_refused_without_files() {
        let mnist = DatasetConfig::Mnist(Mnist {
            validation: 60_000,
            ..Mnist::default()
        });
        assert_eq!(
            mnist.validate().unwrap_err().to_string(),
            "mnist: 60000 validation images asked for, at most 59999 of the 60000 training images \
             can be kept apart"
        );
        let glyphs = DatasetConfig::Glyphs(Glyphs {
            test: 0,
            ..Glyphs::default()
        });
        assert!(matches!(
            glyphs.validate(),
            Err(DataError::ExampleCount { split: "test", .. })
        ));
    }

    #[test]
    fn missing_files_are_named_with_the_command_that_fetches_them() {
        let folder = tempfile::tempdir().unwrap();
        let mnist = DatasetConfig::Mnist(Mnist::default());
        let error = mnist
            .load(&DataFolder::new(folder.path()))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("mnist: train-images-idx3-ubyte.gz not found"),
            "{error}"
        );
        assert!(
            error.contains(&folder.path().display().to_string()),
            "{error}"
        );
        assert!(
            error.ends_with("run `meshfold data fetch mnist`"),
            "{error}"
        );
    }
}
