//! `leukemia_a2`: acute myeloid leukaemia or not, from the expression of 12,708 genes.

mod annotation;
mod cache;
pub(crate) mod fuzzing;
mod matrix;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use self::annotation::classes;
pub(crate) use self::matrix::{Matrix, read as read_matrix};
use super::Dataset;
use crate::datasets::standard::Standard;
use crate::datasets::test_share;
use crate::files::excerpt::excerpt;
use crate::files::fault::Fault;
use crate::files::payload;
use crate::files::place::Place;
use crate::{
    DataError, DataFolder, DatasetSummary, Examples, Input, Manifest, Published, Shape, Splits,
};

const NAME: &str = "leukemia_a2";
const MATRIX: &str = "dataset_A2_RMA.txt";
const ANNOTATION: &str = "dataset_A2_annotation.txt";
/// Rows of the published matrix.
const GENES: usize = 12_708;
/// Its columns.
const SAMPLES: usize = 8_348;
/// Samples of patients.
const CASES: usize = 2_588;
const CLASSES: usize = 2;
const CLASS_NAMES: [&str; CLASSES] = ["CONTROL", "CASE"];

/// Settings of dataset A2 of Swarm Learning: 8,348 microarray samples, 2,588 of patients (class 1, `CASE`) and 5,760 of
/// others (class 0, `CONTROL`), each with the expression of 12,708 genes.
///
/// Every gene has mean 0 and deviation 1 over the training samples. What was read of the matrix is kept in a compact file
/// beside it, which is made anew when the matrix is another.
///
/// # Source
/// S. Warnat-Herresthal et al., "Swarm Learning for decentralized and confidential clinical machine learning", Nature 594
/// (2021); DeceFL, SI section "Dataset A2", and its authors' code: as many controls as cases, a fifth to test.
///
/// # Interpretation
/// DeceFL's code standardises over all samples, those that test included; here the training samples alone count. Which
/// controls are kept and which samples test is drawn with `seed`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LeukemiaA2 {
    /// Whether as many samples of the larger class are kept as the smaller has, drawn at random.
    pub balanced: bool,
    /// The share of the samples that tests.
    pub test_share: f64,
    /// Seed of both draws.
    pub seed: u64,
}

impl Default for LeukemiaA2 {
    fn default() -> Self {
        Self {
            balanced: true,
            test_share: 0.2,
            seed: 0,
        }
    }
}

impl Dataset for LeukemiaA2 {
    fn name(&self) -> &'static str {
        NAME
    }

    fn validate(&self) -> Result<(), DataError> {
        test_share::check(NAME, "test_share", self.test_share)
    }

    fn load(&self, folder: &DataFolder) -> Result<Splits, DataError> {
        self.validate()?;
        let sources = Sources::find(folder)?;
        let expected = Manifest::by_name(NAME)?.file(MATRIX);
        let matrix = cache::matrix(&sources.matrix, Some(expected))?;
        let labels = sources.labels(&matrix.samples)?;
        self.splits(&matrix, &labels)
    }

    /// Reads the annotation and the first row of the matrix alone.
    fn summary(&self, folder: &DataFolder) -> Result<DatasetSummary, DataError> {
        self.validate()?;
        let sources = Sources::find(folder)?;
        let content = payload::open(&sources.matrix, matrix::MOST_BYTES)
            .map_err(|error| payload::fault(NAME, &sources.matrix, 0, error))?;
        let samples = matrix::samples(content).map_err(|f| f.of(NAME, &sources.matrix))?;
        self.summary_of(&sources.labels(&samples)?)
    }

    /// The makers' figures; cases and controls alternate as evenly as they can.
    fn published(&self) -> Result<Option<Published>, DataError> {
        self.validate()?;
        let cases_before = |samples: usize| samples * CASES / SAMPLES;
        let label = |sample| (cases_before(sample + 1) - cases_before(sample)) as u16;
        let labels: Vec<u16> = (0..SAMPLES).map(label).collect();
        Ok(Some(Published {
            summary: self.summary_of(&labels)?,
            figures: format!("{SAMPLES} samples, {CASES} of them cases, of {GENES} genes"),
        }))
    }

    /// The whole matrix, which the samples are chosen from.
    fn reading_bytes(&self, _summary: &DatasetSummary, _threads: usize) -> usize {
        SAMPLES * GENES * size_of::<f32>()
    }

    fn own_files(&self, _folder: &DataFolder) -> Result<Vec<PathBuf>, DataError> {
        Ok(Vec::new())
    }
}

