//! From NIST's archives to the images of FEMNIST, as LEAF's scripts do it, in little memory.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::Serialize;

use super::NAME;
use super::archives::{ImageArchive, ImageClasses, WrittenImage, sum};
use super::converted::{self, Images, Split};
use super::thumbnail::Thumbnails;
use crate::files::fault::Fault;
use crate::files::unfinished;
use crate::{DataError, DataFolder};

/// Prefix of the names of unfinished files.
const UNFINISHED: &str = ".femnist-";

/// The archives of NIST's Special Database 19 that FEMNIST is made of.
///
/// `femnist` reads what [`convert`](Self::convert) leaves in the data folder, and needs the archives no more.
///
/// # Source
/// `data/femnist/preprocess` and `data/utils/split_data.py` of <https://github.com/TalwalkarLab/leaf>: an image of `by_write.zip`
/// has the class of the image of `by_class.zip` with the same MD5; it is made grey and 28 × 28 by Pillow; of each writer nine images
/// of ten train, drawn at random, at least one trains and one tests; who wrote fewer than two is left out.
///
/// # Interpretation
/// - The small images are those of Pillow 7.0 and later, which halves an image before it resamples it. Earlier versions give pixels
///   that differ by 3 of 255 on average where there is ink.
/// - LEAF takes writers in the order in which the file system lists them; here they are in the order of their folders' names, and
///   their images in the order of the archive.
/// - An image of no class ends LEAF's script; here it is left out and counted. Of several classes the first counts, as there.
/// - LEAF's script repeats the first image of every writer but the first (`group_by_writer.py`); here no image is repeated.
/// - LEAF draws with Python's generator: which images of a writer train is another choice than with any seed there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FemnistArchives {
    /// `by_class.zip`.
    pub by_class: PathBuf,
    /// `by_write.zip`.
    pub by_write: PathBuf,
    /// Seed of the draw of the training images.
    pub seed: u64,
}

/// What was made of the archives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FemnistConversion {
    /// The file that was written.
    pub path: PathBuf,
    /// Training images.
    pub train: usize,
    /// Test images.
    pub test: usize,
    /// Writers, each with images of both kinds.
    pub writers: usize,
    /// Classes of the images.
    pub classes: usize,
    /// Images of `by_write.zip` that `by_class.zip` has not; they are left out.
    pub unlabelled: usize,
    /// Writers of a single image, who are left out.
    pub lone: usize,
    /// Files of `by_class.zip` whose image appeared before in another class.
    pub ambiguous: usize,
}

/// How far a conversion has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConversionProgress {
    /// What is being done, such as `reading by_class.zip`.
    pub step: &'static str,
    /// The share of the step that is done, from 0 to 1.
    pub share: f64,
}

impl FemnistArchives {
    /// Writes `femnist/femnist.npz` in `folder`, whole or not at all; one that is there is replaced. The same archives and seed
    /// give the same bytes.
    ///
    /// Memory grows by about 70 bytes for each image. Until the file is written, each image also takes 784 bytes on
    /// disk.
    ///
    /// # Errors
    /// [`DataError::Malformed`] if an archive or an image is not what it should be; [`DataError::Unmet`] if the archives have no
    /// images in common; [`DataError::Io`] if something cannot be read or written.
    pub fn convert(
        &self,
        folder: &DataFolder,
        progress: &mut dyn FnMut(ConversionProgress),
    ) -> Result<FemnistConversion, DataError> {
        let mut by_write = ImageArchive::open(&self.by_write)?;
        let by_class = ImageArchive::open(&self.by_class)?;
        let written = by_write.writers()?;
        let classes = by_class.classes(&mut |share| {
            let step = "reading by_class.zip";
            progress(ConversionProgress { step, share });
        })?;
        let path = converted::path(folder)?;
        let home = path.parent().unwrap_or(Path::new("")).to_owned();
        fs::create_dir_all(&home).map_err(DataError::io("make", &home))?;
        unfinished::remove_leftovers(&home, UNFINISHED);
        let mut images = matched(&mut by_write, &written, &classes, &home, progress)?;
        let unlabelled = written.len() - images.labels.len();
        let drawn = split(&mut images, self.seed);
        if drawn.writers == 0 {
            return Err(DataError::Unmet {
                dataset: NAME,
                reason: format!(
                    "of the {} images of {} none has a class in {}, or no writer has two of them",
                    written.len(),
                    self.by_write.display(),
                    self.by_class.display()
                ),
            });
        }
        progress(ConversionProgress {
            step: "writing femnist.npz",
            share: 0.0,
        });
        save(&mut images, &home, &path).map_err(DataError::io("write", &path))?;
        Ok(FemnistConversion {
            path,
            train: images.count(Split::Train),
            test: images.count(Split::Test),
            writers: drawn.writers,
            classes: images.classes(),
            unlabelled,
            lone: drawn.lone,
            ambiguous: classes.ambiguous,
        })
    }
}

