//! Loads MNIST and the datasets that keep its layout: four idx files, 28 × 28 greyscale.

use std::path::PathBuf;
use std::sync::Arc;

use super::Dataset;
use crate::datasets::balanced::first_of_each;
use crate::datasets::image_pieces::ImagePieces;
use crate::datasets::published::{Published, in_turn};
use crate::files::fault::Fault;
use crate::files::manifest::{Manifest, ManifestFile};
use crate::files::payload::{gather_expected, sha256};
use crate::formats::idx::{self, Element, IdxHeader};
use crate::{DataError, DataFolder, DatasetSummary, Examples, Input, Scale, Shape, Splits};

const SIDE: usize = 28;
/// Classes of the files.
const CLASSES: usize = 10;
const SHAPE: Shape = Shape {
    channels: 1,
    height: SIDE,
    width: SIDE,
};
const IMAGES: &str = "images-idx3";
const LABELS: &str = "labels-idx1";
/// Training images in the files.
const TRAIN: usize = 60_000;
/// Test images in the files.
const TEST: usize = 10_000;
/// Bytes of a file that are taken apart at a time.
const READ: usize = 1 << 16;

/// A dataset in MNIST's layout and what was asked of it.
pub(crate) struct MnistLayout {
    /// Name of the dataset and of its manifest.
    pub(crate) name: &'static str,
    /// Number of classes, 10 or 2. Each joins equally many consecutive classes of the files.
    pub(crate) classes: usize,
    /// The last so many training images are kept apart for validation.
    pub(crate) validation: usize,
    /// Number of test images in a balanced test set; absent if all test images are used.
    pub(crate) balanced_test: Option<usize>,
    /// Test images of the class that has the fewest.
    pub(crate) smallest_test_class: usize,
    /// Map from bytes to model input.
    pub(crate) scale: Scale,
    /// Names of the classes, if they are more than the digit.
    pub(crate) label_names: &'static [&'static str],
}

impl Dataset for MnistLayout {
    fn name(&self) -> &'static str {
        self.name
    }

    /// Checks that something is left to train on and that the test images asked for are there.
    fn validate(&self) -> Result<(), DataError> {
        if self.validation >= TRAIN {
            return Err(DataError::Validation {
                dataset: self.name,
                asked: self.validation,
                available: TRAIN,
            });
        }
        if ![2, CLASSES].contains(&self.classes) {
            let needed = format!("{CLASSES} or 2");
            return Err(DataError::setting(
                self.name,
                "classes",
                self.classes,
                needed,
            ));
        }
        let most = CLASSES * self.smallest_test_class;
        match self.balanced_test {
            Some(asked) if asked == 0 || asked > most || !asked.is_multiple_of(self.classes) => {
                Err(DataError::BalancedTest {
                    dataset: self.name,
                    asked,
                    classes: self.classes,
                    most,
                })
            }
            _ => Ok(()),
        }
    }

    /// Reads and verifies the four files: format, sizes, SHA-256 of the content.
    fn load(&self, folder: &DataFolder) -> Result<Splits, DataError> {
        self.validate()?;
        let manifest = Manifest::by_name(self.name)?;
        let read = |prefix: &str, count| self.read_split(manifest, folder, prefix, count);
        let (train, test) = rayon::join(|| read("train", TRAIN), || read("t10k", TEST));
        let (train, test) = (train?, test?);
        let (train, validation) = train.cut(TRAIN - self.validation);
        Ok(Splits {
            train: Arc::new(train),
            test: Arc::new(self.testing(test)),
            validation: validation.map(Arc::new),
        })
    }

    fn load_in_pieces(
        &self,
        folder: &DataFolder,
        most: usize,
        see: &mut dyn FnMut(&Examples),
    ) -> Result<Splits, DataError> {
        self.validate()?;
        let manifest = Manifest::by_name(self.name)?;
        let labels = self.read_labels(manifest, folder, "train", TRAIN)?;
        let make = |pixels, labels| self.joined(pixels, labels);
        let train = TRAIN - self.validation;
        let mut pieces = ImagePieces::new(train, [most, SIDE * SIDE], &make, see);
        let images = manifest.file(&file_name("train", IMAGES));
        let mut labels = labels.into_iter();
        each_image(manifest, folder, images, TRAIN, |image| {
            pieces.push(labels.next().expect("one label for each image"), image);
        })?;
        let (train, validation) = pieces.finish()?;
        Ok(Splits {
            train: Arc::new(train),
            test: Arc::new(self.testing(self.read_split(manifest, folder, "t10k", TEST)?)),
            validation: validation.map(Arc::new),
        })
    }

    fn reads_in_pieces(&self, _folder: &DataFolder) -> bool {
        true
    }

    /// Reads and verifies the labels; the files of images need only be there.
    fn summary(&self, folder: &DataFolder) -> Result<DatasetSummary, DataError> {
        self.validate()?;
        let manifest = Manifest::by_name(self.name)?;
        for prefix in ["train", "t10k"] {
            manifest.locate(manifest.file(&file_name(prefix, IMAGES)), folder)?;
        }
        let train = self.read_labels(manifest, folder, "train", TRAIN)?;
        let test = self.read_labels(manifest, folder, "t10k", TEST)?;
        Ok(self.summary_of(train, test))
    }

    /// The sizes that the makers publish.
    fn published(&self) -> Result<Option<Published>, DataError> {
        self.validate()?;
        let [train, test] = [TRAIN, TEST].map(|images| in_turn(images, self.classes));
        Ok(Some(Published {
            summary: self.summary_of(train, test),
            figures: format!("{TRAIN} and {TEST} images"),
        }))
    }

    /// The labels as bytes.
    fn reading_bytes(&self, summary: &DatasetSummary, _threads: usize) -> usize {
        summary.train() + summary.test()
    }

    fn own_files(&self, _folder: &DataFolder) -> Result<Vec<PathBuf>, DataError> {
        Ok(Vec::new())
    }
}

