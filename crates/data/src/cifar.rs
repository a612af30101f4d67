//! The binary version of CIFAR-10 and CIFAR-100: records of label bytes and 3 × 32 × 32 pixels.
//!
//! A record of CIFAR-10 is `<label><3072 bytes>`, one of CIFAR-100 `<coarse label><fine label><3072 bytes>`: the red
//! plane, then green, then blue, each row by row.
//!
//! # Source
//! A. Krizhevsky, "The CIFAR-10 dataset", section "Binary version", <https://www.cs.toronto.edu/~kriz/cifar.html>.

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::{DataError, DataFolder, Examples, Manifest, Outline, Scale, Scaling, Shape, Splits};

const SHAPE: Shape = Shape {
    channels: 3,
    height: 32,
    width: 32,
};
const PIXELS: usize = 3 * 32 * 32;
/// Training images in the files of either dataset.
const TRAIN: usize = 50_000;

/// Settings of CIFAR-10: 32 × 32 in colour, 10 classes of 5,000 + 1,000 images.
///
/// # Source
/// A. Krizhevsky, "Learning multiple layers of features from tiny images" (2009). The means .4914, .4822, .4465 and
/// deviations .2470, .2435, .2616 of the channels are those of the 50,000 training images over 255.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cifar10 {
    /// The last so many training images are left out of training.
    pub validation: usize,
    /// How bytes become model input.
    pub scale: Scaling,
}

/// Settings of CIFAR-100: 32 × 32 in colour, 100 classes of 500 + 100 images in 20 superclasses.
///
/// # Source
/// As [`Cifar10`]. Means .5071, .4865, .4409, deviations .2673, .2564, .2762.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cifar100 {
    /// Which of its two labels an image has.
    pub labels: CifarLabels,
    /// The last so many training images are left out of training.
    pub validation: usize,
    /// How bytes become model input.
    pub scale: Scaling,
}

/// The two labels of an image of CIFAR-100.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CifarLabels {
    /// One of 100 classes.
    #[default]
    Fine,
    /// One of 20 superclasses.
    Coarse,
}

impl Cifar10 {
    pub(crate) fn layout(&self) -> CifarLayout {
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

impl Cifar100 {
    pub(crate) fn layout(&self) -> CifarLayout {
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

/// What stands before the pixels of an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// Label bytes.
    pub(crate) labels: usize,
    /// Which of them is the class.
    pub(crate) chosen: usize,
    /// How many classes it tells apart.
    pub(crate) classes: usize,
}

/// One of the two datasets and what was asked of it.
pub(crate) struct CifarLayout {
    name: &'static str,
    train: &'static [&'static str],
    test: &'static str,
    record: Record,
    label_names: &'static [&'static str],
    validation: usize,
    scales: Vec<Scale>,
}

impl CifarLayout {
    /// Checks that something is left to train on.
    pub(crate) fn validate(&self) -> Result<(), DataError> {
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
    pub(crate) fn load(&self, folder: &DataFolder) -> Result<Splits, DataError> {
        self.validate()?;
        let train = self.examples(folder, self.train)?;
        Ok(Splits {
            train: Arc::new(train.truncated(TRAIN - self.validation)),
            test: Arc::new(self.examples(folder, &[self.test])?),
        })
    }

    /// As [`load`](Self::load): the labels stand between the images.
    pub(crate) fn outline(&self, folder: &DataFolder) -> Result<Outline, DataError> {
        Ok(Outline::of(&self.load(folder)?))
    }

    fn examples(&self, folder: &DataFolder, files: &[&str]) -> Result<Examples, DataError> {
        let manifest = Manifest::by_name(self.name)?;
        let read = |name: &&str| {
            let file = manifest.file(name);
            let content = manifest.read(file, folder)?;
            records(&content, self.record).map_err(|fault| {
                let place = manifest.locate(file, folder);
                fault.of(self.name, place.map_or_else(|_| name.into(), |p| p.path()))
            })
        };
        // What is missing is told before anything is read.
        for name in files {
            manifest.locate(manifest.file(name), folder)?;
        }
        let (mut pixels, mut labels) = (Vec::new(), Vec::new());
        // As many files at once as there are threads, so that memory holds little more than the pixels.
        for some in files.chunks(rayon::current_num_threads()) {
            let parts: Vec<Result<_, DataError>> = some.par_iter().map(read).collect();
            for part in parts {
                let (more_pixels, more_labels) = part?;
                if pixels.is_empty() {
                    pixels.reserve_exact(more_pixels.len() * files.len());
                }
                pixels.extend(more_pixels);
                labels.extend(more_labels);
            }
        }
        let (classes, scales) = (self.record.classes, self.scales.clone());
        let examples = Examples::scaled_by_channel(pixels, labels, SHAPE, classes, scales)?;
        Ok(examples.with_label_names(self.label_names))
    }
}

/// The pixels and the chosen labels of a file of records.
///
/// # Errors
/// A [`Fault`] at the first record that is cut short or has a label out of range.
pub(crate) fn records(content: &[u8], record: Record) -> Result<(Vec<u8>, Vec<u16>), Fault> {
    let length = record.labels + PIXELS;
    let whole = content.chunks_exact(length);
    if !whole.remainder().is_empty() {
        let found = whole.remainder().len();
        let reason = format!("the file ends after {found} of the {length} bytes of a record");
        return Err(Fault::at(content.len(), reason));
    }
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    pixels.reserve_exact(content.len());
    for (index, bytes) in whole.enumerate() {
        let label = bytes[record.chosen];
        if usize::from(label) >= record.classes {
            let reason = format!("label {label} found, below {} needed", record.classes);
            return Err(Fault::at(index * length + record.chosen, reason));
        }
        labels.push(u16::from(label));
        pixels.extend_from_slice(&bytes[record.labels..]);
    }
    Ok((pixels, labels))
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
    fn records_are_labels_and_planes() {
        let mut content = vec![3; 2 * (PIXELS + 2)];
        (content[0], content[1], content[2]) = (19, 99, 200);
        let (pixels, labels) = records(&content, FINE).unwrap();
        assert_eq!(labels, [99, 3]);
        assert_eq!((pixels.len(), pixels[0], pixels[1]), (2 * PIXELS, 200, 3));
        let coarse = Record {
            chosen: 0,
            classes: 20,
            ..FINE
        };
        assert_eq!(records(&content, coarse).unwrap().1, [19, 3]);
    }

    #[test]
    fn cut_records_and_impossible_labels_are_refused() {
        let mut content = vec![3; 2 * (PIXELS + 2)];
        content[PIXELS + 3] = 100;
        let fault = records(&content, FINE).unwrap_err();
        assert_eq!(fault.offset, PIXELS as u64 + 3);
        assert_eq!(fault.reason, "label 100 found, below 100 needed");
        content.pop();
        assert_eq!(
            records(&content, FINE).unwrap_err().offset,
            2 * PIXELS as u64 + 3
        );
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
