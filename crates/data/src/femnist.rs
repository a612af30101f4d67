//! `femnist`: LEAF's letters and digits, by who wrote them.

mod leaf;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub(crate) use self::leaf::{Written, read as read_leaf};
use crate::packing::unpacked;
use crate::{DataError, DataFolder, Examples, Manifest, Outline, Scale, Shape, Splits, payload};

const NAME: &str = "femnist";
const CLASSES: usize = 62;
const SHAPE: Shape = Shape {
    channels: 1,
    height: 28,
    width: 28,
};
/// Bytes that one unpacked file may have; LEAF writes some hundred writers into each.
const MOST_BYTES: u64 = 1 << 35;
/// Images in all files; LEAF has 805,263.
const MOST_IMAGES: usize = 2_000_000;

/// Settings of FEMNIST: 28 × 28 greyscale, 10 digits, 26 capitals and 26 small letters, each image with its writer.
///
/// The files are those of LEAF's script, in the folders `train` and `test`: what it left for training trains, the rest
/// tests. LEAF's pixels, which are `byte / 255` with a white ground, are what a model sees.
///
/// # Source
/// S. Caldas et al., "LEAF: a benchmark for federated settings", arXiv:1812.01097.
///
/// # Interpretation
/// Writers are numbered in the order of the files' names and of the writers in them, those of the training files first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Femnist {
    /// The first so many writers of the training files alone are read, with their test images; all if absent.
    pub writers: Option<usize>,
}

impl Femnist {
    pub(crate) fn validate(&self) -> Result<(), DataError> {
        match self.writers {
            Some(0) => Err(DataError::Setting {
                dataset: NAME,
                setting: "writers",
                found: "0".into(),
                needed: "at least 1".into(),
            }),
            _ => Ok(()),
        }
    }

    pub(crate) fn load(&self, folder: &DataFolder) -> Result<Splits, DataError> {
        self.validate()?;
        let mut numbers = HashMap::new();
        let train = self.read(folder, "train", &mut numbers, true)?;
        let test = self.read(folder, "test", &mut numbers, self.writers.is_none())?;
        Ok(Splits { train, test })
    }

    pub(crate) fn outline(&self, folder: &DataFolder) -> Result<Outline, DataError> {
        Ok(Outline::of(&self.load(folder)?))
    }

    /// The images in the folder `split`; writers that are not among `numbers` join if they `may`.
    fn read(
        &self,
        folder: &DataFolder,
        split: &'static str,
        numbers: &mut HashMap<String, u32>,
        may: bool,
    ) -> Result<Arc<Examples>, DataError> {
        let home = Manifest::by_name(NAME)?.folder(folder).join(split);
        let mut written = Written::default();
        for path in files(&home, folder)? {
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
        let Written {
            pixels,
            labels,
            owners,
        } = written;
        if labels.is_empty() {
            return Err(DataError::ExampleCount {
                dataset: NAME,
                split,
                asked: 0,
                most: MOST_IMAGES,
            });
        }
        let examples = Examples::new(pixels, labels, SHAPE, CLASSES, Scale::UNIT)?;
        Ok(Arc::new(examples.with_owners(owners)))
    }
}

/// The json files in `home`, packed or not, in the order of their names.
fn files(home: &Path, folder: &DataFolder) -> Result<Vec<PathBuf>, DataError> {
    let missing = || DataError::Missing {
        dataset: NAME.into(),
        file: format!("{}/*.json", home.file_name().unwrap_or_default().display()),
        looked: vec![home.to_owned()],
        origin: folder.origin(),
    };
    if !home.is_dir() {
        return Err(missing());
    }
    let entries = fs::read_dir(home).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.map_err(DataError::io("list", home))?;
    let is_json = |path: &PathBuf| unpacked(path).extension().is_some_and(|e| e == "json");
    let paths = entries.into_iter().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths.filter(is_json).collect();
    paths.sort();
    match paths.is_empty() {
        true => Err(missing()),
        false => Ok(paths),
    }
}
