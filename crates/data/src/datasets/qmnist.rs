//! `qmnist`: the digits of MNIST, with their writers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Dataset, InLayout};
use crate::datasets::mnist::Mnist;
use crate::datasets::published::{Published, dealt_evenly};
use crate::files::fault::Fault;
use crate::formats::idx::{self, Element};
use crate::{DataError, DataFolder, DatasetSummary, Examples, Manifest, Scaling, Splits};
use std::path::PathBuf;
use std::sync::Arc;

const NAME: &str = "qmnist";
/// Rows of both files of labels.
const ROWS: usize = 60_000;
/// Columns: class, series, writer, digit of that writer, class code, global number, duplicate, unused.
const COLUMNS: usize = 8;
const WRITER: usize = 2;
/// Writers of the training images, and the others of the test images.
const WRITERS: [usize; 2] = [539, 297];

/// Settings of MNIST with its writers, 539 of the training images and 297 others of the test images.
///
/// The images are those of [`mnist`](Mnist); row `i` of QMNIST's labels is image `i`. Of QMNIST's 60,000 test digits the first
/// 10,000 are used, which are MNIST's.
///
/// # Source
/// C. Yadav, L. Bottou, "Cold case: the lost MNIST digits", NeurIPS 2019, and section 2.2 of the dataset's README.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Qmnist {
    /// The last so many training images are kept apart for validation.
    pub validation: usize,
    /// How bytes become model input.
    pub scale: Scaling,
}

impl Dataset for Qmnist {
    fn name(&self) -> &'static str {
        NAME
    }

    fn validate(&self) -> Result<(), DataError> {
        self.images().layout().validate()
    }

    fn load(&self, folder: &DataFolder) -> Result<Splits, DataError> {
        let Splits {
            train,
            test,
            validation,
        } = self.images().layout().load(folder)?;
        let owned = |examples: Arc<Examples>, split| {
            let owners = writers(folder, split, examples.labels())?;
            Ok(Arc::new(Arc::unwrap_or_clone(examples).with_owners(owners)))
        };
        Ok(Splits {
            train: owned(train, "train")?,
            test: owned(test, "test")?,
            validation,
        })
    }

    fn load_in_pieces(
        &self,
        folder: &DataFolder,
        most: usize,
        see: &mut dyn FnMut(&Examples),
    ) -> Result<Splits, DataError> {
        let layout = self.images().layout();
        let summary = layout.summary(folder)?;
        let mut owners = writers(folder, "train", summary.labelled(false).labels)?;
        let Splits {
            train,
            test,
            validation,
        } = layout.load_in_pieces(folder, most, &mut |piece| {
            let rest = owners.split_off(piece.len());
            let owned = std::mem::replace(&mut owners, rest);
            see(&piece.clone().with_owners(owned));
        })?;
        let owned = |examples: Arc<Examples>, owners| {
            Arc::new(Arc::unwrap_or_clone(examples).with_owners(owners))
        };
        let of_test = writers(folder, "test", test.labels())?;
        Ok(Splits {
            train: owned(train, Vec::new()),
            test: owned(test, of_test),
            validation,
        })
    }

    fn reads_in_pieces(&self, _folder: &DataFolder) -> bool {
        true
    }

    fn summary(&self, folder: &DataFolder) -> Result<DatasetSummary, DataError> {
        let summary = self.images().layout().summary(folder)?;
        let (train, test) = summary.labelled(true).labels.split_at(summary.train());
        let owners = [
            writers(folder, "train", train)?,
            writers(folder, "test", test)?,
        ];
        Ok(summary.with_owners(owners.concat()))
    }

    /// The sizes that the makers publish.
    fn published(&self) -> Result<Option<Published>, DataError> {
        let images = self.images().layout().published()?;
        let Some(Published { summary, figures }) = images else {
            return Ok(None);
        };
        let [train, test] = WRITERS;
        let owners = [
            dealt_evenly(summary.train(), train, 0),
            dealt_evenly(summary.test(), test, train),
        ];
        Ok(Some(Published {
            summary: summary.with_owners(owners.concat()),
            figures: format!("{figures} of {train} and {test} writers"),
        }))
    }

    /// A file of labels, as bytes and as numbers.
    fn reading_bytes(&self, _summary: &DatasetSummary, _threads: usize) -> usize {
        2 * ROWS * COLUMNS * size_of::<i32>()
    }

    fn own_files(&self, _folder: &DataFolder) -> Result<Vec<PathBuf>, DataError> {
        Ok(Vec::new())
    }
}

