//! `femnist`: LEAF's handwritten letters and digits, with their writers.

mod archives;
mod conversion;
mod converted;
mod leaf;
mod thumbnail;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::conversion::{ConversionProgress, FemnistArchives, FemnistConversion};
use self::leaf::announced;
pub(crate) use self::leaf::{Written, read as read_leaf};
use super::Dataset;
use crate::datasets::published::{Published, dealt_evenly, in_turn};
use crate::files::json_files::json_files;
use crate::files::packing::most_content;
use crate::files::payload;
use crate::{
    DataError, DataFolder, DatasetSummary, Examples, Input, Manifest, Scale, Shape, Splits,
};

const NAME: &str = "femnist";
const CLASSES: usize = 62;
const SHAPE: Shape = Shape {
    channels: 1,
    height: 28,
    width: 28,
};
/// Bytes that one unpacked file may have; LEAF writes some hundred writers into each.
const MOST_BYTES: u64 = 1 << 35;
/// LEAF's images, and who wrote them (LEAF, Table 1).
const IMAGES: usize = 805_263;
const WRITERS: usize = 3_550;
/// Images in all files.
const MOST_IMAGES: usize = 2_000_000;
/// Bytes of json that an image takes at least: a digit and what follows it for every pixel.
const LEAST_JSON: u64 = 2 * 28 * 28;

/// Settings of FEMNIST: 28 × 28 greyscale, 10 digits, 26 capitals and 26 small letters, each image with its writer.
///
/// The file is `femnist.npz`, which [`meshfold data convert femnist`](FemnistArchives) makes of NIST's archives. Where it is not there, the files are those of
/// LEAF's script, in the folders `train` and `test`: what it left for training trains, the rest tests. LEAF's pixels, which are
/// `byte / 255` with a white ground, are what a model sees.
///
/// # Source
/// S. Caldas et al., "LEAF: a benchmark for federated settings", arXiv:1812.01097.
///
/// # Interpretation
/// In LEAF's files writers are numbered in the order of the files' names and of the writers in them, those of the training files
/// first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Femnist {
    /// The first so many writers of the training files alone are read, with their test images; all if absent.
    pub writers: Option<usize>,
}

impl Dataset for Femnist {
    fn name(&self) -> &'static str {
        NAME
    }

    fn validate(&self) -> Result<(), DataError> {
        match self.writers {
            Some(0) => Err(DataError::setting(NAME, "writers", 0, "at least 1")),
            _ => Ok(()),
        }
    }

    fn load(&self, folder: &DataFolder) -> Result<Splits, DataError> {
        self.validate()?;
        if let Some(splits) = converted::load(folder, self.writers.unwrap_or(usize::MAX))? {
            return Ok(splits);
        }
        let mut numbers = HashMap::new();
        let train = self.read(folder, "train", &mut numbers, true)?;
        let test = self.read(folder, "test", &mut numbers, self.writers.is_none())?;
        Ok(Splits {
            train,
            test,
            validation: None,
        })
    }

    /// LEAF's files are read whole, because labels follow their images; converted images are read in pieces.
    fn load_in_pieces(
        &self,
        folder: &DataFolder,
        most: usize,
        see: &mut dyn FnMut(&Examples),
    ) -> Result<Splits, DataError> {
        self.validate()?;
        let writers = self.writers.unwrap_or(usize::MAX);
        match converted::load_in_pieces(folder, writers, most, see)? {
            Some(splits) => Ok(splits),
            None => Ok(self.load(folder)?.in_pieces(most, see)),
        }
    }

    fn reads_in_pieces(&self, folder: &DataFolder) -> bool {
        converted::path(folder).is_ok_and(|path| path.is_file())
    }

    /// Of converted images, only labels and writers are read.
    fn summary(&self, folder: &DataFolder) -> Result<DatasetSummary, DataError> {
        self.validate()?;
        match converted::summary(folder, self.writers.unwrap_or(usize::MAX))? {
            Some(summary) => Ok(summary),
            None => Ok(DatasetSummary::of(&self.load(folder)?)),
        }
    }

    /// LEAF's figures. Of each writer, nine images of ten are for training, as in LEAF's script.
    fn published(&self) -> Result<Option<Published>, DataError> {
        self.validate()?;
        let writers = self.writers.map_or(WRITERS, |most| most.min(WRITERS));
        let images = IMAGES * writers / WRITERS;
        let [train, test] = [images * 9 / 10, images - images * 9 / 10];
        let [labels, other_labels] = [train, test].map(|images| in_turn(images, CLASSES));
        let owners = [train, test].map(|images| dealt_evenly(images, writers, 0));
        let summary = DatasetSummary::new(Input::Numbers(SHAPE), CLASSES, &labels, &other_labels);
        Ok(Some(Published {
            summary: summary.with_owners(owners.concat()),
            figures: format!("{IMAGES} images of {WRITERS} writers (LEAF)"),
        }))
    }

    /// None: the files announce how many images they hold, and images are read into place.
    fn reading_bytes(&self, _summary: &DatasetSummary, _threads: usize) -> usize {
        0
    }

    fn own_files(&self, _folder: &DataFolder) -> Result<Vec<PathBuf>, DataError> {
        Ok(Vec::new())
    }
}