impl LeukemiaA2 {
    /// The summary of what is used of samples with these `labels`.
    fn summary_of(&self, labels: &[u16]) -> Result<DatasetSummary, DataError> {
        let (train, test) = self.drawn(labels)?;
        let of = |places: &[u32]| -> Vec<u16> {
            places.iter().map(|place| labels[*place as usize]).collect()
        };
        let input = Input::Numbers(Shape::flat(GENES));
        Ok(DatasetSummary::new(input, CLASSES, &of(&train), &of(&test)).of_numbers())
    }

    /// The training samples and the test samples, by their places among `labels`.
    fn drawn(&self, labels: &[u16]) -> Result<(Vec<u32>, Vec<u32>), DataError> {
        let mut kept: Vec<u32> = (0..labels.len() as u32).collect();
        if self.balanced {
            let class = |class| {
                kept.iter()
                    .copied()
                    .filter(move |p| labels[*p as usize] == class)
            };
            let mut classes = [class(0).collect::<Vec<_>>(), class(1).collect()];
            let fewest = classes.iter().map(Vec::len).min().unwrap_or_default();
            let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
            for class in classes.iter_mut().filter(|class| class.len() > fewest) {
                class.shuffle(&mut rng);
                class.truncate(fewest);
            }
            kept = classes.concat();
            kept.sort_unstable();
        }
        let drawn = test_share::drawn(kept.len(), self.test_share, self.seed);
        let (train, test) = drawn.map_err(|fault| DataError::Unmet {
            dataset: NAME,
            reason: fault.reason,
        })?;
        let of = |places: Vec<u32>| places.iter().map(|place| kept[*place as usize]).collect();
        Ok((of(train), of(test)))
    }

    fn splits(&self, matrix: &Matrix, labels: &[u16]) -> Result<Splits, DataError> {
        let (train, test) = self.drawn(labels)?;
        let mut train_rows = matrix.rows(&train);
        let standard = Standard::of(&train_rows, matrix.genes());
        let mut test_rows = matrix.rows(&test);
        standard.apply(&mut train_rows, |value| value as f32);
        standard.apply(&mut test_rows, |value| value as f32);
        let examples = |rows, places: &[u32]| {
            let labels = places.iter().map(|place| labels[*place as usize]).collect();
            let shape = Shape::flat(matrix.genes());
            let examples = Examples::numbers(rows, labels, shape, CLASSES)?;
            Ok::<_, DataError>(Arc::new(examples.with_label_names(&CLASS_NAMES)))
        };
        Ok(Splits {
            train: examples(train_rows, &train)?,
            test: examples(test_rows, &test)?,
            validation: None,
        })
    }
}

/// The two files.
struct Sources {
    matrix: PathBuf,
    annotation: PathBuf,
    /// The class of each sample.
    classes: HashMap<String, u16>,
}

impl Sources {
    /// Finds both files and reads the annotation.
    fn find(folder: &DataFolder) -> Result<Self, DataError> {
        let manifest = Manifest::by_name(NAME)?;
        let path = |name| match manifest.locate(manifest.file(name), folder)? {
            Place::File(path) => Ok::<_, DataError>(path),
            Place::Member { archive, .. } => Ok(archive),
        };
        let content = manifest.read(manifest.file(ANNOTATION), folder)?;
        Self::with(path(MATRIX)?, path(ANNOTATION)?, &content)
    }

    fn with(matrix: PathBuf, annotation: PathBuf, content: &[u8]) -> Result<Self, DataError> {
        let classes = classes(content).map_err(|f| f.of(NAME, &annotation))?;
        Ok(Self {
            matrix,
            annotation,
            classes,
        })
    }

    /// The classes of `samples`.
    fn labels(&self, samples: &[String]) -> Result<Vec<u16>, DataError> {
        let label = |sample: &String| {
            let found = self.classes.get(sample).copied();
            let sample = excerpt(sample);
            let reason = || format!("no row of sample {sample}, which is in the matrix");
            found.ok_or_else(|| Fault::at(0_u64, reason()).of(NAME, self.annotation.as_path()))
        };
        samples.iter().map(label).collect()
    }
}

/// The text in a cell, without the quotation marks that R puts around it.
fn unquoted(cell: &str) -> &str {
    let cell = cell.trim_end_matches('\r');
    let inner = cell
        .strip_prefix('"')
        .and_then(|cell| cell.strip_suffix('"'));
    inner.unwrap_or(cell)
}