impl Qmnist {
    fn images(&self) -> Mnist {
        Mnist {
            validation: self.validation,
            scale: self.scale,
            ..Mnist::default()
        }
    }
}

/// The writers of the images of `split` that have these `labels`.
fn writers(folder: &DataFolder, split: &str, labels: &[u16]) -> Result<Vec<u32>, DataError> {
    let manifest = Manifest::by_name(NAME)?;
    let file = manifest.file(&format!("qmnist-{split}-labels-idx2-int.gz"));
    let content = manifest.read(file, folder)?;
    rows(&content, labels).or_else(|fault| {
        let place = manifest.locate(file, folder)?;
        Err(fault.of(NAME, place.path()))
    })
}

/// The writers in the first `labels.len()` rows, whose classes must be the labels.
pub(crate) fn rows(content: &[u8], labels: &[u16]) -> Result<Vec<u32>, Fault> {
    let header = idx::parse(content, Element::Int)?;
    if header.dimensions != [ROWS, COLUMNS] {
        let found = &header.dimensions;
        let reason = format!("dimensions {found:?} found, [{ROWS}, {COLUMNS}] needed");
        return Err(Fault::at(4_u64, reason));
    }
    let values: Vec<i32> = idx::integers(&content[header.length..]).collect();
    let rows = values.chunks_exact(COLUMNS).zip(labels).enumerate();
    let writer = |(index, (row, &label)): (usize, (&[i32], &u16))| {
        let offset = header.length + 4 * COLUMNS * index;
        if row[0] != i32::from(label) {
            let reason = format!("class {} found, image {index} has {label}", row[0]);
            return Err(Fault::at(offset, reason));
        }
        u32::try_from(row[WRITER]).map_err(|_| {
            let reason = format!("writer {} found, none is negative", row[WRITER]);
            Fault::at(offset + 4 * WRITER, reason)
        })
    };
    rows.map(writer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of labels in which digit `i` is of class `i % 10` and writer `i / 100`.
    fn file() -> Vec<u8> {
        let mut bytes = vec![0, 0, 12, 2, 0, 0, 0xea, 0x60, 0, 0, 0, 8];
        for index in 0..ROWS as i32 {
            for value in [index % 10, 0, index / 100, 0, 0, 0, 0, 0] {
                bytes.extend(value.to_be_bytes());
            }
        }
        bytes
    }

    #[test]
    fn each_image_has_the_writer_of_its_row() {
        let writers = rows(&file(), &[0, 1, 2]).unwrap();
        assert_eq!(writers, [0, 0, 0]);
        let labels: Vec<u16> = (0..250).map(|index| index % 10).collect();
        assert_eq!(rows(&file(), &labels).unwrap()[249], 2);
    }

    #[test]
    fn labels_that_are_not_the_images_are_refused() {
        let fault = rows(&file(), &[0, 7]).unwrap_err();
        assert_eq!(fault.offset, 12 + 32);
        assert_eq!(fault.reason, "class 1 found, image 1 has 7");
        let mut negative = file();
        negative[12 + 8] = 0x80;
        assert_eq!(rows(&negative, &[0]).unwrap_err().offset, 20);
        let cut = rows(&file()[..100], &[0]).unwrap_err();
        assert_eq!(cut.offset, 100);
        assert!(
            cut.reason.starts_with("the file ends here"),
            "{}",
            cut.reason
        );
    }
}
