//! The binary version of CIFAR-10 and CIFAR-100: records of label bytes and 3 × 32 × 32 pixels.
//!
//! A record of CIFAR-10 is `<label><3072 bytes>`, one of CIFAR-100 `<coarse label><fine label><3072 bytes>`: the red
//! plane, then green, then blue, each row by row.
//!
//! # Source
//! A. Krizhevsky, "The CIFAR-10 dataset", section "Binary version", <https://www.cs.toronto.edu/~kriz/cifar.html>.

use std::path::PathBuf;
use std::sync::Arc;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Dataset, InLayout};
use crate::datasets::image_pieces::ImagePieces;
use crate::datasets::known_labels::LabelSource;
use crate::datasets::published::{Published, in_turn};
use crate::files::fault::Fault;
use crate::{
    DataError, DataFolder, DatasetSummary, Examples, Input, Manifest, Scale, Scaling, Shape, Splits,
};

const SHAPE: Shape = Shape {
    channels: 3,
    height: 32,
    width: 32,
};
const PIXELS: usize = 3 * 32 * 32;
/// Most bytes of a decompression window: that of `xz -9`.
const MOST_WINDOW: u64 = 64 << 20;
/// Training images in the files of either dataset.
const TRAIN: usize = 50_000;
/// Test images.
const TEST: usize = 10_000;

/// Settings of CIFAR-10: 32 × 32 in colour, 10 classes of 5,000 + 1,000 images.
///
/// # Source
/// A. Krizhevsky, "Learning multiple layers of features from tiny images" (2009). The means .4914, .4822, .4465 and
/// deviations .2470, .2435, .2616 of the channels are those of the 50,000 training images over 255.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cifar10 {
    /// The last so many training images are kept apart for validation.
    pub validation: usize,
    /// How bytes become model input.
    pub scale: Scaling,
}

/// Settings of CIFAR-100: 32 × 32 in colour, 100 classes of 500 + 100 images in 20 superclasses.
///
/// # Source
/// As [`cifar10`](Cifar10). Means .5071, .4865, .4409, deviations .2673, .2564, .2762.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cifar100 {
    /// Which of its two labels an image has.
    pub labels: CifarLabels,
    /// The last so many training images are kept apart for validation.
    pub validation: usize,
    /// How bytes become model input.
    pub scale: Scaling,
}

/// The two labels of an image of CIFAR-100.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CifarLabels {
    /// One of 100 classes.
    #[default]
    Fine,
    /// One of 20 superclasses.
    Coarse,
}

impl InLayout for Cifar10 {
    type Layout = CifarLayout;

    fn layout(&self) -> CifarLayout {
        CifarLayout {
            name: "cifar10",
            train: &[
                "data_batch_1.bin",
                "data_batch_2.bin",
                "data_batch_3.bin",
                "data_batch_4.bin",
                "data_batch_5.bin",
            ],
            test: "test_batch.bin",
            record: Record {
                labels: 1,
                chosen: 0,
                classes: 10,
            },
            label_names: &[
                "airplane",
                "automobile",
                "bird",
                "cat",
                "deer",
                "dog",
                "frog",
                "horse",
                "ship",
                "truck",
            ],
            validation: self.validation,
            scales: scales(
                self.scale,
                [0.4914, 0.4822, 0.4465],
                [0.2470, 0.2435, 0.2616],
            ),
        }
    }
}

impl InLayout for Cifar100 {
    type Layout = CifarLayout;

    fn layout(&self) -> CifarLayout {
        let (chosen, classes) = match self.labels {
            CifarLabels::Coarse => (0, 20),
            CifarLabels::Fine => (1, 100),
        };
        CifarLayout {
            name: "cifar100",
            train: &["train.bin"],
            test: "test.bin",
            record: Record {
                labels: 2,
                chosen,
                classes,
            },
            label_names: &[],
            validation: self.validation,
            scales: scales(
                self.scale,
                [0.5071, 0.4865, 0.4409],
                [0.2673, 0.2564, 0.2762],
            ),
        }
    }
}

fn scales(scaling: Scaling, means: [f32; 3], deviations: [f32; 3]) -> Vec<Scale> {
    let channels = means.into_iter().zip(deviations);
    channels
        .map(|(mean, deviation)| scaling.of(mean, deviation))
        .collect()
}

/// The label bytes before the pixels of an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// Number of label bytes.
    pub(crate) labels: usize,
    /// Which of them is the class.
    pub(crate) chosen: usize,
    /// Number of classes.
    pub(crate) classes: usize,
}

/// One of the two datasets, with its settings.
pub(crate) struct CifarLayout {
    name: &'static str,
    train: &'static [&'static str],
    test: &'static str,
    record: Record,
    label_names: &'static [&'static str],
    validation: usize,
    scales: Vec<Scale>,
}

