//! Datasets, and who owns which example of them.
//!
//! - [`DatasetConfig`] names a dataset and [`loads`](DatasetConfig::load) it into [`Splits`] of
//!   [`Examples`]: `glyphs` and `consensus` are made by the program, `csv` and `npz` are a user's
//!   tables, the others are read from a [`DataFolder`] and verified:
//!   images, texts (`shakespeare`, `reddit`), vibrations (`cwru`) and transcriptomes.
//! - [`manifests`] say which files those are; [`fetch()`] downloads and [`check()`] verifies them.
//! - [`Partitioner`] deals the training examples to clients, giving a [`Partition`]; where it pools them with the
//!   test examples, [`Splits::dealt`] puts the examples in the order that the partition counts.
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
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod balanced;
mod check;
mod cifar;
mod consensus;
mod csv_table;
mod cwru;
mod dataset;
mod dealt;
mod digest;
mod error;
mod examples;
mod excerpt;
mod fashion_mnist;
mod fault;
mod features;
mod femnist;
mod fetch;
mod folder;
#[doc(hidden)]
pub mod fuzzing;
mod glyphs;
mod idx;
mod leaf_json;
mod leukemia_a2;
mod manifest;
mod mat5;
mod mnist;
mod mnist_layout;
mod nearest;
mod npy;
mod npz_table;
mod outline;
mod own_files;
mod packing;
mod partition;
mod payload;
mod place;
mod published;
mod qmnist;
#[cfg(test)]
mod real_data;
mod reddit;
mod regular;
mod shakespeare;
mod table;
mod tar_member;
mod unfinished;
mod zip_member;

pub use self::check::{CheckReport, FileCheck, FileStatus, check};
pub use self::cifar::{Cifar10, Cifar100, CifarLabels};
pub use self::consensus::Consensus;
pub use self::csv_table::{Column, CsvTable, CsvTest};
pub use self::cwru::{Cwru, NormalRecordings};
pub use self::dataset::DatasetConfig;
pub use self::error::{DataError, MirrorFailure};
pub use self::examples::{Example, Examples, Splits};
pub use self::fashion_mnist::FashionMnist;
pub use self::features::{Features, Input, Scale, Scaling, Shape, Windows};
pub use self::femnist::Femnist;
pub use self::fetch::{FetchOptions, Fetched, FetchedFile, Progress, fetch};
pub use self::folder::{DATA_FOLDER_VARIABLE, DataFolder, FolderOrigin};
pub use self::glyphs::Glyphs;
pub use self::leukemia_a2::LeukemiaA2;
pub use self::manifest::{Archive, KnownCopy, Manifest, ManifestFile, manifests};
pub use self::mnist::Mnist;
pub use self::nearest::nearest;
pub use self::npz_table::{NpzArrays, NpzTable, NpzTest};
pub use self::outline::Outline;
pub use self::own_files::OwnFiles;
pub use self::partition::{
    ByRole, ByUser, ByWriter, ClassSizes, Classes, Dirichlet, ExampleOrder, Explicit, Iid,
    LabelQuota, Labelled, OneLabel, Owners, Partition, PartitionError, Partitioner, Quantity,
    Shards, Similarity, TextShare, TwoLabelPowerLaw, label_histogram,
};
pub use self::published::Published;
pub use self::qmnist::Qmnist;
pub use self::reddit::{Reddit, RedditSource};
pub use self::shakespeare::{Shakespeare, ShakespeareSource};
