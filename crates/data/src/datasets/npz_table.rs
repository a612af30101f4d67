//! `npz`: any arrays of features and labels that NumPy saved.

mod classes;
mod tags;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::tags::Tags;
use super::Dataset;
use crate::datasets::own_tables::{self, MOST_NUMBERS};
use crate::datasets::published::Published;
use crate::datasets::table_rows::{RowsBySplit, Tagged, doubles_of};
use crate::datasets::test_share;
use crate::files::excerpt::excerpt;
use crate::files::fault::Fault;
use crate::formats::npy::{Kind, NpyArray, NpyHeader};
use crate::formats::npz::in_array;
use crate::formats::zip_member::ZipMember;
use crate::{DataError, DataFolder, DatasetSummary, Examples, Input, Scale, Shape, Splits};

const NAME: &str = "npz";
/// The most classes: labels have 16 bits.
const MOST_CLASSES: usize = u16::MAX as usize;

/// Settings of arrays: `x` `[M, ..]` holds the features and `y` `[M]` or `[M, 1]` the labels.
///
/// `x` is `[M, D]`, `[M, height, width]` or `[M, channels, height, width]`, of integers or of floating-point numbers of 4
/// or 8 bytes, or of booleans, which are 0 and 1. Bytes without a sign (`uint8`) are pixels: a model sees `byte / 255`, unless
/// they are standardised. Labels are whole numbers from 0; there is one class more than the largest, unless `classes` says how many there are. More
/// classes than examples must be said. The owners are the numbers in the client's array. Labels and owners may be texts
/// as well (`U` or `S`): these are numbered in their order, as numbers if all are numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NpzTable {
    /// Name of the file, which lies beside the file of the experiment or in the data folder.
    pub file: String,
    /// The array of features.
    #[serde(default = "x")]
    pub x: String,
    /// The array of labels.
    #[serde(default = "y")]
    pub y: String,
    /// The array `[M]` that says whose an example is, if there is one.
    #[serde(default)]
    pub client: Option<String>,
    /// How many classes there are; one more than the largest label if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<usize>,
    /// Whether every feature gets mean 0 and deviation 1 over the training examples. One that is the same in all of them becomes 0
    /// there and keeps its scale.
    #[serde(default)]
    pub standardise: bool,
    /// What tests.
    #[serde(default)]
    pub test: NpzTest,
    /// Seed of the share that is held out.
    #[serde(default)]
    pub seed: u64,
}

/// Where the test examples of arrays are from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NpzTest {
    /// Other arrays of the same file.
    Arrays(NpzArrays),
    /// The arrays of the same names of another file; that of the owners may be missing.
    File(String),
    /// This share of the examples, drawn at random.
    Share(f64),
}

/// The names of the arrays of one split.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NpzArrays {
    /// The array of features.
    pub x: String,
    /// The array of labels.
    pub y: String,
    /// The array that says whose an example is. It may be left out unless `evaluate: {local_test: owners}` asks for the owners of
    /// test examples.
    #[serde(default)]
    pub client: Option<String>,
}

impl Default for NpzTest {
    fn default() -> Self {
        Self::Share(0.2)
    }
}

fn x() -> String {
    "x".into()
}

fn y() -> String {
    "y".into()
}