/// Cases and controls of the annotation in `folder`, and how many of them train and test.
pub(crate) fn counts(folder: &DataFolder) -> Result<[usize; 4], DataError> {
    let manifest = Manifest::by_name(NAME)?;
    let annotation = manifest.file(ANNOTATION);
    let content = manifest.read(annotation, folder)?;
    let place = manifest.locate(annotation, folder)?;
    let classes = classes(&content).map_err(|fault| fault.of(NAME, place.path()))?;
    let labels: Vec<u16> = classes.into_values().collect();
    let cases = labels.iter().filter(|class| **class == 1).count();
    let (train, test) = LeukemiaA2::default().drawn(&labels)?;
    Ok([cases, labels.len() - cases, train.len(), test.len()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A slice of the matrix and its annotation: `samples` samples, every third a case, of `genes` genes.
    fn slice(samples: usize, genes: usize, folder: &Path) -> Sources {
        let name = |sample: usize| format!("\"GSM{sample}.CEL\"");
        let mut matrix = (0..samples).map(name).collect::<Vec<_>>().join("\t");
        for gene in 0..genes {
            matrix += &format!("\n\"gene{gene}\"");
            for sample in 0..samples {
                matrix += &format!("\t{}", (sample * 7 + gene * 3) % 11);
            }
        }
        let mut annotation = "\"Dataset\"\t\"GSE\"\t\"Condition\"\n".to_owned();
        for sample in (0..samples).rev() {
            let class = CLASS_NAMES[usize::from(sample % 3 == 0)];
            annotation += &format!("{}\t2\t\"GSE1\"\t\"{class}\"\n", name(sample));
        }
        let path = folder.join(MATRIX);
        std::fs::write(&path, matrix + "\n").unwrap();
        Sources::with(path, folder.join(ANNOTATION), annotation.as_bytes()).unwrap()
    }

    #[test]
    fn a_slice_gives_standardised_samples_of_as_many_cases_as_controls() {
        let folder = tempfile::tempdir().unwrap();
        let sources = slice(300, 5, folder.path());
        let matrix = cache::matrix(&sources.matrix, None).unwrap();
        let labels = sources.labels(&matrix.samples).unwrap();
        assert_eq!((labels[0], labels[1], labels[3]), (1, 0, 1));
        let splits = LeukemiaA2::default().splits(&matrix, &labels).unwrap();
        assert_eq!((splits.train.len(), splits.test.len()), (160, 40));
        let all = [splits.train.labels(), splits.test.labels()].concat();
        assert_eq!(crate::label_histogram(&all, 2), [100, 100]);
        let column = (0..160).map(|row| f64::from(splits.train.row(row)[3]));
        let mean = column.clone().sum::<f64>() / 160.0;
        let square = column.map(|value| value * value).sum::<f64>() / 160.0;
        // Rounding to f32 is 6e-8 of values about 1.
        assert!(
            mean.abs() < 1e-6 && (square - 1.0).abs() < 1e-6,
            "{mean} {square}"
        );
        let whole = LeukemiaA2 {
            balanced: false,
            ..LeukemiaA2::default()
        };
        assert_eq!(whole.drawn(&labels).unwrap().0.len(), 240);
    }

    #[test]
    fn the_cache_gives_what_was_read_and_is_made_anew_for_another_matrix() {
        let folder = tempfile::tempdir().unwrap();
        let sources = slice(12, 4, folder.path());
        let first = cache::matrix(&sources.matrix, None).unwrap();
        let place = cache::place(&sources.matrix);
        let written = std::fs::read(&place).unwrap();
        assert_eq!(cache::matrix(&sources.matrix, None).unwrap(), first);
        for damage in [written.len() - 3, 5, 20, 90] {
            let mut bent = written.clone();
            bent[damage] ^= 1;
            std::fs::write(&place, bent).unwrap();
            assert_eq!(
                cache::matrix(&sources.matrix, None).unwrap(),
                first,
                "{damage}"
            );
            assert_eq!(std::fs::read(&place).unwrap(), written, "{damage}");
        }
        std::fs::write(&place, &written[..50]).unwrap();
        assert_eq!(cache::matrix(&sources.matrix, None).unwrap(), first);
        let other = slice(12, 3, folder.path());
        assert_eq!(cache::matrix(&other.matrix, None).unwrap().genes(), 3);
        assert_ne!(std::fs::read(&place).unwrap(), written);
    }

    #[test]
    fn a_matrix_that_is_not_the_published_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let sources = slice(12, 4, folder.path());
        let expected = Manifest::by_name(NAME).unwrap().file(MATRIX);
        let refusal = cache::matrix(&sources.matrix, Some(expected)).unwrap_err();
        assert!(
            refusal.to_string().contains("837192756 bytes needed"),
            "{refusal}"
        );
        assert!(!cache::place(&sources.matrix).exists());
    }
}