impl Dataset for CifarLayout {
    fn name(&self) -> &'static str {
        self.name
    }

    /// Checks that something is left to train on.
    fn validate(&self) -> Result<(), DataError> {
        match self.validation {
            asked if asked >= TRAIN => Err(DataError::Validation {
                dataset: self.name,
                asked,
                available: TRAIN,
            }),
            _ => Ok(()),
        }
    }

    /// Reads and verifies the files: format, sizes, SHA-256 of the content.
    fn load(&self, folder: &DataFolder) -> Result<Splits, DataError> {
        self.validate()?;
        let train = self.examples(folder, self.train)?;
        let (train, validation) = train.cut(TRAIN - self.validation);
        Ok(Splits {
            train: Arc::new(train),
            validation: validation.map(Arc::new),
            test: Arc::new(self.examples(folder, &[self.test])?),
        })
    }

    fn load_in_pieces(
        &self,
        folder: &DataFolder,
        most: usize,
        see: &mut dyn FnMut(&Examples),
    ) -> Result<Splits, DataError> {
        self.validate()?;
        self.counts(folder, self.train)?;
        let make = |pixels, labels| self.joined(pixels, labels);
        let train = TRAIN - self.validation;
        let mut pieces = ImagePieces::new(train, [most, PIXELS], &make, see);
        for name in self.train {
            self.read(folder, name, |_, label, image| pieces.push(label, image))?;
        }
        let (train, validation) = pieces.finish()?;
        Ok(Splits {
            train: Arc::new(train),
            validation: validation.map(Arc::new),
            test: Arc::new(self.examples(folder, &[self.test])?),
        })
    }

    fn reads_in_pieces(&self, _folder: &DataFolder) -> bool {
        true
    }

    /// The labels stand between the images: all files are read, and no image is held.
    fn summary(&self, folder: &DataFolder) -> Result<DatasetSummary, DataError> {
        self.validate()?;
        let train = self.labels(folder, self.train)?;
        let test = self.labels(folder, &[self.test])?;
        Ok(self.summary_of(train, &test))
    }

    /// The sizes that the makers publish.
    fn published(&self) -> Result<Option<Published>, DataError> {
        self.validate()?;
        let [train, test] = [TRAIN, TEST].map(|images| in_turn(images, self.record.classes));
        Ok(Some(Published {
            summary: self.summary_of(train, &test),
            figures: format!("{TRAIN} and {TEST} images"),
        }))
    }

    /// One decompression window, at most the whole file, for each of the files that `threads` threads read at once; and
    /// as much again, freed just before by reading the labels for the plan.
    fn reading_bytes(&self, _summary: &DatasetSummary, threads: usize) -> usize {
        let largest = Manifest::by_name(self.name).map(|manifest| {
            let sizes = self
                .train
                .iter()
                .map(|name| manifest.file(name).content_bytes());
            sizes.max().unwrap_or(0)
        });
        let window = largest.unwrap_or(0).min(MOST_WINDOW) as usize;
        2 * threads.min(self.train.len()) * window
    }

    fn own_files(&self, _folder: &DataFolder) -> Result<Vec<PathBuf>, DataError> {
        Ok(Vec::new())
    }
}

impl CifarLayout {
    /// The summary of the images that are used; `train` and `test` are the labels of all images.
    fn summary_of(&self, mut train: Vec<u16>, test: &[u16]) -> DatasetSummary {
        train.truncate(TRAIN - self.validation);
        DatasetSummary::new(Input::Numbers(SHAPE), self.record.classes, &train, test)
            .with_validation(self.validation)
    }

    fn examples(&self, folder: &DataFolder, files: &[&str]) -> Result<Examples, DataError> {
        let counts = self.counts(folder, files)?;
        let images: usize = counts.iter().sum();
        let (mut pixels, mut labels) = (vec![0; images * PIXELS], vec![0; images]);
        let (mut all_pixels, mut all_labels) = (&mut pixels[..], &mut labels[..]);
        let mut parts = Vec::new();
        for (name, count) in files.iter().zip(counts) {
            let (pixels, labels);
            (pixels, all_pixels) = all_pixels.split_at_mut(count * PIXELS);
            (labels, all_labels) = all_labels.split_at_mut(count);
            parts.push((name, pixels, labels));
        }
        // Each file goes straight to its place, record after record.
        let read: Vec<Result<(), DataError>> = parts
            .into_par_iter()
            .map(|(name, pixels, labels)| {
                self.read(folder, name, |place, label, image| {
                    labels[place] = label;
                    pixels[place * PIXELS..][..PIXELS].copy_from_slice(image);
                })
            })
            .collect();
        read.into_iter().collect::<Result<(), DataError>>()?;
        self.joined(pixels, labels)
    }

