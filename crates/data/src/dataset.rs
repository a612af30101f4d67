//! The datasets by name, as a configuration file chooses them.

use serde::{Deserialize, Serialize};

use crate::cifar::{Cifar10, Cifar100};
use crate::consensus::Consensus;
use crate::csv_table::CsvTable;
use crate::cwru::Cwru;
use crate::fashion_mnist::FashionMnist;
use crate::femnist::Femnist;
use crate::glyphs::Glyphs;
use crate::leukemia_a2::LeukemiaA2;
use crate::mnist::Mnist;
use crate::npz_table::NpzTable;
use crate::qmnist::Qmnist;
use crate::reddit::Reddit;
use crate::shakespeare::Shakespeare;
use crate::{DataError, DataFolder, Outline, OwnFiles, Published, Splits};

/// A dataset and its settings: `{mnist: {validation: 10000}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
}

impl DatasetConfig {
    /// Loads and verifies the dataset; files are looked for in `folder`.
    ///
    /// # Errors
    /// Those of [`validate`](Self::validate); [`DataError::Missing`] naming the command that
    /// fetches the files; [`DataError::Malformed`] if a file is not what it should be;
    /// [`DataError::Io`] if it cannot be read.
    pub fn load(&self, folder: &DataFolder) -> Result<Splits, DataError> {
        match self {
            Self::Consensus(consensus) => consensus.load(),
            Self::Glyphs(glyphs) => glyphs.load(),
            Self::Mnist(mnist) => mnist.layout().load(folder),
            Self::FashionMnist(fashion) => fashion.layout().load(folder),
            Self::Cifar10(cifar) => cifar.layout().load(folder),
            Self::Cifar100(cifar) => cifar.layout().load(folder),
            Self::Qmnist(qmnist) => qmnist.load(folder),
            Self::Femnist(femnist) => femnist.load(folder),
            Self::LeukemiaA2(leukemia) => leukemia.load(folder),
            Self::Csv(table) => table.load(folder),
            Self::Npz(table) => table.load(folder),
            Self::Shakespeare(shakespeare) => shakespeare.load(folder),
            Self::Reddit(reddit) => reddit.load(folder),
            Self::Cwru(cwru) => cwru.load(folder),
        }
    }