impl Dataset for NpzTable {
    fn name(&self) -> &'static str {
        NAME
    }

    fn validate(&self) -> Result<(), DataError> {
        if let Some(classes) = self.classes {
            DataError::expect_between(NAME, "classes", classes, 2..=MOST_CLASSES)?;
        }
        match &self.test {
            NpzTest::Share(share) => test_share::check(NAME, "test.share", *share),
            NpzTest::Arrays(NpzArrays {
                client: Some(client),
                ..
            }) if self.client.is_none() => {
                let needed = "none, as `client` names no array of the training examples' owners";
                let setting = "test.arrays.client";
                Err(DataError::setting(NAME, setting, excerpt(client), needed))
            }
            NpzTest::Arrays(_) | NpzTest::File(_) => Ok(()),
        }
    }

    /// Reads labels and clients, then the features to where they belong, three times if they are standardised.
    fn load(&self, folder: &DataFolder) -> Result<Splits, DataError> {
        let sources = self.sources(folder)?;
        let tagged = self.tagged(&sources)?;
        let (shape, classes) = (sources[0].shape, tagged.classes);
        let width = shape.features();
        if self.keeps_bytes(&sources) {
            let mut pixels = RowsBySplit::of(NAME, &tagged, width)?;
            read_bytes(&sources, width, &mut pixels)?;
            let of = |pixels, labels| Examples::new(pixels, labels, shape, classes, Scale::UNIT);
            return tagged.splits(pixels, of);
        }
        let of = |numbers, labels| Examples::numbers(numbers, labels, shape, classes);
        if self.standardise {
            let read = |numbers: &mut RowsBySplit<'_, f64>| {
                read_numbers(&sources, width, numbers, |value| value)
            };
            return tagged.standardised(NAME, width, read, of);
        }
        let mut numbers = RowsBySplit::of(NAME, &tagged, width)?;
        read_numbers(&sources, width, &mut numbers, |value| value as f32)?;
        tagged.splits(numbers, of)
    }

    /// Reads the features once more for the means of columns, and once more for their deviations, if these are asked for.
    fn load_in_pieces(
        &self,
        folder: &DataFolder,
        most: usize,
        see: &mut dyn FnMut(&Examples),
    ) -> Result<Splits, DataError> {
        let sources = self.sources(folder)?;
        let tagged = self.tagged(&sources)?;
        let (shape, classes) = (sources[0].shape, tagged.classes);
        let width = shape.features();
        if self.keeps_bytes(&sources) {
            let read = |pixels: &mut RowsBySplit<'_, u8>| read_bytes(&sources, width, pixels);
            let of = |pixels, labels| Examples::new(pixels, labels, shape, classes, Scale::UNIT);
            return tagged.splits_in_pieces([most, width], read, of, see);
        }
        let of = |numbers, labels| Examples::numbers(numbers, labels, shape, classes);
        if self.standardise {
            let read = |numbers: &mut RowsBySplit<'_, f64>| {
                read_numbers(&sources, width, numbers, |value| value)
            };
            return tagged.standardised_in_pieces([most, width], read, of, see);
        }
        let read = |numbers: &mut RowsBySplit<'_, f32>| {
            read_numbers(&sources, width, numbers, |value| value as f32)
        };
        tagged.splits_in_pieces([most, width], read, of, see)
    }

    fn reads_in_pieces(&self, _folder: &DataFolder) -> bool {
        true
    }

    /// Reads labels and clients, but only the headers of the features.
    fn summary(&self, folder: &DataFolder) -> Result<DatasetSummary, DataError> {
        let sources = self.sources(folder)?;
        let tagged = self.tagged(&sources)?;
        if self.classes.is_none() {
            classes::warn_of_gaps(&tagged, &sources[0].entry(&self.y));
        }
        tagged.warn_of_untrained(NAME, &sources[0].entry(&self.y));
        if let (NpzTest::Share(_), Some(client)) = (&self.test, &self.client) {
            tagged.warn_of_lost_owners(NAME, &sources[0].entry(client));
        }
        sources[0].warn_of_channels_last();
        let summary = tagged.summary(Input::Numbers(sources[0].shape));
        let names_all = sources.iter().all(|source| source.names.client.is_some());
        let summary = match names_all || self.client.is_none() {
            true => summary,
            false => summary.with_unnamed_test_owners(),
        };
        Ok(match self.keeps_bytes(&sources) {
            true => summary,
            false => summary.of_numbers(),
        })
    }

    /// Labels and clients as they were read, the rows of either split, and features in double precision where they are standardised.
    fn reading_bytes(&self, summary: &DatasetSummary, _threads: usize) -> usize {
        let clients = 4 * usize::from(self.client.is_some());
        let doubles = usize::from(self.standardise) * doubles_of(summary);
        (8 + clients) * (summary.train() + summary.test()) + doubles
    }

    /// The file of the arrays, then that of the test examples if there is one.
    fn own_files(&self, folder: &DataFolder) -> Result<Vec<PathBuf>, DataError> {
        self.validate()?;
        let test = match &self.test {
            NpzTest::File(file) => Some(file.as_str()),
            NpzTest::Share(_) | NpzTest::Arrays(_) => None,
        };
        own_tables::files(NAME, &self.file, test, folder)
    }

    /// Nothing: the table is the user's own.
    fn published(&self) -> Result<Option<Published>, DataError> {
        self.validate()?;
        Ok(None)
    }
}

impl NpzTable {
    fn keeps_bytes(&self, sources: &[Source]) -> bool {
        sources[0].kind == Kind::Unsigned(1) && !self.standardise
    }

