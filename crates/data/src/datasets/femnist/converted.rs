//! The converted FEMNIST: a NumPy archive with the arrays `x`, `y` and `client` of each split.
//!
//! `x_train` is `[M, 28, 28]` bytes, `y_train` `[M]` classes, `client_train` `[M]` numbers of writers; so are those that end in
//! `_test`. The rows of a writer lie together, writers in ascending order.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::NamedTempFile;

use super::{CLASSES, MOST_IMAGES, NAME, SHAPE, Written, expect_some};
use crate::datasets::image_pieces::ImagePieces;
use crate::files::fault::Fault;
use crate::files::regular;
use crate::formats::npy::{Kind, NpyArray};
use crate::formats::npz::{NpzWriter, in_array};
use crate::formats::zip_member::ZipMember;
use crate::{DataError, DataFolder, DatasetSummary, Examples, Input, Manifest, Scale, Splits};

const FILE: &str = "femnist.npz";
const WIDTH: usize = SHAPE.width * SHAPE.height;

/// Where the converted images lie in `folder`.
pub(super) fn path(folder: &DataFolder) -> Result<PathBuf, DataError> {
    Ok(Manifest::by_name(NAME)?.folder(folder).join(FILE))
}

/// The converted images in `folder`, of the first `writers` writers; nothing if there are none.
pub(super) fn load(folder: &DataFolder, writers: usize) -> Result<Option<Splits>, DataError> {
    let Some(path) = regular::first([path(folder)?])? else {
        return Ok(None);
    };
    Ok(Some(Splits {
        train: read(&path, "train", writers)?,
        test: read(&path, "test", writers)?,
        validation: None,
    }))
}

/// As [`load`], with the training images handed to `see` in pieces of at most `most` bytes.
pub(super) fn load_in_pieces(
    folder: &DataFolder,
    writers: usize,
    most: usize,
    see: &mut dyn FnMut(&Examples),
) -> Result<Option<Splits>, DataError> {
    let Some(path) = regular::first([path(folder)?])? else {
        return Ok(None);
    };
    let tags = Tags::read(&path, "train", writers)?;
    let mut kept = (0..tags.owners.len()).filter(|index| tags.is_read(*index));
    let images = kept.clone().count();
    expect_some(images, "train")?;
    let make = |pixels, labels| Examples::new(pixels, labels, SHAPE, CLASSES, Scale::UNIT);
    let mut pieces = ImagePieces::new(images, [most, WIDTH], &make, see).with_owners();
    let mut image = Vec::with_capacity(WIDTH);
    in_array(NAME, &path, "x_train", |array| {
        chosen_rows(
            array,
            tags.owners.len(),
            |index| tags.is_read(index),
            |array| {
                let index = kept.next().expect("a row for each image that is read");
                image.clear();
                array.append(WIDTH, &mut image)?;
                pieces.push_of(tags.owners[index], tags.labels[index], &image);
                Ok(())
            },
        )
    })?;
    let (train, _) = pieces.finish()?;
    Ok(Some(Splits {
        train: Arc::new(train),
        test: read(&path, "test", writers)?,
        validation: None,
    }))
}

/// Labels and writers of the converted images in `folder`; nothing if there are none.
pub(super) fn summary(
    folder: &DataFolder,
    writers: usize,
) -> Result<Option<DatasetSummary>, DataError> {
    let Some(path) = regular::first([path(folder)?])? else {
        return Ok(None);
    };
    let of = |split| Tags::read(&path, split, writers).map(Tags::kept);
    let ((train, mut owners), (test, of_test)) = (of("train")?, of("test")?);
    for (labels, split) in [(&train, "train"), (&test, "test")] {
        expect_some(labels.len(), split)?;
    }
    owners.extend(of_test);
    let summary = DatasetSummary::new(Input::Numbers(SHAPE), CLASSES, &train, &test);
    Ok(Some(summary.with_owners(owners)))
}

/// Labels and writers of the images of a split.
struct Tags {
    labels: Vec<u16>,
    owners: Vec<u32>,
    /// Only writers with lower numbers are read.
    most: u32,
}

impl Tags {
    fn read(path: &Path, split: &'static str, writers: usize) -> Result<Self, DataError> {
        let array = |name: &str| format!("{name}_{split}");
        let owners = in_array(NAME, path, &array("client"), |array| {
            numbers(array, u32::MAX - 1)
        })?;
        let labels = in_array(NAME, path, &array("y"), |array| {
            numbers(array, CLASSES as u32 - 1)
        })?;
        if labels.len() != owners.len() {
            let (found, needed) = (labels.len(), owners.len());
            let reason = format!("{found} labels of the {split} images but {needed} writers");
            return Err(Fault::at(0_u64, reason).of(NAME, path));
        }
        Ok(Self {
            labels: labels.into_iter().map(|label| label as u16).collect(),
            owners,
            most: u32::try_from(writers).unwrap_or(u32::MAX),
        })
    }

    fn is_read(&self, index: usize) -> bool {
        self.owners[index] < self.most
    }

    /// Labels and writers of the images that are read.
    fn kept(self) -> (Vec<u16>, Vec<u32>) {
        let all = self.labels.into_iter().zip(self.owners);
        all.filter(|(_, owner)| *owner < self.most).unzip()
    }
}