    /// Sizes and labels of what [`load`](Self::load) would return, and whose the examples are. Where it can be had
    /// without the features, nothing is drawn, and of files only that of the labels is read.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn outline(&self, folder: &DataFolder) -> Result<Outline, DataError> {
        match self {
            Self::Consensus(consensus) => Ok(Outline::of(&consensus.load()?)),
            Self::Glyphs(glyphs) => glyphs.outline(),
            Self::Mnist(mnist) => mnist.layout().outline(folder),
            Self::FashionMnist(fashion) => fashion.layout().outline(folder),
            Self::Cifar10(cifar) => cifar.layout().outline(folder),
            Self::Cifar100(cifar) => cifar.layout().outline(folder),
            Self::Qmnist(qmnist) => qmnist.outline(folder),
            Self::Femnist(femnist) => femnist.outline(folder),
            Self::LeukemiaA2(leukemia) => leukemia.outline(folder),
            Self::Csv(table) => table.outline(folder),
            Self::Npz(table) => table.outline(folder),
            Self::Shakespeare(shakespeare) => Ok(Outline::of(&shakespeare.load(folder)?)),
            Self::Reddit(reddit) => reddit.outline(folder),
            Self::Cwru(cwru) => cwru.outline(folder),
        }
    }

    /// The files of `csv` and `npz`; none of other datasets.
    pub fn own_files(&self, folder: &DataFolder) -> OwnFiles {
        let files = match self {
            Self::Csv(table) => table.files(folder),
            Self::Npz(table) => table.files(folder),
            _ => Ok(Vec::new()),
        };
        // Reading the dataset reports a missing file.
        OwnFiles::new(files.unwrap_or_default())
    }

    /// What is published of the dataset, for plans before its files are there; nothing of a user's own tables, of text that
    /// nobody has counted, and of what the program draws itself.
    ///
    /// # Errors
    /// Those of [`validate`](Self::validate).
    pub fn published(&self) -> Result<Option<Published>, DataError> {
        match self {
            Self::Mnist(mnist) => mnist.layout().published().map(Some),
            Self::FashionMnist(fashion) => fashion.layout().published().map(Some),
            Self::Cifar10(cifar) => cifar.layout().published().map(Some),
            Self::Cifar100(cifar) => cifar.layout().published().map(Some),
            Self::Qmnist(qmnist) => qmnist.published().map(Some),
            Self::Femnist(femnist) => femnist.published().map(Some),
            Self::LeukemiaA2(leukemia) => leukemia.published().map(Some),
            Self::Shakespeare(shakespeare) => shakespeare.published(),
            Self::Reddit(reddit) => reddit.published(),
            Self::Cwru(cwru) => cwru.published().map(Some),
            Self::Consensus(_) | Self::Glyphs(_) | Self::Csv(_) | Self::Npz(_) => {
                self.validate()?;
                Ok(None)
            }
        }
    }

    /// Estimate of the most bytes that [`load`](Self::load) on `threads` threads holds at once besides the examples of
    /// `outline`.
    pub fn reading_bytes(&self, outline: &Outline, threads: usize) -> usize {
        let examples = outline.train() + outline.test();
        match self {
            Self::Consensus(_) => 0,
            Self::Glyphs(_) => Glyphs::reading_bytes(outline),
            // The labels as bytes.
            Self::Mnist(_) | Self::FashionMnist(_) => examples,
            Self::Cifar10(cifar) => cifar.layout().reading_bytes(threads),
            Self::Cifar100(cifar) => cifar.layout().reading_bytes(threads),
            Self::Qmnist(_) => Qmnist::reading_bytes(),
            // The files announce their images: they are read to their place.
            Self::Femnist(_) => 0,
            Self::LeukemiaA2(_) => LeukemiaA2::reading_bytes(),
            Self::Csv(table) => table.reading_bytes(outline),
            Self::Npz(table) => table.reading_bytes(outline),
            Self::Shakespeare(shakespeare) => shakespeare.reading_bytes(),
            Self::Reddit(_) => Reddit::reading_bytes(outline),
            Self::Cwru(cwru) => cwru.reading_bytes(outline, threads),
        }
    }

    /// Checks the settings without touching a file.
    ///
    /// # Errors
    /// [`DataError::ExampleCount`] or [`DataError::Validation`] if nothing is left to train on or to
    /// test with; [`DataError::BalancedTest`] if there cannot be such a test set.
    pub fn validate(&self) -> Result<(), DataError> {
        match self {
            Self::Consensus(consensus) => consensus.validate(),
            Self::Glyphs(glyphs) => glyphs.validate(),
            Self::Mnist(mnist) => mnist.layout().validate(),
            Self::FashionMnist(fashion) => fashion.layout().validate(),
            Self::Cifar10(cifar) => cifar.layout().validate(),
            Self::Cifar100(cifar) => cifar.layout().validate(),
            Self::Qmnist(qmnist) => qmnist.validate(),
            Self::Femnist(femnist) => femnist.validate(),
            Self::LeukemiaA2(leukemia) => leukemia.validate(),
            Self::Csv(table) => table.validate(),
            Self::Npz(table) => table.validate(),
            Self::Shakespeare(shakespeare) => shakespeare.validate(),
            Self::Reddit(reddit) => reddit.validate(),
            Self::Cwru(cwru) => cwru.validate(),
        }
    }

    /// The name in a configuration file.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Consensus(_) => "consensus",
            Self::Glyphs(_) => "glyphs",
            Self::Mnist(_) => "mnist",
            Self::FashionMnist(_) => "fashion_mnist",
            Self::Cifar10(_) => "cifar10",
            Self::Cifar100(_) => "cifar100",
            Self::Qmnist(_) => "qmnist",
            Self::Femnist(_) => "femnist",
            Self::LeukemiaA2(_) => "leukemia_a2",
            Self::Csv(_) => "csv",
            Self::Npz(_) => "npz",
            Self::Shakespeare(_) => "shakespeare",
            Self::Reddit(_) => "reddit",
            Self::Cwru(_) => "cwru",
        }
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
        assert!(read(r#"{"mnist": {"validations": 3}}"#).is_err());
        let glyphs = read(r#"{"glyphs": {"train": 50}}"#).unwrap();
        let outline = glyphs.outline(&DataFolder::new("unused")).unwrap();
        assert_eq!((outline.train(), outline.test()), (50, 10_000));
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
        assert!(read(r#"{"cifar100": {"labels": "both"}}"#).is_err());
        assert!(read(r#"{"csv": {"file": "a.csv"}}"#).is_err(), "no label");
        let share = read(r#"{"leukemia_a2": {"test_share": 1.0}}"#).unwrap();
        assert!(share.validate().is_err());
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
        let outline = glyphs.outline(&folder).unwrap();
        let loaded = glyphs.load(&folder).unwrap();
        assert_eq!(outline, Outline::of(&loaded));
        assert_eq!(outline.labelled(false).labels, loaded.train.labels());
        assert_eq!(outline.labelled(true).labels.len(), 310);
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
        let fashion = r#"{"fashion_mnist": {"balanced_test": 10000}}"#;
        let fashion: DatasetConfig = serde_json::from_str(fashion).unwrap();
        fashion.validate().unwrap();
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