/// The small images of all `written` images that have a class. Their pixels lie in an unnamed file in `home`.
fn matched(
    archive: &mut ImageArchive,
    written: &[WrittenImage],
    classes: &ImageClasses,
    home: &Path,
    progress: &mut dyn FnMut(ConversionProgress),
) -> Result<Images, DataError> {
    let refused = |error| DataError::io("write the images to a file in", home)(error);
    let pixels = tempfile::tempfile_in(home).map_err(refused)?;
    let mut pixels = BufWriter::with_capacity(1 << 16, pixels);
    let (mut labels, mut owners, mut content) = (Vec::new(), Vec::new(), Vec::new());
    let thumbnails = Thumbnails::new();
    for (index, image) in written.iter().enumerate() {
        let path = archive.image(image, &mut content)?;
        progress(ConversionProgress {
            step: "reading by_write.zip",
            share: index as f64 / written.len() as f64,
        });
        let Some(class) = classes.of.get(&sum(&content)) else {
            continue;
        };
        let small = thumbnails.of_png(&content);
        let small = small.map_err(|reason| Fault::at(0_u64, reason).of(NAME, path))?;
        pixels.write_all(&small).map_err(refused)?;
        labels.push(*class);
        owners.push(image.writer);
    }
    let pixels = pixels.into_inner();
    Ok(Images {
        pixels: pixels.map_err(|error| refused(error.into_error()))?,
        splits: vec![Split::Neither; labels.len()],
        labels,
        owners,
    })
}

/// Writes `images` to `path` in the folder `home`, whole or not at all.
fn save(images: &mut Images, home: &Path, path: &Path) -> io::Result<()> {
    let mut file = unfinished::create(home, UNFINISHED)?;
    images.save(&mut file)?;
    file.persist(path)?;
    Ok(())
}

/// Writers whose images were split, and those of a single image, who were left out.
#[derive(Default)]
struct Drawn {
    writers: usize,
    lone: usize,
}

/// Draws training and test images, and renumbers the writers without those of a single image.
fn split(images: &mut Images, seed: u64) -> Drawn {
    let (mut drawn, mut first) = (Drawn::default(), 0);
    let runs = images.owners.chunk_by(|a, b| a == b).map(<[u32]>::len);
    let runs: Vec<usize> = runs.collect();
    for count in runs {
        let end = first + count;
        let splits = &mut images.splits[first..end];
        match count {
            1 => drawn.lone += 1,
            _ => {
                // Every writer draws alone, so that none depends on the others.
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                rng.set_stream(images.owners[first].into());
                splits.fill(Split::Test);
                splits[..training(count)].fill(Split::Train);
                splits.shuffle(&mut rng);
                images.owners[first..end].fill(drawn.writers as u32);
                drawn.writers += 1;
            }
        }
        first = end;
    }
    drawn
}

/// How many of a writer's `count` images train.
fn training(count: usize) -> usize {
    (count * 9 / 10).max(1)
}

#[cfg(test)]
mod tests;