    fn joined(&self, pixels: Vec<u8>, labels: Vec<u16>) -> Result<Examples, DataError> {
        let (classes, scales) = (self.record.classes, self.scales.clone());
        let examples = Examples::scaled_by_channel(pixels, labels, SHAPE, classes, scales)?;
        Ok(examples.with_label_names(self.label_names))
    }

    fn labels(&self, folder: &DataFolder, files: &[&str]) -> Result<Vec<u16>, DataError> {
        let manifest = Manifest::by_name(self.name)?;
        let parts = files.iter().zip(self.counts(folder, files)?);
        let read: Vec<Result<Arc<[u16]>, DataError>> = parts
            .collect::<Vec<_>>()
            .into_par_iter()
            .map(|(name, count)| {
                let source = LabelSource {
                    place: manifest.locate(manifest.file(name), folder)?,
                    chosen: self.record.chosen,
                };
                source.labels(|| {
                    let mut labels = vec![0; count];
                    self.read(folder, name, |place, label, _| labels[place] = label)?;
                    Ok(labels)
                })
            })
            .collect();
        Ok(read.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Number of images in each of `files`. A missing file is reported before any is read.
    fn counts(&self, folder: &DataFolder, files: &[&str]) -> Result<Vec<usize>, DataError> {
        let manifest = Manifest::by_name(self.name)?;
        let count = |name: &&str| {
            let file = manifest.file(name);
            manifest.locate(file, folder)?;
            Ok(file.content_bytes() as usize / self.record.length())
        };
        files.iter().map(count).collect()
    }

    /// Reads the file `name`, one record at a time: `see` is given its place, its label and its image.
    fn read(
        &self,
        folder: &DataFolder,
        name: &str,
        mut see: impl FnMut(usize, u16, &[u8]),
    ) -> Result<(), DataError> {
        let (manifest, record) = (Manifest::by_name(self.name)?, self.record);
        let file = manifest.file(name);
        manifest.read_in_pieces(file, folder, record.length(), |place, bytes| {
            see(place, record.label(place, bytes)?, &bytes[record.labels..]);
            Ok(())
        })
    }
}

impl Record {
    /// Bytes of an image with its labels.
    pub(crate) fn length(self) -> usize {
        self.labels + PIXELS
    }

    /// The chosen label of record `place`, which is `bytes`.
    ///
    /// # Errors
    /// A [`Fault`] if the record is cut short or has a label out of range.
    pub(crate) fn label(self, place: usize, bytes: &[u8]) -> Result<u16, Fault> {
        let (length, found) = (self.length(), bytes.len());
        let start = place * length;
        if found < length {
            let reason = format!("the file ends after {found} of the {length} bytes of a record");
            return Err(Fault::at(start + found, reason));
        }
        let label = bytes[self.chosen];
        if usize::from(label) >= self.classes {
            let reason = format!("label {label} found, below {} needed", self.classes);
            return Err(Fault::at(start + self.chosen, reason));
        }
        Ok(u16::from(label))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINE: Record = Record {
        labels: 2,
        chosen: 1,
        classes: 100,
    };

    #[test]
    fn a_record_begins_with_its_labels() {
        let mut bytes = vec![3; FINE.length()];
        (bytes[0], bytes[1]) = (19, 99);
        assert_eq!(FINE.label(0, &bytes).unwrap(), 99);
        let coarse = Record {
            chosen: 0,
            classes: 20,
            ..FINE
        };
        assert_eq!(coarse.label(7, &bytes).unwrap(), 19);
    }

    #[test]
    fn cut_records_and_impossible_labels_are_refused() {
        let mut bytes = vec![3; FINE.length()];
        bytes[1] = 100;
        let fault = FINE.label(1, &bytes).unwrap_err();
        assert_eq!(fault.offset, PIXELS as u64 + 3);
        assert_eq!(fault.reason, "label 100 found, below 100 needed");
        bytes.pop();
        let offset = FINE.label(1, &bytes).unwrap_err().offset;
        assert_eq!(offset, 2 * PIXELS as u64 + 3);
    }

    #[test]
    fn the_channels_have_scales_of_their_own() {
        let standard = Cifar10::default().layout().scales;
        assert!((standard[2].apply(255) - (1.0 - 0.4465) / 0.2616).abs() < 1e-5);
        let unit = Cifar100 {
            scale: Scaling::Unit,
            ..Cifar100::default()
        };
        assert_eq!(unit.layout().scales, [Scale::UNIT; 3]);
    }
}