    /// The arrays, then those of the test examples if there are any of their own.
    fn sources(&self, folder: &DataFolder) -> Result<Vec<Source>, DataError> {
        self.validate()?;
        let path = own_tables::inside(NAME, "file", &self.file, folder)?;
        let names = NpzArrays {
            x: self.x.clone(),
            y: self.y.clone(),
            client: self.client.clone(),
        };
        let first = Source::open(path.clone(), names.clone())?;
        let second = match &self.test {
            NpzTest::Share(_) => return Ok(vec![first]),
            NpzTest::Arrays(arrays) => Source::open(path, arrays.clone())?,
            NpzTest::File(file) => {
                let path = own_tables::inside(NAME, "test.file", file, folder)?;
                let is_there = |name: &String| in_array(NAME, &path, name, |_| Ok(())).is_ok();
                let client = names.client.clone().filter(is_there);
                Source::open(path, NpzArrays { client, ..names })?
            }
        };
        let bytes = [&first, &second].map(|source| source.kind == Kind::Unsigned(1));
        if first.shape != second.shape || bytes[0] != bytes[1] {
            return Err(DataError::Table {
                dataset: NAME,
                reason: format!(
                    "test examples are {}, training examples {}: they need the same shape, and bytes (uint8) in both or in neither",
                    second.features_in_words(),
                    first.features_in_words()
                ),
                path: second.path,
            });
        }
        Ok(vec![first, second])
    }

    /// Everything but the features of `sources`.
    fn tagged(&self, sources: &[Source]) -> Result<Tagged, DataError> {
        let mut labels = Tags::new("a label", u16::MAX - 1);
        let mut clients = Tags::new("a client", u32::MAX);
        for source in sources {
            source.tags(&source.names.y, &mut labels)?;
            if let Some(client) = &source.names.client {
                source.tags(client, &mut clients)?;
            }
        }
        let ((labels, label_names), (mut clients, client_names)) =
            (labels.numbered(), clients.numbered());
        let count = labels.len();
        if let Some(first) = clients.first().copied() {
            // Test examples without owners: any will do.
            clients.resize(count, first);
        }
        if u32::try_from(count).is_err() {
            let reason = format!("{count} examples found, at most {} needed", u32::MAX);
            return Err(Fault::at(0_u64, reason).of(NAME, &sources[0].path));
        }
        let (train, test) = match &self.test {
            NpzTest::Share(share) => test_share::drawn(count, *share, self.seed)
                .map_err(|fault| fault.of(NAME, &sources[0].path))?,
            NpzTest::Arrays(_) | NpzTest::File(_) => {
                let first = sources[0].examples as u32;
                ((0..first).collect(), (first..count as u32).collect())
            }
        };
        if labels.iter().all(|label| *label == labels[0]) {
            let reason = "labels of one class alone, at least 2 needed";
            return Err(Fault::at(0_u64, reason).of(NAME, sources[0].entry(&self.y)));
        }
        let classes = self.class_count(sources, &labels)?;
        Ok(Tagged {
            classes,
            clients: self.client.as_ref().map(|_| clients),
            label_names: label_names.map(|names| classes::all_names(names, classes)),
            client_names,
            labels,
            train,
            test,
            validation: Vec::new(),
        })
    }
}

/// The arrays of one split, the features unread.
struct Source {
    path: PathBuf,
    names: NpzArrays,
    /// What the array of features holds.
    kind: Kind,
    /// Shape of an example.
    shape: Shape,
    examples: usize,
}

impl Source {
    fn open(path: PathBuf, names: NpzArrays) -> Result<Self, DataError> {
        in_array(NAME, &path, &names.x, |array| {
            let header = array.header();
            if header.kind.is_text() {
                return Err(Fault::at(0_u64, "texts found, numbers needed"));
            }
            let shape = example_shape(header).map_err(|reason| Fault::at(0_u64, reason));
            shape.map(|(shape, examples)| (header.kind, shape, examples))
        })
        .map(|(kind, shape, examples)| Self {
            path: path.clone(),
            names: names.clone(),
            kind,
            shape,
            examples,
        })
    }

    /// The shape of an example, the kind of its numbers and their array.
    fn features_in_words(&self) -> String {
        let (shape, kind, array) = (self.shape, self.kind, excerpt(&self.names.x));
        let sizes = match shape == Shape::flat(shape.width) {
            true => vec![shape.width],
            false => vec![shape.channels, shape.height, shape.width],
        };
        format!("{sizes:?} of {kind} in `{array}`")
    }

