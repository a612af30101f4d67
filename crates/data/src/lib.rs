//! Datasets, and who owns which example of them.
//!
//! - [`DatasetConfig`] names a dataset and [`loads`](DatasetConfig::load) it into [`Splits`] of
//!   [`Examples`]: `glyphs` and `consensus` are made by the program, `csv` and `npz` are a user's
//!   tables, the others are read from a [`DataFolder`] and verified:
//!   images, texts (`shakespeare`, `reddit`), vibrations (`cwru`) and transcriptomes.
//! - [`manifests`] say which files those are; [`fetch()`] downloads and [`check()`] verifies them.
//! - [`Partitioner`] deals the training examples to clients, giving a [`Partition`]; where it pools them with the
//!   test examples, [`Splits::apply_partition`] puts the examples in the order that the partition counts.
//!
//! The crate knows nothing of tensors or graphs.
//!
//! ```
//! use meshfold_data::{DataFolder, DatasetConfig, Glyphs, Partitioner, Shards};
//! use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
//!
//! let dataset = DatasetConfig::Glyphs(Glyphs { train: 600, test: 100, ..Glyphs::default() });
//! let splits = dataset.load(&DataFolder::new("unused"))?;
//! let dealer = Partitioner::Shards(Shards { clients: 10, per_client: 2 });
//! let mut rng = ChaCha8Rng::seed_from_u64(1);
//! let partition = dealer.split(splits.train.labelled(), &mut rng)?;
//! assert_eq!(partition.sizes(), [60; 10]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Dataset manifests
#![doc = include_str!("../../../datasets/README.md")]
#![cfg_attr(any(test, feature = "seeds"), allow(clippy::unwrap_used))]
// The writer of seeds takes its files from the modules of tests, of which it needs a part.
#![cfg_attr(
    all(feature = "seeds", not(test)),
    allow(dead_code, unused_imports, unreachable_pub)
)]

mod datasets;
mod examples;
mod files;
mod formats;
#[doc(hidden)]
pub mod fuzzing;
mod partition;

pub use self::datasets::DatasetConfig;
pub use self::datasets::cifar::{Cifar10, Cifar100, CifarLabels};
pub use self::datasets::consensus::Consensus;
pub use self::datasets::csv_table::{Column, CsvMissing, CsvTable, CsvTest};
pub use self::datasets::cwru::{Cwru, NormalRecordings};
pub use self::datasets::fashion_mnist::FashionMnist;
pub use self::datasets::femnist::{
    ConversionProgress, Femnist, FemnistArchives, FemnistConversion,
};
pub use self::datasets::glyphs::Glyphs;
pub use self::datasets::leukemia_a2::LeukemiaA2;
pub use self::datasets::mnist::Mnist;
pub use self::datasets::npz_table::{NpzArrays, NpzTable, NpzTest};
pub use self::datasets::own::OwnDataset;
pub use self::datasets::published::Published;
pub use self::datasets::qmnist::Qmnist;
pub use self::datasets::reddit::{Reddit, RedditSource};
pub use self::datasets::shakespeare::{Shakespeare, ShakespeareSource};
#[cfg(feature = "burn")]
pub use self::examples::Example;
pub use self::examples::{
    Augment, AugmentError, DatasetSummary, Examples, ExamplesBuilder, Features, Input,
    ListedPieces, Scale, Scaling, Shape, Splits, TextShare, TrainingList, Variant, Windows,
};
pub use self::files::check::{CheckReport, FileCheck, FileStatus, check};
pub use self::files::error::{DataError, MirrorFailure};
pub use self::files::fetch::{FetchOptions, Fetched, FetchedFile, Progress, fetch};
pub use self::files::folder::{DATA_FOLDER_VARIABLE, DataFolder, FolderOrigin};
pub use self::files::manifest::{
    Archive, KnownCopy, Manifest, ManifestFile, UnlistedFile, manifests,
};
pub use self::files::own_files::OwnFiles;
pub use self::files::suggestion::nearest;
pub use self::partition::{
    ByRole, ByUser, ByWriter, ClassSizes, Classes, Dirichlet, DirichletBalanced, ExampleOrder,
    Explicit, Iid, LabelQuota, Labelled, OneLabel, OwnPartition, Owners, Partition, PartitionError,
    Partitioner, Quantity, Shards, Shortfall, Similarity, TwoLabelPowerLaw, label_histogram,
};