impl MnistLayout {
    /// Which of the test images with these `labels` are used; all if absent.
    fn chosen(&self, labels: &[u16]) -> Option<Vec<u32>> {
        self.balanced_test
            .map(|images| first_of_each(labels, self.classes, images / self.classes))
    }

    /// The test images that are used.
    fn testing(&self, test: Examples) -> Examples {
        match self.chosen(test.labels()) {
            Some(chosen) => test.selected(&chosen),
            None => test,
        }
    }

    /// The summary of the images that are used; `train` and `test` are the labels of all images.
    fn summary_of(&self, mut train: Vec<u16>, mut test: Vec<u16>) -> DatasetSummary {
        train.truncate(TRAIN - self.validation);
        if let Some(chosen) = self.chosen(&test) {
            test = chosen.iter().map(|&index| test[index as usize]).collect();
        }
        let input = Input::Numbers(SHAPE);
        DatasetSummary::new(input, self.classes, &train, &test).with_validation(self.validation)
    }

    fn read_split(
        &self,
        manifest: &Manifest,
        folder: &DataFolder,
        prefix: &str,
        count: usize,
    ) -> Result<Examples, DataError> {
        let images = manifest.file(&file_name(prefix, IMAGES));
        let features = read_idx(manifest, folder, images, &[count, SIDE, SIDE])?;
        let labels = self.read_labels(manifest, folder, prefix, count)?;
        self.joined(features, labels)
    }

    fn joined(&self, pixels: Vec<u8>, labels: Vec<u16>) -> Result<Examples, DataError> {
        let examples = Examples::new(pixels, labels, SHAPE, self.classes, self.scale)?;
        Ok(examples.with_label_names(self.label_names))
    }

    fn read_labels(
        &self,
        manifest: &Manifest,
        folder: &DataFolder,
        prefix: &str,
        count: usize,
    ) -> Result<Vec<u16>, DataError> {
        let file = manifest.file(&file_name(prefix, LABELS));
        let bytes = read_idx(manifest, folder, file, &[count])?;
        let (own, all) = (self.classes as u16, CLASSES as u16);
        let class = |label: u8| u16::from(label) * own / all;
        Ok(bytes.into_iter().map(class).collect())
    }
}

fn file_name(prefix: &str, kind: &str) -> String {
    format!("{prefix}-{kind}-ubyte.gz")
}

/// The elements of one idx file of the `needed` dimensions, verified against its manifest entry.
fn read_idx(
    manifest: &Manifest,
    folder: &DataFolder,
    file: &ManifestFile,
    needed: &[usize],
) -> Result<Vec<u8>, DataError> {
    let place = manifest.locate(file, folder)?;
    let malformed = |fault: Fault| fault.of(&manifest.name, place.path());
    let limit = file.content_bytes();
    let content = place.content(limit);
    let mut content = content
        .and_then(|content| gather_expected(content, limit))
        .map_err(|error| place.fault(&manifest.name, 0, error))?;
    if content.len() as u64 > limit {
        manifest.expect_length(file, &place, content.len() as u64)?;
    }
    let header = idx::parse(&content, Element::Byte).map_err(malformed)?;
    expect_dimensions(&header, needed).map_err(malformed)?;
    manifest.verify(file, &place, &sha256(&content))?;
    content.drain(..header.length);
    Ok(content)
}

/// Calls `see` with one image after another of an idx file of `count` images, which is verified against its manifest entry in the
/// end: what was seen counts only if this succeeds.
fn each_image(
    manifest: &Manifest,
    folder: &DataFolder,
    file: &ManifestFile,
    count: usize,
    mut see: impl FnMut(&[u8]),
) -> Result<(), DataError> {
    let bytes = file.content_bytes() as usize;
    let mut pending = Vec::new();
    manifest.read_in_pieces(file, folder, READ, |place, piece| {
        let mut begin = 0;
        if place == 0 {
            let header = idx::parse_beginning(piece, bytes, Element::Byte)?;
            expect_dimensions(&header, &[count, SIDE, SIDE])?;
            begin = header.length;
        }
        pending.extend_from_slice(&piece[begin..]);
        let images = pending.chunks_exact(SIDE * SIDE);
        let whole = pending.len() - images.remainder().len();
        images.for_each(&mut see);
        pending.drain(..whole);
        Ok(())
    })
}

fn expect_dimensions(header: &IdxHeader, needed: &[usize]) -> Result<(), Fault> {
    match header.dimensions == needed {
        true => Ok(()),
        false => {
            let found = &header.dimensions;
            let reason = format!("dimensions {found:?} found, {needed:?} needed");
            Err(Fault::at(4_u64, reason))
        }
    }
}