impl Femnist {
    /// How many images the files at `paths` announce for writers in `numbers`, and for new writers if they `may` join;
    /// at most as many as there may be.
    fn expected(
        &self,
        paths: &[PathBuf],
        numbers: &HashMap<String, u32>,
        may: bool,
    ) -> Result<usize, DataError> {
        let most = self.writers.unwrap_or(usize::MAX);
        let mut joining = HashSet::new();
        let mut images = 0_u64;
        for path in paths {
            let content = payload::open(path, MOST_BYTES)
                .map_err(|error| payload::fault(NAME, path, 0, error))?;
            let mut of_file = 0_u64;
            for (writer, count) in announced(content) {
                let joins = may && numbers.len() + joining.len() < most;
                let known = numbers.contains_key(&writer) || joining.contains(&writer);
                if known || joins {
                    of_file = of_file.saturating_add(count);
                }
                if joins && !known {
                    joining.insert(writer);
                }
            }
            images += of_file.min(most_images(path)?);
        }
        Ok(images.min(MOST_IMAGES as u64) as usize)
    }

    /// The images in the folder `split`. Writers that are not in `numbers` join if they `may`.
    fn read(
        &self,
        folder: &DataFolder,
        split: &'static str,
        numbers: &mut HashMap<String, u32>,
        may: bool,
    ) -> Result<Arc<Examples>, DataError> {
        let home = Manifest::by_name(NAME)?.folder(folder).join(split);
        let paths = json_files(&home)?;
        if paths.is_empty() {
            return Err(DataError::Missing {
                dataset: NAME.into(),
                file: format!("{split}/*.json"),
                looked: vec![home],
                origin: folder.origin(),
            });
        }
        let mut written = Written::default();
        let images = self.expected(&paths, numbers, may)?;
        // If memory is short, reading will report it.
        let _ = written.pixels.try_reserve_exact(images * SHAPE.features());
        for path in paths {
            let mut known = |writer: &str| match numbers.get(writer) {
                Some(number) => Some(*number),
                None if may && self.writers.is_none_or(|most| numbers.len() < most) => {
                    let number = numbers.len() as u32;
                    numbers.insert(writer.to_owned(), number);
                    Some(number)
                }
                None => None,
            };
            let content = payload::open(&path, MOST_BYTES)
                .map_err(|error| payload::fault(NAME, &path, 0, error))?;
            written = read_leaf(content, written, MOST_IMAGES, &mut known)
                .map_err(|fault| fault.of(NAME, &path))?;
        }
        written.examples(split)
    }
}

impl Written {
    /// The examples of `split`.
    fn examples(self, split: &'static str) -> Result<Arc<Examples>, DataError> {
        expect_some(self.labels.len(), split)?;
        let examples = Examples::new(self.pixels, self.labels, SHAPE, CLASSES, Scale::UNIT)?;
        Ok(Arc::new(examples.with_owners(self.owners)))
    }
}

/// Checks that there are `images` in `split`.
fn expect_some(images: usize, split: &'static str) -> Result<(), DataError> {
    match images {
        0 => Err(DataError::ExampleCount {
            dataset: NAME,
            split,
            asked: 0,
            most: MOST_IMAGES,
        }),
        _ => Ok(()),
    }
}

/// Images that the file at `path` may hold at most, as far as its length tells.
fn most_images(path: &Path) -> Result<u64, DataError> {
    let most = most_content(path).map_err(DataError::io("read", path))?;
    Ok(most / LEAST_JSON)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_made_for_announced_images_of_chosen_writers_that_the_files_can_hold() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, head: &str, length: usize| {
            let path = folder.path().join(name);
            let text = format!("{{{head}, \"user_data\": {{");
            let rest = " ".repeat(length - text.len());
            std::fs::write(&path, text + &rest).unwrap();
            path
        };
        let long = 100 * LEAST_JSON as usize;
        let first = file(
            "a.json",
            r#""users": ["a", "b"], "num_samples": [30, 20]"#,
            long,
        );
        let second = file(
            "b.json",
            r#""users": ["b", "c"], "num_samples": [1, 40]"#,
            long,
        );
        let lying = file(
            "c.json",
            r#""users": ["z"], "num_samples": [1000000]"#,
            long,
        );
        let silent = file("d.json", r#""users": ["z"]"#, long);
        let of = |writers, paths: &[&PathBuf], numbers: &HashMap<String, u32>, may| {
            let paths: Vec<PathBuf> = paths.iter().map(|path| (*path).clone()).collect();
            Femnist { writers }.expected(&paths, numbers, may).unwrap()
        };
        let nobody = HashMap::new();
        assert_eq!(of(None, &[&first, &second], &nobody, true), 91);
        assert_eq!(of(Some(2), &[&first, &second], &nobody, true), 51);
        let known = HashMap::from([("b".to_owned(), 0)]);
        assert_eq!(of(Some(1), &[&first, &second], &known, false), 21);
        assert_eq!(of(None, &[&lying], &nobody, true), 100);
        assert_eq!(of(None, &[&silent], &nobody, true), 0);
    }
}