    /// Appends the labels or owners in the array `name` to `tags`.
    fn tags<T>(&self, name: &str, tags: &mut Tags<T>) -> Result<(), DataError>
    where
        T: TryFrom<u64> + Into<f64> + Copy,
    {
        in_array(NAME, &self.path, name, |array| {
            tags.read(array, self.examples)
        })
    }

    /// What a person is shown of the array `name`: the archive's path and its entry.
    fn entry(&self, name: &str) -> PathBuf {
        self.path.join(format!("{}.npy", excerpt(name)))
    }

    /// Warns of images that seem to have their channels last, as in other programs.
    fn warn_of_channels_last(&self) {
        if has_channels_last(self.shape) {
            let Shape {
                channels,
                height,
                width,
            } = self.shape;
            tracing::warn!(
                "{NAME}: {}: images of {channels} channels of {height} x {width}; if these are {channels} x {height} pixels of {width} \
                 channels, save them as [images, channels, height, width], with numpy.moveaxis(x, -1, 1)",
                self.entry(&self.names.x).display()
            );
        }
    }

    /// Calls `row` to read the features of each row.
    fn features(
        &self,
        mut row: impl FnMut(&mut NpyArray<ZipMember<'_>>) -> Result<(), Fault>,
    ) -> Result<(), DataError> {
        in_array(NAME, &self.path, &self.names.x, |mut array| {
            let (header, count) = (array.header(), self.examples);
            let known = example_shape(header).ok() == Some((self.shape, count));
            if !known || header.kind != self.kind {
                return Err(Fault::at(0_u64, "the file changed while it was read"));
            }
            (0..count).try_for_each(|_| row(&mut array))?;
            array.into_content().finish()
        })
    }
}

/// Reads the features of `sources` as bytes into the rows of each split, `width` to a row.
fn read_bytes(
    sources: &[Source],
    width: usize,
    dealt: &mut RowsBySplit<'_, u8>,
) -> Result<(), DataError> {
    let mut sources = sources.iter();
    sources.try_for_each(|source| source.features(|array| array.append(width, dealt.next_row())))
}

/// Reads the features of `sources` into the rows of each split, as the numbers that `of` makes of them.
fn read_numbers<T>(
    sources: &[Source],
    width: usize,
    dealt: &mut RowsBySplit<'_, T>,
    of: impl Fn(f64) -> T,
) -> Result<(), DataError> {
    let mut sources = sources.iter();
    sources.try_for_each(|source| {
        source.features(|array| {
            let row = dealt.next_row();
            array.each(width, |value| finite(value).map(|()| row.push(of(value))))
        })
    })
}

/// Requires a feature that is finite in single precision.
fn finite(value: f64) -> Result<(), String> {
    match (value as f32).is_finite() {
        true => Ok(()),
        false if value.is_finite() => {
            let most = f32::MAX;
            Err(format!(
                "{value:e} is too large, at most {most:e} is needed"
            ))
        }
        false => Err(format!("{value} is no finite number")),
    }
}

/// Whether `shape` looks like rows, columns and then 1, 3 or 4 channels.
fn has_channels_last(shape: Shape) -> bool {
    matches!(shape.width, 1 | 3 | 4) && shape.channels > 4 && shape.height > 4
}

/// The shape of one example in an array of them, and how many there are.
fn example_shape(header: &NpyHeader) -> Result<(Shape, usize), String> {
    let (count, shape) = match header.shape[..] {
        [count, width] => (count, Shape::flat(width)),
        [count, height, width] => {
            let channels = 1;
            (
                count,
                Shape {
                    channels,
                    height,
                    width,
                },
            )
        }
        [count, channels, height, width] => (
            count,
            Shape {
                channels,
                height,
                width,
            },
        ),
        _ => {
            let found = &header.shape;
            return Err(format!(
                "features of shape {found:?} found, 2 to 4 dimensions needed"
            ));
        }
    };
    let elements = header.elements();
    if elements == 0 || elements > MOST_NUMBERS || count > u32::MAX as usize {
        let found = &header.shape;
        return Err(format!(
            "shape {found:?} found, 1 to {MOST_NUMBERS} numbers needed"
        ));
    }
    Ok((shape, count))
}

#[cfg(test)]
mod tests;