fn read(path: &Path, split: &'static str, writers: usize) -> Result<Arc<Examples>, DataError> {
    let tags = Tags::read(path, split, writers)?;
    let chosen = (0..tags.owners.len()).filter(|index| tags.is_read(*index));
    let mut pixels = Vec::new();
    // If memory is short, reading will report it.
    let _ = pixels.try_reserve_exact(chosen.count() * WIDTH);
    in_array(NAME, path, &format!("x_{split}"), |array| {
        chosen_rows(
            array,
            tags.owners.len(),
            |index| tags.is_read(index),
            |array| array.append(WIDTH, &mut pixels),
        )
    })?;
    let (labels, owners) = tags.kept();
    let written = Written {
        pixels,
        labels,
        owners,
    };
    written.examples(split)
}

/// All elements of a list of whole numbers up to `most`.
fn numbers(mut array: NpyArray<ZipMember<'_>>, most: u32) -> Result<Vec<u32>, Fault> {
    let shape = &array.header().shape;
    let &[count] = &shape[..] else {
        return Err(Fault::at(
            0_u64,
            format!("shape {shape:?} found, a list needed"),
        ));
    };
    check_count(count)?;
    let mut numbers = Vec::new();
    array.each(count, |value| {
        let number = value as u32;
        if f64::from(number) != value || number > most {
            return Err(format!(
                "{value} found, a whole number from 0 to {most} needed"
            ));
        }
        numbers.push(number);
        Ok(())
    })?;
    array.into_content().finish()?;
    Ok(numbers)
}

/// Calls `take` for each of the `count` images in `array` that `is_read`, and skips the others.
fn chosen_rows<'a>(
    mut array: NpyArray<ZipMember<'a>>,
    count: usize,
    is_read: impl Fn(usize) -> bool,
    mut take: impl FnMut(&mut NpyArray<ZipMember<'a>>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let (header, needed) = (array.header(), [count, SHAPE.height, SHAPE.width]);
    if header.kind != Kind::Unsigned(1) || header.shape != needed {
        let (kind, found) = (header.kind, &header.shape);
        let reason = format!("shape {found:?} of {kind:?} found, {needed:?} of bytes needed");
        return Err(Fault::at(0_u64, reason));
    }
    let mut passed_over = Vec::new();
    for index in 0..count {
        passed_over.clear();
        match is_read(index) {
            true => take(&mut array)?,
            false => array.append(WIDTH, &mut passed_over)?,
        }
    }
    array.into_content().finish()
}

fn check_count(count: usize) -> Result<(), Fault> {
    match count <= MOST_IMAGES {
        true => Ok(()),
        false => {
            let reason = format!("{count} images found, at most {MOST_IMAGES} needed");
            Err(Fault::at(0_u64, reason))
        }
    }
}

/// The split of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Split {
    Train,
    Test,
    /// Left out, as its writer has no second one.
    Neither,
}

/// Images that are to be written to the file.
pub(super) struct Images {
    /// `[M, 784]`, on the disk.
    pub(super) pixels: File,
    /// `[M]`.
    pub(super) labels: Vec<u8>,
    /// `[M]`, ascending.
    pub(super) owners: Vec<u32>,
    /// `[M]`.
    pub(super) splits: Vec<Split>,
}

impl Images {
    /// How many go to `split`.
    pub(super) fn count(&self, split: Split) -> usize {
        self.splits.iter().filter(|found| **found == split).count()
    }

    /// How many classes the images have that are not left out.
    pub(super) fn classes(&self) -> usize {
        let tagged = self.labels.iter().zip(&self.splits);
        let kept = tagged.filter(|(_, split)| **split != Split::Neither);
        kept.map(|(label, _)| label).collect::<HashSet<_>>().len()
    }

    /// Writes all arrays to `file`; the same images give the same bytes.
    pub(super) fn save(&mut self, file: &mut NamedTempFile) -> io::Result<()> {
        let mut archive = NpzWriter::new(BufWriter::with_capacity(1 << 16, file));
        for (split, name) in [(Split::Train, "train"), (Split::Test, "test")] {
            let splits = &self.splits;
            let is_in = |row: &usize| splits[*row] == split;
            let rows = || (0..splits.len()).filter(is_in);
            let count = rows().count();
            archive.array(&format!("client_{name}"), "<u4", &[count], |to| {
                rows().try_for_each(|row| to.write_all(&self.owners[row].to_le_bytes()))
            })?;
            archive.array(&format!("y_{name}"), "|u1", &[count], |to| {
                rows().try_for_each(|row| to.write_all(&[self.labels[row]]))
            })?;
            self.pixels.rewind()?;
            let mut pixels = BufReader::with_capacity(1 << 16, &self.pixels);
            let shape = [count, SHAPE.height, SHAPE.width];
            archive.array(&format!("x_{name}"), "|u1", &shape, |to| {
                let mut image = [0; WIDTH];
                (0..splits.len()).try_for_each(|row| {
                    pixels.read_exact(&mut image)?;
                    match is_in(&row) {
                        true => to.write_all(&image),
                        false => Ok(()),
                    }
                })
            })?;
        }
        archive.finish().map(drop)
    }
}
